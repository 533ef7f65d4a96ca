//! Opens the database file and brings its tables up to date.

use std::time::Duration;

/// How long to wait for another process that holds the file locked.
///
/// A writer holds it for the milliseconds of one transaction; only an import of
/// a large run holds it for longer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
