//! A judgement: several players, several clips, in turns.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::load::Load;
use tactus_model::random::SplitMix64;
use tactus_model::reserve::Capacity;
use tactus_model::time::Nanos;

use crate::clip::Clip;
use crate::conditions::{Conditions, PooledConditions};
use crate::findings::Findings;
use crate::pooled::Pooled;

/// What is judged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The players. A player with a reserve is one of its own.
    pub players: Vec<NamedPlayer>,
    /// The clips that each of them plays.
    pub clips: Vec<Clip>,
    /// The loads beside which it plays each of them.
    pub loads: Vec<Load>,
    /// How often.
    pub rounds: u16,
    /// What determines the order of the turns.
    pub seed: u64,
    /// The frames of a cycle of the sound server, at 48 kHz.
    pub quantum: u32,
    /// The time between two looks at the picture.
    pub look: Nanos,
}

/// A player, and what it says about its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedPlayer {
    /// Its name.
    pub name: String,
    /// Its version; empty if it is unknown.
    pub version: String,
    /// The CPU time that is guaranteed to the thread that shows its frames, and to the X server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Capacity>,
}

/// The name with the reserve: `tactus, reserve 5ms/40ms`.
impl fmt::Display for NamedPlayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.reserve.map_or(Ok(()), |capacity| write!(f, ", reserve {capacity}"))
    }
}

/// One playback of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The round, from 0.
    pub round: u16,
    /// The place of the player.
    pub player: usize,
    /// The place of the clip.
    pub clip: usize,
    /// The place of the load.
    pub load: usize,
}

impl Plan {
    /// The turns: in each round every player plays every clip beside every load, in a random order, so
    /// that a change of the machine does not become a difference between players or loads.
    pub fn turns(&self) -> Vec<Turn> {
        let mut random = SplitMix64::new(self.seed);
        let mut turns = Vec::new();
        for round in 0..self.rounds {
            let turn = |(clip, player, load)| Turn { round, player, clip, load };
            let mut those: Vec<Turn> = self.places().map(turn).collect();
            random.shuffle(&mut those);
            turns.extend(those);
        }
        turns
    }

    /// All combinations of clip, player and load: what is compared is side by side.
    fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let (players, loads) = (self.players.len(), self.loads.len());
        (0..self.clips.len() * players * loads)
            .map(move |place| (place / loads / players, place / loads % players, place % loads))
    }

    /// Whether anything is played beside a load.
    pub fn has_loads(&self) -> bool {
        self.loads.iter().any(|load| !load.is_idle())
    }

    /// Whether any player has a reserve.
    pub fn has_reserves(&self) -> bool {
        self.players.iter().any(|player| player.reserve.is_some())
    }

    /// A player beside a load in words: `mpv` or `mpv under compute`.
    pub fn side(&self, player: usize, load: usize) -> String {
        let (player, load) = (&self.players[player], &self.loads[load]);
        if load.is_idle() { player.to_string() } else { format!("{player} under {load}") }
    }

    /// A turn in words: `mpv under compute, 25 frames/s`.
    pub fn label(&self, turn: Turn) -> Label<'_> {
        Label { plan: self, turn }
    }
}

/// A turn in words.
#[derive(Clone, Copy, Debug)]
pub struct Label<'p> {
    plan: &'p Plan,
    turn: Turn,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Turn { player, clip, load, .. } = self.turn;
        let (side, clip) = (self.plan.side(player, load), &self.plan.clips[clip]);
        write!(f, "{side}, {} frames/s", clip.rate)?;
        match clip.shift.as_nanos() {
            0 => Ok(()),
            _ => write!(f, ", sound shifted by {}", clip.shift),
        }
    }
}

/// What was found in one turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Playback {
    /// The turn.
    pub turn: Turn,
    /// What was found.
    pub findings: Findings,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
    /// What limits it: a player that had to be killed, a missing half, a refused policy.
    pub notes: Vec<String>,
}

/// A turn without a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTurn {
    /// The turn.
    pub turn: Turn,
    /// Why.
    pub reason: String,
    /// What to do, if that is known.
    pub hint: Option<String>,
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What was judged.
    pub plan: Plan,
    /// What was found, in the order of the turns.
    pub playbacks: Vec<Playback>,
    /// Turns without a result.
    pub failed: Vec<FailedTurn>,
}

/// The figures of one player, one clip and one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The place of the player.
    pub player: usize,
    /// The place of the clip.
    pub clip: usize,
    /// The place of the load.
    pub load: usize,
    /// The figures of all rounds.
    pub pooled: Pooled,
    /// What the machine did meanwhile.
    pub conditions: PooledConditions,
}

impl Judgement {
    /// The figures of each clip, player and load with a result: by clips, then by players.
    pub fn rows(&self) -> Vec<Row> {
        let row = |(clip, player, load)| {
            let found: Vec<&Playback> = self.of(player, clip, load).collect();
            let findings: Vec<&Findings> = found.iter().map(|one| &one.findings).collect();
            let shown = |one: &Findings| one.frames.as_ref().map(|frames| frames.shown);
            let conditions: Vec<(&Conditions, Option<u32>)> =
                found.iter().map(|one| (&one.conditions, shown(&one.findings))).collect();
            let conditions = PooledConditions::of(&conditions);
            let pooled = Pooled::of(&findings);
            (!found.is_empty()).then_some(Row { player, clip, load, pooled, conditions })
        };
        self.plan.places().filter_map(row).collect()
    }

    /// The playbacks of a clip by a player beside a load.
    pub fn of(&self, player: usize, clip: usize, load: usize) -> impl Iterator<Item = &Playback> {
        let is_of = move |turn: Turn| (turn.player, turn.clip, turn.load) == (player, clip, load);
        self.playbacks.iter().filter(move |playback| is_of(playback.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::SignedNanos;

    fn plan() -> Plan {
        let player = |name: &str| NamedPlayer {
            name: name.to_owned(),
            version: String::new(),
            reserve: (name == "b").then(|| "5ms/40ms".parse().unwrap()),
        };
        let clip = |rate, millis| Clip {
            width: 320,
            height: 180,
            rate,
            seconds: 10,
            shift: SignedNanos::from_millis(millis),
        };
        Plan {
            players: vec![player("a"), player("b")],
            clips: vec![clip(25, 0), clip(60, -5)],
            loads: vec![Load::IDLE, "compute:2".parse().unwrap(), "disk".parse().unwrap()],
            rounds: 3,
            seed: 7,
            quantum: 1024,
            look: Nanos::from_micros(250),
        }
    }

    #[test]
    fn every_round_has_every_player_and_clip_beside_every_load() {
        let plan = plan();
        let turns = plan.turns();
        assert_eq!(turns.len(), 36);
        for round in turns.chunks(12) {
            let places = round.iter().map(|turn| (turn.player, turn.clip, turn.load));
            let places: std::collections::BTreeSet<_> = places.collect();
            assert_eq!(places.len(), 12);
            let most = |of: fn(&Turn) -> usize| round.iter().map(of).max();
            assert_eq!(most(|turn| turn.player), Some(1));
            assert_eq!(most(|turn| turn.clip), Some(1));
            assert_eq!(most(|turn| turn.load), Some(2));
        }
        assert_eq!(plan.turns(), turns, "the seed determines the order");
        let turn = Turn { round: 0, player: 1, clip: 1, load: 1 };
        let label = plan.label(turn).to_string().replace('\u{202f}', " ");
        assert_eq!(
            label,
            "b, reserve 5ms/40ms under compute:2, 60 frames/s, sound shifted by −5.00 ms"
        );
        assert_eq!(plan.side(0, 0), "a");
    }

    #[test]
    fn rows_are_those_with_a_result() {
        let turn = Turn { round: 1, player: 1, clip: 0, load: 2 };
        let (findings, conditions) = (Findings::default(), Conditions::default());
        let playback = Playback { turn, findings, conditions, notes: Vec::new() };
        let playbacks = vec![playback.clone(), playback];
        let judgement = Judgement { plan: plan(), playbacks, failed: Vec::new() };
        let rows = judgement.rows();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.player, row.clip, row.load, row.pooled.playbacks), (1, 0, 2, 2));
    }
}
