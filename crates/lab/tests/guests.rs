//! Booted guests; the tests need a kernel, an emulator and the guests' program.
//!
//! If one is missing, the test prints it and is skipped. To install everything:
//! `sudo apt-get install qemu-system-x86 qemu-system-arm`, and
//! `tactus lab setup debian-cloud debian-cloud-arm64`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tactus_guests::{GuestError, GuestPlaces, Guests};
use tactus_kernels::Kernels;
use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_model::experiment::{Experiment, Overrides, Plan};
use tactus_model::facts::MachineFacts;
use tactus_model::result::{Failure, Measurement};
use tactus_model::run::{Run, RunId, RunStatus};
use tactus_model::time::{Instant, Nanos};
use tactus_store::Store;
use tactus_testing::{Need, skip};

/// Local kernels only; tests fetch none.
fn kernels() -> Kernels {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(Path::new(&home).join(".cache"))
    });
    Kernels::new("/boot", cache.unwrap_or_default().join("tactus/kernels"))
}

/// A kernel that boots quickly, if there is one, else any kernel.
fn kernel(kernels: &Kernels) -> Option<String> {
    let names: Vec<String> =
        kernels.local().unwrap().into_iter().map(|kernel| kernel.name).collect();
    let cloud = names.iter().find(|name| name.starts_with("debian-cloud@"));
    cloud.or_else(|| names.iter().find(|name| !name.contains("-arm64@"))).cloned()
}

/// The deviations of a test from the defaults.
#[derive(Default)]
struct Deviations {
    /// The program in the guest.
    program: Option<OsString>,
    /// The time limit of the guest.
    limit: Option<Duration>,
    /// Whether to interrupt the run as soon as its guest is started.
    interrupted: bool,
    /// How many machines run at a time; 0 for the default.
    jobs: usize,
}

/// The environment of a test.
struct Laboratory {
    folder: tempfile::TempDir,
    kernels: Kernels,
    kernel: String,
}

impl Laboratory {
    /// Returns `None` and prints the reason if no guest can boot.
    #[track_caller]
    fn open() -> Option<Self> {
        let kernels = kernels();
        let Some(kernel) = kernel(&kernels) else {
            skip(
                Need::Guest,
                "no kernel is available; tactus lab kernels debian-cloud fetches one",
            );
            return None;
        };
        Some(Self { folder: tempfile::tempdir().unwrap(), kernels, kernel })
    }

    /// Like [`open`](Self::open), for guests with arm64 CPUs.
    #[track_caller]
    fn open_arm64() -> Option<Self> {
        let kernels = kernels();
        let known = kernels.local().unwrap().into_iter().map(|kernel| kernel.name);
        let arm64: Vec<String> = known.filter(|name| name.contains("-arm64@")).collect();
        let Some(kernel) = arm64.first().cloned() else {
            skip(Need::Arm64, "no kernel; tactus lab setup debian-cloud-arm64 fetches one");
            return None;
        };
        let laboratory = Self { folder: tempfile::tempdir().unwrap(), kernels, kernel };
        let plan = laboratory.plan("exact:125", "");
        match laboratory.guests(&plan, &Deviations::default()) {
            Ok(_) => Some(laboratory),
            Err(error) => {
                skip(Need::Arm64, format!("{error}; {}", error.hint().unwrap_or_default()));
                None
            }
        }
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

    fn guests(&self, plan: &Plan, deviations: &Deviations) -> Result<Guests, GuestError> {
        // The executables of tests are in a subdirectory of that of `tactus`.
        let executable = std::env::current_exe().unwrap();
        let places = GuestPlaces {
            executable: executable.parent().unwrap().with_file_name("tactus"),
            program: deviations.program.clone(),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            consoles: self.consoles(),
            kvm_trials: Arc::default(),
        };
        let wanted = plan.cells.iter().filter_map(|cell| cell.target.guest());
        let guests = Guests::prepare(places, &self.kernels, deviations.limit, wanted)?;
        Ok(if deviations.jobs == 0 { guests } else { guests.with_jobs(deviations.jobs) })
    }

    fn consoles(&self) -> PathBuf {
        self.folder.path().join("consoles")
    }

    /// The only console file.
    fn console(&self) -> PathBuf {
        let consoles: Vec<_> = fs::read_dir(self.consoles()).unwrap().flatten().collect();
        let [console] = consoles.as_slice() else { panic!("{consoles:?}") };
        console.path()
    }

    /// The content of the console files.
    fn console_text(&self) -> String {
        let files = fs::read_dir(self.consoles()).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_to_string(file.path()).ok()).collect()
    }

    /// Carries out `plan`; returns `None` and prints the reason if something is missing.
    fn carry_out(&self, plan: &Plan, deviations: &Deviations) -> Option<Run> {
        let mut guests = match self.guests(plan, deviations) {
            Ok(guests) => guests,
            Err(error)
                if matches!(error, GuestError::NoEmulator(_))
                    || error.missing_program().is_some() =>
            {
                skip(Need::Guest, format!("{error}; {}", error.hint().unwrap_or_default()));
                return None;
            }
            Err(error) => panic!("{error}"),
        };
        let mut store = Store::open_in_memory().unwrap();
        let facts = || MachineFacts::unknown(Instant::from_nanos(1));
        let run = store.create_run(plan, &facts(), "test", Instant::from_nanos(1), None).unwrap();
        let limit = guests.limit(plan.cells[0].length());
        let mut engine = Engine::new(&mut store, &mut guests, &facts);
        engine.patience += limit.saturating_mul(8);
        engine.turns_at_a_time = deviations.jobs.max(1);
        let stopper = engine.stopper();
        let status = engine.carry_out(&run, &mut |event| match event {
            Event::TurnStarted { .. } if deviations.interrupted => stopper.stop(),
            Event::TurnFailed { failure, .. } => {
                eprintln!("{}\n{}", failure.reason, self.console_text());
            }
            _ => {}
        });
        let taken = store.load(&run).unwrap();
        let expected = match deviations.interrupted {
            true => RunStatus::Interrupted,
            false if taken.failures.is_empty() => RunStatus::Complete,
            false => RunStatus::Partial,
        };
        assert_eq!(status.unwrap(), expected);
        Some(taken)
    }
}

#[test]
fn a_deterministic_run_repeats_and_records_its_guest() {
    let Some(laboratory) = Laboratory::open() else { return };
    let mut plan = laboratory.plan("exact:125", ":preempt=full");
    let mut longer = plan.cells[0].clone();
    longer.duration = longer.duration.saturating_mul(2);
    plan.cells.push(longer);
    let Some(run) = laboratory.carry_out(&plan, &Deviations::default()) else { return };
    assert_eq!(run.failures, []);
    let [measurement, other] = run.measurements.as_slice() else { panic!("{run:?}") };
    let begin = |found: &Measurement| found.guest.as_ref().unwrap().facts.clone();
    assert_eq!(begin(measurement), begin(other), "both were restored from the same boot");
    let accounting = measurement.accounting();
    assert!(accounting.balances() && accounting.observed > 0, "{accounting:?}");
    let guest = measurement.guest.as_ref().expect("a guest");
    assert_eq!(guest.proof.as_ref().map(|proof| proof.runs), Some(2));
    assert_eq!(guest.facts.kernel.preemption.as_deref(), Some("full"));
    assert_eq!(guest.facts.cpu.clock_source.as_deref(), Some("tsc"));
    assert_eq!(guest.facts.kernel.release, guest.kernel_release);
    assert_eq!(measurement.tasks.len(), 1, "deterministic time has one CPU");
}

#[test]
fn any_number_of_machines_at_a_time_gives_the_same_bytes() {
    let Some(laboratory) = Laboratory::open() else { return };
    let mut plan = laboratory.plan("exact:125", "");
    let mut other = laboratory.plan("exact:125", ":quiet.word=1");
    plan.cells.append(&mut other.cells);
    let run = |jobs| {
        let mut run = laboratory.carry_out(&plan, &Deviations { jobs, ..Deviations::default() })?;
        assert_eq!(run.failures, []);
        assert_eq!(run.measurements.len(), 2);
        run.header.id = RunId::new("same");
        Some(serde_json::to_string(&run).unwrap())
    };
    let Some(one) = run(1) else { return };
    assert_eq!(run(2).as_ref(), Some(&one));
}

#[test]
fn a_guest_that_panics_is_one_failed_turn_with_its_console() {
    ["wall", "exact:125"].into_iter().for_each(check_panic);
}

fn check_panic(time: &str) {
    let Some(laboratory) = Laboratory::open() else { return };
    // An empty ELF file: static, but not executable.
    let mut program = vec![0; 64];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    // What marks a build of it.
    program.extend_from_slice(b"tactus-guest: cannot ");
    let file = laboratory.folder.path().join("program");
    fs::write(&file, program).unwrap();
    let plan = laboratory.plan(time, "");
    let deviations = Deviations { program: Some(file.into()), ..Deviations::default() };
    let Some(run) = laboratory.carry_out(&plan, &deviations) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("Kernel panic"), "{}", failure.reason);
    let console = laboratory.console();
    assert!(fs::read_to_string(&console).unwrap().contains("init"));
    check_hint(&console, failure);
}

fn check_hint(console: &Path, failure: &Failure) {
    let named = console.display().to_string();
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains(&named)), "{failure:?}");
}

#[test]
fn a_guest_that_is_refused_keeps_its_console() {
    let Some(laboratory) = Laboratory::open() else { return };
    let plan = laboratory.plan("exact:125", ":tsc=unstable");
    let Some(run) = laboratory.carry_out(&plan, &Deviations::default()) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("clock source is"), "{}", failure.reason);
    let console = laboratory.console();
    assert!(fs::read_to_string(&console).unwrap().contains("tsc"), "{}", console.display());
    check_hint(&console, failure);
}

#[test]
fn loads_that_need_hardware_report_what_the_guest_lacks() {
    let Some(laboratory) = Laboratory::open() else { return };
    let plan = laboratory.plan_beside("serial+net+file+compile", "exact:125", "");
    let Some(run) = laboratory.carry_out(&plan, &Deviations::default()) else { return };
    // A result means that each copy has finished an operation.
    assert_eq!(run.failures, []);
    let [measurement] = run.measurements.as_slice() else { panic!("{run:?}") };
    let parts: Vec<_> = measurement.load.parts.iter().map(|part| &part.achieved).collect();
    assert_eq!(parts.iter().map(|part| (part.copies, part.ended)).collect::<Vec<_>>(), [(1, 0); 4]);
    assert_eq!(parts[3].unit, "compile-like builds");
    let reasons: Vec<&str> =
        measurement.shortfalls.iter().map(|found| found.reason.as_str()).collect();
    assert!(reasons.contains(&"no compiler in the guest"), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.contains("a guest has no disk")), "{reasons:?}");
    assert!(!reasons.iter().any(|reason| reason.contains("serial port")), "{reasons:?}");
    let guest = measurement.guest.as_ref().expect("a guest");
    assert!(
        guest.proof.is_some(),
        "no input of the host arrives through serial ports or the network"
    );
}

#[test]
fn a_guest_that_takes_too_long_is_stopped() {
    let Some(laboratory) = Laboratory::open() else { return };
    // No kernel boots in that time, so it acts like a kernel that hangs.
    let deviations =
        Deviations { limit: Some(Duration::from_millis(200)), ..Deviations::default() };
    let plan = laboratory.plan("wall", "");
    let Some(run) = laboratory.carry_out(&plan, &deviations) else { return };
    assert_eq!(run.measurements, []);
    let [failure] = run.failures.as_slice() else { panic!("{run:?}") };
    assert!(failure.reason.contains("was stopped"), "{}", failure.reason);
    assert!(failure.hint.as_ref().is_some_and(|hint| hint.contains("console")), "{failure:?}");
}

#[test]
fn an_interrupted_run_leaves_no_failure_and_no_console() {
    let Some(laboratory) = Laboratory::open() else { return };
    let deviations = Deviations { interrupted: true, ..Deviations::default() };
    for time in ["wall", "exact:125"] {
        let Some(run) = laboratory.carry_out(&laboratory.plan(time, ""), &deviations) else {
            return;
        };
        assert_eq!((run.measurements.len(), run.failures.len()), (0, 0));
        assert!(!laboratory.consoles().exists(), "nothing failed");
    }
}

#[test]
fn a_guest_with_an_arm64_cpu_repeats_and_is_recorded() {
    let Some(laboratory) = Laboratory::open_arm64() else { return };
    let mut plan = laboratory.plan_beside("serial", "exact:125", "");
    plan.cells[0].traced = Nanos::from_millis(50);
    let Some(run) = laboratory.carry_out(&plan, &Deviations::default()) else { return };
    assert_eq!(run.failures, []);
    let [measurement] = run.measurements.as_slice() else { panic!("{run:?}") };
    let accounting = measurement.accounting();
    assert!(accounting.balances() && accounting.observed > 0, "{accounting:?}");
    let guest = measurement.guest.as_ref().expect("a guest");
    assert_eq!(guest.proof.as_ref().map(|proof| proof.runs), Some(2), "two boots, the same bytes");
    assert_eq!(guest.facts.kernel.machine.as_deref(), Some("aarch64"));
    assert_eq!(guest.facts.cpu.clock_source.as_deref(), Some("arch_sys_counter"));
    assert_eq!(guest.facts.kernel.release, guest.kernel_release);
    let traced = measurement.traced.as_ref().expect("a recording");
    assert!(traced.recording.events > 0 && traced.recording.bytes > 0, "{traced:?}");
}
