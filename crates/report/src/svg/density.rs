//! Histograms: number of wakeups by latency, both axes logarithmic, the worst case marked.

use tactus_model::time::Nanos;

use super::frame::{Frame, WIDTH};
use super::label::{shorten, width};
use super::scale::LogScale;
use super::style::CurveStyle;
use super::{Anchor, Drawing};
use crate::format;

/// The room above a histogram for its name.
const NAME_ROOM: f64 = 15.0;

/// The height of one cell's histogram.
const STRIP: f64 = 58.0;

/// Bins per power of ten: fine enough to separate two peaks, coarse enough for clocks of 1 ns from
/// 50 ns on.
const BINS_IN_DECADE: f64 = 24.0;

/// The histogram of a cell.
#[derive(Clone, Debug)]
pub struct Density {
    /// Its name.
    pub name: String,
    /// Its style.
    pub style: CurveStyle,
    /// Latencies, ascending, with the number of wakeups of each.
    pub counts: Vec<(Nanos, u64)>,
    /// The exact maximum latency; `None` if nothing was observed.
    pub max: Option<Nanos>,
}

/// The ranges that a group of panels shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranges {
    low: f64,
    high: f64,
    most: f64,
}

impl Ranges {
    /// The ranges of all these histograms.
    pub fn of<'d>(densities: impl IntoIterator<Item = &'d Density>) -> Self {
        let mut ranges = Self { low: f64::MAX, high: 1.0, most: 1.0 };
        for density in densities {
            for (bin, count) in bins(&density.counts) {
                ranges.low = ranges.low.min(bin_start(bin));
                ranges.most = ranges.most.max(count as f64);
            }
            let max = density.max.unwrap_or_default();
            ranges.high = ranges.high.max(max.as_nanos() as f64);
        }
        Self { low: ranges.low.min(ranges.high), ..ranges }
    }
}

/// Draws the histograms of one panel one below the other, over one time axis.
///
/// Strips instead of an overlay: overlaid histograms hide each other where they differ, in bins of
/// few wakeups.
pub fn panel(head: &str, densities: &[Density], ranges: Ranges) -> Drawing {
    let height = (STRIP + NAME_ROOM) * densities.len() as f64;
    let frame = Frame::new(height, 12.0);
    let title = match head {
        "" => "Number of samples by latency".to_owned(),
        head => format!("Number of samples by latency: {head}"),
    };
    let mut drawing = frame.begin(head, title, describe(densities));
    let along = LogScale::covering(ranges.low, ranges.high, frame.left, frame.right);
    frame.lengths_along(&mut drawing, &along);
    frame.name_below(&mut drawing, "latency");
    frame.name_beside(&mut drawing, "samples");
    for (place, density) in densities.iter().enumerate() {
        let top = frame.top + (STRIP + NAME_ROOM) * place as f64 + NAME_ROOM;
        let strip = Frame { top, bottom: top + STRIP, ..frame };
        draw(&mut drawing, &strip, density, &along, ranges.most);
    }
    drawing
}

fn draw(drawing: &mut Drawing, strip: &Frame, density: &Density, along: &LogScale, most: f64) {
    let upward = LogScale::covering(1.0, most, strip.bottom - 4.0, strip.top);
    strip.counts_upward(drawing, &upward);
    for (bin, count) in bins(&density.counts) {
        let (from, to) = (along.at(bin_start(bin)), along.at(bin_start(bin + 1)));
        let y = upward.at(count as f64);
        let size = ((to - from - 0.4).max(0.8), strip.bottom - y);
        drawing.rectangle(&density.style.fill(), (from, y), size);
    }
    if let Some(max) = density.max {
        mark_worst(drawing, strip, density, along.at(max.as_nanos() as f64), max);
    }
    let name = shorten(&density.name, strip.right - strip.left);
    drawing.text(&density.style.fill(), Anchor::Start, (strip.left + 4.0, strip.top - 3.0), &name);
}

fn mark_worst(drawing: &mut Drawing, strip: &Frame, density: &Density, x: f64, max: Nanos) {
    drawing.triangle(&density.style.fill(), (x, strip.bottom - 13.0), true);
    let worst = format::latency(max);
    let room = width(&worst) / 2.0;
    let centre = x.clamp(strip.left + room, WIDTH - room - 2.0);
    drawing.text("mark halo", Anchor::Middle, (centre, strip.bottom - 22.0), &worst);
}

/// Counts wakeups in bins of equal width on the logarithmic axis, without empty bins.
fn bins(counts: &[(Nanos, u64)]) -> Vec<(i32, u64)> {
    let mut bins: Vec<(i32, u64)> = Vec::new();
    for (latency, count) in counts {
        let value = latency.as_nanos().max(1) as f64;
        let bin = (value.log10() * BINS_IN_DECADE).floor() as i32;
        match bins.last_mut() {
            Some((last, sum)) if *last == bin => *sum += count,
            _ => bins.push((bin, *count)),
        }
    }
    bins
}

fn bin_start(bin: i32) -> f64 {
    10_f64.powf(f64::from(bin) / BINS_IN_DECADE)
}

fn describe(densities: &[Density]) -> String {
    let parts: Vec<String> = densities
        .iter()
        .filter_map(|density| {
            let (most, _) = density.counts.iter().max_by_key(|(_, count)| *count)?;
            Some(format!(
                "{}: mode {}, maximum {}",
                density.name,
                format::latency(*most),
                format::latency_or_nothing(density.max)
            ))
        })
        .collect();
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_wakeup_is_lost_between_bins() {
        let counts: Vec<(Nanos, u64)> =
            (0..5000).map(|step| (Nanos::from_nanos(step * step), step)).collect();
        let total: u64 = bins(&counts).iter().map(|(_, count)| count).sum();
        assert_eq!(total, (0..5000).sum::<u64>());
    }

    #[test]
    fn the_worst_case_has_a_label() {
        let density = Density {
            name: "idle".into(),
            style: CurveStyle::numbered(0),
            counts: vec![(Nanos::from_micros(5), 900), (Nanos::from_millis(2), 1)],
            max: Some(Nanos::from_micros(2_100)),
        };
        let ranges = Ranges::of([&density]);
        let svg = panel("", &[density], ranges).inline();
        assert!(svg.contains(">2.10\u{202f}ms</text>"), "{svg}");
    }
}
