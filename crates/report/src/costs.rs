//! What operations cost, as text and as a page.

mod clocks;
mod interrupts;
mod section;

use std::fmt::Write;

use askama::Template;
use tactus_model::cell::Cell;
use tactus_model::cost::{
    Advice, Buffers, CostProbe, Family, Operation, Pages, Parameter, Partner, PartnerCpu, Touch,
};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::run::Run;
use tactus_model::time::ClockName;
use tactus_stats::costs::differences::Difference;
use tactus_stats::costs::{Contamination, CostRow, RunCosts};
use tactus_stats::interrupt_cost::refused;

use crate::format::{self, THIN_SPACE};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

pub(crate) use section::{Section, sections};

/// Writes the costs of a run: tables for each family of operations, and what follows from them.
pub fn costs_text(run: &Run, costs: &RunCosts, options: &TableOptions) -> String {
    let width = options.width;
    let mut text = String::new();
    for sentence in findings(run, costs) {
        text.push_str(&wrapped(&sentence, "", width));
    }
    text.push_str(&tables(run, costs, width));
    text.push('\n');
    for note in notes(run, costs) {
        text.push_str(&wrapped(&note, "", width));
    }
    text
}

/// The tables of all families, each below its heading.
pub(crate) fn tables(run: &Run, costs: &RunCosts, width: usize) -> String {
    let mut text = String::new();
    for section in sections(run, costs) {
        let _ = writeln!(text, "\n{}", section.heading);
        for captioned in section.tables {
            if !captioned.caption.is_empty() {
                let _ = write!(text, "\n{}:\n", captioned.caption);
            }
            text.push('\n');
            text.push_str(&grid(captioned.table.columns, width));
            for remark in captioned.remarks {
                text.push_str(&wrapped(&remark, "", width));
            }
        }
    }
    text
}

/// Writes the costs of a run as a page that also draws how they grow with size.
///
/// # Errors
/// The page could not be put together.
pub fn costs_page(run: &Run, costs: &RunCosts) -> Result<String, ReportError> {
    let page = Page {
        title: format!("What operations cost on {}", machine(run)),
        findings: findings(run, costs),
        sections: sections(run, costs),
        notes: notes(run, costs),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "costs.html")]
struct Page {
    title: String,
    findings: Vec<String>,
    sections: Vec<Section>,
    notes: Vec<String>,
    frame: Frame,
}

const fn heading(family: Family) -> &'static str {
    match family {
        Family::Trap => "Entering the kernel",
        Family::Switch => "Round trips to another thread or process",
        Family::Memory => "Moving and getting memory",
        Family::Ipc => "Handing a message over to another process",
        Family::File => "Reading files",
        Family::Display => "Drawing images on a display",
        Family::Clock => "Clocks, and sleeping by them",
    }
}

fn machine(run: &Run) -> String {
    let facts = &run.header.facts_before;
    let unknown = || "unknown".to_owned();
    format!(
        "{}, Linux {}",
        facts.cpu.model.clone().unwrap_or_else(unknown),
        facts.kernel.release.clone().unwrap_or_else(unknown)
    )
}

/// The probe of a row's cell.
fn probe<'r>(run: &'r Run, row: &CostRow) -> Option<(&'r Cell, &'r CostProbe)> {
    let cell = run.header.plan.cells.get(row.cell)?;
    Some((cell, cell.probe.cost()?))
}

/// The operation with what distinguishes it: `pipe, process, other CPU`. Without a CPU in its name,
/// it stays on one. The load, the policy and the kernel stand there if the run has several.
pub(crate) fn name(run: &Run, row: &CostRow) -> String {
    let Some((cell, cost)) = probe(run, row) else { return String::new() };
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let mut parts = vec![cost.operation.to_string()];
    if takes(Parameter::Size) {
        parts[0].push_str(&format!(" {}", cost.size));
    }
    if takes(Parameter::ReadClock) {
        parts[0].push_str(&format!(" {}", cost.read_clock));
    }
    if takes(Parameter::Sleep) {
        parts[0].push_str(&format!(" {}", cost.timer.sleep));
        if cost.timer.clock != ClockName::Monotonic {
            parts.push(cost.timer.clock.to_string());
        }
    }
    if takes(Parameter::Pages) && cost.pages == Pages::Huge {
        parts.push("huge pages".to_owned());
    }
    if takes(Parameter::Partner) {
        parts.push(cost.partner.to_string());
    }
    if takes(Parameter::PartnerCpu) && cost.partner_cpu == PartnerCpu::Other {
        parts.push("other CPU".to_owned());
    }
    if takes(Parameter::WorkingSet) && cost.working_set.get() > 0 {
        parts.push(format!("reads {}", cost.working_set));
    }
    parts.extend(of_messages(cost));
    parts.extend(source(cost));
    parts.extend(axes(run, cell));
    parts.join(", ")
}

/// What distinguishes messages that not both sides touch, that have fresh buffers, or whose sides
/// spin; empty for other operations.
fn of_messages(cost: &CostProbe) -> Vec<String> {
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let touched = match cost.touch {
        Touch::None => Some("untouched"),
        Touch::Write => Some("written only"),
        Touch::Read => Some("read only"),
        Touch::Both => None,
    };
    let fresh = (cost.buffers == Buffers::Fresh).then_some("fresh buffers");
    [
        touched.filter(|_| takes(Parameter::Touch)),
        fresh.filter(|_| takes(Parameter::Buffers)),
        cost.spins().then_some("spinning"),
    ]
    .into_iter()
    .flatten()
    .map(str::to_owned)
    .collect()
}

/// What is read, and how, or what is drawn.
fn source(cost: &CostProbe) -> Vec<String> {
    let takes = |parameter: Parameter| cost.operation.takes(parameter);
    let file = &cost.file;
    let parts = [
        takes(Parameter::Image).then(|| cost.image.to_string()),
        takes(Parameter::Cache).then(|| file.cache.to_string()),
        (takes(Parameter::Advice) && file.advice != Advice::None)
            .then(|| format!("{} advice", file.advice)),
        takes(Parameter::QueueDepth).then(|| format!("depth {}", file.queue_depth)),
        (takes(Parameter::IdleCount) && cost.idle_count).then(|| "idle time counted".to_owned()),
    ];
    parts.into_iter().flatten().collect()
}

/// The values of the axes that are not settings of operations, where they differ from those of the
/// first cell with the same probe.
fn axes(run: &Run, cell: &Cell) -> Vec<String> {
    let mut cells = run.header.plan.cells.iter();
    let first = cells.find(|other| other.probe.kind() == cell.probe.kind());
    let texts: [fn(&Cell) -> String; 4] = [
        |cell| cell.load.load.to_string(),
        |cell| cell.policy.scheduling.to_string(),
        |cell| format!("CPUs {}", cell.policy.cpus),
        |cell| cell.target.guest().map_or("host".to_owned(), |guest| guest.kernel.to_string()),
    ];
    let differs = |of: &&fn(&Cell) -> String| first.is_some_and(|first| of(first) != of(cell));
    texts.iter().filter(differs).map(|of| of(cell)).collect()
}

/// A cost, with three digits.
pub(crate) fn cost(nanos: f64) -> String {
    match nanos {
        ..9.995 => format!("{nanos:.2}{THIN_SPACE}ns"),
        ..99.95 => format!("{nanos:.1}{THIN_SPACE}ns"),
        _ => format::latency(format::rounded_nanos(nanos)),
    }
}

fn entry(nanos: f64) -> Entry {
    // In picoseconds, since cheap operations differ by less than a nanosecond.
    Entry::number(cost(nanos), (nanos * 1000.0) as u64)
}

/// A difference in per cent; one above 100 % has no digits that mean anything.
fn percent(share: f64) -> String {
    match share {
        ..=1.0 => format!("{:.1}{THIN_SPACE}%", share * 100.0),
        _ => format!("> 100{THIN_SPACE}%"),
    }
}

fn columns(run: &Run, rows: &[&CostRow]) -> Vec<Column> {
    let optional = |value: Option<f64>| value.map_or_else(|| Entry::text("–"), entry);
    let has_rate = rows.iter().any(|row| row.moved.is_some());
    let (typical, meaning) = match rows.iter().any(|row| is_read_ahead(run, row)) {
        true => (
            "typical",
            "the median over processes: of cold files, of the time per block of whole passes; of \
             others, of the median of each one's batches",
        ),
        false => ("median", "the median over processes of the median of each one's batches"),
    };
    let mut columns = vec![
        Column::names("operation", rows, |row| Entry::text(name(run, row))),
        Column::names("one is a", rows, |row| Entry::text(row.unit)).dispensable(5),
        Column::of("min", rows, |row| entry(row.cost.min_ns))
            .grouped("floor")
            .meaning("the shortest sample"),
        Column::of("p10", rows, |row| entry(row.cost.p10_ns)).grouped("floor").dispensable(4),
        Column::of(typical, rows, |row| entry(row.cost.typical_ns)).meaning(meaning),
        Column::of("95 % interval", rows, |row| {
            let ends = row.cost.interval.map(|ends| ends.map(cost));
            Entry::optional(ends.map(|[low, high]| format!("{low} – {high}")))
        })
        .meaning("over processes, and batches within them")
        .dispensable(1),
        Column::of("p99", rows, |row| optional(row.cost.p99_ns))
            .meaning("of samples; a sample of a cheap operation is the mean of many"),
    ];
    if waits(rows) {
        let cpu = Column::of("CPU time", rows, |row| optional(row.cost.cpu_ns));
        let meaning = "CPU time of an operation, of both sides if it has two: its median";
        columns.push(cpu.meaning(meaning).dispensable(3));
    }
    if has_rate {
        columns.push(Column::of("rate", rows, |row| rate(row)).meaning(if typical == "median" {
            "bytes per median"
        } else {
            "bytes per typical time"
        }));
    }
    if rows.iter().any(|row| row.cost.used_ns.is_some()) {
        let used = Column::of("CPU used", rows, |row| optional(row.cost.used_ns));
        columns.push(used.meaning("CPU time on the task's CPU, by counting idle time"));
    }
    columns.extend(clocks::columns(rows));
    columns.extend([
        Column::of("A/A", rows, |row| Entry::optional(row.cost.noise_floor.map(percent)))
            .meaning("two measurements of the same thing differ by less in 95 of 100 cases")
            .dispensable(2),
        Column::of("contaminated", rows, |row| {
            let Contamination { batches, contaminated, .. } = row.cost.contamination;
            Entry::number(format::share(contaminated as u64, batches as u64), contaminated as u64)
        })
        .meaning("the share of batches in which others had the CPU; they count in all figures")
        .dispensable(3),
    ]);
    columns
}

/// Whether the row is one of a file that is read ahead, whose typical cost is not a median.
fn is_read_ahead(run: &Run, row: &CostRow) -> bool {
    probe(run, row).is_some_and(|(_, cost)| cost.is_read_ahead())
}

/// Whether an operation of these waits, so that its CPU time is not its duration.
fn waits(rows: &[&CostRow]) -> bool {
    rows.iter().any(|row| !matches!(row.family, Family::Trap | Family::Memory))
}

/// The bytes moved per second, in decimal units.
fn rate(row: &CostRow) -> Entry {
    match row.bytes_per_second() {
        Some(rate) => Entry::number(format::byte_rate(rate), rate as u64),
        None => Entry::empty(),
    }
}

/// The sentences above the tables.
fn findings(run: &Run, costs: &RunCosts) -> Vec<String> {
    let call = costs.system_call_ns.map(|call| {
        format!("A system call (getppid) takes {}, the median over the whole run.", cost(call))
    });
    let modes = costs.modes.map(|modes| {
        let mode = |mode: tactus_stats::modes::Mode| {
            format!(
                "{} in {:.0}{THIN_SPACE}% of the batches",
                cost(mode.median),
                mode.share * 100.0
            )
        };
        format!(
            "warning: the machine has two speeds: a system call takes {}, {}. A median can be that \
             of either. fix: compare only figures of one mode (--json has both), or measure on \
             dedicated hardware.",
            mode(modes.fast),
            mode(modes.slow)
        )
    });
    let found = [call, modes, address_space(costs), fresh_pages(costs), interrupts::finding(costs)];
    let clocks = clocks::warnings(costs, |row| name(run, row));
    found.into_iter().flatten().chain(clocks).collect()
}

/// The first change of this setting between these values, with the rows that differ by it.
fn change<'c>(
    costs: &'c RunCosts,
    setting: &str,
    to: &str,
) -> Option<(&'c Difference, [&'c CostRow; 2])> {
    let is_it = |found: &&Difference| found.setting == setting && found.values[1] == to;
    let found = costs.differences.iter().find(is_it)?;
    let [first, second] = found.cells;
    Some((found, [costs.row(first)?, costs.row(second)?]))
}

/// What the switch of the address space adds to a round trip.
fn address_space(costs: &RunCosts) -> Option<String> {
    let (found, [thread, process]) = change(costs, "partner", Partner::Process.word())?;
    let operation = thread.operation()?;
    let [one, two] = [thread, process].map(|row| cost(row.cost.typical_ns));
    let between = format!("threads of one process {one}, of two {two}");
    Some(match found.is_found && found.ratio.value > 1.0 {
        true => format!(
            "Changing the address space adds {} to a round trip by {operation} ({between}).",
            cost(found.added_ns.value)
        ),
        false => format!(
            "No difference was found between round trips by {operation} within an address space \
             and between two ({between})."
        ),
    })
}

/// How much more fresh memory costs than memory that is used again.
fn fresh_pages(costs: &RunCosts) -> Option<String> {
    let (found, [recycled, fresh]) = change(costs, "operation", Operation::FirstTouch.word())?;
    let size = fresh.settings.get("size")?;
    let [new, used] = [fresh, recycled].map(|row| cost(row.cost.typical_ns));
    let costs = format!("{size}: {new} against {used}");
    let [low, high] = match found.ratio.interval {
        Some(ends) if found.is_found => ends,
        _ => {
            return Some(format!(
                "Whether fresh memory costs more than memory that is used again cannot be decided \
                 here ({costs}). fix: more --rounds, or a quieter machine."
            ));
        }
    };
    (found.ratio.value >= 2.0).then(|| {
        format!(
            "Touching fresh memory costs {:.0} times as much as touching memory that is used again \
             (95{THIN_SPACE}% interval {low:.0} to {high:.0}; {costs}). fix: reuse buffers.",
            found.ratio.value
        )
    })
}

/// What limits the figures.
fn notes(run: &Run, costs: &RunCosts) -> Vec<String> {
    let sum = |of: fn(&Contamination) -> usize| -> u64 {
        costs.rows.iter().map(|row| of(&row.cost.contamination) as u64).sum()
    };
    let [all, any, stolen, foreign, waited, partner] = [
        sum(|counts| counts.batches),
        sum(|counts| counts.contaminated),
        sum(|counts| counts.stolen),
        sum(|counts| counts.foreign),
        sum(|counts| counts.waited),
        sum(|counts| counts.at_partner),
    ];
    let contaminated = (any > 0).then(|| {
        format!(
            "Contaminated batches: {} of {} (steal time {}, others on the CPU {}, waits for the CPU {}, any of \
             these on the CPU of a partner {}). They count in all figures; --json has the medians without them.",
            format::count(any),
            format::count(all),
            format::count(stolen),
            format::count(foreign),
            format::count(waited),
            format::count(partner)
        )
    });
    let facts = &run.header.facts_before;
    let has_nice = |cell: &Cell| match cell.policy.scheduling {
        Scheduling::Other { nice } | Scheduling::Batch { nice } => nice != 0,
        _ => false,
    };
    let autogroup = (facts.scheduling.autogroup == Some(true)
        && run.header.plan.cells.iter().any(has_nice))
    .then(|| {
        "warning: autogroup is on. Nice values act only within a session. fix: sysctl -w \
         kernel.sched_autogroup_enabled=0"
            .to_owned()
    });
    let mut failed: Vec<String> = run
        .failures
        .iter()
        .map(|failure| {
            let hint = failure.hint.as_ref().map(|hint| format!(". fix: {hint}"));
            format!("Not measured: {}{}", failure.reason, hint.unwrap_or_default())
        })
        .collect();
    failed.sort();
    failed.dedup();
    let is_idle = |row: &CostRow| probe(run, row).is_some_and(|(cell, _)| cell.load.load.is_idle());
    let is_unloaded = costs.rows.iter().all(is_idle) && !costs.rankings.is_empty();
    let tails = is_unloaded.then(|| {
        "No load was measured, so no way of handing over is called best for its tail. fix: add \
         --load compute:cpus"
            .to_owned()
    });
    let explained = "The floor is the shortest sample. The median is that over processes of the median of \
        each one's batches, of about a millisecond; its interval is over processes, and batches within \
        them. A round trip has two \
         switches, on one CPU unless the name says otherwise. A message is half of a round trip of \
         equal messages. Rates are in decimal units; a copy counts its bytes once.";
    let emulated = (!costs.interrupts.is_empty()).then(|| interrupts::NOTE.to_owned());
    let refused = refused(run).map(|Shortfall { reason, fix, .. }| {
        let fix = fix.as_ref().map(|fix| format!(" fix: {fix}"));
        format!(
            "warning: clock interrupts that were requested were not added: {reason}.{}",
            fix.unwrap_or_default()
        )
    });
    [contaminated, autogroup, tails, emulated, refused]
        .into_iter()
        .flatten()
        .chain(failed)
        .chain([explained.to_owned()])
        .collect()
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::Turn;
    use tactus_model::result::{Batch, Failure, Histogram};
    use tactus_model::time::Nanos;
    use tactus_stats::LatencyHistogram;

    use super::*;
    use crate::fixture;

    const QUICK: &str = include_str!("../../../experiments/costs-quick.toml");

    /// A run whose cells take 1, 2, 3, … µs a sample, on a machine that is slower in some batches.
    fn run() -> Run {
        let mut run = fixture::run(QUICK, 3);
        for measurement in &mut run.measurements {
            let base = 1_000 * (measurement.turn.cell as u64 + 1);
            for task in &mut measurement.tasks {
                let batch = |number: u64| Batch {
                    at: Nanos::from_millis(number),
                    count: 50,
                    min: Nanos::from_nanos(base),
                    median: Nanos::from_nanos(base + number * base / 200),
                    calibration: Nanos::from_nanos(if number < 8 { 12_800 } else { 16_000 }),
                    elapsed: Nanos::from_millis(1),
                    ran: Nanos::from_micros(if number == 19 { 400 } else { 1_000 }),
                    waited: Some(Nanos::ZERO),
                    preempted: 0,
                    steal: Some(Nanos::ZERO),
                    ..Batch::default()
                };
                task.batches = (0..20).map(batch).collect();
                let samples: LatencyHistogram = task
                    .batches
                    .iter()
                    .flat_map(|batch| std::iter::repeat_n(batch.median, 50))
                    .collect();
                task.blocks = vec![samples.to_record(), Histogram::default()];
            }
        }
        run
    }

    #[test]
    fn a_table_for_each_family_follows_what_was_found() {
        let run = run();
        let text = costs_text(&run, &RunCosts::of(&run), &TableOptions::default());
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_page_draws_sizes_and_names_what_failed() {
        let mut run = run();
        let turn = Turn { round: 0, cell: 5 };
        let (reason, hint) = ("no <CPU>".to_owned(), Some("add one".to_owned()));
        run.failures.push(Failure { turn, reason, hint });
        let page = costs_page(&run, &RunCosts::of(&run)).unwrap();
        assert_eq!(page.matches("<svg").count(), 1, "copies of three sizes");
        assert!(page.contains("What a change adds") && page.contains("first-touch"));
        assert!(!page.contains("<details>"), "few rows are not folded");
        assert!(page.contains("Not measured: no &#60;CPU&#62;. fix: add one"), "{page}");
        assert!(page.contains("two speeds"));
    }

    #[test]
    fn interrupts_that_were_refused_are_a_note() {
        let mut run = run();
        run.measurements[0].shortfalls.push(Shortfall {
            asked: "extra-interrupts 20000".to_owned(),
            granted: "extra-interrupts 0".to_owned(),
            reason: "it needs CAP_PERFMON".to_owned(),
            fix: Some("sudo".to_owned()),
        });
        let notes = notes(&run, &RunCosts::of(&run)).join("\n");
        assert!(notes.contains("were not added: it needs CAP_PERFMON. fix: sudo"), "{notes}");
    }

    #[test]
    fn a_run_without_operations_has_no_tables() {
        let run = fixture::quick();
        let costs = RunCosts::of(&run);
        assert!(costs.rows.is_empty() && costs.system_call_ns.is_none());
        costs_page(&run, &costs).unwrap();
    }
}
