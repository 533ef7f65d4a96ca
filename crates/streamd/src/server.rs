//! The server: one thread that takes items from clients and passes on receipts, and a thread for
//! each device.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tactus_delivery::desk::{Accepted, Desk, DeviceId, Limits, Refusal};
use tactus_delivery::device::Cut;
use tactus_delivery::item::{ClientId, Item, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::result::Shortfall;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_stream::message::{
    ClientStatus, Counts, DeviceInfo, DeviceStatus, ITEMS_MOST, PAYLOAD_BYTES_MOST,
    RING_BYTES_MOST, Reply, Request, Status, VERSION, Wanted, Welcome, is_name,
};
use tactus_stream::slot::{HEADER_BYTES, Submitted};
use tactus_sys::clock;
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::poller::{Interest, Poller, Ready};
use tactus_sys::wait::Waker;

use crate::connection::{Closed, Connection, Held, Packet, Session, Shapes, count};
use crate::device::{Pace, RunningDevice};
use crate::error::{ServeError, StartError};
use crate::sink::Sink;
use crate::users::Users;

/// The most devices.
pub const DEVICES_MOST: usize = 64;

/// The most streams of a client.
const STREAMS_MOST: u32 = 64;

/// The most branches of a client.
const BRANCHES_MOST: u32 = 1024;

/// Connections that are accepted before others are served again.
const ACCEPTED_AT_ONCE: usize = 16;

/// How long no connections are accepted after that failed, e.g. for want of descriptors.
const FAILED_ACCEPT_GAP: Nanos = Nanos::from_millis(100);

/// Items that are taken from a client before others are served again.
const ITEMS_AT_ONCE: usize = 64;

/// How long the thread sleeps although a client has more items: nobody keeps it from sleeping.
const BACKLOG_GAP: Nanos = Nanos::from_micros(50);

/// When a client is looked at again that has more items than room for receipts.
const FULL_GAP: Nanos = Nanos::from_millis(10);

/// How long a connection may last without introducing itself.
const HELLO_TIME: Nanos = Nanos::from_secs(2);

/// What a client could do without secret memory.
const NO_SECRET_MEMORY: &str = "secret memory: not granted for the rings of a client, so a hostile \
    client can stall the server. fix: a kernel with CONFIG_SECRETMEM, not disabled by secretmem.enable=0";

const LISTENER: u64 = 0;
const WAKER: u64 = 1;
/// The first connection.
const CONNECTIONS: u64 = 2;

/// A device with its name, and what it is by the word of whoever starts the server.
pub struct Offered {
    /// The name by which clients open it.
    pub name: String,
    /// What it is.
    pub spec: String,
    /// The way to it.
    pub sink: Box<dyn Sink>,
}

/// How the server works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The threads of the devices. The thread that serves clients has the next lower priority.
    pub pace: Pace,
    /// How far ahead of the present an item may be due.
    pub horizon: Nanos,
}

/// Serves clients on a socket.
#[derive(Debug)]
pub struct Server {
    /// Removed first at the end: nobody connects who would not be served.
    file: Option<SocketFile>,
    listener: UnixListener,
    /// Until when no connections are accepted.
    closed: Option<Moment>,
    poller: Poller,
    waker: Arc<Waker>,
    is_ending: Arc<AtomicBool>,
    settings: Settings,
    desk: Desk,
    devices: Vec<RunningDevice>,
    connections: BTreeMap<u64, Connection>,
    /// The connections of the clients.
    clients: BTreeMap<ClientId, u64>,
    users: Users,
    next: u64,
    total: Counts,
    shortfalls: Vec<Shortfall>,
    has_secret_memory: bool,
    started: Moment,
    /// Receipts to pass on.
    receipts: Vec<Receipt>,
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Handle {
    is_ending: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Handle {
    /// Ends the server: every item that it has gets its receipt.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.waker.wake();
    }
}

impl Server {
    /// Starts the devices. The file of the socket is removed at the end.
    ///
    /// # Errors
    /// Names of devices are not unique, or a thread does not start.
    pub fn new(
        listener: UnixListener,
        file: Option<SocketFile>,
        offered: Vec<Offered>,
        settings: Settings,
    ) -> Result<Self, StartError> {
        let count = offered.len();
        if count == 0 || count > DEVICES_MOST {
            return Err(StartError::Devices { count });
        }
        listener.set_nonblocking(true).map_err(StartError::Thread)?;
        let (poller, waker) = (Poller::new()?, Arc::new(Waker::new()?));
        poller.add(&listener, LISTENER, Interest::READ)?;
        poller.add(&*waker, WAKER, Interest::READ)?;
        let (mut devices, mut shortfalls) = (Vec::<RunningDevice>::new(), Vec::new());
        for Offered { name, spec, sink } in offered {
            if devices.iter().any(|device| device.info.name == name) {
                return Err(StartError::NameTaken(name));
            }
            let answered = Arc::clone(&waker);
            let started = RunningDevice::start(&name, &spec, sink, settings.pace, answered);
            let (device, missing) = started.map_err(StartError::Thread)?;
            devices.push(device);
            add_new(&mut shortfalls, missing);
        }
        let limits = Limits {
            items: ITEMS_MOST,
            horizon: settings.horizon,
            streams: STREAMS_MOST,
            branches: BRANCHES_MOST,
        };
        Ok(Self {
            file,
            listener,
            closed: None,
            poller,
            waker,
            is_ending: Arc::default(),
            settings,
            desk: Desk::new(limits),
            devices,
            connections: BTreeMap::new(),
            clients: BTreeMap::new(),
            users: Users::default(),
            next: CONNECTIONS,
            total: Counts::default(),
            shortfalls,
            has_secret_memory: true,
            started: clock::now(),
            receipts: Vec::new(),
        })
    }

    /// Ends the server from another thread.
    pub fn handle(&self) -> Handle {
        Handle { is_ending: Arc::clone(&self.is_ending), waker: Arc::clone(&self.waker) }
    }

    /// Adds something that the machine has not granted.
    pub(crate) fn add_shortfall(&mut self, missing: Shortfall) {
        add_new(&mut self.shortfalls, [missing]);
    }

    /// The devices.
    pub fn devices(&self) -> impl Iterator<Item = &DeviceInfo> {
        self.devices.iter().map(|device| &device.info)
    }

    /// What the machine has not granted.
    pub fn shortfalls(&self) -> &[Shortfall] {
        &self.shortfalls
    }

    /// Serves until [`Handle::end`]. The calling thread gets the priority below that of the
    /// devices; threads that it starts do not.
    ///
    /// # Errors
    /// The thread of a device has ended by a defect, or the poller fails. Every item has got its
    /// receipt.
    pub fn run(mut self) -> Result<(), ServeError> {
        let served = self.serve();
        self.end();
        served
    }

    fn serve(&mut self) -> Result<(), ServeError> {
        let policy = next_lower(self.settings.pace.policy);
        let missing = ThreadRef::Calling.schedule_alone(policy)?;
        add_new(&mut self.shortfalls, missing.map(|missing| missing.explain_here()));
        while !self.is_ending.load(Ordering::Acquire) {
            let timeout = self.timeout(clock::now());
            for ready in self.poller.wait(timeout)? {
                self.hear(ready, clock::now());
            }
            self.take_all_items(clock::now());
            self.pass_on_receipts();
            self.keep_time(clock::now());
            if let Some(ended) = self.devices.iter().find(|device| device.has_ended()) {
                return Err(ServeError::DeviceEnded(ended.info.name.clone()));
            }
        }
        Ok(())
    }

    /// How long nothing is due. Requests notices of all items that come meanwhile.
    fn timeout(&mut self, now: Moment) -> Option<Duration> {
        let mut due = self.closed;
        let mut add = |other: Moment| due = Some(due.map_or(other, |due| due.min(other)));
        for connection in self.connections.values_mut() {
            connection.muted.into_iter().for_each(&mut add);
            match &mut connection.session {
                None => add(connection.since + HELLO_TIME),
                Some(session) => {
                    if let Some(held) = &session.held {
                        add(held.retry);
                    } else if session.request_notice() {
                        add(now + BACKLOG_GAP);
                    }
                }
            }
        }
        due.map(|due| Duration::from(due - now))
    }

    fn hear(&mut self, ready: Ready, now: Moment) {
        match ready.key {
            LISTENER => self.accept(now),
            WAKER => self.waker.clear(),
            key => {
                let heard = match ready.interest.read {
                    true => self.hear_connection(key, now),
                    // It is gone, and nothing that it sent is awaited.
                    false => Err(Closed(None)),
                };
                if let Err(closed) = heard {
                    self.close(key, closed);
                }
            }
        }
    }

    fn accept(&mut self, now: Moment) {
        for _ in 0..ACCEPTED_AT_ONCE {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // A connection that cannot be accepted stays ready.
                    self.closed = Some(now + FAILED_ACCEPT_GAP);
                    let _ = self.poller.change(&self.listener, LISTENER, Interest::default());
                    return;
                }
            };
            let Ok(peer) = local_socket::peer_credentials(socket.as_fd()) else { continue };
            if socket.set_nonblocking(true).is_err() {
                continue;
            }
            let user = peer.user;
            let connection = Connection::new(socket, peer, now);
            if let Err(reason) = self.users.connect(user) {
                let _ = connection.reply(&Reply::Ended(reason), &[]);
                continue;
            }
            let key = self.next;
            self.next += 1;
            if self.poller.add(&connection, key, Interest::READ).is_err() {
                self.users.disconnect(user, 0);
                continue;
            }
            self.connections.insert(key, connection);
        }
    }

    /// Takes one packet of a connection.
    fn hear_connection(&mut self, key: u64, now: Moment) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let Some(packet) = connection.receive()? else { return Ok(()) };
        let user = connection.peer.user;
        let muted = match packet {
            Packet::Notice => self.users.notice(user, now),
            Packet::Request(_) => self.users.request(user, now),
        };
        if muted.is_some() {
            connection.muted = muted;
            let _ = self.poller.change(&*connection, key, Interest::default());
        }
        match packet {
            Packet::Notice => Ok(()),
            Packet::Request(request) => self.answer(key, request, now),
        }
    }

    /// Answers a request. Items that were submitted before it are taken before it.
    fn answer(&mut self, key: u64, request: Request, now: Moment) -> Result<(), Closed> {
        if let Request::Hello { version, wanted } = request {
            return self.welcome(key, version, wanted);
        }
        self.take_items(key, now, usize::MAX)?;
        let reply = match request {
            Request::Status => Ok(Reply::Status(self.status(now))),
            request => match self.client(key) {
                Some(client) => self.carry_out(client, request).map(|()| Reply::Done),
                None => return Err(Closed(Some("the first request is `hello`".to_owned()))),
            },
        };
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        connection.reply(&reply.unwrap_or_else(Reply::Refused), &[])
    }

    fn client(&self, key: u64) -> Option<ClientId> {
        Some(self.connections.get(&key)?.session.as_ref()?.client)
    }

    fn carry_out(&mut self, client: ClientId, request: Request) -> Result<(), String> {
        let refused = |refusal: Refusal| refusal.to_string();
        match request {
            Request::Hello { .. } | Request::Status => {}
            Request::Open { stream, device } => {
                let device = DeviceId(self.find(&device)?);
                self.desk.open(client, stream, device).map_err(refused)?;
            }
            Request::Close { stream } => {
                let device = self.desk.close(client, stream).map_err(refused)?;
                self.devices[device.0 as usize].queue.close(client, stream);
            }
            Request::Resume { stream } => {
                let device = self.desk.device(client, stream).map_err(refused)?;
                self.devices[device.0 as usize].queue.resume(client, stream);
            }
            Request::Cut { branch, epoch, at } => {
                let cut = Cut { client, branch, epoch, at };
                for device in self.desk.cut(&cut).map_err(refused)? {
                    self.devices[device.0 as usize].queue.cut(&cut);
                }
            }
        }
        Ok(())
    }

    /// The number of a device.
    fn find(&self, name: &str) -> Result<u32, String> {
        let place = self.devices.iter().position(|device| device.info.name == name);
        place.and_then(|place| u32::try_from(place).ok()).ok_or_else(|| {
            let names: Vec<&str> =
                self.devices.iter().map(|device| device.info.name.as_str()).collect();
            let hint = nearest(name, &names).map(|name| format!("; did you mean `{name}`?"));
            format!("there is no such device{}", hint.unwrap_or_default())
        })
    }

    /// Introduces a client.
    fn welcome(&mut self, key: u64, version: u32, wanted: Wanted) -> Result<(), Closed> {
        let refused = |reason: String| Closed(Some(reason));
        if version != VERSION {
            let reason = format!("the server has version {VERSION} of the protocol, not {version}");
            return Err(refused(reason));
        }
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        if connection.session.is_some() {
            return Err(refused("it has introduced itself already".to_owned()));
        }
        check(&wanted).map_err(refused)?;
        let shapes = Shapes::of(&wanted).map_err(refused)?;
        self.users.take_rings(connection.peer.user, shapes.bytes()).map_err(refused)?;
        let client = self.desk.enter(shapes.room() as u32);
        let made = Session::new(client, wanted, &shapes);
        let (session, files, not_secret) = match made {
            Ok(made) => made,
            Err(error) => {
                self.desk.leave(client);
                self.users.return_rings(connection.peer.user, shapes.bytes());
                return Err(refused(format!("there is no memory for its rings: {error}")));
            }
        };
        let welcome = Welcome {
            client,
            items: session.room,
            payload_bytes: session.payload_bytes,
            horizon: self.settings.horizon,
            devices: self.devices.iter().map(|device| device.info.clone()).collect(),
        };
        connection.session = Some(session);
        self.clients.insert(client, key);
        self.has_secret_memory &= not_secret.is_none();
        let files = files.each_ref().map(AsFd::as_fd);
        connection.reply(&Reply::Welcome(welcome), &files)
    }

    /// Takes items of all clients.
    fn take_all_items(&mut self, now: Moment) {
        let clients: Vec<u64> = self.clients.values().copied().collect();
        for key in clients {
            if let Err(closed) = self.take_items(key, now, ITEMS_AT_ONCE) {
                self.close(key, closed);
            }
        }
    }

    /// Takes at most so many items of a client.
    fn take_items(&mut self, key: u64, now: Moment, most: usize) -> Result<(), Closed> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        let Some(session) = &mut connection.session else { return Ok(()) };
        if session.held.as_ref().is_some_and(|held| held.retry > now) {
            return Ok(());
        }
        self.desk.read(session.client, session.newly_read());
        // The client adds items meanwhile.
        for _ in 0..most.min(session.room as usize) {
            let Some(Submitted { item, at }) = session.next()? else { return Ok(()) };
            let header = Submitted { item: without_payload(&item), at };
            let device = self.desk.device(item.client, item.stream);
            let fits = device.is_ok_and(|device| {
                let format = self.devices[device.0 as usize].info.format;
                format.check(item.payload).is_ok()
            });
            let payload: Box<[u8]> = item.payload.into();
            if !fits {
                session.refuse(&header.item, Outcome::Refused)?;
                self.total.accepted += 1;
                count(&mut self.total, Outcome::Refused);
                continue;
            }
            match self.desk.submit(with_payload(&header.item, payload), now) {
                Ok(accepted) => {
                    session.counts.accepted += 1;
                    self.total.accepted += 1;
                    match accepted {
                        Accepted::Queued(device, item) => {
                            let device = &self.devices[device.0 as usize];
                            session.arrived(&header, now, device.info.lead);
                            device.queue.push(item);
                        }
                        Accepted::Answered(receipt) => self.receipts.push(receipt),
                    }
                }
                Err(Refusal::TooFarAhead { from, .. }) => {
                    session.held = Some(Held { retry: from });
                    return Ok(());
                }
                Err(Refusal::Full { .. }) => {
                    session.held = Some(Held { retry: now + FULL_GAP });
                    return Ok(());
                }
                Err(refusal @ Refusal::Sequence { .. }) => {
                    return Err(Closed(Some(refusal.to_string())));
                }
                Err(_) => {
                    session.refuse(&header.item, Outcome::Refused)?;
                    self.total.accepted += 1;
                    count(&mut self.total, Outcome::Refused);
                }
            }
        }
        Ok(())
    }

    /// Passes on the receipts of all devices.
    fn pass_on_receipts(&mut self) {
        let mut receipts = std::mem::take(&mut self.receipts);
        self.devices.iter().for_each(|device| device.queue.collect(&mut receipts));
        for receipt in receipts.drain(..) {
            self.pass_on(receipt);
        }
        self.receipts = receipts;
        self.connections.values_mut().for_each(Connection::notify);
    }

    fn pass_on(&mut self, receipt: Receipt) {
        count(&mut self.total, receipt.outcome);
        // The client may have gone.
        let Some(key) = self.clients.get(&receipt.client).copied() else { return };
        let session = self.connections.get_mut(&key).and_then(|found| found.session.as_mut());
        if let Some(session) = session
            && let Err(closed) = session.answer(receipt)
        {
            self.close(key, closed);
        }
    }

    /// Listens again to those that were muted, and closes those whose time is over.
    fn keep_time(&mut self, now: Moment) {
        if self.closed.is_some_and(|until| until <= now) {
            self.closed = None;
            let _ = self.poller.change(&self.listener, LISTENER, Interest::READ);
        }
        let mut late = Vec::new();
        for (key, connection) in &mut self.connections {
            if connection.muted.is_some_and(|until| until <= now) {
                connection.muted = None;
                // The descriptor is in the poller until the connection is closed.
                let _ = self.poller.change(&*connection, *key, Interest::READ);
            }
            if connection.session.is_none() && connection.since + HELLO_TIME <= now {
                late.push(*key);
            }
        }
        for key in late {
            let reason = format!("it has not introduced itself within {HELLO_TIME}");
            self.close(key, Closed(Some(reason)));
        }
    }

    fn close(&mut self, key: u64, Closed(reason): Closed) {
        // Closing the socket removes it from the poller.
        let Some(connection) = self.connections.remove(&key) else { return };
        if let Some(reason) = reason {
            let _ = connection.reply(&Reply::Ended(reason), &[]);
        }
        let rings = connection.session.as_ref().map_or(0, |session| session.ring_bytes);
        self.users.disconnect(connection.peer.user, rings);
        let Some(session) = connection.session else { return };
        self.clients.remove(&session.client);
        self.desk.leave(session.client);
        // It may have closed streams whose notes still sound.
        for device in &self.devices {
            device.queue.leave(session.client);
        }
    }

    /// Answers every item, and says good-bye.
    fn end(&mut self) {
        self.file = None;
        for device in &mut self.devices {
            device.end();
            device.queue.finish(&mut self.receipts);
        }
        self.pass_on_receipts();
        for connection in self.connections.values_mut() {
            let Some(session) = &mut connection.session else { continue };
            for _ in 0..session.room {
                let Ok(Some(Submitted { item, .. })) = session.next() else { break };
                let item = without_payload(&item);
                if session.refuse(&item, Outcome::Ended).is_err() {
                    break;
                }
            }
            connection.notify();
            let _ = connection.reply(&Reply::Ended("the server ends".to_owned()), &[]);
        }
    }

    fn status(&mut self, now: Moment) -> Status {
        let mut status = Status {
            running: now - self.started,
            devices: Vec::new(),
            clients: Vec::new(),
            total: self.total,
            shortfalls: self.shortfalls.iter().map(ToString::to_string).collect(),
        };
        if !self.has_secret_memory {
            status.shortfalls.push(NO_SECRET_MEMORY.to_owned());
        }
        for (place, device) in self.devices.iter().enumerate() {
            let (waiting, delivered, error) = device.queue.report();
            let streams = self.desk.streams_of(DeviceId(place as u32));
            let info = device.info.clone();
            status.devices.push(DeviceStatus { info, streams, waiting, delivered, error });
        }
        for connection in self.connections.values_mut() {
            let Some(session) = &mut connection.session else { continue };
            status.clients.push(ClientStatus {
                client: session.client,
                name: session.name.clone(),
                process: connection.peer.process,
                user: connection.peer.user,
                streams: self.desk.streams(session.client),
                waiting: session.waiting() as u64,
                items: session.room,
                counts: session.counts,
                slack: session.meter.slack(now),
            });
        }
        status
    }
}

/// Checks what a client wants.
fn check(wanted: &Wanted) -> Result<(), String> {
    let Wanted { name, payload_bytes, items } = wanted;
    if !is_name(name) {
        return Err("the name of a client has 1 to 64 bytes without white space".to_owned());
    }
    if !(1..=PAYLOAD_BYTES_MOST as u32).contains(payload_bytes) {
        return Err(format!(
            "payloads of {payload_bytes} bytes; 1 to {PAYLOAD_BYTES_MOST} are possible"
        ));
    }
    if !(1..=ITEMS_MOST).contains(items) {
        return Err(format!("room for {items} items; 1 to {ITEMS_MOST} are possible"));
    }
    let bytes = items.next_power_of_two() as usize * (HEADER_BYTES + *payload_bytes as usize);
    if bytes > RING_BYTES_MOST {
        return Err(format!(
            "{items} items of {payload_bytes} bytes take {bytes} bytes; {RING_BYTES_MOST} are possible"
        ));
    }
    Ok(())
}

/// The policy of the thread that serves clients: below that of the devices.
fn next_lower(policy: Scheduling) -> Scheduling {
    let lower =
        |priority: RealtimePriority| RealtimePriority::new(priority.get() - 1).unwrap_or(priority);
    match policy {
        Scheduling::Fifo(priority) => Scheduling::Fifo(lower(priority)),
        Scheduling::RoundRobin(priority) => Scheduling::RoundRobin(lower(priority)),
        // The capacity of a deadline thread is for one thread.
        Scheduling::Deadline { .. } => Scheduling::ORDINARY,
        other => other,
    }
}

/// Adds those that are not there already: several threads miss the same.
fn add_new(shortfalls: &mut Vec<Shortfall>, missing: impl IntoIterator<Item = Shortfall>) {
    for missing in missing {
        if !shortfalls.contains(&missing) {
            shortfalls.push(missing);
        }
    }
}

fn without_payload<P>(item: &Item<P>) -> Item<()> {
    with_payload(item, ())
}

fn with_payload<P, Q>(item: &Item<P>, payload: Q) -> Item<Q> {
    let Item { client, sequence, stream, branch, epoch, due, if_late, .. } = *item;
    Item { client, sequence, stream, branch, epoch, due, if_late, payload }
}
