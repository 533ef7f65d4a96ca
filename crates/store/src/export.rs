//! Writes a run as JSON; the format is described in `docs/run-format.md`.

use std::io::{BufWriter, Write};

use serde::{Deserialize, Serialize};
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunHeader, RunId};
use tactus_model::sample::SampleBlock;

use crate::engine::Database;
use crate::fault::Fault;
use crate::{Store, StoreError, find, load};

/// The name of the format, the first key of every export.
pub const FORMAT: &str = "tactus-run";

/// The version of the format that this crate writes and reads.
pub const FORMAT_VERSION: u64 = 1;

/// The result of a turn in an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedResult {
    pub(crate) measurement: Measurement,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) samples: Vec<ExportedBlock>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) traced: Option<ExportedTraced>,
}

/// An [`ExportedResult`] without samples.
#[derive(Serialize)]
struct WithoutSamples<'m> {
    measurement: &'m Measurement,
}

/// The recording and the samples of a traced window in an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedTraced {
    pub(crate) samples: Vec<ExportedBlock>,
    #[serde(with = "tactus_model::sample::base64_text")]
    pub(crate) recording: Vec<u8>,
}

/// A block of samples with its task number in an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedBlock {
    pub(crate) task: u32,
    pub(crate) block: SampleBlock,
}

impl Store {
    /// Writes a run as JSON, turn by turn; `with_samples` includes the samples.
    ///
    /// # Errors
    /// [`StoreError::Export`] when `writer` fails, or as [`Store::load`].
    pub fn export(
        &self,
        run: &RunId,
        writer: impl Write,
        with_samples: bool,
    ) -> Result<(), StoreError> {
        self.read(|database| {
            let mut document = Document(BufWriter::new(writer));
            write_run(database, run, &mut document, with_samples)?;
            Ok(document.0.flush().map_err(StoreError::Export)?)
        })
    }
}

/// The JSON of a run without samples and recordings, as [`Store::export`] writes it.
///
/// # Errors
/// [`StoreError::Export`] if a value cannot be written as JSON.
pub fn document(run: &Run) -> Result<Vec<u8>, StoreError> {
    let mut document = Document(Vec::new());
    document.head(&run.header, &run.failures)?;
    for (index, measurement) in run.measurements.iter().enumerate() {
        document.text(if index == 0 { "\n" } else { ",\n" })?;
        document.value(&WithoutSamples { measurement })?;
    }
    document.text("\n]}\n")?;
    Ok(document.0)
}

/// One result per line, so that only one is in memory at a time and line-based tools can
/// separate them.
///
/// The keys are in alphabetical order: a tool that sorts keys leaves the format first and the
/// header before the results, which an import requires.
fn write_run(
    database: &dyn Database,
    run: &RunId,
    document: &mut Document<impl Write>,
    with_samples: bool,
) -> Result<(), Fault> {
    let row = find::row(database, run)?;
    document.head(&load::header(database, &row)?, &load::failures(database, &row)?)?;
    for (index, number) in load::measurement_numbers(database, &row)?.into_iter().enumerate() {
        document.text(if index == 0 { "\n" } else { ",\n" })?;
        document.value(&result(database, number, with_samples)?)?;
    }
    Ok(document.text("\n]}\n")?)
}

fn result(
    database: &dyn Database,
    number: i64,
    with_samples: bool,
) -> Result<ExportedResult, Fault> {
    let measurement = load::measurement(database, number)?;
    if !with_samples {
        return Ok(ExportedResult { measurement, samples: Vec::new(), traced: None });
    }
    let traced_data = load::traced_data(database, number)?;
    let traced = (!traced_data.is_empty()).then(|| ExportedTraced {
        samples: exported(traced_data.samples),
        recording: traced_data.recording,
    });
    Ok(ExportedResult { measurement, samples: exported(load::samples(database, number)?), traced })
}

fn exported(samples: Vec<(u32, SampleBlock)>) -> Vec<ExportedBlock> {
    samples.into_iter().map(|(task, block)| ExportedBlock { task, block }).collect()
}

/// The document being written.
struct Document<W: Write>(W);

impl<W: Write> Document<W> {
    /// Writes everything before the results.
    fn head(&mut self, header: &RunHeader, failures: &[Failure]) -> Result<(), StoreError> {
        self.text("{\"format\":")?;
        self.value(&FORMAT)?;
        self.text(",\n\"format_version\":")?;
        self.value(&FORMAT_VERSION)?;
        self.text(",\n\"header\":")?;
        self.value(header)?;
        self.text(",\n\"failures\":")?;
        self.value(&failures)?;
        self.text(",\n\"results\":[")
    }

    fn text(&mut self, text: &str) -> Result<(), StoreError> {
        self.0.write_all(text.as_bytes()).map_err(StoreError::Export)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        serde_json::to_writer(&mut self.0, value).map_err(|error| StoreError::Export(error.into()))
    }
}
