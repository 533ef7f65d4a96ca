//! UDP in the threads of the program that sends it.
//!
//! A [`Udp`] is a whole network stack (Ethernet, ARP, IPv4, UDP: [smoltcp]) over a raw
//! [`Link`] to an interface. All its work is done by the thread that calls it, so that work is
//! scheduled and charged as that thread: a reserve for the thread covers its packets. Mercer,
//! Zelenka and Rajkumar (*On Predictable Operating System Protocol Processing*, CMU-CS-94-165,
//! 1994) call that a socket library.
//!
//! `docs/networking.md` says when it pays.
//!
//! [smoltcp]: https://docs.rs/smoltcp
//!
//! ```no_run
//! use tactus_transport::{Local, PacketLink, Udp};
//!
//! let link = PacketLink::open(tactus_sys::network::interface_index("eth1")?)?;
//! let local = Local { mac: [2, 0, 0, 0, 0, 9], address: [10, 0, 0, 9].into(), prefix: 24, port: 9 };
//! let mut udp = Udp::open(link, local);
//! udp.send_to(b"now", "10.0.0.2:9".parse()?)?;
//! udp.flush()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod link;
mod pair;
mod udp;

pub use link::{Link, PacketLink, XdpLink};
pub use pair::Pair;
pub use udp::{Local, TransportError, Udp};
