//! Tempo maps against exact sums.

use num_rational::Ratio;
use proptest::prelude::*;
use tactus_model::time::Nanos;
use tactus_score::{Beat, Tempo, TempoError, TempoMap, Time, beat, bpm};

type Exact = Ratio<i128>;

/// Nanoseconds of a time.
fn nanos(time: Time) -> i128 {
    time.since_start().as_nanos().into()
}

/// Whether a time is the exact one, rounded.
fn assert_rounded(time: Time, exact: Exact, beat: Beat) {
    let error = Exact::from_integer(nanos(time)) - exact;
    let error = if error < Exact::ZERO { -error } else { error };
    // Half a nanosecond, and what the beginnings of pieces lack.
    assert!(error <= Exact::new(501, 1000), "beat {beat}: {time} is not {exact} ns");
}

#[test]
fn fifteen_hours_of_any_division_do_not_drift() {
    for number in [107, 93, 121, 60] {
        let map = TempoMap::new(bpm(number)).unwrap();
        let period = Exact::new(60_000_000_000, number.into());
        for parts in [1_i64, 3, 7, 960] {
            let step = beat(1) / parts;
            let length = period / i128::from(parts);
            // The recurrence that a program computes: each beat from the one before.
            let (mut at, mut exact) = (beat(0), Exact::ZERO);
            let mut left = 200_000;
            while exact < Exact::from_integer(15 * 3_600_000_000_000) && left > 0 {
                assert_rounded(map.time(at).unwrap(), exact, at);
                // In strides, so that all divisions reach the last hour.
                let stride = 1 + (left % 97);
                (at, exact) = (at + step * stride, exact + length * i128::from(stride));
                left -= 1;
            }
        }
    }
}

#[test]
fn a_ramp_is_the_sum_of_its_beats() {
    let map = TempoMap::new(bpm(107)).unwrap();
    let map = map.ramp(beat(32), beat(40), bpm(120)).unwrap();
    let (slow, fast) = (Exact::new(60_000_000_000, 107), Exact::new(60_000_000_000, 120));
    let mut exact = slow * 32;
    for sixteenth in 0..8 * 16 {
        let at = beat(32) + beat(sixteenth) / 16;
        assert_rounded(map.time(at).unwrap(), exact, at);
        // The period in the middle of the next sixteenth is its average.
        let middle = Exact::new(2 * i128::from(sixteenth) + 1, 2 * 8 * 16);
        exact += (slow + (fast - slow) * middle) / 16;
    }
    assert_rounded(map.time(beat(40)).unwrap(), exact, beat(40));
    assert_rounded(map.time(beat(100)).unwrap(), exact + fast * 60, beat(100));
}

#[test]
fn ten_thousand_changes_of_tempo_do_not_accumulate_errors() {
    let mut map = TempoMap::new(bpm(100)).unwrap();
    let (mut from, mut exact) = (beat(0), Exact::ZERO);
    let mut period = 600_000_000_i128;
    for change in 0..10_000_i64 {
        let length = beat(1 + change % 5) / 3 + beat(1) / 960;
        exact += Exact::new(length.numerator().into(), length.denominator().into()) * period;
        from = from + length;
        period = 500_000_001 + i128::from(change * 7_919 % 100_003);
        map.change(from, Tempo::of_period(Nanos::from_nanos(period as u64))).unwrap();
        assert_rounded(map.time(from).unwrap(), exact, from);
    }
}

#[test]
fn tempos_of_many_denominators_fit() {
    let mut map = TempoMap::new(bpm(60)).unwrap();
    for change in 1..5_000 {
        let tempo = bpm(60.0 + f64::from(change) / 77.0);
        map.change(beat(change.into()), tempo).unwrap();
    }
    assert!(map.time(beat(1 << 33) + beat(1) / 961).is_ok());
}

#[test]
fn impossible_tempos_and_beats_are_refused_with_their_place() {
    let map = TempoMap::new(bpm(60)).unwrap();
    let said = |result: Result<TempoMap, TempoError>| result.unwrap_err().to_string();
    for (tempo, shown) in [
        (bpm(f64::NAN), "NaN beats per minute"),
        (bpm(f64::INFINITY), "inf beats per minute"),
        (bpm(0), "0 beats per minute"),
        (bpm(-3), "-3 beats per minute"),
        (bpm(1e7), "10000000 beats per minute"),
        (Tempo::of_period(Nanos::ZERO), "0ns per beat"),
        (Tempo::of_period(Nanos::MAX), "18446744073709551.615ms per beat"),
    ] {
        let found = said(map.clone().at(beat(65) / 2, tempo));
        let found = found.split(';').next().unwrap();
        let shown = if tempo == Tempo::of_period(Nanos::MAX) {
            found
        } else {
            &format!("tempo at beat 65/2: {shown} is impossible")
        };
        assert_eq!(found, shown);
        assert!(TempoMap::new(tempo).is_err());
        assert!(map.clone().ramp(beat(0), beat(1), tempo).is_err());
    }
    assert_eq!(
        said(map.clone().ramp(beat(4), beat(4), bpm(70))),
        "a ramp from beat 4 to beat 4 has no length"
    );
    let before = beat(0) - beat(1) / 2;
    assert_eq!(map.time(before), Err(TempoError::BeforeStart(before)));
    assert_eq!(map.time(beat(i64::MAX)), Err(TempoError::Range(beat(i64::MAX))));
    // Three large denominators do not fit into 128 bits.
    let (first, last) = (beat(1) / ((1 << 61) - 1), beat(3) / ((1 << 62) - 57));
    let ramp = map.ramp(first, last, bpm(60.000_001));
    let far = ramp.and_then(|map| map.time(beat(1) / ((1 << 59) - 55)));
    assert!(matches!(far, Err(TempoError::Range(_))), "{far:?}");
}

fn maps() -> impl Strategy<Value = TempoMap> {
    let change = (1_i64..5000, 1_i64..50, prop::bool::ANY, 20_u32..300);
    prop::collection::vec(change, 0..8).prop_map(|changes| {
        let mut map = TempoMap::new(bpm(90)).unwrap();
        let mut from = beat(0);
        for (count, parts, is_ramp, tempo) in changes {
            let next = from + beat(count) / parts;
            map = match is_ramp {
                true => map.ramp(from, next, bpm(tempo)).unwrap(),
                false => map.at(next, bpm(tempo)).unwrap(),
            };
            from = next;
        }
        map
    })
}

proptest! {
    #[test]
    fn the_position_at_a_time_is_the_last_part_that_has_come(
        map in maps(),
        time in 0_u64..20_000_000_000_000,
        parts in 1_u32..1000,
    ) {
        let time = Time::after_start(Nanos::from_nanos(time));
        let position = map.beat(time, parts).unwrap();
        prop_assert!(map.time(position).unwrap() <= time);
        let next = position + Beat::of_parts(1, parts).unwrap();
        prop_assert!(map.time(next).unwrap() > time);
    }

    #[test]
    fn a_change_moves_no_earlier_beat_and_does_not_jump(
        map in maps(),
        from in 0_i64..100_000,
        before in 0_i64..100_000,
        tempo in 20_u32..300,
    ) {
        let (from, before) = (beat(from) / 24, beat(before) / 24);
        let changed = map.clone().at(from, bpm(tempo)).unwrap();
        let earlier = from.min(before);
        // The beginning of a piece has 32 fractional bits.
        let difference = nanos(changed.time(earlier).unwrap()) - nanos(map.time(earlier).unwrap());
        prop_assert!(difference.abs() <= 1);
        let part = beat(1) / 1_000_000;
        prop_assert!(changed.time(from + part).unwrap() - changed.time(from).unwrap() <= Nanos::from_micros(3));
    }

    #[test]
    fn times_grow_with_beats(map in maps(), first in 0_i64..1_000_000, step in 1_i64..1000) {
        let at = |count: i64| map.time(beat(count) / 960).unwrap();
        prop_assert!(at(first) < at(first + step));
    }
}
