//! Sums over many slices of a CPU on which ordinary threads took turns.
//!
//! On a busy machine, a wait spans thousands of slices, and hundreds of waits span the same ones.
//! Where nothing happened but turns of ordinary threads and interrupts, each of these waits gets
//! the same causes from the same slices. Their sums are made once, for a block of turns.

use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};

use crate::cpu_use::{CpuUse, Runner};
use crate::machine::{Activity, Slice};

/// How long a thread that was asked to reschedule may take for the switch itself: the
/// end of the interrupt, the scheduler, its lock. Measured: 2.7 µs at the median, below
/// 20 µs while events are recorded. More time means a preemption-off section.
pub(crate) const SWITCH_MAX: Nanos = Nanos::from_micros(20);

/// Whole turns of ordinary threads on a CPU, which follow each other.
///
/// For an ordinary thread that waited throughout them, another thread ran, an interrupt was served,
/// or the CPU switched: no thread outranks it (so none is the stopper either), none was asked to
/// reschedule for longer than a switch takes, and the CPU was not idle. The waiter itself did not
/// run, and the host did not interfere: a caller checks both.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) from: Instant<Monotonic>,
    pub(crate) to: Instant<Monotonic>,
    /// How long each thread ran that was not asked to reschedule.
    pub(crate) ran: Box<[(Runner, Nanos)]>,
    /// How long the CPU served each interrupt and softirq.
    pub(crate) served: Box<[(u32, Activity, Nanos)]>,
    /// The time of threads that were asked to reschedule.
    pub(crate) switching: Nanos,
}

impl Block {
    /// How many slices are summed at once: enough for far fewer sums than slices, few enough that
    /// most of a wait consists of whole blocks.
    pub(crate) const SLICES: usize = 64;

    /// The blocks in the slices of a CPU, the last of which ends its turn.
    pub(crate) fn all_in(slices: &[Slice]) -> Vec<Self> {
        let is_gapless = slices.windows(2).all(|pair| pair[0].to == pair[1].from);
        if !is_gapless {
            return Vec::new();
        }
        let turns: Vec<&[Slice]> = slices.chunk_by(is_same_turn).collect();
        turns.split(|turn| !is_plain(turn)).filter_map(Self::of).collect()
    }

    /// The block of these turns; `None` if there are none.
    fn of(turns: &[&[Slice]]) -> Option<Self> {
        let (from, to) = (turns.first()?.first()?.from, turns.last()?.last()?.to);
        let mut sums = CpuUse::default();
        let mut switching = Nanos::ZERO;
        for slice in turns.iter().copied().flatten() {
            let time = slice.length();
            match slice.activity {
                Activity::Thread | Activity::Reclaim if slice.need_resched => {
                    switching = switching + time;
                }
                Activity::Thread | Activity::Reclaim => sums.add_runner(Runner::of(slice), time),
                activity => sums.add_served(slice.cpu, activity, time),
            }
        }
        let (ran, served) = (sums.ran().into(), sums.served().into());
        Some(Self { from, to, ran, served, switching })
    }

    /// Whether a thread ran in it.
    pub(crate) fn has(&self, thread: ThreadId) -> bool {
        self.ran.iter().any(|(runner, _)| runner.thread == thread)
    }
}

/// Whether a turn has the same causes for every ordinary thread that waits.
fn is_plain(turn: &[Slice]) -> bool {
    let asked = turn.iter().filter(|slice| slice.activity.is_thread() && slice.need_resched);
    asked.map(Slice::length).sum::<Nanos>() <= SWITCH_MAX
        && turn.iter().all(|slice| !slice.activity.is_idle() && slice.priority.is_ordinary())
}

/// Whether two slices of a CPU that follow each other belong to one turn of a thread.
pub(crate) fn is_same_turn(one: &Slice, next: &Slice) -> bool {
    one.thread_since == next.thread_since
}
