//! What the watcher of any job shows, and how often it asks.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use crate::ClusterError;
use crate::look::Look;
use crate::notice::{Notice, NoticeListener};
use crate::slurm::{Ending, Slurm};

/// How often the shared directory is read.
pub(crate) const SCAN: Duration = Duration::from_millis(500);

/// The times between two looks at Slurm: at first, and when the job has run for a while. A
/// site's server answers many users.
const LOOKS: [(Duration, Duration); 3] = [
    (Duration::ZERO, Duration::from_secs(2)),
    (Duration::from_secs(60), Duration::from_secs(10)),
    (Duration::from_secs(600), Duration::from_secs(30)),
];

/// The shortest time between two lines about running tasks.
pub(crate) const NEWS: Duration = Duration::from_secs(10);

/// How long to wait for the end of cancelled tasks: a little longer than Slurm lets them live.
const ENDING: Duration = Duration::from_secs(40);

/// The time until the next look at Slurm, for a job of this age.
pub(crate) fn pause(age: Duration) -> Duration {
    let pause = LOOKS.iter().rev().find(|(from, _)| age >= *from);
    pause.map_or(LOOKS[0].1, |(_, pause)| *pause)
}

/// What was shown of a job.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// The last states that were shown, and when.
    shown: Option<(Look, Instant)>,
    is_silent: bool,
}

impl News {
    /// Shows once that Slurm does not answer.
    pub(crate) fn is_silent(&mut self, error: &ClusterError, listener: &NoticeListener) {
        if !std::mem::replace(&mut self.is_silent, true) {
            listener(&Notice::Silent { said: error.to_string() });
        }
    }

    /// Shows the tasks: at once if they wait for another reason, and rarely otherwise.
    pub(crate) fn show(&mut self, look: &Look, slurm: &Slurm, listener: &NoticeListener) {
        self.is_silent = false;
        let reasons = |look: &Look| look.waiting.values().cloned().collect::<BTreeSet<String>>();
        let is_news = match &self.shown {
            None => true,
            Some((shown, _)) if reasons(shown) != reasons(look) => true,
            Some((shown, when)) => {
                let nodes = |look: &Look| look.running.values().cloned().collect::<BTreeSet<_>>();
                nodes(shown) != nodes(look) && when.elapsed() >= NEWS
            }
        };
        // Slurm has not considered the job yet.
        let is_new = look.running.is_empty() && reasons(look).iter().all(|reason| reason == "None");
        if !is_news || is_new {
            return;
        }
        let fixes: BTreeMap<&String, String> = look
            .waiting
            .values()
            .filter_map(|reason| Some((reason, slurm.release(reason)?)))
            .collect();
        listener(&Notice::State {
            job: slurm.job(),
            running: look.running_text(),
            waiting: look.waiting_text(),
            fix: fixes.into_values().next(),
        });
        self.shown = Some((look.clone(), Instant::now()));
    }
}

/// Cancels what is left of a job, and waits for its end; `is_over` says whether every task has written
/// its last result.
pub(crate) fn cancel(slurm: &Slurm, is_over: bool, listener: &NoticeListener) {
    let deadline = Instant::now() + ENDING;
    loop {
        match slurm.cancel() {
            Ok(Ending::Over) => return,
            Ok(Ending::Completing) if is_over => return,
            Ok(_) | Err(_) if Instant::now() < deadline => thread::sleep(SCAN),
            Ok(_) => return listener(&Notice::StillEnding { job: slurm.job() }),
            Err(error) => return listener(&Notice::Silent { said: error.to_string() }),
        }
    }
}
