//! What clock interrupts cost: by themselves, and with their effect on the caches.

use tactus_model::format::{THIN_SPACE, count, fine_latency, signed};
use tactus_model::label::condition_labels;
use tactus_model::run::Run;
use tactus_stats::costs::RunCosts;
use tactus_stats::interrupt_cost::{InterruptCost, SortRate};

use super::table::{entry, relative};
use crate::table::column::{Column, Entry};

pub(super) const HEADING: &str = "Clock interrupts, by the slowdown of sorts";

/// The table of clock interrupts.
pub(super) fn columns(run: &Run, costs: &[InterruptCost]) -> Vec<Column> {
    vec![
        Column::names("sorts of", costs, |row| Entry::text(name(run, row))),
        Column::of("interrupts/s", costs, |row| Entry::text(span(row)))
            .meaning("the lowest and the highest rate that the CPU had, by the kernel's counter"),
        Column::of("slowdown", costs, |row| {
            Entry::optional(row.rates.last().map(|rate| relative(rate.slowdown.max(0.0))))
        })
        .meaning("at the highest rate, against none"),
        Column::of("one costs", costs, |row| entry(row.cost_ns.max(0.0)))
            .meaning("CPU time that an interrupt takes from the sort, from all rates"),
        Column::of("95 % interval", costs, |row| {
            Entry::optional(
                row.interval
                    .map(|ends| ends.map(|end| signed(end, fine_latency)))
                    .map(|[low, high]| format!("{low} – {high}")),
            )
        })
        .meaning("over rounds and blocks of time")
        .dispensable(1),
        Column::of("by two rates", costs, |row| entry(row.two_rate_ns.max(0.0)))
            .meaning("the same from the lowest and the highest rate alone")
            .dispensable(2),
        Column::of("misfit", costs, |row| Entry::text(relative(row.misfit)))
            .meaning("the greatest distance of a rate from the line through all")
            .dispensable(3),
    ]
}

fn name(run: &Run, row: &InterruptCost) -> String {
    let mut parts = vec![format!("{} numbers", count(row.numbers.get().into()))];
    if row.tasks_per_cpu > 1 {
        parts.push(format!("{} copies", row.tasks_per_cpu));
    }
    let first = row.rates.first().and_then(|rate| run.header.plan.cells.get(rate.cell));
    let conditions = |cell| condition_labels(&run.header.plan.cells, cell);
    parts.extend(first.map(conditions).unwrap_or_default());
    parts.join(", ")
}

fn span(row: &InterruptCost) -> String {
    let rate = |rate: Option<&SortRate>| rate.map_or(0, |rate| rate.delivered.round() as u64);
    format!("{} – {}", count(rate(row.rates.first())), count(rate(row.rates.last())))
}

/// What an interrupt costs, and which part of it is its own time.
pub(super) fn finding(costs: &RunCosts) -> Option<String> {
    let alone = |row: &&InterruptCost| row.tasks_per_cpu == 1;
    let rows = || costs.interrupts.iter().filter(alone);
    let most = rows().max_by_key(|row| row.numbers)?;
    let size = count(most.numbers.get().into());
    if !most.is_above_zero() {
        return Some(format!(
            "No effect of additional clock interrupts on sorts of {size} numbers was found."
        ));
    }
    let total = fine_latency(most.cost_ns);
    let sentence = format!("A clock interrupt costs a sort of {size} numbers {total} of CPU time");
    let least = rows().min_by_key(|row| row.numbers).filter(|row| row.numbers < most.numbers);
    let Some(least) = least.filter(|row| row.is_above_zero()) else {
        return Some(format!("{sentence}."));
    };
    let own = fine_latency(least.cost_ns);
    let few = count(least.numbers.get().into());
    // Each interval contains its cost; where they overlap, the two may be the same.
    let is_apart = match (least.interval, most.interval) {
        (Some([_, high]), Some([low, _])) => low > high,
        _ => false,
    };
    Some(match is_apart {
        true => format!(
            "{sentence}: {own} by itself, as sorts of {few} numbers show, and {:.0}{THIN_SPACE}% by its \
             effect on the caches.",
            100.0 * (1.0 - least.cost_ns / most.cost_ns)
        ),
        false => format!(
            "{sentence}; an effect on the caches was not found, since sorts of {few} numbers lose as much \
             ({own})."
        ),
    })
}

/// What the figures leave out.
pub(super) const NOTE: &str = "Additional clock interrupts are an emulation of a higher tick rate: each \
    expires a timer of the kernel, without the scheduler's work in a tick.";

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupt(numbers: u32, cost_ns: f64, interval: [f64; 2]) -> InterruptCost {
        InterruptCost {
            numbers: numbers.to_string().parse().unwrap(),
            tasks_per_cpu: 1,
            rates: Vec::new(),
            cost_ns,
            interval: Some(interval),
            two_rate_ns: cost_ns,
            misfit: 0.0,
        }
    }

    #[track_caller]
    fn check(interrupts: Vec<InterruptCost>, expected: &str) {
        let costs = RunCosts { interrupts, ..RunCosts::default() };
        let found = finding(&costs).unwrap_or_default();
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
    }

    #[test]
    fn an_effect_on_the_caches_is_claimed_only_where_the_intervals_are_apart() {
        let small = interrupt(64, 500.0, [450.0, 550.0]);
        let apart = interrupt(131_072, 5_000.0, [4_000.0, 6_000.0]);
        check(vec![small.clone(), apart], "90\u{202f}% by its effect");
        let alike = interrupt(131_072, 700.0, [500.0, 900.0]);
        check(vec![small.clone(), alike], "an effect on the caches was not found");
        let none = interrupt(131_072, 100.0, [-50.0, 250.0]);
        check(vec![small, none], "No effect of additional");
        check(Vec::new(), "");
    }
}
