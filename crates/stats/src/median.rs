//! The median, and the spread around it.

/// A robust standard deviation is this many times the median absolute deviation (P. J. Huber,
/// *Robust Statistics*, 1981, section 5.1).
const OF_MAD: f64 = 1.4826;

/// The median of ascending values, which must not be empty.
pub(crate) fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    match ascending.len() % 2 {
        1 => ascending[middle],
        _ => ascending[middle - 1].midpoint(ascending[middle]),
    }
}

/// The median of values in any order; `None` without values.
pub fn median_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut ascending: Vec<f64> = values.into_iter().collect();
    ascending.sort_unstable_by(f64::total_cmp);
    (!ascending.is_empty()).then(|| median(&ascending))
}

/// The robust standard deviation of values around their median.
pub fn deviation(values: &[f64], center: f64) -> f64 {
    OF_MAD * median_of(values.iter().map(|value| (value - center).abs())).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(median_of([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median_of([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median_of([]), None);
    }

    #[test]
    fn one_wild_value_does_not_change_the_deviation() {
        let values = [9.0, 10.0, 11.0];
        assert_eq!(deviation(&values, 10.0), OF_MAD);
        assert_eq!(deviation(&[9.0, 10.0, 11.0, 10.0, 1e9], 10.0), OF_MAD);
    }
}
