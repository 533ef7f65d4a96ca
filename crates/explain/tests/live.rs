//! Blame names causes first that were planted on this machine.
//!
//! Every test records a real sleeper on the last CPU together with a planted
//! disturbance that ends by itself. Recording needs root or CAP_PERFMON, planting needs
//! real-time classes; without them a test prints why it is skipped. On a busy machine
//! another cause may take more of a sample than the planted one, so each test tries a
//! few sessions.

#[path = "support/cut.rs"]
mod cut;
#[path = "support/golden.rs"]
mod golden;
#[path = "support/golden_writer.rs"]
mod golden_writer;
#[path = "support/live.rs"]
mod live;

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread::JoinHandle;

use live::{
    PROBE_PRIORITY, Session, SleeperPlan, fifo, helper, now, print_sample, record_sleeper,
    sleep_until, spin_until,
};
use tactus_explain::cause::{Hold, Throttle};
use tactus_explain::{Cause, ExplainedSample, Options};
use tactus_model::policy::Scheduling;
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_record::live::RecordError;
use tactus_sys::file_mapping::{FileMapping, leave_cache};
use tactus_testing::{Need, require, skip};

/// The tests share the CPU of the sleeper.
static CPU: Mutex<()> = Mutex::new(());

const MILLI: Nanos = Nanos::from_millis(1);

/// The last CPU: the first one serves most interrupts.
fn cpu() -> u32 {
    let cpus = tactus_sys::affinity::get().expect("every thread has an affinity");
    cpus.iter().last().expect("a thread may run somewhere")
}

/// What is planted and how to recognise it.
struct Plant<'a> {
    /// The name of the plant and of its golden recording.
    name: &'a str,
    /// The minimum latency of a sample that it hit.
    hits_from: Nanos,
    /// Whether a cause is the planted one.
    is_it: &'a dyn Fn(&Cause) -> bool,
}

impl Plant<'_> {
    /// Whether it took a large part of the sample's latency.
    fn has_hit(&self, explained: &ExplainedSample) -> bool {
        let parts = explained.parts.iter().filter(|part| (self.is_it)(&part.cause));
        parts.map(|part| part.time).sum::<Nanos>().saturating_mul(2) >= self.hits_from
    }
}

/// Records sessions until most samples that the plant hit name it first.
#[track_caller]
fn check(plant: &Plant<'_>, session: impl Fn() -> Result<Session, RecordError>) {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if tactus_sys::sched::set(Scheduling::ORDINARY).is_err() || !may_be_realtime() {
        return skip(Need::Root, "the real-time classes are not permitted");
    }
    const SESSIONS: usize = 6;
    let mut last = Vec::new();
    for _ in 0..SESSIONS {
        let Some(session) = recorded(session()) else { return };
        let options = Options { threshold: plant.hits_from, slowest: 200, timelines: 0 };
        let explanation = session.explain(options);
        let late = explanation.worst.into_iter().filter(|explained| {
            explained.sample.latency() >= plant.hits_from && explained.outcome.can_blame()
        });
        let late: Vec<ExplainedSample> = late.collect();
        let named = |explained: &&ExplainedSample| (plant.is_it)(&explained.parts[0].cause);
        let first = late.iter().filter(named).count();
        // Other causes of late samples on a shared machine are out of scope.
        let hit = late.iter().filter(|explained| plant.has_hit(explained)).count();
        println!("{}: {first} of {hit} samples it hit name it first", plant.name);
        if first >= 2 && first * 2 > hit {
            let best = late.iter().find(named).expect("there are some");
            print_sample(best);
            golden_writer::keep(plant.name, &session, best);
            return;
        }
        last = late;
        println!("{:?}", session.summary.cost);
    }
    for explained in last.iter().take(5) {
        print_sample(explained);
    }
    panic!("{} was planted and not named first in most samples it hit", plant.name);
}

/// Gives a session, or says why recording is not available here.
#[track_caller]
fn recorded(session: Result<Session, RecordError>) -> Option<Session> {
    match session {
        Err(error) if !error.is_not_available() => panic!("{error}"),
        session => require(Need::Perf, session),
    }
}

fn may_be_realtime() -> bool {
    std::thread::spawn(|| tactus_sys::sched::set(fifo(1)).is_ok()).join().unwrap_or(false)
}

fn is_thread(cause: &Cause, name: &str) -> bool {
    matches!(cause, Cause::OtherThread { thread } if thread.name == name)
}

#[test]
fn root_a_thread_of_higher_priority_that_spins_is_named() {
    let plant = Plant {
        name: "higher-priority-spinner",
        hits_from: MILLI,
        is_it: &|cause| is_thread(cause, "urgent"),
    };
    check(&plant, || {
        let plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 500);
        record_sleeper(plan, |due| {
            vec![helper("urgent", cpu(), fifo(PROBE_PRIORITY + 10), move || {
                for turn in 1..5 {
                    let start = due + Nanos::from_micros(turn * 100_000 - 300);
                    sleep_until(start);
                    spin_until(start + Nanos::from_millis(3));
                }
            })]
        })
    });
}

#[test]
fn root_an_ordinary_spinner_is_named() {
    let plant = Plant {
        name: "ordinary-spinner",
        hits_from: MILLI,
        is_it: &|cause| is_thread(cause, "spinner"),
    };
    check(&plant, || {
        // A thread that wakes does not preempt a spinner with a better nice value.
        let plan = SleeperPlan::new(cpu(), Scheduling::Batch { nice: 10 }, 500);
        record_sleeper(plan, |due| {
            vec![helper("spinner", cpu(), Scheduling::Other { nice: -20 }, move || {
                spin_until(due + Nanos::from_millis(1000));
            })]
        })
    });
}

#[test]
fn root_a_storm_of_timers_is_named() {
    let plant = Plant {
        name: "timer-storm",
        hits_from: Nanos::from_micros(200),
        is_it: &|cause| matches!(cause, Cause::TimerWork { function: Some(name), .. } if name == "hrtimer_wakeup"),
    };
    check(&plant, || {
        let plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 400);
        record_sleeper(plan, |due| {
            let sleeper = |_| {
                // The timers are due together, just before the probe's timer.
                helper("storm", cpu(), Scheduling::ORDINARY, move || {
                    tactus_sys::sched::set_timer_slack(Nanos::from_nanos(1)).expect("any slack");
                    for turn in 1..4 {
                        sleep_until(due + Nanos::from_nanos(turn * 100_000_000 - 500));
                    }
                })
            };
            (0..150).map(sleeper).collect()
        })
    });
}

/// Sends packets that the network softirq delivers to many sockets each. The standard
/// library cannot let sockets share a port.
const PACKETS: &str = r#"
import os, resource, socket, sys, time
cpu, seconds = int(sys.argv[1]), float(sys.argv[2])
os.sched_setaffinity(0, {cpu})
end = time.monotonic() + seconds
receivers = []
# A packet to this many takes a fast CPU a third of a millisecond.
RECEIVERS = 1500
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (RECEIVERS + 100, max(RECEIVERS + 100, hard)))
for _ in range(RECEIVERS):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    receiver.bind(("", 45454))
    group = socket.inet_aton("239.1.2.3") + socket.inet_aton("127.0.0.1")
    receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    receivers.append(receiver)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
while time.monotonic() < end:
    sender.sendto(b"packet", ("239.1.2.3", 45454))
"#;

#[test]
fn root_a_storm_of_softirqs_is_named() {
    if !Command::new("python3").arg("--version").output().is_ok_and(|run| run.status.success()) {
        return skip(Need::Peers, "python3 plants the storm and is not installed");
    }
    let plant = Plant {
        name: "softirq-storm",
        hits_from: Nanos::from_micros(150),
        is_it: &|cause| matches!(cause, Cause::Softirq { .. }),
    };
    check(&plant, || {
        let mut sender = Command::new("python3")
            .args(["-c", PACKETS, &cpu().to_string(), "3"])
            .spawn()
            .expect("it was just there");
        let session =
            record_sleeper(SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 2000), |_| Vec::new());
        sender.wait().expect("it is our child");
        session
    });
}

#[test]
fn root_a_long_kernel_section_is_named() {
    let plant = Plant {
        name: "kernel-section",
        hits_from: Nanos::from_micros(100),
        is_it: &|cause| {
            matches!(
                cause,
                Cause::KernelSection { thread, hold: Hold::Preemption, .. } if thread.name == "zero"
            )
        },
    };
    check(&plant, || {
        let plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 1500);
        record_sleeper(plan, |due| {
            let end = due + Nanos::from_millis(1500);
            vec![helper("zero", cpu(), Scheduling::ORDINARY, move || {
                let mut zero = std::fs::File::open("/dev/zero").expect("it is always there");
                while now() < end {
                    // The kernel allocates and clears missing pages on the way.
                    let mut memory =
                        tactus_sys::mapping::Mapping::new(64 << 20).expect("64 MiB are there");
                    zero.read_exact(memory.bytes()).expect("it never ends");
                }
            })]
        })
    });
}

#[test]
fn root_page_faults_of_the_probe_are_named() {
    let plant = Plant {
        name: "page-fault",
        hits_from: Nanos::from_micros(100),
        is_it: &|cause| *cause == Cause::PageFault,
    };
    check(&plant, || {
        const STEP: usize = 2 << 20;
        let mut memory = tactus_sys::mapping::Mapping::new(400 * STEP).expect("it is only mapped");
        let mut plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 200);
        plan.stamps_again = true;
        plan.after_wakeup = Box::new(move |index| {
            // Every tenth time, a few pages that were never touched.
            if index % 10 == 5 {
                let start = index as usize * 2 * STEP;
                for page in 0..100 {
                    memory.bytes()[start + page * 4096] = 1;
                }
            }
        });
        record_sleeper(plan, |_| Vec::new())
    });
}

#[test]
fn root_a_page_that_must_be_read_from_the_disk_is_named() {
    const STEP: u64 = 1 << 20;
    const HITS: u64 = 20;
    let mut file = tempfile::tempfile().expect("a file can be made");
    for _ in 0..HITS {
        std::io::copy(&mut std::io::repeat(1).take(STEP), &mut file).expect("there is room");
    }
    if !is_read_from_disk(&file) {
        return skip(Need::Machine, "the folder for temporary files lies in memory");
    }
    let plant = Plant {
        name: "major-page-fault",
        hits_from: Nanos::from_micros(50),
        is_it: &|cause| *cause == Cause::PageFault,
    };
    check(&plant, || {
        leave_cache(&file).expect("the file is ours");
        let mapping = FileMapping::new(&file).expect("it is only mapped");
        let mut plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 200);
        plan.stamps_again = true;
        plan.after_wakeup = Box::new(move |index| {
            if index % 10 == 5 {
                std::hint::black_box(mapping.byte((index / 10 * STEP) as usize));
            }
        });
        record_sleeper(plan, |_| Vec::new())
    });
}

/// Whether touching a page of `file` reads it from a disk.
fn is_read_from_disk(file: &File) -> bool {
    let faults = || {
        tactus_sys::usage::of_this_thread()
            .expect("getrusage cannot fail for the calling thread")
            .major_faults
    };
    leave_cache(file).expect("the file is ours");
    let mapping = FileMapping::new(file).expect("it is only mapped");
    let before = faults();
    std::hint::black_box(mapping.byte(0));
    faults() > before
}

#[test]
fn root_throttling_of_real_time_threads_is_named() {
    let period = std::fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us");
    if period.is_ok_and(|text| text.trim() == "-1") {
        return skip(Need::Machine, "real-time throttling is switched off");
    }
    let plant = Plant {
        name: "real-time-throttling",
        hits_from: Nanos::from_millis(10),
        is_it: &|cause| {
            matches!(cause, Cause::Throttling { rule: Throttle::Realtime | Throttle::FairServer })
        },
    };
    check(&plant, || {
        let plan = SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), 3500);
        record_sleeper(plan, |due| {
            vec![
                helper("hog", cpu(), fifo(PROBE_PRIORITY - 10), move || {
                    spin_until(due + Nanos::from_millis(3200));
                }),
                helper("ordinary", cpu(), Scheduling::ORDINARY, move || {
                    spin_until(due + Nanos::from_millis(3200));
                }),
            ]
        })
    });
}

#[test]
fn root_throttling_of_a_deadline_thread_is_named() {
    let plant = Plant {
        name: "deadline-throttling",
        hits_from: Nanos::from_millis(4),
        is_it: &|cause| *cause == Cause::Throttling { rule: Throttle::Deadline },
    };
    check(&plant, || {
        let scheduling = Scheduling::Deadline {
            runtime: Nanos::from_millis(1),
            deadline: Nanos::from_millis(20),
            period: Nanos::from_millis(20),
        };
        let mut plan = SleeperPlan::new(cpu(), scheduling, 20);
        plan.interval = Nanos::from_millis(60);
        plan.stamps_again = true;
        plan.after_wakeup = Box::new(|index| {
            // Longer than the runtime and than a tick, at which the kernel checks the
            // runtime: it goes on in the next period.
            if index % 2 == 1 {
                spin_until(now() + Nanos::from_millis(10));
            }
        });
        record_sleeper(plan, |_| Vec::new())
    });
}

#[test]
fn root_a_stopped_relay_is_named() {
    let plant = Plant {
        name: "stopped-relay",
        hits_from: Nanos::from_millis(15),
        is_it: &|cause| matches!(cause, Cause::Stopped { thread } if thread.name == "cat"),
    };
    check(&plant, relay_session);
}

/// Samples of a thread that waits for bytes which another thread sends at their due
/// times, through a `cat` that is stopped now and then.
fn relay_session() -> Result<Session, RecordError> {
    let mut relay = Command::new("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils are installed");
    let number = relay.id().to_string();
    let signal = move |name: &str| {
        let status = Command::new("kill").args([name, &number]).status();
        assert!(status.is_ok_and(|status| status.success()), "the relay lives");
    };
    let mut input = relay.stdin.take().expect("it is piped");
    let mut output = relay.stdout.take().expect("it is piped");
    let interval = Nanos::from_millis(50);
    let count = 20;
    let plan = SleeperPlan {
        interval,
        sleep: Some(Box::new(move |due: Instant<Monotonic>| {
            let mut byte = [0];
            output.read_exact(&mut byte).expect("the relay passes it on");
            now().max(due)
        })),
        ..SleeperPlan::new(cpu(), fifo(PROBE_PRIORITY), count)
    };
    let session = record_sleeper(plan, move |due| {
        let sender = helper("sender", cpu(), fifo(PROBE_PRIORITY), move || {
            for turn in 0..count {
                sleep_until(due + interval.saturating_mul(turn));
                input.write_all(b".").expect("the relay reads");
            }
        });
        let stopper: JoinHandle<()> = std::thread::spawn(move || {
            for turn in 1..4 {
                let hit = due + Nanos::from_millis(turn * 250 - 5);
                sleep_until(hit);
                signal("-STOP");
                sleep_until(hit + Nanos::from_millis(30));
                signal("-CONT");
            }
        });
        vec![sender, stopper]
    });
    // End of input ends the relay.
    relay.wait().expect("it is our child");
    session
}

#[test]
fn root_most_samples_of_a_real_time_sleeper_are_matched() {
    let _alone = CPU.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !may_be_realtime() {
        return skip(Need::Root, "the real-time classes are not permitted");
    }
    for scheduling in [fifo(PROBE_PRIORITY), Scheduling::ORDINARY] {
        // A session is spoiled if the host takes the CPU away at the wrong moment.
        let mut shares = Vec::new();
        for _ in 0..4 {
            let plan = SleeperPlan::new(cpu(), scheduling, 2000);
            let Some(session) = recorded(record_sleeper(plan, |_| Vec::new())) else { return };
            let explanation = session.explain(Options::default());
            live::print(&explanation, 3);
            shares.push(explanation.classified());
            let _: &[Sample] = &session.task.samples;
            if explanation.classified() >= 0.99 {
                break;
            }
        }
        assert!(shares.last().is_some_and(|share| *share >= 0.99), "{scheduling}: {shares:?}");
    }
}
