//! The line above a part: its name at the left, a note at the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Palette, columns, put, put_right};

/// Draws the line in the first row of `area` and returns the rest of the area. Without room
/// for it, the note is omitted.
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
    let room = usize::from(area.width).saturating_sub(columns(left) + 4);
    if !right.is_empty() && columns(right) <= room {
        put_right(buffer, area, 0, &format!(" {right}"), palette.faint());
    }
    Rect { y: area.y + 1, height: area.height - 1, ..area }
}
