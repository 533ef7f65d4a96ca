//! A piece that follows the taps of a conductor.
//!
//! It is under way when the first tap comes. Each tap is the beat that was nearest; the tempo changes
//! so that the next beat comes when the next tap is expected.

use std::cell::RefCell;
use std::rc::Rc;

use tactus_midi::{Message, Parsed, Parser};
use tactus_toolkit::{
    Beat, Input, Midi, Moment, Nanos, Problem, ReactionId, Score, Task, Tempo, TempoMap, Time,
    Timeline, beat,
};

/// How long after a tap its note sounds, and the new tempo begins.
pub const REACTION: Nanos = Nanos::from_millis(10);

/// The tempo before the first taps: beats of 600 ms.
const PERIOD: Nanos = Nanos::from_millis(600);

/// Periods that taps may have.
const PERIODS: std::ops::RangeInclusive<u64> = 150_000_000..=3_000_000_000;

/// Where tempos may change: at parts of a beat.
const PARTS: u32 = 96;

/// The melody of Beethoven's *Ode to Joy*: keys, and lengths in eighths.
const MELODY: [&[(u8, i64)]; 4] = [&ASKING, &ANSWER, &MIDDLE, &ANSWER];
const ASKING: [(u8, i64); 15] = line(&[(64, 3), (62, 1), (62, 4)]);
const ANSWER: [(u8, i64); 15] = line(&[(62, 3), (60, 1), (60, 4)]);
const MIDDLE: [(u8, i64); 17] = [
    (62, 2),
    (62, 2),
    (64, 2),
    (60, 2),
    (62, 2),
    (64, 1),
    (65, 1),
    (64, 2),
    (60, 2),
    (62, 2),
    (64, 1),
    (65, 1),
    (64, 2),
    (62, 2),
    (60, 2),
    (62, 2),
    (55, 4),
];
const BEGINNING: [u8; 12] = [64, 64, 65, 67, 67, 65, 64, 62, 60, 60, 62, 64];

const fn line(ending: &[(u8, i64); 3]) -> [(u8, i64); 15] {
    let mut line = [(0, 2); 15];
    let mut index = 0;
    while index < line.len() {
        match index.checked_sub(BEGINNING.len()) {
            None => line[index].0 = BEGINNING[index],
            Some(index_in_ending) => line[index] = ending[index_in_ending],
        }
        index += 1;
    }
    line
}

/// The bass: half notes.
const BASS: [u8; 8] = [48, 43, 45, 43, 48, 43, 50, 43];

/// The keys that end the piece: q, and Control with C or D.
const ENDS: [u8; 3] = [b'q', 3, 4];

/// How inputs are taps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taps {
    /// Each reading of a terminal is a tap.
    Keys,
    /// Each note of a MIDI stream.
    Midi,
    /// Each OSC message to `/tap`.
    Osc,
}

/// The piece, and what its conductor did.
pub struct Piece {
    pub score: Score,
    /// Its reaction to taps.
    pub reaction: ReactionId,
    pub conducted: Rc<RefCell<Conducted>>,
}

/// What the conductor did.
#[derive(Debug, Default)]
pub struct Conducted {
    /// The taps; the note of each is named `tap` with its index.
    pub taps: Vec<Time>,
    /// The periods that followed.
    pub periods: Vec<Nanos>,
}

pub fn compose(taps: Taps) -> Result<Piece, Problem> {
    let score = Score::new();
    let midi = score.midi("synth");
    let line = score.timeline(TempoMap::new(Tempo::of_period(PERIOD))?);
    let (of_melody, of_bass) = (line.clone(), line.clone());
    score.spawn("melody", async move |s| play(&s, midi, &of_melody, melody(), 96).await)?;
    score.spawn("bass", async move |s| play(&s, midi.channel(1), &of_bass, bass(), 80).await)?;
    let conducted: Rc<RefCell<Conducted>> = Rc::default();
    let conductor = Rc::new(RefCell::new(Conductor {
        line,
        last: None,
        period: PERIOD,
        parser: Parser::default(),
        taps,
    }));
    let (shared, click) = (Rc::clone(&conducted), midi.channel(9));
    let reaction = score.react("conductor", REACTION, async move |s: Task, input: Input| {
        if taps == Taps::Keys && input.bytes.iter().any(|key| ENDS.contains(key)) {
            s.cut("melody", s.now())?;
            return s.cut("bass", s.now());
        }
        let taps = conductor.borrow_mut().count(&input.bytes);
        for _ in 0..taps {
            let number = shared.borrow().taps.len();
            shared.borrow_mut().taps.push(input.at);
            s.play(click.note(76, 110).named(&format!("tap {number}")))?;
            let period = conductor.borrow_mut().tapped(input.at, s.now())?;
            shared.borrow_mut().periods.push(period);
        }
        Ok(())
    })?;
    Ok(Piece { score, reaction, conducted })
}

fn melody() -> impl Iterator<Item = (u8, Beat)> {
    MELODY.into_iter().flatten().map(|(key, eighths)| (*key, beat(*eighths) / 2))
}

fn bass() -> impl Iterator<Item = (u8, Beat)> {
    std::iter::repeat_n(BASS, MELODY.len()).flatten().map(|key| (key, beat(2)))
}

/// Plays notes one after the other. Each ends when the next begins, whatever the tempo does.
async fn play(
    s: &Task,
    midi: Midi,
    line: &Timeline,
    notes: impl Iterator<Item = (u8, Beat)>,
    velocity: u8,
) -> Result<(), Problem> {
    let mut at = beat(0);
    for (key, length) in notes {
        s.beat(line, at).await?;
        s.play(midi.note_on(key, velocity))?;
        at = at + length;
        s.beat(line, at - beat(1) / 16).await?;
        s.play(midi.note_off(key))?;
    }
    Ok(())
}

/// Follows taps.
struct Conductor {
    line: Timeline,
    /// The last tap and its beat.
    last: Option<(Time, Beat)>,
    period: Nanos,
    parser: Parser,
    taps: Taps,
}

impl Conductor {
    /// The number of taps in an input.
    fn count(&mut self, bytes: &[u8]) -> usize {
        match self.taps {
            Taps::Keys => 1,
            Taps::Osc => usize::from(bytes.starts_with(b"/tap\0")),
            Taps::Midi => {
                let mut count = 0;
                for byte in bytes {
                    self.parser.push(*byte, Moment::from_nanos(0), |parsed| {
                        count += usize::from(is_note(&parsed));
                    });
                }
                count
            }
        }
    }

    /// Follows a tap; the new period.
    fn tapped(&mut self, tap: Time, now: Time) -> Result<Nanos, Problem> {
        let nearest = |position: Beat| (position + beat(1) / 2).floor_to(1).unwrap_or_default();
        let period = self.period.as_nanos();
        let recent = self.last.map(|(last, number)| ((tap - last).as_nanos(), number));
        // After a pause, the piece has gone on.
        let tapped = match recent.filter(|(interval, _)| *interval < 4 * period) {
            None => nearest(self.line.position(tap, PARTS)?),
            Some((interval, number)) => {
                let beats = ((interval + period / 2) / period).max(1);
                let measured = interval / beats;
                if PERIODS.contains(&measured) {
                    self.period = Nanos::from_nanos((period + measured) / 2);
                }
                number + beat(beats as i64)
            }
        };
        self.last = Some((tap, tapped));
        // From the next part of a beat on, in time for the next beat.
        let from = self.line.position(now, PARTS)? + beat(1) / i64::from(PARTS);
        let begins = self.line.time(from)?;
        let (mut target, mut due) = (tapped + beat(1), tap + self.period);
        while target <= from + beat(1) / 4 || due <= begins {
            (target, due) = (target + beat(1), due + self.period);
        }
        let left = target - from;
        let parts = (due - begins).as_nanos() as i128 * i128::from(left.denominator());
        let wanted = (parts / i128::from(left.numerator())) as u64;
        let [slow, fast] = [self.period.as_nanos() * 2, self.period.as_nanos() / 2];
        let period = Nanos::from_nanos(wanted.clamp(fast, slow));
        self.line.change(from, Tempo::of_period(period))?;
        Ok(period)
    }
}

/// Whether a message begins a note.
fn is_note(parsed: &Parsed) -> bool {
    let Parsed::Message { message: Message::Short(short), .. } = parsed else { return false };
    matches!(short.bytes(), [0x90..=0x9F, _, 1..=127])
}
