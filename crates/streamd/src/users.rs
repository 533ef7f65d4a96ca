//! What a user takes of the server.

use std::collections::BTreeMap;

use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;
use tactus_model::token_bucket::TokenBucket;

/// The most connections of all users.
pub const CONNECTIONS_MOST: usize = 256;

/// The connections of [`CONNECTIONS_MOST`] that only root gets.
const CONNECTIONS_OF_ROOT: usize = 32;

/// The most connections of a user other than root.
pub const CONNECTIONS_OF_USER: usize = 128;

/// The most bytes of rings and frames, of all users and of one other than root. The server has as
/// many bytes of payloads at most.
const SHARED_MOST: usize = 256 << 20;
const SHARED_OF_USER: usize = 64 << 20;

/// The rates of a user: notices 40 000 a second, requests 1000 a second.
const NOTICE_EVERY: Nanos = Nanos::from_micros(25);
const REQUEST_EVERY: Nanos = Nanos::from_millis(1);

/// Notices or requests that may come at once.
pub const BURST: u64 = 256;

/// The rate of the items of a user other than root, 20 000 a second, and how many may come at once.
/// Each is some work of threads with a real-time priority.
const ITEM_EVERY: Nanos = Nanos::from_micros(50);
const ITEMS_AT_ONCE: u64 = 4096;

/// All users that have connections, or had some lately.
#[derive(Debug, Default)]
pub(crate) struct Users {
    all: BTreeMap<u32, User>,
}

#[derive(Debug)]
struct User {
    connections: usize,
    shared_bytes: usize,
    notices: TokenBucket,
    requests: TokenBucket,
    items: TokenBucket,
}

impl Default for User {
    fn default() -> Self {
        Self {
            connections: 0,
            shared_bytes: 0,
            notices: TokenBucket::new(NOTICE_EVERY, BURST),
            requests: TokenBucket::new(REQUEST_EVERY, BURST),
            items: TokenBucket::new(ITEM_EVERY, ITEMS_AT_ONCE),
        }
    }
}

impl Users {
    /// Counts a connection, or says why it is one too many, if `closing` earlier ones of the user are
    /// not closed yet.
    pub fn connect(&mut self, user: u32, closing: usize) -> Result<(), String> {
        let all: usize = self.all.values().map(|user| user.connections).sum();
        let of_user = closing + self.all.get(&user).map_or(0, |user| user.connections);
        let (most, most_of_user) = match user {
            0 => (CONNECTIONS_MOST, CONNECTIONS_MOST),
            _ => (CONNECTIONS_MOST - CONNECTIONS_OF_ROOT, CONNECTIONS_OF_USER),
        };
        if all >= most {
            return Err(format!("{all} connections are open, the most that the server has"));
        }
        if of_user >= most_of_user {
            return Err(format!("user {user} has {of_user} connections, the most possible"));
        }
        self.all.entry(user).or_default().connections += 1;
        Ok(())
    }

    /// Counts a connection and its memory no longer.
    pub fn disconnect(&mut self, user: u32, shared_bytes: usize, now: Moment) {
        if let Some(user) = self.all.get_mut(&user) {
            user.connections -= 1;
            user.shared_bytes -= shared_bytes;
        }
        self.all.retain(|_, user| user.connections > 0 || user.is_used(now));
    }

    /// Counts the rings or a frame of a connected user, or says why they are too large.
    pub fn take_memory(&mut self, user: u32, bytes: usize) -> Result<(), String> {
        let all: usize = self.all.values().map(|user| user.shared_bytes).sum();
        let most = if user == 0 { SHARED_MOST } else { SHARED_OF_USER };
        let of_user = self.all.entry(user).or_default();
        if all + bytes > SHARED_MOST || of_user.shared_bytes + bytes > most {
            return Err(
                "the rings and frames of all clients would be too large; fix: request fewer items \
                 or frames, or shorter payloads"
                    .to_owned(),
            );
        }
        of_user.shared_bytes += bytes;
        Ok(())
    }

    /// Counts them no longer.
    pub fn return_memory(&mut self, user: u32, bytes: usize) {
        self.all.entry(user).or_default().shared_bytes -= bytes;
    }

    /// Counts a notice. Returns until when its connection has to wait, if there are too many.
    pub fn notice(&mut self, user: u32, now: Moment) -> Option<Moment> {
        self.all.entry(user).or_default().notices.charge(now)
    }

    /// The same of a request.
    pub fn request(&mut self, user: u32, now: Moment) -> Option<Moment> {
        self.all.entry(user).or_default().requests.charge(now)
    }

    /// Counts an item. Returns until when others of its client have to wait, if there are too many.
    pub fn item(&mut self, user: u32, now: Moment) -> Option<Moment> {
        let items = &mut self.all.entry(user).or_default().items;
        (user != 0).then(|| items.charge(now)).flatten()
    }

    /// Until when a new connection has to wait, if others of the user have sent too much.
    pub fn overdrawn(&self, user: u32, now: Moment) -> Option<Moment> {
        let user = self.all.get(&user)?;
        user.notices.overdrawn(now).max(user.requests.overdrawn(now))
    }
}

impl User {
    /// Whether a user without connections differs from one that is new.
    fn is_used(&self, now: Moment) -> bool {
        [&self.notices, &self.requests, &self.items].iter().any(|bucket| bucket.is_used(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_nanos(1_000_000_000);

    #[test]
    fn another_connection_does_not_renew_the_rate() {
        let mut users = Users::default();
        let mut requests = |count: u64, now: Moment| {
            users.connect(1, 0).unwrap();
            let starts = users.overdrawn(1, now).unwrap_or(now);
            let muted = (0..count).filter(|_| users.request(1, starts).is_some()).count();
            users.disconnect(1, 0, starts);
            (starts, muted)
        };
        assert_eq!(requests(BURST, NOW), (NOW, 0));
        assert_eq!(requests(1, NOW), (NOW, 1));
        let next = NOW + REQUEST_EVERY;
        assert_eq!(requests(1, NOW), (next, 1), "one more begins when there is one");
        let later = NOW + REQUEST_EVERY.saturating_mul(2 * BURST);
        assert_eq!(requests(BURST, later), (later, 0));
        users.connect(2, 0).unwrap();
        users.disconnect(2, 0, later + REQUEST_EVERY.saturating_mul(BURST));
        assert!(users.all.is_empty(), "nobody is remembered for longer");
    }

    #[test]
    fn items_have_a_rate_but_those_of_root() {
        let mut users = Users::default();
        let mut waits = |user, count, now| {
            (0..count).filter(|_| users.item(user, now).is_some()).count() as u64
        };
        assert_eq!(waits(1, ITEMS_AT_ONCE, NOW), 0);
        assert_eq!(waits(1, 3, NOW), 3);
        assert_eq!(waits(1, 1, NOW + ITEM_EVERY.saturating_mul(4)), 0);
        assert_eq!(waits(2, ITEMS_AT_ONCE, NOW), 0, "each user has a rate");
        assert_eq!(waits(0, 10 * ITEMS_AT_ONCE, NOW), 0);
    }

    #[test]
    fn root_has_a_share_that_others_cannot_take() {
        let mut users = Users::default();
        for user in 1..=2 {
            let found = (0..200).filter(|_| users.connect(user, 0).is_ok()).count();
            assert_eq!(found, if user == 1 { 128 } else { 96 });
        }
        assert!(users.connect(3, 0).is_err());
        assert_eq!((0..200).filter(|_| users.connect(0, 0).is_ok()).count(), 32);
        users.disconnect(1, 0, NOW);
        assert!(users.connect(3, 0).is_err(), "root's share is full, not taken");
    }

    #[test]
    fn rings_are_limited() {
        let mut users = Users::default();
        users.connect(1, 0).unwrap();
        assert!(users.take_memory(1, SHARED_OF_USER).is_ok());
        assert!(users.take_memory(1, 1).unwrap_err().contains("fix:"));
        users.disconnect(1, SHARED_OF_USER, NOW);
        users.connect(1, 0).unwrap();
        assert!(users.take_memory(1, 1).is_ok());
    }
}
