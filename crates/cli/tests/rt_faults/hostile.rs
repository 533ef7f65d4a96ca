//! Programs of the ordinary side that write what no peer should.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tactus_fifo::introduce;
use tactus_fifo::message::{Request, Role, VERSION};
use tactus_model::random::SplitMix64;
use tactus_sys::peer_memory::WritableWords;

use crate::helper;

/// How long they wait before they try again.
const STEP: Duration = Duration::from_millis(1);

/// Takes both channels, and writes any indices.
#[test]
#[ignore = "another test starts it as a program"]
fn a_liar() {
    let Some(socket) = helper::socket() else { return };
    std::io::stdin().lines().next();
    let channels = [("state", Role::ReadFifo), ("echo", Role::WriteFifo)].map(|(name, role)| {
        loop {
            if let Ok(introduced) = introduce(&socket, &request(name, role)) {
                let words = WritableWords::map(&introduced.files[1], 8).unwrap();
                return (introduced, words);
            }
            std::thread::sleep(STEP);
        }
    });
    let mut random = SplitMix64::new(1);
    loop {
        for word in channels.iter().flat_map(|(_, words)| &words.words()[..4]) {
            word.store(random.next_u64() >> random.below(64), Ordering::Relaxed);
        }
    }
}

/// Sends the broker requests with wrong bytes.
#[test]
#[ignore = "another test starts it as a program"]
fn a_babbler() {
    let Some(socket) = helper::socket() else { return };
    std::io::stdin().lines().next();
    let valid = serde_json::to_vec(&request("state", Role::ReadFifo)).unwrap();
    let mut random = SplitMix64::new(1);
    loop {
        let mut line = valid.clone();
        for _ in 0..random.below(8) {
            let place = random.below(line.len() as u64) as usize;
            line[place] = random.next_u64() as u8;
        }
        line.truncate(line.len() - random.below(8) as usize);
        line.push(b'\n');
        if let Ok(mut stream) = UnixStream::connect(&socket) {
            let _ = stream.write_all(&line);
        }
    }
}

fn request(name: &str, role: Role) -> Request {
    let (name, element) = (name.to_owned(), "u64".to_owned());
    Request { version: VERSION, name, role, element, bytes: 8 }
}
