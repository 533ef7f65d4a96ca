//! What operations cost, as text and as a page.

mod clocks;
mod interrupts;

use askama::Template;
use tactus_model::cell::Cell;
use tactus_model::cost::{CostProbe, Family, Operation, Pages, Partner, PartnerCpu};
use tactus_model::run::Run;
use tactus_model::time::{ClockName, Nanos};
use tactus_stats::costs::{Contamination, CostRow, RunCosts};

use crate::format::{self, THIN_SPACE};
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::page::view::Table;
use crate::svg::sizes::{self, SizeCurve};
use crate::svg::style::CurveStyle;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// Writes the costs of a run: a table for each family of operations, and what follows from them.
pub fn costs_text(run: &Run, costs: &RunCosts, options: &TableOptions) -> String {
    let width = options.width;
    let mut text = String::new();
    for sentence in findings(run, costs) {
        text.push_str(&wrapped(&sentence, "", width));
    }
    for (family, rows) in families(costs) {
        text.push_str(&format!("\n{}\n\n", heading(family)));
        text.push_str(&grid(columns(run, &rows), width));
    }
    if !costs.interrupts.is_empty() {
        text.push_str(&format!("\n{}\n\n", interrupts::HEADING));
        text.push_str(&grid(interrupts::columns(run, &costs.interrupts), width));
    }
    text.push('\n');
    for note in notes(run, costs) {
        text.push_str(&wrapped(&note, "", width));
    }
    text
}

/// Writes the costs of a run as a page that also draws how they grow with size.
///
/// # Errors
/// The page could not be put together.
pub fn costs_page(run: &Run, costs: &RunCosts) -> Result<String, ReportError> {
    let families = families(costs).into_iter().map(|(family, rows)| FamilyView {
        heading: heading(family),
        drawings: drawings(run, &rows),
        table: Table::of(columns(run, &rows)),
    });
    let of_interrupts = (!costs.interrupts.is_empty()).then(|| FamilyView {
        heading: interrupts::HEADING,
        drawings: Vec::new(),
        table: Table::of(interrupts::columns(run, &costs.interrupts)),
    });
    let page = Page {
        title: format!("What operations cost on {}", machine(run)),
        findings: findings(run, costs),
        families: families.chain(of_interrupts).collect(),
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
    families: Vec<FamilyView>,
    notes: Vec<String>,
    frame: Frame,
}

struct FamilyView {
    heading: &'static str,
    drawings: Vec<String>,
    table: Table,
}

/// The rows of each family that has any.
fn families(costs: &RunCosts) -> Vec<(Family, Vec<&CostRow>)> {
    let of = |family: Family| costs.rows.iter().filter(|row| row.family == family).collect();
    let all = Family::ALL.iter().map(|family| (*family, of(*family)));
    all.filter(|(_, rows): &(_, Vec<_>)| !rows.is_empty()).collect()
}

const fn heading(family: Family) -> &'static str {
    match family {
        Family::Trap => "Entering the kernel",
        Family::Switch => "Round trips to another thread or process",
        Family::Memory => "Moving and getting memory",
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

/// The operation with what distinguishes it: `pipe, process, other CPU`; without that, on the same
/// CPU. The load, the policy and
/// the kernel stand there if the run has several.
fn name(run: &Run, row: &CostRow) -> String {
    let Some((cell, cost)) = probe(run, row) else { return String::new() };
    let takes = |setting: &str| cost.operation.takes(setting);
    let mut parts = vec![cost.operation.to_string()];
    if takes("size") {
        parts[0].push_str(&format!(" {}", cost.size));
    }
    if takes("read-clock") {
        parts[0].push_str(&format!(" {}", cost.read_clock));
    }
    if takes("sleep") {
        parts[0].push_str(&format!(" {}", cost.timer.sleep));
        if cost.timer.clock != ClockName::Monotonic {
            parts.push(cost.timer.clock.to_string());
        }
    }
    if takes("pages") && cost.pages == Pages::Huge {
        parts.push("huge pages".to_owned());
    }
    if takes("partner") {
        parts.push(cost.partner.to_string());
    }
    if takes("partner-cpu") && cost.partner_cpu == PartnerCpu::Other {
        parts.push("other CPU".to_owned());
    }
    if takes("working-set") && cost.working_set.get() > 0 {
        parts.push(format!("reads {}", cost.working_set));
    }
    parts.extend(axes(run, cell));
    parts.join(", ")
}

/// The values of the axes that are not settings of operations.
fn axes(run: &Run, cell: &Cell) -> Vec<String> {
    let cells = &run.header.plan.cells;
    let texts: [fn(&Cell) -> String; 4] = [
        |cell| cell.load.load.to_string(),
        |cell| cell.policy.scheduling.to_string(),
        |cell| cell.policy.cpus.to_string(),
        |cell| cell.target.guest().map_or("host".to_owned(), |guest| guest.kernel.to_string()),
    ];
    let varies = |of: &&fn(&Cell) -> String| cells.iter().any(|other| of(other) != of(cell));
    texts.iter().filter(varies).map(|of| of(cell)).collect()
}

/// A cost, with three digits.
fn cost(nanos: f64) -> String {
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
    let mut columns = vec![
        Column::names("operation", rows, |row| Entry::text(name(run, row))),
        Column::names("one is a", rows, |row| Entry::text(row.unit)).dispensable(5),
        Column::of("min", rows, |row| entry(row.cost.min_ns))
            .grouped("floor")
            .meaning("the shortest sample"),
        Column::of("p10", rows, |row| entry(row.cost.p10_ns)).grouped("floor").dispensable(4),
        Column::of("median", rows, |row| entry(row.cost.typical_ns))
            .meaning("the median of the medians of batches of about a millisecond"),
        Column::of("95 % interval", rows, |row| {
            let text = row
                .cost
                .interval
                .map(|interval| format!("{} – {}", cost(interval.low_ns), cost(interval.high_ns)));
            Entry::optional(text)
        })
        .meaning("of the median, over processes and batches")
        .dispensable(1),
        Column::of("p99", rows, |row| optional(row.cost.p99_ns))
            .meaning("of samples; a sample of a cheap operation is the mean of many"),
    ];
    if has_rate {
        columns
            .push(Column::of("rate", rows, |row| rate(row)).meaning("bytes of a block per median"));
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

/// The bytes moved per second, in decimal units.
fn rate(row: &CostRow) -> Entry {
    match row.moved {
        Some(bytes) if row.cost.typical_ns > 0.0 => {
            let per_second = bytes.get() as f64 / row.cost.typical_ns * 1e9;
            Entry::number(format::byte_rate(per_second), per_second as u64)
        }
        _ => Entry::empty(),
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

/// The first two rows that differ in this setting of operations alone, with these values.
fn pair<'c>(
    costs: &'c RunCosts,
    setting: &'static str,
    values: [&str; 2],
) -> Option<[&'c CostRow; 2]> {
    let has =
        |row: &&CostRow, value: &str| row.settings.get(setting).is_some_and(|known| known == value);
    let with = |row: &CostRow| {
        let mut settings = row.settings.clone();
        settings.insert(setting, values[1].to_owned());
        settings
    };
    let firsts = costs.rows.iter().filter(|row| has(row, values[0]));
    let second = |first: &CostRow| {
        costs.rows.iter().find(|row| has(row, values[1]) && row.settings == with(first))
    };
    firsts.into_iter().find_map(|first| Some([first, second(first)?]))
}

/// What the switch of the address space adds to a round trip.
fn address_space(costs: &RunCosts) -> Option<String> {
    let values = [Partner::Thread.word(), Partner::Process.word()];
    let [thread, process] = pair(costs, "partner", values)?;
    let operation = thread.settings.get("operation")?;
    let (one, two) = (&thread.cost, &process.cost);
    let noise = one.noise_floor.zip(two.noise_floor).map(|(one, two)| f64::max(one, two));
    let ratio = two.typical_ns / one.typical_ns;
    let between =
        format!("threads of one process {}, of two {}", cost(one.typical_ns), cost(two.typical_ns));
    Some(match noise {
        Some(noise) if ratio - 1.0 > noise => format!(
            "Changing the address space adds {} to a round trip by {operation} ({between}).",
            cost(two.typical_ns - one.typical_ns)
        ),
        _ => format!(
            "No difference was found between round trips by {operation} within an address space \
             and between two ({between})."
        ),
    })
}

/// How much more fresh memory costs than memory that is used again.
fn fresh_pages(costs: &RunCosts) -> Option<String> {
    let values = [Operation::Recycled.word(), Operation::FirstTouch.word()];
    let [recycled, fresh] = pair(costs, "operation", values)?;
    let times = fresh.cost.typical_ns / recycled.cost.typical_ns.max(0.01);
    (times >= 2.0).then_some(())?;
    Some(format!(
        "Touching fresh memory costs {times:.0} times as much as touching memory that is used again \
         ({}: {} against {}). fix: reuse buffers.",
        fresh.settings.get("size")?,
        cost(fresh.cost.typical_ns),
        cost(recycled.cost.typical_ns)
    ))
}

/// What limits the figures.
fn notes(run: &Run, costs: &RunCosts) -> Vec<String> {
    let sum = |of: fn(&Contamination) -> usize| -> u64 {
        costs.rows.iter().map(|row| of(&row.cost.contamination) as u64).sum()
    };
    let [all, any, stolen, foreign, waited] = [
        sum(|counts| counts.batches),
        sum(|counts| counts.contaminated),
        sum(|counts| counts.stolen),
        sum(|counts| counts.foreign),
        sum(|counts| counts.waited),
    ];
    let contaminated = (any > 0).then(|| {
        format!(
            "Contaminated batches: {} of {} (steal time {}, others on the CPU {}, waits for the CPU {}). They count \
             in all figures; --json has the medians without them.",
            format::count(any),
            format::count(all),
            format::count(stolen),
            format::count(foreign),
            format::count(waited)
        )
    });
    let facts = &run.header.facts_before;
    let has_nice = |cell: &Cell| cell.policy.scheduling.to_string().contains(':');
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
    let explained = "The floor is the shortest sample, the median that of batches of a millisecond, with \
        its interval over processes and batches. A round trip has two \
        switches, on one CPU unless the name says otherwise. Rates are in \
        decimal units; a copy counts its bytes once.";
    let emulated = (!costs.interrupts.is_empty()).then(|| interrupts::NOTE.to_owned());
    [contaminated, autogroup, emulated]
        .into_iter()
        .flatten()
        .chain(failed)
        .chain([explained.to_owned()])
        .collect()
}

/// How the costs of operations grow with a size: one drawing for blocks, one for working sets.
fn drawings(run: &Run, rows: &[&CostRow]) -> Vec<String> {
    let blocks = curves(run, rows, "size", |cost| cost.size.get());
    let sets = curves(run, rows, "working-set", |cost| cost.working_set.get());
    let drawn = [("block size", blocks), ("working set", sets)];
    let several = drawn.into_iter().filter(|(_, curves)| !curves.is_empty());
    several.map(|(along, curves)| sizes::panel(along, &curves).inline()).collect()
}

/// A curve for each operation that was measured with several sizes above zero.
fn curves(
    run: &Run,
    rows: &[&CostRow],
    setting: &str,
    size: fn(&CostProbe) -> u64,
) -> Vec<SizeCurve> {
    let mut curves: Vec<SizeCurve> = Vec::new();
    for row in rows {
        let Some((cell, cost)) = probe(run, row) else { continue };
        if !cost.operation.takes(setting) || size(cost) == 0 {
            continue;
        }
        let mut parts = vec![cost.operation.to_string()];
        if setting == "working-set" {
            parts.push(cost.partner.to_string());
        } else if cost.pages == Pages::Huge {
            parts.push("huge".to_owned());
        }
        parts.extend(axes(run, cell));
        let name = parts.join(", ");
        let point = (size(cost), Nanos::from_nanos(row.cost.typical_ns.round() as u64));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(SizeCurve {
                name,
                style: CurveStyle::numbered(curves.len()),
                points: vec![point],
            }),
        }
    }
    curves.retain(|curve| curve.points.len() > 1);
    curves.iter_mut().for_each(|curve| curve.points.sort_unstable());
    curves
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::Turn;
    use tactus_model::result::{Batch, Failure, Histogram};
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
        assert!(page.contains("Not measured: no &#60;CPU&#62;. fix: add one"), "{page}");
        assert!(page.contains("two speeds"));
    }

    #[test]
    fn a_run_without_operations_has_no_tables() {
        let run = fixture::quick();
        let costs = RunCosts::of(&run);
        assert!(costs.rows.is_empty() && costs.system_call_ns.is_none());
        costs_page(&run, &costs).unwrap();
    }
}
