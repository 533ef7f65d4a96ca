//! Why jobs of periodic threads were late, as text for the terminal.

use serde::Serialize;
use tactus_explain::jobs::{
    Aperiodic, CutJob, DueBy, JobDivision, JobEnd, JobExplanation, JobSegment, Jobs, LateJob,
    NoPeriod, Period,
};
use tactus_explain::{Cause, ExplainedSample};
use tactus_model::time::Nanos;
use tactus_stats::LatencyHistogram;

use super::words::{self, Subject};
use super::{text, thread_time};
use crate::format;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::wrapped;

/// The most threads whose late jobs are explained on a page.
pub const JOBS_DETAILED: usize = 20;

/// The most threads that have a row of their own.
const ROWS: usize = 200;

/// The most threads without a period that are named.
const APERIODIC: usize = 20;

/// The periodic threads by how much of them is shown.
#[derive(Debug)]
pub struct JobsRows<'a> {
    /// Those that are explained.
    pub detailed: &'a [JobExplanation],
    /// Those with a row of figures only.
    pub others: &'a [JobExplanation],
    /// All further threads together; `None` if there are none.
    pub rest: Option<JobsRest>,
}

/// Sums over the threads that have no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct JobsRest {
    /// The number of threads.
    pub threads: u64,
    /// The number of their jobs.
    pub jobs: u64,
    /// The number of late ones among them.
    pub late: u64,
    /// The total time from due to done of the late jobs.
    pub late_time: Nanos,
}

/// Divides periodic threads by how much of them is shown: most of those with the greatest late
/// time.
pub fn jobs_rows(jobs: &Jobs) -> JobsRows<'_> {
    let (rows, rest) = jobs.threads.split_at(jobs.threads.len().min(ROWS));
    let (detailed, others) = rows.split_at(rows.len().min(JOBS_DETAILED));
    let rest = (!rest.is_empty()).then(|| JobsRest {
        threads: rest.len() as u64,
        jobs: rest.iter().map(|thread| thread.lengths.count).sum(),
        late: rest.iter().map(JobExplanation::late).sum(),
        late_time: rest.iter().map(|thread| thread.explanation.pareto.time).sum(),
    });
    JobsRows { detailed, others, rest }
}

/// What the threads without a row did.
pub(super) fn rest_sentence(rest: &JobsRest) -> String {
    format!(
        "Not shown: {} with less late time; {} of {} late, {} in total.",
        format::counted(rest.threads, "thread"),
        format::count(rest.late),
        format::counted(rest.jobs, "job"),
        format::latency(rest.late_time)
    )
}

/// Writes when the jobs of periodic threads were done, those with the latest jobs first; then why
/// jobs of the `explained` threads were late. With `aperiodic`, it also says which threads have no
/// period.
pub fn jobs_text(
    jobs: &Jobs,
    explained: &[&JobExplanation],
    aperiodic: bool,
    options: &TableOptions,
) -> String {
    let mut text = String::new();
    if !jobs.threads.is_empty() {
        text.push_str("Jobs of periodic threads, from due to done\n\n");
        text.push_str(&grid(columns(&jobs.threads), options.width));
    }
    if let Some(rest) = jobs_rows(jobs).rest {
        text.push_str(&wrapped(&rest_sentence(&rest), "", options.width));
    }
    let without = jobs.aperiodic.iter().filter(|_| aperiodic).take(APERIODIC);
    without.for_each(|thread| text.push_str(&wrapped(&no_period(thread), "", options.width)));
    for thread in explained {
        text.push('\n');
        text.push_str(&thread_text(thread, options.width));
    }
    text
}

/// A row for each thread.
pub(super) fn columns(threads: &[JobExplanation]) -> Vec<Column> {
    let shown = &threads[..threads.len().min(ROWS)];
    let rows: Vec<(&JobExplanation, LatencyHistogram)> = shown
        .iter()
        .map(|thread| (thread, LatencyHistogram::from_record(&thread.lengths)))
        .collect();
    vec![
        Column::names("thread", &rows, |(thread, _)| Entry::text(name(thread))),
        Column::of("period", &rows, |(thread, _)| Entry::latency(Some(thread.period.length))),
        Column::of("deadline", &rows, |(thread, _)| Entry::latency(Some(thread.deadline))),
        Column::of("jobs", &rows, |(_, lengths)| Entry::count(lengths.count())),
        Column::of("late", &rows, |(thread, _)| Entry::count(thread.late())),
        Column::of("missed", &rows, |(thread, _)| Entry::count(thread.missed))
            .meaning("due times without a job"),
        Column::of("median", &rows, |(_, lengths)| Entry::latency(lengths.quantile(0.5))),
        Column::of("p99", &rows, |(_, lengths)| Entry::latency(lengths.quantile(0.99))),
        Column::of("max", &rows, |(_, lengths)| Entry::latency(lengths.max())),
    ]
}

/// A thread: `audio (812, rt:80)`.
pub(super) fn name(thread: &JobExplanation) -> String {
    let name = format::printable(&thread.name);
    format!("{name} ({}, {})", thread.thread, thread.priority.class())
}

fn thread_text(thread: &JobExplanation, width: usize) -> String {
    let explanation = &thread.explanation;
    let mut written = format!("{}\n\n", name(thread));
    let headline = words::headline(explanation, Subject::Jobs, Some(&thread.process));
    for sentence in [headline].into_iter().chain(sentences(thread)) {
        written.push_str(&wrapped(&sentence, "", width));
    }
    written.push_str(&text::pareto(explanation, Subject::Jobs, width));
    let segments = thread.segments.iter();
    let segments = segments.map(|part| (part.segment.to_string(), &part.histogram));
    written.push_str(&text::lengths(segments, width));
    if !explanation.worst.is_empty() {
        written.push_str(&format!("\n{}\n", Subject::Jobs.slowest()));
    }
    for (number, explained) in (1..).zip(&explanation.worst) {
        let length = Subject::Jobs.length(explained);
        let head = format!("{length}: {}", place(explained));
        written.push_str(&text::sample(number, &head, explained, Subject::Jobs, width));
    }
    written
}

/// What is known about the jobs of a thread besides their main cause.
pub(super) fn sentences(thread: &JobExplanation) -> Vec<String> {
    let pareto = &thread.explanation.pareto;
    let late = (thread.late() > 0).then(|| {
        format!(
            "{} of {} {} done later than {} after the due time, {} in total.",
            format::count(thread.late()),
            format::counted(thread.lengths.count, "job"),
            if thread.late() == 1 { "was" } else { "were" },
            format::axis_length(thread.deadline),
            format::latency(pareto.time)
        )
    });
    let overlap = (thread.late_once < thread.late_time.total()).then(|| {
        format!(
            "Late jobs overlap: one job waits for another. Together they take {} of the recording.",
            format::latency(thread.late_once)
        )
    });
    let remainder = words::remainder(&thread.explanation);
    let throttled = words::throttling(&thread.explanation, Subject::Jobs);
    let missed = (thread.missed > 0).then(|| {
        let times = format::counted(thread.missed, "due time");
        format!("The thread missed {times}: it began no job for them.")
    });
    let void = (thread.void > 0).then(|| {
        format!("Not counted: {} across lost events.", format::counted(thread.void, "job"))
    });
    let known = [
        late,
        overlap,
        cut(thread),
        spent(thread),
        blocked(thread),
        remainder,
        throttled,
        missed,
        void,
    ];
    known.into_iter().flatten().chain([rhythm(&thread.due, &thread.period)]).collect()
}

/// How the last job was cut short.
fn cut(thread: &JobExplanation) -> Option<String> {
    let CutJob { index, end, length } = thread.cut?;
    let (job, length) = (format::count(index), format::latency(length));
    match end {
        JobEnd::Done => None,
        JobEnd::Exit => {
            Some(format!("The thread exited within job {job}, {length} after the due time."))
        }
        JobEnd::Unfinished => Some(format!(
            "Job {job} was unfinished when the recording ended, {length} after the due time: it \
             took at least as long."
        )),
    }
}

/// How late jobs spent their time, the greatest part first.
fn spent(thread: &JobExplanation) -> Option<String> {
    let whole = thread.late_time.total().as_nanos();
    let mut segments: Vec<(JobSegment, Nanos)> =
        thread.late_time.iter().filter(|(_, time)| *time > Nanos::ZERO).collect();
    segments.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let shares = segments
        .iter()
        .map(|(segment, time)| format!("{} {segment}", format::share(time.as_nanos(), whole)));
    let shares: Vec<String> = shares.collect();
    (!shares.is_empty()).then(|| format!("Where it went: {}.", shares.join(", ")))
}

/// The most reasons for sleeping that are named.
const REASONS: usize = 3;

/// What late jobs slept for, and who ended it.
fn blocked(thread: &JobExplanation) -> Option<String> {
    let rows = thread.blocked.iter().take(REASONS).map(|row| {
        let sleeps = format::counted(row.count, "sleep");
        let ender = format::printable(&row.ender.to_string());
        format!("{} in {sleeps} ({}), ended by {ender}", format::latency(row.time), row.sleep)
    });
    let rows: Vec<String> = rows.collect();
    (!rows.is_empty()).then(|| format!("Blocked: {}.", rows.join("; ")))
}

/// How the period is known.
pub(crate) fn rhythm(due: &DueBy, period: &Period) -> String {
    let by = match due {
        DueBy::Report => {
            let length = format::latency(period.length);
            return format!("Its program reports when jobs are due, every {length}, and done.");
        }
        DueBy::Timer => "its timer is due".to_owned(),
        DueBy::Mark => "it marks the beginning".to_owned(),
        DueBy::Thread { thread } => format!("thread {thread} wakes it"),
        DueBy::Interrupt { name } => format!("{} wakes it", format::printable(name)),
    };
    let fitting = (period.fit * period.spacings as f64).round() as u64;
    let fit = format::share(fitting, period.spacings as u64);
    let length = format::latency(period.length);
    let found = period.is_another().then(|| {
        let median = format::latency(period.median);
        format!(
            " warning: the median of the spacings is {median}. fix: leave out --period, or name that one."
        )
    });
    format!("A job begins when {by}, every {length}; {fit} of the spacings fit this period.")
        + &found.unwrap_or_default()
}

/// The place of a job, and how it began.
pub(super) fn place(explained: &ExplainedSample) -> String {
    let due = format::latency(explained.sample.due);
    format!(
        "job {}, due {due} into the recording; {}",
        format::count(explained.index),
        explained.outcome
    )
}

/// Why a thread has no jobs.
pub(crate) fn no_period(thread: &Aperiodic) -> String {
    let name = format!("{} ({})", format::printable(&thread.name), thread.thread);
    match &thread.reason {
        NoPeriod::TooFew { spacings } => format!(
            "{name} has no known period: its timer or waker ended {}.",
            format::counted(*spacings as u64 + 1, "sleep")
        ),
        NoPeriod::Irregular(period) => format!(
            "{name} is not periodic: {} of the spacings of its due times fit their median, {}.",
            format::share((period.fit * 100.0).round() as u64, 100),
            format::latency(period.length)
        ),
        NoPeriod::Unlike(period) => format!(
            "{name} does not have the period {}: {} of the spacings of its due times fit it. Their \
             median is {}.",
            format::latency(period.length),
            format::share((period.fit * 100.0).round() as u64, 100),
            format::latency(period.median)
        ),
        NoPeriod::Relative(period) => format!(
            "{name} sleeps for a duration about every {}, so its jobs have no due times. If they \
             have: --period.",
            format::latency(period.length)
        ),
    }
}

/// A late job in a line: the thread, how late it was, and what took most of the time.
pub fn late_job_line(job: &LateJob) -> String {
    format!(
        "{} ({}): {}, deadline {}: {}",
        format::printable(&job.name),
        job.thread,
        words::job_length(job.division.end, job.done - job.due),
        format::axis_length(job.deadline),
        format::printable(&main_part(job))
    )
}

/// What took most of a late job's time, in words.
fn main_part(job: &LateJob) -> String {
    let JobDivision { segments, blocked, .. } = &job.division;
    let greatest = segments.iter().max_by_key(|(_, time)| *time);
    let Some((segment, time)) = greatest else { return String::new() };
    let time = format::latency(time);
    match (segment, blocked) {
        (JobSegment::Blocked, Some(blocked)) => {
            thread_time::blocked(&blocked.sleep, "", &blocked.stretch)
        }
        (JobSegment::Blocked | JobSegment::OnCpu, _) => format!("{time} {segment}."),
        (JobSegment::PreviousJob, _) => format!("the previous job was done {time} too late."),
        (JobSegment::LateStart | JobSegment::Waiting, _) => {
            let cause = job.parts.iter().find(|part| part.cause != Cause::OwnWork);
            let cause = cause
                .map(|part| format!(", mostly {} ({})", part.cause, format::latency(part.time)));
            format!("{segment} {time}{}.", cause.unwrap_or_default())
        }
    }
}

#[cfg(test)]
mod tests {
    use tactus_explain::cause::{Culprit, Throttle};
    use tactus_explain::jobs::{JobOptions, jobs};
    use tactus_explain::{ParetoRow, ThrottledGroup};
    use tactus_model::recording::Priority;
    use tactus_record::file::RecordingFile;

    use super::*;
    use crate::explanation::jobs_page::{LateRecording, jobs_page};

    /// The jobs of the probe of a recorded real session.
    fn of_probe(deadline: Nanos) -> Jobs {
        let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/blame");
        let path = format!("{data}/higher-priority-spinner.tactusrec");
        let open = || RecordingFile::open(path.as_ref()).expect("a golden recording opens");
        let options = JobOptions {
            period: Some(Nanos::from_millis(1)),
            deadline: Some(deadline),
            slowest: 1,
            timelines: 1,
        };
        jobs(&mut open(), &mut open(), options, |_, _| true).expect("a golden recording is whole")
    }

    fn shown(width: usize) -> String {
        let found = of_probe(Nanos::from_millis(1));
        let explained: Vec<&JobExplanation> =
            found.threads.iter().filter(|thread| thread.late() > 0).take(1).collect();
        jobs_text(&found, &explained, true, &TableOptions::of_width(width))
    }

    #[test]
    fn jobs_of_a_recording_at_100() {
        insta::assert_snapshot!(shown(100));
    }

    #[test]
    fn jobs_of_a_recording_at_60() {
        insta::assert_snapshot!(shown(60));
    }

    /// The first line and the sentences about a thread with late jobs, after a change.
    fn said(change: impl FnOnce(&mut JobExplanation)) -> String {
        let mut found = of_probe(Nanos::from_millis(1));
        let thread = found.threads.iter_mut().find(|thread| thread.late() > 0);
        let thread = thread.expect("one is late");
        change(thread);
        thread_text(thread, 1000).replace(format::THIN_SPACE, " ")
    }

    #[test]
    fn the_headline_names_the_thread_if_it_is_one_of_the_late_program_itself() {
        let row = |name: &str, millis| {
            let thread = Culprit {
                name: name.to_owned(),
                process: Some("audio".to_owned()),
                thread: None,
                priority: Priority(120),
                base: None,
                or_higher: false,
            };
            let (cause, time) = (Cause::OtherThread { thread }, Nanos::from_millis(millis));
            ParetoRow { cause, time, samples: 1, first: 1, max: time }
        };
        let late_in = |process: &str| {
            said(|thread| {
                thread.process = process.to_owned();
                thread.explanation.pareto.rows = vec![row("mid", 6), row("low", 4)];
                thread.explanation.pareto.time = Nanos::from_millis(10);
            })
        };
        let own = late_in("audio");
        assert!(
            own.contains("Main cause of late jobs: thread mid of audio (other), 60.0 %"),
            "{own}"
        );
        let other = late_in("player");
        assert!(other.contains("Main cause of late jobs: threads of audio, 100 %"), "{other}");
    }

    #[test]
    fn the_text_says_which_job_was_cut_short_and_that_jobs_overlap() {
        let whole = said(|_| ());
        assert!(!whole.contains("overlap") && !whole.contains("exited"), "{whole}");
        let cut = said(|thread| {
            let length = Nanos::from_millis(20);
            thread.cut = Some(CutJob { index: 1200, end: JobEnd::Exit, length });
            thread.late_once = Nanos::from_millis(1);
            let worst = thread.explanation.worst[0].job.as_mut().expect("every job is divided");
            worst.end = JobEnd::Unfinished;
        });
        assert!(cut.contains("The thread exited within job 1 200, 20.0 ms after the due time."));
        assert!(cut.contains("Together they take 1.00 ms of the recording."), "{cut}");
        assert!(cut.contains("1. unfinished, at least ") && cut.contains("recording ends after"));
    }

    #[test]
    fn throttling_is_a_sum_over_threads_or_over_jobs_that_overlap() {
        let quota = said(|thread| {
            let (path, throttled) = ("/robot".to_owned(), Nanos::from_millis(1));
            thread.explanation.throttled = vec![ThrottledGroup { path, throttled }];
            let cause = Cause::Throttling { rule: Throttle::Cgroup };
            thread.explanation.pareto.rows[0].cause = cause;
        });
        assert!(
            quota.contains("because jobs that overlap contain the same throttling."),
            "{quota}"
        );
    }

    #[test]
    fn of_very_many_threads_the_worst_are_explained_and_the_rest_are_summed() {
        let mut found = of_probe(Nanos::from_millis(1));
        let late = found.threads.iter().position(|thread| thread.late() > 0).expect("one is late");
        found.threads = vec![found.threads[late].clone(); ROWS + 50];
        let rows = jobs_rows(&found);
        assert_eq!((rows.detailed.len(), rows.others.len()), (JOBS_DETAILED, ROWS - JOBS_DETAILED));
        let rest = rows.rest.expect("fifty threads have no row");
        assert_eq!((rest.threads, rest.late), (50, 50 * found.threads[0].late()));
        let text = jobs_text(&found, &[], false, &TableOptions::of_width(100));
        assert!(
            text.contains("Not shown: 50 threads") && text.lines().count() < ROWS + 10,
            "{text}"
        );
        let page = jobs_page(&LateRecording::default(), &found).expect("the template is right");
        assert_eq!(page.matches("<details").count(), JOBS_DETAILED);
        assert!(page.contains("Not shown: 50 threads") && page.contains("180 threads with less"));
    }

    #[test]
    fn the_page_has_what_the_text_has() {
        let found = of_probe(Nanos::from_millis(1));
        let recording = LateRecording { title: "late".to_owned(), notes: vec!["<b>".to_owned()] };
        let page = jobs_page(&recording, &found).expect("the template is right");
        assert!(page.contains("&#60;b&#62;"), "notes are escaped");
        assert!(page.contains("late start"), "{page}");
        assert!(page.contains("The worst jobs") && page.contains("<svg"));
    }
}
