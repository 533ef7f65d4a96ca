//! Comparisons of simulated cells with a known difference.

use tactus_model::random::SplitMix64;
use tactus_model::time::Instant;
use tactus_stats::LatencyHistogram;

use super::*;

/// The effect planted into a simulated cell.
#[derive(Clone, Copy)]
struct Planted {
    /// The factor on every latency.
    factor: f64,
    /// One in this many wakeups is 1 ms later.
    delayed_one_in: Option<u64>,
}

const NOTHING: Planted = Planted { factor: 1.0, delayed_one_in: None };

fn uniform(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 + f64::EPSILON / 4.0
}

fn normal(random: &mut SplitMix64) -> f64 {
    (-2.0 * uniform(random).ln()).sqrt() * (std::f64::consts::TAU * uniform(random)).cos()
}

/// Rounds of 60 blocks of 200 wakeups. Rounds differ by 2 %, blocks by 5 % with an
/// autocorrelation of 0.7; latencies are log-normal with a tail.
fn cell(random: &mut SplitMix64, rounds: usize, planted: Planted) -> Sample {
    let rounds: Vec<Vec<Histogram>> = (0..rounds)
        .map(|_| {
            let level = 0.02 * normal(random);
            let mut drift = normal(random);
            (0..60)
                .map(|_| {
                    drift = 0.7 * drift + (1.0 - 0.7_f64.powi(2)).sqrt() * normal(random);
                    block(random, level + 0.05 * drift, planted)
                })
                .collect()
        })
        .collect();
    let opened = (0..rounds.len() as u64).map(Instant::from_nanos).collect();
    Sample { blocks: Blocks::new(&rounds), opened, unit: Nanos::from_nanos(1), imported: false }
}

fn block(random: &mut SplitMix64, level: f64, planted: Planted) -> Histogram {
    let latencies = (0..200).map(|_| {
        let usual = 10_000.0 * planted.factor * (level + 0.3 * normal(random)).exp();
        let delayed = planted.delayed_one_in.is_some_and(|one_in| random.below(one_in) == 0);
        Nanos::from_nanos((usual + if delayed { 1e6 } else { 0.0 }) as u64)
    });
    latencies.collect::<LatencyHistogram>().to_record()
}

const DESIGNS: [Design; 2] = [Design::Interleaved, Design::Apart];

/// The verdicts on two simulated cells, as cells of one run and as cells of two runs.
fn verdicts(random: &mut SplitMix64, rounds: usize, planted: Planted) -> [Vec<Option<Verdict>>; 2] {
    let (a, b) = (cell(random, rounds, NOTHING), cell(random, rounds, planted));
    let margin = CompareOptions::default().margin;
    DESIGNS.map(|design| {
        let mut figures = compare_samples(&a, &b, design, margin);
        give_verdicts(figures.iter_mut(), margin);
        figures.iter().map(|figure| figure.verdict).collect()
    })
}

/// The number of `pairs` whose verdicts fulfil `is_so`, for one run and for two runs.
fn count(
    pairs: usize,
    (seed, rounds, planted): (u64, usize, Planted),
    is_so: impl Fn(&[Option<Verdict>]) -> bool,
) -> [usize; 2] {
    let mut random = SplitMix64::new(seed);
    (0..pairs).fold([0, 0], |[turns, apart], _| {
        let [in_turns, of_two_runs] = verdicts(&mut random, rounds, planted);
        [turns + usize::from(is_so(&in_turns)), apart + usize::from(is_so(&of_two_runs))]
    })
}

fn differs(verdict: &Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Better | Verdict::Worse))
}

#[test]
fn equal_cells_are_rarely_reported_as_different() {
    for rounds in [2, 3, 5] {
        let simulated = (40 + rounds as u64, rounds, NOTHING);
        let alarms = count(100, simulated, |verdicts| verdicts.iter().any(differs));
        let [turns, apart] = alarms;
        println!(
            "{rounds} rounds: of 100 pairs of equal cells, reported as different: {turns} of one run, {apart} of two"
        );
        assert!(
            alarms.iter().all(|alarms| *alarms <= 8),
            "{rounds} rounds: {alarms:?}, where 5 are expected"
        );
    }
}

#[test]
fn a_slowdown_of_a_tenth_is_found_in_most_pairs() {
    let planted = Planted { factor: 1.1, ..NOTHING };
    for (rounds, least) in [(3, [17, 12]), (5, [20, 18])] {
        let worse = |verdicts: &[Option<Verdict>]| verdicts.contains(&Some(Verdict::Worse));
        let found = count(20, (51, rounds, planted), worse);
        let [turns, apart] = found;
        println!(
            "{rounds} rounds: 10 % more found in 20 pairs: {turns} of one run, {apart} of two"
        );
        assert!(turns >= least[0] && apart >= least[1], "{rounds} rounds: {found:?} of 20");
    }
}

#[test]
fn a_rare_delay_is_found_in_most_pairs_and_only_in_the_tail() {
    let planted = Planted { delayed_one_in: Some(300), ..NOTHING };
    for rounds in [3, 5] {
        let found = count(20, (52, rounds, planted), |it| it[3] == Some(Verdict::Worse));
        let medians = count(20, (52, rounds, planted), |it| differs(&it[0]));
        let [turns, apart] = found;
        println!(
            "{rounds} rounds: 1 ms for one in 300 found in 20 pairs: {turns} of one run, {apart} of two"
        );
        assert_eq!(found, [20, 20], "{rounds} rounds");
        assert!(medians.iter().all(|found| *found <= 3), "{rounds} rounds: medians {medians:?}");
    }
}

#[test]
fn one_round_is_never_compared() {
    let mut random = SplitMix64::new(53);
    let (a, b) = (cell(&mut random, 3, NOTHING), cell(&mut random, 1, NOTHING));
    for figure in compare_samples(&a, &b, Design::Apart, 0.05) {
        assert!(figure.a.is_some() && figure.b.is_some(), "the figures are reported anyway");
        let why = figure.not_compared.unwrap().to_string();
        assert!(why.contains("B has only 1 round") && why.contains("--rounds 3"), "{why}");
    }
}

#[test]
fn a_difference_within_the_margin_counts_as_the_same() {
    let difference = |ratio: f64, low, high| Difference {
        a: 1.0,
        b: ratio,
        ratio,
        ratio_low: low,
        ratio_high: high,
        nanos: 0.0,
        nanos_low: 0.0,
        nanos_high: 0.0,
        chance: 0.001,
        rounds_for_margin: None,
    };
    assert_eq!(verdict(&difference(1.02, 1.01, 1.03), 0.001, 0.05), Verdict::Same);
    assert_eq!(verdict(&difference(1.10, 1.04, 1.16), 0.001, 0.05), Verdict::Worse);
    assert_eq!(verdict(&difference(0.90, 0.85, 0.96), 0.001, 0.05), Verdict::Better);
    assert_eq!(verdict(&difference(1.10, 0.98, 1.23), 0.2, 0.05), Verdict::NoDifferenceFound);
}
