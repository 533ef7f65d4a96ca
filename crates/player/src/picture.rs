//! The thread that shows the frames of a clip.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tactus_delivery::item::Moment;
use tactus_delivery::receipt::Evidence;
use tactus_model::frames::{Rate, Ticks};
use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_model::reserve::{Capacity, RefusedRung};
use tactus_model::result::Shortfall;
use tactus_model::time::Nanos;
use tactus_playback::{Choice, Clock, IfLate, MediaTime, choose};
use tactus_prepare::{Preparation, ThreadRef};
use tactus_reserve::{Reserve, Rung};
use tactus_sys::{affinity, thread as system_thread};
use tactus_xserver::window::{lead, rehearse};

use crate::error::PlayerError;
use crate::event::{FrameOutcome, FrameReceipt, Granted};
use crate::reader::{End, Frame, Reader};
use crate::shared::{Passage, SharedClock, now};
use crate::surface::{Buffer, FrameEnd, Handover, Happened, Line, Sighting, Surface};

/// How the threads that show frames run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Their policy; the best that is permitted.
    pub policy: Scheduling,
    /// Instead of the policy, CPU time that is guaranteed to each of them.
    pub reserve: Option<Capacity>,
    /// The policy of decoders.
    pub decoders: Scheduling,
    /// Emulated ticks a second: timers of the threads that show frames expire only at these, as on a
    /// kernel without high-resolution timers. `None` for timers that expire when they are due.
    pub ticks: Option<Rate>,
}

impl Pace {
    /// When a timer for `until` expires. Ticks are counted from the clock's origin.
    fn expiry(&self, until: Moment) -> Moment {
        let Some(rate) = self.ticks else { return until };
        let at = Nanos::from_nanos(until.as_nanos());
        Moment::from_nanos(Ticks::new(rate, Nanos::ZERO).at_or_after(at).as_nanos())
    }
}

/// What a picture thread is sent.
pub(crate) enum ToPicture {
    Frame(Frame),
    End(End),
    /// The clock was started, stopped or moved.
    Changed,
    /// The window has lost its content.
    Exposed,
    Quit,
}

/// What a picture thread reports, with the number of its clip.
pub(crate) enum FromPicture {
    /// It has what it was granted.
    Prepared {
        thread: ThreadId,
        reserve: Option<Granted>,
        shortfalls: Vec<Shortfall>,
    },
    /// Frames of this passage wait, or there is none.
    Ready(u64),
    Shown(FrameReceipt),
    /// A person asks for something.
    Happened(Happened),
    /// The decoder goes on after the frames from the first time to before the second: it was too slow,
    /// or the display did not answer for this long. None of them has a receipt.
    Skipped {
        from: MediaTime,
        to: MediaTime,
        silence: Option<Nanos>,
    },
    /// The decoder has not delivered what was due between these times.
    Missing {
        from: MediaTime,
        to: MediaTime,
    },
    /// The display has not shown what was due between these times.
    Unseen {
        from: MediaTime,
        to: MediaTime,
    },
    /// All frames of a passage are shown.
    Ended(End),
    Failed(PlayerError),
}

/// How late frames are before the decoder is asked to skip some, and how far it skips at first.
const BEHIND: Nanos = Nanos::from_secs(1);
const SKIP_FIRST: Nanos = Nanos::from_millis(500);
const SKIP_MOST: Nanos = Nanos::from_secs(8);
/// How many of the last frames decide how long before its time a frame is handed over.
const LEADS: usize = 31;
/// How long a server may take to call frames back.
const CUT_MOST: Nanos = Nanos::from_secs(1);
/// A thread without anything to do waits until somebody wakes it: whoever explains why its next
/// frame was late then finds who did.
const IDLE: Duration = Duration::MAX;

/// A running picture thread.
pub(crate) struct Picture {
    to: Sender<ToPicture>,
    pub(crate) reader: Reader,
    pub(crate) display: String,
    line: Line,
    thread: Option<JoinHandle<()>>,
}

/// What the thread needs.
pub(crate) struct Setting {
    pub(crate) clip: usize,
    pub(crate) surface: Surface,
    /// What ends the waits of the surface.
    pub(crate) line: Line,
    pub(crate) clock: Arc<SharedClock>,
    pub(crate) if_late: IfLate,
    pub(crate) pace: Pace,
    pub(crate) reader: Reader,
    /// The frames that are decoded ahead.
    pub(crate) buffers: usize,
    /// How long a frame lasts in the clip.
    pub(crate) period: Nanos,
    /// Where playing ends, if not at the end of the clip.
    pub(crate) until: Option<MediaTime>,
}

/// The inbox of a thread that does not run yet.
pub(crate) fn inbox() -> (Sender<ToPicture>, Receiver<ToPicture>) {
    channel()
}

impl Picture {
    pub(crate) fn start(
        mut setting: Setting,
        (to, inbox): (Sender<ToPicture>, Receiver<ToPicture>),
        report: impl Fn(FromPicture) + Send + 'static,
    ) -> Result<Self, PlayerError> {
        let (reader, clip) = (setting.reader.clone(), setting.clip);
        let (display, line) = (setting.surface.info(clip).display, mem::take(&mut setting.line));
        let run = move || {
            let _reserve = match prepare(setting.pace) {
                Ok((reserve, shortfalls)) => {
                    let granted = reserve.as_ref().map(|reserve| Granted {
                        capacity: reserve.capacity(),
                        rung: reserve.rung(),
                    });
                    let thread = system_thread::current_id();
                    report(FromPicture::Prepared { thread, reserve: granted, shortfalls });
                    reserve
                }
                Err(error) => return report(FromPicture::Failed(error)),
            };
            let mut screen = Screen::new(setting, report);
            if let Err(error) = screen.rehearse().and_then(|()| screen.run(&inbox)) {
                screen.report_unseen();
                (screen.report)(FromPicture::Failed(error));
            }
        };
        let name = format!("picture/{clip}");
        let thread = thread::Builder::new().name(name).spawn(run).map_err(PlayerError::Thread)?;
        Ok(Self { to, reader, display, line, thread: Some(thread) })
    }

    /// Lets it see that the clock has changed.
    pub(crate) fn changed(&self) {
        // It may have ended.
        let _ = self.to.send(ToPicture::Changed);
    }

    /// Asks it to end; it does so once the display answers.
    pub(crate) fn quit(&self) {
        let _ = self.to.send(ToPicture::Quit);
        self.reader.stop();
    }

    /// Ends its wait for the display, which fails.
    pub(crate) fn hang_up(&self) {
        self.line.hang_up();
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// Prepares the calling thread.
fn prepare(pace: Pace) -> Result<(Option<Reserve>, Vec<Shortfall>), PlayerError> {
    let mut preparation = Preparation::new();
    preparation.set_timer_slack(Nanos::from_nanos(1))?;
    if let Some(capacity) = pace.reserve {
        let reserve = Reserve::grant(ThreadRef::Calling, capacity, Rung::KEEPING);
        let reserve = reserve.map_err(PlayerError::Reserve)?;
        let mut shortfalls = preparation.finish()?.shortfalls;
        shortfalls.extend(reserve.refused().iter().map(|refused| not_by(refused, &reserve)));
        return Ok((Some(reserve), shortfalls));
    }
    preparation.place(&affinity::get()?, pace.policy)?;
    Ok((None, preparation.finish()?.shortfalls))
}

/// A better rung that the reserve does not have.
fn not_by(refused: &RefusedRung, reserve: &Reserve) -> Shortfall {
    let (rung, capacity) = (reserve.rung(), reserve.capacity());
    Shortfall {
        asked: format!("reserve {capacity} by rung {}", refused.rung),
        granted: format!("rung {rung}: {}", rung.promise()),
        reason: refused.reason.clone(),
        fix: refused.fix.clone(),
    }
}

/// A frame that a server has.
struct Sent {
    /// The number of its answer.
    answer: u64,
    frame: Frame,
    due: Moment,
    /// How long before it was due it was to be handed over.
    lead: Nanos,
}

/// A surface with the frames that wait for it.
struct Screen<R> {
    setting: Setting,
    report: R,
    waiting: VecDeque<Frame>,
    /// The frames that a server has, in their order.
    sent: VecDeque<Sent>,
    /// The frame that is seen, to draw it again.
    seen: Option<Buffer>,
    /// The end of the present passage, once it has come.
    end: Option<End>,
    /// All frames of the present passage were shown or dropped: none is due any more.
    is_over: bool,
    passage: u64,
    leads: Leads,
    /// How far the decoder skips if it is behind.
    skip: Nanos,
    /// Where it was to go on when it last skipped: frames before it that come later are counted.
    skipped_to: MediaTime,
    /// The end of the last frame that was shown, dropped or skipped.
    reached: MediaTime,
    /// How long the display took for the last frame, if it took so long that frames are skipped.
    silence: Option<Nanos>,
}

impl<R: Fn(FromPicture)> Screen<R> {
    fn new(setting: Setting, report: R) -> Self {
        let Passage { number: passage, from: reached, .. } = setting.clock.state().passage;
        let waiting = VecDeque::with_capacity(setting.buffers);
        let sent = VecDeque::with_capacity(setting.buffers);
        let (leads, skipped_to) = (Leads::default(), MediaTime::ZERO);
        Self {
            setting,
            report,
            waiting,
            sent,
            seen: None,
            end: None,
            is_over: false,
            passage,
            leads,
            skip: SKIP_FIRST,
            skipped_to,
            reached,
            silence: None,
        }
    }

    /// Shows black frames, so that the first frame of the clip takes no longer than the others.
    fn rehearse(&mut self) -> Result<(), PlayerError> {
        let Setting { surface, if_late, period, .. } = &mut self.setting;
        // A server has done so.
        if surface.ahead().is_some() {
            return Ok(());
        }
        let black = surface.buffer()?;
        let taken = rehearse(|| {
            let shown = surface.show(&black, now(), *if_late, *period)?;
            Ok::<_, PlayerError>(match shown {
                Handover::Now(FrameEnd::Seen(seen)) => Some(seen.at - seen.began),
                _ => None,
            })
        })?;
        taken.into_iter().for_each(|taken| self.leads.add(taken));
        // Drawn again, it is black.
        self.seen = Some(black);
        Ok(())
    }

    fn run(&mut self, inbox: &Receiver<ToPicture>) -> Result<(), PlayerError> {
        loop {
            let clock = self.setting.clock.clock();
            self.take_answers(&clock)?;
            for happened in self.setting.surface.happened()? {
                (self.report)(FromPicture::Happened(happened));
            }
            let wait = match self.choose(&clock) {
                Choice::Show { dropped, due } => {
                    self.show(dropped, due)?;
                    continue;
                }
                Choice::Drop(count) => {
                    self.drop_frames(count, &clock);
                    continue;
                }
                Choice::Wait(until) => Duration::from(self.setting.pace.expiry(until) - now()),
                Choice::Nothing => {
                    self.pass_on_end();
                    IDLE
                }
            };
            let look = self.setting.surface.look(!self.sent.is_empty());
            match inbox.recv_timeout(look.map_or(wait, |look| look.min(wait))) {
                Ok(ToPicture::Quit) | Err(RecvTimeoutError::Disconnected) => {
                    self.report_missing(&clock);
                    return Ok(());
                }
                Ok(ToPicture::Frame(frame)) => self.take(frame),
                Ok(ToPicture::End(end)) if end.passage == self.passage => {
                    self.end = Some(end);
                    (self.report)(FromPicture::Ready(self.passage));
                }
                Ok(ToPicture::Changed) => self.change()?,
                Ok(ToPicture::Exposed) => self.draw_again()?,
                Ok(ToPicture::End(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// What to do with the frames that wait. A server gets them ahead of their times.
    fn choose(&self, clock: &Clock) -> Choice {
        let media = || self.waiting.iter().map(|frame| frame.media);
        let chosen = choose(media(), clock, now(), self.leads.usual(), self.setting.if_late);
        match (chosen, self.setting.surface.ahead()) {
            (Choice::Wait(_), Some(ahead)) => choose(media(), clock, now(), ahead, IfLate::Show),
            (chosen, _) => chosen,
        }
    }

    /// How long before they are due frames are handed over.
    fn lead(&self) -> Nanos {
        self.setting.surface.ahead().unwrap_or_else(|| self.leads.usual())
    }

    fn take(&mut self, frame: Frame) {
        let is_beyond = self.setting.until.is_some_and(|until| frame.media >= until);
        // It was on its way when the decoder skipped it, and is counted.
        let is_skipped = frame.media < self.skipped_to;
        if frame.passage != self.passage || is_skipped || (is_beyond && !self.waiting.is_empty()) {
            return self.setting.reader.free(frame.buffer);
        }
        self.waiting.push_back(frame);
        if self.waiting.len() == self.setting.buffers - 1 {
            (self.report)(FromPicture::Ready(self.passage));
        }
    }

    /// After the last frame, passes on the end.
    fn pass_on_end(&mut self) {
        if self.waiting.is_empty()
            && self.sent.is_empty()
            && let Some(end) = self.end.take()
        {
            self.is_over = true;
            (self.report)(FromPicture::Ended(end));
        }
    }

    /// Reports what the decoder has not delivered. Frames that wait, or that a
    /// server has, show that it is in time.
    fn report_missing(&self, clock: &Clock) {
        let (from, to) = (self.reached, clock.media_at(now()));
        let has_none = self.waiting.is_empty() && self.sent.is_empty();
        let is_due = self.end.is_none() && !self.is_over;
        if has_none && is_due && to.since(from) > BEHIND {
            (self.report)(FromPicture::Missing { from, to });
        }
    }

    /// Reports what was due when the display failed.
    fn report_unseen(&self) {
        let (from, to) = (self.reached, self.setting.clock.clock().media_at(now()));
        if to > from && !self.is_over {
            (self.report)(FromPicture::Unseen { from, to });
        }
    }

    /// Follows the clock to another passage.
    fn change(&mut self) -> Result<(), PlayerError> {
        let passage = self.setting.clock.state().passage;
        self.call_back()?;
        if passage.number != self.passage {
            (self.passage, self.reached) = (passage.number, passage.from);
            (self.end, self.is_over) = (None, false);
            self.skipped_to = MediaTime::ZERO;
            self.waiting.drain(..).for_each(|frame| self.setting.reader.free(frame.buffer));
        }
        Ok(())
    }

    fn draw_again(&mut self) -> Result<(), PlayerError> {
        match &self.seen {
            Some(buffer) => {
                let Setting { surface, if_late, period, .. } = &mut self.setting;
                surface.show(buffer, now(), *if_late, *period).map(drop)
            }
            None => Ok(()),
        }
    }

    /// Takes what became of frames that a server had.
    fn take_answers(&mut self, clock: &Clock) -> Result<(), PlayerError> {
        let mut cut = Vec::new();
        for (number, answer) in self.setting.surface.answers()? {
            let place = self.sent.iter().position(|sent| sent.answer == number);
            let Some(Sent { frame, due, lead, .. }) =
                place.and_then(|place| self.sent.remove(place))
            else {
                continue;
            };
            match answer {
                FrameEnd::Seen(seen) => self.seen(frame, due, (seen, lead), clock),
                FrameEnd::Dropped => self.dropped(frame, due, clock),
                FrameEnd::Cut => cut.push(frame),
            }
        }
        // They come in the order of their times, and wait again.
        for frame in cut.into_iter().rev() {
            match frame.passage == self.setting.clock.state().passage.number {
                true => self.waiting.push_front(frame),
                false => self.setting.reader.free(frame.buffer),
            }
        }
        Ok(())
    }

    /// Calls the frames that a server has back: the clock was stopped or moved.
    fn call_back(&mut self) -> Result<(), PlayerError> {
        if self.sent.is_empty() {
            return Ok(());
        }
        self.setting.surface.cut()?;
        let (clock, began) = (self.setting.clock.clock(), now());
        while !self.sent.is_empty() && now() - began < CUT_MOST {
            self.take_answers(&clock)?;
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Drops the first frames, and shows the next.
    fn show(&mut self, dropped: usize, due: Moment) -> Result<(), PlayerError> {
        let clock = self.setting.clock.clock();
        self.drop_frames(dropped, &clock);
        let Some(frame) = self.waiting.pop_front() else { return Ok(()) };
        let lead = self.lead();
        let Setting { surface, if_late, period, .. } = &mut self.setting;
        let began = now();
        let handover = surface.show(&frame.buffer, due, *if_late, clock.lasts(*period))?;
        self.silence = Some(now() - began).filter(|taken| *taken > BEHIND);
        match handover {
            Handover::Now(FrameEnd::Seen(seen)) => {
                self.leads.add(seen.at - seen.began);
                self.seen(frame, due, (seen, lead), &clock);
            }
            Handover::Now(FrameEnd::Dropped | FrameEnd::Cut) => self.dropped(frame, due, &clock),
            Handover::Later(answer) => self.sent.push_back(Sent { answer, frame, due, lead }),
        }
        Ok(())
    }

    /// Reports a frame that is seen, and keeps it.
    fn seen(&mut self, frame: Frame, due: Moment, (seen, lead): (Sighting, Nanos), clock: &Clock) {
        self.reach(&frame);
        let slip = clock.slip(seen.at);
        let receipt = receipt(self.setting.clip, &frame, due, Some((seen, lead)), slip);
        (self.report)(FromPicture::Shown(receipt));
        self.skip = SKIP_FIRST;
        if let Some(buffer) = self.seen.replace(frame.buffer) {
            self.setting.reader.free(buffer);
        }
    }

    /// Reports a frame that nobody sees.
    fn dropped(&mut self, frame: Frame, due: Moment, clock: &Clock) {
        self.reach(&frame);
        let receipt = receipt(self.setting.clip, &frame, due, None, clock.slip(now()));
        (self.report)(FromPicture::Shown(receipt));
        self.setting.reader.free(frame.buffer);
    }

    /// A frame was shown or dropped. A server may answer for one of an earlier passage.
    fn reach(&mut self, frame: &Frame) {
        if frame.passage == self.passage {
            self.reached = self.reached.max(frame.media.after(self.setting.period));
        }
    }

    /// Drops the first frames. If even the last of them is far too late, the decoder skips frames.
    fn drop_frames(&mut self, count: usize, clock: &Clock) {
        let mut last = None;
        for _ in 0..count {
            let Some(frame) = self.waiting.pop_front() else { break };
            let due = clock.due(frame.media).unwrap_or_else(now);
            last = Some((frame.media, due));
            self.dropped(frame, due, clock);
        }
        if let Some((from, due)) = last
            && now() - due > BEHIND
            && from >= self.skipped_to
            && self.end.is_none()
        {
            let to = clock.media_at(now() + self.skip);
            // Frames that wait get receipts.
            let last = self.waiting.back().map_or(from, |frame| frame.media);
            let from = last.after(self.setting.period);
            if from >= to {
                return;
            }
            let passage = Passage { from: to, ..self.setting.clock.state().passage };
            self.setting.reader.begin(passage);
            let silence = self.silence.take();
            (self.report)(FromPicture::Skipped { from, to, silence });
            self.skip = (self.skip + self.skip).min(SKIP_MOST);
            (self.skipped_to, self.reached) = (to, to);
        }
    }
}

/// The receipt of a frame. One that was seen has the lead by which it was to be handed over.
fn receipt(
    clip: usize,
    frame: &Frame,
    due: Moment,
    shown: Option<(Sighting, Nanos)>,
    slip: i64,
) -> FrameReceipt {
    let seen = shown.map(|(seen, _)| seen);
    let outcome = if seen.is_some() { FrameOutcome::Shown } else { FrameOutcome::Dropped };
    let stamped = seen.filter(|seen| seen.evidence == Evidence::DeviceClock);
    FrameReceipt {
        clip,
        frame: frame.number,
        media: frame.media,
        outcome,
        due,
        lead: shown.map(|(_, lead)| lead),
        began: seen.map(|seen| seen.began),
        shown: seen.map(|seen| seen.at),
        dropped: seen.is_none().then(now),
        evidence: seen.map_or(Evidence::None, |seen| seen.evidence),
        ust: stamped.map(|seen| seen.at.as_nanos() / 1000),
        msc: stamped.and_then(|seen| seen.msc),
        slip,
    }
}

/// How long frames take from being handed over to being seen: of the last ones, in turn.
#[derive(Default)]
struct Leads {
    last: [Nanos; LEADS],
    count: usize,
}

impl Leads {
    fn add(&mut self, lead: Nanos) {
        self.last[self.count % LEADS] = lead;
        self.count += 1;
    }

    /// The median of the last frames.
    fn usual(&self) -> Nanos {
        let mut last = self.last;
        lead(&mut last[..self.count.min(LEADS)])
    }
}

#[cfg(test)]
mod tests {
    use tactus_xserver::window::LEAD_MOST;

    use super::*;

    #[test]
    fn timers_expire_when_they_are_due_or_at_the_next_tick() {
        let policy = Scheduling::ORDINARY;
        let pace = |ticks| Pace { policy, reserve: None, decoders: policy, ticks };
        let at = |millis: u64| Moment::from_nanos(millis * 1_000_000);
        assert_eq!(pace(None).expiry(at(71)), at(71));
        let ticks = "100".parse().ok();
        assert_eq!((pace(ticks).expiry(at(71)), pace(ticks).expiry(at(80))), (at(80), at(80)));
    }

    #[test]
    fn the_lead_is_the_median_of_the_last_frames() {
        let mut leads = Leads::default();
        assert_eq!(leads.usual(), Nanos::ZERO);
        leads.add(Nanos::from_secs(9));
        assert_eq!(leads.usual(), LEAD_MOST);
        (0..LEADS as u64).for_each(|micros| leads.add(Nanos::from_micros(micros)));
        assert_eq!(leads.usual(), Nanos::from_micros(LEADS as u64 / 2));
    }
}
