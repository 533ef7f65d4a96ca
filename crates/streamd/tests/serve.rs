//! A server and its clients, over a socket.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{Running, SETTINGS, draft, ms};
use tactus_delivery::device::Delivery;
use tactus_delivery::item::{Item, Place};
use tactus_model::time::Nanos;
use tactus_stream::message::Counts;
use tactus_stream::{
    BranchId, Client, Draft, Evidence, Format, IfLate, Moment, Outcome, Receipt, RequestError,
    SubmitError, Wanted, status,
};
use tactus_streamd::sink::{HandedOver, Payload, Sink};
use tactus_streamd::{Measure, Settings};

const LONG: Option<Duration> = Some(Duration::from_secs(20));

/// The receipts of all items that the client has submitted, by their numbers.
fn receipts(client: &mut Client) -> BTreeMap<u64, Receipt> {
    let mut found = BTreeMap::new();
    while client.outstanding() > 0 {
        let receipt = client.receipt(LONG).unwrap().expect("each item is answered");
        let again = found.insert(receipt.sequence, receipt);
        assert_eq!(again, None, "answered twice");
    }
    found
}

#[test]
fn each_item_is_delivered_at_its_time_and_answered() {
    let server = Running::start();
    let mut client = server.client("player");
    let names: Vec<&str> = client.devices().iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    let streams = [client.open("one").unwrap(), client.open("two").unwrap()];
    let start = Client::now() + ms(20);
    for number in 0..200 {
        let due = start + Nanos::from_micros(number * 250);
        let sequence = client.submit(&draft(streams[number as usize % 2], due)).unwrap();
        assert_eq!(sequence, number);
    }
    for (number, receipt) in receipts(&mut client) {
        assert_eq!(receipt.due, start + Nanos::from_micros(number * 250));
        assert_eq!((receipt.outcome, receipt.evidence), (Outcome::Delivered, Evidence::Call));
        let (began, ended) = (receipt.began.unwrap(), receipt.ended.unwrap());
        assert!(receipt.due <= began && began <= ended, "{receipt:?}");
    }
    let slack = client.slack().unwrap();
    assert_eq!(slack.items, 200);
    assert!(slack.needed > Nanos::ZERO && slack.least <= ms(70));
}

#[test]
fn what_the_server_does_is_seen_in_its_status() {
    let server = Running::start();
    let mut client = server.client("player");
    let stream = client.open("two").unwrap();
    let later = Client::now() + Nanos::from_secs(9);
    client.submit(&draft(stream, later)).unwrap();
    client.submit(&draft(stream, Client::now())).unwrap();
    assert_eq!(client.receipt(LONG).unwrap().unwrap().sequence, 1);
    let found = status(server.socket()).unwrap();
    let [one, two] = &found.devices[..] else { panic!("{found:?}") };
    assert_eq!((one.streams, one.delivered, one.error), (0, 0, None));
    assert_eq!((two.streams, two.waiting, two.delivered), (1, 1, 1));
    assert!(two.error.unwrap().p50 <= two.error.unwrap().max);
    let [player] = &found.clients[..] else { panic!("{found:?}") };
    assert_eq!((player.name.as_str(), player.streams, player.waiting), ("player", 1, 1));
    assert_eq!(player.process, std::process::id() as i32);
    assert_eq!((player.counts.accepted, player.counts.delivered), (2, 1));
    assert_eq!(found.total, player.counts);
    assert_eq!(client.status().unwrap().clients.len(), 1);
}

#[test]
fn late_items_are_treated_by_their_policies() {
    let server = Running::start();
    let mut client = server.client("player");
    let (first, second) = (client.open("one").unwrap(), client.open("one").unwrap());
    let past = Client::now();
    let later = past + Nanos::from_secs(9);
    let policies = [IfLate::Deliver, IfLate::Drop(Nanos::ZERO), IfLate::Drop(ms(60_000))];
    for if_late in policies {
        client.submit(&Draft { if_late, ..draft(first, past) }).unwrap();
    }
    client.submit(&draft(second, later)).unwrap();
    client.submit(&Draft { if_late: IfLate::Stop(Nanos::ZERO), ..draft(second, past) }).unwrap();
    let outcomes: Vec<Outcome> = receipts(&mut client).values().map(|one| one.outcome).collect();
    let wanted =
        [Outcome::Delivered, Outcome::Late, Outcome::Delivered, Outcome::Stopped, Outcome::Late];
    assert_eq!(outcomes, wanted);
    client.submit(&draft(second, past)).unwrap();
    assert_eq!(client.receipt(LONG).unwrap().unwrap().outcome, Outcome::Stopped);
    client.resume(second).unwrap();
    client.submit(&draft(second, past)).unwrap();
    assert_eq!(client.receipt(LONG).unwrap().unwrap().outcome, Outcome::Delivered);
}

#[test]
fn items_that_arrive_late_are_counted_although_they_are_delivered() {
    let server = Running::start();
    let mut client = server.client("player");
    let stream = client.open("one").unwrap();
    let now = Client::now();
    for due in [now - ms(50), now - ms(20), now + ms(300)] {
        client.submit(&draft(stream, due)).unwrap();
    }
    assert!(receipts(&mut client).values().all(|receipt| receipt.outcome == Outcome::Delivered));
    let found = status(server.socket()).unwrap();
    let Counts { delivered, delivered_late, late, .. } = found.total;
    assert_eq!((delivered, late), (3, 0));
    assert!(delivered_late >= 2);
    assert_eq!(delivered_late, client.slack().unwrap().late, "by the word of the receipts");
    assert_eq!(found.clients[0].counts, found.total);
}

#[test]
fn a_cut_reaches_all_streams_and_nothing_after_it() {
    let server = Running::start();
    let mut client = server.client("player");
    let streams = [client.open("one").unwrap(), client.open("two").unwrap()];
    let later = Client::now() + Nanos::from_secs(9);
    for branch in [0, 1] {
        for stream in streams {
            client.submit(&Draft { branch: BranchId(branch), ..draft(stream, later) }).unwrap();
        }
    }
    client.cut(BranchId(1), later).unwrap();
    for _ in 0..2 {
        let receipt = client.receipt(LONG).unwrap().unwrap();
        assert!(receipt.sequence >= 2 && receipt.outcome == Outcome::Cut, "{receipt:?}");
    }
    let again = Draft { branch: BranchId(1), ..draft(streams[0], later) };
    client.submit(&again).unwrap();
    client.close(streams[0]).unwrap();
    let closed: Vec<(u64, Outcome)> = (0..2)
        .map(|_| client.receipt(LONG).unwrap().unwrap())
        .map(|receipt| (receipt.sequence, receipt.outcome))
        .collect();
    assert_eq!(closed, [(0, Outcome::Closed), (4, Outcome::Closed)]);
    assert_eq!(client.submit(&again), Err(SubmitError::NoStream(streams[0])));
    assert_eq!(client.outstanding(), 1);
}

#[test]
fn limits_are_explained() {
    let server = Running::start();
    let wanted = Wanted { items: 5, payload_bytes: 8, ..Wanted::named("small") };
    let mut client = Client::connect(server.socket(), &wanted).unwrap();
    let Err(RequestError::NoDevice { nearest, .. }) = client.open("ones") else { panic!() };
    assert_eq!(nearest.as_deref(), Some("one"));
    let stream = client.open("one").unwrap();
    let later = Client::now() + Nanos::from_secs(9);
    for _ in 0..8 {
        client.submit(&draft(stream, later)).unwrap();
    }
    let full = client.submit(&draft(stream, later)).unwrap_err();
    assert_eq!((full.clone(), full.is_transient()), (SubmitError::Full { items: 8 }, true));
    let far = client.submit(&draft(stream, later + Nanos::from_secs(9))).unwrap_err();
    assert!(matches!(far, SubmitError::TooFarAhead { .. }) && far.is_transient());
    let long = Draft { payload: &[0; 9], ..draft(stream, later) };
    assert_eq!(client.submit(&long), Err(SubmitError::TooLong { bytes: 9, most: 8 }));
    for (wanted, said) in [
        (Wanted { items: 0, ..Wanted::named("a") }, "room for 0 items"),
        (Wanted { payload_bytes: 1 << 20, ..Wanted::named("a") }, "payloads of 1048576 bytes"),
        (Wanted { items: 1 << 14, payload_bytes: 1 << 14, ..Wanted::named("a") }, "bytes take"),
        (Wanted::named("a b"), "the name of a client"),
        (Wanted::named(""), "the name of a client"),
    ] {
        let refused = Client::connect(server.socket(), &wanted).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
    let error = Client::connect(server.socket().with_extension("no"), &wanted).unwrap_err();
    assert!(error.to_string().contains("`tactus streamd`"), "{error}");
}

#[test]
fn items_beyond_the_horizon_of_the_server_wait_in_the_ring() {
    let horizon = ms(100);
    let server = Running::with([("one", Box::new(Measure))], Settings { horizon, ..SETTINGS });
    let mut client = server.client("player");
    let stream = client.open("one").unwrap();
    let far = client.submit(&draft(stream, Client::now() + ms(5000))).unwrap_err();
    let SubmitError::TooFarAhead { from, .. } = far else { panic!("{far}") };
    assert!(from > Client::now());
    let due = Client::now() + ms(99);
    client.submit(&draft(stream, due)).unwrap();
    assert!(receipts(&mut client)[&0].began.unwrap() >= due);
}

#[test]
fn at_the_end_every_item_has_its_receipt_and_the_socket_is_gone() {
    let mut server = Running::start();
    let mut client = server.client("player");
    let stream = client.open("one").unwrap();
    let later = Client::now() + Nanos::from_secs(9);
    for _ in 0..1000 {
        client.submit(&draft(stream, later)).unwrap();
    }
    server.end();
    let found = receipts(&mut client);
    assert_eq!(found.len(), 1000);
    assert!(found.values().all(|receipt| receipt.outcome == Outcome::Ended));
    let ended = client.receipt(LONG).unwrap_err();
    assert_eq!(ended.to_string(), "the server has ended the connection: the server ends");
    assert!(client.submit(&draft(stream, later)).is_err());
    assert!(!server.socket().exists());
}

#[test]
fn many_clients_at_once_get_all_their_receipts() {
    let server = Running::start();
    let socket = server.socket();
    let threads: Vec<_> = (0..20)
        .map(|number| {
            let socket = socket.clone();
            std::thread::spawn(move || {
                let wanted = Wanted { items: 32, ..Wanted::named(&format!("client-{number}")) };
                let mut client = Client::connect(socket, &wanted).unwrap();
                let stream = client.open(["one", "two"][number % 2]).unwrap();
                let (mut submitted, mut answered) = (0, 0);
                while answered < 500 {
                    let due = Client::now() + Nanos::from_micros(300);
                    let tried = (submitted < 500).then(|| client.submit(&draft(stream, due)));
                    submitted += u64::from(matches!(tried, Some(Ok(_))));
                    let waits = !matches!(tried, Some(Ok(_)));
                    let timeout = if waits { LONG } else { Some(Duration::ZERO) };
                    if let Some(receipt) = client.receipt(timeout).unwrap() {
                        assert_eq!(receipt.outcome, Outcome::Delivered);
                        assert!(receipt.began.unwrap() >= receipt.due);
                        answered += 1;
                    }
                }
                assert_eq!(client.outstanding(), 0);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let total = status(&socket).unwrap().total;
    assert_eq!((total.accepted, total.delivered), (10_000, 10_000));
}

/// A device that takes an item early and says later how it went; while it is busy with one, it takes
/// no other.
#[derive(Default)]
struct Slow {
    busy: Option<(Place, Moment)>,
    has_panic: bool,
}

impl Sink for Slow {
    fn format(&self) -> Format {
        Format::Bytes { most: 3 }
    }

    fn lead(&self) -> Nanos {
        ms(5)
    }

    fn ready_from(&self) -> Moment {
        self.busy.map_or(Moment::from_nanos(0), |(_, until)| until)
    }

    fn next_turn(&self) -> Option<Moment> {
        self.busy.map(|(_, until)| until)
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        assert!(!self.has_panic, "planted");
        self.busy = Some((item.place(), Client::now() + ms(2)));
        HandedOver::Pending
    }

    fn settled(&mut self, found: &mut dyn FnMut(Place, Delivery)) {
        if let Some((place, until)) = self.busy
            && Client::now() >= until
        {
            let (began, ended, evidence) = (place.due, until, Evidence::DeviceClock);
            found(place, Delivery { evidence, ..Delivery::by_call(began, ended, true) });
            self.busy = None;
        }
    }
}

#[test]
fn a_device_may_take_items_early_and_answer_later() {
    let server = Running::with([("slow", Box::<Slow>::default())], SETTINGS);
    let mut client = server.client("player");
    assert_eq!(client.devices()[0].lead, ms(5));
    let stream = client.open("slow").unwrap();
    let due = Client::now() + ms(30);
    for _ in 0..5 {
        client.submit(&draft(stream, due)).unwrap();
    }
    let long = Draft { payload: b"abcd", ..draft(stream, due) };
    assert!(matches!(client.submit(&long), Err(SubmitError::Unfit(_))));
    let mut last = due;
    for (number, receipt) in receipts(&mut client) {
        assert_eq!(
            (receipt.outcome, receipt.evidence),
            (Outcome::Delivered, Evidence::DeviceClock)
        );
        let ended = receipt.ended.unwrap();
        if number > 0 {
            assert!(ended >= last + ms(2), "one after the other");
        }
        last = ended;
    }
}

#[test]
fn a_defect_of_a_device_ends_the_server_with_all_receipts() {
    let slow = Slow { has_panic: true, ..Slow::default() };
    let server = Running::with([("slow", Box::new(slow))], SETTINGS);
    let mut client = server.client("player");
    let stream = client.open("slow").unwrap();
    let now = Client::now();
    client.submit(&draft(stream, now + Nanos::from_secs(9))).unwrap();
    client.submit(&draft(stream, now)).unwrap();
    let outcomes: Vec<Outcome> = receipts(&mut client).values().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ended, Outcome::Unknown]);
    let error = server.result().unwrap_err();
    assert_eq!(error.to_string(), "the thread of device `slow` has ended");
}
