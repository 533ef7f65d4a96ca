//! The late wakeup for which a recording was saved.

use tactus_model::recording::{About, EventSource, LateWakeup, SourceError};
use tactus_model::sample::Sample;
use tactus_model::time::Nanos;

use crate::explainer::explain;
use crate::explanation::Explanation;
use crate::task::{Options, Origin, ProbeTask};

/// Explains the late wakeup for which a recording was saved; `None` if it was saved for another
/// reason.
///
/// # Errors
/// The errors of the source.
pub fn explain_saved(source: &mut dyn EventSource) -> Result<Option<Explanation>, SourceError> {
    let about = source.about();
    let Some(late) = about.saved_for else { return Ok(None) };
    let task = saved_wakeup(about, &late);
    // However short, it was late to whoever saved the recording.
    let options = Options { threshold: Nanos::ZERO, slowest: 1, timelines: 1 };
    explain(source, vec![task], options).map(Some)
}

/// A late wakeup as a sample of a task, whose window opened when the recording started, or earlier
/// if it does not contain the whole wakeup.
pub fn saved_wakeup(about: &About, late: &LateWakeup) -> ProbeTask {
    let opened = about.started.min(late.due);
    let sample = Sample { due: late.due - opened, came: late.came - opened };
    ProbeTask {
        task: 0,
        thread: late.thread,
        origin: Origin::Due(late.sleep),
        opened,
        samples: vec![sample],
        receiver: None,
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::probe::SleepMethod;
    use tactus_model::recording::{Dictionary, Recording, ThreadId};
    use tactus_model::time::Instant;

    use super::*;

    #[test]
    fn a_recording_without_its_wakeup_leaves_it_undivided() {
        let at = Instant::from_nanos;
        let mut about = About::new(at(900), [0].into_iter().collect());
        let of = |about: &About| {
            let (about, dictionary) = (about.clone(), Dictionary::new());
            let recording = Recording { about, dictionary, events: vec![], losses: vec![] };
            explain_saved(&mut recording.reader()).unwrap()
        };
        assert_eq!(of(&about), None);
        let (thread, sleep) = (ThreadId(7), SleepMethod::Nanosleep);
        about.saved_for = Some(LateWakeup { thread, sleep, due: at(100), came: at(1000) });
        let explained = of(&about).unwrap();
        assert_eq!((explained.samples, explained.pareto.undivided), (1, 1));
        assert!(explained.worst.is_empty(), "without events, it has no parts");
    }
}
