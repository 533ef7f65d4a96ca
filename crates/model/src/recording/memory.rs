//! A recording in memory.

use super::account::{About, Lost};
use super::dictionary::Dictionary;
use super::event::Event;
use super::source::{EventSource, Item, SourceError};

/// All events of a period of time, in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its coverage.
    pub about: About,
    /// The data its events refer to.
    pub dictionary: Dictionary,
    /// The events of all CPUs in time order.
    pub events: Vec<Event>,
    /// The losses, in the order in which they began.
    pub losses: Vec<Lost>,
}

impl Recording {
    /// Reads everything from `source`.
    ///
    /// # Errors
    /// Those of the source.
    pub fn collect(source: &mut dyn EventSource) -> Result<Self, SourceError> {
        let (mut events, mut losses) = (Vec::new(), Vec::new());
        while let Some(item) = source.next_item()? {
            match item {
                Item::Event(event) => events.push(event),
                Item::Lost(lost) => losses.push(lost),
            }
        }
        let (about, dictionary) = (source.about().clone(), source.dictionary().clone());
        Ok(Self { about, dictionary, events, losses })
    }

    /// A source that reads the recording from its beginning.
    pub fn reader(&self) -> RecordingReader<'_> {
        RecordingReader { recording: self, events: self.events.iter(), losses: self.losses.iter() }
    }
}

/// Returns the items of a [`Recording`] in time order.
#[derive(Clone, Debug)]
pub struct RecordingReader<'a> {
    recording: &'a Recording,
    events: std::slice::Iter<'a, Event>,
    losses: std::slice::Iter<'a, Lost>,
}

impl EventSource for RecordingReader<'_> {
    fn about(&self) -> &About {
        &self.recording.about
    }

    fn dictionary(&self) -> &Dictionary {
        &self.recording.dictionary
    }

    fn next_item(&mut self) -> Result<Option<Item>, SourceError> {
        let event = self.events.as_slice().first();
        if let Some(lost) = self.losses.as_slice().first()
            && event.is_none_or(|event| lost.from < event.at)
        {
            self.losses.next();
            return Ok(Some(Item::Lost(*lost)));
        }
        Ok(self.events.next().copied().map(Item::Event))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Context, EventKind, ThreadId};
    use super::*;
    use crate::time::{Instant, Monotonic};

    fn at(nanos: u64) -> Instant<Monotonic> {
        Instant::from_nanos(nanos)
    }

    fn idle_exit(nanos: u64) -> Event {
        Event {
            at: at(nanos),
            cpu: 0,
            thread: ThreadId::IDLE,
            context: Context::default(),
            chain: None,
            kind: EventKind::IdleExit,
        }
    }

    #[test]
    fn a_loss_precedes_the_first_event_after_its_start() {
        let recording = Recording {
            about: About {
                events: vec!["power/cpu_idle".to_owned()],
                ..About::new(at(0), [0].into_iter().collect())
            },
            dictionary: Dictionary::new(),
            events: vec![idle_exit(5), idle_exit(9)],
            losses: vec![Lost { cpu: 0, from: at(5), to: at(9), count: 3 }],
        };
        let mut reader = recording.reader();
        let mut items = Vec::new();
        while let Some(item) = reader.next_item().unwrap() {
            items.push(item);
        }
        assert_eq!(
            items,
            [Item::Event(idle_exit(5)), Item::Lost(recording.losses[0]), Item::Event(idle_exit(9)),]
        );
        let copy = Recording::collect(&mut recording.reader()).unwrap();
        assert_eq!(copy.events, recording.events);
        assert_eq!(copy.losses, recording.losses);
    }
}
