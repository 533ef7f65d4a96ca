//! A performance: a score runs ahead of its host's clock, and hands over what it writes.
//!
//! Nothing here waits or reads a clock. The host calls [`Performance::step`] with the present
//! instant, and again when an instant, a receipt or an input has come: on the clock
//! of a machine, or in [virtual time](crate::rehearsal).

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use serde::Serialize;
use tactus_delivery::item::{BranchId, Moment};
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::time::Nanos;

use crate::draft::{Output, Written};
use crate::error::Fault;
use crate::score::{Input, ReactionId, Score};
use crate::time::Time;

/// How far ahead of its host's clock a score runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// So far.
    Fixed(Nanos),
    /// As far as was measured to be necessary: for the way to the device, which the host reports,
    /// and twice the latest that [`Performance::step`] was called in the last minute.
    /// [`UNMEASURED`] before the first measurement.
    Measured,
}

/// The look-ahead before anything is measured.
pub const UNMEASURED: Nanos = Nanos::from_millis(50);
/// The least look-ahead, however short the way was measured to be.
pub const LEAST: Nanos = Nanos::from_micros(500);

/// What delivers items.
pub trait Host {
    /// What can fail for good.
    type Error;

    /// Hands over an item.
    ///
    /// # Errors
    /// Fails if the item cannot be accepted later either.
    fn submit(&mut self, item: &Written, due: Moment) -> Result<Submitted, Self::Error>;

    /// Cuts a branch: its items that were submitted before are not delivered from `at` on.
    ///
    /// # Errors
    /// Fails if that is impossible.
    fn cut(&mut self, branch: BranchId, at: Moment) -> Result<(), Self::Error>;

    /// How long before its time an item should be submitted, as measured; `None` without a
    /// measurement.
    fn needed_lead(&mut self) -> Option<Nanos> {
        None
    }
}

/// The answer to an item that is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It is accepted; the number that its receipt will have.
    Accepted(u64),
    /// There is no room until a receipt comes.
    Full,
    /// It is accepted from this instant on.
    TooEarly(Moment),
}

/// What the performance waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// An instant, a receipt or an input.
    At(Moment),
    /// A receipt or an input.
    Event,
    /// Nothing: every task has ended, and every item has its receipt.
    Ended,
}

/// An item and its receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// The item.
    pub item: Written,
    /// What became of it.
    pub receipt: Receipt,
}

/// What a performance did so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Items that the program wrote.
    pub written: u64,
    /// Those that a cut took before they were submitted; they have no receipt.
    pub withdrawn: u64,
    /// Receipts.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// Inputs.
    pub inputs: u64,
    /// Those that came too late for their reaction time, or beyond [`INPUTS`](crate::score::INPUTS).
    pub late_inputs: u64,
}

/// How late the performance was called, at the worst.
#[derive(Debug, Default)]
struct Lateness {
    /// When the next call was to come.
    planned: Option<Moment>,
    /// When the present period began.
    since: Option<Moment>,
    present: Nanos,
    last: Nanos,
}

/// How long a late call is remembered, at least.
const REMEMBERED: Nanos = Nanos::from_secs(30);

impl Lateness {
    fn called(&mut self, now: Moment) {
        let since = *self.since.get_or_insert(now);
        if now - since >= REMEMBERED {
            self.since = Some(now);
            self.last = std::mem::take(&mut self.present);
        }
        let late = self.planned.map_or(Nanos::ZERO, |planned| now - planned);
        self.present = self.present.max(late);
    }

    fn worst(&self) -> Nanos {
        self.present.max(self.last)
    }
}

/// A score that is performed.
#[derive(Debug)]
pub struct Performance {
    score: Score,
    lead: Lead,
    /// The instant of [`Time::START`].
    origin: Moment,
    /// What is not submitted yet, by time and then as written.
    pending: BTreeMap<(Time, u64), Written>,
    /// What has no receipt yet, by its number at the host.
    sent: HashMap<u64, Written>,
    lateness: Lateness,
    present_lead: Nanos,
    totals: Totals,
    transcript: Option<String>,
}

impl Performance {
    /// A performance whose logical time begins at `origin`, which is best a little in the future.
    pub fn new(score: Score, lead: Lead, origin: Moment) -> Self {
        Self {
            score,
            lead,
            origin,
            pending: BTreeMap::new(),
            sent: HashMap::new(),
            lateness: Lateness::default(),
            present_lead: Nanos::ZERO,
            totals: Totals::default(),
            transcript: None,
        }
    }

    /// The same, which keeps a [line](Output#impl-Display-for-Output) for each item and cut.
    #[must_use]
    pub fn with_transcript(mut self) -> Self {
        self.transcript = Some(String::new());
        self
    }

    /// The lines for items and cuts; empty unless they are kept.
    pub fn transcript(&self) -> &str {
        self.transcript.as_deref().unwrap_or_default()
    }

    /// The score.
    pub const fn score(&self) -> &Score {
        &self.score
    }

    /// The instant at which logical time begins.
    pub const fn origin(&self) -> Moment {
        self.origin
    }

    /// What the performance did so far.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Items that are submitted and have no receipt. If the server has ended, they may have come out.
    pub fn unanswered(&self) -> usize {
        self.sent.len()
    }

    /// Items that are written and not submitted.
    pub fn unsubmitted(&self) -> usize {
        self.pending.len()
    }

    /// Takes the tasks that ended because of a problem since the last call.
    pub fn take_faults(&self) -> Vec<Fault> {
        self.score.take_faults()
    }

    /// How far ahead the score runs at present.
    pub const fn present_lead(&self) -> Nanos {
        self.present_lead
    }

    /// How far ahead the score may run. A reaction to an input needs half of its time for the way of
    /// the input.
    fn lead(&self, needed: Option<Nanos>) -> Nanos {
        let wanted = match self.lead {
            Lead::Fixed(lead) => lead,
            Lead::Measured => needed.map_or(UNMEASURED, |needed| {
                (needed + self.lateness.worst().saturating_mul(2)).max(LEAST)
            }),
        };
        let shortest = self.score.shortest_reaction();
        let half = shortest.map(|reaction| Nanos::from_nanos(reaction.as_nanos() / 2));
        half.map_or(wanted, |half| wanted.min(half))
    }

    /// Runs the score as far ahead as it may, and submits what the host accepts.
    ///
    /// # Errors
    /// Fails if the host fails.
    pub fn step<H: Host>(&mut self, now: Moment, host: &mut H) -> Result<Next, H::Error> {
        self.lateness.called(now);
        let lead = self.lead(host.needed_lead());
        self.present_lead = lead;
        let horizon = now + lead;
        if horizon >= self.origin {
            self.score.run_until(Time::of(horizon, self.origin));
        }
        for output in self.score.take_outputs() {
            self.follow(output, host)?;
        }
        let submit_from = match self.submit(host)? {
            Submitted::TooEarly(from) => Some(from),
            Submitted::Accepted(_) | Submitted::Full => None,
        };
        // Nanoseconds before the time of the next task, less the lead.
        let run_from = self.score.next().map(|next| next.moment(self.origin) - lead);
        self.lateness.planned = run_from.into_iter().chain(submit_from).min();
        Ok(match self.lateness.planned {
            Some(next) => Next::At(next),
            None if self.has_ended() => Next::Ended,
            None => Next::Event,
        })
    }

    fn has_ended(&self) -> bool {
        self.score.has_ended() && self.pending.is_empty() && self.sent.is_empty()
    }

    fn follow<H: Host>(&mut self, output: Output, host: &mut H) -> Result<(), H::Error> {
        if let Some(transcript) = &mut self.transcript {
            // Writing into a text cannot fail.
            let _ = writeln!(transcript, "{output}");
        }
        match output {
            Output::Item(item) => {
                self.totals.written += 1;
                self.pending.insert((item.due, item.number), item);
            }
            Output::Cut { branch, at } => {
                let before = self.pending.len();
                self.pending.retain(|_, item| item.branch != branch || item.due < at);
                self.totals.withdrawn += (before - self.pending.len()) as u64;
                host.cut(branch, at.moment(self.origin))?;
            }
        }
        Ok(())
    }

    /// Submits items until the host takes no more; its last answer.
    fn submit<H: Host>(&mut self, host: &mut H) -> Result<Submitted, H::Error> {
        while let Some(first) = self.pending.first_entry() {
            match host.submit(first.get(), first.get().due.moment(self.origin))? {
                Submitted::Accepted(number) => self.sent.insert(number, first.remove()),
                refused => return Ok(refused),
            };
        }
        Ok(Submitted::Full)
    }

    /// Takes a receipt; `None` if it is for no item of this performance.
    pub fn answered(&mut self, receipt: Receipt) -> Option<Played> {
        let item = self.sent.remove(&receipt.sequence)?;
        *self.totals.outcomes.entry(receipt.outcome).or_default() += 1;
        Some(Played { item, receipt })
    }

    /// Takes an input that arrived at an instant, for a [reaction](Score::react).
    ///
    /// # Panics
    /// Panics if the score has no such reaction.
    pub fn input(&mut self, reaction: ReactionId, at: Moment, bytes: &[u8]) {
        let input = Input { at: Time::of(at, self.origin), bytes: bytes.into() };
        self.totals.inputs += 1;
        self.totals.late_inputs += u64::from(!self.score.input(reaction, input));
    }
}
