//! `tactus qosd`: the QoS manager.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use tactus_app::Error;
use tactus_model::format;
use tactus_model::time::Nanos;
use tactus_qos::SOCKET;
use tactus_qosd::{BadLedger, ManagerHandle, NotStarted, POLICY, Places, Policy, Report, STATE};
use tactus_rtkit::{Bus, Managed, Served};
use tactus_sys::process::effective_user;

use crate::error::{CommandError, CommandResult};
use crate::quietness::Quietness;
use crate::signals;
use crate::terminal::say;

/// Grant CPU time to programs that ask for it, by admission, importance and a policy (QoS manager).
///
/// Programs connect to a socket and state what they need: a period, and the least and the most CPU
/// time in each. The manager admits a need if the minima of all fit, shares the rest by importance,
/// and grants it by the kernel's deadline class. A reserve ends with its connection. docs/qosd.md
/// describes the protocol, with clients in shell, Python, C and Rust.
///
/// It needs root or CAP_SYS_NICE. Without a policy file, each user may reserve 40 % of 75 % of the
/// CPUs. After a kill, the next manager returns the threads that have a grant to their policy.
///
/// Example: tactus qosd --socket /run/tactus/qos.sock --policy /etc/tactus/qosd.toml
#[derive(Args)]
pub(crate) struct QosdArguments {
    /// Socket to listen at, unless systemd passes one
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Policy file in TOML, which only root may be able to write [default: /etc/tactus/qosd.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// File of the threads that have a grant, for the repair after a kill
    #[arg(long, value_name = "FILE", default_value = STATE)]
    state: PathBuf,
    /// End after this long without connections, e.g. 1min; systemd starts the manager again when a program connects
    #[arg(long, value_name = "DURATION")]
    idle_exit: Option<Nanos>,
    /// Serve rtkit's interface on the system's message bus too: threads with a priority are admitted
    /// by CPU time, and become ordinary when they use more (docs/rtkit.md)
    #[arg(long)]
    rtkit: bool,
    #[command(flatten)]
    quietness: Quietness,
}

pub(crate) fn run(arguments: &QosdArguments) -> CommandResult {
    let usual = Path::new(POLICY);
    let usual = usual.exists().then(|| usual.to_owned());
    let places = Places {
        socket: arguments.socket.clone(),
        policy: arguments.policy.clone().or(usual),
        state: arguments.state.clone(),
    };
    let (mut server, found) = tactus_qosd::start(&places).map_err(not_started)?;
    let handle = server.handle();
    signals::on_interrupt(move |_| handle.end())?;
    if !found.returned.is_empty() {
        let count = format::counted(found.returned.len() as u64, "thread");
        say!("repair: returned {count} that a killed manager had left to their policy");
    }
    // A thread with a reserve starts no others, so this comes before the server's own.
    let served = arguments.rtkit.then(|| serve_rtkit(server.handle(), found.policy.clone()));
    let _served = served.transpose()?;
    let own = found.policy.own.map(|own| (own, server.reserve_own(own)));
    if let Some((own, Err(refused))) = own {
        say!("warning: the manager runs without its own reserve of {own}: {refused}");
    }
    let socket = match found.is_activated {
        true => "the socket that systemd passed".to_owned(),
        false => places.socket.display().to_string(),
    };
    let capacity = format::cpus(found.capacity.cpus());
    let cpus = format::counted(found.cpus.into(), "CPU");
    arguments
        .quietness
        .note(format_args!("serving {socket}; {capacity} of a CPU may be reserved, of {cpus}"));
    server.run(arguments.idle_exit, print).map_err(CommandError::internal)
}

/// Prints what happens while the manager runs.
fn print(report: Report) {
    match report {
        Report::Freed { thread, name, count } => say!(
            "warning: the kernel had left thread {} ({}) throttled; its policy was set again ({} since the start)",
            thread.0,
            format::quoted(&name),
            format::counted(count, "time"),
        ),
    }
}

/// Serves rtkit's interface until the result is dropped.
fn serve_rtkit(manager: ManagerHandle, policy: Policy) -> Result<Served, CommandError> {
    let admission = Box::new(Managed::new(manager, policy));
    tactus_rtkit::serve(&Bus::System, tactus_rtkit::Policy::default(), admission).map_err(|error| {
        let error = Error::new(tactus_app::ErrorKind::Unavailable, error);
        error.with_hint("does rtkit-daemon run? stop it: systemctl stop rtkit-daemon").into()
    })
}

fn not_started(error: NotStarted) -> CommandError {
    let kind = match error {
        NotStarted::PolicyFile { .. }
        | NotStarted::Policy { .. }
        | NotStarted::PolicyOfOthers(_)
        | NotStarted::State(BadLedger::NotALedger { .. }) => tactus_app::ErrorKind::Usage,
        _ => tactus_app::ErrorKind::Unavailable,
    };
    let hint = match &error {
        NotStarted::Socket { error, .. } if error.kind() == ErrorKind::AddrInUse => {
            Some("a manager serves this socket already; end it, or choose another --socket")
        }
        NotStarted::Socket { .. } | NotStarted::State(BadLedger::System { .. })
            if effective_user() != 0 =>
        {
            Some("as another user than root, choose --socket and --state in a directory of yours")
        }
        _ => None,
    };
    let error = Error::new(kind, error);
    match hint {
        Some(hint) => error.with_hint(hint).into(),
        None => error.into(),
    }
}
