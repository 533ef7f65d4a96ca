//! The published figures of a paper, read from its data file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tactus_explain::account::TickRate;
use tactus_model::cell::Cell;
use tactus_model::interrupted::Dirt;
use tactus_model::kernel::GuestKernel;
use tactus_model::settings::{self, Layer};
use tactus_stats::PercentileAxis;

use crate::claim::Claim;
use crate::condition::{Condition, Need};
use crate::quantity::{Measure, Statistic, Transfers, Unit};

/// A paper: its citation, and the parts that can be measured again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name for `tactus reproduce`.
    pub name: String,
    /// The authors.
    pub authors: String,
    /// Its title.
    pub title: String,
    /// Where and when it appeared.
    pub published: String,
    /// The machine of its measurements.
    pub machine: String,
    /// Its parts, each with an experiment.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

/// A part of a paper that one experiment measures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The shipped experiment that measures it, or the shipped pipeline.
    pub experiment: String,
    /// Whether it is a pipeline, whose frames are predicted from measured operations and then
    /// measured, on this machine only. Its cells are those of [`pipeline`](crate::pipeline).
    #[serde(default)]
    pub pipeline: bool,
    /// What is measured and how it differs from the paper, in sentences.
    pub about: String,
    /// The minimum number of samples to judge a claim.
    #[serde(default)]
    pub samples: u64,
    /// The short form of the experiment.
    pub quick: Quick,
    /// The paper's names of cells, each with the settings that distinguish it.
    pub cells: BTreeMap<String, BTreeMap<String, String>>,
    /// Cells that are not measured but predicted: the shipped pipeline of each, whose operations the
    /// experiment measures. On this machine only.
    #[serde(default)]
    pub predicts: BTreeMap<String, String>,
    /// How it is measured in guest kernels, if different.
    pub guests: Option<GuestForm>,
    /// The paper's names of programs, each with the cell that it ran in.
    #[serde(default)]
    pub programs: BTreeMap<String, Program>,
    /// The graphs of the results.
    #[serde(default, rename = "graph")]
    pub graphs: Vec<Graph>,
    /// The paper's tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<PaperTable>,
    /// The paper's conclusions from them.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// The differences of the short form of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// The number of measurements of each cell.
    pub rounds: u32,
    /// Settings that replace the experiment's own.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// How a part is measured in guest kernels; `None` is the same as on a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestForm {
    /// What is measured there and how it differs from the paper, in sentences.
    pub about: Option<String>,
    /// The shipped experiment that measures it there.
    pub experiment: Option<String>,
    /// The short form of that experiment.
    pub quick: Option<Quick>,
    /// The cells, by the names of [`Part::cells`].
    pub cells: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// A program of a cell, for accounts of CPU time.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The cell.
    pub cell: String,
    /// Its name in recordings; `idle` for no program.
    pub name: String,
}

/// A graph: the series that are drawn together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// The title.
    pub title: String,
    /// The corresponding figures of the paper.
    pub place: String,
    /// How it is drawn.
    pub draw: Draw,
    /// The measures, a panel each.
    pub measures: Vec<Measure>,
    /// The choices of samples, a panel each.
    #[serde(default = "all_samples")]
    pub transfers: Vec<Transfers>,
    /// The cells or programs, a curve each.
    pub cells: Vec<String>,
    /// The statistics of each; if empty, those of the measure.
    #[serde(default)]
    pub columns: Vec<Statistic>,
    /// The features it needs; the graph is omitted for a kernel that lacks one.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Durations over percentiles, a curve for each cell.
    Percentiles {
        /// The horizontal axis.
        axis: PercentileAxis,
    },
    /// The number of samples by duration, a strip for each cell, the worst case marked.
    Densities,
    /// Frames a second, achieved over desired, with the closed form.
    Players,
    /// The distribution of effective quanta, a curve for each program.
    Quanta,
    /// The CPU time that a task used over time, a panel for each cell.
    Use,
    /// Nothing but a table of the figures.
    Figures,
    /// Ticks billed over the length of each effective quantum, a panel for each program.
    Billing {
        /// The rate of the ticks simulated on the recording; `None` for the kernel's own ticks.
        rate: Option<TickRate>,
    },
}

fn all_samples() -> Vec<Transfers> {
    vec![Transfers::Included]
}

/// A table of the paper.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperTable {
    /// Its name in the paper.
    pub name: String,
    /// The figure drawn from it, or its place in the paper.
    pub place: String,
    /// Its title.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Statistic>,
    /// The unit of all its figures.
    pub unit: Unit,
    /// The choice of samples.
    #[serde(default)]
    pub transfers: Transfers,
    /// The conditions on a machine to be compared with it.
    #[serde(default)]
    pub requires: Condition,
    /// The features it needs, which a guest may lack.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Its rows, grouped by measure.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
}

/// Rows of one measure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The measure.
    pub measure: Measure,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The cell or the program, by the paper's name.
    pub cell: String,
    /// Its figures, one for each column.
    pub figures: Vec<Published>,
}

/// A number of a table, or `"-"` if the paper has none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// A number.
    Number(f64),
    /// The mark of a missing one.
    Mark(String),
}

impl Published {
    /// The number, if there is one.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Mark(_) => None,
        }
    }
}

/// A reference to a figure of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureOf {
    /// The table.
    pub table: String,
    /// Its group.
    pub measure: Measure,
    /// Its row.
    pub cell: String,
    /// Its column.
    pub statistic: Statistic,
}

/// Why a data file is not a paper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPaper {
    /// It is not TOML of the expected form.
    #[error("{0}")]
    Form(String),
    /// It refers to an item that it does not have.
    #[error("part `{part}`: {what}")]
    Content {
        /// The part.
        part: String,
        /// The error, in a sentence.
        what: String,
    },
}

impl Paper {
    /// Reads a data file and checks that all items it refers to exist.
    ///
    /// # Errors
    /// The form is wrong, or a table, cell or setting does not exist.
    pub fn parse(text: &str) -> Result<Self, BadPaper> {
        let paper: Self =
            toml::from_str(text).map_err(|error| BadPaper::Form(error.to_string()))?;
        for part in &paper.parts {
            part.check().map_err(|what| BadPaper::Content { part: part.name.clone(), what })?;
        }
        Ok(paper)
    }
}

impl Part {
    /// The cell of a plan with the settings of the paper's cell `name`, in a guest of this
    /// kernel or on the host; `None` if there is no such cell. A cell with random dirt contains
    /// samples of every kind of dirt.
    pub fn cell_of(
        &self,
        name: &str,
        kernel: Option<&GuestKernel>,
        cells: &[Cell],
    ) -> Option<usize> {
        if self.predicts.contains_key(name) {
            return None;
        }
        let wanted = self.cells_in(kernel.is_some()).get(name)?;
        cells.iter().position(|cell| {
            let is_there = cell.target.guest().map(|guest| &guest.kernel) == kernel;
            is_there
                && wanted.iter().all(|(setting, value)| {
                    // Values are compared after parsing: compile is compile:1.
                    let Ok(setting) = settings::find(setting) else { return false };
                    let mut meant = cell.clone();
                    let is_known = (setting.set)(&mut meant, value).is_ok();
                    let dirt = cell.probe.timer().dirt;
                    if dirt == Dirt::Random {
                        meant.probe.timer_mut().dirt = dirt;
                    }
                    is_known && meant == *cell
                })
        })
    }

    /// The names of cells with their settings, in guests or on the host.
    pub fn cells_in(&self, guests: bool) -> &BTreeMap<String, BTreeMap<String, String>> {
        self.in_guests(guests).and_then(|there| there.cells.as_ref()).unwrap_or(&self.cells)
    }

    /// The shipped experiment that measures it, in guests or on the host.
    pub fn experiment_in(&self, guests: bool) -> &str {
        self.in_guests(guests)
            .and_then(|there| there.experiment.as_deref())
            .unwrap_or(&self.experiment)
    }

    /// Whether guests can measure it: pipelines, and what they predict, run on this machine only.
    pub fn runs_in_guests(&self) -> bool {
        !self.pipeline && self.predicts.is_empty()
    }

    /// What is measured and how it differs from the paper, in guests or on the host.
    pub fn about_in(&self, guests: bool) -> &str {
        self.in_guests(guests).and_then(|there| there.about.as_deref()).unwrap_or(&self.about)
    }

    /// The short form of its experiment, in guests or on the host.
    pub fn quick_in(&self, guests: bool) -> &Quick {
        self.in_guests(guests).and_then(|there| there.quick.as_ref()).unwrap_or(&self.quick)
    }

    fn in_guests(&self, guests: bool) -> Option<&GuestForm> {
        self.guests.as_ref().filter(|_| guests)
    }

    /// The tick rates of its figures and graphs, each once.
    pub fn tick_rates(&self) -> Vec<TickRate> {
        let tables = self.tables.iter().flat_map(|table| &table.columns);
        let graphs = self.graphs.iter().flat_map(|graph| &graph.columns);
        let of_columns = tables.chain(graphs).filter_map(|statistic| statistic.ticks());
        let drawn = self.graphs.iter().filter_map(|graph| match graph.draw {
            Draw::Billing { rate } => rate,
            _ => None,
        });
        of_columns.chain(drawn).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&PaperTable> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The settings of the short form, in guests or on the host.
    ///
    /// # Errors
    /// A setting is unknown, or its value is invalid.
    pub fn quick_settings(&self, guests: bool) -> Result<Layer, String> {
        layer(&self.quick_in(guests).settings)
    }

    fn check(&self) -> Result<(), String> {
        for guests in [false, true] {
            self.quick_settings(guests)?;
            for (name, wanted) in self.cells_in(guests) {
                layer(wanted)?;
                if !self.cells.contains_key(name) {
                    return Err(format!("no cell is called `{name}`"));
                }
            }
        }
        let cell = |cell: &String| match self.cells.contains_key(cell) {
            true => Ok(()),
            false => Err(format!("no cell is called `{cell}`")),
        };
        self.programs.values().map(|program| &program.cell).try_for_each(cell)?;
        self.predicts.keys().try_for_each(cell)?;
        let known = |name: &String| match self.programs.contains_key(name) {
            true => Ok(()),
            false => cell(name),
        };
        self.graphs.iter().flat_map(|graph| &graph.cells).try_for_each(known)?;
        let mut names = BTreeSet::new();
        for table in &self.tables {
            if !names.insert(&table.name) {
                return Err(format!("two tables are called `{}`", table.name));
            }
            for row in table.groups.iter().flat_map(|group| &group.rows) {
                known(&row.cell)?;
                if row.figures.len() != table.columns.len() {
                    return Err(format!(
                        "{}: row `{}` needs one figure per column",
                        table.name, row.cell
                    ));
                }
            }
        }
        for claim in &self.claims {
            for figure in claim.holds.figures().into_iter().chain(&claim.without) {
                let published = self.published(figure)?;
                if published.is_none() && claim.holds.needs_published() {
                    return Err(format!("{} has no number for a claim about it", figure.table));
                }
            }
        }
        Ok(())
    }

    /// The paper's value of a figure, in the base unit; `None` if the paper only draws it.
    ///
    /// # Errors
    /// The paper has no such figure.
    pub fn published(&self, figure: &FigureOf) -> Result<Option<f64>, String> {
        let table = self
            .table(&figure.table)
            .ok_or_else(|| format!("no table is called `{}`", figure.table))?;
        table.published(figure).ok_or_else(|| {
            let FigureOf { table, measure, cell, statistic } = figure;
            format!("{table} has no {statistic} of {measure} for `{cell}`")
        })
    }
}

impl PaperTable {
    /// A row's figures in the base unit, one for each column; `None` if the paper has none.
    pub fn figures<'r>(&'r self, row: &'r Row) -> impl Iterator<Item = Option<f64>> + 'r {
        row.figures.iter().map(|figure| figure.number().map(|number| self.unit.base(number)))
    }

    fn published(&self, figure: &FigureOf) -> Option<Option<f64>> {
        let group = self.groups.iter().find(|group| group.measure == figure.measure)?;
        let row = group.rows.iter().find(|row| row.cell == figure.cell)?;
        let column = self.columns.iter().position(|column| *column == figure.statistic)?;
        self.figures(row).nth(column)
    }
}

fn layer(values: &BTreeMap<String, String>) -> Result<Layer, String> {
    let mut layer = Layer::default();
    for (name, value) in values {
        layer.set(name, vec![value.clone()])?;
    }
    Ok(layer)
}
