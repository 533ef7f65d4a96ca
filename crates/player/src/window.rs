//! A window and the ways of a frame to it.

mod input;
mod keyboard;
mod pixels;
mod present;

use serde::Serialize;
use tactus_clip::{PictureSpec, PixelFormat};
use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Evidence;
use tactus_model::time::Monotonic;
use tactus_playback::MediaTime;
use tactus_sys::clock;
use tactus_sys::shared_memory::SharedBytes;
use tactus_xserver::drawing::{self, Pixels, Target};
use x11rb::connection::Connection;
use x11rb::errors::{ReplyError, ReplyOrIdError};
use x11rb::protocol::shm;
use x11rb::protocol::xproto::{self, CreateGCAux};
use x11rb::rust_connection::RustConnection;

use crate::error::PlayerError;
use present::Presenter;

pub(crate) use input::{Happened, Input};
pub use keyboard::Keyboard;
pub use pixels::format;

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

/// When a frame was seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// When handing it over began.
    pub(crate) began: Moment,
    /// When it was on the display.
    pub(crate) at: Moment,
    pub(crate) evidence: Evidence,
    /// The server's stamp in microseconds, and its count of refreshes.
    pub(crate) stamp: Option<(u64, u64)>,
}

/// The pixels of a frame.
pub(crate) enum Buffer {
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

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Shared { bytes, .. } => bytes.bytes_mut(),
            Self::Own(bytes) => bytes,
        }
    }
}

/// A window, as the thread that draws has it. [`Input`] is the other side.
pub(crate) struct Window {
    connection: RustConnection,
    display: String,
    drawable: xproto::Window,
    context: xproto::Gcontext,
    depth: u8,
    format: PixelFormat,
    width: u16,
    height: u16,
    transport: Transport,
    why: Option<String>,
    presenter: Option<Presenter>,
}

impl Window {
    /// Opens a window of at most this size: of a smaller one with the same aspect if the screen is
    /// smaller. Without a wish, the best transport is used.
    pub(crate) fn open(
        display: Option<&str>,
        title: &str,
        size: (u32, u32),
        wish: Option<Transport>,
    ) -> Result<(Self, Input), PlayerError> {
        let set = std::env::var("DISPLAY").ok().filter(|name| !name.is_empty());
        let display = display.map(str::to_owned).or(set).ok_or(PlayerError::NoDisplay)?;
        let refused = |error: &dyn std::fmt::Display| PlayerError::Refused {
            display: display.clone(),
            reason: error.to_string(),
        };
        let connect = || RustConnection::connect(Some(&display)).map_err(|error| refused(&error));
        let (connection, screen) = connect()?;
        let (theirs, _) = connect()?;
        let setup = connection.setup().clone();
        let screen = setup.roots.get(screen).ok_or_else(|| refused(&"it has no screen"))?;
        let format = pixels::format(&setup, screen);
        let format =
            format.map_err(|pixels| PlayerError::Pixels { display: display.clone(), pixels })?;
        let bounds = (screen.width_in_pixels, screen.height_in_pixels);
        let (width, height) = pixels::fit(size, bounds, format);
        let input = Input::open(theirs, screen, title, (width, height));
        let input = input.map_err(|error| refused(&error))?;
        let drawable = input.window();
        let context = context(&connection, drawable).map_err(|error| refused(&error))?;
        let mut window = Self {
            connection,
            display: display.clone(),
            drawable,
            context,
            depth: screen.root_depth,
            format,
            width,
            height,
            transport: Transport::Socket,
            why: None,
            presenter: None,
        };
        window.choose(wish)?;
        Ok((window, input))
    }

    /// Chooses the best transport that works, or the one that is wished for.
    fn choose(&mut self, wish: Option<Transport>) -> Result<(), PlayerError> {
        for transport in Transport::ALL {
            if wish.is_some_and(|wish| wish != transport) {
                continue;
            }
            match self.try_transport(transport) {
                Ok(()) => {
                    self.transport = transport;
                    return Ok(());
                }
                Err(reason) if wish.is_some() => {
                    let (display, way) = (self.display.clone(), transport.word());
                    return Err(PlayerError::NoWay { display, way, reason });
                }
                Err(reason) => {
                    self.why.get_or_insert_with(|| format!("no {}: {reason}", transport.word()));
                }
            }
        }
        Ok(())
    }

    fn try_transport(&mut self, transport: Transport) -> Result<(), String> {
        if transport == Transport::Socket {
            return Ok(());
        }
        let buffer = self.shared_buffer()?;
        self.free(buffer);
        if transport == Transport::Present {
            let size = (self.width, self.height);
            let presenter = Presenter::new(&self.connection, self.drawable, self.depth, size)?;
            self.presenter = Some(presenter);
        }
        Ok(())
    }

    /// What its frames must be.
    pub(crate) fn frames(&self, from: MediaTime) -> PictureSpec {
        let (width, height) = (self.width.into(), self.height.into());
        PictureSpec { from, width, height, format: self.format }
    }

    /// What it is.
    pub(crate) fn info(&self, clip: usize) -> crate::event::WindowInfo {
        crate::event::WindowInfo {
            clip,
            display: self.display.clone(),
            width: self.width,
            height: self.height,
            depth: self.depth,
            transport: self.transport,
            why: self.why.clone(),
        }
    }

    /// Memory for a frame.
    pub(crate) fn buffer(&self) -> Result<Buffer, PlayerError> {
        match self.transport {
            Transport::Socket => {
                Ok(Buffer::Own(vec![0; self.frames(MediaTime::ZERO).frame_bytes()]))
            }
            _ => self.shared_buffer().map_err(|reason| PlayerError::NoWay {
                display: self.display.clone(),
                way: self.transport.word(),
                reason,
            }),
        }
    }

    fn shared_buffer(&self) -> Result<Buffer, String> {
        let length = self.frames(MediaTime::ZERO).frame_bytes();
        let bytes = SharedBytes::create(length).map_err(|error| error.to_string())?;
        let file = bytes.another_file().map_err(|error| error.to_string())?;
        let attach = || -> Result<shm::Seg, ReplyOrIdError> {
            shm::query_version(&self.connection)?.reply()?;
            let segment = self.connection.generate_id()?;
            shm::attach_fd(&self.connection, segment, file, true)?.check()?;
            Ok(segment)
        };
        let segment = attach().map_err(|error| error.to_string())?;
        Ok(Buffer::Shared { bytes, segment })
    }

    /// Lets the server forget memory.
    pub(crate) fn free(&self, buffer: Buffer) {
        if let Buffer::Shared { segment, .. } = buffer {
            // The server frees it with the connection at the latest.
            let _ = shm::detach(&self.connection, segment);
        }
    }

    /// Shows a frame, and waits until it is seen.
    pub(crate) fn show(&mut self, frame: &Buffer) -> Result<Seen, PlayerError> {
        let began = now();
        let shown = self.draw(frame).map_err(|error| PlayerError::Ended {
            display: self.display.clone(),
            reason: error.to_string(),
        })?;
        let by_call = Seen { began, at: now(), evidence: Evidence::Call, stamp: None };
        Ok(match shown {
            Some((ust, msc)) => {
                let at = Moment::from_nanos(ust.saturating_mul(1000));
                Seen { at, evidence: Evidence::DeviceClock, stamp: Some((ust, msc)), ..by_call }
            }
            None => by_call,
        })
    }

    /// Draws a frame, and waits for the server; returns its stamps, if it has any.
    fn draw(&mut self, frame: &Buffer) -> Result<Option<(u64, u64)>, ReplyError> {
        let mut target = self.target(self.drawable);
        if let Some(presenter) = &mut self.presenter {
            target.drawable = presenter.pixmap(&self.connection)?;
            drawing::draw(&self.connection, target, frame.pixels())?;
            return presenter.present(&self.connection);
        }
        drawing::draw(&self.connection, target, frame.pixels())?;
        drawing::wait(&self.connection)?;
        Ok(None)
    }

    /// A window or pixmap of the size of this window.
    const fn target(&self, drawable: xproto::Drawable) -> Target {
        let Self { context, depth, width, height, .. } = *self;
        Target { drawable, context, depth, width, height }
    }
}

/// Closes the window, which ends the thread of [`Input`].
impl Drop for Window {
    fn drop(&mut self) {
        // Without a server, there is no window.
        let _ = xproto::destroy_window(&self.connection, self.drawable);
        let _ = self.connection.flush();
    }
}

fn now() -> Moment {
    clock::now::<Monotonic>()
}

fn context(
    connection: &RustConnection,
    drawable: xproto::Window,
) -> Result<xproto::Gcontext, ReplyOrIdError> {
    let context = connection.generate_id()?;
    let values = CreateGCAux::new().graphics_exposures(0);
    xproto::create_gc(connection, context, drawable, &values)?.check()?;
    Ok(context)
}
