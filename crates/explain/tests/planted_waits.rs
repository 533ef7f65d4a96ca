//! Planted programs wait for a CPU, and blame names why; their own clock is the truth.
//!
//! Each victim computes without a pause and reads the clock, so a jump of its clock is a wait.
//! Recording needs root or CAP_PERFMON; without it, a test prints why it is skipped.

#[path = "support/control_group.rs"]
mod control_group;
#[path = "support/cut.rs"]
mod cut;
#[path = "support/golden.rs"]
mod golden;
#[path = "support/golden_writer.rs"]
mod golden_writer;
#[path = "support/live.rs"]
#[expect(dead_code, reason = "another test uses the rest")]
mod live;

use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use control_group::ControlGroup;
use live::{Session, fifo, helper, now, print_sample, sleep_until, spin_until, this_thread};
use tactus_explain::cause::Throttle;
use tactus_explain::{Cause, ExplainedSample, Options, Origin, ProbeTask, WaitExplanation, waits};
use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_model::recording::{PriorityClass, Recording, ThreadId};
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::live::{CallChains, Keep, Options as RecordOptions, Recorder};
use tactus_testing::{Need, compares_plants, require, skip};

/// The tests share a CPU.
static CPU: Mutex<()> = Mutex::new(());

/// The class of planted threads: threads of a busy machine take little time from them.
const FAVOURED: Scheduling = Scheduling::Other { nice: -20 };

/// Shorter waits are left to the noise of the machine.
const LONG: Nanos = Nanos::from_micros(500);

/// How long a planted program runs.
const RUN: Nanos = Nanos::from_secs(2);

const QUOTA: Nanos = Nanos::from_millis(10);
const PERIOD: Nanos = Nanos::from_millis(50);

/// More than all CPUs together use in a period.
const NEVER_USED_UP: Nanos = Nanos::from_secs(100);

fn throttling(cause: &Cause) -> bool {
    *cause == Cause::Throttling { rule: Throttle::Cgroup }
}

/// The last CPU: the first one serves most interrupts.
fn cpu() -> u32 {
    let cpus = tactus_sys::affinity::get().expect("every thread has an affinity");
    cpus.iter().last().expect("a thread may run somewhere")
}

/// A jump of a thread's own clock, from and to.
type Jump = (Instant<Monotonic>, Instant<Monotonic>);

type Jumps = Vec<Jump>;

/// Whether a jump contains another stretch of time.
fn contains(jump: &Jump, other: &Jump) -> bool {
    other.0 >= jump.0 && other.1 <= jump.1
}

/// Computes until `end`.
fn compute(end: Instant<Monotonic>) -> Jumps {
    let mut jumps = Vec::new();
    let mut last = now();
    while last < end {
        let next = now();
        if next - last >= LONG {
            jumps.push((last, next));
        }
        last = next;
    }
    jumps
}

/// What was recorded while the victim computed.
struct Observed {
    session: Session,
    jumps: Jumps,
    waits: WaitExplanation,
}

impl Observed {
    /// The time of the causes for which `is_it` holds.
    fn time_of(&self, is_it: impl Fn(&Cause) -> bool) -> Nanos {
        let rows = self.waits.explanation.pareto.rows.iter();
        rows.filter(|row| is_it(&row.cause)).map(|row| row.time).sum()
    }

    /// Checks that the waits agree with the jumps of the victim's own clock in which they lie.
    #[track_caller]
    fn check_waits(&self) {
        let opened = self.session.task.opened;
        let waits = self.waits.explanation.worst.iter();
        let waits: Jumps =
            waits.map(|wait| (opened + wait.sample.due, opened + wait.sample.came)).collect();
        let sum = |jumps: Vec<&Jump>| jumps.iter().map(|(from, to)| *to - *from).sum::<Nanos>();
        let within = |wait: &&Jump| self.jumps.iter().any(|jump| contains(jump, wait));
        let around = |jump: &&Jump| waits.iter().any(|wait| contains(jump, wait));
        let recorded = sum(waits.iter().filter(within).collect());
        let own = sum(self.jumps.iter().filter(around).collect());
        println!("its own clock: {own}, recorded: {recorded}");
        assert!(own > Nanos::ZERO, "it waited");
        check_equal("waits", recorded, own, 3);
    }

    /// Stores the shortest wait of which `is_it` is the main cause as a golden recording.
    fn keep(&self, name: &str, is_it: impl Fn(&ExplainedSample) -> bool) {
        if let Some(shortest) = self.waits.explanation.worst.iter().rev().find(|wait| is_it(wait)) {
            print_sample(shortest);
            golden_writer::keep(name, &self.session, shortest);
        }
    }
}

/// Records while a victim computes on the CPU, together with what `plant` starts, which gets the
/// victim and the end of its work. The victim calls `prepare` first.
fn observe(
    prepare: impl FnOnce() + Send + 'static,
    plant: impl FnOnce(ThreadId, Instant<Monotonic>) -> Vec<JoinHandle<()>>,
) -> Option<Observed> {
    if !compares_plants() {
        return None;
    }
    if !may_be_favoured() {
        skip(Need::Root, "a better nice value is not permitted");
        return None;
    }
    let options = RecordOptions {
        call_chains: CallChains::Always,
        keep: Keep::Memory { limit: 1 << 30 },
        ..RecordOptions::of_threads(&[this_thread()])
    };
    let recorder = match Recorder::start(options) {
        Err(error) if !error.is_not_available() => panic!("{error}"),
        recorder => require(Need::Perf, recorder)?,
    };
    let (sender, receiver) = channel();
    let (start, started) = channel();
    let on = cpu();
    let victim = std::thread::Builder::new().name("victim".to_owned()).spawn(move || {
        live::prepare(on, FAVOURED);
        prepare();
        sender.send(this_thread()).expect("the starter waits");
        compute(started.recv().expect("the starter sends"))
    });
    let victim = victim.expect("a thread can be made");
    let thread = receiver.recv().expect("the victim sends its thread id");
    let end = now() + RUN;
    let planted = plant(thread, end);
    start.send(end).expect("the victim waits");
    let jumps = victim.join().expect("the victim does not fail");
    for thread in planted {
        thread.join().expect("what was planted ends by itself");
    }
    let mut recorded = recorder.stop().expect("the recorder ran");
    let recording =
        Recording::collect(&mut recorded.recording).expect("a new recording can be read");
    let options = Options { threshold: LONG, slowest: usize::MAX, timelines: 0 };
    let mut found =
        waits(&mut recording.reader(), options, |id, name| id == thread && name == "victim")
            .expect("a recording in memory cannot fail");
    let waits = found.names.pop().expect("the victim waited");
    let (opened, samples) = (recording.about.started, Vec::new());
    let origin = Origin::Ready;
    let task = ProbeTask { task: 0, thread, origin, opened, samples, receiver: None };
    let session = Session { recording, summary: recorded.summary, task };
    Some(Observed { session, jumps, waits })
}

/// Checks that two times agree within `percent`.
#[track_caller]
fn check_equal(what: &str, one: Nanos, other: Nanos, percent: u64) {
    let difference = one.as_nanos().abs_diff(other.as_nanos());
    let whole = one.max(other).as_nanos();
    assert!(difference * 100 <= whole * percent, "{what}: {one} and {other}");
}

/// A control group with a quota, unless this machine cannot have one.
fn group(quota: Nanos) -> Option<ControlGroup> {
    require(Need::Machine, ControlGroup::with_quota(quota, PERIOD))
}

#[test]
fn root_throttling_is_named_whichever_thread_of_the_group_runs_first_afterwards() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(group) = group(QUOTA) else { return };
    let joined = group.clone();
    let observed = observe(
        move || joined.join(),
        |_, end| {
            let burst = |_| {
                let group = group.clone();
                helper("burst", cpu(), FAVOURED, move || {
                    group.join();
                    spin_until(end);
                })
            };
            (0..2).map(burst).collect()
        },
    );
    let Some(observed) = observed else { return };
    live::print(&observed.waits.explanation, 3);
    observed.check_waits();
    check_throttling(&observed, &group);
    observed
        .keep("quota-with-burst", |wait| throttling(&wait.parts[0].cause) && wait.parts.len() > 3);
}

/// Lets another process compute on the CPU of the calling thread until `end`.
fn outside(end: Instant<Monotonic>) {
    let mut outside = Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
    let outside = outside.as_mut().expect("every system has a shell");
    sleep_until(end);
    outside.kill().expect("it is our child");
    outside.wait().expect("it is our child");
}

#[test]
fn root_throttling_is_named_while_a_thread_outside_the_group_computes() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(group) = group(QUOTA) else { return };
    let joined = group.clone();
    let observed = observe(
        move || joined.join(),
        |_, end| vec![helper("starter", cpu(), FAVOURED, move || outside(end))],
    );
    let Some(observed) = observed else { return };
    live::print(&observed.waits.explanation, 3);
    observed.check_waits();
    check_throttling(&observed, &group);
    observed.keep("quota-while-another-computes", |wait| throttling(&wait.parts[0].cause));
}

/// Checks that throttling is named where the kernel counted it, and nowhere else.
#[track_caller]
fn check_throttling(observed: &Observed, group: &ControlGroup) {
    let (named, counted) = (observed.time_of(throttling), group.throttled());
    println!("throttling: {named} named, {counted} counted");
    // The kernel counts until the last thread of the group is over, and real-time threads also
    // run meanwhile. While several programs of a busy machine take turns on the CPU, no event proves
    // that the group is throttled: 91 to 99 % are named on a quiet machine, 38 % at a load of 20.
    assert!(named.as_nanos() * 5 >= counted.as_nanos(), "{named} of {counted}");
    assert!(named.as_nanos() * 100 <= counted.as_nanos() * 103, "{named} of {counted}");
}

#[test]
fn root_a_quota_that_is_never_used_up_throttles_nobody() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(group) = group(NEVER_USED_UP) else { return };
    let joined = group.clone();
    let observed = observe(
        move || joined.join(),
        |_, end| {
            let other = |_| helper("starter", cpu(), FAVOURED, move || outside(end));
            (0..2).map(other).collect()
        },
    );
    let Some(observed) = observed else { return };
    live::print(&observed.waits.explanation, 3);
    assert_eq!(group.throttled(), Nanos::ZERO);
    assert_eq!(observed.time_of(throttling), Nanos::ZERO);
    observed.check_waits();
}

#[test]
fn root_a_thread_whose_class_changes_while_it_runs_is_named_with_both_classes() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let turns = Arc::new(Mutex::new(Jumps::new()));
    let noted = turns.clone();
    let observed = observe(
        || {},
        |_, end| {
            vec![helper("changer", cpu(), FAVOURED, move || {
                while now() < end {
                    tactus_sys::sched::set(fifo(40)).expect("it was permitted before");
                    let from = now();
                    spin_until(from + Nanos::from_millis(20));
                    noted.lock().expect("nothing fails").push((from, now()));
                    sleep_until(now() + Nanos::from_millis(20));
                    // It runs on with the lower priority until it leaves, and comes back so.
                    tactus_sys::sched::set(FAVOURED).expect("lowering is permitted");
                    sleep_until(now() + Nanos::from_millis(20));
                }
            })]
        },
    );
    let Some(observed) = observed else { return };
    live::print(&observed.waits.explanation, 3);
    let changer = |cause: &Cause, is_raised: bool| {
        matches!(cause, Cause::OtherThread { thread } if thread.name == "changer"
            && matches!(thread.priority.class(), PriorityClass::Realtime(_))
            && (!is_raised || thread.base.is_some_and(|base| base.is_ordinary())))
    };
    observed.check_waits();
    // A turn before the victim began or after it ended delays nobody.
    let turns = turns.lock().expect("nothing fails");
    let within = turns.iter().filter(|turn| observed.jumps.iter().any(|jump| contains(jump, turn)));
    let own: Nanos = within.map(|(from, to)| *to - *from).sum();
    // Interrupts of a busy machine take a part of its turns.
    let named = observed.time_of(|cause| changer(cause, false));
    assert!(named.saturating_mul(100) <= own.saturating_mul(103), "{named} of {own}");
    assert!(named.saturating_mul(100) >= own.saturating_mul(85), "{named} of {own}");
    // After a short interruption it comes back with the priority it left with.
    let raised = observed.time_of(|cause| changer(cause, true));
    assert!(raised.saturating_mul(2) >= own, "{raised} of {own}");
    observed.keep("class-change-while-running", |wait| changer(&wait.parts[0].cause, true));
}

#[test]
fn root_a_move_to_another_cpu_is_named() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let cpus: Vec<u32> = tactus_sys::affinity::get().expect("it has one").iter().collect();
    let [.., other, _] = cpus[..] else {
        return skip(Need::Machine, "a thread can move only with two CPUs");
    };
    let Some(group) = group(NEVER_USED_UP) else { return };
    let joined = group.clone();
    let observed = observe(
        move || joined.join(),
        |victim, end| {
            let flip = move || {
                for turn in 0.. {
                    let to = if turn % 2 == 0 { other } else { cpu() };
                    if now() >= end {
                        break;
                    }
                    // The victim may be over already.
                    let _ = tactus_sys::affinity::set_of(victim, &CpuList::from_iter([to]));
                    sleep_until(now() + Nanos::from_millis(10));
                }
            };
            vec![std::thread::spawn(flip)]
        },
    );
    let Some(observed) = observed else { return };
    let options = Options { threshold: Nanos::ZERO, slowest: usize::MAX, timelines: 0 };
    let victim = observed.session.task.thread;
    let mut reader = observed.session.recording.reader();
    let found = waits(&mut reader, options, |id, name| id == victim && name == "victim")
        .expect("it lies in memory");
    let explanation = &found.names[0].explanation;
    live::print(explanation, 3);
    let moved = explanation.pareto.rows.iter().find(|row| row.cause == Cause::Moved);
    let moved = moved.map_or(0, |row| row.samples);
    let main = |wait: &&ExplainedSample| wait.parts[0].cause == Cause::Moved;
    if let Some(shortest) = explanation.worst.iter().rev().find(main) {
        golden_writer::keep("moved-by-affinity", &observed.session, shortest);
    }
    assert!(moved >= 100, "{moved} of about 200 moves are named");
    let stopper = |cause: &Cause| matches!(cause, Cause::OtherThread { thread } if thread.name.starts_with("migration/"));
    let others = explanation.pareto.rows.iter().filter(|row| stopper(&row.cause));
    let others: u64 = others.map(|row| row.samples).sum();
    assert!(others * 20 <= moved, "{others} waits for the stopper thread of {moved}");
}

/// Whether this process may use real-time classes and better nice values.
fn may_be_favoured() -> bool {
    let set = |scheduling| tactus_sys::sched::set(scheduling).is_ok();
    std::thread::spawn(move || set(fifo(1)) && set(FAVOURED)).join().unwrap_or(false)
}
