//! A judgement: several players, several clips, in turns.

use std::fmt;

use serde::{Deserialize, Serialize};
use tactus_model::random::SplitMix64;
use tactus_model::time::Nanos;

use crate::clip::Clip;
use crate::findings::Findings;
use crate::pooled::Pooled;

/// What is judged, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The players.
    pub players: Vec<NamedPlayer>,
    /// The clips that each of them plays.
    pub clips: Vec<Clip>,
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
}

impl Plan {
    /// The turns: in each round every player plays every clip, in a random order, so that a change of
    /// the machine does not become a difference between players.
    pub fn turns(&self) -> Vec<Turn> {
        let mut random = SplitMix64::new(self.seed);
        let mut turns = Vec::new();
        for round in 0..self.rounds {
            let clips = 0..self.clips.len();
            let mut those: Vec<Turn> = clips
                .flat_map(|clip| {
                    (0..self.players.len()).map(move |player| Turn { round, player, clip })
                })
                .collect();
            random.shuffle(&mut those);
            turns.extend(those);
        }
        turns
    }

    /// A turn in words: `mpv, 25 frames/s`.
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
        let Turn { player, clip, .. } = self.turn;
        let (player, clip) = (&self.plan.players[player], &self.plan.clips[clip]);
        write!(f, "{}, {} frames/s", player.name, clip.rate)?;
        match clip.shift.as_nanos() {
            0 => Ok(()),
            _ => write!(f, ", sound shifted by {}", clip.shift),
        }
    }
}

/// What was found in one turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Playback {
    /// The turn.
    pub turn: Turn,
    /// What was found.
    pub findings: Findings,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// What was judged.
    pub plan: Plan,
    /// What was found, in the order of the turns.
    pub playbacks: Vec<Playback>,
    /// Turns without a result.
    pub failed: Vec<FailedTurn>,
}

/// The figures of one player and one clip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The place of the player.
    pub player: usize,
    /// The place of the clip.
    pub clip: usize,
    /// The figures of all rounds.
    pub pooled: Pooled,
}

impl Judgement {
    /// The figures of each clip and player with a result, by clips.
    pub fn rows(&self) -> Vec<Row> {
        let pairs = (0..self.plan.clips.len())
            .flat_map(|clip| (0..self.plan.players.len()).map(move |player| (clip, player)));
        pairs
            .filter_map(|(clip, player)| {
                let found = self.of(player, clip);
                let findings: Vec<&Findings> = found.map(|playback| &playback.findings).collect();
                let pooled = Pooled::of(&findings);
                (!findings.is_empty()).then_some(Row { player, clip, pooled })
            })
            .collect()
    }

    /// The playbacks of a clip by a player.
    pub fn of(&self, player: usize, clip: usize) -> impl Iterator<Item = &Playback> {
        let is_of = move |turn: Turn| turn.player == player && turn.clip == clip;
        self.playbacks.iter().filter(move |playback| is_of(playback.turn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::SignedNanos;

    fn plan() -> Plan {
        let player = |name: &str| NamedPlayer { name: name.to_owned(), version: String::new() };
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
            rounds: 3,
            seed: 7,
            quantum: 1024,
            look: Nanos::from_micros(250),
        }
    }

    #[test]
    fn every_round_has_every_player_and_clip() {
        let plan = plan();
        let turns = plan.turns();
        assert_eq!(turns.len(), 12);
        for round in turns.chunks(4) {
            let mut places: Vec<_> = round.iter().map(|turn| (turn.player, turn.clip)).collect();
            places.sort_unstable();
            assert_eq!(places, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        }
        assert_eq!(plan.turns(), turns, "the seed determines the order");
        let turn = Turn { round: 0, player: 1, clip: 1 };
        let label = plan.label(turn).to_string().replace('\u{202f}', " ");
        assert_eq!(label, "b, 60 frames/s, sound shifted by −5.00 ms");
    }

    #[test]
    fn rows_are_those_with_a_result() {
        let turn = Turn { round: 1, player: 1, clip: 0 };
        let playback = Playback { turn, findings: Findings::default(), notes: Vec::new() };
        let playbacks = vec![playback.clone(), playback];
        let judgement = Judgement { plan: plan(), playbacks, failed: Vec::new() };
        let rows = judgement.rows();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].player, rows[0].clip, rows[0].pooled.playbacks), (1, 0, 2));
    }
}
