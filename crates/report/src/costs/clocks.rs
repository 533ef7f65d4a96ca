//! Whether clocks keep what they promise, beside what reading them costs.

use tactus_model::format;
use tactus_model::result::{ClockFindings, ClockOrder};
use tactus_model::time::Nanos;
use tactus_stats::costs::CostRow;

use crate::table::column::{Column, Entry};

/// The columns of what the readings of clocks showed; none if no row is about a clock.
pub(super) fn columns(rows: &[&CostRow]) -> Vec<Column> {
    if rows.iter().all(|row| row.cost.clock.is_none()) {
        return Vec::new();
    }
    let length = |rows: &[&CostRow], head, of: fn(&ClockFindings) -> Option<Nanos>| {
        Column::of(head, rows, |row| Entry::latency(row.cost.clock.as_ref().and_then(of)))
    };
    vec![
        length(rows, "resolution", |clock| clock.resolution)
            .meaning("according to the kernel (clock_getres); of sleeps, that of their clock"),
        length(rows, "step", |clock| clock.step)
            .meaning("the smallest difference of readings that was seen, or the shortest sleep"),
        Column::of("backwards", rows, |row| {
            Entry::optional(row.cost.clock.as_ref().map(|clock| order(Some(clock.on_one_cpu))))
        })
        .meaning(
            "readings on one CPU that were earlier than the one before, or sleeps that ended early",
        ),
        Column::of("between CPUs", rows, |row| {
            Entry::optional(row.cost.clock.as_ref().map(|clock| order(clock.across_cpus)))
        })
        .meaning("readings on a CPU that were earlier than the one before on another")
        .dispensable(2),
    ]
}

/// How many of the compared readings were earlier; a dash if none was compared.
fn order(order: Option<ClockOrder>) -> String {
    match order.filter(|order| order.compared > 0) {
        None => "–".to_owned(),
        Some(order) if order.earlier == 0 => "never".to_owned(),
        Some(order) => format::share(order.earlier, order.compared),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_in_order_readings_out_of_order_and_none_differ() {
        let found = |compared, earlier| {
            order(Some(ClockOrder { compared, earlier, earlier_max: Nanos::from_nanos(3) }))
        };
        assert_eq!([found(100, 0), found(0, 0), order(None)], ["never", "–", "–"]);
        assert!(found(100, 1).contains('%'));
    }
}
