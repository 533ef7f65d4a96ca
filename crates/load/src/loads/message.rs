//! Many senders and receivers of short messages, like hackbench.
//!
//! A copy is one group: ten senders and ten receivers, each a thread, and a connected pair of
//! sockets for each receiver. Every sender sends to every receiver in turn. (hackbench's
//! groups have twenty of each; ten make the same pattern with a quarter of the sockets'
//! traffic, and more copies make more groups.) The sockets' buffers bound the messages in
//! flight.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::Endless;
use crate::error::During;
use crate::site::Site;

const MEMBERS: usize = 10;

/// The bytes of a message, as in hackbench.
const LENGTH: usize = 100;

/// Messages received between two updates of the counter, so that receivers do not contend for it.
const BATCH: u64 = 32;

/// Counts one operation per received message.
pub(super) fn run(site: &'static Site) -> Endless {
    let mut doors = Vec::new();
    for _ in 0..MEMBERS {
        let (door, inside) =
            UnixStream::pair().during("create a pair of sockets").map_err(|error| {
                error.hint("use fewer copies, or raise the limit on files (`ulimit -n`)")
            })?;
        doors.push(door);
        site.spawn("receiver", move || receive(inside, site))?;
    }
    let doors = Arc::new(doors);
    for _ in 1..MEMBERS {
        let doors = Arc::clone(&doors);
        site.spawn("sender", move || send(&doors))?;
    }
    send(&doors)
}

fn send(doors: &[UnixStream]) -> Endless {
    let message = [b'-'; LENGTH];
    loop {
        for mut door in doors {
            door.write_all(&message).during("send a message")?;
        }
    }
}

fn receive(mut inside: UnixStream, site: &Site) -> Endless {
    let mut message = [0; LENGTH];
    loop {
        for _ in 0..BATCH {
            inside.read_exact(&mut message).during("receive a message")?;
        }
        site.did(BATCH, BATCH * LENGTH as u64);
    }
}
