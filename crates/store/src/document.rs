//! Reads the document of an exported run (`docs/run-format.md`).

use std::fmt;
use std::io::{self, BufReader, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use tactus_model::experiment::Plan;
use tactus_model::limits::COUNT;
use tactus_model::recording::{EventSource, SourceError};
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunHeader};
use tactus_model::sample::SampleBlock;
use tactus_model::traced::TracedData;
use tactus_record::file::{OpenError, RecordingFile};

use crate::bounded::Bounded;
use crate::export::{ExportedBlock, ExportedResult, FORMAT, FORMAT_VERSION};
use crate::fault::Fault;
use crate::{StoreError, balance, name};

/// The samples of a turn with the numbers of their tasks.
pub(crate) type Samples = Vec<(u32, SampleBlock)>;

/// Receives a run while its document is read: the header first, the failures last.
pub(crate) trait Sink {
    fn header(&mut self, header: RunHeader) -> Result<(), Fault>;

    fn result(
        &mut self,
        measurement: Measurement,
        samples: Samples,
        traced_data: TracedData,
    ) -> Result<(), Fault>;

    fn failure(&mut self, failure: Failure) -> Result<(), Fault>;

    /// Receives a whole run that has neither samples nor recordings, and names it after its
    /// plan and its start.
    fn run(&mut self, run: Run) -> Result<(), Fault> {
        let Run { header, measurements, failures } = run;
        let id = name::after(&header.plan.name, header.created);
        self.header(RunHeader { id, ..header })?;
        for measurement in measurements {
            self.result(measurement, Samples::new(), TracedData::default())?;
        }
        failures.into_iter().try_for_each(|failure| self.failure(failure))
    }
}

/// Reads a document, a result at a time, and passes its content to `sink`.
pub(crate) fn read(reader: impl Read, sink: &mut dyn Sink) -> Result<(), Fault> {
    let mut document = Document::new(sink);
    let mut json = serde_json::Deserializer::from_reader(BufReader::new(Bounded::new(reader)));
    let read = document.deserialize(&mut json).and_then(|()| json.end());
    match (read, document.refused.take()) {
        (_, Some(fault)) => Err(fault),
        (Err(error), None) if error.is_io() => Err(broken(error.into()).into()),
        (Err(error), None) => Err(not_an_export(error).into()),
        (Ok(()), None) => document.end(),
    }
}

/// Distinguishes a document beyond a limit from one that cannot be read.
fn broken(error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidData => not_an_export(error),
        _ => StoreError::Import(error),
    }
}

/// The error of a document without a header.
pub(crate) fn no_header() -> StoreError {
    not_an_export("the key `header` is missing")
}

fn not_an_export(reason: impl fmt::Display) -> StoreError {
    StoreError::NotAnExport { reason: reason.to_string() }
}

/// The keys of the document. Any other key is refused: a later version may have added it, and
/// its content would be lost silently.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Format,
    FormatVersion,
    Header,
    Failures,
    Results,
}

/// The reading of a document. Each result is passed on as soon as it is read, so that only one
/// result is in memory.
struct Document<'s> {
    sink: &'s mut dyn Sink,
    format_seen: bool,
    version_seen: bool,
    header_seen: bool,
    /// Kept to the end, since they may precede their run.
    failures: Option<Vec<Failure>>,
    results_seen: bool,
    /// The wakeups of all results so far.
    intended: u64,
    /// Why well-formed JSON was refused.
    refused: Option<Fault>,
}

impl<'s> Document<'s> {
    fn new(sink: &'s mut dyn Sink) -> Self {
        Self {
            sink,
            format_seen: false,
            version_seen: false,
            header_seen: false,
            failures: None,
            results_seen: false,
            intended: 0,
            refused: None,
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(&mut self, document: D) -> Result<(), D::Error> {
        document.deserialize_map(DocumentVisitor(self))
    }

    fn header(&mut self, header: RunHeader) -> Result<(), Fault> {
        if !name::is_fit(&header.id) {
            let shown: String = header.id.as_str().escape_debug().take(40).collect();
            let reason = format!("`{shown}` is not a valid run name: {}", name::LIMITS);
            return Err(not_an_export(reason).into());
        }
        // Continuing a run holds all turns of its plan in memory.
        let (rounds, cells) = (header.plan.rounds, header.plan.cells.len());
        if rounds > Plan::MAX_ROUNDS || cells > Plan::MAX_CELLS {
            let reason = format!("a plan of {rounds} rounds of {cells} cells exceeds the limits");
            return Err(not_an_export(reason).into());
        }
        if header.plan.gate.is_some_and(|rule| !rule.is_in_range()) {
            return Err(not_an_export("the rule of its gate is out of range").into());
        }
        self.header_seen = true;
        self.sink.header(header)
    }

    fn result(&mut self, result: ExportedResult) -> Result<(), Fault> {
        let ExportedResult { measurement, samples, traced } = result;
        let samples = imported(samples);
        let traced_data = traced.map_or_else(TracedData::default, |traced| TracedData {
            samples: imported(traced.samples),
            recording: traced.recording,
        });
        let turn = measurement.turn;
        // With this bound, no sum over any part of a run overflows.
        let traced = measurement.traced.iter().flat_map(|traced| &traced.tasks);
        let counts = measurement.tasks.iter().map(|task| task.accounting.intended);
        let counts = counts.chain(traced.map(|task| task.accounting.intended));
        self.intended = counts.fold(self.intended, u64::saturating_add);
        if self.intended > COUNT {
            return Err(not_an_export(format!("it has more than {COUNT} wakeups")).into());
        }
        let traced_data = checked(traced_data).map_err(|reason| {
            let (cell, round) = (turn.cell + 1, turn.round + 1);
            not_an_export(format!("the recording of cell {cell} in round {round}: {reason}"))
        })?;
        balance::check_readable(&samples)
            .and_then(|()| balance::check_readable(&traced_data.samples))
            .map_err(|imbalance| StoreError::Unbalanced { turn, imbalance })?;
        self.sink.result(measurement, samples, traced_data)
    }

    /// Passes on the failures, after the whole document was read.
    fn end(self) -> Result<(), Fault> {
        if !self.header_seen {
            return Err(no_header().into());
        }
        let failures =
            self.failures.ok_or_else(|| not_an_export("the key `failures` is missing"))?;
        if !self.results_seen {
            return Err(not_an_export("the key `results` is missing").into());
        }
        failures
            .into_iter()
            .try_for_each(|failure| self.sink.failure(failure).map_err(blame_document))
    }

    /// Keeps the reason of a refusal and returns the error that ends the reading.
    fn refuse<E: Error>(&mut self, fault: impl Into<Fault>) -> E {
        self.refused = Some(blame_document(fault.into()));
        E::custom("refused")
    }
}

/// Reads the recording of a traced window to its end; a damaged one is refused.
fn checked(traced_data: TracedData) -> Result<TracedData, OpenError> {
    let TracedData { samples, recording } = traced_data;
    if recording.is_empty() {
        return Ok(TracedData { samples, recording });
    }
    let mut file = RecordingFile::from_bytes(recording)?;
    if let Some(cut_off) = file.cut_off() {
        return Err(SourceError::Damaged(cut_off.reason.to_string()).into());
    }
    while file.next_item()?.is_some() {}
    Ok(TracedData { samples, recording: file.into_bytes()? })
}

fn imported(samples: Vec<ExportedBlock>) -> Samples {
    samples.into_iter().map(|part| (part.task, part.block)).collect()
}

const HEADER_FIRST: &str = "`results` comes before `header`";

/// Turns errors that would be a defect of the program in a running measurement into errors of
/// the document.
fn blame_document(fault: Fault) -> Fault {
    match fault {
        Fault::Store(StoreError::TurnTaken { turn, .. }) => not_an_export(format!(
            "cell {} of round {} occurs twice",
            turn.cell + 1,
            turn.round + 1
        ))
        .into(),
        Fault::Store(StoreError::NotPlanned { turn, .. }) => not_an_export(format!(
            "its plan has no cell {} in round {}",
            turn.cell + 1,
            turn.round + 1
        ))
        .into(),
        Fault::Store(StoreError::Unkeepable { what, reason }) => {
            not_an_export(format!("{what}: {reason}")).into()
        }
        other => other,
    }
}

struct DocumentVisitor<'d, 's>(&'d mut Document<'s>);

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an exported run")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let document = self.0;
        while let Some(key) = map.next_key()? {
            match key {
                Key::Format => {
                    let found: String = map.next_value()?;
                    if found != FORMAT {
                        let reason = format!("`format` is `{found}`, not `{FORMAT}`");
                        return Err(A::Error::custom(reason));
                    }
                    document.format_seen = true;
                }
                Key::FormatVersion => {
                    let found = map.next_value()?;
                    if found != FORMAT_VERSION {
                        let known = FORMAT_VERSION;
                        return Err(document.refuse(StoreError::UnknownFormat { found, known }));
                    }
                    document.version_seen = true;
                }
                Key::Header => {
                    if !(document.format_seen && document.version_seen) {
                        return Err(A::Error::custom(
                            "`format` and `format_version` must come before `header`",
                        ));
                    }
                    if document.header_seen {
                        return Err(A::Error::duplicate_field("header"));
                    }
                    let header = map.next_value()?;
                    document.header(header).map_err(|fault| document.refuse(fault))?;
                }
                Key::Failures => {
                    if document.failures.replace(map.next_value()?).is_some() {
                        return Err(A::Error::duplicate_field("failures"));
                    }
                }
                Key::Results => {
                    if !document.header_seen {
                        return Err(A::Error::custom(HEADER_FIRST));
                    }
                    if std::mem::replace(&mut document.results_seen, true) {
                        return Err(A::Error::duplicate_field("results"));
                    }
                    map.next_value_seed(Results(document))?;
                }
            }
        }
        Ok(())
    }
}

/// The list of results, each passed on as soon as it is read.
struct Results<'d, 's>(&'d mut Document<'s>);

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
        let document = self.0;
        while let Some(result) = list.next_element()? {
            document.result(result).map_err(|fault| document.refuse(fault))?;
        }
        Ok(())
    }
}
