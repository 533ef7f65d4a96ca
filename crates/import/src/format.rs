//! The known result formats, and how they are recognised.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use tactus_model::text::UnknownWord;

use crate::error::ImportError;

/// A result format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// An export of `tactus export`. The store reads it.
    Tactus,
    /// The file of `cyclictest --json=FILE`.
    CyclictestJson,
    /// The output of `cyclictest -h` and `-H`.
    CyclictestHistogram,
    /// The output of `rtla timerlat hist`.
    TimerlatHistogram,
    /// The file of `jitterdebugger -f FILE`.
    JitterdebuggerJson,
    /// The file of `oslat --json=FILE`.
    OslatJson,
    /// An interval log of HdrHistogram.
    HdrLog,
}

/// The formats with the values of `--format`.
const WORDS: [(Format, &str); 7] = [
    (Format::Tactus, "tactus"),
    (Format::CyclictestJson, "cyclictest-json"),
    (Format::CyclictestHistogram, "cyclictest-histogram"),
    (Format::TimerlatHistogram, "timerlat-histogram"),
    (Format::JitterdebuggerJson, "jitterdebugger-json"),
    (Format::OslatJson, "oslat-json"),
    (Format::HdrLog, "hdr-log"),
];

/// How much of a text is searched to recognise it.
const LOOKED_AT: usize = 1 << 16;

impl Format {
    /// The value of `--format` for this format.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(format, _)| *format == self).map_or("", |(_, word)| word)
    }

    /// All values of `--format`, separated by commas.
    pub fn choices() -> String {
        WORDS.map(|(_, word)| word).join(", ")
    }

    /// Recognises a format from the content.
    ///
    /// # Errors
    /// The format is unknown, or belongs to a tool whose results contain no distribution.
    pub fn recognise(content: &[u8]) -> Result<Self, ImportError> {
        let text = String::from_utf8_lossy(&content[..content.len().min(LOOKED_AT)]);
        let text = text.trim_start();
        if !text.starts_with('{') {
            return of_text(text).ok_or(ImportError::Unrecognised);
        }
        // Exports come first: they can be too large to parse just for recognition.
        if text.contains("\"tactus-run\"") {
            return Ok(Self::Tactus);
        }
        let document: Value = serde_json::from_slice(content)
            .map_err(|error| ImportError::Json(format!("it is not JSON: {error}")))?;
        of_json(&document).unwrap_or(Err(ImportError::Unrecognised))
    }
}

/// Recognises a JSON document; `None` if it names no known tool.
fn of_json(document: &Value) -> Option<Result<Format, ImportError>> {
    let cpus = document.get("cpu").and_then(Value::as_object);
    if cpus.is_some_and(|cpus| cpus.values().any(|cpu| cpu.get("histogram").is_some())) {
        return Some(Ok(Format::JitterdebuggerJson));
    }
    let command_line = document.get("cmdline:").or_else(|| document.get("cmdline"))?.as_str()?;
    match crate::command_line::program(command_line) {
        "cyclictest" => Some(Ok(Format::CyclictestJson)),
        "oslat" => Some(Ok(Format::OslatJson)),
        other => Some(Err(ImportError::key(
            "cmdline",
            format!(
                "cannot import results of `{other}`: of the rt-tests, only cyclictest and oslat write a \
                 histogram of latencies; the others write only minimum, mean and maximum"
            ),
        ))),
    }
}

fn of_text(text: &str) -> Option<Format> {
    let any = |begins: &[&str]| {
        text.lines().any(|line| begins.iter().any(|begin| line.trim_start().starts_with(begin)))
    };
    if any(&["# RTLA timerlat histogram"]) {
        Some(Format::TimerlatHistogram)
    } else if any(&["# Histogram", "# Min Latencies:"]) {
        Some(Format::CyclictestHistogram)
    } else if any(&["#[Histogram log format", "\"StartTimestamp\",", "#[StartTime:", "#[BaseTime:"])
        || text.lines().any(crate::hdr_log::is_interval)
    {
        Some(Format::HdrLog)
    } else {
        None
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Format {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let known = WORDS.map(|(_, word)| word);
        WORDS
            .into_iter()
            .find(|(_, word)| *word == text)
            .map(|(format, _)| format)
            .ok_or_else(|| UnknownWord::new("format", text, &known))
    }
}
