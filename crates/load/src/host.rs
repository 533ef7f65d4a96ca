//! The process that contains a load and cleans up after it.

use std::io::{self, PipeWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_sys::namespace::{self, Right};
use tactus_sys::{Errno, SysError, process, sched};
use tactus_wire::{MESSAGE_LIMIT, MessageWriter, WireError, answers, requests};

use crate::containment::Containment;
use crate::directory::LoadDirectory;
use crate::error::{During, LoadError};
use crate::keeper;
use crate::loads;
use crate::not_granted::NotGranted;
use crate::order::{Answer, HostOrder, KeeperOrder, Order, Role};
use crate::processes;

/// The whole body of `tactus internal load`: reads its order on the standard input,
/// answers on the standard output, and ends the load when the standard input ends.
///
/// # Errors
/// The order cannot be read, or nobody listens to the answers. Everything else that
/// fails is told to the measuring process.
pub fn host_main() -> Result<(), LoadError> {
    // The lock has to be free again before anybody waits for the end of the input.
    let order = requests().read();
    let done = match order {
        Err(WireError::Closed) => Ok(()),
        Err(error) => return Err(error).during("read what load is wanted"),
        Ok(Order::Host(order)) => host(order),
        Ok(Order::Keeper(order)) => keeper::keep(&order),
    };
    match done {
        Ok(()) => Ok(()),
        Err(error) => answers().write(&Answer::Failed(error)).during("say why the load cannot run"),
    }
}

fn host(order: HostOrder) -> Result<(), LoadError> {
    // By a wrong name it hosts all the same.
    let _ = tactus_sys::thread::set_name("load/host");
    go_before_the_load(order.task.plan.scheduling);
    // Of use without a namespace; with one it does no harm.
    process::adopt_orphans().during("become the parent of orphans")?;
    let directory = LoadDirectory::create(&order.directory)?;
    let keeper = Keeper::start(&order, &directory)?;
    let (process, lifeline) = (keeper.process, keeper.lifeline);
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    thread::spawn(move || {
        // Nothing more is sent, so whatever is read is the end of the measurement.
        let _ = io::stdin().read(&mut [0]);
        is_over.store(true, Ordering::Relaxed);
        drop(lifeline);
        // Numbers are given out in turn, so that of a keeper that has ended this very
        // moment is not another process's yet.
        let _ = process::kill(process);
    });
    let status = wait_for(process)?;
    processes::kill_descendants();
    drop(directory);
    if status.signal().is_some() && !over.load(Ordering::Relaxed) {
        return Err(LoadError::new(format!("the keeper of the load ended: {status}")));
    }
    Ok(())
}

/// Makes sure that a load of a real-time class can be ended: host and keeper, who
/// only sleep, must run before it.
fn go_before_the_load(scheduling: Scheduling) {
    if scheduling.is_realtime()
        && let Some(highest) = RealtimePriority::new(99)
    {
        // Refused to us, it will be refused to the copies too, who will say so.
        let _ = sched::set(Scheduling::Fifo(highest));
    }
}

fn wait_for(keeper: u32) -> Result<ExitStatus, LoadError> {
    loop {
        let (process, status) =
            process::wait_for_any_child().during("wait for the keeper of the load")?;
        if process == keeper {
            return Ok(status);
        }
    }
}

/// The keeper, as the host sees it.
struct Keeper {
    process: u32,
    /// The keeper ends everything when this is closed.
    lifeline: PipeWriter,
}

impl Keeper {
    /// Starts the keeper in the containment that is wanted, or else in the first that is
    /// permitted.
    fn start(order: &HostOrder, directory: &LoadDirectory) -> Result<Self, LoadError> {
        let wanted: &[Containment] = match &order.containment {
            Some(one) => std::slice::from_ref(one),
            None => &Containment::ALL,
        };
        let mut refusal = None;
        for &containment in wanted {
            let (input, lifeline) = io::pipe().during("make a pipe")?;
            match spawn(containment, input) {
                Ok(process) => {
                    let keeper_order = Order::Keeper(KeeperOrder {
                        task: order.task.clone(),
                        directory: directory.path().to_owned(),
                        containment,
                        missing: not_contained(order, containment, refusal).into_iter().collect(),
                    });
                    MessageWriter::new(&lifeline, MESSAGE_LIMIT)
                        .write(&keeper_order)
                        .during("tell the keeper what to do")?;
                    return Ok(Self { process, lifeline });
                }
                Err(error) => refusal = Some(error),
            }
        }
        let reason = refusal.map_or_else(String::new, |error| error.to_string());
        Err(LoadError::new(format!("the load's processes cannot be started: {reason}")))
    }
}

/// What the result has to say when no namespace was permitted and that makes a difference.
fn not_contained(
    order: &HostOrder,
    containment: Containment,
    refusal: Option<SysError>,
) -> Option<NotGranted> {
    let differs =
        containment == Containment::Watched && loads::runs_any_program(&order.task.plan.load.kind);
    refusal.filter(|_| differs).map(|refused| NotGranted::Known(Containment::shortfall(&refused)))
}

fn spawn(containment: Containment, input: io::PipeReader) -> Result<u32, SysError> {
    let mut command = Role::Load.of_this_binary();
    command.stdin(input);
    match containment {
        Containment::Namespace => namespace::spawn(&mut command, Right::Privilege),
        Containment::UserNamespace => namespace::spawn(&mut command, Right::UserNamespace),
        // It has no death signal, so that it is left to kill the load's descendants
        // when the host ends; the end of its standard input tells it.
        Containment::Watched => command.spawn().map(|child| child.id()).map_err(|error| {
            SysError::new("posix_spawn", Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }),
    }
}
