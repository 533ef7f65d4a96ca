//! The notation of purposes, and verdicts in words.

use std::fmt;
use std::str::FromStr;

use tactus_model::format::{self, THIN_SPACE};
use tactus_model::text::nearest;
use tactus_model::time::Nanos;

use super::{Purpose, PurposeVerdict};

/// The error for a text that is not a purpose.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAPurpose {
    /// It starts with neither a known word nor a duration.
    #[error(
        "`{given}` is not a purpose{hint}; write audio:48000/64 (frames per second, frames per \
         buffer), control:1kHz:50us, video:60, midi, or a period and the tolerated lateness, e.g. 2ms:100us"
    )]
    Unknown {
        /// The text.
        given: String,
        /// A suggestion of a similar word, or empty.
        hint: String,
    },
    /// One of its numbers is invalid.
    #[error("`{given}`: {reason}")]
    Number {
        /// The text.
        given: String,
        /// The reason.
        reason: &'static str,
    },
}

const WORDS: [&str; 4] = ["audio", "control", "video", "midi"];
/// The shortest period that a probe can measure.
const SHORTEST_PERIOD: Nanos = Nanos::from_micros(1);

impl FromStr for Purpose {
    type Err = NotAPurpose;

    fn from_str(text: &str) -> Result<Self, NotAPurpose> {
        let wrong = |reason| NotAPurpose::Number { given: text.to_owned(), reason };
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        let purpose = match word {
            "audio" => {
                let numbers = rest.split_once('/').and_then(|(rate, frames)| {
                    Some(Self::Audio { rate: rate.parse().ok()?, frames: frames.parse().ok()? })
                });
                numbers.ok_or_else(|| {
                    wrong("write frames per second and frames per buffer, e.g. audio:48000/64")
                })?
            }
            "control" => {
                let numbers = rest.split_once(':').and_then(|(rate, deadline)| {
                    Some(Self::Control { period: period(rate)?, deadline: deadline.parse().ok()? })
                });
                numbers.ok_or_else(|| {
                    wrong("write a frequency and the tolerated lateness, e.g. control:1kHz:50us")
                })?
            }
            "video" => {
                let rate =
                    rest.parse().map_err(|_| wrong("write frames per second, e.g. video:60"))?;
                Self::Video { rate }
            }
            "midi" if rest.is_empty() => Self::Midi,
            "midi" => return Err(wrong("midi takes no numbers")),
            _ => own(word, rest).ok_or_else(|| NotAPurpose::Unknown {
                given: text.to_owned(),
                hint: nearest(word, &WORDS)
                    .map_or_else(String::new, |near| format!(" (did you mean `{near}`?)")),
            })?,
        };
        if matches!(purpose, Self::Audio { rate: 0, .. } | Self::Video { rate: 0 })
            || purpose.period() < SHORTEST_PERIOD
        {
            return Err(wrong("the period is shorter than 1 µs"));
        }
        if purpose.deadline() == Nanos::ZERO {
            return Err(wrong("the tolerated lateness must not be 0"));
        }
        Ok(purpose)
    }
}

fn own(period: &str, deadline: &str) -> Option<Purpose> {
    Some(Purpose::Own { period: period.parse().ok()?, deadline: deadline.parse().ok()? })
}

/// The period of a frequency such as `1kHz` or `250Hz`.
fn period(frequency: &str) -> Option<Nanos> {
    let (number, factor) = match frequency.strip_suffix("kHz") {
        Some(number) => (number, 1e3),
        None => (frequency.strip_suffix("Hz")?, 1.0),
    };
    let hertz = number.trim().parse::<f64>().ok()? * factor;
    let nanos = 1e9 / hertz;
    (hertz > 0.0 && nanos.is_finite() && nanos < 1e18)
        .then(|| Nanos::from_nanos(nanos.round() as u64))
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Audio { rate, frames } => write!(f, "audio:{rate}/{frames}"),
            Self::Control { period, deadline } => {
                let hertz = 1e9 / period.as_nanos() as f64;
                match hertz {
                    1000.0.. => write!(f, "control:{}kHz:{deadline}", hertz / 1000.0),
                    _ => write!(f, "control:{hertz}Hz:{deadline}"),
                }
            }
            Self::Video { rate } => write!(f, "video:{rate}"),
            Self::Midi => f.write_str("midi"),
            Self::Own { period, deadline } => write!(f, "{period}:{deadline}"),
        }
    }
}

/// A limit on the rate of deadline misses; written as `1/h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtMost {
    /// The number of misses.
    pub count: f64,
    /// The time.
    pub time: Nanos,
}

/// The error for a text that is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rate: write a number and a time, e.g. 1/h, 2/min or 1/24h")]
pub struct NotARate(String);

impl FromStr for AtMost {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let read = || {
            let (count, time) = text.split_once('/')?;
            let count: f64 = count.trim().parse().ok()?;
            let time = time.trim();
            let time = match time.starts_with(|c: char| c.is_ascii_digit()) {
                true => time.parse().ok()?,
                false => format!("1{time}").parse().ok()?,
            };
            (count > 0.0 && count.is_finite() && time > Nanos::ZERO).then_some(Self { count, time })
        };
        read().ok_or_else(|| NotARate(text.to_owned()))
    }
}

impl fmt::Display for AtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time.to_string();
        // A single unit is written without its number: 1/h.
        let unit = time.strip_prefix('1').filter(|unit| unit.starts_with(char::is_alphabetic));
        write!(f, "{}/{}", self.count, unit.unwrap_or(&time))
    }
}

impl AtMost {
    /// The time per permitted miss.
    pub fn one_in(self) -> Nanos {
        Nanos::from_nanos((self.time.as_nanos() as f64 / self.count) as u64)
    }
}

/// A verdict in words.
pub(super) fn words(verdict: &PurposeVerdict, purpose: Purpose) -> String {
    let due = format::count(verdict.due);
    let deadline = format::axis_length(verdict.deadline);
    let (noun, confidence) = (purpose.noun(), format!("95{THIN_SPACE}%"));
    let count = verdict.missed.count;
    if count == 0 {
        return format!(
            "None of {due} due times in {} was more than {deadline} late. At {confidence} confidence, at most one \
             {noun} in {} is missed on average; a series of misses counts as one.",
            span(verdict.measured),
            span(verdict.at_most_one_in),
        );
    }
    let were = if count == 1 { "was" } else { "were" };
    let [low, high] = verdict.chance_interval;
    let one_in = |chance: f64| span(one_in(verdict.period, chance));
    // With few misses, the interval contains a chance of nearly 0.
    let rarest = if low > 0.0 { one_in(low) } else { "never".to_owned() };
    format!(
        "{} of {due} due times {were} more than {deadline} late: {} ({confidence} interval {} to {}). On average, \
         one {noun} is missed every {} ({confidence} interval {} to {rarest}).",
        format::count(count),
        share(verdict.chance),
        share(low),
        share(high),
        one_in(verdict.chance),
        one_in(high),
    )
}

/// The average time from one miss to the next, at a chance above 0 per period.
fn one_in(period: Nanos, chance: f64) -> Nanos {
    Nanos::from_nanos((period.as_nanos() as f64 / chance) as u64)
}

/// What to change for better verdicts, without repetition: the interval of the cells, and a
/// longer measurement if no miss was observed.
pub fn notes(verdicts: &[PurposeVerdict]) -> Vec<String> {
    let is_short =
        |verdict: &PurposeVerdict| verdict.missed.count == 0 && verdict.at_most_one_in < HOUR;
    let longer = "To confirm at most one miss an hour, measure for 3 h without a miss.";
    let longer = verdicts.iter().any(is_short).then(|| longer.to_owned());
    other_intervals(verdicts).into_iter().chain(longer).collect()
}

/// A sentence for each interval that differs from the purpose's period.
pub(crate) fn other_intervals(verdicts: &[PurposeVerdict]) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for PurposeVerdict { purpose, period, measured_at, .. } in verdicts {
        let Some(interval) = measured_at else { continue };
        let sentence = format!(
            "Measured with `--interval {interval}`; for {purpose}, measure with `--interval {period}`."
        );
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

const HOUR: Nanos = Nanos::from_secs(3600);

/// A share in percent with two significant digits.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return format!("0{THIN_SPACE}%");
    }
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{percent:.decimals$}{THIN_SPACE}%")
}

/// A duration, rounded down to two digits: rounding must not strengthen the claim.
fn span(length: Nanos) -> String {
    const UNITS: [(&str, f64); 5] =
        [("d", 86_400.0), ("h", 3_600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)];
    let seconds = length.as_secs_f64();
    let (unit, size) = UNITS.into_iter().find(|(_, size)| seconds >= *size).unwrap_or(("ms", 1e-3));
    let value = seconds / size;
    let decimals = (1.0 - value.max(1e-3).log10().floor()).clamp(0.0, 3.0);
    let scale = 10_f64.powf(decimals);
    // Floating-point error must not round a whole number down.
    let down = (value * scale + 1e-6).floor() / scale;
    format!("{down}{THIN_SPACE}{unit}")
}
