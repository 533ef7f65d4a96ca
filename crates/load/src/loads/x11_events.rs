//! A terminal program whose windows are on the display of another machine, where the mouse
//! pointer passes over them: the events of 1993.
//!
//! Each time the pointer enters or leaves a window, the server sends an event, and the program
//! redraws its text cursor as a solid or an outlined rectangle, as xterm does. Events and requests
//! go through TCP on the loopback interface. The server runs on this machine too, so its work
//! belongs to the load, while no network interface and no other machine takes part.

use tactus_model::frames::Rate;
use tactus_xserver::patient::PatientConnection;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{self, EventMask, Gcontext, Rectangle, Window};

use super::Endless;
use super::pace::Pace;
use super::x11::{self, AtServer, Display, Hand};
use crate::error::LoadError;
use crate::site::Site;

/// Two windows beside each other.
const WINDOWS: [(i16, i16, u16, u16); 2] = [(0, 0, 300, 400), (320, 0, 300, 400)];
/// Where the pointer goes in turn: in a window, between the windows, in the other, outside.
const PATH: [(i16, i16); 4] = [(150, 200), (310, 200), (470, 200), (630, 200)];

const CURSOR: Rectangle = Rectangle { x: 40, y: 40, width: 6, height: 13 };

/// Counts one operation per event that was answered.
pub(super) fn run(rate: Rate, site: &'static Site) -> Endless {
    const ACTION: &str = "answer an event";
    let mut display = Display::start(2, site)?;
    let terminal = display.client_over_tcp(site, x11::events_of(rate))?;
    let events = EventMask::ENTER_WINDOW | EventMask::LEAVE_WINDOW;
    let windows = WINDOWS.map(|place| x11::open_window(&terminal, place, events));
    let windows: Vec<(Window, Gcontext)> = windows.into_iter().collect::<Result<_, _>>()?;
    let hand = Hand::new(display.client()?)?;
    site.spawn("mouse", move || pass_over(rate, &hand))?;
    loop {
        let (window, is_inside) = match terminal.wait_for_event().at_server(&terminal, ACTION)? {
            Event::EnterNotify(event) => (event.event, true),
            Event::LeaveNotify(event) => (event.event, false),
            Event::Error(error) => return Err(LoadError::new(format!("{error:?}"))),
            _ => continue,
        };
        let Some((_, context)) = windows.iter().find(|(known, _)| *known == window) else {
            continue;
        };
        redraw(&terminal, window, *context, is_inside)?;
        site.did(1, 0);
    }
}

fn redraw(
    terminal: &PatientConnection,
    window: Window,
    context: Gcontext,
    is_solid: bool,
) -> Result<(), LoadError> {
    const ACTION: &str = "draw a text cursor";
    let Rectangle { x, y, width, height } = CURSOR;
    xproto::clear_area(terminal, false, window, x, y, width + 1, height + 1)
        .at_server(terminal, ACTION)?;
    let draw = if is_solid { xproto::poly_fill_rectangle } else { xproto::poly_rectangle };
    draw(terminal, window, context, &[CURSOR]).at_server(terminal, ACTION)?;
    terminal.flush().at_server(terminal, ACTION)
}

fn pass_over(rate: Rate, hand: &Hand) -> Endless {
    let mut pace = Pace::at(rate);
    loop {
        for (x, y) in PATH {
            pace.wait();
            hand.point(x, y)?;
        }
    }
}
