//! What makes figures uncertain: a busy machine, few pairs, and pairs far apart.

use tactus_model::time::Nanos;
use tactus_synchrony::conditions::PooledConditions;
use tactus_synchrony::judgement::{Playback, Row};
use tactus_synchrony::{Judgement, SignedNanos};

use crate::format;

/// A share of the time of all CPUs from which on the machine decides what comes out.
const BUSY: f64 = 0.9;
/// The same for what the hypervisor takes: 20 ms of each second of a CPU.
const STOLEN: f64 = 0.02;
/// Of fewer pairs, no median is compared.
const PAIRS_LEAST: usize = 8;
/// Of fewer playbacks, neither: a player may begin badly.
const PLAYBACKS_LEAST: usize = 2;
/// How far the median may be uncertain without a note.
const UNCERTAIN_MOST: Nanos = Nanos::from_millis(10);

/// Why no player is said to be closest; `None` if one is.
pub(super) fn no_closest(judgement: &Judgement, rows: &[Row]) -> Option<String> {
    let loads = &judgement.plan.loads;
    let compared = || rows.iter().filter(|row| loads[row.load].is_idle());
    let pairs = |row: &Row| row.pooled.offset.map_or(0, |offset| offset.count);
    let few = compared().filter(|row| pairs(row) > 0).min_by_key(|row| pairs(row))?;
    let turns = |player: usize| -> usize {
        compared().filter(|row| row.player == player).map(|row| row.pooled.playbacks).sum()
    };
    let once = compared().any(|row| turns(row.player) < PLAYBACKS_LEAST);
    if pairs(few) < PAIRS_LEAST {
        let name = &judgement.plan.players[few.player];
        let pairs = format::counted(pairs(few) as u64, "pair");
        return Some(format!("{name} has {pairs}, and {PAIRS_LEAST} are the least"));
    }
    if once {
        return Some(
            "a comparison takes two turns of each player at least (--rounds 2)".to_owned(),
        );
    }
    let is_busy = compared().any(|row| {
        let PooledConditions { busy, steal, .. } = row.conditions;
        busy.is_some_and(|busy| busy > BUSY) || steal.is_some_and(|steal| steal > STOLEN)
    });
    is_busy.then(|| "the machine had other work".to_owned())
}

/// That the machine was busy without a load of the plan, or the hypervisor took CPU time.
pub(super) fn busy(judgement: &Judgement) -> Option<String> {
    let loads = &judgement.plan.loads;
    let of = |playback: &Playback| PooledConditions::of(&[(&playback.conditions, None)]);
    let is_busy = |(idle, turn): &(bool, PooledConditions)| {
        (*idle && turn.busy.is_some_and(|busy| busy > BUSY))
            || turn.steal.is_some_and(|steal| steal > STOLEN)
    };
    let turns = judgement.playbacks.iter().map(|one| (loads[one.turn.load].is_idle(), of(one)));
    let busy: Vec<PooledConditions> = turns.filter(is_busy).map(|(_, turn)| turn).collect();
    let most = |of: fn(&PooledConditions) -> Option<f64>| {
        busy.iter().filter_map(of).max_by(f64::total_cmp)
    };
    let parts = [
        most(|turn| turn.busy).map(|busy| format!("CPUs busy {}", format::percent(busy))),
        most(|turn| turn.steal)
            .filter(|steal| *steal > STOLEN)
            .map(|steal| format!("steal {}", format::percent(steal))),
        most(|turn| turn.load_average).map(|average| format!("load average {average:.1}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let turns = format::counted(judgement.playbacks.len() as u64, "turn");
    (!busy.is_empty()).then(|| {
        format!(
            "{} (at most) in {} of {turns}: these figures show the machine, not the player",
            parts.join(", "),
            busy.len()
        )
    })
}

/// The medians that few pairs, or pairs far apart, leave uncertain.
pub(super) fn medians(judgement: &Judgement) -> Vec<String> {
    let plan = &judgement.plan;
    let uncertain = |row: &Row| {
        let playbacks = judgement.of(row.player, row.clip, row.load);
        let pairs = playbacks.flat_map(|playback| &playback.findings.pairs);
        let mut offsets: Vec<SignedNanos> = pairs.map(|pair| pair.offset).collect();
        offsets.sort_unstable();
        let (low, high) = interval(&offsets)?;
        let is_few = offsets.len() < PAIRS_LEAST;
        let turn = judgement.of(row.player, row.clip, row.load).next()?.turn;
        (is_few || (high - low).magnitude() > UNCERTAIN_MOST).then(|| {
            format!(
                "{}: the median is of {}, and may be anywhere from {low} to {high}; more rounds or a longer clip say more",
                plan.label(turn),
                format::counted(offsets.len() as u64, "pair"),
            )
        })
    };
    judgement.rows().iter().filter_map(uncertain).collect()
}

/// Where the median of what ascending values are a sample of is in 19 of 20 cases, by their order: all of
/// them if they are few.
fn interval(ascending: &[SignedNanos]) -> Option<(SignedNanos, SignedNanos)> {
    let count = ascending.len();
    let outside = match count {
        PAIRS_LEAST.. => ((count as f64 - 1.96 * (count as f64).sqrt()) / 2.0).max(0.0) as usize,
        _ => 0,
    };
    Some((*ascending.get(outside)?, *ascending.get(count - 1 - outside)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_many_pairs_is_more_certain() {
        let interval = |count: i64| {
            let values: Vec<SignedNanos> = (1..=count).map(SignedNanos::from_millis).collect();
            let (low, high) = interval(&values)?;
            Some((low.as_nanos() / 1_000_000, high.as_nanos() / 1_000_000))
        };
        assert_eq!(interval(0), None);
        assert_eq!(interval(5), Some((1, 5)));
        assert_eq!(interval(8), Some((2, 7)));
        assert_eq!(interval(100), Some((41, 60)));
    }
}
