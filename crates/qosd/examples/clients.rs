//! Measures a running manager: requests a second, the time from request to grant, 500 clients, its
//! memory, and what a fuzzing client does to others.
//!
//! ```text
//! cargo run --release -p tactus-qosd --example clients
//! ```
//!
//! It starts a manager of its own as a process, or asks the one whose socket is given.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_qos::message::{Call, encode};
use tactus_qos::{Connection, Need, NotAnswered};
use tactus_qosd::{Places, start};
use tactus_sys::local_socket::peer_credentials;
use tactus_sys::pidfd::PidFd;

/// Clients that hold a reserve at the same time.
const CLIENTS: usize = 500;

/// Requests of each measurement.
const REQUESTS: usize = 2000;

/// 10 µs in 10 ms: 500 of them are half a CPU.
fn need() -> Need {
    Need::new(Nanos::from_millis(10), Nanos::from_micros(10))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [] => measure_own(),
        ["serve", folder] => serve(Path::new(folder)),
        [socket] => measure(Path::new(socket)).unwrap_or_else(|error| panic!("{error}")),
        _ => eprintln!("usage: clients [SOCKET]"),
    }
}

/// Measures a manager that ends with it.
fn measure_own() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let this = std::env::current_exe().expect("this program has a path");
    let mut manager = Command::new(this).arg("serve").arg(folder.path()).spawn().expect("it runs");
    let socket = folder.path().join("socket");
    while UnixStream::connect(&socket).is_err() {
        assert!(manager.try_wait().is_ok_and(|ended| ended.is_none()), "the manager has ended");
    }
    let measured = measure(&socket);
    manager.kill().and_then(|()| manager.wait()).expect("it is our process");
    measured.unwrap_or_else(|error| panic!("{error}"));
}

/// The manager.
fn serve(folder: &Path) {
    let (socket, state) = (folder.join("socket"), folder.join("state"));
    let places = Places { socket, policy: None, state };
    let (mut server, found) = start(&places).unwrap_or_else(|error| panic!("{error}"));
    if let Some(own) = found.policy.own {
        server.reserve_own(own).unwrap_or_else(|error| panic!("{error}"));
    }
    server.run(None, drop).unwrap_or_else(|error| panic!("{error}"));
}

fn measure(socket: &Path) -> Result<(), NotAnswered> {
    let mut client = Connection::open(socket)?;
    memory(&client, "before");
    requests(&mut client, "alone")?;
    grants(&mut client)?;
    let held = hold(socket)?;
    memory(&client, "with 500 clients");
    requests(&mut client, "beside 500 clients")?;
    drop(held);
    while client.status()?.connections > 1 {}
    memory(&client, "after 500 clients");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let fuzzing = scope.spawn(|| fuzz(socket, &stop));
        let measured = requests(&mut client, "beside a fuzzing client");
        stop.store(true, Ordering::Relaxed);
        let count = fuzzing.join().unwrap_or_default();
        println!("the fuzzing client made {count} connections");
        measured
    })?;
    memory(&client, "after the fuzzing client");
    Ok(())
}

/// Times questions that change nothing.
fn requests(client: &mut Connection, when: &str) -> Result<(), NotAnswered> {
    let mut times = Vec::with_capacity(REQUESTS);
    let began = Instant::now();
    for _ in 0..REQUESTS {
        let sent = Instant::now();
        client.fit(Nanos::from_millis(10), None)?;
        times.push(sent.elapsed());
    }
    let rate = REQUESTS as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} requests/s {when}: {}", percentiles(times));
    Ok(())
}

/// Times reserves of one thread, from the request to the grant, and its return.
fn grants(client: &mut Connection) -> Result<(), NotAnswered> {
    let (sleeper, _end) = sleeper();
    let (mut granted, mut released) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS / 2 {
        let sent = Instant::now();
        let grant = client.reserve(sleeper.as_fd(), need())?;
        granted.push(sent.elapsed());
        let sent = Instant::now();
        client.release(grant.reserve)?;
        released.push(sent.elapsed());
    }
    println!("request to grant: {}", percentiles(granted));
    println!("release to policy: {}", percentiles(released));
    Ok(())
}

/// Clients, each with a connection, a sleeping thread and a reserve for it.
fn hold(socket: &Path) -> Result<Vec<impl Sized>, NotAnswered> {
    let mut times = Vec::new();
    let began = Instant::now();
    let mut held = Vec::new();
    for _ in 0..CLIENTS {
        let mut client = Connection::open(socket)?;
        let (sleeper, end) = sleeper();
        let sent = Instant::now();
        client.reserve(sleeper.as_fd(), need())?;
        times.push(sent.elapsed());
        held.push((client, end));
    }
    let took = began.elapsed();
    println!("{CLIENTS} clients in {took:.1?}, request to grant: {}", percentiles(times));
    Ok(held)
}

/// A thread that sleeps until the value is dropped.
fn sleeper() -> (PidFd, std::sync::mpsc::Sender<()>) {
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _ = send.send(PidFd::of_thread(tactus_sys::thread::current_id()));
        let _ = ended.recv();
    });
    let opened = receive.recv().expect("the thread runs");
    (opened.expect("Linux 6.9 has descriptors of threads"), end)
}

/// Sends broken calls, each on a connection of its own.
fn fuzz(socket: &Path, stop: &AtomicBool) -> u64 {
    let mut random = SplitMix64::new(1);
    let call = Call {
        method: "org.tactus.qos.Status".to_owned(),
        parameters: serde_json::Value::Null,
        more: true,
        oneway: false,
        upgrade: false,
    };
    let (whole, mut count) = (encode(&call), 0);
    while !stop.load(Ordering::Relaxed) {
        let mut bytes = whole.repeat(4);
        for _ in 0..random.next_u64() % 8 {
            let at = random.next_u64() as usize % bytes.len();
            bytes[at] = random.next_u64() as u8;
        }
        if let Ok(mut stream) = UnixStream::connect(socket) {
            // The manager closes it.
            let _ = stream.write_all(&bytes);
            count += 1;
        }
    }
    count
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    format!("p50 {:.1?}, p99 {:.1?}, longest {:.1?}", at(0.5), at(0.99), at(1.0))
}

/// Prints the memory of the manager.
fn memory(client: &Connection, when: &str) {
    let Ok(peer) = peer_credentials(client.as_fd()) else { return };
    let status = std::fs::read_to_string(format!("/proc/{}/status", peer.process));
    let status = status.unwrap_or_default();
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or("unknown").trim().to_owned()
    };
    println!("memory {when}: {} anonymous, {} in all", value("RssAnon:"), value("VmRSS:"));
}
