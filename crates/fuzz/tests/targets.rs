//! Runs every target for some seconds on inputs made of real files.
//!
//! `TACTUS_FUZZ_SECONDS` says for how long each (2 without it), `TACTUS_FUZZ_SEED` repeats a
//! search. A target runs in a process of its own, with limits, so that an input which takes
//! all memory, overflows the stack or never ends is caught as well. The input that failed
//! is kept in a file that the test names.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use tactus_fuzz::{TARGETS, Target, mutation::mutated, target};
use tactus_model::random::SplitMix64;

/// Tells a process that it is the one that reads inputs: the file for the number of the
/// one that it reads.
const NUMBER: &str = "TACTUS_FUZZ_NUMBER";

/// The address space of such a process: many times what any input warrants.
const MEMORY: u64 = 2 << 30;

/// The CPU time that one input may take. Only one that never ends takes so long, even in a
/// debug build.
const PATIENCE: Duration = Duration::from_secs(20);

macro_rules! targets {
    ($($name:ident),+ $(,)?) => {
        $(#[test] fn $name() { fuzz(target(stringify!($name))); })+

        #[test]
        fn every_target_is_run_here_and_by_libfuzzer() {
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

targets!(recording, export, import, format, page, perf, experiment, message, wire);

fn fuzz(target: Target) {
    match std::env::var_os(NUMBER) {
        Some(file) => read_inputs(target, Path::new(&file)),
        None => watch(target),
    }
}

/// The inputs of a search, by their numbers: the real files, then what is made of them.
struct Inputs {
    seeds: Vec<Vec<u8>>,
    search: u64,
}

impl Inputs {
    fn of(target: Target, search: u64) -> Self {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "there is nothing to begin from");
        Self { seeds, search }
    }

    fn get(&self, number: u64) -> Vec<u8> {
        let real = usize::try_from(number).ok().and_then(|number| self.seeds.get(number));
        let mut random = SplitMix64::new(self.search.wrapping_add(number));
        real.cloned().unwrap_or_else(|| mutated(&self.seeds, &mut random))
    }
}

/// Has a process read inputs of `target`, and keeps the one that it did not survive.
fn watch(target: Target) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("number");
    fs::write(&file, 0_u64.to_ne_bytes()).unwrap();
    let search = number("TACTUS_FUZZ_SEED")
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
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
        "the target `{}` failed ({}) at input {number} of TACTUS_FUZZ_SEED={search}, which is in {}\n{}",
        target.name,
        outcome.status,
        kept.display(),
        String::from_utf8_lossy(&outcome.stderr)
    );
}

/// How many inputs were read.
static READ: AtomicU64 = AtomicU64::new(0);

fn read_inputs(target: Target, file: &Path) {
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: Some(MEMORY) }).unwrap();
    std::thread::spawn(give_up_on_one_that_never_ends);
    let inputs = Inputs::of(target, number("TACTUS_FUZZ_SEED").unwrap());
    let file = File::options().write(true).open(file).unwrap();
    let end = Instant::now() + Duration::from_secs(number("TACTUS_FUZZ_SECONDS").unwrap_or(2));
    let mut next = 0;
    while next < inputs.seeds.len() as u64 || Instant::now() < end {
        // What is written outlives this process.
        file.write_all_at(&next.to_ne_bytes(), 0).unwrap();
        (target.run)(&inputs.get(next));
        next += 1;
        READ.store(next, Ordering::Relaxed);
    }
    println!("{}: {next} inputs", target.name);
}

/// Ends this process when it computes for too long on one input.
fn give_up_on_one_that_never_ends() {
    let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
    let (mut number, mut since) = (0, used());
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let read = READ.load(Ordering::Relaxed);
        if read != number {
            (number, since) = (read, used());
        } else if used() - since > PATIENCE {
            eprintln!("one input took {PATIENCE:?} of CPU time");
            std::process::abort();
        }
    }
}

/// The number in an environment variable.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}
