//! `tactus agent`: the always-on watcher.

use std::net::SocketAddr;

use clap::Args;
use tactus_agent::{Agent, Event, NotStarted, Options};
use tactus_app::{Error, ErrorKind, Places, plan, record};
use tactus_model::cpus::CpuList;
use tactus_model::format::{self, latency, span};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_sys::process::effective_user;

use crate::error::{CommandError, CommandResult};
use crate::json_lines::write_line;
use crate::percentage::budget;
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::{say, shortfall_text};
use crate::values::{bytes, interval_within, positive, socket_address, whole};

/// Watch for late wakeups all the time, within a budget of CPU time, with metrics for Prometheus.
///
/// A real-time probe sleeps and wakes at its interval. The kernel records its events into buffers
/// that it overwrites. After a late wakeup, the agent reads them, finds the cause, and saves the
/// seconds before it as a recording beside the store; `tactus list recordings` lists them, and
/// `tactus explain FILE` explains them.
///
/// The agent counts its own CPU time and estimates that of the recording. If they exceed the budget,
/// it stops recording, then makes the probe slower, says so, and tries again later.
///
/// It serves metrics at /metrics as text and, to scrapers that ask for protocol buffers, with native
/// histograms; docs/agent.md lists them. It needs root to record and for the real-time policy; without
/// it, it does what is permitted, and says so.
///
/// Example: tactus agent --late 200us --budget 0.5%
#[derive(Args)]
pub(crate) struct AgentArguments {
    /// Address and port at which to serve metrics; port 0 chooses a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8423",
        value_parser = socket_address)]
    listen: SocketAddr,
    /// Time between two wakeups of the probe, from 1ms to 1s
    #[arg(long, value_name = "DURATION", default_value = "50ms",
        value_parser = interval_within(Nanos::from_millis(1), Nanos::from_secs(1)))]
    interval: Nanos,
    /// Policy of the probe
    #[arg(long, value_name = "POLICY", default_value = "fifo:90")]
    policy: Scheduling,
    /// CPUs on which the probe may run [default: all]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuList>,
    /// Latency above which a wakeup is late
    #[arg(long, value_name = "DURATION", default_value = "500us", value_parser = positive)]
    late: Nanos,
    /// Share of one CPU that the agent may use, its recording included
    #[arg(long, value_name = "PERCENT", default_value = "0.5%", value_parser = budget)]
    budget: f64,
    /// Size of all saved recordings together; the oldest are removed
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = bytes)]
    keep: u64,
    /// Number of recordings that are saved in an hour at most
    #[arg(long, value_name = "N", default_value = "12", value_parser = whole(1..=3600_u32))]
    saves_per_hour: u32,
    /// Record no kernel events: late wakeups have no causes
    #[arg(long)]
    no_record: bool,
    /// Print JSON, one object a line for each event
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    quietness: Quietness,
}

/// The size of all buffers together, in bytes, and that of a CPU's buffer.
const BUFFERS_MAX: usize = 256 << 20;
const BUFFER_MAX: usize = 4 << 20;

impl AgentArguments {
    fn options(&self, places: &Places) -> CommandResult<Options> {
        if let Some(cpus) = &self.cpus {
            plan::require_online("--cpus", cpus)?;
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ring_size = (BUFFERS_MAX / cpus).min(BUFFER_MAX);
        if !self.no_record {
            require_room(self.keep, ring_size)?;
        }
        Ok(Options {
            listen: self.listen,
            interval: self.interval,
            policy: self.policy,
            cpus: self.cpus.clone(),
            late: self.late,
            share: self.budget,
            records: !self.no_record,
            ring_size,
            recordings: places.recordings()?,
            keep: self.keep,
            saves_per_hour: self.saves_per_hour,
            locks_memory: effective_user() == 0,
        })
    }
}

/// Requires that a recording, which may fill a buffer, fits into the room for all.
fn require_room(keep: u64, ring_size: usize) -> CommandResult {
    if keep >= ring_size as u64 {
        return Ok(());
    }
    let least = ring_size.div_ceil(1 << 20);
    let refused = format!(
        "`--keep {keep}B` is less than the buffer of a CPU, so a recording may not fit: write {least}MiB or more"
    );
    let error = Error::usage(refused);
    Err(error.with_hint("`--no-record` keeps no recordings").into())
}

pub(crate) fn run(arguments: &AgentArguments, places: &Places) -> CommandResult {
    let options = arguments.options(places)?;
    // It removes the recorder's instance of tracefs if this process is killed.
    let _guardian = options.records.then(record::guardian);
    let agent = Agent::start(options).map_err(not_started)?;
    let handle = agent.handle();
    signals::on_interrupt(move |_| handle.end())?;
    if !agent.address().ip().is_loopback() {
        say!("warning: everyone who reaches {} can read the metrics", agent.address());
    }
    let (json, quietness) = (arguments.json, arguments.quietness);
    // What permits the recording permits everything; a command for less would be a detour.
    let one_fix = !arguments.no_record && effective_user() != 0;
    let mut failed = None;
    let handle = agent.handle();
    let ran = agent.run(|event| match json {
        true => {
            if let Err(error) = write_line(event) {
                // Nobody reads it any more.
                failed.get_or_insert(error);
                handle.end();
            }
        }
        false => print(event, quietness, one_fix),
    });
    ran.map_err(CommandError::internal)?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Prints an event as a line on standard error. With `one_fix`, only the recording has one.
fn print(event: &Event, quietness: Quietness, one_fix: bool) {
    match event {
        Event::Started { listen, shortfalls } => {
            for shortfall in shortfalls {
                let fix = shortfall.fix.clone().filter(|_| !one_fix);
                let shortfall = Shortfall { fix, ..shortfall.clone() };
                say!("{}", shortfall_text(&shortfall).trim_end());
            }
            quietness.note(format_args!("watching; metrics at http://{listen}/metrics"));
        }
        Event::Recording { price, buffers } => quietness.note(format_args!(
            "recording into {} MiB of buffers; an event costs about {price}",
            buffers >> 20
        )),
        Event::NotRecording { reason, fix } => {
            let fix = fix.as_ref().map(|fix| format!("\nfix: {fix}")).unwrap_or_default();
            say!("warning: late wakeups have no causes: {reason}{fix}");
        }
        Event::Late { count, worst, cause } => {
            let late = format::counted(*count, "late wakeup");
            quietness.note(format_args!("{late}, the worst {}: {cause}", latency(*worst)));
        }
        Event::Saved { file, before, .. } => {
            quietness.note(format_args!(
                "saved the {} before it: {}",
                latency(*before),
                file.display()
            ));
        }
        Event::Removed { name } => quietness.note(format_args!("removed {name} to make room")),
        Event::NotSaved { reason } => say!("warning: {reason}; the agent goes on"),
        Event::Stage { interval, is_less: true, used, next_trial, .. } => say!(
            "warning: budget exceeded ({:.2} % of one CPU at last): nothing is recorded, so late \
             wakeups have no causes; interval {interval}. Next attempt in {} at the earliest, or \
             give it a larger --budget",
            used * 100.0,
            span(*next_trial)
        ),
        Event::Stage { stage, interval, .. } => quietness.note(format_args!(
            "there is room in the budget again: {}, interval {interval}",
            if stage.records() { "recording" } else { "nothing is recorded" }
        )),
        Event::Ended { wakeups, late, starting, own, recording, watched } => {
            let share = 100.0 * (*own + *recording).as_secs_f64() / watched.as_secs_f64();
            let wakeups = format::counted(*wakeups, "wakeup");
            let late = format::count(*late);
            quietness.note(format_args!(
                "{wakeups}, {late} of them late; CPU time {}, and about {} for recording: \
                 {share:.2} % of one CPU; the start took {}",
                latency(*own),
                latency(*recording),
                latency(*starting)
            ));
        }
    }
}

fn not_started(error: NotStarted) -> CommandError {
    let hint = match &error {
        NotStarted::Listen { .. } => {
            Some("choose another address or port with `--listen ADDRESS:PORT`")
        }
        NotStarted::Recordings { .. } => Some("choose another place with `--store PATH`"),
        NotStarted::Probe(_) => None,
    };
    let error = Error::new(ErrorKind::Unavailable, error);
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}
