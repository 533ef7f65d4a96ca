//! Measures the CPU time of ten packets of 1 KiB by each path, in the thread that sends them. On
//! the virtual link it includes receiving them.
//!
//! `sudo cargo run --release -p tactus-transport --example transport-cost`

use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};

use tactus_sys::SysError;
use tactus_sys::clock::thread_cpu_time;
use tactus_transport::{Link, PacketLink, Pair, Udp, XdpLink};

const BURSTS: u32 = 2_000;
const PACKETS: u32 = 10;
const PORT: u16 = 900;

fn main() -> Result<(), Box<dyn Error>> {
    let pair = Pair::make(2)?;
    let bind = || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT)).map_err(SysError::of_io("bind"));
    // Its buffer fills, and the kernel drops the rest.
    let _receiver = pair.far().within(bind)?;
    let packet = [0; 1024];

    let socket = pair.near().within(bind)?;
    report("socket", || Ok(socket.send_to(&packet, Pair::peer(PORT)).map(drop)?))?;

    let mut link = pair.near().within(|| PacketLink::open(pair.interface()))?;
    // A frame of the same length to the far end, which no socket there is for.
    let mut frame = [0; 1066];
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, 2]);
    report("frames over AF_PACKET", || Ok(link.send(&frame).map(drop)?))?;
    let mut udp = Udp::open(link, Pair::library(0));
    udp.send_to(&packet, Pair::peer(PORT))?;
    udp.flush()?;
    report("library over AF_PACKET", || Ok(udp.send_to(&packet, Pair::peer(PORT))?))?;

    let mut link = pair.near().within(|| XdpLink::open(pair.interface(), 1))?;
    report("frames over AF_XDP", || Ok(link.send(&frame).map(drop)?))?;
    let mut udp = Udp::open(link, Pair::library(1));
    udp.send_to(&packet, Pair::peer(PORT))?;
    udp.flush()?;
    report("library over AF_XDP", || Ok(udp.send_to(&packet, Pair::peer(PORT))?))
}

/// Prints the median CPU time of a burst of calls of `send`.
fn report(
    path: &str,
    mut send: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut used = Vec::new();
    for _ in 0..BURSTS {
        let before = thread_cpu_time();
        for _ in 0..PACKETS {
            send()?;
        }
        used.push(thread_cpu_time() - before);
    }
    used.sort_unstable();
    println!("{path:24} {}", used[used.len() / 2]);
    Ok(())
}
