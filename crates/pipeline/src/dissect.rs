//! What the time of a frame consists of, of simulated and of real frames alike.
//!
//! The last stage of a frame to end decides its time. It began when the last of what it follows had
//! ended and was handed over, or when its process was free. Followed back to the due time, these
//! steps are the *path* of the frame: parts that add up to its time, and waits of data for a process
//! that was busy with earlier work.

use tactus_model::time::Nanos;

use crate::draws::Samples;
use crate::graph::{Graph, PartsOfStage, Stage};

/// When a stage of a frame ran, since the first frame was due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// When it began.
    pub begin: Nanos,
    /// When it ended.
    pub end: Nanos,
}

/// Frames that ran one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dissected {
    /// The time of each frame, from its due time until its last stage has ended.
    pub(crate) times: Vec<Nanos>,
    /// The occurrences of each part, in the order of frames.
    pub(crate) parts: Vec<Vec<Nanos>>,
    /// The path of each frame: the share of each part, and after those the waits.
    paths: Vec<Vec<Nanos>>,
    /// The frames in which a stage waited for longer than a period until its process was free.
    behind: usize,
}

/// The mean of the paths of some frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Path {
    pub(crate) parts: Vec<OnPath>,
    pub(crate) waiting: Nanos,
}

/// What a part contributes to the paths of some frames.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OnPath {
    /// Its mean time in these frames; none in a frame whose path it is not on.
    pub(crate) time: Nanos,
    /// The share of these frames whose path it is on.
    pub(crate) share: f64,
}

impl OnPath {
    /// Its mean time in the frames whose path it is on; `None` if there are none.
    fn each(self) -> Option<f64> {
        (self.share > 0.0).then(|| self.time.as_nanos() as f64 / self.share)
    }

    /// Divides the difference of `then` to this, in nanoseconds, into that of its duration and that of
    /// how often it is on the path. Of two branches that take equally long, either can be the later one:
    /// that is no difference of their durations.
    pub(crate) fn differences(self, then: Self) -> [f64; 2] {
        let all = then.time.as_nanos() as f64 - self.time.as_nanos() as f64;
        let durations = self.each().zip(then.each());
        let own =
            durations.map_or(0.0, |(one, other)| self.share.midpoint(then.share) * (other - one));
        [own, all - own]
    }
}

/// What made a stage begin.
struct Input {
    /// When its data were there, or its frame was due.
    at: Nanos,
    /// The stage that they came from; `None` for the due time.
    from: Option<usize>,
    /// The part that brought them; `None` within a process.
    part: Option<usize>,
}

impl Dissected {
    /// Takes apart frames of as many spans as the graph has stages.
    pub(crate) fn of<'s>(graph: &Graph, frames: impl IntoIterator<Item = &'s [Span]>) -> Self {
        let layout = graph.layout();
        let parts = graph.parts().len();
        let mut found = Self { parts: vec![Vec::new(); parts], ..Self::default() };
        let mut free_at = vec![Nanos::ZERO; graph.processes.len()];
        for (number, spans) in frames.into_iter().enumerate() {
            let due = graph.period.saturating_mul(number as u64);
            let mut inputs = Vec::with_capacity(spans.len());
            let mut is_behind = false;
            for ((stage, of_stage), span) in graph.stages.iter().zip(&layout).zip(spans) {
                let free = std::mem::replace(&mut free_at[stage.process], span.end);
                let mut input = input(stage, of_stage, due, spans);
                is_behind |= free > input.at + graph.period;
                // Nothing wakes a process that is busy.
                input.part = input.part.filter(|_| free <= input.at);
                found.parts[of_stage.work].push(span.end.saturating_sub(span.begin));
                if let Some(part) = input.part {
                    found.parts[part].push(span.begin.saturating_sub(input.at));
                }
                inputs.push(input);
            }
            found.behind += usize::from(is_behind);
            let last = (0..spans.len()).max_by_key(|stage| spans[*stage].end);
            let end = last.map_or(due, |last| spans[last].end);
            found.times.push(end.saturating_sub(due));
            found.paths.push(path(parts, &layout, (spans, &inputs), last));
        }
        found
    }

    /// The share of frames in which data waited for longer than a period.
    pub(crate) fn behind(&self) -> f64 {
        self.behind as f64 / self.times.len().max(1) as f64
    }
}

/// The last to come of what a stage needs.
fn input(stage: &Stage, parts: &PartsOfStage, due: Nanos, spans: &[Span]) -> Input {
    let of_links = stage.after.iter().zip(&parts.hand_overs).map(|(link, part)| Input {
        at: spans.get(link.from).map_or(due, |span| span.end),
        from: Some(link.from),
        part: *part,
    });
    let last = of_links.max_by_key(|input| input.at);
    last.unwrap_or(Input { at: due, from: None, part: parts.wake })
}

/// Follows a frame back from the stage that ended last.
fn path(
    parts: usize,
    layout: &[PartsOfStage],
    (spans, inputs): (&[Span], &[Input]),
    last: Option<usize>,
) -> Vec<Nanos> {
    let mut path = vec![Nanos::ZERO; parts + 1];
    let mut next = last;
    while let Some(stage) = next {
        let (span, input) = (spans[stage], &inputs[stage]);
        let mut add = |part: usize, time: Nanos| path[part] = path[part] + time;
        add(layout[stage].work, span.end.saturating_sub(span.begin));
        add(input.part.unwrap_or(parts), span.begin.saturating_sub(input.at));
        next = input.from;
    }
    path
}

/// The occurrences of each part, for each part its rounds.
pub(crate) fn part_samples(rounds: &[&Dissected]) -> Vec<Samples> {
    let parts = rounds.first().map_or(0, |round| round.parts.len());
    let of_part = |part: usize| Samples::new(rounds.iter().map(|round| round.parts[part].clone()));
    (0..parts).map(of_part).collect()
}

/// The mean path of the frames around a quantile of all rounds: within 5 % of the frames, and at most
/// half way to the longest.
pub(crate) fn path_at(rounds: &[&Dissected], quantile: f64) -> Path {
    let mut frames: Vec<(Nanos, &Vec<Nanos>)> =
        rounds.iter().flat_map(|round| round.times.iter().copied().zip(&round.paths)).collect();
    frames.sort_unstable_by_key(|(time, _)| *time);
    let reach = ((1.0 - quantile) / 2.0).min(0.05);
    let at = |share: f64| (share * frames.len() as f64) as usize;
    let first = at(quantile - reach).min(frames.len().saturating_sub(1));
    let near = frames.get(first..at(quantile + reach).max(first + 1)).unwrap_or_default();
    let entries = near.first().map_or(0, |(_, path)| path.len());
    let mean = |entry: usize| {
        let times = || near.iter().map(|(_, path)| path[entry].as_nanos());
        let frames = near.len().max(1);
        OnPath {
            time: Nanos::from_nanos(times().sum::<u64>() / frames as u64),
            share: times().filter(|time| *time > 0).count() as f64 / frames as f64,
        }
    };
    let mut parts: Vec<OnPath> = (0..entries).map(mean).collect();
    let waiting = parts.pop().unwrap_or_default().time;
    Path { parts, waiting }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn span(begin: u64, end: u64) -> Span {
        Span { begin: Nanos::from_micros(begin), end: Nanos::from_micros(end) }
    }

    fn micros(times: &[Nanos]) -> Vec<u64> {
        times.iter().map(|time| time.as_nanos() / 1000).collect()
    }

    #[test]
    fn the_path_of_a_frame_adds_up_to_its_time() {
        let graph = fixture::fork();
        // `right` decides: 10 wake-up, 90 read, 20 hand-over, 300 right, 5 hand-over, 15 join.
        let frame = [span(10, 100), span(120, 170), span(120, 420), span(425, 440)];
        let found = Dissected::of(&graph, [&frame[..]]);
        assert_eq!(micros(&found.times), [440]);
        let path = path_at(&[&found], 0.5);
        let sum: Nanos = path.parts.iter().map(|part| part.time).sum();
        assert_eq!((micros(&[sum, path.waiting])), [440, 0]);
        let names: Vec<String> =
            graph.parts().into_iter().map(|part| graph.name_of(part)).collect();
        let of =
            |name: &str| path.parts[names.iter().position(|known| known == name).unwrap()].time;
        let named = ["wake-up of read", "read", "left", "read to right", "right", "right to join"];
        assert_eq!(micros(&named.map(of)), [10, 90, 0, 20, 300, 5]);
    }

    /// Control takes 1.2 periods: from the second frame on, data wait for it.
    #[test]
    fn a_process_that_is_busy_makes_data_wait_and_falls_behind() {
        let graph = fixture::line();
        let frame = |n: u64| {
            let due = 1000 * n;
            let control = span(120 + 1200 * n, 1320 + 1200 * n);
            let end = 1320 + 1200 * n;
            [span(due + 10, due + 100), control, span(end + 10, end + 20)]
        };
        let frames: Vec<[Span; 3]> = (0..10).map(frame).collect();
        let found = Dissected::of(&graph, frames.iter().map(|frame| &frame[..]));
        // The data of frame n wait for 200 n − 100 + 120 µs: a period from frame 5 on.
        let path = path_at(&[&found], 0.99);
        let sum = path.parts.iter().map(|part| part.time).sum::<Nanos>() + path.waiting;
        assert_eq!(sum, *found.times.last().unwrap());
        assert!(path.waiting > graph.period);
        assert!((found.behind() - 0.4).abs() < 0.11, "{}", found.behind());
    }
}
