//! The causes of the latest late samples, while kernel events are recorded.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tactus_explain::ExplainedSample;
use tactus_model::sample_kind::SampleKind;

use super::{Palette, put, rule};
use crate::state::{Monitor, RecorderState};
use tactus_model::format;

pub(super) fn draw(monitor: &Monitor, palette: Palette, area: Rect, buffer: &mut Buffer) {
    let right = match monitor.recording {
        RecorderState::On => "recording makes latencies longer; t stops it",
        _ => "",
    };
    let noun = SampleKind::of(&monitor.cell).noun();
    let area = rule::draw(palette, area, &format!("causes of late {noun}s"), right, buffer);
    let causes = &monitor.picture().causes;
    match &monitor.recording {
        RecorderState::Off => {}
        RecorderState::Starting => put(buffer, area, 0, "starting the recorder", palette.faint()),
        RecorderState::Unavailable { reason, fix } => {
            put(buffer, area, 0, reason, palette.notice());
            if let Some(fix) = fix {
                put(buffer, area, 1, fix, palette.faint());
            }
        }
        RecorderState::On if causes.is_empty() => {
            put(buffer, area, 0, &format!("no late {noun} yet"), palette.faint());
        }
        RecorderState::On => {
            for (row, sample) in (0..area.height).zip(causes) {
                let cpu = monitor.cpus.get(sample.task as usize).copied();
                put(buffer, area, row, &cause_line(sample, cpu), ratatui::style::Style::new());
            }
        }
    }
}

/// The number of causes in a line, the greatest first.
const CAUSES: usize = 3;

/// `2.31 ms  at 12.3 s on CPU 1: kworker/1:2 (other) 2.10 ms, switch 12 µs`
pub(crate) fn cause_line(explained: &ExplainedSample, cpu: Option<u32>) -> String {
    let latency = format::latency(explained.sample.latency());
    let at = explained.sample.came.as_secs_f64();
    let cpu = cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
    let parts: Vec<String> = explained
        .parts
        .iter()
        .take(CAUSES)
        .map(|part| format!("{} {}", part.cause, format::latency(part.time)))
        .collect();
    let why = if parts.is_empty() { explained.outcome.to_string() } else { parts.join(", ") };
    format!("{latency:>8}  at {at:.1}{}s{cpu}: {why}", format::THIN_SPACE)
}
