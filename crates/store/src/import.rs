//! Reads a run from JSON, described in `docs/run-format.md`.

use std::fmt;
use std::io::{BufReader, Read};

use rusqlite::{Connection, params};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use tactus_model::experiment::Plan;
use tactus_model::result::Failure;
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::Evidence;

use crate::export::{ExportedBlock, ExportedResult, FORMAT, FORMAT_VERSION};
use crate::fault::Fault;
use crate::find::{self, RunRow};
use crate::{Store, StoreError, balance, load, name, save};

/// What a run is called until all of it was read; no run's name has a space.
const PASSING_NAME: &str = "being imported";

impl Store {
    /// Takes in an exported run, all of it or nothing, and gives the name it has here:
    /// its own, or with `-2`, `-3`, … when another run has that.
    ///
    /// # Errors
    /// [`StoreError::NotAnExport`], [`StoreError::UnknownFormat`], [`StoreError::Unbalanced`],
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the store,
    /// [`StoreError::Import`] when `reader` fails, or the database cannot be written.
    pub fn import(&mut self, reader: impl Read) -> Result<RunId, StoreError> {
        self.write(|database| {
            let (run, id) = read_run(database, reader)?;
            give_name(database, &run, id)
        })
    }
}

impl Store {
    /// Takes in a run that was made elsewhere, as from another tool's files, all of it
    /// or nothing, and gives the name it has here, after its plan and when it began.
    ///
    /// # Errors
    /// [`StoreError::AlreadyThere`] when the same run with the same content is in the
    /// store, [`StoreError::Unbalanced`], [`StoreError::NotPlanned`],
    /// [`StoreError::TurnTaken`], or the database cannot be written.
    pub fn add(&mut self, run: &Run) -> Result<RunId, StoreError> {
        self.write(|database| {
            let passing = RunHeader { id: RunId::new(PASSING_NAME), ..run.header.clone() };
            let row = save::insert_run(database, &passing)?;
            for measurement in &run.measurements {
                save::insert_measurement(database, &row, measurement, &[], &Evidence::default())?;
            }
            for failure in &run.failures {
                save::insert_failure(database, &row, failure)?;
            }
            give_name(database, &row, name::after(&run.header.plan.name, run.header.created))
        })
    }
}

/// Gives an imported run the first free name, unless the run of such a name is the same run.
fn give_name(database: &Connection, imported: &RunRow, wanted: RunId) -> Result<RunId, Fault> {
    for id in name::numbered(wanted) {
        match find::row_if_any(database, &id)? {
            Some(other) if adds_nothing(database, imported, &other)? => {
                return Err(StoreError::AlreadyThere(id).into());
            }
            Some(_) => {}
            None => {
                database.execute(
                    "UPDATE run SET id = ?2 WHERE number = ?1",
                    params![imported.number, id.as_str()],
                )?;
                return Ok(id);
            }
        }
    }
    unreachable!("the store has a limited number of runs, and the names have none")
}

/// Whether `imported` holds nothing but what `other` holds; it may lack the samples.
fn adds_nothing(database: &Connection, imported: &RunRow, other: &RunRow) -> Result<bool, Fault> {
    let renamed = RunHeader { id: other.id.clone(), ..load::header(database, imported)? };
    if renamed != load::header(database, other)?
        || load::failures(database, imported)? != load::failures(database, other)?
    {
        return Ok(false);
    }
    let ours = load::measurement_numbers(database, imported)?;
    let theirs = load::measurement_numbers(database, other)?;
    if ours.len() != theirs.len() {
        return Ok(false);
    }
    for (ours, theirs) in ours.into_iter().zip(theirs) {
        if load::measurement(database, ours)? != load::measurement(database, theirs)? {
            return Ok(false);
        }
        let samples = load::samples(database, ours)?;
        if !samples.is_empty() && samples != load::samples(database, theirs)? {
            return Ok(false);
        }
        let evidence = load::evidence(database, ours)?;
        if !evidence.is_empty() && evidence != load::evidence(database, theirs)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Reads the document into a run of a passing name, and gives the name it has in the document.
fn read_run(database: &Connection, reader: impl Read) -> Result<(RunRow, RunId), Fault> {
    let mut import = Import::new(database);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(reader));
    let read = import.deserialize(&mut json).and_then(|()| json.end());
    match (read, import.refused.take()) {
        (_, Some(fault)) => Err(fault),
        (Err(error), None) if error.is_io() => Err(StoreError::Import(error.into()).into()),
        (Err(error), None) => Err(not_an_export(error).into()),
        (Ok(()), None) => import.end(),
    }
}

fn not_an_export(reason: impl fmt::Display) -> StoreError {
    StoreError::NotAnExport { reason: reason.to_string() }
}

/// The keys of the document. Any other is refused: a later version may have added
/// it, and what it holds would be lost without a word.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Format,
    FormatVersion,
    Header,
    Failures,
    Results,
}

/// The reading of a document. Each result is written into the open transaction
/// as soon as it has come, so that only one is held at a time.
struct Import<'c> {
    database: &'c Connection,
    format_seen: bool,
    version_seen: bool,
    run: Option<(RunRow, RunId)>,
    /// Kept to the end, since they may come before the run they belong to.
    failures: Option<Vec<Failure>>,
    results_seen: bool,
    /// What was refused although it was well-formed JSON.
    refused: Option<Fault>,
}

impl<'c> Import<'c> {
    fn new(database: &'c Connection) -> Self {
        Self {
            database,
            format_seen: false,
            version_seen: false,
            run: None,
            failures: None,
            results_seen: false,
            refused: None,
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(&mut self, document: D) -> Result<(), D::Error> {
        document.deserialize_map(DocumentVisitor(self))
    }

    fn begin(&mut self, header: RunHeader) -> Result<(), Fault> {
        if !name::is_fit(&header.id) {
            let reason = format!("`{}` cannot be the name of a run", header.id);
            return Err(not_an_export(reason).into());
        }
        // The turns of a plan are laid out in memory to go on with it.
        let (rounds, cells) = (header.plan.rounds, header.plan.cells.len());
        if rounds > Plan::MAX_ROUNDS || cells > Plan::MAX_CELLS {
            let reason = format!("no plan has {rounds} rounds of {cells} cells");
            return Err(not_an_export(reason).into());
        }
        let passing = RunHeader { id: RunId::new(PASSING_NAME), ..header.clone() };
        let row = save::insert_run(self.database, &passing)?;
        self.run = Some((row, header.id));
        Ok(())
    }

    fn keep(&self, result: ExportedResult) -> Result<(), Fault> {
        let (run, _) = self.run.as_ref().ok_or_else(|| not_an_export(HEADER_FIRST))?;
        let ExportedResult { measurement, samples, traced } = result;
        let samples = imported(samples);
        let evidence = traced.map_or_else(Evidence::default, |traced| Evidence {
            samples: imported(traced.samples),
            recording: traced.recording,
        });
        let turn = measurement.turn;
        balance::check_readable(&samples)
            .and_then(|()| balance::check_readable(&evidence.samples))
            .map_err(|imbalance| StoreError::Unbalanced { turn, imbalance })?;
        save::insert_measurement(self.database, run, &measurement, &samples, &evidence)
    }

    /// Writes what had to wait, once the whole document was read.
    fn end(self) -> Result<(RunRow, RunId), Fault> {
        let (run, id) = self.run.ok_or_else(|| not_an_export("it has no key `header`"))?;
        let failures = self.failures.ok_or_else(|| not_an_export("it has no key `failures`"))?;
        if !self.results_seen {
            return Err(not_an_export("it has no key `results`").into());
        }
        for failure in failures {
            save::insert_failure(self.database, &run, &failure).map_err(blame_document)?;
        }
        Ok((run, id))
    }

    /// Keeps what was refused and gives the error that ends the reading.
    fn refuse<E: Error>(&mut self, fault: impl Into<Fault>) -> E {
        self.refused = Some(blame_document(fault.into()));
        E::custom("refused")
    }
}

fn imported(samples: Vec<ExportedBlock>) -> Vec<(u32, SampleBlock)> {
    samples.into_iter().map(|part| (part.task, part.block)).collect()
}

const HEADER_FIRST: &str = "`results` stands before `header`";

/// Says that the document is wrong where the same error of a running measurement
/// would say that the program is.
fn blame_document(fault: Fault) -> Fault {
    match fault {
        Fault::Told(StoreError::TurnTaken { turn, .. }) => {
            not_an_export(format!("cell {} of round {} stands there twice", turn.cell, turn.round))
                .into()
        }
        Fault::Told(StoreError::NotPlanned { turn, .. }) => {
            not_an_export(format!("its plan has no cell {} in round {}", turn.cell, turn.round))
                .into()
        }
        Fault::Told(StoreError::Unkeepable { what, reason }) => {
            not_an_export(format!("{what}: {reason}")).into()
        }
        other => other,
    }
}

struct DocumentVisitor<'i, 'c>(&'i mut Import<'c>);

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an exported run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let import = self.0;
        while let Some(key) = map.next_key()? {
            match key {
                Key::Format => {
                    let found: String = map.next_value()?;
                    if found != FORMAT {
                        let reason = format!("`format` is `{found}`, not `{FORMAT}`");
                        return Err(A::Error::custom(reason));
                    }
                    import.format_seen = true;
                }
                Key::FormatVersion => {
                    let found = map.next_value()?;
                    if found != FORMAT_VERSION {
                        let known = FORMAT_VERSION;
                        return Err(import.refuse(StoreError::UnknownFormat { found, known }));
                    }
                    import.version_seen = true;
                }
                Key::Header => {
                    if !(import.format_seen && import.version_seen) {
                        return Err(A::Error::custom(
                            "`format` and `format_version` do not stand before `header`",
                        ));
                    }
                    if import.run.is_some() {
                        return Err(A::Error::duplicate_field("header"));
                    }
                    let header = map.next_value()?;
                    import.begin(header).map_err(|fault| import.refuse(fault))?;
                }
                Key::Failures => {
                    if import.failures.replace(map.next_value()?).is_some() {
                        return Err(A::Error::duplicate_field("failures"));
                    }
                }
                Key::Results => {
                    if import.run.is_none() {
                        return Err(A::Error::custom(HEADER_FIRST));
                    }
                    if std::mem::replace(&mut import.results_seen, true) {
                        return Err(A::Error::duplicate_field("results"));
                    }
                    map.next_value_seed(Results(import))?;
                }
            }
        }
        Ok(())
    }
}

/// The list of results, each written when it has come.
struct Results<'i, 'c>(&'i mut Import<'c>);

impl<'de> DeserializeSeed<'de> for Results<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<(), D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Results<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of results")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let import = self.0;
        while let Some(result) = list.next_element()? {
            import.keep(result).map_err(|fault| import.refuse(fault))?;
        }
        Ok(())
    }
}
