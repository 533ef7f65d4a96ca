//! The server: one thread that takes items from clients and passes on receipts, and a thread for
//! each device.

mod items;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tactus_delivery::desk::{Desk, DeviceId, Limits, Refusal};
use tactus_delivery::device::{Cut, Removal};
use tactus_delivery::item::{ClientId, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_midi::Kinds;
use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::result::Shortfall;
use tactus_model::text::nearest;
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_stream::message::{
    ClientStatus, Counts, DeviceInfo, DeviceStatus, ITEMS_MOST, Reply, Request, Status, VERSION,
    Wanted, Welcome,
};
use tactus_stream::slot::Submitted;
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::poller::{Interest, Poller, Ready};
use tactus_sys::wait::Waker;

use crate::connection::{Closed, Connection, Packet, Session, Shapes};
use crate::device::{Pace, RunningDevice};
use crate::error::{ServeError, StartError};
use crate::inputs::Inputs;
use crate::sink::Sink;
use crate::users::Users;

/// The most devices.
pub const DEVICES_MOST: usize = 64;

/// The most streams of a client.
const STREAMS_MOST: u32 = 64;

/// The most branches of a client.
const BRANCHES_MOST: u32 = 1024;

/// From one connection to the next, of all users: those that are refused take time too.
const ACCEPT_GAP: Nanos = Nanos::from_micros(500);

/// How long no connections are accepted after that failed, e.g. for want of descriptors.
const FAILED_ACCEPT_GAP: Nanos = Nanos::from_millis(100);

/// How long the thread sleeps although a client has more items: nobody keeps it from sleeping.
const BACKLOG_GAP: Nanos = Nanos::from_micros(20);

/// How long a connection may last without introducing itself.
const HELLO_TIME: Nanos = Nanos::from_secs(2);

/// The reason when the server ends.
const ENDS: &str = "the server ends";

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
    inputs: Option<Inputs>,
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
    /// A handle of a thread that waits for it.
    ///
    /// # Errors
    /// Too many files are open.
    pub fn new() -> Result<Self, SysError> {
        Ok(Self { is_ending: Arc::default(), waker: Arc::new(Waker::new()?) })
    }

    /// Whether the thread is to end.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    /// Notes that the thread is awake.
    pub(crate) fn clear(&self) {
        self.waker.clear();
    }

    /// Ends the server: every item that it has gets its receipt.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.waker.wake();
    }
}

/// It can be read when the thread is to wake.
impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
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
            inputs: None,
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

    /// Offers inputs to clients.
    #[must_use]
    pub fn with_inputs(mut self, inputs: Inputs) -> Self {
        add_new(&mut self.shortfalls, inputs.missing.clone());
        self.inputs = Some(inputs);
        self
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
            if let Some(ended) = ended_by_itself(&self.devices) {
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
                None if connection.listens => {}
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
        let socket = match self.listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // A connection that cannot be accepted stays ready.
            Err(_) => return self.stop_accepting(now + FAILED_ACCEPT_GAP),
        };
        self.stop_accepting(now + ACCEPT_GAP);
        let Ok(peer) = local_socket::peer_credentials(socket.as_fd()) else { return };
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        let user = peer.user;
        let connection = Connection::new(socket, peer, now);
        if let Err(reason) = self.users.connect(user) {
            let _ = connection.reply(&Reply::Ended(reason), &[]);
            return;
        }
        let key = self.next;
        self.next += 1;
        match self.poller.add(&connection, key, Interest::READ) {
            Ok(()) => drop(self.connections.insert(key, connection)),
            Err(_) => self.users.disconnect(user, 0),
        }
    }

    fn stop_accepting(&mut self, until: Moment) {
        self.closed = Some(until);
        let _ = self.poller.change(&self.listener, LISTENER, Interest::default());
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
        if let Request::Listen { version, input, kinds } = request {
            return self.listen(key, version, &input, Kinds::from_bits(kinds));
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
            Request::Hello { .. } | Request::Listen { .. } | Request::Status => {}
            Request::Open { stream, device } => {
                let device = DeviceId(self.find(&device)?);
                self.desk.open(client, stream, device).map_err(refused)?;
            }
            Request::Close { stream } => {
                let device = self.desk.close(client, stream).map_err(refused)?;
                let close = Removal::Close(client, stream);
                self.devices[device.0 as usize].queue.remove(&close);
            }
            Request::Resume { stream } => {
                let device = self.desk.device(client, stream).map_err(refused)?;
                self.devices[device.0 as usize].queue.resume(client, stream);
            }
            Request::Cut { branch, epoch, at } => {
                let cut = Cut { client, branch, epoch, at };
                for device in self.desk.cut(&cut).map_err(refused)? {
                    self.devices[device.0 as usize].queue.remove(&Removal::Cut(cut));
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

    /// Passes messages of an input on to a connection. The thread of the inputs replies.
    fn listen(&mut self, key: u64, version: u32, input: &str, kinds: Kinds) -> Result<(), Closed> {
        check_version(version)?;
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        if connection.session.is_some() || connection.listens {
            return Err(Closed(Some("it has introduced itself already".to_owned())));
        }
        let inputs = self.inputs.as_ref();
        let Some((inputs, place)) = inputs.and_then(|inputs| Some((inputs, inputs.find(input)?)))
        else {
            let names = inputs.map(Inputs::names).unwrap_or_default();
            let hint = nearest(input, &names).map(|name| format!("; did you mean `{name}`?"));
            let reason = format!("there is no such input{}", hint.unwrap_or_default());
            return Err(Closed(Some(reason)));
        };
        if inputs.is_gone(place) {
            return Err(Closed(Some(format!("the device of input `{input}` is gone"))));
        }
        let failed = |error: std::io::Error| Closed(Some(format!("it cannot listen: {error}")));
        let socket = connection.socket().map_err(failed)?;
        connection.listens = true;
        inputs.enter(place, key, kinds, socket);
        Ok(())
    }

    /// Introduces a client.
    fn welcome(&mut self, key: u64, version: u32, wanted: Wanted) -> Result<(), Closed> {
        let refused = |reason: String| Closed(Some(reason));
        check_version(version)?;
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        if connection.session.is_some() || connection.listens {
            return Err(refused("it has introduced itself already".to_owned()));
        }
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
            if connection.session.is_none()
                && !connection.listens
                && connection.since + HELLO_TIME <= now
            {
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
        if let Some(inputs) = self.inputs.as_ref().filter(|_| connection.listens) {
            inputs.leave(key);
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
        // Listeners get the ends of their notes.
        self.inputs = None;
        for device in &mut self.devices {
            device.end();
            device.queue.finish(&mut self.receipts);
        }
        self.pass_on_receipts();
        for connection in self.connections.values_mut() {
            let Some(session) = &mut connection.session else {
                if connection.listens {
                    let _ = connection.reply(&Reply::Ended(ENDS.to_owned()), &[]);
                }
                continue;
            };
            for _ in 0..session.room {
                let Ok(Some(Submitted { item, .. })) = session.next() else { break };
                let item = items::with_payload(&item, ());
                if session.refuse(&item, Outcome::Ended).is_err() {
                    break;
                }
            }
            connection.notify();
            let _ = connection.reply(&Reply::Ended(ENDS.to_owned()), &[]);
        }
    }

    fn status(&mut self, now: Moment) -> Status {
        let mut status = Status {
            running: now - self.started,
            devices: Vec::new(),
            clients: Vec::new(),
            inputs: self.inputs.as_ref().map(Inputs::status).unwrap_or_default(),
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

fn check_version(version: u32) -> Result<(), Closed> {
    if version == VERSION {
        return Ok(());
    }
    let reason = format!("the server has version {VERSION} of the protocol, not {version}");
    Err(Closed(Some(reason)))
}

/// A device whose thread has ended by a defect.
fn ended_by_itself(devices: &[RunningDevice]) -> Option<&RunningDevice> {
    devices.iter().find(|device| device.queue.has_ended.load(Ordering::Acquire))
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
