//! Where the CPU time of a recording went, and what a tick would have billed for it.
//!
//! The unit is the [effective quantum](Quantum): the time from the switch to a thread
//! until the switch away from it, whatever the reason. [`account`] adds up quanta by
//! thread and program, gives the reason why each ended, and compares the time used with
//! the time that a clock tick bills: the thread that is current at the tick is charged
//! a whole tick (Etsion, Tsafrir and Feitelson, *Effects of Clock Resolution on the
//! Scheduling of Interactive and Soft Real-Time Processes*, SIGMETRICS 2003, sections 4
//! and 6). The ticks are those that the kernel recorded, and simulated ticks of any
//! rate, laid over the same recording at every phase.
//!
//! ```
//! use tactus_explain::account::{AccountOptions, TickRate, account};
//! use tactus_model::recording::{About, Dictionary, Recording};
//! use tactus_model::time::{Instant, Nanos};
//!
//! let about = About::new(Instant::from_nanos(0), [0].into_iter().collect());
//! let (dictionary, events, losses) = (Dictionary::new(), Vec::new(), Vec::new());
//! let recording = Recording { about, dictionary, events, losses };
//! let options = AccountOptions { rates: vec![TickRate::new(100).unwrap()] };
//! let accounts = account(&mut recording.reader(), &options)?;
//! assert_eq!(accounts.time(), Nanos::ZERO);
//! # Ok::<(), tactus_model::recording::SourceError>(())
//! ```

mod accountant;
mod accounts;
mod billing;
mod clock;
mod end;
mod ledger;
mod pool;
mod rate;
mod tick;

pub use accountant::{Accountant, account};
pub use accounts::{Account, AccountOptions, Accounts, CpuUse, Cut, EndCount};
pub use billing::{Billing, Range, ScatterPoint};
pub use clock::TickClock;
pub use end::End;
pub use rate::{NotATickRate, TickRate};
pub use tick::{KernelTick, TickKind, TickUnknown};

#[expect(unused_imports, reason = "the documentation links to it")]
use crate::machine::Quantum;
