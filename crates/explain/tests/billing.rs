//! Recorded programs like those of the paper, billed by known ticks: no privilege, no
//! real time.
//!
//! `tests/data/billing/README.md` describes how the recording was made.

use std::collections::HashMap;
use std::path::PathBuf;

use tactus_explain::account::{AccountOptions, Accounts, Billing, TickClock, TickRate, account};
use tactus_model::recording::{EventKind, Recording, ThreadId};
use tactus_record::file::RecordingFile;

/// The tick rate of the recorded kernel, and others.
const RATES: [u32; 4] = [100, 250, 1000, 20_000];

/// The programs of the recording.
const PROGRAMS: [&str; 5] = ["compute", "adaptive", "player", "display", "editor"];

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/billing/programs.tactusrec")
}

fn open() -> RecordingFile {
    RecordingFile::open(&path()).expect("the recording belongs to the checkout")
}

fn accounts() -> Accounts {
    let rates = RATES.iter().filter_map(|hertz| TickRate::new(*hertz)).collect();
    account(&mut open(), &AccountOptions { rates }).expect("it is not damaged")
}

fn simulated(accounts: &Accounts, program: &str, hertz: u32) -> Billing {
    let rate = TickRate::new(hertz).expect("it is a rate");
    let program = accounts.program(program).expect("it was recorded");
    program.billing(TickClock::Simulated { rate }).expect("it was asked for").clone()
}

#[test]
fn the_kernel_billed_the_thread_at_each_tick() {
    let recording = Recording::collect(&mut open()).expect("it is not damaged");
    // Counted from the events alone: a tick bills the thread that came last.
    let mut current: HashMap<u32, ThreadId> = HashMap::new();
    let mut ticks: HashMap<ThreadId, u64> = HashMap::new();
    for event in &recording.events {
        match event.kind {
            EventKind::Switch { next, .. } => {
                current.insert(event.cpu, next);
            }
            EventKind::HrtimerExpireEntry { function, .. }
                if recording.dictionary.function_name(function) == "tick_nohz_handler" =>
            {
                if let Some(thread) = current.get(&event.cpu) {
                    *ticks.entry(*thread).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    let accounts = accounts();
    let mut compared = 0;
    for account in accounts.threads.iter().filter(|account| PROGRAMS.contains(&&*account.program)) {
        let billing = account.billing(TickClock::Kernel).expect("the tick was recorded");
        let thread = account.thread.expect("a thread has a number");
        // Before the first switch, only the account knows which thread runs.
        let counted = ticks.get(&thread).copied().unwrap_or(0);
        assert!(
            billing.ticks.value.abs_diff(counted) <= 1,
            "{}: {billing:?} {counted}",
            account.name
        );
        compared += counted;
    }
    assert!(compared > 100, "{compared} ticks hit the programs");
}

#[test]
fn a_tick_simulated_at_the_kernels_rate_bills_as_the_kernel_did() {
    let accounts = accounts();
    let hertz = accounts.tick.as_ref().expect("it was recorded").hertz();
    let rate = u32::try_from(hertz).expect("it is a rate");
    for program in PROGRAMS {
        let account = accounts.program(program).expect("it was recorded");
        let kernel = account.billing(TickClock::Kernel).expect("the tick was recorded");
        let simulated = simulated(&accounts, program, rate);
        // The kernel's ticks come a little late, and sometimes after a switch.
        let apart = kernel.ticks.value.abs_diff(simulated.ticks.value);
        assert!(apart <= account.threads, "{program}: {kernel:?} {simulated:?}");
    }
}

#[test]
fn finer_ticks_miss_fewer_quanta_and_bill_more_accurately() {
    let accounts = accounts();
    for program in PROGRAMS {
        let missed: Vec<u64> =
            RATES.iter().map(|hertz| simulated(&accounts, program, *hertz).missed.value).collect();
        assert!(missed.is_sorted_by(|coarse, fine| coarse >= fine), "{program}: {missed:?}");
        let spread = |hertz| {
            let (least, greatest) =
                simulated(&accounts, program, hertz).ratio_range().expect("it used time");
            assert!(least <= 1.0 && greatest >= 1.0, "{program} at {hertz} Hz");
            greatest - least
        };
        assert!(spread(20_000) < spread(100), "{program}");
    }
    // As in the paper: the longer the quanta of a program, the fewer are missed.
    let share = |program| simulated(&accounts, program, 100).missed_share().expect("it ran");
    let shares = ["compute", "player", "editor"].map(share);
    assert!(shares.is_sorted() && shares[1] > 0.8, "{shares:?}");
}

/// The X server of the paper escaped billing because it worked right after ticks. Here
/// the player's sound thread does, because its alarm has the period of the kernel's
/// tick.
#[test]
fn a_thread_that_works_right_after_each_tick_is_not_billed() {
    let accounts = accounts();
    let sound = accounts.threads.iter().find(|thread| thread.name == "player/sound");
    let sound = sound.expect("it was recorded");
    let kernel = sound.billing(TickClock::Kernel).expect("the tick was recorded");
    assert!(kernel.missed_share() > Some(0.95) && kernel.ratio() < Some(0.5), "{kernel:?}");
    // Anywhere else between ticks it would be billed what it used, as it is over all
    // phases.
    let rate = TickRate::new(250).expect("it is a rate");
    let simulated = sound.billing(TickClock::Simulated { rate }).expect("it was asked for");
    let mean = simulated.ticks.mean * simulated.period.as_nanos() as f64;
    let used = sound.used.as_nanos() as f64;
    assert!((mean / used - 1.0).abs() < 0.05, "billed {mean} of {used}");
    assert!(simulated.ratio_range().is_some_and(|(_, greatest)| greatest > 5.0));
}
