//! Frames by a device of the delivery server, which shows each when it is due.

use std::path::Path;
use std::time::Duration;

use tactus_delivery::item::Moment;
use tactus_delivery::receipt::{Outcome, Receipt};
use tactus_model::pixels::PixelFormat;
use tactus_model::time::Nanos;
use tactus_playback::IfLate;
use tactus_stream::{BranchId, Client, Draft, Format, Frame, RequestError, StreamId, Wanted};

use super::{FrameEnd, Sighting};
use crate::error::PlayerError;

/// The most frames that are decoded ahead: the server has limits for all its clients.
pub(super) const BUFFERS_MOST: usize = 12;
/// How long before their times frames are submitted: they wait at the server, not here.
const AHEAD: Nanos = Nanos::from_millis(100);
/// All frames belong to one branch, which is cut when the clock is stopped or moved.
const BRANCH: BranchId = BranchId(0);

/// A device that takes frames, with a connection of its own.
pub(crate) struct Device {
    client: Client,
    stream: StreamId,
    name: String,
    size: (u16, u16),
    pixels: PixelFormat,
    ahead: Nanos,
}

impl Device {
    /// Opens a device of the server: the only one that takes frames, if none is named.
    pub(super) fn open(socket: &Path, name: Option<&str>) -> Result<Self, PlayerError> {
        let mut wanted = Wanted::named("player");
        (wanted.payload_bytes, wanted.items) = (4, 64);
        let mut client = Client::connect(socket, &wanted)?;
        let takes = |format: Format| matches!(format, Format::Frame { .. });
        let devices = client.devices().iter().filter(|device| takes(device.format));
        let names: Vec<String> = devices.map(|device| device.name.clone()).collect();
        let name = match (name, &names[..]) {
            (Some(name), _) => name.to_owned(),
            (None, [only]) => only.clone(),
            (None, _) => return Err(PlayerError::Devices(names)),
        };
        let stream = client.open(&name).map_err(PlayerError::Request)?;
        let format = client.device(stream).map(|device| device.format);
        let Some(Format::Frame { width, height, pixels }) = format else {
            return Err(PlayerError::NoFrames { name, possible: names });
        };
        let horizon = client.welcome().horizon.as_nanos();
        let ahead = AHEAD.min(Nanos::from_nanos(horizon / 2));
        Ok(Self { client, stream, name, size: (width, height), pixels, ahead })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) const fn frames(&self) -> ((u16, u16), PixelFormat) {
        (self.size, self.pixels)
    }

    pub(super) const fn ahead(&self) -> Nanos {
        self.ahead
    }

    pub(super) fn buffer(&mut self) -> Result<Frame, PlayerError> {
        self.client.frame(self.stream).map_err(PlayerError::Request)
    }

    pub(super) fn submit(
        &mut self,
        frame: &Frame,
        due: Moment,
        if_late: IfLate,
        period: Nanos,
    ) -> Result<u64, PlayerError> {
        let if_late = match if_late {
            IfLate::Show => tactus_stream::IfLate::Deliver,
            IfLate::Drop => tactus_stream::IfLate::Drop(period),
        };
        let payload = &frame.payload();
        let draft = Draft { stream: self.stream, branch: BRANCH, due, if_late, payload };
        Ok(self.client.submit(&draft)?)
    }

    pub(super) fn answers(&mut self) -> Result<Vec<(u64, FrameEnd)>, PlayerError> {
        let mut found = Vec::new();
        while let Some(receipt) = self.client.receipt(Some(Duration::ZERO)).map_err(ended)? {
            found.push((receipt.sequence, answer(&receipt)));
        }
        Ok(found)
    }

    pub(super) fn cut(&mut self) -> Result<(), PlayerError> {
        self.client.cut(BRANCH, Client::now()).map_err(PlayerError::Request)
    }
}

fn ended(error: tactus_stream::Ended) -> PlayerError {
    PlayerError::Request(RequestError::Ended(error))
}

fn answer(receipt: &Receipt) -> FrameEnd {
    let Receipt { outcome, began, ended, evidence, msc, .. } = *receipt;
    match (outcome, began, ended) {
        (Outcome::Delivered, Some(began), Some(at)) => {
            FrameEnd::Seen(Sighting { began, at, evidence, msc })
        }
        (Outcome::Cut, ..) => FrameEnd::Cut,
        _ => FrameEnd::Dropped,
    }
}
