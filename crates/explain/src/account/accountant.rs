//! Walks through a recording once and adds up its quanta.

use std::collections::{BTreeMap, HashMap};

use tactus_model::recording::{
    About, Dictionary, Event, EventKind, EventSource, Item, Lost, NameId, ProcessId, SleepingCall,
    SourceError, ThreadId,
};
use tactus_model::time::{Instant, Monotonic, Nanos};

use super::accounts::{Account, AccountOptions, Accounts, CpuUse};
use super::billing::Metronome;
use super::end::End;
use super::ledger::{During, Ledger};
use super::tick::{Beat, TickFinder};
use crate::machine::{
    Absence, Activity, Leaving, Machine, Migration, Observer, Quantum, Slice, Steal,
};
use crate::number_map::NumberMap;

/// How many quanta wait to be billed until the kernel's tick is found: one second on a
/// machine with 65 000 switches per second.
const WAITING_MAX: usize = 1 << 16;

/// How many accounts of threads any recording may have.
const ACCOUNTS_ALWAYS: usize = 1 << 14;

/// One more account for this many events: an account takes about 4 kB, and 64 events take
/// about 500 bytes of a recording. A build has some hundred events for each of its threads.
const EVENTS_PER_ACCOUNT: usize = 64;

/// The name of the account that threads beyond the limit share.
const OTHERS_NAME: &str = "other threads";

/// Accounts for the CPU time of a recording.
///
/// # Errors
/// The errors of the source. Nothing is accounted for then, not even what the source
/// gave before the error.
pub fn account(
    source: &mut dyn EventSource,
    options: &AccountOptions,
) -> Result<Accounts, SourceError> {
    let mut accountant = Accountant::new(source.about(), options.clone());
    while let Some(item) = source.next_item()? {
        match item {
            Item::Event(event) => accountant.event(&event, source.dictionary()),
            Item::Lost(lost) => accountant.lost(&lost),
        }
    }
    Ok(accountant.finish(source.dictionary()))
}

/// Accounts for CPU time while events come in.
///
/// The caller passes events and losses in the order of time and then calls
/// [`Self::finish`]. Memory use grows with the number of threads, not with the number
/// of events. Only 16 384 threads and one more for every 64 events have accounts of their
/// own; the others share one, so that a recording cannot take memory out of proportion.
#[derive(Clone, Debug)]
pub struct Accountant {
    about: About,
    machine: Machine,
    books: Books,
    last_loss: Instant<Monotonic>,
}

impl Accountant {
    /// Makes an accountant for a recording described by `about`.
    pub fn new(about: &About, options: AccountOptions) -> Self {
        Self {
            about: about.clone(),
            machine: Machine::new(about),
            books: Books::new(about.started, options),
            last_loss: about.started,
        }
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event, names: &Dictionary) {
        self.books.events += 1;
        let beat = self.books.ticks.event(event, names);
        self.machine.step(event, &mut self.books);
        match beat {
            Beat::None => {}
            Beat::Timer => self.books.cpu(event.cpu).during.timer_ticks += 1,
            Beat::Vector => self.books.cpu(event.cpu).during.vector_ticks += 1,
        }
        match event.kind {
            EventKind::CallEnter(call) => self.books.thread(event.thread).call = Some(call),
            EventKind::SystemCallEnter { call, .. } => {
                self.books.thread(event.thread).call = names.name(call).parse().ok();
            }
            EventKind::CallExit { .. } | EventKind::SystemCallExit { .. } => {
                self.books.thread(event.thread).call = None;
            }
            _ => {}
        }
    }

    /// Takes a loss of events.
    pub fn lost(&mut self, lost: &Lost) {
        self.books.is_switch_missing = false;
        self.machine.lose(lost, &mut self.books);
        self.books.is_switch_missing = true;
        self.last_loss = self.last_loss.max(lost.to);
    }

    /// Closes the books and returns the accounts.
    pub fn finish(mut self, names: &Dictionary) -> Accounts {
        let ended = self.machine.now().max(self.last_loss);
        self.books.is_switch_missing = false;
        self.machine.close(ended, &mut self.books);
        self.books.finish(&self.about, ended, &self.machine, names)
    }
}

/// The books: all sums that are kept while the machine is replayed.
#[derive(Clone, Debug)]
struct Books {
    options: AccountOptions,
    started: Instant<Monotonic>,
    ledgers: Vec<Ledger>,
    by_name: HashMap<(ThreadId, NameId), usize>,
    threads: NumberMap<i32, Thread>,
    /// The state of the present thread beyond the limit; nothing is remembered about it.
    stranger: Thread,
    /// The ledger of all threads beyond the limit, once there is one.
    others: Option<usize>,
    /// The number of events so far, which limits the number of ledgers.
    events: usize,
    cpus: Vec<Cpu>,
    ticks: TickFinder,
    /// Quanta that wait to be billed until the kernel's tick is found.
    waiting: Vec<Bill>,
    /// One sweep for each rate of the options, once the sweeps have a phase.
    clocks: Option<Vec<Metronome>>,
    /// Whether a quantum without an end means that a switch event is missing.
    is_switch_missing: bool,
    missing_switches: u64,
}

/// The ledger of the idle threads.
const IDLE: usize = 0;

/// The accountant's state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// The ledger of the thread's last entry.
    ledger: Option<usize>,
    /// The system call that the thread is in.
    call: Option<SleepingCall>,
    /// How long the thread waited before it came to its present CPU.
    latency: Option<Nanos>,
}

/// The accountant's state of a CPU.
#[derive(Clone, Copy, Debug)]
struct Cpu {
    used: Nanos,
    idle: Nanos,
    unknown: Nanos,
    /// When the last loss ended.
    known_from: Instant<Monotonic>,
    /// What went on during the open quantum.
    during: During,
    /// A quantum that the kernel's stopper thread ended; the stopper may be about to
    /// move its thread.
    stopped: Option<Stopped>,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            used: Nanos::ZERO,
            idle: Nanos::ZERO,
            unknown: Nanos::ZERO,
            known_from: Instant::from_nanos(0),
            during: During::default(),
            stopped: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Stopped {
    thread: ThreadId,
    ledger: usize,
    length: Nanos,
}

/// A quantum to be billed.
#[derive(Clone, Copy, Debug)]
struct Bill {
    ledger: usize,
    from: Instant<Monotonic>,
    to: Instant<Monotonic>,
    is_whole: bool,
    timer_ticks: u64,
    vector_ticks: u64,
}

impl Books {
    fn new(started: Instant<Monotonic>, options: AccountOptions) -> Self {
        let idle = Ledger::new(ThreadId::IDLE, NameId::UNKNOWN, options.rates.len());
        Self {
            options,
            started,
            ledgers: vec![idle],
            by_name: HashMap::new(),
            threads: NumberMap::default(),
            stranger: Thread::default(),
            others: None,
            events: 0,
            cpus: Vec::new(),
            ticks: TickFinder::default(),
            waiting: Vec::new(),
            clocks: None,
            is_switch_missing: true,
            missing_switches: 0,
        }
    }

    /// The CPUs by number. Events carry only CPU numbers that the machine has, so the
    /// list never grows beyond that.
    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        let index = (cpu as usize).min(tactus_model::cpus::CpuList::LIMIT as usize);
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, Cpu::default);
        }
        &mut self.cpus[index]
    }

    /// How many ledgers, and how many threads, the books may have now.
    fn limit(&self) -> usize {
        ACCOUNTS_ALWAYS.max(self.events / EVENTS_PER_ACCOUNT)
    }

    fn thread(&mut self, thread: ThreadId) -> &mut Thread {
        let is_full = self.threads.len() >= self.limit();
        if is_full && !self.threads.contains_key(&thread.0) {
            self.stranger = Thread::default();
            return &mut self.stranger;
        }
        self.threads.entry(thread.0).or_default()
    }

    /// The ledger of a thread under a name.
    fn ledger(&mut self, thread: ThreadId, name: NameId) -> usize {
        if thread.is_idle() {
            return IDLE;
        }
        let last = self.thread(thread).ledger;
        // Until the new name is known, the previous name applies.
        if let Some(last) = last
            && (name == NameId::UNKNOWN || self.ledgers[last].name == name)
        {
            return last;
        }
        let ledger = match self.by_name.get(&(thread, name)) {
            Some(ledger) => *ledger,
            None if self.ledgers.len() < self.limit() => {
                let ledger = self.add_ledger(thread, name);
                self.by_name.insert((thread, name), ledger);
                ledger
            }
            None => match self.others {
                Some(others) => others,
                None => {
                    let others = self.add_ledger(thread, NameId::UNKNOWN);
                    *self.others.insert(others)
                }
            },
        };
        self.thread(thread).ledger = Some(ledger);
        ledger
    }

    fn add_ledger(&mut self, thread: ThreadId, name: NameId) -> usize {
        self.ledgers.push(Ledger::new(thread, name, self.options.rates.len()));
        self.ledgers.len() - 1
    }

    /// Bills a quantum, or queues it until the tick is known.
    fn bill(&mut self, bill: Bill) {
        self.waiting.push(bill);
        if self.ticks.grid().is_some() || self.waiting.len() >= WAITING_MAX {
            self.bill_waiting();
        }
    }

    fn bill_waiting(&mut self) {
        let reference = self.ticks.grid().unwrap_or(self.started);
        let clocks = self.clocks.get_or_insert_with(|| {
            let rates = self.options.rates.iter();
            rates.map(|rate| Metronome::new(*rate, self.started, reference)).collect()
        });
        let is_periodic = self.ticks.is_periodic();
        for bill in self.waiting.drain(..) {
            let ledger = &mut self.ledgers[bill.ledger];
            let ticks = if is_periodic { bill.vector_ticks } else { bill.timer_ticks };
            ledger.recorded.add(bill.to - bill.from, ticks, bill.is_whole);
            for (clock, sweep) in clocks.iter().zip(&mut ledger.sweeps) {
                sweep.add(clock, bill.from, bill.to, bill.is_whole);
            }
        }
    }

    /// Why a quantum ended; `None` when a later event decides it.
    fn end(&mut self, quantum: &Quantum, leaving: &Leaving, ledger: usize) -> Option<End> {
        let by_tick = match leaving.asked {
            Some(Activity::Timer { function }) => self.ticks.knows_as_tick(function),
            Some(Activity::Vector(vector)) => {
                vector == tactus_model::recording::InterruptVector::LocalTimer
                    && self.ticks.is_periodic()
            }
            _ => false,
        };
        let call = self.thread(quantum.thread).call;
        let end = End::of(quantum, leaving, by_tick, call);
        let is_stopper = leaving.next_priority.0 < 0 && !leaving.next.is_idle();
        if end == End::PreemptedByPriority && is_stopper {
            let stopped = Stopped { thread: quantum.thread, ledger, length: quantum.length() };
            self.cpu(quantum.cpu).stopped = Some(stopped);
            return None;
        }
        Some(end)
    }

    /// A thread that the stopper did not move was only preempted by it.
    fn settle(&mut self, cpu: u32) {
        if let Some(stopped) = self.cpu(cpu).stopped.take() {
            self.ledgers[stopped.ledger].ended(End::PreemptedByPriority, stopped.length);
        }
    }

    fn finish(
        mut self,
        about: &About,
        ended: Instant<Monotonic>,
        machine: &Machine,
        names: &Dictionary,
    ) -> Accounts {
        self.bill_waiting();
        (0..self.cpus.len()).for_each(|cpu| self.settle(cpu as u32));
        let tick = self.ticks.finish(names);
        let fill = |ledger: &Ledger, account| ledger.fill(account, &self.options, &tick);
        let index = Index::of(&self.ledgers, names);
        let mut threads: Vec<Account> = Vec::new();
        let mut programs: BTreeMap<&str, (Ledger, Vec<ThreadId>, Vec<ProcessId>)> = BTreeMap::new();
        let ledgers = self.ledgers.iter().enumerate().skip(1);
        for (number, ledger) in ledgers.filter(|(_, ledger)| !ledger.is_empty()) {
            let is_others = self.others == Some(number);
            let (process, program, account) = if is_others {
                (None, OTHERS_NAME, Account::of(OTHERS_NAME, 0))
            } else {
                let process = names.process_of(ledger.thread);
                let program = index.program(ledger, names);
                let account = Account {
                    thread: Some(ledger.thread),
                    process,
                    program: program.to_owned(),
                    ..Account::of(names.name(ledger.name), 1)
                };
                (process, program, account)
            };
            threads.push(fill(ledger, account));
            let (sum, members, processes) = programs.entry(program).or_insert_with(|| {
                let rates = self.options.rates.len();
                (Ledger::new(ledger.thread, ledger.name, rates), Vec::new(), Vec::new())
            });
            sum.merge(ledger);
            members.extend((!is_others).then_some(ledger.thread));
            processes.extend(process);
        }
        let mut programs: Vec<Account> = programs
            .into_iter()
            .map(|(name, (ledger, mut members, mut processes))| {
                members.sort_unstable();
                members.dedup();
                processes.sort_unstable_by_key(|process| process.0);
                processes.dedup();
                let account = Account::of(name, members.len() as u64);
                let process = if processes.len() == 1 { processes.pop() } else { None };
                fill(&ledger, Account { process, ..account })
            })
            .collect();
        programs.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        threads.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.thread.cmp(&b.thread)));
        let idle = fill(&self.ledgers[IDLE], Account::of("idle", 0));
        let cpus = (0..machine.cpus().len() as u32)
            .filter(|cpu| {
                about.cpus.contains(*cpu) || machine.cpus()[*cpu as usize].thread().is_some()
            })
            .map(|cpu| {
                let Cpu { used, idle, unknown, .. } =
                    self.cpus.get(cpu as usize).copied().unwrap_or_default();
                CpuUse { cpu, used, idle, unknown }
            })
            .collect();
        Accounts {
            started: about.started,
            ended,
            cpus,
            programs,
            threads,
            idle,
            missing_switches: self.missing_switches,
            tick,
        }
    }
}

impl Observer for Books {
    fn quantum(&mut self, quantum: &Quantum) {
        let ledger = self.ledger(quantum.thread, quantum.name);
        self.settle(quantum.cpu);
        let cpu = self.cpu(quantum.cpu);
        let during = std::mem::take(&mut cpu.during);
        let length = quantum.length();
        if quantum.thread.is_idle() {
            cpu.idle = cpu.idle + length;
        } else {
            cpu.used = cpu.used + length;
        }
        self.missing_switches += u64::from(quantum.left.is_none() && self.is_switch_missing);
        let is_whole = quantum.is_whole();
        self.ledgers[ledger].quantum(quantum, is_whole, &during);
        if ledger != IDLE {
            if let Some(latency) = self.thread(quantum.thread).latency.take() {
                self.ledgers[ledger].woken(latency);
            }
            if let Some(leaving) = &quantum.left
                && let Some(end) = self.end(quantum, leaving, ledger)
            {
                self.ledgers[ledger].ended(end, length);
            }
        }
        self.bill(Bill {
            ledger,
            from: quantum.from,
            to: quantum.to,
            is_whole,
            timer_ticks: during.timer_ticks,
            vector_ticks: during.vector_ticks,
        });
    }

    fn unknown(&mut self, cpu: u32, from: Instant<Monotonic>, to: Instant<Monotonic>) {
        let cpu = self.cpu(cpu);
        cpu.unknown = cpu.unknown + (to - from);
        cpu.known_from = cpu.known_from.max(to);
        cpu.during = During::default();
    }

    fn slice(&mut self, slice: Slice) {
        if !slice.activity.is_thread() && !slice.activity.is_idle() {
            let cpu = self.cpu(slice.cpu);
            let length = slice.to - slice.from.max(cpu.known_from);
            cpu.during.interrupted = cpu.during.interrupted + length;
        }
    }

    fn steal(&mut self, steal: Steal) {
        let during = &mut self.cpu(steal.cpu).during;
        during.stolen = during.stolen + steal.amount;
    }

    fn absence(&mut self, absence: &Absence) {
        // Only the switch event shows when the thread came.
        let waking = absence.waking.filter(|_| absence.back_at_min.is_none());
        self.thread(absence.thread).latency = waking.map(|waking| absence.back_at - waking.at);
    }

    fn migration(&mut self, migration: Migration) {
        let moved =
            |cpu: &&mut Cpu| cpu.stopped.is_some_and(|stopped| stopped.thread == migration.thread);
        if let Some(stopped) = self.cpus.iter_mut().find(moved).and_then(|cpu| cpu.stopped.take()) {
            self.ledgers[stopped.ledger].ended(End::Migrated, stopped.length);
        }
    }
}

/// Maps threads to programs.
struct Index {
    /// The last name of every thread.
    names: HashMap<ThreadId, NameId>,
}

impl Index {
    fn of(ledgers: &[Ledger], names: &Dictionary) -> Self {
        let named = ledgers.iter().filter(|ledger| names.name(ledger.name) != "?");
        Self { names: named.map(|ledger| (ledger.thread, ledger.name)).collect() }
    }

    /// The program of a thread: the name of its process's main thread; the thread's own
    /// name where the main thread was not seen or is not known.
    fn program<'n>(&self, ledger: &Ledger, names: &'n Dictionary) -> &'n str {
        let main = names.process_of(ledger.thread).map(|process| ThreadId(process.0));
        let name = match main {
            Some(main) if main != ledger.thread => self.names.get(&main).copied(),
            _ => None,
        };
        without_number(names.name(name.unwrap_or(ledger.name)))
    }
}

/// Takes all kernel workers as one program, whatever their number, pool and work.
fn without_number(name: &str) -> &str {
    const WORKER: &str = "kworker";
    if name.starts_with("kworker/") { WORKER } else { name }
}

impl Account {
    /// An empty account with this name.
    fn of(name: &str, threads: u64) -> Self {
        Self {
            name: name.to_owned(),
            thread: None,
            process: None,
            program: name.to_owned(),
            threads,
            used: Nanos::ZERO,
            interrupted: Nanos::ZERO,
            stolen: Nanos::ZERO,
            quanta: tactus_model::result::Histogram::default(),
            cut: super::accounts::Cut::default(),
            ends: Vec::new(),
            wakeup_latency: tactus_model::result::Histogram::default(),
            billing: Vec::new(),
        }
    }
}
