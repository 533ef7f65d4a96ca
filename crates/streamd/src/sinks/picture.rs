//! Frames in a window of an X11 display.
//!
//! The display maps the memory that a client writes its frames to, so the server copies nothing and
//! no thread of it touches that memory: a client that writes to a frame before its receipt spoils its
//! own picture only.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::str::FromStr;
use std::time::Duration;

use tactus_delivery::device::Delivery;
use tactus_delivery::item::{ClientId, Item, Moment, Place as QueuePlace};
use tactus_delivery::receipt::Evidence;
use tactus_model::pixels::Size;
use tactus_model::time::Nanos;
use tactus_sound::{Connector, SoundError};
use tactus_stream::Format;
use tactus_xserver::window::{
    Buffer, Display, Seen, Toplevel, Transport, Window, WindowError, fit, lead, rehearse,
};
use x11rb::protocol::shm::Seg;
use x11rb::protocol::xproto::EventMask;

use super::now;
use crate::sink::{HandedOver, Payload, Sink};

/// How long a frame waits for the display. Later ones fail until the display answers again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often the sink looks whether there is a display again.
const LOOK: Nanos = Nanos::from_millis(500);

/// The pixels that a side of a window may have.
const SIDES: RangeInclusive<u32> = 1..=16384;

/// Where frames are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The display, e.g. `:0`.
    pub display: String,
    /// Width and height of the window in pixels; `None` for those of the screen.
    pub size: Option<(u16, u16)>,
}

/// Why a text is not a place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPlace {
    /// There is no such display.
    #[error("`{0}` is not an X11 display, e.g. :0")]
    Display(String),
    /// The size is not one.
    #[error("`{0}` is not WIDTHxHEIGHT, e.g. 1280x720")]
    Size(String),
}

impl FromStr for Place {
    type Err = NotAPlace;

    fn from_str(text: &str) -> Result<Self, NotAPlace> {
        let (display, size) = match text.split_once(',') {
            Some((display, size)) => (display, Some(size)),
            None => (text, None),
        };
        if !display.contains(':') || display.chars().any(char::is_whitespace) {
            return Err(NotAPlace::Display(display.to_owned()));
        }
        let parse = |text: &str| {
            let Size { width, height } =
                text.parse().ok().filter(|size: &Size| size.is_within(&SIDES))?;
            Some((u16::try_from(width).ok()?, u16::try_from(height).ok()?))
        };
        let size = size.map(|size| parse(size).ok_or_else(|| NotAPlace::Size(size.to_owned())));
        Ok(Self { display: display.to_owned(), size: size.transpose()? })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.display)?;
        self.size.map_or(Ok(()), |(width, height)| write!(f, ",{width}x{height}"))
    }
}

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum NoPicture {
    /// The display has none.
    #[error("{0}{hint}", hint = .0.hint().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Window(#[from] WindowError),
    /// The display does not map our memory.
    #[error("the display {display} does not share memory with this machine: {reason}")]
    NotShared {
        /// Its name.
        display: String,
        /// Why.
        reason: String,
    },
    /// A thread does not start.
    #[error(transparent)]
    Thread(SoundError),
}

/// A window with what is needed to draw in it.
struct Screen {
    window: Window,
    black: Buffer,
}

impl Screen {
    fn open(place: &Place, title: &str) -> Result<Self, NoPicture> {
        let display = Display::connect(Some(&place.display))?;
        let root = display.screen();
        let whole = (root.width_in_pixels, root.height_in_pixels);
        let (width, height) = place.size.unwrap_or(whole);
        let size = fit((width.into(), height.into()), whole, display.format()?);
        let open = || {
            let (connection, events) = (&display.connection, EventMask::NO_EVENT);
            let window =
                Toplevel::new(connection, display.screen(), title.as_bytes(), size, events)?;
            window.keep_size(connection, size)?;
            window.map(connection)?;
            Ok::<_, x11rb::errors::ReplyOrIdError>(window.window)
        };
        let drawable = open().map_err(|error| display.refused(error))?;
        let window = Window::new(display, drawable, size, None, PATIENCE)?;
        if let (Transport::Socket, reason) = window.transport() {
            let reason = reason.unwrap_or("it has no extension MIT-SHM").to_owned();
            return Err(NoPicture::NotShared { display: place.display.clone(), reason });
        }
        let black = window.buffer()?;
        Ok(Self { window, black })
    }

    /// Shows black frames. Returns how long they usually take.
    fn rehearse(&mut self) -> Result<Nanos, WindowError> {
        let mut taken = rehearse(|| {
            let seen = self.window.show(&self.black)?;
            Ok::<_, WindowError>(Some(seen.at - seen.began))
        })?;
        Ok(lead(&mut taken))
    }
}

/// Memory of a client, with its name at the display, once the display has it.
struct Memory {
    file: OwnedFd,
    segment: Option<Seg>,
}

/// Shows frames. If the display ends, items fail until it is back.
pub struct Picture {
    format: Format,
    lead: Nanos,
    screen: Option<Screen>,
    connector: Connector<Screen>,
    frames: BTreeMap<(ClientId, u32), Memory>,
    /// Whose frame is seen.
    seen: Option<ClientId>,
    /// The display has not answered in time, and has not yet since.
    is_silent: bool,
    looked: Moment,
}

impl Picture {
    /// Opens a window, and measures how long a frame takes.
    ///
    /// # Errors
    /// The display cannot be used, or is not one of this machine.
    pub fn open(place: &Place, title: &str) -> Result<Self, NoPicture> {
        let mut screen = Screen::open(place, title)?;
        let lead = screen.rehearse()?;
        let ((width, height), pixels) = (screen.window.size(), screen.window.format());
        let format = Format::Frame { width, height, pixels };
        // Another window must have the same frames.
        let (place, title) = (place.clone(), title.to_owned());
        let is_same = move |screen: &Screen| {
            (screen.window.size(), screen.window.format()) == ((width, height), pixels)
        };
        let again = move || Screen::open(&place, &title).ok().filter(&is_same);
        Ok(Self {
            format,
            lead,
            screen: Some(screen),
            connector: Connector::start(again).map_err(NoPicture::Thread)?,
            frames: BTreeMap::new(),
            seen: None,
            is_silent: false,
            looked: now(),
        })
    }

    /// Shows the frame that an item names; `None` if there is none, or no display.
    fn show(&mut self, item: &Item<Payload>) -> Option<Result<Seen, WindowError>> {
        let number = u32::from_ne_bytes(item.payload.as_ref().try_into().ok()?);
        let screen = self.screen.as_mut()?;
        if self.is_silent && !screen.window.has_answered() {
            return None;
        }
        let memory = self.frames.get_mut(&(item.client, number))?;
        let segment = match memory.segment {
            Some(segment) => segment,
            None => {
                let file = memory.file.try_clone().ok()?;
                match screen.window.attach(file) {
                    Ok(segment) => *memory.segment.insert(segment),
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        Some(screen.window.show_segment(segment))
    }

    /// Follows how the display took a frame.
    fn follow(&mut self, shown: &Result<Seen, WindowError>) {
        self.is_silent = matches!(shown, Err(WindowError::Silent { .. }));
        if let Err(WindowError::Ended { .. }) = shown {
            let gone = self.screen.take();
            self.connector.reconnect(gone);
            self.seen = None;
            self.frames.values_mut().for_each(|memory| memory.segment = None);
        }
    }
}

/// How a frame was delivered.
fn delivery(began: Moment, shown: Option<Result<Seen, WindowError>>) -> Delivery {
    match shown {
        Some(Ok(Seen { at, stamp: Some(stamp), .. })) => Delivery {
            evidence: Evidence::DeviceClock,
            msc: Some(stamp.msc),
            ..Delivery::by_call(at, at, true)
        },
        Some(Ok(Seen { began, at, stamp: None })) => Delivery::by_call(began, at, true),
        // Nobody knows whether it was or will be seen.
        Some(Err(_)) => {
            Delivery { evidence: Evidence::None, ..Delivery::by_call(began, now(), true) }
        }
        None => Delivery::by_call(began, now(), false),
    }
}

impl Sink for Picture {
    fn format(&self) -> Format {
        self.format
    }

    fn lead(&self) -> Nanos {
        self.lead
    }

    fn address(&self) -> Option<String> {
        let Format::Frame { width, height, .. } = self.format else { return None };
        let way = self.screen.as_ref().map(|screen| screen.window.transport().0.word())?;
        Some(format!("{width}x{height}, {way}"))
    }

    fn next_turn(&self) -> Option<Moment> {
        self.screen.is_none().then(|| self.looked + LOOK)
    }

    fn add_frame(&mut self, client: ClientId, number: u32, file: OwnedFd) {
        self.frames.insert((client, number), Memory { file, segment: None });
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let began = now();
        let shown = self.show(item);
        if let Some(shown) = &shown {
            self.follow(shown);
            self.seen = shown.is_ok().then_some(item.client).or(self.seen);
        }
        HandedOver::Done(delivery(began, shown))
    }

    fn settled(&mut self, _found: &mut dyn FnMut(QueuePlace, Delivery)) {
        self.looked = now();
        if self.screen.is_none() {
            self.screen = self.connector.connected();
            self.is_silent = false;
        }
    }

    /// Forgets the memory of the client. If its frame is seen, shows a black one.
    fn client_left(&mut self, client: ClientId) {
        let theirs = (client, 0)..=(client, u32::MAX);
        let segments = self.frames.range(theirs).filter_map(|(_, memory)| memory.segment);
        let segments: Vec<Seg> = segments.collect();
        self.frames.retain(|(owner, _), _| *owner != client);
        let Some(screen) = &mut self.screen else { return };
        segments.into_iter().for_each(|segment| screen.window.detach(segment));
        if self.seen == Some(client) {
            self.seen = None;
            let shown = screen.window.show(&screen.black);
            self.follow(&shown);
        }
    }
}
