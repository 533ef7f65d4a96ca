//! The progress of a run.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tactus_lab::event::Event;
use tactus_model::result::{Measurement, Shortfall};
use tactus_model::sample_kind::SampleKind;
use tactus_model::time::Nanos;
use tactus_report::format;
use tactus_stats::narrow::Next;

use crate::quietness::Quietness;
use crate::terminal::{say, shortfall_text};

/// Draws a bar if standard error is a terminal, and writes a line for each turn otherwise.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    /// Shows only failures and shortfalls.
    quietness: Quietness,
    total: Nanos,
    /// The part of `total` of the finished rounds.
    finished: Nanos,
    /// The announced duration, until it is confirmed or corrected after the first round.
    announced: Option<Announced>,
    /// What the samples of each cell are.
    samples: Vec<SampleKind>,
    shortfalls: HashSet<Shortfall>,
    /// Fixes that need not be printed any more; `None` if a verdict prints all of them afterwards.
    fixes: Option<HashSet<String>>,
}

/// The duration of a run, as announced when it began.
struct Announced {
    began: Instant,
    estimate: Nanos,
    /// The first round that was begun.
    round: Option<u32>,
}

impl Announced {
    /// The duration that the first round lets expect, when a later `round` begins with `remaining`
    /// left; `None` before that.
    fn corrected(&mut self, round: u32, remaining: Nanos) -> Option<Nanos> {
        let is_later = *self.round.get_or_insert(round) != round;
        is_later.then(|| Nanos::from(self.began.elapsed()) + remaining)
    }

    /// Whether another duration would be noticed: by a quarter, and by five seconds.
    fn is_off(&self, corrected: Nanos) -> bool {
        let off = self.estimate.as_nanos().abs_diff(corrected.as_nanos());
        off > self.estimate.as_nanos() / 4 && off > Nanos::from_secs(5).as_nanos()
    }
}

/// The time between two redraws of the bar. A redraw wakes this process on the measured machine,
/// so it is rare.
const TICK: Duration = Duration::from_secs(5);

impl Progress {
    /// Shows nothing until the first event.
    pub(crate) fn new(quietness: Quietness) -> Self {
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, quietness.target()).with_style(style);
        Self {
            bar,
            terminal: std::io::stderr().is_terminal(),
            quietness,
            total: Nanos::ZERO,
            finished: Nanos::ZERO,
            announced: None,
            samples: Vec::new(),
            shortfalls: HashSet::new(),
            fixes: Some(HashSet::new()),
        }
    }

    /// Leaves fixes to the verdict, which is printed after the run.
    #[must_use]
    pub(crate) fn without_fixes(self) -> Self {
        Self { fixes: None, ..self }
    }

    /// Shows `event`.
    pub(crate) fn show(&mut self, event: &Event<'_>) {
        if let Event::RunStarted { plan, .. } = event {
            self.samples = plan.cells.iter().map(SampleKind::of).collect();
        }
        match event {
            Event::RunStarted { .. }
            | Event::TurnStarted { .. }
            | Event::TurnFinished { .. }
            | Event::RoundsTaken { .. }
                if self.quietness.is_quiet() => {}
            Event::RunStarted { run, plan, turns, estimate, .. } => {
                self.total = *estimate;
                self.announced =
                    Some(Announced { began: Instant::now(), estimate: *estimate, round: None });
                self.bar.set_length(estimate.as_nanos() / 1_000_000);
                self.line(&format!(
                    "{run}: {}, {}, {}, about {}; seed {}",
                    format::counted(plan.cells.len() as u64, "cell"),
                    tactus_report::rounds_text(plan),
                    format::counted(*turns as u64, "turn"),
                    format::span(*estimate),
                    plan.seed,
                ));
            }
            Event::TurnStarted { label, done, of, remaining, turn } => {
                self.correct(turn.round, *remaining);
                let place = format!("{}/{of}", done + 1);
                let left = format::span(*remaining);
                if self.terminal {
                    // An added round increases the total.
                    self.total = self.total.max(self.finished + *remaining);
                    self.bar.set_length(self.total.as_nanos() / 1_000_000);
                    self.bar.set_position((self.total - *remaining).as_nanos() / 1_000_000);
                    let label = format::printable(label);
                    self.bar.set_message(format!("{place}  {label}  {left} left"));
                    self.bar.enable_steady_tick(TICK);
                } else {
                    self.line(&format!("{place} round {}: {label}; {left} left", turn.round + 1));
                }
            }
            Event::WindowOpened { .. } => {}
            Event::Shortfall { shortfall, .. } => self.shortfall(shortfall),
            Event::TurnFinished { label, measurement } => {
                if !self.terminal {
                    let kind = self.samples.get(measurement.turn.cell).copied();
                    let kind = kind.unwrap_or(SampleKind::Value);
                    self.line(&format!("  {label}: {}", outcome(kind, measurement)));
                }
            }
            Event::TurnFailed { label, failure, .. } => {
                self.line(&format!("  {label} failed: {}", failure.reason));
                if let Some(hint) = &failure.hint {
                    self.line(&format!("  hint: {hint}"));
                }
            }
            Event::RoundsTaken { until, rounds, labels, cells, next, left } => {
                self.finished = self.total;
                let state = tactus_report::narrowing_line(until.aim, *rounds, labels, cells);
                let left = match next {
                    Next::Enough => "narrow enough".to_owned(),
                    Next::Limit => "limit reached".to_owned(),
                    Next::AnotherRound => format!("{} left", format::span(*left)),
                };
                self.line(&format!("{state}; {left}"));
            }
            Event::RunEnded { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Corrects the announced duration after the first round, if it was wrong.
    fn correct(&mut self, round: u32, remaining: Nanos) {
        let Some(announced) = &mut self.announced else { return };
        let Some(corrected) = announced.corrected(round, remaining) else { return };
        if announced.is_off(corrected) {
            let (all, first) = (format::span(corrected), format::span(announced.estimate));
            self.line(&format!("by the first round, the run takes about {all} instead of {first}"));
        }
        self.announced = None;
    }

    /// Prints each shortfall once, however many turns have it, and each fix once. If quiet, only the
    /// verdict has them where one follows.
    fn shortfall(&mut self, shortfall: &Shortfall) {
        if self.quietness.is_quiet() && self.fixes.is_none() {
            return;
        }
        if !self.shortfalls.insert(shortfall.clone()) {
            return;
        }
        let is_new =
            |fix: &String| self.fixes.as_mut().is_some_and(|fixes| fixes.insert(fix.clone()));
        let fix = shortfall.fix.clone().filter(is_new);
        for line in shortfall_text(&Shortfall { fix, ..shortfall.clone() }).lines() {
            self.line(&format!("  {line}"));
        }
    }

    /// Prints lines beside the bar, from any thread.
    pub(crate) fn printer(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let bar = self.bar.clone();
        move |text| bar.suspend(|| say!("{text}"))
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| say!("{text}"));
    }
}

fn outcome(kind: SampleKind, measurement: &Measurement) -> String {
    let accounting = measurement.accounting();
    let max = measurement
        .tasks
        .iter()
        .flat_map(|task| &task.blocks)
        .map(|block| block.max)
        .max()
        .unwrap_or_default();
    format!(
        "{} of {} {}s observed, max {}",
        format::count(accounting.observed),
        format::count(accounting.intended),
        kind.noun(),
        format::latency(max)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_corrected_after_the_first_round_if_it_was_wrong() {
        let estimate = Nanos::from_secs(60);
        let mut announced = Announced { began: Instant::now(), estimate, round: None };
        let left = Nanos::from_secs(240);
        assert_eq!(announced.corrected(2, left), None, "a run that continues");
        assert_eq!(announced.corrected(2, left), None);
        assert!(announced.corrected(3, left).is_some_and(|all| all >= left));
        assert!(announced.is_off(left) && !announced.is_off(Nanos::from_secs(70)));
        announced.estimate = Nanos::from_secs(2);
        assert!(!announced.is_off(Nanos::from_secs(6)), "seconds do not matter");
    }
}
