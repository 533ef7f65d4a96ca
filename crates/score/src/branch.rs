//! Branches: tasks of one name, which are cut together, with what they wrote and the notes that they
//! left sounding.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use tactus_delivery::item::{BranchId, IfLate, StreamId};

use crate::draft::{Output, Written};
use crate::error::{Problem, STEPS};
use crate::time::Time;

/// What all branches write, in order.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) outputs: VecDeque<Output>,
    next_item: u64,
}

/// An item without its branch.
pub(crate) struct Line {
    pub(crate) stream: StreamId,
    pub(crate) due: Time,
    pub(crate) if_late: IfLate,
    pub(crate) payload: Rc<[u8]>,
    pub(crate) label: Option<Rc<str>>,
}

impl Writer {
    /// Writes an item; its number.
    fn write(&mut self, branch: BranchId, line: Line) -> u64 {
        let Line { stream, due, if_late, payload, label } = line;
        let number = self.next_item;
        self.next_item += 1;
        let item = Written { number, stream, branch, due, if_late, payload, label };
        self.outputs.push_back(Output::Item(item));
        number
    }
}

pub(crate) struct Branch {
    pub(crate) name: String,
    id: BranchId,
    /// How often it was cut.
    pub(crate) epoch: u32,
    /// How many steps it made at a time, the last at which it made any.
    steps: (Time, u32),
    /// The ends of notes that are written, in their order.
    endings: BTreeMap<(Time, u64), Ending>,
    /// Notes without a written end, with their beginning.
    open: BTreeMap<Key, (Time, Author)>,
}

/// The stream, the channel and the key of a note.
type Key = (StreamId, u8, u8);

/// Who wrote something.
#[derive(Clone, Copy)]
pub(crate) struct Author {
    pub(crate) task: u64,
    pub(crate) epoch: u32,
}

/// The end of a note.
pub(crate) struct Ending {
    pub(crate) begins: Time,
    pub(crate) stream: StreamId,
    pub(crate) payload: Rc<[u8]>,
}

impl Ending {
    /// It is never dropped for lateness.
    fn line(&self, due: Time) -> Line {
        let (stream, payload) = (self.stream, Rc::clone(&self.payload));
        Line { stream, due, if_late: IfLate::Deliver, payload, label: None }
    }
}

impl Branch {
    pub(crate) fn new(name: &str, number: usize) -> Self {
        Self {
            name: name.to_owned(),
            id: BranchId(number as u32),
            epoch: 0,
            steps: (Time::START, 0),
            endings: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// Counts something that the branch does.
    pub(crate) fn step(&mut self, now: Time) -> Result<(), Problem> {
        let (at, steps) = &mut self.steps;
        if *at < now {
            (*at, *steps) = (now, 0);
        }
        *steps = steps.saturating_add(1);
        if *steps > STEPS { Err(Problem::Steps) } else { Ok(()) }
    }

    /// Writes an item that has no end of its own.
    pub(crate) fn write(&mut self, writer: &mut Writer, line: Line) {
        writer.write(self.id, line);
    }

    /// Writes a MIDI message that has no end of its own, and follows which notes sound.
    pub(crate) fn write_message(&mut self, writer: &mut Writer, line: Line, author: Author) {
        let (stream, due, payload) = (line.stream, line.due, Rc::clone(&line.payload));
        let number = writer.write(self.id, line);
        match *payload {
            [status @ 0x90..=0x9F, key, 1..=127] => {
                self.open.insert((stream, status & 0x0F, key), (due, author));
            }
            [status @ 0x80..=0x9F, key, _] => {
                let opened = self.open.remove(&(stream, status & 0x0F, key));
                if let Some((begins, _)) = opened {
                    self.endings.insert((due, number), Ending { begins, stream, payload });
                }
            }
            _ => {}
        }
    }

    /// Writes the end of a note, and remembers it until then in case the branch is cut.
    pub(crate) fn end_note(&mut self, writer: &mut Writer, now: Time, due: Time, ending: Ending) {
        while let Some(first) = self.endings.first_entry()
            && first.key().0 < now
        {
            first.remove();
        }
        let number = writer.write(self.id, ending.line(due));
        self.endings.insert((due, number), ending);
    }

    /// Ends notes now that have no written end, but none before it begins.
    pub(crate) fn end_open_notes(
        &mut self,
        writer: &mut Writer,
        now: Time,
        ends: impl Fn(Author) -> bool,
    ) {
        let all = std::mem::take(&mut self.open);
        for (note, (begins, author)) in all {
            if !ends(author) {
                self.open.insert(note, (begins, author));
                continue;
            }
            let (stream, channel, key) = note;
            let payload = Rc::from([0x80 | channel, key, 0x40]);
            let due = now.max(begins);
            self.end_note(writer, now, due, Ending { begins, stream, payload });
        }
    }

    /// Cuts the branch. Notes that would sound beyond the cut end there.
    pub(crate) fn cut(&mut self, writer: &mut Writer, now: Time, at: Time) {
        self.epoch += 1;
        writer.outputs.push_back(Output::Cut { branch: self.id, at });
        self.open.retain(|_, (begins, _)| *begins < at);
        let cut = self.endings.split_off(&(at, 0));
        for ending in cut.into_values().filter(|ending| ending.begins < at) {
            self.end_note(writer, now, at, ending);
        }
    }
}
