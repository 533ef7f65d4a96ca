//! Percentages in options.

use tactus_model::gate_rule::GateRule;

/// Parses a percentage, `5%` or `5`, as a share; `None` if it is not a number.
fn share(text: &str) -> Option<f64> {
    Some(text.trim().trim_end_matches('%').trim().parse::<f64>().ok()? / 100.0)
}

/// Parses the margin of a comparison.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    share(text).filter(|share| *share > 0.0 && *share < 1.0).ok_or_else(|| {
        format!("`{text}` is not a margin: write a percentage between 0 and 100, e.g. 5%")
    })
}

/// Parses a share of jobs, or a confidence.
pub(crate) fn covered(text: &str) -> Result<f64, String> {
    share(text).filter(|share| *share >= 0.5 && *share <= 0.999_999).ok_or_else(|| {
        format!("`{text}` is out of range: write a percentage from 50 to 99.9999, e.g. 99.9%")
    })
}

/// Parses a budget of CPU time, a share of one CPU.
pub(crate) fn budget(text: &str) -> Result<f64, String> {
    share(text).filter(|share| (0.0001..=1.0).contains(share)).ok_or_else(|| {
        format!(
            "`{text}` is not a budget: write a percentage of one CPU from 0.01 to 100, e.g. 0.5%"
        )
    })
}

/// Parses a cushion.
pub(crate) fn cushion(text: &str) -> Result<f64, String> {
    share(text).filter(|share| (0.0..=10.0).contains(share)).ok_or_else(|| {
        format!("`{text}` is not a cushion: write a percentage from 0 to 1000, e.g. 25%")
    })
}

/// Parses the chance of a false alarm.
pub(crate) fn false_alarms(text: &str) -> Result<f64, String> {
    let most = GateRule::MOST_FALSE_ALARMS;
    share(text).filter(|share| *share > 0.0 && *share <= most).ok_or_else(|| {
        let most = most * 100.0;
        format!("`{text}` is not a chance of a false alarm: write a percentage above 0 and up to {most}, e.g. 1%")
    })
}
