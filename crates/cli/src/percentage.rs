//! Percentages as options give them.

/// Reads a percentage, `5%` or `5`, as a share; none where it is no number.
fn share(text: &str) -> Option<f64> {
    Some(text.trim().trim_end_matches('%').trim().parse::<f64>().ok()? / 100.0)
}

/// Reads the margin of a comparison.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    share(text).filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| {
        format!("`{text}` is no margin; write a percentage between 0 and 100, as 5%")
    })
}

/// Reads the chance of a false alarm.
pub(crate) fn false_alarms(text: &str) -> Result<f64, String> {
    share(text).filter(|share| *share > 0.0 && *share <= 0.5).ok_or_else(|| {
        format!("`{text}` is no chance of a false alarm; write a percentage up to 50, as 1%")
    })
}
