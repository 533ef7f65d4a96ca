//! Samples at absolute positions: the part that the thread of the sound server does, without it.
//!
//! It allocates nothing after it was made, and never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

/// The most pieces that wait.
const PIECES_MOST: usize = 4096;

/// Samples that follow each other.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Pieces of an earlier generation are flushed.
    generation: u64,
    /// The position of the first frame.
    position: u64,
    frames: u64,
}

/// The end of the track that an ordinary thread fills.
pub struct Feed {
    channels: usize,
    pieces: Producer<Piece>,
    samples: Producer<f32>,
    generation: u64,
    present: Arc<AtomicU64>,
}

/// The end that plays.
pub struct Track {
    channels: usize,
    pieces: Consumer<Piece>,
    samples: Consumer<f32>,
    /// The piece that is partly played.
    begun: Option<Piece>,
    generation: Arc<AtomicU64>,
}

/// What became of frames in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// They came out.
    pub played: u64,
    /// Their position had passed: they were cut.
    pub late: u64,
    /// They were flushed.
    pub flushed: u64,
}

/// Makes a track of so many channels with room for so many frames.
pub fn track(channels: usize, frames: usize) -> (Feed, Track) {
    let channels = channels.max(1);
    let (to, from) = RingBuffer::new(PIECES_MOST);
    let (put, take) = RingBuffer::new(frames.saturating_mul(channels));
    let present = Arc::<AtomicU64>::default();
    let generation = Arc::clone(&present);
    let feed = Feed { channels, pieces: to, samples: put, generation: 0, present };
    (feed, Track { channels, pieces: from, samples: take, begun: None, generation })
}

impl Feed {
    /// The frames for which there is room.
    pub fn room(&self) -> usize {
        if self.pieces.is_full() { 0 } else { self.samples.slots() / self.channels }
    }

    /// Lets interleaved samples come out from a position on; returns how many frames had room.
    /// Positions must not be before the end of what was put last, unless that was flushed.
    pub fn put(&mut self, position: u64, samples: &[f32]) -> usize {
        let frames = self.room().min(samples.len() / self.channels);
        let Ok(chunk) = self.samples.write_chunk_uninit(frames * self.channels) else { return 0 };
        if frames == 0 {
            return 0;
        }
        chunk.fill_from_iter(samples.iter().copied());
        // There is room.
        let piece = Piece { generation: self.generation, position, frames: frames as u64 };
        let _ = self.pieces.push(piece);
        frames
    }

    /// Drops everything that waits.
    pub fn flush(&mut self) {
        self.generation += 1;
        self.present.store(self.generation, Ordering::Release);
    }
}

impl Track {
    /// Plays the cycle of so many frames from a position on. Passes on interleaved samples with the
    /// frame of the cycle at which they begin; the second slice follows the first.
    pub fn play(
        &mut self,
        from: u64,
        frames: u32,
        mut write: impl FnMut(usize, &[f32], &[f32]),
    ) -> Played {
        let end = from + u64::from(frames);
        let mut done = Played::default();
        let generation = self.generation.load(Ordering::Acquire);
        // Each piece is taken once, so there are at most as many turns as pieces.
        while let Some(mut piece) = self.begun.take().or_else(|| self.pieces.pop().ok()) {
            if piece.generation < generation {
                done.flushed += self.skip(&mut piece, u64::MAX);
                continue;
            }
            let late = from.saturating_sub(piece.position);
            done.late += self.skip(&mut piece, late);
            let count = piece.frames.min(end.saturating_sub(piece.position));
            let samples = count as usize * self.channels;
            if let Ok(chunk) = self.samples.read_chunk(samples)
                && count > 0
            {
                let (first, second) = chunk.as_slices();
                write((piece.position - from) as usize, first, second);
                chunk.commit_all();
                piece.position += count;
                piece.frames -= count;
                done.played += count;
            }
            if piece.frames > 0 {
                self.begun = Some(piece);
                break;
            }
        }
        done
    }

    /// Drops the first frames of a piece.
    fn skip(&mut self, piece: &mut Piece, frames: u64) -> u64 {
        let frames = frames.min(piece.frames);
        if let Ok(chunk) = self.samples.read_chunk(frames as usize * self.channels) {
            chunk.commit_all();
        }
        piece.position = piece.position.saturating_add(frames);
        piece.frames -= frames;
        frames
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The samples of a cycle; silence where nothing was written.
    fn cycle(track: &mut Track, from: u64, frames: u32) -> (Vec<f32>, Played) {
        let mut heard = vec![0.0; frames as usize * track.channels];
        let channels = track.channels;
        let played = track.play(from, frames, |at, first, second| {
            let samples = first.iter().chain(second);
            heard[at * channels..].iter_mut().zip(samples).for_each(|(to, from)| *to = *from);
        });
        (heard, played)
    }

    #[test]
    fn samples_come_out_at_their_positions() {
        let (mut feed, mut track) = track(2, 64);
        assert_eq!(feed.put(103, &[1.0, -1.0, 2.0, -2.0, 3.0, -3.0]), 3);
        assert_eq!(cycle(&mut track, 100, 4).0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, -1.0]);
        let (heard, played) = cycle(&mut track, 104, 4);
        assert_eq!(heard, [2.0, -2.0, 3.0, -3.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(played, Played { played: 2, ..Played::default() });
    }

    #[test]
    fn what_is_flushed_never_comes_out() {
        let (mut feed, mut track) = track(1, 8);
        feed.put(0, &[1.0; 8]);
        feed.flush();
        assert_eq!(feed.put(4, &[2.0]), 0, "no room until the next cycle");
        let (heard, played) = cycle(&mut track, 2, 2);
        assert_eq!((heard, played.flushed), (vec![0.0; 2], 8));
        assert_eq!(feed.put(4, &[2.0]), 1);
        assert_eq!(cycle(&mut track, 4, 2).0, [2.0, 0.0]);
    }

    proptest! {
        /// Lost cycles cut, and never shift: each sample comes out at its position, or not at all.
        #[test]
        fn an_xrun_cuts_and_never_shifts(
            lengths in prop::collection::vec(1_usize..40, 1..30),
            cycles in prop::collection::vec((1_u32..30, 0_u64..50), 1..40),
        ) {
            let (mut feed, mut track) = track(1, 4096);
            let mut end = 10;
            for length in lengths {
                let samples: Vec<f32> = (end..).take(length).map(|at| at as f32).collect();
                prop_assert_eq!(feed.put(end, &samples), length);
                end += length as u64;
            }
            let (mut at, mut counted) = (0, 0);
            for (frames, skipped) in cycles {
                let (heard, played) = cycle(&mut track, at, frames);
                for (position, sample) in (at..).zip(heard) {
                    let is_placed = (10..end).contains(&position);
                    prop_assert_eq!(sample, if is_placed { position as f32 } else { 0.0 });
                }
                counted += played.played + played.late;
                at += u64::from(frames);
                prop_assert_eq!(counted, end.min(at.max(10)) - 10);
                at += skipped;
            }
        }
    }
}
