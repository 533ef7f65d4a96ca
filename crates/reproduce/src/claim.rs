//! Claims of a paper, and what becomes of them.
//!
//! A claim is about shape, not about size: that one figure is a few times another,
//! that figures grow along loads, that a share stays below a limit. It names
//! figures of the paper's tables. Judged on the paper's own figures it must hold,
//! which a test makes sure of; judged on this machine's it is held, not held, or
//! not testable here.

use serde::{Deserialize, Serialize};
use tactus_model::format::{self, THIN_SPACE};
use tactus_model::time::Nanos;

use crate::condition::{Aspect, Condition, Need, lacking, unmet};
use crate::paper::{FigureOf, Part};
use crate::quantity::{Kind, Statistic};
use crate::{Beside, Figure, StudyRun};

/// What a paper concludes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim, in a sentence.
    pub text: String,
    /// Where in the paper it stands or can be seen.
    pub place: String,
    /// What of the tables' conditions it is independent of, as the paper has it.
    #[serde(default, skip_serializing)]
    pub whatever: Vec<Aspect>,
    /// What it is about and a guest may not have.
    #[serde(default, skip_serializing)]
    pub needs: Vec<Need>,
    /// What must hold.
    #[serde(skip_serializing)]
    pub holds: Holds,
}

/// What must hold of figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Holds {
    /// One figure over another lies between limits, both excluded.
    Ratio {
        /// The figure.
        figure: FigureOf,
        /// What it is divided by.
        to: FigureOf,
        /// The ratio is greater.
        above: Option<f64>,
        /// The ratio is less.
        below: Option<f64>,
    },
    /// Each figure is greater than the one before, or less by no more than `slack`.
    Rises {
        /// The figures, in the order in which they rise.
        figures: Vec<FigureOf>,
        /// By which share a figure may lie below the one before it; 0 for not at all.
        #[serde(default)]
        slack: f64,
    },
    /// No figure exceeds the limit, in the base unit: nanoseconds for lengths.
    AtMost {
        /// The figures.
        figures: Vec<FigureOf>,
        /// The limit.
        limit: f64,
    },
    /// No figure is below the limit, in the base unit.
    AtLeast {
        /// The figures.
        figures: Vec<FigureOf>,
        /// The limit.
        limit: f64,
    },
    /// No figure differs from the paper's own by more than `apart`.
    ///
    /// For shares and ratios, which do not depend on how fast a machine is.
    AsPublished {
        /// The figures.
        figures: Vec<FigureOf>,
        /// The greatest difference.
        apart: f64,
    },
    /// It takes something that no experiment here varies.
    Elsewhere {
        /// What it takes, in a sentence.
        needs: String,
    },
}

impl Holds {
    /// The figures it is about.
    pub fn figures(&self) -> Vec<&FigureOf> {
        match self {
            Self::Ratio { figure, to, .. } => vec![figure, to],
            Self::Rises { figures, .. }
            | Self::AtMost { figures, .. }
            | Self::AtLeast { figures, .. }
            | Self::AsPublished { figures, .. } => figures.iter().collect(),
            Self::Elsewhere { .. } => Vec::new(),
        }
    }

    /// Whether it holds of `values`, which are one for each of [`Self::figures`];
    /// `published` are the paper's own.
    ///
    /// A ratio to nothing holds of nothing.
    pub fn of(&self, values: &[f64], published: &[f64]) -> bool {
        match self {
            Self::Ratio { above, below, .. } => ratio(values).is_some_and(|ratio| {
                above.is_none_or(|above| ratio > above) && below.is_none_or(|below| ratio < below)
            }),
            Self::Rises { slack, .. } => {
                values.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - slack))
            }
            Self::AtMost { limit, .. } => values.iter().all(|value| value <= limit),
            Self::AtLeast { limit, .. } => values.iter().all(|value| value >= limit),
            Self::AsPublished { apart, .. } => values
                .iter()
                .zip(published)
                .all(|(value, published)| (value - published).abs() <= *apart),
            Self::Elsewhere { .. } => false,
        }
    }

    /// What is demanded of the figures, in words that follow a colon.
    pub fn demand(&self) -> String {
        match self {
            Self::Ratio { above: Some(above), below: Some(below), .. } => {
                format!("a ratio between {above} and {below}")
            }
            Self::Ratio { above: Some(above), below: None, .. } => format!("a ratio above {above}"),
            Self::Ratio { above: None, below: Some(below), .. } => format!("a ratio below {below}"),
            Self::Ratio { above: None, below: None, .. } => "any ratio".to_owned(),
            Self::Rises { slack: 0.0, .. } => "rising".to_owned(),
            Self::Rises { slack, .. } => format!("rising, or falling by {slack} of itself at most"),
            Self::AtMost { limit, figures } => format!("at most {}", told(figures, *limit)),
            Self::AtLeast { limit, figures } => format!("at least {}", told(figures, *limit)),
            Self::AsPublished { apart, figures } => {
                format!("no more than {} from the paper's", told(figures, *apart))
            }
            Self::Elsewhere { needs } => needs.clone(),
        }
    }

    /// What of these values decides, where that is a single number: the ratio.
    fn deciding(&self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Ratio { .. } => ratio(values),
            _ => None,
        }
    }
}

/// A limit as its figures are told.
fn told(figures: &[FigureOf], limit: f64) -> String {
    match figures.first().map(|figure| figure.statistic.kind()) {
        Some(Kind::Length) => format::axis_length(Nanos::from_nanos(limit.round() as u64)),
        Some(Kind::Share) => format!("{}{THIN_SPACE}%", (limit * 1e4).round() / 100.0),
        Some(Kind::PerSecond) => format!("{limit}/s"),
        Some(Kind::Count | Kind::Ratio) | None => limit.to_string(),
    }
}

fn ratio(values: &[f64]) -> Option<f64> {
    match values {
        [figure, to] if *to != 0.0 => Some(figure / to),
        _ => None,
    }
}

/// A claim that was judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judged<'a> {
    /// The claim.
    #[serde(flatten)]
    pub claim: &'a Claim,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The figures that decide; this machine's where it was tested.
    pub figures: Vec<Figure>,
    /// Their ratio, for a claim about a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Beside>,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds here.
    Held,
    /// It does not hold here.
    NotHeld,
    /// It could not be tested here.
    NotTestable {
        /// Why, in a sentence.
        reason: String,
    },
}

impl Claim {
    /// What a machine must be like to give one of its figures.
    pub(super) fn condition(&self, figure: &FigureOf, part: &Part) -> Condition {
        let table = part.table(&figure.table);
        table.map_or_else(Condition::default, |table| table.requires.without(&self.whatever))
    }
}

/// Judges a claim of `part` on what was measured on one machine.
pub fn judge<'a>(claim: &'a Claim, part: &Part, study: Option<&StudyRun<'_>>) -> Judged<'a> {
    let each = study.map(|study| vec![study; claim.holds.figures().len()]);
    judge_each(claim, part, each.as_deref())
}

/// Judges a claim of `part` whose figures come each from a machine of its own.
pub(super) fn judge_each<'a>(
    claim: &'a Claim,
    part: &Part,
    studies: Option<&[&StudyRun<'_>]>,
) -> Judged<'a> {
    let named = claim.holds.figures();
    // Reading the paper made sure that every figure is there.
    let published: Vec<f64> =
        named.iter().filter_map(|figure| part.published(figure).ok()).collect();
    let here: Result<Vec<f64>, String> = match (&claim.holds, studies) {
        (Holds::Elsewhere { needs }, _) => Err(needs.clone()),
        (_, None) => Err("it was not measured".to_owned()),
        (_, Some(studies)) => named
            .iter()
            .zip(studies)
            .map(|(figure, study)| measured(figure, claim, part, study))
            .collect(),
    };
    let (outcome, here) = match here {
        Err(reason) => (Outcome::NotTestable { reason }, Vec::new()),
        Ok(here) if claim.holds.of(&here, &published) => (Outcome::Held, here),
        Ok(here) => (Outcome::NotHeld, here),
    };
    let ratio = claim
        .holds
        .deciding(&published)
        .map(|paper| Beside { paper: Some(paper), here: claim.holds.deciding(&here) });
    let figures = named.iter().enumerate().map(|(place, figure)| Figure {
        statistic: figure.statistic,
        beside: Beside { paper: published.get(place).copied(), here: here.get(place).copied() },
    });
    Judged { claim, outcome, figures: figures.collect(), ratio }
}

/// A machine's value of a figure, or why it has none.
fn measured(
    figure: &FigureOf,
    claim: &Claim,
    part: &Part,
    study: &StudyRun<'_>,
) -> Result<f64, String> {
    let FigureOf { measure, cell, statistic, .. } = figure;
    let table = part
        .table(&figure.table)
        .ok_or_else(|| format!("no table is called `{}`", figure.table))?;
    let guest = study.guest.as_ref().map(|guest| guest.guest);
    let refused = lacking(&claim.needs, guest, study.facts)
        .or_else(|| unmet(&claim.condition(figure, part), study.facts));
    if let Some(reason) = refused {
        return Err(reason);
    }
    let of =
        |statistic: Statistic| study.measured.figure(*measure, table.transfers, cell, statistic);
    if let Some(reason) = study.measured.withheld(cell) {
        return Err(format!("{cell}: {reason}"));
    }
    let samples = of(Statistic::Samples).unwrap_or_default();
    if samples < part.samples as f64 {
        return Err(format!(
            "it takes {} samples of {measure} at {cell}, and there are {samples}",
            part.samples
        ));
    }
    of(*statistic).ok_or_else(|| format!("no {statistic} of {measure} at {cell} was measured"))
}
