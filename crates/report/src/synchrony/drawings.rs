//! The drawings of a judgement: offsets over time, their distribution, and times between frames.

use tactus_model::time::Nanos;
use tactus_stats::PercentileAxis;
use tactus_synchrony::thresholds::{ACCEPTABLE, DETECTABLE, Threshold};
use tactus_synchrony::{Clip, Findings, Judgement, ShownFrame};

use super::sentences::planted;
use crate::svg::over_time::{self, Points};
use crate::svg::percentiles::{self, Curve};
use crate::svg::style::CurveStyle;

/// Drawings with their heading.
pub(super) struct Section {
    pub(super) heading: String,
    pub(super) about: &'static str,
    pub(super) drawings: Vec<String>,
}

const OFFSETS: &str = "A dot is a flash with its tone. Panels of one rate have the same axes.";
const DISTRIBUTION: &str = "How far sound and picture were apart, without the sign.";
const INTERVALS: &str = "The time from one frame to the next, in the first playback of each player. A triangle at the lower edge is a dropped frame.";

/// The least range of a vertical axis, in milliseconds.
const RANGE_LEAST: f64 = 5.0;

pub(super) fn sections(judgement: &Judgement) -> Vec<Section> {
    let clips = judgement.plan.clips.iter().enumerate();
    clips.flat_map(|(place, clip)| of_clip(judgement, place, clip)).collect()
}

/// What a player's playbacks of a clip are drawn from.
struct Drawn<'j> {
    name: String,
    style: CurveStyle,
    findings: Vec<&'j Findings>,
}

fn of_clip(judgement: &Judgement, place: usize, clip: &Clip) -> Vec<Section> {
    let plan = &judgement.plan;
    let sides = (0..plan.players.len())
        .flat_map(|player| (0..plan.loads.len()).map(move |load| (player, load)));
    let drawn: Vec<Drawn<'_>> = sides
        .map(|(player, load)| {
            let playbacks = judgement.of(player, place, load);
            Drawn {
                name: plan.side(player, load),
                style: CurveStyle::crossed(player, load),
                findings: playbacks.map(|playback| &playback.findings).collect(),
            }
        })
        .filter(|drawn| !drawn.findings.is_empty())
        .collect();
    let rate = clip.rate;
    let planted = planted(clip);
    let heading = |what: &str| format!("{what} at {rate} frames/s{planted}");
    let sections = [
        Section {
            heading: heading("Sound − picture over time"),
            about: OFFSETS,
            drawings: offsets(&drawn),
        },
        Section {
            heading: heading("Distribution of |sound − picture|"),
            about: DISTRIBUTION,
            drawings: distribution(&drawn).into_iter().collect(),
        },
        Section {
            heading: heading("Time between frames"),
            about: INTERVALS,
            drawings: intervals(&drawn, clip),
        },
    ];
    sections.into_iter().filter(|section| !section.drawings.is_empty()).collect()
}

/// The drawing of a recording of a room.
pub(super) fn room(findings: &Findings) -> Section {
    let drawn = [Drawn {
        name: "recording".to_owned(),
        style: CurveStyle::numbered(0),
        findings: vec![findings],
    }];
    let heading = "Sound − picture over time".to_owned();
    Section { heading, about: "A dot is a flash with its tone.", drawings: offsets(&drawn) }
}

fn millis(nanos: f64) -> f64 {
    nanos / 1e6
}

fn offsets(drawn: &[Drawn<'_>]) -> Vec<String> {
    let points = |drawn: &Drawn<'_>| {
        let pairs = drawn.findings.iter().flat_map(|found| &found.pairs);
        pairs.map(|pair| (pair.at.as_secs_f64(), millis(pair.offset.as_f64()))).collect::<Vec<_>>()
    };
    let all: Vec<(&Drawn<'_>, Vec<(f64, f64)>)> =
        drawn.iter().map(|drawn| (drawn, points(drawn))).collect();
    let shared = over_time::Shared {
        quantity: "sound − picture",
        seconds: seconds(all.iter().flat_map(|(_, points)| points)),
        range: range(all.iter().flat_map(|(_, points)| points), 0.0),
        limits: [DETECTABLE, ACCEPTABLE].iter().flat_map(limits).collect(),
    };
    panels(all.into_iter().map(|(drawn, points)| (drawn, points, Vec::new())), &shared)
}

fn limits(threshold: &Threshold) -> [(String, f64); 2] {
    let Threshold { name, early, late } = threshold;
    let limit = |side: &str, millis: f64| (format!("{name} ({side})"), millis);
    [limit("early", millis(early.as_f64())), limit("late", millis(late.as_f64()))]
}

fn panels<'d>(
    all: impl Iterator<Item = (&'d Drawn<'d>, Vec<(f64, f64)>, Vec<f64>)>,
    shared: &over_time::Shared,
) -> Vec<String> {
    all.filter(|(_, points, _)| !points.is_empty())
        .map(|(drawn, points, lost)| {
            let Drawn { name, style, .. } = drawn;
            let name = name.clone();
            over_time::panel(&Points { name, style: *style, points, lost }, shared).inline()
        })
        .collect()
}

fn seconds<'p>(points: impl Iterator<Item = &'p (f64, f64)>) -> f64 {
    points.map(|(seconds, _)| *seconds).fold(1.0, f64::max).ceil()
}

/// A range with all these values and `always`, with some room.
fn range<'p>(points: impl Iterator<Item = &'p (f64, f64)>, always: f64) -> (f64, f64) {
    let (low, high) = points
        .fold((always, always), |(low, high), (_, value)| (low.min(*value), high.max(*value)));
    let room = ((high - low) * 0.1).max((RANGE_LEAST - (high - low)) / 2.0);
    (low - room, high + room)
}

fn distribution(drawn: &[Drawn<'_>]) -> Option<String> {
    let curves: Vec<Curve> = drawn.iter().filter_map(curve).collect();
    let shared = percentiles::Shared::of(PercentileAxis::Reciprocal, curves.iter())
        .of_quantity("|sound − picture|");
    (!curves.is_empty()).then(|| percentiles::panel("", &curves, &shared).inline())
}

fn curve(drawn: &Drawn<'_>) -> Option<Curve> {
    let pairs = drawn.findings.iter().flat_map(|found| &found.pairs);
    let mut all: Vec<Nanos> = pairs.map(|pair| pair.offset.magnitude()).collect();
    all.sort_unstable();
    let count = all.len() as f64;
    let points: Vec<(f64, Nanos)> =
        all.into_iter().enumerate().map(|(place, offset)| (place as f64 / count, offset)).collect();
    let Drawn { name, style, .. } = drawn;
    (!points.is_empty()).then(|| Curve { name: name.clone(), style: *style, points })
}

fn intervals(drawn: &[Drawn<'_>], clip: &Clip) -> Vec<String> {
    let of = |drawn: &Drawn<'_>| {
        let frames = drawn.findings.iter().find_map(|found| found.frames.as_ref());
        let appeared = frames.map(|frames| &frames.appeared[..]).unwrap_or_default();
        let points = appeared.windows(2).map(interval).collect::<Vec<_>>();
        let skips = appeared.windows(2).filter(|pair| pair[1].number > pair[0].number + 1);
        (points, skips.map(|pair| pair[1].at.as_secs_f64()).collect::<Vec<_>>())
    };
    let all: Vec<_> = drawn.iter().map(|drawn| (drawn, of(drawn))).collect();
    let period = millis(clip.period().as_nanos() as f64);
    let points = || all.iter().flat_map(|(_, (points, _))| points);
    let highest = points().map(|(_, value)| *value).fold(2.0 * period, f64::max);
    let shared = over_time::Shared {
        quantity: "time between frames",
        seconds: seconds(points()),
        range: (0.0, highest * 1.05),
        limits: vec![("period".to_owned(), period)],
    };
    panels(all.into_iter().map(|(drawn, (points, lost))| (drawn, points, lost)), &shared)
}

/// When a frame appeared, and how long after the one before it.
fn interval(pair: &[ShownFrame]) -> (f64, f64) {
    let after = pair[1].at - pair[0].at;
    (pair[1].at.as_secs_f64(), millis(after.as_nanos() as f64))
}
