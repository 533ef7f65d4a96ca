//! The keys, and what looking does to what is looked at.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget};

use super::{Palette, columns, put};

const LINES: [&str; 14] = [
    "l p i     the next load, policy, interval; L P I the one before",
    ":         any setting: load compile:2, sleep timerfd, cpus 1 …",
    "+ -       the scope's lines nearer, further apart; a as it fits",
    "< >       a faster, a slower sweep          x  the other axis",
    "space     hold the picture; measuring goes on",
    "r         forget the figures     t  record events, or not",
    "q         quit                   any key leaves this page",
    "",
    "A change of load, policy or another setting starts the measuring",
    "process anew. The samples come out of shared memory: it does not",
    "wait for the display. What disturbs it is that this program runs",
    "too, ten times a second for a few ms, on any CPU (keep the",
    "probe away from one: --cpus), and the terminal with it; when events",
    "are recorded, half a µs or so for each, and explaining them.",
];

pub(super) fn draw(palette: Palette, area: Rect, buffer: &mut Buffer) {
    let text = LINES.iter().map(|line| columns(line)).max().unwrap_or(0) as u16;
    let width = (text + 4).min(area.width);
    let height = (LINES.len() as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    Clear.render(place, buffer);
    Block::bordered().title(" keys ").border_style(palette.faint()).render(place, buffer);
    let inner = Rect { x: place.x + 2, y: place.y + 1, width: width - 3, height: height - 2 };
    for (row, line) in (0..inner.height).zip(LINES) {
        put(buffer, inner, row, line, Style::new());
    }
}
