//! What a connection requests of its client of the server.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tactus_model::format::cut;
use tactus_stream::{
    BranchId, Client, DeviceInfo, Draft, Ended, IfLate, Moment, Receipt, RequestError, StreamId,
    SubmitError,
};
use tactus_sys::clock::ClockPair;

use super::answer::{Answer, Answered, Clock, Device};
use super::request::{BadLine, Id, Other, Request, Send, id_of};
use crate::sender::Sender;
use crate::unanswered;
use crate::values::{BadValue, payload};

/// The most characters of a reason.
const REASON_CHARACTERS: usize = 1000;

/// A connection: its client, and the items that have no receipt.
#[derive(Debug)]
pub struct Session {
    sender: Sender,
    waiting: BTreeMap<u64, Waiting>,
    line: u64,
    /// An item that found no room.
    held: Option<Prepared>,
    answers: VecDeque<Answer>,
}

/// An item that can be submitted.
#[derive(Debug)]
struct Prepared {
    id: Option<Id>,
    stream: StreamId,
    branch: BranchId,
    due: Moment,
    if_late: IfLate,
    payload: Vec<u8>,
}

/// An item without a receipt.
#[derive(Debug)]
struct Waiting {
    id: Option<Id>,
    stream: StreamId,
    due: Moment,
}

/// Why a request is not carried out.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(transparent)]
    Line(#[from] BadLine),
    #[error("`data`: {0}")]
    Value(#[from] BadValue),
    #[error(transparent)]
    Server(#[from] RequestError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

impl Session {
    /// A session of a client.
    pub const fn new(sender: Sender) -> Self {
        Self { sender, waiting: BTreeMap::new(), line: 0, held: None, answers: VecDeque::new() }
    }

    /// Its client.
    pub const fn client(&self) -> &Client {
        &self.sender.client
    }

    /// Whether it takes another line: it has room, and its answers are read.
    pub fn takes_lines(&self) -> bool {
        self.held.is_none() && self.answers.is_empty()
    }

    /// Whether items have no receipt yet.
    pub fn waits(&self) -> bool {
        self.held.is_some() || !self.waiting.is_empty()
    }

    /// The next answer.
    pub fn answer(&mut self) -> Option<Answer> {
        self.answers.pop_front()
    }

    /// Carries out a line; a blank one is only counted.
    pub fn line(&mut self, line: &[u8]) {
        self.line += 1;
        if line.is_empty() {
            return;
        }
        match Request::parse(line) {
            Ok(Request::Send(send)) => match self.prepare(&send) {
                Ok(prepared) => self.submit(prepared),
                Err(refusal) => self.refuse(send.id, &refusal),
            },
            Ok(Request::Other(other)) => match self.carry_out(other) {
                Ok(answer) => self.answers.push_back(answer),
                Err(refusal) => self.refuse(None, &refusal),
            },
            Err(error) => self.refuse(id_of(line), &error.into()),
        }
    }

    /// Takes receipts for as long as their answers are read.
    ///
    /// # Errors
    /// The server has ended, and every receipt was taken.
    pub fn receipts(&mut self) -> Result<(), Ended> {
        while self.answers.is_empty() {
            let Some(receipt) = self.sender.client.receipt(Some(Duration::ZERO))? else { break };
            if let Some(waiting) = self.waiting.remove(&receipt.sequence) {
                self.answered(waiting, &receipt);
            }
            if let Some(held) = self.held.take() {
                self.submit(held);
            }
        }
        Ok(())
    }

    /// The server has ended: nobody knows what became of the items without a receipt.
    pub fn ended(&mut self, ended: &Ended) {
        for (sequence, waiting) in std::mem::take(&mut self.waiting) {
            let receipt = unanswered(sequence, waiting.due);
            self.answered(waiting, &receipt);
        }
        self.held = None;
        self.answers.push_back(Answer::Ended { reason: ended.to_string() });
    }

    fn answered(&mut self, waiting: Waiting, receipt: &Receipt) {
        let device = self.client().device(waiting.stream);
        let to = device.map(|device| device.name.clone()).unwrap_or_default();
        self.answers.push_back(Answer::Receipt(Answered::new(waiting.id, to, receipt)));
    }

    fn refuse(&mut self, id: Option<Id>, refusal: &Refusal) {
        let from = match refusal {
            Refusal::Submit(SubmitError::TooFarAhead { from, .. }) => Some(from.as_nanos()),
            _ => None,
        };
        // A reason quotes what is wrong, and its line has a limit, too.
        let reason = cut(&refusal.to_string(), REASON_CHARACTERS);
        self.answers.push_back(Answer::Refused { line: self.line, id, reason, from });
    }

    fn prepare(&mut self, send: &Send) -> Result<Prepared, Refusal> {
        let (due, if_late) = (send.due(Client::now())?, send.if_late()?);
        let values = send.values()?;
        let (stream, format) = self.sender.stream(&send.to)?;
        let payload = payload(format, values)?;
        let (id, branch) = (send.id.clone(), BranchId(send.branch));
        Ok(Prepared { id, stream, branch, due, if_late, payload })
    }

    fn submit(&mut self, prepared: Prepared) {
        let Prepared { stream, branch, due, if_late, .. } = prepared;
        let draft = Draft { stream, branch, due, if_late, payload: &prepared.payload };
        match self.sender.client.submit(&draft) {
            Ok(sequence) => {
                let waiting = Waiting { id: prepared.id, stream, due };
                self.waiting.insert(sequence, waiting);
            }
            Err(SubmitError::Full { .. }) => self.held = Some(prepared),
            Err(error) => self.refuse(prepared.id, &error.into()),
        }
    }

    fn carry_out(&mut self, request: Other) -> Result<Answer, Refusal> {
        match request {
            Other::Cut(cut) => {
                let at = cut.at(Client::now())?;
                self.sender.client.cut(cut.branch(), at)?;
            }
            Other::Resume(resume) => {
                let (stream, _) = self.sender.stream(&resume.to)?;
                self.sender.client.resume(stream)?;
            }
            Other::Devices => return Ok(self.devices()),
            Other::Clock => return Ok(self.clock()),
        }
        Ok(Answer::Done { line: self.line })
    }

    fn devices(&self) -> Answer {
        let device = |info: &DeviceInfo| Device {
            name: info.name.clone(),
            format: info.format,
            lead: info.lead.as_nanos(),
        };
        Answer::Devices(self.client().devices().iter().map(device).collect())
    }

    fn clock(&mut self) -> Answer {
        let clocks = ClockPair::read();
        let slack = self.sender.client.slack();
        let welcome = self.client().welcome();
        Answer::Clock(Clock {
            now: clocks.before.as_nanos(),
            real: clocks.real.as_nanos(),
            horizon: welcome.horizon.as_nanos(),
            items: welcome.items,
            lead: slack.map(|slack| slack.recommended_lead().as_nanos()),
            slack,
        })
    }
}
