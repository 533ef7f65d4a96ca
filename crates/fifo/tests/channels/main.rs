//! Channels between threads and processes, honest and hostile.

mod hostile;
mod processes;
mod refusals;

use std::path::{Path, PathBuf};
use std::time::Duration;

use tactus_fifo::{
    Broker, Builder, Ended, FifoReader, FifoWriter, Full, Received, SharedReader, SharedWriter,
};
use tactus_testing::{eventually, wait_until};
use tempfile::TempDir;

/// A socket that vanishes with its folder.
struct Place {
    _folder: TempDir,
    socket: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("fifo.sock");
        Self { _folder: folder, socket }
    }

    fn offers(&self) -> Builder {
        Broker::builder(&self.socket)
    }
}

fn reader(socket: &Path) -> FifoReader<u64> {
    FifoReader::open(socket, "numbers").unwrap()
}

fn writer(socket: &Path) -> FifoWriter<u64> {
    FifoWriter::open(socket, "numbers").unwrap()
}

#[test]
fn items_outwards_arrive_in_sequence_and_every_one_is_counted() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 64).unwrap();
    let _broker = offers.start().unwrap();
    let mut reader = reader(&place.socket);
    let offered = 200_000;
    let thread = std::thread::spawn(move || {
        for number in 0..offered {
            while sender.try_push(&number).is_err() && number % 1000 == 0 {
                std::thread::yield_now();
            }
        }
        let counts = sender.counts();
        (sender, counts)
    });
    let mut items = 0;
    let mut last = None;
    // The end is an item that is never refused: the writer tries again.
    while last != Some(offered - 1000) {
        let item = reader.read().unwrap();
        assert!(last.is_none_or(|last| item > last), "{item} after {last:?}");
        (last, items) = (Some(item), items + 1);
    }
    let (sender, sent) = thread.join().unwrap();
    assert!(sent.refused > 0 || sent.pushed == offered);
    while reader.try_read().unwrap().is_some() {
        items += 1;
    }
    let received = reader.counts();
    assert_eq!(sent.pushed, items, "{sent:?}");
    assert_eq!(received, Received { popped: items, lost: 0, available: 0, invalid: 0 });
    assert_eq!(reader.offered(), (sent.pushed, sent.refused));
    assert_eq!(sent.invalid, 0);
    drop(sender);
    assert_eq!(reader.try_read(), Err(Ended));
}

#[test]
fn items_inwards_wake_a_thread_that_waits() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("numbers", 16).unwrap();
    let broker = offers.start().unwrap();
    let mut writer = writer(&place.socket);
    let thread = std::thread::spawn(move || {
        for expected in 0..5000 {
            assert_eq!(receiver.pop_until(None), Ok(Some(expected)));
        }
        receiver
    });
    for number in 0..5000 {
        eventually(|| writer.write(&number));
    }
    let receiver = thread.join().unwrap();
    let (sent, received) = (writer.counts(), receiver.counts());
    assert_eq!((sent.pushed, received.popped, received.lost), (5000, 5000, 0));
    assert_eq!(broker.peers().len(), 1);
    drop(receiver);
    assert!(writer.write(&1).is_err());
}

#[test]
fn a_full_fifo_refuses_and_counts() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 4).unwrap();
    let _broker = offers.start().unwrap();
    // A reader that never reads.
    let _reader = reader(&place.socket);
    let pushed: Vec<_> = (0..10).map(|number| sender.try_push(&number)).collect();
    assert_eq!(pushed[3..5], [Ok(()), Err(Full)]);
    let counts = sender.counts();
    assert_eq!((counts.pushed, counts.refused, counts.in_flight), (4, 6, 4));
}

#[test]
fn the_descriptor_can_be_read_when_items_have_come_and_at_the_end() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 4).unwrap();
    let broker = offers.start().unwrap();
    let mut reader = reader(&place.socket);
    let short = Some(Duration::from_millis(20));
    for number in 0..100 {
        assert_eq!(reader.try_read(), Ok(None));
        assert!(!reader.wait(short.filter(|_| number == 0).or(Some(Duration::ZERO))).unwrap());
        sender.try_push(&number).unwrap();
        wait_until("no item", || reader.wait(None).unwrap());
        assert_eq!(reader.try_read(), Ok(Some(number)));
    }
    sender.try_push(&7).unwrap();
    drop((sender, broker));
    assert_eq!(reader.read(), Ok(7));
    assert_eq!((reader.read(), reader.wait(None)), (Err(Ended), Ok(true)));
}

#[test]
fn the_next_reader_takes_what_the_last_one_left() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut sender = offers.fifo_out::<u64>("numbers", 8).unwrap();
    let broker = offers.start().unwrap();
    let mut first = reader(&place.socket);
    (0..6).for_each(|number| sender.try_push(&number).unwrap());
    assert_eq!((first.read(), first.read()), (Ok(0), Ok(1)));
    drop(first);
    wait_until("a peer is left", || broker.peers().is_empty());
    let mut second = reader(&place.socket);
    assert_eq!(second.start(), 2);
    // The real-time side need not run for that.
    assert_eq!(second.read(), Ok(2));
    let pushed = (6..12).filter(|number| sender.try_push(number).is_ok());
    assert_eq!(pushed.count(), 5);
    let mut rest = Vec::new();
    while let Ok(Some(number)) = second.try_read() {
        rest.push(number);
    }
    assert_eq!(rest, [3, 4, 5, 6, 7, 8, 9, 10]);
    let counts = sender.counts();
    assert_eq!((counts.pushed, counts.refused, counts.invalid), (11, 1, 0));
}

#[test]
fn the_items_of_a_writer_that_has_gone_come_before_those_of_the_next() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut receiver = offers.fifo_in::<u64>("numbers", 8).unwrap();
    let broker = offers.start().unwrap();
    let mut expected = Vec::new();
    for session in 0..4 {
        let mut writer = writer(&place.socket);
        (0..5).for_each(|number| writer.write(&(10 * session + number)).unwrap());
        drop(writer);
        wait_until("a peer is left", || broker.peers().is_empty());
        // One item stays for the time of the next writer.
        expected.extend((0..5).map(|number| 10 * session + number));
        while receiver.counts().popped + 1 < expected.len() as u64 {
            let place = receiver.counts().popped as usize;
            assert_eq!(receiver.try_pop(), Some(expected[place]));
        }
    }
    assert_eq!(receiver.try_pop(), Some(34));
    let counts = receiver.counts();
    assert_eq!((counts.popped, counts.lost, counts.invalid), (20, 0, 0));
}

/// A value with the same byte everywhere.
type Uniform = [u8; 300];

fn is_uniform(value: &Uniform) -> bool {
    value.iter().all(|byte| *byte == value[0])
}

#[test]
fn blocks_hold_the_latest_value_and_never_a_mixture() {
    let place = Place::new();
    let mut offers = place.offers();
    let mut out = offers.block_out::<Uniform>("out").unwrap();
    let mut inward = offers.block_in::<Uniform>("in").unwrap();
    let broker = offers.start().unwrap();
    let mut readers: Vec<_> =
        (0..3).map(|_| SharedReader::<Uniform>::open(&place.socket, "out").unwrap()).collect();
    let mut writer = SharedWriter::<Uniform>::open(&place.socket, "in").unwrap();
    assert_eq!((readers[0].read(), inward.read()), (Ok(None), None));
    let thread = std::thread::spawn(move || {
        for number in 0..30_000_u32 {
            writer.write(&[number as u8; 300]).unwrap();
            out.write(&[number as u8; 300]);
        }
        (writer, out)
    });
    while !thread.is_finished() {
        for reader in &mut readers {
            assert!(reader.read().unwrap().is_none_or(|value| is_uniform(&value)));
        }
        assert!(inward.read().is_none_or(|value| is_uniform(&value)));
    }
    let ends = thread.join().unwrap();
    let last = Some([29_999_u32 as u8; 300]);
    assert_eq!((readers[2].read(), inward.read()), (Ok(last), last));
    drop((ends, broker));
    assert_eq!((readers[0].read(), inward.read()), (Err(Ended), last));
}
