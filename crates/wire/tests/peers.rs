//! Processes that write valid messages, invalid messages, too much, or nothing.

use std::fs;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tactus_wire::{LAST_WORDS_LIMIT, MESSAGE_LIMIT, Start, WireError};

/// Longer than any of these processes needs.
const AMPLE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn shell(script: &str) -> Start {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Start::new(command).dies_with_this_thread()
}

#[test]
fn a_peer_responds_and_ends_when_its_input_is_closed() {
    let (mut peer, mut responses) = shell("cat").in_own_group().start().unwrap();
    for number in [1_u64, u64::MAX] {
        peer.send(&number).unwrap();
        assert_eq!(responses.read_within::<u64>(AMPLE).unwrap(), number);
    }
    assert!(peer.is_running());
    peer.close();
    assert!(matches!(peer.send(&1), Err(WireError::Closed)));
    assert!(matches!(responses.read::<u64>(), Err(WireError::Closed)));
    assert_eq!(peer.end(AMPLE), "it ended with exit code 0");
}

#[test]
fn a_peer_that_writes_in_pieces_is_understood() {
    let script = "for piece in '[1' ', 2' ']\n[3' ',4]\n'; do printf \"$piece\"; sleep 0.02; done";
    let (_peer, mut responses) = shell(script).start().unwrap();
    assert_eq!(responses.read_within::<[u8; 2]>(AMPLE).unwrap(), [1, 2]);
    assert_eq!(responses.read_within::<[u8; 2]>(AMPLE).unwrap(), [3, 4]);
}

#[test]
fn the_wait_for_a_silent_peer_ends_at_its_limit() {
    // Before a message, and in the middle of a message.
    for script in ["exec sleep 1000", "printf '{'; exec sleep 1000"] {
        let (peer, mut responses) = shell(script).start().unwrap();
        let begun = Instant::now();
        let silent = responses.read_within::<u64>(SHORT).unwrap_err();
        assert!(begun.elapsed() >= SHORT);
        assert_eq!(silent.to_string(), "no message within 0.05 s");
        assert!(matches!(responses.read::<u64>(), Err(WireError::Closed)));
        assert_eq!(peer.end(Duration::ZERO), "it was killed by signal 9");
    }
}

#[test]
fn a_flood_from_a_peer_is_refused_at_the_limit() {
    let (peer, mut responses) = shell("exec head -c 1G /dev/zero").start().unwrap();
    let refused = responses.read::<u64>().unwrap_err();
    assert!(matches!(refused, WireError::TooLarge { limit: MESSAGE_LIMIT, .. }), "{refused}");
    // Nobody reads the rest: the process gets SIGPIPE.
    assert_eq!(peer.end(AMPLE), "it was killed by signal 13");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // Growing the buffer may hold the message twice.
    assert!(peak << 10 < 3 * MESSAGE_LIMIT, "{peak} KiB");
}

#[test]
fn no_message_is_read_after_an_invalid_line() {
    let (peer, mut responses) = shell("echo hello; echo 7").start().unwrap();
    assert!(matches!(responses.read::<u64>(), Err(WireError::Garbled { .. })));
    assert!(matches!(responses.read::<u64>(), Err(WireError::Closed)));
    peer.end(AMPLE);
}

#[test]
fn the_end_of_a_peer_is_described_with_its_stderr() {
    let check = |script: &str, expected: &str| {
        let (mut peer, mut responses) = shell(script).keeps_last_words().start().unwrap();
        // Sending to a process that has ended fails.
        while peer.send(&1).is_ok() {}
        assert!(matches!(responses.read::<u64>(), Err(WireError::Closed)));
        assert_eq!(peer.end(AMPLE), expected);
    };
    check("exit 3", "it ended with exit code 3");
    check("echo no >&2; exit 3", "it ended with exit code 3; stderr: no");
    check("echo dying >&2; kill -9 $$", "it was killed by signal 9; stderr: dying");
}

#[test]
fn the_end_of_a_long_stderr_is_kept() {
    let script = "exec >&-; yes complaint | head -c 100000 >&2; echo last >&2";
    let (mut peer, mut responses) = shell(script).keeps_last_words().start().unwrap();
    assert!(matches!(responses.read::<u64>(), Err(WireError::Closed)));
    peer.wait().unwrap();
    let words = peer.take_last_words().unwrap().take(AMPLE);
    assert!(words.len() <= LAST_WORDS_LIMIT && words.ends_with("complaint\nlast"), "{words}");
}

#[test]
fn a_process_left_behind_does_not_delay_the_last_words() {
    let script = "echo over >&2; sleep 1000 >&- & echo $!";
    let (mut peer, mut responses) = shell(script).keeps_last_words().start().unwrap();
    let left_behind = responses.read_within::<u32>(AMPLE).unwrap();
    peer.wait().unwrap();
    assert_eq!(peer.take_last_words().unwrap().take(SHORT), "over");
    tactus_sys::process::kill(left_behind).unwrap();
}

#[test]
fn a_listener_receives_every_message_and_then_the_final_error() {
    let (sender, received) = channel::<Result<u64, WireError>>();
    let (mut peer, responses) = shell("echo 1; read line; echo 2; printf 3").start().unwrap();
    responses.listen("listener", move |message| sender.send(message).is_ok()).unwrap();
    assert_eq!(received.recv_timeout(AMPLE).unwrap().unwrap(), 1_u64);
    assert!(matches!(received.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout)));
    peer.close();
    assert_eq!(received.recv_timeout(AMPLE).unwrap().unwrap(), 2);
    let last = received.recv_timeout(AMPLE).unwrap();
    assert!(matches!(last, Err(WireError::Truncated { .. })), "{last:?}");
    assert!(matches!(received.recv_timeout(AMPLE), Err(RecvTimeoutError::Disconnected)));
    peer.wait().unwrap();
}

#[test]
fn data_after_the_requests_is_left_to_the_caller() {
    let (mut peer, mut responses) = shell("cat").start().unwrap();
    peer.send(&1).unwrap();
    let mut input = peer.take_input().unwrap();
    std::io::Write::write_all(&mut input, b"2\n").unwrap();
    drop(input);
    assert_eq!(responses.read::<u64>().unwrap(), 1);
    assert_eq!(responses.read::<u64>().unwrap(), 2);
    assert!(peer.wait().unwrap().success());
}
