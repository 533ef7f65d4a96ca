//! The time of a message in shared memory, one way, beside iceoryx2: half of a round trip of equal
//! messages between two processes that both spin, each on a CPU of its own.
//!
//! The sender writes all bytes and the receiver reads them, in both. Each block measures each of
//! them in a fresh process, in random order.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use tactus_model::cost::{Buffers, Wait};
use tactus_model::cpus::CpuList;
use tactus_model::random::SplitMix64;
use tactus_model::time::Monotonic;
use tactus_stats::LatencyHistogram;
use tactus_sys::fork::Fork;
use tactus_sys::ipc::{Shared, Terms, Transport, shared_memory};
use tactus_sys::{SysError, affinity, clock};

use crate::Outcome;

/// The samples of a block, and the round trips of a sample.
const SAMPLES: u32 = 5_000;
const ROUND_TRIPS: u32 = 16;
/// Round trips at the start of a block that are not counted.
const REHEARSAL: u32 = 10_000;

/// The first byte of the message that ends the other side, and of all others.
const END: u8 = 255;
const GO: u8 = 1;

/// Two processes that send messages in turn.
trait Exchange {
    fn round_trip(&mut self) -> Outcome<()>;
}

/// Starts one of them, with the other side on the CPUs.
type Start = fn(&CpuList) -> Outcome<Box<dyn Exchange>>;

/// Compares messages of 64 and of 4096 bytes.
pub fn compare(blocks: u32) -> Outcome<()> {
    println!("one way, ns          size      samples      min      p50      p99   ratio of p50 to iceoryx2");
    compare_size::<64>(blocks)?;
    compare_size::<4096>(blocks)
}

fn compare_size<const SIZE: usize>(blocks: u32) -> Outcome<()> {
    let peers: [(&str, Start); 2] = [
        ("shared memory", |place| Ok(Box::new(Tactus::start(SIZE, place)?))),
        ("iceoryx2", |place| Ok(Box::new(Iceoryx2::<SIZE>::start(place)?))),
    ];
    let all = affinity::get()?;
    let (Some(first), Some(last)) = (all.iter().next(), all.iter().last()) else {
        return Err("no CPU".into());
    };
    if first == last {
        return Err("two sides that spin need two CPUs".into());
    }
    let mut found: [LatencyHistogram; 2] = Default::default();
    let mut ratios = Vec::new();
    let mut random = SplitMix64::new(18);
    for _ in 0..blocks {
        let mut turns = [0, 1];
        random.shuffle(&mut turns);
        let mut medians = [0.0; 2];
        for turn in turns {
            let one = block(peers[turn].1, [first, last])?;
            medians[turn] = nanos(&one, 0.5);
            found[turn].merge(&one);
        }
        affinity::set(&all)?;
        ratios.push(medians[0] / medians[1]);
    }
    ratios.sort_by(f64::total_cmp);
    for ((name, _), found) in peers.iter().zip(&found) {
        let [min, half, tail] = [0.0, 0.5, 0.99].map(|quantile| nanos(found, quantile));
        let count = found.count();
        print!("{name:20} {SIZE:5} {count:12} {min:8.0} {half:8.0} {tail:8.0}");
        match *name {
            "iceoryx2" => println!(),
            _ => println!(
                "   {:.2} ({:.2} to {:.2} in {blocks} blocks)",
                ratios[ratios.len() / 2],
                ratios[0],
                ratios[ratios.len() - 1]
            ),
        }
    }
    Ok(())
}

/// A quantile of samples, in nanoseconds a message.
fn nanos(found: &LatencyHistogram, quantile: f64) -> f64 {
    let messages = f64::from(2 * ROUND_TRIPS);
    found.quantile(quantile).map_or(f64::NAN, |found| found.as_nanos() as f64 / messages)
}

/// Measures one of them, with a fresh process on the other side; returns the durations of samples.
fn block(start: Start, [cpu, other]: [u32; 2]) -> Outcome<LatencyHistogram> {
    let mut exchange = start(&other.to_string().parse()?)?;
    affinity::set(&cpu.to_string().parse()?)?;
    for _ in 0..REHEARSAL {
        exchange.round_trip()?;
    }
    let mut found = LatencyHistogram::default();
    for _ in 0..SAMPLES {
        let began = clock::now::<Monotonic>();
        for _ in 0..ROUND_TRIPS {
            exchange.round_trip()?;
        }
        let took = clock::now::<Monotonic>() - began;
        found.record(took);
    }
    Ok(found)
}

/// Ours, as the operation `ipc-shared-memory` has it.
struct Tactus {
    end: Shared,
    _other: Fork,
}

impl Tactus {
    fn start(size: usize, place: &CpuList) -> Outcome<Self> {
        let terms = Terms { size, buffers: Buffers::Recycled, wait: Wait::Spin };
        let [end, mut theirs] = shared_memory(terms)?;
        let other = Fork::start(|| {
            // It runs until it is killed.
            let mut done = affinity::set(place);
            while done.is_ok() {
                done = take(&mut theirs).and_then(|()| send(&mut theirs));
            }
        })?;
        Ok(Self { end, _other: other })
    }
}

impl Exchange for Tactus {
    fn round_trip(&mut self) -> Outcome<()> {
        send(&mut self.end)?;
        Ok(take(&mut self.end)?)
    }
}

fn send(end: &mut Shared) -> Result<(), SysError> {
    end.buffer()?.fill(GO);
    end.publish()?;
    end.notify()
}

fn take(end: &mut Shared) -> Result<(), SysError> {
    read(end.wait()?);
    end.release()
}

/// Reads all bytes.
fn read(message: &[u8]) {
    std::hint::black_box(message.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
}

/// One side of two services of iceoryx2, one in each direction.
struct Ports<const SIZE: usize> {
    publisher: Publisher<ipc::Service, [u8; SIZE], ()>,
    subscriber: Subscriber<ipc::Service, [u8; SIZE], ()>,
}

impl<const SIZE: usize> Ports<SIZE> {
    fn open(outgoing: &str, incoming: &str) -> Outcome<Self> {
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let service = |name: &str| -> Outcome<_> {
            let name = ServiceName::new(name)?;
            Ok(node.service_builder(&name).publish_subscribe::<[u8; SIZE]>().open_or_create()?)
        };
        Ok(Self {
            publisher: service(outgoing)?.publisher_builder().create()?,
            subscriber: service(incoming)?.subscriber_builder().create()?,
        })
    }

    fn send(&self, byte: u8) -> Outcome<()> {
        self.publisher.loan_uninit()?.write_payload([byte; SIZE]).send()?;
        Ok(())
    }

    /// Spins until a message comes; returns its first byte.
    fn take(&self) -> Outcome<u8> {
        loop {
            if let Some(sample) = self.subscriber.receive()? {
                read(sample.payload());
                return Ok(sample.payload()[0]);
            }
            std::hint::spin_loop();
        }
    }
}

/// Theirs, with the other side in a program of its own.
struct Iceoryx2<const SIZE: usize> {
    ports: Ports<SIZE>,
    other: Child,
}

impl<const SIZE: usize> Iceoryx2<SIZE> {
    fn start(place: &CpuList) -> Outcome<Self> {
        let name = format!("messages-{SIZE}-{}", std::process::id());
        let ports = Ports::open(&format!("{name}-there"), &format!("{name}-back"))?;
        let mut command = Command::new(std::env::current_exe()?);
        tactus_sys::process::die_with_parent(&mut command);
        command.args(["answer", &SIZE.to_string(), &name, &place.to_string()]);
        let mut other = command.stdout(Stdio::piped()).spawn()?;
        let output = other.stdout.take().ok_or("no output")?;
        BufReader::new(output).read_line(&mut String::new())?;
        ports.publisher.update_connections()?;
        Ok(Self { ports, other })
    }
}

impl<const SIZE: usize> Exchange for Iceoryx2<SIZE> {
    fn round_trip(&mut self) -> Outcome<()> {
        self.ports.send(GO)?;
        self.ports.take().map(drop)
    }
}

impl<const SIZE: usize> Drop for Iceoryx2<SIZE> {
    fn drop(&mut self) {
        if self.ports.send(END).is_err() {
            let _ = self.other.kill();
        }
        let _ = self.other.wait();
    }
}

/// The other side of [`Iceoryx2`].
pub fn answer(size: &str, name: &str, place: &str) -> Outcome<()> {
    affinity::set(&place.parse()?)?;
    match size {
        "64" => answer_all::<64>(name),
        "4096" => answer_all::<4096>(name),
        _ => Err("a size is 64 or 4096".into()),
    }
}

fn answer_all<const SIZE: usize>(name: &str) -> Outcome<()> {
    let ports = Ports::<SIZE>::open(&format!("{name}-back"), &format!("{name}-there"))?;
    ports.publisher.update_connections()?;
    println!("ready");
    while ports.take()? != END {
        ports.send(GO)?;
    }
    Ok(())
}
