//! Threads whose body has the loop, and waits for its periods.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_sys::clock;

use crate::job::{Ended, Pacer, Recovery, Shared, begin, end, message};
use crate::observed::Observed;
use crate::overrun::Overrun;
use crate::periodic::{PeriodicPacer, Tick};
use crate::refused::Refused;
use crate::report::Incident;
use crate::thread::{Thread, ThreadBuilder};

/// A thread with a loop of its own that is to be started.
#[derive(Clone, Copy, Debug)]
pub struct Own;

/// The present thread, for its body.
#[derive(Debug)]
pub struct OwnThread {
    shared: Arc<Shared>,
    observed: Rc<RefCell<Observed>>,
}

/// The periods of a thread with a loop of its own. It ends with the body.
#[derive(Debug)]
pub struct Pace {
    shared: Arc<Shared>,
    observed: Rc<RefCell<Observed>>,
    has_job: bool,
    pacer: PeriodicPacer,
}

impl ThreadBuilder<Own> {
    /// Starts the thread, which runs `body` once. It returns when the thread is prepared. A body
    /// that panicked or hung is not restarted.
    ///
    /// # Errors
    /// A setting is out of range, or the system starts no thread. What the kernel does not permit
    /// is a [shortfall](Thread::shortfalls).
    pub fn spawn(self, body: impl FnOnce(OwnThread) + Send + 'static) -> Result<Thread, Refused> {
        let serve = move |shared: &Arc<Shared>, recovery: &Recovery, observed: Observed| {
            let observed = Rc::new(RefCell::new(observed));
            let own = OwnThread { shared: Arc::clone(shared), observed };
            // What the body has captured is dropped with it.
            let served = catch_unwind(AssertUnwindSafe(|| body(own)));
            shared.end_job();
            match served {
                Ok(()) if shared.is_ending.load(Ordering::Relaxed) => Ended::Requested,
                Ok(()) => Ended::Stopped,
                Err(payload) => {
                    let message = message(&*payload);
                    recovery.reporter.report(Incident::Panicked { message: message.clone() });
                    Ended::Panicked(message)
                }
            }
        };
        self.options.start(serve, None)
    }
}

impl OwnThread {
    /// Whether the thread shall end.
    pub fn is_ending(&self) -> bool {
        self.shared.is_ending.load(Ordering::Relaxed)
    }

    /// Begins periods, from 10 µs to 24 h; the first due time is `first`, or a period from now.
    ///
    /// # Errors
    /// The period or the first due time is out of range.
    pub fn periodic(
        &self,
        period: Nanos,
        overrun: Overrun,
        first: Option<Instant<Monotonic>>,
    ) -> Result<Pace, Refused> {
        let now = clock::now();
        let mut pacer = PeriodicPacer::new(period, overrun, first, now)?;
        pacer.start(now);
        let (shared, observed) = (Arc::clone(&self.shared), Rc::clone(&self.observed));
        Ok(Pace { shared, observed, has_job: false, pacer })
    }
}

impl Pace {
    /// Ends the present job, and waits for the next due time. What follows until the next call is
    /// the job, which the supervisor watches, the figures count, and
    /// [`watch`](ThreadBuilder::watch) and [`mark`](ThreadBuilder::mark) observe.
    ///
    /// # Errors
    /// The thread shall end, and this says why.
    pub fn wait(&mut self) -> Result<Tick, Ended> {
        self.end_observation();
        if let Some(ended) = end(&mut self.pacer, &self.shared) {
            return Err(ended);
        }
        if self.shared.watched.take_demotion() {
            return Err(Ended::Hung);
        }
        let tick = begin(&mut self.pacer, &self.shared)?;
        self.has_job = true;
        self.observed.borrow_mut().begin();
        Ok(tick)
    }

    fn end_observation(&mut self) {
        if std::mem::take(&mut self.has_job) {
            self.observed.borrow_mut().end();
        }
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.end_observation();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Process;

    fn start(body: impl FnOnce(&mut Pace) + Send + 'static) -> Thread {
        let rt = Process::builder().start().unwrap();
        let paced = |own: OwnThread| {
            let period = Nanos::from_millis(1);
            body(&mut own.periodic(period, Overrun::Skip, None).unwrap());
        };
        rt.thread("own").spawn(paced).unwrap()
    }

    #[test]
    fn each_wait_begins_a_job_that_is_counted() {
        let finished = start(|pace| {
            for _ in 0..5 {
                pace.wait().unwrap();
            }
        })
        .join();
        assert_eq!((finished.ended, finished.stats.run), (Ended::Stopped, 5));
    }

    #[test]
    fn a_wait_ends_when_the_thread_shall_end() {
        let stopped = start(|pace| while pace.wait().is_ok() {}).stop();
        assert_eq!(stopped.ended, Ended::Requested);
    }

    #[test]
    fn a_panic_is_caught() {
        let finished = start(|_| panic!("planned")).join();
        assert_eq!(finished.ended, Ended::Panicked("planned".to_owned()));
    }

    #[test]
    fn a_job_that_takes_too_long_can_end_the_thread() {
        let rt = Process::builder().start().unwrap();
        let body = |own: OwnThread| {
            let period = Nanos::from_millis(1);
            let mut pace = own.periodic(period, Overrun::Stop, None).unwrap();
            pace.wait().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert!(matches!(pace.wait(), Err(Ended::Overrun { .. })));
        };
        assert_eq!(rt.thread("own").spawn(body).unwrap().join().ended, Ended::Stopped);
    }
}
