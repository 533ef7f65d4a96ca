//! The screen of an Xvfb as memory: what is on it, without asking the server.
//!
//! With `-fbdir`, Xvfb keeps its screen in a file in the format of
//! [xwd(1)](https://manpages.debian.org/xwd.1): a header, a table of colours, and the pixels that it
//! draws into. Its header is described by `X11/XWDFile.h`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tactus_sys::SysError;
use tactus_sys::file_mapping::FileMapping;

/// The file of the first screen.
const FILE: &str = "Xvfb_screen0";

/// The numbers of a header, each of 32 bits.
const NUMBERS: usize = 25;
/// The bytes of a header without the name of its window.
pub const HEADER: usize = 4 * NUMBERS;
/// The version of the format.
const VERSION: u32 = 7;
/// The bytes of an entry of the table of colours.
const COLOUR: u64 = 12;
/// The most bytes of a header with its name, the most colours, and the greatest width and height.
const HEADER_MOST: u32 = 4096;
const COLOURS_MOST: u32 = 1 << 16;
const SIZE_MOST: u32 = 1 << 14;

/// Why a screen cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadScreen {
    /// The file cannot be read.
    #[error("cannot read the screen of the X server: {0}")]
    File(#[from] io::Error),
    /// It cannot be mapped.
    #[error("cannot map the screen of the X server: {0}")]
    Mapping(#[from] SysError),
    /// A number of the header is out of its range.
    #[error("the screen of the X server has an unknown form: {field} is {value}")]
    Header {
        /// Its name.
        field: &'static str,
        /// What it is.
        value: u64,
    },
    /// The file is too short.
    #[error("the file of the screen has {found} bytes, and its header says {needed}")]
    Short {
        /// The bytes that it has.
        found: u64,
        /// The bytes that it must have.
        needed: u64,
    },
}

/// Where the pixels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The width in pixels.
    pub width: u32,
    /// The height in pixels.
    pub height: u32,
    /// Where the first pixel is in the file.
    pixels: u64,
    bytes_per_line: u32,
    bytes_per_pixel: u32,
    /// The byte of a pixel that has its green.
    green: u32,
}

impl Header {
    /// Reads a header: the first [`HEADER`] bytes of a file of `length` bytes.
    ///
    /// # Errors
    /// It is not that of a screen with 8 bits or more for green, or the file is too short for its
    /// pixels.
    pub fn parse(bytes: &[u8; HEADER], length: u64) -> Result<Self, BadScreen> {
        let (words, _) = bytes.as_chunks::<4>();
        let number = |place: usize| u32::from_be_bytes(words[place]);
        let within = |field, value: u32, range: std::ops::RangeInclusive<u32>| {
            let value = u64::from(value);
            let is_within = (u64::from(*range.start())..=u64::from(*range.end())).contains(&value);
            if is_within { Ok(()) } else { Err(BadScreen::Header { field, value }) }
        };
        let [size, version, format] = [0, 1, 2].map(number);
        let [width, height, order, bits] = [4, 5, 7, 11].map(number);
        let [bytes_per_line, green_mask, colours] = [12, 15, 19].map(number);
        within("the size of the header", size, HEADER as u32..=HEADER_MOST)?;
        within("the version", version, VERSION..=VERSION)?;
        // Whole pixels, not planes of bits.
        within("the format", format, 2..=2)?;
        within("the width", width, 1..=SIZE_MOST)?;
        within("the height", height, 1..=SIZE_MOST)?;
        within("the order of bytes", order, 0..=1)?;
        if bits != 24 && bits != 32 {
            within("the bits of a pixel", bits, 32..=32)?;
        }
        let bytes_per_pixel = bits / 8;
        within("the bytes of a line", bytes_per_line, width * bytes_per_pixel..=SIZE_MOST * 8)?;
        let low = green_mask.trailing_zeros();
        if green_mask.count_ones() != 8 || !low.is_multiple_of(8) || low >= bits {
            within("the mask of green", green_mask, 0xff00..=0xff00)?;
        }
        within("the number of colours", colours, 0..=COLOURS_MOST)?;
        let green = if order == 0 { low / 8 } else { bytes_per_pixel - 1 - low / 8 };
        let pixels = u64::from(size) + u64::from(colours) * COLOUR;
        let needed = pixels + u64::from(bytes_per_line) * u64::from(height);
        if length < needed {
            return Err(BadScreen::Short { found: length, needed });
        }
        Ok(Self { width, height, pixels, bytes_per_line, bytes_per_pixel, green })
    }

    /// Where the green of a pixel is, from the first pixel on.
    fn place(&self, column: u32, row: u32) -> usize {
        let line = u64::from(row) * u64::from(self.bytes_per_line);
        let pixel = u64::from(column) * u64::from(self.bytes_per_pixel);
        // A screen has at most 2¹⁴ lines of 2¹⁷ bytes.
        (line + pixel + u64::from(self.green)) as usize
    }

    fn length(&self) -> usize {
        self.bytes_per_line as usize * self.height as usize
    }
}

/// The memory into which an X server draws.
#[derive(Debug)]
pub struct Framebuffer {
    header: Header,
    memory: FileMapping,
}

impl Framebuffer {
    /// Opens the screen of the server that was started with this folder.
    ///
    /// # Errors
    /// See [`BadScreen`].
    pub fn open(folder: &Path) -> Result<Self, BadScreen> {
        let mut file = File::open(folder.join(FILE))?;
        let mut bytes = [0; HEADER];
        file.read_exact(&mut bytes)?;
        let header = Header::parse(&bytes, file.metadata()?.len())?;
        let memory = FileMapping::part(&file, header.pixels, header.length())?;
        Ok(Self { header, memory })
    }

    /// The width and the height in pixels.
    pub const fn size(&self) -> (u32, u32) {
        (self.header.width, self.header.height)
    }

    /// How bright a pixel is now, by its green; 0 outside of the screen.
    pub fn brightness(&self, column: u16, row: u16) -> u8 {
        let (column, row) = (u32::from(column), u32::from(row));
        if column >= self.header.width || row >= self.header.height {
            return 0;
        }
        self.memory.byte(self.header.place(column, row)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use tactus_sys::owned_directory::OwnedDirectory;
    use tactus_testing::{Need, require};
    use x11rb::connection::Connection;
    use x11rb::protocol::xproto::{ConnectionExt, CreateGCAux, Rectangle};

    use super::*;
    use crate::{Screen, Server};

    /// The header of a small screen.
    fn header(change: impl FnOnce(&mut [u32; NUMBERS])) -> [u8; HEADER] {
        let mut numbers = [0; NUMBERS];
        numbers[..13].copy_from_slice(&[160, 7, 2, 24, 8, 4, 0, 0, 32, 0, 32, 32, 32]);
        numbers[15] = 0xff00;
        numbers[19] = 256;
        change(&mut numbers);
        numbers.map(u32::to_be_bytes).concat().try_into().unwrap()
    }

    const LENGTH: u64 = 160 + 256 * 12 + 32 * 4;

    #[test]
    fn a_header_says_where_the_pixels_are() {
        let found = Header::parse(&header(|_| ()), LENGTH).unwrap();
        assert_eq!((found.width, found.height, found.pixels), (8, 4, 3232));
        assert_eq!(found.place(2, 1), 32 + 8 + 1);
        let big_endian = Header::parse(&header(|numbers| numbers[7] = 1), LENGTH).unwrap();
        assert_eq!(big_endian.place(0, 0), 2);
    }

    #[test]
    fn a_wrong_header_is_refused_with_its_field() {
        let refused = |place: usize, value: u32| {
            let found = Header::parse(&header(|numbers| numbers[place] = value), LENGTH);
            found.unwrap_err().to_string()
        };
        for (place, value, field) in [
            (0, 99, "the size of the header is 99"),
            (1, 6, "the version is 6"),
            (4, 0, "the width is 0"),
            (5, u32::MAX, "the height is 4294967295"),
            (11, 8, "the bits of a pixel is 8"),
            (12, 31, "the bytes of a line is 31"),
            (15, 0, "the mask of green is 0"),
            (19, u32::MAX, "the number of colours is 4294967295"),
            (5, 5, "has 3360 bytes, and its header says 3392"),
        ] {
            let text = refused(place, value);
            assert!(text.contains(field), "{text}");
        }
    }

    #[test]
    fn what_a_client_draws_is_seen_in_memory() {
        let folder = OwnedDirectory::create(&std::env::temp_dir(), "tactus-screen-").unwrap();
        let screen = Screen { width: 64, height: 48, bytes_per_pixel: 4 };
        let started = Server::start_visible(screen, folder.path());
        let Some(server) = require(Need::Display, started) else { return };
        let connection = server.connect().unwrap();
        let seen = Framebuffer::open(folder.path()).unwrap();
        assert_eq!(seen.size(), (64, 48));
        assert_eq!(seen.brightness(10, 10), 0);
        let root = connection.setup().roots[0].root;
        let context = connection.generate_id().unwrap();
        let green = CreateGCAux::new().foreground(0x0000_8000);
        connection.create_gc(context, root, &green).unwrap();
        let area = Rectangle { x: 8, y: 8, width: 4, height: 4 };
        connection.poly_fill_rectangle(root, context, &[area]).unwrap();
        connection.get_input_focus().unwrap().reply().unwrap();
        let row = [7, 8, 11, 12, 200].map(|column| seen.brightness(column, 9));
        assert_eq!(row, [0, 0x80, 0x80, 0, 0]);
        drop(connection);
    }
}
