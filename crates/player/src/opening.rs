//! Opening what a clip is shown and heard by, and starting the threads.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use tactus_model::result::Shortfall;
use tactus_sound::{Destination, OutputSpec, Peer};

use crate::command::Command;
use crate::error::PlayerError;
use crate::event::{Event, Note};
use crate::picture::{FromPicture, Picture, Setting, ToPicture};
use crate::reader::{self, Decoders};
use crate::shared::SharedClock;
use crate::sound::FromSound;
use crate::spec::{Spec, Track};
use crate::surface::{Happened, Input, Surface};

/// What comes to the thread that controls.
pub(crate) enum Message {
    Command(Command),
    Closed,
    /// The server of this display is gone.
    Lost(String),
    /// What was not granted.
    Shortfalls(Vec<Shortfall>),
    Picture(usize, FromPicture),
    Sound(FromSound),
}

/// The number of the clip whose sound is played, and its device.
type OpenSound = (Option<usize>, Option<(tactus_sound::Output, OutputSpec)>);

/// Opens the sound device for the first clip with sound.
pub(crate) fn sound(
    spec: &Spec,
    on_event: &mut impl FnMut(Event),
) -> Result<OpenSound, PlayerError> {
    let Some(to) = spec.sound.clone() else { return Ok((None, None)) };
    let mut with_sound =
        (0..spec.tracks.len()).filter(|number| spec.tracks[*number].clip.sound.is_some());
    let Some(first) = with_sound.next() else { return Ok((None, None)) };
    with_sound.for_each(|other| on_event(Event::Note(Note::Muted(other))));
    let name = "tactus-player".to_owned();
    let output_spec = OutputSpec { name, channels: crate::sound::CHANNELS, to };
    match (output_spec.open(), &output_spec.to) {
        (Ok(output), _) => Ok((Some(first), Some((output, output_spec)))),
        (Err(error), Destination::Server(Peer::Client(client))) => {
            Err(PlayerError::NoClient { client: client.clone(), error })
        }
        (Err(error), Destination::Alsa(_)) => Err(PlayerError::NoHardware(error)),
        (Err(error), _) => {
            on_event(Event::Note(Note::Silent(error.to_string())));
            Ok((None, None))
        }
    }
}

/// Opens the window of a clip, if it has a picture, and starts its threads.
pub(crate) fn picture(
    number: usize,
    track: &Track,
    spec: &Spec,
    clock: &Arc<SharedClock>,
    to: &Sender<Message>,
    on_event: &mut impl FnMut(Event),
) -> Result<Option<Picture>, PlayerError> {
    let Track { clip, output } = track;
    let Some(picture) = &clip.picture else { return Ok(None) };
    let name = clip.name.file_name().unwrap_or_default().to_string_lossy();
    let (title, size) = (format!("{name} - tactus"), (picture.width, picture.height));
    let (mut surface, input, line) = Surface::open(output, &title, size)?;
    on_event(Event::Opened(surface.info(number)));
    let (frames, inbox) = crate::picture::inbox();
    let put = frames.clone();
    let found = move |found| {
        let found = match found {
            Ok(frame) => ToPicture::Frame(frame),
            Err(end) => ToPicture::End(end),
        };
        // The thread may have ended.
        let _ = put.send(found);
    };
    let frames_wanted = surface.frames(spec.from);
    let decoders = decoders(spec, to);
    let reader = reader::pictures(clip.clone(), frames_wanted, decoders, found)?;
    let buffers = surface.buffers();
    for _ in 0..buffers {
        reader.free(surface.buffer()?);
    }
    if let Some(input) = input {
        attend(input, surface.info(number).display, frames.clone(), to.clone())?;
    }
    let (clock, if_late, pace) = (Arc::clone(clock), spec.if_late, spec.pace);
    let (period, until) = (picture.period, spec.until());
    let setting = Setting {
        clip: number,
        surface,
        line,
        clock,
        if_late,
        pace,
        reader,
        buffers,
        period,
        until,
    };
    let report = {
        let to = to.clone();
        move |from| {
            let sent = match from {
                FromPicture::Happened(Happened::Command(command)) => Message::Command(command),
                FromPicture::Happened(Happened::Closed) => Message::Closed,
                from => Message::Picture(number, from),
            };
            drop(to.send(sent));
        }
    };
    Picture::start(setting, (frames, inbox), report).map(Some)
}

/// The policy of decoders; what is not granted is reported.
pub(crate) fn decoders(spec: &Spec, to: &Sender<Message>) -> Decoders {
    let to = to.clone();
    let report = move |shortfalls| drop(to.send(Message::Shortfalls(shortfalls)));
    Decoders { policy: spec.pace.decoders, report: Box::new(report) }
}

/// Starts the thread that reads the keys of a window.
fn attend(
    input: Input,
    display: String,
    picture: Sender<ToPicture>,
    to: Sender<Message>,
) -> Result<(), PlayerError> {
    let run = move || {
        loop {
            // Both may have ended.
            let sent = match input.next() {
                Happened::Command(command) => to.send(Message::Command(command)).is_ok(),
                Happened::Exposed => picture.send(ToPicture::Exposed).is_ok(),
                Happened::Closed => {
                    let _ = to.send(Message::Closed);
                    false
                }
                // The thread that draws may have nothing to draw.
                Happened::Lost => {
                    let _ = to.send(Message::Lost(display.clone()));
                    false
                }
            };
            if !sent {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("window".to_owned()).spawn(run);
    thread.map(drop).map_err(PlayerError::Thread)
}
