//! `tactus play --explain` names who delayed a frame, and `--reserve` is granted or its refusal is
//! stated.

use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_explain::Cause;
use tactus_explain::cause::Culprit;
use tactus_explain::jobs::LateJob;
use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_sys::{affinity, sched};
use tactus_testing::{Need, require};

use crate::flight::permitted;
use crate::play::{ALL, Playing, Stage};

/// A stage with a clip of so many seconds, where events may be recorded.
fn stage(seconds: f64) -> Option<(Stage, String)> {
    let stage = Stage::new(4).filter(|stage| permitted(&stage.tactus))?;
    let clip = stage.clip("red.mkv", seconds);
    Some((stage, clip))
}

/// The command that plays and explains a clip without sound: wall time drives the clock, so nobody but
/// the planted cause moves it. No frame is dropped.
fn explaining(stage: &Stage, clip: &str) -> Command {
    let recording = stage.file("late.tactusrec");
    stage.command(&[clip, "--mute", ALL, "--explain", "-o", &recording])
}

fn pid(number: i32) -> Pid {
    Pid::from_raw(number).unwrap()
}

#[test]
fn a_signal_before_the_first_frame_leaves_the_page() {
    let Some((stage, clip)) = stage(10.0) else { return };
    let mut playing = Playing::start(&mut explaining(&stage, &clip));
    playing.until("opened");
    kill_process(Pid::from_child(&playing.child), Signal::TERM).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(143), "{messages}");
    for name in ["late.tactusrec", "late.html"] {
        assert!(std::fs::exists(stage.file(name)).unwrap(), "no {name}: {messages}");
    }
}

/// Plays until some frames were shown.
fn warmed_up(playing: &mut Playing) {
    for _ in 0..10 {
        playing.until("frame");
    }
}

/// Stops processes for a while.
fn stop(processes: &[i32], length: Duration) {
    processes.iter().for_each(|process| kill_process(pid(*process), Signal::STOP).unwrap());
    std::thread::sleep(length);
    // A player that fails ends its decoder.
    for process in processes {
        let _ = kill_process(pid(*process), Signal::CONT);
    }
}

/// Ends the player, and requires that `planted` is the main cause of a late frame.
fn require_cause(playing: &mut Playing, planted: impl Fn(&Cause) -> bool) {
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    let late: Vec<LateJob> = playing
        .all("late")
        .into_iter()
        .map(|job| serde_json::from_value(job.clone()).unwrap())
        .collect();
    for job in &late {
        assert!(job.name.starts_with("picture"), "{job:?}");
        let parts: u64 = job.parts.iter().map(|part| part.time.as_nanos()).sum();
        assert_eq!(parts, (job.done - job.due).as_nanos(), "{job:?}");
    }
    let main: Vec<&Cause> =
        late.iter().filter_map(|job| job.parts.first()).map(|part| &part.cause).collect();
    assert!(main.iter().any(|cause| planted(cause)), "{main:?}: {messages}");
    // The whole of it is in the summary, whose files are written.
    let explained = playing.all("explained");
    assert_eq!(explained.len(), 1, "{messages}");
    let counted = explained[0]["lengths"]["count"].as_u64().unwrap();
    let void = explained[0]["void"].as_u64().unwrap();
    assert_eq!(counted + void, playing.all("frame").len() as u64);
    let files = playing.all("explanation")[0];
    for file in ["recording", "page"] {
        assert!(std::fs::exists(files[file].as_str().unwrap()).unwrap(), "{files}");
    }
}

/// Whether a cause is that a thread of this program was stopped.
fn stopped(cause: &Cause, program: &str) -> bool {
    let is_of = |culprit: &Culprit| {
        culprit.name.starts_with(program) || culprit.process.as_deref() == Some(program)
    };
    matches!(cause, Cause::Stopped { thread } if is_of(thread))
}

#[test]
fn needs_tracing_a_stopped_decoder_is_named() {
    let Some((stage, clip)) = stage(8.0) else { return };
    let mut playing = Playing::start(&mut explaining(&stage, &clip));
    warmed_up(&mut playing);
    // Longer than the frames last that are decoded ahead.
    stop(&playing.decoders(), Duration::from_secs(3));
    require_cause(&mut playing, |cause| stopped(cause, "ffmpeg"));
}

#[test]
fn needs_tracing_a_stopped_x_server_is_named() {
    let Some((stage, clip)) = stage(5.0) else { return };
    let mut playing = Playing::start(&mut explaining(&stage, &clip));
    warmed_up(&mut playing);
    stop(&[stage.display.process() as i32], Duration::from_secs(1));
    require_cause(&mut playing, |cause| stopped(cause, "Xvfb"));
}

/// The name of the thread that preempts the player.
const HOG: &str = "planted-hog";

#[test]
fn needs_tracing_a_thread_that_preempts_the_display_thread_is_named() {
    let Some((stage, clip)) = stage(5.0) else { return };
    let before = affinity::get().unwrap();
    let cpu: CpuList = before.iter().take(1).collect();
    // It has its name before anything is recorded.
    let (begin, begins) = channel();
    let hog_cpu = cpu.clone();
    let hog = Builder::new().name(HOG.to_owned()).spawn(move || {
        begins.recv().unwrap();
        affinity::set(&hog_cpu).unwrap();
        let allowed = sched::set("fifo:80".parse::<Scheduling>().unwrap());
        let end = Instant::now() + Duration::from_millis(300);
        while allowed.is_ok() && Instant::now() < end {
            std::hint::spin_loop();
        }
        allowed
    });
    // The player and its threads inherit the CPU; the display server does not.
    affinity::set(&cpu).unwrap();
    let mut playing = Playing::start(&mut explaining(&stage, &clip));
    affinity::set(&before).unwrap();
    warmed_up(&mut playing);
    begin.send(()).unwrap();
    let allowed = hog.unwrap().join().unwrap();
    let Some(()) = require(Need::Root, allowed) else { return };
    require_cause(
        &mut playing,
        |cause| matches!(cause, Cause::OtherThread { thread } if thread.name == HOG),
    );
}

/// The rung of the reserve with which a player shows its frames, what it was not granted, and the policy
/// of the thread meanwhile.
fn reserved(mut command: Command) -> (Value, Vec<Value>, Scheduling) {
    let mut playing = Playing::start(&mut command);
    let prepared = playing.until("prepared");
    playing.until("frame");
    let thread = ThreadId(prepared["thread"].as_i64().unwrap() as i32);
    let policy = sched::get_of(thread).unwrap();
    let (code, messages) = playing.end();
    assert_eq!(code, Some(0), "{messages}");
    let missing = playing.all("shortfall").into_iter().cloned().collect();
    (prepared["reserve"].clone(), missing, policy)
}

#[test]
fn a_thread_that_shows_frames_has_the_reserve_or_the_refusal_is_stated() {
    let Some(stage) = Stage::new(4) else { return };
    let clip = stage.clip("red.mkv", 5.0);
    let arguments = [&clip, "--mute", "--reserve", "5ms/40ms"];
    let check = |command: Command| {
        let (reserve, missing, policy) = reserved(command);
        assert_eq!(reserve["capacity"], "5ms/40ms");
        let is_deadline = reserve["rung"] == "deadline";
        let has_policy = matches!(policy, Scheduling::Deadline { .. });
        assert_eq!(is_deadline, has_policy, "{reserve}: {policy}");
        let is_of_deadline =
            |one: &Value| one["asked"].as_str().unwrap().ends_with("by rung deadline");
        let is_stated = missing.iter().any(is_of_deadline);
        assert_eq!(is_deadline, !is_stated, "{reserve}: {missing:?}");
        is_deadline
    };
    let with_rights = check(stage.command(&arguments));
    if with_rights {
        // Without the right to real-time classes, it has another rung.
        let whole = stage.command(&arguments);
        let mut less = Command::new("setpriv");
        less.args(["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]).arg(whole.get_program());
        less.args(whole.get_args());
        for (name, value) in whole.get_envs() {
            match value {
                Some(value) => less.env(name, value),
                None => less.env_remove(name),
            };
        }
        assert!(!check(less), "nobody may use the deadline class without a right");
    }
}

#[test]
fn explanations_are_for_clips_and_need_the_option() {
    let Some(stage) = Stage::new(4) else { return };
    let folder = stage.file("");
    let (code, messages) = stage.play(&[&folder, "--explain"]).end();
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("--explain explains clips"), "{messages}");
    let (code, messages) = stage.play(&["a.mkv", "--over", "5ms"]).end();
    assert_eq!(code, Some(2), "{messages}");
    assert!(messages.contains("--explain"), "{messages}");
}
