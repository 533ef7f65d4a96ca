//! The readers in processes of their own, and what they found.

use std::io::{BufRead, Write};
use std::time::Duration;

use iceoryx2::prelude::*;
use tactus_fifo::FifoReader;
use tactus_model::time::{Instant, Monotonic, Nanos};
use tactus_stats::LatencyHistogram;
use tactus_sys::clock;

use crate::{END, Item, Outcome};

/// Latencies in idle and in loaded blocks.
#[derive(Default)]
pub struct Latencies(pub [LatencyHistogram; 2]);

impl Latencies {
    pub fn record(&mut self, item: &Item) {
        let now = clock::now::<Monotonic>();
        let mut written = [0; 8];
        written.copy_from_slice(&item[..8]);
        let written = Instant::<Monotonic>::from_nanos(u64::from_le_bytes(written));
        if item[9] == 1 {
            self.0[usize::from(item[8])].record(now - written);
        }
    }

    /// Prints each bucket: load, nanoseconds, count.
    fn print(&self) -> Outcome<()> {
        let mut output = std::io::stdout().lock();
        for (load, found) in self.0.iter().enumerate() {
            for bucket in found.buckets() {
                writeln!(output, "{load} {} {}", bucket.high.as_nanos(), bucket.count)?;
            }
        }
        Ok(())
    }
}

/// Reads what [`Latencies::print`] printed.
pub fn read_back(output: &mut impl BufRead) -> Outcome<[LatencyHistogram; 2]> {
    let mut found = Latencies::default().0;
    for line in output.lines() {
        let line = line?;
        let numbers: Vec<u64> = line.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [load, nanos, count] = numbers[..] else {
            return Err("a line has three numbers".into());
        };
        found[load as usize].record_n(Nanos::from_nanos(nanos), count);
    }
    Ok(found)
}

pub fn of_tactus(socket: &str) -> Outcome<()> {
    let mut reader = FifoReader::<Item>::open(socket, "items")?;
    println!("ready");
    let mut latencies = Latencies::default();
    loop {
        let item = reader.read()?;
        if item == END {
            return latencies.print();
        }
        latencies.record(&item);
    }
}

pub fn of_iceoryx2(name: &str) -> Outcome<()> {
    let service = ServiceName::new(name)?;
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let items = node.service_builder(&service).publish_subscribe::<Item>();
    let subscriber = items
        .subscriber_max_buffer_size(256)
        .open_or_create()?
        .subscriber_builder()
        .buffer_size(256)
        .create()?;
    let listener =
        node.service_builder(&service).event().open_or_create()?.listener_builder().create()?;
    println!("ready");
    let mut latencies = Latencies::default();
    loop {
        while let Some(sample) = subscriber.receive()? {
            let item = *sample.payload();
            if item == END {
                return latencies.print();
            }
            latencies.record(&item);
        }
        listener.timed_wait(|_| {}, Duration::from_secs(1))?;
    }
}
