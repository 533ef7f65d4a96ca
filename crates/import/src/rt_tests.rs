//! The common part of the JSON of the rt-tests (`src/lib/rt-utils.c` of rt-tests) and of
//! jitterdebugger.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tactus_model::facts::{KernelFacts, MachineFacts};
use tactus_model::format::quoted;
use tactus_model::limits::HISTOGRAM_ROWS;
use tactus_model::time::{Instant, Nanos, Realtime};

use crate::error::ImportError;
use crate::result::check_task_count;
use crate::tally::Tally;

/// The part of the document that all rt-tests write.
#[derive(Debug, Deserialize)]
pub(crate) struct Document<T> {
    /// Versions up to 2.x write the key with a trailing colon.
    #[serde(rename = "cmdline:", alias = "cmdline")]
    pub(crate) command_line: String,
    #[serde(rename = "rt_test_version:", alias = "rt_test_version", default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    pub(crate) start_time: Option<String>,
    #[serde(default)]
    pub(crate) end_time: Option<String>,
    #[serde(default)]
    pub(crate) sysinfo: Option<SystemInformation>,
    #[serde(default)]
    pub(crate) resolution_in_ns: u8,
    pub(crate) thread: BTreeMap<u32, T>,
}

/// The output of uname(2).
#[derive(Debug, Deserialize)]
pub(crate) struct SystemInformation {
    release: Option<String>,
    version: Option<String>,
    machine: Option<String>,
    /// The value of `/sys/kernel/realtime`.
    realtime: Option<u8>,
    /// The unit of latencies, which jitterdebugger writes here.
    pub(crate) resolution_in_ns: Option<u64>,
}

impl SystemInformation {
    /// The facts about the machine in the file; others are unknown.
    pub(crate) fn facts(&self) -> MachineFacts {
        MachineFacts {
            kernel: KernelFacts {
                release: self.release.clone(),
                version: self.version.clone(),
                machine: self.machine.clone(),
                preemption: (self.realtime == Some(1)).then(|| "rt".to_owned()),
                ..KernelFacts::default()
            },
            ..MachineFacts::unknown(Instant::from_nanos(0))
        }
    }
}

impl<T: for<'de> Deserialize<'de>> Document<T> {
    pub(crate) fn read(content: &[u8]) -> Result<Self, ImportError> {
        let document: Self = serde_json::from_slice(content)
            .map_err(|error| ImportError::Json(error.to_string()))?;
        check_task_count(document.thread.len())?;
        Ok(document)
    }
}

impl<T> Document<T> {
    /// When the measurement started, to the second.
    pub(crate) fn started(&self) -> Option<Instant<Realtime>> {
        moment(self.start_time.as_deref()?)
    }

    /// The duration of the measurement, to the second; zero if it is unknown.
    pub(crate) fn window(&self) -> Nanos {
        let ends = || Some((self.started()?, moment(self.end_time.as_deref()?)?));
        ends().map_or(Nanos::ZERO, |(start, end)| end - start)
    }

    /// The facts about the machine in the document.
    pub(crate) fn facts(&self) -> MachineFacts {
        let unknown = || MachineFacts::unknown(Instant::from_nanos(0));
        self.sysinfo.as_ref().map_or_else(unknown, SystemInformation::facts)
    }
}

/// Latencies of a thread in units, each with its count, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Histogram(Vec<(u64, u64)>);

impl Histogram {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Rows)
    }
}

/// Reads the rows of a histogram: keys are texts in JSON, and latencies here.
struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Histogram;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a histogram")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Histogram, A::Error> {
        let mut rows = Vec::new();
        while let Some((latency, count)) = map.next_entry::<Cow<'de, str>, u64>()? {
            let latency = latency.parse().map_err(|_| {
                A::Error::custom(format!("histogram: `{}` is not an integer", quoted(&latency)))
            })?;
            if rows.len() >= HISTOGRAM_ROWS {
                let reason = format!("histogram: more than {HISTOGRAM_ROWS} rows");
                return Err(A::Error::custom(reason));
            }
            rows.push((latency, count));
        }
        Ok(Histogram(rows))
    }
}

/// Counts the histogram of a thread. The difference to its `cycles` is the overflow: latencies
/// of at least `size` units, and longer than any in the histogram.
///
/// # Errors
/// The histogram contains a key that is not a latency, or more wakeups than cycles.
pub(crate) fn tally(
    histogram: &Histogram,
    unit: Nanos,
    cycles: u64,
    size: u64,
) -> Result<Tally, String> {
    let mut tally = Tally::new(unit);
    let mut beyond = size;
    for (latency, count) in histogram.iter() {
        tally.count(latency, count)?;
        beyond = beyond.max(latency.saturating_add(1));
    }
    let counted = tally.total();
    let missing = cycles.checked_sub(counted).ok_or_else(|| {
        format!("the histogram contains {counted} wakeups, but there were only {cycles} cycles")
    })?;
    tally.overflow(beyond, missing)?;
    Ok(tally)
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Parses a date in the format of RFC 2822, for example `Sat, 21 Nov 2026 14:57:25 +0000`.
fn moment(text: &str) -> Option<Instant<Realtime>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, day, month, year, time, zone] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day: u8 = day.parse().ok()?;
    let moment = humantime::parse_rfc3339(&format!("{year}-{month:02}-{day:02}T{time}Z")).ok()?;
    let seconds = moment.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let (sign, zone) = (zone.chars().next()?, zone.get(1..)?);
    let (hours, minutes): (u64, u64) = (zone.get(..2)?.parse().ok()?, zone.get(2..)?.parse().ok()?);
    let offset = hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?;
    let seconds = match sign {
        '+' => seconds.checked_sub(offset)?,
        '-' => seconds.checked_add(offset)?,
        _ => return None,
    };
    Some(Instant::from_nanos(seconds.checked_mul(1_000_000_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_parsed_with_their_zone() {
        let seconds = |text| moment(text).map(|found| found.as_nanos() / 1_000_000_000);
        assert_eq!(seconds("Sat, 21 Nov 2026 11:33:55 +0000"), Some(1_795_260_835));
        assert_eq!(seconds("Sat, 21 Nov 2026 12:33:55 +0100"), Some(1_795_260_835));
        assert_eq!(seconds("Sat, 21 Nov 2026 04:03:55 -0730"), Some(1_795_260_835));
        for wrong in ["", "Sat, 21 Nov 2026", "x, 99 Nov 2026 11:33:55 +0000", "a b c d e é"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
