//! The maximum of a function of one variable.

/// The number of grid points to find the neighbourhood of the maximum.
const COARSE: u32 = 20;
/// The number of golden-section steps in that neighbourhood: to a factor of 10⁻⁵.
const FINE: u32 = 24;
/// The golden section.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// Returns the second value of `at` at the maximum between `low` and `high`: first on a coarse
/// grid, then by golden section around its best point (J. Kiefer, *Sequential minimax search
/// for a maximum*, 1953).
pub(super) fn greatest<T: Copy>(low: f64, high: f64, at: impl Fn(f64) -> (f64, T)) -> T {
    let step = (high - low) / f64::from(COARSE);
    let mut best = (low, at(low));
    for nth in 1..=COARSE {
        let place = low + step * f64::from(nth);
        let found = at(place);
        if found.0 > best.1.0 {
            best = (place, found);
        }
    }
    let (mut left, mut right) = ((best.0 - step).max(low), (best.0 + step).min(high));
    let (mut first, mut second) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut at_first, mut at_second) = (at(first), at(second));
    for _ in 0..FINE {
        if at_first.0 > at_second.0 {
            (right, second, at_second) = (second, first, at_first);
            first = right - GOLDEN * (right - left);
            at_first = at(first);
        } else {
            (left, first, at_first) = (first, second, at_second);
            second = left + GOLDEN * (right - left);
            at_second = at(second);
        }
    }
    // A grid point can be the best if the maximum is at an end.
    [at_first, at_second]
        .into_iter()
        .fold(best.1, |best, one| if one.0 > best.0 { one } else { best })
        .1
}
