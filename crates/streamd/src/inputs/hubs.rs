//! The inputs of the server, each with its listeners.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tactus_delivery::item::Moment;
use tactus_midi::hub::{ListenerId, Offered, Queue};
use tactus_midi::{Heard, Hub, Kinds, Parsed, Problem};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::{Monotonic, Nanos};
use tactus_stream::heard;
use tactus_stream::message::{InputStatus, Reply};
use tactus_sys::{Errno, clock, local_socket};

use super::{Attentive, Gone, Input, NamedInput, PortSpec, attend, prepare};
use crate::error::StartError;
use crate::server::Handle;

/// How often a listener without room is tried again that waits for the end of a note.
const RETRY: Nanos = Nanos::from_millis(5);

/// A thread that reads inputs and passes their messages on to listeners.
#[derive(Debug)]
pub struct Inputs {
    names: Vec<(String, String)>,
    figures: Arc<[Figures]>,
    changes: Sender<Change>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
    /// What the machine has not granted the thread.
    pub(crate) missing: Option<Shortfall>,
}

/// An input with its name, and what it is by the word of whoever starts the server.
#[derive(Debug)]
pub struct OfferedInput {
    /// The name by which clients listen to it.
    pub name: String,
    /// What it is.
    pub spec: String,
    /// The input.
    pub input: Input,
}

/// What came in.
#[derive(Debug, Default)]
struct Figures {
    messages: AtomicU64,
    problems: AtomicU64,
    listeners: AtomicU64,
    lost: AtomicU64,
    gone: AtomicU64,
}

/// A change of the listeners.
enum Change {
    Enter { input: usize, key: u64, kinds: Kinds, socket: UnixStream },
    Leave { key: u64 },
}

impl Inputs {
    /// Opens inputs, and starts the thread.
    ///
    /// # Errors
    /// An input cannot be opened, or has the name of another; or the thread does not start.
    pub fn open(named: &[NamedInput], policy: Scheduling) -> Result<Self, StartError> {
        let mut offered: Vec<OfferedInput> = Vec::new();
        for NamedInput { name, port } in named {
            if offered.iter().any(|other| other.name == *name) {
                return Err(StartError::InputNameTaken(name.clone()));
            }
            let failed = |error| StartError::Input { name: name.clone(), error };
            let input = Input::open(port).map_err(failed)?;
            let spec = match port {
                PortSpec::Pty(_) | PortSpec::Jack(_) => format!("{port} at {}", input.address()),
                PortSpec::Device(_) => port.to_string(),
            };
            offered.push(OfferedInput { name: name.clone(), spec, input });
        }
        Self::start(offered, policy).map_err(StartError::Thread)
    }

    /// Starts the thread with this policy, or the best permitted.
    ///
    /// # Errors
    /// The thread does not start.
    pub fn start(offered: Vec<OfferedInput>, policy: Scheduling) -> io::Result<Self> {
        let figures: Arc<[Figures]> = offered.iter().map(|_| Figures::default()).collect();
        let (changes, receiver) = channel();
        let (preparing, granted) = channel();
        let handle = Handle::new().map_err(|error| error.errno)?;
        let mut names = Vec::new();
        let mut inputs = Vec::new();
        for OfferedInput { name, spec, input } in offered {
            names.push((name, spec));
            inputs.push(input);
        }
        let hubs = inputs.iter().map(|_| Hub::default()).collect();
        let of_thread = (handle.clone(), Arc::clone(&figures));
        let body = move || {
            let (handle, figures) = of_thread;
            let _ = preparing.send(prepare(policy).ok().flatten());
            let mut hubs = Hubs { hubs, listeners: Vec::new(), changes: receiver, figures };
            // Without a poller there are no messages, which the figures show.
            let _ = attend(&mut inputs, &handle, None, &mut hubs);
            hubs.end();
        };
        let thread = thread::Builder::new().name("inputs".to_owned()).spawn(body)?;
        let missing = granted.recv().ok().flatten();
        Ok(Self { names, figures, changes, handle, thread: Some(thread), missing })
    }

    /// The place of an input.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|(other, _)| other == name)
    }

    /// The names of the inputs.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.names.iter().map(|(name, _)| &**name).collect()
    }

    /// Whether nothing more comes from an input.
    pub(crate) fn is_gone(&self, input: usize) -> bool {
        self.figures[input].gone.load(Ordering::Relaxed) > 0
    }

    /// Passes messages of an input on to a socket, whose connection has this key. A reply comes
    /// before them: the socket gets every message that comes in after it. The socket must not wait.
    pub(crate) fn enter(&self, input: usize, key: u64, kinds: Kinds, socket: UnixStream) {
        self.change(Change::Enter { input, key, kinds, socket });
    }

    /// The connection with this key has ended.
    pub(crate) fn leave(&self, key: u64) {
        self.change(Change::Leave { key });
    }

    fn change(&self, change: Change) {
        // It fails if the thread has ended: then nobody gets messages.
        let _ = self.changes.send(change);
        self.handle.wake();
    }

    /// The present state.
    pub fn status(&self) -> Vec<InputStatus> {
        let status = |((name, spec), figures): (&(String, String), &Figures)| {
            let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
            InputStatus {
                name: name.clone(),
                spec: spec.clone(),
                listeners: count(&figures.listeners),
                messages: count(&figures.messages),
                problems: count(&figures.problems),
                lost: count(&figures.lost),
                is_gone: count(&figures.gone) > 0,
            }
        };
        self.names.iter().zip(&*self.figures).map(status).collect()
    }
}

impl Drop for Inputs {
    fn drop(&mut self) {
        self.handle.end();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Hubs {
    hubs: Vec<Hub<Socket>>,
    /// The key of each listener, with its input.
    listeners: Vec<(u64, usize, ListenerId)>,
    changes: Receiver<Change>,
    figures: Arc<[Figures]>,
}

impl Hubs {
    fn change(&mut self, change: Change) {
        match change {
            Change::Enter { input, key, kinds, socket } => {
                // If it fails, so does the first message.
                let done = serde_json::to_vec(&Reply::Done).unwrap_or_default();
                let _ = local_socket::send(&socket, &done, &[]);
                let queue = Socket { socket, packet: Vec::new() };
                let listener = self.hubs[input].enter(kinds, queue);
                self.listeners.push((key, input, listener));
            }
            Change::Leave { key } => {
                for (_, input, listener) in
                    self.listeners.extract_if(.., |(other, ..)| *other == key)
                {
                    self.hubs[input].leave(listener);
                }
            }
        }
    }

    /// Ends what sounds for the listeners.
    fn end(&mut self) {
        let now = clock::now::<Monotonic>();
        self.hubs.iter_mut().for_each(|hub| hub.silence(now));
    }

    fn report(&self, input: usize) {
        let figures = &self.figures[input];
        figures.lost.store(self.hubs[input].lost(), Ordering::Relaxed);
        let listeners = self.hubs[input].listeners().count() as u64;
        figures.listeners.store(listeners, Ordering::Relaxed);
    }
}

impl Attentive for Hubs {
    fn parsed(&mut self, input: usize, parsed: Parsed) {
        let figures = &self.figures[input];
        match parsed {
            Parsed::Message { message, began, ended } => {
                figures.messages.fetch_add(1, Ordering::Relaxed);
                self.hubs[input].pass(&message, began, ended);
                self.report(input);
            }
            Parsed::Problem { problem, began } => {
                figures.problems.fetch_add(1, Ordering::Relaxed);
                // The end of a note may be among what is lost.
                if matches!(problem, Problem::Lost { .. }) {
                    self.hubs[input].silence(began);
                }
            }
        }
    }

    fn gone(&mut self, input: usize, _: Gone) {
        self.figures[input].gone.store(1, Ordering::Relaxed);
        self.hubs[input].silence(clock::now::<Monotonic>());
    }

    fn turn(&mut self, now: Moment) -> Option<Moment> {
        while let Ok(change) = self.changes.try_recv() {
            self.change(change);
        }
        self.hubs.iter_mut().for_each(|hub| hub.catch_up(now));
        (0..self.hubs.len()).for_each(|input| self.report(input));
        // Without inputs there are no messages, but listeners that leave.
        let is_behind = self.hubs.iter().any(Hub::is_behind);
        Some(if is_behind { now + RETRY } else { now + Nanos::from_secs(3600) })
    }
}

/// The queue of a listener: that of its socket, in the kernel.
struct Socket {
    socket: UnixStream,
    packet: Vec<u8>,
}

impl Queue for Socket {
    fn offer(&mut self, heard: &Heard) -> Offered {
        heard::write(heard, &mut self.packet);
        match local_socket::send(&self.socket, &self.packet, &[]) {
            Ok(_) => Offered::Taken,
            Err(error) if matches!(error.errno, Errno::AGAIN | Errno::INTR | Errno::NOBUFS) => {
                Offered::Full
            }
            Err(_) => Offered::Gone,
        }
    }
}
