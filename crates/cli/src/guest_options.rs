//! The options of guests.

use clap::Args;
use tactus_app::measure::GuestWishes;
use tactus_model::guest::{GuestTime, Speed};
use tactus_model::time::Nanos;

use crate::error::{CommandError, CommandResult};

/// How time passes in guests, and how long they may take.
#[derive(Args)]
pub(crate) struct GuestOptions {
    /// Let time be instructions, so that every run repeats to the byte
    #[arg(long)]
    exact: bool,
    /// The speed of a machine in exact time, in million instructions a second: 1000, 500, 250, 125
    #[arg(long, value_name = "N", requires = "exact", default_value = "1000")]
    mips: u32,
    /// In exact time: how many machines, each booted by itself, must say the same; 2 to 100
    #[arg(long, value_name = "N", requires = "exact", default_value = "2",
          value_parser = clap::value_parser!(u8).range(2..=100))]
    proofs: u8,
    /// How long a guest may take on this host; by the length of its cell unless told otherwise
    #[arg(long, value_name = "TIME")]
    guest_limit: Option<Nanos>,
}

impl GuestOptions {
    /// What is wished of guests.
    pub(crate) fn wishes(&self) -> CommandResult<GuestWishes> {
        let time = self.exact.then_some(GuestTime::Exact(speed(self.mips)?));
        let proofs = Some(usize::from(self.proofs));
        Ok(GuestWishes { time, limit: self.guest_limit, proofs })
    }

    /// Whether none of the options was given.
    pub(crate) const fn are_absent(&self) -> bool {
        !self.exact && self.guest_limit.is_none()
    }
}

/// Reads the speed of guests in exact time, in million instructions a second.
pub(crate) fn speed(mips: u32) -> CommandResult<Speed> {
    Speed::from_mips(mips).map_err(|error| CommandError::usage(format!("--mips: {error}")))
}
