//! The end of the threads, and what is reported then.

use std::thread;
use std::time::Duration;

use tactus_model::time::Nanos;
use tactus_playback::MediaTime;
use tactus_xserver::window::WindowError;

use super::{Player, Playing, children_cpu};
use crate::error::PlayerError;
use crate::event::{Event, Note};
use crate::opening::Message;
use crate::picture::{FromPicture, Picture};
use crate::reader::End;
use crate::shared::now;
use crate::sound::{FromSound, Sound};

/// How long a display may take for the last frame: then its connection is cut.
const HANG_UP_AFTER: Nanos = Nanos::from_secs(1);
/// How long threads may take to end after that.
const END_MOST: Nanos = Nanos::from_secs(2);
const STEP: Duration = Duration::from_millis(2);
/// How much shorter than it says a clip may be.
const SHORT: Nanos = Nanos::from_secs(1);

impl Player {
    /// Ends the threads, and reports what was done.
    pub(super) fn end(&mut self, on_event: &mut impl FnMut(Event)) -> Result<(), PlayerError> {
        self.pictures().for_each(Picture::quit);
        if let Some(sound) = &mut self.sound {
            sound.quit();
        }
        // A sound server that is stopped keeps its thread, which has nothing to report any more.
        self.wait(HANG_UP_AFTER, |player| {
            player.pictures().all(Picture::has_ended)
                && player.sound.as_ref().is_none_or(Sound::has_ended)
        });
        let stuck = self.pictures().find(|picture| !picture.has_ended());
        let silent = stuck.map(|picture| picture.display.clone());
        if silent.is_some() {
            self.pictures().filter(|picture| !picture.has_ended()).for_each(Picture::hang_up);
            self.wait(END_MOST, |player| player.pictures().all(Picture::has_ended));
        }
        let failed = self.take_last(on_event);
        let is_short = self.report_short_clips(on_event);
        let summaries = self.clips.iter().map(|clip| clip.tally.summary()).collect();
        let decoder_cpu = children_cpu().saturating_sub(self.children_cpu);
        on_event(Event::Ended { summaries, sound: self.counts, decoder_cpu });
        match (silent, failed) {
            (Some(display), _) => Err(PlayerError::NoAnswer { display }),
            (None, Some(error)) => Err(error),
            (None, None) if is_short => Err(PlayerError::Short),
            (None, None) => Ok(()),
        }
    }

    fn pictures(&self) -> impl Iterator<Item = &Picture> {
        self.clips.iter().filter_map(|clip| clip.picture.as_ref())
    }

    /// Waits until something is so, for `most` at most.
    fn wait(&self, most: Nanos, is_so: impl Fn(&Self) -> bool) {
        let began = now();
        while now() - began < most && !is_so(self) {
            thread::sleep(STEP);
        }
    }

    /// Takes what threads have reported last. Returns the error of a display that does not answer.
    fn take_last(&mut self, on_event: &mut impl FnMut(Event)) -> Option<PlayerError> {
        let mut failed = None;
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Sound(FromSound::Counts(counts)) => self.counts = Some(counts),
                Message::Picture(_, FromPicture::Shown(receipt)) => {
                    self.count(&receipt);
                    on_event(Event::Frame(receipt));
                }
                Message::Picture(clip, FromPicture::Missing { from, to }) => {
                    self.miss(clip, from, to);
                    on_event(Event::Note(Note::Missing { clip, from, to }));
                }
                Message::Picture(clip, FromPicture::Unseen { from, to }) => {
                    self.unseen(clip, from, to, on_event);
                }
                // What else fails now, e.g. because the window is closed, is part of the end.
                Message::Picture(
                    _,
                    FromPicture::Failed(error @ PlayerError::Window(WindowError::Silent { .. })),
                ) => _ = failed.get_or_insert(error),
                _ => {}
            }
        }
        failed
    }

    /// Counts and reports the frames that a display has not shown.
    pub(super) fn unseen(
        &mut self,
        clip: usize,
        from: MediaTime,
        to: MediaTime,
        on_event: &mut impl FnMut(Event),
    ) {
        let duration = self.clips[clip].clip.duration;
        let end = duration.map(|duration| MediaTime::ZERO.after(duration));
        let to = [end, self.spec.until()].into_iter().flatten().fold(to, MediaTime::min);
        if to > from {
            self.miss(clip, from, to);
            on_event(Event::Note(Note::Unseen { clip, from, to }));
        }
    }

    /// Reports clips that ended before their time, and what decoders complained about. Returns whether
    /// there are such clips.
    fn report_short_clips(&self, on_event: &mut impl FnMut(Event)) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let mut is_short = false;
        for (number, Playing { clip, end, .. }) in self.clips.iter().enumerate() {
            let Some(End { at, complaints, unstamped, .. }) = end else { continue };
            if *unstamped > 0 {
                on_event(Event::Note(Note::Unstamped { clip: number, frames: *unstamped }));
            }
            let last = self.sound_end.as_ref().map_or(*at, |sound| sound.at.max(*at));
            let missing = clip.duration.filter(|of| last.after(SHORT) < MediaTime::ZERO.after(*of));
            // Sound that is not played may be what lasts so long; a decoder complains about a cut file.
            let is_unheard = clip.sound.is_some() && self.sound_end.is_none();
            let missing = missing.filter(|_| !is_unheard || !complaints.is_empty());
            is_short |= missing.is_some();
            let note = match missing {
                Some(of) => Note::Short { clip: number, at: last, of, reason: complaints.clone() },
                None if complaints.is_empty() => continue,
                None => Note::Complained(complaints.clone()),
            };
            on_event(Event::Note(note));
        }
        is_short
    }
}
