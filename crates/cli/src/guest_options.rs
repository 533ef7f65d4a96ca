//! The options of guests.

use clap::Args;
use tactus_app::Error;
use tactus_app::measure::GuestSettings;
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::time::Nanos;

use crate::error::{CommandError, CommandResult};
use crate::values::{positive, whole};

/// The heading of options about guests. Each option names it: a heading set for all of them would
/// also apply to the options of the command that follow.
pub(crate) const HEADING: &str = "Guest kernels";

/// Time in guests, and their time limit.
#[derive(Args)]
pub(crate) struct GuestOptions {
    /// Measure in deterministic (instruction-counted) time: every run with the same seed gives the same bytes
    #[arg(long, help_heading = HEADING)]
    exact: bool,
    /// With --exact: speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125
    #[arg(long, value_name = "N", requires = "exact", default_value = "1000",
        help_heading = HEADING, value_parser = whole(1..=1000_u32))]
    mips: u32,
    /// With --exact: number of separately booted machines whose results must be equal, 2 to 100
    #[arg(long, value_name = "N", requires = "exact", default_value = "2",
        help_heading = HEADING, value_parser = whole(2..=100_u8))]
    proofs: u8,
    /// Time limit of a guest, in time of this host [default: derived from the duration of its cell]
    #[arg(long, value_name = "DURATION", help_heading = HEADING, value_parser = positive)]
    guest_limit: Option<Nanos>,
    #[command(flatten)]
    jobs: JobsOption,
}

/// How many machines run at a time.
#[derive(Args)]
pub(crate) struct JobsOption {
    /// In deterministic time: number of guests that run at a time; results are the same for any number [default: one for each CPU]
    #[arg(long, value_name = "N", help_heading = HEADING, value_parser = whole(1..=MOST_JOBS))]
    jobs: Option<u16>,
}

/// The most guests at a time: each takes up to 1 GiB.
const MOST_JOBS: u16 = 1024;

impl JobsOption {
    /// The number of machines that run at a time, if it was given.
    pub(crate) fn jobs(&self) -> Option<usize> {
        self.jobs.map(usize::from)
    }
}

impl GuestOptions {
    /// The settings of guests.
    pub(crate) fn settings(&self) -> CommandResult<GuestSettings> {
        let time = self.exact.then_some(GuestTime::Exact(speed(self.mips)?));
        let proofs = Some(usize::from(self.proofs));
        let jobs = self.jobs.jobs();
        Ok(GuestSettings { time, limit: self.guest_limit, proofs, jobs, cluster: None })
    }

    /// Requires that no option was given without guests that it applies to.
    pub(crate) fn require_guests(&self, there_are: bool) -> CommandResult {
        let given = [
            ("--exact", self.exact),
            ("--guest-limit", self.guest_limit.is_some()),
            ("--jobs", self.jobs.jobs().is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given && !there_are) {
            None => Ok(()),
            Some((option, _)) => {
                let error = Error::usage(format!("`{option}` applies to guest kernels only"));
                Err(error.with_hint("name a kernel, e.g. `--kernel debian`").into())
            }
        }
    }
}

/// Parses the speed of deterministic time, in million instructions per second.
pub(crate) fn speed(mips: u32) -> CommandResult<Speed> {
    Speed::from_mips(mips).map_err(|error| CommandError::usage(format!("`--mips`: {error}")))
}
