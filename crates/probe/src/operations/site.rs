//! What an operation needs beside its own memory and its partner: a file, a display, a counter.
//!
//! It is set up before the task has its CPU and its policy, which none of it shares.

use tactus_model::cost::{CostProbe, Family, Parameter};
use tactus_model::result::Shortfall;

use super::Unmeasurable;
use super::display::Display;
use super::file::Scratch;
use super::idle::IdleCounter;

/// What an operation needs beside its own memory and its partner.
#[derive(Default)]
pub(crate) struct Site {
    pub(super) file: Option<Scratch>,
    pub(super) display: Option<Display>,
    pub(super) idle: Option<IdleCounter>,
}

impl Site {
    /// Sets up what `cost` needs for a task that will run on `cpu`.
    pub(crate) fn prepare(cost: &CostProbe, cpu: u32) -> Result<Self, Unmeasurable> {
        let is_display = cost.operation.traits().family == Family::Display;
        Ok(Self {
            file: cost.reads_file().then(|| Scratch::create(cost)).transpose()?,
            display: is_display.then(|| Display::connect(cost)).transpose()?,
            idle: counts_idle_time(cost).then(|| IdleCounter::start(cpu)).transpose()?,
        })
    }

    /// What of it is not as requested.
    pub(crate) fn shortfalls(&self) -> Vec<Shortfall> {
        let file = self.file.as_ref().and_then(Scratch::shortfall);
        let display = self.display.as_ref().and_then(Display::shortfall);
        file.into_iter().chain(display).collect()
    }
}

fn counts_idle_time(cost: &CostProbe) -> bool {
    cost.idle_count && cost.operation.takes(Parameter::IdleCount)
}
