//! Records the events of all CPUs by an instance of tracefs.

use std::os::fd::{AsFd, BorrowedFd};

use tactus_model::cpus::CpuList;
use tactus_model::recording::{AbsentEvent, CallChains, CpuAccount, EventAccount, Mechanism};
use tactus_model::result::Shortfall;
use tactus_model::time::{Instant, Monotonic};
use tactus_permission::Asked;
use tactus_sys::tracefs::{CpuFiles, Instance, Tracefs};
use tactus_sys::{Errno, SysError};

use super::error::RecordError;
use super::intake::{Intake, Sample};
use super::mechanism::{Accounts, Buffers, Opened};
use super::open::{SMALLEST_BUFFER, Wanted, thread_filter};
use super::options::{Chained, Options};
use crate::decode::{
    BadFormat, BufferStats, Decoder, Format, Layout, NewThreadLayout, PageRecord, PageShape,
    StackLayout, Tracepoint,
};

/// tracefs does not count its own disabling of preemption.
const OWN_PREEMPTION: u8 = 0;

/// The fill level of a buffer, in percent, at which the kernel wakes the drainer: the
/// rest is for the time until the drainer runs.
const WATERMARK: &str = "25";

/// The option that copies marks, which programs write to the kernel's first instance, into ours.
const COPY_MARKS: &str = "options/copy_trace_marker";

/// An instance with its buffers.
struct Traced {
    // Before the instance, which cannot be removed while they are open.
    cpus: Vec<Cpu>,
    instance: Instance,
    shape: PageShape,
    new_threads: Option<NewThreadLayout>,
    stacks: Option<StackLayout>,
    names: Vec<String>,
    size: usize,
}

/// The buffer of one CPU.
struct Cpu {
    files: CpuFiles,
    /// The number of records read from it.
    read: u64,
    /// The kernel's count of losses at the last reading.
    lost: u64,
}

/// An instance with buffers, without events.
#[derive(Debug)]
pub(super) struct Made {
    instance: Instance,
    shape: PageShape,
    size: usize,
    shortfall: Option<Shortfall>,
}

/// Makes an instance with buffers of `ring_size` bytes for `cpus`.
///
/// # Errors
/// The instance cannot be created or used; perf may still work.
pub(super) fn make(
    tracefs: &Tracefs,
    cpus: &CpuList,
    ring_size: usize,
) -> Result<Made, RecordError> {
    let shape = shape(tracefs)?;
    let instance = Instance::make(tracefs).map_err(|error| {
        let what = "create an instance of tracefs";
        RecordError::refused(what, &Asked::TracefsInstance, error.errno)
    })?;
    let (size, shortfall) = prepare(&instance, cpus, ring_size)?;
    Ok(Made { instance, shape, size, shortfall })
}

/// Opens the `wanted` events in a new instance.
///
/// # Errors
/// The instance cannot be used; perf may still work.
pub(super) fn open(
    made: Made,
    options: &Options,
    wanted: &Wanted,
    cpus: &CpuList,
    tracefs: &Tracefs,
) -> Result<Opened, RecordError> {
    let Made { instance, shape, size, shortfall } = made;
    let mut shortfalls: Vec<Shortfall> = shortfall.into_iter().collect();
    let stacks = match call_chains(tracefs, &instance, wanted, options) {
        Ok(stacks) => stacks,
        Err(shortfall) => {
            shortfalls.push(shortfall);
            None
        }
    };
    let mut decoder = Decoder::new(OWN_PREEMPTION);
    let mut absent = wanted.absent.clone();
    let mut names = Vec::new();
    for (layout, outcome) in enable(&instance, wanted, options)? {
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
    let opened = cpus.iter().map(|cpu| {
        let files = instance.cpu(cpu, shape.page_size())?;
        Ok(Cpu { files, read: 0, lost: 0 })
    });
    let opened = opened.collect::<Result<_, SysError>>()?;
    let new_threads = new_threads(tracefs, &instance);
    let traced = Traced { cpus: opened, instance, shape, new_threads, stacks, names, size };
    Ok(Opened {
        names: traced.names.clone(),
        buffers: Box::new(traced),
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
) -> Result<(usize, Option<Shortfall>), RecordError> {
    instance.write("trace_clock", "mono")?;
    // New events that do not fit are lost, instead of older ones, so a window of loss
    // has one beginning.
    instance.write("options/overwrite", "0")?;
    instance.write("buffer_percent", WATERMARK)?;
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

/// Enables the wanted events; events of some threads only get a filter.
fn enable(
    instance: &Instance,
    wanted: &Wanted,
    options: &Options,
) -> Result<Vec<Enabled>, RecordError> {
    let mut filtered = Vec::new();
    for (tracepoint, _) in &wanted.described {
        let written = thread_filter(*tracepoint, options).map_or(Ok(()), |filter| {
            instance.write(&format!("events/{}/filter", tracepoint.name()), &filter)
        });
        filtered.push(written);
    }
    let tracepoints = wanted.described.iter().map(|(tracepoint, _)| *tracepoint);
    let events = tracepoints.filter(|tracepoint| *tracepoint != Tracepoint::Mark);
    let events: Vec<String> = events.map(Tracepoint::name).collect();
    let mut enabled = instance.enable(&events)?.into_iter();
    let outcomes = wanted.described.iter().zip(filtered).map(|((tracepoint, format), filtered)| {
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

/// Makes the kernel write its call chain after each event that has one.
fn call_chains(
    tracefs: &Tracefs,
    instance: &Instance,
    wanted: &Wanted,
    options: &Options,
) -> Result<Option<StackLayout>, Shortfall> {
    if options.call_chains == CallChains::Never {
        return Ok(None);
    }
    let refused = |reason: String| Shortfall {
        asked: "call chains".to_owned(),
        granted: "events without call chains".to_owned(),
        reason,
        fix: None,
    };
    let text = tracefs.format(StackLayout::EVENT).map_err(|error| refused(error.to_string()))?;
    let format: Format = text.parse().map_err(|error: BadFormat| refused(error.to_string()))?;
    let layout = StackLayout::new(&format).map_err(|error| refused(error.to_string()))?;
    for (tracepoint, _) in &wanted.described {
        let trigger = match tracepoint.chained(options.call_chains) {
            Chained::None => continue,
            Chained::If(filter) => format!("stacktrace if {filter}"),
            Chained::All => "stacktrace".to_owned(),
        };
        let file = format!("events/{}/trigger", tracepoint.name());
        instance.write(&file, &trigger).map_err(|error| refused(error.to_string()))?;
    }
    Ok(Some(layout))
}

/// Makes new threads report their processes, if the kernel has that event: without it,
/// threads that start during the recording have no known process.
fn new_threads(tracefs: &Tracefs, instance: &Instance) -> Option<NewThreadLayout> {
    let format = tracefs.format(NewThreadLayout::EVENT).ok()?.parse().ok()?;
    let layout = NewThreadLayout::new(&format).ok()?;
    let enabled = instance.enable(&[NewThreadLayout::EVENT.to_owned()]).ok()?;
    matches!(enabled[..], [Ok(())]).then_some(layout)
}

impl Traced {
    /// Copies marks into the instance from now on, or no longer, if they are recorded.
    ///
    /// While an instance does not record, a copy into it fails: programs then get `EBADF`, and
    /// all older instances, the kernel's first too, miss the mark (Linux 6.18).
    fn copy_marks(&self, on: bool) -> Result<(), SysError> {
        if !self.names.contains(&Tracepoint::Mark.name()) {
            return Ok(());
        }
        self.instance.write(COPY_MARKS, if on { "1" } else { "0" })
    }
}

impl Cpu {
    fn stats(&self) -> Result<BufferStats, SysError> {
        // The kernel writes these lines since 2.6.36, and the last of them since 3.9.
        self.files.stats()?.parse().map_err(|_| SysError::new("read", Errno::PROTO))
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
        self.cpus.iter().map(|cpu| cpu.files.pages.as_fd()).collect()
    }

    fn size(&self) -> usize {
        self.size
    }

    fn enable(&self) -> Result<(), SysError> {
        self.instance.switch(true)?;
        self.copy_marks(true)
    }

    fn disable(&self) -> Result<(), SysError> {
        self.copy_marks(false)?;
        self.instance.switch(false)
    }

    fn drain(&mut self, index: usize, intake: &mut Intake) -> Result<u64, SysError> {
        let Self { cpus, shape, new_threads, stacks, size, .. } = self;
        let cpu = &mut cpus[index];
        let began = tactus_sys::clock::now::<Monotonic>();
        let mut gap = Gap::new(began, intake.last());
        let lost_before = cpu.newly_lost()?;
        // The ring has one page more than its size, and the last page may come in two
        // parts.
        let most = *size / shape.page_size() + size_of::<u64>();
        let mut bytes = 0;
        // The kernel writes a chain directly after its event: all events with chains
        // come with interrupts off.
        let mut after_event = false;
        for _ in 0..most {
            let Some(page) = cpu.files.pages.next_page()? else { break };
            let Ok(records) = shape.records(page) else {
                intake.undecoded += 1;
                continue;
            };
            bytes += records.bytes() as u64;
            for record in records {
                let Ok(PageRecord { time, raw }) = record else {
                    intake.undecoded += 1;
                    break;
                };
                cpu.read += 1;
                gap.pass(time);
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
        let lost_meanwhile = cpu.newly_lost()?;
        let ended = tactus_sys::clock::now::<Monotonic>();
        for (count, to) in [(lost_before, gap.to.unwrap_or(ended)), (lost_meanwhile, ended)] {
            if count > 0 {
                intake.lost(gap.from, to, count);
            }
        }
        Ok(bytes)
    }

    fn account(
        &mut self,
        intake: &mut Intake,
        ended: Instant<Monotonic>,
    ) -> Result<Accounts, SysError> {
        let mut cpus = Vec::new();
        for (index, cpu) in self.cpus.iter_mut().enumerate() {
            intake.stand_at(index);
            if let count @ 1.. = cpu.newly_lost()? {
                intake.lost(intake.last(), ended, count);
            }
            let stats = cpu.stats()?;
            let (cpu, read) = (intake.cpu(), cpu.read);
            let (counted, lost) = (stats.counted(), stats.lost);
            cpus.push(CpuAccount { cpu, counted, read, lost });
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
