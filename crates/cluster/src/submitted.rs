//! A job of Slurm, from its submission to its end: lost tasks are submitted again.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::ClusterError;
use crate::directory::last_line;
use crate::ledger::{ATTEMPTS, Ledger};
use crate::look::Look;
use crate::news::{self, News};
use crate::notice::{Notice, NoticeListener};
use crate::slurm::Slurm;

/// A job whose tasks Slurm has accepted.
pub(crate) struct Submitted {
    slurm: Slurm,
    listener: NoticeListener,
    /// The job's directory.
    directory: PathBuf,
    ledger: Ledger,
    news: News,
    began: Instant,
    next_look: Instant,
    is_cancelled: bool,
}

impl Submitted {
    /// Submits a task for each range of turns.
    ///
    /// # Errors
    /// Slurm refuses a task. Those that it accepted before are cancelled.
    pub(crate) fn new(
        mut slurm: Slurm,
        listener: NoticeListener,
        directory: &Path,
        tasks: Vec<Range<usize>>,
        turns: usize,
    ) -> Result<Self, ClusterError> {
        let numbers: Vec<usize> = (0..tasks.len()).collect();
        if let Err(error) = slurm.submit(&numbers) {
            if slurm.has_tasks() {
                news::cancel(&slurm, false, &listener);
            }
            return Err(error);
        }
        listener(&Notice::Submitted { job: slurm.job(), tasks: numbers.len(), turns });
        let began = Instant::now();
        Ok(Self {
            slurm,
            listener,
            directory: directory.to_owned(),
            ledger: Ledger::new(tasks),
            news: News::default(),
            began,
            next_look: began,
            is_cancelled: false,
        })
    }

    /// Passes news to the listener.
    pub(crate) fn show(&self, notice: &Notice) {
        (self.listener)(notice);
    }

    /// Asks Slurm for the tasks, if it is time to do so.
    pub(crate) fn look(&mut self, stop: &AtomicBool) -> Option<Look> {
        if Instant::now() < self.next_look {
            return None;
        }
        let look = self.slurm.look(stop);
        self.next_look = Instant::now() + news::pause(self.began.elapsed());
        match look {
            Ok(look) => {
                self.news.show(&look, &self.slurm, &self.listener);
                Some(look)
            }
            Err(_) if stop.load(Ordering::SeqCst) => None,
            Err(error) => {
                self.news.is_silent(&error, &self.listener);
                None
            }
        }
    }

    /// Submits tasks again that are lost by a look at Slurm; `is_finished` says whether a turn has
    /// a result. Returns the tasks that were lost too often, each with the end of a sentence.
    pub(crate) fn submit_again(
        &mut self,
        look: &Look,
        is_finished: impl Fn(usize) -> bool,
    ) -> Vec<(usize, String)> {
        let active: BTreeSet<usize> =
            look.running.keys().chain(look.waiting.keys()).copied().collect();
        let decision = self.ledger.after_look(&active, is_finished);
        if !decision.again.is_empty() {
            let last = decision.again.iter().find_map(|task| last_line(&self.directory, *task));
            match self.slurm.submit(&decision.again) {
                Ok(()) => self.show(&Notice::Again {
                    tasks: decision.again.len(),
                    job: self.slurm.job(),
                    last,
                }),
                Err(error) => self.news.is_silent(&error, &self.listener),
            }
        }
        decision.given_up.into_iter().map(|task| (task, self.ended_without_result(task))).collect()
    }

    /// How a task ended that was lost too often.
    fn ended_without_result(&self, task: usize) -> String {
        let times = format!("ended {ATTEMPTS} times without a result");
        match last_line(&self.directory, task) {
            Some(line) => format!("{times}; last line of its log: {line}"),
            None => format!(
                "{times} and without a log; do all nodes see the directory {}?",
                self.directory.display()
            ),
        }
    }

    /// Cancels what is left, once; `is_over` says whether every task has written its last result.
    pub(crate) fn cancel(&mut self, is_over: bool) {
        if !std::mem::replace(&mut self.is_cancelled, true) {
            news::cancel(&self.slurm, is_over, &self.listener);
        }
    }
}
