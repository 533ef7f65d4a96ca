//! The side of an X11 window that people use: its keys, its close button.

use tactus_xserver::window::{Display, Keyboard, Toplevel, WindowError};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{EventMask, KeyPressEvent, Keysym};
use x11rb::rust_connection::RustConnection;

use super::Happened;
use crate::control::Command;

/// Makes the window, and reads its events: it blocks, so it has a connection of its own.
pub(crate) struct Keys {
    connection: RustConnection,
    toplevel: Toplevel,
    keyboard: Keyboard,
}

/// What a key asks for, by its symbol (`X11/keysymdef.h`).
const KEYS: [(Keysym, Command); 12] = [
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

impl Keys {
    /// Makes a window and maps it. Frames have one size, so the window has it too.
    pub(super) fn open(
        display: Display,
        title: &str,
        size: (u16, u16),
    ) -> Result<Self, WindowError> {
        let open = || {
            let (connection, screen) = (&display.connection, display.screen());
            let events = EventMask::KEY_PRESS | EventMask::STRUCTURE_NOTIFY | EventMask::EXPOSURE;
            let toplevel = Toplevel::new(connection, screen, title.as_bytes(), size, events)?;
            toplevel.keep_size(connection, size)?;
            let keyboard = Keyboard::of(connection)?;
            toplevel.map(connection)?;
            Ok::<_, x11rb::errors::ReplyOrIdError>((toplevel, keyboard))
        };
        let (toplevel, keyboard) = open().map_err(|error| display.refused(&error))?;
        Ok(Self { connection: display.connection, toplevel, keyboard })
    }

    pub(super) const fn window(&self) -> u32 {
        self.toplevel.window
    }

    /// Waits for the next thing that happens.
    pub(super) fn next(&self) -> Happened {
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
                Event::ClientMessage(event) if self.toplevel.asks_to_close(&event) => {
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
}
