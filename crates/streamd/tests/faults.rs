//! Clients and servers that are killed, stopped or hostile: receipts balance, nothing is early, and
//! other clients notice nothing.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Running, SETTINGS, draft, ms};
use rustix::fs::FallocateFlags;
use rustix::process::{Pid, Signal, kill_process};
use tactus_delivery::item::{ClientId, Item};
use tactus_fifo::shared_ring::Shape;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_stream::message::{NOTICE, REPLY_BYTES, Reply, Request, Status, VERSION, Welcome};
use tactus_stream::slot::{HEADER_BYTES, RECEIPT_BYTES};
use tactus_stream::{Client, Format, Outcome, Wanted, status};
use tactus_streamd::sink::{HandedOver, Payload, Sink};
use tactus_streamd::{Measure, Options};
use tactus_sys::local_socket;
use tactus_sys::peer_memory::WritableWords;
use tactus_testing::{Need, PATIENCE, eventually, skip};

/// The environment variable with the socket, by which a helper knows that it is one.
const SOCKET: &str = "TACTUS_STREAMD_FAULTS_SOCKET";

/// This program, started again to run an ignored test. It is killed at the end.
struct Helper {
    child: Child,
}

impl Helper {
    /// Starts a helper, and waits until it prints that it is ready.
    fn start(name: &str, socket: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", name, "--ignored", "--nocapture"]).env(SOCKET, socket);
        tactus_sys::process::die_with_parent(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("ready")), "{name} ended");
        Self { child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn socket_of_helper() -> Option<PathBuf> {
    std::env::var_os(SOCKET).map(PathBuf::from)
}

/// Submits items as fast as it can, half of them for later, until it is killed.
#[test]
#[ignore = "another test starts it as a program"]
fn helper_client() {
    let Some(socket) = socket_of_helper() else { return };
    let mut client = Client::connect(socket, &Wanted::named("helper")).unwrap();
    let stream = client.open("one").unwrap();
    for number in 0_u64.. {
        let ahead = if number % 2 == 0 { Nanos::from_micros(200) } else { ms(9000) };
        let submitted = client.submit(&draft(stream, Client::now() + ahead));
        if number == 100 {
            println!("ready");
        }
        let timeout = if submitted.is_ok() { Duration::ZERO } else { Duration::from_millis(1) };
        if client.receipt(Some(timeout)).is_err() {
            return;
        }
    }
}

/// Serves until it is killed.
#[test]
#[ignore = "another test starts it as a program"]
fn helper_server() {
    let Some(socket) = socket_of_helper() else { return };
    let devices = vec!["one=measure".parse().unwrap()];
    let (server, _) =
        tactus_streamd::start(Options { socket, devices, settings: SETTINGS }).unwrap();
    println!("ready");
    server.run().unwrap();
}

/// A device that counts what it gets, and the clients that leave.
#[derive(Clone, Default)]
struct Counting {
    items: Arc<Mutex<BTreeMap<ClientId, u64>>>,
    left: Arc<AtomicUsize>,
}

impl Sink for Counting {
    fn format(&self) -> Format {
        Measure.format()
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        *self.items.lock().unwrap().entry(item.client).or_default() += 1;
        Measure.hand_over(item)
    }

    fn client_left(&mut self, _client: ClientId) {
        self.left.fetch_add(1, Ordering::Relaxed);
    }
}

/// A client that submits an item every so often while faults happen.
struct Steady {
    client: Client,
    stream: tactus_stream::StreamId,
    submitted: u64,
    delivered: u64,
}

impl Steady {
    fn of(server: &Running) -> Self {
        let mut client = server.client("steady");
        let stream = client.open("one").unwrap();
        Self { client, stream, submitted: 0, delivered: 0 }
    }

    /// Submits items for the next `count` half milliseconds, and reads their receipts.
    fn play(&mut self, count: u64) {
        let start = Client::now() + ms(2);
        for number in 0..count {
            let due = start + Nanos::from_micros(number * 500);
            self.client.submit(&draft(self.stream, due)).unwrap();
            self.submitted += 1;
        }
        while self.client.outstanding() > 0 {
            let receipt = self.client.receipt(Some(PATIENCE)).unwrap().expect("it is answered");
            assert_eq!(receipt.outcome, Outcome::Delivered);
            assert!(receipt.began.unwrap() >= receipt.due, "early: {receipt:?}");
            self.delivered += 1;
        }
        assert_eq!(self.submitted, self.delivered);
    }
}

/// Waits until the state of the server is as wanted.
fn await_status(socket: &Path, wanted: impl Fn(&Status) -> bool) -> Status {
    eventually(|| {
        let found = status(socket).unwrap();
        if wanted(&found) { Ok(found) } else { Err(format!("{found:?}")) }
    })
}

/// The same, and everything that was accepted is answered or waits: the device answers what a client that
/// has gone left behind.
fn await_balance(socket: &Path, wanted: impl Fn(&Status) -> bool) -> Status {
    await_status(socket, |found| {
        let waiting: u64 = found.clients.iter().map(|client| client.waiting).sum();
        wanted(found) && found.total.accepted == found.total.receipts() + waiting
    })
}

#[test]
fn killed_clients_leave_nothing_behind() {
    let sink = Counting::default();
    let server = Running::with([("one", Box::new(sink.clone()))], SETTINGS);
    let mut steady = Steady::of(&server);
    let mut random = SplitMix64::new(19);
    for killed in 1..=8 {
        let helper = Helper::start("helper_client", &server.socket());
        steady.play(random.below(40));
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        helper.signal(Signal::KILL);
        drop(helper);
        steady.play(20);
        let found = await_balance(&server.socket(), |found| found.clients.len() == 1);
        assert_eq!(found.devices[0].waiting, 0, "its items are dropped");
        await_status(&server.socket(), |_| sink.left.load(Ordering::Relaxed) == killed);
    }
    let found = status(server.socket()).unwrap();
    let delivered: u64 = sink.items.lock().unwrap().values().sum();
    assert_eq!(found.total.delivered, delivered);
    assert_eq!(found.clients[0].counts.delivered, steady.delivered);
}

#[test]
fn a_stopped_client_keeps_nobody_waiting() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let helper = Helper::start("helper_client", &server.socket());
    helper.signal(Signal::STOP);
    steady.play(100);
    let found = await_balance(&server.socket(), |_| true);
    let stopped = found.clients.iter().find(|client| client.name == "helper").unwrap();
    assert!(stopped.waiting <= u64::from(stopped.items));
    helper.signal(Signal::CONT);
    let before = stopped.counts.delivered;
    let goes_on =
        |found: &Status| found.clients.iter().any(|client| client.counts.delivered > before);
    await_status(&server.socket(), goes_on);
}

#[test]
fn a_client_that_reads_no_receipts_loses_none() {
    let server = Running::start();
    let wanted = Wanted { items: 64, ..Wanted::named("lazy") };
    let mut lazy = Client::connect(server.socket(), &wanted).unwrap();
    let stream = lazy.open("one").unwrap();
    let now = Client::now();
    while lazy.submit(&draft(stream, now)).is_ok() {}
    assert_eq!(lazy.outstanding(), 64);
    await_status(&server.socket(), |found| found.total.delivered == 64);
    assert!(lazy.submit(&draft(stream, now)).unwrap_err().is_transient());
    for number in 0..64 {
        assert_eq!(lazy.receipt(Some(PATIENCE)).unwrap().unwrap().sequence, number);
    }
    assert!(lazy.submit(&draft(stream, now)).is_ok());
}

#[test]
fn a_killed_server_is_seen_and_the_next_one_serves() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let mut random = SplitMix64::new(7);
    for _ in 0..4 {
        // It takes the place of the socket that the killed one has left.
        let server = Helper::start("helper_server", &socket);
        let mut client = Client::connect(&socket, &Wanted::named("player")).unwrap();
        let stream = client.open("one").unwrap();
        let start = Client::now();
        for number in 0..200 {
            let due = start + Nanos::from_micros(number * 100);
            client.submit(&draft(stream, due)).unwrap();
        }
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        server.signal(Signal::KILL);
        let mut answered = 0;
        let ended = loop {
            match client.receipt(Some(PATIENCE)) {
                Ok(receipt) => {
                    assert!(receipt.is_some(), "the end is seen");
                    answered += 1;
                }
                Err(ended) => break ended,
            }
        };
        assert_eq!(ended.reason, None);
        assert_eq!(client.outstanding(), 200 - answered, "these may have come out");
        assert!(client.submit(&draft(stream, start)).is_err());
    }
}

/// A connection without our client.
struct Raw {
    stream: UnixStream,
}

impl Raw {
    fn connect(socket: &Path) -> Self {
        let stream = local_socket::connect_packets(socket, PATIENCE).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream }
    }

    fn send(&self, packet: &[u8]) {
        let _ = local_socket::send(&self.stream, packet, &[]);
    }

    /// The next reply; `None` at the end.
    fn reply(&self) -> Option<(Reply, Vec<OwnedFd>)> {
        let mut buffer = vec![0; REPLY_BYTES];
        loop {
            let mut receive = || local_socket::receive(&self.stream, &mut buffer, true);
            // Unheard notices make the first call fail after the end.
            let received = receive().or_else(|_| receive()).ok()?;
            match received.count {
                0 => return None,
                1 => {}
                count => {
                    let reply = serde_json::from_slice(&buffer[..count]).unwrap();
                    return Some((reply, received.descriptors));
                }
            }
        }
    }

    fn introduce(&self) -> (Welcome, Vec<OwnedFd>) {
        let wanted = Wanted { items: 16, payload_bytes: 8, ..Wanted::named("raw") };
        self.send(&serde_json::to_vec(&Request::Hello { version: VERSION, wanted }).unwrap());
        match self.reply() {
            Some((Reply::Welcome(welcome), files)) => (welcome, files),
            other => panic!("{other:?}"),
        }
    }

    /// Why the server ends the connection.
    fn ended(&self) -> Option<String> {
        loop {
            match self.reply()? {
                (Reply::Ended(reason), _) => return Some(reason),
                (
                    Reply::Refused(_)
                    | Reply::Done
                    | Reply::Frame { .. }
                    | Reply::Status(_)
                    | Reply::Welcome(_),
                    _,
                ) => {}
            }
        }
    }
}

#[test]
fn malformed_requests_end_their_connection_with_a_reason() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let long = vec![b'x'; 5000];
    let refused: [(&[u8], &str); 7] = [
        (b"{", "this is not a request"),
        (b"\xff\xfe", "this is not a request"),
        (b"\"hello\"", "this is not a request"),
        (br#"{"close":{"stream":1}}"#, "the first request is `hello`"),
        (br#"{"open":{"stream":0,"device":"one","more":1}}"#, "this is not a request"),
        (
            br#"{"hello":{"version":9,"wanted":{"name":"a","payload_bytes":1,"items":1}}}"#,
            "version 2",
        ),
        (&long, "more than 4096 bytes"),
    ];
    for (packet, said) in refused {
        let raw = Raw::connect(&server.socket());
        raw.send(packet);
        let reason = raw.ended().unwrap();
        assert!(reason.contains(said), "{reason}");
    }
    let raw = Raw::connect(&server.socket());
    raw.send(b"");
    assert_eq!(raw.ended(), None, "an empty packet is the end");
    let raw = Raw::connect(&server.socket());
    raw.introduce();
    for request in [
        Request::Open { stream: tactus_stream::StreamId(1), device: "on".to_owned() },
        Request::Close { stream: tactus_stream::StreamId(9) },
        Request::Resume { stream: tactus_stream::StreamId(9) },
    ] {
        raw.send(&serde_json::to_vec(&request).unwrap());
        let reply = raw.reply().unwrap().0;
        assert!(matches!(&reply, Reply::Refused(_)), "{reply:?}");
    }
    steady.play(20);
}

#[test]
fn a_flood_of_notices_keeps_nobody_waiting() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let raw = Raw::connect(&server.socket());
    raw.introduce();
    raw.stream.set_nonblocking(true).unwrap();
    for _ in 0..10 {
        (0..500).for_each(|_| raw.send(&NOTICE));
        steady.play(10);
    }
}

/// Requests the state as often as possible for a while, by a new connection after each `renewed`
/// requests. Fails if more is answered than the rate of a user permits.
fn flood(socket: &Path, renewed: u32) {
    const FLOOD: Duration = Duration::from_millis(400);
    /// docs/streams.md: 1000 requests a second, 256 at once.
    const AT_ONCE: u128 = 256;
    let request = serde_json::to_vec(&Request::Status).unwrap();
    let mut buffer = vec![0; REPLY_BYTES];
    let (mut answered, mut connections) = (0, 0);
    let start = std::time::Instant::now();
    while start.elapsed() < FLOOD {
        let raw = Raw::connect(socket);
        raw.stream.set_nonblocking(true).unwrap();
        connections += 1;
        let mut sent = 0;
        while sent < renewed && start.elapsed() < FLOOD {
            sent += u32::from(local_socket::send(&raw.stream, &request, &[]).is_ok());
            while local_socket::receive(&raw.stream, &mut buffer, false).is_ok_and(|received| {
                let reply = serde_json::from_slice(&buffer[..received.count]);
                matches!(reply, Ok(Reply::Status(_)))
            }) {
                answered += 1;
            }
            std::thread::yield_now();
        }
        drop(raw);
        // The server sees the end before the next connection.
        std::thread::sleep(Duration::from_millis(2));
    }
    // Each connection may send one request too many before it has to wait.
    let most = AT_ONCE + start.elapsed().as_millis() + connections;
    assert!(answered <= most, "{answered} requests were answered, {most} are permitted");
}

#[test]
fn a_flood_of_requests_has_a_rate_and_keeps_nobody_waiting() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let socket = server.socket();
    let flood = std::thread::spawn(move || flood(&socket, u32::MAX));
    while !flood.is_finished() {
        steady.play(10);
    }
    flood.join().unwrap();
}

#[test]
fn a_new_connection_does_not_renew_the_rate() {
    let server = Running::start();
    flood(&server.socket(), 200);
}

/// The words of the rings of a raw client.
fn rings(welcome: &Welcome, files: &[OwnedFd]) -> Vec<WritableWords> {
    let payload = welcome.payload_bytes as usize;
    let shapes = [HEADER_BYTES + payload, RECEIPT_BYTES]
        .map(|bytes| Shape::new(bytes, welcome.items as usize).unwrap());
    let words = shapes.map(|shape| shape.ring_bytes() / size_of::<u64>());
    let map = |(file, words)| WritableWords::map(file, words).unwrap();
    files.iter().zip(words).map(map).collect()
}

#[test]
fn any_word_of_shared_memory_may_change_at_any_time() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let mut random = SplitMix64::new(1993);
    for _ in 0..40 {
        let raw = Raw::connect(&server.socket());
        let (welcome, files) = raw.introduce();
        let stream = tactus_stream::StreamId(0);
        let open = Request::Open { stream, device: "one".to_owned() };
        raw.send(&serde_json::to_vec(&open).unwrap());
        let words = rings(&welcome, &files);
        for _ in 0..2000 {
            let ring = &words[random.below(2) as usize].words();
            // Half of the time the indices, which matter most.
            let most = if random.below(2) == 0 { 16 } else { ring.len() };
            let value = match random.below(4) {
                0 => random.below(40),
                1 => Client::now().as_nanos() + random.below(1_000_000),
                2 => u64::MAX - random.below(40),
                _ => random.next_u64(),
            };
            ring[random.below(most as u64) as usize].store(value, Ordering::Relaxed);
            if random.below(8) == 0 {
                raw.send(&NOTICE);
            }
        }
        steady.play(10);
    }
    await_balance(&server.socket(), |found| found.clients.len() == 1);
}

#[test]
fn memory_of_a_ring_cannot_be_taken_away() {
    let server = Running::start();
    let mut steady = Steady::of(&server);
    let raw = Raw::connect(&server.socket());
    let (_, files) = raw.introduce();
    for file in &files {
        assert!(rustix::fs::ftruncate(file.as_fd(), 0).is_err());
    }
    let shortfalls = status(server.socket()).unwrap().shortfalls;
    if let Some(missing) = shortfalls.iter().find(|missing| missing.starts_with("secret memory:")) {
        skip(Need::Machine, missing);
    } else {
        for file in &files {
            let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let punched = rustix::fs::fallocate(file.as_fd(), punch, 0, 4096);
            assert!(punched.is_err(), "secret memory keeps its pages");
        }
    }
    steady.play(20);
}

#[test]
fn a_client_that_breaks_a_rule_of_items_is_ended_or_answered() {
    let server = Running::start();
    let raw = Raw::connect(&server.socket());
    let (welcome, files) = raw.introduce();
    let items = &rings(&welcome, &files)[0];
    // The length of its payload is that of no slot.
    let header = 16;
    items.words()[header + 5].store(u64::from(u16::MAX) << 32, Ordering::Relaxed);
    items.words()[0].store(1, Ordering::Release);
    raw.send(&NOTICE);
    let reason = raw.ended().unwrap();
    assert!(reason.contains("the payload of an item has 65535 bytes"), "{reason}");
    let raw = Raw::connect(&server.socket());
    let (welcome, files) = raw.introduce();
    let items = &rings(&welcome, &files)[0];
    items.words()[0].store(1 << 40, Ordering::Release);
    raw.send(&NOTICE);
    assert!(raw.ended().unwrap().contains("indices"));
    let raw = Raw::connect(&server.socket());
    let (welcome, files) = raw.introduce();
    let items = &rings(&welcome, &files)[0];
    // An item for a stream that is not open.
    items.words()[0].store(1, Ordering::Release);
    raw.send(&NOTICE);
    await_balance(&server.socket(), |found| found.total.refused == 1);
}
