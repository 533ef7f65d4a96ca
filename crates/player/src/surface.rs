//! Where the frames of a clip are shown.

pub mod keymap;
mod keys;
mod line;
mod server;
mod wayland;

use std::path::PathBuf;
use std::time::Duration;

use tactus_clip::PictureSpec;
use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Evidence;
use tactus_model::pixels::PixelFormat;
use tactus_model::time::Nanos;
use tactus_playback::{IfLate, MediaTime};
use tactus_sys::SysError;
use tactus_xserver::patient::{ANSWER_MOST, HangUp};
use tactus_xserver::window::{self, Display, Transport, Window, fit};

use crate::command::Command;
use crate::error::PlayerError;
use crate::event::{Way, WindowInfo};
use keys::Keys;
pub(crate) use line::Line;
use server::Device;

/// Where a clip is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// In a window of an X11 display.
    X11 {
        /// Its name; `None` for that of DISPLAY.
        display: Option<String>,
        /// The way of frames; `None` for the best.
        transport: Option<Transport>,
    },
    /// In a window of a Wayland compositor.
    Wayland {
        /// The name of its socket; `None` for that of WAYLAND_DISPLAY.
        display: Option<String>,
    },
    /// By a device of the delivery server.
    Server {
        /// Where the server listens.
        socket: PathBuf,
        /// The name of the device; `None` for the only one that takes frames.
        device: Option<String>,
    },
}

/// When a frame was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    /// When handing it over began.
    pub(crate) began: Moment,
    /// When it was on the display.
    pub(crate) at: Moment,
    pub(crate) evidence: Evidence,
    /// The display's count of refreshes, if `at` is its own stamp.
    pub(crate) msc: Option<u64>,
}

/// What became of a frame that was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handover {
    Now(FrameEnd),
    /// [`Surface::answers`] returns this number later.
    Later(u64),
}

/// What became of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FrameEnd {
    Seen(Sighting),
    /// It was not seen.
    Dropped,
    /// The server has returned it before its time.
    Cut,
}

/// The pixels of a frame.
pub(crate) enum Buffer {
    Window(window::Buffer),
    Wayland(wayland::Buffer),
    Server(tactus_stream::Frame),
}

impl Buffer {
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Window(buffer) => buffer.bytes_mut(),
            Self::Wayland(buffer) => buffer.bytes_mut(),
            Self::Server(frame) => frame.bytes_mut(),
        }
    }
}

/// Where frames are shown, as the thread that shows them has it. [`Input`] is the other side.
pub(crate) enum Surface {
    Window(Box<Window>),
    Wayland(Box<wayland::Screen>),
    Server(Box<Device>),
}

/// The side of a window on X11 that people use; [`Surface::happened`] is that of others.
pub(crate) struct Input(Keys);

/// What has happened to a window.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happened {
    /// A key asks for this.
    Command(Command),
    /// A part of it must be drawn again.
    Exposed,
    /// It is gone: its user has closed it.
    Closed,
    /// The server is gone.
    Lost,
}

impl Input {
    /// Waits for the next thing that happens.
    pub(crate) fn next(&self) -> Happened {
        self.0.next()
    }
}

impl Surface {
    /// Opens a surface for pictures of this size: a smaller one with the same aspect if the screen is
    /// smaller. That of a server has its own size, and no keys.
    pub(crate) fn open(
        output: &Output,
        title: &str,
        size: (u32, u32),
    ) -> Result<(Self, Option<Input>, Line), PlayerError> {
        match output {
            Output::Server { socket, device } => {
                let device = Device::open(socket, device.as_deref())?;
                // Its answers have limits of their own.
                Ok((Self::Server(Box::new(device)), None, Line::default()))
            }
            Output::Wayland { display } => {
                let (screen, line) = wayland::Screen::open(display.as_deref(), title, size)?;
                Ok((Self::Wayland(Box::new(screen)), None, line))
            }
            Output::X11 { display, transport } => {
                let connect = || Display::connect(display.as_deref());
                let (display, theirs) = (connect()?, connect()?);
                let screen = display.screen();
                let bounds = (screen.width_in_pixels, screen.height_in_pixels);
                let size = fit(size, bounds, display.format()?);
                let keys = Keys::open(theirs, title, size)?;
                let hang_ups = [HangUp::of(&display.connection), keys.hang_up()];
                let [drawing, typing] = hang_ups.map(|made| made.map_err(SysError::of_io("dup")));
                let line = Line::of_displays(vec![drawing?, typing?]);
                let window = Window::new(display, keys.window(), size, *transport, ANSWER_MOST)?;
                Ok((Self::Window(Box::new(window)), Some(Input(keys)), line))
            }
        }
    }

    /// What its frames must be.
    pub(crate) fn frames(&self, from: MediaTime) -> PictureSpec {
        let ((width, height), format) = match self {
            Self::Window(window) => (window.size(), window.format()),
            Self::Wayland(screen) => (screen.size(), PixelFormat::Bgr0),
            Self::Server(device) => device.frames(),
        };
        PictureSpec { from, width: width.into(), height: height.into(), format }
    }

    /// What it is.
    pub(crate) fn info(&self, clip: usize) -> WindowInfo {
        let (display, way, why) = match self {
            Self::Window(window) => {
                let (transport, why) = window.transport();
                (window.display().to_owned(), transport.into(), why.map(str::to_owned))
            }
            Self::Wayland(screen) => (screen.name().to_owned(), Way::Wayland, None),
            Self::Server(device) => (device.name().to_owned(), Way::Server, None),
        };
        let PictureSpec { width, height, format, .. } = self.frames(MediaTime::ZERO);
        // Both are those of a screen, which has at most 65535.
        let (width, height) = (width as u16, height as u16);
        WindowInfo { clip, display, width, height, depth: format.depth(), transport: way, why }
    }

    /// Memory for a frame.
    pub(crate) fn buffer(&mut self) -> Result<Buffer, PlayerError> {
        match self {
            Self::Window(window) => Ok(Buffer::Window(window.buffer()?)),
            Self::Wayland(screen) => screen.buffer().map(Buffer::Wayland),
            Self::Server(device) => device.buffer().map(Buffer::Server),
        }
    }

    /// How many frames of so many bytes are decoded ahead.
    pub(crate) fn buffers(&self) -> usize {
        let most = match self {
            Self::Window(_) | Self::Wayland(_) => BUFFERS_MOST,
            Self::Server(_) => server::BUFFERS_MOST,
        };
        let bytes = self.frames(MediaTime::ZERO).frame_bytes().max(1);
        (BUFFER_BYTES / bytes).clamp(BUFFERS_LEAST, most)
    }

    /// How long before their times frames are handed over; `None` to do so just in time.
    pub(crate) fn ahead(&self) -> Option<Nanos> {
        match self {
            Self::Window(_) | Self::Wayland(_) => None,
            Self::Server(device) => Some(device.ahead()),
        }
    }

    /// Hands a frame over. A window shows it at once, a server when it is due; what that drops, if it
    /// drops late frames, is later by `period`.
    pub(crate) fn show(
        &mut self,
        frame: &Buffer,
        due: Moment,
        if_late: IfLate,
        period: Nanos,
    ) -> Result<Handover, PlayerError> {
        match (self, frame) {
            (Self::Window(window), Buffer::Window(buffer)) => {
                Ok(Handover::Now(FrameEnd::Seen(window.show(buffer)?.into())))
            }
            (Self::Wayland(screen), Buffer::Wayland(buffer)) => {
                screen.show(buffer).map(Handover::Now)
            }
            (Self::Server(device), Buffer::Server(frame)) => {
                device.submit(frame, due, if_late, period).map(Handover::Later)
            }
            _ => unreachable!("each surface has its own buffers"),
        }
    }

    /// What became of frames that a server has.
    pub(crate) fn answers(&mut self) -> Result<Vec<(u64, FrameEnd)>, PlayerError> {
        match self {
            Self::Window(_) | Self::Wayland(_) => Ok(Vec::new()),
            Self::Server(device) => device.answers(),
        }
    }

    /// What has happened to a window that has no [`Input`].
    pub(crate) fn happened(&mut self) -> Result<Vec<Happened>, PlayerError> {
        match self {
            Self::Window(_) | Self::Server(_) => Ok(Vec::new()),
            Self::Wayland(screen) => screen.happened(),
        }
    }

    /// How often what has happened, and what became of frames if a server has some, must be looked
    /// at; `None` for never.
    pub(crate) fn look(&self, has_sent: bool) -> Option<Duration> {
        match self {
            Self::Wayland(_) => Some(LOOK_WINDOW),
            Self::Server(_) if has_sent => Some(LOOK_SERVER),
            // It may have ended.
            Self::Server(_) => Some(LOOK_IDLE),
            Self::Window(_) => None,
        }
    }

    /// Calls frames that are not seen yet back; [`answers`](Self::answers) returns each.
    pub(crate) fn cut(&mut self) -> Result<(), PlayerError> {
        match self {
            Self::Window(_) | Self::Wayland(_) => Ok(()),
            Self::Server(device) => device.cut(),
        }
    }
}

const LOOK_WINDOW: Duration = Duration::from_millis(40);
const LOOK_SERVER: Duration = Duration::from_millis(5);
const LOOK_IDLE: Duration = Duration::from_millis(500);
/// Frames that are decoded ahead: at least and at most, and the memory for more than the least.
const BUFFERS_LEAST: usize = 8;
const BUFFERS_MOST: usize = 32;
const BUFFER_BYTES: usize = 64 << 20;

impl From<window::Seen> for Sighting {
    fn from(seen: window::Seen) -> Self {
        let window::Seen { began, at, stamp } = seen;
        let evidence = if stamp.is_some() { Evidence::DeviceClock } else { Evidence::Call };
        Self { began, at, evidence, msc: stamp.map(|stamp| stamp.msc) }
    }
}
