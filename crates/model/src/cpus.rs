//! Sets of CPUs in the kernel's list format.

use std::fmt;
use std::str::FromStr;

/// A set of CPUs in the kernel's list format: `0-3,8`.
///
/// See *Cpus_allowed_list* in proc_pid_status(5) and the list format in cpuset(7). Ranges stay
/// ranges, so a list takes no more memory than its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuList(Vec<(u32, u32)>);

impl CpuList {
    /// The upper limit of CPU numbers (exclusive); no Linux build supports more CPUs.
    pub const LIMIT: u32 = 8192;

    /// The CPUs, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// How many CPUs there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|(first, last)| (last - first) as usize + 1).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&cpu))
    }

    /// The CPUs of this set that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.iter().filter(|cpu| !other.contains(*cpu)).collect()
    }

    /// The set of all CPUs in `ranges`.
    fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match joined.last_mut() {
                Some((_, before)) if first <= before.saturating_add(1) => {
                    *before = last.max(*before);
                }
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self::of_ranges(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self
            .0
            .iter()
            .map(
                |(first, last)| {
                    if first == last { first.to_string() } else { format!("{first}-{last}") }
                },
            )
            .collect();
        f.pad(&parts.join(","))
    }
}

/// The error for a text that is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of CPUs: write numbers and ranges, e.g. 0,2-3, or `all`")]
pub struct NotACpuList(String);

impl FromStr for CpuList {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        let wrong = || NotACpuList(text.to_owned());
        let number = |part: &str| {
            part.trim().parse::<u32>().ok().filter(|cpu| *cpu < Self::LIMIT).ok_or_else(wrong)
        };
        let mut ranges = Vec::new();
        for part in text.trim().split(',').filter(|part| !part.trim().is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(wrong());
            }
            ranges.push((first, last));
        }
        Ok(Self::of_ranges(ranges))
    }
}

crate::text::serde_as_text!(CpuList);

/// A choice of CPUs: all that the process may use, or a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CpuChoice {
    /// All CPUs that the measuring process is allowed to use.
    #[default]
    All,
    /// These CPUs.
    These(CpuList),
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.pad("all"),
            Self::These(list) => list.fmt(f),
        }
    }
}

impl FromStr for CpuChoice {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<Self, NotACpuList> {
        if text.eq_ignore_ascii_case("all") {
            return Ok(Self::All);
        }
        let list: CpuList = text.parse()?;
        if list.is_empty() { Err(NotACpuList(text.to_owned())) } else { Ok(Self::These(list)) }
    }
}

crate::text::serde_as_text!(CpuChoice);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, cpus: &[u32], shown: &str) {
        let list: CpuList = text.parse().unwrap();
        assert_eq!(list.iter().collect::<Vec<_>>(), cpus);
        assert_eq!(list.to_string(), shown);
    }

    #[test]
    fn lists_use_the_format_of_the_kernel() {
        check("0", &[0], "0");
        check("0,1", &[0, 1], "0-1");
        check("5,0-2\n", &[0, 1, 2, 5], "0-2,5");
        check("", &[], "");
    }

    #[test]
    fn text_that_is_not_a_list_is_rejected() {
        for text in ["2-1", "a", "0-", "99999", "1;2"] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
        assert!("".parse::<CpuChoice>().is_err(), "an empty choice of CPUs");
    }

    #[test]
    fn without_removes_the_cpus_of_another_list() {
        let list: CpuList = "0-5".parse().unwrap();
        assert_eq!(list.without(&"1,4-9".parse().unwrap()).to_string(), "0,2-3");
        assert_eq!(list.without(&list), CpuList::default());
    }
}
