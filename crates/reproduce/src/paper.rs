//! What a paper published, read from its data file.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tactus_explain::account::TickRate;
use tactus_model::cell::Cell;
use tactus_model::kernel::GuestKernel;
use tactus_model::settings::{self, Layer};
use tactus_stats::PercentileAxis;

use crate::claim::Claim;
use crate::condition::{Condition, Need};
use crate::quantity::{Measure, Statistic, Transfers, Unit};

/// A paper: where it appeared, and its parts that can be measured again.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// The name by which `tactus reproduce` knows it.
    pub name: String,
    /// Who wrote it.
    pub authors: String,
    /// Its title.
    pub title: String,
    /// Where and when it appeared.
    pub published: String,
    /// What it was measured on.
    pub machine: String,
    /// Its parts, each with an experiment.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

/// A part of a paper that one experiment measures.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// The shipped experiment that measures it.
    pub experiment: String,
    /// What is measured and how it compares, in sentences.
    pub about: String,
    /// The fewest samples by which a claim is decided.
    #[serde(default)]
    pub samples: u64,
    /// How the experiment is shortened for a first look.
    pub quick: Quick,
    /// The paper's names of cells, each with the settings that tell it from the others.
    pub cells: BTreeMap<String, BTreeMap<String, String>>,
    /// How it is measured in guest kernels, where that is otherwise.
    pub guests: Option<GuestForm>,
    /// The paper's names of programs, each with the cell that it ran in.
    #[serde(default)]
    pub programs: BTreeMap<String, Program>,
    /// The graphs to draw of what was measured.
    #[serde(default, rename = "graph")]
    pub graphs: Vec<Graph>,
    /// The paper's tables.
    #[serde(default, rename = "table")]
    pub tables: Vec<PaperTable>,
    /// What the paper concludes from them.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

/// What the quick form of an experiment has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// How often each cell is measured.
    pub rounds: u32,
    /// Settings in place of the experiment's own.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
}

/// How a part is measured in guest kernels; what is left out is as on a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestForm {
    /// What is measured there and how it compares, in sentences.
    pub about: Option<String>,
    /// The shipped experiment that measures it there.
    pub experiment: Option<String>,
    /// How that experiment is shortened for a first look.
    pub quick: Option<Quick>,
    /// The cells that there are, by the names of [`Part::cells`].
    pub cells: Option<BTreeMap<String, BTreeMap<String, String>>>,
}

/// A program of a cell, which accounts of CPU time tell apart.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The cell.
    pub cell: String,
    /// What it is called in recordings; `idle` for no program at all.
    pub name: String,
}

/// Which series are drawn together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Graph {
    /// What the graph is about.
    pub title: String,
    /// The paper's figures that it stands beside.
    pub place: String,
    /// How it is drawn.
    pub draw: Draw,
    /// What is drawn, a panel each.
    pub measures: Vec<Measure>,
    /// Of which samples, a panel each.
    #[serde(default = "all_samples")]
    pub transfers: Vec<Transfers>,
    /// In which cells, or of which programs, a curve each.
    pub cells: Vec<String>,
    /// What is told of each; where nothing stands, what belongs to the measure.
    #[serde(default)]
    pub columns: Vec<Statistic>,
    /// What it is about and a kernel may not have: then it is left out.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// How a graph is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Draw {
    /// Lengths over percentiles, a curve for each cell.
    Percentiles {
        /// The horizontal axis.
        axis: PercentileAxis,
    },
    /// Frames a second, achieved over desired, with the closed form.
    Players,
    /// The distribution of effective quanta, a curve for each program.
    Quanta,
    /// Ticks billed over the length of each effective quantum, a panel for each program.
    Billing {
        /// How often the ticks come that are laid over the recording; none for the kernel's own.
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
    /// What the paper calls it.
    pub name: String,
    /// The figure that belongs to it, or where it stands.
    pub place: String,
    /// What it is about.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Statistic>,
    /// The unit of all its figures.
    pub unit: Unit,
    /// Which samples it counts.
    #[serde(default)]
    pub transfers: Transfers,
    /// What a machine must be like to be set beside it.
    #[serde(default)]
    pub requires: Condition,
    /// What it is about and a guest may not have.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Its rows, by what was measured.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
}

/// Rows of one measure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What was measured.
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

/// A number of a table, or `"-"` where the paper gives none.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Published {
    /// A number.
    Number(f64),
    /// The mark of a missing one.
    Mark(String),
}

impl Published {
    /// The number, where there is one.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Mark(_) => None,
        }
    }
}

/// A figure of a table, as a claim names it.
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
    /// It is not TOML of the right form.
    #[error("{0}")]
    Form(String),
    /// It names what it does not have.
    #[error("part `{part}`: {what}")]
    Content {
        /// The part.
        part: String,
        /// What is wrong, in a sentence.
        what: String,
    },
}

impl Paper {
    /// Reads a data file, and checks that all it names is there.
    ///
    /// # Errors
    /// It is not of the form, or a table, cell or setting is named that is not there.
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
    /// The cell of a plan that bears the paper's `name` in a guest of this kernel, or on
    /// the machine itself; none when no cell has its settings.
    pub fn cell_of(
        &self,
        name: &str,
        kernel: Option<&GuestKernel>,
        cells: &[Cell],
    ) -> Option<usize> {
        let wanted = self.cells_in(kernel.is_some()).get(name)?;
        cells.iter().position(|cell| {
            let is_there = cell.target.guest().map(|guest| &guest.kernel) == kernel;
            is_there
                && wanted.iter().all(|(setting, value)| {
                    // Values are compared as they are understood: compile is compile:1.
                    let Ok(setting) = settings::find(setting) else { return false };
                    let mut meant = cell.clone();
                    (setting.set)(&mut meant, value).is_ok() && meant == *cell
                })
        })
    }

    /// The names of cells with their settings, in guests or on the machine itself.
    pub fn cells_in(&self, guests: bool) -> &BTreeMap<String, BTreeMap<String, String>> {
        self.in_guests(guests).and_then(|there| there.cells.as_ref()).unwrap_or(&self.cells)
    }

    /// The shipped experiment that measures it, in guests or on the machine itself.
    pub fn experiment_in(&self, guests: bool) -> &str {
        self.in_guests(guests)
            .and_then(|there| there.experiment.as_deref())
            .unwrap_or(&self.experiment)
    }

    /// What is measured and how it compares, in guests or on the machine itself.
    pub fn about_in(&self, guests: bool) -> &str {
        self.in_guests(guests).and_then(|there| there.about.as_deref()).unwrap_or(&self.about)
    }

    /// How its experiment is shortened, in guests or on the machine itself.
    pub fn quick_in(&self, guests: bool) -> &Quick {
        self.in_guests(guests).and_then(|there| there.quick.as_ref()).unwrap_or(&self.quick)
    }

    fn in_guests(&self, guests: bool) -> Option<&GuestForm> {
        self.guests.as_ref().filter(|_| guests)
    }

    /// The rates of the ticks that its figures and graphs take, each once.
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

    /// The settings of the quick form, in guests or on the machine itself.
    ///
    /// # Errors
    /// One of them is not known or has no such value.
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
                        "{}: row `{}` has not one figure a column",
                        table.name, row.cell
                    ));
                }
            }
        }
        for claim in &self.claims {
            for figure in claim.holds.figures() {
                self.published(figure)?;
            }
        }
        Ok(())
    }

    /// What the paper gives for a figure, in the base unit.
    ///
    /// # Errors
    /// The paper has no such figure.
    pub fn published(&self, figure: &FigureOf) -> Result<f64, String> {
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
    /// A row's figures in the base unit, one for each column; none where the paper gives none.
    pub fn figures<'r>(&'r self, row: &'r Row) -> impl Iterator<Item = Option<f64>> + 'r {
        row.figures.iter().map(|figure| figure.number().map(|number| self.unit.base(number)))
    }

    fn published(&self, figure: &FigureOf) -> Option<f64> {
        let group = self.groups.iter().find(|group| group.measure == figure.measure)?;
        let row = group.rows.iter().find(|row| row.cell == figure.cell)?;
        let column = self.columns.iter().position(|column| *column == figure.statistic)?;
        self.figures(row).nth(column)?
    }
}

fn layer(values: &BTreeMap<String, String>) -> Result<Layer, String> {
    let mut layer = Layer::default();
    for (name, value) in values {
        layer.set(name, vec![value.clone()])?;
    }
    Ok(layer)
}
