//! What each service of the clock costs here, and how late it is: in a thread of `fifo:80`, if that
//! is permitted.

use tactus_prepare::ThreadRef;
use tactus_rt::ClockService;
use tactus_rt::time::Monotonic;

const ROUNDS: u32 = 1000;

fn main() -> anyhow::Result<()> {
    if let Some(refused) = ThreadRef::Calling.schedule("fifo:80".parse()?)? {
        eprintln!("warning: {}", refused.explain_here().reason);
    }
    println!("µs             cost p50      p99   late p50      p99      max");
    for found in ClockService::<Monotonic>::new().measure(ROUNDS)? {
        let micros = |length: Option<tactus_rt::time::Nanos>| {
            length.map_or("-".to_owned(), |length| format!("{:.2}", length.as_micros_f64()))
        };
        let cost = |share| micros(found.cost.quantile(share));
        let late = |share| micros(found.lateness.as_ref().and_then(|late| late.quantile(share)));
        let (p50, p99) = (cost(0.5), cost(0.99));
        let [late_p50, late_p99, max] = [0.5, 0.99, 1.0].map(late);
        let service = format!("{:?}", found.service);
        println!("{service:<14}{p50:>9}{p99:>9}{late_p50:>11}{late_p99:>9}{max:>9}");
    }
    Ok(())
}
