//! The thread that shows the frames of a clip.

use std::collections::VecDeque;
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

use crate::error::PlayerError;
use crate::event::{FrameOutcome, FrameReceipt, Granted};
use crate::reader::{End, Frame, Reader};
use crate::shared::{Order, SharedClock, now};
use crate::window::{Buffer, Seen, Window};

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

/// How many frames of so many bytes are decoded ahead.
pub(crate) fn buffers(frame_bytes: usize) -> usize {
    (BUFFER_BYTES / frame_bytes.max(1)).clamp(BUFFERS_LEAST, BUFFERS_MOST)
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
    /// Frames of this order wait, or there is none.
    Ready(u64),
    Shown(FrameReceipt),
    /// The decoder was too slow: it goes on after the frames between these times.
    Skipped {
        from: MediaTime,
        to: MediaTime,
    },
    /// The decoder has not delivered what was due between these times.
    Missing {
        from: MediaTime,
        to: MediaTime,
    },
    /// All frames of an order are shown.
    Ended(End),
    Failed(PlayerError),
}

/// Frames that are decoded ahead: at least and at most, and the memory for more than the least.
const BUFFERS_LEAST: usize = 8;
const BUFFERS_MOST: usize = 32;
const BUFFER_BYTES: usize = 64 << 20;
/// How late frames are before the decoder is asked to skip some, and how far it skips at first.
const BEHIND: Nanos = Nanos::from_secs(1);
const SKIP_FIRST: Nanos = Nanos::from_millis(500);
const SKIP_MOST: Nanos = Nanos::from_secs(8);
/// How many of the last frames decide how long before its time a frame is handed over.
const LEADS: usize = 31;
/// Frames that are shown before the clip.
const REHEARSED: u32 = 6;
/// The longest lead: a server that takes longer is late.
const LEAD_MOST: Nanos = Nanos::from_millis(8);
/// A thread without anything to do waits until somebody wakes it: whoever explains why its next
/// frame was late then finds who did.
const IDLE: Duration = Duration::MAX;

/// A running picture thread.
pub(crate) struct Picture {
    to: Sender<ToPicture>,
    pub(crate) reader: Reader,
    pub(crate) display: String,
    thread: Option<JoinHandle<()>>,
}

/// What the thread needs.
pub(crate) struct Setting {
    pub(crate) clip: usize,
    pub(crate) window: Window,
    pub(crate) clock: Arc<SharedClock>,
    pub(crate) if_late: IfLate,
    pub(crate) pace: Pace,
    pub(crate) reader: Reader,
    /// The frames that are decoded ahead.
    pub(crate) buffers: usize,
    /// How long a frame is shown.
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
        setting: Setting,
        (to, inbox): (Sender<ToPicture>, Receiver<ToPicture>),
        report: impl Fn(FromPicture) + Send + 'static,
    ) -> Result<Self, PlayerError> {
        let (reader, clip) = (setting.reader.clone(), setting.clip);
        let display = setting.window.info(clip).display;
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
                (screen.report)(FromPicture::Failed(error));
            }
        };
        let name = format!("picture/{clip}");
        let thread = thread::Builder::new().name(name).spawn(run).map_err(PlayerError::Thread)?;
        Ok(Self { to, reader, display, thread: Some(thread) })
    }

    /// Lets it see that the clock has changed.
    pub(crate) fn changed(&self) {
        // It may have ended.
        let _ = self.to.send(ToPicture::Changed);
    }

    /// Asks it to end; it does so once the server answers.
    pub(crate) fn quit(&self) {
        let _ = self.to.send(ToPicture::Quit);
        self.reader.stop();
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

/// A window with the frames that wait for it.
struct Screen<R> {
    setting: Setting,
    report: R,
    waiting: VecDeque<Frame>,
    /// The frame that is seen, to draw it again.
    seen: Option<Buffer>,
    /// The end of the present order, once it has come.
    end: Option<End>,
    order: u64,
    leads: Leads,
    /// How far the decoder skips if it is behind.
    skip: Nanos,
    /// Where it was to go on when it last skipped: frames before it were already on their way.
    skipped_to: MediaTime,
    /// The end of the last frame that was shown, dropped or skipped.
    reached: MediaTime,
    /// How long a frame is shown.
    period: Nanos,
}

impl<R: Fn(FromPicture)> Screen<R> {
    fn new(setting: Setting, report: R) -> Self {
        let Order { number: order, from: reached, .. } = setting.clock.state().order;
        let waiting = VecDeque::with_capacity(setting.buffers);
        let period = setting.period;
        let (leads, skipped_to) = (Leads::default(), MediaTime::ZERO);
        Self {
            setting,
            report,
            waiting,
            seen: None,
            end: None,
            order,
            leads,
            skip: SKIP_FIRST,
            skipped_to,
            reached,
            period,
        }
    }

    /// Shows black frames, so that the first frame of the clip takes no longer than the others.
    fn rehearse(&mut self) -> Result<(), PlayerError> {
        let black = self.setting.window.buffer()?;
        for number in 0..REHEARSED {
            let seen = self.setting.window.show(&black)?;
            // The first one sets up what the others use.
            if number > 0 {
                self.leads.add(seen.at - seen.began);
            }
        }
        self.setting.window.free(black);
        Ok(())
    }

    fn run(&mut self, inbox: &Receiver<ToPicture>) -> Result<(), PlayerError> {
        loop {
            let clock = self.setting.clock.clock();
            let lead = self.leads.usual();
            let media = self.waiting.iter().map(|frame| frame.media);
            let wait = match choose(media, &clock, now(), lead, self.setting.if_late) {
                Choice::Show { dropped, due } => {
                    self.show(dropped, due, lead)?;
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
            match inbox.recv_timeout(wait) {
                Ok(ToPicture::Quit) | Err(RecvTimeoutError::Disconnected) => {
                    self.report_missing(&clock);
                    return Ok(());
                }
                Ok(ToPicture::Frame(frame)) => self.take(frame),
                Ok(ToPicture::End(end)) if end.order == self.order => {
                    self.end = Some(end);
                    (self.report)(FromPicture::Ready(self.order));
                }
                Ok(ToPicture::Changed) => self.change()?,
                Ok(ToPicture::Exposed) => self.draw_again()?,
                Ok(ToPicture::End(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn take(&mut self, frame: Frame) {
        let is_beyond = self.setting.until.is_some_and(|until| frame.media >= until);
        if frame.order != self.order || (is_beyond && !self.waiting.is_empty()) {
            return self.setting.reader.free(frame.buffer);
        }
        self.waiting.push_back(frame);
        if self.waiting.len() == self.setting.buffers - 1 {
            (self.report)(FromPicture::Ready(self.order));
        }
    }

    /// After the last frame, passes on the end.
    fn pass_on_end(&mut self) {
        if self.waiting.is_empty()
            && let Some(end) = self.end.take()
        {
            (self.report)(FromPicture::Ended(end));
        }
    }

    /// Reports what the decoder has not delivered. Frames that wait show that it is in time.
    fn report_missing(&self, clock: &Clock) {
        let (from, to) = (self.reached, clock.media_at(now()));
        if self.waiting.is_empty() && self.end.is_none() && to.since(from) > BEHIND {
            (self.report)(FromPicture::Missing { from, to });
        }
    }

    /// Follows the clock to another order.
    fn change(&mut self) -> Result<(), PlayerError> {
        let order = self.setting.clock.state().order;
        if order.number != self.order {
            (self.order, self.reached) = (order.number, order.from);
            self.end = None;
            self.skipped_to = MediaTime::ZERO;
            self.waiting.drain(..).for_each(|frame| self.setting.reader.free(frame.buffer));
        }
        Ok(())
    }

    fn draw_again(&mut self) -> Result<(), PlayerError> {
        match &self.seen {
            Some(buffer) => self.setting.window.show(buffer).map(drop),
            None => Ok(()),
        }
    }

    /// Drops the first frames, and shows the next.
    fn show(&mut self, dropped: usize, due: Moment, lead: Nanos) -> Result<(), PlayerError> {
        let clock = self.setting.clock.clock();
        self.drop_frames(dropped, &clock);
        let Some(frame) = self.waiting.pop_front() else { return Ok(()) };
        let seen = self.setting.window.show(&frame.buffer)?;
        self.leads.add(seen.at - seen.began);
        self.reached = frame.media.after(self.period);
        let slip = clock.slip(seen.at);
        let receipt = receipt(self.setting.clip, &frame, due, Some((seen, lead)), slip);
        (self.report)(FromPicture::Shown(receipt));
        self.skip = SKIP_FIRST;
        if let Some(buffer) = self.seen.replace(frame.buffer) {
            self.setting.reader.free(buffer);
        }
        Ok(())
    }

    /// Drops the first frames. If even the last of them is far too late, the decoder skips frames.
    fn drop_frames(&mut self, count: usize, clock: &Clock) {
        let mut last = None;
        for frame in self.waiting.drain(..count) {
            let due = clock.due(frame.media).unwrap_or_else(now);
            let receipt = receipt(self.setting.clip, &frame, due, None, clock.slip(now()));
            (self.report)(FromPicture::Shown(receipt));
            self.setting.reader.free(frame.buffer);
            last = Some((frame.media, due));
            self.reached = frame.media.after(self.period);
        }
        if let Some((from, due)) = last
            && now() - due > BEHIND
            && from >= self.skipped_to
            && self.end.is_none()
        {
            let to = clock.media_at(now() + self.skip);
            let order = Order { from: to, ..self.setting.clock.state().order };
            self.setting.reader.order(order);
            (self.report)(FromPicture::Skipped { from, to });
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
    shown: Option<(Seen, Nanos)>,
    slip: i64,
) -> FrameReceipt {
    let seen = shown.map(|(seen, _)| seen);
    let outcome = if seen.is_some() { FrameOutcome::Shown } else { FrameOutcome::Dropped };
    let stamp = seen.and_then(|seen| seen.stamp);
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
        ust: stamp.map(|(ust, _)| ust),
        msc: stamp.map(|(_, msc)| msc),
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
        self.last[self.count % LEADS] = lead.min(LEAD_MOST);
        self.count += 1;
    }

    /// The median of the last frames.
    fn usual(&self) -> Nanos {
        let (mut sorted, count) = (self.last, self.count.min(LEADS));
        sorted[..count].sort_unstable();
        sorted[count / 2]
    }
}

#[cfg(test)]
mod tests {
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
