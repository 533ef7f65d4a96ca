//! Which threads of a program get a reserve, and of which capacity.

use std::str::FromStr;

use tactus_model::recording::is_thread_name;
use tactus_model::reserve::{Capacity, NotACapacity};

/// The most names of threads.
const NAMES_MAX: usize = 64;

/// Which threads of a program get a reserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threads {
    /// All threads, each its own.
    All,
    /// The first thread.
    Main,
    /// The threads with one of these names, some with a capacity of their own; `main` is the first
    /// thread, whatever its name is.
    Named(Vec<(String, Option<Capacity>)>),
}

/// Why a text does not say which threads get a reserve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotThreads {
    /// A name is empty.
    #[error("`{0}` has an empty name: write main, all, or names separated by commas")]
    Empty(String),
    /// What follows the equals sign of a name is no capacity.
    #[error("the capacity of thread `{name}`: {error}")]
    Capacity {
        /// The name.
        name: String,
        /// The reason.
        error: NotACapacity,
    },
    /// There are too many names.
    #[error("{0} names; at most {NAMES_MAX} threads can be named")]
    TooMany(usize),
    /// A name is there twice, so its capacity is not clear.
    #[error("`{0}` is there twice: write each name once")]
    Twice(String),
    /// `all` is one of several names, or has a capacity of its own.
    #[error("`{0}`: all stands alone, and its capacity before it: write 1ms/10ms --threads all")]
    AllAmongNames(String),
}

impl FromStr for Threads {
    type Err = NotThreads;

    /// Parses `all`, or names separated by commas, each with a capacity if need be:
    /// `audio=2ms/10ms,video`. `main` is the first thread.
    fn from_str(text: &str) -> Result<Self, NotThreads> {
        match text {
            "all" => return Ok(Self::All),
            "main" => return Ok(Self::Main),
            _ => {}
        }
        let names: Vec<_> = text.split(',').map(named).collect::<Result<_, _>>()?;
        match names.len() {
            count if count > NAMES_MAX => Err(NotThreads::TooMany(count)),
            _ if names.iter().any(|(name, _)| name.is_empty()) => {
                Err(NotThreads::Empty(text.to_owned()))
            }
            _ if names.iter().any(|(name, _)| name == "all") => {
                Err(NotThreads::AllAmongNames(text.to_owned()))
            }
            _ => match twice(&names) {
                Some(name) => Err(NotThreads::Twice(name)),
                None => Ok(Self::Named(names)),
            },
        }
    }
}

/// A name that selects the same threads as one before it.
fn twice(names: &[(String, Option<Capacity>)]) -> Option<String> {
    let mut before = names.iter().enumerate();
    let same = before.find(|(number, (name, _))| {
        names[..*number].iter().any(|(other, _)| is_thread_name(name, other))
    });
    same.map(|(_, (name, _))| name.clone())
}

fn named(text: &str) -> Result<(String, Option<Capacity>), NotThreads> {
    let Some((name, capacity)) = text.split_once('=') else { return Ok((text.to_owned(), None)) };
    let capacity =
        capacity.parse().map_err(|error| NotThreads::Capacity { name: name.to_owned(), error })?;
    Ok((name.to_owned(), Some(capacity)))
}

impl Threads {
    /// The share of each selection of threads; `usual` is the capacity of those without their own.
    ///
    /// # Errors
    /// No capacity is given for the threads with this name, or for all.
    pub fn shares(&self, usual: Option<Capacity>) -> Result<Vec<Share>, NoCapacity> {
        let of = |which: Which, own: Option<Capacity>| match own.or(usual) {
            Some(capacity) => Ok(Share { which, capacity }),
            None => Err(NoCapacity(match which {
                Which::Named(name) => format!("thread `{name}`"),
                Which::All | Which::Main => "the program".to_owned(),
            })),
        };
        match self {
            Self::All => Ok(vec![of(Which::All, None)?]),
            Self::Main => Ok(vec![of(Which::Main, None)?]),
            Self::Named(names) => {
                let which = |name: &str| match name {
                    "main" => Which::Main,
                    name => Which::Named(name.to_owned()),
                };
                let each = names.iter().map(|(name, own)| of(which(name), *own));
                let mut shares: Vec<Share> = each.collect::<Result<_, _>>()?;
                // It has its reserve before the program runs.
                shares.sort_by_key(|share| share.which != Which::Main);
                Ok(shares)
            }
        }
    }
}

/// No capacity is given for some threads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no capacity is given for {0}")]
pub struct NoCapacity(String);

/// The capacity of each thread of a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The threads.
    pub which: Which,
    /// What each of them gets.
    pub capacity: Capacity,
}

/// A selection of the threads of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// All threads.
    All,
    /// The first thread.
    Main,
    /// The threads with this name.
    Named(String),
}

impl Which {
    /// Whether it selects a thread other than the first by the name that it has now.
    pub(super) fn selects(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Main => false,
            Self::Named(wanted) => is_thread_name(name, wanted),
        }
    }

    /// The name by which threads are selected.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::All | Self::Main => None,
        }
    }

    /// The name by which its capacity is changed.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Main => Some("main"),
            other => other.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(text: &str) -> Capacity {
        text.parse().unwrap()
    }

    #[test]
    fn threads_are_all_or_the_first_or_named() {
        let parse = |text: &str| text.parse::<Threads>().unwrap();
        assert_eq!(parse("all"), Threads::All);
        assert_eq!(parse("main"), Threads::Main);
        let named = [("audio", Some(capacity("2ms/10ms"))), ("video", None)];
        let named = named.map(|(name, own)| (name.to_owned(), own)).to_vec();
        assert_eq!(parse("audio=2ms/10ms,video"), Threads::Named(named));
        let refused = |text: &str| text.parse::<Threads>().unwrap_err().to_string();
        assert!(refused("audio,,video").contains("empty name"));
        assert!(refused("").contains("empty name"));
        assert!(refused("a=1ms/10ms,a=2ms/10ms").contains("`a` is there twice"));
        for all in ["all=1ms/100ms", "all=1ms/100ms,sp", "sp,all"] {
            assert!(refused(all).contains("all stands alone"));
        }
        assert!(refused("audio=12ms/10ms").contains("thread `audio`: the cost of 12ms"));
        assert!(refused(&"a,".repeat(NAMES_MAX + 1)).contains("at most 64"));
    }

    #[test]
    fn every_selection_has_its_own_capacity_or_the_usual_one() {
        let threads: Threads = "audio=2ms/10ms,video".parse().unwrap();
        let shares = threads.shares(Some(capacity("5ms/40ms"))).unwrap();
        let found: Vec<Capacity> = shares.iter().map(|share| share.capacity).collect();
        assert_eq!(found, [capacity("2ms/10ms"), capacity("5ms/40ms")]);
        let missing = threads.shares(None).unwrap_err().to_string();
        assert_eq!(missing, "no capacity is given for thread `video`");
        assert!(Threads::All.shares(None).is_err());
    }

    #[test]
    fn main_among_names_is_the_first_thread_and_comes_first() {
        let threads: Threads = "audio=2ms/10ms,main=1ms/100ms".parse().unwrap();
        let shares = threads.shares(None).unwrap();
        assert_eq!(shares[0], Share { which: Which::Main, capacity: capacity("1ms/100ms") });
        assert_eq!(shares[1].which, Which::Named("audio".to_owned()));
    }

    #[test]
    fn a_name_selects_the_threads_that_the_kernel_shows_by_it() {
        let which = Which::Named("a-thread-with-a-long-name".to_owned());
        assert!(which.selects("a-thread-with-a") && !which.selects("a-thread"));
        assert!(Which::All.selects("x") && !Which::Main.selects("x"));
    }
}
