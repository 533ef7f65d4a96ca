//! What CPUs did in some time, added up by numbers.

use tactus_model::recording::{NameId, Priority, ThreadId};
use tactus_model::time::Nanos;

use crate::machine::{Activity, Slice};
use crate::number_map::NumberMap;

/// A thread that ran, as its slice shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Runner {
    pub(crate) thread: ThreadId,
    pub(crate) name: NameId,
    pub(crate) priority: Priority,
    pub(crate) base: Option<Priority>,
}

impl Runner {
    pub(crate) const fn of(slice: &Slice) -> Self {
        let Slice { thread, name, priority, base, .. } = *slice;
        Self { thread, name, priority, base }
    }
}

/// The time in which CPUs ran threads and served interrupts.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuUse {
    ran: Vec<(Runner, Nanos)>,
    /// Where in `ran` each thread was added last.
    last_ran: NumberMap<i32, usize>,
    served: Vec<(u32, Activity, Nanos)>,
}

impl CpuUse {
    /// How long each thread ran, in the order of their first turns.
    pub(crate) fn ran(&self) -> &[(Runner, Nanos)] {
        &self.ran
    }

    /// How long each CPU served each interrupt and softirq.
    pub(crate) fn served(&self) -> &[(u32, Activity, Nanos)] {
        &self.served
    }

    /// Adds time in which a thread ran.
    pub(crate) fn add_runner(&mut self, runner: Runner, time: Nanos) {
        if let Some(last) = self.last_ran.get(&runner.thread.0)
            && self.ran[*last].0 == runner
        {
            self.ran[*last].1 = self.ran[*last].1 + time;
            return;
        }
        let known = self.ran.iter().position(|(other, _)| *other == runner);
        let place = known.unwrap_or(self.ran.len());
        match known {
            Some(place) => self.ran[place].1 = self.ran[place].1 + time,
            None => self.ran.push((runner, time)),
        }
        self.last_ran.insert(runner.thread.0, place);
    }

    /// Adds time in which a CPU served an interrupt or a softirq.
    pub(crate) fn add_served(&mut self, cpu: u32, activity: Activity, time: Nanos) {
        match self.served.iter_mut().find(|(on, what, _)| (*on, *what) == (cpu, activity)) {
            Some((.., sum)) => *sum = *sum + time,
            None => self.served.push((cpu, activity, time)),
        }
    }
}
