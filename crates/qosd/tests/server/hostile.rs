//! What hostile clients can do: nothing to others.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tactus_model::random::SplitMix64;
use tactus_qos::message::{CALL_BYTES, encode};
use tactus_sys::local_socket;
use tactus_testing::{Need as TestNeed, skip};

use crate::support::{Running, Sleeper, need, reserve};

/// Set for the process that acts as another user: the socket and the thread.
const SOCKET: &str = "TACTUS_TEST_SOCKET";
const THREAD: &str = "TACTUS_TEST_THREAD";

fn call(stream: &mut UnixStream, message: &Value) -> Value {
    stream.write_all(&encode(message)).unwrap();
    reply(stream)
}

fn reply(stream: &mut UnixStream) -> Value {
    let mut reply = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).unwrap() == 1 && byte[0] != 0 {
        reply.push(byte[0]);
    }
    serde_json::from_slice(&reply).unwrap()
}

/// Reads until the server closes the connection.
fn is_closed(stream: &mut UnixStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut sink = [0; 4096];
    loop {
        match stream.read(&mut sink) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn wrong_calls_are_answered_with_an_error() {
    let server = Running::start();
    let check = |method: &str, parameters: Value, error: &str, reason: &str| {
        let message = json!({ "method": method, "parameters": parameters });
        let reply = call(&mut server.stream(), &message);
        assert_eq!(reply["error"], error, "{message}: {reply}");
        assert!(reply["parameters"].to_string().contains(reason), "{message}: {reply}");
    };
    check("org.tactus.qos.Nothing", json!({}), "org.varlink.service.MethodNotFound", "Nothing");
    check("org.other.Nothing", json!({}), "org.varlink.service.InterfaceNotFound", "org.other");
    check("Nothing", json!({}), "org.varlink.service.MethodNotFound", "Nothing");
    check("org.tactus.qos.Fit", json!({}), "org.tactus.qos.BadRequest", "missing field `period`");
    check("org.tactus.qos.Fit", json!({"period": -1}), "org.tactus.qos.BadRequest", "-1");
    check("org.tactus.qos.Follow", json!({}), "org.varlink.service.ExpectedMore", "");
    let need = json!({ "period": 10, "cost_min": 20 });
    let without_thread = json!({ "need": need });
    check("org.tactus.qos.Reserve", without_thread, "org.tactus.qos.BadRequest", "name one thread");
    let without_descriptor = json!({ "need": need, "descriptor": 0 });
    check(
        "org.tactus.qos.Reserve",
        without_descriptor,
        "org.tactus.qos.BadRequest",
        "no descriptor 0",
    );
    let missing = json!({ "need": need, "thread": i32::MAX });
    check("org.tactus.qos.Reserve", missing, "org.tactus.qos.BadThread", "does not exist");
    let impossible = json!({ "need": need, "thread": std::process::id() });
    check(
        "org.tactus.qos.Reserve",
        impossible,
        "org.tactus.qos.BadRequest",
        "largest cost is 10ns",
    );
}

#[test]
fn the_service_describes_itself() {
    let server = Running::start();
    let mut stream = server.stream();
    let info = call(&mut stream, &json!({ "method": "org.varlink.service.GetInfo" }));
    assert_eq!(info["parameters"]["product"], "tactus qosd");
    let asked = json!({
        "method": "org.varlink.service.GetInterfaceDescription",
        "parameters": { "interface": "org.tactus.qos" },
    });
    let described = call(&mut stream, &asked);
    assert_eq!(described["parameters"]["description"], tactus_qos::message::DESCRIPTION);
}

#[test]
fn a_descriptor_that_is_no_thread_is_refused() {
    let server = Running::start();
    let mut stream = server.stream();
    let file = std::fs::File::open("/dev/null").unwrap();
    let message = json!({
        "method": "org.tactus.qos.Reserve",
        "parameters": { "need": need(1), "descriptor": 0 },
    });
    local_socket::send(&stream, &encode(&message), &[file.as_fd()]).unwrap();
    let reply = call(&mut stream, &json!({ "method": "org.tactus.qos.Status" }));
    assert_eq!(reply["error"], "org.tactus.qos.BadThread", "{reply}");
}

#[test]
fn descriptors_of_one_call_are_limited_and_those_of_many_calls_are_closed() {
    let server = Running::start();
    let (mut one, many) = (server.stream(), server.stream());
    let file = std::fs::File::open("/dev/null").unwrap();
    // Parts of a call that never ends.
    for _ in 0..100 {
        if local_socket::send(&one, b" ", &[file.as_fd()]).is_err() {
            break;
        }
    }
    assert!(is_closed(&mut one));
    let mut many = many;
    // Fewer in all than a user may have waiting to be closed: a busy machine closes them late.
    for wrong in [json!({ "reserve": "x" }), Value::Null] {
        for method in ["Status", "Release", "Change", "Reserve", "Nothing"] {
            let method = format!("org.tactus.qos.{method}");
            let message = encode(&json!({ "method": method, "parameters": wrong }));
            local_socket::send(&many, &message, &[file.as_fd()]).unwrap();
            let mut byte = [1];
            while byte[0] != 0 {
                many.read_exact(&mut byte).unwrap();
            }
        }
    }
    assert!(server.is_serving());
}

#[test]
fn a_call_that_would_change_the_protocol_is_refused() {
    let server = Running::start();
    let mut stream = server.stream();
    let reply = call(&mut stream, &json!({ "method": "org.tactus.qos.Status", "upgrade": true }));
    assert_eq!(reply["error"], "org.tactus.qos.BadRequest", "{reply}");
    let reply = call(&mut stream, &json!({ "method": "org.tactus.qos.Status" }));
    assert!(reply["error"].is_null(), "{reply}");
}

#[test]
fn a_huge_or_broken_call_closes_the_connection() {
    let server = Running::start();
    for bytes in [vec![b' '; 2 * CALL_BYTES], b"\0".to_vec(), b"{]\0".to_vec(), b"[1]\0".to_vec()] {
        let mut stream = server.stream();
        // The server may close before it has read everything.
        let _ = stream.write_all(&bytes);
        assert!(is_closed(&mut stream), "{:?}", &bytes[..bytes.len().min(9)]);
    }
    // Complete, and too long.
    let mut long = encode(&json!({ "method": "org.tactus.qos.Status" }));
    long.splice(0..0, vec![b' '; CALL_BYTES]);
    let mut stream = server.stream();
    stream.write_all(&long).unwrap();
    let reply = reply(&mut stream);
    assert!(reply.to_string().contains("more than 16384 bytes"), "{reply}");
    let mut deep = "[".repeat(CALL_BYTES / 2).into_bytes();
    deep.push(0);
    let mut stream = server.stream();
    stream.write_all(&deep).unwrap();
    assert!(is_closed(&mut stream));
}

#[test]
fn half_a_call_closes_the_connection_after_a_while() {
    let server = Running::start();
    let (mut half, mut silent) = (server.stream(), server.stream());
    half.write_all(b"{\"method\":").unwrap();
    assert!(is_closed(&mut half));
    let status = json!({ "method": "org.tactus.qos.Status" });
    assert!(call(&mut silent, &status)["parameters"]["reserves"].is_array());
}

#[test]
fn a_client_that_reads_nothing_is_closed_and_delays_nobody() {
    let server = Running::start();
    let mut deaf = server.stream();
    let status = encode(&json!({ "method": "org.tactus.qos.Status" }));
    deaf.set_nonblocking(true).unwrap();
    // Until nothing more fits: replies fill the one direction, calls the other.
    while deaf.write(&status).is_ok() || server.is_serving_now(&mut deaf) {}
    assert!(server.is_serving());
    deaf.set_nonblocking(false).unwrap();
    std::thread::sleep(Duration::from_millis(10_500));
    assert!(server.is_serving());
    assert!(is_closed(&mut deaf));
}

impl Running {
    /// Whether the server has taken what a stream holds: writing is possible again soon.
    fn is_serving_now(&self, stream: &mut UnixStream) -> bool {
        std::thread::sleep(Duration::from_millis(20));
        let status = encode(&json!({ "method": "org.tactus.qos.Status" }));
        stream.write(&status).is_ok()
    }
}

#[test]
fn needs_root_noise_harms_no_reserve() {
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let Some(grant) = reserve(&mut client, &sleeper, need(3)) else { return };
    let mut random = SplitMix64::new(7);
    let seeds = [
        encode(&json!({ "method": "org.tactus.qos.Status", "more": true })),
        encode(&json!({ "method": "org.tactus.qos.Release", "parameters": { "reserve": 99 } })),
        encode(&json!({ "method": "org.tactus.qos.Fit", "parameters": { "period": 10_000_000 } })),
        encode(&json!({ "method": "org.tactus.qos.Follow", "more": true })),
    ];
    for round in 0..300_usize {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..random.next_u64() % 8 {
            let at = random.next_u64() as usize % bytes.len();
            bytes[at] = random.next_u64() as u8;
        }
        let mut stream = server.stream();
        let _ = stream.write_all(&bytes);
    }
    assert_eq!(sleeper.policy(), "deadline:300us/10ms/10ms");
    assert_eq!(client.status().unwrap().reserves[0].reserve, grant.reserve);
}

#[test]
fn connections_beyond_the_cap_are_refused_with_a_reason() {
    let user = tactus_sys::process::effective_user();
    let server = Running::with(&format!("[[rule]]\nuser = {user}\nconnections = 3\n"));
    let status = json!({ "method": "org.tactus.qos.Status" });
    let mut kept: Vec<UnixStream> = (0..3).map(|_| server.stream()).collect();
    for stream in &mut kept {
        assert!(call(stream, &status)["error"].is_null());
    }
    let mut refused = server.stream();
    let mut reply = String::new();
    refused.read_to_string(&mut reply).unwrap();
    assert!(reply.contains("org.tactus.qos.TooManyConnections"), "{reply}");
    drop(kept.pop());
    // The server learns of the end in its own time.
    loop {
        let mut stream = server.stream();
        let taken = stream.write_all(&encode(&status));
        let mut first = [0];
        let is_served = taken.is_ok() && stream.read(&mut first).is_ok();
        let mut rest = vec![0; 65536];
        let count = stream.read(&mut rest).unwrap_or(0);
        if is_served && !String::from_utf8_lossy(&rest[..count]).contains("TooMany") {
            break;
        }
    }
}

#[test]
fn thousands_of_connections_leave_the_server_usable() {
    let server = Running::with(&format!(
        "[[rule]]\nuser = {}\nconnections = 100\n",
        tactus_sys::process::effective_user()
    ));
    let flood: Vec<_> = (0..3000)
        .filter_map(|_| UnixStream::connect(server.socket()).ok())
        .enumerate()
        // This process may not have thousands of open files.
        .filter_map(|(number, stream)| (number < 90).then_some(stream))
        .collect();
    // It still has to notice those that are closed.
    while !server.is_serving() {}
    drop(flood);
}

#[test]
fn needs_root_another_user_takes_no_thread_and_no_reserve_of_ours() {
    if let (Some(socket), Some(thread)) = (std::env::var_os(SOCKET), std::env::var_os(THREAD)) {
        return act_as_another_user(socket.as_ref(), thread.to_str().unwrap().parse().unwrap());
    }
    if tactus_sys::process::effective_user() != 0 {
        return skip(TestNeed::Root, "only root becomes another user");
    }
    let (server, sleeper) = (Running::start(), Sleeper::start());
    let mut client = server.connect();
    let Some(_) = reserve(&mut client, &sleeper, need(3)) else { return };
    server.open_to_all();
    let name = "hostile::needs_root_another_user_takes_no_thread_and_no_reserve_of_ours";
    let outcome = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(SOCKET, server.socket())
        .env(THREAD, sleeper.id().0.to_string())
        .uid(65534)
        .gid(65534)
        .stderr(Stdio::inherit())
        .output();
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return skip(TestNeed::Root, format!("as another user: {error}")),
    };
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stdout));
    assert_eq!(sleeper.policy(), "deadline:300us/10ms/10ms");
}

/// What user 65534 tries.
fn act_as_another_user(socket: &std::path::Path, thread: i32) {
    let mut stream = UnixStream::connect(socket).unwrap();
    let reserve_call = |need: Value, thread: i32| json!({ "method": "org.tactus.qos.Reserve", "parameters": { "need": need, "thread": thread } });
    let small = json!({ "period": 10_000_000, "cost_min": 100_000 });
    let reply = call(&mut stream, &reserve_call(small.clone(), thread));
    assert_eq!(reply["error"], "org.tactus.qos.BadThread", "{reply}");
    assert!(reply.to_string().contains("runs as user 0"), "{reply}");
    for method in ["Release", "Change"] {
        let parameters = match method {
            "Release" => json!({ "reserve": 1 }),
            _ => json!({ "reserve": 1, "need": small }),
        };
        let method = format!("org.tactus.qos.{method}");
        let reply = call(&mut stream, &json!({ "method": method, "parameters": parameters }));
        assert_eq!(reply["error"], "org.tactus.qos.NoSuchReserve", "{reply}");
    }
    let follow = json!({
        "method": "org.tactus.qos.Follow", "more": true, "parameters": { "reserve": 1 },
    });
    assert_eq!(call(&mut stream, &follow)["error"], "org.tactus.qos.NoSuchReserve");
    // Its own cap is 40 % of a quarter of a CPU.
    let own = tactus_sys::thread::current_id().0;
    let much = json!({ "period": 10_000_000, "cost_min": 1_100_000 });
    let reply = call(&mut stream, &reserve_call(much, own));
    assert_eq!(reply["parameters"]["bound_by"], "user", "{reply}");
    let reply = call(&mut stream, &reserve_call(small, own));
    assert!(reply["error"].is_null(), "{reply}");
}
