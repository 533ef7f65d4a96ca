//! Misses and response times of a periodic job beside loads, by policy and by reserve, and how much
//! of a cost each rung delivers: `cargo run --release -p tactus-reserve --example reserve-figures [ROUNDS]`,
//! as root, about 2 minutes a round.
//!
//! Turns are short and in a random order in every round, so drift of the machine affects all alike.
//! The loads are ordinary processes. Every real-time thread ends by itself after a turn.

use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tactus_model::policy::Scheduling;
use tactus_model::random::SplitMix64;
use tactus_model::reserve::{Capacity, Rung};
use tactus_model::time::Nanos;
use tactus_prepare::ThreadRef;
use tactus_reserve::Reserve;
use tactus_sys::counters::MachineCounters;
use tactus_sys::perf::ThreadClock;

/// The job: 5 ms of CPU time every 40 ms, 50 times.
const COST: Duration = Duration::from_millis(5);
const PERIOD: Duration = Duration::from_millis(40);
const JOBS: u32 = 50;

/// A turn ends after this, however far its jobs are; the rest are misses.
const TURN_MOST: Duration = Duration::from_secs(5);

/// Competing processes of each kind.
const RIVALS: usize = 5;

const POLICIES: [&str; 3] = ["other", "other:-20", "fifo:50"];
const LOADS: [&str; 4] = ["none", "spin", "stdio", "both"];

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let argument = std::env::args().nth(1);
    match argument.as_deref() {
        Some("spin") => loop {
            std::hint::spin_loop();
        },
        Some("stdio") => write_lines(),
        rounds => measure(rounds.map_or(Ok(2), str::parse)?),
    }
}

/// Standard output is a file, of which at most 1 MiB is used.
fn write_lines() -> Result<(), Failure> {
    for number in 0_u64.. {
        let line = format!("{number:>79}\n");
        std::io::stdout().write_all(line.as_bytes())?;
        std::io::stdout().flush()?;
        if number.is_multiple_of(1 << 13) {
            rewind()?;
        }
    }
    Ok(())
}

/// Empties the file that is standard output.
fn rewind() -> Result<(), Failure> {
    let file = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/1")?;
    file.set_len(0)?;
    file.write_at(b"\n", 0)?;
    Ok(())
}

/// One way to schedule the job.
#[derive(Clone, Copy)]
enum Way {
    Policy(&'static str),
    Reserve(Rung),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Policy(policy) => policy.to_owned(),
            Self::Reserve(rung) => format!("6.5ms/40ms {rung}"),
        }
    }
}

/// What the jobs of all turns of a way and a load took.
#[derive(Default)]
struct Figures {
    responses: Vec<Duration>,
    unfinished: u32,
}

fn measure(rounds: u32) -> Result<(), Failure> {
    let ways: Vec<Way> = POLICIES
        .map(Way::Policy)
        .into_iter()
        .chain(Rung::KEEPING.iter().copied().map(Way::Reserve))
        .collect();
    let before = MachineCounters::read("/".as_ref());
    let mut figures: Vec<Figures> =
        (0..ways.len() * LOADS.len()).map(|_| Figures::default()).collect();
    let mut delivered: Vec<Vec<String>> = vec![Vec::new(); Rung::KEEPING.len()];
    let mut random = SplitMix64::new(1994);
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..figures.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        for turn in order {
            let load = Load::start(LOADS[turn % LOADS.len()])?;
            let way = ways[turn / LOADS.len()];
            let done = thread::spawn(move || jobs(way)).join().map_err(|_| "a turn failed")??;
            drop(load);
            figures[turn].unfinished += JOBS - done.len() as u32;
            figures[turn].responses.extend(done);
        }
        for (rung, texts) in Rung::KEEPING.iter().zip(&mut delivered) {
            let load = Load::start("spin")?;
            texts.push(thread::spawn(move || deliver(*rung)).join().map_err(|_| "a turn failed")??);
            drop(load);
        }
        eprintln!("round {} of {rounds}", round + 1);
    }
    print(&ways, &figures);
    println!("\na thread that never sleeps, 5ms/40ms, beside 5 spinners");
    for (rung, texts) in Rung::KEEPING.iter().zip(delivered) {
        println!("{:12} {}", rung.word(), texts.join("; "));
    }
    let steal = MachineCounters::read("/".as_ref()).since(&before).steal;
    println!("\nsteal time of all CPUs: {}", steal.unwrap_or_default());
    Ok(())
}

fn print(ways: &[Way], figures: &[Figures]) {
    println!("misses of jobs (response over 40 ms), p50/p99 of responses in ms");
    println!("{:22} {}", "", LOADS.map(|load| format!("{load:>24}")).join(""));
    for (number, way) in ways.iter().enumerate() {
        let cells = LOADS.iter().enumerate().map(|(load, _)| {
            let Figures { responses, unfinished } = &figures[number * LOADS.len() + load];
            let mut sorted = responses.clone();
            sorted.sort_unstable();
            let late = sorted.iter().filter(|response| **response > PERIOD).count() as u32;
            let at = |share: f64| {
                let last = sorted.len().saturating_sub(1) as f64;
                let response = sorted.get((last * share).round() as usize);
                response.map_or("-".to_owned(), |one| format!("{:.1}", one.as_secs_f64() * 1e3))
            };
            let all = sorted.len() as u32 + unfinished;
            let text = format!("{}/{all}, {}/{}", late + unfinished, at(0.5), at(0.99));
            format!("{text:>24}")
        });
        println!("{:22} {}", way.name(), cells.collect::<String>());
    }
}

/// Counts the CPU time of the calling thread. (getrusage grows at ticks.)
fn own_clock() -> Result<ThreadClock, Failure> {
    Ok(ThreadClock::start(tactus_sys::thread::current_id())?)
}

/// Computes for an amount of CPU time.
fn compute(clock: &ThreadClock, cost: Duration, until: Instant) -> Result<(), Failure> {
    let enough = clock.read()? + cost.into();
    while clock.read()? < enough && Instant::now() < until {}
    Ok(())
}

/// Runs the jobs and returns the responses of those that were done in time for the turn.
fn jobs(way: Way) -> Result<Vec<Duration>, Failure> {
    let reserve = match way {
        Way::Policy(policy) => {
            let class: Scheduling = policy.parse()?;
            if ThreadRef::Calling.schedule_alone(class)?.is_some() {
                return Err(format!("{policy} is refused").into());
            }
            None
        }
        Way::Reserve(rung) => {
            Some(Reserve::grant(ThreadRef::Calling, "6.5ms/40ms".parse()?, &[rung])?)
        }
    };
    let clock = own_clock()?;
    let first = Instant::now() + PERIOD;
    let until = first + TURN_MOST;
    let mut responses = Vec::with_capacity(JOBS as usize);
    for number in 0..JOBS {
        let release = first + PERIOD * number;
        thread::sleep(release.saturating_duration_since(Instant::now()));
        compute(&clock, COST, until)?;
        let done = Instant::now();
        if done >= until {
            break;
        }
        responses.push(done - release);
    }
    drop(reserve);
    Ok(responses)
}

/// Computes for 2 s without a pause under a reserve; returns the share of its cost that was
/// delivered, and the largest use in a period.
fn deliver(rung: Rung) -> Result<String, Failure> {
    let capacity: Capacity = "5ms/40ms".parse()?;
    let reserve = Reserve::grant(ThreadRef::Calling, capacity, &[rung])?;
    let clock = own_clock()?;
    let begun = Instant::now();
    let (mut most, mut windows) = (Nanos::ZERO, 0_u32);
    let mut before = Nanos::ZERO;
    while begun.elapsed() < JOBS * PERIOD {
        let next = begun + PERIOD * (windows + 1);
        while Instant::now() < next {
            std::hint::spin_loop();
        }
        let now = clock.read()?;
        // Several periods may have passed at once.
        let passed = (begun.elapsed().as_nanos() / PERIOD.as_nanos()) as u32;
        let periods = u64::from((passed - windows).max(1));
        most = most.max(Nanos::from_nanos((now - before).as_nanos() / periods));
        (before, windows) = (now, passed);
    }
    let share = before.as_secs_f64() / (windows * COST).as_secs_f64();
    let most = most.as_micros_f64() / 1e3;
    let text = format!("{:.1} %, {most:.2} ms at most", 100.0 * share);
    if rung != Rung::Priority {
        return Ok(text);
    }
    let kept = kept_priority(&clock)?;
    let [half, all] = [0.5, 1.0].map(|share| {
        let at = (kept.len().saturating_sub(1) as f64 * share) as usize;
        kept.get(at).copied().unwrap_or_default().as_micros_f64() / 1e3
    });
    drop(reserve);
    Ok(format!("{text} (with its priority: p50 {half:.2} ms, {all:.2} ms at most)"))
}

/// Computes for 2 s without a pause; returns the CPU times for which the thread kept its priority,
/// sorted.
fn kept_priority(clock: &ThreadClock) -> Result<Vec<Nanos>, Failure> {
    let mut kept = Vec::new();
    let mut since = None;
    let begun = Instant::now();
    while begun.elapsed() < JOBS * PERIOD {
        let has_it = matches!(ThreadRef::Calling.scheduling()?, Scheduling::Fifo(_));
        let now = clock.read()?;
        match (has_it, since) {
            (false, Some(from)) => kept.push(now - from),
            (true, None) => since = Some(now),
            _ => {}
        }
        if !has_it {
            since = None;
        }
    }
    // The first may have begun before.
    kept.drain(..kept.len().min(1));
    kept.sort_unstable();
    Ok(kept)
}

/// Competing processes, which end with this value.
struct Load(Vec<Child>);

impl Load {
    fn start(name: &str) -> Result<Self, Failure> {
        let kinds: &[&str] = match name {
            "both" => &["spin", "stdio"],
            "none" => &[],
            other => &[other],
        };
        let mut load = Self(Vec::new());
        for kind in kinds.iter().flat_map(|kind| [kind; RIVALS]) {
            let output = match *kind {
                "stdio" => Stdio::from(tempfile::tempfile()?),
                _ => Stdio::null(),
            };
            let mut command = Command::new(std::env::current_exe()?);
            tactus_sys::process::die_with_parent(&mut command);
            load.0.push(command.arg(kind).stdout(output).spawn()?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
