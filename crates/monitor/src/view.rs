//! The monitor drawn into the cells of a terminal.
//!
//! From top to bottom: the cell and its state; the scope; the latest causes; the percentile
//! graph next to the figures; the keys.

pub(crate) mod causes;
mod figures;
mod help;
mod percentiles;
mod rule;
mod scope;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use tactus_model::time::Nanos;

use crate::state::{Monitor, Phase, RecorderState};
use tactus_model::format;

/// The smallest terminal with room for every part, in columns.
pub const LEAST_WIDTH: u16 = 60;
/// The smallest terminal with room for every part, in rows.
pub const LEAST_HEIGHT: u16 = 16;

/// How parts are distinguished: by the 16 colours of the terminal's own palette, or by
/// brightness alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    colour: bool,
}

impl Palette {
    /// With colours.
    pub const COLOURS: Self = Self { colour: true };
    /// Without colours (<https://no-color.org>).
    pub const NO_COLOURS: Self = Self { colour: false };

    fn style(self, colour: Color, otherwise: Modifier) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new().add_modifier(otherwise) }
    }

    fn colour(self, colour: Color) -> Color {
        if self.colour { colour } else { Color::Reset }
    }

    /// Background: grid, labels.
    fn faint(self) -> Style {
        self.style(Color::DarkGray, Modifier::DIM)
    }

    /// Late wakeups and failures.
    fn alarm(self) -> Style {
        let style = self.style(Color::Red, Modifier::REVERSED);
        style.add_modifier(Modifier::BOLD).remove_modifier(Modifier::DIM)
    }

    /// Messages for the user.
    fn notice(self) -> Style {
        self.style(Color::Yellow, Modifier::BOLD)
    }

    /// Main figures; also removes the faint style below them.
    fn strong(self) -> Style {
        let style = Style::new().fg(Color::Reset).add_modifier(Modifier::BOLD);
        style.remove_modifier(Modifier::DIM)
    }
}

impl Monitor {
    /// Draws the whole monitor into `area`.
    pub fn draw(&self, palette: Palette, area: Rect, buffer: &mut Buffer) {
        if area.width < LEAST_WIDTH || area.height < LEAST_HEIGHT {
            return too_small(area, buffer);
        }
        let places = Places::within(area, self.recording != RecorderState::Off);
        self.draw_head(palette, places.head, buffer);
        scope::draw(self, palette, places.scope, buffer);
        causes::draw(self, palette, places.causes, buffer);
        percentiles::draw(self, palette, places.percentiles, buffer);
        figures::draw(self, palette, places.figures, buffer);
        self.draw_foot(palette, places.foot, buffer);
        if self.help {
            help::draw(palette, area, buffer);
        }
    }

    /// Two lines: the cell and its state; a message, or more settings.
    fn draw_head(&self, palette: Palette, area: Rect, buffer: &mut Buffer) {
        let interval = self.cell.probe.timer().interval;
        let left = format!("{} · {} · {interval}", self.setting("load"), self.setting("policy"));
        let time = format::span(whole_seconds(self.picture().since_opened));
        let (right, style) = match &self.phase {
            Phase::Starting => ("starting".to_owned(), palette.notice()),
            Phase::Measuring if self.held.is_some() => {
                (format!("held at {time}"), palette.notice())
            }
            Phase::Measuring => (time, palette.strong()),
            Phase::Ended => (format!("ended after {time}"), palette.notice()),
            Phase::Failed { .. } => ("failed".to_owned(), palette.alarm()),
        };
        put(buffer, area, 0, &left, palette.strong());
        put_right(buffer, area, 0, &right, style);
        let (message, style) = self.message(palette);
        put(buffer, area, 1, &message, style);
    }

    fn message(&self, palette: Palette) -> (String, Style) {
        let with_hint = |text: &str, hint: Option<&String>| match hint {
            Some(hint) => format!("{text}; {hint}"),
            None => text.to_owned(),
        };
        if let Some(prompt) = &self.prompt {
            return (format!("setting and value: {prompt}▏"), palette.notice());
        }
        if let Some(notice) = &self.notice {
            return (notice.clone(), palette.notice());
        }
        if let Phase::Failed { reason, hint } = &self.phase {
            return (with_hint(reason, hint.as_ref()), palette.alarm());
        }
        if let Some(shortfall) = self.shortfalls.last() {
            let message = format!(
                "requested {}, got {}: {}",
                shortfall.asked, shortfall.granted, shortfall.reason
            );
            return (with_hint(&message, shortfall.fix.as_ref()), palette.notice());
        }
        let tasks = match self.cpus.len() as u64 {
            0 => String::new(),
            tasks => format!(", {}", format::counted(tasks, "task")),
        };
        let settings = format!(
            "{} on the {} clock, CPUs: {}{tasks}",
            self.setting("sleep"),
            self.setting("clock"),
            self.setting("cpus")
        );
        (settings, palette.faint())
    }

    fn draw_foot(&self, palette: Palette, area: Rect, buffer: &mut Buffer) {
        const KEYS: [(&str, &str); 11] = [
            ("q", "quit"),
            ("?", "help"),
            ("space", "hold"),
            ("r", "reset"),
            ("l", "load"),
            ("p", "policy"),
            ("i", "interval"),
            ("t", "causes"),
            (":", "set"),
            ("+ -", "scale"),
            ("< >", "sweep"),
        ];
        let mut x = area.x;
        for (key, does) in KEYS {
            let width = (key.len() + does.len() + 3) as u16;
            if x + width > area.right() + 2 {
                return;
            }
            let (after, _) = buffer.set_stringn(x, area.y, key, key.len(), palette.strong());
            buffer.set_stringn(after + 1, area.y, does, does.len(), palette.faint());
            x += width;
        }
    }
}

/// The places of the parts.
struct Places {
    head: Rect,
    scope: Rect,
    causes: Rect,
    percentiles: Rect,
    figures: Rect,
    foot: Rect,
}

impl Places {
    /// Divides the rows: causes, if wanted, get some; the scope gets most of the rest.
    fn within(area: Rect, causes_wanted: bool) -> Self {
        let rows = area.height - 3;
        let causes = match rows {
            _ if !causes_wanted => 0,
            ..19 => 2,
            19..26 => 4,
            _ => 6,
        };
        let lower = (rows / 3).clamp(7, 16);
        let scope = rows - causes - lower;
        let (width, figures) = (area.width, 36.max(area.width * 2 / 5).min(52));
        let at = |y, height| Rect { x: area.x, y: area.y + y, width, height };
        let low = at(2 + scope + causes, lower);
        Self {
            head: at(0, 2),
            scope: at(2, scope),
            causes: at(2 + scope, causes),
            percentiles: Rect { width: width - figures - 2, ..low },
            figures: Rect { x: low.right() - figures, width: figures, ..low },
            foot: at(area.height - 1, 1),
        }
    }
}

fn too_small(area: Rect, buffer: &mut Buffer) {
    let lines = [
        format!("{}×{} is too small;", area.width, area.height),
        format!("{LEAST_WIDTH}×{LEAST_HEIGHT} is needed."),
        "tactus watch --plain".to_owned(),
        "prints lines; q quits".to_owned(),
    ];
    for (row, line) in (0..area.height).zip(lines) {
        put(buffer, area, row, &line, Style::new());
    }
}

fn whole_seconds(length: Nanos) -> Nanos {
    Nanos::from_secs(length.as_nanos() / 1_000_000_000)
}

/// Writes text at the left of a row, cut at the end of the area.
fn put(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row < area.height {
        buffer.set_stringn(area.x, area.y + row, text, area.width.into(), style);
    }
}

/// Writes text at the right of a row.
fn put_right(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    let width = (columns(text) as u16).min(area.width);
    let place = Rect { x: area.right() - width, width, ..area };
    put(buffer, place, row, text, style);
}

/// The width of a text, in columns.
fn columns(text: &str) -> usize {
    ratatui::text::Span::raw(text).width()
}
