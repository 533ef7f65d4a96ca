//! What a host has: items without a receipt, subscribers, a rate.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tactus_model::time::Nanos;
use tactus_model::token_bucket::TokenBucket;
use tactus_osc::TimeTag;
use tactus_stream::{Moment, Receipt};
use tactus_sys::clock::ClockOffset;

/// How long a subscription lasts unless it is repeated.
pub const SUBSCRIPTION: Nanos = Nanos::from_secs(600);

/// The most subscriptions of a host.
pub const SUBSCRIPTIONS: usize = 8;

/// Datagrams of a host that are read in a second; more are dropped and counted.
pub const RATE: u64 = 20_000;

/// Datagrams that may come at once.
pub const BURST: u64 = 4096;

/// Cuts of a host that are carried out in a second; more are refused. The door waits for the server
/// with each of them, and all hosts together must stay below the server's rate of requests.
pub const CUT_RATE: u64 = 50;

/// Cuts that may come at once.
pub const CUT_BURST: u64 = 32;

/// How long a host without items and subscriptions is remembered.
const IDLE: Nanos = Nanos::from_secs(10);

/// Where an item comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The port of its sender.
    pub port: u16,
    /// The number that its sender gave it.
    pub id: Option<i32>,
    /// The name of the device.
    pub device: String,
    /// Its time, as its sender wrote it.
    pub time: TimeTag,
    /// The offset of the clocks with which that was converted. Its receipt is converted back with
    /// the same one.
    pub offset: ClockOffset,
}

/// The host of an address. Every program of this machine may use each address in 127.0.0.0/8, so
/// they are one.
pub fn host_of(address: SocketAddr) -> IpAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(address) if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        host => host,
    }
}

/// What a host has.
#[derive(Clone, Debug)]
pub struct Account {
    items: u32,
    waiting: BTreeMap<u64, Origin>,
    /// Items without a receipt by port.
    ports: BTreeMap<u16, u32>,
    subscriptions: BTreeMap<u16, Subscription>,
    datagrams: TokenBucket,
    cuts: TokenBucket,
    last: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Subscription {
    /// A host has several addresses in 127.0.0.0/8.
    to: SocketAddr,
    until: Moment,
    /// Receipts of all ports of the host, not only of this one.
    of_all: bool,
}

impl Account {
    /// The account of a host that may have `items` items without a receipt.
    pub const fn new(items: u32, now: Moment) -> Self {
        Self {
            items,
            waiting: BTreeMap::new(),
            ports: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            datagrams: TokenBucket::new(Nanos::from_nanos(1_000_000_000 / RATE), BURST),
            cuts: TokenBucket::new(Nanos::from_nanos(1_000_000_000 / CUT_RATE), CUT_BURST),
            last: now,
        }
    }

    /// Whether a datagram is within the rate.
    pub fn admits(&mut self, now: Moment) -> bool {
        self.last = now;
        self.datagrams.take(now).is_ok()
    }

    /// Whether a cut is within the rate.
    pub fn admits_cut(&mut self, now: Moment) -> bool {
        self.cuts.take(now).is_ok()
    }

    /// Whether a port may have another item: half of what others leave, so one that floods leaves
    /// room for the others.
    pub fn has_room(&self, port: u16) -> bool {
        let own = self.ports.get(&port).copied().unwrap_or_default();
        let others = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX).saturating_sub(own);
        own < self.items.saturating_sub(others) / 2
    }

    /// Notes an item that the server has.
    pub fn submitted(&mut self, sequence: u64, origin: Origin) {
        *self.ports.entry(origin.port).or_default() += 1;
        self.waiting.insert(sequence, origin);
    }

    /// Finds where the item of a receipt came from.
    pub fn answered(&mut self, receipt: &Receipt) -> Option<Origin> {
        let origin = self.waiting.remove(&receipt.sequence)?;
        if let Some(count) = self.ports.get_mut(&origin.port) {
            *count -= 1;
            if *count == 0 {
                self.ports.remove(&origin.port);
            }
        }
        Some(origin)
    }

    /// The items without a receipt.
    pub fn unanswered(&self) -> Vec<u64> {
        self.waiting.keys().copied().collect()
    }

    /// Subscribes an address, to receipts of its port or of all ports. Returns whether there is room.
    pub fn subscribe(&mut self, to: SocketAddr, of_all: bool, now: Moment) -> bool {
        let port = to.port();
        self.subscriptions.retain(|_, subscription| subscription.until > now);
        let has_room =
            self.subscriptions.len() < SUBSCRIPTIONS || self.subscriptions.contains_key(&port);
        if has_room {
            let until = now + SUBSCRIPTION;
            self.subscriptions.insert(port, Subscription { to, until, of_all });
        }
        has_room
    }

    /// Ends a subscription.
    pub fn unsubscribe(&mut self, port: u16) {
        self.subscriptions.remove(&port);
    }

    /// The addresses to which what concerns `port` is sent.
    pub fn listeners(&self, port: u16, now: Moment) -> impl Iterator<Item = SocketAddr> {
        let concerns = move |(of, subscription): &(&u16, &Subscription)| {
            subscription.until > now && (subscription.of_all || **of == port)
        };
        self.subscriptions.iter().filter(concerns).map(|(_, subscription)| subscription.to)
    }

    /// Items without a receipt.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Whether the host can be forgotten.
    pub fn is_idle(&self, now: Moment) -> bool {
        self.waiting.is_empty()
            && self.subscriptions.values().all(|subscription| subscription.until <= now)
            && now > self.last + IDLE
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Instant;
    use tactus_sys::clock::ClockPair;

    use super::*;

    const START: Moment = Moment::from_nanos(1_000_000_000);

    fn origin(port: u16) -> Origin {
        let clocks = ClockPair { before: START, real: Instant::from_nanos(9), after: START };
        let offset = clocks.offset();
        Origin { port, id: None, device: "a".to_owned(), time: TimeTag::IMMEDIATE, offset }
    }

    fn at(port: u16) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, port).into()
    }

    #[test]
    fn loopback_is_one_host() {
        let host = |text: &str| host_of(text.parse().unwrap()).to_string();
        assert_eq!(host("127.0.0.9:1"), "127.0.0.1");
        assert_eq!(host("[::ffff:127.3.0.1]:1"), "127.0.0.1");
        assert_eq!(host("10.0.0.9:1"), "10.0.0.9");
    }

    #[test]
    fn cuts_have_a_rate_of_their_own() {
        let mut account = Account::new(16, START);
        let admitted = (0..1000).filter(|_| account.admits_cut(START)).count();
        assert_eq!(admitted as u64, CUT_BURST);
        assert!(account.admits(START) && account.admits_cut(START + Nanos::from_secs(1)));
    }

    fn receipt(sequence: u64) -> Receipt {
        crate::unanswered(sequence, START)
    }

    #[test]
    fn a_flood_of_one_port_leaves_room_for_others() {
        let mut account = Account::new(16, START);
        let mut sequence = 0;
        let mut fill = |account: &mut Account, port| {
            let first = sequence;
            while account.has_room(port) {
                account.submitted(sequence, origin(port));
                sequence += 1;
            }
            sequence - first
        };
        assert_eq!((fill(&mut account, 1), fill(&mut account, 2)), (8, 4));
        assert_eq!((fill(&mut account, 3), fill(&mut account, 4)), (2, 1));
        assert_eq!(fill(&mut account, 1), 0);
        assert_eq!(account.answered(&receipt(0)).map(|origin| origin.port), Some(1));
        assert_eq!(account.answered(&receipt(0)), None, "each item has one receipt");
        assert!(account.waiting() == 14 && account.has_room(5));
    }

    #[test]
    fn the_rate_allows_a_burst_and_recovers() {
        let mut account = Account::new(16, START);
        let mut admitted = 0;
        while account.admits(START) {
            admitted += 1;
        }
        assert_eq!(admitted, BURST);
        let later = START + Nanos::from_millis(1);
        let admitted = (0..100).filter(|_| account.admits(later)).count();
        assert_eq!(admitted as u64, RATE / 1000);
    }

    #[test]
    fn receipts_go_to_subscribers_until_their_time() {
        let mut account = Account::new(16, START);
        assert!(account.subscribe(at(7), false, START) && account.subscribe(at(9), true, START));
        let listeners = |account: &Account, port, now| -> Vec<u16> {
            account.listeners(port, now).map(|to| to.port()).collect()
        };
        let nobody = Vec::<u16>::new();
        assert_eq!(listeners(&account, 7, START), [7, 9]);
        assert_eq!(listeners(&account, 8, START), [9]);
        assert_eq!(listeners(&account, 7, START + SUBSCRIPTION), nobody);
        account.unsubscribe(9);
        assert_eq!(listeners(&account, 8, START), nobody);
        for port in 100..110 {
            account.subscribe(at(port), false, START);
        }
        assert!(!account.subscribe(at(200), false, START), "no room");
        assert!(account.subscribe(at(7), false, START), "it is there already");
        assert!(account.subscribe(at(200), false, START + SUBSCRIPTION), "the others have ended");
    }

    #[test]
    fn a_host_is_remembered_while_it_has_something() {
        let mut account = Account::new(16, START);
        let later = START + IDLE + Nanos::from_nanos(1);
        assert!(account.is_idle(later) && !account.is_idle(START));
        account.submitted(0, origin(1));
        assert!(!account.is_idle(later));
        account.answered(&receipt(0));
        account.subscribe(at(7), false, START);
        assert!(!account.is_idle(later) && account.is_idle(START + SUBSCRIPTION));
    }
}
