//! What happens in a cycle.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::library::{Library, MidiEvent, RawClient, RawPort};
use crate::error::{Errno, SysError};

/// A port of a client.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) raw: NonNull<RawPort>,
    /// The number of its client.
    pub(super) client: u64,
    pub(super) name: String,
}

// SAFETY: only a cycle uses the pointer, after it has checked that the client is open.
unsafe impl Send for Port {}

/// Declares a kind of port.
macro_rules! port {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(pub(super) Port);

        impl $name {
            /// Its full name at the server: the client's, a colon, and the port's.
            pub fn name(&self) -> &str {
                &self.0.name
            }
        }
    };
}

port!(
    /// A port that plays samples.
    AudioOutput
);
port!(
    /// A port that records samples.
    AudioInput
);
port!(
    /// A port that sends MIDI messages.
    MidiOutput
);
port!(
    /// A port that receives MIDI messages.
    MidiInput
);

/// A cycle of the server, within [`Process::process`](super::Process::process).
pub struct Cycle<'a> {
    client: NonNull<RawClient>,
    calls: &'static Library,
    number: u64,
    frames: u32,
    xruns: u64,
    /// It is over when the callback returns.
    during: PhantomData<&'a ()>,
}

/// Where a cycle stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CycleTimes {
    /// The number of its first frame; after 2³² − 1 comes 0. It may step back.
    pub frame: u32,
    /// How long ago the cycle began, by the server's filtered clock; negative if it begins later.
    pub age_us: i64,
}

impl Cycle<'_> {
    pub(super) const fn new(
        client: NonNull<RawClient>,
        calls: &'static Library,
        number: u64,
        frames: u32,
        xruns: u64,
    ) -> Self {
        Self { client, calls, number, frames, xruns, during: PhantomData }
    }

    /// The number of its frames.
    pub const fn frames(&self) -> u32 {
        self.frames
    }

    /// The xruns before it.
    pub const fn xruns(&self) -> u64 {
        self.xruns
    }

    /// Where it stands; `None` if the server does not know.
    #[doc(alias = "jack_get_cycle_times")]
    pub fn times(&self) -> Option<CycleTimes> {
        let (mut frame, mut began, mut next, mut period) = (0, 0, 0, 0.0);
        // SAFETY: the client is open during a cycle; all pointers are to live values.
        let (returned, now) = unsafe {
            let returned = (self.calls.cycle_times)(
                self.client.as_ptr(),
                &raw mut frame,
                &raw mut began,
                &raw mut next,
                &raw mut period,
            );
            (returned, (self.calls.time)())
        };
        (returned == 0).then(|| CycleTimes { frame, age_us: now.wrapping_sub(began).cast_signed() })
    }

    /// The samples that a port plays in this cycle; none if the server has no buffer. They must
    /// all be written.
    pub fn audio_out<'p>(&'p self, port: &'p mut AudioOutput) -> &'p mut [f32] {
        let Some(buffer) = self.buffer(&port.0) else { return &mut [] };
        // SAFETY: the buffer of an audio port has a sample for each frame. Ports of one client
        // have buffers of their own, and this port is borrowed as long as the samples.
        unsafe { std::slice::from_raw_parts_mut(buffer.as_ptr().cast(), self.frames as usize) }
    }

    /// The samples that a port has recorded; none if the server has no buffer.
    pub fn audio_in<'p>(&'p self, port: &'p AudioInput) -> &'p [f32] {
        let Some(buffer) = self.buffer(&port.0) else { return &[] };
        // SAFETY: the buffer of an audio port has a sample for each frame, and nobody writes to an
        // input during the cycle.
        unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast(), self.frames as usize) }
    }

    /// Empties the messages that a port sends in this cycle, and takes new ones.
    pub fn midi_out<'p>(&'p self, port: &'p mut MidiOutput) -> MidiWriter<'p> {
        let buffer = self.buffer(&port.0);
        if let Some(buffer) = buffer {
            // SAFETY: the buffer belongs to an output for messages.
            unsafe { (self.calls.midi_clear)(buffer.as_ptr()) };
        }
        MidiWriter { calls: self.calls, buffer, port: PhantomData }
    }

    /// Passes on each message that has arrived at a port, with its frame in this cycle.
    pub fn midi_in(&self, port: &MidiInput, mut found: impl FnMut(u32, &[u8])) {
        let Some(buffer) = self.buffer(&port.0) else { return };
        // SAFETY: the buffer belongs to an input for messages.
        let count = unsafe { (self.calls.midi_count)(buffer.as_ptr()) };
        for index in 0..count {
            let mut event = MidiEvent { time: 0, size: 0, bytes: std::ptr::null() };
            // SAFETY: as above; the event is a live value.
            let returned = unsafe { (self.calls.midi_get)(&raw mut event, buffer.as_ptr(), index) };
            if returned != 0 || event.bytes.is_null() {
                continue;
            }
            // SAFETY: the bytes live until the cycle ends.
            let bytes = unsafe { std::slice::from_raw_parts(event.bytes, event.size) };
            found(event.time, bytes);
        }
    }

    fn buffer(&self, port: &Port) -> Option<NonNull<c_void>> {
        if port.client != self.number {
            return None;
        }
        // SAFETY: the port belongs to this client, which is open during a cycle.
        NonNull::new(unsafe { (self.calls.buffer)(port.raw.as_ptr(), self.frames) })
    }
}

/// Takes the messages of a cycle.
pub struct MidiWriter<'p> {
    calls: &'static Library,
    buffer: Option<NonNull<c_void>>,
    port: PhantomData<&'p mut MidiOutput>,
}

impl MidiWriter<'_> {
    /// Sends a whole message at a frame of the cycle, which must not be before that of the last
    /// message.
    ///
    /// # Errors
    /// `ENOBUFS`: the buffer of the cycle is full, or the frame is out of order.
    #[doc(alias = "jack_midi_event_write")]
    pub fn write(&mut self, frame: u32, message: &[u8]) -> Result<(), SysError> {
        const FULL: SysError = SysError::new("jack_midi_event_write", Errno::NOBUFS);
        let buffer = self.buffer.ok_or(FULL)?;
        // SAFETY: the buffer belongs to an output for messages, during the cycle.
        let returned = unsafe {
            (self.calls.midi_write)(buffer.as_ptr(), frame, message.as_ptr(), message.len())
        };
        if returned == 0 { Ok(()) } else { Err(FULL) }
    }
}
