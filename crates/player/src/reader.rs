//! Threads that read from decoders, which they start: a decoder ends with its thread.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tactus_clip::{Clip, ClipError, PictureDecoder, PictureSpec, SoundDecoder, SoundSpec, Stopper};
use tactus_model::policy::Scheduling;
use tactus_model::result::Shortfall;
use tactus_playback::MediaTime;
use tactus_prepare::Preparation;
use tactus_sys::affinity;

use crate::error::PlayerError;
use crate::shared::Passage;
use crate::surface::Buffer;

/// How decoders run: they inherit the policy of the thread that starts them.
pub(crate) struct Decoders {
    pub(crate) policy: Scheduling,
    /// Gets what was not granted.
    pub(crate) report: Box<dyn FnOnce(Vec<Shortfall>) + Send>,
}

impl Decoders {
    /// Prepares the calling thread. A thread whose settings the kernel does not show keeps its own.
    fn prepare(self) {
        let mut preparation = Preparation::new();
        let placed = affinity::get().and_then(|cpus| preparation.place(&cpus, self.policy));
        if placed.is_ok()
            && let Ok(prepared) = preparation.finish()
        {
            (self.report)(prepared.shortfalls);
        }
    }
}

/// A frame that waits for its time.
pub(crate) struct Frame {
    pub(crate) passage: u64,
    /// Its number among all frames that were decoded.
    pub(crate) number: u64,
    pub(crate) media: MediaTime,
    pub(crate) buffer: Buffer,
}

/// How the output of a decoder ended.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) passage: u64,
    /// The time after the last frame.
    pub(crate) at: MediaTime,
    /// Why it ended, if not because the clip does.
    pub(crate) failure: Option<ClipError>,
    /// What the decoder has complained about.
    pub(crate) complaints: String,
    /// Frames of a clip with stamps that have none.
    pub(crate) unstamped: u64,
}

impl End {
    fn new(passage: Passage) -> Self {
        let (passage, at) = (passage.number, passage.from);
        Self { passage, at, failure: None, complaints: String::new(), unstamped: 0 }
    }
}

/// What a reader is sent.
enum Input {
    Passage(Passage),
    /// A buffer that can be filled.
    Free(Buffer),
}

/// The handle of a reader. Its thread ends with it.
#[derive(Clone)]
pub(crate) struct Reader {
    inbox: Sender<Input>,
    stopper: Arc<Mutex<Option<Stopper>>>,
}

impl Reader {
    fn new() -> (Self, Receiver<Input>, Arc<Mutex<Option<Stopper>>>) {
        let (inbox, outbox) = channel();
        let stopper = Arc::<Mutex<Option<Stopper>>>::default();
        (Self { inbox, stopper: Arc::clone(&stopper) }, outbox, stopper)
    }

    /// Lets it begin with another passage. What it reads now ends at once.
    pub(crate) fn begin(&self, passage: Passage) {
        // Taken before, so that the decoder of this passage is not stopped. One that starts meanwhile
        // for an earlier passage delivers a frame before its thread sees this one.
        let stopper = self.stopper();
        // Without a thread, the player is ending.
        let _ = self.inbox.send(Input::Passage(passage));
        if let Some(stopper) = stopper {
            stopper.stop();
        }
    }

    /// Returns a buffer.
    pub(crate) fn free(&self, buffer: Buffer) {
        let _ = self.inbox.send(Input::Free(buffer));
    }

    /// Ends the decoder.
    pub(crate) fn stop(&self) {
        if let Some(stopper) = self.stopper() {
            stopper.stop();
        }
    }

    /// What ends the present decoder.
    fn stopper(&self) -> Option<Stopper> {
        self.stopper.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the thread of a reader has of its handle.
struct Side {
    inbox: Receiver<Input>,
    stopper: Arc<Mutex<Option<Stopper>>>,
    free: Vec<Buffer>,
    passage: Option<Passage>,
}

impl Side {
    fn new(inbox: Receiver<Input>, stopper: Arc<Mutex<Option<Stopper>>>) -> Self {
        Self { inbox, stopper, free: Vec::new(), passage: None }
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Passage(passage) => self.passage = Some(passage),
            Input::Free(buffer) => self.free.push(buffer),
        }
    }

    /// Takes what has come; false if the handle is gone.
    fn look(&mut self) -> bool {
        loop {
            match self.inbox.try_recv() {
                Ok(input) => self.take(input),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    /// Waits for the next thing; false if the handle is gone.
    fn wait(&mut self) -> bool {
        self.inbox.recv().map(|input| self.take(input)).is_ok()
    }

    /// The next passage; `None` if the handle is gone.
    fn next_passage(&mut self) -> Option<Passage> {
        loop {
            if let Some(passage) = self.passage.take() {
                return Some(passage);
            }
            if !self.wait() {
                return None;
            }
        }
    }

    /// A buffer to fill; `None` if another passage has come, or the handle is gone.
    fn buffer(&mut self) -> Option<Buffer> {
        loop {
            if !self.look() || self.passage.is_some() {
                return None;
            }
            if let Some(buffer) = self.free.pop() {
                return Some(buffer);
            }
            if !self.wait() {
                return None;
            }
        }
    }

    fn publish(&self, stopper: Option<Stopper>) {
        *self.stopper.lock().unwrap_or_else(PoisonError::into_inner) = stopper;
    }

    /// Whether nothing else was asked for meanwhile.
    fn is_current(&mut self) -> bool {
        self.look() && self.passage.is_none()
    }
}

/// Starts a reader of pictures. `found` gets frames and ends.
pub(crate) fn pictures(
    clip: Clip,
    spec: PictureSpec,
    decoders: Decoders,
    mut found: impl FnMut(Result<Frame, End>) + Send + 'static,
) -> Result<Reader, PlayerError> {
    let (reader, inbox, stopper) = Reader::new();
    let mut side = Side::new(inbox, stopper);
    let run = move || {
        decoders.prepare();
        let mut number = 0;
        let mut found = |frame: Result<(Passage, MediaTime, Buffer), End>| {
            found(frame.map(|(passage, media, buffer)| {
                number += 1;
                Frame { passage: passage.number, number: number - 1, media, buffer }
            }));
        };
        while let Some(passage) = side.next_passage() {
            let spec = PictureSpec { from: passage.from, ..spec };
            let end = read_pictures(&clip, &spec, passage, &mut side, &mut found);
            side.publish(None);
            if side.is_current() {
                found(Err(end));
            }
        }
    };
    spawn("picture-reader", run)?;
    Ok(reader)
}

fn read_pictures(
    clip: &Clip,
    spec: &PictureSpec,
    passage: Passage,
    side: &mut Side,
    found: &mut impl FnMut(Result<(Passage, MediaTime, Buffer), End>),
) -> End {
    let mut end = End::new(passage);
    let mut decoder = match PictureDecoder::start(clip, spec) {
        Ok(Some(decoder)) => decoder,
        Ok(None) => return end,
        Err(error) => return End { failure: Some(error), ..end },
    };
    side.publish(Some(decoder.stopper()));
    let period = clip.picture.as_ref().map(|picture| picture.period).unwrap_or_default();
    while let Some(mut buffer) = side.buffer() {
        match decoder.read(buffer.bytes_mut()) {
            Ok(Some(media)) => {
                end.at = media.after(period);
                found(Ok((passage, media, buffer)));
                continue;
            }
            Ok(None) => {
                (end.complaints, end.unstamped) = (decoder.complaints(), decoder.unstamped());
            }
            Err(error) => end.failure = Some(error),
        }
        side.free.push(buffer);
        break;
    }
    end
}

/// Samples of the clip, interleaved.
pub(crate) struct Samples {
    pub(crate) passage: u64,
    pub(crate) samples: Vec<f32>,
}

/// Starts a reader of sound. It waits while the receiver has blocks enough.
pub(crate) fn sound(
    clip: Clip,
    channels: u16,
    decoders: Decoders,
    to: SyncSender<Result<Samples, End>>,
) -> Result<Reader, PlayerError> {
    let (reader, inbox, stopper) = Reader::new();
    let mut side = Side::new(inbox, stopper);
    let run = move || {
        decoders.prepare();
        while let Some(passage) = side.next_passage() {
            let Passage { from, speed, rate, .. } = passage;
            let spec = SoundSpec { from, rate, channels, speed };
            let end = read_sound(&clip, &spec, passage, &mut side, &to);
            side.publish(None);
            if side.is_current() && to.send(Err(end)).is_err() {
                return;
            }
        }
    };
    spawn("sound-reader", run)?;
    Ok(reader)
}

fn read_sound(
    clip: &Clip,
    spec: &SoundSpec,
    passage: Passage,
    side: &mut Side,
    to: &SyncSender<Result<Samples, End>>,
) -> End {
    let mut end = End::new(passage);
    let mut decoder = match SoundDecoder::start(clip, spec) {
        Ok(Some(decoder)) => decoder,
        Ok(None) => return end,
        Err(error) => return End { failure: Some(error), ..end },
    };
    side.publish(Some(decoder.stopper()));
    while side.is_current() {
        let mut samples = Vec::new();
        match decoder.read(&mut samples) {
            Ok(true) => {
                let samples = Samples { passage: passage.number, samples };
                if to.send(Ok(samples)).is_err() {
                    break;
                }
                continue;
            }
            Ok(false) => {}
            Err(error) => end.failure = Some(error),
        }
        break;
    }
    end
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), PlayerError> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map(drop).map_err(PlayerError::Thread)
}
