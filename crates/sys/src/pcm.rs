//! Sound devices of the kernel:
//! [ALSA's PCM interface](https://docs.kernel.org/sound/kernel-api/alsa-driver-api.html), by the calls of
//! `<sound/asound.h>` and without a library.
//!
//! A program opens a device, narrows the [`Space`] of its parameters until each has a value,
//! configures it, and then moves frames. The device counts the frames that it has played since it was
//! prepared, and stamps that count.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{Getter, NoArg, Opcode, Updater, ioctl, opcode};
use tactus_model::time::{Instant, Monotonic};

use crate::error::{Errno, SysError};

/// How a sample is stored, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Whole numbers of 16 bits: `SNDRV_PCM_FORMAT_S16_LE`.
    S16,
    /// Whole numbers of 32 bits: `SNDRV_PCM_FORMAT_S32_LE`.
    S32,
    /// Floating point numbers of 32 bits: `SNDRV_PCM_FORMAT_FLOAT_LE`.
    F32,
}

impl Format {
    /// All formats, the best first.
    pub const ALL: [Self; 3] = [Self::S32, Self::F32, Self::S16];

    /// The bytes of a sample.
    pub const fn bytes(self) -> usize {
        match self {
            Self::S16 => 2,
            Self::S32 | Self::F32 => 4,
        }
    }

    const fn bit(self) -> u32 {
        match self {
            Self::S16 => 1 << 2,
            Self::S32 => 1 << 10,
            Self::F32 => 1 << 14,
        }
    }
}

/// A parameter with a range of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// Samples of a frame.
    Channels,
    /// Frames a second.
    Rate,
    /// Frames between two interrupts.
    Period,
    /// Frames of the buffer.
    Buffer,
}

impl Parameter {
    /// Its number after `SNDRV_PCM_HW_PARAM_FIRST_INTERVAL`.
    const fn index(self) -> usize {
        match self {
            Self::Channels => 2,
            Self::Rate => 3,
            Self::Period => 5,
            Self::Buffer => 9,
        }
    }
}

/// `struct snd_interval`; the flags are `openmin`, `openmax`, `integer`, `empty`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Interval {
    min: u32,
    max: u32,
    flags: u32,
}

const OPEN_MIN: u32 = 1;
const OPEN_MAX: u32 = 1 << 1;
const INTEGER: u32 = 1 << 2;

/// The words of `struct snd_mask`.
type Mask = [u32; 8];

/// The parameters that a device may have: `struct snd_pcm_hw_params`, with interleaved frames that
/// are moved by system calls.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct Space {
    flags: u32,
    /// Access, format, subformat, and five that are reserved.
    masks: [Mask; 8],
    /// Twelve parameters, and nine that are reserved.
    intervals: [Interval; 21],
    requested: u32,
    changed: u32,
    info: u32,
    significant_bits: u32,
    rate_numerator: u32,
    rate_denominator: u32,
    fifo_size: u64,
    reserved: [u8; 64],
}

const _: () = assert!(size_of::<Space>() == 608);

/// `SNDRV_PCM_ACCESS_RW_INTERLEAVED`
const READ_WRITE_INTERLEAVED: u32 = 3;
const ACCESS: usize = 0;
const FORMAT: usize = 1;

impl Default for Space {
    /// Everything.
    fn default() -> Self {
        let mut masks = [[u32::MAX; 8]; 8];
        masks[ACCESS] = [1 << READ_WRITE_INTERLEAVED, 0, 0, 0, 0, 0, 0, 0];
        Self {
            flags: 0,
            masks,
            intervals: [Interval { min: 0, max: u32::MAX, flags: 0 }; 21],
            requested: u32::MAX,
            changed: 0,
            info: u32::MAX,
            significant_bits: 0,
            rate_numerator: 0,
            rate_denominator: 0,
            fifo_size: 0,
            reserved: [0; 64],
        }
    }
}

impl Space {
    /// The least and the greatest value of a parameter.
    pub const fn range(&self, parameter: Parameter) -> (u32, u32) {
        let Interval { min, max, flags } = self.intervals[parameter.index()];
        let least = if flags & OPEN_MIN == 0 { min } else { min.saturating_add(1) };
        let greatest = if flags & OPEN_MAX == 0 { max } else { max.saturating_sub(1) };
        (least, greatest)
    }

    /// Leaves only values of a parameter from the first to the second, both included.
    pub fn limit(&mut self, parameter: Parameter, least: u32, greatest: u32) {
        let (min, max) = self.range(parameter);
        let interval = Interval { min: min.max(least), max: max.min(greatest), flags: INTEGER };
        self.intervals[parameter.index()] = interval;
        self.requested = u32::MAX;
    }

    /// Whether a format is possible.
    pub const fn has(&self, format: Format) -> bool {
        self.masks[FORMAT][0] & format.bit() != 0
    }

    /// Leaves only this format.
    pub fn limit_format(&mut self, format: Format) {
        let bit = self.masks[FORMAT][0] & format.bit();
        self.masks[FORMAT] = [bit, 0, 0, 0, 0, 0, 0, 0];
        self.requested = u32::MAX;
    }

    /// The format, once there is only one.
    fn format(&self) -> Option<Format> {
        Format::ALL.into_iter().find(|format| self.masks[FORMAT][0] == format.bit())
    }
}

/// `struct snd_pcm_sw_params`
#[repr(C)]
struct Behaviour {
    stamp_mode: i32,
    period_step: u32,
    sleep_min: u32,
    available_min: u64,
    transfer_align: u64,
    start_threshold: u64,
    stop_threshold: u64,
    silence_threshold: u64,
    silence_size: u64,
    boundary: u64,
    protocol: u32,
    stamp_type: u32,
    reserved: [u8; 56],
}

const _: () = assert!(size_of::<Behaviour>() == 136);

/// `SNDRV_PCM_TSTAMP_ENABLE`
const STAMPS: i32 = 1;
/// `SNDRV_PCM_TSTAMP_TYPE_MONOTONIC`
const MONOTONIC: u32 = 1;
/// The first version of the interface in which a program chooses the clock: 2.0.12.
const PROTOCOL: u32 = 2 << 16 | 12;
/// More frames than a device ever counts.
const NEVER: u64 = i64::MAX as u64;

/// `struct snd_pcm_status`
#[repr(C)]
struct RawStatus {
    state: i32,
    _padding: u32,
    _trigger: [i64; 2],
    stamp: [i64; 2],
    written: u64,
    played: u64,
    delay: i64,
    _available: u64,
    _available_max: u64,
    _overrange: u64,
    _suspended_state: i32,
    _audio_data: u32,
    _audio_stamp: [i64; 2],
    _driver_stamp: [i64; 2],
    _accuracy: u32,
    _reserved: [u8; 20],
}

const _: () = assert!(size_of::<RawStatus>() == 152);

/// `SNDRV_PCM_STATE_RUNNING` and `SNDRV_PCM_STATE_DISCONNECTED`
const RUNNING: i32 = 3;
const DISCONNECTED: i32 = 8;

/// `struct snd_xferi`
#[repr(C)]
struct Transfer {
    result: i64,
    buffer: *mut u8,
    frames: u64,
}

const GROUP: u8 = b'A';
const HW_REFINE: Opcode = opcode::read_write::<Space>(GROUP, 0x10);
const HW_PARAMS: Opcode = opcode::read_write::<Space>(GROUP, 0x11);
const SW_PARAMS: Opcode = opcode::read_write::<Behaviour>(GROUP, 0x13);
const STATUS: Opcode = opcode::read::<RawStatus>(GROUP, 0x20);
const PREPARE: Opcode = opcode::none(GROUP, 0x40);
const START: Opcode = opcode::none(GROUP, 0x42);
const FORWARD: Opcode = opcode::write::<u64>(GROUP, 0x49);
const WRITE: Opcode = opcode::write::<Transfer>(GROUP, 0x50);
const READ: Opcode = opcode::read::<Transfer>(GROUP, 0x51);

/// A device that is open and has no parameters yet.
#[derive(Debug)]
pub struct PcmDevice(OwnedFd);

impl PcmDevice {
    /// Opens a device, e.g. `/dev/snd/pcmC0D0p`, whose last letter is `p` for playing and `c` for
    /// capturing.
    ///
    /// # Errors
    /// `EBUSY`: another program plays there, often the sound server. Those of open(2).
    pub fn open(path: &Path) -> Result<Self, SysError> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::open(path, flags, Mode::empty()).map(Self).map_err(SysError::of("open"))
    }

    /// Leaves only what the device can do.
    ///
    /// # Errors
    /// `EINVAL`: nothing is left. `ENOTTY`: it is not a sound device.
    #[doc(alias = "SNDRV_PCM_IOCTL_HW_REFINE")]
    pub fn refine(&self, mut space: Space) -> Result<Space, SysError> {
        // SAFETY: the opcode's argument is this structure, and the kernel writes within it only.
        unsafe { update::<HW_REFINE, Space>(&self.0, &mut space) }?;
        Ok(space)
    }

    /// Takes the parameters of a space in which each has one value.
    ///
    /// # Errors
    /// `EINVAL`: a parameter has several values, or the device refuses them.
    #[doc(alias = "SNDRV_PCM_IOCTL_HW_PARAMS")]
    pub fn configure(self, mut space: Space) -> Result<Pcm, SysError> {
        // SAFETY: the opcode's argument is this structure, and the kernel writes within it only.
        unsafe { update::<HW_PARAMS, Space>(&self.0, &mut space) }?;
        let format = space.format().ok_or(SysError::new("ioctl", Errno::INVAL))?;
        let (channels, most) = space.range(Parameter::Channels);
        if channels == 0 || channels != most {
            return Err(SysError::new("ioctl", Errno::INVAL));
        }
        Ok(Pcm { device: self.0, frame: channels as usize * format.bytes() })
    }
}

/// What a device has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Whether it runs.
    pub is_running: bool,
    /// It was removed.
    pub is_gone: bool,
    /// Frames that it has taken from the buffer, or put there, since it was prepared.
    pub played: u64,
    /// When that was so.
    pub at: Instant<Monotonic>,
    /// Frames that the program has written, or read, since the device was prepared.
    pub written: u64,
    /// Frames that the device has taken and not yet made audible.
    pub delay: u32,
}

/// A device with parameters. It stops when this value is dropped.
#[derive(Debug)]
pub struct Pcm {
    device: OwnedFd,
    /// The bytes of a frame.
    frame: usize,
}

impl Pcm {
    /// Lets the device run when nobody writes: it then plays silence, and counts on. It can be
    /// written when `available` frames are free, and its stamps are of `CLOCK_MONOTONIC`.
    ///
    /// # Errors
    /// `EINVAL`: the kernel is older than 3.16.
    #[doc(alias = "SNDRV_PCM_IOCTL_SW_PARAMS")]
    pub fn run_free(&self, available: u32) -> Result<(), SysError> {
        let mut behaviour = Behaviour {
            stamp_mode: STAMPS,
            period_step: 1,
            sleep_min: 0,
            available_min: available.into(),
            transfer_align: 1,
            start_threshold: NEVER,
            stop_threshold: NEVER,
            silence_threshold: 0,
            // The kernel overwrites what was played.
            silence_size: NEVER,
            boundary: 0,
            protocol: PROTOCOL,
            stamp_type: MONOTONIC,
            reserved: [0; 56],
        };
        // SAFETY: the opcode's argument is this structure, and the kernel writes within it only.
        unsafe { update::<SW_PARAMS, Behaviour>(&self.device, &mut behaviour) }
    }

    /// Empties the buffer, and counts from 0.
    ///
    /// # Errors
    /// `ENODEV`: it was removed.
    #[doc(alias = "SNDRV_PCM_IOCTL_PREPARE")]
    pub fn prepare(&self) -> Result<(), SysError> {
        // SAFETY: the opcode has no argument.
        unsafe { ioctl(&self.device, NoArg::<PREPARE>::new()) }.map_err(SysError::of("ioctl"))
    }

    /// Starts it.
    ///
    /// # Errors
    /// `EPIPE`: it plays, and its buffer is empty.
    #[doc(alias = "SNDRV_PCM_IOCTL_START")]
    pub fn start(&self) -> Result<(), SysError> {
        // SAFETY: the opcode has no argument.
        unsafe { ioctl(&self.device, NoArg::<START>::new()) }.map_err(SysError::of("ioctl"))
    }

    /// Asks the device for its present count.
    ///
    /// # Errors
    /// `ENODEV`: it was removed.
    #[doc(alias = "SNDRV_PCM_IOCTL_STATUS")]
    pub fn status(&self) -> Result<Status, SysError> {
        // SAFETY: the kernel fills this structure, in which all bytes are valid.
        let call = unsafe { Getter::<STATUS, RawStatus>::new() };
        // SAFETY: as above.
        let raw = unsafe { ioctl(&self.device, call) }.map_err(SysError::of("ioctl"))?;
        let RawStatus { state, stamp: [seconds, nanos], written, played, delay, .. } = raw;
        // Playing, the delay includes what waits in the buffer.
        let waiting = written.wrapping_sub(played).cast_signed();
        let at = seconds.cast_unsigned() * 1_000_000_000 + nanos.cast_unsigned();
        Ok(Status {
            is_running: state == RUNNING,
            is_gone: state == DISCONNECTED,
            played,
            at: Instant::from_nanos(at),
            written,
            delay: u32::try_from((delay - waiting).max(0)).unwrap_or(0),
        })
    }

    /// Skips frames that were not written; returns how many.
    ///
    /// # Errors
    /// `EPIPE`, `ESTRPIPE`: the device has stopped.
    #[doc(alias = "SNDRV_PCM_IOCTL_FORWARD")]
    pub fn forward(&self, frames: u64) -> Result<u64, SysError> {
        let mut frames = frames;
        // SAFETY: the opcode's argument is this number, which the kernel replaces.
        unsafe { update::<FORWARD, u64>(&self.device, &mut frames) }?;
        Ok(frames)
    }

    /// Writes frames; returns how many. It never waits.
    ///
    /// # Errors
    /// `EAGAIN`: the buffer is full. `EPIPE`, `ESTRPIPE`: the device has stopped.
    #[doc(alias = "SNDRV_PCM_IOCTL_WRITEI_FRAMES")]
    pub fn write(&self, bytes: &[u8]) -> Result<usize, SysError> {
        let (buffer, frames) = (bytes.as_ptr().cast_mut(), bytes.len() / self.frame);
        // SAFETY: the kernel reads so many frames, which the slice has, and writes nothing there.
        unsafe { self.transfer::<WRITE>(buffer, frames) }
    }

    /// Reads frames; returns how many. It never waits.
    ///
    /// # Errors
    /// `EAGAIN`: there is none. `EPIPE`: frames were lost, because the buffer was full.
    #[doc(alias = "SNDRV_PCM_IOCTL_READI_FRAMES")]
    pub fn read(&self, bytes: &mut [u8]) -> Result<usize, SysError> {
        let (buffer, frames) = (bytes.as_mut_ptr(), bytes.len() / self.frame);
        // SAFETY: the kernel writes so many frames, for which the slice has room.
        unsafe { self.transfer::<READ>(buffer, frames) }
    }

    /// # Safety
    /// The buffer has so many frames, and may be used as the opcode does.
    unsafe fn transfer<const OPCODE: Opcode>(
        &self,
        buffer: *mut u8,
        frames: usize,
    ) -> Result<usize, SysError> {
        let mut transfer = Transfer { result: 0, buffer, frames: frames as u64 };
        // SAFETY: the argument of the opcodes that call this is this structure; the caller answers
        // for the buffer.
        unsafe { update::<OPCODE, Transfer>(&self.device, &mut transfer) }?;
        Ok(usize::try_from(transfer.result).unwrap_or(0))
    }

    /// Waits until frames can be moved; returns whether they can.
    ///
    /// # Errors
    /// See [poll(2)](https://man7.org/linux/man-pages/man2/poll.2.html).
    pub fn wait(&self, most: Duration) -> Result<bool, SysError> {
        let flags = PollFlags::IN | PollFlags::OUT;
        let mut awaited = [PollFd::from_borrowed_fd(self.device.as_fd(), flags)];
        let most =
            Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
        match poll(&mut awaited, Some(&most)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(SysError::new("poll", errno)),
        }
    }
}

/// # Safety
/// The opcode's argument is a `T`.
unsafe fn update<const OPCODE: Opcode, T>(device: &OwnedFd, value: &mut T) -> Result<(), SysError> {
    // SAFETY: the caller answers for the type.
    let call = unsafe { Updater::<OPCODE, T>::new(value) };
    // SAFETY: as above.
    unsafe { ioctl(device, call) }.map_err(SysError::of("ioctl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `<sound/asound.h>`, as strace prints them.
    #[test]
    fn the_calls_have_the_kernels_numbers() {
        assert_eq!([HW_REFINE, HW_PARAMS, SW_PARAMS], [0xc260_4110, 0xc260_4111, 0xc088_4113]);
        assert_eq!([STATUS, PREPARE, START], [0x8098_4120, 0x4140, 0x4142]);
        assert_eq!([FORWARD, WRITE, READ], [0x4008_4149, 0x4018_4150, 0x8018_4151]);
    }

    #[test]
    fn a_space_becomes_smaller() {
        let mut space = Space::default();
        space.limit(Parameter::Rate, 8000, 96_000);
        space.limit(Parameter::Rate, 44_100, u32::MAX);
        assert_eq!(space.range(Parameter::Rate), (44_100, 96_000));
        assert_eq!(space.range(Parameter::Channels), (0, u32::MAX));
        assert_eq!(space.format(), None);
        space.limit_format(Format::S32);
        assert!(space.has(Format::S32) && !space.has(Format::S16));
        assert_eq!(space.format(), Some(Format::S32));
        space.intervals[3].flags = OPEN_MIN | OPEN_MAX;
        assert_eq!(space.range(Parameter::Rate), (44_101, 95_999));
    }

    #[test]
    fn what_is_no_sound_device_is_refused() {
        let device = PcmDevice::open(Path::new("/dev/null")).unwrap();
        assert_eq!(device.refine(Space::default()).unwrap_err().errno, Errno::NOTTY);
        let missing = PcmDevice::open(Path::new("/dev/snd/pcmC99D0p"));
        assert_eq!(missing.unwrap_err().errno, Errno::NOENT);
    }
}
