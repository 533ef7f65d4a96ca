//! What was not granted.

use tactus_model::result::Shortfall;

/// The distinct shortfalls of a measurement, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub struct Shortfalls(Vec<Shortfall>);

impl Shortfalls {
    /// Adds a shortfall and passes it to `report`, unless it is known: every task and every window
    /// finds the same.
    pub fn add(&mut self, shortfall: &Shortfall, report: impl FnOnce(Shortfall)) {
        if !self.0.contains(shortfall) {
            self.0.push(shortfall.clone());
            report(shortfall.clone());
        }
    }

    /// All of them.
    pub fn into_all(self) -> Vec<Shortfall> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shortfall_is_reported_once() {
        let shortfall = |asked: &str| Shortfall {
            asked: asked.to_owned(),
            granted: String::new(),
            reason: String::new(),
            fix: None,
        };
        let (mut shortfalls, mut reported) = (Shortfalls::default(), Vec::new());
        for asked in ["a", "b", "a"] {
            shortfalls.add(&shortfall(asked), |new| reported.push(new.asked));
        }
        assert_eq!(reported, ["a", "b"]);
        assert_eq!(shortfalls.into_all(), [shortfall("a"), shortfall("b")]);
    }
}
