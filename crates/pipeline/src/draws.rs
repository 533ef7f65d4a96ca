//! Durations drawn from measured samples, with their dependence in time.
//!
//! Samples of an operation are not independent: a machine is fast for a while and then slow, and
//! delays come in bursts. Single samples drawn at random would lose that, and a sum of several would
//! have a tail that is too short. So a draw is a *stretch* of consecutive samples, and the stretches
//! of all parts come from the same round: the parts of a round were measured within seconds of
//! one another.

use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

/// The samples of a cell: rounds, and within them the durations in the order of measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    rounds: Vec<Vec<Nanos>>,
}

impl Samples {
    /// The samples of these rounds; rounds without any are left out.
    pub fn new(rounds: impl IntoIterator<Item = Vec<Nanos>>) -> Self {
        Self { rounds: rounds.into_iter().filter(|round| !round.is_empty()).collect() }
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    /// The number of rounds.
    pub const fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.rounds.iter().map(Vec::len).sum()
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Nanos> + '_ {
        self.rounds.iter().flatten().copied()
    }
}

/// How frames are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawing<'r> {
    /// The number of frames.
    pub frames: usize,
    /// The rounds to draw from; a number may occur several times.
    pub rounds: &'r [usize],
    /// How many consecutive frames have consecutive samples.
    pub stretch: usize,
    /// Whether each part draws its own round instead of one for all.
    pub independent: bool,
    /// The seed.
    pub seed: u64,
}

impl Drawing<'_> {
    /// The usual number of frames with consecutive samples.
    pub const STRETCH: usize = 32;
}

/// The durations of all parts in all frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    parts: usize,
    table: Vec<Nanos>,
}

impl Durations {
    /// Draws them; each part is the sum of the cells that it names. A part that names none, or cells
    /// without samples, takes no time.
    pub fn draw(parts: &[Vec<&Samples>], drawing: &Drawing<'_>) -> Self {
        let mut random = SplitMix64::new(drawing.seed);
        let mut table = vec![Nanos::ZERO; drawing.frames * parts.len()];
        let stretch = drawing.stretch.max(1);
        for first in (0..drawing.frames).step_by(stretch) {
            let mut round = pick(&mut random, drawing.rounds);
            let frames = first..(first + stretch).min(drawing.frames);
            for (part, cells) in parts.iter().enumerate() {
                if drawing.independent {
                    round = pick(&mut random, drawing.rounds);
                }
                for samples in cells {
                    // A cell may have failed in a round.
                    let Some(number) = round.checked_rem(samples.rounds()) else { continue };
                    let samples = &samples.rounds[number];
                    let begin = random.below(samples.len() as u64) as usize;
                    for (step, frame) in frames.clone().enumerate() {
                        let sample = samples[(begin + step) % samples.len()];
                        let sum = &mut table[frame * parts.len() + part];
                        *sum = *sum + sample;
                    }
                }
            }
        }
        Self { parts: parts.len(), table }
    }

    /// The duration of a part in a frame.
    pub fn of(&self, frame: usize, part: usize) -> Nanos {
        self.table[frame * self.parts + part]
    }

    /// The durations of a part in all frames.
    pub fn of_part(&self, part: usize) -> impl Iterator<Item = Nanos> + '_ {
        self.table.iter().skip(part).step_by(self.parts.max(1)).copied()
    }
}

fn pick(random: &mut SplitMix64, rounds: &[usize]) -> usize {
    rounds.get(random.below(rounds.len().max(1) as u64) as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rounds: &[&[u64]]) -> Samples {
        let nanos = |round: &&[u64]| round.iter().map(|one| Nanos::from_nanos(*one)).collect();
        Samples::new(rounds.iter().map(nanos))
    }

    fn drawing(rounds: &[usize]) -> Drawing<'_> {
        Drawing { frames: 1000, rounds, stretch: Drawing::STRETCH, independent: false, seed: 1 }
    }

    #[test]
    fn a_part_is_the_sum_of_its_cells_and_nothing_without_samples() {
        let (one, two, none) = (samples(&[&[5]]), samples(&[&[7]]), Samples::default());
        let parts = [vec![&one, &two], vec![], vec![&one, &none]];
        let drawn = Durations::draw(&parts, &drawing(&[0]));
        let of = |part| drawn.of(999, part).as_nanos();
        assert_eq!([of(0), of(1), of(2)], [12, 0, 5]);
        assert_eq!(drawn.of_part(2).count(), 1000);
    }

    #[test]
    fn consecutive_frames_have_consecutive_samples() {
        let counting: Vec<u64> = (0..100).collect();
        let samples = samples(&[&counting]);
        let drawn = Durations::draw(&[vec![&samples]], &drawing(&[0]));
        let of = |frame| drawn.of(frame, 0).as_nanos();
        for frame in (0..999).filter(|frame| (frame + 1) % Drawing::STRETCH != 0) {
            assert_eq!(of(frame + 1), (of(frame) + 1) % 100);
        }
    }

    #[test]
    fn parts_share_a_round_unless_they_are_independent() {
        let samples = samples(&[&[1], &[1000]]);
        let parts = [vec![&samples], vec![&samples]];
        let sums = |independent| -> Vec<u64> {
            let drawn = Durations::draw(&parts, &Drawing { independent, ..drawing(&[0, 1]) });
            (0..1000).map(|frame| (drawn.of(frame, 0) + drawn.of(frame, 1)).as_nanos()).collect()
        };
        assert!(sums(false).iter().all(|sum| [2, 2000].contains(sum)));
        assert!(sums(true).contains(&1001));
    }
}
