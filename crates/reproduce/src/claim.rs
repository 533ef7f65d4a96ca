//! Claims of a paper, and their outcomes.
//!
//! A claim is about shape, not about size: that a figure is a few times another, that figures
//! grow along loads, that a share stays below a limit. It names figures of the paper's tables.
//! For the paper's own figures it must hold, which a test checks; for this machine's figures
//! it is held, not held, undecided, or not testable here.

use serde::{Deserialize, Serialize};
use tactus_model::format::{self, THIN_SPACE};
use tactus_model::time::Nanos;

use crate::condition::{Aspect, Condition, Need, lacking, unmet};
use crate::interval::{Interval, Place};
use crate::paper::{FigureOf, Part};
use crate::quantity::{Kind, Statistic};
use crate::{Beside, Figure, StudyRun};

/// A conclusion of a paper.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The claim, in a sentence.
    pub text: String,
    /// Its place in the paper, or that of its figures.
    pub place: String,
    /// The conditions of the tables that do not apply to the claim.
    #[serde(default, skip_serializing)]
    pub whatever: Vec<Aspect>,
    /// The features it needs, which a guest may lack.
    #[serde(default, skip_serializing)]
    pub needs: Vec<Need>,
    /// The same figure without the load, for a claim about what a load does.
    ///
    /// A busy machine may do the same without it. So the claim is decided only if this figure does
    /// not meet the condition, and those of the claim are above it in every round.
    #[serde(default, skip_serializing)]
    pub without: Option<FigureOf>,
    /// The condition on the figures.
    #[serde(skip_serializing)]
    pub holds: Holds,
}

/// A condition on figures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Holds {
    /// The ratio of two figures lies between limits, both excluded.
    Ratio {
        /// The numerator.
        figure: FigureOf,
        /// The denominator.
        to: FigureOf,
        /// The lower limit.
        above: Option<f64>,
        /// The upper limit.
        below: Option<f64>,
    },
    /// Each figure is at least the previous one, less a share of `slack`.
    Rises {
        /// The figures, in rising order.
        figures: Vec<FigureOf>,
        /// The share by which a figure may be below the previous one; 0 for none.
        #[serde(default)]
        slack: f64,
    },
    /// No figure exceeds the limit, in the base unit: nanoseconds for durations.
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
    /// For shares and ratios, which do not depend on the speed of a machine.
    AsPublished {
        /// The figures.
        figures: Vec<FigureOf>,
        /// The greatest difference.
        apart: f64,
    },
    /// In every round, the figure differs from another by an amount between limits, both
    /// excluded.
    ///
    /// The cells of a round are measured close together, so what else the machine does affects
    /// both. In `n` rounds, a figure that does not differ is above another every time with a
    /// probability of 2^-n.
    Difference {
        /// The figure.
        figure: FigureOf,
        /// What is subtracted from it.
        from: FigureOf,
        /// The lower limit, in the base unit.
        above: Option<f64>,
        /// The upper limit, in the base unit.
        below: Option<f64>,
    },
    /// The claim cannot be tested by any experiment here.
    Elsewhere {
        /// What a test would need, in a sentence.
        needs: String,
    },
}

impl Holds {
    /// The figures of the condition.
    pub fn figures(&self) -> Vec<&FigureOf> {
        match self {
            Self::Ratio { figure, to, .. } => vec![figure, to],
            Self::Difference { figure, from, .. } => vec![figure, from],
            Self::Rises { figures, .. }
            | Self::AtMost { figures, .. }
            | Self::AtLeast { figures, .. }
            | Self::AsPublished { figures, .. } => figures.iter().collect(),
            Self::Elsewhere { .. } => Vec::new(),
        }
    }

    /// Whether it holds for `values`, one for each of [`Self::figures`]. `published` are the
    /// paper's own values.
    ///
    /// A ratio with denominator 0 never holds.
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
            Self::Difference { .. } => {
                matches!(values, [figure, from] if self.is_apart(figure - from))
            }
            Self::Elsewhere { .. } => false,
        }
    }

    /// Whether a difference lies between the limits.
    fn is_apart(&self, apart: f64) -> bool {
        let Self::Difference { above, below, .. } = self else { return false };
        above.is_none_or(|above| apart > above) && below.is_none_or(|below| apart < below)
    }

    /// Whether it compares with the paper's own numbers.
    pub(crate) const fn needs_published(&self) -> bool {
        matches!(self, Self::AsPublished { .. })
    }

    /// The condition in words, to follow a colon.
    pub fn requirement(&self) -> String {
        match self {
            Self::Ratio { above: Some(above), below: Some(below), .. } => {
                format!("a ratio between {above} and {below}")
            }
            Self::Ratio { above: Some(above), below: None, .. } => format!("a ratio above {above}"),
            Self::Ratio { above: None, below: Some(below), .. } => format!("a ratio below {below}"),
            Self::Ratio { above: None, below: None, .. } => "any ratio".to_owned(),
            Self::Rises { slack: 0.0, .. } => "rising".to_owned(),
            Self::Rises { slack, .. } => {
                format!("rising, with falls of at most {}", percentage(*slack))
            }
            Self::AtMost { limit, figures } => format!("at most {}", written(figures, *limit)),
            Self::AtLeast { limit, figures } => format!("at least {}", written(figures, *limit)),
            Self::AsPublished { apart, figures } => {
                format!("no more than {} from the paper's", written(figures, *apart))
            }
            Self::Difference { figure, above, below, .. } => {
                let limit = |limit: &f64| written(std::slice::from_ref(figure), *limit);
                let limits = [
                    above.as_ref().map(|above| format!("above {}", limit(above))),
                    below.as_ref().map(|below| format!("below {}", limit(below))),
                ];
                let limits: Vec<String> = limits.into_iter().flatten().collect();
                format!("in every round, a difference {}", limits.join(" and "))
            }
            Self::Elsewhere { needs } => needs.clone(),
        }
    }

    /// The ratio of these values, if the condition is about a ratio.
    fn deciding(&self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Ratio { .. } => ratio(values),
            _ => None,
        }
    }
}

/// A limit, in the form of its figures.
fn written(figures: &[FigureOf], limit: f64) -> String {
    match figures.first().map(|figure| figure.statistic.kind()) {
        Some(Kind::Length) => format::axis_length(Nanos::from_nanos(limit.round() as u64)),
        Some(Kind::Share) => percentage(limit),
        Some(Kind::PerSecond) => format!("{limit}/s"),
        Some(Kind::ByteRate) => format::byte_rate(limit),
        Some(Kind::Count | Kind::Ratio) | None => limit.to_string(),
    }
}

fn percentage(share: f64) -> String {
    format!("{}{THIN_SPACE}%", (share * 1e4).round() / 100.0)
}

fn ratio(values: &[f64]) -> Option<f64> {
    match values {
        [figure, to] if *to != 0.0 => Some(figure / to),
        _ => None,
    }
}

/// A claim with its outcome.
#[derive(Clone, Debug, Serialize)]
pub struct Judged<'a> {
    /// The claim.
    #[serde(flatten)]
    pub claim: &'a Claim,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The deciding figures, with this machine's if the claim was tested.
    pub figures: Vec<Figure>,
    /// Their difference in each round, for a claim about differences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<f64>,
    /// Their ratio, for a claim about a ratio.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Beside>,
    /// The interval of this machine's ratio, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_interval: Option<Interval>,
    /// The interval of each of this machine's figures, for a claim about limits; `None` for one whose
    /// interval is unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Option<Interval>>,
}

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds here.
    Held,
    /// It does not hold here.
    NotHeld,
    /// The interval of the deciding figures reaches across a limit: more rounds may decide it.
    Undecided,
    /// It could not be tested here.
    NotTestable {
        /// The reason, in a sentence.
        reason: String,
    },
}

impl Claim {
    /// The condition on a machine for one of the claim's figures.
    pub(super) fn condition(&self, figure: &FigureOf, part: &Part) -> Condition {
        let table = part.table(&figure.table);
        table.map_or_else(Condition::default, |table| table.requires.without(&self.whatever))
    }
}

/// Judges a claim of `part` by the figures of one machine.
pub fn judge<'a>(claim: &'a Claim, part: &Part, study: Option<&StudyRun<'_>>) -> Judged<'a> {
    let each = study.map(|study| vec![study; claim.holds.figures().len()]);
    judge_each(claim, part, each.as_deref())
}

/// Judges a claim of `part`, each figure on its own machine.
pub(super) fn judge_each<'a>(
    claim: &'a Claim,
    part: &Part,
    studies: Option<&[&StudyRun<'_>]>,
) -> Judged<'a> {
    let named = claim.holds.figures();
    // The paper's parser checked that every figure exists.
    let published: Vec<Option<f64>> =
        named.iter().map(|figure| part.published(figure).ok().flatten()).collect();
    let known: Vec<f64> = published.iter().copied().flatten().collect();
    let here: Result<Vec<f64>, String> = match (&claim.holds, studies) {
        (Holds::Elsewhere { needs }, _) => Err(needs.clone()),
        (_, None) => Err("it was not measured".to_owned()),
        (_, Some(studies)) => named
            .iter()
            .zip(studies)
            .map(|(figure, study)| measured(figure, claim, part, study))
            .collect(),
    };
    let differences = differences(&claim.holds, part, studies);
    let holds = |here: &[f64]| match (&claim.holds, differences.as_slice()) {
        (Holds::Difference { .. }, rounds @ [_, ..]) => {
            rounds.iter().all(|apart| claim.holds.is_apart(*apart))
        }
        _ => claim.holds.of(here, &known),
    };
    let certainty = match (&here, studies) {
        (Ok(here), Some(studies)) => Certainty::of(&claim.holds, part, studies, here),
        _ => Certainty::default(),
    };
    let (outcome, here) = match here {
        Err(reason) => (Outcome::NotTestable { reason }, Vec::new()),
        Ok(here) if certainty.is_across(&claim.holds, &here) => (Outcome::Undecided, here),
        Ok(here) if holds(&here) => {
            match studies.and_then(|studies| not_by_the_load(claim, part, studies)) {
                Some(reason) => (Outcome::NotTestable { reason }, Vec::new()),
                None => (Outcome::Held, here),
            }
        }
        Ok(here) => (Outcome::NotHeld, here),
    };
    let ratio = Beside { paper: claim.holds.deciding(&known), here: claim.holds.deciding(&here) };
    let ratio = (ratio.paper.is_some() || ratio.here.is_some()).then_some(ratio);
    let figures = named.iter().enumerate().map(|(place, figure)| Figure {
        statistic: figure.statistic,
        beside: Beside {
            paper: published.get(place).copied().flatten(),
            here: here.get(place).copied(),
        },
    });
    let Certainty { ratio: ratio_interval, figures: intervals } = certainty;
    let figures = figures.collect();
    Judged { claim, outcome, figures, differences, ratio, ratio_interval, intervals }
}

/// The intervals of what decides a claim.
#[derive(Default)]
struct Certainty {
    ratio: Option<Interval>,
    /// Empty for a claim that is not about limits.
    figures: Vec<Option<Interval>>,
}

impl Certainty {
    fn of(holds: &Holds, part: &Part, studies: &[&StudyRun<'_>], here: &[f64]) -> Self {
        match (holds, studies, here) {
            (Holds::Ratio { figure, to, .. }, [of_figure, of_to], [value, to_value]) => {
                let (figure, to) = ((figure, *of_figure, *value), (to, *of_to, *to_value));
                Self { ratio: ratio_interval(part, figure, to), ..Self::default() }
            }
            (Holds::AtMost { figures, .. } | Holds::AtLeast { figures, .. }, studies, _) => {
                let each = figures.iter().zip(studies);
                let figures = each.map(|(figure, study)| interval(part, figure, study)).collect();
                Self { figures, ..Self::default() }
            }
            _ => Self::default(),
        }
    }

    /// Whether the claim cannot be decided: an interval reaches across a limit, and no figure is
    /// beyond it for certain.
    fn is_across(&self, holds: &Holds, here: &[f64]) -> bool {
        let (above, below) = match holds {
            Holds::Ratio { above, below, .. } => (*above, *below),
            Holds::AtMost { limit, .. } => (None, Some(*limit)),
            Holds::AtLeast { limit, .. } => (Some(*limit), None),
            _ => return false,
        };
        let all = self.ratio.map_or_else(|| self.figures.clone(), |ratio| vec![Some(ratio)]);
        let places: Vec<Place> = all
            .iter()
            .zip(here)
            .map(|(interval, value)| {
                let point = Interval { low: *value, high: *value };
                interval.unwrap_or(point).place(above, below)
            })
            .collect();
        places.contains(&Place::Across) && !places.contains(&Place::Outside)
    }
}

/// The interval of a figure: as its source states it, or over the rounds.
fn interval(part: &Part, figure: &FigureOf, study: &StudyRun<'_>) -> Option<Interval> {
    let transfers = part.table(&figure.table)?.transfers;
    study.measured.interval(figure.measure, transfers, &figure.cell, figure.statistic)
}

/// The interval of the ratio of two figures, each on its machine: of the ratios in each round, whose
/// cells were measured close together, or by the intervals of both.
fn ratio_interval(
    part: &Part,
    (figure, of_figure, value): (&FigureOf, &StudyRun<'_>, f64),
    (to, of_to, to_value): (&FigureOf, &StudyRun<'_>, f64),
) -> Option<Interval> {
    let is_of_the_middle = [figure, to].iter().all(|one| one.statistic.is_of_the_middle());
    let ratios: Vec<f64> = match is_of_the_middle {
        true => pairs(part, (figure, of_figure), (to, of_to))
            .filter(|(_, to)| *to != 0.0)
            .map(|(figure, to)| figure / to)
            .collect(),
        false => Vec::new(),
    };
    Interval::of_rounds(&ratios).or_else(|| {
        let of = interval(part, figure, of_figure)?;
        Interval::of_ratio((value, of), (to_value, interval(part, to, of_to)?))
    })
}

/// Why the figures of a claim about a load, which hold, do not show what the load does; `None` if they
/// do, or if the claim is not about a load.
fn not_by_the_load(claim: &Claim, part: &Part, studies: &[&StudyRun<'_>]) -> Option<String> {
    let without = claim.without.as_ref()?;
    let figures = claim.holds.figures();
    figures.into_iter().zip(studies).find_map(|(figure, study)| {
        let base = match measured(without, claim, part, study) {
            Ok(base) => base,
            Err(reason) => {
                return Some(format!("cannot be judged without {}: {reason}", without.cell));
            }
        };
        let loaded = measured(figure, claim, part, study).ok()?;
        let rounds = rounds_apart(part, (figure, study), (without, study));
        let is_worse = match rounds.as_slice() {
            [] => loaded > base,
            rounds => rounds.iter().all(|apart| *apart > 0.0),
        };
        let is_same = !is_worse || claim.holds.of(&[base], &[]);
        is_same.then(|| {
            let written = |value| figure.statistic.written(Some(value));
            format!(
                "cannot be judged: {} already without the load ({}), {} with it ({})",
                written(base),
                without.cell,
                written(loaded),
                figure.cell
            )
        })
    })
}

/// The difference of the figures in each round, for a claim about differences.
fn differences(holds: &Holds, part: &Part, studies: Option<&[&StudyRun<'_>]>) -> Vec<f64> {
    let (Holds::Difference { figure, from, .. }, Some([of_figure, of_from])) = (holds, studies)
    else {
        return Vec::new();
    };
    rounds_apart(part, (figure, of_figure), (from, of_from))
}

/// The difference of two figures, each on its machine, in each round that has both.
fn rounds_apart(
    part: &Part,
    (figure, of_figure): (&FigureOf, &StudyRun<'_>),
    (from, of_from): (&FigureOf, &StudyRun<'_>),
) -> Vec<f64> {
    pairs(part, (figure, of_figure), (from, of_from)).map(|(figure, from)| figure - from).collect()
}

/// Two figures, each on its machine, in each round that has both.
fn pairs(
    part: &Part,
    (figure, of_figure): (&FigureOf, &StudyRun<'_>),
    (other, of_other): (&FigureOf, &StudyRun<'_>),
) -> impl Iterator<Item = (f64, f64)> {
    let in_round = move |figure: &FigureOf, study: &StudyRun<'_>, round: usize| {
        let transfers = part.table(&figure.table)?.transfers;
        study.measured.figure_in(round, figure.measure, transfers, &figure.cell, figure.statistic)
    };
    let rounds = of_figure.measured.rounds().min(of_other.measured.rounds());
    (0..rounds).filter_map(move |round| {
        Some((in_round(figure, of_figure, round)?, in_round(other, of_other, round)?))
    })
}

/// A machine's value of a figure, or the reason for its absence.
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
    let cells = part.cells_in(study.guest.is_some());
    if part.cells.contains_key(cell) && !cells.contains_key(cell) {
        return Err(format!("{cell} is not measured in guests"));
    }
    if let Some(reason) = study.measured.withheld(cell) {
        return Err(format!("{cell}: {reason}"));
    }
    let samples = of(Statistic::Samples).unwrap_or_default();
    if samples < part.samples as f64 {
        return Err(format!(
            "{measure} in {cell} has {samples} samples, and {} are needed",
            part.samples
        ));
    }
    let is_percentile = matches!(statistic, Statistic::Percentile(_));
    of(*statistic).ok_or_else(|| match is_percentile {
        true => format!("{measure} in {cell} has {samples} samples, too few for its {statistic}"),
        false => format!("no {} of {measure} in {cell} was measured", statistic.head()),
    })
}
