//! Names at the ends of curves: short enough for the margin, without overlap.

use crate::columns::{beginning, columns_of};

/// The average width of a letter at the drawings' font size, in a wide typeface: spare room is
/// better than a truncated name.
const LETTER: f64 = 6.8;

/// The approximate width of a text.
pub(super) fn width(text: &str) -> f64 {
    columns_of(text) as f64 * LETTER
}

/// Truncates a text to `limit` units of width, with an ellipsis.
pub(super) fn shorten(text: &str, limit: f64) -> String {
    let most = (limit / LETTER).floor().max(2.0) as usize;
    if columns_of(text) <= most {
        return text.to_owned();
    }
    format!("{}…", beginning(text, most - 1).trim_end())
}

/// Moves places apart until neighbours are `gap` from each other, within `top ..= bottom`.
///
/// The order is kept. Without room for all, the gap shrinks.
pub(super) fn spread(places: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let Some(intervals) = places.len().checked_sub(1) else { return Vec::new() };
    let gap = if intervals == 0 { gap } else { gap.min((bottom - top) / intervals as f64) };
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|a, b| places[*a].total_cmp(&places[*b]));
    let mut moved = places.to_vec();
    let mut least = top;
    for &index in &order {
        moved[index] = moved[index].clamp(top, bottom).max(least);
        least = moved[index] + gap;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        moved[index] = moved[index].min(most);
        most = moved[index] - gap;
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_overlap() {
        let moved = spread(&[50.0, 51.0, 10.0, 99.0, 99.5], 12.0, 0.0, 100.0);
        let mut sorted = moved.clone();
        sorted.sort_by(f64::total_cmp);
        for pair in sorted.windows(2) {
            assert!(pair[1] - pair[0] >= 11.999, "{moved:?}");
        }
        assert!(moved[0] < moved[1], "the order is kept: {moved:?}");
        assert!(sorted[0] >= 0.0 && sorted[4] <= 100.0);
    }

    #[test]
    fn crowded_names_share_the_room() {
        let moved = spread(&[5.0; 30], 12.0, 0.0, 100.0);
        assert!(moved.iter().all(|place| (-0.001..=100.001).contains(place)), "{moved:?}");
    }

    #[test]
    fn long_names_are_cut_with_an_ellipsis() {
        assert_eq!(shorten("idle", 60.0), "idle");
        assert_eq!(shorten("deadline:200us/1ms/1ms", 68.0), "deadline:…");
    }
}
