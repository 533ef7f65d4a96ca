//! What a connection requests of its client of the server.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tactus_stream::{
    BranchId, Client, DeviceInfo, Draft, Ended, Moment, Receipt, RequestError, StreamId,
    SubmitError,
};

use super::answer::{Answer, Answered, Clock, Device};
use super::request::{BadLine, Id, Request, Send};
use crate::clock::Look;
use crate::unanswered;
use crate::values::{BadValue, payload};

/// A connection: its client, and the items that have no receipt.
#[derive(Debug)]
pub struct Session {
    client: Client,
    streams: BTreeMap<String, StreamId>,
    waiting: BTreeMap<u64, Waiting>,
    line: u64,
    /// An item that found no room.
    held: Option<Send>,
    answers: VecDeque<Answer>,
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
    pub const fn new(client: Client) -> Self {
        Self {
            client,
            streams: BTreeMap::new(),
            waiting: BTreeMap::new(),
            line: 0,
            held: None,
            answers: VecDeque::new(),
        }
    }

    /// Its client.
    pub const fn client(&self) -> &Client {
        &self.client
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

    /// Carries out a line.
    pub fn line(&mut self, line: &[u8]) {
        self.line += 1;
        match Request::parse(line) {
            Ok(Request::Send(mut send)) => {
                // An item that is held keeps its time.
                let due = send.due(Client::now());
                match due {
                    Ok(due) => (send.at, send.within) = (Some(due.as_nanos()), None),
                    Err(error) => return self.refuse(send.id, &error.into()),
                }
                self.send(send);
            }
            Ok(request) => match self.request(request) {
                Ok(answer) => self.answers.push_back(answer),
                Err(refusal) => self.refuse(None, &refusal),
            },
            Err(error) => self.refuse(None, &error.into()),
        }
    }

    /// Takes receipts for as long as their answers are read.
    ///
    /// # Errors
    /// The server has ended, and every receipt was taken.
    pub fn receipts(&mut self) -> Result<(), Ended> {
        while self.answers.is_empty() {
            let Some(receipt) = self.client.receipt(Some(Duration::ZERO))? else { break };
            if let Some(waiting) = self.waiting.remove(&receipt.sequence) {
                self.answered(waiting, &receipt);
            }
            if let Some(send) = self.held.take() {
                self.send(send);
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
        let device = self.client.device(waiting.stream);
        let to = device.map(|device| device.name.clone()).unwrap_or_default();
        self.answers.push_back(Answer::Receipt(Answered::new(waiting.id, to, receipt)));
    }

    fn refuse(&mut self, id: Option<Id>, refusal: &Refusal) {
        let from = match refusal {
            Refusal::Submit(SubmitError::TooFarAhead { from, .. }) => Some(from.as_nanos()),
            _ => None,
        };
        let reason = refusal.to_string();
        self.answers.push_back(Answer::Refused { line: self.line, id, reason, from });
    }

    fn send(&mut self, send: Send) {
        match self.submit(&send) {
            Ok(()) => {}
            Err(Refusal::Submit(SubmitError::Full { .. })) => self.held = Some(send),
            Err(refusal) => self.refuse(send.id, &refusal),
        }
    }

    fn submit(&mut self, send: &Send) -> Result<(), Refusal> {
        let (due, if_late) = (send.due(Client::now())?, send.if_late()?);
        let values = send.values()?;
        let stream = self.stream(&send.to)?;
        let device = self.client.device(stream).ok_or(SubmitError::NoStream(stream))?;
        let payload = payload(device.format, values)?;
        let branch = BranchId(send.branch);
        let draft = Draft { stream, branch, due, if_late, payload: &payload };
        let sequence = self.client.submit(&draft)?;
        self.waiting.insert(sequence, Waiting { id: send.id.clone(), stream, due });
        Ok(())
    }

    /// The stream to a device.
    fn stream(&mut self, device: &str) -> Result<StreamId, RequestError> {
        if let Some(stream) = self.streams.get(device) {
            return Ok(*stream);
        }
        let stream = self.client.open(device)?;
        self.streams.insert(device.to_owned(), stream);
        Ok(stream)
    }

    fn request(&mut self, request: Request) -> Result<Answer, Refusal> {
        let now = Client::now();
        match request {
            Request::Send(send) => self.submit(&send)?,
            Request::Cut(cut) => self.client.cut(cut.branch(), cut.at(now)?)?,
            Request::Resume(resume) => {
                let stream = self.stream(&resume.to)?;
                self.client.resume(stream)?;
            }
            Request::Devices => return Ok(self.devices()),
            Request::Clock => return Ok(self.clock()),
        }
        Ok(Answer::Done { line: self.line })
    }

    fn devices(&self) -> Answer {
        let device = |info: &DeviceInfo| Device {
            name: info.name.clone(),
            format: info.format,
            lead: info.lead.as_nanos(),
        };
        Answer::Devices(self.client.devices().iter().map(device).collect())
    }

    fn clock(&mut self) -> Answer {
        let look = Look::now();
        let slack = self.client.slack();
        let welcome = self.client.welcome();
        Answer::Clock(Clock {
            now: look.before.as_nanos(),
            real: look.real.as_nanos(),
            horizon: welcome.horizon.as_nanos(),
            items: welcome.items,
            lead: slack.map(|slack| slack.recommended_lead().as_nanos()),
            slack,
        })
    }
}
