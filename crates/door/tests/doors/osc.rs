//! Open Sound Control over UDP.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tactus_door::clock::RealClock;
use tactus_door::osc::account::{BURST, CUT_BURST, Origin};
use tactus_door::osc::{Counts, Door, Event, Options};
use tactus_door::sender::ITEMS;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_osc::{Argument, Message, TimeTag};
use tactus_stream::Client;
use tactus_sys::clock::{self, ClockOffset, ClockPair};
use tactus_testing::{Need, skip};

use crate::common::{Running, ms};
use crate::support::{payloads, server};

/// A program that sends and receives.
struct Program {
    socket: UdpSocket,
    door: SocketAddr,
}

/// A reply: its address, and its values as texts.
type Reply = (String, Vec<String>);

impl Program {
    fn new(door: &Door) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket, door: door.address() }
    }

    fn subscribed(door: &Door) -> Self {
        let program = Self::new(door);
        program.say("/subscribe", &[]);
        assert_eq!(program.hear(), ("/subscribed".to_owned(), vec!["Int(600)".to_owned()]));
        program
    }

    fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.door).unwrap();
    }

    fn say(&self, address: &str, arguments: &[Argument<'_>]) {
        self.send(&message(address, arguments));
    }

    fn hear(&self) -> Reply {
        let mut buffer = [0; 2048];
        let length = self.socket.recv(&mut buffer).unwrap();
        let read = tactus_osc::read(&buffer[..length]).unwrap();
        let [timed] = &read[..] else { panic!("{read:?}") };
        let values = timed.message.arguments.iter().map(|value| format!("{value:?}")).collect();
        (timed.message.address.to_owned(), values)
    }

    /// The reason of a refusal.
    fn hear_refusal(&self) -> String {
        let (address, values) = self.hear();
        assert_eq!(address, "/refused", "{values:?}");
        values[2].clone()
    }
}

fn message(address: &str, arguments: &[Argument<'_>]) -> Vec<u8> {
    Message { address, arguments: arguments.to_vec() }.bytes()
}

fn bundle(time: TimeTag, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = b"#bundle\0".to_vec();
    bytes.extend(time.0.to_be_bytes());
    for message in messages {
        bytes.extend((message.len() as u32).to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

fn note(id: &str, key: i32) -> Vec<u8> {
    let values = [144, key, 100].map(Argument::Int);
    message("/to/synth", &[[Argument::Text(id)].as_slice(), &values].concat())
}

fn soon(length: Nanos) -> Instant<Realtime> {
    clock::now::<Realtime>() + length
}

fn open(server: &Running) -> (Door, Receiver<Event>) {
    let address = "127.0.0.1:0".parse().unwrap();
    let (send, events) = channel();
    let options = Options { address, server: server.socket() };
    let door = Door::open(&options, move |event| drop(send.send(event))).unwrap();
    (door, events)
}

#[test]
fn bundles_are_delivered_at_their_times_and_answered() {
    let (server, [synth, lights, log]) = server();
    let (door, _events) = open(&server);
    let program = Program::subscribed(&door);
    let start = soon(ms(1000));
    let tags: Vec<TimeTag> = (0..5).map(|step| TimeTag::of(start + ms(20 * step))).collect();
    // The last first: items are delivered in the order of their times.
    for (step, tag) in tags.iter().enumerate().rev() {
        program.send(&bundle(*tag, &[note(&format!("id={step}"), 60 + step as i32)]));
    }
    for (step, tag) in tags.iter().enumerate() {
        let (address, values) = program.hear();
        assert_eq!(address, "/receipt");
        let wanted = [
            format!("Int({step})"),
            r#"Text("synth")"#.to_owned(),
            r#"Text("delivered")"#.to_owned(),
            r#"Text("call")"#.to_owned(),
            format!("Time({tag:?})"),
        ];
        assert_eq!(values[..5], wanted);
        let late: f32 = values[7]
            .trim_matches(|c: char| c.is_alphabetic() || "()".contains(c))
            .parse()
            .unwrap();
        assert!(late >= 0.0, "never early: {values:?}");
    }
    let dues: Vec<u64> = synth.lock().unwrap().iter().map(|(due, _)| due.as_nanos()).collect();
    let steps: Vec<u64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(steps, [20_000_000; 4], "distances of time tags are exact");
    let keys: Vec<u8> = payloads(&synth).iter().map(|bytes| bytes[1]).collect();
    assert_eq!(keys, [60, 61, 62, 63, 64]);

    program.say("/to/lights", &[Argument::Blob(&[1, 2, 3])]);
    program.say("/to/log", &[Argument::Text(""), Argument::Text("hello"), Argument::Int(10)]);
    for _ in 0..2 {
        assert_eq!(program.hear().0, "/receipt");
    }
    assert_eq!(
        (payloads(&lights), payloads(&log)),
        (vec![vec![1, 2, 3]], vec![b"hello\n".to_vec()])
    );
    let counts = door.close();
    assert_eq!((counts.items, counts.receipts, counts.refused, counts.lost()), (7, 7, 0, 0));
}

#[test]
fn a_cut_takes_what_is_due_after_its_time() {
    let (server, [synth, ..]) = server();
    let (door, _events) = open(&server);
    let program = Program::subscribed(&door);
    let start = soon(ms(2000));
    let at = |step: u64| TimeTag::of(start + ms(100 * step));
    for (step, branch) in [(0, 1), (1, 1), (2, 1), (1, 2)] {
        program.send(&bundle(at(step), &[note(&format!("id={step} branch={branch}"), 60)]));
    }
    program.send(&bundle(at(1), &[message("/cut", &[Argument::Int(1)])]));
    let mut outcomes: Vec<String> = (0..4).map(|_| program.hear().1[2].clone()).collect();
    outcomes.sort_unstable();
    let (cut, delivered) = (r#"Text("cut")"#, r#"Text("delivered")"#);
    assert_eq!(outcomes, [cut, cut, delivered, delivered]);
    assert_eq!(synth.lock().unwrap().len(), 2);
}

#[test]
fn what_is_refused_is_answered_and_not_queued() {
    let (server, [synth, ..]) = server();
    let (door, _events) = open(&server);
    let program = Program::subscribed(&door);
    let refusal = |bytes: &[u8], words: &str| {
        program.send(bytes);
        let reason = program.hear_refusal();
        assert!(reason.contains(words), "{reason}");
    };
    refusal(b"nonsense", "byte 0 of the packet: neither `/` of an address nor `#bundle`");
    refusal(&message("/two/synth", &[]), "did you mean `/to`?");
    refusal(&message("/to/sinth", &[Argument::Int(1)]), "did you mean `synth`?");
    refusal(&message("/to/synth", &[Argument::Int(300)]), "value 1: 300 is not within 0 to 255");
    refusal(&message("/to/synth", &[Argument::Int(144)]), "not one whole MIDI message");
    let now = clock::now::<Realtime>();
    let early = now - Nanos::from_secs(3600);
    refusal(&bundle(TimeTag::of(early), &[note("", 60)]), "in the past");
    let late = now + Nanos::from_secs(3600);
    refusal(&bundle(TimeTag::of(late), &[note("", 60)]), "further ahead than 10s");
    // Half an era ahead of now is the same as behind it; the end of the era is in 2036.
    refusal(&bundle(TimeTag(u64::MAX), &[note("", 60)]), "further ahead than 10s");
    refusal(&bundle(TimeTag::NONE, &[note("", 60)]), "further ahead than 10s");
    let deep = (0..9).fold(note("", 60), |inner, _| bundle(TimeTag::IMMEDIATE, &[inner]));
    refusal(&deep, "nested more than 8 deep");
    assert_eq!(payloads(&synth), Vec::<Vec<u8>>::new());
    let counts = door.close();
    assert_eq!((counts.items, counts.refused, counts.malformed), (0, 8, 2));
}

#[test]
fn a_late_item_is_dropped_if_its_sender_wants_that() {
    let (server, [synth, ..]) = server();
    let (door, _events) = open(&server);
    let program = Program::subscribed(&door);
    let now = clock::now::<Realtime>();
    let past = TimeTag::of(now - Nanos::from_secs(2));
    program.send(&bundle(past, &[note("id=1 late=drop:100ms", 60), note("id=2", 61)]));
    let outcomes: Vec<String> = (0..2).map(|_| program.hear().1[2].clone()).collect();
    assert!(outcomes.contains(&r#"Text("late")"#.to_owned()), "{outcomes:?}");
    assert_eq!(payloads(&synth), [[144, 61, 100]]);
}

#[test]
fn only_subscribers_hear_and_a_port_can_subscribe_for_its_host() {
    let (server, _) = server();
    let (door, _events) = open(&server);
    let (program, listener) = (Program::new(&door), Program::new(&door));
    let port = listener.socket.local_addr().unwrap().port();
    program.say("/subscribe", &[Argument::Int(port.into())]);
    assert_eq!(listener.hear().0, "/subscribed");
    program.send(&note("id=5", 60));
    assert_eq!(listener.hear().1[0], "Int(5)");
    program.say("/unsubscribe", &[Argument::Int(port.into())]);
    program.send(&note("id=6", 60));
    // The other one hears of its own items only.
    let other = Program::subscribed(&door);
    other.send(&note("id=7", 60));
    assert_eq!(other.hear().1[0], "Int(7)");
    for silent in [&program, &listener] {
        silent.socket.set_nonblocking(true).unwrap();
        assert!(silent.socket.recv(&mut [0; 64]).is_err());
    }
}

#[test]
fn an_address_of_another_machine_must_be_proved() {
    let (server, _) = server();
    // The address of this machine that others see.
    let outside = UdpSocket::bind("0.0.0.0:0").unwrap();
    if outside.connect("192.0.2.1:9").is_err() {
        return skip(Need::Machine, "there is no route to other machines");
    }
    let own = outside.local_addr().unwrap().ip();
    let options = Options { address: SocketAddr::new(own, 0), server: server.socket() };
    let door = Door::open(&options, |_| {}).unwrap();
    let socket = UdpSocket::bind(SocketAddr::new(own, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let program = Program { socket, door: door.address() };
    let request = message("/subscribe", &[]);
    program.send(&request);
    let mut reply = [0; 64];
    let length = program.socket.recv(&mut reply).unwrap();
    assert!(length <= request.len(), "nothing is amplified");
    let read = tactus_osc::read(&reply[..length]).unwrap();
    let (address, cookie) = (read[0].message.address, read[0].message.arguments[0]);
    let Argument::Int(cookie) = cookie else { panic!("{cookie:?}") };
    assert_eq!(address, "/cookie");
    // A wrong proof is not answered, since nobody has proved anything.
    program.say("/subscribe", &[Argument::Int(0), Argument::Int(!cookie)]);
    program.say("/subscribe", &[Argument::Int(0), Argument::Int(cookie)]);
    assert_eq!(program.hear().0, "/subscribed");
    program.send(&note("id=9", 60));
    assert_eq!(program.hear().1[0], "Int(9)");
    assert_eq!(door.close().refused, 1);
}

#[test]
fn a_flood_is_bounded_counted_and_leaves_room() {
    let (server, [synth, ..]) = server();
    let (door, events) = open(&server);
    let (flood, program) = (Program::new(&door), Program::subscribed(&door));
    let far = bundle(TimeTag::of(soon(Nanos::from_secs(9))), &[note("", 60)]);
    let sent = 4 * BURST;
    for _ in 0..sent {
        flood.send(&far);
    }
    // Beyond the burst the host has to wait.
    let answered = (0..200).any(|_| {
        program.send(&note("id=3", 61));
        program.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        program.socket.recv(&mut [0; 512]).is_ok()
    });
    assert!(answered, "the other program has room");
    assert!(payloads(&synth).contains(&vec![144, 61, 100]));
    let mut client = server.client("looks");
    let status = client.status().unwrap();
    let osc = status.clients.iter().find(|client| client.name.starts_with("osc:")).unwrap();
    assert!(osc.waiting <= u64::from(ITEMS), "{osc:?}");
    let counts = door.close();
    let Counts { datagrams, dropped, over_rate, refused, .. } = counts;
    assert!(datagrams + dropped >= sent && refused > 0, "{counts:?}");
    if over_rate + dropped > 0 {
        assert!(events.try_iter().any(|event| matches!(event, Event::Losses(_))), "{counts:?}");
    }
}

#[test]
fn cuts_have_a_rate_and_do_not_delay_others() {
    let (server, _) = server();
    let (door, _events) = open(&server);
    let (flood, program) = (Program::subscribed(&door), Program::subscribed(&door));
    flood.send(&note("", 60));
    assert_eq!(flood.hear().0, "/receipt");
    let cuts: Vec<Vec<u8>> = (0..1000).map(|_| message("/cut", &[])).collect();
    flood.send(&bundle(TimeTag::IMMEDIATE, &cuts));
    program.send(&note("id=1", 61));
    assert_eq!(program.hear().1[0], "Int(1)");
    assert!(flood.hear_refusal().contains("cuts a second"));
    let counts = door.close();
    // A slow machine takes so long that more cuts are within the rate.
    assert!(counts.refused <= 1000 - CUT_BURST && counts.refused > 0, "{counts:?}");
}

#[test]
fn a_door_that_subscribes_to_itself_is_not_answered_for_ever() {
    let (server, _) = server();
    let (door, events) = open(&server);
    let program = Program::subscribed(&door);
    program.say("/subscribe", &[Argument::Int(door.address().port().into())]);
    // Its own `/subscribed` and what follows are refused without an answer.
    program.send(&note("id=1", 60));
    let said = events.recv_timeout(Duration::from_secs(20)).unwrap();
    let Event::Refused { last, .. } = said else { panic!("{said:?}") };
    assert!(last.starts_with("/subscribed: ") || last.starts_with("/receipt: "), "{last}");
    std::thread::sleep(Duration::from_millis(100));
    let counts = door.close();
    assert!(counts.datagrams < 20, "{counts:?}");
}

#[test]
fn all_addresses_of_the_loopback_are_one_host() {
    let (server, _) = server();
    let (door, _events) = open(&server);
    for last in 2..40 {
        let socket = UdpSocket::bind((std::net::Ipv4Addr::new(127, 0, 0, last), 0)).unwrap();
        socket.send_to(&message("/subscribe", &[Argument::Int(9)]), door.address()).unwrap();
    }
    let program = Program::subscribed(&door);
    program.send(&note("id=1", 60));
    assert_eq!(program.hear().1[0], "Int(1)");
    assert_eq!(door.close().no_room, 0);
}

#[test]
fn items_are_answered_when_the_server_ends() {
    let (mut server, _) = server();
    let (door, _events) = open(&server);
    let program = Program::subscribed(&door);
    let far = TimeTag::of(soon(Nanos::from_secs(9)));
    program.send(&bundle(far, &[note("id=1", 60), note("id=2", 60)]));
    // It is answered, so the others are at the server.
    program.send(&note("id=3", 60));
    assert_eq!(program.hear().1[0], "Int(3)");
    server.end();
    for _ in 0..2 {
        assert_eq!(program.hear().1[2], r#"Text("ended")"#);
    }
    program.send(&note("id=4", 60));
    let reason = program.hear_refusal();
    assert!(reason.contains("cannot connect"), "{reason}");
    assert_eq!(door.close().receipts, 3);
}

#[test]
fn receipts_keep_the_clock_of_their_items() {
    // The real-time clock is set an hour ahead after an item was sent: its receipt has its old
    // times, and a later item has the new ones.
    let at = Client::now();
    let clocks = |ahead: u64| ClockPair {
        before: at,
        real: Instant::from_nanos(at.as_nanos() + ahead),
        after: at,
    };
    let hour = 3_600_000_000_000;
    let mut clock = RealClock::new(&clocks(hour));
    let time = TimeTag::of(clock.offset().real(at + ms(5)));
    let origin = Origin { port: 1, id: None, device: "a".to_owned(), time, offset: clock.offset() };
    assert_eq!(clock.consider(&clocks(2 * hour)), Some(hour as i64));
    let due =
        |offset: ClockOffset, now| offset.monotonic(time.real_time(offset.real(now)).unwrap());
    assert_eq!(due(origin.offset, at), at + ms(5));
    assert!(due(clock.offset(), at) < at, "the same time tag is an hour in the past now");
}
