//! The side of an X11 window that people use: its keys, its close button.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use tactus_sys::wait::wait_readable;
use tactus_xserver::patient::{HangUp, PatientConnection};
use tactus_xserver::window::{Display, Keyboard, Toplevel, WindowError};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{EventMask, KeyPressEvent, Keysym};

use super::Happened;
use crate::command::Command;

/// Makes the window, and reads its events: it blocks, so it has a connection of its own.
pub(crate) struct Keys {
    connection: PatientConnection,
    toplevel: Toplevel,
    keyboard: Keyboard,
}

/// How often it looks without an event.
const LOOK: Duration = Duration::from_secs(60);

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
        let (toplevel, keyboard) = open().map_err(|error| display.refused(error))?;
        Ok(Self { connection: display.connection, toplevel, keyboard })
    }

    pub(super) const fn window(&self) -> u32 {
        self.toplevel.window
    }

    /// What ends its waits.
    pub(super) fn hang_up(&self) -> io::Result<HangUp> {
        HangUp::of(&self.connection)
    }

    /// Waits for the next thing that happens.
    pub(super) fn next(&self) -> Happened {
        loop {
            let event = match self.connection.poll_for_event() {
                Ok(Some(event)) => event,
                Ok(None) => {
                    // A person may do nothing for any time. What fails here fails again above.
                    let _ = wait_readable(self.connection.stream().as_fd(), LOOK);
                    continue;
                }
                Err(_) => return Happened::Lost,
            };
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
        command_of(self.keyboard.symbol(key.detail, key.state)?)
    }
}

/// What a key with this symbol asks for.
pub(super) fn command_of(symbol: Keysym) -> Option<Command> {
    KEYS.iter().find(|(key, _)| *key == symbol).map(|(_, command)| *command)
}
