//! Messages between a task and another process, which send in turn.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tactus_model::cost::{CostProbe, Operation, Touch};
use tactus_model::cpus::CpuList;
use tactus_model::time::Nanos;
use tactus_sys::fork::{Fork, Halt};
use tactus_sys::ipc::{self, Ends, Terms, Transport};
use tactus_sys::scheduling_record::Seat;
use tactus_sys::shared_memory::SharedWords;
use tactus_sys::{Errno, SysError, affinity, copy};

use super::partner::{halt_of, place};
use super::{Repeatable, Unmeasurable};

/// Sets up the messages of a task on `cpu` to a process there or on the next of `cpus`, and back.
///
/// The other process inherits the policy of the calling thread. Where both spin, each has a CPU of
/// its own, and neither spins on once the other is gone.
pub(super) fn open(
    cost: &CostProbe,
    cpu: u32,
    cpus: &CpuList,
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    exchange(cost, place(cost, cpu, cpus)?, cost.touch)
}

/// Sets up messages with this content, to a process on the CPU `place` and back.
fn exchange(
    cost: &CostProbe,
    place: u32,
    content: impl Content,
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    let partner = Partner { operation: cost.operation, cpu: place };
    let terms = Terms { size: cost.size.get() as usize, buffers: cost.buffers, wait: cost.wait };
    match cost.operation {
        Operation::IpcVmsplice => start(ipc::vmsplice(terms), partner, content),
        Operation::IpcUnixStream => start(ipc::unix_stream(terms), partner, content),
        Operation::IpcUnixDatagram => start(ipc::unix_datagram(terms), partner, content),
        Operation::IpcUnixSeqpacket => start(ipc::unix_seqpacket(terms), partner, content),
        Operation::IpcTcp => start(ipc::tcp(terms), partner, content),
        Operation::IpcUdp => start(ipc::udp(terms), partner, content),
        Operation::IpcMessageQueue => start(ipc::message_queue(terms), partner, content),
        Operation::IpcMemfd => start(ipc::memfd(terms), partner, content),
        Operation::IpcProcessVmReadv => start(ipc::process_vm_readv(terms), partner, content),
        Operation::IpcSharedMemory => start(ipc::shared_memory(terms), partner, content),
        Operation::IpcSharedEventfd => start(ipc::shared_eventfd(terms), partner, content),
        Operation::IpcIoUring => start(ipc::io_uring(terms), partner, content),
        Operation::IpcPipe => start(ipc::pipe(terms), partner, content),
        other => Err(Unmeasurable::OtherFamily(other)),
    }
}

/// The other process.
#[derive(Clone, Copy)]
struct Partner {
    operation: Operation,
    cpu: u32,
}

/// What is in messages.
trait Content: Copy + 'static {
    /// Writes the next message.
    fn write(&mut self, message: &mut [u8]);

    /// Reads the next message; returns whether it is the expected one.
    fn read(&mut self, message: &[u8]) -> bool;
}

impl Content for Touch {
    fn write(&mut self, message: &mut [u8]) {
        if self.writes() {
            black_box(message).fill(1);
        }
    }

    fn read(&mut self, message: &[u8]) -> bool {
        if self.reads() {
            black_box(copy::read(message));
        }
        true
    }
}

/// A side.
struct Correspondent<T, C> {
    end: T,
    content: C,
}

impl<T: Transport, C: Content> Correspondent<T, C> {
    fn send(&mut self) -> Result<(), SysError> {
        self.content.write(self.end.buffer()?);
        self.end.publish()?;
        self.end.notify()
    }

    fn receive(&mut self) -> Result<(), SysError> {
        let is_expected = self.content.read(self.end.wait()?);
        self.end.release()?;
        is_expected.then_some(()).ok_or(SysError::new("message", Errno::BADMSG))
    }

    /// Answers every message, until it fails. It allocates nothing: it runs in a copy of a process.
    fn answer(&mut self, cpus: &CpuList, failure: &AtomicU64) {
        let mut done = affinity::set(cpus);
        while done.is_ok() {
            done = self.receive().and_then(|()| self.send());
        }
        if let Err(error) = done {
            failure.store(error.errno.raw_os_error() as u64, Ordering::Relaxed);
        }
        self.end.hang_up();
    }
}

/// The task's side.
struct Messages<T, C> {
    correspondent: Correspondent<T, C>,
    cpu_of_partner: u32,
    /// Killed on drop.
    partner: Fork,
}

fn start<T: Transport + 'static, C: Content>(
    ends: Ends<T>,
    partner: Partner,
    content: C,
) -> Result<Box<dyn Repeatable>, Unmeasurable> {
    Ok(Box::new(begin(ends, partner, content)?))
}

fn begin<T: Transport + 'static, C: Content>(
    ends: Ends<T>,
    Partner { operation, cpu }: Partner,
    content: C,
) -> Result<Messages<T, C>, Unmeasurable> {
    let [end, theirs] = ends?;
    let mut theirs = Correspondent { end: theirs, content };
    let cpus: CpuList = std::iter::once(cpu).collect();
    let failure = Arc::new(SharedWords::create(1)?);
    let reported = failure.clone();
    // The other end is closed here, so a task that waits learns when its partner ends, or an alarm
    // ends its waiting.
    let partner = Fork::start(move || theirs.answer(&cpus, &reported.words()[0]))?;
    if let Some(alarm) = end.alarm() {
        partner.when_halted(alarm)?;
    }
    let correspondent = Correspondent { end, content };
    let mut messages = Messages { correspondent, cpu_of_partner: cpu, partner };
    // The first is answered once the partner is on its CPU. The second of fresh ones is the first
    // that is like all others.
    let met = messages.run(4);
    met.map_err(|error| match failure.words()[0].load(Ordering::Relaxed) {
        0 => match messages.halt_of_others() {
            Some(halt) => Unmeasurable::PartnerHalted(halt),
            None => error.into(),
        },
        errno => Unmeasurable::Partner { operation, errno: Errno::from_raw_os_error(errno as i32) },
    })?;
    Ok(messages)
}

impl<T: Transport, C: Content> Repeatable for Messages<T, C> {
    /// Half of them are answers.
    fn run(&mut self, times: u32) -> Result<(), SysError> {
        for _ in 0..times / 2 {
            self.correspondent.send()?;
            self.correspondent.receive()?;
        }
        Ok(())
    }

    fn halt_of_others(&mut self) -> Option<Halt> {
        halt_of(&mut self.partner)
    }

    fn time_of_others(&self) -> Nanos {
        self.partner.cpu_time()
    }

    fn partner(&self) -> Option<Seat> {
        Some(Seat { thread: self.partner.thread(), cpu: self.cpu_of_partner })
    }
}

#[cfg(test)]
mod tests;
