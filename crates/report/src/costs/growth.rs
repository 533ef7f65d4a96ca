//! How costs grow with size, as lines.

use tactus_stats::costs::CostRow;
use tactus_stats::costs::growth::{Growth, Line};
use tactus_stats::costs::resample::Estimate;

use super::table::entry;
use crate::format::{self, THIN_SPACE, fine_latency};
use crate::table::column::{Column, Entry};

/// What the lines of a table of growth are.
const RESIDUALS: &str = "Lines minimize relative residuals; the worst is shown.";
/// The fits that need an explanation, with it.
const FITS: [(&str, &str); 3] = [
    (
        "no line",
        "No line: a test of lack of fit rejects a line, and two lines do not fit either; read the table.",
    ),
    (
        "unclear",
        "Unclear: a line misses a size by more than 20 %, and the processes differ too much to reject it; \
         read the table.",
    ),
    ("2 sizes", "A line through 2 sizes is not tested."),
];

/// A line of the table of growth.
pub(super) struct GrowthLine {
    way: String,
    sizes: String,
    line: Option<Line>,
    /// The worst relative residual.
    residual: Option<f64>,
    /// Whether the first byte of the line is one of a size that was measured.
    has_fixed: bool,
    fit: &'static str,
}

impl GrowthLine {
    pub(super) fn of(way: &str, rows: &[&CostRow], growth: &Growth) -> Vec<Self> {
        let ends = [rows.first(), rows.last()].map(|row| row.and_then(|row| row.size()));
        let [first, last] = ends.map(|size| size.unwrap_or_default().to_string());
        let one = |sizes: String, line: Option<Line>, residual: Option<f64>, fit: &'static str| {
            Self { way: way.to_owned(), sizes, line, residual, has_fixed: true, fit }
        };
        // Two sizes have a line in any case.
        let residual = |line: &Line| (line.sizes > 2).then_some(line.residual);
        let all = format!("{first} – {last}");
        match growth {
            Growth::Line(line) => {
                let fit = if line.sizes > 2 { "line" } else { "2 sizes" };
                vec![one(all, Some(*line), residual(line), fit)]
            }
            Growth::Neither { residual } => vec![one(all, None, Some(*residual), "no line")],
            Growth::Unclear { residual } => vec![one(all, None, Some(*residual), "unclear")],
            Growth::Broken { at, below, above } => {
                let at = about(at.get() as f64);
                let upper =
                    one(format!("{at} – {last}"), Some(*above), residual(above), "line 2 of 2");
                vec![
                    one(format!("{first} – {at}"), Some(*below), residual(below), "line 1 of 2"),
                    Self { has_fixed: false, ..upper },
                ]
            }
        }
    }

    fn fixed(&self) -> Option<Estimate> {
        self.line.filter(|_| self.has_fixed).map(|line| line.fixed_ns)
    }

    /// Bytes per second with the ends of their interval.
    fn rate(&self) -> Option<(f64, Option<[f64; 2]>)> {
        let line = self.line?;
        let rate = line.rate()?;
        let interval = line.per_byte_ns.interval.filter(|[low, _]| *low > 0.0);
        Some((rate, interval.map(|[low, high]| [1e9 / high, 1e9 / low])))
    }
}

/// What the lines of the table are, in sentences.
pub(super) fn remark(lines: &[GrowthLine]) -> String {
    let used = FITS.iter().filter(|(fit, _)| lines.iter().any(|line| line.fit == *fit));
    let meanings = used.map(|(_, meaning)| *meaning);
    std::iter::once(RESIDUALS).chain(meanings).collect::<Vec<_>>().join(" ")
}

/// The columns of the table of growth.
pub(super) fn columns(lines: &[GrowthLine]) -> Vec<Column> {
    vec![
        Column::names("operation", lines, |line| Entry::text(&line.way)),
        Column::of("sizes", lines, |line| Entry::text(&line.sizes)).dispensable(2),
        Column::of("fixed cost", lines, |line| {
            line.fixed().map_or_else(Entry::empty, |fixed| entry(fixed.value))
        }),
        Column::of("95 % of fixed", lines, |line| {
            Entry::optional(line.fixed().and_then(|fixed| fixed.interval).map(|ends| {
                let [low, high] = ends.map(fine_latency);
                format!("{low} – {high}")
            }))
        })
        .meaning("95 % interval of the fixed cost, over processes")
        .dispensable(3),
        Column::of("rate", lines, |line| {
            line.rate().map_or_else(Entry::empty, |(rate, _)| {
                Entry::number(format::byte_rate(rate), rate as u64)
            })
        }),
        Column::of("95 % of rate", lines, |line| {
            Entry::optional(line.rate().and_then(|(_, ends)| ends).map(|ends| {
                let [low, high] = ends.map(format::byte_rate);
                format!("{low} – {high}")
            }))
        })
        .meaning("95 % interval of the rate, over processes")
        .dispensable(4),
        Column::of("worst residual", lines, |line| {
            line.residual.map_or_else(Entry::empty, |residual| {
                let text = format::whole_percent(residual);
                Entry::number(text, (residual * 1e4) as u64)
            })
        })
        .meaning("how far the line is from the cost at a size, at most")
        .dispensable(1),
        Column::names("fit", lines, |line| Entry::text(line.fit))
            .meaning("whether a line describes the costs; a test of lack of fit decides"),
    ]
}

/// A size with two digits, in binary units.
pub(super) fn about(bytes: f64) -> String {
    let digits = 10_f64.powf(bytes.max(1.0).log10().floor() - 1.0).max(1.0);
    let rounded = (bytes / digits).round() * digits;
    let (value, unit) = match rounded {
        ..1024.0 => (rounded, "B"),
        ..1_048_576.0 => (rounded / 1024.0, "KiB"),
        _ => (rounded / 1_048_576.0, "MiB"),
    };
    match value < 10.0 && unit != "B" {
        true => format!("{value:.1}{THIN_SPACE}{unit}"),
        false => format!("{value:.0}{THIN_SPACE}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_two_digits() {
        for (bytes, text) in [
            (0.0, "0 B"),
            (64.0, "64 B"),
            (5_300.0, "5.2 KiB"),
            (90_000.0, "88 KiB"),
            (3e6, "2.9 MiB"),
        ] {
            assert_eq!(about(bytes).replace(THIN_SPACE, " "), text);
        }
    }
}
