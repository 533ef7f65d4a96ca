//! Records the events of all CPUs by perf, with one ring for each CPU.

use std::os::fd::{AsFd, BorrowedFd};

use tactus_model::cpus::CpuList;
use tactus_model::recording::{AbsentEvent, CallChains, EventAccount, EventCount, Mechanism};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_permission::{Asked, Diagnosis};
use tactus_prepare::diagnose_here;
use tactus_sys::perf::{CallChain, CpuEvent, OpenFileLimit, RawRecord, Ring};
use tactus_sys::{Errno, SysError};

use super::error::RecordError;
use super::intake::{Intake, Read, Sample};
use super::mechanism::{Accounts, Buffers, Opened};
use super::open::{SMALLEST_BUFFER, Wanted, filter};
use super::options::{Chained, Options};
use super::pace::Pace;
use crate::decode::{Decoder, Format, Layout, PerfRecord, RecordShape, Tracepoint, addresses};

/// perf counts its own disabling of preemption as the thread's.
const OWN_PREEMPTION: u8 = 1;

/// Events of perf, disabled.
struct Perf {
    /// One event for each CPU: it owns the ring into which all others write.
    leaders: Vec<CpuEvent>,
    rings: Vec<Ring>,
    /// The tracepoints of each CPU, each with its index into `names`. A tracepoint of which
    /// some events have a call chain is opened twice, with filters that exclude each other.
    tracepoints: Vec<Vec<(usize, CpuEvent)>>,
    names: Vec<String>,
    shape: RecordShape,
}

/// Opens the `wanted` events, as far as perf provides them.
pub(super) fn open(
    options: &Options,
    wanted: &Wanted,
    cpus: &CpuList,
) -> Result<Opened, RecordError> {
    let _limit = OpenFileLimit::raise();
    let rings = Rings::open(cpus, options)?;
    let mut perf = Perf {
        tracepoints: cpus.iter().map(|_| Vec::new()).collect(),
        leaders: rings.leaders,
        rings: rings.rings,
        names: Vec::new(),
        shape: RecordShape { call_chain: options.call_chains != CallChains::Never },
    };
    let mut decoder = Decoder::new(OWN_PREEMPTION);
    let mut absent = wanted.absent.clone();
    for (tracepoint, format) in &wanted.described {
        let added = Layout::new(*tracepoint, format)
            .map_err(|error| error.to_string())
            .and_then(|layout| perf.add(*tracepoint, format, options, cpus).map(|()| layout));
        match added {
            Ok(layout) => _ = decoder.add(layout),
            Err(reason) => absent.push(AbsentEvent { event: tracepoint.name(), reason }),
        }
    }
    Ok(Opened {
        names: perf.names.clone(),
        buffers: Box::new(perf),
        cpus: cpus.clone(),
        decoder,
        absent,
        shortfalls: rings.shortfall.into_iter().collect(),
    })
}

/// The rings of all CPUs and the events that own them.
struct Rings {
    leaders: Vec<CpuEvent>,
    rings: Vec<Ring>,
    shortfall: Option<Shortfall>,
}

impl Rings {
    /// Creates a ring on each CPU, as large as the kernel grants, up to the size in `options`.
    fn open(cpus: &CpuList, options: &Options) -> Result<Self, RecordError> {
        let wanted = options.ring_size;
        let mut size = wanted.next_power_of_two();
        let mut refused = None;
        loop {
            match Self::of_size(cpus, size, options.drainer.watermark) {
                Ok((leaders, rings)) => {
                    let shortfall = refused.map(|errno| smaller_rings(wanted, size, errno));
                    return Ok(Self { leaders, rings, shortfall });
                }
                Err(error) if error.call == "mmap" => {
                    let too_large = error.errno == Errno::PERM || error.errno == Errno::NOMEM;
                    if !too_large || size <= SMALLEST_BUFFER {
                        let what = "map rings for kernel events";
                        return Err(RecordError::refused(what, &Asked::EventRings, error.errno));
                    }
                    refused = Some(error.errno);
                    size /= 2;
                }
                Err(error) if error.errno == Errno::ACCESS || error.errno == Errno::PERM => {
                    let what = "record kernel events";
                    return Err(RecordError::refused(what, &Asked::KernelEvents, error.errno));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn of_size(
        cpus: &CpuList,
        size: usize,
        percent: u8,
    ) -> Result<(Vec<CpuEvent>, Vec<Ring>), SysError> {
        let (mut leaders, mut rings) = (Vec::new(), Vec::new());
        for cpu in cpus.iter() {
            let leader = CpuEvent::tasks(cpu, watermark(size, percent))?;
            rings.push(Ring::map(&leader, size)?);
            leaders.push(leader);
        }
        Ok((leaders, rings))
    }
}

/// The shortfall of rings of `size` bytes, because the kernel refused larger ones with `errno`.
fn smaller_rings(wanted: usize, size: usize, errno: Errno) -> Shortfall {
    let Diagnosis { reason, fix } = diagnose_here(&Asked::EventRings, errno);
    Shortfall {
        asked: format!("rings of {} KiB", wanted >> 10),
        granted: format!("rings of {} KiB", size >> 10),
        reason,
        fix,
    }
}

/// The number of bytes in a ring at which the kernel wakes the drainer.
fn watermark(ring_size: usize, percent: u8) -> u32 {
    u32::try_from(ring_size / 100 * usize::from(percent)).unwrap_or(u32::MAX)
}

impl Perf {
    /// Opens a tracepoint on all CPUs or on none; returns why not.
    fn add(
        &mut self,
        tracepoint: Tracepoint,
        format: &Format,
        options: &Options,
        cpus: &CpuList,
    ) -> Result<(), String> {
        if tracepoint == Tracepoint::Mark {
            return Err("perf does not record marks; fix: --source tracefs".to_owned());
        }
        let threads = filter(tracepoint, options);
        let open = |(cpu, leader): (u32, &CpuEvent), (call_chain, filter): &(_, Option<String>)| {
            let event = CpuEvent::tracepoint(format.id, cpu, *call_chain)?;
            if let Some(filter) = filter {
                event.filter(filter)?;
            }
            event.redirect_to(leader)?;
            Ok(event)
        };
        let parts = parts(options.call_chains, tracepoint, threads.as_deref());
        let events = cpus.iter().zip(&self.leaders).map(|place| {
            parts.iter().map(|part| open(place, part)).collect::<Result<Vec<_>, SysError>>()
        });
        let events: Vec<Vec<CpuEvent>> = events.collect::<Result<_, _>>().map_err(explain)?;
        let index = self.names.len();
        for (tracepoints, events) in self.tracepoints.iter_mut().zip(events) {
            tracepoints.extend(events.into_iter().map(|event| (index, event)));
        }
        self.names.push(tracepoint.name());
        Ok(())
    }

    fn events(&self) -> impl Iterator<Item = &CpuEvent> {
        self.leaders.iter().chain(self.tracepoints.iter().flatten().map(|(_, event)| event))
    }
}

/// The perf events that together record `tracepoint`, each with its call chain and its filter.
fn parts(
    chains: CallChains,
    tracepoint: Tracepoint,
    threads: Option<&str>,
) -> Vec<(CallChain, Option<String>)> {
    if chains == CallChains::Never {
        return vec![(CallChain::Absent, threads.map(str::to_owned))];
    }
    let and_threads = |filter: String| match threads {
        Some(threads) => format!("({threads}) && {filter}"),
        None => filter,
    };
    match tracepoint.chained(chains) {
        Chained::None => vec![(CallChain::Empty, threads.map(str::to_owned))],
        Chained::All => vec![(CallChain::Kernel, threads.map(str::to_owned))],
        Chained::If(filter) => vec![
            (CallChain::Kernel, Some(and_threads(filter.to_owned()))),
            (CallChain::Empty, Some(and_threads(format!("!({filter})")))),
        ],
    }
}

impl Buffers for Perf {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Perf
    }

    fn to_poll(&self) -> Vec<BorrowedFd<'_>> {
        self.leaders.iter().map(AsFd::as_fd).collect()
    }

    fn size(&self) -> usize {
        self.rings.first().map_or(0, Ring::size)
    }

    fn enable(&self) -> Result<(), SysError> {
        self.events().try_for_each(CpuEvent::enable)
    }

    fn disable(&self) -> Result<(), SysError> {
        self.events().try_for_each(CpuEvent::disable)
    }

    fn drain(
        &mut self,
        index: usize,
        intake: &mut Intake,
        pace: &mut Pace,
    ) -> Result<u64, SysError> {
        let shape = self.shape;
        let drained = self.rings[index].drain(|record| {
            pace.pass(record.body.len());
            take(record, shape, intake);
        });
        intake.undecoded += u64::from(drained.garbled > 0);
        Ok(drained.bytes)
    }

    fn account(
        &mut self,
        intake: &mut Intake,
        ended: Instant<Monotonic>,
    ) -> Result<Accounts, SysError> {
        let mut counts = vec![(0_u64, Some(0_u64)); self.names.len()];
        for (index, tracepoints) in self.tracepoints.iter().enumerate() {
            let mut lost_here = self.leaders[index].count()?.lost.unwrap_or(0);
            for (event_index, event) in tracepoints {
                let (counted, lost) = &mut counts[*event_index];
                let count = event.count()?;
                *counted = counted.wrapping_add(count.counted);
                *lost = lost.zip(count.lost).map(|(all, here)| all + here);
                lost_here += count.lost.unwrap_or(0);
            }
            // A loss at the very end has no record, since nothing fitted after it.
            intake.stand_at(index);
            if let Some(count @ 1..) = lost_here.checked_sub(intake.lost_so_far()) {
                intake.lost(intake.last(), ended, count);
            }
        }
        let events = self.names.iter().zip(intake.read()).zip(counts);
        let events = events
            .map(|((event, read), (counted, lost))| account(event, *read, counted, lost))
            .collect();
        Ok(Accounts { events, cpus: Vec::new() })
    }
}

/// Takes one record of a ring.
fn take(record: RawRecord<'_>, shape: RecordShape, intake: &mut Intake) {
    match PerfRecord::parse(record.kind, record.body, shape) {
        Ok(PerfRecord::Sample { time, weight, chain, raw }) => {
            let chain = if chain.is_empty() {
                None
            } else {
                intake.decoder.names().chain(addresses(chain))
            };
            intake.sample(&Sample { time, weight, raw }, chain);
        }
        Ok(PerfRecord::Lost { time, count }) => {
            intake.lost(intake.last(), Instant::from_nanos(time), count);
        }
        Ok(PerfRecord::Fork { process, thread }) => intake.thread_of(process, thread),
        Ok(PerfRecord::Other) => {}
        Err(_) => intake.undecoded += 1,
    }
}

/// The account of one event, for which the kernel counted the weight `counted`.
fn account(event: &str, read: Read, counted: u64, lost: Option<u64>) -> EventAccount {
    let Read { records, weight } = read;
    // For a weighted event the kernel counts weights, not occurrences; occurrences are
    // known only from what was read and lost.
    let counted = if weight == records { counted } else { records + lost.unwrap_or(0) };
    // Kernels before 6.0 do not count losses; events that were not read were lost.
    let lost = lost.unwrap_or(counted.saturating_sub(records));
    EventAccount {
        event: event.to_owned(),
        read: records,
        count: Some(EventCount { counted, lost }),
    }
}

/// Why perf does not provide an event, as a sentence.
fn explain(error: SysError) -> String {
    match error.errno {
        Errno::PERM | Errno::ACCESS => {
            format!("the kernel does not provide this tracepoint to perf ({error})")
        }
        Errno::MFILE | Errno::NFILE => {
            format!("too many open files ({error}); `ulimit -n` shows the limit")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: Read, counted: u64, lost: Option<u64>, unwritten: u64) {
        let account = account("event", read, counted, lost);
        assert_eq!(account.unwritten(), unwritten, "{account:?}");
        assert_eq!(account.balances(), unwritten == 0, "{account:?}");
    }

    #[test]
    fn counted_events_without_a_record_are_reported() {
        let plain = Read { records: 10, weight: 10 };
        check(plain, 10, Some(0), 0);
        check(plain, 13, Some(3), 0);
        check(plain, 13, Some(2), 1);
        check(plain, 13, None, 0);
        let weighed = Read { records: 10, weight: 5_000 };
        check(weighed, 5_000, Some(0), 0);
        check(weighed, 5_700, Some(2), 0);
    }
}
