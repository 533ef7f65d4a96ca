//! The process of one copy.

use tactus_wire::{WireError, requests, responses};

use crate::error::{During, LoadError};
use crate::gate;
use crate::loads;
use crate::request::{News, REASON_SENT, WorkerRequest, WorkerResponse};
use crate::scheduling;
use crate::site::Site;

/// The main function of `tactus internal load-worker`: reads its request from standard input,
/// works until it is killed, and reports its progress on standard output.
///
/// # Errors
/// The request cannot be read. Every other failure is reported to the supervisor.
pub fn worker_main() -> Result<(), LoadError> {
    let request: WorkerRequest = match requests().read() {
        Err(WireError::Closed) => return Ok(()),
        request => request.during("read this copy's request")?,
    };
    // Set here and not by the parent, because executing a binary with file capabilities, which
    // ours may have, clears the death signal.
    if tactus_sys::process::die_with(request.supervisor).is_err() {
        return Ok(());
    }
    if let Some(companion) = &request.companion {
        // A failure leaves only a wrong name.
        let _ = tactus_sys::thread::set_name(companion.program());
        return loads::run_companion(companion, &request);
    }
    let Err(error) = work(&request);
    responses()
        .write(&WorkerResponse { copy: request.copy, news: News::Failed(error) })
        .during("report why this copy ends")?;
    // Without returning, because threads of the load may still be at work.
    std::process::exit(REASON_SENT)
}

fn work(request: &WorkerRequest) -> loads::Endless {
    // When memory runs out, the kernel should kill the load and not the probe. If the write
    // fails, the kernel decides by itself.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let (plan, kind) = (&request.task.plan, &request.task.load_of(request.copy).kind);
    // All processes run the same binary; recordings distinguish them by name.
    let _ = tactus_sys::thread::set_name(loads::program(kind));
    let missing = scheduling::apply(plan, loads::makes_tasks(kind))?;
    // The threads of a load run until the process is killed, so this is never freed.
    let site: &'static Site = Box::leak(Box::new(Site::new(request, missing)?));
    gate::pass(&request.directory)?;
    loads::run(kind, site)
}
