//! Clients.

use std::ffi::{CStr, c_int, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

use super::cycle::{AudioInput, AudioOutput, Cycle, MidiInput, MidiOutput, Port};
use super::library::{
    IS_INPUT, IS_OUTPUT, IS_PHYSICAL, LatencyRange, Library, NO_START_SERVER, RawClient, libraries,
    text,
};
use crate::error::{Errno, SysError};

/// Why a client cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The library is missing.
    #[error(
        "cannot load the library of JACK ({reason}); fix: install pipewire-jack or libjack-jackd2-0"
    )]
    NoLibrary {
        /// What the loader says.
        reason: String,
    },
    /// No server answers.
    #[error(
        "no sound server answers: neither PipeWire nor JACK runs for this user; fix: start one, and with PipeWire install pipewire-jack"
    )]
    NoServer,
    /// The server refuses something.
    #[error("{0}")]
    Refused(#[from] SysError),
}

/// A client that is not active yet.
#[derive(Debug)]
pub struct Client {
    raw: NonNull<RawClient>,
    calls: &'static Library,
    /// No other client of this process had the number.
    number: u64,
}

// SAFETY: the functions of the library may be called from any thread.
unsafe impl Send for Client {}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Library")
    }
}

impl Client {
    /// Opens a client at the server of this user, which is not started. The server may add to the
    /// name. This waits for the server.
    ///
    /// # Errors
    /// See [`OpenError`].
    #[doc(alias = "jack_client_open")]
    pub fn open(name: &str) -> Result<Self, OpenError> {
        static OPENED: AtomicU64 = AtomicU64::new(0);
        let libraries =
            libraries().map_err(|reason| OpenError::NoLibrary { reason: reason.to_owned() })?;
        let name = text(name);
        for calls in libraries {
            let mut status = 0;
            // SAFETY: the name ends with a zero; these options take no further arguments.
            let raw = unsafe { (calls.open)(name.as_ptr(), NO_START_SERVER, &raw mut status) };
            if let Some(raw) = NonNull::new(raw) {
                let number = OPENED.fetch_add(1, Ordering::Relaxed);
                return Ok(Self { raw, calls, number });
            }
        }
        Err(OpenError::NoServer)
    }

    /// Its name at the server.
    pub fn name(&self) -> String {
        // SAFETY: the client is open; the text lives as long as it.
        let name = unsafe { (self.calls.name)(self.raw.as_ptr()) };
        if name.is_null() {
            return String::new();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// Frames a second.
    pub fn sample_rate(&self) -> u32 {
        // SAFETY: the client is open.
        unsafe { (self.calls.sample_rate)(self.raw.as_ptr()) }
    }

    /// Frames of a cycle. The server may change them later.
    pub fn buffer_size(&self) -> u32 {
        // SAFETY: the client is open.
        unsafe { (self.calls.buffer_size)(self.raw.as_ptr()) }
    }

    /// A port that plays.
    ///
    /// # Errors
    /// `EEXIST`: the server refuses the port, e.g. because its name is in use.
    pub fn audio_output(&self, name: &str) -> Result<AudioOutput, SysError> {
        self.register(name, AUDIO, IS_OUTPUT).map(AudioOutput)
    }

    /// A port that records.
    ///
    /// # Errors
    /// As above.
    pub fn audio_input(&self, name: &str) -> Result<AudioInput, SysError> {
        self.register(name, AUDIO, IS_INPUT).map(AudioInput)
    }

    /// A port that sends messages.
    ///
    /// # Errors
    /// As above.
    pub fn midi_output(&self, name: &str) -> Result<MidiOutput, SysError> {
        self.register(name, MIDI, IS_OUTPUT).map(MidiOutput)
    }

    /// A port that receives messages.
    ///
    /// # Errors
    /// As above.
    pub fn midi_input(&self, name: &str) -> Result<MidiInput, SysError> {
        self.register(name, MIDI, IS_INPUT).map(MidiInput)
    }

    #[doc(alias = "jack_port_register")]
    fn register(&self, name: &str, kind: &CStr, flags: c_ulong) -> Result<Port, SysError> {
        // SAFETY: the client is open, the texts end with zeros; the size is for other kinds.
        let port = unsafe {
            (self.calls.register)(self.raw.as_ptr(), text(name).as_ptr(), kind.as_ptr(), flags, 0)
        };
        let raw = NonNull::new(port).ok_or(SysError::new("jack_port_register", Errno::EXIST))?;
        // SAFETY: the port was just registered; the text lives as long as it.
        let name = unsafe { CStr::from_ptr((self.calls.port_name)(raw.as_ptr())) };
        Ok(Port { raw, client: self.number, name: name.to_string_lossy().into_owned() })
    }

    /// Calls `process` in each cycle, from a thread of the library that has a real-time policy if
    /// the server grants one.
    ///
    /// # Errors
    /// `EIO`: the server refuses.
    #[doc(alias = "jack_activate")]
    pub fn activate<P: Process>(self, process: P) -> Result<Active<P>, SysError> {
        let context = Box::into_raw(Box::new(Context {
            process,
            client: self.raw,
            number: self.number,
            calls: self.calls,
            xruns: AtomicU64::new(0),
            is_shut_down: AtomicBool::new(false),
        }));
        let (calls, raw) = (self.calls, self.raw.as_ptr());
        let argument: *mut c_void = context.cast();
        let joined = Joined { client: ManuallyDrop::new(self), context };
        let active = Active(ManuallyDrop::new(joined));
        // SAFETY: the client is open, and the context lives until it is closed.
        let returned = unsafe {
            (calls.on_shutdown)(raw, shutdown::<P>, argument);
            [
                (calls.on_process)(raw, process_cycle::<P>, argument),
                (calls.on_xrun)(raw, xrun::<P>, argument),
                (calls.activate)(raw),
            ]
        };
        let is_active = returned.iter().all(|returned| *returned == 0);
        if is_active { Ok(active) } else { Err(SysError::new("jack_activate", Errno::IO)) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: the client is open, and nothing uses it afterwards. A failure means that the
        // server is gone.
        unsafe { (self.calls.close)(self.raw.as_ptr()) };
    }
}

const AUDIO: &CStr = c"32 bit float mono audio";
const MIDI: &CStr = c"8 bit raw midi";

/// Where sound goes: `jack_latency_callback_mode_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Direction {
    /// From a device to a port.
    Capture = 0,
    /// From a port to a device.
    Playback = 1,
}

/// What happens in each cycle.
pub trait Process: Send + 'static {
    /// Reads the inputs and fills the outputs of a cycle. It must not allocate, wait or panic: a
    /// panic ends the process.
    fn process(&mut self, cycle: &Cycle<'_>);
}

/// What the library's threads use.
struct Context<P> {
    /// Used only by the thread that calls `process_cycle`, or after the client is closed.
    process: P,
    client: NonNull<RawClient>,
    number: u64,
    calls: &'static Library,
    xruns: AtomicU64,
    is_shut_down: AtomicBool,
}

/// A client that takes part in each cycle. Dropping it closes it, and waits 5 s for that:
/// a server that does not answer then has a client more, until this process ends.
pub struct Active<P: Process>(ManuallyDrop<Joined<P>>);

/// How long closing a client may take: the library waits for its server without a limit.
const CLOSE_MOST: Duration = Duration::from_secs(5);

impl<P: Process> Drop for Active<P> {
    fn drop(&mut self) {
        // SAFETY: nothing uses it afterwards.
        let joined = unsafe { ManuallyDrop::take(&mut self.0) };
        let (closing, closed) = channel::<()>();
        let close = move || {
            drop(joined);
            drop(closing);
        };
        // Without a thread, it is closed here.
        if Builder::new().name("closing".to_owned()).spawn(close).is_ok() {
            let _ = closed.recv_timeout(CLOSE_MOST);
        }
    }
}

/// The client and what its callbacks use.
struct Joined<P: Process> {
    client: ManuallyDrop<Client>,
    context: *mut Context<P>,
}

// SAFETY: `process` is Send and is used by one thread at a time; all else may be shared.
unsafe impl<P: Process> Send for Joined<P> {}

impl<P: Process> Active<P> {
    /// The client.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Whether the server has ended, or has removed the client.
    pub fn is_shut_down(&self) -> bool {
        self.shared().1.load(Ordering::Relaxed)
    }

    /// The xruns so far: cycles that were not ready in time, of any client.
    pub fn xruns(&self) -> u64 {
        self.shared().0.load(Ordering::Relaxed)
    }

    /// What threads share.
    fn shared(&self) -> (&AtomicU64, &AtomicBool) {
        let context = self.0.context;
        // SAFETY: the context lives as long as this value; no reference to `process` is made.
        unsafe { (&(*context).xruns, &(*context).is_shut_down) }
    }

    /// The inputs of other clients whose full names begin with `prefix`, in the order of the
    /// server, to which these outputs could be connected.
    #[doc(alias = "jack_get_ports")]
    pub fn audio_inputs(&self, prefix: &str) -> Vec<String> {
        self.ports(prefix, AUDIO, IS_INPUT)
    }

    /// The outputs of other clients whose full names begin with `prefix`.
    pub fn audio_outputs(&self, prefix: &str) -> Vec<String> {
        self.ports(prefix, AUDIO, IS_OUTPUT)
    }

    /// The inputs of devices, such as speakers, in the order of the server: those of the device
    /// that it prefers come first.
    #[doc(alias = "JackPortIsPhysical")]
    pub fn device_inputs(&self) -> Vec<String> {
        self.ports("", AUDIO, IS_INPUT | IS_PHYSICAL)
    }

    /// The outputs of devices, such as microphones, in the order of the server.
    pub fn device_outputs(&self) -> Vec<String> {
        self.ports("", AUDIO, IS_OUTPUT | IS_PHYSICAL)
    }

    /// The longest latency between a port, by its full name, and the devices that it is connected
    /// with, in frames; `None` if there is no such port. The server reports what devices say.
    #[doc(alias = "jack_port_get_latency_range")]
    pub fn latency(&self, port: &str, direction: Direction) -> Option<u32> {
        let Client { raw, calls, .. } = *self.0.client;
        // SAFETY: the client is open; the text ends with a zero.
        let port = unsafe { (calls.port_by_name)(raw.as_ptr(), text(port).as_ptr()) };
        let port = NonNull::new(port)?;
        let mut range = LatencyRange { min: 0, max: 0 };
        // SAFETY: the port was just found, and ports live as long as the client; the range is a
        // live value.
        unsafe { (calls.latency)(port.as_ptr(), direction as c_int, &raw mut range) };
        Some(range.max.max(range.min))
    }

    /// The inputs for messages whose full names begin with `prefix`.
    pub fn midi_inputs(&self, prefix: &str) -> Vec<String> {
        self.ports(prefix, MIDI, IS_INPUT)
    }

    /// The outputs for messages whose full names begin with `prefix`.
    pub fn midi_outputs(&self, prefix: &str) -> Vec<String> {
        self.ports(prefix, MIDI, IS_OUTPUT)
    }

    fn ports(&self, prefix: &str, kind: &CStr, flags: c_ulong) -> Vec<String> {
        let Client { raw, calls, .. } = *self.0.client;
        // SAFETY: the client is open; without a pattern for names, all ports are returned.
        let ports = unsafe { (calls.ports)(raw.as_ptr(), std::ptr::null(), kind.as_ptr(), flags) };
        let mut names = Vec::new();
        if ports.is_null() {
            return names;
        }
        // SAFETY: the array ends with a null pointer.
        let entries = (0..).map(|index| unsafe { *ports.add(index) });
        for entry in entries.take_while(|entry| !entry.is_null()) {
            // SAFETY: each entry is a text that lives as long as the array.
            let name = unsafe { CStr::from_ptr(entry) }.to_string_lossy().into_owned();
            if name.starts_with(prefix) {
                names.push(name);
            }
        }
        // SAFETY: the library allocated the array, and nothing refers to it any more.
        unsafe { (calls.free)(ports.cast()) };
        names
    }

    /// Connects an output to an input, by their full names.
    ///
    /// # Errors
    /// `ENOENT`: there are no such ports, or they do not match. `EEXIST`: they are connected.
    #[doc(alias = "jack_connect")]
    pub fn connect(&self, output: &str, input: &str) -> Result<(), SysError> {
        let Client { raw, calls, .. } = *self.0.client;
        // SAFETY: the client is open; both texts end with zeros.
        let returned =
            unsafe { (calls.connect)(raw.as_ptr(), text(output).as_ptr(), text(input).as_ptr()) };
        match returned {
            0 => Ok(()),
            libc::EEXIST => Err(SysError::new("jack_connect", Errno::EXIST)),
            _ => Err(SysError::new("jack_connect", Errno::NOENT)),
        }
    }
}

impl<P: Process> Drop for Joined<P> {
    fn drop(&mut self) {
        let Client { raw, calls, .. } = *self.client;
        // SAFETY: the client is open, and closed only here. No callback runs when it is closed.
        unsafe {
            (calls.deactivate)(raw.as_ptr());
            ManuallyDrop::drop(&mut self.client);
        }
        // SAFETY: the context came from a box, and the callbacks, its other users, have ended.
        drop(unsafe { Box::from_raw(self.context) });
    }
}

unsafe extern "C" fn process_cycle<P: Process>(frames: u32, context: *mut c_void) -> c_int {
    let context: *mut Context<P> = context.cast();
    // SAFETY: the context lives until the client is closed, and one thread at a time calls this:
    // nothing else uses `process` meanwhile, and the rest is never changed.
    unsafe {
        let xruns = (*context).xruns.load(Ordering::Relaxed);
        let (client, calls, number) = ((*context).client, (*context).calls, (*context).number);
        let cycle = Cycle::new(client, calls, number, frames, xruns);
        (*context).process.process(&cycle);
    }
    0
}

unsafe extern "C" fn xrun<P>(context: *mut c_void) -> c_int {
    let context: *mut Context<P> = context.cast();
    // SAFETY: the context lives until the client is closed; only the counter is used.
    unsafe { (*context).xruns.fetch_add(1, Ordering::Relaxed) };
    0
}

unsafe extern "C" fn shutdown<P>(context: *mut c_void) {
    let context: *mut Context<P> = context.cast();
    // SAFETY: the context lives until the client is closed; only the flag is used.
    unsafe { (*context).is_shut_down.store(true, Ordering::Relaxed) };
}
