//! Peers that keep no rule.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tactus_fifo::message::{Request, Role, VERSION};
use tactus_fifo::{Broker, FifoReader, Introduced, Sender, introduce};
use tactus_model::time::Nanos;
use tactus_sys::clock;
use tactus_sys::peer_memory::WritableWords;
use tactus_sys::poller::{Interest, Poller};
use tactus_testing::{Need, eventually, skip, wait_until};

use crate::{Place, reader, writer};

/// Requests a FIFO of numbers.
fn request(socket: &Path, role: Role) -> Introduced {
    let (name, element) = ("numbers".to_owned(), "u64".to_owned());
    introduce(socket, &Request { version: VERSION, name, role, element, bytes: 8 }).unwrap()
}

/// Opens a FIFO of numbers by hand. Returns the connection and the memory to write.
fn open(socket: &Path, role: Role, words: usize) -> (UnixStream, WritableWords) {
    let Introduced { stream, files, .. } = request(socket, role);
    (stream, WritableWords::map(&files[1], words).unwrap())
}

/// A reader that has gone after four numbers were pushed, whose memory remains, and its successor.
struct Successor {
    _place: Place,
    sender: Sender<u64>,
    _broker: Broker,
    /// The memory of the reader that has gone.
    words: WritableWords,
    next: FifoReader<u64>,
}

impl Successor {
    fn new() -> Self {
        let place = Place::new();
        let mut offers = place.offers();
        let mut sender = offers.fifo_out::<u64>("numbers", 4).unwrap();
        let broker = offers.start().unwrap();
        let (stream, words) = open(&place.socket, Role::ReadFifo, 8);
        (0..4).for_each(|number| sender.try_push(&number).unwrap());
        drop(stream);
        wait_until("a peer is left", || broker.peers().is_empty());
        let next = reader(&place.socket);
        Self { _place: place, sender, _broker: broker, words, next }
    }
}

#[test]
fn any_index_of_a_reader_leaves_the_counts_right() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 8).unwrap();
    let _broker = offers.start().unwrap();
    let (_stream, words) = open(&place.socket, Role::ReadFifo, 8);
    for index in [u64::MAX, 1 << 63, 9, 5, 4, 0, u64::MAX - 1] {
        words.words()[0].store(index, Ordering::Release);
        let _ = sender.try_push(&index);
        assert!(sender.counts().in_flight <= 8);
    }
    let counts = sender.counts();
    assert_eq!(counts.pushed + counts.refused, 7);
    assert!(sender.counts().invalid >= 5, "{:?}", sender.counts());
}

#[test]
fn any_index_of_a_writer_yields_no_more_items_than_slots() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("numbers", 8).unwrap();
    let _broker = offers.start().unwrap();
    let (_stream, words) = open(&place.socket, Role::WriteFifo, 16 + 8);
    for index in [u64::MAX, 1 << 63, 9, 0, u64::MAX - 7] {
        words.words()[0].store(index, Ordering::Release);
        assert_eq!(receiver.try_pop(), None, "{index}");
    }
    assert_eq!(receiver.counts().invalid, 4);
    words.words()[0].store(8, Ordering::Release);
    // It claims that some were overwritten.
    words.words()[1].store(3, Ordering::Release);
    assert_eq!(std::iter::from_fn(|| receiver.try_pop()).count(), 5);
    let counts = receiver.counts();
    assert_eq!((counts.popped, counts.lost), (5, 3));
}

#[test]
fn a_peer_that_has_gone_has_no_influence_on_the_next() {
    let Successor { _place, mut sender, _broker, words, mut next } = Successor::new();
    sender.try_push(&4).unwrap_err();
    // The memory of the first peer still exists.
    words.words()[0].store(4, Ordering::Release);
    sender.try_push(&5).unwrap_err();
    let read: Vec<_> = std::iter::from_fn(|| next.try_read().unwrap()).collect();
    assert_eq!(read, [0, 1, 2, 3]);
}

#[test]
fn a_peer_that_misleads_the_writer_before_the_next_takes_over_costs_items_that_are_counted() {
    let Successor { _place, mut sender, _broker, words, mut next } = Successor::new();
    // The real-time side has not met the next peer yet.
    words.words()[0].store(2, Ordering::Release);
    sender.try_push(&4).unwrap();
    let read: Vec<_> = std::iter::from_fn(|| next.try_read().unwrap()).collect();
    assert_eq!((read, next.counts().lost), (vec![2, 3, 4], 2));
    assert_eq!(sender.counts().pushed, next.counts().popped + next.counts().lost);
}

#[test]
fn a_user_that_keeps_the_memory_of_its_peers_keeps_two() {
    let place = Place::new();
    let mut offers = place.offers();
    let _receiver = offers.fifo_in::<u64>("numbers", 8).unwrap();
    let broker = offers.start().unwrap();
    let mut files = BTreeMap::new();
    for _ in 0..6 {
        let mut introduced = request(&place.socket, Role::WriteFifo);
        let file = File::from(introduced.files.remove(1));
        files.insert(file.metadata().unwrap().ino(), file);
        drop(introduced);
        wait_until("a peer is left", || broker.peers().is_empty());
    }
    assert_eq!(files.len(), 2);
}

#[test]
fn memory_that_the_real_time_side_reads_is_not_used_again() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("numbers", 8).unwrap();
    let broker = offers.start().unwrap();
    for round in 0..3_u64 {
        let mut last = 0;
        for session in 1..6 {
            let mut writer = writer(&place.socket);
            last = 10 * round + session;
            (0..3).for_each(|_| writer.write(&last).unwrap());
            drop(writer);
            wait_until("a peer is left", || broker.peers().is_empty());
            if session == 1 {
                assert_eq!(receiver.try_pop(), Some(last));
            }
        }
        let rest: Vec<_> = std::iter::from_fn(|| receiver.try_pop()).collect();
        let first = 10 * round + 1;
        assert_eq!(rest, [first, first, last, last, last]);
    }
    // Of each round, the loop met the first writer and the last; each wrote three.
    let counts = receiver.counts();
    assert_eq!((counts.popped, counts.lost, counts.invalid), (18, 27, 0));
}

#[test]
fn a_writer_that_the_loop_never_met_is_counted_by_what_it_can_have_written() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("numbers", 8).unwrap();
    let broker = offers.start().unwrap();
    for shown in [5, u64::MAX, 3] {
        let (stream, words) = open(&place.socket, Role::WriteFifo, 16 + 8);
        words.words()[0].store(shown, Ordering::Release);
        drop(stream);
        wait_until("a peer is left", || broker.peers().is_empty());
    }
    // The last one is met: its items are taken.
    assert_eq!(std::iter::from_fn(|| receiver.try_pop()).count(), 3);
    let counts = receiver.counts();
    assert_eq!((counts.popped, counts.lost, counts.invalid), (3, 5, 1));
}

#[test]
fn garbage_floods_and_silence_end_the_connection_and_nothing_else() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 4).unwrap();
    let _broker = offers.start().unwrap();
    let connect = || UnixStream::connect(&place.socket).unwrap();
    let silent = connect();
    let closes = |mut stream: UnixStream| {
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut answer = Vec::new();
        // A reset is an end too.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    for garbage in [&b"\n"[..], b"{}\n", b"[1,2", b"\xff\xfe\n", b"{\"version\":1}\n"] {
        let mut stream = connect();
        stream.write_all(garbage).unwrap();
        if garbage.ends_with(b"\n") {
            let answer = closes(stream);
            assert!(answer.contains("\"invalid\""), "{garbage:?}: {answer}");
        }
    }
    let mut long = connect();
    let _ = long.write_all(&[b'x'; 100_000]);
    let answer = closes(long);
    assert!(answer.contains("longer than 4096 bytes"), "{answer}");
    // More connections than a user may have.
    let many: Vec<_> = (0..40).map(|_| connect()).collect();
    let last = closes(many.into_iter().next_back().unwrap());
    assert!(last.contains("too many connections"), "{last}");
    assert_eq!(closes(silent), "");
    let mut reader = eventually(|| FifoReader::<u64>::open(&place.socket, "numbers"));
    sender.try_push(&7).unwrap();
    assert_eq!(reader.read(), Ok(7));
}

#[test]
fn a_reader_that_ignores_notices_does_not_hold_the_broker() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 4).unwrap();
    let mut other = offers.fifo_out::<u64>("other", 4).unwrap();
    let _broker = offers.start().unwrap();
    let (_stream, words) = open(&place.socket, Role::ReadFifo, 8);
    words.words()[1].store(1, Ordering::Release);
    for index in 0..20_000_u64 {
        words.words()[0].store(index, Ordering::Release);
        sender.try_push(&index).unwrap();
    }
    let mut reader = FifoReader::<u64>::open(&place.socket, "other").unwrap();
    assert_eq!(reader.try_read(), Ok(None));
    other.try_push(&1).unwrap();
    assert_eq!(reader.read(), Ok(1));
}

/// Makes many epolls wait for a stream, as far as the limit of open files permits.
fn epolls(stream: &UnixStream) -> Vec<Poller> {
    let _ = tactus_sys::process::raise_open_files_limit();
    let one = || {
        let poller = Poller::new().ok()?;
        poller.add(stream, 0, Interest::READ).ok().map(|()| poller)
    };
    std::iter::from_fn(one).take(12_000).collect()
}

/// The least CPU time of a write to a socket for which epolls wait, and their number.
fn write_time() -> (Nanos, usize) {
    let (mut near, far) = UnixStream::pair().unwrap();
    let pollers = epolls(&far);
    let write = |_| {
        let before = clock::thread_cpu_time();
        near.write_all(&[1]).unwrap();
        clock::thread_cpu_time() - before
    };
    ((0..8).map(write).min().unwrap_or_default(), pollers.len())
}

#[test]
fn a_peer_with_many_epolls_gets_few_notices_and_all_items() {
    let (slow, count) = write_time();
    if slow < Nanos::from_micros(400) {
        return skip(Need::Machine, format!("a notice that {count} epolls make slow"));
    }
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 1024).unwrap();
    let mut other = offers.fifo_out::<u64>("other", 4).unwrap();
    let _broker = offers.start().unwrap();
    let (mut stream, words) = open(&place.socket, Role::ReadFifo, 8);
    let pollers = epolls(&stream);
    words.words()[1].store(1, Ordering::Release);
    // All notices together would take a multiple of the credit, which is 10 ms.
    let offered = Nanos::from_millis(100).div_floor(slow);
    for index in 0..offered {
        words.words()[0].store(index, Ordering::Release);
        sender.try_push(&index).unwrap();
        std::thread::sleep(Duration::from_nanos(2 * slow.as_nanos()));
    }
    stream.set_nonblocking(true).unwrap();
    let notices = stream.read(&mut [0; 1024]).unwrap() as u64;
    assert!((1..=offered / 2).contains(&notices), "{notices} of {offered}");
    drop((stream, pollers));
    // The ration delays notices only.
    let mut next = eventually(|| FifoReader::<u64>::open(&place.socket, "numbers"));
    assert_eq!((next.try_read(), sender.counts().pushed), (Ok(Some(offered - 1)), offered));
    let mut reader = FifoReader::<u64>::open(&place.socket, "other").unwrap();
    other.try_push(&1).unwrap();
    assert_eq!(reader.try_read(), Ok(Some(1)));
}
