//! What a judgement looks like.

use tactus_model::load::Load;
use tactus_model::result::{LoadResult, MachineRates};
use tactus_model::time::Nanos;
use tactus_synchrony::judgement::{FailedTurn, NamedPlayer, Plan, Playback, Turn};
use tactus_synchrony::observed::{Change, Observed, Picture, Sound, Span, Tone};
use tactus_synchrony::{Clip, Conditions, Moment};

use super::*;

const ORIGIN: Moment = Moment::from_nanos(1_000_000_000);

fn at(nanos: u64) -> Moment {
    ORIGIN + Nanos::from_nanos(nanos)
}

/// A playback whose sound is late by so many ms, and that drops every frame of a number.
fn findings(clip: &Clip, late: u64, dropped: u16) -> Findings {
    let change = |number: u16| {
        let from = at(300_000_000 + clip.time_of(number).as_nanos());
        let when = Span { from, to: from + Nanos::from_micros(250) };
        Change { when, number: Some(number), is_bright: clip.is_bright(number) }
    };
    let numbers = (0..clip.frames() as u16).filter(|number| !(number + 7).is_multiple_of(dropped));
    let picture = Picture { changes: numbers.map(change).collect(), blind: Vec::new() };
    let tone = |mark: u16| Tone {
        at: at(300_000_000 + Clip::mark_time(mark).as_nanos() + late * 1_000_000),
        pitch: Some((mark % 8) as u8),
    };
    let blind = vec![Span { from: at(0), to: at(20_000_000) }];
    let sound = Sound { tones: (0..clip.marks()).map(tone).collect(), blind };
    Findings::of(clip, &Observed { origin: ORIGIN, picture: Some(picture), sound: Some(sound) })
}

fn judgement() -> Judgement {
    let clip = |rate| Clip { width: 640, height: 360, rate, seconds: 10, shift: SignedNanos::ZERO };
    let player =
        |name: &str| NamedPlayer { name: name.to_owned(), version: "1".to_owned(), reserve: None };
    let plan = Plan {
        players: vec![player("mpv"), player("<b>"), player("missing")],
        clips: vec![clip(25), clip(60)],
        loads: vec![Load::IDLE],
        rounds: 2,
        seed: 1,
        quantum: 1024,
        look: Nanos::from_micros(250),
    };
    let playback = |round: u16, player: usize, clip: usize| Playback {
        turn: Turn { round, player, clip, load: 0 },
        conditions: conditions(),
        findings: findings(
            &plan.clips[clip],
            4 + 60 * player as u64,
            if player == 0 { 500 } else { 50 },
        ),
        notes: vec!["it ended with exit status: 3".to_owned(); player],
    };
    let places = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1), (0, 1, 1)];
    let playbacks =
        places.into_iter().map(|(round, player, clip)| playback(round, player, clip)).collect();
    let failed = vec![FailedTurn {
        turn: Turn { round: 0, player: 2, clip: 0, load: 0 },
        reason: "`missing` is not installed".to_owned(),
        hint: Some("apt-get install missing".to_owned()),
    }];
    Judgement { plan, playbacks, failed }
}

fn conditions() -> Conditions {
    let machine = MachineRates {
        over: Nanos::from_secs(10),
        busy: Some(Nanos::from_secs(15)),
        steal: Some(Nanos::from_millis(200)),
        ..MachineRates::default()
    };
    let load = LoadResult::default();
    Conditions { load, machine, cpus: 2, player_cpu: Some(Nanos::from_secs(1)) }
}

/// The same beside a load, and one of the players with a reserve.
fn loaded() -> Judgement {
    let mut judgement = judgement();
    let plan = &mut judgement.plan;
    plan.loads.push("compute:2".parse().unwrap());
    plan.players[2] =
        NamedPlayer { reserve: Some("5ms/40ms".parse().unwrap()), ..plan.players[0].clone() };
    judgement.failed.clear();
    let mut under = judgement.playbacks.clone();
    for playback in &mut under {
        playback.turn.load = 1;
        playback.conditions.load.operations = Some(u64::from(playback.turn.player == 0));
    }
    judgement.playbacks.extend(under);
    judgement
}

#[test]
fn loads_and_reserves_are_side_by_side() {
    insta::assert_snapshot!(synchrony_text(&loaded(), &TableOptions::of_width(180)));
    let page = synchrony_page(&loaded()).unwrap();
    assert_eq!(page.matches("<svg").count(), 18);
}

#[test]
fn the_text_has_a_row_for_each_player_and_rate() {
    insta::assert_snapshot!(synchrony_text(&judgement(), &TableOptions::of_width(140)));
}

#[test]
fn a_narrow_terminal_keeps_what_matters() {
    let text = synchrony_text(&judgement(), &TableOptions::of_width(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("median") && text.contains("dropped"), "{text}");
}

#[test]
fn a_page_has_its_drawings_and_hostile_names_stay_text() {
    let page = synchrony_page(&judgement()).unwrap();
    // Offsets and intervals of two players at two rates, and two distributions.
    assert_eq!(page.matches("<svg").count(), 10);
    assert!(!page.contains("<b>") && !page.contains("NaN"), "{page}");
    assert!(page.contains("fix: apt-get install missing"));
}

#[test]
fn a_judgement_without_results_says_so() {
    let judgement = Judgement { playbacks: Vec::new(), ..judgement() };
    let text = synchrony_text(&judgement, &TableOptions::of_width(100));
    assert!(text.starts_with("No player was judged."), "{text}");
    assert_eq!(synchrony_page(&judgement).unwrap().matches("<svg").count(), 0);
}

#[test]
fn nobody_is_closest_on_a_busy_machine_or_by_few_pairs() {
    let text = |judgement: &Judgement| {
        let text = synchrony_text(judgement, &TableOptions::of_width(100));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let known = judgement();
    assert!(text(&known).starts_with("mpv is closest"), "{}", text(&known));
    assert!(!text(&known).contains("the machine, not the player"));

    let mut busy = judgement();
    for playback in &mut busy.playbacks {
        playback.conditions.machine.busy = Some(Nanos::from_millis(19_800));
        playback.conditions.machine.load_average = Some(23.0);
    }
    let said = text(&busy);
    assert!(said.starts_with("Which player is closest is not known: the machine"), "{said}");
    assert!(said.contains("CPUs busy 99 %") || said.contains("CPUs busy 99.0 %"), "{said}");
    assert!(said.contains("in 6 of 6 turns: these figures show the machine, not"), "{said}");

    let mut once = judgement();
    once.playbacks.retain(|playback| (playback.turn.round, playback.turn.clip) == (0, 0));
    let said = text(&once);
    assert!(said.contains("a comparison takes two turns of each player"), "{said}");

    let clip = Clip { seconds: 6, ..known.plan.clips[0] };
    let mut few = judgement();
    few.playbacks.retain(|playback| playback.turn.player == 0);
    few.playbacks.truncate(1);
    few.playbacks[0].findings = findings(&clip, 4, 500);
    let said = text(&few);
    assert!(said.contains("the median is of 5 pairs, and may be"), "{said}");
    few.playbacks.push(few.playbacks[0].clone());
    few.playbacks[1].turn.player = 1;
    let said = text(&few);
    assert!(said.contains("mpv has 5 pairs, and 8 are the least"), "{said}");
}

#[test]
fn a_page_has_its_figures_in_two_tables_and_no_latency() {
    let page = synchrony_page(&judgement()).unwrap();
    assert_eq!(page.matches("<table").count(), 2);
    assert!(page.contains(">|sound − picture|<") && !page.contains(">latency<"), "{page}");
}

#[test]
fn a_room_is_rated() {
    let clip = Clip { width: 640, height: 360, rate: 25, seconds: 10, shift: SignedNanos::ZERO };
    let text = room_text(&findings(&clip, 150, 500), &TableOptions::of_width(100));
    assert!(text.starts_with("The sound comes 150"), "{text}");
    assert!(text.contains("Viewers detect 100"), "{text}");
    let text = room_text(&findings(&clip, 15, 500), &TableOptions::of_width(400));
    assert!(text.contains("within the detection thresholds of ITU-R BT.1359"), "{text}");
    assert!(text.contains("The slip is"), "{text}");
    assert!(room_page(&findings(&clip, 150, 500)).unwrap().contains("<svg"));
}
