//! The jobs of periodic threads, found and explained.

#[path = "support/nonsense.rs"]
mod nonsense;
#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use proptest::prelude::*;
use support::{IDLE, PREEMPTED, SLEEPING, Script, TIMER, Thread, check_sums, shown};
use tactus_explain::jobs::{
    DoneJob, DueBy, JobEnd, JobExplainer, JobExplanation, JobFinder, JobOptions, JobSegment, Jobs,
    LateJob, NoPeriod, jobs,
};
use tactus_explain::{MatchOutcome, Options, waits};
use tactus_model::recording::{
    Dictionary, EventKind, EventSource, InterruptVector, Item, Reclaim, Recording, TaskState,
    ThreadId,
};
use tactus_model::time::Nanos;

const OPTIONS: JobOptions = JobOptions { period: None, deadline: None, slowest: 20, timelines: 20 };

/// The period of the planted threads in microseconds.
const PERIOD: u64 = 5000;

fn find_with(recording: &Recording, options: JobOptions) -> Jobs {
    jobs(&mut recording.reader(), &mut recording.reader(), options, |_, _| true)
        .expect("a recording in memory cannot fail")
}

fn find(recording: &Recording) -> Jobs {
    find_with(recording, OPTIONS)
}

/// The jobs of the thread `audio`, the only periodic one.
#[track_caller]
fn of_audio(found: Jobs) -> JobExplanation {
    let [audio] = <[JobExplanation; 1]>::try_from(found.threads).expect("one thread is periodic");
    assert_eq!(audio.name, "audio");
    check(&audio);
    audio
}

fn check(thread: &JobExplanation) {
    check_sums(&thread.explanation, thread.lengths.count);
    let times: Nanos = thread.segments.iter().map(|segment| segment.histogram.sum).sum();
    assert_eq!(times, thread.lengths.sum, "the segments add up: {thread:?}");
    for worst in &thread.explanation.worst {
        let segments = worst.job.as_ref().expect("every job is divided").segments;
        assert_eq!(segments.total(), worst.sample.latency());
    }
}

/// CPU 0 is idle; `audio` has slept since 5.
fn stage() -> (Script, Thread) {
    let mut script = Script::new(1);
    let audio = script.thread("audio", 100, 50);
    script.switch(2, 0, PREEMPTED, audio).arm(3, 0, TIMER, PERIOD, 0).switch(5, 0, SLEEPING, IDLE);
    (script, audio)
}

/// `audio` wakes by its timer from an idle CPU and works for `work`.
fn job(script: &mut Script, audio: Thread, due: u64, work: u64) {
    script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
    sleep(script, due + work, due + PERIOD);
}

/// `audio` sleeps from `at` until `due`.
fn sleep(script: &mut Script, at: u64, due: u64) {
    script.arm(at - 2, 0, TIMER, due, 0).switch(at, 0, SLEEPING, IDLE);
}

#[test]
fn a_thread_in_time_has_no_late_job() {
    let (mut script, audio) = stage();
    (1..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.due, audio.period.length), (DueBy::Timer, Nanos::from_micros(PERIOD)));
    // The last job has no known end.
    assert_eq!((audio.lengths.count, audio.missed, audio.explanation.pareto.samples), (18, 0, 0));
    assert_eq!(audio.lengths.max, Nanos::from_micros(1000));
}

/// Ten jobs in time; the next is interrupted by `hog` until it is done at 59 000, 4 ms after the
/// next due time at 60 000 would have been its deadline.
fn late_job() -> (Script, Thread, Thread) {
    let (mut script, audio) = stage();
    let hog = script.thread("hog", 200, 20);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    script.wake(55_500, 0, hog, 0).switch(55_510, 0, PREEMPTED, hog);
    (script, audio, hog)
}

#[test]
fn a_preempted_job_is_late_and_the_next_begins_when_it_is_done() {
    let (mut script, audio, _) = late_job();
    script.switch(61_500, 0, SLEEPING, audio);
    // The next due time is past: the timer is served before the thread can sleep.
    script.arm(62_000, 0, TIMER, 60_000, 0).expire(62_001, 62_002, 0, TIMER, "hrtimer_wakeup");
    sleep(&mut script, 62_800, 65_000);
    (13..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.missed), (18, 0));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(worst.sample.latency(), Nanos::from_micros(7000));
    assert_eq!(worst.outcome, MatchOutcome::Timer);
    assert_eq!(shown(worst)[0], "5990 thread hog (200, rt:79)");
    let segments = worst.job.as_ref().expect("every job is divided").segments;
    assert_eq!(segments.get(JobSegment::LateStart), Nanos::from_micros(8));
    assert_eq!(segments.get(JobSegment::Waiting), Nanos::from_micros(5990));
    assert_eq!(segments.get(JobSegment::OnCpu), Nanos::from_micros(1002));
    let previous = &audio.segments[JobSegment::PreviousJob as usize].histogram;
    assert_eq!(previous.max, Nanos::from_micros(2000), "the next job waits for this one");
}

/// The number of microseconds that the thread of [`backlog`] takes for a job.
const WORK: u64 = 7000;

/// From 55 000 on, `audio` takes 7 ms for each of `jobs` jobs, in which `hog` preempts it for 1 ms.
fn backlog(jobs: u64) -> Recording {
    let (mut script, audio) = stage();
    let hog = script.thread("hog", 200, 20);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    for number in 0..jobs {
        let (began, due) = (55_000 + number * WORK, 60_000 + number * PERIOD);
        script.switch(began + 1000, 0, PREEMPTED, hog).switch(began + 2000, 0, SLEEPING, audio);
        if number + 1 < jobs {
            let end = began + WORK;
            script.arm(end, 0, TIMER, due, 0).expire(end + 1, end + 2, 0, TIMER, "hrtimer_wakeup");
        }
    }
    let end = 55_000 + jobs * WORK;
    sleep(&mut script, end, end.next_multiple_of(PERIOD) + PERIOD);
    let next = end.next_multiple_of(PERIOD) + PERIOD;
    (0..9).for_each(|number| job(&mut script, audio, next + number * PERIOD, 1000));
    script.into_recording()
}

/// For how many microseconds `hog` runs in a job of [`backlog`].
fn hogged(index: u64) -> u64 {
    let (due, done) = (index * PERIOD, (index + 1) * WORK);
    let within = |number: u64| {
        let began = number * WORK;
        (began + 2000).min(done).saturating_sub((began + 1000).max(due))
    };
    (0..=index).map(within).sum()
}

#[test]
fn jobs_of_a_backlog_have_the_causes_of_all_jobs_that_they_wait_for() {
    let jobs = 200;
    let audio = of_audio(find(&backlog(jobs)));
    assert_eq!((audio.late(), audio.explanation.worst.len()), (jobs, 20));
    for worst in &audio.explanation.worst {
        let late = worst.index - 10;
        assert_eq!(worst.sample.latency(), Nanos::from_micros(WORK + late * (WORK - PERIOD)));
        let hog = format!("{} thread hog (200, rt:79)", hogged(late));
        assert!(shown(worst).contains(&hog), "{hog}: {:?}", shown(worst));
    }
    // Each counts the time of those before it again.
    let sum: u64 = (0..jobs).map(|late| WORK + late * (WORK - PERIOD)).sum();
    assert_eq!(audio.late_time.total(), Nanos::from_micros(sum));
    assert_eq!(audio.late_once, Nanos::from_micros(jobs * WORK));
    let drawn = audio.explanation.worst.iter().filter(|worst| worst.timeline.is_some());
    assert_eq!(drawn.count(), 1, "they overlap, so one timeline shows them all");
    assert!(audio.explanation.worst[0].timeline.is_some());
}

#[test]
fn the_time_of_a_backlog_is_divided_once_however_long_it_is() {
    let jobs = 8000;
    let audio = of_audio(find(&backlog(jobs)));
    assert_eq!((audio.late(), audio.late_once), (jobs, Nanos::from_micros(jobs * WORK)));
    assert_eq!(audio.explanation.pareto.explained(), 1.0, "the beginning is not forgotten");
    let worst = &audio.explanation.worst[0];
    let hog = worst.parts.iter().find(|part| part.cause.to_string().starts_with("thread hog"));
    let hog = hog.expect("it preempts every job").time.as_nanos() / 1000;
    let planted = hogged(jobs - 1);
    assert!(hog.abs_diff(planted) <= 1000, "{hog} of {planted}");
}

#[test]
fn another_process_with_the_name_of_the_late_one_is_not_taken_for_it() {
    let (mut script, audio, hog) = late_job();
    let twin = script.thread("audio", 700, 20);
    script.process(audio, 100).process(hog, 100).process(twin, 700);
    script.switch(60_500, 0, PREEMPTED, twin).switch(61_500, 0, PREEMPTED, audio);
    sleep(&mut script, 62_000, 65_000);
    (13..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let found = find(&script.into_recording()).threads;
    let audio = found.iter().find(|thread| thread.thread == ThreadId(100)).expect("it is periodic");
    check(audio);
    assert_eq!(audio.process, "audio");
    let groups = audio.explanation.pareto.groups();
    assert_eq!(groups[0].to_string(), "thread hog of audio (rt:79)");
    assert!(groups[0].are_threads_of(&audio.process));
    let twin = "thread audio of another process named audio (700) (rt:79)";
    let twin = groups.iter().find(|group| group.to_string() == twin).expect("it ran meanwhile");
    assert!(!twin.are_threads_of(&audio.process));
}

/// `audio` exits at `at`.
fn exit(script: &mut Script, audio: Thread, at: u64) {
    let thread = ThreadId(audio.id);
    script.push_at(support::micros(at), 0, EventKind::Exit { thread });
    script.switch(at + 10, 0, TaskState::DEAD, IDLE);
}

#[test]
fn the_exit_of_its_thread_ends_a_job() {
    let (mut script, audio, _) = late_job();
    script.switch(61_500, 0, SLEEPING, audio);
    exit(&mut script, audio, 75_000);
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.late()), (11, 1));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(worst.sample.latency(), Nanos::from_micros(20_000));
    assert_eq!(worst.job.as_ref().expect("every job is divided").end, JobEnd::Exit);
    let cut = audio.cut.expect("the last job was cut short");
    assert_eq!((cut.index, cut.end, cut.length), (10, JobEnd::Exit, worst.sample.latency()));
}

#[test]
fn a_thread_that_exits_while_it_rests_is_not_late() {
    let (mut script, audio) = stage();
    let shell = script.thread("shell", 300, 120);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    sleep(&mut script, 56_000, 60_000);
    // A signal wakes it before it is due; then it clears up.
    script.switch(56_900, 0, PREEMPTED, shell).wake(57_000, 0, audio, 0);
    script.switch(57_010, 0, SLEEPING, audio);
    script.push_at(support::micros(57_020), 0, EventKind::HrtimerCancel { timer: TIMER });
    exit(&mut script, audio, 75_000);
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.late(), audio.cut), (11, 0, None));
    assert_eq!(audio.lengths.max, Nanos::from_micros(1000));
}

/// `audio` sleeps for a lock until the recording ends at 90 000.
fn stuck() -> Script {
    let (mut script, audio) = stage();
    let holder = script.thread("holder", 300, 120);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    script.switch(55_800, 0, SLEEPING, holder);
    script.switch(90_000, 0, SLEEPING, IDLE).ends_early();
    script
}

#[test]
fn a_late_job_that_the_end_of_the_recording_cuts_short_is_unfinished() {
    let recording = stuck().into_recording();
    let audio = of_audio(find(&recording));
    assert_eq!((audio.lengths.count, audio.late()), (11, 1));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(worst.sample.latency(), Nanos::from_micros(35_000));
    let job = worst.job.as_ref().expect("every job is divided");
    assert_eq!(job.end, JobEnd::Unfinished);
    assert_eq!(job.segments.get(JobSegment::Blocked), Nanos::from_micros(90_000 - 55_800));
    assert_eq!(audio.cut.map(|cut| cut.end), Some(JobEnd::Unfinished));
    // A reader that stops early does not know the end.
    let mut source = recording.reader();
    let mut explainer = JobExplainer::learning(source.about(), OPTIONS);
    while let Some(item) = source.next_item().expect("a recording in memory cannot fail") {
        if let Item::Event(event) = item {
            explainer.event(&event, source.dictionary(), |_, _, _| true);
        }
    }
    explainer.leave_open();
    assert!(explainer.finish(source.dictionary()).threads.iter().all(|thread| thread.late() == 0));
}

#[test]
fn a_thread_that_rests_when_the_recording_ends_is_not_late() {
    let (mut script, audio) = stage();
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    sleep(&mut script, 56_000, 300_000);
    let other = script.thread("other", 300, 120);
    script.switch(200_000, 0, PREEMPTED, other);
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.late(), audio.cut), (0, None));
}

#[test]
fn due_times_without_a_job_are_missed() {
    let (mut script, audio, _) = late_job();
    script.switch(61_500, 0, SLEEPING, audio);
    // The thread skips the due times that are past.
    sleep(&mut script, 72_000, 75_000);
    (15..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.missed, audio.late()), (15, 3, 1));
    assert_eq!(audio.lengths.max, Nanos::from_micros(17_000));
}

#[test]
fn a_sleep_within_a_job_belongs_to_the_job() {
    let (mut script, audio) = stage();
    let holder = script.thread("holder", 300, 120);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    // It sleeps until a timer, and then for a lock, which `holder` releases 6 ms later.
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    script.arm(55_198, 0, TIMER, 55_700, 0).switch(55_200, 0, SLEEPING, holder);
    script.timer_wakes(55_700, 0, audio, true).switch(55_708, 0, PREEMPTED, audio);
    script.switch(55_800, 0, SLEEPING, holder);
    script.wake(61_800, 0, audio, 0).switch(61_810, 0, PREEMPTED, audio);
    sleep(&mut script, 62_000, 65_000);
    (13..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let options = JobOptions { deadline: Some(Nanos::from_millis(3)), ..OPTIONS };
    let audio = of_audio(find_with(&script.into_recording(), options));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(worst.sample.latency(), Nanos::from_micros(7000));
    assert_eq!(shown(worst)[0], "6000 thread holder (300, other)");
    assert!(
        shown(worst)
            .contains(&"500 thread audio (100, rt:49) slept until its own timer".to_owned())
    );
    let segments = worst.job.as_ref().expect("every job is divided").segments;
    assert_eq!(segments.get(JobSegment::Blocked), Nanos::from_micros(6502));
}

/// `audio` is woken by `server`, late by the given times.
fn woken(late: &[u64]) -> Recording {
    let mut script = Script::new(2);
    let audio = script.thread("audio", 100, 50);
    let server = script.thread("server", 300, 49);
    script.switch(2, 0, PREEMPTED, audio).switch(3, 1, PREEMPTED, server);
    script.switch(5, 0, SLEEPING, IDLE);
    for (number, late) in (1..).zip(late) {
        let wakeup = number * PERIOD + late;
        script.wake(wakeup, 1, audio, 0).switch(wakeup + 10, 0, PREEMPTED, audio);
        script.switch(wakeup + 1000, 0, SLEEPING, IDLE);
    }
    script.into_recording()
}

#[test]
fn a_regularly_woken_thread_is_due_on_a_grid() {
    let mut late = [0; 30];
    late[20] = 3500;
    let options = JobOptions { deadline: Some(Nanos::from_millis(3)), ..OPTIONS };
    let audio = of_audio(find_with(&woken(&late), options));
    let DueBy::Thread { thread } = &audio.due else { panic!("{audio:?}") };
    assert_eq!(thread.name, "server");
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(worst.sample.latency(), Nanos::from_micros(4500));
    assert_eq!(shown(worst)[0], "3500 thread server (300, rt:50)");
}

#[test]
fn a_thread_that_is_not_periodic_has_no_jobs() {
    let late: Vec<u64> = (0..40_u64).map(|number| number * number * number * 97 % 3500).collect();
    let found = find(&woken(&late));
    assert!(found.threads.is_empty(), "{found:?}");
    let [aperiodic] = &found.aperiodic[..] else { panic!("{found:?}") };
    assert_eq!(aperiodic.name, "audio");
    assert!(matches!(aperiodic.reason, NoPeriod::Irregular(_)), "{aperiodic:?}");
}

/// `audio` sleeps for 4 ms after 1 ms of work, again and again.
fn sleeper_for_durations() -> Recording {
    let (mut script, audio) = stage();
    for number in 1..20 {
        let due = number * PERIOD;
        script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
        script.arm_relative(due + 998, 0, TIMER, due + PERIOD).switch(
            due + 1000,
            0,
            SLEEPING,
            IDLE,
        );
    }
    script.into_recording()
}

#[test]
fn regular_sleeps_for_a_duration_give_no_due_times_unless_the_period_is_given() {
    let recording = sleeper_for_durations();
    let found = find(&recording);
    assert!(found.threads.is_empty(), "{found:?}");
    let [aperiodic] = &found.aperiodic[..] else { panic!("{found:?}") };
    assert!(matches!(aperiodic.reason, NoPeriod::Relative(_)), "{aperiodic:?}");
    let options = JobOptions { period: Some(Nanos::from_micros(PERIOD)), ..OPTIONS };
    assert_eq!(of_audio(find_with(&recording, options)).lengths.count, 17);
}

#[test]
fn sleeps_for_a_duration_stay_that_when_load_stretches_them() {
    let (mut script, audio) = stage();
    let mut due = PERIOD;
    for number in 1..40_u64 {
        let work = number * number * number * 97 % 3500 + 100;
        script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
        let next = due + work + 4000;
        script.arm_relative(due + work - 2, 0, TIMER, next);
        script.switch(due + work, 0, SLEEPING, IDLE);
        due = next;
    }
    let found = find(&script.into_recording());
    let [aperiodic] = &found.aperiodic[..] else { panic!("{found:?}") };
    let NoPeriod::Relative(period) = aperiodic.reason else { panic!("{aperiodic:?}") };
    assert!(period.fit < tactus_explain::jobs::FIT_MIN, "{period:?}");
}

#[test]
fn a_thread_that_ended_before_the_job_is_divided_keeps_its_name() {
    let (mut script, audio) = stage();
    let holder = script.thread("holder", 300, 120);
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    // It sleeps for a lock, which `holder` releases 6 ms later; `holder` ends at once.
    script.switch(55_800, 0, SLEEPING, holder);
    script.wake(61_800, 0, audio, 0).switch(61_810, 0, TaskState::DEAD, audio);
    sleep(&mut script, 62_000, 65_000);
    (13..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let audio = of_audio(find(&script.into_recording()));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    let blocked = worst.job.as_ref().and_then(|job| job.blocked.as_ref()).expect("it slept");
    assert_eq!(blocked.stretch.ender.to_string(), "holder (300)");
    assert_eq!(blocked.stretch.chain[0].thread.name, "holder");
    assert_eq!(audio.blocked[0].ender.to_string(), "holder");
}

#[test]
fn a_given_period_needs_no_regular_due_times() {
    let late: Vec<u64> = (0..40_u64).map(|number| number * number * number * 97 % 3500).collect();
    let options = JobOptions { period: Some(Nanos::from_micros(PERIOD)), ..OPTIONS };
    let audio = of_audio(find_with(&woken(&late), options));
    assert!(audio.lengths.count >= 35, "{audio:?}");
}

#[test]
fn a_mark_of_its_end_ends_a_job() {
    let (mut script, audio) = stage();
    let text = script.thread("tactus: job end audio", 0, 0).name;
    for number in 1..20 {
        let due = number * PERIOD;
        script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
        script.push_at(support::micros(due + 700), 0, EventKind::Mark { text });
        // What follows is not a part of the job.
        sleep(&mut script, due + 1500, due + PERIOD);
    }
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.lengths.max), (18, Nanos::from_micros(700)));
}

#[test]
fn marks_of_beginnings_give_the_period_of_a_thread_without_timers() {
    let (mut script, _) = stage();
    let server = script.thread("server", 200, 50);
    let mark = |script: &mut Script, at, text: &str| {
        let text = script.thread(text, 0, 0).name;
        script.push_at(support::micros(at), 0, EventKind::Mark { text });
    };
    script.wake(10, 0, server, 0).switch(20, 0, PREEMPTED, server);
    for number in 1..20 {
        let late = if number == 15 { 3000 } else { 0 };
        mark(&mut script, number * PERIOD + late, "tactus: job begin server");
        mark(&mut script, number * PERIOD + late + 1000, "tactus: job end server");
    }
    let found = find_with(&script.into_recording(), OPTIONS).threads;
    let server = found.iter().find(|thread| thread.name == "server").expect("it is periodic");
    assert_eq!((&server.due, server.period.length), (&DueBy::Mark, Nanos::from_micros(PERIOD)));
    assert_eq!(server.lengths.max, Nanos::from_micros(4000));
}

#[test]
fn jobs_across_a_loss_are_not_counted() {
    let (mut script, audio) = stage();
    (1..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.lose(0, 50_500, 50_600);
    let audio = of_audio(find(&script.into_recording()));
    assert_eq!((audio.lengths.count, audio.void), (17, 1));
}

/// What an explainer finds while events come in.
fn followed(recording: &Recording) -> (Jobs, Vec<LateJob>) {
    let mut source = recording.reader();
    let mut explainer = JobExplainer::learning(source.about(), OPTIONS);
    let mut late = Vec::new();
    while let Some(item) = source.next_item().expect("a recording in memory cannot fail") {
        match item {
            Item::Event(event) => explainer.event(&event, source.dictionary(), |_, _, _| true),
            Item::Lost(lost) => explainer.lost(&lost),
        }
        late.append(&mut explainer.take_late());
    }
    (explainer.finish(source.dictionary()), late)
}

#[test]
fn late_jobs_are_reported_as_they_come() {
    let (mut script, audio) = stage();
    let hog = script.thread("hog", 200, 20);
    (1..21).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(105_000, 0, audio, true).switch(105_008, 0, PREEMPTED, audio);
    script.wake(105_500, 0, hog, 0).switch(105_510, 0, PREEMPTED, hog);
    script.switch(111_000, 0, SLEEPING, audio);
    sleep(&mut script, 112_000, 115_000);
    (23..30).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let (found, late) = followed(&script.into_recording());
    let audio = of_audio(found);
    let [late] = &late[..] else { panic!("one job is late: {late:?}") };
    assert_eq!((late.thread, late.done - late.due), (ThreadId(100), Nanos::from_micros(7000)));
    assert_eq!(late.parts, audio.explanation.worst[0].parts);
    assert_eq!((audio.late(), audio.missed), (1, 1));
}

#[test]
fn of_very_many_late_threads_only_the_worst_keep_timelines() {
    const THREADS: u32 = 200;
    /// The time of a turn of all threads, in microseconds.
    const TURN: u64 = 100 * THREADS as u64;
    let mut script = Script::new(1);
    let clock = script.thread("clock", 90, 10);
    let workers: Vec<Thread> =
        (0..THREADS).map(|number| script.thread("worker", 1000 + number as i32, 50)).collect();
    script.switch(2, 0, PREEMPTED, clock);
    for turn in 1..25 {
        for (place, worker) in (0..).zip(&workers) {
            let at = turn * TURN + place * 100;
            script.wake(at, 0, *worker, 0).switch(at + 5, 0, PREEMPTED, *worker);
            script.switch(at + 20 + place / 4, 0, SLEEPING, clock);
        }
    }
    let options = JobOptions { deadline: Some(Nanos::from_micros(10)), ..OPTIONS };
    let recording = script.into_recording();
    let found = find_with(&recording, options).threads;
    assert_eq!(found.len(), THREADS as usize);
    let drawn = |thread: &JobExplanation| {
        thread.explanation.worst.iter().filter(|worst| worst.timeline.is_some()).count()
    };
    let with = found.iter().filter(|thread| drawn(thread) > 0).count();
    assert!((20..=128).contains(&with), "{with} threads have timelines");
    let [first, .., last] = &found[..] else { panic!("there are many") };
    assert!(first.late() >= 20 && last.late() == first.late(), "all jobs are counted");
    assert!(drawn(first) >= 10 && drawn(last) == 0);
    assert_eq!(last.explanation.worst.len(), 3);
}

/// The jobs of `audio` with their CPU time, by the schedules of the whole recording.
fn done_jobs(recording: &Recording) -> Vec<DoneJob> {
    let mut finder = JobFinder::new(&recording.about);
    let (mut first, mut second) = (recording.reader(), recording.reader());
    while let Some(item) = first.next_item().expect("a recording in memory cannot fail") {
        match item {
            Item::Event(event) => finder.event(&event, first.dictionary()),
            Item::Lost(lost) => finder.lost(&lost),
        }
    }
    let explainer = JobExplainer::new(&recording.about, OPTIONS, finder.finish(None));
    let (mut explainer, mut done) = (explainer.keeping_done(), Vec::new());
    while let Some(item) = second.next_item().expect("a recording in memory cannot fail") {
        match item {
            Item::Event(event) => {
                explainer.event(&event, second.dictionary(), |_, name, _| name == "audio");
            }
            Item::Lost(lost) => explainer.lost(&lost),
        }
        done.append(&mut explainer.take_done());
    }
    done
}

#[test]
fn a_job_has_the_cpu_time_of_its_thread_without_the_time_of_others() {
    let (mut script, audio, _) = late_job();
    script.switch(61_500, 0, SLEEPING, audio);
    sleep(&mut script, 72_000, 75_000);
    (15..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let done = done_jobs(&script.into_recording());
    assert_eq!(done.len(), 15);
    let micros = |job: &DoneJob| (job.used.own.as_nanos() / 1000, job.missed);
    // From 8 us after the due time to the switch away.
    assert!(done[..10].iter().all(|job| micros(job) == (992, 0)), "{done:?}");
    // It ran from 55 008 to 55 510 and from 61 500 to 72 000, and skipped three due times.
    assert_eq!((micros(&done[10]), micros(&done[11])), ((11_002, 0), (992, 3)));
    assert_eq!(done[10].response(), Nanos::from_micros(17_000));
}

#[test]
fn interrupts_within_a_job_are_counted_apart_and_steal_time_is_not_used() {
    let (mut script, audio) = stage();
    for number in 1..20 {
        let due = number * PERIOD;
        script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
        script.vector_entry(due + 500, 0, InterruptVector::LocalTimer);
        script.vector_exit(due + 600, 0, InterruptVector::LocalTimer);
        // The host took 400 us.
        script.charge(due + 1000, 0, 992 - 100 - 400);
        sleep(&mut script, due + 1000, due + PERIOD);
    }
    let done = done_jobs(&script.into_recording());
    let micros = |time: Nanos| time.as_nanos() / 1000;
    for job in &done {
        assert_eq!((micros(job.used.own), micros(job.used.interrupted)), (492, 100), "{job:?}");
    }
    assert_eq!(done.len(), 18);
}

#[test]
fn a_marked_end_ends_the_cpu_time_of_a_job() {
    let (mut script, audio) = stage();
    let text = script.thread("tactus: job end audio", 0, 0).name;
    for number in 1..20 {
        let due = number * PERIOD;
        script.timer_wakes(due, 0, audio, true).switch(due + 8, 0, PREEMPTED, audio);
        script.push_at(support::micros(due + 700), 0, EventKind::Mark { text });
        sleep(&mut script, due + 1500, due + PERIOD);
    }
    let done = done_jobs(&script.into_recording());
    assert!(done.iter().all(|job| job.used.own == Nanos::from_micros(692)), "{done:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_times_of_jobs_add_up_whatever_the_events(events in nonsense::events(100_000)) {
        let about = Script::new(3).into_recording().about;
        let recording =
            Recording { about, dictionary: Dictionary::new(), events, losses: Vec::new() };
        for period in [None, Some(Nanos::from_micros(300))] {
            let found = find_with(&recording, JobOptions { period, deadline: period, ..OPTIONS });
            found.threads.iter().for_each(check);
        }
        followed(&recording).0.threads.iter().for_each(check);
    }
}

#[test]
fn reclaim_on_the_cpu_is_no_work_of_the_thread() {
    let (mut script, audio) = stage();
    (1..11).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    script.timer_wakes(55_000, 0, audio, true).switch(55_008, 0, PREEMPTED, audio);
    let begin = EventKind::ReclaimBegin { reclaim: Reclaim::Direct, order: 0 };
    let end = EventKind::ReclaimEnd { reclaim: Reclaim::Direct, pages: 32 };
    script.push_at(support::micros(56_000), 0, begin);
    // It is preempted meanwhile, and goes on.
    let hog = script.thread("hog", 200, 20);
    script.switch(57_000, 0, PREEMPTED, hog).switch(57_500, 0, SLEEPING, audio);
    script.push_at(support::micros(61_000), 0, end);
    sleep(&mut script, 61_500, 65_000);
    (13..20).for_each(|number| job(&mut script, audio, number * PERIOD, 1000));
    let recording = script.into_recording();
    let options = JobOptions { deadline: Some(Nanos::from_millis(5)), ..OPTIONS };
    let audio = of_audio(find_with(&recording, options));
    let [worst] = &audio.explanation.worst[..] else { panic!("one job is late: {audio:?}") };
    assert_eq!(shown(worst)[0], "4500 memory reclaim by the late thread itself");
    let options = Options { threshold: Nanos::from_micros(100), slowest: 1, timelines: 0 };
    let found = waits(&mut recording.reader(), options, |_, name| name == "audio");
    let found = found.expect("a recording in memory cannot fail");
    assert_eq!(found.names[0].time.reclaim, Nanos::from_micros(4500));
}
