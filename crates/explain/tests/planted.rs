//! Blame names causes first that a seeded simulator planted.

#[path = "support/simulator.rs"]
mod simulator;
#[expect(dead_code, reason = "another test uses the rest")]
mod support;

use simulator::{Planted, simulate};
use support::shown;
use tactus_explain::cause::Hold;
use tactus_explain::{Cause, MatchOutcome};
use tactus_model::probe::SleepMethod;

#[test]
fn what_was_planted_is_named_first_and_with_its_length() {
    for seed in [1, 7, 42, 2003] {
        let (script, probe, simulated) = simulate(seed, 20);
        let samples: Vec<(u64, u64)> =
            simulated.iter().map(|sample| (sample.due, sample.came)).collect();
        let explanation = script.explain(probe, SleepMethod::Nanosleep, &samples);
        assert_eq!(explanation.count(MatchOutcome::Timer), 20, "seed {seed}");
        assert_eq!(explanation.worst.len(), 20);
        for explained in &explanation.worst {
            let planted = simulated[explained.index as usize];
            let part = &explained.parts[0];
            let is_section = |held: Hold| {
                matches!(&part.cause, Cause::KernelSection { hold, site, .. }
                    if *hold == held && site.as_deref() == Some("long_section"))
            };
            let named = match planted.planted {
                Planted::Nothing => continue,
                Planted::Softirq => matches!(part.cause, Cause::Softirq { .. }),
                Planted::Device => matches!(part.cause, Cause::Interrupt { .. }),
                Planted::OtherThread => matches!(part.cause, Cause::OtherThread { .. }),
                Planted::KernelSection => is_section(Hold::Preemption),
                Planted::InterruptsOff => is_section(Hold::Interrupts),
            };
            assert!(named, "seed {seed}: {planted:?} was reported as {:?}", shown(explained));
            let micros = part.time.as_nanos() / 1000;
            assert!(
                micros.abs_diff(planted.length) <= 20,
                "seed {seed}: {planted:?} was reported as {:?}",
                shown(explained)
            );
        }
    }
}
