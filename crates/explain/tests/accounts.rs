//! Accounts of a simulated machine.

#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use support::{IDLE, PREEMPTED, SLEEPING, STOPPED, Script, Thread, UNINTERRUPTIBLE, micros};
use tactus_explain::account::{
    Account, AccountOptions, Accounts, End, TickClock, TickKind, TickRate, TickUnknown, account,
};
use tactus_model::recording::{
    EventKind, InterruptVector, ProcessId, SleepingCall, TaskState, ThreadId,
};
use tactus_model::time::Nanos;

/// The state in which a thread that yields leaves.
const RUNNABLE: TaskState = TaskState(0);

/// The address of the tick's timer.
const TICK: u64 = 0xffff_8880_0000_2000;

fn accounts(script: Script, rates: &[u32]) -> Accounts {
    let rates = rates.iter().filter_map(|hertz| TickRate::new(*hertz));
    let options = AccountOptions { rates: rates.collect() };
    let recording = script.into_recording();
    let accounts =
        account(&mut recording.reader(), &options).expect("a recording in memory cannot fail");
    check_sums(&accounts);
    accounts
}

fn check_sums(accounts: &Accounts) {
    for cpu in &accounts.cpus {
        let sum = cpu.used + cpu.idle + cpu.unknown;
        assert_eq!(sum, accounts.length(), "{cpu:?}");
    }
    let programs: Nanos = accounts.programs.iter().map(|program| program.used).sum();
    assert_eq!(programs + accounts.idle.used + accounts.unknown(), accounts.time());
}

fn of<'a>(accounts: &'a Accounts, thread: &Thread) -> &'a Account {
    accounts.of_thread(ThreadId(thread.id)).next().expect("the thread is accounted for")
}

fn ends(account: &Account) -> Vec<(End, u64)> {
    account.ends.iter().map(|end| (end.end, end.count)).collect()
}

/// A tick of 4 ms at `at`: its timer runs 2 µs after the interrupt and is armed again
/// at once.
fn tick(script: &mut Script, at: u64, cpu: u32) {
    script.vector_entry(at, cpu, InterruptVector::LocalTimer);
    script.expire(at + 2, at + 4, cpu, TICK, "tick_nohz_handler");
    script.arm_function(at + 4, cpu, TICK, "tick_nohz_handler", at + 4000, 0);
    script.vector_exit(at + 5, cpu, InterruptVector::LocalTimer);
}

#[test]
fn a_quantum_lasts_from_switch_to_switch() {
    let mut script = Script::new(1);
    let (a, b) = (script.thread("a", 10, 120), script.thread("b", 11, 120));
    script.switch(100, 0, PREEMPTED, a).switch(350, 0, SLEEPING, b);
    script.switch(400, 0, SLEEPING, a).switch(410, 0, SLEEPING, IDLE).noise(1000, 0);
    let accounts = accounts(script, &[]);
    let a = of(&accounts, &a);
    assert_eq!((a.used, a.quanta.count), (Nanos::from_micros(260), 2));
    assert_eq!((a.quanta.min, a.quanta.max), (Nanos::from_micros(10), Nanos::from_micros(250)));
    assert_eq!(a.cut.count, 0);
    assert_eq!(accounts.length(), Nanos::from_millis(1));
    // Idle crosses both edges.
    assert_eq!((accounts.idle.cut.count, accounts.idle.cut.time), (2, Nanos::from_micros(690)));
    assert_eq!(a.quanta_per_second(accounts.length()), Some(2000.0));
}

#[test]
fn time_after_a_missing_switch_out_of_idle_is_the_threads() {
    let mut script = Script::new(1);
    let a = script.thread("a", 10, 120);
    script.switch(50, 0, PREEMPTED, a).switch(100, 0, SLEEPING, IDLE);
    script.vector_entry(500, 0, InterruptVector::LocalTimer).wake(502, 0, a, 0);
    script.vector_exit(504, 0, InterruptVector::LocalTimer);
    // It came without an event; the first event is that it goes to sleep again.
    script.appears(0, a).switch(900, 0, SLEEPING, IDLE).noise(1000, 0);
    let accounts = accounts(script, &[]);
    let a = of(&accounts, &a);
    // At most the C-state exit, which has no event, is counted too much.
    assert_eq!(a.used, Nanos::from_micros(50 + 396));
    assert_eq!((a.quanta.count, a.cut.count), (1, 1));
    assert_eq!(accounts.missing_switches, 1);
    assert_eq!(a.wakeup_latency.count, 0);
}

#[test]
fn each_end_has_its_reason() {
    let mut script = Script::new(2);
    let me = script.thread("me", 10, 120);
    let other = script.thread("other", 11, 120);
    let urgent = script.thread("urgent", 12, 49);
    let stopper = script.thread("migration/0", 13, -1);
    script.switch(10, 0, PREEMPTED, other).switch(20, 0, SLEEPING, IDLE);
    let mut now = 0;
    let mut turn = |script: &mut Script, how: &dyn Fn(&mut Script, u64)| {
        now += 100;
        script.switch(now, 0, PREEMPTED, me);
        how(script, now);
    };
    let call = EventKind::CallEnter(SleepingCall::ClockNanosleep);
    turn(&mut script, &|script, at| {
        script.push_at(micros(at + 5), 0, call).switch(at + 10, 0, SLEEPING, IDLE);
    });
    let done = EventKind::CallExit { call: SleepingCall::ClockNanosleep, returned: 0 };
    turn(&mut script, &|script, at| {
        script.push_at(micros(at + 5), 0, done).switch(at + 10, 0, SLEEPING, IDLE);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, UNINTERRUPTIBLE, IDLE);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, STOPPED, IDLE);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, PREEMPTED, urgent);
    });
    turn(&mut script, &|script, at| {
        script.need_resched(0).wake(at + 2, 0, other, 0);
        script.switch(at + 10, 0, RUNNABLE, other);
    });
    turn(&mut script, &|script, at| {
        let (function, now) = (script.function("tick_nohz_handler"), Nanos::from_micros(at));
        let entry = EventKind::HrtimerExpireEntry { timer: TICK, function, now };
        script.vector_entry(at + 1, 0, InterruptVector::LocalTimer);
        script.push_at(micros(at + 2), 0, entry).need_resched(0);
        script.push_at(micros(at + 4), 0, EventKind::HrtimerExpireExit { timer: TICK });
        script.vector_exit(at + 5, 0, InterruptVector::LocalTimer);
        script.switch(at + 10, 0, RUNNABLE, other);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, PREEMPTED, other);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, RUNNABLE, other);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, PREEMPTED, stopper).migrate(at + 12, 0, me, 0, 1);
        script.switch(at + 14, 0, SLEEPING, IDLE);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, PREEMPTED, stopper).switch(at + 14, 0, SLEEPING, IDLE);
    });
    turn(&mut script, &|script, at| {
        script.switch(at + 10, 0, TaskState::DEAD, IDLE);
    });
    script.noise(5000, 0).noise(5000, 1);
    let accounts = accounts(script, &[]);
    let found = ends(of(&accounts, &me));
    let once = [
        End::Slept { call: Some(SleepingCall::ClockNanosleep) },
        End::Slept { call: None },
        End::Blocked,
        End::Stopped,
        End::PreemptedByWoken,
        End::TickExpiry,
        End::Preempted,
        End::Yielded,
        End::Migrated,
        End::Exited,
    ];
    for end in once {
        assert!(found.contains(&(end, 1)), "{end}: {found:?}");
    }
    assert!(found.contains(&(End::PreemptedByPriority, 2)), "{found:?}");
    assert_eq!(found.iter().map(|(_, count)| count).sum::<u64>(), 12);
}

#[test]
fn the_kernels_tick_bills_the_current_thread() {
    let mut script = Script::new(1);
    let (long, short) = (script.thread("long", 10, 120), script.thread("short", 11, 120));
    script.switch(1000, 0, PREEMPTED, long);
    for at in [4000, 8000, 12_000] {
        tick(&mut script, at, 0);
    }
    script.switch(13_000, 0, PREEMPTED, short).switch(14_000, 0, SLEEPING, long);
    tick(&mut script, 16_000, 0);
    script.switch(17_000, 0, SLEEPING, IDLE).noise(20_000, 0);
    let accounts = accounts(script, &[250, 1000]);
    let kernel = accounts.tick.as_ref().expect("there are ticks");
    assert_eq!((kernel.period, kernel.hertz(), kernel.ticks), (Nanos::from_millis(4), 250, 4));
    assert_eq!(kernel.kind, TickKind::Timer { function: "tick_nohz_handler".to_owned() });
    let bill = |thread: &Thread, clock| {
        let billing = of(&accounts, thread).billing(clock).expect("it was asked for");
        (billing.ticks.value, billing.missed.value, billing.quanta)
    };
    assert_eq!(bill(&long, TickClock::Kernel), (4, 0, 2));
    assert_eq!(bill(&short, TickClock::Kernel), (0, 1, 1));
    // The same rate in the same phase bills the same.
    let simulated = |hertz| TickClock::Simulated { rate: TickRate::new(hertz).unwrap() };
    assert_eq!(bill(&long, simulated(250)), (4, 0, 2));
    assert_eq!(bill(&short, simulated(250)), (0, 1, 1));
    assert_eq!(bill(&long, simulated(1000)).0, 15);
    let long = of(&accounts, &long).billing(TickClock::Kernel).unwrap();
    assert_eq!(long.billed(), Nanos::from_millis(16));
    assert_eq!(long.ratio(), Some(16.0 / 15.0));
    let scattered: Vec<(u64, u64)> =
        long.scatter.iter().map(|point| (point.length.as_nanos() / 1000, point.ticks)).collect();
    assert_eq!(scattered, [(3000, 1), (12_000, 3)]);
    // The position of a quantum of 1 ms in a period of 4 ms decides whether it is
    // billed.
    let short = of(&accounts, &short).billing(simulated(250)).unwrap();
    assert_eq!((short.ticks.least, short.ticks.greatest, short.ticks.mean), (0, 1, 0.25));
    assert_eq!((short.missed.least, short.missed.greatest), (0, 1));
}

#[test]
fn without_a_tick_timer_every_local_timer_interrupt_is_a_tick() {
    let mut script = Script::new(1);
    let a = script.thread("a", 10, 120);
    script.switch(1000, 0, PREEMPTED, a);
    for at in [10_000, 20_000, 30_000] {
        script.vector_entry(at, 0, InterruptVector::LocalTimer);
        script.vector_exit(at + 5, 0, InterruptVector::LocalTimer);
    }
    script.switch(31_000, 0, SLEEPING, IDLE);
    let accounts = accounts(script, &[]);
    let kernel = accounts.tick.as_ref().expect("there are ticks");
    assert_eq!((&kernel.kind, kernel.hertz()), (&TickKind::Periodic, 100));
    assert_eq!(of(&accounts, &a).billing(TickClock::Kernel).unwrap().ticks.value, 3);
}

#[test]
fn without_recorded_ticks_the_kernels_tick_is_unknown() {
    let mut script = Script::new(1);
    let a = script.thread("a", 10, 120);
    script.switch(1000, 0, PREEMPTED, a).switch(2000, 0, SLEEPING, IDLE);
    let accounts = accounts(script, &[]);
    assert_eq!(accounts.tick, Err(TickUnknown::NotRecorded));
    assert_eq!(of(&accounts, &a).billing(TickClock::Kernel), None);
}

#[test]
fn time_without_a_known_thread_is_unknown() {
    let mut script = Script::new(2);
    let a = script.thread("a", 10, 120);
    script.switch(1000, 0, PREEMPTED, a).lose(0, 1500, 3000);
    script.noise(3000, 0).switch(4000, 0, SLEEPING, IDLE);
    let accounts = accounts(script, &[]);
    let a = of(&accounts, &a);
    assert_eq!((a.quanta.count, a.cut.count, a.used), (0, 2, Nanos::from_micros(1500)));
    // The loss on one CPU, and all time of the other CPU, which had no events.
    assert_eq!(accounts.unknown(), Nanos::from_micros(1500 + 4000));
    assert_eq!(accounts.missing_switches, 0);
}

#[test]
fn a_missing_switch_is_counted() {
    let mut script = Script::new(1);
    let (a, b) = (script.thread("a", 10, 120), script.thread("b", 11, 120));
    script.switch(1000, 0, PREEMPTED, a).noise(1500, 0);
    script.appears(0, b).noise(2000, 0).switch(2500, 0, SLEEPING, IDLE);
    let accounts = accounts(script, &[]);
    assert_eq!(accounts.missing_switches, 1);
    assert_eq!((of(&accounts, &a).quanta.count, of(&accounts, &a).cut.count), (0, 1));
    assert_eq!((of(&accounts, &b).quanta.count, of(&accounts, &b).cut.count), (0, 1));
    // Its reason was recorded nevertheless.
    assert_eq!(ends(of(&accounts, &b)), [(End::Slept { call: None }, 1)]);
}

#[test]
fn threads_of_a_process_are_one_program() {
    let mut script = Script::new(1);
    let player = script.thread("player", 20, 120);
    let decoder = script.thread("decoder", 21, 120);
    let second = script.thread("player", 30, 120);
    let worker = script.thread("kworker/0:1", 40, 120);
    script.switch(100, 0, PREEMPTED, player).switch(200, 0, SLEEPING, decoder);
    script.switch(400, 0, SLEEPING, second).switch(450, 0, SLEEPING, worker);
    script.switch(460, 0, SLEEPING, IDLE);
    let mut recording = script.into_recording();
    for (thread, process) in [(20, 20), (21, 20), (30, 30)] {
        recording.dictionary.set_process(ThreadId(thread), ProcessId(process));
    }
    let accounts = account(&mut recording.reader(), &AccountOptions::default()).unwrap();
    check_sums(&accounts);
    let programs: Vec<(&str, u64, u64)> = accounts
        .programs
        .iter()
        .map(|program| (program.name.as_str(), program.threads, program.used.as_nanos() / 1000))
        .collect();
    assert_eq!(programs, [("player", 3, 350), ("kworker", 1, 10)]);
    assert_eq!(of(&accounts, &decoder).program, "player");
}

#[test]
fn a_wakeup_waits_until_the_switch_to_its_thread() {
    let mut script = Script::new(1);
    let a = script.thread("a", 10, 120);
    script.switch(100, 0, PREEMPTED, a).switch(200, 0, SLEEPING, IDLE);
    script.wake(500, 0, a, 0).switch(530, 0, PREEMPTED, a).switch(600, 0, SLEEPING, IDLE);
    let accounts = accounts(script, &[]);
    let latency = &of(&accounts, &a).wakeup_latency;
    assert_eq!((latency.count, latency.max), (1, Nanos::from_micros(30)));
}

#[test]
fn interrupts_in_a_quantum_are_counted_separately() {
    let mut script = Script::new(1);
    let a = script.thread("a", 10, 120);
    script.switch(100, 0, PREEMPTED, a).irq(150, 180, 0, 25, "eth0");
    script.switch(300, 0, SLEEPING, IDLE).irq(400, 450, 0, 25, "eth0").noise(500, 0);
    let accounts = accounts(script, &[]);
    let a = of(&accounts, &a);
    assert_eq!((a.used, a.interrupted), (Nanos::from_micros(200), Nanos::from_micros(30)));
    assert_eq!(accounts.idle.interrupted, Nanos::from_micros(50));
}

#[test]
fn stretches_are_added_up() {
    let stretch = |cpus, length: u64| {
        let mut script = Script::new(cpus);
        let a = script.thread("a", 10, 120);
        script.switch(1000, 0, PREEMPTED, a);
        tick(&mut script, 4000, 0);
        tick(&mut script, 8000, 0);
        script.switch(1000 + length, 0, SLEEPING, IDLE).noise(20_000, cpus - 1);
        accounts(script, &[1000])
    };
    let (first, second) = (stretch(1, 8000), stretch(2, 9000));
    let pooled = Accounts::pool([first.clone(), second]).expect("there are two");
    check_sums(&pooled);
    assert_eq!(pooled.length(), Nanos::from_millis(40));
    let a = pooled.program("a").expect("it ran in both");
    assert_eq!((a.used, a.quanta.count), (Nanos::from_millis(17), 2));
    assert_eq!(ends(a), [(End::Slept { call: None }, 2)]);
    let billing = a.billing(TickClock::Kernel).expect("there are ticks");
    assert_eq!((billing.ticks.value, billing.quanta), (4, 2));
    assert_eq!(billing.scatter.iter().map(|point| point.count).sum::<u64>(), 2);
    assert_eq!(Accounts::pool([first.clone()]), Some(first));
    assert_eq!(Accounts::pool([]), None);
}
