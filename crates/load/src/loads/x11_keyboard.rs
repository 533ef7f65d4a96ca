//! A person who types into a terminal program: the X11 keyboard load of 1993.
//!
//! Each key is an event of the server for the program, which writes it to its pseudo-terminal,
//! reads the echo, and draws it, as xterm does; a shell reads the lines.

use tactus_model::frames::Rate;
use tactus_xserver::patient::PatientConnection;
use x11rb::CURRENT_TIME;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{self, EventMask, Gcontext, InputFocus, Window};

use super::Endless;
use super::pace::Pace;
use super::pseudo_terminal::{Console, RETURN};
use super::x11::{self, AtServer, Display, Hand};
use crate::error::LoadError;
use crate::site::Site;

/// The codes of two keys on the keyboard of every X server for PCs.
const KEYCODE_A: u8 = 38;
const KEYCODE_RETURN: u8 = 36;

/// The letters of a line.
const COLUMNS: u16 = 40;

const WIDTH: u16 = 600;
const HEIGHT: u16 = 400;
/// A letter of the font.
const LETTER_WIDTH: u16 = 6;
const LETTER_HEIGHT: u16 = 13;

/// Counts one operation per key that was drawn.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    let mut display = Display::start(2, site)?;
    let mut screen = Screen::open(display.client_for(x11::events_of(rate))?)?;
    let mut console = Console::start(site)?;
    let hand = Hand::new(display.client()?)?;
    site.spawn("keyboard", move || type_lines(rate, &hand))?;
    loop {
        let event = screen.connection.wait_for_event();
        let keycode = match event.at_server(&screen.connection, "receive a key")? {
            Event::KeyPress(event) => event.detail,
            Event::Error(error) => return Err(LoadError::new(format!("{error:?}"))),
            _ => continue,
        };
        match keycode {
            KEYCODE_RETURN => {
                console.press(RETURN)?;
                screen.scroll()?;
            }
            _ => {
                let letters = console.press(b'a')?;
                screen.draw(letters)?;
            }
        }
        site.did(1, 0);
    }
}

fn type_lines(rate: Rate, hand: &Hand) -> Endless {
    let mut pace = Pace::at(rate);
    loop {
        for column in 0..=COLUMNS {
            pace.wait();
            hand.press(if column == COLUMNS { KEYCODE_RETURN } else { KEYCODE_A })?;
        }
    }
}

/// The window of a terminal program; it draws at its lowest line.
struct Screen {
    connection: PatientConnection,
    window: Window,
    context: Gcontext,
    column: u16,
}

impl Screen {
    /// Opens a window, and gives it the keyboard.
    fn open(connection: PatientConnection) -> Result<Self, LoadError> {
        const ACTION: &str = "take the keyboard";
        let place = (0, 0, WIDTH, HEIGHT);
        let (window, context) = x11::open_window(&connection, place, EventMask::KEY_PRESS)?;
        let focus = || {
            xproto::set_input_focus(&connection, InputFocus::PARENT, window, CURRENT_TIME)?.check()
        };
        focus().at_server(&connection, ACTION)?;
        Ok(Self { connection, window, context, column: 0 })
    }

    fn draw(&mut self, letters: &[u8]) -> Result<(), LoadError> {
        const ACTION: &str = "draw a letter";
        let (x, y) = (self.column * LETTER_WIDTH, HEIGHT - LETTER_HEIGHT / 4);
        let Self { connection, window, context, .. } = self;
        xproto::image_text8(connection, *window, *context, x as i16, y as i16, letters)
            .at_server(connection, ACTION)?;
        connection.flush().at_server(connection, ACTION)?;
        self.column += letters.len() as u16;
        Ok(())
    }

    /// Moves all lines up, and begins a new one.
    fn scroll(&mut self) -> Result<(), LoadError> {
        const ACTION: &str = "scroll a window";
        let Self { connection, window, context, .. } = self;
        let (step, kept) = (LETTER_HEIGHT as i16, HEIGHT - LETTER_HEIGHT);
        xproto::copy_area(connection, *window, *window, *context, 0, step, 0, 0, WIDTH, kept)
            .at_server(connection, ACTION)?;
        xproto::clear_area(connection, false, *window, 0, kept as i16, WIDTH, LETTER_HEIGHT)
            .at_server(connection, ACTION)?;
        connection.flush().at_server(connection, ACTION)?;
        self.column = 0;
        Ok(())
    }
}
