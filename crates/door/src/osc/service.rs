//! The socket of a door, and a client of the server for each host.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use tactus_model::format::span;
use tactus_model::time::Nanos;
use tactus_osc::{TimeTag, Timed};
use tactus_stream::{
    BranchId, Client, ConnectError, Draft, Format, Moment, Receipt, RequestError, SubmitError,
};
use tactus_sys::SysError;
use tactus_sys::clock::ClockPair;
use tactus_sys::network::dropped_datagrams;
use tactus_sys::poller::{Interest, Poller};
use tactus_sys::wait::Waker;

use super::account::{Account, CUT_RATE, Origin, SUBSCRIPTION, host_of};
use super::cookie::Cookies;
use super::door::{Counts, Event};
use super::reply;
use super::request::{BadRequest, Options as ItemOptions, Request, payload_of};
use crate::clock::RealClock;
use crate::sender::{ITEMS, Sender};
use crate::unanswered;
use crate::values::BadValue;

/// The most hosts with items or subscriptions.
pub const HOSTS: usize = 16;

/// How far in the past the time of an item may be.
pub const PAST: Nanos = Nanos::from_secs(60);

/// Datagrams that are read before receipts are.
const BATCH: usize = 64;

/// How often the door looks for what has ended, and reports losses.
const TICK: Duration = Duration::from_secs(1);

/// The keys of the poller.
const SOCKET: u64 = 0;
const WAKER: u64 = 1;
const CLIENT: u64 = 2;

/// An open door, from inside.
pub(super) struct Service {
    socket: UdpSocket,
    poller: Poller,
    server: PathBuf,
    hosts: BTreeMap<IpAddr, Host>,
    cookies: Cookies,
    clock: RealClock,
    counts: Counts,
    /// What the listener knows.
    reported: Counts,
    /// The last refusal, and what was refused.
    last_refusal: String,
    listener: Box<dyn FnMut(Event) + Send>,
}

struct Host {
    account: Account,
    /// `None` until it has an item.
    sender: Option<Sender>,
    /// Its address, with any port.
    address: SocketAddr,
}

/// Why an item is not delivered.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Request(#[from] BadRequest),
    #[error(transparent)]
    Value(#[from] BadValue),
    #[error(transparent)]
    Server(#[from] RequestError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
    #[error(
        "this port has half of what others leave of {ITEMS} items without a receipt; fix: send later"
    )]
    Share,
    #[error("the time is {} in the past, more than {}; fix: set the clocks of both machines", span(*.0), span(PAST))]
    Past(Nanos),
    #[error("the time tag {0} is before 1970")]
    NoTime(TimeTag),
    #[error("cookie {0} is not for this address, or is too old; fix: /subscribe without a cookie")]
    Cookie(i32),
    #[error("the host requests more than {CUT_RATE} cuts a second; fix: one cut for many items")]
    Cuts,
    #[error("the host has {0} subscriptions, the most that it may have; fix: /unsubscribe")]
    Subscriptions(usize),
}

impl Service {
    /// Serves a socket until the waker is used.
    pub(super) fn new(
        socket: UdpSocket,
        waker: &Waker,
        server: PathBuf,
        listener: Box<dyn FnMut(Event) + Send>,
    ) -> io::Result<Self> {
        let failed = |error: SysError| io::Error::from(error.errno);
        let poller = Poller::new().map_err(failed)?;
        poller.add(&socket, SOCKET, Interest::READ).map_err(failed)?;
        poller.add(waker, WAKER, Interest::READ).map_err(failed)?;
        Ok(Self {
            socket,
            poller,
            server,
            hosts: BTreeMap::new(),
            cookies: Cookies::default(),
            clock: RealClock::new(&ClockPair::read_best()),
            counts: Counts::default(),
            reported: Counts::default(),
            last_refusal: String::new(),
            listener,
        })
    }

    /// Serves until the waker is used. Returns what the door has got.
    pub(super) fn run(mut self) -> Counts {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let idle = self.hosts.is_empty() && self.counts.lost() == self.reported.lost();
            // It fails only without memory; then this tries again.
            let ready = self.poller.wait((!idle).then_some(TICK)).unwrap_or_default();
            if ready.iter().any(|ready| ready.key == WAKER) {
                // If the server has ended, these are the last.
                self.receipts();
                return self.counts;
            }
            for _ in 0..BATCH {
                let Ok((length, from)) = self.socket.recv_from(&mut buffer) else { break };
                self.datagram(&buffer[..length], from);
            }
            self.receipts();
            self.tidy();
        }
    }

    fn datagram(&mut self, bytes: &[u8], from: SocketAddr) {
        self.counts.datagrams += 1;
        let now = Client::now();
        if !self.hosts.contains_key(&host_of(from)) {
            if self.hosts.len() >= HOSTS {
                self.counts.no_room += 1;
                return;
            }
            let account = Account::new(ITEMS, now);
            let host = Host { account, sender: None, address: from };
            self.hosts.insert(host_of(from), host);
        }
        if !self.host(from).is_some_and(|host| host.account.admits(now)) {
            self.counts.over_rate += 1;
            return;
        }
        if let Some(by) = self.clock.consider(&ClockPair::read()) {
            self.clock.adopt(&ClockPair::read_best());
            (self.listener)(Event::ClockJumped(by));
        }
        match tactus_osc::read(bytes) {
            Ok(messages) => messages.iter().for_each(|timed| self.message(timed, from, now)),
            Err(malformed) => {
                self.counts.malformed += 1;
                let reply = reply::refused(None, "", &malformed.to_string());
                self.reply(from, &reply, now);
            }
        }
    }

    fn host(&mut self, from: SocketAddr) -> Option<&mut Host> {
        self.hosts.get_mut(&host_of(from))
    }

    fn message(&mut self, timed: &Timed<'_>, from: SocketAddr, now: Moment) {
        let address = timed.message.address;
        let mut id = None;
        let done =
            Request::of(&timed.message).map_err(Refusal::from).and_then(|request| match request {
                Request::Item { device, options, values } => {
                    id = options.id;
                    let payload = |format| payload_of(format, &values);
                    self.item(device, &options, payload, timed.time, from, now)
                }
                Request::Cut(branch) => self.cut(branch, timed.time, from, now),
                Request::Subscribe { port, cookie } => self.subscribe(port, cookie, from, now),
                Request::Unsubscribe { port } => {
                    let port = port.unwrap_or(from.port());
                    self.host(from).into_iter().for_each(|host| host.account.unsubscribe(port));
                    Ok(())
                }
            });
        if let Err(refusal) = done {
            self.counts.refused += 1;
            let reason = refusal.to_string();
            self.last_refusal = format!("{address}: {reason}");
            // An answer to an answer could go on forever between two doors.
            if !reply::ADDRESSES.contains(&address) {
                self.reply(from, &reply::refused(id, address, &reason), now);
            }
        }
    }

    fn item(
        &mut self,
        device: &str,
        options: &ItemOptions,
        payload: impl FnOnce(Format) -> Result<Vec<u8>, BadValue>,
        time: TimeTag,
        from: SocketAddr,
        now: Moment,
    ) -> Result<(), Refusal> {
        let due = self.moment(time, now)?;
        if due + PAST < now {
            return Err(Refusal::Past(now - due));
        }
        self.connect(from)?;
        let offset = self.clock.offset();
        let Some(Host { account, sender: Some(sender), .. }) = self.hosts.get_mut(&host_of(from))
        else {
            return Ok(());
        };
        if !account.has_room(from.port()) {
            return Err(Refusal::Share);
        }
        let (stream, format) = sender.stream(device)?;
        let payload = payload(format)?;
        let ItemOptions { id, branch, if_late } = *options;
        let draft = Draft { stream, branch, due, if_late, payload: &payload };
        let sequence = sender.client.submit(&draft)?;
        self.counts.items += 1;
        let (port, device) = (from.port(), device.to_owned());
        account.submitted(sequence, Origin { port, id, device, time, offset });
        Ok(())
    }

    fn cut(
        &mut self,
        branch: BranchId,
        time: TimeTag,
        from: SocketAddr,
        now: Moment,
    ) -> Result<(), Refusal> {
        let at = self.moment(time, now)?;
        // Without a client there is nothing to cut.
        let Some(Host { account, sender: Some(sender), .. }) = self.host(from) else {
            return Ok(());
        };
        match account.admits_cut(now) {
            true => Ok(sender.client.cut(branch, at)?),
            false => Err(Refusal::Cuts),
        }
    }

    /// The instant of a time tag.
    fn moment(&self, time: TimeTag, now: Moment) -> Result<Moment, Refusal> {
        if time == TimeTag::IMMEDIATE {
            return Ok(now);
        }
        let offset = self.clock.offset();
        let real = time.real_time(offset.real(now)).ok_or(Refusal::NoTime(time))?;
        Ok(offset.monotonic(real))
    }

    fn subscribe(
        &mut self,
        port: Option<u16>,
        cookie: Option<i32>,
        from: SocketAddr,
        now: Moment,
    ) -> Result<(), Refusal> {
        let mut to = from;
        to.set_port(port.unwrap_or(from.port()));
        // Nobody else can send as a program of this machine; elsewhere, anybody can write any sender.
        if !from.ip().to_canonical().is_loopback() {
            let Some(cookie) = cookie else {
                let cookie = reply::cookie(self.cookies.of(to, now));
                self.send(to, &cookie);
                return Ok(());
            };
            if !self.cookies.prove(to, cookie, now) {
                return Err(Refusal::Cookie(cookie));
            }
        }
        let account = self.host(from).map(|host| &mut host.account);
        if !account.is_some_and(|account| account.subscribe(to, port.is_some(), now)) {
            return Err(Refusal::Subscriptions(super::account::SUBSCRIPTIONS));
        }
        self.send(to, &reply::subscribed(SUBSCRIPTION.as_nanos() / 1_000_000_000));
        Ok(())
    }

    /// Makes the client of a host, unless it has one.
    fn connect(&mut self, from: SocketAddr) -> Result<(), Refusal> {
        let Some(host) = self.hosts.get_mut(&host_of(from)) else { return Ok(()) };
        if host.sender.is_some() {
            return Ok(());
        }
        let sender = Sender::connect(&self.server, format!("osc:{}", host_of(from)));
        let sender = sender.inspect_err(|error| {
            (self.listener)(Event::NoClient(error.to_string()));
        })?;
        // Without a poller, its receipts are read at each tick.
        let _ = self.poller.add(&sender.client, CLIENT, Interest::READ);
        host.sender = Some(sender);
        Ok(())
    }

    /// Passes receipts on.
    fn receipts(&mut self) {
        let now = Client::now();
        let mut replies = Vec::new();
        for host in self.hosts.values_mut() {
            let Host { account, sender: Some(sender), address } = host else {
                continue;
            };
            let mut answer = |account: &mut Account, receipt: &Receipt| {
                let Some(origin) = account.answered(receipt) else { return };
                self.counts.receipts += 1;
                let mut to = *address;
                to.set_port(origin.port);
                replies.push((to, reply::receipt(&origin, receipt)));
            };
            loop {
                match sender.client.receipt(Some(Duration::ZERO)) {
                    Ok(Some(receipt)) => answer(account, &receipt),
                    Ok(None) => break,
                    Err(_) => {
                        // The server was killed: nobody knows what became of these.
                        for sequence in account.unanswered() {
                            answer(account, &unanswered(sequence, now));
                        }
                        host.sender = None;
                        break;
                    }
                }
            }
        }
        for (from, bytes) in replies {
            self.reply(from, &bytes, now);
        }
    }

    /// Sends to those who subscribe to what concerns a port.
    fn reply(&mut self, from: SocketAddr, bytes: &[u8], now: Moment) {
        let Some(host) = self.hosts.get(&host_of(from)) else { return };
        let listeners: Vec<SocketAddr> = host.account.listeners(from.port(), now).collect();
        for to in listeners {
            self.send(to, bytes);
        }
    }

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) {
        let sent = self.socket.send_to(bytes, to);
        self.counts.unsent += u64::from(sent.is_err());
    }

    /// Forgets idle hosts, and reports losses.
    fn tidy(&mut self) {
        let now = Client::now();
        self.hosts.retain(|_, host| !host.account.is_idle(now));
        let dropped = dropped_datagrams(&self.socket).unwrap_or_default();
        let more = dropped.wrapping_sub(self.counts.dropped as u32);
        self.counts.dropped += u64::from(more);
        if self.counts.lost() > self.reported.lost() {
            (self.listener)(Event::Losses(self.counts));
        }
        let more = self.counts.refused - self.reported.refused;
        if more > 0 {
            let last = std::mem::take(&mut self.last_refusal);
            (self.listener)(Event::Refused { more, last });
        }
        self.reported = self.counts;
    }
}
