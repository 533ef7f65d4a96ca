//! Shifts of simulated rounds with known difference and drift.

use tactus_stats::simulate::Draw;

use super::*;

/// Rounds of two consecutive runs with noise 1 around a level that drifts by the variance
/// `drift` per round; the second run is `shift` higher.
fn runs(rounds: usize, drift: f64, shift: f64, draw: &mut Draw) -> [Vec<f64>; 2] {
    let mut level = 0.0;
    [0.0, shift].map(|shift| {
        (0..rounds)
            .map(|_| {
                level += drift.sqrt() * draw.normal();
                level + shift + draw.normal()
            })
            .collect()
    })
}

/// The number of 1000 pairs of runs that the test reports as different at 5 %.
fn reported_different(rounds: usize, drift: f64, shift: f64) -> usize {
    let mut draw = Draw::new(rounds as u64);
    (0..1000)
        .filter(|_| {
            let [a, b] = runs(rounds, drift, shift, &mut draw);
            between_runs(&a, &b, 1.0, 0.0).chance_of_none(0.0, 0.0) <= 0.05
        })
        .count()
}

#[test]
fn drift_between_runs_is_rarely_reported_as_a_difference() {
    // The drift and the accepted number of alarms: if the level moves as far between rounds as
    // rounds scatter, a few rounds do not show all of the drift.
    for (drift, most) in [(0.0, 50), (0.03, 50), (0.1, 70), (0.3, 90), (1.0, 130)] {
        for rounds in [3, 5, 10] {
            let alarms = reported_different(rounds, drift, 0.0);
            println!(
                "drift {drift}, {rounds} rounds: {alarms} of 1000 pairs were reported as different"
            );
            assert!(alarms <= most, "drift {drift}, {rounds} rounds: {alarms} of 1000");
        }
    }
}

#[test]
fn a_shift_is_found_beside_drift() {
    // Four standard deviations of a round, e.g. 10 % if rounds differ by 2.5 %.
    for (rounds, drift, least) in [(3, 0.0, 800), (5, 0.0, 940), (5, 0.1, 850), (10, 0.1, 940)] {
        let found = reported_different(rounds, drift, 4.0);
        println!("drift {drift}, {rounds} rounds: a shift was found in {found} of 1000 pairs");
        assert!(found >= least, "drift {drift}, {rounds} rounds: {found} of 1000");
    }
}

#[test]
fn intervals_contain_the_shift_at_the_stated_rate() {
    for (rounds, drift) in [(3, 0.0), (5, 0.03), (5, 0.1), (10, 0.1)] {
        let mut draw = Draw::new(7);
        let held = (0..1000)
            .filter(|_| {
                let [a, b] = runs(rounds, drift, 3.0, &mut draw);
                let (low, high) = between_runs(&a, &b, 1.0, 0.0).interval(0.05);
                low <= 3.0 && 3.0 <= high
            })
            .count();
        assert!((930..=995).contains(&held), "drift {drift}, {rounds} rounds: {held} of 1000");
    }
}

/// The shift by generalised least squares, from the full covariance by Gaussian elimination.
fn by_the_book(a: &[f64], b: &[f64], gap: f64, drift: f64) -> (f64, f64) {
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let count = all.len();
    let place = |nth: usize| nth as f64 + if nth >= a.len() { gap - 1.0 } else { 0.0 };
    // Rows of the covariance, followed by the columns of level, step and rounds.
    let mut rows: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let walked = |j: usize| drift * place(i.min(j)) + if i == j { 1.0 } else { 0.0 };
            let step = if i >= a.len() { 1.0 } else { 0.0 };
            (0..count).map(walked).chain([1.0, step, all[i]]).collect()
        })
        .collect();
    for pivot in 0..count {
        let scale = rows[pivot][pivot];
        rows[pivot].iter_mut().for_each(|value| *value /= scale);
        let taken = rows[pivot].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(place, _)| *place != pivot) {
            let factor = row[pivot];
            row.iter_mut().zip(&taken).for_each(|(value, taken)| *value -= factor * taken);
        }
    }
    let sum = |from: usize, column: usize| rows[from..].iter().map(|row| row[column]).sum::<f64>();
    let (levels, mixed, steps) = (sum(0, count), sum(0, count + 1), sum(a.len(), count + 1));
    let (of_all, of_b) = (sum(0, count + 2), sum(a.len(), count + 2));
    let determinant = levels * steps - mixed * mixed;
    ((levels * of_b - mixed * of_all) / determinant, levels / determinant)
}

#[test]
fn elimination_equals_textbook_least_squares() {
    let (a, b) = ([1.0, 1.5, 1.25, 2.0], [3.0, 2.5, 3.5, 2.75, 3.125]);
    for gap in [1.0, 4.0] {
        let shift = between_runs(&a, &b, gap, 0.0);
        for (part, drift) in shift.parts.iter().zip(DRIFTS) {
            let (centre, variance) = by_the_book(&a, &b, gap, drift);
            assert!((part.centre - centre).abs() < 1e-9, "{drift}: {part:?}, not {centre}");
            let deviation = (part.noise * variance).sqrt();
            assert!(
                (part.deviation - deviation).abs() < 1e-9,
                "{drift}: {part:?}, not {deviation}"
            );
        }
    }
}

#[test]
fn without_drift_it_equals_the_test_within_one_run() {
    let (a, b) = ([1.0, 1.5, 1.25, 2.0], [3.0, 2.5, 3.5]);
    let still = between_runs(&a, &b, 1.0, 0.01).parts[0];
    let turns = within_run(&a, &b, 0.01).parts[0];
    assert!((still.centre - turns.centre).abs() < 1e-12);
    assert!((still.deviation - turns.deviation).abs() < 1e-12);
}

#[test]
fn the_test_within_one_run_is_the_textbook_t_test() {
    // Means 1 and 1.5, variances 0.04, five rounds each: t of 0.5 / √0.016 = 3.953 with
    // eight degrees of freedom: 0.0042.
    let rounds = |mean: f64| [-0.2, -0.2, 0.0, 0.2, 0.2].map(|off| mean + off);
    let shift = within_run(&rounds(1.0), &rounds(1.5), 0.0);
    assert!((shift.parts[0].deviation.powi(2) - 0.016).abs() < 1e-12, "{shift:?}");
    assert!((shift.chance_of_none(0.0, 0.0) - 0.0042).abs() < 2e-4, "{shift:?}");
    let (low, high) = shift.interval(0.0042);
    assert!(low.abs() < 0.01 && (high - 1.0).abs() < 0.01, "{low} to {high}");
}

#[test]
fn similar_neighbouring_rounds_indicate_drift() {
    let walk = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let still = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let drift = |rounds: &[f64]| -> f64 {
        let shift = between_runs(rounds, rounds, 1.0, 0.0);
        shift.parts.iter().zip(DRIFTS).map(|(part, drift)| part.share * drift).sum()
    };
    let (walking, standing) = (drift(&walk), drift(&still));
    assert!(walking > 4.0 * standing, "{walking} and {standing}");
}

#[test]
fn more_rounds_narrow_the_interval_only_without_drift() {
    let still = within_run(&[1.0, -1.0, 1.0], &[1.0, -1.0, 1.0], 0.0);
    assert!((still.variance_with(100) / still.variance_with(50) - 0.5).abs() < 1e-9);
    let drifting = between_runs(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 1.0, 0.0);
    assert!(drifting.variance_with(1000) > 0.5 * drifting.variance_with(20));
}
