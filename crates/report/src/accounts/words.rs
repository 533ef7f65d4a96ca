//! Sentences about accounts, shared by terminal and page.

use tactus_explain::account::{Accounts, TickClock, TickKind};
use tactus_model::time::Nanos;

use crate::format;

/// The totals of the recording.
pub(super) fn headline(accounts: &Accounts) -> String {
    let whole = accounts.time().as_nanos();
    let share = |part: Nanos| format::share(part.as_nanos(), whole);
    let mut text = format!(
        "{} on {}: {} used, {} idle",
        length(accounts.length()),
        format::counted(accounts.cpus.len() as u64, "CPU"),
        share(accounts.used()),
        share(accounts.idle.used),
    );
    if accounts.unknown() > Nanos::ZERO {
        text.push_str(&format!(", {} unknown", share(accounts.unknown())));
    }
    text.push('.');
    text
}

/// The duration of a recording; below one second, with more digits.
fn length(length: Nanos) -> String {
    const SECOND: Nanos = Nanos::from_secs(1);
    if length < SECOND { format::latency(length) } else { format::span(length) }
}

/// The limits of the figures.
pub(super) fn remainders(accounts: &Accounts) -> Vec<String> {
    let mut texts = Vec::new();
    let cut = accounts.cut();
    if cut.count > 0 {
        texts.push(format!(
            "{} of the used time is in {} cut off by the start or end of the recording, lost events or a \
             missing sched_switch event. That time is counted; the durations of these quanta are not.",
            format::share(cut.time.as_nanos(), accounts.used().as_nanos()),
            match cut.count {
                1 => "1 quantum".to_owned(),
                count => format!("{} quanta", format::count(count)),
            },
        ));
    }
    if accounts.missing_switches > 0 {
        texts.push(format!(
            "{}: nearby time may be attributed to the wrong thread.",
            match accounts.missing_switches {
                1 => "1 sched_switch event is missing".to_owned(),
                count => format!("{} sched_switch events are missing", format::count(count)),
            }
        ));
    }
    texts
}

/// The kernel's own tick.
pub(super) fn tick(accounts: &Accounts) -> String {
    match &accounts.tick {
        Ok(tick) => {
            let kind = match &tick.kind {
                TickKind::Timer { function } => format!("the timer function {function}"),
                TickKind::Periodic => "every interrupt of the local timer".to_owned(),
            };
            format!(
                "The kernel's tick ({kind}) fired {} times, every {} ({}{}Hz) except while stopped on an idle CPU.",
                format::count(tick.ticks),
                format::latency(tick.period),
                tick.hertz(),
                format::THIN_SPACE,
            )
        }
        Err(reason) => format!("The kernel's own tick is unknown: {reason}."),
    }
}

/// The heading of the time billed by a clock.
pub(super) fn billing(clock: TickClock) -> String {
    format!("Billed by {clock}")
}

/// The clocks of these accounts.
pub(super) fn clocks(accounts: &Accounts) -> Vec<TickClock> {
    accounts.idle.billing.iter().map(|billing| billing.clock).collect()
}
