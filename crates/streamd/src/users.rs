//! What a user takes of the server.

use std::collections::BTreeMap;

use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::ration::Ration;

/// The most connections of all users.
pub const CONNECTIONS_MOST: usize = 256;

/// The connections of [`CONNECTIONS_MOST`] that only root gets.
const CONNECTIONS_OF_ROOT: usize = 32;

/// The most connections of a user other than root.
pub const CONNECTIONS_OF_USER: usize = 128;

/// The most bytes of rings, of all users and of one other than root. The server has as many bytes
/// of payloads at most.
const RINGS_MOST: usize = 256 << 20;
const RINGS_OF_USER: usize = 64 << 20;

/// All users with connections.
#[derive(Debug, Default)]
pub(crate) struct Users {
    all: BTreeMap<u32, User>,
}

#[derive(Debug)]
struct User {
    connections: usize,
    ring_bytes: usize,
    notices: Ration,
    requests: Ration,
}

impl Default for User {
    fn default() -> Self {
        Self {
            connections: 0,
            ring_bytes: 0,
            notices: Ration::new(Nanos::from_micros(25), 256),
            requests: Ration::new(Nanos::from_millis(1), 256),
        }
    }
}

impl Users {
    /// Counts a connection, or says why it is one too many.
    pub fn connect(&mut self, user: u32) -> Result<(), String> {
        let all: usize = self.all.values().map(|user| user.connections).sum();
        let of_user = self.all.get(&user).map_or(0, |user| user.connections);
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

    pub fn disconnect(&mut self, user: u32, ring_bytes: usize) {
        if let Some(user) = self.all.get_mut(&user) {
            user.connections -= 1;
            user.ring_bytes -= ring_bytes;
        }
        // A user without connections has no more rations than one that is new.
        self.all.retain(|_, user| user.connections > 0);
    }

    /// Counts the rings of a connected user, or says why they are too large.
    pub fn take_rings(&mut self, user: u32, bytes: usize) -> Result<(), String> {
        let all: usize = self.all.values().map(|user| user.ring_bytes).sum();
        let most = if user == 0 { RINGS_MOST } else { RINGS_OF_USER };
        let of_user = self.all.entry(user).or_default();
        if all + bytes > RINGS_MOST || of_user.ring_bytes + bytes > most {
            return Err(
                "the rings of all clients would be too large; fix: request fewer items, or \
                        shorter payloads"
                    .to_owned(),
            );
        }
        of_user.ring_bytes += bytes;
        Ok(())
    }

    /// Counts them no longer.
    pub fn return_rings(&mut self, user: u32, bytes: usize) {
        self.all.entry(user).or_default().ring_bytes -= bytes;
    }

    /// Counts a notice. Returns until when the next one has to wait, if there are too many.
    pub fn notice(&mut self, user: u32, now: Moment) -> Option<Moment> {
        self.all.entry(user).or_default().notices.take(now)
    }

    /// The same of a request.
    pub fn request(&mut self, user: u32, now: Moment) -> Option<Moment> {
        self.all.entry(user).or_default().requests.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_share_that_others_cannot_take() {
        let mut users = Users::default();
        for user in 1..=2 {
            let found = (0..200).filter(|_| users.connect(user).is_ok()).count();
            assert_eq!(found, if user == 1 { 128 } else { 96 });
        }
        assert!(users.connect(3).is_err());
        assert_eq!((0..200).filter(|_| users.connect(0).is_ok()).count(), 32);
        users.disconnect(1, 0);
        assert!(users.connect(3).is_err(), "root's share is full, not taken");
    }

    #[test]
    fn rings_are_limited() {
        let mut users = Users::default();
        users.connect(1).unwrap();
        assert!(users.take_rings(1, RINGS_OF_USER).is_ok());
        assert!(users.take_rings(1, 1).unwrap_err().contains("fix:"));
        users.disconnect(1, RINGS_OF_USER);
        users.connect(1).unwrap();
        assert!(users.take_rings(1, 1).is_ok());
    }
}
