//! Runs every target for some seconds on mutations of real files.
//!
//! `TACTUS_FUZZ_SECONDS` is the duration of each (default 2), `TACTUS_FUZZ_SEED` the seed of
//! the mutations. The default seed is always the same: a test that fails here fails because
//! of a change, not because of its time. A search for new failures takes a new seed:
//! `TACTUS_FUZZ_SEED=$RANDOM TACTUS_FUZZ_SECONDS=300 cargo test -p tactus-fuzz`.
//!
//! A target runs in its own process with limits, which also catches inputs that exhaust
//! memory, overflow the stack or never end. The test writes a failing input to a file and
//! prints its path.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tactus_fuzz::{TARGETS, Target, mutation::mutated, target};
use tactus_model::random::SplitMix64;

/// Set for the process that reads inputs: the file in which it keeps the number of the
/// present input.
const NUMBER: &str = "TACTUS_FUZZ_NUMBER";

/// The seed of the mutations if none is given.
const SEED: u64 = 1;

/// The address space of that process in bytes: many times the need of any input.
const MEMORY: u64 = 2 << 30;

/// The CPU time limit of an input. Even in a debug build, only an input that never ends
/// reaches it.
const PATIENCE: Duration = Duration::from_secs(20);

macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        $(#[test] fn $name() { fuzz(target(stringify!($name))); })+

        #[test]
        fn every_target_runs_here_and_in_libfuzzer() {
            let names = TARGETS.map(|target| target.name);
            assert_eq!(names.as_slice(), [$(stringify!($name)),+]);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
            let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            for name in names {
                assert!(folder.join(format!("fuzz_targets/{name}.rs")).exists(), "{name}");
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

targets!(
    recording, export, import, format, page, perf, experiment, admission, pipeline, message, wire,
    qos, policy, peer, fifo, index, clip, midi, midi_file, stream, osc, lines, wave, screen, mail,
    keymap, turn
);

fn fuzz(target: Target) {
    match std::env::var_os(NUMBER) {
        Some(file) => read_inputs(target, Path::new(&file)),
        None => watch(target),
    }
}

/// The inputs of a search, by number: the real files, then their mutations.
struct Inputs {
    seeds: Vec<Vec<u8>>,
    search: u64,
}

impl Inputs {
    fn of(target: Target, search: u64) -> Self {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "no seeds");
        Self { seeds, search }
    }

    fn get(&self, number: u64) -> Vec<u8> {
        let real = usize::try_from(number).ok().and_then(|number| self.seeds.get(number));
        let mut random = SplitMix64::new(self.search.wrapping_add(number));
        real.cloned().unwrap_or_else(|| mutated(&self.seeds, &mut random))
    }
}

/// Starts a process that reads inputs of `target`, and keeps the input of a failure.
fn watch(target: Target) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("number");
    fs::write(&file, 0_u64.to_ne_bytes()).unwrap();
    let search = number("TACTUS_FUZZ_SEED").unwrap_or(SEED);
    let outcome = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", target.name, "--nocapture"])
        .env(NUMBER, &file)
        .env("TACTUS_FUZZ_SEED", search.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if outcome.status.success() {
        return print!("{}", String::from_utf8_lossy(&outcome.stdout));
    }
    let number = u64::from_ne_bytes(fs::read(file).unwrap().try_into().unwrap());
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{search}", target.name));
    fs::write(&kept, Inputs::of(target, search).get(number)).unwrap();
    panic!(
        "target `{}` failed ({}) at input {number} of TACTUS_FUZZ_SEED={search}; the input is in {}\n{}",
        target.name,
        outcome.status,
        kept.display(),
        String::from_utf8_lossy(&outcome.stderr)
    );
}

/// The number of inputs read.
static READ: AtomicU64 = AtomicU64::new(0);

fn read_inputs(target: Target, file: &Path) {
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
    std::thread::spawn(abort_on_endless_input);
    let inputs = Inputs::of(target, number("TACTUS_FUZZ_SEED").unwrap());
    let file = File::options().write(true).open(file).unwrap();
    let end = Instant::now() + Duration::from_secs(number("TACTUS_FUZZ_SECONDS").unwrap_or(2));
    let mut next = 0;
    while next < inputs.seeds.len() as u64 || Instant::now() < end {
        // A completed write survives this process.
        file.write_all_at(&next.to_ne_bytes(), 0).unwrap();
        (target.run)(&inputs.get(next));
        next += 1;
        READ.store(next, Ordering::Relaxed);
    }
    println!("{}: {next} inputs", target.name);
}

/// Aborts this process if an input takes too much CPU time.
fn abort_on_endless_input() {
    let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
    let (mut number, mut since) = (0, used());
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let read = READ.load(Ordering::Relaxed);
        if read != number {
            (number, since) = (read, used());
        } else if used() - since > PATIENCE {
            eprintln!("an input took {PATIENCE:?} of CPU time");
            std::process::abort();
        }
    }
}

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}
