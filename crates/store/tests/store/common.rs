//! Seeded runs for the tests, similar to those of a real probe.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use tactus_model::cell::Cell;
use tactus_model::experiment::{Experiment, Overrides, Plan, Turn};
use tactus_model::facts::{
    CpuFacts, KernelFacts, MachineFacts, MemoryFacts, PermissionFacts, SchedulingFacts,
};
use tactus_model::gate_rule::GateRule;
use tactus_model::guest::{GuestAccount, Proof};
use tactus_model::interrupted::Dirt;
use tactus_model::origin::{Origin, Overflow, Precision};
use tactus_model::policy::Scheduling;
use tactus_model::random::SplitMix64;
use tactus_model::recording::ThreadId;
use tactus_model::result::{
    Accounting, Batch, ByDirt, ClockFindings, ClockOrder, CpuUse, Failure, Granted, Histogram,
    LoadResult, MachineRates, Measurement, MessageFindings, OfDirt, Outlier, PlaybackFindings,
    ProbeCost, ScopeColumn, Second, Shortfall, SoundFindings, TaskResult, TaskUsage,
    TimerInterrupts,
};
use tactus_model::run::{Run, RunHeader, RunId, RunStatus};
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::{Instant, Nanos, Realtime};
use tactus_model::traced::{HandedOver, RecordingAccount, TracedData, TracedStretch, TracedTask};
use tactus_record::file::to_bytes;
use tactus_record::simulate::{Plan as Simulated, simulate};
use tactus_store::{Location, Store};

/// 2026-11-21 11:33:55 in UTC.
pub const CREATED: Instant<Realtime> = Instant::from_nanos(1_795_260_835_000_000_000);

/// The environment variable with the socket directory of a server on which [`empty_store`] creates
/// its stores.
pub const SERVER: &str = "TACTUS_TEST_SERVER";

/// An empty store of its own: in memory, or on the server that a test has started for the others.
pub fn empty_store() -> Store {
    static CREATED: AtomicU32 = AtomicU32::new(0);
    let Ok(socket) = std::env::var(SERVER) else { return Store::open_in_memory().unwrap() };
    let mut server = postgres::Config::new();
    server.host_path(&socket).user("tactus").dbname("postgres");
    let name = format!("store{}", CREATED.fetch_add(1, Ordering::Relaxed));
    let mut client = server.connect(postgres::NoTls).unwrap();
    client.execute(&format!("CREATE DATABASE {name}"), &[]).unwrap();
    at(&format!("postgresql://tactus@/{name}?host={socket}")).open().unwrap()
}

/// The location that a person names.
pub fn at(name: &str) -> Location {
    Location::named(name.as_ref(), None).unwrap()
}

/// A plan of two cells in `rounds` rounds.
pub fn plan(rounds: u32) -> Plan {
    let text = format!(
        "name = \"papers/two\"\nabout = \"Two cells.\"\nrounds = {rounds}\nseed = 7\n\
         [settings]\nload = \"compute:2\"\npolicy = [\"other\", \"fifo:90\"]"
    );
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    Plan { gate: Some(GateRule::default()), ..plan }
}

pub fn turn(round: u32, cell: usize) -> Turn {
    Turn { round, cell }
}

/// Facts, some of them unknown.
pub fn facts() -> MachineFacts {
    MachineFacts {
        kernel: KernelFacts {
            release: Some("6.1.0-32-amd64".to_owned()),
            tick_rate_hz: Some(250),
            high_resolution_timers: Some(true),
            ..KernelFacts::default()
        },
        cpu: CpuFacts {
            online: Some([0, 1].into_iter().collect()),
            isolated: Some([].into_iter().collect()),
            governors: Some(vec!["performance".to_owned()]),
            ..CpuFacts::default()
        },
        scheduling: SchedulingFacts { rt_runtime_us: Some(-1), ..SchedulingFacts::default() },
        permission: PermissionFacts {
            user_id: Some(0),
            memlock_limit: Some(u64::MAX),
            ..PermissionFacts::default()
        },
        memory: MemoryFacts { total: Some(8 << 30), ..MemoryFacts::default() },
        load_average: Some([0.1 + 0.2, 1.0 / 3.0, 2.5]),
        ..MachineFacts::unknown(CREATED)
    }
}

pub fn failure(turn: Turn) -> Failure {
    Failure {
        turn,
        reason: "the probe hung".to_owned(),
        hint: Some("try again".to_owned()),
        by_host: turn.cell == 1,
    }
}

/// The size of a generated measurement.
#[derive(Clone, Copy)]
pub struct Size {
    pub tasks: u32,
    pub blocks: usize,
    pub samples_per_block: usize,
    pub seconds: u64,
    pub scope_columns: u64,
}

impl Size {
    pub const SMALL: Self =
        Self { tasks: 2, blocks: 3, samples_per_block: 40, seconds: 2, scope_columns: 5 };
    /// 30 s at an interval of 1 ms on two CPUs.
    pub const USUAL: Self =
        Self { tasks: 2, blocks: 64, samples_per_block: 469, seconds: 30, scope_columns: 500 };
}

/// A measurement and its samples, generated from `seed`.
pub fn measurement(turn: Turn, seed: u64, size: Size) -> (Measurement, Vec<(u32, SampleBlock)>) {
    let mut random = SplitMix64::new(seed);
    let mut samples = Vec::new();
    let mut tasks = Vec::new();
    for task in 0..size.tasks {
        let mut of_task = Vec::new();
        for _ in 0..size.blocks {
            of_task.push(block_of_samples(&mut random, size.samples_per_block));
        }
        samples.extend(of_task.iter().map(|block| (task, SampleBlock::encode(block))));
        tasks.push(task_result(task, &of_task, size, &mut random));
    }
    let measurement = Measurement {
        turn,
        started: CREATED,
        window: Nanos::from_secs(size.seconds),
        block_length: Nanos::from_millis(size.seconds * 1000 / size.blocks as u64),
        tasks,
        load: LoadResult {
            copies: 2,
            unit: "operation".to_owned(),
            operations: Some(random.next_u64() >> 20),
            ..LoadResult::default()
        },
        rates: MachineRates {
            over: Nanos::from_secs(size.seconds),
            interrupts: Some(12_345),
            load_average: Some(random.below(1000) as f64 / 7.0),
            ..MachineRates::default()
        },
        cost: ProbeCost { clock_read_ns: 23.7, loop_ns: random.below(1000) as f64 / 3.0 },
        shortfalls: vec![Shortfall {
            asked: "policy fifo:90".to_owned(),
            granted: "policy other".to_owned(),
            reason: "the kernel refused".to_owned(),
            fix: Some("ulimit -r 90".to_owned()),
        }],
        traced: None,
        precision: None,
        guest: None,
    };
    (measurement, samples)
}

/// The same measurement with a traced window, and the data that explains that window's samples.
pub fn with_traced(measurement: Measurement, seed: u64) -> (Measurement, TracedData) {
    let mut random = SplitMix64::new(seed);
    let samples = block_of_samples(&mut random, 50);
    let mut recording = simulate(&Simulated::default()).recording;
    recording.events.truncate(500);
    let traced_data = TracedData {
        samples: vec![(0, SampleBlock::encode(&samples))],
        // An import reads it.
        recording: to_bytes(&recording),
    };
    let traced = TracedStretch {
        opened: Instant::from_nanos(12_345),
        window: Nanos::from_millis(50),
        came_first: true,
        tasks: vec![TracedTask {
            task: 0,
            thread: ThreadId(4_711),
            accounting: Accounting {
                intended: 51,
                observed: 50,
                missed: 1,
                ..Accounting::default()
            },
            latencies: histogram(samples.iter().map(|sample| sample.latency())),
            unprepared: vec![Nanos::from_millis(1)],
            handed_over: Some(HandedOver {
                receiver: ThreadId(4322),
                block: SampleBlock::encode(&[Sample {
                    due: Nanos::from_millis(1),
                    came: Nanos::from_micros(1_040),
                }]),
            }),
        }],
        recording: RecordingAccount { events: 900, lost: 3, bytes: 5_000 },
    };
    (Measurement { traced: Some(traced), ..measurement }, traced_data)
}

/// A measurement from a guest in exact time.
pub fn measured_in_guest(turn: Turn) -> (Measurement, Vec<(u32, SampleBlock)>) {
    let (measured, samples) = measurement(turn, 6, Size::SMALL);
    let digest = "0".repeat(64);
    let account = GuestAccount {
        kernel_release: Some("6.1.0-56-amd64".to_owned()),
        kernel_sha256: digest.clone(),
        program_sha256: digest.clone(),
        archive_sha256: digest.clone(),
        emulator: "QEMU emulator version 7.2.22".to_owned(),
        accelerator: "tcg".to_owned(),
        command_line: vec!["-smp".to_owned(), "1".to_owned()],
        seed: 7,
        proof: Some(Proof { runs: 2, outvoted: 1, bytes: 29_568, sha256: digest }),
        facts: facts(),
    };
    (Measurement { guest: Some(Box::new(account)), ..measured }, samples)
}

/// A run that another program measured, with one round.
pub fn foreign_run() -> Run {
    let mut cell = Cell::imported("timer");
    cell.know("policy", "fifo:80").unwrap();
    let precision = Precision {
        unit: Nanos::from_micros(1),
        overflow: Some(Overflow { from: Nanos::from_micros(100), count: 3 }),
        missed_known: false,
    };
    let (measured, _) = measurement(turn(0, 0), 5, Size::SMALL);
    Run {
        header: RunHeader {
            id: RunId::new(""),
            created: CREATED,
            version: "0.1.0".to_owned(),
            status: RunStatus::Complete,
            plan: Plan {
                name: "cyclictest".to_owned(),
                about: String::new(),
                rounds: 1,
                seed: 0,
                until: None,
                gate: None,
                cells: vec![cell],
            },
            facts_before: MachineFacts::unknown(CREATED),
            facts_after: None,
            command: None,
            origin: Some(Origin {
                tool: "cyclictest".to_owned(),
                version: Some("2.40".to_owned()),
                command_line: None,
                format: "cyclictest-json".to_owned(),
                files: vec!["result.json".to_owned()],
                notes: vec!["The load is unknown.".to_owned()],
            }),
        },
        measurements: vec![Measurement { precision: Some(precision), ..measured }],
        failures: Vec::new(),
    }
}

/// Samples one millisecond apart, with latencies of some microseconds and a long tail.
fn block_of_samples(random: &mut SplitMix64, count: usize) -> Vec<Sample> {
    (0..count as u64)
        .map(|index| {
            let due = Nanos::from_millis(index);
            let body = 4_000 + random.below(3_000) + random.below(3_000) + random.below(3_000);
            let tail = if random.below(50) == 0 { random.below(200_000) } else { 0 };
            Sample { due, came: due + Nanos::from_nanos(body + tail) }
        })
        .collect()
}

/// A batch whose partner has a CPU of its own.
fn batch(median: Nanos) -> Batch {
    let side = CpuUse { elapsed: median, idle: Some(median), ..CpuUse::default() };
    Batch { median, sides: Some([side; 2]), ..Batch::default() }
}

fn task_result(
    task: u32,
    blocks: &[Vec<Sample>],
    size: Size,
    random: &mut SplitMix64,
) -> TaskResult {
    let missed = random.below(4);
    let missed_latencies: Vec<Nanos> =
        (0..missed).map(|_| Nanos::from_nanos(1_000_000 + random.below(5_000_000))).collect();
    let observed = blocks.iter().map(Vec::len).sum::<usize>() as u64;
    let dropped = random.below(3);
    let some = |random: &mut SplitMix64| Nanos::from_nanos(4_000 + random.below(50_000));
    TaskResult {
        task,
        cpu: Some(task),
        granted: Granted {
            scheduling: Scheduling::Other { nice: 0 },
            cpus: [task].into_iter().collect(),
            memory_locked: true,
            timer_slack: Some(Nanos::from_nanos(1)),
        },
        accounting: Accounting {
            intended: observed + missed + dropped,
            observed,
            missed,
            dropped,
            early: random.below(observed + 1),
        },
        blocks: blocks
            .iter()
            .map(|block| histogram(block.iter().map(|sample| sample.latency())))
            .collect(),
        missed_latencies: histogram(missed_latencies.into_iter()),
        series: (0..size.seconds)
            .map(|second| Second {
                at: Nanos::from_secs(second),
                count: 1000,
                median: some(random),
                p99: some(random),
                max: some(random),
            })
            .collect(),
        scope: (0..size.scope_columns)
            .map(|column| ScopeColumn {
                at: Nanos::from_millis(column * 60),
                min: Nanos::from_millis(1) - some(random),
                max: Nanos::from_millis(1) + some(random),
            })
            .collect(),
        worst: (0..32)
            .map(|index| Outlier {
                index,
                sample: Sample { due: Nanos::from_millis(index), came: Nanos::from_secs(index) },
            })
            .collect(),
        usage: TaskUsage { cpu_time: some(random), ..TaskUsage::default() },
        use_over_time: (0..random.below(4)).map(|_| some(random)).collect(),
        batches: vec![batch(some(random)); random.below(3) as usize],
        timer_interrupts: Some(TimerInterrupts { count: random.below(99), over: some(random) }),
        clock: Some(Box::new(ClockFindings {
            step: Some(some(random)),
            across_cpus: Some(ClockOrder { compared: 9, earlier: 1, earlier_max: some(random) }),
            ..ClockFindings::default()
        })),
        by_dirt: Some(Box::new(ByDirt {
            kinds: vec![OfDirt {
                dirt: Dirt::Tlb,
                latencies: histogram([some(random)].into_iter()),
                first_pass: histogram([some(random)].into_iter()),
                second_pass: histogram([some(random)].into_iter()),
            }],
            unprepared: vec![some(random)],
        })),
        messages: Some(Box::new(MessageFindings {
            intervals: histogram([some(random)].into_iter()),
            output: histogram([some(random)].into_iter()),
            receiver: histogram([some(random)].into_iter()),
            handed_over_late: random.below(9),
            written: None,
        })),
        playback: Some(Box::new(PlaybackFindings {
            frame_times: histogram([some(random)].into_iter()),
            drawing: histogram([some(random)].into_iter()),
            decoder_cpu: some(random),
            player_cpu: some(random),
            display_cpu: some(random),
            sound: Some(SoundFindings { played: random.below(99), cut: random.below(9) }),
        })),
    }
}

/// Uses the buckets of `tactus_stats`: 1 ns up to 2048 ns, then eleven binary digits of each
/// value.
fn histogram(latencies: impl Iterator<Item = Nanos> + Clone) -> Histogram {
    let mut buckets: BTreeMap<Nanos, u64> = BTreeMap::new();
    for latency in latencies.clone() {
        let value = latency.as_nanos();
        let coarse = (64 - value.leading_zeros()).saturating_sub(11);
        *buckets.entry(Nanos::from_nanos(value >> coarse << coarse)).or_default() += 1;
    }
    Histogram {
        count: buckets.values().sum(),
        sum: latencies.clone().sum(),
        min: latencies.clone().min().unwrap_or_default(),
        max: latencies.max().unwrap_or_default(),
        buckets: buckets.into_iter().collect(),
    }
}

/// Creates a run of two rounds with one measurement and one failure.
pub fn some_run(store: &mut Store) -> RunId {
    let run = store.create_run(&plan(2), &facts(), "0.1.0", CREATED, None).unwrap();
    let (measurement, samples) = measurement(turn(0, 1), 1, Size::SMALL);
    let (measurement, traced_data) = with_traced(measurement, 1);
    store.save_traced(&run, &measurement, &samples, &traced_data).unwrap();
    store.save_failure(&run, &failure(turn(1, 0))).unwrap();
    run
}
