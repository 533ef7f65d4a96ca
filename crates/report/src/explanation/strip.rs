//! A timeline in letters: a row for each CPU, in each column the letter of the occupant with most
//! of the time.

use std::fmt::Write;

use tactus_explain::timeline::{Lane, Mark, Moment, Occupant, Timeline};
use tactus_model::time::Nanos;

use super::lanes;
use super::words::Subject;
use crate::columns::columns_of;
use crate::format;

/// The character for unknown time.
const UNKNOWN: char = ' ';

/// The most columns for time; more would only repeat letters.
const COLUMNS: usize = 100;

/// The most moments that are listed one by one.
const MOMENTS: usize = 8;

/// Draws a timeline in at most `width` columns, each line after `indent`. `end` is what happens at
/// its end.
pub(super) fn draw(
    timeline: &Timeline,
    subject: Subject,
    end: &str,
    indent: &str,
    width: usize,
) -> String {
    let (lanes, left_out) = lanes::shown(timeline);
    let parts = lanes::parts(&lanes);
    let letters = letters(&parts);
    let names: Vec<String> = lanes.iter().map(|lane| format!("CPU {}", lane.cpu)).collect();
    let widest = names.iter().map(String::len).max().unwrap_or(0);
    let columns = width.saturating_sub(indent.len() + widest + 4).clamp(10, COLUMNS);
    let mut text = String::new();
    let ruler = ruler(timeline, subject, end, columns);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{indent}{:widest$}  {ruler}", "");
    for (lane, name) in lanes.iter().zip(&names) {
        let row: String = row(lane, timeline.length, columns)
            .into_iter()
            .map(|occupant| occupant.map_or(UNKNOWN, |occupant| letter(&letters, occupant)))
            .collect();
        let _ = writeln!(text, "{indent}{name:widest$}  {}", row.trim_end());
    }
    if left_out > 0 {
        let _ = writeln!(
            text,
            "{indent}({} with less activity not shown)",
            format::counted(left_out as u64, "CPU")
        );
    }
    let legend: Vec<String> = parts
        .iter()
        .zip(&letters)
        .map(|((occupant, time), (_, letter))| {
            format!("{letter} {} {}", lanes::name(occupant), format::latency(*time))
        })
        .collect();
    text.push_str(&items(&legend, indent, width));
    if let Some(moments) = moments(timeline, subject) {
        text.push_str(&crate::wrap::wrapped(&moments, indent, width));
    }
    text
}

/// Puts items side by side in lines of at most `width`, without breaking any.
pub(super) fn items(items: &[String], indent: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for item in items.iter().map(|item| format::printable(item)) {
        match lines.last_mut() {
            Some(line)
                if columns_of(indent) + columns_of(line) + 3 + columns_of(&item) <= width =>
            {
                line.push_str(" | ");
                line.push_str(&item);
            }
            _ => lines.push(item),
        }
    }
    lines.iter().map(|line| format!("{indent}{line}\n")).collect()
}

/// The beginning on the left, the end on the right.
fn ruler(timeline: &Timeline, subject: Subject, end: &str, columns: usize) -> String {
    let left = match subject {
        Subject::Samples | Subject::Jobs => "due",
        Subject::Waits => "wait begins",
    };
    let right = format!("{} after {}", end, format::latency(timeline.length));
    let between = columns.saturating_sub(left.len() + columns_of(&right));
    format!("{left}{}{right}", " ".repeat(between.max(1)))
}

/// The occupant with most of the time of each column.
fn row(lane: &Lane, length: Nanos, columns: usize) -> Vec<Option<&Occupant>> {
    let place = |column: usize| {
        let nanos = u128::from(length.as_nanos()) * column as u128 / columns as u128;
        Nanos::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    };
    (0..columns)
        .map(|column| {
            let (from, to) = (place(column), place(column + 1));
            lane.bars
                .iter()
                .map(|bar| (bar.to.min(to) - bar.from.max(from), &bar.occupant))
                .filter(|(share, _)| *share > Nanos::ZERO)
                .max_by_key(|(share, _)| *share)
                .map(|(_, occupant)| occupant)
        })
        .collect()
}

/// A letter for each occupant: lower case for threads, upper case for interrupts and softirqs; the
/// initial if it is free.
fn letters(parts: &[(Occupant, Nanos)]) -> Vec<(Occupant, char)> {
    let mut taken: Vec<(Occupant, char)> = Vec::new();
    for (occupant, _) in parts {
        let free = |letter: &char| taken.iter().all(|(_, other)| other != letter);
        let letter = match occupant {
            Occupant::Idle => '.',
            Occupant::Probe => '#',
            Occupant::Several { .. } => '~',
            Occupant::HostPause => '=',
            Occupant::Thread { thread, .. } => initials(&thread.name)
                .map(|letter| letter.to_ascii_lowercase())
                .chain('a'..='z')
                .find(free)
                .unwrap_or('?'),
            Occupant::Vector { vector } => capital(&vector.to_string(), free),
            Occupant::Interrupt { name } => capital(name, free),
            Occupant::Softirq { softirq } => capital(softirq.name(), free),
            Occupant::Timer { function } => capital(function, free),
        };
        taken.push((occupant.clone(), letter));
    }
    taken
}

fn initials(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(char::is_ascii_alphabetic)
}

fn capital(name: &str, free: impl Fn(&char) -> bool) -> char {
    let own = initials(name).map(|letter| letter.to_ascii_uppercase());
    own.chain('A'..='Z').find(free).unwrap_or('?')
}

fn letter(letters: &[(Occupant, char)], occupant: &Occupant) -> char {
    let name = lanes::named(occupant);
    letters.iter().find(|(other, _)| *other == name).map_or(UNKNOWN, |(_, letter)| *letter)
}

/// The moments of the late thread between the beginning and the end, counted from the beginning.
fn moments(timeline: &Timeline, subject: Subject) -> Option<String> {
    let is_between = |mark: &&Mark| mark.at > Nanos::ZERO && mark.at < timeline.length;
    let marks: Vec<&Mark> = timeline.marks.iter().filter(is_between).collect();
    if marks.is_empty() {
        return None;
    }
    let moments: Vec<String> = if marks.len() > MOMENTS {
        let (first, last) = (&marks[..MOMENTS - 1], &marks[marks.len() - 1]);
        let between = marks.len() - MOMENTS;
        let more = format!("{} more", format::count(between as u64));
        first.iter().copied().map(moment).chain([more, moment(last)]).collect()
    } else {
        marks.into_iter().map(moment).collect()
    };
    let beginning = match subject {
        Subject::Samples | Subject::Jobs => "its due time",
        Subject::Waits => "the beginning of its wait",
    };
    Some(format!("the late thread, from {beginning}: {}", moments.join(", ")))
}

fn moment(mark: &Mark) -> String {
    format!("{} {}", word(mark.moment), format::latency(mark.at))
}

/// A moment in a word or two.
pub(crate) const fn word(moment: Moment) -> &'static str {
    match moment {
        Moment::Irq => "irq entry",
        Moment::Timer => "timer handler",
        Moment::Wakeup => "wakeup",
        Moment::SwitchedIn => "switched in",
        Moment::SwitchedOut => "switched out",
        Moment::Fault => "page fault",
        Moment::Came => "user mode",
    }
}
