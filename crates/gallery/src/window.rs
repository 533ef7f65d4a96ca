//! The window.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tactus_model::format;
use tactus_sys::SysError;
use tactus_sys::wait::{Arrived, Waker, wait_event};
use tactus_xserver::patient::{ANSWER_MOST, HangUp, PatientConnection, is_silence};
use tactus_xserver::window::{Display, Keyboard, Toplevel, WindowError, letters};
use x11rb::connection::Connection;
use x11rb::errors::{ConnectionError, ReplyError, ReplyOrIdError};
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ButtonPressEvent, ChangeGCAux, ConnectionExt as _, EventMask, Gcontext, ImageFormat,
    KeyPressEvent, Rectangle, Window,
};

use crate::folder::{self, Entry, Listing};
use crate::grid::{BAR, Grid, MARGIN, STATUS, TEXT, THUMBNAIL, TILE};
use crate::keys::{self, Key};
use crate::thumbnails::{Maker, Thumbnail};

/// The most thumbnails that are kept: 20 MB.
const KEPT_MAX: usize = 256;
/// The size of a new window: four tiles and three and a half lines of them.
const SIZE: (u32, u32) = (4 * TILE.0 + BAR, 3 * TILE.1 + TILE.1 / 2 + STATUS);
/// The pixels that a step of the wheel scrolls.
const WHEEL: i32 = TILE.1 as i32 / 2;
/// The width of a letter of the font, and where its base line is within a line of text.
const LETTER: u32 = 6;
const BASE: i16 = 12;
/// The most letters of a request.
const LETTERS_MAX: usize = 255;
/// Colours by their parts from 0 to 65535: what is selected, what is being made, what is broken.
const SELECTED: (u16, u16, u16) = (0x3300, 0x9900, 0xff00);
const PENDING: (u16, u16, u16) = (0x3000, 0x3000, 0x3000);
const BROKEN: (u16, u16, u16) = (0x6000, 0x1800, 0x1800);

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum GalleryError {
    /// The folder cannot be read.
    #[error("cannot read {}: {error}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// There is nothing to show.
    #[error("{} has no clips: no file whose name ends like mkv, mp4 or webm", .0.display())]
    Empty(PathBuf),
    /// The display cannot be used.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// The display has ended.
    #[error("the display closed the connection: {0}")]
    Gone(String),
    /// The display does not answer.
    #[error("the display did not answer for {} s: it is stopped or overloaded", ANSWER_MOST.as_secs())]
    Silent,
    /// The system refuses something.
    #[error(transparent)]
    Refused(#[from] SysError),
    /// The system refuses something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ReplyOrIdError> for GalleryError {
    fn from(error: ReplyOrIdError) -> Self {
        match is_silence(&error) {
            true => Self::Silent,
            false => Self::Gone(error.to_string()),
        }
    }
}

impl From<ReplyError> for GalleryError {
    fn from(error: ReplyError) -> Self {
        ReplyOrIdError::from(error).into()
    }
}

impl From<ConnectionError> for GalleryError {
    fn from(error: ConnectionError) -> Self {
        ReplyOrIdError::from(error).into()
    }
}

/// A window with the clips of a folder.
pub struct Gallery {
    connection: PatientConnection,
    screen: Look,
    listing: Listing,
    grid: Grid,
    /// Thumbnails that are there.
    made: BTreeMap<usize, Thumbnail>,
    maker: Maker,
    bell: Arc<Waker>,
    /// The button is held on the scroll bar.
    drags: bool,
    is_closed: Arc<AtomicBool>,
    line: Arc<HangUp>,
}

/// Closes a window, from any thread.
#[derive(Clone, Debug)]
pub struct Closer {
    is_closed: Arc<AtomicBool>,
    bell: Arc<Waker>,
    line: Arc<HangUp>,
}

impl Closer {
    /// Ends [`Gallery::choose`], now or when it next begins.
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.bell.wake();
        // A display that is stopped would delay the end.
        self.line.hang_up();
    }
}

/// What drawing needs.
struct Look {
    window: Window,
    context: Gcontext,
    keyboard: Keyboard,
    depth: u8,
    black: u32,
    white: u32,
    selected: u32,
    pending: u32,
    broken: u32,
    toplevel: Toplevel,
}

/// What an event asks for.
enum Asked {
    Nothing,
    /// To draw everything again.
    Draw,
    /// To play the selected clip.
    Play,
    Quit,
}

impl Gallery {
    /// Opens a window on a display, that of `DISPLAY` by default.
    ///
    /// # Errors
    /// The folder cannot be read or has no clips, or the display cannot be used.
    pub fn open(folder: &Path, display: Option<&str>) -> Result<Self, GalleryError> {
        let listing = listing(folder)?;
        Self::with(Display::connect(display)?, folder, listing)
    }

    /// Opens a window on a display that is connected.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_on(display: Display, folder: &Path) -> Result<Self, GalleryError> {
        let listing = listing(folder)?;
        Self::with(display, folder, listing)
    }

    fn with(display: Display, folder: &Path, listing: Listing) -> Result<Self, GalleryError> {
        let format = display.format()?;
        let look = Look::open(&display, folder)?;
        let connection = display.connection;
        let grid = Grid::new(listing.entries.len(), SIZE.0, SIZE.1);
        let bell = Arc::new(Waker::new()?);
        let paths = listing.entries.iter().map(|entry| entry.path.clone()).collect();
        let maker = Maker::start(paths, format, Arc::clone(&bell))?;
        let line = Arc::new(HangUp::of(&connection)?);
        let (made, drags, is_closed) = (BTreeMap::new(), false, Arc::default());
        let screen = look;
        Ok(Self { connection, screen, listing, grid, made, maker, bell, drags, is_closed, line })
    }

    /// What closes the window.
    pub fn closer(&self) -> Closer {
        Closer {
            is_closed: Arc::clone(&self.is_closed),
            bell: Arc::clone(&self.bell),
            line: Arc::clone(&self.line),
        }
    }

    /// Waits until a person chooses a clip; `None` if the window was closed. What was typed and
    /// clicked before does not count.
    ///
    /// # Errors
    /// The display has ended, or does not answer.
    pub fn choose(&mut self) -> Result<Option<PathBuf>, GalleryError> {
        let chosen = self.await_choice();
        // What a window that is being closed could not draw does not count.
        if self.is_closed.load(Ordering::Relaxed) { Ok(None) } else { chosen }
    }

    fn await_choice(&mut self) -> Result<Option<PathBuf>, GalleryError> {
        while let Some(event) = self.connection.poll_for_event()? {
            if let Event::ConfigureNotify(_) = event {
                self.follow(&event);
            }
        }
        self.want();
        self.draw()?;
        loop {
            if self.is_closed.load(Ordering::Relaxed) {
                return Ok(None);
            }
            match self.answer()? {
                Asked::Play => {
                    let entry = self.listing.entries.get(self.grid.selected());
                    return Ok(entry.map(|entry| entry.path.clone()));
                }
                Asked::Quit => return Ok(None),
                Asked::Draw => {
                    self.want();
                    self.draw()?;
                }
                Asked::Nothing => {}
            }
            self.connection.flush()?;
            let arrived = wait_event(self.connection.stream().as_fd(), &self.bell)?;
            if arrived == Arrived::Closed {
                return Err(GalleryError::Gone("it has ended".to_owned()));
            }
            self.take_made()?;
        }
    }

    /// Follows the events that have come, until one asks for more than drawing.
    fn answer(&mut self) -> Result<Asked, GalleryError> {
        let mut asked = Asked::Nothing;
        while let Some(event) = self.connection.poll_for_event()? {
            match self.follow(&event) {
                Asked::Nothing => {}
                Asked::Draw => asked = Asked::Draw,
                ended => return Ok(ended),
            }
        }
        Ok(asked)
    }

    fn follow(&mut self, event: &Event) -> Asked {
        match event {
            Event::Expose(event) if event.count == 0 => Asked::Draw,
            Event::ConfigureNotify(event) => {
                self.grid.resize(event.width.into(), event.height.into());
                Asked::Draw
            }
            Event::KeyPress(event) => match self.meaning(event) {
                Some(Key::Go(to)) => {
                    self.grid.go(to);
                    Asked::Draw
                }
                Some(Key::Play) => Asked::Play,
                Some(Key::Quit) => Asked::Quit,
                None => Asked::Nothing,
            },
            Event::ButtonPress(event) => self.press(event),
            Event::ButtonRelease(_) => {
                self.drags = false;
                Asked::Nothing
            }
            Event::MotionNotify(event) if self.drags => {
                self.grid.scroll_to(event.event_y.into());
                Asked::Draw
            }
            Event::ClientMessage(event) if self.screen.toplevel.asks_to_close(event) => Asked::Quit,
            Event::DestroyNotify(_) => Asked::Quit,
            _ => Asked::Nothing,
        }
    }

    fn meaning(&self, key: &KeyPressEvent) -> Option<Key> {
        keys::meaning(self.screen.keyboard.symbol(key.detail, key.state)?)
    }

    fn press(&mut self, event: &ButtonPressEvent) -> Asked {
        let (x, y) = (event.event_x.into(), event.event_y.into());
        match event.detail {
            1 if self.grid.is_bar(x) => {
                self.drags = true;
                self.grid.scroll_to(y);
                Asked::Draw
            }
            1 => match self.grid.at(x, y) {
                Some(tile) => {
                    self.grid.select(tile);
                    Asked::Play
                }
                None => Asked::Nothing,
            },
            4 => self.scroll(-WHEEL),
            5 => self.scroll(WHEEL),
            _ => Asked::Nothing,
        }
    }

    fn scroll(&mut self, by: i32) -> Asked {
        self.grid.scroll(by);
        Asked::Draw
    }

    /// Asks for the thumbnails in view and for those around, and forgets those far away.
    fn want(&mut self) {
        let visible = self.grid.visible();
        let around = (KEPT_MAX.saturating_sub(visible.len())) / 2;
        let first = visible.start.saturating_sub(around);
        let last = (visible.end + around).min(self.listing.entries.len());
        self.made.retain(|tile, _| (first..last).contains(tile));
        let order = visible.clone().chain(visible.end..last).chain((first..visible.start).rev());
        let missing: Vec<usize> = order.filter(|tile| !self.made.contains_key(tile)).collect();
        self.maker.want(missing);
    }

    /// Takes what was made, and draws it if it is in view.
    fn take_made(&mut self) -> Result<(), GalleryError> {
        let made: Vec<(usize, Thumbnail)> = self.maker.made().collect();
        if made.is_empty() {
            return Ok(());
        }
        let visible = self.grid.visible();
        for (tile, thumbnail) in made {
            self.made.insert(tile, thumbnail);
            if visible.contains(&tile) {
                self.draw_tile(tile)?;
            }
        }
        self.draw_status()
    }

    fn draw(&self) -> Result<(), GalleryError> {
        self.connection.clear_area(false, self.screen.window, 0, 0, 0, 0)?;
        for tile in self.grid.visible() {
            self.draw_tile(tile)?;
        }
        self.draw_bar()?;
        self.draw_status()
    }

    fn draw_tile(&self, tile: usize) -> Result<(), GalleryError> {
        let (x, y) = self.grid.place(tile);
        let (width, height) = TILE;
        let is_selected = tile == self.grid.selected();
        let frame = if is_selected { self.screen.selected } else { self.screen.black };
        self.fill(frame, (x + 2, y + 2), (width - 4, height - 4))?;
        let inside = (x + MARGIN as i32, y + MARGIN as i32);
        match self.made.get(&tile) {
            Some(Thumbnail::Frame { width, height, pixels, .. }) => {
                let left = inside.0 + (THUMBNAIL.0 - width) as i32 / 2;
                let top = inside.1 + (THUMBNAIL.1 - height) as i32 / 2;
                self.fill(self.screen.black, inside, THUMBNAIL)?;
                self.put((left, top), (*width, *height), pixels)?;
            }
            Some(Thumbnail::Sound { .. }) => {
                self.fill(self.screen.pending, inside, THUMBNAIL)?;
                self.middle(inside, "sound", self.screen.pending)?;
            }
            Some(Thumbnail::Broken(_)) => {
                self.fill(self.screen.broken, inside, THUMBNAIL)?;
                self.middle(inside, "cannot be played", self.screen.broken)?;
            }
            None => {
                self.fill(self.screen.pending, inside, THUMBNAIL)?;
                self.middle(inside, "...", self.screen.pending)?;
            }
        }
        let below = (inside.0, inside.1 + (THUMBNAIL.1 + MARGIN / 2) as i32);
        let name = shorten(&self.listing.entries[tile].name, (THUMBNAIL.0 / LETTER) as usize);
        self.text(below, &name, frame)
    }

    fn draw_bar(&self) -> Result<(), GalleryError> {
        let Some((start, height)) = self.grid.mark() else { return Ok(()) };
        let x = self.grid.width() as i32 - BAR as i32;
        self.fill(self.screen.pending, (x, 0), (BAR, self.grid.view()))?;
        self.fill(self.screen.white, (x + 2, start as i32), (BAR - 4, height))
    }

    fn draw_status(&self) -> Result<(), GalleryError> {
        let top = self.grid.view() as i32;
        self.fill(self.screen.pending, (0, top), (self.grid.width(), STATUS))?;
        let letters = (self.grid.width().saturating_sub(2 * MARGIN) / LETTER) as usize;
        let text = shorten(&self.status(), letters.min(LETTERS_MAX));
        self.text((MARGIN as i32, top + 2), &text, self.screen.pending)
    }

    /// What the line at the bottom says.
    fn status(&self) -> String {
        let Listing { entries, is_cut } = &self.listing;
        let selected = self.grid.selected();
        let about = match self.made.get(&selected) {
            None => "...".to_owned(),
            Some(Thumbnail::Frame { duration, .. } | Thumbnail::Sound { duration }) => {
                duration.map_or_else(|| "duration unknown".to_owned(), format::span)
            }
            Some(Thumbnail::Broken(reason)) => reason.clone(),
        };
        let name = entries.get(selected).map_or("", |entry: &Entry| &entry.name);
        let more = if *is_cut { " (not all)" } else { "" };
        let broken = self.made.values().filter(|made| matches!(made, Thumbnail::Broken(_))).count();
        let mut text = format!("{name}: {about} | {} clips{more}", entries.len());
        // Far from the view, none is made.
        let near = entries.len().min(KEPT_MAX);
        if self.made.len() < near {
            text.push_str(&format!(", thumbnails: {} of {near}", self.made.len()));
        }
        if broken > 0 {
            text.push_str(&format!(", {broken} cannot be played"));
        }
        text
    }

    fn put(
        &self,
        (x, y): (i32, i32),
        (width, height): (u32, u32),
        pixels: &[u8],
    ) -> Result<(), GalleryError> {
        let Look { window, context, depth, .. } = self.screen;
        // A thumbnail has fewer bytes than every server takes in a request (262 140).
        self.connection.put_image(
            ImageFormat::Z_PIXMAP,
            window,
            context,
            width as u16,
            height as u16,
            short(x),
            short(y),
            0,
            depth,
            pixels,
        )?;
        Ok(())
    }

    fn fill(
        &self,
        colour: u32,
        (x, y): (i32, i32),
        (width, height): (u32, u32),
    ) -> Result<(), GalleryError> {
        let Look { window, context, .. } = self.screen;
        self.connection.change_gc(context, &ChangeGCAux::new().foreground(colour))?;
        let (width, height) = (width.min(32767) as u16, height.min(32767) as u16);
        let area = Rectangle { x: short(x), y: short(y), width, height };
        self.connection.poly_fill_rectangle(window, context, &[area])?;
        Ok(())
    }

    /// A text in the middle of a thumbnail.
    fn middle(&self, (x, y): (i32, i32), text: &str, ground: u32) -> Result<(), GalleryError> {
        let left = (THUMBNAIL.0 as i32 - (text.len() as u32 * LETTER) as i32) / 2;
        self.text((x + left, y + (THUMBNAIL.1 - TEXT) as i32 / 2), text, ground)
    }

    fn text(&self, (x, y): (i32, i32), text: &str, ground: u32) -> Result<(), GalleryError> {
        let Look { window, context, white, .. } = self.screen;
        let colours = ChangeGCAux::new().foreground(white).background(ground);
        self.connection.change_gc(context, &colours)?;
        let text = latin(text);
        self.connection.image_text8(window, context, short(x), short(y) + BASE, &text)?;
        Ok(())
    }
}

fn listing(folder: &Path) -> Result<Listing, GalleryError> {
    let listing = folder::list(folder)
        .map_err(|error| GalleryError::Folder { folder: folder.to_owned(), error })?;
    match listing.entries.is_empty() {
        true => Err(GalleryError::Empty(folder.to_owned())),
        false => Ok(listing),
    }
}

impl Look {
    fn open(display: &Display, folder: &Path) -> Result<Self, GalleryError> {
        let (connection, screen) = (&display.connection, display.screen());
        let size = (
            SIZE.0.min(screen.width_in_pixels.into()) as u16,
            SIZE.1.min(screen.height_in_pixels.into()) as u16,
        );
        let events = EventMask::EXPOSURE
            | EventMask::STRUCTURE_NOTIFY
            | EventMask::KEY_PRESS
            | EventMask::BUTTON_PRESS
            | EventMask::BUTTON_RELEASE
            | EventMask::BUTTON_MOTION;
        let title = latin(&folder.display().to_string());
        let toplevel = Toplevel::new(connection, screen, &title, size, events)?;
        let window = toplevel.window;
        let (black, white) = (screen.black_pixel, screen.white_pixel);
        let context = letters(connection, window, white, black)?;
        let colour = |(red, green, blue): (u16, u16, u16)| -> Result<u32, ReplyError> {
            let map = screen.default_colormap;
            Ok(connection.alloc_color(map, red, green, blue)?.reply()?.pixel)
        };
        let [selected, pending, broken] = [colour(SELECTED)?, colour(PENDING)?, colour(BROKEN)?];
        let keyboard = Keyboard::of(connection)?;
        connection.map_window(window)?.check()?;
        let depth = screen.root_depth;
        Ok(Self {
            window,
            context,
            keyboard,
            depth,
            black,
            white,
            selected,
            pending,
            broken,
            toplevel,
        })
    }
}

/// Coordinates have 16 bits: what is farther away is not visible either.
fn short(value: i32) -> i16 {
    value.clamp(i16::MIN.into(), i16::MAX.into()) as i16
}

/// The letters of ISO 8859-1, which the font has, and `?` for others.
fn latin(text: &str) -> Vec<u8> {
    let letter = |letter: char| match u8::try_from(letter) {
        Ok(byte) if !letter.is_control() => byte,
        _ => b'?',
    };
    text.chars().map(letter).take(LETTERS_MAX).collect()
}

/// At most so many letters, with two dots in place of the rest. Thin spaces become spaces.
fn shorten(text: &str, most: usize) -> String {
    let text = text.replace(['\u{2009}', '\u{202f}'], " ");
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most.saturating_sub(2)).chain("..".chars()).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_have_letters_of_the_font() {
        assert_eq!(shorten("a long name", 8), "a long..");
        assert_eq!(shorten("short", 8), "short");
        assert_eq!(shorten("abc", 1), ".");
        assert_eq!(latin("Grüße 日\n"), b"Gr\xfc\xdfe ??");
    }
}
