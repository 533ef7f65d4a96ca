//! The listener that shows a person how a run goes on.

use std::collections::HashSet;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tactus_lab::event::Event;
use tactus_model::result::{Measurement, Shortfall};
use tactus_model::time::Nanos;
use tactus_report::format;
use tactus_stats::narrow::Next;

/// Draws a bar where standard error is a terminal and writes a line a turn elsewhere.
pub(crate) struct Progress {
    bar: ProgressBar,
    terminal: bool,
    total: Nanos,
    /// How much of `total` the rounds make up that are taken.
    taken: Nanos,
    shortfalls: HashSet<Shortfall>,
}

/// How often the bar moves by itself. Each move wakes this process on the
/// machine that is being measured, so it is rare.
const TICK: Duration = Duration::from_secs(5);

impl Progress {
    /// Starts silent; the first event shows something.
    pub(crate) fn new() -> Self {
        let style = ProgressStyle::with_template("{bar:24} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
        Self {
            bar,
            terminal: std::io::stderr().is_terminal(),
            total: Nanos::ZERO,
            taken: Nanos::ZERO,
            shortfalls: HashSet::new(),
        }
    }

    /// Shows `event`.
    pub(crate) fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::RunStarted { run, plan, turns, estimate, .. } => {
                self.total = *estimate;
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
                let place = format!("{}/{of}", done + 1);
                let left = format::span(*remaining);
                if self.terminal {
                    // A round that was added makes the whole longer.
                    self.total = self.total.max(self.taken + *remaining);
                    self.bar.set_length(self.total.as_nanos() / 1_000_000);
                    self.bar.set_position((self.total - *remaining).as_nanos() / 1_000_000);
                    self.bar.set_message(format!("{place}  {label}  {left} left"));
                    self.bar.enable_steady_tick(TICK);
                } else {
                    self.line(&format!("{place} round {} {label}, {left} left", turn.round + 1));
                }
            }
            Event::WindowOpened { .. } => {}
            Event::Shortfall { shortfall, .. } => self.shortfall(shortfall),
            Event::TurnFinished { label, measurement } => {
                if !self.terminal {
                    self.line(&format!("  {label}: {}", outcome(measurement)));
                }
            }
            Event::TurnFailed { label, failure } => {
                self.line(&format!("  {label} gave no result: {}", failure.reason));
                if let Some(hint) = &failure.hint {
                    self.line(&format!("  hint: {hint}"));
                }
            }
            Event::RoundsTaken { until, rounds, labels, cells, next, left } => {
                self.taken = self.total;
                let stands = tactus_report::narrowing_line(until.aim, *rounds, labels, cells);
                let left = match next {
                    Next::Enough => "enough".to_owned(),
                    Next::Limit => "the limit is met".to_owned(),
                    Next::AnotherRound => format!("{} left", format::span(*left)),
                };
                self.line(&format!("{stands}; {left}"));
            }
            Event::RunEnded { .. } => self.bar.finish_and_clear(),
        }
    }

    /// Says once what the machine did not grant, however many turns meet it.
    fn shortfall(&mut self, shortfall: &Shortfall) {
        if !self.shortfalls.insert(shortfall.clone()) {
            return;
        }
        self.line(&format!(
            "  asked for {}, got {}: {}",
            shortfall.asked, shortfall.granted, shortfall.reason
        ));
        if let Some(fix) = &shortfall.fix {
            self.line(&format!("  to fix it: {fix}"));
        }
    }

    fn line(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }
}

fn outcome(measurement: &Measurement) -> String {
    let accounting = measurement.accounting();
    let max = measurement
        .tasks
        .iter()
        .flat_map(|task| &task.blocks)
        .map(|block| block.max)
        .max()
        .unwrap_or_default();
    format!(
        "{} of {} observed, worst {}",
        format::count(accounting.observed),
        format::count(accounting.intended),
        format::latency(max)
    )
}
