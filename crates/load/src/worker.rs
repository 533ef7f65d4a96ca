//! The process of one copy.

use tactus_wire::{WireError, answers, requests};

use crate::error::{During, LoadError};
use crate::gate;
use crate::loads;
use crate::order::{News, TOLD_WHY, WorkerAnswer, WorkerOrder};
use crate::scheduling;
use crate::site::Site;

/// The whole body of `tactus internal load-worker`: reads its order on the standard
/// input, works until it is killed, and says so on the standard output.
///
/// # Errors
/// The order cannot be read. Everything else that fails is told to the keeper.
pub fn worker_main() -> Result<(), LoadError> {
    let order: WorkerOrder = match requests().read() {
        Err(WireError::Closed) => return Ok(()),
        order => order.during("read what this copy is to do")?,
    };
    // Set here and not by whoever starts us, because running a binary with file
    // capabilities, as ours may be, takes the death signal back.
    if tactus_sys::process::die_with(order.keeper).is_err() {
        return Ok(());
    }
    if let Some(companion) = &order.companion {
        // By a wrong name it works all the same.
        let _ = tactus_sys::thread::set_name(companion.program());
        return loads::run_companion(companion, &order);
    }
    let Err(error) = work(&order);
    answers()
        .write(&WorkerAnswer { copy: order.copy, news: News::Failed(error) })
        .during("tell the keeper why this copy ends")?;
    // Without returning, since threads of the load may still be at work.
    std::process::exit(TOLD_WHY)
}

fn work(order: &WorkerOrder) -> loads::Endless {
    // When memory runs out, the load has to go and not the probe. A kernel that does
    // not let us say so decides by itself.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let (plan, kind) = (&order.task.plan, &order.task.load_of(order.copy).kind);
    // Every process of ours is one binary; by their names recordings tell them apart.
    let _ = tactus_sys::thread::set_name(loads::program(kind));
    let missing = scheduling::apply(plan, loads::makes_tasks(kind))?;
    // The threads of a load run until the process is killed, so this is never given back.
    let site: &'static Site = Box::leak(Box::new(Site::new(order, missing)?));
    gate::pass(&order.directory)?;
    loads::run(kind, site)
}
