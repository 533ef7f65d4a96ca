//! The sentences that terminal and page share.

use tactus_explain::jobs::JobEnd;
use tactus_explain::{
    Cause, CauseKind, Circumstances, ExplainedSample, Explanation, GroupRows, MatchOutcome, Pareto,
    ParetoRow,
};
use tactus_model::time::Nanos;

use super::TracingCost;
use crate::comparison::signed;
use crate::format::{self, THIN_SPACE};

/// What an explanation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The samples of a probe.
    Samples,
    /// The runqueue waits of a thread.
    Waits,
    /// The jobs of a periodic thread.
    Jobs,
}

impl Subject {
    /// One of them.
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Samples => "sample",
            Self::Waits => "wait",
            Self::Jobs => "job",
        }
    }

    /// The heading of the slowest of them.
    pub(super) const fn slowest(self) -> &'static str {
        match self {
            // Their latencies are those while events are recorded.
            Self::Samples => "The worst samples of the traced window, which the table leaves out",
            Self::Waits => "The longest waits",
            Self::Jobs => "The worst jobs",
        }
    }

    /// What happens at the end of one.
    pub(super) fn end(self, explained: &ExplainedSample) -> &'static str {
        match self {
            Self::Samples => "user mode",
            Self::Waits => "on CPU",
            Self::Jobs => match end_of(explained) {
                JobEnd::Done => "done",
                JobEnd::Exit => "exit",
                JobEnd::Unfinished => "recording ends",
            },
        }
    }

    /// How long one took.
    pub(super) fn length(self, explained: &ExplainedSample) -> String {
        let latency = explained.sample.latency();
        let length = format::latency(latency);
        match self {
            Self::Samples => format!("{length} late"),
            Self::Waits => format!("waited {length}"),
            Self::Jobs => job_length(end_of(explained), latency),
        }
    }

    /// Their time above the threshold, to follow `Main cause of`.
    fn late(self, threshold: Nanos) -> String {
        let threshold = format::axis_length(threshold);
        match self {
            Self::Samples => format!("latency over {threshold}"),
            Self::Waits => format!("waits longer than {threshold}"),
            Self::Jobs => "late jobs".to_owned(),
        }
    }

    /// What is above the threshold, to follow a number of them.
    fn over(self, threshold: Nanos) -> String {
        let threshold = format::axis_length(threshold);
        match self {
            Self::Samples => format!("more than {threshold} late"),
            Self::Waits => format!("longer than {threshold}"),
            Self::Jobs => "late".to_owned(),
        }
    }
}

fn end_of(explained: &ExplainedSample) -> JobEnd {
    explained.job.as_ref().map_or(JobEnd::Done, |job| job.end)
}

/// How long a job took that ended so.
pub(super) fn job_length(end: JobEnd, length: Nanos) -> String {
    let length = format::latency(length);
    match end {
        JobEnd::Done => format!("done {length} after its due time"),
        JobEnd::Exit => format!("ended by the exit of the thread {length} after its due time"),
        JobEnd::Unfinished => format!("unfinished, at least {length} after its due time"),
    }
}

/// The main cause: `Main cause of latency over 100 µs: softirq NET_RX on CPU 1, 71.0 %.`
///
/// A program whose thread is late because of its own threads needs to know which: of the process
/// `own`, the headline names the thread.
pub(super) fn headline(explanation: &Explanation, subject: Subject, own: Option<&str>) -> String {
    let pareto = &explanation.pareto;
    let (noun, over) = (subject.noun(), subject.over(explanation.threshold));
    // If nothing but the observer delayed the samples, the table alone says so.
    let all = pareto.groups();
    match causes(&all).next().or(all.first()) {
        Some(group) => {
            let rank = if group.explains() { "Main cause" } else { "Largest share" };
            let own = own.filter(|own| group.are_threads_of(own)).and(group.rows().first());
            let (cause, time) = match own {
                Some(row) => (row.cause.to_string(), row.time),
                None => (group.to_string(), group.time()),
            };
            let share = format::share(time.as_nanos(), pareto.time.as_nanos());
            format!("{rank} of {}: {cause}, {share}.", subject.late(explanation.threshold))
        }
        None if pareto.undivided > 0 => format!(
            "{} {over}; the recorded events do not show why.",
            format::counted(pareto.undivided, noun)
        ),
        None => match explanation.samples {
            0 => format!("No {noun} was recorded."),
            1 => format!("The only {noun} was not {over}."),
            samples => format!("None of {} was {over}.", format::counted(samples, noun)),
        },
    }
}

/// How many samples were late, the main cause and the next, to follow a colon.
pub(crate) fn main_causes(explanation: &Explanation) -> String {
    let Pareto { samples, undivided, time, .. } = &explanation.pareto;
    let over = format!("over {} late", format::axis_length(explanation.threshold));
    let traced = format!("{} traced", format::count(explanation.samples));
    let mut said = match (samples + undivided, explanation.samples) {
        (_, 0) => return "none was traced.".to_owned(),
        (0, 1) => return format!("the only traced one was not {over}."),
        (0, _) => return format!("none of {traced} was {over}."),
        (1, _) => format!("1 of {traced} was {over}"),
        (late, _) => format!("{} of {traced} were {over}", format::count(late)),
    };
    let groups = explanation.pareto.groups();
    let mut shares = causes(&groups).map(|group| {
        let share = format::share(group.time().as_nanos(), time.as_nanos());
        (group.explains(), format!("{group}, {share}"))
    });
    match shares.next() {
        Some((true, cause)) => said.push_str(&format!(". Main cause: {cause} of their latency.")),
        Some((false, gap)) => said.push_str(&format!(". Largest share: {gap} of their latency.")),
        None => said.push_str("; the recorded events do not show why."),
    }
    if let Some((_, next)) = shares.next() {
        said.push_str(&format!(" Next: {next}."));
    }
    said
}

/// How many samples were late, what the shares are of, and which samples are not included; `None`
/// if no sample was late.
pub(super) fn divided(explanation: &Explanation) -> Option<String> {
    let pareto = &explanation.pareto;
    if pareto.samples == 0 {
        return None;
    }
    let late = pareto.samples + pareto.undivided;
    let mut said = format!(
        "{} of {} {} {}. Shares are of their total latency, {}.",
        format::count(late),
        format::counted(explanation.samples, "sample"),
        if late == 1 { "was" } else { "were" },
        Subject::Samples.over(explanation.threshold),
        format::latency(pareto.time)
    );
    if pareto.undivided > 0 {
        said.push_str(&format!(
            " Not included: {} with missing events.",
            format::count(pareto.undivided)
        ));
    }
    Some(said)
}

/// How much of the total latency the events explain, and how much they do not.
pub(super) fn remainder(explanation: &Explanation) -> Option<String> {
    let whole = explanation.pareto.time.as_nanos();
    if whole == 0 {
        return None;
    }
    let gap = unexplained(explanation).as_nanos();
    let explained = whole.saturating_sub(gap);
    let missing = Throttling::of(explanation).map_or(0, |of| of.missing(whole));
    if missing > 0 {
        return Some(format!(
            "The events explain at least {} of that time; up to {} more of it may be throttling that they do not show.",
            format::share(explained.saturating_sub(missing), whole),
            format::latency(Nanos::from_nanos(missing)),
        ));
    }
    let explained = format::share(explained, whole);
    Some(match gap {
        0 => format!("The events explain {explained} of that time."),
        _ => format!(
            "The events explain {explained} of that time; {} ({}) is unexplained.",
            format::share(gap, whole),
            format::latency(Nanos::from_nanos(gap))
        ),
    })
}

/// The kernel's own account of throttling by quotas, beside the throttling that the events show.
pub(super) fn throttling(explanation: &Explanation, subject: Subject) -> Option<String> {
    let Throttling { counted, found } = Throttling::of(explanation)?;
    let groups = &explanation.throttled;
    let names: Vec<String> = groups.iter().map(|group| format::printable(&group.path)).collect();
    let one = names.len() == 1;
    let shown = format!("the events show {} in these {}s", format::latency(found), subject.noun());
    let beside = match subject {
        Subject::Jobs if found > counted => {
            format!("{shown}, because jobs that overlap contain the same throttling")
        }
        Subject::Jobs => shown,
        Subject::Samples | Subject::Waits => format!("{shown}, the sum over all their threads"),
    };
    Some(format!(
        "The control {} {} {} throttled for {} (cpu.stat, added up over CPUs); {beside}.",
        if one { "group" } else { "groups" },
        names.join(", "),
        if one { "was" } else { "were" },
        format::latency(counted),
    ))
}

/// How long control groups were throttled.
#[derive(Clone, Copy)]
struct Throttling {
    /// By the kernel's own account.
    counted: Nanos,
    /// In the late samples, as the events show.
    found: Nanos,
}

impl Throttling {
    fn of(explanation: &Explanation) -> Option<Self> {
        let groups = explanation.throttled.iter();
        let counted: Nanos = groups.map(|group| group.throttled).sum();
        // More was found in late jobs that overlap, or of several threads that wait at once.
        let found = explanation.throttled_by_quota();
        (counted > Nanos::ZERO).then_some(Self { counted, found })
    }

    /// The nanoseconds that the kernel counted and the events do not show, if they differ by more
    /// than a tenth and the samples took `whole` nanoseconds, long enough to contain them: some
    /// other cause may be named for them.
    fn missing(self, whole: u64) -> u64 {
        let (counted, found) = (self.counted.as_nanos(), self.found.as_nanos());
        let missing = counted.saturating_sub(found);
        if missing > counted / 10 && whole >= counted { missing } else { 0 }
    }
}

/// The share of the total latency that is an effect of the observation; `None` if nothing is.
pub(super) fn observer(explanation: &Explanation) -> Option<String> {
    let Pareto { time, rows, .. } = &explanation.pareto;
    let taken: Nanos = rows.iter().filter(|row| is_observer(row)).map(|row| row.time).sum();
    (taken > Nanos::ZERO).then(|| {
        format!(
            "Observer: Tactus's own threads took {} ({}) of that time. Without the recording, they would not have run.",
            format::latency(taken),
            format::share(taken.as_nanos(), time.as_nanos()),
        )
    })
}

/// The rows of a table that are not of the observer, the greatest first.
fn causes<'a>(groups: &'a [GroupRows<'a>]) -> impl Iterator<Item = &'a GroupRows<'a>> {
    groups.iter().filter(|group| !group.rows().iter().any(|row| is_observer(row)))
}

fn is_observer(row: &ParetoRow) -> bool {
    row.cause.kind() == CauseKind::Observer
}

fn unexplained(explanation: &Explanation) -> Nanos {
    explanation.pareto.rows.iter().filter(|row| !row.cause.explains()).map(|row| row.time).sum()
}

/// The most interrupts and softirqs that are named.
const SERVICES: usize = 3;

/// Which interrupts and softirqs ran when samples were due, and how many samples saw a transfer;
/// `None` without samples.
pub(super) fn circumstances(explanation: &Explanation) -> Option<String> {
    let Circumstances { samples, transfers, serving } = &explanation.circumstances;
    if *samples == 0 {
        return None;
    }
    let all: u64 = serving.iter().map(|row| row.count).sum();
    let mut said = format!(
        "{} of {} were due while their CPU was handling an interrupt or a softirq",
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
        Some(0) => ". No block device had a request in flight.".to_owned(),
        Some(transfers) => format!(
            ". A block device had a request in flight during {}.",
            format::counted(*transfers, "sample")
        ),
        None => ". Requests of block devices were not recorded.".to_owned(),
    });
    Some(said)
}

/// The most groups of causes that have a row of their own.
const ROWS: usize = 12;

/// The most causes of a group that have a row beneath it.
const BENEATH: usize = 3;

/// The least share of a group, in percent, that has such rows.
const BENEATH_FROM: u64 = 1;

/// The most partly explained gaps that have a row of their own.
const GAP_ROWS: usize = 3;

/// A row of the Pareto table.
pub(super) struct Row {
    /// The name of the cause or of the group.
    pub(super) name: String,
    /// Its time in all late samples.
    pub(super) time: Nanos,
    /// The number of late samples it contributed to; `None` for several causes together.
    pub(super) samples: Option<u64>,
    /// The number of late samples of which it was the main cause.
    pub(super) first: u64,
    /// The maximum of one cause in one sample.
    pub(super) max: Nanos,
}

/// The rows of the Pareto table: the greatest causes, the smaller ones together, the unexplained
/// gap, if there is one, and last the observer.
pub(super) fn rows(explanation: &Explanation) -> Vec<Row> {
    let Pareto { rows, time: whole, .. } = &explanation.pareto;
    if rows.is_empty() {
        return Vec::new();
    }
    let groups = explanation.pareto.groups();
    let causes: Vec<&GroupRows<'_>> = causes(&groups).filter(|group| group.explains()).collect();
    let gaps: Vec<&ParetoRow> =
        rows.iter().filter(|row| !row.cause.explains() && !is_observer(row)).collect();
    let observers = rows.iter().filter(|row| is_observer(row));
    // One more row takes as much room as the row for the others.
    let own = if causes.len() > ROWS + 1 { ROWS } else { causes.len() };
    let (greatest, lesser) = causes.split_at(own);
    let mut rows: Vec<Row> =
        greatest.iter().flat_map(|group| with_beneath(group, *whole)).collect();
    if !lesser.is_empty() {
        let lesser: Vec<&ParetoRow> =
            lesser.iter().flat_map(|group| group.rows()).copied().collect();
        let name = format!("{} together", format::counted(lesser.len() as u64, "smaller cause"));
        rows.push(Row { samples: None, ..together(name, &lesser) });
    }
    let (mut nowhere, somewhere): (Vec<&ParetoRow>, Vec<&ParetoRow>) =
        gaps.into_iter().partition(|row| row.cause.kind() == CauseKind::Gap);
    let (greatest, lesser) = somewhere.split_at(GAP_ROWS.min(somewhere.len()));
    rows.extend(greatest.iter().map(|row| together(row.cause.to_string(), &[*row])));
    nowhere.extend(lesser);
    if !nowhere.is_empty() {
        rows.push(together(Cause::UnexplainedGap.to_string(), &nowhere));
    }
    rows.extend(observers.map(|row| together(row.cause.to_string(), &[row])));
    rows
}

/// The row of a group, and beneath it those of its greatest causes and of the others together, if
/// it has several and a part of the `whole` that matters.
fn with_beneath(group: &GroupRows<'_>, whole: Nanos) -> Vec<Row> {
    let rows = group.rows();
    let row = together(group.to_string(), rows);
    if rows.len() == 1 {
        return vec![row];
    }
    // A sample may have several causes of the group.
    let mut written = vec![Row { samples: None, ..row }];
    if written[0].time.saturating_mul(100) >= whole.saturating_mul(BENEATH_FROM) {
        // One more row takes as much room as the row for the others.
        let own = if rows.len() > BENEATH + 1 { BENEATH } else { rows.len() };
        let (greatest, others) = rows.split_at(own);
        written.extend(greatest.iter().map(|row| together(format!("– {}", row.cause), &[*row])));
        if !others.is_empty() {
            written.push(Row { samples: None, ..together("– others".to_owned(), others) });
        }
    }
    written
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

/// How many samples were matched to their timer, and the outcomes of the others.
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
    let found_of = format::share(found, whole);
    let timer = "the timer that woke the task was found";
    let mut said = match whole < explanation.samples {
        false => format!("For {found_of} of {}, {timer}.", format::counted(whole, "sample")),
        true => format!(
            "{} of {} have complete events; for {found_of} of them, {timer}. Without complete events: {}.",
            format::count(whole),
            format::counted(explanation.samples, "sample"),
            named(&|outcome| !recorded(outcome)),
        ),
    };
    if found < whole {
        let others = named(&|outcome| recorded(outcome) && !outcome.has_timer());
        said.push_str(&format!(" Without a timer: {others}."));
    }
    said
}

/// The cost of tracing.
pub(crate) fn cost(cost: Option<&TracingCost>) -> String {
    let Some(cost) = cost else {
        return "Cost of tracing: unknown, because it needs two pairs of a traced and an untraced window."
            .to_owned();
    };
    let [low, high] = [cost.low_ns, cost.high_ns].map(|nanos| signed(nanos as f64));
    let pairs = format::counted(cost.pairs, "pair");
    let between = format!("95{THIN_SPACE}% interval {low} to {high}, from {pairs} of windows");
    if cost.low_ns <= 0 && cost.high_ns >= 0 {
        format!("Cost of tracing: no difference found between the medians ({between}).")
    } else {
        let difference = signed(cost.difference_ns as f64);
        format!("Cost of tracing: {difference} at the median, traced minus untraced ({between}).")
    }
}

/// The latency of a sample, its place, and how it was woken.
pub(super) fn sample(explained: &ExplainedSample) -> String {
    format!("{} late: {}", format::latency(explained.sample.latency()), place(explained))
}

/// The place of a sample, and how it was woken.
pub(super) fn place(explained: &ExplainedSample) -> String {
    format!(
        "sample {} of task {}, due {} into the window; {}",
        format::count(explained.index),
        explained.task,
        format::latency(explained.sample.due),
        explained.outcome
    )
}
