//! The texts of figures and claims.

use tactus_model::format::{self, NOTHING, THIN_SPACE};

use crate::claim::Claim;
use crate::interval::Interval;
use crate::paper::{Draw, Paper, PaperTable};
use crate::{
    Across, Beside, Compared, Judged, Kind, Outcome, PartFound, Statistic, TableFound, View,
};

impl Statistic {
    /// A figure as text: a duration, a share or a number.
    pub fn written(self, value: Option<f64>) -> String {
        let Some(value) = value else { return NOTHING.to_owned() };
        match self {
            // The cost of ticks needs hundredths of a per cent.
            Self::Overhead => format!("{:.2}{THIN_SPACE}%", value * 100.0),
            _ => self.kind().written(value),
        }
    }

    /// The heading of a column of such figures.
    pub fn head(self) -> String {
        match self {
            Self::SetAside => "with transfer".to_owned(),
            Self::Serving => "in service".to_owned(),
            Self::Rate => "shown/s".to_owned(),
            Self::Desired => "desired/s".to_owned(),
            Self::Expected => "closed form".to_owned(),
            Self::Quanta => "quanta/s".to_owned(),
            Self::Use => "CPU time".to_owned(),
            Self::CpuPerMegabyte => "CPU time/MB".to_owned(),
            Self::DecoderCpu => "decoder".to_owned(),
            Self::PlayerCpu => "player".to_owned(),
            Self::DisplayCpu => "X server".to_owned(),
            Self::FrameCpu => "CPU time/frame".to_owned(),
            Self::Sorted => "numbers/s".to_owned(),
            Self::Within(length) => format!("within {}", format::axis_length(length)),
            Self::Beyond(length) => format!("over {}", format::axis_length(length)),
            Self::Billed(rate) => format!("billed at {}", rate.in_words()),
            Self::Missed(rate) => format!("missed at {}", rate.in_words()),
            other => other.to_string(),
        }
    }

    /// The meaning of such figures, if the heading is not enough.
    pub const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::SetAside => Some("share of all samples with a block-device request in flight"),
            Self::Serving => Some(
                "share of the cell's samples that were due while an interrupt or a softirq was being served",
            ),
            Self::Expected => {
                Some("frames per second that the ticks alone would leave, by the closed form")
            }
            Self::Overhead => Some(
                "share of the time beyond the work itself: excess of the average over the minimum",
            ),
            Self::BilledByKernel => {
                Some("time billed by the kernel's own ticks, over the time used")
            }
            Self::MissedByKernel => {
                Some("share of the effective quanta without a tick of the kernel's own")
            }
            Self::TickCost => Some("time beyond the work itself, per tick of the kernel"),
            Self::InterruptCost => Some(
                "CPU time that a clock interrupt takes from the sort, from the slowdown at all rates",
            ),
            Self::TwoRateCost => Some("the same from the lowest and the highest rate alone"),
            Self::Slowdown => Some("share of the CPU that clock interrupts of this rate take"),
            Self::Hop => Some("half of the median of a round trip: one switch"),
            Self::DecoderCpu => Some("CPU time of the decoder per frame shown, with its start"),
            Self::PlayerCpu => Some("CPU time of the player's process per frame shown"),
            Self::DisplayCpu => Some("CPU time of the X server per frame shown"),
            Self::FrameCpu => Some("CPU time of decoder, player and X server per frame shown"),
            _ => None,
        }
    }
}

impl Kind {
    /// A number of this kind as text.
    pub fn written(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.1}{THIN_SPACE}%", value * 100.0),
            Self::Count => format::count(value as u64),
            // Large rates need no decimals.
            Self::PerSecond if value >= 1e4 => format::count(value.round() as u64),
            Self::PerSecond => format!("{value:.2}"),
            Self::Ratio => ratio(value),
            Self::ByteRate => format::byte_rate(value),
            Self::Length => format::latency(format::rounded_nanos(value)),
        }
    }
}

const fn sign(apart: f64) -> char {
    if apart < 0.0 { '−' } else { '+' }
}

/// Differences of numbers of this kind, with their signs.
pub(crate) fn differences(apart: &[f64], kind: Kind) -> String {
    if kind == Kind::Share {
        let text = |apart: &f64| format!("{}{:.1}", sign(*apart), apart.abs() * 100.0);
        let texts: Vec<String> = apart.iter().map(text).collect();
        return format!("{}{THIN_SPACE}%", texts.join(", "));
    }
    let text = |apart: &f64| format!("{}{}", sign(*apart), kind.written(apart.abs()));
    apart.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// An interval in brackets, to follow its figure; nothing if there is none.
fn between(interval: Option<Interval>, written: impl Fn(f64) -> String) -> String {
    interval.map_or_else(String::new, |Interval { low, high }| {
        format!(" (95{THIN_SPACE}% interval {} to {})", written(low), written(high))
    })
}

/// A ratio with two decimals if small, none if large.
fn ratio(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}"),
        10.0..1000.0 => format!("{ratio:.0}"),
        _ => format::count(ratio.round() as u64),
    }
}

impl Paper {
    /// The citation: authors, title, publication.
    pub fn citation(&self) -> String {
        format!("{}, {} ({})", self.authors, self.title, self.published)
    }
}

impl PaperTable {
    /// The heading of the table.
    pub fn head(&self) -> String {
        format!("{} ({}): {}", self.name, self.place, self.title)
    }
}

impl Claim {
    /// The claim with its place.
    pub fn with_place(&self) -> String {
        format!("{} ({})", self.text, self.place)
    }
}

impl Outcome {
    /// The outcome of a claim, in a word or two.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::NotHeld => "not held",
            Self::Undecided => "undecided",
            Self::NotTestable { .. } => "not testable",
        }
    }
}

impl Judged<'_> {
    /// The deciding numbers, or the reason that there are none.
    pub fn grounds(&self) -> String {
        let requirement = self.claim.holds.requirement();
        if let Outcome::NotTestable { reason } = &self.outcome {
            return format!("{}.", capitalised(reason));
        }
        if let Some(Beside { paper: Some(paper), here: Some(here) }) = self.ratio {
            return format!(
                "{}{} here, {} in the paper; required: {requirement}.",
                ratio(here),
                between(self.ratio_interval, ratio),
                ratio(paper)
            );
        }
        if let Some(Beside { here: Some(here), .. }) = self.ratio {
            let between = between(self.ratio_interval, ratio);
            return format!("{}{between} here; required: {requirement}.", ratio(here));
        }
        let list = |of: fn(&Beside) -> Option<f64>| -> String {
            let texts =
                self.figures.iter().map(|figure| figure.statistic.written(of(&figure.beside)));
            texts.collect::<Vec<_>>().join(", ")
        };
        let with_intervals = || -> String {
            let texts = self.figures.iter().enumerate().map(|(place, figure)| {
                let written = |value| figure.statistic.written(Some(value));
                let interval = self.intervals.get(place).copied().flatten();
                let here = figure.statistic.written(figure.beside.here);
                format!("{here}{}", between(interval, written))
            });
            texts.collect::<Vec<_>>().join(", ")
        };
        let kind = self.figures.first().map(|figure| figure.statistic.kind());
        let here = match (self.differences.as_slice(), kind) {
            (apart @ [_, ..], Some(kind)) => format!(
                "{} here; differences by round: {}",
                list(|beside| beside.here),
                differences(apart, kind)
            ),
            _ => format!("{} here", with_intervals()),
        };
        if self.figures.iter().all(|figure| figure.beside.paper.is_none()) {
            return format!("{here}; required: {requirement}.");
        }
        format!("{here}, {} in the paper; required: {requirement}.", list(|beside| beside.paper))
    }
}

/// The number of claims by outcome, as text.
pub fn tally<'j, 'a: 'j>(claims: impl IntoIterator<Item = &'j Judged<'a>>) -> String {
    let (mut held, mut not_held, mut undecided, mut not_testable) = (0, 0, 0, 0);
    for judged in claims {
        match judged.outcome {
            Outcome::Held => held += 1,
            Outcome::NotHeld => not_held += 1,
            Outcome::Undecided => undecided += 1,
            Outcome::NotTestable { .. } => not_testable += 1,
        }
    }
    let undecided = match undecided {
        0 => String::new(),
        count => format!("{count} undecided, "),
    };
    format!("{held} held, {not_held} not held, {undecided}{not_testable} not testable here")
}

/// A claim that was judged in several kernels.
#[derive(Clone, Debug)]
pub struct ClaimAcross<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Its outcomes; kernels with the same outcome share an entry.
    pub outcomes: Vec<KernelOutcome>,
}

/// The outcome of a claim in some kernels, or in some pairs of them.
#[derive(Clone, Debug)]
pub struct KernelOutcome {
    /// The outcome, in a word or two.
    pub outcome: &'static str,
    /// The kernels; empty for a claim without figures.
    pub kernels: String,
    /// The deciding numbers, or the reason that there are none.
    pub grounds: String,
}

impl KernelOutcome {
    /// The kernels and the grounds, as text.
    pub fn text(&self) -> String {
        match self.kernels.as_str() {
            "" => self.grounds.clone(),
            kernels => format!("{kernels}: {}", self.grounds),
        }
    }
}

impl<'a> Across<'a> {
    /// The claims with their outcomes by kernel.
    pub fn claims_by_kernel(&self) -> Vec<ClaimAcross<'a>> {
        let mut claims: Vec<ClaimAcross<'_>> = Vec::new();
        for found in &self.claims {
            let outcome = KernelOutcome {
                outcome: found.judged.outcome.word(),
                kernels: found.kernels.join(" against "),
                grounds: found.judged.grounds(),
            };
            let claim = found.judged.claim;
            match claims.last_mut() {
                Some(last) if std::ptr::eq(last.claim, claim) => put(&mut last.outcomes, outcome),
                _ => claims.push(ClaimAcross { claim, outcomes: vec![outcome] }),
            }
        }
        claims
    }
}

fn put(outcomes: &mut Vec<KernelOutcome>, outcome: KernelOutcome) {
    let same = |known: &&mut KernelOutcome| {
        (known.outcome, &known.grounds) == (outcome.outcome, &outcome.grounds)
    };
    match outcomes.iter_mut().find(same) {
        Some(known) => {
            known.kernels.push_str(", ");
            known.kernels.push_str(&outcome.kernels);
        }
        None => outcomes.push(outcome),
    }
}

impl Compared {
    /// The heading of a table of these: the figures of its entries.
    pub fn head(&self) -> String {
        let heads: Vec<String> = self.statistics.iter().map(|statistic| statistic.head()).collect();
        capitalised(&format!("{}: {}", self.measure, heads.join(" / ")))
    }
}

impl View<'_> {
    /// The title of the graph in a comparison of kernels: its cell, with the graph's title if
    /// several graphs may show the cell; the graph's title alone if it shows all cells.
    pub fn title_across(&self) -> String {
        let cell = self.rows.first().map_or("", |row| row.cell);
        match self.graph.draw {
            Draw::Percentiles { .. }
            | Draw::Densities
            | Draw::Quanta
            | Draw::Use
            | Draw::Figures => cell.to_owned(),
            Draw::Players => self.graph.title.clone(),
            Draw::Billing { .. } => {
                let mut title = self.graph.title.chars();
                let first = title.next().map(|first| first.to_lowercase().to_string());
                format!("{cell}: {}{}", first.unwrap_or_default(), title.as_str())
            }
        }
    }
}

impl PartFound<'_> {
    /// The tables that do not apply to this machine, grouped by reason.
    pub fn not_compared(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&TableFound<'_>>)> = Vec::new();
        for table in &self.tables {
            let Some(reason) = table.not_here.as_deref() else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, tables)) => tables.push(table),
                None => reasons.push((reason, vec![table])),
            }
        }
        let texts = reasons.into_iter().map(|(reason, tables)| {
            let names: Vec<&str> = tables.iter().map(|table| table.table.name.as_str()).collect();
            format!("Not compared with {}: {reason}.", names.join(", "))
        });
        texts.collect()
    }
}

/// The text with its first letter in upper case.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
