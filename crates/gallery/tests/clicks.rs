//! The window on an X server without a screen, with a hand at the mouse and the keyboard.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use tactus_gallery::grid::{MARGIN, THUMBNAIL, TILE};
use tactus_gallery::{Gallery, GalleryError};
use tactus_testing::{Need, eventually, require, skip, wait_until};
use tactus_xserver::patient::PatientConnection;
use tactus_xserver::window::Display;
use tactus_xserver::{Screen, Server};
use x11rb::CURRENT_TIME;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{self, ConnectionExt as _, ImageFormat};
use x11rb::protocol::xtest;

/// Makes a clip of one colour; false without ffmpeg.
#[track_caller]
fn clip(folder: &Path, name: &str, source: &str) -> bool {
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source]);
    command.arg(folder.join(name)).stdin(Stdio::null());
    let made = command.status().is_ok_and(|status| status.success());
    if !made {
        skip(Need::Display, "no ffmpeg");
    }
    made
}

fn display(server: &Server) -> Display {
    Display::of(server.display(), server.connect().unwrap(), 0).unwrap()
}

/// The hand of a person.
struct Hand {
    connection: PatientConnection,
    root: xproto::Window,
}

impl Hand {
    fn new(connection: PatientConnection) -> Self {
        let root = connection.setup().roots[0].root;
        Self { connection, root }
    }

    fn fake(&self, kind: u8, detail: u8, (x, y): (i16, i16)) {
        xtest::fake_input(&self.connection, kind, detail, CURRENT_TIME, self.root, x, y, 0)
            .unwrap()
            .check()
            .unwrap();
    }

    fn press(&self, button: u8, place: (i16, i16)) {
        self.fake(xproto::MOTION_NOTIFY_EVENT, 0, place);
        self.fake(xproto::BUTTON_PRESS_EVENT, button, (0, 0));
        self.fake(xproto::BUTTON_RELEASE_EVENT, button, (0, 0));
    }

    fn key(&self, symbol: u32) {
        let setup = self.connection.setup();
        let (first, last) = (setup.min_keycode, setup.max_keycode);
        let mapping = self.connection.get_keyboard_mapping(first, last - first + 1).unwrap();
        let mapping = mapping.reply().unwrap();
        let place = mapping.keysyms.iter().position(|found| *found == symbol).unwrap();
        let code = first + (place / usize::from(mapping.keysyms_per_keycode)) as u8;
        self.fake(xproto::KEY_PRESS_EVENT, code, (0, 0));
        self.fake(xproto::KEY_RELEASE_EVENT, code, (0, 0));
    }

    /// Blue, green and red of a pixel of the screen.
    fn pixel(&self, (x, y): (i16, i16)) -> [u8; 3] {
        let image = self.connection.get_image(ImageFormat::Z_PIXMAP, self.root, x, y, 1, 1, !0);
        let data = image.unwrap().reply().unwrap().data;
        [data[0], data[1], data[2]]
    }

    /// The window of the gallery.
    fn window(&self) -> xproto::Window {
        let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
        tree.children[0]
    }

    /// Paints what the window of the gallery shows white.
    fn paint_over(&self) {
        let (connection, window) = (&self.connection, self.window());
        let colour =
            xproto::CreateGCAux::new().foreground(self.connection.setup().roots[0].white_pixel);
        let context = connection.generate_id().unwrap();
        connection.create_gc(context, window, &colour).unwrap().check().unwrap();
        let all = xproto::Rectangle { x: 0, y: 0, width: u16::MAX, height: u16::MAX };
        connection.poly_fill_rectangle(window, context, &[all]).unwrap().check().unwrap();
        connection.free_gc(context).unwrap().check().unwrap();
    }

    /// Waits until the window of the gallery has drawn over the white.
    #[track_caller]
    fn await_drawing(&self) {
        wait_until("the window does not draw", || self.pixel(CORNER) != WHITE);
    }

    /// Waits until a place of the screen has about this colour.
    #[track_caller]
    fn await_colour(&self, place: (i16, i16), wanted: [u8; 3]) {
        eventually(|| {
            let found = self.pixel(place);
            let mut pairs = found.iter().zip(wanted);
            let is_near = pairs.all(|(found, wanted)| found.abs_diff(wanted) < 24);
            is_near.then_some(()).ok_or_else(|| format!("{found:?} at {place:?}, not {wanted:?}"))
        });
    }
}

/// The middle of the thumbnail of a tile, by its column and its line.
fn middle(column: u32, line: u32) -> (i16, i16) {
    let x = column * TILE.0 + MARGIN + THUMBNAIL.0 / 2;
    let y = line * TILE.1 + MARGIN + THUMBNAIL.1 / 2;
    (x as i16, y as i16)
}

const LEFT: u32 = 0xff51;
const RETURN: u32 = 0xff0d;
const END: u32 = 0xff57;
const HOME: u32 = 0xff50;
const Q: u32 = 0x71;

/// A place without a tile.
const CORNER: (i16, i16) = (0, 0);
const WHITE: [u8; 3] = [255, 255, 255];
const RED: [u8; 3] = [0, 0, 255];
const GREEN: [u8; 3] = [0, 128, 0];
const BLUE: [u8; 3] = [255, 0, 0];
/// A clip that cannot be played: `BROKEN` of the window.
const BROKEN: [u8; 3] = [0x18, 0x18, 0x60];

/// What a person does while the window waits, and what was chosen. What the person does before does
/// not count, so the window is painted over, and draws when it begins to wait.
fn chosen(
    mut gallery: Gallery,
    hand: &Hand,
    act: impl FnOnce(),
) -> (Gallery, Result<Option<PathBuf>, GalleryError>) {
    hand.paint_over();
    let waiting = thread::spawn(move || {
        let chosen = gallery.choose();
        (gallery, chosen)
    });
    hand.await_drawing();
    act();
    waiting.join().unwrap()
}

#[test]
fn a_person_chooses_clips_by_mouse_and_keys() {
    let screen = Screen { width: 1024, height: 768, bytes_per_pixel: 4 };
    let Some(server) = require(Need::Display, Server::start(screen)) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (name, colour) in [("a.mkv", "red"), ("b.mkv", "green"), ("d.mkv", "blue")] {
        let source = format!("color={colour}:size=64x48:rate=10:duration=0.3");
        if !clip(folder.path(), name, &source) {
            return;
        }
    }
    fs::write(folder.path().join("c.mp4"), "not a clip").unwrap();
    // More tiles than are visible; names say where they are.
    for number in 0..40 {
        let name = format!("e{number:02}.mkv");
        fs::hard_link(folder.path().join("d.mkv"), folder.path().join(name)).unwrap();
    }
    let hand = Hand::new(server.connect().unwrap());
    let gallery = Gallery::open_on(display(&server), folder.path()).unwrap();
    let path = |name: &str| Some(folder.path().join(name));

    let (gallery, first) = chosen(gallery, &hand, || {
        hand.await_colour(middle(0, 0), RED);
        hand.await_colour(middle(1, 0), GREEN);
        // Its text is in the middle.
        let (x, y) = middle(2, 0);
        hand.await_colour((x, y + 30), BROKEN);
        hand.await_colour(middle(3, 0), BLUE);
        hand.press(1, middle(1, 0));
    });
    assert_eq!(first.unwrap(), path("b.mkv"));

    let (gallery, by_keys) = chosen(gallery, &hand, || {
        hand.key(LEFT);
        hand.key(RETURN);
    });
    assert_eq!(by_keys.unwrap(), path("a.mkv"));

    let (gallery, scrolled) = chosen(gallery, &hand, || {
        // Two steps of the wheel are a line.
        hand.press(5, middle(0, 0));
        hand.press(5, middle(0, 0));
        hand.await_colour(middle(0, 0), BLUE);
        hand.press(1, middle(0, 0));
    });
    assert_eq!(scrolled.unwrap(), path("e00.mkv"));

    let (gallery, last) = chosen(gallery, &hand, || {
        hand.key(END);
        hand.key(RETURN);
    });
    assert_eq!(last.unwrap(), path("e39.mkv"));

    let (_gallery, quit) = chosen(gallery, &hand, || {
        hand.key(HOME);
        hand.await_colour(middle(0, 0), RED);
        hand.key(Q);
    });
    assert_eq!(quit.unwrap(), None);
}

#[test]
fn a_display_that_ends_is_an_error() {
    let screen = Screen { width: 320, height: 240, bytes_per_pixel: 2 };
    let Some(server) = require(Need::Display, Server::start(screen)) else { return };
    let folder = tempfile::tempdir().unwrap();
    // The server ends with its last client.
    let hand = Hand::new(server.connect().unwrap());
    let empty = Gallery::open_on(display(&server), folder.path());
    assert!(matches!(empty, Err(GalleryError::Empty(_))));
    fs::write(folder.path().join("c.mp4"), "not a clip").unwrap();
    let gallery = Gallery::open_on(display(&server), folder.path()).unwrap();
    let (_gallery, ended) = chosen(gallery, &hand, || {
        // Ends all clients but this one.
        hand.connection.kill_client(hand.window()).unwrap().check().unwrap();
    });
    assert!(matches!(ended, Err(GalleryError::Gone(_))));
}
