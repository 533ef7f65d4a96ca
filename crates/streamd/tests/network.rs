//! Items that leave as datagrams, received in another network namespace.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use tactus_delivery::device::Device;
use tactus_delivery::item::{BranchId, ClientId, Epoch, IfLate, Item, Moment, StreamId};
use tactus_delivery::receipt::{Evidence, Outcome, Receipt};
use tactus_model::time::{Monotonic, Nanos};
use tactus_streamd::sink::{HandedOver, Payload, Sink};
use tactus_streamd::sinks::lights::Protocol;
use tactus_streamd::sinks::{Datagrams, Lights, Universe};
use tactus_sys::clock::ClockPair;
use tactus_sys::network::StampedSocket;
use tactus_sys::{Errno, SysError, clock};
use tactus_testing::{Need, skip};
use tactus_transport::Pair;

/// A pair and a socket at its far end; `None` if this machine permits none.
fn pair(port: u16) -> Option<(Pair, StampedSocket)> {
    let made = Pair::make(1).and_then(|pair| {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let socket = pair.far().within(|| StampedSocket::bind(address, 1 << 20))?;
        let sender = pair.near().within(|| {
            let bound = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0));
            bound.map_err(|error| SysError::new("bind", Errno::from_io_error(&error).unwrap()))
        })?;
        Ok((pair, socket, sender))
    });
    match made {
        Ok((pair, socket, sender)) => {
            await_link(&sender, &socket, Pair::peer(port).into());
            Some((pair, socket))
        }
        Err(error) if error.errno == Errno::PERM => {
            skip(Need::Root, format!("network namespaces: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The kernel drops what is sent before the new link is up.
fn await_link(sender: &UdpSocket, receiver: &StampedSocket, peer: SocketAddr) {
    for _ in 0..200 {
        let _ = sender.send_to(&[0], peer);
        if received(receiver, 1, Duration::from_millis(100)).len() == 1 {
            // The answers to earlier ones.
            received(receiver, usize::MAX, Duration::from_millis(50));
            return;
        }
    }
    panic!("the link is not up");
}

fn now() -> Moment {
    clock::now::<Monotonic>()
}

fn item(sequence: u64, due: Moment, payload: &[u8]) -> Item<Payload> {
    Item {
        client: ClientId(1),
        sequence,
        stream: StreamId(1),
        branch: BranchId(0),
        epoch: Epoch(0),
        due,
        if_late: IfLate::Deliver,
        payload: payload.into(),
    }
}

/// Delivers all items at their times, as the server does, and returns their receipts.
fn deliver(sink: &mut dyn Sink, items: Vec<Item<Payload>>) -> Vec<Receipt> {
    let mut device = Device::new(sink.lead());
    let mut receipts: Vec<Receipt> =
        items.into_iter().filter_map(|item| device.push(item)).collect();
    while let Some(next) = device.next() {
        std::thread::sleep((next - now()).into());
        while let Some(item) = device.take_due(now(), &mut receipts) {
            let HandedOver::Done(delivery) = sink.hand_over(&item) else { panic!("pending") };
            receipts.extend(device.settle(&item.place(), delivery));
        }
    }
    receipts
}

/// As many datagrams, or those that come before none comes for `patience`, each with its time on
/// the monotonic clock.
fn received(socket: &StampedSocket, count: usize, patience: Duration) -> Vec<(Vec<u8>, Moment)> {
    let mut found = Vec::new();
    let mut buffer = [0; 2048];
    let monotonic = |stamp| ClockPair::read().monotonic(stamp);
    let mut last = std::time::Instant::now();
    while found.len() < count && last.elapsed() < patience {
        let Some((length, stamp)) = socket.take(&mut buffer).unwrap() else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        last = std::time::Instant::now();
        found.push((buffer[..length].to_vec(), monotonic(stamp)));
    }
    found
}

/// All of `count` datagrams, and no others.
fn all(socket: &StampedSocket, count: usize) -> Vec<(Vec<u8>, Moment)> {
    let mut found = received(socket, count, Duration::from_secs(20));
    found.extend(received(socket, 1, Duration::from_millis(50)));
    assert_eq!(found.len(), count);
    found
}

/// What the conversion of the receiver's stamps may be off by.
const CONVERSION: Nanos = Nanos::from_millis(1);

#[test]
fn needs_root_datagrams_come_in_order_whole_and_none_early() {
    let Some((pair, socket)) = pair(900) else { return };
    let peer = Pair::peer(900).into();
    let mut sink = pair.near().within(|| Datagrams::open(peer)).unwrap();
    let start = now() + Nanos::from_millis(20);
    let due = |index: u64| start + Nanos::from_millis(2).saturating_mul(index);
    // Submitted in another order.
    let order = (0..100_u64).map(|index| index * 37 % 100);
    let items = order.map(|index| item(index, due(index), &index.to_le_bytes())).collect();
    let mut receipts = deliver(&mut sink, items);
    receipts.sort_by_key(|receipt| receipt.sequence);
    let datagrams = all(&socket, 100);
    assert_eq!(receipts.len(), 100);
    for (index, (receipt, (bytes, at))) in (0..).zip(receipts.iter().zip(&datagrams)) {
        assert_eq!(bytes[..], u64::to_le_bytes(index), "in the order of their times");
        assert_eq!(receipt.outcome, Outcome::Delivered);
        assert_eq!(receipt.evidence, Evidence::Kernel, "the kernel stamps a virtual link");
        let (began, ended) = (receipt.began.unwrap(), receipt.ended.unwrap());
        assert!(due(index) <= began && began <= ended, "{receipt:?}");
        assert!(*at + CONVERSION >= began, "received {at:?}: {receipt:?}");
    }
}

#[test]
fn needs_root_lights_get_their_values_at_their_time_and_an_end() {
    let Some((pair, socket)) = pair(5568) else { return };
    let universe = Universe::parse(Protocol::Sacn, "7@10.77.0.2").unwrap();
    let to = universe.resolve().unwrap();
    assert_eq!(to, SocketAddr::from(Pair::peer(5568)));
    let sink = pair.near().within(|| Lights::open(&universe, to, "stage", [3; 16]));
    let mut sink: Lights = sink.unwrap();
    let start = now() + Nanos::from_millis(5);
    let values = [&[1, 2, 3][..], &[9], &[4; 512]];
    let items = (0..).zip(values).map(|(index, values)| {
        item(index, start + Nanos::from_millis(2).saturating_mul(index), values)
    });
    let receipts = deliver(&mut sink, items.collect());
    assert!(receipts.iter().all(|receipt| receipt.outcome == Outcome::Delivered));
    let again = sink.next_turn().unwrap();
    assert!(again > receipts[2].began.unwrap());
    std::thread::sleep((again - now()).into());
    sink.settled(&mut |_, _| panic!("nothing was pending"));
    assert!(sink.next_turn().unwrap() > again);
    drop(sink);
    let packets = all(&socket, 7);
    let seen: Vec<(u8, u8, &[u8])> =
        packets.iter().map(|(packet, _)| (packet[111], packet[112], &packet[126..])).collect();
    let full = [4; 512];
    let last = |sequence| (sequence, 0x40, &full[..]);
    let wanted: [(u8, u8, &[u8]); 7] = [
        (0, 0, &[1, 2, 3]),
        (1, 0, &[9, 2, 3]),
        (2, 0, &full),
        (3, 0, &full),
        last(4),
        last(5),
        last(6),
    ];
    assert_eq!(seen, wanted);
    for (index, (_, at)) in packets[..3].iter().enumerate() {
        assert!(*at + CONVERSION >= receipts[index].due);
    }
}

#[test]
fn needs_root_art_net_packets_are_numbered_from_one() {
    let Some((pair, socket)) = pair(6454) else { return };
    let universe = Universe::parse(Protocol::ArtNet, "3@10.77.0.255").unwrap();
    let to = universe.resolve().unwrap();
    let sink = pair.near().within(|| Lights::open(&universe, to, "stage", [3; 16]));
    let mut sink: Lights = sink.unwrap();
    let items = (0..256).map(|index| item(index, now(), &[index as u8, 7, 7]));
    let receipts = deliver(&mut sink, items.collect());
    assert!(receipts.iter().all(|receipt| receipt.outcome == Outcome::Delivered), "{receipts:?}");
    let packets = all(&socket, 256);
    let seen: Vec<(u8, u8)> = packets.iter().map(|(packet, _)| (packet[12], packet[18])).collect();
    let sequence = |index: u64| u8::try_from(index % 255 + 1).unwrap();
    let wanted: Vec<(u8, u8)> = (0..256).map(|index| (sequence(index), index as u8)).collect();
    assert_eq!(seen, wanted);
}

#[test]
fn needs_root_a_network_without_a_route_fails_items() {
    let Some((pair, _)) = pair(901) else { return };
    let to: SocketAddr = "192.0.2.1:9".parse().unwrap();
    let mut sink = pair.near().within(|| Datagrams::open(to)).unwrap();
    let receipts = deliver(&mut sink, vec![item(0, now(), &[1])]);
    assert_eq!((receipts[0].outcome, receipts[0].evidence), (Outcome::Failed, Evidence::Call));
}
