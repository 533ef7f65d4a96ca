//! How figures and claims are put in words.

use tactus_model::format::{self, NOTHING, THIN_SPACE};

use crate::claim::Claim;
use crate::paper::{Draw, Paper, PaperTable};
use crate::{
    Across, Beside, Compared, Judged, Kind, Outcome, PartFound, Statistic, TableFound, View,
};

impl Statistic {
    /// A figure of this kind as it is told: a length, a share or a number.
    pub fn written(self, value: Option<f64>) -> String {
        let Some(value) = value else { return NOTHING.to_owned() };
        match self {
            // What ticks cost is told in hundredths of a per cent.
            Self::Overhead => format!("{:.2}{THIN_SPACE}%", value * 100.0),
            _ => self.kind().written(value),
        }
    }

    /// What stands over a column of such figures.
    pub fn head(self) -> String {
        match self {
            Self::SetAside => "saw a transfer".to_owned(),
            Self::Serving => "in service".to_owned(),
            Self::Rate => "shown/s".to_owned(),
            Self::Desired => "desired/s".to_owned(),
            Self::Expected => "closed form".to_owned(),
            Self::Quanta => "quanta/s".to_owned(),
            Self::Use => "CPU time".to_owned(),
            Self::Sorted => "numbers/s".to_owned(),
            other => other.to_string(),
        }
    }

    /// What such figures are, where the words over their column do not say it.
    pub const fn meaning(self) -> Option<&'static str> {
        match self {
            Self::SetAside => {
                Some("the share of all samples during which a block device had a request in flight")
            }
            Self::Serving => Some(
                "the share of these samples' cell that came due while an interrupt or a softirq was being served",
            ),
            Self::Expected => {
                Some("frames a second that the ticks alone would have left, by the closed form")
            }
            Self::Overhead => Some(
                "the share of the time that was not the work itself: by which the average exceeds the least",
            ),
            Self::BilledByKernel => {
                Some("what the kernel's own ticks billed over the time that was used")
            }
            Self::MissedByKernel => Some(
                "the share of the effective quanta into which none of the kernel's own ticks fell",
            ),
            Self::TickCost => Some("what was not the work itself, for each tick of the kernel"),
            _ => None,
        }
    }
}

impl Kind {
    /// A number of this kind as it is told.
    pub fn written(self, value: f64) -> String {
        match self {
            Self::Share => format!("{:.1}{THIN_SPACE}%", value * 100.0),
            Self::Count => format::count(value as u64),
            // Of what is many digits are not worth telling behind the point.
            Self::PerSecond if value >= 1e4 => format::count(value.round() as u64),
            Self::PerSecond => format!("{value:.2}"),
            Self::Ratio => ratio(value),
            Self::Length => format::latency(format::rounded_nanos(value)),
        }
    }
}

/// A ratio with as many digits as are worth telling.
fn ratio(ratio: f64) -> String {
    match ratio {
        ..10.0 => format!("{ratio:.2}"),
        10.0..1000.0 => format!("{ratio:.0}"),
        _ => format::count(ratio.round() as u64),
    }
}

impl Paper {
    /// Who wrote what, where and when.
    pub fn citation(&self) -> String {
        format!("{}, {} ({})", self.authors, self.title, self.published)
    }
}

impl PaperTable {
    /// What stands over the table.
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
    /// What became of a claim, in a word or two.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::NotHeld => "not held",
            Self::NotTestable { .. } => "not testable",
        }
    }
}

impl Judged<'_> {
    /// The numbers that decided the claim, or why there are none.
    pub fn grounds(&self) -> String {
        let demand = self.claim.holds.demand();
        if let Outcome::NotTestable { reason } = &self.outcome {
            return format!("{}.", capitalised(reason));
        }
        if let Some(Beside { paper: Some(paper), here: Some(here) }) = self.ratio {
            return format!(
                "{} here, {} in the paper; demanded is {demand}.",
                ratio(here),
                ratio(paper)
            );
        }
        let list = |of: fn(&Beside) -> Option<f64>| -> String {
            let told = self.figures.iter().map(|one| one.statistic.written(of(&one.beside)));
            told.collect::<Vec<_>>().join(", ")
        };
        format!(
            "{} here, {} in the paper; demanded is {demand}.",
            list(|beside| beside.here),
            list(|beside| beside.paper)
        )
    }
}

/// How many of these claims came to what.
pub fn tally<'j, 'a: 'j>(claims: impl IntoIterator<Item = &'j Judged<'a>>) -> String {
    let (mut held, mut not_held, mut not_testable) = (0, 0, 0);
    for judged in claims {
        match judged.outcome {
            Outcome::Held => held += 1,
            Outcome::NotHeld => not_held += 1,
            Outcome::NotTestable { .. } => not_testable += 1,
        }
    }
    format!("{held} held, {not_held} not held, {not_testable} not testable here")
}

/// A claim that kernels were held against.
#[derive(Clone, Debug)]
pub struct ClaimAcross<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What became of it, the same for several kernels told once.
    pub became: Vec<Became>,
}

/// What became of a claim in some kernels, or in some pairs of them.
#[derive(Clone, Debug)]
pub struct Became {
    /// The outcome, in a word or two.
    pub outcome: &'static str,
    /// The kernels; empty for a claim that names no figure.
    pub kernels: String,
    /// The numbers that decided it, or why there are none.
    pub grounds: String,
}

impl Became {
    /// In which kernels it became so, and why.
    pub fn told(&self) -> String {
        match self.kernels.as_str() {
            "" => self.grounds.clone(),
            kernels => format!("{kernels}: {}", self.grounds),
        }
    }
}

impl<'a> Across<'a> {
    /// The claims by kernels.
    pub fn claims_told(&self) -> Vec<ClaimAcross<'a>> {
        let mut claims: Vec<ClaimAcross<'_>> = Vec::new();
        for found in &self.claims {
            let became = Became {
                outcome: found.judged.outcome.word(),
                kernels: found.kernels.join(" against "),
                grounds: found.judged.grounds(),
            };
            let claim = found.judged.claim;
            match claims.last_mut() {
                Some(last) if std::ptr::eq(last.claim, claim) => put(&mut last.became, became),
                _ => claims.push(ClaimAcross { claim, became: vec![became] }),
            }
        }
        claims
    }
}

fn put(told: &mut Vec<Became>, became: Became) {
    let same =
        |known: &&mut Became| (known.outcome, &known.grounds) == (became.outcome, &became.grounds);
    match told.iter_mut().find(same) {
        Some(known) => {
            known.kernels.push_str(", ");
            known.kernels.push_str(&became.kernels);
        }
        None => told.push(became),
    }
}

impl Compared {
    /// What stands over a table of these: which figures its entries are.
    pub fn head(&self) -> String {
        let told: Vec<String> = self.statistics.iter().map(|statistic| statistic.head()).collect();
        capitalised(&format!("{}: {}", self.measure, told.join(" / ")))
    }
}

impl View<'_> {
    /// What the graph in several kernels is called: by its cell, and by the graph where several
    /// may show that; by the graph alone where it shows all cells.
    pub fn title_across(&self) -> String {
        let cell = self.rows.first().map_or("", |row| row.cell);
        match self.graph.draw {
            Draw::Percentiles { .. } | Draw::Quanta => cell.to_owned(),
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
    /// The tables that this machine is not set beside, together where the reason is the same.
    pub fn not_beside(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Vec<&TableFound<'_>>)> = Vec::new();
        for table in &self.tables {
            let Some(reason) = table.not_here.as_deref() else { continue };
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, tables)) => tables.push(table),
                None => reasons.push((reason, vec![table])),
            }
        }
        let told = reasons.into_iter().map(|(reason, tables)| {
            let names: Vec<&str> = tables.iter().map(|table| table.table.name.as_str()).collect();
            format!("Not set beside {}: {reason}.", names.join(", "))
        });
        told.collect()
    }
}

/// A text that begins with a capital letter.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}", first.unwrap_or_default(), letters.as_str())
}
