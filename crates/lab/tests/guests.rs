//! Guests that are booted: a kernel, an emulator and the guests' program have to be there.
//!
//! What is missing is printed, and the test is skipped. To have everything:
//! `sudo apt-get install qemu-system-x86`, `tactus lab kernels debian-cloud`, and
//! `cargo build --release -p tactus-guest --target x86_64-unknown-linux-musl`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tactus_guests::{GuestError, GuestPlaces, Guests};
use tactus_kernels::Kernels;
use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_model::experiment::{Experiment, Overrides, Plan};
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunStatus};
use tactus_model::time::Instant;
use tactus_store::Store;
use tactus_testing::{Need, skip};

/// Kernels that are there already; a test fetches none.
fn kernels() -> Kernels {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(Path::new(&home).join(".cache"))
    });
    Kernels::new("/boot", cache.unwrap_or_default().join("tactus/kernels"))
}

/// One that boots quickly, where there is one.
fn kernel(kernels: &Kernels) -> Option<String> {
    let names: Vec<String> =
        kernels.there().unwrap().into_iter().map(|kernel| kernel.name).collect();
    let cloud = names.iter().find(|name| name.starts_with("debian-cloud"));
    cloud.or(names.first()).cloned()
}

/// What a test wants to be otherwise.
#[derive(Default)]
struct Wishes {
    /// What runs in the guest.
    program: Option<OsString>,
    /// How long the guest may take.
    limit: Option<Duration>,
    /// Whether the run is interrupted as soon as its guest is started.
    interrupted: bool,
}

/// What each test works in.
struct Laboratory {
    folder: tempfile::TempDir,
    kernels: Kernels,
    kernel: String,
}

impl Laboratory {
    /// `None`, with the reason printed, where no guest can be booted.
    #[track_caller]
    fn open() -> Option<Self> {
        let kernels = kernels();
        let Some(kernel) = kernel(&kernels) else {
            skip(Need::Guest, "no kernel is there; tactus lab kernels debian-cloud fetches one");
            return None;
        };
        Some(Self { folder: tempfile::tempdir().unwrap(), kernels, kernel })
    }

    fn plan(&self, time: &str, parameters: &str) -> Plan {
        self.plan_beside("idle", time, parameters)
    }

    fn plan_beside(&self, load: &str, time: &str, parameters: &str) -> Plan {
        let text = format!(
            "name = \"guests\"\nguest-time = \"{time}\"\nseed = 7\n[settings]\n\
             load = \"{load}\"\nkernel = \"{}{parameters}\"\npolicy = \"fifo:80\"\nduration = \"100ms\"\n\
             warmup = \"20ms\"\ntraced = \"0s\"",
            self.kernel
        );
        Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap()
    }

    fn guests(&self, plan: &Plan, wishes: &Wishes) -> Result<Guests, GuestError> {
        // Tests lie in a directory below that of `tactus`.
        let executable = std::env::current_exe().unwrap();
        let places = GuestPlaces {
            executable: executable.parent().unwrap().with_file_name("tactus"),
            program: wishes.program.clone(),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            consoles: self.consoles(),
        };
        let wanted = plan.cells.iter().filter_map(|cell| cell.target.guest());
        Guests::prepare(places, &self.kernels, wishes.limit, wanted)
    }

    fn consoles(&self) -> PathBuf {
        self.folder.path().join("consoles")
    }

    /// The only one that was kept.
    fn console(&self) -> PathBuf {
        let consoles: Vec<_> = fs::read_dir(self.consoles()).unwrap().flatten().collect();
        let [console] = consoles.as_slice() else { panic!("{consoles:?}") };
        console.path()
    }

    /// Carries `plan` out; `None`, with the reason printed, where something is missing.
    fn carry_out(&self, plan: &Plan, wishes: &Wishes) -> Option<Run> {
        let mut guests = match self.guests(plan, wishes) {
            Ok(guests) => guests,
            Err(error @ (GuestError::NoEmulator(_) | GuestError::NoProgram(_))) => {
                skip(Need::Guest, format!("{error}; {}", error.hint().unwrap_or_default()));
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut store = Store::open_in_memory().unwrap();
        let facts = || MachineFacts::unknown(Instant::from_nanos(1));
        let run = store.create_run(plan, &facts(), "test", Instant::from_nanos(1)).unwrap();
        let limit = guests.limit(plan.cells[0].length());
        let mut engine = Engine::new(&mut store, &mut guests, &facts);
        engine.patience += limit;
        let stopper = engine.stopper();
        let status = engine.carry_out(&run, &mut |event| match event {
            Event::TurnStarted { .. } if wishes.interrupted => stopper.stop(),
            Event::TurnFailed { failure, .. } => eprintln!("{}", failure.reason),
            _ => {}
        });
        let expected =
            if wishes.interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        assert_eq!(status.unwrap(), expected);
        Some(store.load(&run).unwrap())
    }
}

#[test]
fn an_exact_run_repeats_and_carries_what_it_was_measured_in() {
    let Some(laboratory) = Laboratory::open() else { return };
    let mut plan = laboratory.plan("exact:125", ":preempt=full");
    let mut longer = plan.cells[0].clone();
    longer.duration = longer.duration.saturating_mul(2);
    plan.cells.push(longer);
    let Some(run) = laboratory.carry_out(&plan, &Wishes::default()) else { return };
    assert_eq!(run.failures, []);
    let [measurement, other] = run.measurements.as_slice() else { panic!("{run:?}") };
    let begin = |found: &Measurement| found.guest.as_ref().unwrap().facts.clone();
    assert_eq!(begin(measurement), begin(other), "both were taken up where one boot ended");
    let accounting = measurement.accounting();
    assert!(accounting.balances() && accounting.observed > 0, "{accounting:?}");
    let guest = measurement.guest.as_ref().expect("it was measured in a guest");
    assert_eq!(guest.proof.as_ref().map(|proof| proof.runs), Some(2));
    assert_eq!(guest.facts.kernel.preemption.as_deref(), Some("full"));
    assert_eq!(guest.facts.cpu.clock_source.as_deref(), Some("tsc"));
    assert_eq!(guest.facts.kernel.release, guest.kernel_release);
    assert_eq!(measurement.tasks.len(), 1, "exact time has one CPU");
}

#[test]
fn a_guest_that_panics_is_one_failed_turn_whose_console_is_kept() {
    ["wall", "exact:125"].into_iter().for_each(check_panic);
}

fn check_panic(time: &str) {
    let Some(laboratory) = Laboratory::open() else { return };
    // An ELF file without anything in it: static, and nothing a kernel can run.
    let mut program = vec![0; 64];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let file = laboratory.folder.path().join("program");
    fs::write(&file, program).unwrap();
    let plan = laboratory.plan(time, "");
    let wishes = Wishes { program: Some(file.into()), ..Wishes::default() };
    let Some(run) = laboratory.carry_out(&plan, &wishes) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("Kernel panic"), "{}", failure.reason);
    let console = laboratory.console();
    assert!(fs::read_to_string(&console).unwrap().contains("init"));
    check_named(&console, failure);
}

fn check_named(console: &Path, failure: &Failure) {
    let named = console.display().to_string();
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains(&named)), "{failure:?}");
}

#[test]
fn a_guest_that_is_refused_keeps_its_console() {
    let Some(laboratory) = Laboratory::open() else { return };
    let plan = laboratory.plan("exact:125", ":tsc=unstable");
    let Some(run) = laboratory.carry_out(&plan, &Wishes::default()) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("keeps time by the clock source"), "{}", failure.reason);
    let console = laboratory.console();
    assert!(fs::read_to_string(&console).unwrap().contains("tsc"), "{}", console.display());
    check_named(&console, failure);
}

#[test]
fn loads_that_want_a_machine_have_what_a_guest_has_and_say_so() {
    let Some(laboratory) = Laboratory::open() else { return };
    let plan = laboratory.plan_beside("serial+net+file+compile", "exact:125", "");
    let Some(run) = laboratory.carry_out(&plan, &Wishes::default()) else { return };
    // That it has a result means that each copy had finished an operation before.
    assert_eq!(run.failures, []);
    let [measurement] = run.measurements.as_slice() else { panic!("{run:?}") };
    let parts: Vec<_> = measurement.load.parts.iter().map(|part| &part.achieved).collect();
    assert_eq!(parts.iter().map(|part| (part.copies, part.ended)).collect::<Vec<_>>(), [(1, 0); 4]);
    assert_eq!(parts[3].unit, "compile-like builds");
    let told: Vec<&str> =
        measurement.shortfalls.iter().map(|found| found.reason.as_str()).collect();
    assert!(told.contains(&"no compiler in the guest"), "{told:?}");
    assert!(told.iter().any(|reason| reason.contains("a guest has no disk")), "{told:?}");
    assert!(!told.iter().any(|reason| reason.contains("serial port")), "{told:?}");
    let guest = measurement.guest.as_ref().expect("it was measured in a guest");
    assert!(guest.proof.is_some(), "nothing of the host comes in by serial port or network");
}

#[test]
fn a_guest_that_takes_too_long_is_given_up() {
    let Some(laboratory) = Laboratory::open() else { return };
    // No kernel boots in that time, so it is as one that hangs.
    let wishes = Wishes { limit: Some(Duration::from_millis(200)), ..Wishes::default() };
    let plan = laboratory.plan("wall", "");
    let Some(run) = laboratory.carry_out(&plan, &wishes) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("was given up"), "{}", failure.reason);
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("console")), "{failure:?}");
}

#[test]
fn a_run_that_is_interrupted_leaves_its_turn_and_no_console() {
    let Some(laboratory) = Laboratory::open() else { return };
    let wishes = Wishes { interrupted: true, ..Wishes::default() };
    for time in ["wall", "exact:125"] {
        let Some(run) = laboratory.carry_out(&laboratory.plan(time, ""), &wishes) else { return };
        assert_eq!((run.measurements.len(), run.failures.len()), (0, 0));
        assert!(!laboratory.consoles().exists(), "nothing failed");
    }
}
