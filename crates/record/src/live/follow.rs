//! The running kernel as a source of events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;

use tactus_model::recording::{About, Dictionary, EventSource, Item, Lost, SourceError};
use tactus_model::time::{Instant, Monotonic};

use super::background::Background;
use super::drainer::{Held, Parcel};
use super::error::RecordError;
use super::open::Prepared;
use super::options::{MOST_WAITING, Options};
use super::pace::Pace;
use super::recorder::Draining;
use crate::codec::{Block, BlockKind, EventBlockHead, decode_dictionary, decode_losses};
use crate::merge::{Merge, damaged};
use crate::summary::RecordingSummary;

/// Events of the running kernel, returned as they are drained: from a recording of its
/// own, or from one that is stored ([`Recorder::start_followed`](super::Recorder)).
///
/// An event is returned one drain after it was read: only then it is certain that no
/// CPU has an earlier event. Events that the reader does not take in time stay in the
/// rings, where losses are counted.
#[derive(Debug)]
pub struct LiveSource {
    about: About,
    /// The drainer, if the recording belongs to this reader.
    drainer: Option<Draining>,
    /// The policy of the reading thread, if the recording is another's.
    background: Option<Arc<Background>>,
    /// The turns of the reading thread, if it reads in the background.
    pace: Option<Pace>,
    parcels: Receiver<Parcel>,
    held: Arc<Held>,
    dictionary: Dictionary,
    merge: Merge<Vec<u8>>,
    losses: VecDeque<Lost>,
    complete_until: Instant<Monotonic>,
    ahead: Option<Item>,
    summary: Option<RecordingSummary>,
}

impl LiveSource {
    /// Starts recording; `options.keep` is ignored.
    ///
    /// # Errors
    /// Those of [`Recorder::start`](super::Recorder::start).
    pub fn start(options: Options) -> Result<Self, RecordError> {
        let held = Arc::new(Held { bytes: AtomicU64::new(0), limit: MOST_WAITING });
        let prepared = Prepared::new(&options)?;
        let (drainer, parcels) = Draining::start(options, prepared, held.clone())?;
        let about = drainer.about.clone();
        Ok(Self::new(about, Some(drainer), None, parcels, held))
    }

    /// Follows a recording that its owner stores; it ends when that recording ends.
    pub(super) fn beside(
        about: About,
        parcels: Receiver<Parcel>,
        held: Arc<Held>,
        background: Arc<Background>,
    ) -> Self {
        Self::new(about, None, Some(background), parcels, held)
    }

    fn new(
        about: About,
        drainer: Option<Draining>,
        background: Option<Arc<Background>>,
        parcels: Receiver<Parcel>,
        held: Arc<Held>,
    ) -> Self {
        Self {
            complete_until: about.started,
            about,
            drainer,
            background,
            pace: None,
            parcels,
            held,
            dictionary: Dictionary::new(),
            merge: Merge::default(),
            losses: VecDeque::new(),
            ahead: None,
            summary: None,
        }
    }

    /// Lets the calling thread, which reads, run while no other thread wants the CPU, so that
    /// reading delays nobody. It becomes an ordinary thread, with short turns, while it is several
    /// drains behind, and at the end of the recording.
    pub fn in_background(&mut self) {
        if let Some(background) = &self.background {
            background.enter();
            self.pace = Some(Pace::new(usize::MAX));
        }
    }

    /// Ends the recording if it belongs to this reader; the recorded events can still
    /// be read to the end.
    ///
    /// # Errors
    /// The drainer failed.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        self.drainer.as_mut().map_or(Ok(()), Draining::stop)
    }

    /// The accounts and costs, once everything has been read.
    pub fn summary(&self) -> Option<&RecordingSummary> {
        self.summary.as_ref()
    }

    /// Waits for the drainer's next parcel; false at the end.
    fn take_parcel(&mut self) -> Result<bool, SourceError> {
        match self.parcels.recv() {
            Ok(Parcel::Blocks { blocks, complete_until }) => {
                self.background.iter().for_each(|background| background.took());
                self.complete_until = complete_until;
                blocks.into_iter().try_for_each(|block| self.take_block(block))?;
            }
            Ok(Parcel::Save(_)) => {}
            Ok(Parcel::End(summary)) => {
                self.complete_until = Instant::from_nanos(u64::MAX);
                self.summary = Some(*summary);
            }
            Err(_) if self.summary.is_some() => return Ok(false),
            Err(_) => return Err(SourceError::BrokenOff("the drainer has ended".to_owned())),
        }
        Ok(true)
    }

    fn take_block(&mut self, block: Block) -> Result<(), SourceError> {
        self.pace.iter_mut().for_each(Pace::next_buffer);
        self.held.bytes.fetch_sub(block.bytes().len() as u64, Ordering::Relaxed);
        match block.kind() {
            BlockKind::Events => {
                let head = EventBlockHead::parse(block.payload()).map_err(damaged)?;
                self.merge.add(head, block.into_payload());
            }
            BlockKind::Dictionary => {
                decode_dictionary(block.payload(), &mut self.dictionary).map_err(damaged)?;
            }
            BlockKind::Losses => {
                let mut losses = Vec::new();
                decode_losses(block.payload(), &mut losses).map_err(damaged)?;
                self.losses.extend(losses);
                self.losses.make_contiguous().sort_by_key(|lost| lost.from);
            }
            BlockKind::About | BlockKind::Summary => {}
        }
        Ok(())
    }

    fn pause_at_times(&mut self) {
        if let (Some(pace), Some(background)) = (&mut self.pace, &self.background)
            && background.has_time()
        {
            // As if each event had this size: explaining one takes longer than draining it.
            pace.pass(64);
        }
    }

    fn next_event(&mut self) -> Result<Option<Item>, SourceError> {
        loop {
            if let Some(event) = self.merge.next(self.complete_until, &mut Ok)? {
                self.pause_at_times();
                return Ok(Some(Item::Event(event)));
            }
            if !self.take_parcel()? {
                return Ok(None);
            }
        }
    }
}

impl EventSource for LiveSource {
    fn about(&self) -> &About {
        &self.about
    }

    fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    fn next_item(&mut self) -> Result<Option<Item>, SourceError> {
        if self.losses.is_empty() && self.ahead.is_none() {
            return self.next_event();
        }
        let item = match self.ahead.take() {
            Some(item) => Some(item),
            None => self.next_event()?,
        };
        let Some(lost) = self.losses.front() else { return Ok(item) };
        match item {
            Some(Item::Event(event)) if event.at <= lost.from => Ok(item),
            _ => {
                self.ahead = item;
                Ok(self.losses.pop_front().map(Item::Lost))
            }
        }
    }
}
