//! What a load has achieved up to one moment.

use tactus_model::result::LoadResult;
use tactus_model::time::Nanos;

/// What a load has achieved up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSnapshot {
    /// Copies at work.
    pub copies: u32,
    /// What one operation is; empty where operations cannot be counted.
    pub unit: &'static str,
    /// Operations so far; `None` where they cannot be counted.
    pub operations: Option<u64>,
    /// Bytes so far; `None` where they cannot be counted.
    pub bytes: Option<u64>,
    /// Processor time so far of all processes of the load, ended ones included as far
    /// as they were waited for; in steps of 10 ms. `None` where it cannot be read.
    pub cpu_time: Option<Nanos>,
}

impl LoadSnapshot {
    /// What was achieved since `earlier`, a snapshot of the same load.
    ///
    /// Differences saturate at zero: the processor time of a process that ended
    /// without being waited for is lost.
    pub fn since(&self, earlier: &Self) -> LoadResult {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        LoadResult {
            copies: earlier.copies,
            ended: earlier.copies.saturating_sub(self.copies),
            unit: self.unit.to_owned(),
            operations: grown(self.operations, earlier.operations),
            bytes: grown(self.bytes, earlier.bytes),
            cpu_time: self.cpu_time.zip(earlier.cpu_time).map(|(now, then)| now - then),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_the_growth_between_two_snapshots() {
        let earlier = LoadSnapshot {
            copies: 3,
            unit: "write",
            operations: Some(10),
            bytes: None,
            cpu_time: Some(Nanos::from_millis(20)),
        };
        let later = LoadSnapshot {
            copies: 2,
            operations: Some(15),
            cpu_time: Some(Nanos::from_millis(50)),
            ..earlier.clone()
        };
        let expected = LoadResult {
            copies: 3,
            ended: 1,
            unit: "write".to_owned(),
            operations: Some(5),
            bytes: None,
            cpu_time: Some(Nanos::from_millis(30)),
        };
        assert_eq!(later.since(&earlier), expected);
    }
}
