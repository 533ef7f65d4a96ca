//! Proofs of addresses.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;

use tactus_model::time::Nanos;
use tactus_stream::Moment;

/// How long a cookie is accepted, at least; at most twice as long.
const LIFE: Nanos = Nanos::from_secs(60);

/// Proofs that somebody receives at an address: a number that is sent there and comes back.
///
/// Nothing is kept for an address that has not answered, and nobody else can compute its number:
/// it is a keyed hash (SipHash), whose key the process has from the system.
#[derive(Clone, Debug, Default)]
pub struct Cookies(RandomState);

impl Cookies {
    /// The cookie of an address.
    pub fn of(&self, address: SocketAddr, now: Moment) -> i32 {
        self.at(address, now.as_nanos() / LIFE.as_nanos())
    }

    /// Whether the cookie was sent to the address within the last minute or two.
    pub fn prove(&self, address: SocketAddr, cookie: i32, now: Moment) -> bool {
        let turn = now.as_nanos() / LIFE.as_nanos();
        [turn, turn.saturating_sub(1)].iter().any(|turn| self.at(address, *turn) == cookie)
    }

    fn at(&self, address: SocketAddr, turn: u64) -> i32 {
        self.0.hash_one((address, turn)) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_for_one_address_and_a_short_time() {
        let cookies = Cookies::default();
        let (one, other) = ("10.0.0.1:9".parse().unwrap(), "10.0.0.1:10".parse().unwrap());
        let now = Moment::from_nanos(600_000_000_000);
        let cookie = cookies.of(one, now);
        assert!(cookies.prove(one, cookie, now) && cookies.prove(one, cookie, now + LIFE));
        assert!(!cookies.prove(one, cookie, now + LIFE + LIFE));
        // One of 2³¹ pairs is equal by chance.
        assert!(!cookies.prove(other, cookie, now) && !cookies.prove(one, !cookie, now));
        assert!(!Cookies::default().prove(one, cookie, now), "another process has another key");
    }
}
