//! Drawing images in windows and pixmaps.

use x11rb::connection::Connection;
use x11rb::cookie::Cookie;
use x11rb::errors::{ConnectionError, ReplyError};
use x11rb::protocol::xproto::{self, GetInputFocusReply, ImageFormat};
use x11rb::protocol::{Event, shm};
use x11rb::rust_connection::RustConnection;

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
    connection: &RustConnection,
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
pub fn wait(connection: &RustConnection) -> Result<(), ReplyError> {
    wait_for(request_answer(connection)?)
}

/// Asks the server for an answer once it has done everything before.
///
/// # Errors
/// The connection is broken.
pub fn request_answer(connection: &RustConnection) -> Result<Answer<'_>, ConnectionError> {
    let cookie = xproto::get_input_focus(connection)?;
    connection.flush()?;
    Ok(Answer { connection, cookie })
}

/// An answer that was requested.
#[derive(Debug)]
pub struct Answer<'a> {
    connection: &'a RustConnection,
    cookie: Cookie<'a, RustConnection, GetInputFocusReply>,
}

/// Waits for it.
///
/// # Errors
/// As for [`wait`].
pub fn wait_for(Answer { connection, cookie }: Answer<'_>) -> Result<(), ReplyError> {
    cookie.reply()?;
    // An image that the server refuses is an event, which has come before the reply.
    while let Some(event) = connection.poll_for_event()? {
        if let Event::Error(error) = event {
            return Err(error.into());
        }
    }
    Ok(())
}
