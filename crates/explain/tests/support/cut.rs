//! Cuts a stretch of time out of a recording.

use std::collections::HashMap;

use tactus_model::recording::{
    ChainId, Dictionary, Event, EventKind, FunctionId, NameId, Recording, Wakeup,
};
use tactus_model::time::{Instant, Monotonic};

/// The part of a recording between two instants, with only the names and processes it needs.
pub fn cut(recording: &Recording, from: Instant<Monotonic>, to: Instant<Monotonic>) -> Recording {
    let mut names =
        Names { old: &recording.dictionary, new: Dictionary::new(), chains: HashMap::new() };
    let inside = recording.events.iter().filter(|event| event.at >= from && event.at <= to);
    let events: Vec<Event> = inside.map(|event| names.renamed(event)).collect();
    let came = |thread| {
        let is_it =
            |event: &Event| matches!(event.kind, EventKind::Switch { next, .. } if next == thread);
        events.iter().any(is_it)
    };
    for (thread, process) in recording.dictionary.processes() {
        if came(*thread) {
            names.new.set_process(*thread, *process);
        }
    }
    let mut about = recording.about.clone();
    about.started = from;
    let losses = recording.losses.iter().filter(|lost| lost.to >= from && lost.from <= to);
    Recording { about, events, losses: losses.copied().collect(), dictionary: names.new }
}

struct Names<'a> {
    old: &'a Dictionary,
    new: Dictionary,
    chains: HashMap<ChainId, Option<ChainId>>,
}

impl Names<'_> {
    fn name(&mut self, name: NameId) -> NameId {
        self.new.intern(self.old.name(name))
    }

    fn function(&mut self, function: FunctionId) -> FunctionId {
        let old = self.old.function(function);
        let new = self.new.intern_function(old.address);
        if old.name != NameId::UNKNOWN {
            self.new.name_function(new, self.old.name(old.name));
        }
        new
    }

    fn chain(&mut self, chain: ChainId) -> Option<ChainId> {
        if let Some(known) = self.chains.get(&chain) {
            return *known;
        }
        let frames: Vec<FunctionId> = self.old.chain(chain).to_vec();
        let frames: Vec<FunctionId> =
            frames.into_iter().map(|frame| self.function(frame)).collect();
        let new = self.new.intern_chain(&frames);
        self.chains.insert(chain, new);
        new
    }

    fn wakeup(&mut self, wakeup: Wakeup) -> Wakeup {
        Wakeup { name: self.name(wakeup.name), ..wakeup }
    }

    fn renamed(&mut self, event: &Event) -> Event {
        // Only these two kinds of events need their call chains for naming.
        let named = matches!(
            event.kind,
            EventKind::Switch { .. } | EventKind::VectorEntry(_) | EventKind::IrqEntry { .. }
        );
        let mut kind = event.kind;
        match &mut kind {
            EventKind::Switch { prev_name, next_name, .. } => {
                *prev_name = self.name(*prev_name);
                *next_name = self.name(*next_name);
            }
            EventKind::Waking(wakeup)
            | EventKind::Wakeup(wakeup)
            | EventKind::WakeupNew(wakeup) => *wakeup = self.wakeup(*wakeup),
            EventKind::Fork { child_name, .. } => *child_name = self.name(*child_name),
            EventKind::IrqEntry { name, .. } => *name = self.name(*name),
            EventKind::HrtimerStart { function, .. }
            | EventKind::HrtimerExpireEntry { function, .. }
            | EventKind::TimerExpireEntry { function, .. }
            | EventKind::WorkStart { function, .. }
            | EventKind::WorkEnd { function, .. } => *function = self.function(*function),
            _ => {}
        }
        let chain = event.chain.filter(|_| named).and_then(|chain| self.chain(chain));
        Event { kind, chain, ..*event }
    }
}
