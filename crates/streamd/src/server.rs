//! The server: one thread that takes items from clients and passes on receipts, and a thread for
//! each device.

mod frames;
mod introduce;
mod items;
mod status;

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
use tactus_stream::message::{Counts, DeviceInfo, ITEMS_MOST, Reply, Request};
use tactus_stream::slot::Submitted;
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::closer::Closer;
use tactus_sys::local_socket::{self, SocketFile};
use tactus_sys::poller::{Interest, Poller, Ready};
use tactus_sys::wait::Waker;

use crate::connection::{Closed, Connection, Draining, Packet, Role};
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

impl Settings {
    /// Ordinary scheduling without spinning, and items at most 10 s ahead.
    pub const ORDINARY: Self = Self {
        pace: Pace { policy: Scheduling::ORDINARY, spin: Nanos::ZERO },
        horizon: Nanos::from_secs(10),
    };
}

/// Serves clients on a socket.
#[derive(Debug)]
pub struct Server {
    /// Removed first, so that no client connects to a server that ends.
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
    closer: Closer<Draining>,
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
        // Older kernels do not know it; then the connections look for themselves.
        let _ = local_socket::refuse_descriptors(&listener);
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
            closer: Closer::start("streamd/closer").map_err(StartError::Thread)?,
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
        let missing = missing.map(|missing| missing.explain_here());
        // The devices have requested the next higher priority, and were refused for the same reason.
        let is_known = |missing: &Shortfall| {
            let Shortfall { reason, fix, .. } = missing;
            self.shortfalls.iter().any(|other| other.reason == *reason && other.fix == *fix)
        };
        let missing = missing.filter(|missing| !is_known(missing));
        add_new(&mut self.shortfalls, missing);
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
            match &mut connection.role {
                Role::Listener => {}
                Role::Unintroduced { since } => add(*since + HELLO_TIME),
                Role::Client(session) => {
                    if let Some(until) = session.rests {
                        add(until);
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
        let mut connection = Connection::new(socket, peer, now);
        if let Err(reason) = self.users.connect(user, self.closer.waiting(user)) {
            let _ = connection.reply(&Reply::Ended(reason), &[]);
            self.drop_socket(connection);
            return;
        }
        let key = self.next;
        self.next += 1;
        // A new connection does not get around the rate of its user.
        connection.muted = self.users.overdrawn(user, now);
        match self.poller.add(&connection, key, connection.interest()) {
            Ok(()) => drop(self.connections.insert(key, connection)),
            Err(_) => {
                self.users.disconnect(user, 0, now);
                self.drop_socket(connection);
            }
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
            let _ = self.poller.change(&*connection, key, connection.interest());
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
            Request::Frame { stream } => return self.grant_frame(key, stream),
            request => match self.client(key) {
                Some(client) => self.carry_out(client, request).map(|()| Reply::Done),
                None => return Err(Closed(Some("the first request is `hello`".to_owned()))),
            },
        };
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        connection.reply(&reply.unwrap_or_else(Reply::Refused), &[])
    }

    fn client(&self, key: u64) -> Option<ClientId> {
        Some(self.connections.get(&key)?.session()?.client)
    }

    fn carry_out(&mut self, client: ClientId, request: Request) -> Result<(), String> {
        let refused = |refusal: Refusal| refusal.to_string();
        match request {
            Request::Hello { .. }
            | Request::Listen { .. }
            | Request::Status
            | Request::Frame { .. } => {}
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
                let _ = self.poller.change(&*connection, *key, connection.interest());
            }
            if matches!(connection.role, Role::Unintroduced { since } if since + HELLO_TIME <= now)
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
        let rings = connection.session().map_or(0, |session| session.shared_bytes);
        self.users.disconnect(connection.peer.user, rings, clock::now());
        match self.drop_socket(connection) {
            Role::Unintroduced { .. } => {}
            Role::Listener => self.inputs.iter().for_each(|inputs| inputs.leave(key)),
            Role::Client(session) => self.leave(session.client),
        }
    }

    /// Closes the socket of a connection. What is in its queue never makes this thread wait.
    fn drop_socket(&self, connection: Connection) -> Role {
        let user = connection.peer.user;
        // Other descriptors of it, of listeners and of the closer, would keep it in the poller.
        let _ = self.poller.remove(&connection);
        let (role, draining) = connection.drained();
        if let Some(draining) = draining {
            self.closer.close(user, draining);
        }
        role
    }

    /// Drops what a client has of the devices.
    fn leave(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.desk.leave(client);
        // It may have closed streams whose notes still sound.
        for device in &self.devices {
            device.queue.leave(client);
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
            let session = match &mut connection.role {
                Role::Unintroduced { .. } => continue,
                Role::Listener => {
                    let _ = connection.reply(&Reply::Ended(ENDS.to_owned()), &[]);
                    continue;
                }
                Role::Client(session) => session,
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
        for connection in std::mem::take(&mut self.connections).into_values() {
            self.drop_socket(connection);
        }
    }
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
