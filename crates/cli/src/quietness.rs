//! The option `--quiet`.

use std::fmt;

use clap::Args;
use indicatif::ProgressDrawTarget;

use crate::terminal::say;

/// Whether progress and notes are printed.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Quietness {
    /// Print no progress and no notes; results, warnings and errors remain
    #[arg(short, long)]
    quiet: bool,
}

impl Quietness {
    /// Whether the option was given.
    pub(crate) const fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Where progress bars are drawn.
    pub(crate) fn target(self) -> ProgressDrawTarget {
        if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
    }

    /// Prints a note to standard error, unless quiet.
    pub(crate) fn note(self, text: fmt::Arguments<'_>) {
        if !self.quiet {
            say!("{text}");
        }
    }
}
