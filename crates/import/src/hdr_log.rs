//! Interval logs of HdrHistogram (`HistogramLogWriter` in its Java library, and the equivalent
//! in other languages).
//!
//! Each line is an interval: an optional tag, its start, its duration, its maximum value, and
//! its histogram in encoding V2, compressed, as base64. Each tag becomes a cell, and each
//! interval becomes a block of it, the basis of bootstrap intervals.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::limits::{COUNT, FOREIGN_FILE_BYTES};
use tactus_model::result::{Accounting, Measurement};
use tactus_model::run::Run;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stats::LatencyHistogram;

use crate::error::ImportError;
use crate::hdr_histogram::Packed;
use crate::result::{ForeignCell, ForeignResult, ForeignTask};

/// The first bytes of a compressed histogram in encoding V2.
const COMPRESSED_V2: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// The maximum size of a decompressed histogram: more than a histogram of five digits over the
/// whole range needs.
const LARGEST: u64 = 64 << 20;
/// The maximum size of all histograms of a log, decompressed: that of a file. A log of a day with
/// an interval for each second takes a fraction of it.
const LARGEST_TOGETHER: u64 = FOREIGN_FILE_BYTES;
/// The maximum number of intervals read from a log.
const MOST_INTERVALS: usize = 1 << 20;
/// The maximum number of blocks of all tags together; beyond it, neighbouring intervals are
/// merged. A block takes up to a megabyte, and a log of a day has 86 400 intervals of a second.
const MOST_BLOCKS: usize = 256;
/// The significant digits of written histograms: more than those of the stored ones.
const DIGITS: u8 = 3;
/// The most tags of a log that are read.
const MOST_TAGS: usize = MOST_BLOCKS / 2;

/// Whether a line is an interval, with or without a tag.
pub(crate) fn is_interval(line: &str) -> bool {
    Interval::of(line).is_some_and(|interval| interval.histogram.starts_with("HISTF"))
}

/// A parsed line of the log.
struct Interval<'t> {
    tag: &'t str,
    start: f64,
    length: f64,
    histogram: &'t str,
}

impl<'t> Interval<'t> {
    fn of(line: &'t str) -> Option<Self> {
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',')?,
            None => ("", line),
        };
        let parts: Vec<&str> = rest.splitn(4, ',').collect();
        let [start, length, _max, histogram] = parts[..] else { return None };
        let number = |text: &str| {
            text.trim().parse().ok().filter(|number: &f64| (0.0..1e12).contains(number))
        };
        Some(Self {
            tag,
            start: number(start)?,
            length: number(length)?,
            histogram: histogram.trim(),
        })
    }
}

/// The intervals of a tag.
struct Tagged {
    blocks: Vec<LatencyHistogram>,
    /// How many intervals a block holds, and how many the last one.
    together: usize,
    in_last: usize,
    longest: f64,
    begin: Option<f64>,
    end: f64,
    count: u64,
    coarsest: Nanos,
    fewest_digits: u8,
}

impl Default for Tagged {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            together: 1,
            in_last: 1,
            longest: 0.0,
            begin: None,
            end: 0.0,
            count: 0,
            coarsest: Nanos::ZERO,
            fewest_digits: u8::MAX,
        }
    }
}

pub(crate) fn read(content: &[u8], unit: Option<Nanos>) -> Result<ForeignResult, ImportError> {
    let text = String::from_utf8_lossy(content);
    let assumed = unit.is_none();
    let unit = unit.unwrap_or(Nanos::from_nanos(1));
    let mut tags: BTreeMap<String, Tagged> = BTreeMap::new();
    let (mut base, mut start, mut writer) = (None, None, None);
    let (mut intervals, mut bytes) = (0, 0);
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if let Some(comment) = text.strip_prefix('#') {
            base = bracketed(comment, "BaseTime:").or(base);
            start = bracketed(comment, "StartTime:").or(start);
            let logged = comment.trim_start_matches('[').strip_prefix("Logged with ");
            writer = logged.map(|logged| logged.trim_end_matches(']').to_owned()).or(writer);
        } else if !(text.is_empty() || text.starts_with('"')) {
            let interval = Interval::of(text).ok_or_else(|| {
                ImportError::line(
                    line,
                    "it is not an interval of the form `[Tag=NAME,]start,length,max,histogram`",
                )
            })?;
            intervals += 1;
            if intervals > MOST_INTERVALS {
                return Err(ImportError::beyond(line, MOST_INTERVALS, "intervals"));
            }
            let wrong = |reason| ImportError::line(line, reason);
            let histogram = decompressed(interval.histogram).map_err(wrong)?;
            bytes += histogram.len() as u64;
            if bytes > LARGEST_TOGETHER {
                let reason =
                    format!("the histograms have more than {LARGEST_TOGETHER} bytes together");
                return Err(wrong(reason));
            }
            let tagged = tags.entry(interval.tag.to_owned()).or_default();
            let added = Packed::of(&histogram).and_then(|it| tagged.add(&interval, &it, unit));
            added.map_err(wrong)?;
            if tags.len() > MOST_TAGS {
                return Err(ImportError::beyond(line, MOST_TAGS, "tags"));
            }
            if tags.values().map(|tagged| tagged.blocks.len()).sum::<usize>() > MOST_BLOCKS {
                tags.values_mut().for_each(Tagged::halve);
            }
        }
    }
    if tags.is_empty() {
        return Err(ImportError::Whole("the log has no intervals".to_owned()));
    }
    let begin = tags.values().filter_map(|tagged| tagged.begin).fold(f64::INFINITY, f64::min);
    let mut notes = notes(&tags, unit, assumed);
    notes.extend(writer.map(|writer| format!("The log was written by {writer}.")));
    Ok(ForeignResult {
        tool: "hdrhistogram",
        version: None,
        command_line: None,
        started: began(base, start, begin),
        facts: MachineFacts::unknown(Instant::from_nanos(0)),
        cells: tags.into_iter().map(|(tag, tagged)| tagged.cell(&tag, unit)).collect(),
        notes,
    })
}

fn notes(tags: &BTreeMap<String, Tagged>, unit: Nanos, assumed: bool) -> Vec<String> {
    let digits = tags.values().map(|tagged| tagged.fewest_digits).min().unwrap_or_default();
    let mut notes = vec![
        format!("The histograms keep {digits} significant digits of each value."),
        "The measured quantity, the method and the machine are unknown.".to_owned(),
        "The log does not show whether all values were recorded.".to_owned(),
    ];
    if assumed {
        notes.push(format!(
            "The log does not contain the unit of its values; {unit} is assumed. To change it, import with --unit, e.g. --unit 1us."
        ));
    }
    notes
}

/// Parses the seconds of a comment such as `[BaseTime: 1441812279.474 (seconds since epoch)]`.
fn bracketed(comment: &str, key: &str) -> Option<f64> {
    let rest = comment.trim_start_matches('[').strip_prefix(key)?;
    rest.split_whitespace().next()?.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// The start of the first interval. Times are relative to the base time if there is one.
/// Otherwise they are seconds since 1970, or since the start time if they are much smaller (by
/// more than a year, as in `HistogramLogReader`).
fn began(base: Option<f64>, start: Option<f64>, first: f64) -> Option<Instant<Realtime>> {
    const YEAR: f64 = 365.0 * 86_400.0;
    let seconds = match (base, start) {
        (Some(base), _) => base + first,
        (None, Some(start)) if first < start - YEAR => start + first,
        (None, None) if first < YEAR => return None,
        _ => first,
    };
    (0.0..9.2e9).contains(&seconds).then(|| Instant::from_nanos((seconds * 1e9) as u64))
}

impl Tagged {
    fn add(
        &mut self,
        interval: &Interval<'_>,
        histogram: &Packed<'_>,
        unit: Nanos,
    ) -> Result<(), String> {
        let Self { count: total, .. } = self;
        let block = next_block(&mut self.blocks, &mut self.in_last, self.together);
        histogram.each(|value, count| {
            let nanos = value.checked_mul(unit.as_nanos()).ok_or_else(|| {
                format!("a value exceeds the range of nanoseconds at a unit of {unit}")
            })?;
            *total = total
                .checked_add(count)
                .filter(|total| *total <= COUNT)
                .ok_or_else(|| format!("more than {COUNT} values cannot be stored"))?;
            block.record_n(Nanos::from_nanos(nanos), count);
            Ok(())
        })?;
        self.coarsest = self.coarsest.max(unit.saturating_mul(histogram.low));
        self.fewest_digits = self.fewest_digits.min(histogram.digits);
        self.begin = Some(self.begin.map_or(interval.start, |begin| begin.min(interval.start)));
        self.end = self.end.max(interval.start + interval.length);
        self.longest = self.longest.max(interval.length);
        Ok(())
    }

    /// Puts each two neighbouring blocks together.
    fn halve(&mut self) {
        if self.blocks.len().is_multiple_of(2) {
            self.in_last += self.together;
        }
        let pairs = self.blocks.chunks(2).map(|pair| {
            let mut block = pair[0].clone();
            pair[1..].iter().for_each(|second| block.merge(second));
            block
        });
        self.blocks = pairs.collect();
        self.together *= 2;
    }

    fn cell(self, tag: &str, unit: Nanos) -> ForeignCell {
        let name = if tag.is_empty() { "values".to_owned() } else { format!("values of {tag}") };
        let blocks = self.blocks.iter().map(LatencyHistogram::to_record).collect();
        let seconds = |seconds: f64| Nanos::from_nanos((seconds * 1e9) as u64);
        let mut cell = Cell::imported(name);
        let _ = cell.know("traced", "0s");
        ForeignCell {
            cell,
            window: seconds(self.end - self.begin.unwrap_or(self.end)),
            block_length: seconds(self.longest * self.together as f64),
            unit: self.coarsest.max(unit),
            tasks: vec![ForeignTask {
                cpu: None,
                blocks,
                accounting: Accounting {
                    intended: self.count,
                    observed: self.count,
                    ..Accounting::default()
                },
                overflow: None,
            }],
        }
    }
}

/// Writes the latencies of a run per wakeup, in nanoseconds: each turn is an interval, tagged with
/// its cell.
///
/// # Errors
/// A histogram cannot be encoded, which is a defect of Tactus.
pub fn hdr_log(run: &Run) -> Result<String, HdrError> {
    let seconds = run.header.created.as_nanos() as f64 / 1e9;
    let mut log = format!(
        "#[Logged with tactus {}]\n#[Histogram log format version 1.3]\n\
         #[BaseTime: {seconds:.3} (seconds since epoch)]\n#[StartTime: {seconds:.3} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        run.header.version
    );
    let labels = run.header.plan.labels();
    for measurement in &run.measurements {
        let label = labels.get(measurement.turn.cell).map_or("", String::as_str);
        let encoded = encoded(measurement)?;
        // Writing to a String cannot fail. The maximum is in milliseconds by convention.
        let _ = writeln!(
            log,
            "Tag={},{:.3},{:.3},{:.6},{}",
            tag(label),
            (measurement.started - run.header.created).as_secs_f64(),
            measurement.window.as_secs_f64(),
            encoded.max as f64 / 1e6,
            encoded.text,
        );
    }
    Ok(log)
}

/// Why a log cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("a histogram cannot be encoded for HdrHistogram: {0}")]
pub struct HdrError(String);

impl HdrError {
    fn of(error: impl std::fmt::Debug) -> Self {
        Self(format!("{error:?}"))
    }
}

/// A label without what separates fields of a log.
fn tag(label: &str) -> String {
    let joined = label.replace(" · ", "/");
    joined
        .chars()
        .map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c })
        .collect()
}

struct Encoded {
    text: String,
    max: u64,
}

/// The histogram of all tasks of a measurement.
fn encoded(measurement: &Measurement) -> Result<Encoded, HdrError> {
    let mut all = LatencyHistogram::new();
    for block in measurement.tasks.iter().flat_map(|task| &task.blocks) {
        all.merge_record(block);
    }
    let max = all.max().map_or(0, Nanos::as_nanos);
    let mut histogram = hdrhistogram::Histogram::<u64>::new(DIGITS).map_err(HdrError::of)?;
    for bucket in all.buckets() {
        histogram.record_n(bucket.low.as_nanos(), bucket.count).map_err(HdrError::of)?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&histogram, &mut bytes).map_err(HdrError::of)?;
    Ok(Encoded { text: BASE64_STANDARD.encode(bytes), max })
}

/// The block of the next interval: the last one until it holds `together` intervals.
fn next_block<'b>(
    blocks: &'b mut Vec<LatencyHistogram>,
    in_last: &mut usize,
    together: usize,
) -> &'b mut LatencyHistogram {
    if blocks.is_empty() || *in_last >= together {
        blocks.push(LatencyHistogram::new());
        *in_last = 0;
    }
    *in_last += 1;
    let last = blocks.len() - 1;
    &mut blocks[last]
}

/// Decompresses the text of a histogram.
fn decompressed(text: &str) -> Result<Vec<u8>, String> {
    let bytes = BASE64_STANDARD
        .decode(text)
        .map_err(|error| format!("the histogram is not base64: {error}"))?;
    if bytes.get(..4) != Some(&COMPRESSED_V2[..]) {
        return Err("the histogram is not in the compressed encoding V2, which HdrHistogram writes since version 2.1.10".to_owned());
    }
    let mut content = Vec::new();
    ZlibDecoder::new(&bytes[8.min(bytes.len())..])
        .take(LARGEST)
        .read_to_end(&mut content)
        .map_err(|error| format!("the histogram does not decompress: {error}"))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{File, Format, Options, run_of};

    fn imported(name: &str, content: Vec<u8>) -> Run {
        run_of(&[File { name: name.to_owned(), content, modified: None }], &Options::default())
            .unwrap()
    }

    #[test]
    fn a_written_log_reads_back_with_its_counts_and_quantiles() {
        let text = br#"{"cpu": {"0": {"histogram": {"3": 90, "40": 9, "900": 1}, "count": 100, "min": 3, "max": 900}}}"#;
        let run = imported("results.json", text.to_vec());
        let log = hdr_log(&run).unwrap().into_bytes();
        assert_eq!(Format::recognise(&log).unwrap(), Format::HdrLog);
        let again = imported("latency.hlog", log);
        assert_eq!(
            again.header.created.as_nanos() / 1_000_000,
            run.header.created.as_nanos() / 1_000_000
        );
        let pooled = |run: &Run| {
            let mut all = LatencyHistogram::new();
            let tasks = run.measurements.iter().flat_map(|measurement| &measurement.tasks);
            tasks.flat_map(|task| &task.blocks).for_each(|block| all.merge_record(block));
            all
        };
        let (before, after) = (pooled(&run), pooled(&again));
        assert_eq!(after.count(), before.count());
        for share in [0.5, 0.95, 1.0] {
            let [before, after] =
                [&before, &after].map(|it| it.quantile(share).unwrap().as_nanos());
            assert!(before.abs_diff(after) * 100 <= before, "{share}: {before} and {after}");
        }
    }

    #[test]
    fn a_tag_has_no_separator() {
        assert_eq!(tag("cmd:\"a, b\" · fifo:90"), "cmd:\"a__b\"/fifo:90");
    }
}
