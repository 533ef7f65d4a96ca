//! Invariants of every explanation, whatever the events.

#[path = "support/nonsense.rs"]
mod nonsense;
#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use proptest::prelude::*;
use support::{check_sums, micros};
use tactus_explain::account::{AccountOptions, Accounts, TickRate, account};
use tactus_explain::machine::{Machine, Observer, Slice};
use tactus_explain::{Options, Origin, ProbeTask, Receiver, explain};
use tactus_model::probe::SleepMethod;
use tactus_model::recording::{About, Dictionary, Event, EventKind, Lost, Recording, ThreadId};
use tactus_model::sample::Sample;
use tactus_model::time::{Instant, Nanos};

const SPAN: u64 = 5_000_000;

fn about() -> About {
    About {
        events: vec!["irq_vectors/local_timer_exit".to_owned()],
        ..About::new(micros(0), (0..3).collect())
    }
}

/// Samples of one task as a probe returns them: none is due before the one before it
/// arrived.
fn samples() -> impl Strategy<Value = Vec<Sample>> {
    prop::collection::vec((1..400_000_u64, 0..800_000_u64), 0..12).prop_map(|steps| {
        let mut now = 0;
        steps
            .into_iter()
            .map(|(pause, late)| {
                let due = now + pause;
                now = due + late;
                Sample { due: Nanos::from_nanos(due), came: Nanos::from_nanos(now) }
            })
            .collect()
    })
}

/// The second task hands its samples over, each in the middle of its time.
fn receiver(thread: i32, samples: &[Sample]) -> Option<Receiver> {
    let middle = |sample: &Sample| sample.due + Nanos::from_nanos(sample.latency().as_nanos() / 2);
    let handed_over = samples.iter().map(middle).collect();
    (thread == 2).then_some(Receiver { thread: ThreadId(3), handed_over })
}

fn losses() -> impl Strategy<Value = Vec<Lost>> {
    prop::collection::vec((0..SPAN, 0..300_000_u64, 0..3_u32), 0..3).prop_map(|losses| {
        let mut losses: Vec<Lost> = losses
            .into_iter()
            .map(|(from, length, cpu)| Lost {
                cpu,
                from: Instant::from_nanos(from),
                to: Instant::from_nanos(from + length),
                count: 1,
            })
            .collect();
        losses.sort_by_key(|lost| lost.from);
        losses
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn segments_and_parts_add_up_whatever_the_events(
        events in nonsense::events(SPAN),
        losses in losses(),
        first in samples(),
        second in samples(),
        slowest in 0..8_usize,
    ) {
        let recording =
            Recording { about: about(), dictionary: Dictionary::new(), events, losses };
        let count = (first.len() + second.len()) as u64;
        let task = |task: u32, thread: i32, samples: Vec<Sample>| ProbeTask {
            task,
            thread: ThreadId(thread),
            origin: Origin::Due(SleepMethod::Nanosleep),
            opened: micros(0),
            receiver: receiver(thread, &samples),
            samples,
        };
        let options = Options { threshold: Nanos::from_micros(100), slowest, timelines: 3 };
        let tasks = vec![task(0, 1, first), task(1, 2, second)];
        let late = tasks.iter().flat_map(|task| &task.samples);
        let late = late.filter(|sample| sample.latency() > options.threshold);
        let (late_count, late_time) =
            late.fold((0, Nanos::ZERO), |(n, time), sample| (n + 1, time + sample.latency()));
        let explanation = explain(&mut recording.reader(), tasks, options).unwrap();
        check_sums(&explanation, count);
        prop_assert_eq!(explanation.pareto.samples + explanation.pareto.undivided, late_count);
        prop_assert!(explanation.pareto.time <= late_time);
        prop_assert!(explanation.worst.len() <= slowest);
        let again = serde_json::to_string(&explanation).unwrap();
        prop_assert_eq!(serde_json::from_str::<tactus_explain::Explanation>(&again).unwrap(), explanation);
    }

    #[test]
    fn slices_of_a_cpu_follow_each_other(events in nonsense::events(SPAN)) {
        struct Check {
            last: [Option<Slice>; 3],
            total: [Nanos; 3],
        }
        impl Observer for Check {
            fn slice(&mut self, slice: Slice) {
                assert!(slice.from < slice.to);
                let last = &mut self.last[slice.cpu as usize];
                if let Some(last) = last {
                    assert_eq!(last.to, slice.from, "without gap or overlap");
                }
                *last = Some(slice);
                self.total[slice.cpu as usize] = self.total[slice.cpu as usize] + slice.length();
            }
        }
        let mut check = Check { last: [None; 3], total: [Nanos::ZERO; 3] };
        let mut machine = Machine::new(&about());
        for event in &events {
            machine.step(event, &mut check);
        }
        for cpu in 0..3_u32 {
            let of_cpu: Vec<&Event> = events.iter().filter(|event| event.cpu == cpu).collect();
            let (Some(first), Some(last)) = (of_cpu.first(), of_cpu.last()) else { continue };
            let open = machine.cpus()[cpu as usize].open_slice(cpu, last.at).unwrap();
            prop_assert_eq!(check.total[cpu as usize] + open.length(), last.at - first.at);
        }
    }

    #[test]
    fn accounts_add_up_whatever_the_events(
        events in nonsense::events(SPAN),
        losses in losses(),
    ) {
        let switches = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::Switch { prev, .. } if !prev.is_idle()))
            .count() as u64;
        let recording =
            Recording { about: about(), dictionary: Dictionary::new(), events, losses };
        let rates = [100, 20_000].into_iter().filter_map(TickRate::new).collect();
        let accounts = account(&mut recording.reader(), &AccountOptions { rates }).unwrap();
        for cpu in &accounts.cpus {
            let sum = cpu.used + cpu.idle + cpu.unknown;
            prop_assert_eq!(sum, accounts.length());
        }
        for rows in [&accounts.programs, &accounts.threads] {
            let used: Nanos = rows.iter().map(|row| row.used).sum();
            prop_assert_eq!(used, accounts.used());
            prop_assert_eq!(used + accounts.idle.used + accounts.unknown(), accounts.time());
            // Every switch away from a thread has one reason.
            let ends: u64 = rows.iter().flat_map(|row| &row.ends).map(|end| end.count).sum();
            prop_assert_eq!(ends, switches);
        }
        for row in accounts.threads.iter().chain([&accounts.idle]) {
            prop_assert_eq!(row.quanta.sum + row.cut.time, row.used);
            prop_assert!(row.interrupted <= row.used);
            for billing in &row.billing {
                for range in [billing.ticks, billing.missed] {
                    prop_assert!(range.least <= range.value && range.value <= range.greatest);
                    prop_assert!(range.least as f64 <= range.mean);
                    prop_assert!(range.mean <= range.greatest as f64);
                }
                let scattered: u64 = billing.scatter.iter().map(|point| point.count).sum();
                prop_assert_eq!(scattered, billing.quanta);
            }
        }
        let again = serde_json::to_string(&accounts).unwrap();
        prop_assert_eq!(serde_json::from_str::<Accounts>(&again).unwrap(), accounts);
    }
}
