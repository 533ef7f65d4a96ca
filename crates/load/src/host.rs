//! The process that contains a load and cleans up after it.

use std::io::{self, PipeWriter, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_prepare::ThreadRef;
use tactus_sys::namespace::{self, Right};
use tactus_sys::owned_directory::{self, OwnedDirectory};
use tactus_sys::{SysError, process};
use tactus_wire::{MESSAGE_LIMIT, MessageWriter, WireError, requests, responses};

use crate::containment::Containment;
use crate::error::{During, LoadError};
use crate::loads;
use crate::not_granted::NotGranted;
use crate::processes;
use crate::request::{HostRequest, Request, Response, Role, SupervisorRequest};
use crate::supervisor;

/// The prefix of the names of loads' temporary directories.
const DIRECTORY: &str = "tactus-load-";

/// Removes the temporary directories below `parent` of loads that were killed.
pub fn remove_left(parent: &Path) {
    owned_directory::remove_stale(parent, DIRECTORY);
}

/// The main function of `tactus internal load`: reads its request from standard input, sends
/// responses to standard output, and ends the load when standard input ends.
///
/// # Errors
/// The request cannot be read, or the responses cannot be written. Every other failure is
/// reported to the measuring process.
pub fn host_main() -> Result<(), LoadError> {
    // Release the lock of standard input before a thread waits for its end.
    let request = requests().read();
    let done = match request {
        Err(WireError::Closed) => Ok(()),
        Err(error) => return Err(error).during("read the request for a load"),
        Ok(Request::Host(request)) => host(request),
        Ok(Request::Supervisor(request)) => supervisor::supervise(&request),
    };
    match done {
        Ok(()) => Ok(()),
        Err(error) => {
            responses().write(&Response::Failed(error)).during("report why the load cannot run")
        }
    }
}

fn host(request: HostRequest) -> Result<(), LoadError> {
    // A failure leaves only a wrong name.
    let _ = tactus_sys::thread::set_name("load/host");
    go_before_the_load(request.task.plan.scheduling);
    // Needed without a namespace, harmless in a namespace.
    process::adopt_orphans().during("become the parent of orphans")?;
    let place = format!("create a directory in {}", request.directory.display());
    let directory = OwnedDirectory::create(&request.directory, DIRECTORY).during(&place)?;
    let supervisor = Supervisor::start(&request, &directory)?;
    let (process, lifeline) = (supervisor.process, supervisor.lifeline);
    let over = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&over);
    thread::spawn(move || {
        // Nothing more is sent, so this read returns at the end of the measurement.
        let _ = io::stdin().read(&mut [0]);
        is_over.store(true, Ordering::Relaxed);
        drop(lifeline);
        // The kernel reuses process numbers in turn, so the number of a supervisor that has
        // just ended does not belong to another process yet.
        let _ = process::kill(process);
    });
    let status = wait_for(process)?;
    processes::kill_descendants();
    drop(directory);
    if status.signal().is_some() && !over.load(Ordering::Relaxed) {
        return Err(LoadError::new(format!("the supervisor of the load ended: {status}")));
    }
    Ok(())
}

/// Lets a load of a real-time class be ended: host and supervisor only sleep, and must preempt
/// the load when they wake. The supervisor inherits the policy.
fn go_before_the_load(scheduling: Scheduling) {
    if scheduling.is_realtime()
        && let Some(highest) = RealtimePriority::new(99)
    {
        // The kernel refuses the copies whatever it refuses here, and they report it.
        let _ = ThreadRef::Calling.schedule(Scheduling::Fifo(highest));
    }
}

/// Reaps every child until the supervisor ends.
fn wait_for(supervisor: u32) -> Result<ExitStatus, LoadError> {
    loop {
        let (process, status) =
            process::wait_for_any_child().during("wait for the supervisor of the load")?;
        if process == supervisor {
            return Ok(status);
        }
    }
}

/// The host's view of the supervisor.
struct Supervisor {
    process: u32,
    /// Closing it makes the supervisor end everything.
    lifeline: PipeWriter,
}

impl Supervisor {
    /// Starts the supervisor in the requested containment, or in the first that is permitted.
    fn start(request: &HostRequest, directory: &OwnedDirectory) -> Result<Self, LoadError> {
        let wanted: &[Containment] = match &request.containment {
            Some(containment) => std::slice::from_ref(containment),
            None => &Containment::ALL,
        };
        let mut refusal = None;
        for &containment in wanted {
            let (input, lifeline) = io::pipe().during("make a pipe")?;
            match spawn(containment, input) {
                Ok(process) => {
                    let supervisor_request = Request::Supervisor(SupervisorRequest {
                        task: request.task.clone(),
                        directory: directory.path().to_owned(),
                        containment,
                        missing: not_contained(request, containment, refusal).into_iter().collect(),
                    });
                    MessageWriter::new(&lifeline, MESSAGE_LIMIT)
                        .write(&supervisor_request)
                        .during("send the supervisor its request")?;
                    return Ok(Self { process, lifeline });
                }
                Err(error) => refusal = Some(error),
            }
        }
        let reason = refusal.map_or_else(String::new, |error| error.to_string());
        Err(LoadError::new(format!("the load's processes cannot be started: {reason}")))
    }
}

/// The shortfall of a load that runs in no namespace although it may start any program.
fn not_contained(
    request: &HostRequest,
    containment: Containment,
    refusal: Option<SysError>,
) -> Option<NotGranted> {
    let differs = containment == Containment::Watched
        && loads::runs_any_program(&request.task.plan.load.kind);
    refusal.filter(|_| differs).map(|refused| NotGranted::Known(Containment::shortfall(&refused)))
}

fn spawn(containment: Containment, input: io::PipeReader) -> Result<u32, SysError> {
    let mut command = Role::Load.of_this_binary();
    command.stdin(input);
    match containment {
        Containment::Namespace => namespace::spawn(&mut command, Right::Privilege),
        Containment::UserNamespace => namespace::spawn(&mut command, Right::UserNamespace),
        // Without a death signal, so that it survives the host and can kill the load's
        // descendants; it notices the end of the host by the end of its standard input.
        Containment::Watched => {
            command.spawn().map(|child| child.id()).map_err(SysError::of_io("posix_spawn"))
        }
    }
}
