//! What a program used of its reserve, as text and as a page.

use askama::Template;
use tactus_model::reserve::{Precision, ReserveUsage, ThreadUsage};
use tactus_model::time::Nanos;

use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::svg::usage;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// The most threads that the page draws: those that used most.
const DRAWN: usize = 8;

/// Writes the use: the reserve and its rung, a row for each thread, and what limits the figures.
pub fn reserve_text(usage: &ReserveUsage, options: &TableOptions) -> String {
    let width = options.width;
    let mut text = wrapped(&headline(usage), "", width);
    if !usage.threads.is_empty() {
        text.push('\n');
        text.push_str(&grid(columns(usage), width));
        text.push('\n');
    }
    notes(usage).iter().for_each(|note| text.push_str(&wrapped(note, "", width)));
    text
}

/// Writes the use as a page that plots it over time.
///
/// # Errors
/// The page could not be put together.
pub fn reserve_page(usage: &ReserveUsage) -> Result<String, ReportError> {
    let columns: Vec<Column> = columns(usage).into_iter().filter(Column::is_shown).collect();
    let rows = (0..usage.threads.len())
        .map(|row| columns.iter().map(|column| column.entries[row].text.clone()).collect());
    let mut drawn: Vec<&ThreadUsage> = usage.threads.iter().collect();
    drawn.sort_by_key(|thread| std::cmp::Reverse(thread.history.total().used));
    drawn.truncate(DRAWN);
    let page = Page {
        command: usage.command.join(" "),
        title: headline(usage),
        heads: columns.iter().map(|column| column.head.clone()).collect(),
        rows: rows.collect(),
        notes: notes(usage),
        drawings: drawn.iter().map(|thread| usage::panel(thread, usage.ran).inline()).collect(),
        undrawn: usage.threads.len().saturating_sub(DRAWN),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

fn headline(usage: &ReserveUsage) -> String {
    let ReserveUsage { capacity, rung, ran, .. } = usage;
    let under = match capacity {
        Some(capacity) => capacity.to_string(),
        None => "reserves of each thread's own".to_owned(),
    };
    let ran = format::span(*ran);
    if usage.threads.is_empty() {
        return format!("no thread had a reserve in {ran}; {under} was asked for");
    }
    let total: Nanos = usage.threads.iter().map(|thread| thread.history.total().used).sum();
    let total = format::latency(total);
    format!("used {total} in {ran} under {under}; rung {rung} promises {}", rung.promise())
}

fn columns(usage: &ReserveUsage) -> Vec<Column> {
    let rows = &usage.threads;
    let quantile = |row: &ThreadUsage, share: f64| Entry::latency(quantile_per_period(row, share));
    let total = |row: &ThreadUsage| row.history.total();
    let mixed = rows.iter().any(|row| row.rung != usage.rung);
    let mut columns = vec![Column::names("thread", rows, |row| {
        Entry::text(format!("{} {}", row.thread, format::printable(&row.name)))
    })];
    if usage.capacity.is_none() {
        columns.push(Column::of("reserve", rows, |row| Entry::text(row.capacity.to_string())));
    }
    columns.extend([
        Column::of("used", rows, |row| Entry::latency(Some(total(row).used))),
        Column::of("p50 a period", rows, move |row| quantile(row, 0.5)),
        Column::of("p99", rows, move |row| quantile(row, 0.99)).dispensable(2),
        Column::of("max", rows, move |row| quantile(row, 1.0)).dispensable(1),
        Column::of("throttled", rows, |row| Entry::latency(Some(throttled(row)))),
        Column::of("overruns", rows, |row| Entry::count(total(row).overruns)),
        Column::of("lateness", rows, |row| Entry::latency(Some(lateness(row)))),
    ]);
    if mixed {
        columns.push(Column::of("rung", rows, |row| Entry::text(row.rung.word())));
    }
    columns
}

/// A quantile of the CPU time in a period, over all whole windows; `None` without any.
fn quantile_per_period(thread: &ThreadUsage, share: f64) -> Option<Nanos> {
    let period = thread.capacity.period();
    let window = thread.history.window;
    let mut used: Vec<Nanos> = thread.history.complete().iter().map(|one| one.used).collect();
    used.sort_unstable();
    let last = used.len().checked_sub(1)?;
    let used = used[(last as f64 * share).round() as usize];
    Some(per_period(used, window, period))
}

/// The CPU time in a period, from that in a window of several.
pub(crate) fn per_period(used: Nanos, window: Nanos, period: Nanos) -> Nanos {
    let scaled = u128::from(used.as_nanos()) * u128::from(period.as_nanos())
        / u128::from(window.as_nanos().max(1));
    Nanos::from_nanos(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// What the figures mean, and what limits them.
fn notes(usage: &ReserveUsage) -> Vec<String> {
    let mut notes = Vec::new();
    let overruns: u64 = usage.threads.iter().map(|thread| thread.history.total().overruns).sum();
    if overruns > 0 {
        notes.push(format!(
            "overruns: in {} a thread used its cost and had more to do; throttled: after that, it was \
             ready and did not run for {}. fix: ask for a larger cost",
            format::counted(overruns, "period"),
            format::latency(usage.threads.iter().map(throttled).sum())
        ));
    }
    if usage.threads.iter().any(|thread| lateness(thread) > Nanos::ZERO) {
        notes.push(
            "lateness: the longest time in a window in which the thread was ready, had not used its \
             cost, and did not run"
                .to_owned(),
        );
    }
    if usage.changes > 0 {
        notes.push(format!(
            "the capacity was changed {}; figures a period are for the last one",
            format::counted(usage.changes, "time")
        ));
    }
    if usage.has_children {
        notes.push(
            "warning: the program started processes, which have no reserve. fix: reserve the \
             program itself, not a shell that starts it"
                .to_owned(),
        );
    }
    notes.extend(usage.without.iter().map(|text| format!("warning: {text}")));
    if let Some(steal) = usage.steal.filter(|steal| *steal > Nanos::ZERO) {
        notes.push(format!(
            "steal time: {} of all CPUs; the hypervisor paused this VM",
            format::latency(steal)
        ));
    }
    notes.extend(precision(usage));
    notes
}

/// The waits of a thread for a CPU, each with whether it was throttled. The kernel counts a wait when
/// it ends, so throttling appears in the window with the overrun, or in the one after it; a thread
/// that used more than its cost can get nothing for whole windows between them.
fn waits(thread: &ThreadUsage) -> impl Iterator<Item = (bool, Nanos)> + '_ {
    let mut goes_on = false;
    thread.history.windows.iter().map(move |window| {
        let is_throttled = goes_on || window.overruns > 0;
        let has_run = window.used + window.waited > Nanos::ZERO;
        goes_on = window.overruns > 0 || (goes_on && !has_run);
        (is_throttled, window.waited)
    })
}

/// How long a thread was ready and did not run because it had used its cost.
fn throttled(thread: &ThreadUsage) -> Nanos {
    waits(thread).filter(|(is_throttled, _)| *is_throttled).map(|(_, waited)| waited).sum()
}

/// How late a thread got its CPU time at most, though it had not used its cost: the longest wait in
/// a window without throttling.
fn lateness(thread: &ThreadUsage) -> Nanos {
    let waits = waits(thread).filter(|(is_throttled, _)| !is_throttled);
    waits.map(|(_, waited)| waited).max().unwrap_or_default()
}

/// How the use was read; `None` if there was nothing to read.
fn precision(usage: &ReserveUsage) -> Option<String> {
    let window = usage.threads.iter().map(|thread| thread.history.window).max()?;
    let is_exact = usage.threads.iter().all(|thread| thread.precision == Precision::Exact);
    let precision = match is_exact {
        true => "to the nanosecond by perf's task clock",
        false => "in ticks of some 4 ms, since perf is not permitted",
    };
    Some(format!(
        "CPU time is read every {window}, at most {} late, {precision}",
        format::latency(usage.read_late_max)
    ))
}

#[derive(Template)]
#[template(path = "reserve.html")]
struct Page {
    command: String,
    title: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
    drawings: Vec<String>,
    undrawn: usize,
    frame: Frame,
}

#[cfg(test)]
pub(crate) mod tests {
    use tactus_model::reserve::{History, Rung, Window};

    use super::*;

    /// A thread that uses 3 ms, and 5 ms in every tenth period.
    pub(crate) fn thread(name: &str, windows: usize) -> ThreadUsage {
        let mut history = History::new(Nanos::from_millis(10));
        for number in 0..windows {
            let is_long = number % 10 == 9;
            history.add(Window {
                used: Nanos::from_millis(if is_long { 5 } else { 3 }),
                waited: Nanos::from_millis(if is_long { 4 } else { 0 }),
                overruns: u64::from(is_long),
            });
        }
        ThreadUsage {
            thread: 4711,
            name: name.to_owned(),
            capacity: "5ms/10ms".parse().unwrap(),
            rung: Rung::Deadline,
            since: Nanos::ZERO,
            precision: Precision::Exact,
            demotions: None,
            history,
        }
    }

    fn used(threads: Vec<ThreadUsage>) -> ReserveUsage {
        ReserveUsage {
            command: vec!["./control".to_owned(), "<script>".to_owned()],
            capacity: "5ms/10ms".parse().ok(),
            changes: 1,
            rung: Rung::Deadline,
            refused: Vec::new(),
            largest_cost: None,
            ran: Nanos::from_secs(1),
            steal: Some(Nanos::from_millis(20)),
            read_late_max: Nanos::from_micros(80),
            has_children: true,
            without: Vec::new(),
            threads,
        }
    }

    #[test]
    fn the_use_has_a_row_for_each_thread_and_says_what_limits_it() {
        let usage = used(vec![thread("main thread", 100), thread("audio", 1)]);
        insta::assert_snapshot!(reserve_text(&usage, &TableOptions::default()));
    }

    #[test]
    fn waits_after_an_overrun_are_throttled_time_and_others_are_lateness() {
        let mut late = thread("audio", 20);
        late.history.windows[3].waited = Nanos::from_micros(700);
        // It gets nothing in the window after an overrun, and its wait ends in the next.
        late.history.windows[10].used = Nanos::ZERO;
        late.history.windows[11].waited = Nanos::from_millis(1);
        assert_eq!(throttled(&late), Nanos::from_millis(9));
        assert_eq!(lateness(&late), Nanos::from_micros(700));
    }

    #[test]
    fn threads_with_different_capacities_have_a_column_for_them() {
        let mut usage = used(vec![thread("audio", 20), thread("video", 20)]);
        usage.capacity = None;
        usage.threads[1].capacity = "6ms/20ms".parse().unwrap();
        let text = reserve_text(&usage, &TableOptions::of_width(100));
        assert!(text.contains("under reserves of each thread's own"), "{text}");
        assert!(text.contains("6ms/20ms") && text.contains("5ms/10ms"), "{text}");
        reserve_page(&usage).unwrap();
    }

    #[test]
    fn a_page_shows_hostile_names_as_text_and_draws_the_busiest_threads() {
        let threads = (0..DRAWN + 2).map(|_| thread("<script>\u{7}", 50)).collect();
        let page = reserve_page(&used(threads)).unwrap();
        assert!(!page.contains("<script"), "{page}");
        assert_eq!(page.matches("<svg").count(), DRAWN);
        assert!(page.contains("2 more threads"));
    }

    #[test]
    fn a_program_that_ended_at_once_has_a_result() {
        let text = reserve_text(&used(Vec::new()), &TableOptions::default());
        assert!(text.starts_with("no thread had a reserve in 1"), "{text}");
        reserve_page(&used(vec![thread("main thread", 0)])).unwrap();
    }
}
