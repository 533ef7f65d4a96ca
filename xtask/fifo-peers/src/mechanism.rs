//! How items get from the writer to the reader.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::update_connections::UpdateConnections;
use iceoryx2::prelude::*;
use tactus_fifo::{Broker, Sender};
use tactus_model::cpus::CpuList;
use tactus_model::policy::RealtimePriority;
use tactus_stats::LatencyHistogram;
use tactus_sys::affinity;

use crate::reader::{Latencies, read_back};
use crate::{END, Item, Outcome};

/// One of them, with its reader.
pub trait Mechanism {
    fn name(&self) -> &'static str;

    /// Writes an item and wakes the reader.
    fn write(&mut self, item: &Item) -> Outcome<()>;

    /// Ends the reader. Returns its latencies: idle and loaded.
    fn end(self: Box<Self>) -> Outcome<[LatencyHistogram; 2]>;
}

/// Starts a reader process, and waits until it is ready.
fn start_reader(kind: &str, place: &str) -> Outcome<(Child, BufReader<ChildStdout>)> {
    let mut command = Command::new(std::env::current_exe()?);
    tactus_sys::process::die_with_parent(&mut command);
    let mut child = command.args(["read", kind, place]).stdout(Stdio::piped()).spawn()?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    output.read_line(&mut String::new())?;
    Ok((child, output))
}

/// Writes the last item until the reader has taken it.
fn end_reader(
    mechanism: &mut dyn Mechanism,
    mut child: Child,
    mut output: BufReader<ChildStdout>,
) -> Outcome<[LatencyHistogram; 2]> {
    mechanism.write(&END)?;
    let latencies = read_back(&mut output)?;
    child.wait()?;
    Ok(latencies)
}

/// Ours.
pub struct Tactus {
    sender: Sender<Item>,
    _broker: Broker,
    reader: Option<(Child, BufReader<ChildStdout>)>,
}

impl Tactus {
    pub fn start() -> Outcome<Self> {
        let socket = std::env::temp_dir().join(format!("fifo-peers-{}.sock", std::process::id()));
        let mut offers = Broker::builder(&socket);
        let sender = offers.fifo_out("items", 256)?;
        let priority = RealtimePriority::new(79).ok_or("priority")?;
        let cpus = affinity::get()?;
        let last: CpuList = cpus.iter().last().ok_or("no CPU")?.to_string().parse()?;
        let others = cpus.without(&last);
        let broker = offers.priority(priority).cpus(others).relay(last).start()?;
        broker.shortfalls().iter().for_each(|missing| eprintln!("warning: {missing}"));
        let reader = Some(start_reader("tactus", &socket.display().to_string())?);
        Ok(Self { sender, _broker: broker, reader })
    }
}

impl Mechanism for Tactus {
    fn name(&self) -> &'static str {
        "tactus, processes"
    }

    fn write(&mut self, item: &Item) -> Outcome<()> {
        Ok(self.sender.try_push(item)?)
    }

    fn end(mut self: Box<Self>) -> Outcome<[LatencyHistogram; 2]> {
        let (child, output) = self.reader.take().ok_or("no reader")?;
        end_reader(&mut *self, child, output)
    }
}

/// A ring between threads; `unpark` is a futex.
pub struct Rtrb {
    producer: rtrb::Producer<Item>,
    reader: JoinHandle<Latencies>,
}

impl Rtrb {
    pub fn start() -> Outcome<Self> {
        let (producer, mut consumer) = rtrb::RingBuffer::new(256);
        let reader = std::thread::spawn(move || {
            let mut latencies = Latencies::default();
            loop {
                while let Ok(item) = consumer.pop() {
                    if item == END {
                        return latencies;
                    }
                    latencies.record(&item);
                }
                std::thread::park();
            }
        });
        Ok(Self { producer, reader })
    }
}

impl Mechanism for Rtrb {
    fn name(&self) -> &'static str {
        "rtrb, threads"
    }

    fn write(&mut self, item: &Item) -> Outcome<()> {
        self.producer.push(*item).map_err(|_| "full")?;
        self.reader.thread().unpark();
        Ok(())
    }

    fn end(mut self: Box<Self>) -> Outcome<[LatencyHistogram; 2]> {
        self.write(&END)?;
        Ok(self.reader.join().map_err(|_| "the reader panicked")?.0)
    }
}

/// A publisher with an event for each item.
pub struct Iceoryx2 {
    publisher: Publisher<ipc::Service, Item, ()>,
    notifier: Notifier<ipc::Service>,
    reader: Option<(Child, BufReader<ChildStdout>)>,
}

impl Iceoryx2 {
    pub fn start() -> Outcome<Self> {
        let name = format!("fifo-peers-{}", std::process::id());
        let service = ServiceName::new(&name)?;
        let node = NodeBuilder::new().create::<ipc::Service>()?;
        let items = node.service_builder(&service).publish_subscribe::<Item>();
        let publisher =
            items.subscriber_max_buffer_size(256).open_or_create()?.publisher_builder().create()?;
        let notifier =
            node.service_builder(&service).event().open_or_create()?.notifier_builder().create()?;
        let reader = Some(start_reader("iceoryx2", &name)?);
        publisher.update_connections()?;
        Ok(Self { publisher, notifier, reader })
    }
}

impl Mechanism for Iceoryx2 {
    fn name(&self) -> &'static str {
        "iceoryx2, processes"
    }

    fn write(&mut self, item: &Item) -> Outcome<()> {
        self.publisher.loan_uninit()?.write_payload(*item).send()?;
        self.notifier.notify()?;
        Ok(())
    }

    fn end(mut self: Box<Self>) -> Outcome<[LatencyHistogram; 2]> {
        let (child, output) = self.reader.take().ok_or("no reader")?;
        end_reader(&mut *self, child, output)
    }
}
