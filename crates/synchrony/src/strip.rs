//! The number of a frame as a strip of black and white cells at the top of its picture.
//!
//! The strip begins with a white and a black cell and ends with a black and a white one, so that an
//! evenly bright picture has no number. Between them are 16 bits of the number and 8 bits of a
//! checksum, most significant first. A picture that is being changed may show a part of the old strip
//! and a part of the new one; the checksum detects it.

/// The cells of a strip.
pub const CELLS: usize = 28;

const BEGINS: [bool; 2] = [true, false];
const ENDS: [bool; 2] = [false, true];
/// The share of the height of the picture that the strip takes.
const PART: u16 = 8;

/// Where the strip is in a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The width of a cell in pixels.
    cell: u16,
    /// The height of the strip in pixels.
    height: u16,
}

impl Layout {
    /// The strip of pictures of this size.
    pub const fn of(width: u16, height: u16) -> Self {
        Self { cell: width / CELLS as u16, height: height / PART }
    }

    /// The height of the strip.
    pub const fn height(self) -> u16 {
        self.height
    }

    /// The pixel in the middle of each cell, as its column, and their common row.
    pub fn middles(self) -> ([u16; CELLS], u16) {
        let columns = std::array::from_fn(|cell| cell as u16 * self.cell + self.cell / 2);
        (columns, self.height / 2)
    }

    /// Draws a number into the first row of a grey picture; cells that no number needs are black.
    pub fn draw(self, number: u16, row: &mut [u8]) {
        row.fill(0);
        let cells = row.chunks_mut(usize::from(self.cell.max(1)));
        for (pixels, is_white) in cells.zip(cells_of(number)) {
            pixels.fill(if is_white { u8::MAX } else { 0 });
        }
    }
}

/// The cells of a number; white ones are true.
fn cells_of(number: u16) -> impl Iterator<Item = bool> {
    let bits = u32::from(number) << 8 | u32::from(checksum(number));
    let bits = (0..24).rev().map(move |bit| bits >> bit & 1 == 1);
    BEGINS.into_iter().chain(bits).chain(ENDS)
}

/// The number that cells show; `None` if they show none.
pub fn read(cells: &[bool; CELLS]) -> Option<u16> {
    let (begins, rest) = cells.split_at(BEGINS.len());
    let (bits, ends) = rest.split_at(24);
    if begins != BEGINS || ends != ENDS {
        return None;
    }
    let bits = bits.iter().fold(0_u32, |bits, bit| bits << 1 | u32::from(*bit));
    let (number, found) = ((bits >> 8) as u16, bits as u8);
    (checksum(number) == found).then_some(number)
}

/// CRC-8 with the polynomial x⁸ + x² + x + 1.
fn checksum(number: u16) -> u8 {
    number.to_be_bytes().into_iter().fold(0xff, |sum, byte| {
        (0..8).fold(sum ^ byte, |sum, _| (sum << 1) ^ if sum & 0x80 != 0 { 0x07 } else { 0 })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(layout: Layout, row: &[u8]) -> [bool; CELLS] {
        layout.middles().0.map(|column| row[usize::from(column)] > 127)
    }

    #[test]
    fn every_number_is_read_as_it_was_drawn() {
        let layout = Layout::of(320, 180);
        let mut row = vec![9; 320];
        for number in 0..=u16::MAX {
            layout.draw(number, &mut row);
            assert_eq!(read(&seen(layout, &row)), Some(number));
        }
    }

    #[test]
    fn a_picture_without_a_strip_has_no_number() {
        assert_eq!(read(&[false; CELLS]), None);
        assert_eq!(read(&[true; CELLS]), None);
    }

    /// A row that is partly old and partly new shows one of both numbers, or none.
    #[test]
    fn torn_strips_are_detected() {
        for number in 0..u16::MAX {
            let old: Vec<bool> = cells_of(number).collect();
            let new: Vec<bool> = cells_of(number + 1).collect();
            for torn in 1..CELLS {
                let cells: Vec<bool> = [&new[..torn], &old[torn..]].concat();
                let found = read(&cells.try_into().unwrap());
                let is_right = found.is_none_or(|found| found == number || found == number + 1);
                assert!(is_right, "{number} torn at {torn} is read as {found:?}");
            }
        }
    }
}
