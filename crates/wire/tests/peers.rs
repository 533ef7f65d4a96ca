//! Processes that speak well, badly, too much, or not at all.

use std::fs;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use tactus_wire::{LAST_WORDS_LIMIT, MESSAGE_LIMIT, Start, WireError};

/// More than any of these processes needs.
const AMPLE: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn shell(script: &str) -> Start {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Start::new(command).dies_with_this_thread()
}

#[test]
fn a_peer_answers_and_ends_when_its_input_is_closed() {
    let (mut peer, mut answers) = shell("cat").in_own_group().start().unwrap();
    for number in [1_u64, u64::MAX] {
        peer.send(&number).unwrap();
        assert_eq!(answers.read_within::<u64>(AMPLE).unwrap(), number);
    }
    assert!(peer.is_running());
    peer.close();
    assert!(matches!(peer.send(&1), Err(WireError::Closed)));
    assert!(matches!(answers.read::<u64>(), Err(WireError::Closed)));
    assert_eq!(peer.end(AMPLE), "it ended with exit code 0");
}

#[test]
fn a_peer_that_writes_in_pieces_is_understood() {
    let script = "for piece in '[1' ', 2' ']\n[3' ',4]\n'; do printf \"$piece\"; sleep 0.02; done";
    let (_peer, mut answers) = shell(script).start().unwrap();
    assert_eq!(answers.read_within::<[u8; 2]>(AMPLE).unwrap(), [1, 2]);
    assert_eq!(answers.read_within::<[u8; 2]>(AMPLE).unwrap(), [3, 4]);
}

#[test]
fn a_silent_peer_is_waited_for_no_longer_than_asked() {
    // Once in silence, and once in the middle of a message.
    for script in ["exec sleep 1000", "printf '{'; exec sleep 1000"] {
        let (peer, mut answers) = shell(script).start().unwrap();
        let begun = Instant::now();
        let silent = answers.read_within::<u64>(SHORT).unwrap_err();
        assert!(begun.elapsed() >= SHORT);
        assert_eq!(silent.to_string(), "no message within 0.05 s");
        assert!(matches!(answers.read::<u64>(), Err(WireError::Closed)));
        assert_eq!(peer.end(Duration::ZERO), "it was ended by signal 9");
    }
}

#[test]
fn a_peer_that_floods_is_refused_and_costs_no_more_than_the_limit() {
    let (peer, mut answers) = shell("exec head -c 1G /dev/zero").start().unwrap();
    let refused = answers.read::<u64>().unwrap_err();
    assert!(matches!(refused, WireError::TooLarge { limit: MESSAGE_LIMIT, .. }), "{refused}");
    // Nobody reads the rest, of which the process learns by SIGPIPE.
    assert_eq!(peer.end(AMPLE), "it was ended by signal 13");
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: usize = peak.trim().trim_end_matches(" kB").parse().unwrap();
    // The message may be there twice while its memory grows.
    assert!(peak << 10 < 3 * MESSAGE_LIMIT, "{peak} KiB");
}

#[test]
fn a_peer_that_babbles_is_refused_for_good() {
    let (peer, mut answers) = shell("echo hello; echo 7").start().unwrap();
    assert!(matches!(answers.read::<u64>(), Err(WireError::Garbled { .. })));
    assert!(matches!(answers.read::<u64>(), Err(WireError::Closed)));
    peer.end(AMPLE);
}

#[test]
fn how_a_peer_ended_is_described_with_its_last_words() {
    let check = |script: &str, expected: &str| {
        let (mut peer, mut answers) = shell(script).keeps_last_words().start().unwrap();
        // A process that has ended takes no request.
        while peer.send(&1).is_ok() {}
        assert!(matches!(answers.read::<u64>(), Err(WireError::Closed)));
        assert_eq!(peer.end(AMPLE), expected);
    };
    check("exit 3", "it ended with exit code 3");
    check("echo no >&2; exit 3", "it ended with exit code 3; it said: no");
    check("echo dying >&2; kill -9 $$", "it was ended by signal 9; it said: dying");
}

#[test]
fn the_end_of_long_complaints_is_kept() {
    let script = "exec >&-; yes complaint | head -c 100000 >&2; echo last >&2";
    let (mut peer, mut answers) = shell(script).keeps_last_words().start().unwrap();
    assert!(matches!(answers.read::<u64>(), Err(WireError::Closed)));
    peer.wait().unwrap();
    let words = peer.take_last_words().unwrap().take(AMPLE);
    assert!(words.len() <= LAST_WORDS_LIMIT && words.ends_with("complaint\nlast"), "{words}");
}

#[test]
fn a_process_that_is_left_behind_does_not_hold_up_the_last_words() {
    let script = "echo over >&2; sleep 1000 >&- & echo $!";
    let (mut peer, mut answers) = shell(script).keeps_last_words().start().unwrap();
    let left_behind = answers.read_within::<u32>(AMPLE).unwrap();
    peer.wait().unwrap();
    assert_eq!(peer.take_last_words().unwrap().take(SHORT), "over");
    tactus_sys::process::kill(left_behind).unwrap();
}

#[test]
fn a_listener_hears_every_message_and_at_last_why_there_is_no_other() {
    let (sender, heard) = channel::<Result<u64, WireError>>();
    let (mut peer, answers) = shell("echo 1; read line; echo 2; printf 3").start().unwrap();
    answers.listen("listener", move |message| sender.send(message).is_ok()).unwrap();
    assert_eq!(heard.recv_timeout(AMPLE).unwrap().unwrap(), 1_u64);
    assert!(matches!(heard.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout)));
    peer.close();
    assert_eq!(heard.recv_timeout(AMPLE).unwrap().unwrap(), 2);
    let last = heard.recv_timeout(AMPLE).unwrap();
    assert!(matches!(last, Err(WireError::Truncated { .. })), "{last:?}");
    assert!(matches!(heard.recv_timeout(AMPLE), Err(RecvTimeoutError::Disconnected)));
    peer.wait().unwrap();
}

#[test]
fn what_follows_the_requests_is_left_to_the_caller() {
    let (mut peer, mut answers) = shell("cat").start().unwrap();
    peer.send(&1).unwrap();
    let mut input = peer.take_input().unwrap();
    std::io::Write::write_all(&mut input, b"2\n").unwrap();
    drop(input);
    assert_eq!(answers.read::<u64>().unwrap(), 1);
    assert_eq!(answers.read::<u64>().unwrap(), 2);
    assert!(peer.wait().unwrap().success());
}
