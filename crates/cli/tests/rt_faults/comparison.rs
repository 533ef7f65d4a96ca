//! Blocks with a fault beside undisturbed ones, and a row of the table from them.
//!
//! The guest of `cargo xtask rt-faults --guests` shares this and the scene.

use std::time::Duration;

use tactus_model::random::SplitMix64;

use crate::scene::{Block, Part, Scene};

pub const SEED: u64 = 20_261_123;

/// A fault that lasts for some time and ends with a mark.
pub struct Fault {
    pub name: &'static str,
    /// What the machine must grant for it.
    pub needs: Option<Part>,
    /// Whether items are lost: those that a process had taken when it was killed, and those that
    /// false indices covered.
    pub loses: bool,
    pub act: fn(&mut Scene, Duration),
}

/// The blocks of one kind.
#[derive(Default)]
struct Kind(Vec<Block>);

impl Kind {
    fn sum(&self, figure: impl Fn(&Block) -> u64) -> u64 {
        self.0.iter().map(figure).sum()
    }

    /// The deadlines that were kept, in per cent.
    fn kept(&self) -> f64 {
        100.0 * self.sum(|block| block.kept) as f64 / self.sum(|block| block.intended) as f64
    }

    /// The deadlines that were not kept.
    fn missed(&self) -> u64 {
        self.sum(|block| block.intended.saturating_sub(block.kept))
    }

    /// The median and the longest recovery, in milliseconds.
    fn recovered(&self) -> (f64, f64) {
        let mut times: Vec<f64> =
            self.0.iter().map(|block| block.recovered.as_secs_f64() * 1e3).collect();
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() - 1])
    }
}

/// Blocks of a fault, and two kinds of undisturbed blocks that should not differ.
#[derive(Default)]
pub struct Row {
    quiet: [Kind; 2],
    fault: Kind,
}

impl Row {
    /// Requires that only faults that may lose items did.
    ///
    /// # Errors
    /// What lost how many.
    pub fn check(&self, fault: &Fault) -> Result<(), String> {
        let lost = |kind: &Kind| kind.sum(|block| block.lost);
        let kinds = [("undisturbed", &self.quiet[0]), ("undisturbed", &self.quiet[1])];
        let faulty = (!fault.loses).then_some((fault.name, &self.fault));
        let mut kinds = kinds.into_iter().chain(faulty);
        match kinds.find(|(_, kind)| lost(kind) > 0) {
            Some((name, kind)) => Err(format!("{name}: {} items are lost", lost(kind))),
            None => Ok(()),
        }
    }

    /// The row of the table of [`HEADING`].
    pub fn line(&self, name: &str) -> String {
        let [a, b] = &self.quiet;
        let (median, most) = self.fault.recovered();
        let steal = |kind: &Kind| kind.sum(|block| block.steal);
        format!(
            "{name:24} {:10.3} {:10.3} {:8.3} {:7} {:8} {:6} {median:19.1} {most:6.1} {:15} {:3} {:3}",
            a.kept(),
            b.kept(),
            self.fault.kept(),
            self.fault.missed(),
            self.fault.sum(|block| block.refused),
            self.fault.sum(|block| block.lost),
            steal(a),
            steal(b),
            steal(&self.fault),
        )
    }
}

/// The heading of the table.
pub const HEADING: &str = "fault                     quiet A %  quiet B %  fault %  missed  refused   lost  recovered, ms: p50, max  steal ticks: A, B, fault";

/// Runs the blocks of a fault, in random order.
pub fn compare(
    scene: &mut Scene,
    fault: &Fault,
    (time, rounds): (Duration, u32),
    random: &mut SplitMix64,
) -> Row {
    let mut row = Row::default();
    for _ in 0..rounds {
        let mut kinds = [0, 1, 2];
        random.shuffle(&mut kinds);
        for kind in kinds {
            let block = scene.run(time / rounds, (kind == 2).then_some(fault));
            let Row { quiet: [a, b], fault } = &mut row;
            [a, b, fault][kind].0.push(block);
        }
    }
    row
}
