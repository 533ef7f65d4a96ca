//! Where the time of threads went, as text for the terminal.

use tactus_explain::thread_time::{
    BlockedStretch, Ender, Inheritance, Inversion, Link, Sleep, SleepReason, SleepRow, ThreadTime,
};
use tactus_explain::{Cause, SleepEvidence, WaitExplanation, Waits};
use tactus_model::time::Nanos;

use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// The most thread names that have a row of their own.
const ROWS: usize = 20;

/// The most reasons for sleeping that have a row of their own.
const REASONS: usize = 12;

/// The most links of a chain that are put into words.
const LINKS: usize = 4;

/// Writes where the time of the threads went, the most delayed first.
pub(super) fn overview(waits: &Waits, options: &TableOptions) -> String {
    let rows: Vec<&WaitExplanation> =
        waits.names.iter().filter(|name| name.time.recorded > Nanos::ZERO).take(ROWS).collect();
    let share = |part: fn(&ThreadTime) -> Nanos| {
        move |row: &&WaitExplanation| {
            let (part, whole) = (part(&row.time), row.time.recorded);
            let text = format::share(part.as_nanos(), whole.as_nanos());
            Entry::number(text, part.as_nanos())
        }
    };
    let columns = vec![
        Column::names("thread", &rows, |row| Entry::text(name(row))),
        Column::of("threads", &rows, |row| Entry::count(row.threads.len() as u64)).dispensable(2),
        Column::of("recorded", &rows, |row| Entry::latency(Some(row.time.recorded))),
        Column::of("on CPU", &rows, share(|time| time.on_cpu)),
        Column::of("runqueue wait", &rows, share(|time| time.runqueue_wait)),
        Column::of("blocked", &rows, share(|time| time.blocked)),
        Column::of("asleep", &rows, share(|time| time.asleep)),
        Column::of("unknown", &rows, share(|time| time.unknown)).dispensable(1),
    ];
    let mut text = format!(
        "Where the time of the threads went (asleep: by choice)\n\n{}",
        grid(columns, options.width)
    );
    let more = waits.names.len().saturating_sub(rows.len());
    if more > 0 {
        let names = format::counted(more as u64, "name");
        let said = format!("Not shown: {names} with less delay. --thread NAME shows any thread.");
        text.push_str(&wrapped(&said, "", options.width));
    }
    if let Some(lacking) = lacking(&waits.evidence) {
        text.push_str(&wrapped(&lacking, "", options.width));
    }
    text
}

/// The name and class of a thread.
pub(super) fn name(waits: &WaitExplanation) -> String {
    format!("{} ({})", format::printable(&waits.name), waits.priority.class())
}

/// What the recording does not have, and what is therefore not known.
fn lacking(evidence: &SleepEvidence) -> Option<String> {
    let SleepEvidence { sleeps, chains } = *evidence;
    let without = sleeps.saturating_sub(chains);
    // A switch now and then has no chain although the others have one.
    if without * 20 <= sleeps {
        return None;
    }
    Some(format!(
        "{} of {} have no kernel call chain: the system call, the waker and the thread's state \
         show only part of why they slept; the rest is \"unknown\". fix: tactus record \
         --call-chains=sleeps",
        format::count(without),
        format::counted(sleeps, "sleep")
    ))
}

/// Writes where the time of the threads with one name went: the parts, the sleeps by reason, and
/// the longest of them with what had to happen first.
pub(super) fn of_name(waits: &WaitExplanation, worst: usize, width: usize) -> String {
    let time = &waits.time;
    if time.recorded == Nanos::ZERO {
        return String::new();
    }
    let mut text = wrapped(&parts(time), "", width);
    text.push_str(&reasons(time, width));
    let longest = longest(time, worst);
    if !longest.is_empty() {
        text.push_str("\nThe longest blocked stretches\n\n");
    }
    for (number, (row, stretch)) in (1..).zip(longest) {
        let first = format!("{number}. ");
        text.push_str(&hanging(&first, &sentence(waits, row, stretch), "   ", width));
    }
    text
}

/// The parts of the recorded time: `5.00 s recorded: 12.3 % on a CPU (615 ms), …`.
fn parts(time: &ThreadTime) -> String {
    let whole = time.recorded.as_nanos();
    let parts = [
        ("on a CPU", time.on_cpu),
        ("waiting for a CPU", time.runqueue_wait),
        ("blocked", time.blocked),
        ("asleep by choice", time.asleep),
        ("unknown", time.unknown),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, part)| *part > Nanos::ZERO)
        .map(|(what, part)| {
            let share = format::share(part.as_nanos(), whole);
            format!("{share} {what} ({})", format::latency(part))
        })
        .collect();
    let mut text = format!("{} recorded: {}.", format::latency(time.recorded), parts.join(", "));
    if time.reclaim > Nanos::ZERO {
        let share = format::share(time.reclaim.as_nanos(), time.on_cpu.as_nanos());
        let reclaim = format::latency(time.reclaim);
        text.push_str(&format!(" Of the time on a CPU, {share} was memory reclaim ({reclaim})."));
    }
    text
}

/// The table of what the threads slept for.
fn reasons(time: &ThreadTime, width: usize) -> String {
    if time.sleeps.is_empty() {
        return String::new();
    }
    let rows: Vec<&SleepRow> = time.sleeps.iter().take(REASONS).collect();
    let whole = time.recorded.as_nanos();
    let columns = vec![
        Column::names("slept for", &rows, |row| Entry::text(row.sleep.to_string())),
        Column::of("share", &rows, |row| {
            Entry::number(format::share(row.time.as_nanos(), whole), row.time.as_nanos())
        }),
        Column::of("time", &rows, |row| Entry::latency(Some(row.time))),
        Column::of("sleeps", &rows, |row| Entry::count(row.count)).dispensable(2),
        Column::of("longest", &rows, |row| Entry::latency(Some(row.max))),
        Column::of("then runqueue", &rows, |row| Entry::latency(Some(row.runqueue_wait)))
            .dispensable(3),
        Column::names("ended by", &rows, |row| Entry::text(enders(row))).dispensable(1),
    ];
    let mut text = format!("\n{}", grid(columns, width));
    if let Some((more, rest)) = rest(&time.sleeps) {
        let reasons = format::counted(more, "other reason");
        text.push_str(&wrapped(&format!("{reasons}: {}.", format::latency(rest)), "", width));
    }
    text
}

/// How many reasons have no row, and their time.
fn rest(sleeps: &[SleepRow]) -> Option<(u64, Nanos)> {
    let rest = sleeps.get(REASONS..).filter(|rest| !rest.is_empty())?;
    Some((rest.len() as u64, rest.iter().map(|row| row.time).sum()))
}

/// Who ended most of the time of some sleeps.
fn enders(row: &SleepRow) -> String {
    let Some(first) = row.enders.first() else { return String::new() };
    let ender = format::printable(&first.ender.to_string());
    match row.enders.len() {
        1 => ender,
        _ => {
            let share = format::share(first.time.as_nanos(), row.time.as_nanos());
            format!("{ender} ({share}), {} more", row.enders.len() - 1)
        }
    }
}

/// The stretches to put into words: first those that are not how programs wait for work or whose
/// chain shows an inversion, each kind by length.
fn longest(time: &ThreadTime, worst: usize) -> Vec<(&SleepRow, &BlockedStretch)> {
    let rows = time.sleeps.iter();
    let mut longest: Vec<(&SleepRow, &BlockedStretch)> =
        rows.flat_map(|row| row.longest.iter().map(move |stretch| (row, stretch))).collect();
    longest.sort_by_key(|(row, stretch)| {
        let for_work = row.sleep.reason.is_wait_for_work() && stretch.inversion.is_none();
        (for_work, std::cmp::Reverse(stretch.slept))
    });
    longest.truncate(worst);
    longest
}

/// A blocked stretch in words.
fn sentence(waits: &WaitExplanation, row: &SleepRow, stretch: &BlockedStretch) -> String {
    let thread = match waits.threads.len() {
        1 => String::new(),
        _ => format!("thread {}, ", stretch.thread),
    };
    let from = format::latency(stretch.from);
    blocked(&row.sleep, &format!(" ({thread}{from} into the recording)"), stretch)
}

/// A blocked stretch in words, with `place` after what it was for.
pub(super) fn blocked(sleep: &Sleep, place: &str, stretch: &BlockedStretch) -> String {
    let mut said = format!("{} blocked: {sleep}{place}", format::latency(stretch.slept));
    let quoted = |name: &str| format!("`{}`", format::printable(name));
    match (&stretch.ender, &sleep.reason) {
        (Ender::Nothing, _) => said.push_str(", until the recording or the thread ended"),
        (Ender::Unknown, _) => said.push_str(", until a wakeup that was not recorded"),
        (Ender::Thread { name, .. }, SleepReason::Futex { .. }) => {
            said.push_str(&format!(", held by {}", quoted(name)));
        }
        (Ender::Thread { name, .. }, _) => {
            said.push_str(&format!(", until {} woke it", quoted(name)))
        }
        (ender, _) => said.push_str(&format!(", until {}", format::printable(&ender.to_string()))),
    }
    let links: Vec<String> = stretch.chain.iter().take(LINKS).map(link).collect();
    if let Some((first, others)) = links.split_first() {
        if let Some(boosted) = stretch.chain[0].boosted {
            said.push_str(&format!(" (raised to {} by priority inheritance)", boosted.class()));
        }
        said.push_str(&format!(", which {first}"));
        for (other, link) in others.iter().zip(&stretch.chain[1..]) {
            said.push_str(&format!("; {} {other}", quoted(&link.thread.name)));
        }
    }
    said.push('.');
    if stretch.followed < stretch.slept && !stretch.chain.is_empty() {
        let covered = format::latency(stretch.followed);
        said.push_str(&format!(" Only the last {covered} were followed."));
    }
    if stretch.runqueue_wait > Nanos::ZERO {
        let waited = format::latency(stretch.runqueue_wait);
        said.push_str(&format!(" Then it waited {waited} for a CPU."));
    }
    if let Some(inversion) = &stretch.inversion {
        said.push_str(&format!(" {}", inverted(inversion)));
    }
    said
}

/// A link of a chain, to follow the name of its thread: `waited 3.1 ms for a CPU behind `compute`
/// and ran 0.2 ms`.
fn link(link: &Link) -> String {
    let mut parts: Vec<(Nanos, String)> = Vec::new();
    if link.waited > Nanos::ZERO {
        let behind = link.behind.first().map(|part| match &part.cause {
            Cause::OtherThread { thread } => {
                format!(" behind `{}`", format::printable(&thread.name))
            }
            cause => format!(" ({})", format::printable(&cause.to_string())),
        });
        let waited = format::latency(link.waited);
        parts.push((
            link.waited,
            format!("waited {waited} for a CPU{}", behind.unwrap_or_default()),
        ));
    }
    if link.ran > Nanos::ZERO {
        parts.push((link.ran, format!("ran {}", format::latency(link.ran))));
    }
    if link.interrupted > link.ran {
        let interrupted = format::latency(link.interrupted);
        parts.push((link.interrupted, format!("was interrupted for {interrupted}")));
    }
    if link.unknown > link.ran {
        let unknown = format::latency(link.unknown);
        parts.push((link.unknown, format!("did something unknown for {unknown}")));
    }
    if let Some((sleep, _)) = &link.longest_sleep {
        let slept = format::latency(link.slept);
        parts.push((link.slept, format!("slept {slept} ({sleep})")));
    }
    parts.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    // What took less than a fiftieth of the time explains nothing.
    let most = parts.first().map_or(Nanos::ZERO, |(time, _)| *time);
    parts.retain(|(time, _)| time.saturating_mul(50) >= most);
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    match parts.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "had just woken".to_owned(),
    }
}

/// Priority inversion in words, with its fix.
fn inverted(inversion: &Inversion) -> String {
    let Inversion { holder, by, time, inheritance } = inversion;
    let quoted = |name: &str| format!("`{}`", format::printable(name));
    let by = by.first().and_then(|part| match &part.cause {
        Cause::OtherThread { thread } | Cause::KernelSection { thread, .. } => {
            Some(format!("{} ({})", quoted(&thread.name), thread.priority.class()))
        }
        _ => None,
    });
    let by = by.unwrap_or_else(|| "a thread of lower rank".to_owned());
    let holder = format!("{} ({})", quoted(&holder.name), holder.priority.class());
    let fact = format!(
        "Priority inversion: {by}, which ranks lower, kept {holder} off the CPU for {}.",
        format::latency(*time)
    );
    let fix = match inheritance {
        Inheritance::Active => "The lock inherits priorities: the holder ran boosted, yet waited.",
        Inheritance::Inactive => "The lock inherits priorities, but the holder was not boosted.",
        Inheritance::Absent => {
            "The lock has no priority inheritance. fix: PTHREAD_PRIO_INHERIT \
             (pthread_mutexattr_setprotocol)."
        }
        Inheritance::Unknown => "Whether the lock inherits priorities was not recorded.",
    };
    format!("{fact} {fix}")
}

#[cfg(test)]
mod tests {
    use tactus_explain::{Options, waits};
    use tactus_record::file::RecordingFile;

    use super::*;

    /// The blocked thread of a recorded real session.
    fn shown(recording: &str, width: usize) -> String {
        let path = format!("{}/../../tests/data/blocked/{recording}", env!("CARGO_MANIFEST_DIR"));
        let mut source = RecordingFile::open(path.as_ref()).expect("a golden recording opens");
        let options = Options { threshold: Nanos::from_micros(100), slowest: 3, timelines: 0 };
        let found = waits(&mut source, options, |_, name| name == "subject").expect("it is whole");
        let options = TableOptions::of_width(width);
        format!("{}\n{}", overview(&found, &options), of_name(&found.names[0], 3, width))
    }

    #[test]
    fn an_inversion_at_100() {
        insta::assert_snapshot!(shown("inversion.tactusrec", 100));
    }

    #[test]
    fn a_convoy_at_60() {
        insta::assert_snapshot!(shown("convoy.tactusrec", 60));
    }

    #[test]
    fn page_faults_at_80() {
        insta::assert_snapshot!(shown("mapping.tactusrec", 80));
    }

    #[test]
    fn missing_call_chains_are_said_once() {
        let lacking = |sleeps, chains| lacking(&SleepEvidence { sleeps, chains });
        assert_eq!(lacking(1000, 990), None);
        let said = lacking(1000, 0).expect("no chain at all");
        assert!(said.contains("--call-chains=sleeps"), "{said}");
    }
}
