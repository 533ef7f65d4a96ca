//! A process of its own, whose CPU time is that of one door.
#![forbid(unsafe_code)]

#[path = "../../streamd/tests/common/mod.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod common;
#[path = "doors/support.rs"]
#[expect(dead_code, reason = "the other tests of doors use more of it")]
mod support;

use std::io::{ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tactus_door::lines::{Door, Options};
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_sys::usage::scheduled_time;

/// The CPU time of all threads of this process.
fn cpu_time() -> Nanos {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |name: std::ffi::OsString| scheduled_time(ThreadId(name.to_str()?.parse().ok()?)).ok();
    threads.filter_map(|thread| Some(of(thread.ok()?.file_name())?.ran)).sum()
}

#[test]
fn a_program_that_does_not_read_keeps_no_thread_busy() {
    let (server, kept) = support::server();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let _door = Door::open(&Options { path: path.clone(), server: server.socket() }).unwrap();
    let mut program = UnixStream::connect(path).unwrap();
    // Items that are delivered when the answers to later lines fill the socket and the door.
    program.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let items = "{\"send\":{\"to\":\"log\",\"in\":\"3s\",\"text\":\"x\"}}\n".repeat(500);
    program.write_all(items.as_bytes()).unwrap();
    let error = loop {
        if let Err(error) = program.write_all(b"{\"devices\":{}}\n") {
            break error;
        }
    };
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    while kept[2].lock().unwrap().len() < 500 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let (before, length) = (cpu_time(), Nanos::from_millis(500));
    std::thread::sleep(length.into());
    let used = cpu_time() - before;
    assert!(used.as_nanos() * 4 < length.as_nanos(), "{used} of CPU time in {length}");
}
