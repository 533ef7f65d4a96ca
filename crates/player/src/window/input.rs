//! The side of a window that people use: its keys, its close button.

use std::thread;
use std::time::Duration;

use x11rb::COPY_DEPTH_FROM_PARENT;
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyOrIdError};
use x11rb::properties::WmSizeHints;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    self, AtomEnum, ClientMessageEvent, CreateWindowAux, EventMask, KeyPressEvent, PropMode,
    Screen, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

use super::keyboard::Keyboard;
use crate::control::Command;

/// Makes the window, and reads its events: it blocks, so it has a connection of its own.
pub(crate) struct Input {
    connection: RustConnection,
    window: xproto::Window,
    protocols: xproto::Atom,
    delete: xproto::Atom,
    keyboard: Keyboard,
}

/// What a key asks for, by its symbol (`X11/keysymdef.h`).
const KEYS: [(xproto::Keysym, Command); 12] = [
    (0x20, Command::Pause),
    (0x71, Command::Quit),
    (0xff1b, Command::Quit),
    (0xff51, Command::Jump(-5)),
    (0xff53, Command::Jump(5)),
    (0xff52, Command::Jump(60)),
    (0xff54, Command::Jump(-60)),
    (0x2b, Command::Faster),
    (0xffab, Command::Faster),
    (0x2d, Command::Slower),
    (0xffad, Command::Slower),
    (0x3d, Command::NormalSpeed),
];

/// How long a window may take to be mapped, in steps.
const MAP_STEPS: u32 = 400;
const MAP_STEP: Duration = Duration::from_millis(5);

/// What has happened to a window.
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
    /// Makes a window and maps it.
    pub(super) fn open(
        connection: RustConnection,
        screen: &Screen,
        title: &str,
        (width, height): (u16, u16),
    ) -> Result<Self, ReplyOrIdError> {
        let window = connection.generate_id()?;
        let events = EventMask::KEY_PRESS | EventMask::STRUCTURE_NOTIFY | EventMask::EXPOSURE;
        let values = CreateWindowAux::new().event_mask(events).background_pixel(screen.black_pixel);
        xproto::create_window(
            &connection,
            COPY_DEPTH_FROM_PARENT,
            window,
            screen.root,
            0,
            0,
            width,
            height,
            0,
            WindowClass::INPUT_OUTPUT,
            0,
            &values,
        )?
        .check()?;
        let atom = |name: &str| xproto::intern_atom(&connection, false, name.as_bytes());
        let (protocols, delete) = (atom("WM_PROTOCOLS")?, atom("WM_DELETE_WINDOW")?);
        let (protocols, delete) = (protocols.reply()?.atom, delete.reply()?.atom);
        connection.change_property32(
            PropMode::REPLACE,
            window,
            protocols,
            AtomEnum::ATOM,
            &[delete],
        )?;
        let (name, text) = (AtomEnum::WM_NAME, AtomEnum::STRING);
        connection.change_property8(PropMode::REPLACE, window, name, text, title.as_bytes())?;
        let size = (width.into(), height.into());
        // Frames have one size, so the window has it too.
        let hints =
            WmSizeHints { min_size: Some(size), max_size: Some(size), ..WmSizeHints::new() };
        hints.set_normal_hints(&connection, window)?;
        let keyboard = Keyboard::of(&connection)?;
        xproto::map_window(&connection, window)?.check()?;
        let input = Self { connection, window, protocols, delete, keyboard };
        input.wait_until_mapped()?;
        Ok(input)
    }

    pub(super) const fn window(&self) -> xproto::Window {
        self.window
    }

    /// A window manager maps it when it likes, or never.
    fn wait_until_mapped(&self) -> Result<(), ConnectionError> {
        for _ in 0..MAP_STEPS {
            if let Some(Event::MapNotify(_)) = self.connection.poll_for_event()? {
                break;
            }
            thread::sleep(MAP_STEP);
        }
        Ok(())
    }

    /// Waits for the next thing that happens.
    pub(crate) fn next(&self) -> Happened {
        loop {
            let Ok(event) = self.connection.wait_for_event() else { return Happened::Lost };
            match event {
                Event::KeyPress(event) => {
                    if let Some(command) = self.command(&event) {
                        return Happened::Command(command);
                    }
                }
                Event::Expose(event) if event.count == 0 => return Happened::Exposed,
                Event::DestroyNotify(_) => return Happened::Closed,
                Event::ClientMessage(event) if self.asks_to_close(&event) => {
                    return Happened::Closed;
                }
                _ => {}
            }
        }
    }

    fn command(&self, key: &KeyPressEvent) -> Option<Command> {
        let symbol = self.keyboard.symbol(key.detail, key.state)?;
        KEYS.iter().find(|(key, _)| *key == symbol).map(|(_, command)| *command)
    }

    fn asks_to_close(&self, event: &ClientMessageEvent) -> bool {
        event.type_ == self.protocols && event.data.as_data32()[0] == self.delete
    }
}
