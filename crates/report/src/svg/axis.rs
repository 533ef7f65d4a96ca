//! The horizontal axes of the percentile graph.

/// How a share of the wakeups becomes a place on the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PercentileAxis {
    /// The exponential of the percentile (Faller 1992).
    Exponential,
    /// The logarithm of 1/(1−p): every step is one more nine.
    Nines,
}

impl PercentileAxis {
    /// The place of a share.
    pub fn position(self, share: f64) -> f64 {
        match self {
            Self::Exponential => ((5.0 * share).exp() - 1.0) / (5f64.exp() - 1.0),
            Self::Nines => -(1.0 - share).log10(),
        }
    }
}
