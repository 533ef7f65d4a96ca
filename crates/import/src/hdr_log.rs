//! Interval logs of HdrHistogram (`HistogramLogWriter` in its Java library, and what
//! the other languages' libraries write).
//!
//! A line is an interval: an optional tag, when it began, how long it was, its greatest
//! value, and its histogram in the encoding V2, compressed, in base64. Each tag becomes
//! a cell, and each interval a block of it, from which intervals can be bootstrapped.

use std::collections::BTreeMap;
use std::io::Read;

use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::Deserializer;
use tactus_model::cell::Cell;
use tactus_model::facts::MachineFacts;
use tactus_model::result::Accounting;
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_stats::LatencyHistogram;

use crate::error::ImportError;
use crate::result::{ForeignCell, ForeignResult, ForeignTask};

/// The first bytes of a compressed histogram in the encoding V2.
const COMPRESSED_V2: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
/// The bytes of a histogram before its counts.
const HEADER: usize = 40;
/// The most bytes that a histogram may have when it is decompressed: more than any
/// of five digits over the whole range needs.
const LARGEST: u64 = 64 << 20;
/// The most intervals of a log that are read.
const MOST_INTERVALS: usize = 1 << 20;
/// The most values of a task that are taken: 2⁵³, as many as the store keeps.
const MOST: u64 = 1 << 53;
/// The most blocks that are kept of all tags; then neighbouring intervals are put together.
/// A block takes up to a megabyte, and a log of a day has 86 400 intervals of a second.
const MOST_BLOCKS: usize = 256;
/// The most tags of a log that are read.
const MOST_TAGS: usize = MOST_BLOCKS / 2;

/// Whether a line is an interval, with or without a tag.
pub(crate) fn is_interval(line: &str) -> bool {
    Interval::of(line).is_some_and(|interval| interval.histogram.starts_with("HISTF"))
}

/// A line of the log taken apart.
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
    let mut intervals = 0;
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
                    "it is no interval: `[Tag=NAME,]start,length,max,histogram`",
                )
            })?;
            intervals += 1;
            if intervals > MOST_INTERVALS {
                return Err(ImportError::line(
                    line,
                    format!("more than {MOST_INTERVALS} intervals"),
                ));
            }
            let tagged = tags.entry(interval.tag.to_owned()).or_default();
            tagged.add(&interval, unit).map_err(|reason| ImportError::line(line, reason))?;
            if tags.len() > MOST_TAGS {
                return Err(ImportError::line(line, format!("more than {MOST_TAGS} tags")));
            }
            if tags.values().map(|tagged| tagged.blocks.len()).sum::<usize>() > MOST_BLOCKS {
                tags.values_mut().for_each(Tagged::halve);
            }
        }
    }
    if tags.is_empty() {
        return Err(ImportError::Whole("there is no interval in the log".to_owned()));
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
        format!("The histograms keep {digits} significant digits of every value."),
        "What was measured, how, and on which machine is unknown.".to_owned(),
        "Whether what should have been recorded was is not told by the log.".to_owned(),
    ];
    if assumed {
        notes.push(format!(
            "The unit of the values is not told and taken as {unit}; --unit 1us says another."
        ));
    }
    notes
}

/// The seconds of a comment as `[BaseTime: 1441812279.474 (seconds since epoch)]`.
fn bracketed(comment: &str, key: &str) -> Option<f64> {
    let rest = comment.trim_start_matches('[').strip_prefix(key)?;
    rest.split_whitespace().next()?.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

/// When the first interval began. Times count from the base where there is one. Without
/// one they are seconds since 1970, or since the start when they are much less than that
/// (more than a year, as `HistogramLogReader` decides).
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
    fn add(&mut self, interval: &Interval<'_>, unit: Nanos) -> Result<(), String> {
        let found = histogram(interval.histogram)?;
        let mut block = LatencyHistogram::new();
        for value in found.iter_recorded() {
            let nanos = value.value_iterated_to().checked_mul(unit.as_nanos());
            let nanos =
                nanos.ok_or_else(|| format!("a value is beyond what can be told in {unit}"))?;
            let count = value.count_at_value();
            self.count = self
                .count
                .checked_add(count)
                .filter(|count| *count <= MOST)
                .ok_or_else(|| format!("more than {MOST} values cannot be kept"))?;
            block.record_n(Nanos::from_nanos(nanos), count);
        }
        self.coarsest = self.coarsest.max(unit.saturating_mul(found.low()));
        self.fewest_digits = self.fewest_digits.min(found.sigfig());
        self.begin = Some(self.begin.map_or(interval.start, |begin| begin.min(interval.start)));
        self.end = self.end.max(interval.start + interval.length);
        self.longest = self.longest.max(interval.length);
        match self.blocks.last_mut() {
            Some(last) if self.in_last < self.together => {
                last.merge(&block);
                self.in_last += 1;
            }
            _ => {
                self.blocks.push(block);
                self.in_last = 1;
            }
        }
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

/// Decodes a histogram. Its sizes are looked at before the library allocates what they ask for.
fn histogram(text: &str) -> Result<hdrhistogram::Histogram<u64>, String> {
    let bytes = BASE64_STANDARD
        .decode(text)
        .map_err(|error| format!("the histogram is not base64: {error}"))?;
    if bytes.get(..4) != Some(&COMPRESSED_V2[..]) {
        return Err("the histogram is not in the compressed encoding V2, which HdrHistogram writes since 2.1.10".to_owned());
    }
    let mut content = Vec::new();
    ZlibDecoder::new(&bytes[8.min(bytes.len())..])
        .take(LARGEST)
        .read_to_end(&mut content)
        .map_err(|error| format!("the histogram does not decompress: {error}"))?;
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(content.get(at..at + 4)?.try_into().ok()?))
    };
    let (length, digits) = (word(4), word(12));
    let fits = content.len() >= HEADER
        && length.is_some_and(|length| length as usize <= content.len() - HEADER)
        && digits.is_some_and(|digits| digits <= 5);
    if !fits {
        return Err("the histogram is damaged: its sizes do not fit".to_owned());
    }
    Deserializer::new()
        .deserialize(&mut &content[..])
        .map_err(|error| format!("the histogram cannot be read: {error}"))
}
