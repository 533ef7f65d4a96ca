//! Which frame is shown next, and which are dropped.

use tactus_delivery::item::Moment;
use tactus_model::time::Nanos;

use crate::clock::Clock;
use crate::media::MediaTime;

/// What happens to a frame whose time has passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfLate {
    /// It is dropped if the frame after it is due as well, and beyond [`TOLERANCE`].
    #[default]
    Drop,
    /// It is shown all the same, as soon as possible.
    Show,
}

/// How late a frame may be: beyond it, picture and sound would be seen to differ.
pub const TOLERANCE: Nanos = Nanos::from_millis(500);

/// What to do with the frames that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Nothing is due before this instant.
    Wait(Moment),
    /// Show the frame after `dropped` ones, which was due at this instant.
    Show {
        /// How many frames before it are dropped.
        dropped: usize,
        /// When it is due.
        due: Moment,
    },
    /// Drop so many frames: the others are not there yet, and these are too late.
    Drop(usize),
    /// No frame waits, or the clock rests.
    Nothing,
}

/// Chooses among frames that wait, in the order of their times. A frame that is handed over `lead`
/// before it is due comes out at its time.
pub fn choose(
    waiting: impl IntoIterator<Item = MediaTime>,
    clock: &Clock,
    now: Moment,
    lead: Nanos,
    if_late: IfLate,
) -> Choice {
    let dues = waiting.into_iter().map_while(|media| clock.due(media));
    let begins = |due: Moment| Moment::from_nanos(due.as_nanos().saturating_sub(lead.as_nanos()));
    let mut chosen = Choice::Nothing;
    for (index, due) in dues.enumerate() {
        if begins(due) > now {
            return match chosen {
                Choice::Nothing => Choice::Wait(begins(due)),
                chosen => chosen,
            };
        }
        chosen = match if_late {
            IfLate::Show => return Choice::Show { dropped: index, due },
            IfLate::Drop if now - due > TOLERANCE => Choice::Drop(index + 1),
            IfLate::Drop => Choice::Show { dropped: index, due },
        };
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::Speed;

    const START: Moment = Moment::from_nanos(1_000_000_000_000);

    #[test]
    fn the_latest_frame_that_is_due_is_shown() {
        let frames = [0, 40, 80, 120].map(|ms: i64| MediaTime::from_nanos(ms * 1_000_000));
        let mut clock = Clock::resting(MediaTime::ZERO, Speed::ONE);
        let at = |ms: u64| START + Nanos::from_millis(ms);
        let lead = Nanos::from_millis(1);
        let chosen = |clock: &Clock, ms: u64, if_late| choose(frames, clock, at(ms), lead, if_late);
        assert_eq!(chosen(&clock, 0, IfLate::Drop), Choice::Nothing);
        clock.start(START);
        assert_eq!(
            choose(frames[1..].to_vec(), &clock, START, lead, IfLate::Drop),
            Choice::Wait(at(39))
        );
        let shown = |dropped, ms| Choice::Show { dropped, due: at(ms) };
        assert_eq!(chosen(&clock, 38, IfLate::Drop), shown(0, 0));
        assert_eq!(chosen(&clock, 39, IfLate::Drop), shown(1, 40));
        assert_eq!(chosen(&clock, 95, IfLate::Drop), shown(2, 80));
        assert_eq!(chosen(&clock, 95, IfLate::Show), shown(0, 0));
        assert_eq!(chosen(&clock, 600, IfLate::Drop), shown(3, 120));
        assert_eq!(chosen(&clock, 999, IfLate::Drop), Choice::Drop(4));
        assert_eq!(choose([], &clock, at(5), lead, IfLate::Drop), Choice::Nothing);
    }
}
