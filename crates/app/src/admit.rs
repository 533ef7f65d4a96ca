//! Plans on paper: whether tasks meet their deadlines.

use std::path::Path;

use tactus_admission::Plan;
use tactus_model::limits::ADMISSION_BYTES;

use crate::error::OrError;
use crate::{ErrorKind, Result, files};

/// Reads a plan.
///
/// # Errors
/// The file cannot be read, or the plan is wrong.
pub fn plan(path: &Path) -> Result<Plan> {
    let text = files::read_text(path, ADMISSION_BYTES)
        .or_error(ErrorKind::Usage, || format!("cannot open plan {}", path.display()))?;
    Plan::parse(&text).or_error(ErrorKind::Usage, || format!("cannot read plan {}", path.display()))
}
