//! Building the program that runs in guests, where this `tactus` was built from source.

use std::time::{Duration, Instant};

use tactus_guests::{GuestError, ProgramProgress, ProgramSource};
use tactus_model::kernel::Architecture;

use crate::build_event::{BuildEvent, BuildListener};
use crate::{Places, Result};

/// The source of the program that runs in guests, unless a person named the program.
pub(crate) fn source(places: &Places) -> Option<ProgramSource> {
    let is_named = places.guest_program.as_ref().is_some_and(|program| !program.is_empty());
    if is_named { None } else { ProgramSource::of_this_build() }
}

/// Builds the program of `architecture` from `source`, and shows the progress.
///
/// # Errors
/// There is no Rust toolchain for it, or the build fails.
pub(crate) fn build(
    source: &ProgramSource,
    places: &Places,
    architecture: Architecture,
    listener: &BuildListener,
) -> Result<(), GuestError> {
    let (began, mut was_compiled) = (Instant::now(), false);
    source.build(&places.search_path, architecture, |progress| {
        was_compiled = true;
        let ProgramProgress { architecture, packages, of, elapsed } = progress;
        let seconds_left = left(elapsed, packages, of).map(|left| left.as_secs());
        listener(&BuildEvent::Program { architecture, packages, of, seconds_left });
    })?;
    if was_compiled {
        let seconds = began.elapsed().as_secs();
        listener(&BuildEvent::ProgramBuilt { architecture, seconds });
    }
    Ok(())
}

/// The remaining time after `packages` of `of` packages took `elapsed`; `None` if too few were
/// compiled for an estimate.
fn left(elapsed: Duration, packages: u64, of: u64) -> Option<Duration> {
    const ENOUGH: u64 = 10;
    let remaining = of.saturating_sub(packages) as f64;
    (packages >= ENOUGH).then(|| elapsed.mul_f64(remaining / packages as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_estimated_from_the_packages() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 9, 60), None);
        assert_eq!(left(minute, 20, 60), Some(2 * minute));
        assert_eq!(left(minute, 60, 60), Some(Duration::ZERO));
    }
}
