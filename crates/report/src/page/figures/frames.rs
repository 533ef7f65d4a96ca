//! The drawings of players: desired and achieved rates, and frames over ticks.

use num_rational::Ratio;
use tactus_model::frames::{FramesProbe, PlayerKind, Rate, Tick, TickShift};
use tactus_model::label::differing_settings;
use tactus_stats::frames::{FrameModel, SkippedShifts, expected};

use super::Figure;
use crate::summary::CellResult;
use crate::svg::frames::{self, FRAMES_DRAWN, Players};
use crate::svg::style::CurveStyle;

/// The most patterns that are drawn, those that lose most frames.
const PATTERNS: usize = 3;

/// The number of points on a line of the model.
const STEPS: u64 = 240;

/// The drawings of the players among these cells; empty without players.
pub(super) fn figures(results: &[&CellResult<'_>]) -> Vec<Figure> {
    let players: Vec<(&CellResult<'_>, &FramesProbe)> =
        results.iter().filter_map(|result| Some((*result, result.cell.probe.frames()?))).collect();
    if players.is_empty() {
        return Vec::new();
    }
    let rates = Figure {
        title: "Frames per second, desired and achieved",
        about: "A player shows no frame early and skips a frame that is late by more than half its slot \
            (Etsion 2003, Figure 1), or shows the latest frame that is due. Lines are the closed form; dots are \
            measured, on timers rounded to ticks or on this kernel's own timers."
            .to_owned(),
        panels: rates(&players),
        folded: Vec::new(),
    };
    let patterns = Figure {
        title: "Frames and ticks",
        about: "A frame is shown if a tick falls into the first half of its slot (Etsion 2003, Figure 5); a \
            cross marks a skipped frame. Only the patterns that lose most frames are drawn. If the ticks \
            swept through all shifts, the drawing is at a shift that skips the second frame."
            .to_owned(),
        panels: patterns(&players),
        folded: Vec::new(),
    };
    [rates, patterns].into_iter().filter(|figure| !figure.panels.is_empty()).collect()
}

/// All of these drawings, without titles and captions.
pub(crate) fn panels(results: &[&CellResult<'_>]) -> Vec<String> {
    figures(results).into_iter().flat_map(|figure| figure.panels).collect()
}

/// One drawing per combination of the settings other than frame rate and tick.
fn rates(players: &[(&CellResult<'_>, &FramesProbe)]) -> Vec<String> {
    let cells: Vec<_> = players.iter().map(|(result, _)| result.cell.clone()).collect();
    let differing = differing_settings(&cells);
    let mut ticks: Vec<Tick> = players.iter().map(|(_, probe)| probe.tick).collect();
    ticks.sort_unstable();
    ticks.dedup();
    let mut groups: Vec<(String, Vec<(&CellResult<'_>, &FramesProbe)>)> = Vec::new();
    for (result, probe) in players {
        let others = result
            .cell
            .settings()
            .filter(|(name, _)| differing.contains(name) && !["frame-rate", "tick"].contains(name));
        let head: Vec<String> = others.map(|(name, value)| format!("{name} {value}")).collect();
        let head = head.join(" · ");
        match groups.iter_mut().find(|(title, _)| *title == head) {
            Some((_, group)) => group.push((result, probe)),
            None => groups.push((head, vec![(result, probe)])),
        }
    }
    // A drawing of a single player has no more than its table row.
    let several = groups.iter().any(|(_, group)| group.len() > 1);
    groups
        .iter()
        .filter(|(_, group)| group.len() > 1 || !several)
        .map(|(head, group)| {
            let curves: Vec<Players> = ticks
                .iter()
                .enumerate()
                .filter_map(|(number, tick)| of_tick(group, *tick, CurveStyle::numbered(number)))
                .collect();
            frames::rates(head, &curves).inline()
        })
        .collect()
}

fn of_tick(
    group: &[(&CellResult<'_>, &FramesProbe)],
    tick: Tick,
    style: CurveStyle,
) -> Option<Players> {
    let members: Vec<_> = group.iter().filter(|(_, probe)| probe.tick == tick).collect();
    let (_, probe) = members.first()?;
    let most = group.iter().map(|(_, probe)| probe.frame_rate).max()?;
    let model = (1..=STEPS).filter_map(|step| {
        let frame_rate = Rate::of_ratio(most.per_second() * Ratio::new(step, STEPS))?;
        let expected = expected(&FramesProbe { frame_rate, ..(*probe).clone() });
        Some((frame_rate.as_f64(), *expected.numer() as f64 / *expected.denom() as f64))
    });
    let measured = members.iter().filter_map(|(result, _)| {
        let players = result.players()?;
        Some((players.desired, players.achieved))
    });
    Some(Players {
        name: match tick {
            Tick::None => "real timers".to_owned(),
            Tick::Every(rate) => format!("{rate} ticks/s"),
        },
        style,
        model: [(0.0, 0.0)].into_iter().chain(model).collect(),
        measured: measured.collect(),
    })
}

fn patterns(players: &[(&CellResult<'_>, &FramesProbe)]) -> Vec<String> {
    let mut drawn: Vec<(FrameModel, Rate, Rate, Ratio<u64>)> = Vec::new();
    // The other rule loses frames only if a slot has no tick.
    let of_the_paper = players.iter().filter(|(_, probe)| probe.player == PlayerKind::HalfSlot);
    for (_, probe) in of_the_paper {
        let Tick::Every(ticks) = probe.tick else { continue };
        let model = FrameModel::new(probe.frame_rate, ticks);
        let few = (2..=FRAMES_DRAWN).contains(&model.pattern_frames());
        let shift = match probe.tick_shift {
            TickShift::At(shift) => Some(FrameModel::shift_of(shift, ticks)),
            TickShift::Sweep => middle_of_skipped(&model),
        };
        if let (true, Some(shift)) = (few, shift)
            && !drawn.iter().any(|(other, .., at)| (other, at) == (&model, &shift))
        {
            drawn.push((model, probe.frame_rate, ticks, shift));
        }
    }
    let shown = |(model, .., shift): &(FrameModel, Rate, Rate, Ratio<u64>)| {
        Ratio::new(model.shown_at(*shift), model.pattern_frames())
    };
    drawn.sort_by_key(shown);
    drawn.truncate(PATTERNS);
    drawn
        .iter()
        .map(|(_, frames, ticks, shift)| frames::pattern(*frames, *ticks, *shift).inline())
        .collect()
}

/// The middle of the shifts that skip the second frame; `None` if no shift does.
fn middle_of_skipped(model: &FrameModel) -> Option<Ratio<u64>> {
    let SkippedShifts { above, below } = model.skipped_shifts(1)?;
    let below = if below <= above { below + Ratio::from_integer(1) } else { below };
    Some(((above + below) / 2).fract())
}
