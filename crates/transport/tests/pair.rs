//! Datagrams from the near end of a pair to a stamped socket at its far end.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use tactus_model::time::Realtime;
use tactus_sys::network::StampedSocket;
use tactus_sys::{Errno, SysError, clock};
use tactus_testing::{Need, eventually, skip};
use tactus_transport::{Link, PacketLink, Pair, Udp, XdpLink};

const PORT: u16 = 900;

/// A pair and a socket at its far end; `None` if this machine permits none.
fn pair() -> Option<(Pair, StampedSocket)> {
    let made = Pair::make(2).and_then(|pair| {
        let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT));
        let socket = pair.far().within(|| StampedSocket::bind(address, 1 << 20))?;
        Ok((pair, socket))
    });
    match made {
        Ok(made) => Some(made),
        Err(error) if error.errno == Errno::PERM => {
            skip(Need::Root, format!("network namespaces: {error}"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The next datagram, which may be on its way.
fn next(socket: &StampedSocket) -> Vec<u8> {
    let mut buffer = [0; 2048];
    let (length, stamp) =
        eventually(|| socket.take(&mut buffer).unwrap().ok_or("no datagram came"));
    assert!(stamp <= clock::now::<Realtime>());
    buffer[..length].to_vec()
}

fn library<L: Link>(link: L, number: u8, socket: &StampedSocket) {
    let mut udp = Udp::open(link, Pair::library(number));
    for count in 0..5_u8 {
        udp.send_to(&[count; 1024], Pair::peer(PORT)).unwrap();
        udp.flush().unwrap();
        assert_eq!(next(socket), [count; 1024]);
    }
}

#[test]
fn needs_root_a_socket_of_the_kernel_sends_through_a_pair() {
    let Some((pair, socket)) = pair() else { return };
    let sender: UdpSocket = pair
        .near()
        .within(|| Ok::<_, SysError>(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap()))
        .unwrap();
    for count in 0..5_u8 {
        sender.send_to(&[count; 1024], Pair::peer(PORT)).unwrap();
        assert_eq!(next(&socket), [count; 1024]);
    }
}

#[test]
fn needs_root_a_library_sends_through_a_packet_socket() {
    let Some((pair, socket)) = pair() else { return };
    let link = pair.near().within(|| PacketLink::open(pair.interface())).unwrap();
    library(link, 0, &socket);
}

#[test]
fn needs_root_a_library_sends_through_rings() {
    let Some((pair, socket)) = pair() else { return };
    match pair.near().within(|| XdpLink::open(pair.interface(), 1)) {
        Ok(link) => library(link, 1, &socket),
        Err(error) => skip(Need::Machine, format!("AF_XDP: {error}")),
    }
}

#[test]
fn needs_root_a_peer_that_does_not_exist_is_an_error() {
    let Some((pair, _)) = pair() else { return };
    let link = pair.near().within(|| PacketLink::open(pair.interface())).unwrap();
    let mut udp = Udp::open(link, Pair::library(0));
    udp.send_to(b"?", "10.77.0.99:1".parse().unwrap()).unwrap();
    assert_eq!(udp.flush(), Err(tactus_transport::TransportError::Unresolved));
}

#[test]
fn needs_root_packets_are_received_in_threads_of_the_kernel() {
    let Some((pair, socket)) = pair() else { return };
    match pair.receive_in_threads() {
        Ok(threads) => assert!(!threads.is_empty()),
        Err(error) => return skip(Need::Machine, format!("threaded NAPI: {error}")),
    }
    let link = pair.near().within(|| PacketLink::open(pair.interface())).unwrap();
    library(link, 0, &socket);
}
