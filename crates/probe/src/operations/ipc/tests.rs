use tactus_model::bytes::Bytes;
use tactus_model::cost::{Buffers, Family, PartnerCpu, Wait};
use tactus_model::experiment::{Experiment, Overrides};
use tactus_sys::pidfd::PidFd;
use tactus_testing::{Need, skip};

use super::*;

/// Numbered messages: each byte depends on the number of its message and on its place.
#[derive(Clone, Copy, Default)]
struct Numbered {
    written: u64,
    read: u64,
}

impl Numbered {
    fn byte(number: u64, at: usize) -> u8 {
        number.wrapping_mul(31).wrapping_add(at as u64 / 7) as u8
    }
}

impl Content for Numbered {
    fn write(&mut self, message: &mut [u8]) {
        self.written += 1;
        for (at, byte) in message.iter_mut().enumerate() {
            *byte = Self::byte(self.written, at);
        }
    }

    fn read(&mut self, message: &[u8]) -> bool {
        self.read += 1;
        message.iter().enumerate().all(|(at, byte)| *byte == Self::byte(self.read, at))
    }
}

/// Messages that are never the expected ones.
#[derive(Clone, Copy)]
struct Wrong;

impl Content for Wrong {
    fn write(&mut self, _: &mut [u8]) {}

    fn read(&mut self, _: &[u8]) -> bool {
        false
    }
}

fn cost(operation: Operation) -> CostProbe {
    let text = format!("[settings]\nprobe = \"cost\"\noperation = \"{operation}\"\nsize = \"64B\"");
    let plan = Experiment::parse(&text).unwrap().plan(&Overrides::default()).unwrap();
    plan.cells[0].probe.cost().unwrap().clone()
}

fn transports() -> impl Iterator<Item = Operation> {
    let all = Operation::ALL.iter().copied();
    all.filter(|operation| operation.traits().family == Family::Ipc)
}

fn cpus() -> (u32, CpuList) {
    let cpus = affinity::get().unwrap();
    let first = cpus.iter().next().unwrap();
    (first, cpus)
}

/// Sends numbered messages, unless this machine does not permit it.
fn check(cost: &CostProbe, messages: u32) {
    let (cpu, cpus) = cpus();
    let exchanged = place(cost, cpu, &cpus)
        .and_then(|place| exchange(cost, place, Numbered::default()))
        .and_then(|mut operation| Ok(operation.run(messages)?));
    match exchanged {
        Ok(()) => {}
        // Containers forbid some transports, and small machines some sizes.
        Err(error) if is_refusal(&error) => {
            skip(Need::Machine, format!("{} of {}: {error}", cost.operation, cost.size));
        }
        Err(error) => panic!("{cost:?}: {error}"),
    }
}

fn is_refusal(error: &Unmeasurable) -> bool {
    match error {
        Unmeasurable::OneCpu | Unmeasurable::Partner { errno: Errno::PERM | Errno::NOSYS, .. } => {
            true
        }
        Unmeasurable::System(SysError { call: "io_uring_setup" | "mq_open", .. }) => true,
        Unmeasurable::System(error) => [Errno::MSGSIZE, Errno::NOBUFS].contains(&error.errno),
        _ => false,
    }
}

#[test]
fn every_transport_delivers_every_byte_of_every_message() {
    for operation in transports() {
        for size in [1, 64, 4_097, 65_507] {
            for buffers in [Buffers::Recycled, Buffers::Fresh] {
                check(&CostProbe { size: Bytes::new(size), buffers, ..cost(operation) }, 6);
            }
        }
    }
}

#[test]
fn every_transport_delivers_to_a_side_that_spins() {
    for operation in transports() {
        for size in [1, 9_000] {
            let size = Bytes::new(size);
            let (wait, partner_cpu) = (Wait::Spin, PartnerCpu::Other);
            check(&CostProbe { size, wait, partner_cpu, ..cost(operation) }, 6);
        }
    }
}

#[test]
fn streams_and_memory_carry_long_messages() {
    let packets = [
        Operation::IpcUnixDatagram,
        Operation::IpcUnixSeqpacket,
        Operation::IpcUdp,
        Operation::IpcMessageQueue,
    ];
    for operation in transports().filter(|operation| !packets.contains(operation)) {
        check(&CostProbe { size: Bytes::new(4 << 20), ..cost(operation) }, 4);
    }
}

#[test]
fn a_message_that_is_too_long_for_a_packet_is_an_error_with_a_fix() {
    let (cpu, cpus) = cpus();
    let cost = CostProbe { size: Bytes::new(100_000), ..cost(Operation::IpcUdp) };
    let error = open(&cost, cpu, &cpus).err().unwrap();
    assert!(error.hint().is_some_and(|hint| hint.contains("smaller size")), "{error}");
}

#[test]
fn a_partner_that_fails_is_not_awaited() {
    for operation in transports() {
        let (cpu, _) = cpus();
        match exchange(&cost(operation), cpu, Wrong) {
            Ok(_) => panic!("{operation}"),
            Err(error) if is_refusal(&error) => {}
            Err(error) => {
                assert_eq!(error, Unmeasurable::Partner { operation, errno: Errno::BADMSG });
            }
        }
    }
}

#[test]
fn a_partner_that_is_killed_is_named_as_the_cause() {
    let (cpu, cpus) = cpus();
    let other = CostProbe { partner_cpu: PartnerCpu::Other, ..cost(Operation::IpcPipe) };
    let Ok(cpu) = place(&other, cpu, &cpus) else {
        return skip(Need::Machine, "one CPU");
    };
    let killed = |operation, wait| {
        let terms = Terms { size: 64, buffers: Buffers::Recycled, wait };
        let partner = Partner { operation, cpu };
        let content = Numbered::default();
        match operation {
            Operation::IpcVmsplice => check_killed(begin(ipc::vmsplice(terms), partner, content)),
            Operation::IpcUnixStream => {
                check_killed(begin(ipc::unix_stream(terms), partner, content))
            }
            Operation::IpcUnixDatagram => {
                check_killed(begin(ipc::unix_datagram(terms), partner, content));
            }
            Operation::IpcUnixSeqpacket => {
                check_killed(begin(ipc::unix_seqpacket(terms), partner, content));
            }
            Operation::IpcTcp => check_killed(begin(ipc::tcp(terms), partner, content)),
            Operation::IpcUdp => check_killed(begin(ipc::udp(terms), partner, content)),
            Operation::IpcMessageQueue => {
                check_killed(begin(ipc::message_queue(terms), partner, content));
            }
            Operation::IpcMemfd => check_killed(begin(ipc::memfd(terms), partner, content)),
            Operation::IpcProcessVmReadv => {
                check_killed(begin(ipc::process_vm_readv(terms), partner, content));
            }
            Operation::IpcSharedMemory => {
                check_killed(begin(ipc::shared_memory(terms), partner, content))
            }
            Operation::IpcSharedEventfd => {
                check_killed(begin(ipc::shared_eventfd(terms), partner, content));
            }
            Operation::IpcIoUring => check_killed(begin(ipc::io_uring(terms), partner, content)),
            Operation::IpcPipe => check_killed(begin(ipc::pipe(terms), partner, content)),
            other => panic!("{other}"),
        }
    };
    transports().for_each(|operation| killed(operation, Wait::Block));
    killed(Operation::IpcSharedMemory, Wait::Spin);
}

fn check_killed<T: Transport + 'static>(messages: Result<Messages<T, Numbered>, Unmeasurable>) {
    let mut messages = match messages {
        Err(error) if is_refusal(&error) => return skip(Need::Machine, error),
        messages => messages.unwrap(),
    };
    PidFd::of_process(messages.partner.id()).unwrap().send(9).unwrap();
    let failure = (0..2).find_map(|_| crate::operations::run(&mut messages, 2).err());
    assert_eq!(failure, Some(Unmeasurable::PartnerHalted(Halt::Killed(9))));
}

#[test]
fn only_the_call_that_needs_it_has_the_hint_of_ptrace() {
    let hint = |operation| Unmeasurable::Partner { operation, errno: Errno::PERM }.hint();
    assert!(hint(Operation::IpcProcessVmReadv).is_some_and(|hint| hint.contains("ptrace")));
    assert_eq!(hint(Operation::IpcIoUring), None);
}
