//! The real-time side: a loop that sends its state and takes commands.

use std::error::Error;
use std::thread;
use std::time::Duration;

use tactus_fifo::Broker;

fn main() -> Result<(), Box<dyn Error>> {
    let mut offers = Broker::builder("/tmp/tactus-fifo.sock").allow_user(65534);
    let mut positions = offers.fifo_out::<f64>("position", 256)?;
    let mut targets = offers.fifo_in::<f64>("target", 16)?;
    let broker = offers.start()?;
    broker.shortfalls().iter().for_each(|missing| eprintln!("warning: {missing}"));

    // This loop would have a real-time priority; nothing in it waits for the other side.
    let (mut position, mut target) = (0.0, 1.0);
    for _ in 0..60_000 {
        while let Some(next) = targets.try_pop() {
            target = next;
        }
        position += (target - position) * 0.01;
        // A full FIFO is counted.
        let _ = positions.try_push(&position);
        thread::sleep(Duration::from_millis(1));
    }
    println!("{:?}, {:?}", positions.counts(), targets.counts());
    Ok(())
}
