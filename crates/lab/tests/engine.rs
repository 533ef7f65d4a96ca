//! The engine with scripted measuring processes: no real process, no measured time.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use tactus_lab::engine::Engine;
use tactus_lab::event::Event;
use tactus_lab::host::Host;
use tactus_lab::target::{Inbox, Measuring, Stopper, Target};
use tactus_model::experiment::{Experiment, Overrides, Plan, Turn};
use tactus_model::facts::MachineFacts;
use tactus_model::message::{CellRequest, Message};
use tactus_model::result::{Histogram, LoadResult, MachineRates, Measurement, ProbeCost};
use tactus_model::run::{RunId, RunStatus};
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::{Instant, Nanos};
use tactus_stats::narrow::Next;
use tactus_store::Store;
use tactus_wire::Input;

/// The behaviour of a scripted measuring process.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Script {
    Succeed,
    Fail,
    Die,
    Hang,
    SendGarbage,
    RefuseToStart,
    /// Sends input for an earlier turn, then succeeds.
    SendForEarlierTurn,
}

struct ScriptedTarget<'a> {
    script: &'a dyn Fn(&CellRequest) -> Script,
    earlier: Option<Inbox>,
    requests: Vec<CellRequest>,
}

struct Scripted;

impl Measuring for Scripted {
    fn end(self: Box<Self>) -> String {
        "it was killed by signal 9".to_owned()
    }
}

impl Target for ScriptedTarget<'_> {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        self.requests.push(request.clone());
        let finished = || Input::Message(Message::Finished(Box::new(measurement(request.turn))));
        match (self.script)(request) {
            Script::Succeed => {
                inbox.put(Input::Message(Message::Opened));
                inbox.put(Input::Message(Message::Closed));
                inbox.put(finished());
            }
            Script::Fail => {
                let (reason, hint) = ("the load would not start".to_owned(), None);
                inbox.put(Input::Message(Message::Failed { reason, hint }));
            }
            Script::Die => {
                inbox.put(Input::Closed);
            }
            Script::Hang => {
                inbox.put(Input::Message(Message::Opened));
            }
            Script::SendGarbage => {
                inbox.put(Input::Garbled("segmentation fault".to_owned()));
            }
            Script::RefuseToStart => return Err(io::Error::other("no more processes")),
            Script::SendForEarlierTurn => {
                if let Some(earlier) = &self.earlier {
                    earlier.put(Input::Garbled("too late".to_owned()));
                }
                inbox.put(finished());
            }
        }
        self.earlier = Some(inbox);
        Ok(Box::new(Scripted))
    }
}

fn measurement(turn: Turn) -> Measurement {
    Measurement {
        turn,
        started: Instant::from_nanos(1),
        window: Nanos::from_secs(1),
        block_length: Nanos::from_millis(100),
        tasks: Vec::new(),
        load: LoadResult::default(),
        rates: MachineRates::default(),
        cost: ProbeCost::default(),
        shortfalls: Vec::new(),
        traced: None,
        precision: None,
        guest: None,
    }
}

fn plan() -> Plan {
    let text = "name = \"scripted\"\nrounds = 2\nseed = 3\n[settings]\nduration = \"10ms\"\nwarmup = \"0ns\"\ninterval = [\"1ms\", \"2ms\", \"3ms\"]";
    Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap()
}

fn facts() -> MachineFacts {
    MachineFacts::unknown(Instant::from_nanos(0))
}

fn new_run(store: &mut Store) -> RunId {
    store.create_run(&plan(), &facts(), "test", Instant::from_nanos(0), None).unwrap()
}

/// Carries out a run with `script`, passes the stopper to `on_event`, and returns the status and
/// the requests.
fn carry_out(
    store: &mut Store,
    run: &RunId,
    script: &dyn Fn(&CellRequest) -> Script,
    on_event: &mut dyn FnMut(&Event<'_>, &Stopper),
) -> (RunStatus, Vec<CellRequest>) {
    carry_out_at_a_time(1, Duration::from_millis(50), store, run, script, on_event)
}

/// The same with so many turns at a time, and this patience.
fn carry_out_at_a_time(
    turns: usize,
    patience: Duration,
    store: &mut Store,
    run: &RunId,
    script: &dyn Fn(&CellRequest) -> Script,
    on_event: &mut dyn FnMut(&Event<'_>, &Stopper),
) -> (RunStatus, Vec<CellRequest>) {
    let mut target = ScriptedTarget { script, earlier: None, requests: Vec::new() };
    let mut engine = Engine::new(store, &mut target, &facts);
    engine.patience = patience;
    engine.turns_at_a_time = turns;
    let stopper = engine.stopper();
    let status = engine.carry_out(run, &mut |event| on_event(&event, &stopper)).unwrap();
    (status, target.requests)
}

#[test]
fn every_turn_runs_once_and_is_stored() {
    let mut store = Store::open_in_memory().unwrap();
    let run = new_run(&mut store);
    let (status, requests) = carry_out(&mut store, &run, &|_| Script::Succeed, &mut |_, _| {});
    assert_eq!(status, RunStatus::Complete);
    assert_eq!(requests.iter().map(|request| request.turn).collect::<Vec<_>>(), plan().turns());
    let stored = store.load(&run).unwrap();
    assert_eq!(stored.measurements.len(), 6);
    assert_eq!(stored.header.status, RunStatus::Complete);
    assert!(stored.header.facts_after.is_some());
    let seeds: BTreeSet<u64> = requests.iter().map(|request| request.seed).collect();
    assert_eq!(seeds.len(), 6, "every turn has random intervals of its own");
}

#[test]
fn several_turns_at_a_time_have_the_events_and_results_of_one_at_a_time() {
    // The first turn ends last.
    let script = |request: &CellRequest| match (request.turn.round, request.turn.cell) {
        (0, cell) if Some(cell) == plan().turns().first().map(|turn| turn.cell) => Script::Hang,
        (1, 2) => Script::Die,
        _ => Script::Succeed,
    };
    let taken = |turns: usize| {
        let mut store = Store::open_in_memory().unwrap();
        let run = new_run(&mut store);
        let mut events = Vec::new();
        let mut on_event = |event: &Event<'_>, _: &Stopper| {
            events.push(match event {
                Event::TurnStarted { turn, label, done, of, .. } => {
                    format!("{turn:?} {label} {done} {of}")
                }
                Event::RunStarted { turns, .. } => format!("{turns} turns"),
                other => serde_json::to_string(other).unwrap(),
            });
        };
        let patience = Duration::from_millis(50);
        let (status, requests) =
            carry_out_at_a_time(turns, patience, &mut store, &run, &script, &mut on_event);
        let events: Vec<String> =
            events.iter().map(|event| event.replace(run.as_str(), "RUN")).collect();
        let mut stored = store.load(&run).unwrap();
        stored.header.id = RunId::new("same");
        (status, requests, events, serde_json::to_string(&stored).unwrap())
    };
    let one = taken(1);
    assert_eq!(one.0, RunStatus::Partial);
    assert_eq!(taken(2), one);
    assert_eq!(taken(10), one);
}

#[test]
fn turns_that_began_early_end_with_the_run() {
    let mut store = Store::open_in_memory().unwrap();
    let run = new_run(&mut store);
    let mut stop_at_once = |event: &Event<'_>, stopper: &Stopper| {
        if matches!(event, Event::WindowOpened { .. }) {
            stopper.stop();
        }
    };
    let patience = Duration::from_secs(600);
    let (status, requests) =
        carry_out_at_a_time(3, patience, &mut store, &run, &|_| Script::Hang, &mut stop_at_once);
    assert_eq!((status, requests.len()), (RunStatus::Interrupted, 3));
    let stored = store.load(&run).unwrap();
    assert_eq!((stored.measurements.len(), stored.failures.len()), (0, 0));
}

#[test]
fn every_kind_of_failed_turn_is_stored_with_its_reason() {
    let cases = [
        (Script::Fail, "the load would not start"),
        (Script::Die, "died: it was killed by signal 9"),
        (Script::Hang, "did not respond"),
        (Script::SendGarbage, "invalid output of the measuring process: segmentation fault"),
        (Script::RefuseToStart, "cannot start the measuring process: no more processes"),
    ];
    for (script, reason) in cases {
        let mut store = Store::open_in_memory().unwrap();
        let run = new_run(&mut store);
        let wrong = Turn { round: 1, cell: 2 };
        let by_turn =
            |request: &CellRequest| if request.turn == wrong { script } else { Script::Succeed };
        let (status, _) = carry_out(&mut store, &run, &by_turn, &mut |_, _| {});
        assert_eq!(status, RunStatus::Partial, "{script:?}");
        let stored = store.load(&run).unwrap();
        assert_eq!(stored.measurements.len(), 5, "{script:?}");
        assert_eq!(stored.failures.len(), 1, "{script:?}");
        assert_eq!(stored.failures[0].turn, wrong);
        let stored = &stored.failures[0].reason;
        assert!(stored.contains(reason), "{script:?}: {stored}");

        let (status, requests) = carry_out(&mut store, &run, &|_| Script::Succeed, &mut |_, _| {});
        assert_eq!(status, RunStatus::Complete, "{script:?}");
        assert_eq!(requests.len(), 1, "only the failed turn is measured again");
        let stored = store.load(&run).unwrap();
        assert_eq!((stored.measurements.len(), stored.failures.len()), (6, 0));
    }
}

/// The failure of a turn whose measuring process runs this script.
fn failure_of(script: &str) -> String {
    let text = "[settings]\nduration = \"10ms\"\ncpus = \"0\"\nsample-limit = 100";
    let plan = Experiment::parse(text).unwrap().plan(&Overrides::default()).unwrap();
    let mut store = Store::open_in_memory().unwrap();
    let run = store.create_run(&plan, &facts(), "test", Instant::from_nanos(0), None).unwrap();
    let mut host = Host::new("sh".into(), &["-c", &format!("read request; {script}")]);
    let mut engine = Engine::new(&mut store, &mut host, &facts);
    engine.carry_out(&run, &mut |_| ()).unwrap();
    store.load(&run).unwrap().failures.remove(0).reason
}

#[test]
fn a_process_that_sends_without_end_fails_its_turn() {
    let check = |message: &str, excess: &str| {
        let reason = failure_of(&format!("exec yes '{message}'"));
        assert_eq!(reason, format!("the measuring process sent {excess}"));
    };
    let block = |samples: &[Sample]| {
        let block = SampleBlock::encode(samples);
        serde_json::to_string(&Message::Samples { task: 0, block }).unwrap()
    };
    check("{\"message\":\"opened\"}", "the message \"opened\" twice");
    check("{\"message\":\"closed\"}", "the message \"closed\" twice");
    let samples = block(&[Sample::default(); 30]);
    let too_many = "more than 100 samples, the sample-limit of all tasks together";
    check(&samples, too_many);
    check(&samples.replace("samples\",", "traced-samples\","), too_many);
    check(&block(&[]), "a block with a wrong number of samples");
    let padded = format!("\"bytes\":\"{}", "AAAA".repeat(1000));
    check(&samples.replace("\"bytes\":\"", &padded), "a block with a wrong number of samples");
    check("{\"message\":\"recording\",\"bytes\":\"\"}", "an empty piece of a recording");
    let shortfall = r#"{"message":"shortfall","asked":"","granted":"","reason":"","fix":null}"#;
    check(shortfall, "more than 65536 shortfalls");
}

#[test]
fn input_of_an_ended_turn_does_not_affect_a_later_turn() {
    let mut store = Store::open_in_memory().unwrap();
    let run = new_run(&mut store);
    let (_, requests) =
        carry_out(&mut store, &run, &|_| Script::SendForEarlierTurn, &mut |_, _| {});
    assert_eq!(requests.len(), 6);
    assert!(store.load(&run).unwrap().failures.is_empty());
}

#[test]
fn a_stopped_run_keeps_its_results_and_can_be_continued() {
    let mut store = Store::open_in_memory().unwrap();
    let run = new_run(&mut store);
    let mut finished = 0;
    let (status, requests) =
        carry_out(&mut store, &run, &|_| Script::Succeed, &mut |event, stopper| {
            if matches!(event, Event::TurnFinished { .. }) {
                finished += 1;
                if finished == 2 {
                    stopper.stop();
                }
            }
        });
    assert_eq!(status, RunStatus::Interrupted);
    let stored = store.load(&run).unwrap();
    assert_eq!(stored.header.status, RunStatus::Interrupted);
    assert!(stored.measurements.len() >= 2);
    assert!(requests.len() < 6, "the other turns have not started");

    let left = 6 - stored.measurements.len();
    let (status, requests) = carry_out(&mut store, &run, &|_| Script::Succeed, &mut |_, _| {});
    assert_eq!(status, RunStatus::Complete);
    assert_eq!(requests.len(), left, "only the remaining turns run");
    let turns: BTreeSet<Turn> =
        store.load(&run).unwrap().measurements.iter().map(|found| found.turn).collect();
    assert_eq!(turns.len(), 6);
}

/// A run whose aim scripted processes never reach, so it ends at `limit`.
fn open_ended(store: &mut Store, limit: &str) -> RunId {
    let text = format!(
        "name = \"open\"\nuntil = \"p50:10%\"\nlimit = \"{limit}\"\n[settings]\nduration = \"10ms\"\nwarmup = \"0ns\"\ntraced = \"0s\""
    );
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    store.create_run(&plan, &facts(), "test", Instant::from_nanos(0), None).unwrap()
}

#[test]
fn rounds_are_added_while_an_interval_is_wide_and_survive_an_interruption() {
    let mut store = Store::open_in_memory().unwrap();
    let run = open_ended(&mut store, "1h");
    let mut decisions = Vec::new();
    let (status, requests) =
        carry_out(&mut store, &run, &|_| Script::Succeed, &mut |event, stopper| match event {
            Event::RoundsTaken { rounds, next, .. } => decisions.push((*rounds, *next)),
            Event::TurnStarted { turn: Turn { round: 5, .. }, .. } => stopper.stop(),
            _ => {}
        });
    assert_eq!(status, RunStatus::Interrupted);
    assert_eq!(decisions, [3, 4, 5].map(|rounds| (rounds, Next::AnotherRound)));
    assert_eq!(requests.len(), 6);
    assert_eq!(store.header(&run).unwrap().plan.rounds, 6, "an added round stays in the plan");

    let (_, requests) = carry_out(&mut store, &run, &|_| Script::Succeed, &mut |event, stopper| {
        if matches!(event, Event::RoundsTaken { rounds: 7, .. }) {
            stopper.stop();
        }
    });
    let rounds: Vec<u32> = requests.iter().map(|request| request.turn.round).collect();
    assert!(rounds.starts_with(&[5, 6]) || rounds.starts_with(&[6]), "{rounds:?}");
    let numbers: BTreeSet<u64> = requests.iter().map(|request| request.seed).collect();
    assert_eq!(numbers.len(), requests.len());
}

#[test]
fn the_limit_ends_a_run_after_its_minimum_of_rounds() {
    let mut store = Store::open_in_memory().unwrap();
    let run = open_ended(&mut store, "1ms");
    let mut last = None;
    let (status, requests) = carry_out(&mut store, &run, &|_| Script::Die, &mut |event, _| {
        if let Event::RoundsTaken { next, left, cells, .. } = event {
            last = Some((*next, *left, cells[0].met));
        }
    });
    assert_eq!((status, requests.len()), (RunStatus::Partial, 3));
    assert_eq!(last.map(|(next, _, met)| (next, met)), Some((Next::Limit, false)));
    let (status, _) = carry_out(&mut store, &run, &|_| Script::Succeed, &mut |_, _| {});
    assert_eq!(status, RunStatus::Complete);
    assert!(store.add_round(&run).is_err(), "a complete run is not altered");
}

#[test]
fn an_unbalanced_histogram_is_an_error() {
    // The store refuses it, and the engine returns that error.
    let mut store = Store::open_in_memory().unwrap();
    let run = new_run(&mut store);
    let mut unbalanced = measurement(Turn { round: 0, cell: 0 });
    unbalanced.tasks.push(tactus_model::result::TaskResult {
        task: 0,
        cpu: Some(0),
        granted: tactus_model::result::Granted {
            scheduling: tactus_model::policy::Scheduling::ORDINARY,
            cpus: [0].into_iter().collect(),
            memory_locked: false,
            timer_slack: None,
        },
        accounting: tactus_model::result::Accounting {
            intended: 10,
            observed: 8,
            missed: 1,
            dropped: 0,
            early: 0,
        },
        blocks: Vec::new(),
        missed_latencies: Histogram::default(),
        series: Vec::new(),
        scope: Vec::new(),
        worst: Vec::new(),
        usage: Default::default(),
        use_over_time: Vec::new(),
        batches: Vec::new(),
        timer_interrupts: None,
        clock: None,
        by_dirt: None,
        messages: None,
        playback: None,
    });
    assert!(store.save_measurement(&run, &unbalanced, &[]).is_err());
    assert!(store.load(&run).unwrap().measurements.is_empty());
}
