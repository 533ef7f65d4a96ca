//! Drawing images on a display, until the X server has drawn them: what a frame costs.
//!
//! A sample is one image: the request, and a round trip that the server answers once it has drawn.
//! The display is that of DISPLAY. Without one, an Xvfb draws into its memory.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;

use tactus_model::cost::{CostProbe, Image, Operation};
use tactus_model::result::Shortfall;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::{Errno, SysError};
use tactus_xserver::drawing::{self, Target};
use tactus_xserver::patient::{self, ANSWER_MOST, PatientConnection};
use tactus_xserver::{NoServer, Screen, Server, window};
use x11rb::connection::{Connection, RequestConnection};
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::shm;
use x11rb::protocol::xproto::{self, CreateGCAux, CreateWindowAux, Rectangle};

use super::{Repeatable, Unmeasurable};

/// Why no image can be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoDisplay {
    /// There is no X server.
    #[error("there is no display: DISPLAY is not set, and Xvfb is not installed")]
    NoServer,
    /// Ours does not work.
    #[error("Xvfb does not start: {0}")]
    Start(String),
    /// It worked, and does not any more.
    #[error("the X server (Xvfb, or that of DISPLAY) has ended or closed the connection")]
    Ended,
    /// The X server refuses us.
    #[error("the display {display} cannot be used: {reason}")]
    Refused {
        /// Its name.
        display: String,
        /// The reason.
        reason: String,
    },
    /// It has other pixels.
    #[error("windows of the display have {has} bytes per pixel, and the image {image} has others")]
    Pixels {
        /// What the display has.
        has: u8,
        /// The image.
        image: Image,
    },
    /// It is too small: what lies outside is not drawn.
    #[error("the display has {width}x{height} pixels, too few for the image {image}")]
    Small {
        /// The width of the display.
        width: u16,
        /// Its height.
        height: u16,
        /// The image.
        image: Image,
    },
    /// It shares no memory.
    #[error("the X server shares no memory with this process (MIT-SHM 1.2): {0}")]
    NoSharedMemory(String),
}

impl NoDisplay {
    /// What the user can do about it.
    pub(crate) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoServer => Some("apt-get install xvfb, or set DISPLAY"),
            Self::Start(_) | Self::Ended => None,
            Self::Refused { .. } => {
                Some("set XAUTHORITY to its authority file, or unset DISPLAY to use an Xvfb")
            }
            Self::Pixels { .. } => {
                Some("use an image with that many, or unset DISPLAY to use an Xvfb")
            }
            Self::Small { .. } => Some("use a smaller image, or unset DISPLAY to use an Xvfb"),
            Self::NoSharedMemory(_) => Some("use operation = \"display-socket\""),
        }
    }
}

/// A connection to an X server.
pub(super) struct Display {
    /// Dropped first: our server ends when its last client leaves.
    connection: PatientConnection,
    screen: usize,
    name: String,
    server: Option<Server>,
}

impl Display {
    /// Connects to the display of DISPLAY, or starts an Xvfb for the image of `cost`.
    pub(super) fn connect(cost: &CostProbe) -> Result<Self, NoDisplay> {
        match std::env::var("DISPLAY") {
            Ok(name) if !name.is_empty() => {
                let (connection, screen) =
                    patient::connect(None, ANSWER_MOST).map_err(|error| refused(&name, &error))?;
                Ok(Self { connection, screen, name, server: None })
            }
            _ => {
                let server = Server::start(screen_for(cost.image))?;
                let connection = server.connect()?;
                let name = server.display();
                Ok(Self { connection, screen: 0, name, server: Some(server) })
            }
        }
    }

    /// That nobody can see the display.
    pub(super) fn shortfall(&self) -> Option<Shortfall> {
        self.server.as_ref().map(|_| Shortfall {
            asked: "a display".to_owned(),
            granted: "a display in memory (Xvfb)".to_owned(),
            reason: "DISPLAY is not set".to_owned(),
            fix: Some("set DISPLAY to measure a display that people see".to_owned()),
        })
    }

    /// Sets up drawing.
    pub(super) fn open(self, cost: &CostProbe) -> Result<Box<dyn Repeatable>, Unmeasurable> {
        let window = Window::open(&self, cost.image)?;
        let pixels = match cost.operation {
            Operation::DisplayShared => Pixels::shared(&self.connection, window.bytes)?,
            _ => Pixels::Socket(vec![PATTERN; window.bytes]),
        };
        Ok(Box::new(Drawing { window, pixels, display: self }))
    }
}

impl From<NoServer> for NoDisplay {
    fn from(error: NoServer) -> Self {
        match error {
            NoServer::NotInstalled => Self::NoServer,
            NoServer::Start(reason) => Self::Start(reason),
            NoServer::Refused { display, reason } => Self::Refused { display, reason },
            NoServer::Silent { display, patience } => {
                let reason = format!("its server did not answer for {} s", patience.as_secs());
                Self::Refused { display, reason }
            }
        }
    }
}

/// A screen with room for an image, with pixels of its size.
fn screen_for(image: Image) -> Screen {
    Screen {
        width: image.width().max(640),
        height: image.height().max(480),
        bytes_per_pixel: image.bytes_per_pixel(),
    }
}

fn refused(display: &str, error: &impl ToString) -> NoDisplay {
    NoDisplay::Refused { display: display.to_owned(), reason: error.to_string() }
}

/// What every byte of an image is: something else than an empty screen.
const PATTERN: u8 = 0x5a;

/// A window of the size of the image.
struct Window {
    drawable: xproto::Window,
    context: xproto::Gcontext,
    depth: u8,
    image: Image,
    /// The bytes of the image, with what the server needs between lines.
    bytes: usize,
}

impl Window {
    fn open(display: &Display, image: Image) -> Result<Self, NoDisplay> {
        let setup = display.connection.setup();
        let broken = || refused(&display.name, &"it has no screen");
        let screen = setup.roots.get(display.screen).ok_or_else(broken)?;
        let depth = screen.root_depth;
        let format = setup.pixmap_formats.iter().find(|format| format.depth == depth);
        let format = format.ok_or_else(broken)?;
        let has = format.bits_per_pixel / 8;
        if has != image.bytes_per_pixel() {
            return Err(NoDisplay::Pixels { has, image });
        }
        let (width, height) = (screen.width_in_pixels, screen.height_in_pixels);
        if image.width() > width || image.height() > height {
            return Err(NoDisplay::Small { width, height, image });
        }
        let line = usize::from(image.width()) * usize::from(has);
        let padded = line.next_multiple_of(usize::from(format.scanline_pad / 8).max(1));
        let (drawable, context) = map(&display.connection, screen, image)
            .map_err(|error| refused(&display.name, &error))?;
        Ok(Self { drawable, context, depth, image, bytes: padded * usize::from(image.height()) })
    }
}

/// Maps a window without a frame, which no window manager moves.
fn map(
    connection: &PatientConnection,
    screen: &xproto::Screen,
    image: Image,
) -> Result<(xproto::Window, xproto::Gcontext), Box<dyn std::error::Error>> {
    let context = connection.generate_id()?;
    let attributes = CreateWindowAux::new().override_redirect(1);
    let place = Rectangle { x: 0, y: 0, width: image.width(), height: image.height() };
    let window = window::create(connection, screen, place, &attributes)?;
    xproto::create_gc(connection, context, window, &CreateGCAux::new().graphics_exposures(0))?
        .check()?;
    xproto::map_window(connection, window)?.check()?;
    // Fetches the limit from the server here, so that the first large image does not include it.
    connection.maximum_request_bytes();
    Ok((window, context))
}

/// Where the image is.
enum Pixels {
    /// In our memory: the request contains it.
    Socket(Vec<u8>),
    /// In memory that the server maps: the request names it.
    Shared(shm::Seg),
}

impl Pixels {
    fn shared(connection: &PatientConnection, bytes: usize) -> Result<Self, Unmeasurable> {
        let memory = SharedWords::create(bytes.div_ceil(size_of::<u64>()))?;
        let pattern = u64::from_ne_bytes([PATTERN; 8]);
        memory.words().iter().for_each(|word| word.store(pattern, Ordering::Relaxed));
        let file = memory.another_file()?;
        let segment = attach(connection, file)
            .map_err(|error| NoDisplay::NoSharedMemory(error.to_string()))?;
        Ok(Self::Shared(segment))
    }
}

fn attach(
    connection: &PatientConnection,
    memory: OwnedFd,
) -> Result<shm::Seg, Box<dyn std::error::Error>> {
    shm::query_version(connection)?.reply()?;
    let segment = connection.generate_id()?;
    shm::attach_fd(connection, segment, memory, false)?.check()?;
    Ok(segment)
}

/// Images of the same content, drawn into a window.
struct Drawing {
    window: Window,
    pixels: Pixels,
    display: Display,
}

impl Drawing {
    /// Draws an image, and waits until the server has drawn it.
    fn draw(&self) -> Result<(), ReplyError> {
        let Window { drawable, context, depth, image, .. } = self.window;
        let (width, height) = (image.width(), image.height());
        let target = Target { drawable, context, depth, width, height };
        let pixels = match &self.pixels {
            Pixels::Socket(bytes) => drawing::Pixels::Own(bytes),
            Pixels::Shared(segment) => drawing::Pixels::Shared(*segment),
        };
        drawing::draw(&self.display.connection, target, pixels)?;
        drawing::wait(&self.display.connection)
    }
}

impl Repeatable for Drawing {
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times {
            self.draw().map_err(failed)?;
        }
        Ok(())
    }
}

/// The error of an image whose server has ended.
pub(super) const SERVER_ENDED: SysError = SysError::new("PutImage", Errno::CONNRESET);

fn failed(error: ReplyError) -> SysError {
    match error {
        ReplyError::ConnectionError(ConnectionError::IoError(_)) => SERVER_ENDED,
        _ => SysError::new("PutImage", Errno::PROTO),
    }
}
