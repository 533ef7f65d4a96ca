//! First frames, made by threads in the background.
//!
//! Each thread makes what is wanted most: the tiles in view, from the top, then those around. A
//! clip that takes too long counts as one that cannot be played.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use tactus_clip::{ClipError, PictureDecoder, PictureSpec, PixelFormat, Stopper, probe};
use tactus_model::time::Nanos;
use tactus_playback::MediaTime;
use tactus_sys::wait::Waker;

use crate::grid;

/// Threads that make thumbnails.
const THREADS: usize = 2;
/// How long a first frame may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often that is checked.
const LOOK: Duration = Duration::from_millis(250);

/// What a clip looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thumbnail {
    /// Its first frame.
    Frame {
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
        /// Its pixels, in lines without gaps.
        pixels: Vec<u8>,
        /// How long the clip is.
        duration: Option<Nanos>,
    },
    /// It has sound only.
    Sound {
        /// How long it is.
        duration: Option<Nanos>,
    },
    /// It cannot be played, for this reason.
    Broken(String),
}

/// Makes thumbnails. Dropping it ends what is being made; a thread that waits for ffprobe ends with that,
/// and ffprobe with the thread.
#[derive(Debug)]
pub struct Maker {
    shared: Arc<Shared>,
    made: Receiver<(usize, Thumbnail)>,
}

#[derive(Debug)]
struct Shared {
    paths: Vec<PathBuf>,
    format: PixelFormat,
    /// Used when a thumbnail is made.
    bell: Arc<Waker>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    wanted: VecDeque<usize>,
    /// What is being made, and since when.
    current: [Option<(usize, Instant, Option<Stopper>)>; THREADS],
    is_ending: bool,
}

impl Maker {
    /// Starts threads, which wait for [`want`](Self::want). Thumbnails have pixels of this form;
    /// `bell` is used when one is made.
    ///
    /// # Errors
    /// A thread does not start.
    pub fn start(
        paths: Vec<PathBuf>,
        format: PixelFormat,
        bell: Arc<Waker>,
    ) -> std::io::Result<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { paths, format, bell, state, changed });
        let (sender, made) = channel();
        let maker = Self { shared, made };
        for number in 0..THREADS {
            let (shared, sender) = (Arc::clone(&maker.shared), sender.clone());
            let name = "thumbnail".to_owned();
            Builder::new().name(name).spawn(move || shared.make(number, &sender))?;
        }
        let shared = Arc::clone(&maker.shared);
        let name = "patience".to_owned();
        Builder::new().name(name).spawn(move || shared.watch())?;
        Ok(maker)
    }

    /// These are wanted, in this order, in place of what was wanted before.
    pub fn want(&self, wanted: impl IntoIterator<Item = usize>) {
        let mut state = self.shared.state();
        let current: Vec<usize> = state.current.iter().flatten().map(|current| current.0).collect();
        state.wanted = wanted.into_iter().filter(|tile| !current.contains(tile)).collect();
        self.shared.changed.notify_all();
    }

    /// What was made since the last call.
    pub fn made(&self) -> impl Iterator<Item = (usize, Thumbnail)> {
        self.made.try_iter()
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.is_ending = true;
            state.wanted.clear();
            state.current.iter().flatten().filter_map(|it| it.2.as_ref()).for_each(Stopper::stop);
        }
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes what is wanted, until the end.
    fn make(&self, number: usize, made: &Sender<(usize, Thumbnail)>) {
        while let Some(tile) = self.next(number) {
            let thumbnail = self
                .thumbnail(number, tile)
                .unwrap_or_else(|error| Thumbnail::Broken(error.to_string()));
            let is_late = {
                let mut state = self.state();
                let current = state.current[number].take();
                current.is_some_and(|(_, since, _)| since.elapsed() >= PATIENCE)
            };
            let thumbnail = match thumbnail {
                Thumbnail::Broken(_) if is_late => {
                    let limit = PATIENCE.as_secs();
                    Thumbnail::Broken(format!("its first frame took more than {limit} s"))
                }
                other => other,
            };
            if made.send((tile, thumbnail)).is_err() {
                return;
            }
            self.bell.wake();
        }
    }

    /// Waits for a tile that is wanted; `None` at the end.
    fn next(&self, number: usize) -> Option<usize> {
        let mut state = self.state();
        loop {
            if state.is_ending {
                return None;
            }
            if let Some(tile) = state.wanted.pop_front() {
                state.current[number] = Some((tile, Instant::now(), None));
                return Some(tile);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn thumbnail(&self, number: usize, tile: usize) -> Result<Thumbnail, ClipError> {
        let clip = probe::probe(&self.paths[tile])?;
        let duration = clip.duration;
        let Some(picture) = &clip.picture else { return Ok(Thumbnail::Sound { duration }) };
        let (width, height) = grid::fit(picture.width, picture.height);
        let spec = PictureSpec { from: MediaTime::ZERO, width, height, format: self.format };
        let no_frame = |reason: &str| {
            let reason = reason.to_owned();
            Ok(Thumbnail::Broken(reason))
        };
        let Some(mut decoder) = PictureDecoder::start(&clip, &spec)? else {
            return no_frame("it has no picture");
        };
        {
            let mut state = self.state();
            if state.is_ending {
                return no_frame("the window was closed");
            }
            if let Some(current) = &mut state.current[number] {
                current.2 = Some(decoder.stopper());
            }
        }
        let mut pixels = vec![0; spec.frame_bytes()];
        match decoder.read(&mut pixels)? {
            Some(_) => Ok(Thumbnail::Frame { width, height, pixels, duration }),
            None => no_frame("it has no frame"),
        }
    }

    /// Ends decoders that take too long.
    fn watch(&self) {
        let mut state = self.state();
        while !state.is_ending {
            for (_, since, stopper) in state.current.iter().flatten() {
                if since.elapsed() >= PATIENCE
                    && let Some(stopper) = stopper
                {
                    stopper.stop();
                }
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
