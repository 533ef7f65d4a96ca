//! Making windows.

use std::thread;
use std::time::Duration;

use x11rb::COPY_DEPTH_FROM_PARENT;
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyOrIdError};
use x11rb::properties::WmSizeHints;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    self, AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, CreateGCAux, CreateWindowAux,
    EventMask, Gcontext, PropMode, Rectangle, Screen, WindowClass,
};
use x11rb::wrapper::ConnectionExt as _;

/// A font that every X server has: letters of ISO 8859-1.
const FONT: &[u8] = b"fixed";
/// How long a window may take to be mapped, in steps.
const MAP_STEPS: u32 = 400;
const MAP_STEP: Duration = Duration::from_millis(5);

/// Makes a window on a screen, without mapping it.
///
/// # Errors
/// The server has ended, or refuses it.
pub fn create(
    connection: &impl Connection,
    screen: &Screen,
    place: Rectangle,
    values: &CreateWindowAux,
) -> Result<xproto::Window, ReplyOrIdError> {
    let window = connection.generate_id()?;
    let Rectangle { x, y, width, height } = place;
    let (depth, class) = (COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT);
    xproto::create_window(
        connection,
        depth,
        window,
        screen.root,
        x,
        y,
        width,
        height,
        0,
        class,
        0,
        values,
    )?
    .check()?;
    Ok(window)
}

/// Makes a context that draws letters and areas, in these colours.
///
/// # Errors
/// The server has ended, or refuses it.
pub fn letters(
    connection: &impl Connection,
    window: xproto::Window,
    foreground: u32,
    background: u32,
) -> Result<Gcontext, ReplyOrIdError> {
    let (font, context) = (connection.generate_id()?, connection.generate_id()?);
    xproto::open_font(connection, font, FONT)?.check()?;
    let values = CreateGCAux::new().font(font).foreground(foreground).background(background);
    xproto::create_gc(connection, context, window, &values.graphics_exposures(0))?.check()?;
    Ok(context)
}

/// A window of a program, with a title and a close button, where a window manager puts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toplevel {
    /// The window.
    pub window: xproto::Window,
    protocols: xproto::Atom,
    delete: xproto::Atom,
}

impl Toplevel {
    /// Makes a black window, without mapping it, for letters of ISO 8859-1 in its title.
    ///
    /// # Errors
    /// The server has ended, or refuses it.
    pub fn new(
        connection: &impl Connection,
        screen: &Screen,
        title: &[u8],
        (width, height): (u16, u16),
        events: EventMask,
    ) -> Result<Self, ReplyOrIdError> {
        let values = CreateWindowAux::new().event_mask(events).background_pixel(screen.black_pixel);
        let place = Rectangle { x: 0, y: 0, width, height };
        let window = create(connection, screen, place, &values)?;
        let atom = |name: &str| xproto::intern_atom(connection, false, name.as_bytes());
        let (protocols, delete) = (atom("WM_PROTOCOLS")?, atom("WM_DELETE_WINDOW")?);
        let (protocols, delete) = (protocols.reply()?.atom, delete.reply()?.atom);
        let replace = PropMode::REPLACE;
        connection.change_property32(replace, window, protocols, AtomEnum::ATOM, &[delete])?;
        let (name, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
        connection.change_property8(replace, window, name, text, title)?;
        Ok(Self { window, protocols, delete })
    }

    /// Lets window managers leave its size as it is.
    ///
    /// # Errors
    /// The server has ended.
    pub fn keep_size(
        &self,
        connection: &impl Connection,
        (width, height): (u16, u16),
    ) -> Result<(), ConnectionError> {
        let size = Some((width.into(), height.into()));
        let hints = WmSizeHints { min_size: size, max_size: size, ..WmSizeHints::new() };
        hints.set_normal_hints(connection, self.window).map(drop)
    }

    /// Maps it, and waits until it is mapped: a window manager does so when it likes, or never. Takes
    /// the events that come meanwhile.
    ///
    /// # Errors
    /// The server has ended, or refuses it.
    pub fn map(&self, connection: &impl Connection) -> Result<(), ReplyOrIdError> {
        let attributes = xproto::get_window_attributes(connection, self.window)?.reply()?;
        let select = |events| {
            let events = ChangeWindowAttributesAux::new().event_mask(events);
            xproto::change_window_attributes(connection, self.window, &events).map(drop)
        };
        let wanted = attributes.your_event_mask;
        select(wanted | EventMask::STRUCTURE_NOTIFY)?;
        xproto::map_window(connection, self.window)?.check()?;
        for _ in 0..MAP_STEPS {
            if let Some(Event::MapNotify(_)) = connection.poll_for_event()? {
                break;
            }
            thread::sleep(MAP_STEP);
        }
        select(wanted)?;
        Ok(())
    }

    /// Whether a message is that of its close button.
    pub fn asks_to_close(&self, event: &ClientMessageEvent) -> bool {
        event.type_ == self.protocols && event.data.as_data32()[0] == self.delete
    }
}
