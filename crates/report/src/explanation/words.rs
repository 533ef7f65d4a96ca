//! The sentences that the terminal and the page have in common.

use tactus_explain::{
    Cause, CauseKind, Circumstances, ExplainedSample, Explanation, MatchOutcome, ParetoRow,
};
use tactus_model::time::Nanos;

use super::TracingCost;
use crate::format::{self, THIN_SPACE};

/// What delayed the late samples most: `71.0 % of the time over 100 µs: softirq NET_RX on cpu 1.`
pub(super) fn headline(explanation: &Explanation) -> String {
    let pareto = &explanation.pareto;
    let threshold = format::axis_length(explanation.threshold);
    match pareto.rows.first() {
        Some(row) => {
            let share = format::share(row.time.as_nanos(), pareto.time.as_nanos());
            format!("{share} of the time over {threshold}: {}.", row.cause)
        }
        None if pareto.undivided > 0 => format!(
            "{} came later than {threshold}, and the events do not tell why.",
            format::counted(pareto.undivided, "sample")
        ),
        None => format!(
            "None of {} came later than {threshold}.",
            format::counted(explanation.samples, "sample")
        ),
    }
}

/// How many samples were late, what time is divided, and what could not be; none where none was late.
pub(super) fn divided(explanation: &Explanation) -> Option<String> {
    let pareto = &explanation.pareto;
    if pareto.samples == 0 {
        return None;
    }
    let mut said = format!(
        "{} of {} came later than {}. The time that is divided is their whole latency, {} together.",
        format::count(pareto.samples + pareto.undivided),
        format::counted(explanation.samples, "sample"),
        format::axis_length(explanation.threshold),
        format::latency(pareto.time)
    );
    if pareto.undivided > 0 {
        said.push_str(&format!(
            " Left out of it: {} for which events are lacking.",
            format::count(pareto.undivided)
        ));
    }
    Some(said)
}

/// How much of the divided time the events account for, and how much remains.
pub(super) fn remainder(explanation: &Explanation) -> Option<String> {
    let whole = explanation.pareto.time.as_nanos();
    if whole == 0 {
        return None;
    }
    let gap = unexplained(explanation).as_nanos();
    let explained = format::share(whole.saturating_sub(gap), whole);
    Some(match gap {
        0 => format!("{explained} of that time is explained; nothing remains."),
        _ => format!(
            "{explained} of that time is explained; {} ({}) remains.",
            format::share(gap, whole),
            format::latency(Nanos::from_nanos(gap))
        ),
    })
}

fn unexplained(explanation: &Explanation) -> Nanos {
    explanation.pareto.rows.iter().filter(|row| !row.cause.explains()).map(|row| row.time).sum()
}

/// The most kinds of service that are named.
const SERVICES: usize = 3;

/// What was being served when samples came due, and how many saw a transfer; none
/// where there was no sample.
pub(super) fn circumstances(explanation: &Explanation) -> Option<String> {
    let Circumstances { samples, transfers, serving } = &explanation.circumstances;
    if *samples == 0 {
        return None;
    }
    let all: u64 = serving.iter().map(|row| row.count).sum();
    let mut said = format!(
        "{} of {} came due while their CPU served an interrupt or a softirq",
        format::count(all),
        format::counted(*samples, "sample")
    );
    let named = &serving[..serving.len().min(SERVICES)];
    if !named.is_empty() {
        let mut parts: Vec<String> = named
            .iter()
            .map(|row| format!("{} in {}", format::count(row.count), row.serving))
            .collect();
        let rest = all - named.iter().map(|row| row.count).sum::<u64>();
        if rest > 0 {
            parts.push(format!("{} in others", format::count(rest)));
        }
        said.push_str(&format!(": {}", parts.join(", ")));
    }
    said.push_str(&match transfers {
        Some(transfers) => format!(
            ". While {} were open, a block device had a request in flight.",
            format::count(*transfers)
        ),
        None => ". Transfers of block devices were not recorded.".to_owned(),
    });
    Some(said)
}

/// The most causes that have a row of their own.
const ROWS: usize = 12;

/// The most gaps of which something is known that get a row of their own.
const GAP_ROWS: usize = 3;

/// A row of the Pareto as it is shown.
pub(super) struct Row {
    /// What the row stands for.
    pub(super) name: String,
    /// The time it took in all late samples.
    pub(super) time: Nanos,
    /// In how many late samples it had a part; none where that cannot be told of several causes.
    pub(super) samples: Option<u64>,
    /// In how many late samples it had the greatest part.
    pub(super) first: u64,
    /// The most that one cause took in one sample.
    pub(super) max: Nanos,
}

/// The rows of the Pareto: the greatest causes, the lesser ones together, and
/// last the remainder, even where it is nothing.
pub(super) fn rows(explanation: &Explanation) -> Vec<Row> {
    let (causes, gaps): (Vec<&ParetoRow>, Vec<&ParetoRow>) =
        explanation.pareto.rows.iter().partition(|row| row.cause.explains());
    if causes.is_empty() && gaps.is_empty() {
        return Vec::new();
    }
    // A row for a single lesser cause would take the place of that cause.
    let own = if causes.len() > ROWS + 1 { ROWS } else { causes.len() };
    let (greatest, lesser) = causes.split_at(own);
    let mut rows: Vec<Row> = greatest
        .iter()
        .map(|row| Row {
            name: row.cause.to_string(),
            time: row.time,
            samples: Some(row.samples),
            first: row.first,
            max: row.max,
        })
        .collect();
    if !lesser.is_empty() {
        let name = format!("{} together", format::counted(lesser.len() as u64, "lesser cause"));
        rows.push(Row { samples: None, ..together(name, lesser) });
    }
    let (mut nowhere, somewhere): (Vec<&ParetoRow>, Vec<&ParetoRow>) =
        gaps.into_iter().partition(|row| row.cause.kind() == CauseKind::Gap);
    let (greatest, lesser) = somewhere.split_at(GAP_ROWS.min(somewhere.len()));
    rows.extend(greatest.iter().map(|row| together(row.cause.to_string(), &[*row])));
    nowhere.extend(lesser);
    rows.push(together(Cause::UnexplainedGap.to_string(), &nowhere));
    rows
}

fn together(name: String, rows: &[&ParetoRow]) -> Row {
    Row {
        name,
        time: rows.iter().map(|row| row.time).sum(),
        samples: Some(rows.iter().map(|row| row.samples).sum()),
        first: rows.iter().map(|row| row.first).sum(),
        max: rows.iter().map(|row| row.max).max().unwrap_or_default(),
    }
}

/// For how many samples the timer was found, and what is known of the others.
pub(super) fn matched(explanation: &Explanation) -> String {
    let recorded = |outcome| !matches!(outcome, MatchOutcome::Untraced | MatchOutcome::Void);
    let counted = || explanation.outcomes.iter().filter(|counted| counted.count > 0);
    let sum = |wanted: &dyn Fn(MatchOutcome) -> bool| -> u64 {
        counted().filter(|counted| wanted(counted.outcome)).map(|counted| counted.count).sum()
    };
    let named = |wanted: &dyn Fn(MatchOutcome) -> bool| -> String {
        let named: Vec<String> = counted()
            .filter(|counted| wanted(counted.outcome))
            .map(|counted| format!("{} ({})", counted.outcome, format::count(counted.count)))
            .collect();
        named.join(", ")
    };
    let whole = sum(&recorded);
    let found = sum(&MatchOutcome::has_timer);
    let mut said = format!(
        "{} of {} in recorded, unbroken time ({}) were matched with the timer that ended the wait.",
        format::share(found, whole),
        format::counted(whole, "sample"),
        format::share(whole, explanation.samples) + " of all"
    );
    if found < whole {
        let others = named(&|outcome| recorded(outcome) && !outcome.has_timer());
        said.push_str(&format!(" The rest: {others}."));
    }
    if whole < explanation.samples {
        let apart = named(&|outcome| !recorded(outcome));
        said.push_str(&format!(" Not in that time: {apart}."));
    }
    said
}

/// What tracing cost.
pub(crate) fn cost(cost: Option<&TracingCost>) -> String {
    let Some(cost) = cost else {
        return "What tracing cost is not known: that takes two pairs of a traced and an untraced \
                stretch."
            .to_owned();
    };
    let low = signed(cost.low_ns);
    let high = signed(cost.high_ns);
    let pairs = format::counted(cost.pairs, "pair");
    let between = format!("95{THIN_SPACE}% interval {low} to {high}, {pairs} of stretches");
    if cost.low_ns <= 0 && cost.high_ns >= 0 {
        format!("Cost of tracing: no difference found between the medians ({between}).")
    } else {
        let difference = signed(cost.difference_ns);
        format!("Cost of tracing: {difference} on the median, traced less untraced ({between}).")
    }
}

/// A difference with its sign.
fn signed(nanos: i64) -> String {
    let sign = match nanos {
        ..0 => "−",
        0 => "",
        _ => "+",
    };
    format!("{sign}{}", format::latency(Nanos::from_nanos(nanos.unsigned_abs())))
}

/// How late a sample was, which it is, and how it was woken.
pub(super) fn sample(explained: &ExplainedSample) -> String {
    format!("{} late: {}", format::latency(explained.sample.latency()), place(explained))
}

/// Which sample it is, and how it was woken.
pub(super) fn place(explained: &ExplainedSample) -> String {
    format!(
        "sample {} of task {}, due {} into the window; {}",
        format::count(explained.index),
        explained.task,
        format::latency(explained.sample.due),
        explained.outcome
    )
}
