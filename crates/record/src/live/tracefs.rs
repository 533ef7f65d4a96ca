//! Records the events of all CPUs by an instance of tracefs.

use std::os::fd::{AsFd, BorrowedFd};

use tactus_model::cpus::CpuList;
use tactus_model::recording::{AbsentEvent, CallChains, CpuAccount, EventAccount, Mechanism};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_permission::Asked;
use tactus_sys::tracefs::{CpuFiles, Instance, Tracefs};
use tactus_sys::{Errno, SysError};

use super::error::{INSTANCE, RecordError};
use super::intake::{Intake, Sample};
use super::mechanism::{Accounts, Buffers, Opened};
use super::open::{SMALLEST_BUFFER, Wanted, filter};
use super::options::{Chained, Options};
use super::pace::Pace;
use crate::decode::{
    BadFormat, BufferStats, Decoder, Format, Layout, NewThreadLayout, PageRecord, PageShape,
    StackLayout, Tracepoint,
};

/// tracefs does not count its own disabling of preemption.
const OWN_PREEMPTION: u8 = 0;

/// The option that copies marks, which programs write to the kernel's first instance, into ours.
const COPY_MARKS: &str = "options/copy_trace_marker";

/// The instances of a recording.
///
/// The kernel takes some 30 ms to remove a stacktrace trigger. An instance with the option
/// `stacktrace` costs nothing at its end, so only an event that has a call chain under a condition
/// has a trigger.
pub(super) struct Traced {
    /// One for events without call chains or with some, then one for those that always have one, if
    /// there are any.
    instances: Vec<Traces>,
    records: Records,
    names: Vec<String>,
}

/// An instance with its open buffers.
struct Traces {
    // Before the instance, which cannot be removed while they are open.
    cpus: Vec<Cpu>,
    instance: Instance,
    size: usize,
}

/// The buffer of one CPU.
struct Cpu {
    files: CpuFiles,
    /// The number of records taken out of it.
    taken: u64,
    /// The kernel's count of losses at the last reading.
    lost: u64,
}

/// Instances with buffers, without events.
#[derive(Debug)]
pub(super) struct Made {
    shape: PageShape,
    plain: Bare,
    /// For events with call chains.
    chained: Option<(Bare, StackLayout)>,
    shortfalls: Vec<Shortfall>,
}

/// An instance with buffers of some size.
#[derive(Debug)]
struct Bare {
    instance: Instance,
    size: usize,
}

/// Makes the instances, with buffers for `cpus`.
///
/// # Errors
/// The first instance cannot be created or used; perf may still work.
pub(super) fn make(
    tracefs: &Tracefs,
    cpus: &CpuList,
    options: &Options,
) -> Result<Made, RecordError> {
    let shape = shape(tracefs)?;
    let mut shortfalls = Vec::new();
    let plain = bare(tracefs, cpus, options, options.ring_size, &mut shortfalls)?;
    let chained = match options.call_chains {
        CallChains::Never => None,
        // Interrupts are a small part of all events.
        CallChains::AtInterrupts | CallChains::AtSleeps => Some(options.ring_size / 4),
        CallChains::Always => Some(options.ring_size),
    };
    let chained = chained.and_then(|size| {
        chained_instance(tracefs, cpus, options, size, &mut shortfalls)
            .map_err(|reason| shortfalls.push(no_call_chains(reason)))
            .ok()
    });
    Ok(Made { shape, plain, chained, shortfalls })
}

fn bare(
    tracefs: &Tracefs,
    cpus: &CpuList,
    options: &Options,
    size: usize,
    shortfalls: &mut Vec<Shortfall>,
) -> Result<Bare, RecordError> {
    let instance = Instance::make(tracefs)
        .map_err(|error| RecordError::refused(INSTANCE, &Asked::TracefsInstance, error.errno))?;
    let (size, shortfall) = prepare(&instance, cpus, size, options.drainer.watermark)?;
    shortfalls.extend(shortfall);
    Ok(Bare { instance, size })
}

/// An instance that writes the kernel's call chain after every event.
fn chained_instance(
    tracefs: &Tracefs,
    cpus: &CpuList,
    options: &Options,
    size: usize,
    shortfalls: &mut Vec<Shortfall>,
) -> Result<(Bare, StackLayout), String> {
    let text = tracefs.format(StackLayout::EVENT).map_err(|error| error.to_string())?;
    let format: Format = text.parse().map_err(|error: BadFormat| error.to_string())?;
    let layout = StackLayout::new(&format).map_err(|error| error.to_string())?;
    let bare = bare(tracefs, cpus, options, size, shortfalls).map_err(|error| error.to_string())?;
    bare.instance.write("options/stacktrace", "1").map_err(|error| error.to_string())?;
    Ok((bare, layout))
}

fn no_call_chains(reason: String) -> Shortfall {
    Shortfall {
        asked: "call chains".to_owned(),
        granted: "events without call chains".to_owned(),
        reason,
        fix: None,
    }
}

/// Opens the `wanted` events in instances that were made with the same `options`, except for the
/// events.
///
/// # Errors
/// The instances cannot be used; perf may still work.
pub(super) fn open(
    made: Made,
    options: &Options,
    wanted: &Wanted,
    cpus: &CpuList,
    tracefs: &Tracefs,
) -> Result<Opened<Traced>, RecordError> {
    let Made { shape, plain, chained, mut shortfalls } = made;
    let mut decoder = Decoder::new(OWN_PREEMPTION);
    let mut absent = wanted.absent.clone();
    let mut names = Vec::new();
    let mut add = |bare: &Bare, events: &[&(Tracepoint, Format)]| {
        for (layout, outcome) in enable(&bare.instance, events, options)? {
            match (layout, outcome) {
                (Ok(layout), (event, Ok(()))) => {
                    decoder.add(layout);
                    names.push(event);
                }
                (Ok(_), (event, Err(reason))) | (Err(reason), (event, _)) => {
                    absent.push(AbsentEvent { event, reason });
                }
            }
        }
        Ok::<(), RecordError>(())
    };
    let (with_chains, without): (Vec<_>, Vec<_>) =
        wanted.described.iter().partition(|(event, _)| {
            chained.is_some() && event.chained(options.call_chains) == Chained::All
        });
    add(&plain, &without)?;
    if let Some((chained, _)) = &chained {
        add(chained, &with_chains)?;
        chains_of_some(&plain.instance, &without, options.call_chains)
            .unwrap_or_else(|reason| shortfalls.push(no_call_chains(reason)));
    }
    let new_threads = new_threads(tracefs, &plain.instance);
    let (chained, stacks) = chained.unzip();
    let records = Records { shape, new_threads, stacks };
    let instances = std::iter::once(plain).chain(chained).map(|Bare { instance, size }| {
        let opened = cpus.iter().map(|cpu| {
            let files = instance.cpu(cpu, shape.page_size())?;
            Ok(Cpu { files, taken: 0, lost: 0 })
        });
        Ok(Traces { cpus: opened.collect::<Result<_, SysError>>()?, instance, size })
    });
    let instances = instances.collect::<Result<_, SysError>>()?;
    Ok(Opened {
        names: names.clone(),
        buffers: Box::new(Traced { instances, records, names }),
        cpus: cpus.clone(),
        decoder,
        absent,
        shortfalls,
    })
}

/// How this kernel lays out the pages of its buffers.
fn shape(tracefs: &Tracefs) -> Result<PageShape, RecordError> {
    let header = |name| tracefs.header(name).map_err(|error| RecordError::no_tracepoints(&error));
    PageShape::parse(&header("header_page")?, &header("header_event")?)
        .map_err(|error| RecordError::Pages(error.to_string()))
}

/// Sets the clock, the CPUs and the buffers, each as large as the kernel grants, up to
/// `wanted` bytes.
fn prepare(
    instance: &Instance,
    cpus: &CpuList,
    wanted: usize,
    watermark: u8,
) -> Result<(usize, Option<Shortfall>), RecordError> {
    instance.write("trace_clock", "mono")?;
    // New events that do not fit are lost, instead of older ones, so a window of loss
    // has one beginning.
    instance.write("options/overwrite", "0")?;
    instance.write("buffer_percent", &watermark.to_string())?;
    instance.write("tracing_cpumask", &mask(cpus))?;
    let mut size = wanted.max(SMALLEST_BUFFER);
    let sized = |size: usize| {
        cpus.iter().try_for_each(|cpu| {
            let file = format!("per_cpu/cpu{cpu}/buffer_size_kb");
            instance.write(&file, &(size >> 10).to_string())
        })
    };
    while let Err(error) = sized(size) {
        if error.errno != Errno::NOMEM || size <= SMALLEST_BUFFER {
            return Err(RecordError::NoMemory(error));
        }
        size /= 2;
    }
    let shortfall = (size < wanted).then(|| Shortfall {
        asked: format!("buffers of {} KiB", wanted >> 10),
        granted: format!("buffers of {} KiB", size >> 10),
        reason: "the kernel cannot allocate more memory".to_owned(),
        fix: None,
    });
    Ok((size, shortfall))
}

/// CPUs as a mask in the kernel's format: words of eight hexadecimal digits, the
/// highest first, separated by commas.
fn mask(cpus: &CpuList) -> String {
    let words = cpus.iter().max().map_or(1, |highest| highest as usize / 32 + 1);
    let mut mask = vec![0_u32; words];
    for cpu in cpus.iter() {
        mask[words - 1 - cpu as usize / 32] |= 1 << (cpu % 32);
    }
    let words: Vec<String> = mask.iter().map(|word| format!("{word:08x}")).collect();
    words.join(",")
}

/// The layout of a wanted event, and its name with the result of enabling it.
type Enabled = (Result<Layout, String>, (String, Result<(), String>));

/// Enables events; those of some threads only get a filter.
fn enable(
    instance: &Instance,
    events: &[&(Tracepoint, Format)],
    options: &Options,
) -> Result<Vec<Enabled>, RecordError> {
    let mut filtered = Vec::new();
    for (tracepoint, _) in events {
        let written = filter(*tracepoint, options).map_or(Ok(()), |filter| {
            instance.write(&format!("events/{}/filter", tracepoint.name()), &filter)
        });
        filtered.push(written);
    }
    let tracepoints = events.iter().map(|(tracepoint, _)| *tracepoint);
    let named = tracepoints.filter(|tracepoint| *tracepoint != Tracepoint::Mark);
    let names: Vec<String> = named.map(Tracepoint::name).collect();
    let mut enabled = instance.enable(&names)?.into_iter();
    let outcomes = events.iter().zip(filtered).map(|((tracepoint, format), filtered)| {
        let enabled = match tracepoint {
            // Only shows whether the kernel has the option: it is set while the instance records.
            Tracepoint::Mark => Some(instance.write(COPY_MARKS, "0")),
            _ => enabled.next(),
        };
        let outcome = filtered.and(enabled.unwrap_or(Ok(())));
        let outcome = outcome.map_err(|error| match (tracepoint, error.errno) {
            (Tracepoint::Mark, Errno::NOENT) => {
                "this kernel copies no marks into an instance of tracefs".to_owned()
            }
            _ => error.to_string(),
        });
        let layout = Layout::new(*tracepoint, format).map_err(|error| error.to_string());
        (layout, (tracepoint.name(), outcome))
    });
    Ok(outcomes.collect())
}

/// Makes the kernel write its call chain after those events of an instance that have one only
/// sometimes.
fn chains_of_some(
    instance: &Instance,
    events: &[&(Tracepoint, Format)],
    chains: CallChains,
) -> Result<(), String> {
    for (tracepoint, _) in events {
        if let Chained::If(filter) = tracepoint.chained(chains) {
            let file = format!("events/{}/trigger", tracepoint.name());
            let trigger = format!("stacktrace if {filter}");
            instance.write(&file, &trigger).map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

/// Makes new threads report their processes, if the kernel has that event: without it,
/// threads that start during the recording have no known process.
fn new_threads(tracefs: &Tracefs, instance: &Instance) -> Option<NewThreadLayout> {
    let format = tracefs.format(NewThreadLayout::EVENT).ok()?.parse().ok()?;
    let layout = NewThreadLayout::new(&format).ok()?;
    let enabled = instance.enable(&[NewThreadLayout::EVENT.to_owned()]).ok()?;
    matches!(enabled[..], [Ok(())]).then_some(layout)
}

/// How the records in the buffers are laid out.
#[derive(Clone, Copy)]
struct Records {
    shape: PageShape,
    new_threads: Option<NewThreadLayout>,
    stacks: Option<StackLayout>,
}

impl Traced {
    /// Copies marks into the instance from now on, or no longer, if they are recorded.
    ///
    /// While an instance does not record, a copy into it fails: programs then get `EBADF`, and
    /// all older instances, the kernel's first too, miss the mark (Linux 6.18).
    fn copy_marks(&self, on: bool) -> Result<(), SysError> {
        match self.instances.first() {
            Some(plain) if self.names.contains(&Tracepoint::Mark.name()) => {
                plain.instance.write(COPY_MARKS, if on { "1" } else { "0" })
            }
            _ => Ok(()),
        }
    }

    /// From now on, a new event replaces the oldest of a full buffer. See
    /// [`drain_newest`](Self::drain_newest).
    pub(super) fn overwrite(&self) -> Result<(), SysError> {
        let mut instances = self.instances.iter();
        instances.try_for_each(|traces| traces.instance.write("options/overwrite", "1"))
    }

    /// The number of events that the kernel has recorded until now.
    pub(super) fn counted(&self) -> Result<u64, SysError> {
        let mut cpus = self.instances.iter().flat_map(|traces| &traces.cpus);
        cpus.try_fold(0, |sum: u64, cpu| Ok(sum.saturating_add(cpu.stats()?.counted())))
    }

    /// Passes the newest events of a buffer that overwrites and is disabled to `intake`, which must
    /// be at the buffer's CPU. Returns the number of bytes, and whether older events were replaced
    /// since the last call.
    pub(super) fn drain_newest(
        &mut self,
        index: usize,
        intake: &mut Intake,
        pace: &mut Pace,
    ) -> Result<(u64, bool), SysError> {
        let (mut bytes, mut are_replaced) = (0, false);
        for Traces { cpus, size, .. } in &mut self.instances {
            let cpu = &mut cpus[index];
            are_replaced |= cpu.newly_lost()? > 0;
            bytes += cpu.read(&self.records, *size, (intake, pace), |_| ())?;
        }
        Ok((bytes, are_replaced))
    }
}

impl Cpu {
    fn stats(&self) -> Result<BufferStats, SysError> {
        // The kernel writes these lines since 2.6.36, and the last of them since 3.9.
        self.files.stats()?.parse().map_err(|_| SysError::new("read", Errno::PROTO))
    }

    /// Passes the records in the buffer of `size` bytes to `intake`; `last` is the time of the
    /// last event of earlier drains. Returns the number of bytes.
    fn drain(
        &mut self,
        known: &Records,
        size: usize,
        last: Instant<Monotonic>,
        (intake, pace): (&mut Intake, &mut Pace),
    ) -> Result<u64, SysError> {
        let began = tactus_sys::clock::now::<Monotonic>();
        let mut gap = Gap::new(began, last);
        let lost_before = self.newly_lost()?;
        let bytes = self.read(known, size, (intake, pace), |time| gap.pass(time))?;
        let lost_meanwhile = self.newly_lost()?;
        let ended = tactus_sys::clock::now::<Monotonic>();
        for (count, to) in [(lost_before, gap.to.unwrap_or(ended)), (lost_meanwhile, ended)] {
            if count > 0 {
                intake.lost(gap.from, to, count);
            }
        }
        Ok(bytes)
    }

    /// Passes the records in the buffer of `size` bytes to `intake`, and the time of each to
    /// `on_record`. Returns the number of bytes.
    fn read(
        &mut self,
        known: &Records,
        size: usize,
        (intake, pace): (&mut Intake, &mut Pace),
        mut on_record: impl FnMut(u64),
    ) -> Result<u64, SysError> {
        let Records { shape, new_threads, stacks } = known;
        // The ring has one page more than its size, and the last page may come in two
        // parts.
        let most = size / shape.page_size() + size_of::<u64>();
        let mut bytes = 0;
        // The kernel writes a chain directly after its event: all events with chains
        // come with interrupts off.
        let mut after_event = false;
        for _ in 0..most {
            let Some(page) = self.files.pages.next_page()? else { break };
            let Ok(records) = shape.records(page) else {
                intake.undecoded += 1;
                continue;
            };
            bytes += records.bytes() as u64;
            pace.pass(records.bytes());
            for record in records {
                let Ok(PageRecord { time, raw }) = record else {
                    intake.undecoded += 1;
                    break;
                };
                self.taken += 1;
                on_record(time);
                let chain = stacks.as_ref().and_then(|layout| layout.addresses(raw));
                if let Some(addresses) = chain {
                    if after_event {
                        intake.chain_of_last(addresses);
                    }
                    after_event = false;
                } else if let Some(thread) = new_threads.and_then(|layout| layout.thread(raw)) {
                    intake.new_thread(time, thread);
                } else {
                    intake.sample(&Sample { time, weight: 1, raw }, None);
                    after_event = true;
                }
            }
        }
        Ok(bytes)
    }

    /// The number of losses since the last call.
    fn newly_lost(&mut self) -> Result<u64, SysError> {
        let lost = self.stats()?.lost;
        let before = std::mem::replace(&mut self.lost, lost);
        Ok(lost.saturating_sub(before))
    }
}

impl Buffers for Traced {
    fn mechanism(&self) -> Mechanism {
        Mechanism::Tracefs
    }

    fn to_poll(&self) -> Vec<BorrowedFd<'_>> {
        let cpus = self.instances.iter().flat_map(|traces| &traces.cpus);
        cpus.map(|cpu| cpu.files.pages.as_fd()).collect()
    }

    fn size(&self) -> usize {
        self.instances.iter().map(|traces| traces.size).sum()
    }

    fn enable(&self) -> Result<(), SysError> {
        self.instances.iter().try_for_each(|traces| traces.instance.switch(true))?;
        self.copy_marks(true)
    }

    fn disable(&self) -> Result<(), SysError> {
        self.copy_marks(false)?;
        self.instances.iter().try_for_each(|traces| traces.instance.switch(false))
    }

    fn drain(
        &mut self,
        index: usize,
        intake: &mut Intake,
        pace: &mut Pace,
    ) -> Result<u64, SysError> {
        let last = intake.last();
        let mut bytes = 0;
        for Traces { cpus, size, .. } in &mut self.instances {
            bytes += cpus[index].drain(&self.records, *size, last, (intake, pace))?;
        }
        Ok(bytes)
    }

    fn account(
        &mut self,
        intake: &mut Intake,
        ended: Instant<Monotonic>,
    ) -> Result<Accounts, SysError> {
        let count = self.instances.first().map_or(0, |traces| traces.cpus.len());
        let mut cpus = Vec::with_capacity(count);
        for index in 0..count {
            intake.stand_at(index);
            let mut account = CpuAccount { cpu: intake.cpu(), counted: 0, read: 0, lost: 0 };
            for traces in &mut self.instances {
                let cpu = &mut traces.cpus[index];
                if let count @ 1.. = cpu.newly_lost()? {
                    intake.lost(intake.last(), ended, count);
                }
                let stats = cpu.stats()?;
                account.counted += stats.counted();
                account.read += cpu.taken;
                account.lost += stats.lost;
            }
            cpus.push(account);
        }
        let events = self.names.iter().zip(intake.read());
        let events = events
            .map(|(event, read)| EventAccount {
                event: event.clone(),
                read: read.records,
                count: None,
            })
            .collect();
        Ok(Accounts { events, cpus })
    }
}

/// The position of a loss in the stream of a full buffer.
///
/// A buffer that does not overwrite accepts nothing once it is full, until the drain
/// takes the first page out. Events lost before the drain began were lost after the
/// last event before that instant and before the first event after it. Events lost
/// during the drain were lost before its end.
struct Gap {
    began: Instant<Monotonic>,
    from: Instant<Monotonic>,
    to: Option<Instant<Monotonic>>,
}

impl Gap {
    /// Starts after `last`, the last event of earlier drains.
    fn new(began: Instant<Monotonic>, last: Instant<Monotonic>) -> Self {
        Self { began, from: last, to: None }
    }

    /// Takes the time of an event, in the order of the buffer.
    fn pass(&mut self, time: u64) {
        let at = Instant::from_nanos(time);
        if at <= self.began {
            self.from = self.from.max(at);
        } else if self.to.is_none() {
            self.to = Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_written_as_kernel_masks() {
        let check = |cpus: &str, mask_of_them: &str| {
            assert_eq!(mask(&cpus.parse().unwrap()), mask_of_them, "{cpus}");
        };
        check("0", "00000001");
        check("0-1,5", "00000023");
        check("0,32-33", "00000003,00000001");
        check("64", "00000001,00000000,00000000");
    }

    #[test]
    fn a_loss_surrounds_the_instant_when_there_was_space_again() {
        let at = Instant::from_nanos;
        let gap = |last, times: &[u64]| {
            let mut gap = Gap::new(at(100), at(last));
            times.iter().for_each(|time| gap.pass(*time));
            (gap.from, gap.to)
        };
        assert_eq!(gap(50, &[60, 70, 130, 140]), (at(70), Some(at(130))));
        assert_eq!(gap(50, &[60]), (at(60), None));
        assert_eq!(gap(50, &[]), (at(50), None));
    }
}
