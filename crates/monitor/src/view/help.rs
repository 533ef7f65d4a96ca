//! The help: the keys, and how watching disturbs the measurement.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::{Block, Clear, Widget};

use super::{Palette, columns, put};

const LINES: [&str; 14] = [
    "l p i     next load, policy, interval    L P I  previous",
    ":         set any setting: load compile:2, sleep timerfd, cpus 1",
    "+ -       finer, coarser scale           a      fit the scale",
    "< >       faster, slower sweep           x      other percentile axis",
    "space     hold or release the picture    r      reset the figures",
    "t         start or stop recording kernel events, for the causes",
    "q         quit                     any other key closes this help",
    "",
    "A new setting restarts the measuring process. It writes samples to",
    "shared memory and never waits for the display. This program and the",
    "terminal run for a few ms, ten times a second, on any CPU; with",
    "--cpus, the probe leaves a CPU to them. Recording costs about 0.5 µs",
    "per event and makes latencies longer; explaining late samples takes",
    "CPU time once a second.",
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
