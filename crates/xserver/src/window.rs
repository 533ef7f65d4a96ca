//! A window for frames, and the ways of a frame to it.

mod keyboard;
mod pixels;
mod present;
mod rehearsal;
mod toplevel;

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use serde::Serialize;
use tactus_model::pixels::PixelFormat;
use tactus_model::time::{Moment, Monotonic};
use tactus_sys::shared_memory::SharedBytes;
use tactus_sys::wait::wait_readable;
use tactus_sys::{SysError, clock};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::shm;
use x11rb::protocol::xproto::{self, CreateGCAux, Screen};

use crate::drawing::{self, Pixels, Target};
use crate::patient::{self, ANSWER_MOST, PatientConnection, is_silence, is_silence_at_first};
use present::Presenter;

pub use keyboard::Keyboard;
pub use pixels::{fit, format};
pub use rehearsal::{LEAD_MOST, lead, rehearse};
pub use toplevel::{Toplevel, create, letters};

/// Why a window cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WindowError {
    /// There is no display.
    #[error("there is no display: DISPLAY is not set")]
    NoDisplay,
    /// The display refuses us.
    #[error("the display {display} cannot be used: {reason}")]
    Refused {
        /// Its name.
        display: String,
        /// Why.
        reason: String,
    },
    /// It has pixels that we cannot make.
    #[error("the display {display} has pixels of another kind: {pixels}")]
    Pixels {
        /// Its name.
        display: String,
        /// What they are.
        pixels: String,
    },
    /// It does not have the way that was asked for.
    #[error("the display {display} has no {way}: {reason}")]
    NoWay {
        /// Its name.
        display: String,
        /// The way.
        way: &'static str,
        /// Why.
        reason: String,
    },
    /// It worked, and does not any more.
    #[error("the X server of {display} is gone, or closed our window{}", because(.reason))]
    Ended {
        /// Its name.
        display: String,
        /// What failed; empty if nothing else did.
        reason: String,
    },
    /// It did not answer in time; it may do so later.
    #[error(
        "the X server of {display} did not answer for {} s: it is stopped or overloaded",
        patience.as_secs()
    )]
    Silent {
        /// The name of the display.
        display: String,
        /// How long it was awaited.
        patience: Duration,
    },
}

impl WindowError {
    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoDisplay => Some("set DISPLAY, use --display :0, or start one: Xvfb :1 &"),
            Self::Refused { .. } => {
                Some("start an X server there, or set XAUTHORITY if it demands authority")
            }
            Self::NoWay { .. } => Some("--transport auto uses what there is"),
            Self::Pixels { .. } => Some(
                "start the display with depth 24 and true colour: Xvfb :1 -screen 0 1280x720x24",
            ),
            Self::Ended { .. } | Self::Silent { .. } => None,
        }
    }
}

/// A display that windows are opened on.
#[derive(Debug)]
pub struct Display {
    /// Its name.
    pub name: String,
    /// A connection to it, whose waits have a limit.
    pub connection: PatientConnection,
    screen: usize,
}

impl Display {
    /// Connects to a display: that of DISPLAY by default.
    ///
    /// # Errors
    /// There is none, it refuses us, or does not answer within [`ANSWER_MOST`].
    pub fn connect(name: Option<&str>) -> Result<Self, WindowError> {
        let set = std::env::var("DISPLAY").ok().filter(|name| !name.is_empty());
        let name = name.map(str::to_owned).or(set).ok_or(WindowError::NoDisplay)?;
        let connected = patient::connect(Some(&name), ANSWER_MOST);
        let (connection, screen) =
            connected.map_err(|error| match is_silence_at_first(&error) {
                true => WindowError::Silent { display: name.clone(), patience: ANSWER_MOST },
                false => refused(&name, &error),
            })?;
        Self::of(name, connection, screen)
    }

    /// A display by a connection to it.
    ///
    /// # Errors
    /// It has no such screen.
    pub fn of(
        name: String,
        connection: PatientConnection,
        screen: usize,
    ) -> Result<Self, WindowError> {
        match connection.setup().roots.get(screen) {
            Some(_) => Ok(Self { name, connection, screen }),
            None => Err(refused(&name, &"it has no such screen")),
        }
    }

    /// The screen that its name means.
    pub fn screen(&self) -> &Screen {
        // The constructors have found it.
        &self.connection.setup().roots[self.screen]
    }

    /// The format of the pixels of that screen.
    ///
    /// # Errors
    /// No frame can have it.
    pub fn format(&self) -> Result<PixelFormat, WindowError> {
        format(self.connection.setup(), self.screen())
            .map_err(|pixels| WindowError::Pixels { display: self.name.clone(), pixels })
    }

    /// An error of it, while something is prepared.
    pub fn refused(&self, error: impl Into<ReplyOrIdError>) -> WindowError {
        let error = error.into();
        match is_silence(&error) {
            true => self.silent(self.connection.stream().patience()),
            false => refused(&self.name, &error),
        }
    }

    fn silent(&self, patience: Duration) -> WindowError {
        WindowError::Silent { display: self.name.clone(), patience }
    }
}

/// A reason after a statement, if there is one.
fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Why something is not possible, without the name of the display.
fn reason(error: WindowError) -> String {
    match error {
        WindowError::Refused { reason, .. } => reason,
        error => error.to_string(),
    }
}

fn refused(display: &str, error: &dyn std::fmt::Display) -> WindowError {
    WindowError::Refused { display: display.to_owned(), reason: error.to_string() }
}

/// The way of frames to a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Shared memory, and extension Present, whose events have the server's own stamps.
    Present,
    /// Shared memory (MIT-SHM); a frame is shown when a round trip has ended.
    Shm,
    /// The connection itself carries the pixels; evidence as for shared memory.
    Socket,
}

impl Transport {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::Present, Self::Shm, Self::Socket];

    /// Its word in options and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Shm => "shm",
            Self::Socket => "socket",
        }
    }
}

/// The time that a display has for a frame, and its count of refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The server's time (UST) in microseconds of CLOCK_MONOTONIC.
    pub ust: u64,
    /// Its count of refreshes (MSC).
    pub msc: u64,
}

/// When a frame was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When handing it over began.
    pub began: Moment,
    /// When it was on the display: by the server's stamp, or else by the end of a round trip.
    pub at: Moment,
    /// The server's stamp, with Present.
    pub stamp: Option<Stamp>,
}

/// The pixels of a frame.
#[derive(Debug)]
pub enum Buffer {
    /// The server reads them.
    Shared {
        /// The memory.
        bytes: SharedBytes,
        /// Its name at the server.
        segment: shm::Seg,
    },
    /// They are sent.
    Own(Vec<u8>),
}

impl Buffer {
    fn pixels(&self) -> Pixels<'_> {
        match self {
            Self::Shared { segment, .. } => Pixels::Shared(*segment),
            Self::Own(bytes) => Pixels::Own(bytes),
        }
    }

    /// The pixels, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Shared { bytes, .. } => bytes.bytes_mut(),
            Self::Own(bytes) => bytes,
        }
    }
}

/// A window, for a thread that draws.
#[derive(Debug)]
pub struct Window {
    display: Display,
    drawable: xproto::Window,
    context: xproto::Gcontext,
    format: PixelFormat,
    width: u16,
    height: u16,
    transport: Transport,
    why: Option<String>,
    presenter: Option<Presenter>,
    patience: Duration,
}

impl Window {
    /// Frames for a window of this size, by the best transport, or by the one that is wished for.
    /// No frame waits longer for the server than `patience`.
    ///
    /// # Errors
    /// The display has no such transport, or has ended.
    pub fn new(
        display: Display,
        drawable: xproto::Window,
        (width, height): (u16, u16),
        wish: Option<Transport>,
        patience: Duration,
    ) -> Result<Self, WindowError> {
        let format = display.format()?;
        let context = context(&display.connection, drawable);
        let context = context.map_err(|error| display.refused(error))?;
        let mut window = Self {
            display,
            drawable,
            context,
            format,
            width,
            height,
            transport: Transport::Socket,
            why: None,
            presenter: None,
            patience,
        };
        window.choose(wish)?;
        Ok(window)
    }

    /// Chooses the best transport that works, or the one that is wished for.
    fn choose(&mut self, wish: Option<Transport>) -> Result<(), WindowError> {
        for transport in Transport::ALL {
            if wish.is_some_and(|wish| wish != transport) {
                continue;
            }
            match self.try_transport(transport) {
                Ok(()) => {
                    self.transport = transport;
                    return Ok(());
                }
                Err(silent @ WindowError::Silent { .. }) => return Err(silent),
                Err(error) if wish.is_some() => return Err(self.no_way(transport, error)),
                Err(error) => {
                    let reason = reason(error);
                    self.why.get_or_insert_with(|| format!("no {}: {reason}", transport.word()));
                }
            }
        }
        Ok(())
    }

    fn try_transport(&mut self, transport: Transport) -> Result<(), WindowError> {
        if transport == Transport::Socket {
            return Ok(());
        }
        let buffer = self.shared_buffer()?;
        self.free(buffer);
        if transport == Transport::Present {
            let (size, depth) = (self.size(), self.depth());
            let presenter = Presenter::new(&self.display.connection, self.drawable, depth, size);
            self.presenter = Some(presenter.map_err(|error| self.display.refused(error))?);
        }
        Ok(())
    }

    fn no_way(&self, transport: Transport, error: WindowError) -> WindowError {
        let (display, way) = (self.display.name.clone(), transport.word());
        WindowError::NoWay { display, way, reason: reason(error) }
    }

    /// The name of its display.
    pub fn display(&self) -> &str {
        &self.display.name
    }

    /// Its width and height in pixels.
    pub const fn size(&self) -> (u16, u16) {
        (self.width, self.height)
    }

    /// Bits of a pixel that count.
    pub fn depth(&self) -> u8 {
        self.display.screen().root_depth
    }

    /// Its pixels.
    pub const fn format(&self) -> PixelFormat {
        self.format
    }

    /// The way of its frames, and why it is not a better one.
    pub fn transport(&self) -> (Transport, Option<&str>) {
        (self.transport, self.why.as_deref())
    }

    /// The bytes of a frame; its lines follow each other without gaps.
    pub const fn frame_bytes(&self) -> usize {
        self.width as usize * self.height as usize * self.format.bytes()
    }

    /// Memory for a frame.
    ///
    /// # Errors
    /// The system or the display has no memory.
    pub fn buffer(&self) -> Result<Buffer, WindowError> {
        match self.transport {
            Transport::Socket => Ok(Buffer::Own(vec![0; self.frame_bytes()])),
            transport => self.shared_buffer().map_err(|error| match error {
                silent @ WindowError::Silent { .. } => silent,
                error => self.no_way(transport, error),
            }),
        }
    }

    fn shared_buffer(&self) -> Result<Buffer, WindowError> {
        let failed = |error: SysError| refused(&self.display.name, &error);
        let bytes = SharedBytes::create(self.frame_bytes()).map_err(failed)?;
        let file = bytes.another_file().map_err(failed)?;
        let attach = || -> Result<shm::Seg, ReplyOrIdError> {
            let connection = &self.display.connection;
            shm::query_version(connection)?.reply()?;
            let segment = connection.generate_id()?;
            shm::attach_fd(connection, segment, file, true)?.check()?;
            Ok(segment)
        };
        let segment = attach().map_err(|error| self.display.refused(error))?;
        Ok(Buffer::Shared { bytes, segment })
    }

    /// Lets the server read the frames that another process writes to a file of
    /// [`frame_bytes`](Self::frame_bytes), and returns their name for
    /// [`show_segment`](Self::show_segment). Does not wait: a server that refuses the file ends the
    /// next frame.
    ///
    /// # Errors
    /// The display has ended.
    pub fn attach(&self, file: OwnedFd) -> Result<shm::Seg, WindowError> {
        let connection = &self.display.connection;
        let attach = || -> Result<shm::Seg, ReplyOrIdError> {
            let segment = connection.generate_id()?;
            shm::attach_fd(connection, segment, file, true)?;
            Ok(segment)
        };
        attach().map_err(|error| self.ended(error))
    }

    /// Lets the server forget memory that was attached.
    pub fn detach(&self, segment: shm::Seg) {
        // The server frees it with the connection at the latest.
        let _ = shm::detach(&self.display.connection, segment);
    }

    /// Lets the server forget memory.
    pub fn free(&self, buffer: Buffer) {
        if let Buffer::Shared { segment, .. } = buffer {
            self.detach(segment);
        }
    }

    /// Shows a frame, and waits until it is seen.
    ///
    /// # Errors
    /// The display has ended, or has not answered in time.
    pub fn show(&mut self, frame: &Buffer) -> Result<Seen, WindowError> {
        self.show_pixels(frame.pixels())
    }

    /// The same, of memory that was [attached](Self::attach).
    ///
    /// # Errors
    /// As for [`show`](Self::show).
    pub fn show_segment(&mut self, segment: shm::Seg) -> Result<Seen, WindowError> {
        self.show_pixels(Pixels::Shared(segment))
    }

    fn show_pixels(&mut self, pixels: Pixels<'_>) -> Result<Seen, WindowError> {
        let (began, until) = (now(), Instant::now() + self.patience);
        let drawn = self.draw(pixels, until).map_err(|error| self.ended(error))?;
        let drawn = drawn.ok_or_else(|| self.display.silent(self.patience))?;
        Ok(match drawn {
            Drawn::Stamped(stamp) => {
                let at = Moment::from_nanos(stamp.ust.saturating_mul(1000));
                Seen { began, at, stamp: Some(stamp) }
            }
            Drawn::Plain => Seen { began, at: now(), stamp: None },
        })
    }

    fn ended(&self, error: impl Into<ReplyOrIdError>) -> WindowError {
        match self.display.refused(error) {
            WindowError::Refused { display, reason } => WindowError::Ended { display, reason },
            silent => silent,
        }
    }

    /// Draws a frame, and waits for the server; `None` if it takes too long.
    fn draw(&mut self, pixels: Pixels<'_>, until: Instant) -> Result<Option<Drawn>, ReplyError> {
        let Self { context, width, height, .. } = *self;
        let (drawable, depth) = (self.drawable, self.depth());
        let mut target = Target { drawable, context, depth, width, height };
        let connection = &self.display.connection;
        if let Some(presenter) = &mut self.presenter {
            let Some(pixmap) = presenter.pixmap(connection, until)? else { return Ok(None) };
            target.drawable = pixmap;
            drawing::draw(connection, target, pixels)?;
            return presenter.present(connection, until);
        }
        drawing::draw(connection, target, pixels)?;
        let mark = drawing::request_mark(connection)?;
        if !is_readable(connection, until) {
            return Ok(None);
        }
        drawing::await_mark(mark).map(|()| Some(Drawn::Plain))
    }

    /// Whether the server has sent something that was not read: after
    /// [`Silent`](WindowError::Silent), that it answers again.
    pub fn has_answered(&self) -> bool {
        is_readable(&self.display.connection, Instant::now())
    }
}

/// How a frame was drawn.
enum Drawn {
    /// The server has a stamp.
    Stamped(Stamp),
    /// It has none.
    Plain,
}

/// Waits until a server has sent something, not beyond `until`.
fn is_readable(connection: &PatientConnection, until: Instant) -> bool {
    let left = until.saturating_duration_since(Instant::now());
    // What fails here fails again in reading.
    wait_readable(connection.stream().as_fd(), left).unwrap_or(true)
}

/// Waits for the next event, not beyond `until`; `None` if there is none by then.
fn next_event(
    connection: &PatientConnection,
    until: Instant,
) -> Result<Option<Event>, ConnectionError> {
    loop {
        if let Some(event) = connection.poll_for_event()? {
            return Ok(Some(event));
        }
        if !is_readable(connection, until) {
            return Ok(None);
        }
    }
}

/// Closes the window, which ends the thread that reads its events.
impl Drop for Window {
    fn drop(&mut self) {
        // Without a server, there is no window.
        let _ = xproto::destroy_window(&self.display.connection, self.drawable);
        let _ = self.display.connection.flush();
    }
}

fn now() -> Moment {
    clock::now::<Monotonic>()
}

fn context(
    connection: &PatientConnection,
    drawable: xproto::Window,
) -> Result<xproto::Gcontext, ReplyOrIdError> {
    let context = connection.generate_id()?;
    let values = CreateGCAux::new().graphics_exposures(0);
    xproto::create_gc(connection, context, drawable, &values)?.check()?;
    Ok(context)
}
