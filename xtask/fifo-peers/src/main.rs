//! The cost of a write and the latency to a reader that sleeps, beside rtrb (threads, woken by
//! unpark) and iceoryx2 (processes, woken by its events), in interleaved blocks.
//!
//! `fifo-peers [BLOCKS]` writes 1000 items of 64 bytes a block, 500 µs apart, from a thread of
//! FIFO 80 on the last CPU. Readers are ordinary. Half of the blocks run beside one spinning
//! process per CPU.
//!
//! `fifo-peers messages [BLOCKS]` compares messages in shared memory whose receiver spins.
#![forbid(unsafe_code)]

mod mechanism;
mod messages;
mod reader;

use std::error::Error;
use std::process::{Child, Command, Stdio};

use tactus_model::policy::{RealtimePriority, Scheduling};
use tactus_model::random::SplitMix64;
use tactus_model::time::{Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_sys::sleep::{Nanosleep, Sleeper};
use tactus_sys::{affinity, clock, sched};

use mechanism::{Iceoryx2, Mechanism, Rtrb, Tactus};

/// An item: when it was written, whether load ran, and padding.
type Item = [u8; 64];

pub type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ITEMS: u32 = 1000;
const PERIOD: Nanos = Nanos::from_micros(500);
/// Items at the start of a block that are not counted.
const REHEARSAL: u32 = 20;

/// An item that ends its reader.
const END: Item = [255; 64];

fn item(is_loaded: bool, is_counted: bool) -> Item {
    let mut item = [0; 64];
    item[..8].copy_from_slice(&clock::now::<Monotonic>().as_nanos().to_le_bytes());
    item[8] = u8::from(is_loaded);
    item[9] = u8::from(is_counted);
    item
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["read", "tactus", socket] => reader::of_tactus(socket),
        ["read", "iceoryx2", name] => reader::of_iceoryx2(name),
        ["spin"] => loop {
            std::hint::spin_loop();
        },
        ["answer", size, name, place] => messages::answer(size, name, place),
        ["messages"] => messages::compare(8),
        ["messages", blocks] => messages::compare(blocks.parse()?),
        [] => compare(8),
        [blocks] => compare(blocks.parse()?),
        _ => Err("usage: fifo-peers [messages] [BLOCKS]".into()),
    }
}

/// Ends with this value.
struct Load(Vec<Child>);

impl Load {
    fn start() -> Outcome<Self> {
        let spin = || {
            let mut command = Command::new(std::env::current_exe()?);
            tactus_sys::process::die_with_parent(&mut command);
            command.arg("spin").stdout(Stdio::null()).spawn()
        };
        let cpus = affinity::get()?.len();
        Ok(Self((0..cpus).map(|_| spin()).collect::<Result<_, _>>()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = (child.kill(), child.wait());
        }
    }
}

fn compare(blocks: u32) -> Outcome<()> {
    let mut mechanisms: Vec<Box<dyn Mechanism>> =
        vec![Box::new(Tactus::start()?), Box::new(Rtrb::start()?), Box::new(Iceoryx2::start()?)];
    let mut writes: Vec<[LatencyHistogram; 2]> = Vec::new();
    writes.resize_with(mechanisms.len(), Default::default);
    let cpus = affinity::get()?;
    let last = cpus.iter().last().ok_or("no CPU")?;
    let mut random = SplitMix64::new(3);
    for _ in 0..blocks {
        for is_loaded in [false, true] {
            let load = is_loaded.then(Load::start).transpose()?;
            let mut turns: Vec<usize> = (0..mechanisms.len()).collect();
            random.shuffle(&mut turns);
            affinity::set(&last.to_string().parse()?)?;
            sched::set_alone(Scheduling::Fifo(RealtimePriority::new(80).ok_or("priority")?))?;
            for turn in turns {
                let found = &mut writes[turn][usize::from(is_loaded)];
                block(&mut *mechanisms[turn], is_loaded, found)?;
            }
            sched::set(Scheduling::ORDINARY)?;
            affinity::set(&cpus)?;
            drop(load);
        }
    }
    print(mechanisms, &writes)
}

/// Writes items, and records what each write took.
fn block(
    mechanism: &mut dyn Mechanism,
    is_loaded: bool,
    found: &mut LatencyHistogram,
) -> Outcome<()> {
    let mut due = clock::now::<Monotonic>();
    for number in 0..ITEMS {
        due = due + PERIOD;
        Nanosleep.sleep_until(due)?;
        let is_counted = number >= REHEARSAL;
        let item = item(is_loaded, is_counted);
        let began = clock::now::<Monotonic>();
        mechanism.write(&item)?;
        let took = clock::now::<Monotonic>() - began;
        if is_counted {
            found.record(took);
        }
    }
    Ok(())
}

fn print(mechanisms: Vec<Box<dyn Mechanism>>, writes: &[[LatencyHistogram; 2]]) -> Outcome<()> {
    println!("µs p50/p99/p99.9     load       items            write           one way");
    for (mechanism, writes) in mechanisms.into_iter().zip(writes) {
        let name = mechanism.name();
        let latencies = mechanism.end()?;
        for ((write, latency), load) in writes.iter().zip(&latencies).zip(["idle", "loaded"]) {
            let count = latency.count();
            println!("{name:20} {load:7} {count:8} {:>16} {:>17}", text(write), text(latency));
        }
    }
    Ok(())
}

fn text(found: &LatencyHistogram) -> String {
    let quantile = |q| found.quantile(q).map_or(f64::NAN, |found| found.as_micros_f64());
    let [half, tail, far] = [0.5, 0.99, 0.999].map(quantile);
    format!("{half:.1}/{tail:.1}/{far:.1}")
}
