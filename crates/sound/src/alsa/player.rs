//! The thread that writes to a device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rtrb::Producer;
use tactus_delivery::item::Moment;
use tactus_model::time::Monotonic;
use tactus_sys::SysError;
use tactus_sys::clock;
use tactus_sys::error::Errno;
use tactus_sys::pcm::{Pcm, PcmDevice, Status};

use crate::alsa::encode::encode;
use crate::alsa::name::{self, Hardware};
use crate::alsa::parameters::{Chosen, Wish, choose};
use crate::alsa::position::{Counted, Due, Place};
use crate::cycle::Placed;
use crate::error::SoundError;
use crate::output::Report;
use crate::track::Track;

/// The rate that is wanted: the usual one.
const RATE: u32 = 48_000;
/// How long a device may ask for nothing until it is believed to be gone: it should ask each 20 ms.
const PATIENCE: Duration = Duration::from_secs(1);

/// The wait before a device that has stopped is started again.
const PAUSE: Duration = Duration::from_millis(5);

/// A device that is open and does not play yet.
pub(crate) struct Player {
    pcm: Pcm,
    chosen: Chosen,
    channels: usize,
}

impl Player {
    /// Opens a device for so many channels.
    pub(crate) fn open(hardware: &Hardware, channels: u16) -> Result<Self, SoundError> {
        let failed = |error: SysError| match error.errno {
            Errno::NOENT | Errno::NXIO | Errno::NODEV => {
                SoundError::NoHardware { hardware: hardware.clone(), available: name::available() }
            }
            Errno::BUSY => SoundError::Busy(hardware.clone()),
            _ => SoundError::Hardware { hardware: hardware.clone(), error },
        };
        let device = PcmDevice::open(&hardware.file()).map_err(failed)?;
        let wish = Wish { channels, rate: RATE };
        let (space, chosen) = choose(wish, |space| device.refine(space).ok())
            .map_err(|reason| SoundError::Unsuitable { hardware: hardware.clone(), reason })?;
        let pcm = device.configure(space).map_err(failed)?;
        pcm.run_free(chosen.period).map_err(failed)?;
        Ok(Self { pcm, chosen, channels: channels.into() })
    }

    pub(crate) const fn rate(&self) -> u32 {
        self.chosen.rate
    }

    pub(crate) const fn period(&self) -> u32 {
        self.chosen.period
    }

    pub(crate) const fn buffer(&self) -> u32 {
        self.chosen.buffer
    }

    /// Starts the thread.
    pub(crate) fn start(
        self,
        track: Track,
        results: Producer<Report>,
    ) -> Result<Playback, SoundError> {
        let Self { pcm, chosen, channels } = self;
        // The device takes frames in pieces of up to a period.
        let place = Place::new(chosen.rate, chosen.buffer, chosen.period / 4);
        let frame = chosen.channels as usize * chosen.format.bytes();
        let bytes = vec![0; frame * chosen.buffer as usize];
        let mut writer = Writer { pcm, chosen, channels, place, track, results, bytes, number: 0 };
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        let run = move || {
            // The device is gone; its owner opens it again.
            let _ = writer.run(&shared.quit);
            shared.has_ended.store(true, Ordering::Release);
        };
        let thread = thread::Builder::new().name("alsa".to_owned()).spawn(run);
        Ok(Playback { state, thread: Some(thread.map_err(SoundError::Thread)?) })
    }
}

#[derive(Default)]
struct State {
    quit: AtomicBool,
    has_ended: AtomicBool,
}

/// A thread that writes to a device. It ends with this value.
pub(crate) struct Playback {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Playback {
    /// Whether the device is gone.
    pub(crate) fn has_ended(&self) -> bool {
        self.state.has_ended.load(Ordering::Acquire)
    }
}

impl Drop for Playback {
    fn drop(&mut self) {
        self.state.quit.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Writer {
    pcm: Pcm,
    chosen: Chosen,
    /// Samples of a frame of the track; further channels of the device are silent.
    channels: usize,
    place: Place,
    track: Track,
    results: Producer<Report>,
    /// The room for what is written at once: a whole buffer.
    bytes: Vec<u8>,
    number: u64,
}

impl Writer {
    fn run(&mut self, quit: &AtomicBool) -> Result<(), SysError> {
        self.restart(0)?;
        while !quit.load(Ordering::Acquire) {
            if !self.pcm.wait(PATIENCE)? && !quit.load(Ordering::Acquire) {
                return Err(SysError::new("poll", Errno::TIMEDOUT));
            }
            let status = self.pcm.status()?;
            let done = match status {
                Status { is_gone: true, .. } => return Err(SysError::new("ioctl", Errno::NODEV)),
                Status { is_running: true, .. } => self.follow(&status),
                _ => self.restart(status.written),
            };
            match done {
                // It has stopped meanwhile, which the next turn sees.
                Err(SysError { errno: Errno::PIPE | Errno::STRPIPE | Errno::BADFD, .. }) => {
                    thread::sleep(PAUSE);
                }
                done => done?,
            }
        }
        Ok(())
    }

    /// Writes what a device that runs asks for.
    fn follow(&mut self, status: &Status) -> Result<(), SysError> {
        let at = Moment::from_nanos(status.at.as_nanos());
        let Status { played, written, .. } = *status;
        let due = self.place.due(Counted { played, written }, at);
        if due.skipped > 0 {
            self.pcm.forward(due.skipped)?;
        }
        // What the device has taken and not yet made audible is not heard yet.
        let heard = played.saturating_sub(status.delay.into());
        self.write(due, heard, at, due.skipped > 0)
    }

    /// Starts a device that has stopped, or has not yet begun.
    fn restart(&mut self, written: u64) -> Result<(), SysError> {
        self.pcm.prepare()?;
        let at = Moment::from_nanos(clock::now::<Monotonic>().as_nanos());
        let due = self.place.restart(written, at);
        self.write(due, 0, at, self.number > 0)?;
        self.pcm.start()
    }

    /// Writes what is due, and reports it and how many frames were heard at this time.
    fn write(&mut self, due: Due, heard: u64, at: Moment, is_xrun: bool) -> Result<(), SysError> {
        let Self { chosen, channels, track, bytes, .. } = self;
        let sample = chosen.format.bytes();
        let frame = chosen.channels as usize * sample;
        let most = (bytes.len() / frame) as u64;
        let frames = due.frames.min(most) as u32;
        let bytes = &mut bytes[..frames as usize * frame];
        bytes.fill(0);
        let played = track.play(due.position, frames, |at, first, second| {
            let mut samples = first.iter().chain(second);
            for place in bytes[at * frame..].chunks_exact_mut(frame) {
                for place in place.chunks_exact_mut(sample).take(*channels) {
                    let Some(sample) = samples.next() else { return };
                    encode(*sample, chosen.format, place);
                }
            }
        });
        if frames > 0 {
            // The rest of a short write is asked for again, and is silence then.
            self.pcm.write(bytes)?;
        }
        let placed = Placed {
            position: self.place.asked(heard),
            frames,
            began: at,
            skipped: due.skipped.cast_signed(),
            xruns: u64::from(is_xrun),
        };
        // Without room, the ordinary thread sees the gap between numbers.
        let _ = self.results.push(Report { number: self.number, placed, played });
        self.number += 1;
        Ok(())
    }
}
