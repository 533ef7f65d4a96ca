//! Jobs that their program reports, e.g. the frames of a player.

#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use support::{IDLE, PREEMPTED, SLEEPING, STOPPED, Script, micros, shown};
use tactus_explain::jobs::{
    DueBy, JobExplainer, JobExplanation, JobOptions, JobSegment, LateJob, ReportedJob,
};
use tactus_model::recording::{EventSource, Item, Lost, Recording, ThreadId};
use tactus_model::time::Nanos;

const OPTIONS: JobOptions =
    JobOptions { period: None, deadline: Some(Nanos::from_millis(5)), slowest: 20, timelines: 20 };

/// When the frames of [`recording`] were due and shown, in microseconds.
const FRAMES: [(u64, u64); 3] = [(10_000, 10_050), (30_000, 58_600), (70_000, 90_150)];

/// A player on one CPU. `decoder` is stopped while the second frame is due, and `hog` runs while the
/// third one is.
fn recording() -> Recording {
    let mut script = Script::new(1);
    let picture = script.thread("picture", 100, 29);
    let decoder = script.thread("decoder", 200, 120);
    let hog = script.thread("hog", 300, 20);
    script.switch(1, 0, PREEMPTED, picture).switch(1000, 0, SLEEPING, decoder);
    script.wake(9990, 0, picture, 0).switch(9995, 0, PREEMPTED, picture);
    script.switch(10_100, 0, SLEEPING, decoder).switch(12_000, 0, STOPPED, IDLE);
    script.wake(58_000, 0, decoder, 0).switch(58_010, 0, PREEMPTED, decoder);
    script.wake(58_500, 0, picture, 0).switch(58_510, 0, PREEMPTED, picture);
    script.switch(58_700, 0, SLEEPING, decoder);
    script.wake(69_990, 0, picture, 0).wake(69_992, 0, hog, 0).switch(69_995, 0, PREEMPTED, hog);
    script.switch(90_000, 0, SLEEPING, picture).switch(90_200, 0, SLEEPING, decoder);
    script.switch(100_000, 0, SLEEPING, IDLE);
    script.into_recording()
}

fn frames() -> impl Iterator<Item = ReportedJob> {
    FRAMES.into_iter().map(|(due, shown)| ReportedJob {
        thread: ThreadId(100),
        due: micros(due),
        done: micros(shown),
        period: Nanos::from_millis(20),
    })
}

/// Explains the frames, each reported when so many events have come.
fn explained(recording: &Recording, after: [usize; 3]) -> (JobExplanation, Vec<LateJob>) {
    let mut source = recording.reader();
    let mut explainer = JobExplainer::reported(source.about(), OPTIONS);
    let (mut late, mut count) = (Vec::new(), 0);
    let mut frames = frames().zip(after).peekable();
    while let Some(item) = source.next_item().expect("a recording in memory cannot fail") {
        while let Some((job, _)) = frames.next_if(|(_, after)| *after <= count) {
            explainer.report(job, source.dictionary());
        }
        match item {
            Item::Event(event) => explainer.event(&event, source.dictionary(), |_, _, _| false),
            Item::Lost(lost) => explainer.lost(&lost),
        }
        count += 1;
        late.append(&mut explainer.take_late());
    }
    frames.for_each(|(job, _)| explainer.report(job, source.dictionary()));
    let mut jobs = explainer.finish(source.dictionary());
    assert_eq!(jobs.threads.len(), 1, "{jobs:?}");
    let picture = jobs.threads.remove(0);
    assert_eq!(picture.due, DueBy::Report);
    assert_eq!(picture.lengths.count + picture.void, FRAMES.len() as u64);
    for worst in &picture.explanation.worst {
        let parts: Nanos = worst.parts.iter().map(|part| part.time).sum();
        assert_eq!(parts, worst.sample.latency(), "{worst:?}");
        let segments = worst.job.as_ref().expect("every job is divided").segments;
        assert_eq!(segments.total(), worst.sample.latency());
    }
    (picture, late)
}

#[test]
fn who_delayed_a_frame_is_found_before_and_after_its_events() {
    let recording = recording();
    let events = recording.events.len();
    for after in [[0, 0, 0], [1, 7, 9], [events, events, events]] {
        let (picture, _) = explained(&recording, after);
        assert_eq!((picture.name.as_str(), picture.late(), picture.void), ("picture", 2, 0));
        let [stopped, preempted] = &picture.explanation.worst[..] else { panic!("{picture:?}") };
        assert_eq!(stopped.sample.latency(), Nanos::from_micros(28_600));
        assert!(shown(stopped)[0].contains("thread decoder (200, "), "{:?}", shown(stopped));
        assert!(shown(stopped)[0].ends_with("was stopped"), "{:?}", shown(stopped));
        assert!(shown(preempted)[0].starts_with("20000 thread hog"), "{:?}", shown(preempted));
        let segments = preempted.job.as_ref().unwrap().segments;
        assert_eq!(segments.get(JobSegment::Waiting), Nanos::from_micros(20_000));
    }
}

#[test]
fn a_late_frame_is_explained_as_soon_as_its_events_have_come() {
    let mut recording = recording();
    let mut later = recording.events[recording.events.len() - 1];
    later.at = later.at + Nanos::from_secs(1);
    recording.events.push(later);
    let (_, late) = explained(&recording, [0, 0, 0]);
    let lengths: Vec<Nanos> = late.iter().map(|job| job.done - job.due).collect();
    assert_eq!(lengths, [Nanos::from_micros(28_600), Nanos::from_micros(20_150)]);
}

#[test]
fn frames_across_lost_events_are_not_counted() {
    let mut recording = recording();
    let lost = Lost { cpu: 0, from: micros(40_000), to: micros(41_000), count: 3 };
    recording.losses.push(lost);
    let (picture, _) = explained(&recording, [0, 0, 0]);
    assert_eq!((picture.void, picture.late()), (1, 1));
}

#[test]
fn frames_that_were_due_before_the_recording_are_not_counted() {
    let mut recording = recording();
    recording.about.started = micros(20_000);
    recording.events.retain(|event| event.at >= micros(20_000));
    let (picture, _) = explained(&recording, [0, 0, 0]);
    assert_eq!(picture.void, 1);
}
