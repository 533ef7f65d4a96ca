//! The forms of results that are known, and how they are told apart.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use tactus_model::text::UnknownWord;

use crate::error::ImportError;

/// A form of result that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// What `tactus export` writes. It is the store that reads it.
    Tactus,
    /// What `cyclictest --json=FILE` writes.
    CyclictestJson,
    /// What `cyclictest -h` and `-H` print.
    CyclictestHistogram,
    /// What `rtla timerlat hist` prints.
    TimerlatHistogram,
    /// What `jitterdebugger -f FILE` writes.
    JitterdebuggerJson,
    /// What `oslat --json=FILE` writes.
    OslatJson,
    /// An interval log of HdrHistogram.
    HdrLog,
}

/// The formats with the words that `--format` takes.
const WORDS: [(Format, &str); 7] = [
    (Format::Tactus, "tactus"),
    (Format::CyclictestJson, "cyclictest-json"),
    (Format::CyclictestHistogram, "cyclictest-histogram"),
    (Format::TimerlatHistogram, "timerlat-histogram"),
    (Format::JitterdebuggerJson, "jitterdebugger-json"),
    (Format::OslatJson, "oslat-json"),
    (Format::HdrLog, "hdr-log"),
];

/// How much of a text is looked at to recognise it.
const LOOKED_AT: usize = 1 << 16;

impl Format {
    /// The word for the format.
    pub fn word(self) -> &'static str {
        WORDS.iter().find(|(format, _)| *format == self).map_or("", |(_, word)| word)
    }

    /// All words, separated by commas.
    pub fn choices() -> String {
        WORDS.map(|(_, word)| word).join(", ")
    }

    /// Recognises a format by the content.
    ///
    /// # Errors
    /// It is none that is known, or one of a tool whose results hold no distribution.
    pub fn recognise(content: &[u8]) -> Result<Self, ImportError> {
        let text = String::from_utf8_lossy(&content[..content.len().min(LOOKED_AT)]);
        let text = text.trim_start();
        let unrecognised =
            || ImportError::Unrecognised { beginning: text.chars().take(40).collect() };
        if !text.starts_with('{') {
            return of_text(text).ok_or_else(unrecognised);
        }
        // Exports come first: they can be too large to read just to recognise them.
        if text.contains("\"tactus-run\"") {
            return Ok(Self::Tactus);
        }
        let document: Value = serde_json::from_slice(content)
            .map_err(|error| ImportError::Json(format!("it is not JSON: {error}")))?;
        of_json(&document).unwrap_or_else(|| Err(unrecognised()))
    }
}

/// Recognises a document; `None` where it is of no tool that is known by name.
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
                "results of `{other}` are not known here: of the rt-tests, cyclictest and oslat tell how \
                 often each latency came, the others only the least, the mean and the greatest"
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
