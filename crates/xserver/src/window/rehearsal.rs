//! How long a frame takes from being handed over to being seen, before there is one to show.

use tactus_model::time::Nanos;

/// Frames that are shown before the first: that one sets up what the others use.
const FRAMES: usize = 7;
/// The longest lead: a display that takes longer is late.
pub const LEAD_MOST: Nanos = Nanos::from_millis(8);

/// Shows a frame some times by `show`, which returns how long it took, if it was seen. Returns how
/// long all but the first took.
///
/// # Errors
/// Those of `show`.
pub fn rehearse<E>(mut show: impl FnMut() -> Result<Option<Nanos>, E>) -> Result<Vec<Nanos>, E> {
    show()?;
    let taken: Result<Vec<Option<Nanos>>, E> = (1..FRAMES).map(|_| show()).collect();
    Ok(taken?.into_iter().flatten().collect())
}

/// The usual one of these times, by which a frame is handed over before it is due: their median, and
/// [`LEAD_MOST`] at most. Zero of none.
pub fn lead(taken: &mut [Nanos]) -> Nanos {
    taken.sort_unstable();
    taken.get(taken.len() / 2).copied().unwrap_or(Nanos::ZERO).min(LEAD_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_does_not_count() {
        let mut times = [90, 4, 1, 3, 0, 2, 5].map(Nanos::from_millis).into_iter();
        let mut taken =
            rehearse(|| Ok::<_, ()>(times.next().filter(|taken| *taken > Nanos::ZERO))).unwrap();
        assert_eq!(taken.len(), 5, "one was not seen");
        assert_eq!(lead(&mut taken), Nanos::from_millis(3));
        assert_eq!(lead(&mut [Nanos::from_secs(1)]), LEAD_MOST);
        assert_eq!(lead(&mut []), Nanos::ZERO);
        assert_eq!(rehearse(|| Err(7)), Err(7));
    }
}
