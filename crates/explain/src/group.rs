//! Causes grouped by kind and culprit.
//!
//! One culprit has many causes: a function of the kernel each, a thread each, a CPU each. Beside
//! a smaller cause in one piece, none of them stands out.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::recording::{InterruptVector, Softirq};
use tactus_model::time::Nanos;

use crate::cause::{Cause, Culprit, Hold};
use crate::explanation::{Pareto, ParetoRow};

/// A kind of delay by one culprit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "group", rename_all = "kebab-case")]
pub enum Group {
    /// The threads of a process ran.
    Threads {
        /// The name of the process; of a thread if its process is unknown.
        process: String,
    },
    /// The threads of a process ran kernel code with interrupts or preemption off.
    Sections {
        /// The name of the process; of a thread if its process is unknown.
        process: String,
        /// What the sections held off.
        hold: Hold,
    },
    /// A device's interrupt handler, on any CPU.
    Interrupt {
        /// The handler's name.
        name: String,
    },
    /// An interrupt of the CPU itself, on any CPU.
    Vector {
        /// The interrupt vector.
        vector: InterruptVector,
    },
    /// A softirq, on any CPU.
    Softirq {
        /// The softirq.
        softirq: Softirq,
    },
    /// The timer interrupt with all functions of timers.
    Timers,
    /// C-state exits, of any CPU from any state.
    IdleExits,
    /// Steal time of any CPU.
    Steal,
    /// vCPU stalls of any CPU.
    BelowKernel,
    /// A cause by itself.
    Single {
        /// The cause.
        of: Cause,
    },
}

impl Cause {
    /// The group of the cause.
    pub fn group(&self) -> Group {
        match self {
            Self::OtherThread { thread } => Group::Threads { process: process(thread) },
            Self::KernelSection { thread, hold, .. } => {
                Group::Sections { process: process(thread), hold: *hold }
            }
            Self::Interrupt { name, .. } => Group::Interrupt { name: name.clone() },
            Self::Vector { vector, .. } => Group::Vector { vector: *vector },
            Self::Softirq { softirq, .. } => Group::Softirq { softirq: *softirq },
            Self::TimerWork { .. } => Group::Timers,
            Self::IdleExit { .. } => Group::IdleExits,
            Self::Steal { .. } => Group::Steal,
            Self::BelowKernel { .. } => Group::BelowKernel,
            _ => Group::Single { of: self.by_name() },
        }
    }
}

fn process(thread: &Culprit) -> String {
    thread.process.as_ref().unwrap_or(&thread.name).clone()
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads { process } => write!(f, "threads of {process}"),
            Self::Sections { process, hold } => {
                let held = match hold {
                    Hold::Interrupts => "IRQ-off",
                    Hold::Preemption => "preemption-off",
                };
                write!(f, "{held} sections of {process}")
            }
            Self::Interrupt { name } => write!(f, "interrupt {name}"),
            Self::Vector { vector } => write!(f, "interrupt {vector}"),
            Self::Softirq { softirq } => write!(f, "softirq {softirq}"),
            Self::Timers => f.write_str("timer interrupts"),
            Self::IdleExits => f.write_str("C-state exits"),
            Self::Steal => f.write_str("steal time"),
            Self::BelowKernel => f.write_str("vCPU stalls (hypervisor or SMI)"),
            Self::Single { of } => of.fmt(f),
        }
    }
}

/// The causes of one group in a [`Pareto`], the greatest time first.
#[derive(Clone, Debug)]
pub struct GroupRows<'a> {
    group: Group,
    rows: Vec<&'a ParetoRow>,
}

impl GroupRows<'_> {
    /// The causes.
    pub fn rows(&self) -> &[&ParetoRow] {
        &self.rows
    }

    /// Whether they are threads of this process.
    pub fn are_threads_of(&self, name: &str) -> bool {
        matches!(&self.group, Group::Threads { process } if process == name)
    }

    /// The time of all of them.
    pub fn time(&self) -> Nanos {
        self.rows.iter().map(|row| row.time).sum()
    }

    /// In how many late samples the group had the greatest part.
    pub fn first(&self) -> u64 {
        self.rows.iter().map(|row| row.first).sum()
    }

    /// Whether the causes are explanations, not an unexplained remainder.
    pub fn explains(&self) -> bool {
        self.rows.iter().all(|row| row.cause.explains())
    }
}

impl fmt::Display for GroupRows<'_> {
    /// Writes the only cause, or the group of several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rows[..] {
            [row] => row.cause.fmt(f),
            _ => self.group.fmt(f),
        }
    }
}

impl Pareto {
    /// The rows by group, the greatest time first.
    pub fn groups(&self) -> Vec<GroupRows<'_>> {
        let mut groups: BTreeMap<Group, Vec<&ParetoRow>> = BTreeMap::new();
        for row in &self.rows {
            groups.entry(row.cause.group()).or_default().push(row);
        }
        let mut groups: Vec<GroupRows<'_>> =
            groups.into_iter().map(|(group, rows)| GroupRows { group, rows }).collect();
        // The sort is stable, so equal times stay in the order of groups.
        groups.sort_by_key(|group| std::cmp::Reverse(group.time()));
        groups
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::recording::{Priority, ThreadId};

    use super::*;
    use crate::explanation::Part;
    use crate::pareto::ParetoBuilder;

    fn thread(name: &str, process: Option<&str>) -> Culprit {
        let process = process.map(str::to_owned);
        let (thread, priority) = (Some(ThreadId(7)), Priority(120));
        Culprit { name: name.to_owned(), process, thread, priority, base: None, or_higher: false }
    }

    fn part(cause: Cause, micros: u64) -> Part {
        Part { cause, time: Nanos::from_micros(micros) }
    }

    #[test]
    fn many_fragments_of_one_culprit_lead_a_smaller_whole() {
        let sections = (0..27).map(|function| {
            let thread = thread("worker", Some("zero"));
            let site = Some(format!("function_{function}"));
            part(Cause::KernelSection { thread, hold: Hold::Preemption, site }, 3)
        });
        let mut parts = vec![part(Cause::OtherThread { thread: thread("rustc", None) }, 40)];
        parts.extend(sections);
        let mut builder = ParetoBuilder::default();
        builder.add(&parts.into_iter().map(|part| (part.cause.by_name(), part.time)).collect());
        let pareto = builder.finish();
        let groups = pareto.groups();
        let said: Vec<String> = groups.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["preemption-off sections of zero", "thread rustc (other)"]);
        assert_eq!((groups[0].time(), groups[0].rows().len()), (Nanos::from_micros(81), 27));
        assert_eq!((groups[0].first(), groups[1].first()), (1, 0));
        assert_eq!(groups.iter().map(GroupRows::time).sum::<Nanos>(), pareto.time);
    }

    #[test]
    fn threads_of_a_process_are_grouped_whatever_their_names() {
        let names = ["Compositor", "IOThread", "browser"];
        let process = |name: &str| (name != "browser").then_some("browser");
        let causes = names.map(|name| Cause::OtherThread { thread: thread(name, process(name)) });
        let groups = causes.map(|cause| cause.group());
        assert!(groups.iter().all(|group| *group == groups[0]), "{groups:?}");
        assert_eq!(groups[0].to_string(), "threads of browser");
        assert_eq!(
            Cause::OtherThread { thread: thread("IOThread", Some("browser")) }.to_string(),
            "thread IOThread of browser (7, other)"
        );
    }
}
