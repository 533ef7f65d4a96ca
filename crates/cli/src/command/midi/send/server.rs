//! Sending to a device of the delivery server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tactus_app::{Error, ErrorKind};
use tactus_delivery::item::Moment;
use tactus_midi::file::Timed;
use tactus_stream::message::RING_BYTES_MOST;
use tactus_stream::slot::HEADER_BYTES;
use tactus_stream::{BranchId, Client, Draft, Format, IfLate, StreamId, SubmitError, Wanted};

use super::{Answers, SendArguments};
use crate::error::{CommandError, CommandResult};
use crate::signals;

/// How long one look for receipts takes; a signal is noticed then.
const LOOK: Duration = Duration::from_millis(50);

const BRANCH: BranchId = BranchId(0);

pub(super) fn send(
    arguments: &SendArguments,
    device: &str,
    messages: &[Timed],
    answers: &mut Answers<'_>,
) -> CommandResult {
    let mut client = Client::connect(&arguments.socket, &wanted(messages)).map_err(unavailable)?;
    let stream = client.open(device).map_err(unavailable)?;
    if let Some(format @ (Format::Dmx | Format::Audio { .. } | Format::Frame { .. })) =
        client.device(stream).map(|device| device.format)
    {
        let error = format!("the device `{device}` takes {}, not MIDI", format.takes());
        return Err(Error::usage(error).into());
    }
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&is_stopped);
    signals::on_interrupt(move |_| stopped.store(true, Ordering::Relaxed))?;
    let start = Client::now();
    let mut sending = Sending { client, stream, start, is_stopped };
    sending.submit(messages, answers)?;
    sending.finish(answers)?;
    let end = start + messages.last().map(|timed| timed.at).unwrap_or_default() + arguments.hold;
    while Client::now() < end && !sending.is_stopped() {
        std::thread::sleep(LOOK.min((end - Client::now()).into()));
    }
    Ok(())
}

/// Room for the longest message, and for as many as possible.
fn wanted(messages: &[Timed]) -> Wanted {
    let longest = messages.iter().map(|timed| timed.message.bytes().len()).max();
    let payload_bytes = longest.unwrap_or_default().max(3);
    let fit = (RING_BYTES_MOST / (payload_bytes + HEADER_BYTES)).clamp(1, 1024) as u32;
    Wanted {
        payload_bytes: payload_bytes.try_into().unwrap_or(u32::MAX),
        items: 1 << fit.ilog2(),
        ..Wanted::named("midi-send")
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> CommandError {
    Error::new(ErrorKind::Unavailable, error).into()
}

struct Sending {
    client: Client,
    stream: StreamId,
    start: Moment,
    is_stopped: Arc<AtomicBool>,
}

impl Sending {
    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Submits as far ahead as the server permits.
    fn submit(&mut self, messages: &[Timed], answers: &mut Answers<'_>) -> CommandResult {
        for timed in messages {
            let due = self.start + timed.at;
            let (payload, stream) = (timed.message.bytes(), self.stream);
            let draft = Draft { stream, branch: BRANCH, due, if_late: IfLate::Deliver, payload };
            loop {
                if self.is_stopped() {
                    return Ok(());
                }
                let wait = match self.client.submit(&draft) {
                    Ok(_) => break,
                    Err(SubmitError::TooFarAhead { from, .. }) => {
                        LOOK.min((from - Client::now()).into())
                    }
                    Err(error) if error.is_transient() => LOOK,
                    Err(error) => return Err(unavailable(error)),
                };
                self.receive(wait, answers)?;
            }
        }
        Ok(())
    }

    /// Waits for all receipts; a signal cuts what is not delivered yet.
    fn finish(&mut self, answers: &mut Answers<'_>) -> CommandResult {
        let mut is_cut = false;
        while self.client.outstanding() > 0 {
            if self.is_stopped() && !is_cut {
                is_cut = true;
                self.client.cut(BRANCH, Client::now()).map_err(unavailable)?;
            }
            self.receive(LOOK, answers)?;
        }
        Ok(())
    }

    fn receive(&mut self, wait: Duration, answers: &mut Answers<'_>) -> CommandResult {
        match self.client.receipt(Some(wait)).map_err(unavailable)? {
            Some(receipt) => answers.add(&receipt),
            None => Ok(()),
        }
    }
}
