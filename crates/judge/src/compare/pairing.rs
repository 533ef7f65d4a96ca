//! Pairing of the cells of two runs.

use serde::Serialize;
use tactus_model::cell::Cell;
use tactus_model::guest::GuestTime;
use tactus_model::origin::UNKNOWN;
use tactus_model::run::Run;
use tactus_model::settings::SETTINGS;

/// Settings for the amount of measurement; paired cells may differ in them.
const AMOUNTS: [&str; 4] = ["warmup", "duration", "traced", "sample-limit"];
/// Settings for the meaning of a latency; cells that differ in them measure different things.
const MEANINGS: [&str; 5] = ["probe", "sleep", "clock", "interval", "frame-rate"];

/// One side of a comparison: a run, or one cell of it.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'r> {
    /// The run.
    pub run: &'r Run,
    /// The index of the cell in its plan; `None` for the whole run.
    pub cell: Option<usize>,
}

/// The indices of two paired cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) a: usize,
    pub(crate) b: usize,
}

/// A setting that should be equal in two cells but is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingDiffers {
    /// Its name.
    pub setting: &'static str,
    /// Its value in A.
    pub a: String,
    /// Its value in B.
    pub b: String,
}

/// The reason why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// The cells measure different things.
    #[error("A and B measure different things: {}", in_words(.0))]
    Meaning(Vec<SettingDiffers>),
    /// Deterministic and wall time, or deterministic time of different speeds.
    #[error("A is measured in {a} and B in {b}, which cannot be compared")]
    Time {
        /// The time of A, in words.
        a: String,
        /// The time of B, in words.
        b: String,
    },
    /// The runs have no cell in common.
    #[error(
        "no cell of {a} has the settings of a cell of {b}; to compare two cells anyway, name them, e.g. `{a}#1` and `{b}#1`"
    )]
    NoCommonCell {
        /// The run of A.
        a: String,
        /// The run of B.
        b: String,
    },
    /// A whole run against one cell.
    #[error(
        "one side is a whole run and the other a single cell; name a cell on both sides or on neither"
    )]
    RunAndCell,
}

fn in_words(differing: &[SettingDiffers]) -> String {
    let parts: Vec<String> = differing
        .iter()
        .map(|SettingDiffers { setting, a, b }| format!("{setting} is `{a}` in A and `{b}` in B"))
        .collect();
    parts.join("; ")
}

/// Pairs the cells of two sides: the named cells, or all cells with equal settings.
///
/// If one side was imported and each has one cell, these two are paired as if they were named,
/// because other programs describe equal settings in other words.
///
/// With `force`, cells that measure different things are paired too if all other
/// settings agree. Deterministic time is never paired with any other time.
pub(crate) fn pairs(
    a: Selection<'_>,
    b: Selection<'_>,
    force: bool,
) -> Result<Vec<Pair>, Incomparable> {
    let (cells_a, cells_b) = (&a.run.header.plan.cells, &b.run.header.plan.cells);
    let (time_a, time_b) = (exact_time(cells_a), exact_time(cells_b));
    if time_a != time_b {
        return Err(Incomparable::Time { a: time_in_words(time_a), b: time_in_words(time_b) });
    }
    let is_imported = [a, b].iter().any(|side| side.run.header.origin.is_some());
    let chosen = match (a.cell, b.cell) {
        (None, None) if is_imported && cells_a.len() == 1 && cells_b.len() == 1 => {
            (Some(0), Some(0))
        }
        named => named,
    };
    match chosen {
        (Some(a), Some(b)) => {
            let differing = meanings_that_differ(&cells_a[a], &cells_b[b]);
            if differing.is_empty() || force {
                Ok(vec![Pair { a, b }])
            } else {
                Err(Incomparable::Meaning(differing))
            }
        }
        (None, None) => {
            let exact = matched(cells_a, cells_b, &AMOUNTS);
            if !exact.is_empty() {
                return Ok(exact);
            }
            let lenient = matched(cells_a, cells_b, &[&AMOUNTS[..], &MEANINGS].concat());
            match lenient.first() {
                None => Err(Incomparable::NoCommonCell {
                    a: a.run.header.id.to_string(),
                    b: b.run.header.id.to_string(),
                }),
                Some(_) if force => Ok(lenient),
                Some(first) => Err(Incomparable::Meaning(meanings_that_differ(
                    &cells_a[first.a],
                    &cells_b[first.b],
                ))),
            }
        }
        _ => Err(Incomparable::RunAndCell),
    }
}

/// The deterministic time of a plan, which all of its cells share.
fn exact_time(cells: &[Cell]) -> Option<GuestTime> {
    let mut times = cells.iter().filter_map(|cell| cell.target.guest()).map(|guest| guest.time);
    times.find(|time| time.is_exact())
}

fn time_in_words(exact: Option<GuestTime>) -> String {
    match exact {
        Some(GuestTime::Exact(speed)) => {
            format!("deterministic time of {} million instructions per second", speed.mips())
        }
        Some(GuestTime::Wall) | None => "wall time".to_owned(),
    }
}

fn meanings_that_differ(a: &Cell, b: &Cell) -> Vec<SettingDiffers> {
    SETTINGS
        .iter()
        .filter(|setting| MEANINGS.contains(&setting.name))
        .map(|setting| SettingDiffers {
            setting: setting.name,
            a: a.value_of(setting),
            b: b.value_of(setting),
        })
        .filter(|differs| !agree(&differs.a, &differs.b))
        .collect()
}

/// Whether two values are equal or at least one is unknown.
fn agree(a: &str, b: &str) -> bool {
    a == b || a == UNKNOWN || b == UNKNOWN
}

/// Pairs cells that agree in all settings except `ignored`, each at most once. A cell
/// with unknown settings gets a partner only if no other cell fits.
fn matched(a: &[Cell], b: &[Cell], ignored: &[&str]) -> Vec<Pair> {
    let key = |cell: &Cell| -> Vec<String> {
        let kept = cell.settings().filter(|(name, _)| !ignored.contains(name));
        kept.map(|(_, value)| value).collect()
    };
    let mut free: Vec<Option<Vec<String>>> = b.iter().map(|cell| Some(key(cell))).collect();
    a.iter()
        .map(key)
        .enumerate()
        .filter_map(|(a, wanted)| {
            let fits = |key: &Option<Vec<String>>| {
                let key = key.as_ref()?;
                let fits = key.iter().zip(&wanted).all(|(b, a)| agree(a, b));
                fits.then_some(key == &wanted)
            };
            let exact = free.iter().position(|key| fits(key) == Some(true));
            let b = exact.or_else(|| {
                let mut fitting = (0..free.len()).filter(|place| fits(&free[*place]).is_some());
                let only = fitting.next()?;
                fitting.next().is_none().then_some(only)
            })?;
            free[b] = None;
            Some(Pair { a, b })
        })
        .collect()
}
