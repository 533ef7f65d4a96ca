//! What an item costs: a task that awaits each beat and writes an item, beside a plain loop over
//! the same tempo map. The ratio of both counts, since machines differ.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use tactus_score::{Problem, Score, Task, TempoMap, Time, beat, bpm};

fn main() {
    divan::main();
}

const ITEMS: i64 = 100_000;

fn map() -> TempoMap {
    TempoMap::new(bpm(107)).expect("a tempo")
}

/// The times alone.
#[divan::bench]
fn plain_loop(bencher: Bencher<'_, '_>) {
    let map = map();
    bencher.counter(ItemsCount::new(ITEMS as u64)).bench_local(|| {
        for step in 0..ITEMS {
            black_box(map.time(beat(step) / 3)).expect("a time");
        }
    });
}

/// So many tasks, which together write the items.
#[divan::bench(args = [1, 10, 100])]
fn tasks(bencher: Bencher<'_, '_>, tasks: i64) {
    bencher.counter(ItemsCount::new(ITEMS as u64)).bench_local(|| {
        let score = Score::new();
        let midi = score.midi("synth");
        for _ in 0..tasks {
            let map = map();
            let program = async move |s: Task| -> Result<(), Problem> {
                for step in 0..ITEMS / tasks {
                    s.at(map.time(beat(step) / 3)?).await;
                    s.play(midi.note_on(60, 1))?;
                }
                Ok(())
            };
            score.spawn("part", program).expect("a branch");
        }
        score.run_until(Time::NEVER);
        black_box(score.take_outputs());
    });
}
