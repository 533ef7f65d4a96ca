//! The line that begins a part: its name, and what belongs to it at the right.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Palette, columns, put, put_right};

/// Draws it in the first row of `area`, and gives the rest of the area. What has no room at
/// the right is left out.
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
