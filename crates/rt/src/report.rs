//! What happened to the threads of a process, for its owner.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use tactus_model::format::latency;
use tactus_model::recording::ThreadId;
use tactus_model::time::{Instant, Monotonic, Nanos};

/// The most reports that wait to be taken; further ones are counted and dropped.
const WAITING_MOST: usize = 256;

/// An incident in one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the thread.
    pub name: String,
    /// Its ID.
    pub thread: ThreadId,
    /// When it was noticed.
    pub at: Instant<Monotonic>,
    /// What happened.
    pub incident: Incident,
}

/// What can happen to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incident {
    /// A job exceeded the limit of the supervisor.
    Hung {
        /// How long it had run when the thread was demoted, or noticed without being demoted.
        after: Nanos,
        /// The limit.
        limit: Nanos,
        /// Whether the thread is an ordinary one now.
        is_demoted: bool,
    },
    /// A job panicked.
    Panicked {
        /// The message of the panic.
        message: String,
    },
    /// The thread was restarted after one of the others.
    Restarted {
        /// How many restarts remain.
        remaining: u32,
    },
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} ({}): ", self.name, self.thread.0)?;
        match &self.incident {
            Incident::Hung { after, limit, is_demoted } => {
                let effect = if *is_demoted { "; it is an ordinary thread now" } else { "" };
                let [after, limit] = [after, limit].map(|length| latency(*length));
                write!(f, "a job runs for {after}, longer than its limit of {limit}{effect}")
            }
            Incident::Panicked { message } => write!(f, "a job panicked: {message}"),
            Incident::Restarted { remaining } => {
                write!(f, "restarted; {remaining} restarts remain")
            }
        }
    }
}

/// The reports that were taken at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reports {
    /// In the order of their arrival.
    pub reports: Vec<Report>,
    /// How many were dropped, because nobody took reports, since those before.
    pub dropped: u64,
}

/// The reports of all threads of a process. Writing never waits.
#[derive(Debug)]
pub(crate) struct Inbox {
    sender: SyncSender<Report>,
    /// Locked by readers only.
    receiver: Mutex<Receiver<Report>>,
    dropped: AtomicU64,
}

/// Reports the incidents of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) name: String,
    pub(crate) thread: ThreadId,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = sync_channel(WAITING_MOST);
        Self { sender, receiver: Mutex::new(receiver), dropped: AtomicU64::new(0) }
    }

    pub(crate) fn take(&self) -> Reports {
        let receiver = self.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        Reports { reports: receiver.try_iter().collect(), dropped }
    }
}

impl Reporter {
    pub(crate) fn report(&self, incident: Incident) {
        let at = tactus_sys::clock::now();
        let report = Report { name: self.name.clone(), thread: self.thread, at, incident };
        if self.inbox.sender.try_send(report).is_err() {
            self.inbox.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_taken_in_order_and_dropped_ones_are_counted() {
        let inbox = Arc::new(Inbox::new());
        let name = "servo".to_owned();
        let reporter = Reporter { inbox: Arc::clone(&inbox), name, thread: ThreadId(7) };
        for number in 0..WAITING_MOST + 3 {
            reporter.report(Incident::Panicked { message: number.to_string() });
        }
        let taken = inbox.take();
        assert_eq!((taken.reports.len(), taken.dropped), (WAITING_MOST, 3));
        assert_eq!(taken.reports[2].to_string(), "thread servo (7): a job panicked: 2");
        assert_eq!(inbox.take(), Reports::default());
    }

    #[test]
    fn a_report_says_what_happened_and_its_effect() {
        let hung = |is_demoted| Report {
            name: "servo".to_owned(),
            thread: ThreadId(7),
            at: Instant::from_nanos(0),
            incident: Incident::Hung {
                after: Nanos::from_nanos(5_264_052),
                limit: Nanos::from_millis(5),
                is_demoted,
            },
        };
        assert_eq!(
            hung(true).to_string(),
            "thread servo (7): a job runs for 5.26\u{202f}ms, longer than its limit of \
             5.00\u{202f}ms; it is an ordinary thread now"
        );
        assert!(hung(false).to_string().ends_with("limit of 5.00\u{202f}ms"));
    }
}
