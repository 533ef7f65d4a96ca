//! A judgement of players, or of a recording of a room, as text and as a page.

mod drawings;
mod sentences;
mod uncertain;

use askama::Template;
use tactus_synchrony::findings::BlindTime;
use tactus_synchrony::judgement::Row;
use tactus_synchrony::{Findings, Judgement, Pooled, SignedNanos};

use self::drawings::Section;
use crate::format;
use crate::page::ReportError;
use crate::page::frame::{Frame, written};
use crate::page::view::Table;
use crate::table::column::{Column, Entry};
use crate::table::{TableOptions, grid};
use crate::wrap::{hanging, wrapped};

/// Writes a judgement: what it says, the figures of each player, and what limits them.
pub fn synchrony_text(judgement: &Judgement, options: &TableOptions) -> String {
    let rows = judgement.rows();
    let findings = sentences::findings(judgement, &rows);
    let notes = sentences::notes(judgement);
    text(&findings, columns(judgement, &rows), &notes, options)
}

/// Writes a judgement as a page with its drawings.
///
/// # Errors
/// The page could not be put together.
pub fn synchrony_page(judgement: &Judgement) -> Result<String, ReportError> {
    let rows = judgement.rows();
    let page = Page {
        title: sentences::title(judgement),
        findings: sentences::findings(judgement, &rows),
        tables: tables(columns(judgement, &rows)),
        sections: drawings::sections(judgement),
        notes: sentences::notes(judgement),
        meanings: sentences::MEANINGS.iter().chain(&sentences::OBSERVERS).copied().collect(),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

/// Writes the findings in a recording of a room.
pub fn room_text(findings: &Findings, options: &TableOptions) -> String {
    let pooled = Pooled::of(&[findings]);
    text(&[sentences::room(&pooled)], room_columns(&pooled), &[], options)
}

/// Writes the findings in a recording of a room as a page.
///
/// # Errors
/// The page could not be put together.
pub fn room_page(findings: &Findings) -> Result<String, ReportError> {
    let pooled = Pooled::of(&[findings]);
    let page = Page {
        title: "Sound and picture in a room".to_owned(),
        findings: vec![sentences::room(&pooled)],
        tables: tables(room_columns(&pooled)),
        sections: vec![drawings::room(findings)],
        notes: Vec::new(),
        meanings: sentences::MEANINGS.to_vec(),
        frame: Frame::new("", &[]),
    };
    Ok(written(&page)?)
}

#[derive(Template)]
#[template(path = "synchrony.html")]
struct Page {
    title: String,
    findings: Vec<String>,
    tables: Vec<Table>,
    sections: Vec<Section>,
    notes: Vec<String>,
    meanings: Vec<&'static str>,
    frame: Frame,
}

fn text(
    findings: &[String],
    columns: Vec<Column>,
    notes: &[String],
    options: &TableOptions,
) -> String {
    let width = options.width;
    let mut text = String::new();
    findings.iter().for_each(|one| text.push_str(&wrapped(one, "", width)));
    text.push('\n');
    text.push_str(&grid(columns, width));
    text.push('\n');
    text.push_str(&wrapped(sentences::SIGN, "", width));
    notes.iter().for_each(|one| text.push_str(&hanging("note: ", one, "  ", width)));
    text
}

/// The first column of the second table of a page.
const SECOND: &str = "unpaired";

/// The columns in two tables, since a page has no room for all side by side: what the player did, and how
/// it was observed on which machine. Both begin with what names a row.
fn tables(columns: Vec<Column>) -> Vec<Table> {
    let place = |head: &str| columns.iter().position(|column| column.head == head);
    let (Some(names), Some(second)) = (place("pairs"), place(SECOND)) else {
        return vec![Table::of(columns)];
    };
    let mut first = columns;
    let mut rest = first.split_off(second);
    rest.splice(..0, first[..names].iter().cloned());
    vec![Table::of(first), Table::of(rest)]
}

fn columns(judgement: &Judgement, rows: &[Row]) -> Vec<Column> {
    let plan = &judgement.plan;
    let player = |row: &Row| Entry::text(plan.players[row.player].name.clone());
    let mut columns = vec![Column::names("player", rows, player)];
    if plan.has_reserves() {
        let reserve = |row: &Row| {
            plan.players[row.player]
                .reserve
                .map_or_else(nothing, |one| Entry::text(one.to_string()))
        };
        columns.push(Column::of("reserve", rows, reserve));
    }
    if plan.has_loads() {
        let load = |row: &Row| Entry::text(plan.loads[row.load].to_string());
        columns.push(Column::names("load", rows, load));
    }
    columns
        .push(Column::of("frames/s", rows, |row| Entry::count(plan.clips[row.clip].rate.into())));
    if plan.has_shifts() {
        let shift = |row: &Row| signed(Some(plan.clips[row.clip].shift));
        columns.push(Column::of("shift", rows, shift).meaning("planted: sound of the clip"));
    }
    columns.extend(figures(rows, |row: &Row| &row.pooled));
    columns.extend(conditions(rows));
    columns
}

fn conditions(rows: &[Row]) -> Vec<Column> {
    let share = |share: Option<f64>| {
        share.map_or_else(nothing, |share| {
            let thousandths = (share * 100_000.0).round() as u64;
            Entry::number(format::share(thousandths, 100_000), thousandths)
        })
    };
    vec![
        Column::of("CPU/frame", rows, |row| Entry::latency(row.conditions.cpu_per_frame))
            .meaning("CPU time of the player's processes for each frame that appeared")
            .dispensable(2),
        Column::of("busy", rows, move |row| share(row.conditions.busy))
            .grouped(MACHINE)
            .meaning("share of the time of all CPUs that was not idle")
            .dispensable(6),
        Column::of("steal", rows, move |row| share(row.conditions.steal))
            .grouped(MACHINE)
            .meaning("share of the time of all CPUs that the hypervisor took")
            .dispensable(5),
    ]
}

fn room_columns(pooled: &Pooled) -> Vec<Column> {
    let figures = figures(std::slice::from_ref(pooled), |pooled| pooled);
    figures.into_iter().filter(|column| !column.group.starts_with("frames")).collect()
}

const OFFSET: &str = "sound − picture";
const FRAMES: &str = "frames";
const BLIND: &str = "blind";
const MACHINE: &str = "machine";

fn figures<T>(rows: &[T], of: fn(&T) -> &Pooled) -> Vec<Column> {
    let frames = |entry: fn(&tactus_synchrony::pooled::FrameCounts) -> u32| {
        move |row: &T| of(row).frames.as_ref().map_or_else(nothing, |frames| count(entry(frames)))
    };
    vec![
        Column::of("pairs", rows, |row| count(of(row).offset.map_or(0, |one| one.count as u32)))
            .meaning("flashes with their tones")
            .dispensable(6),
        Column::of("median", rows, |row| signed(of(row).offset.map(|one| one.median)))
            .grouped(OFFSET),
        // Of fewer, it is the worst.
        Column::of("p99", rows, |row| {
            Entry::latency(of(row).offset.filter(|one| one.count >= 100).map(|one| one.p99))
        })
        .grouped(OFFSET)
        .meaning("distance from zero that 99 % do not exceed")
        .dispensable(1),
        Column::of("worst", rows, |row| signed(of(row).offset.map(|one| one.worst)))
            .grouped(OFFSET),
        Column::of("noticed", rows, |row| {
            let Pooled { offset, rating, .. } = of(row);
            let total = offset.map_or(0, |one| one.count as u64);
            let noticed = rating.detectable as u64;
            Entry::number(format::share(noticed, total), noticed)
        })
        .meaning("share of offsets that viewers detect, by ITU-R BT.1359")
        .dispensable(3),
        Column::of("drift/min", rows, |row| signed(of(row).drift_per_minute))
            .meaning("growth of sound − picture in a minute")
            .dispensable(2),
        Column::of("slip", rows, |row| signed(of(row).slip))
            .meaning("how far picture or sound fell behind wall time, at most"),
        Column::of("shown", rows, frames(|frames| frames.shown)).grouped(FRAMES).dispensable(5),
        Column::of("dropped", rows, frames(|frames| frames.dropped)).grouped(FRAMES),
        Column::of("outside", rows, frames(|frames| frames.outside))
            .grouped(FRAMES)
            .meaning("before the first frame that was shown, and after the last one")
            .dispensable(5),
        Column::of("repeated", rows, frames(|frames| frames.repeated)).grouped(FRAMES),
        Column::of("phase p99", rows, |row| Entry::latency(of(row).phase_p99()))
            .grouped(FRAMES)
            .meaning("distance from a regular sequence that 99 % of the frames do not exceed")
            .dispensable(1),
        Column::of("unpaired", rows, |row| count(of(row).unpaired))
            .meaning("flashes without a tone, and tones without a flash")
            .dispensable(4),
        Column::of("unobserved", rows, |row| {
            let frames = of(row).frames.map_or(0, |frames| frames.unobserved);
            count(frames + of(row).unobserved)
        })
        .meaning("frames and flashes that came while nobody looked or listened")
        .dispensable(4),
        Column::of("picture", rows, |row| blind(of(row).blind_picture))
            .grouped(BLIND)
            .meaning("longest time in which the photodiode did not look")
            .dispensable(7),
        Column::of("sound", rows, |row| blind(of(row).blind_sound))
            .grouped(BLIND)
            .meaning("longest time in which the microphone did not listen")
            .dispensable(7),
    ]
}

fn count(count: u32) -> Entry {
    Entry::count(count.into())
}

fn nothing() -> Entry {
    Entry::text(format::NOTHING)
}

fn signed(value: Option<SignedNanos>) -> Entry {
    value.map_or_else(nothing, |value| {
        Entry::number(value.to_string(), value.magnitude().as_nanos())
    })
}

fn blind(time: Option<BlindTime>) -> Entry {
    Entry::latency(time.map(|time| time.worst))
}

#[cfg(test)]
mod tests;
