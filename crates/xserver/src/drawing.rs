//! Drawing images in windows and pixmaps.

use x11rb::connection::Connection;
use x11rb::cookie::Cookie;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::xproto::{self, GetInputFocusReply, ImageFormat};
use x11rb::protocol::{Event, shm};

/// The most bytes of an image in one request, which every server accepts. libX11 divides images at
/// this limit, too: the server draws a strip while the client sends the next, and its buffer stays
/// small.
const STRIP_MAX: usize = (256 << 10) - 64;

/// Where an image is drawn. It covers all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The window or pixmap.
    pub drawable: xproto::Drawable,
    /// A graphics context for it.
    pub context: xproto::Gcontext,
    /// Its depth.
    pub depth: u8,
    /// Its width in pixels.
    pub width: u16,
    /// Its height in pixels.
    pub height: u16,
}

/// Where the pixels of an image are.
#[derive(Clone, Copy, Debug)]
pub enum Pixels<'a> {
    /// In memory that the server maps: the request names it.
    Shared(shm::Seg),
    /// In our memory, lines of equal length: the requests contain it.
    Own(&'a [u8]),
}

/// Asks the server to draw an image.
///
/// # Errors
/// The connection is broken. What the server refuses is an error of [`wait`].
pub fn draw(
    connection: &impl Connection,
    target: Target,
    pixels: Pixels<'_>,
) -> Result<(), ConnectionError> {
    let Target { drawable, context, depth, width, height } = target;
    let format = ImageFormat::Z_PIXMAP;
    match pixels {
        Pixels::Shared(segment) => shm::put_image(
            connection,
            drawable,
            context,
            width,
            height,
            0,
            0,
            width,
            height,
            0,
            0,
            depth,
            format.into(),
            false,
            segment,
            0,
        )
        .map(drop),
        Pixels::Own(bytes) => {
            let line = bytes.len() / usize::from(height).max(1);
            let strip = u16::try_from(STRIP_MAX / line.max(1)).unwrap_or(u16::MAX).max(1);
            for top in (0..height).step_by(strip.into()) {
                let lines = strip.min(height - top);
                let pixels = &bytes[usize::from(top) * line..][..usize::from(lines) * line];
                let top = top.cast_signed();
                xproto::put_image(
                    connection, format, drawable, context, width, lines, 0, top, 0, depth, pixels,
                )?;
            }
            Ok(())
        }
    }
}

/// Waits until the server has done everything before.
///
/// # Errors
/// The connection is broken, or the server refused a request whose reply nobody awaited.
pub fn wait(connection: &impl Connection) -> Result<(), ReplyError> {
    await_mark(request_mark(connection)?)
}

/// Asks the server for a reply once it has done everything before.
///
/// # Errors
/// The connection is broken.
pub fn request_mark<C: Connection>(connection: &C) -> Result<Mark<'_, C>, ConnectionError> {
    let cookie = xproto::get_input_focus(connection)?;
    connection.flush()?;
    Ok(Mark { connection, cookie })
}

/// A place in the sequence of requests, whose reply shows that all before it are done.
#[derive(Debug)]
pub struct Mark<'a, C: Connection> {
    connection: &'a C,
    cookie: Cookie<'a, C, GetInputFocusReply>,
}

/// Waits for it.
///
/// # Errors
/// As for [`wait`].
pub fn await_mark<C: Connection>(mark: Mark<'_, C>) -> Result<(), ReplyError> {
    let Mark { connection, cookie } = mark;
    cookie.reply()?;
    // An image that the server refuses is an event, which has come before the reply.
    while let Some(event) = connection.poll_for_event()? {
        if let Event::Error(error) = event {
            return Err(error.into());
        }
    }
    Ok(())
}
