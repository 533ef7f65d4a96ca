//! An input with many listeners.

use std::collections::BTreeMap;

use tactus_model::time::{Instant, Monotonic};

use crate::kind::Kinds;
use crate::message::Message;
use crate::sounding::Sounding;

/// When a byte arrived.
type Arrival = Instant<Monotonic>;

/// A message as a listener gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The message.
    pub message: Message,
    /// When its first byte arrived.
    pub began: Arrival,
    /// When its last byte arrived.
    pub ended: Arrival,
    /// How many messages the listener has lost since the one before, because its queue was full.
    pub lost: u64,
}

/// What became of a message that was offered to a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// The queue has it.
    Taken,
    /// The queue is full.
    Full,
    /// Nobody reads the queue any more.
    Gone,
}

/// The bounded queue of a listener.
pub trait Queue {
    /// Offers a message; never waits.
    fn offer(&mut self, heard: &Heard) -> Offered;
}

/// A listener of a [`Hub`]; numbers are not used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u64);

/// What a listener got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that its queue took.
    pub taken: u64,
    /// Messages of its kinds that its queue had no room for.
    pub lost: u64,
}

/// Passes the messages of one input to all listeners that asked for their kind.
///
/// A full queue loses messages of its own listener only, and the listener is informed by
/// [`Heard::lost`]. No note hangs for it: the end of a note that it saw begin follows as soon as its
/// queue has room ([`Self::catch_up`]).
#[derive(Debug)]
pub struct Hub<Q> {
    listeners: BTreeMap<ListenerId, Listener<Q>>,
    next: u64,
    /// Messages that listeners have lost, those that have left included.
    lost: u64,
    /// What the input holds.
    sounding: Sounding,
}

#[derive(Debug)]
struct Listener<Q> {
    kinds: Kinds,
    queue: Q,
    counts: Counts,
    /// Messages that it has lost since the last one.
    lost: u64,
    /// What sounds by what it got.
    sounding: Sounding,
    /// Whether it may have missed the end of a note.
    is_behind: bool,
}

impl<Q> Default for Hub<Q> {
    fn default() -> Self {
        Self { listeners: BTreeMap::new(), next: 0, lost: 0, sounding: Sounding::default() }
    }
}

impl<Q: Queue> Hub<Q> {
    /// Adds a listener for these kinds. Notes that are sounding begin for it without a message, so
    /// their ends come without a beginning.
    pub fn enter(&mut self, kinds: Kinds, queue: Q) -> ListenerId {
        let id = ListenerId(self.next);
        self.next += 1;
        let (counts, sounding) = (Counts::default(), Sounding::default());
        let listener = Listener { kinds, queue, counts, lost: 0, sounding, is_behind: false };
        self.listeners.insert(id, listener);
        id
    }

    /// Removes a listener.
    pub fn leave(&mut self, listener: ListenerId) -> Option<Q> {
        self.listeners.remove(&listener).map(|listener| listener.queue)
    }

    /// Passes on a message. Listeners whose queue nobody reads leave.
    pub fn pass(&mut self, message: &Message, began: Arrival, ended: Arrival) {
        self.catch_up(began);
        self.sounding.follow(message);
        let lost = &mut self.lost;
        self.listeners.retain(|_, listener| {
            if !listener.kinds.contain(message) {
                return true;
            }
            let offered = listener.offer(message, began, ended);
            *lost += u64::from(offered == Offered::Full);
            offered != Offered::Gone
        });
    }

    /// Ends the notes that listeners saw begin and whose end they lost, as far as their queues have
    /// room.
    pub fn catch_up(&mut self, now: Arrival) {
        let sounding = &self.sounding;
        self.listeners
            .retain(|_, listener| !listener.is_behind || listener.catch_up(sounding, now));
    }

    /// Ends for all listeners the notes that the input has left sounding, because it has gone.
    pub fn silence(&mut self, now: Arrival) {
        self.sounding = Sounding::default();
        self.listeners.values_mut().for_each(|listener| listener.is_behind = true);
        self.catch_up(now);
    }

    /// Messages that listeners have lost so far, those that have left included.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether a listener waits for the end of a note, and [`Self::catch_up`] has to be called
    /// again.
    pub fn is_behind(&self) -> bool {
        self.listeners.values().any(|listener| listener.is_behind)
    }

    /// The listeners, with the kinds that they asked for and what they got.
    pub fn listeners(&self) -> impl Iterator<Item = (ListenerId, &Q, Kinds, Counts)> {
        self.listeners
            .iter()
            .map(|(id, listener)| (*id, &listener.queue, listener.kinds, listener.counts))
    }
}

impl<Q: Queue> Listener<Q> {
    /// Offers a message.
    fn offer(&mut self, message: &Message, began: Arrival, ended: Arrival) -> Offered {
        let offered = self.push(message, began, ended);
        if offered == Offered::Full {
            self.lost += 1;
            self.counts.lost += 1;
            self.is_behind = true;
        }
        offered
    }

    /// Ends what sounds here and not at the input; whether somebody still reads.
    fn catch_up(&mut self, input: &Sounding, now: Arrival) -> bool {
        let mut ended = self.sounding.clone();
        ended.exclude(input);
        for end in ended.silence() {
            match self.push(&end, now, now) {
                Offered::Taken => {}
                Offered::Full => return true,
                Offered::Gone => return false,
            }
        }
        self.is_behind = false;
        true
    }

    fn push(&mut self, message: &Message, began: Arrival, ended: Arrival) -> Offered {
        let heard = Heard { message: message.clone(), began, ended, lost: self.lost };
        let offered = self.queue.offer(&heard);
        if offered == Offered::Taken {
            self.lost = 0;
            self.counts.taken += 1;
            self.sounding.follow(message);
        }
        offered
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{message, note};

    const LIMIT: usize = 4;

    /// A queue with two ends.
    #[derive(Clone, Debug, Default)]
    struct Shared(Rc<RefCell<VecDeque<Heard>>>);

    impl Queue for Shared {
        fn offer(&mut self, heard: &Heard) -> Offered {
            if Rc::strong_count(&self.0) == 1 {
                return Offered::Gone;
            }
            let mut queue = self.0.borrow_mut();
            if queue.len() == LIMIT {
                return Offered::Full;
            }
            queue.push_back(heard.clone());
            Offered::Taken
        }
    }

    impl Shared {
        fn read(&self) -> Option<Heard> {
            self.0.borrow_mut().pop_front()
        }

        fn texts(&self) -> Vec<String> {
            std::iter::from_fn(|| self.read()).map(|heard| heard.message.to_string()).collect()
        }
    }

    fn pass(hub: &mut Hub<Shared>, texts: &[&str]) {
        let at = Instant::from_nanos(0);
        texts.iter().for_each(|text| hub.pass(&text.parse().unwrap(), at, at));
    }

    #[test]
    fn each_listener_gets_the_kinds_that_it_asked_for() {
        let mut hub = Hub::default();
        let (normal, exclusive) = (Shared::default(), Shared::default());
        hub.enter(Kinds::NORMAL, normal.clone());
        hub.enter("exclusive".parse().unwrap(), exclusive.clone());
        pass(&mut hub, &["note-on 1 60 1", "exclusive 01", "clock"]);
        assert_eq!(normal.texts(), ["note-on 1 60 1", "clock"]);
        assert_eq!(exclusive.texts(), ["exclusive 01"]);
    }

    #[test]
    fn a_full_queue_loses_only_its_own_messages_and_reports_them() {
        let mut hub = Hub::default();
        let (slow, fast) = (Shared::default(), Shared::default());
        hub.enter(Kinds::ALL, slow.clone());
        hub.enter(Kinds::ALL, fast.clone());
        for _ in 0..LIMIT + 3 {
            pass(&mut hub, &["clock"]);
            assert_eq!(fast.texts(), ["clock"]);
        }
        let counts: Vec<Counts> = hub.listeners().map(|(.., counts)| counts).collect();
        assert_eq!(counts[0], Counts { taken: 4, lost: 3 });
        assert_eq!(counts[1], Counts { taken: 7, lost: 0 });
        assert_eq!(slow.texts().len(), LIMIT);
        pass(&mut hub, &["start"]);
        assert_eq!(slow.read().map(|heard| heard.lost), Some(3));
    }

    #[test]
    fn a_note_whose_end_was_lost_ends_when_there_is_room() {
        let mut hub = Hub::default();
        let queue = Shared::default();
        hub.enter(Kinds::ALL, queue.clone());
        pass(&mut hub, &["note-on 1 60 1", "clock", "clock", "clock"]);
        pass(&mut hub, &["note-off 1 60 1"]);
        assert!(hub.is_behind());
        assert_eq!(queue.texts().len(), LIMIT);
        pass(&mut hub, &["clock"]);
        assert_eq!(queue.texts(), ["note-off 1 60 64", "clock"]);
        assert!(!hub.is_behind());
    }

    #[test]
    fn an_input_that_goes_and_a_listener_that_goes_leave_nothing_behind() {
        let mut hub = Hub::default();
        let (queue, gone) = (Shared::default(), Shared::default());
        hub.enter(Kinds::ALL, queue.clone());
        hub.enter(Kinds::ALL, gone.clone());
        drop(gone);
        pass(&mut hub, &["note-on 1 60 1"]);
        assert_eq!(hub.listeners().count(), 1);
        hub.silence(Instant::from_nanos(5));
        assert_eq!(queue.texts(), ["note-on 1 60 1", "note-off 1 60 64"]);
    }

    proptest! {
        #[test]
        fn lost_messages_are_counted_and_leave_no_note(
            steps in prop::collection::vec((any::<bool>(), prop_oneof![note(), message()]), 0..200),
        ) {
            let mut hub = Hub::default();
            let queue = Shared::default();
            hub.enter(Kinds::ALL, queue.clone());
            let (mut heard, mut input) = (Sounding::default(), Sounding::default());
            let (mut taken, mut lost) = (0, 0);
            let mut read = |heard: &mut Sounding| {
                while let Some(message) = queue.read() {
                    heard.follow(&message.message);
                    taken += 1;
                    lost += message.lost;
                }
            };
            let at = Instant::from_nanos(0);
            for (reads, message) in &steps {
                hub.pass(message, at, at);
                input.follow(message);
                if *reads {
                    read(&mut heard);
                }
            }
            while hub.is_behind() {
                read(&mut heard);
                hub.catch_up(at);
            }
            pass(&mut hub, &["clock"]);
            read(&mut heard);
            pass(&mut hub, &["clock"]);
            read(&mut heard);
            heard.exclude(&input);
            prop_assert!(heard.is_silent(), "no note hangs");
            let counts = hub.listeners().next().map(|(.., counts)| counts).unwrap();
            prop_assert_eq!((counts.taken, counts.lost), (taken, lost));
        }
    }
}
