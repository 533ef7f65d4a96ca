//! Formats quantities for display: durations, counts, shares, rates and dates.

use std::time::{Duration, UNIX_EPOCH};

use crate::limits::QUOTED_CHARACTERS;
use crate::time::{Instant, Nanos, Realtime};

/// Separates groups of three digits, and a number from its unit.
///
/// U+202F, the narrow no-break space of ISO 80000: it takes one column in a terminal, never
/// breaks a line, and cannot be mistaken for a decimal sign.
pub const THIN_SPACE: char = '\u{202f}';

/// Placeholder for a missing value.
pub const NOTHING: &str = "–";

/// Units of duration from the shortest to the longest, in nanoseconds.
const LENGTH_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Formats a duration with three significant digits: `4.83 µs`, `1.20 ms`, `312 s`.
///
/// The unit is the longest in which the rounded number is at least 1, so every number below
/// 1000 s has three digits and columns of durations compare by eye. Nanoseconds have no
/// decimals, since the resolution is 1 ns.
pub fn latency(length: Nanos) -> String {
    let nanos = length.as_nanos();
    if nanos < 1000 {
        return format!("{nanos}{THIN_SPACE}ns");
    }
    let value = nanos as f64;
    let (unit, size) = LENGTH_UNITS
        .into_iter()
        .find(|(_, size)| three_digits(value / size) < 1000.0)
        .unwrap_or(LENGTH_UNITS[LENGTH_UNITS.len() - 1]);
    format!("{}{THIN_SPACE}{unit}", significant(value / size))
}

/// Formats a duration in fractions of nanoseconds, also below 10 ns with three significant digits:
/// `3.86 ns`.
pub fn fine_latency(nanos: f64) -> String {
    match nanos {
        ..9.995 => format!("{nanos:.2}{THIN_SPACE}ns"),
        ..99.95 => format!("{nanos:.1}{THIN_SPACE}ns"),
        _ => latency(rounded_nanos(nanos)),
    }
}

/// Formats a duration that is known only in whole multiples of `unit`: `12 µs`, not `12.0 µs`.
pub fn latency_to(length: Nanos, unit: Nanos) -> String {
    let step = unit.as_nanos().max(1);
    let whole = length.as_nanos() / step * step;
    if step == 1 || whole == 0 {
        return latency(Nanos::from_nanos(whole));
    }
    let value = whole as f64;
    let (name, size) = LENGTH_UNITS
        .into_iter()
        .find(|(_, size)| three_digits(value / size) < 1000.0)
        .unwrap_or(LENGTH_UNITS[LENGTH_UNITS.len() - 1]);
    let text = significant(value / size);
    let digits = (size / step as f64).log10().floor().max(0.0) as usize;
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len()).min(digits);
    format!("{:.decimals$}{THIN_SPACE}{name}", value / size)
}

/// Formats a duration, or a dash for `None`.
pub fn latency_or_nothing(length: Option<Nanos>) -> String {
    length.map_or_else(|| NOTHING.to_owned(), latency)
}

/// Formats a duration as an axis mark, without trailing zeros: `10 µs`.
pub fn axis_length(length: Nanos) -> String {
    if length == Nanos::ZERO {
        return "0".to_owned();
    }
    let text = latency(length);
    let Some((number, unit)) = text.split_once(THIN_SPACE) else { return text };
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number}{THIN_SPACE}{unit}")
}

/// Formats a waiting time: `1 min 20 s`, `2.5 s`, `3 h 5 min`.
pub fn span(length: Nanos) -> String {
    let seconds = length.as_secs_f64();
    let parts = |large: u64, large_unit, small: u64, small_unit| match small {
        0 => format!("{large}{THIN_SPACE}{large_unit}"),
        _ => format!("{large}{THIN_SPACE}{large_unit} {small}{THIN_SPACE}{small_unit}"),
    };
    let whole = seconds.round() as u64;
    match whole {
        0..60 if seconds < 59.95 => {
            let text = format!("{seconds:.1}");
            format!("{}{THIN_SPACE}s", text.trim_end_matches(".0"))
        }
        0..3600 => parts(whole / 60, "min", whole % 60, "s"),
        _ => parts(whole / 3600, "h", whole % 3600 / 60, "min"),
    }
}

/// Formats a count with a separator between thousands: `12 345 678`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * THIN_SPACE.len_utf8());
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(THIN_SPACE);
        }
        text.push(digit);
    }
    text
}

/// Formats `count` of a noun: `1 round`, `2 rounds`.
pub fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", self::count(count))
}

/// Formats `part` of `whole` in per cent; a share above zero never shows as 0, a share below
/// all never as 100.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return NOTHING.to_owned();
    }
    percent(part as f64 / whole as f64)
}

/// Formats a share of 1, which is not negative, in per cent: `33.3 %`. It shows 0 and 100 only where
/// it is that, and may be above 100.
pub fn percent(share: f64) -> String {
    let text = match share * 100.0 {
        p if p <= 0.0 => "0".to_owned(),
        100.0 => "100".to_owned(),
        p if p < 0.01 => "<0.01".to_owned(),
        p if p > 99.99 && p < 100.0 => ">99.99".to_owned(),
        p if p < 1.0 || (p > 99.0 && p < 100.0) => format!("{p:.2}"),
        p => format!("{p:.1}"),
    };
    format!("{text}{THIN_SPACE}%")
}

/// Formats a share of 1 in per cent without decimals: `33 %`.
pub fn whole_percent(share: f64) -> String {
    format!("{:.0}{THIN_SPACE}%", share * 100.0)
}

/// Formats a relative difference in per cent with one decimal and its sign: `+3.2 %`.
pub fn signed_percent(share: f64) -> String {
    let rounded = (share * 1000.0).round() / 10.0;
    let text = |size: f64| match size {
        0.0 => format!("0{THIN_SPACE}%"),
        _ => format!("{size:.1}{THIN_SPACE}%"),
    };
    signed(rounded, text)
}

/// Formats a difference with its sign, and its `size` as given. Zero has no sign.
pub fn signed(difference: f64, size: impl Fn(f64) -> String) -> String {
    let sign = match difference {
        0.0 => "",
        ..0.0 => "−",
        _ => "+",
    };
    format!("{sign}{}", size(difference.abs()))
}

/// Formats a number with three significant digits and an SI prefix: `4.83 k`, `1.20 M`.
///
/// The caller appends the unit: `quantity(x) + "B/s"`.
pub fn quantity(value: f64) -> String {
    if !value.is_finite() {
        return NOTHING.to_owned();
    }
    let prefixes = [("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)];
    let (prefix, size) = prefixes
        .into_iter()
        .find(|(_, size)| three_digits(value / size) < 1000.0)
        .unwrap_or(prefixes[prefixes.len() - 1]);
    format!("{}{THIN_SPACE}{prefix}", significant(value / size))
}

/// Formats a rate of events: `4.83 k/s`; a dash if `over` is zero.
pub fn rate(count: u64, over: Nanos) -> String {
    if over == Nanos::ZERO {
        return NOTHING.to_owned();
    }
    let text = quantity(count as f64 / over.as_secs_f64());
    format!("{}/s", text.trim_end_matches(THIN_SPACE))
}

/// Formats a rate of operations of a kind: `4.83 k writes/s`.
pub fn operation_rate(per_second: f64, unit: &str) -> String {
    let text = quantity(per_second);
    format!("{} {unit}/s", text.trim_end_matches(THIN_SPACE))
}

/// Formats a rate of bytes with SI prefixes: `4.83 MB/s`.
pub fn byte_rate(per_second: f64) -> String {
    format!("{}B/s", quantity(per_second))
}

/// Formats CPU usage in per cent of one CPU: `198 %` is nearly two CPUs.
pub fn cpus(count: f64) -> String {
    whole_percent(count)
}

/// Formats an instant in UTC as RFC 3339, to the second: `2026-11-21T11:33:55Z`.
pub fn date(moment: Instant<Realtime>) -> String {
    // The last second that RFC 3339 can express; later instants are shown as this one.
    const LAST: u64 = 253_402_300_799;
    let seconds = (moment.as_nanos() / 1_000_000_000).min(LAST);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

/// Formats an instant as [`date`] does, for a name of a file: `20261121-113355`.
pub fn compact_date(moment: Instant<Realtime>) -> String {
    let wanted = |c: char| match c {
        'T' => Some('-'),
        c => c.is_ascii_digit().then_some(c),
    };
    date(moment).chars().filter_map(wanted).collect()
}

/// Formats a percentile without trailing zeros: `99.9 %`.
pub fn percentile(share: f64) -> String {
    format!("{}{THIN_SPACE}%", percentile_number(share))
}

/// Formats a percentile as the number after `p`: `99.9`.
pub fn percentile_number(share: f64) -> String {
    let text = format!("{:.6}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Rounds a fractional number of nanoseconds to a duration.
pub fn rounded_nanos(nanos: f64) -> Nanos {
    // The cast saturates; a mean of durations cannot leave their range.
    Nanos::from_nanos(nanos.round() as u64)
}

/// Escapes the characters that control a terminal, reorder a text or cannot be seen, so that a
/// text from outside (a thread's name, a path, a label with a quoted command, a file of another
/// program) appears as what it is.
///
/// Every text for a terminal or a page passes through this function at that border.
pub fn printable(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_plain(letter) {
            escaped.push(letter);
        } else {
            escaped.extend(letter.escape_default());
        }
    }
    escaped
}

/// Whether a character neither controls (C0, C1) nor reorders (bidirectional marks, embeddings,
/// overrides and isolates) nor is invisible (zero width, tags, variation of the byte order).
pub fn is_plain(letter: char) -> bool {
    !letter.is_control()
        && !matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// A value from a file as a message quotes it: escaped, and cut after
/// [`QUOTED_CHARACTERS`].
pub fn quoted(value: &str) -> String {
    cut(value, QUOTED_CHARACTERS)
}

/// The first `most` characters of a text, escaped, with `…` in place of the rest.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => printable(&text[..end]) + "…",
        None => printable(text),
    }
}

/// A value as one word of a shell, quoted if necessary.
pub fn shell_word(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%:=".contains(c);
    match !value.is_empty() && value.chars().all(is_plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}

/// Rounds `value` to three significant digits.
fn three_digits(value: f64) -> f64 {
    significant(value).parse().unwrap_or(value)
}

/// Formats three significant digits; all digits before the decimal point are kept.
fn significant(value: f64) -> String {
    // 9.995 and above needs one decimal less, since it rounds up to 10.
    let decimals = match value.abs() {
        size if size == 0.0 || size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    // Rounds before formatting, so that halves round up as in the page's script.
    let scale = 10_f64.powi(decimals as i32);
    let rounded = (value * scale).round() / scale;
    format!("{rounded:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(text.replace(THIN_SPACE, " "), expected);
    }

    #[test]
    fn durations_have_three_digits() {
        for (nanos, expected) in [
            (0, "0 ns"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (4_834, "4.83 µs"),
            (9_994, "9.99 µs"),
            (9_996, "10.0 µs"),
            (85_040, "85.0 µs"),
            (99_960, "100 µs"),
            (999_499, "999 µs"),
            (999_501, "1.00 ms"),
            (2_100_000, "2.10 ms"),
            (312_000_000_000, "312 s"),
            (4_000_000_000_000, "4000 s"),
        ] {
            check(&latency(Nanos::from_nanos(nanos)), expected);
        }
    }

    #[test]
    fn durations_show_no_more_digits_than_their_unit() {
        let micro = Nanos::from_micros(1);
        for (nanos, unit, expected) in [
            (12_007, micro, "12 µs"),
            (8_003, micro, "8 µs"),
            (1_310_000, micro, "1.31 ms"),
            (0, micro, "0 ns"),
            (12_007, Nanos::from_nanos(1), "12.0 µs"),
            (255_000, Nanos::from_micros(5), "255 µs"),
            (1_234_567, Nanos::from_micros(100), "1.2 ms"),
        ] {
            check(&latency_to(Nanos::from_nanos(nanos), unit), expected);
        }
    }

    #[test]
    fn axis_marks_have_no_trailing_zeros() {
        check(&axis_length(Nanos::from_micros(1)), "1 µs");
        check(&axis_length(Nanos::from_micros(100)), "100 µs");
        check(&axis_length(Nanos::from_nanos(2_500)), "2.5 µs");
    }

    #[test]
    fn spans_use_two_units_at_most() {
        check(&span(Nanos::from_millis(2_500)), "2.5 s");
        check(&span(Nanos::from_secs(3)), "3 s");
        check(&span(Nanos::from_millis(59_990)), "1 min");
        check(&span(Nanos::from_secs(80)), "1 min 20 s");
        check(&span(Nanos::from_secs(11_100)), "3 h 5 min");
    }

    #[test]
    fn counts_separate_their_thousands() {
        check(&count(0), "0");
        check(&count(999), "999");
        check(&count(12_345_678), "12 345 678");
        check(&counted(1, "round"), "1 round");
        check(&counted(2, "round"), "2 rounds");
    }

    #[test]
    fn a_share_above_zero_never_shows_as_zero() {
        check(&share(0, 10), "0 %");
        check(&share(1, 1_000_000), "<0.01 %");
        check(&share(12, 10_000), "0.12 %");
        check(&share(999_999, 1_000_000), ">99.99 %");
        check(&share(1, 3), "33.3 %");
        check(&share(3, 3), "100 %");
        check(&share(0, 0), "–");
        check(&percent(0.999_999), ">99.99 %");
        check(&percent(1.0), "100 %");
        check(&percent(1.234), "123.4 %");
        check(&whole_percent(0.126), "13 %");
    }

    #[test]
    fn a_difference_has_a_sign_unless_it_is_zero() {
        check(&signed_percent(0.0316), "+3.2 %");
        check(&signed_percent(-1.5), "−150.0 %");
        check(&signed_percent(-0.0001), "0 %");
        check(&signed(-1_500.0, fine_latency), "−1.50 µs");
        check(&signed(2.0, fine_latency), "+2.00 ns");
        check(&signed(0.0, fine_latency), "0.00 ns");
    }

    #[test]
    fn rates_have_an_si_prefix() {
        check(&rate(4_834, Nanos::from_secs(1)), "4.83 k/s");
        check(&rate(50, Nanos::from_secs(100)), "0.50/s");
        check(&byte_rate(1_200_000.0), "1.20 MB/s");
        check(&operation_rate(4_834.0, "writes"), "4.83 k writes/s");
        check(&operation_rate(11.3, "compiles"), "11.3 compiles/s");
        check(&rate(5, Nanos::ZERO), "–");
    }

    #[test]
    fn instants_are_formatted_as_dates() {
        check(&date(Instant::from_nanos(0)), "1970-01-01T00:00:00Z");
        check(&date(Instant::from_nanos(u64::MAX)), "2554-07-21T23:34:33Z");
    }

    #[test]
    fn percentiles_are_exact() {
        check(&percentile(0.5), "50 %");
        check(&percentile(0.999), "99.9 %");
        check(&percentile(0.99999), "99.999 %");
    }
}
