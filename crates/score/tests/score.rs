//! What tasks do, in virtual time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tactus_delivery::item::{IfLate, Moment};
use tactus_delivery::receipt::Outcome;
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;
use tactus_score::rehearsal::{Rehearsed, UNLIMITED, rehearse};
use tactus_score::{Lead, Performance, Problem, Score, TempoMap, Time, beat, bpm};

fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

fn at(count: u64) -> Time {
    Time::after_start(ms(count))
}

const ORIGIN: Moment = Moment::from_nanos(1_000_000_000);

/// Performs a score in virtual time; its faults as texts.
fn run(score: Score) -> (Rehearsed, String, Vec<String>) {
    let performance = Performance::new(score, Lead::Fixed(ms(20)), ORIGIN).with_transcript();
    let mut all = [performance];
    let rehearsed = rehearse(&mut all, UNLIMITED, &mut SplitMix64::new(1)).unwrap();
    let [performance] = all;
    let faults = performance.take_faults().iter().map(ToString::to_string).collect();
    (rehearsed, performance.transcript().to_owned(), faults)
}

/// What a device got: milliseconds, and bytes.
fn got(rehearsed: &Rehearsed, device: &str) -> Vec<(u64, Vec<u8>)> {
    let delivered = rehearsed.devices.get(device).into_iter().flatten();
    let since = |moment: Moment| (moment - ORIGIN).as_nanos() / 1_000_000;
    delivered.map(|(moment, _, bytes)| (since(*moment), bytes.to_vec())).collect()
}

#[test]
fn tasks_write_at_their_times_in_step() {
    let score = Score::new();
    let (midi, dmx) = (score.midi("synth").channel(2), score.dmx("lights"));
    let tempo = TempoMap::new(bpm(120)).unwrap();
    let map = tempo.clone();
    score
        .spawn("bass", async move |s| {
            for k in 0..3 {
                s.at(tempo.time(beat(k))?).await;
                s.play(midi.note(36, 100).lasting(tempo.span(beat(k), beat(1) / 2)?))?;
            }
            Ok(())
        })
        .unwrap();
    score
        .spawn("lights", async move |s| {
            s.at(map.time(beat(1))?).await;
            s.play(dmx.set(3, 255))?;
            s.after(ms(10)).await;
            s.play(dmx.set(1, 7).if_late(IfLate::Drop(ms(5))))
        })
        .unwrap();
    let (rehearsed, transcript, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    let (on, off) = (vec![0x92, 36, 100], vec![0x82, 36, 64]);
    let wanted: Vec<(u64, Vec<u8>)> =
        (0..3).flat_map(|k| [(500 * k, on.clone()), (500 * k + 250, off.clone())]).collect();
    assert_eq!(got(&rehearsed, "synth"), wanted);
    assert_eq!(got(&rehearsed, "lights"), [(500, vec![0, 0, 255]), (510, vec![7, 0, 255])]);
    assert!(transcript.starts_with("0 stream 0 branch 0 Deliver 92 24 64\n250000000 stream 0"));
    let outcomes = rehearsed.played[0].iter().map(|played| played.receipt.outcome);
    assert!(outcomes.eq([Outcome::Delivered; 8]));
}

#[test]
fn a_cut_ends_tasks_items_and_notes_in_all_streams() {
    let score = Score::new();
    let (midi, bytes) = (score.midi("synth"), score.bytes("net"));
    let dropped = Rc::new(Cell::new(false));
    struct OnDrop(Rc<Cell<bool>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let guard = OnDrop(Rc::clone(&dropped));
    score
        .spawn("bass", async move |s| {
            let _guard = guard;
            for key in 40.. {
                // Each note sounds into the next, and each datagram is written ahead.
                s.play(midi.note(key, 1).lasting(ms(150)))?;
                s.play(bytes.send(&[key]).at(s.now() + ms(120)))?;
                s.after(ms(100)).await;
            }
            Ok(())
        })
        .unwrap();
    score
        .spawn("conductor", async move |s| {
            s.at(at(130)).await;
            s.cut("bass", at(220))?;
            s.at(at(220)).await;
            s.spawn("bass", async move |s| s.play(midi.note(90, 1).lasting(ms(10))))
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    assert!(dropped.get(), "the program was dropped at the cut");
    let on = |key: u8| vec![0x90, key, 1];
    let off = |key: u8| vec![0x80, key, 64];
    let wanted = [
        (0, on(40)),
        (100, on(41)),
        (150, off(40)),
        (200, on(42)),
        // The cut ends both notes that sound.
        (220, off(41)),
        (220, off(42)),
        (220, on(90)),
        (230, off(90)),
    ];
    assert_eq!(got(&rehearsed, "synth"), wanted);
    assert_eq!(got(&rehearsed, "net"), [(120, vec![40])], "220 is not before the cut");
}

#[test]
fn notes_without_an_end_end_with_their_branch_or_their_task() {
    let score = Score::new();
    let midi = score.midi("synth");
    score
        .spawn("held", async move |s| {
            s.play(midi.note_on(40, 1))?;
            s.play(midi.note_on(41, 1))?;
            s.after(ms(10)).await;
            s.play(midi.note_off(40))?;
            s.at(Time::NEVER).await;
            Ok(())
        })
        .unwrap();
    score
        .spawn("wrong", async move |s| {
            s.play(midi.channel(1).note_on(50, 1))?;
            s.after(ms(20)).await;
            s.play(midi.note(200, 1))
        })
        .unwrap();
    score
        .spawn("conductor", async move |s| {
            s.cut("held", at(30))?;
            s.at(at(30)).await;
            s.spawn("held", async move |s| s.play(midi.note_on(60, 1)))
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults.len(), 1);
    let wanted = [
        (0, vec![0x90, 40, 1]),
        (0, vec![0x90, 41, 1]),
        (0, vec![0x91, 50, 1]),
        (10, vec![0x80, 40, 64]),
        (20, vec![0x81, 50, 64]),
        (30, vec![0x80, 41, 64]),
        (30, vec![0x90, 60, 1]),
    ];
    assert_eq!(got(&rehearsed, "synth"), wanted);
}

#[test]
fn a_cut_ends_notes_of_tasks_that_have_ended() {
    let score = Score::new();
    let midi = score.midi("synth");
    score.spawn("held", async move |s| s.play(midi.note_on(40, 1))).unwrap();
    score
        .spawn("conductor", async move |s| {
            s.cut("held", at(30))?;
            s.cut("conductor", Time::NEVER)
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    assert_eq!(got(&rehearsed, "synth").last(), Some(&(30, vec![0x80, 40, 64])));
}

#[test]
fn a_sleep_that_is_over_may_be_awaited_later() {
    let score = Score::new();
    let bytes = score.bytes("net");
    score
        .spawn("late", async move |s| {
            let mut first = Box::pin(s.at(at(10)));
            // It begins, and nobody looks at it when it ends.
            std::future::poll_fn(|context| {
                let _ = first.as_mut().poll(context);
                std::task::Poll::Ready(())
            })
            .await;
            s.at(at(20)).await;
            first.await;
            s.play(bytes.send(&[1]))
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    assert_eq!(got(&rehearsed, "net"), [(20, vec![1])]);
}

#[test]
fn a_stream_of_another_score_is_refused() {
    let other = Score::new().midi("synth");
    let score = Score::new();
    score.spawn("wrong", async move |s| s.play(other.note(1, 1))).unwrap();
    let (_, _, faults) = run(score);
    assert_eq!(faults, ["task 'wrong' ended at 0ns: the stream belongs to another score"]);
}

#[test]
fn a_change_of_tempo_moves_tasks_that_await_beats() {
    let score = Score::new();
    let bytes = score.bytes("net");
    let line = score.timeline(TempoMap::new(bpm(60)).unwrap());
    let conducted = line.clone();
    score
        .spawn("part", async move |s| {
            for k in 0..6 {
                s.beat(&line, beat(k)).await?;
                s.play(bytes.send(&[k as u8]))?;
            }
            Ok(())
        })
        .unwrap();
    score
        .spawn("conductor", async move |s| {
            s.at(at(1500)).await;
            let position = conducted.position(s.now(), 24)?;
            assert_eq!(position, beat(3) / 2);
            conducted.change(position, bpm(120))?;
            s.at(at(2100)).await;
            Ok(conducted.change(conducted.position(s.now(), 24)?, bpm(30))?)
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    let times: Vec<u64> = got(&rehearsed, "net").iter().map(|(at, _)| *at).collect();
    // Beat 2 after half a beat of 0.5 s, and then from beat 2 + 16/24 at 2.083 s in 2 s each.
    assert_eq!(times, [0, 1000, 1750, 2750, 4750, 6750]);
}

#[test]
fn what_programs_do_wrong_is_reported_by_name_and_others_go_on() {
    let score = Score::new();
    let (midi, dmx) = (score.midi("synth"), score.dmx("lights"));
    score
        .spawn("spin", async move |s| {
            loop {
                s.at(s.now()).await;
            }
        })
        .unwrap();
    score
        .spawn("flood", async move |s| {
            loop {
                s.play(midi.control(1, 1))?;
            }
        })
        .unwrap();
    score
        .spawn("fork", async move |s| {
            loop {
                s.spawn("child", async |_| Ok(()))?;
            }
        })
        .unwrap();
    score
        .spawn("pending", async move |s| {
            s.at(at(5)).await;
            std::future::pending::<()>().await;
            Ok(())
        })
        .unwrap();
    score
        .spawn("yields", async move |s| {
            s.at(at(6)).await;
            let mut woken = false;
            std::future::poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut woken, true) {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
            Ok(())
        })
        .unwrap();
    score.spawn("wrong key", async move |s| s.play(midi.note(128, 1))).unwrap();
    score.spawn("wrong channel", async move |s| s.play(midi.channel(16).note(1, 1))).unwrap();
    score.spawn("wrong light", async move |s| s.play(dmx.set(513, 1))).unwrap();
    score.spawn("wrong name", async move |s| s.cut("yield", at(9))).unwrap();
    score
        .spawn("wrong tempo", async move |_| {
            TempoMap::new(bpm(1.0))?.at(beat(8), bpm(f64::NAN)).map(drop).map_err(Problem::from)
        })
        .unwrap();
    score
        .spawn("good", async move |s| {
            s.at(at(7)).await;
            s.play(midi.note_on(60, 1))
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    let wanted = [
        "task 'spin' ended at 0ns: 100000 steps at one logical time: the branch loops without awaiting a later time",
        "task 'pending' ended at 5ms: the task awaits something other than logical time, or was woken by it",
        "task 'yields' ended at 6ms: the task awaits something other than logical time, or was woken by it",
        "task 'wrong key' ended at 0ns: [90, 80, 01] is not one whole MIDI message: keys, velocities and values are 0 to 127, channels 0 to 15",
        "task 'wrong light' ended at 0ns: DMX channel 513 does not exist: channels are 1 to 512",
        "task 'wrong name' ended at 0ns: there is no branch 'yield'; did you mean 'yields'?",
        "task 'wrong tempo' ended at 0ns: tempo at beat 8: NaN beats per minute is impossible; use 0.01 to 1000000 beats per minute",
    ];
    for wanted in wanted {
        assert!(faults.iter().any(|fault| fault == wanted), "{wanted}\n{faults:#?}");
    }
    let names = ["spin", "flood", "fork", "pending", "yields", "wrong"];
    assert!(
        faults.iter().all(|fault| names.iter().any(|name| fault.contains(&format!("'{name}"))))
    );
    assert_eq!(got(&rehearsed, "synth").last(), Some(&(7, vec![0x90, 60, 1])));
}

#[test]
fn what_is_late_when_it_is_written_is_for_its_policy() {
    let score = Score::new();
    let bytes = score.bytes("net");
    score
        .spawn("late", async move |s| {
            s.at(at(100)).await;
            s.at(at(50)).await;
            assert_eq!(s.now(), at(100), "time does not go back");
            s.play(bytes.send(b"kept").at(at(10)))?;
            s.play(bytes.send(b"lost").at(at(10)).if_late(IfLate::Drop(ms(1))))
        })
        .unwrap();
    let (rehearsed, ..) = run(score);
    let outcomes: Vec<Outcome> =
        rehearsed.played[0].iter().map(|played| played.receipt.outcome).collect();
    assert_eq!(got(&rehearsed, "net"), [(80, b"kept".to_vec())]);
    assert_eq!(outcomes, [Outcome::Delivered, Outcome::Late]);
}

#[test]
fn several_sleeps_of_a_task_may_be_awaited_together() {
    let score = Score::new();
    let bytes = score.bytes("net");
    let order = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&order);
    score
        .spawn("both", async move |s| {
            let (mut first, mut second) = (Box::pin(s.at(at(30))), Box::pin(s.at(at(20))));
            let mut done = [false; 2];
            std::future::poll_fn(|context| {
                for (index, sleep) in [&mut first, &mut second].into_iter().enumerate() {
                    if !done[index] && sleep.as_mut().poll(context).is_ready() {
                        done[index] = true;
                        seen.borrow_mut().push((index, s.now()));
                    }
                }
                if done == [true; 2] {
                    std::task::Poll::Ready(())
                } else {
                    std::task::Poll::Pending
                }
            })
            .await;
            s.play(bytes.send(&[1]))
        })
        .unwrap();
    let (rehearsed, _, faults) = run(score);
    assert_eq!(faults, [""; 0]);
    assert_eq!(*order.borrow(), [(1, at(20)), (0, at(30))]);
    assert_eq!(got(&rehearsed, "net"), [(30, vec![1])]);
}
