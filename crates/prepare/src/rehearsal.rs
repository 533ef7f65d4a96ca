//! Running work in advance, so that its code and data are resident when it matters.

use tactus_sys::{SysError, usage};

/// The result of a rehearsal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rehearsal {
    /// How often the work ran.
    pub passes: u32,
    /// The page faults of the last pass; above 0 if `passes` reached its limit first.
    pub faults: u64,
}

/// Runs `work` until a pass causes no page fault in the calling thread, `limit` times at
/// most.
///
/// # Errors
/// Those of `work` and of getrusage(2).
pub fn rehearse<E: From<SysError>>(
    limit: u32,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<Rehearsal, E> {
    let mut rehearsal = Rehearsal { passes: 0, faults: 0 };
    while rehearsal.passes < limit {
        let before = usage::of_this_thread()?;
        work()?;
        let used = usage::difference(before, usage::of_this_thread()?);
        rehearsal.passes += 1;
        rehearsal.faults = used.minor_faults + used.major_faults;
        if rehearsal.faults == 0 {
            break;
        }
    }
    Ok(rehearsal)
}

#[cfg(test)]
mod tests {
    use tactus_sys::mapping::Mapping;

    use super::*;

    #[test]
    fn work_is_repeated_until_it_causes_no_fault() {
        let mut memory = Mapping::new(1 << 20).unwrap();
        let rehearsal = rehearse(10, || {
            memory.bytes().fill(1);
            Ok::<_, SysError>(())
        })
        .unwrap();
        assert!(rehearsal.passes >= 2 && rehearsal.faults == 0, "{rehearsal:?}");
    }

    #[test]
    fn work_that_always_causes_faults_stops_at_the_limit() {
        let rehearsal = rehearse(3, || {
            Mapping::new(1 << 20)?.bytes().fill(1);
            Ok::<_, SysError>(())
        })
        .unwrap();
        assert_eq!(rehearsal.passes, 3);
        assert!(rehearsal.faults > 0);
        let none = rehearse(0, || -> Result<(), SysError> { unreachable!() });
        assert_eq!(none, Ok(Rehearsal { passes: 0, faults: 0 }));
    }

    #[test]
    fn an_error_ends_the_rehearsal() {
        let error = SysError::new("test", tactus_sys::Errno::IO);
        assert_eq!(rehearse(3, || Err(error)), Err(error));
    }
}
