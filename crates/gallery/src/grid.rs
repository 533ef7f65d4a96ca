//! Where tiles are, what is visible, and what a key or a click selects.

use std::ops::Range;

/// The width and the height of a thumbnail in pixels, at most.
pub const THUMBNAIL: (u32, u32) = (160, 120);
/// The space around a thumbnail, and the height of the line of text below it.
pub const MARGIN: u32 = 8;
/// The height of a line of text.
pub const TEXT: u32 = 16;
/// The size of a tile.
pub const TILE: (u32, u32) = (THUMBNAIL.0 + 2 * MARGIN, THUMBNAIL.1 + 2 * MARGIN + TEXT);
/// The width of the scroll bar at the right.
pub const BAR: u32 = 12;
/// The height of the line at the bottom, which says what is going on.
pub const STATUS: u32 = TEXT + 4;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The tile at the left.
    Left,
    /// The tile at the right.
    Right,
    /// The tile above.
    Up,
    /// The tile below.
    Down,
    /// A window up.
    PageUp,
    /// A window down.
    PageDown,
    /// The first tile.
    Home,
    /// The last tile.
    End,
}

/// Tiles in lines, of which a part is visible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    tiles: usize,
    width: u32,
    height: u32,
    /// Lines of pixels above the visible part.
    offset: u32,
    selected: usize,
}

impl Grid {
    /// So many tiles in a window of this size.
    pub fn new(tiles: usize, width: u32, height: u32) -> Self {
        let mut grid = Self { tiles, width: 0, height: 0, offset: 0, selected: 0 };
        grid.resize(width, height);
        grid
    }

    /// The window has another size; the selected tile stays visible.
    pub fn resize(&mut self, width: u32, height: u32) {
        (self.width, self.height) = (width, height);
        self.show_selected();
    }

    /// The width of the window.
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// The tiles of a line: at least one.
    pub fn columns(&self) -> usize {
        (self.width.saturating_sub(BAR) / TILE.0).max(1) as usize
    }

    /// The lines of pixels between the top and the line at the bottom.
    pub const fn view(&self) -> u32 {
        self.height.saturating_sub(STATUS)
    }

    /// The height of all tiles.
    fn whole(&self) -> u32 {
        u32::try_from(self.tiles.div_ceil(self.columns()))
            .unwrap_or(u32::MAX)
            .saturating_mul(TILE.1)
    }

    fn offset_max(&self) -> u32 {
        self.whole().saturating_sub(self.view())
    }

    /// The tile that is selected; meaningless without tiles.
    pub const fn selected(&self) -> usize {
        self.selected
    }

    /// Where the upper left corner of a tile is in the window.
    pub fn place(&self, tile: usize) -> (i32, i32) {
        let (line, column) = (tile / self.columns(), tile % self.columns());
        let pixels = |count: usize, size: u32| (count as i64 * i64::from(size)) as i32;
        (pixels(column, TILE.0), pixels(line, TILE.1) - self.offset as i32)
    }

    /// The tiles of which a part is visible.
    pub fn visible(&self) -> Range<usize> {
        let columns = self.columns();
        let first = (self.offset / TILE.1) as usize * columns;
        let last = (self.offset + self.view()).div_ceil(TILE.1) as usize * columns;
        first.min(self.tiles)..last.min(self.tiles)
    }

    /// The tile at a place of the window.
    pub fn at(&self, x: i32, y: i32) -> Option<usize> {
        let (x, y) = (u32::try_from(x).ok()?, u32::try_from(y).ok()?);
        let column = (x / TILE.0) as usize;
        if column >= self.columns() || y >= self.view() {
            return None;
        }
        let tile = ((y + self.offset) / TILE.1) as usize * self.columns() + column;
        (tile < self.tiles).then_some(tile)
    }

    /// Selects a tile and makes it visible.
    pub fn select(&mut self, tile: usize) {
        self.selected = tile.min(self.tiles.saturating_sub(1));
        self.show_selected();
    }

    /// Moves the selection.
    pub fn go(&mut self, to: Move) {
        let columns = self.columns();
        let page = (self.view() / TILE.1).max(1) as usize * columns;
        let (selected, last) = (self.selected, self.tiles.saturating_sub(1));
        let up = |by: usize| if selected >= by { selected - by } else { selected };
        self.select(match to {
            Move::Left => selected.saturating_sub(1),
            Move::Right => selected + 1,
            Move::Up => up(columns),
            Move::Down if selected / columns == last / columns => selected,
            Move::Down => selected + columns,
            Move::PageUp => selected.saturating_sub(page),
            Move::PageDown => selected + page,
            Move::Home => 0,
            Move::End => last,
        });
    }

    /// Scrolls by so many lines of pixels, up if negative; the selection stays.
    pub fn scroll(&mut self, by: i32) {
        self.offset = self.offset.saturating_add_signed(by).min(self.offset_max());
    }

    /// Whether a place of the window is on the scroll bar.
    pub const fn is_bar(&self, x: i32) -> bool {
        x >= self.width.saturating_sub(BAR) as i32
    }

    /// Scrolls so that the middle of the visible part is at this place of the scroll bar.
    pub fn scroll_to(&mut self, y: i32) {
        let y = u64::from(y.max(0).unsigned_abs());
        let middle = y * u64::from(self.whole()) / u64::from(self.view().max(1));
        let offset = middle.saturating_sub(u64::from(self.view() / 2));
        self.offset = u32::try_from(offset).unwrap_or(u32::MAX).min(self.offset_max());
    }

    /// Where the mark of the scroll bar begins, and its height; `None` if everything is visible.
    pub fn mark(&self) -> Option<(u32, u32)> {
        let (view, whole) = (u64::from(self.view()), u64::from(self.whole()));
        if whole <= view {
            return None;
        }
        let scaled = |pixels: u32| (u64::from(pixels) * view / whole) as u32;
        Some((scaled(self.offset), scaled(self.view()).max(1)))
    }

    fn show_selected(&mut self) {
        let top = (self.selected / self.columns()) as u32 * TILE.1;
        let least = (top + TILE.1).saturating_sub(self.view());
        // A view that is less than a tile shows the top of it.
        self.offset = self.offset.max(least).min(top).min(self.offset_max());
    }
}

/// The size of a picture that is scaled to fit into a thumbnail. Lines have a multiple of four pixels:
/// an X server wants lines of whole words.
pub fn fit(width: u32, height: u32) -> (u32, u32) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let (most_width, most_height) = (u64::from(THUMBNAIL.0), u64::from(THUMBNAIL.1));
    let (width, height) = match width * most_height > height * most_width {
        true => (most_width, height * most_width / width),
        false => (width * most_height / height, most_height),
    };
    ((width as u32 / 4 * 4).max(4), (height as u32).max(2))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Four columns, two and a half lines.
    fn grid(tiles: usize) -> Grid {
        Grid::new(tiles, 4 * TILE.0 + BAR, TILE.1 * 5 / 2 + STATUS)
    }

    #[test]
    fn keys_move_the_selection_and_keep_it_visible() {
        let mut grid = grid(10);
        let mut selected = |to| {
            grid.go(to);
            grid.selected()
        };
        let moves = [
            (Move::Left, 0),
            (Move::Up, 0),
            (Move::Right, 1),
            (Move::Down, 5),
            (Move::Down, 9),
            (Move::Down, 9),
            (Move::Right, 9),
            (Move::Up, 5),
            (Move::Home, 0),
            (Move::PageDown, 8),
            (Move::PageUp, 0),
            (Move::End, 9),
        ];
        for (to, wanted) in moves {
            assert_eq!(selected(to), wanted, "{to:?}");
        }
        // The last line is visible as a whole.
        assert_eq!(grid.place(9), (TILE.0 as i32, (TILE.1 * 3 / 2) as i32));
        assert_eq!(grid.visible(), 0..10);
    }

    #[test]
    fn clicks_hit_what_is_seen() {
        let mut grid = grid(10);
        assert_eq!(grid.at(0, 0), Some(0));
        assert_eq!(grid.at(TILE.0 as i32 * 4 - 1, TILE.1 as i32), Some(7));
        assert_eq!(grid.at(TILE.0 as i32 * 4, 0), None, "the scroll bar");
        assert!(grid.is_bar(TILE.0 as i32 * 4));
        assert_eq!(grid.at(5, (TILE.1 * 5 / 2) as i32), None, "the line at the bottom");
        grid.scroll(TILE.1 as i32);
        // The scroll ends with the last line.
        assert_eq!(grid.at(0, (TILE.1 / 2) as i32), Some(4));
        assert_eq!(grid.at(2 * TILE.0 as i32, (TILE.1 * 2) as i32), None, "no such tile");
        grid.scroll(-5000);
        assert_eq!(grid.at(0, 0), Some(0));
    }

    #[test]
    fn the_bar_scrolls_to_its_place() {
        let mut grid = grid(100);
        assert_eq!(grid.mark().unwrap().0, 0);
        grid.scroll_to(grid.view() as i32);
        let (start, height) = grid.mark().unwrap();
        assert!(start + height >= grid.view() - 1, "{start} + {height} of {}", grid.view());
        grid.scroll_to(-3);
        assert_eq!(grid.visible().start, 0);
        assert_eq!(self::grid(8).mark(), None);
    }

    #[test]
    fn thumbnails_keep_the_shape() {
        assert_eq!(fit(1280, 720), (160, 90));
        assert_eq!(fit(720, 1280), (64, 120));
        assert_eq!(fit(8192, 1), (160, 2));
        assert_eq!(fit(0, 0), (120, 120));
    }

    proptest! {
        /// Whatever happens, the selection is a tile, and the visible tiles exist.
        #[test]
        fn nothing_leaves_the_grid(
            tiles in 0_usize..3000,
            width in 0_u32..3000,
            height in 0_u32..3000,
            steps in prop::collection::vec((0_u8..12, -4000_i32..4000), 0..40),
        ) {
            let mut grid = Grid::new(tiles, width, height);
            for (kind, by) in steps {
                match kind {
                    0 => grid.scroll(by),
                    1 => grid.scroll_to(by),
                    2 => grid.resize(by.unsigned_abs(), height),
                    3 => grid.select(by.unsigned_abs() as usize),
                    4 => grid.go(Move::Left),
                    5 => grid.go(Move::Right),
                    6 => grid.go(Move::Up),
                    7 => grid.go(Move::Down),
                    8 => grid.go(Move::PageUp),
                    9 => grid.go(Move::PageDown),
                    10 => grid.go(Move::Home),
                    _ => grid.go(Move::End),
                }
                prop_assert!(grid.selected() < tiles.max(1));
                let visible = grid.visible();
                prop_assert!(visible.start <= visible.end && visible.end <= tiles);
                for tile in visible {
                    let (x, y) = grid.place(tile);
                    let middle = (x + TILE.0 as i32 / 2, (y + TILE.1 as i32 / 2).max(0));
                    if let Some(hit) = grid.at(middle.0, middle.1) {
                        prop_assert_eq!(hit % grid.columns(), tile % grid.columns());
                    }
                }
            }
        }
    }
}
