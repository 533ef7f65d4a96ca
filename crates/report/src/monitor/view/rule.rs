//! The line that begins a part: its name, and what belongs to it at the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Palette, put, put_right};

/// Draws it in the first row of `area`, and gives the rest of the area.
pub(super) fn draw(
    palette: Palette,
    area: Rect,
    left: &str,
    right: &str,
    buffer: &mut Buffer,
) -> Rect {
    if area.height == 0 {
        return area;
    }
    put(buffer, area, 0, &"─".repeat(area.width.into()), palette.faint());
    put(buffer, area, 0, &format!("{left} "), palette.strong());
    if !right.is_empty() {
        put_right(buffer, area, 0, &format!(" {right}"), palette.faint());
    }
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}
