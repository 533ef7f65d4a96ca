//! What delayed the latest late samples, where the kernel's events are recorded.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tactus_explain::ExplainedSample;

use super::{Palette, put, rule};
use crate::state::{Monitor, RecorderState};
use tactus_model::format;

pub(super) fn draw(monitor: &Monitor, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let right = match monitor.recording {
        RecorderState::On => "events are recorded: latencies are longer by that; t ends it",
        _ => "",
    };
    let area = rule::draw(palette, area, "why late", right, buffer);
    let causes = &monitor.picture().causes;
    match &monitor.recording {
        RecorderState::Off => {}
        RecorderState::Starting => put(buffer, area, 0, "recording starts", palette.faint()),
        RecorderState::Unavailable { reason, fix } => {
            put(buffer, area, 0, reason, palette.notice());
            if let Some(fix) = fix {
                put(buffer, area, 1, fix, palette.faint());
            }
        }
        RecorderState::On if causes.is_empty() => {
            put(buffer, area, 0, "nothing was late so far", palette.faint());
        }
        RecorderState::On => {
            for (row, sample) in (0..area.height).zip(causes) {
                let cpu = monitor.cpus.get(sample.task as usize).copied();
                put(buffer, area, row, &told(sample, cpu), ratatui::style::Style::new());
            }
        }
    }
}

/// The greatest causes of a sample that have a place in a line.
const CAUSES: usize = 3;

/// `2.31 ms  at 12.3 s on cpu 1: kworker/1:2 (other) 2.10 ms, switch 12 µs`
pub(crate) fn told(explained: &ExplainedSample, cpu: Option<u32>) -> String {
    let latency = format::latency(explained.sample.latency());
    let at = explained.sample.came.as_secs_f64();
    let cpu = cpu.map_or_else(String::new, |cpu| format!(" on cpu {cpu}"));
    let parts: Vec<String> = explained
        .parts
        .iter()
        .take(CAUSES)
        .map(|part| format!("{} {}", part.cause, format::latency(part.time)))
        .collect();
    let why = if parts.is_empty() { explained.outcome.to_string() } else { parts.join(", ") };
    format!("{latency:>8}  at {at:.1}{}s{cpu}: {why}", format::THIN_SPACE)
}
