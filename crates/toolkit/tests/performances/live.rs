//! Live performances by a server: what is written is what is written in virtual time.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::conduct::{self, REACTION, Taps};
use crate::sequencer;
use tactus_delivery::device::Delivery;
use tactus_delivery::item::Item;
use tactus_model::random::SplitMix64;
use tactus_stream::Format;
use tactus_streamd::sink::{HandedOver, Payload, Sink};
use tactus_streamd::{LocalServer, Offered, Settings};
use tactus_sys::{clock, pty::Pty};
use tactus_toolkit::rehearsal::UNLIMITED;
use tactus_toolkit::{
    Client, Lead, Moment, Nanos, Outcome, Performance, Problem, Report, Score, Stage, Task, Wanted,
    rehearse,
};

/// What came out, and when.
type Seen = Arc<Mutex<Vec<(Moment, Vec<u8>)>>>;

/// A device that keeps what it gets.
struct Keeps(Format, Seen);

impl Sink for Keeps {
    fn format(&self) -> Format {
        self.0
    }

    fn hand_over(&mut self, item: &Item<Payload>) -> HandedOver {
        let at = clock::now();
        self.1.lock().unwrap().push((at, item.payload.to_vec()));
        HandedOver::Done(Delivery::by_call(at, at, true))
    }
}

struct Running {
    server: LocalServer,
}

impl Running {
    fn start(devices: &[(&str, Format, &Seen)]) -> Self {
        let offered = devices.iter().map(|(name, format, seen)| Offered {
            name: (*name).to_owned(),
            spec: "test".to_owned(),
            sink: Box::new(Keeps(*format, Arc::clone(seen))),
        });
        let settings = Settings { horizon: Nanos::from_secs(1), ..Settings::ORDINARY };
        let server = LocalServer::start(offered.collect(), Vec::new(), settings).unwrap();
        Self { server }
    }

    fn socket(&self) -> PathBuf {
        self.server.socket()
    }

    fn stage(&self, score: Score, lead: Lead) -> Stage {
        let wanted = Wanted { payload_bytes: 512, ..Wanted::named("test") };
        let client = Client::connect(self.socket(), &wanted).unwrap();
        Stage::new(client, score, lead).unwrap().with_transcript()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.end().unwrap();
        }
    }
}

/// What a score writes in virtual time.
fn virtually(score: Score) -> String {
    let origin = Moment::from_nanos(0);
    let mut all = [Performance::new(score, Lead::Fixed(Nanos::ZERO), origin).with_transcript()];
    rehearse(&mut all, UNLIMITED, &mut SplitMix64::new(0)).unwrap();
    all[0].transcript().to_owned()
}

#[test]
fn a_score_is_the_same_live_and_every_item_has_its_receipt() {
    let (drums, lights) = (Seen::default(), Seen::default());
    let server =
        Running::start(&[("drums", Format::Midi, &drums), ("lights", Format::Dmx, &lights)]);
    let mut stage = server.stage(sequencer::compose(2).unwrap(), Lead::Measured);
    let mut receipts = 0;
    stage
        .run(|report| {
            let Report::Played(played) = report else { panic!("{report:?}") };
            let (due, receipt) = (played.item.due, played.receipt);
            receipts += 1;
            if receipt.outcome == Outcome::Delivered {
                let began = receipt.began.unwrap().as_nanos();
                assert!(began + 1000 >= receipt.due.as_nanos(), "{due}: early");
            } else {
                // A light on a busy machine.
                assert_eq!(receipt.outcome, Outcome::Late);
            }
        })
        .unwrap();
    let performance = stage.performance();
    assert_eq!(performance.transcript(), virtually(sequencer::compose(2).unwrap()));
    let totals = performance.totals();
    assert_eq!(receipts + totals.withdrawn, totals.written);
    let came = drums.lock().unwrap().len() + lights.lock().unwrap().len();
    assert_eq!(came as u64, totals.outcomes[&Outcome::Delivered]);
}

#[test]
fn taps_of_a_terminal_sound_and_their_recording_repeats_the_performance() {
    let synth = Seen::default();
    let server = Running::start(&[("synth", Format::Midi, &synth)]);
    let piece = conduct::compose(Taps::Keys).unwrap();
    let mut stage = server.stage(piece.score, Lead::Measured);
    let Pty { mut line, terminal } = Pty::open().unwrap();
    stage.listen(piece.reaction, terminal).unwrap();
    let player = std::thread::spawn(move || {
        let mut taps = Vec::new();
        for _ in 0..6 {
            std::thread::sleep(Duration::from_millis(170));
            taps.push(clock::now());
            line.write_all(b"\n").unwrap();
        }
        std::thread::sleep(Duration::from_millis(100));
        line.write_all(b"q\n").unwrap();
        // Open until the piece has ended.
        (line, taps)
    });
    stage.run(|report| assert!(matches!(report, Report::Played(_)), "{report:?}")).unwrap();
    let (_line, taps) = player.join().unwrap();
    let performance = stage.into_performance();
    // End to end: each tap sounds, and never before its reaction time.
    let synth = synth.lock().unwrap();
    let clicks: Vec<Moment> =
        synth.iter().filter(|(_, bytes)| bytes[0] == 0x99).map(|(at, _)| *at).collect();
    assert_eq!(clicks.len(), taps.len());
    for (tap, click) in taps.iter().zip(&clicks) {
        assert!(*click + Nanos::from_micros(1) >= *tap + REACTION);
    }
    let again = conduct::compose(Taps::Keys).unwrap().score;
    again.replay(&performance.score().inputs_so_far()).unwrap();
    assert_eq!(performance.transcript(), virtually(again));
}

#[test]
fn a_little_credit_and_a_short_horizon_only_slow_it_down() {
    let net = Seen::default();
    let server = Running::start(&[("net", Format::Bytes { most: 8 }, &net)]);
    let compose = || {
        let score = Score::new();
        let bytes = score.bytes("net");
        score
            .spawn("burst", async move |s| {
                // Beyond the horizon of a second, and all at once.
                for index in 0..200_u64 {
                    let at = s.now() + Nanos::from_millis(10 * (index % 130));
                    s.play(bytes.send(&index.to_le_bytes()).at(at))?;
                }
                s.after(Nanos::from_millis(50)).await;
                s.cut("burst", s.now() + Nanos::from_millis(1200))
            })
            .unwrap();
        score
    };
    let wanted = Wanted { items: 4, ..Wanted::named("test") };
    let client = Client::connect(server.socket(), &wanted).unwrap();
    let lead = Lead::Fixed(Nanos::from_secs(2));
    let mut stage = Stage::new(client, compose(), lead).unwrap().with_transcript();
    stage.run(|_| {}).unwrap();
    let performance = stage.performance();
    assert_eq!(performance.transcript(), virtually(compose()));
    let outcomes = &performance.totals().outcomes;
    let answered: u64 = outcomes.values().sum();
    assert_eq!(answered + performance.totals().withdrawn, 200);
    // 1250 ms and later.
    assert_eq!(net.lock().unwrap().len(), 195);
}

#[test]
fn every_item_is_accounted_for_when_the_server_ends() {
    let net = Seen::default();
    let server = Running::start(&[("net", Format::Bytes { most: 8 }, &net)]);
    let score = Score::new();
    let bytes = score.bytes("net");
    let program = async move |s: Task| -> Result<(), Problem> {
        loop {
            // Into the time after the end.
            s.play(bytes.send(&[1]).at(s.now() + Nanos::from_millis(300)))?;
            s.after(Nanos::from_millis(1)).await;
        }
    };
    score.spawn("ticks", program).unwrap();
    let mut stage = server.stage(score, Lead::Measured);
    let mut server = Some(server);
    let mut receipts = 0;
    let ended = stage.run(|report| {
        receipts += u64::from(matches!(report, Report::Played(_)));
        if receipts == 50 {
            // Returns when every item has its receipt.
            drop(server.take());
        }
    });
    assert!(ended.unwrap_err().to_string().starts_with("the server has ended the connection"));
    let performance = stage.performance();
    let totals = performance.totals();
    assert_eq!(totals.outcomes.values().sum::<u64>(), receipts);
    assert!(totals.outcomes[&Outcome::Ended] > 0);
    let left = performance.unanswered() + performance.unsubmitted();
    assert_eq!(receipts + left as u64 + totals.withdrawn, totals.written);
}

#[test]
fn a_task_that_never_waits_is_reported_by_name() {
    let net = Seen::default();
    let server = Running::start(&[("net", Format::Bytes { most: 8 }, &net)]);
    let score = Score::new();
    let reported = Arc::new(Mutex::new(Vec::new()));
    let (seen, named) = (Arc::clone(&reported), Arc::clone(&reported));
    let program = async move |_: Task| -> Result<(), Problem> {
        while seen.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    };
    let other = async |s: Task| -> Result<(), Problem> {
        s.after(Nanos::from_millis(1)).await;
        Ok(())
    };
    score.spawn("other", other).unwrap();
    score.spawn("busy", program).unwrap();
    let mut stage = server.stage(score, Lead::Measured);
    stage.watch(move |task| named.lock().unwrap().push(task.to_owned()));
    stage.run(|_| {}).unwrap();
    assert!(reported.lock().unwrap().iter().any(|task| task == "busy"));
}

#[test]
fn a_device_that_takes_something_else_is_refused_by_name() {
    let seen = Seen::default();
    let server = Running::start(&[("lights", Format::Dmx, &seen)]);
    let refused = |compose: fn(&Score)| {
        let score = Score::new();
        compose(&score);
        let client = Client::connect(server.socket(), &Wanted::named("test")).unwrap();
        Stage::new(client, score, Lead::Measured).unwrap_err().to_string()
    };
    assert_eq!(
        refused(|score| _ = score.midi("lights")),
        "device `lights` takes the values of a DMX512 universe; the score writes MIDI messages to it"
    );
    assert_eq!(
        refused(|score| _ = score.dmx("light")),
        "there is no device `light`; did you mean `lights`?"
    );
}
