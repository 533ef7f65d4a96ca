//! An editor and a person who types into it.
//!
//! The typist is a separate process, connected by a socket, as the X server is to an
//! editor: `typist` sends keys and receives what the editor draws. A person does not type at
//! exact intervals, so the time between two keys is uniform between half and one and a half
//! of the mean.
//!
//! After each key, the editor inserts the letter into its text, computes what has changed on
//! the screen, sends the change, waits until it is drawn, and tidies up. When no key comes
//! for 30 ms, it colours the new text. These are three short bursts on the CPU per key, as
//! in the Emacs of 2003 (22 a second at 8 keys, Table 4 of the paper).

use std::convert::Infallible;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use tactus_model::frames::Rate;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_wire::Start;

use super::Endless;
use super::picture::Picture;
use crate::error::{During, LoadError};
use crate::request::{Companion, Role};
use crate::site::Site;

/// The CPU time to compute what has changed.
const REDISPLAY: Nanos = Nanos::from_micros(600);
/// The CPU time to tidy up.
const TIDY: Nanos = Nanos::from_micros(200);
/// The CPU time to colour.
const COLOUR: Nanos = Nanos::from_micros(400);
/// How long the editor waits for another key before it colours.
const IDLE: Duration = Duration::from_millis(30);

const KEY: u8 = b'k';
/// What the typist sends when the screen is drawn.
const DRAWN: u8 = b'd';
/// The bytes of a screen change.
const CHANGE: usize = 256;

/// The most letters of the text; then the text starts anew.
const TEXT: usize = 64 << 10;

/// Counts one operation per key.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    let (mut keyboard, typist) = UnixStream::pair().during("create a pair of sockets")?;
    start_typist(rate, typist, site)?;
    let mut picture = Picture::calibrated();
    let [redisplay, tidy, colour] = [REDISPLAY, TIDY, COLOUR].map(|work| picture.blocks_in(work));
    let mut text = Vec::with_capacity(TEXT);
    // Keys that came while a change was being drawn.
    let mut waiting = 0;
    loop {
        if waiting == 0 {
            keyboard.set_read_timeout(Some(IDLE)).during(LISTEN)?;
            let mut key = read_key(&mut keyboard)?;
            if key.is_none() {
                picture.transform(colour);
                keyboard.set_read_timeout(None).during(LISTEN)?;
                while key.is_none() {
                    key = read_key(&mut keyboard)?;
                }
            }
            waiting = 1;
        }
        waiting -= 1;
        if text.len() == TEXT {
            text.clear();
        }
        // In the middle of the text, where a person types.
        text.insert(text.len() / 2, KEY);
        picture.transform(redisplay);
        keyboard.write_all(&[0; CHANGE]).during("send a screen change")?;
        keyboard.set_read_timeout(None).during(LISTEN)?;
        loop {
            match read_key(&mut keyboard)? {
                Some(DRAWN) => break,
                Some(_) => waiting += 1,
                None => {}
            }
        }
        picture.transform(tidy);
        site.did(1, 0);
    }
}

const LISTEN: &str = "read from the typist";

/// A byte from the typist; `None` if none came in time.
fn read_key(keyboard: &mut UnixStream) -> Result<Option<u8>, LoadError> {
    let mut byte = [0];
    match keyboard.read(&mut byte) {
        Ok(0) => Err(LoadError::new("the typist has ended")),
        Ok(_) => Ok(Some(byte[0])),
        Err(error) if is_nothing_yet(&error) => Ok(None),
        Err(error) => Err(error).during(LISTEN),
    }
}

fn is_nothing_yet(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Starts the typist, which ends with the calling thread.
fn start_typist(rate: Rate, socket: UnixStream, site: &Site) -> Result<(), LoadError> {
    const ACTION: &str = "start the typist";
    let start = Start::new(Role::Worker.of_this_binary());
    let mut typist = start.start_into(OwnedFd::from(socket)).during(ACTION)?;
    let companion = Companion::Typist { rate, seed: site.random().next_u64() };
    typist.send(&site.request_for(companion)).during(ACTION)
}

/// The typist: sends keys through its standard output, which is a socket, and receives the
/// changes there, until the editor has ended.
pub(super) fn type_keys(rate: Rate, seed: u64) -> Result<(), LoadError> {
    let socket = io::stdout().as_fd().try_clone_to_owned().during("find the editor")?;
    let Err(error) = type_into(UnixStream::from(socket), rate, SplitMix64::new(seed));
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error).during("type into the editor"),
    }
}

fn type_into(mut editor: UnixStream, rate: Rate, mut random: SplitMix64) -> io::Result<Infallible> {
    let mut next = Instant::now();
    let mut drawn = 0;
    loop {
        next += pause(rate.period(), &mut random);
        loop {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            editor.set_read_timeout(Some(left))?;
            let mut change = [0; CHANGE];
            match editor.read(&mut change) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => drawn += read,
                Err(error) if is_nothing_yet(&error) => {}
                Err(error) => return Err(error),
            }
            while drawn >= CHANGE {
                drawn -= CHANGE;
                editor.write_all(&[DRAWN])?;
            }
        }
        editor.write_all(&[KEY])?;
    }
}

/// Half to one and a half of the mean.
fn pause(mean: Nanos, random: &mut SplitMix64) -> Duration {
    let mean = mean.as_nanos().max(2);
    Duration::from_nanos(mean / 2 + random.below(mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_at_their_mean_rate_and_irregularly() {
        let mut random = SplitMix64::new(1);
        let pauses: Vec<Duration> =
            (0..1000).map(|_| pause(Nanos::from_millis(125), &mut random)).collect();
        let (least, most) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
        assert!(*least >= Duration::from_micros(62_500) && *most < Duration::from_micros(187_500));
        let sum: Duration = pauses.iter().sum();
        let mean = sum / 1000;
        assert!((115..135).contains(&mean.as_millis()), "{mean:?}");
        assert!(*most > *least * 2);
    }
}
