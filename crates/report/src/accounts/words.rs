//! Sentences on accounts, for the terminal and the page alike.

use tactus_explain::account::{Accounts, TickClock, TickKind};
use tactus_model::time::Nanos;

use crate::format;

/// What the recording came to.
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
        text.push_str(&format!(", {} not known", share(accounts.unknown())));
    }
    text.push('.');
    text
}

/// The length of a recording: of one below a second more than a person would wait for.
fn length(length: Nanos) -> String {
    const SECOND: Nanos = Nanos::from_secs(1);
    if length < SECOND { format::latency(length) } else { format::span(length) }
}

/// What is not known as well as the figures look.
pub(super) fn remainders(accounts: &Accounts) -> Vec<String> {
    let mut texts = Vec::new();
    let cut = accounts.cut();
    if cut.count > 0 {
        texts.push(format!(
            "{} of the used time lies in {} cut off by an edge of the recording, by lost events or by a \
             switch that was not recorded; the time counts, the lengths do not.",
            format::share(cut.time.as_nanos(), accounts.used().as_nanos()),
            match cut.count {
                1 => "1 quantum".to_owned(),
                count => format!("{} quanta", format::count(count)),
            },
        ));
    }
    if accounts.missing_switches > 0 {
        texts.push(format!(
            "{} not recorded: around them time may be entered under the wrong name.",
            match accounts.missing_switches {
                1 => "1 switch was".to_owned(),
                count => format!("{} switches were", format::count(count)),
            }
        ));
    }
    texts
}

/// What is known of the kernel's own tick.
pub(super) fn tick(accounts: &Accounts) -> String {
    match &accounts.tick {
        Ok(tick) => {
            let kind = match &tick.kind {
                TickKind::Timer { function } => format!("the timer function {function}"),
                TickKind::Periodic => "every interrupt of the local timer".to_owned(),
            };
            format!(
                "The kernel's tick ({kind}) came {} times, every {} ({}{}Hz) where it was not stopped \
                 on an idle CPU.",
                format::count(tick.ticks),
                format::latency(tick.period),
                tick.hertz(),
                format::THIN_SPACE,
            )
        }
        Err(reason) => format!("Nothing is told of the kernel's own tick: {reason}."),
    }
}

/// The heading of what a clock billed.
pub(super) fn billing(clock: TickClock) -> String {
    format!("Billed by {clock}")
}

/// The clocks that billed in these accounts.
pub(super) fn clocks(accounts: &Accounts) -> Vec<TickClock> {
    accounts.idle.billing.iter().map(|billing| billing.clock).collect()
}
