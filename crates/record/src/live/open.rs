//! Opens the events of all processors, each processor's into one ring.

use std::io;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::recording::{AbsentEvent, ThreadId};
use tactus_model::result::Shortfall;
use tactus_sys::perf::{CpuEvent, OpenFileLimit, Ring};
use tactus_sys::tracefs::Tracefs;
use tactus_sys::{Errno, SysError};

use super::error::RecordError;
use super::options::Options;
use crate::decode::{Decoder, Format, Layout, Tracepoint};

/// Everything opened, nothing enabled.
pub(super) struct Opened {
    pub(super) cpus: CpuList,
    /// One of each processor: it owns the ring that all others write into.
    pub(super) leaders: Vec<CpuEvent>,
    pub(super) rings: Vec<Ring>,
    /// Of each processor the tracepoints, in the order of `names`.
    pub(super) tracepoints: Vec<Vec<CpuEvent>>,
    pub(super) decoder: Decoder,
    /// The tracepoints by the decoder's index.
    pub(super) names: Vec<String>,
    pub(super) absent: Vec<AbsentEvent>,
    pub(super) shortfalls: Vec<Shortfall>,
    pub(super) call_chains: bool,
}

/// The smallest ring that is still worth having.
const SMALLEST_RING: usize = 1 << 16;

/// Opens what `options` ask for, as far as it can be had.
pub(super) fn open(options: &Options) -> Result<Opened, RecordError> {
    let wanted = describe(&options.tracepoints)?;
    let cpus = online(&options.cpus)?;
    let _limit = OpenFileLimit::raise();
    let rings = Rings::open(&cpus, options.ring_size)?;
    let mut opened = Opened {
        tracepoints: cpus.iter().map(|_| Vec::new()).collect(),
        cpus,
        leaders: rings.leaders,
        rings: rings.rings,
        decoder: Decoder::default(),
        names: Vec::new(),
        absent: wanted.absent,
        shortfalls: rings.shortfall.into_iter().collect(),
        call_chains: options.call_chains,
    };
    for (tracepoint, format) in wanted.described {
        if let Err(reason) = opened.add(tracepoint, &format, options) {
            opened.absent.push(AbsentEvent { event: tracepoint.name(), reason });
        }
    }
    match opened.absent.first() {
        _ if !opened.names.is_empty() => Ok(opened),
        Some(absent) => Err(RecordError::NoEvents(absent.clone())),
        None => Err(RecordError::NothingAsked),
    }
}

/// The rings of all processors and the events that own them.
struct Rings {
    leaders: Vec<CpuEvent>,
    rings: Vec<Ring>,
    shortfall: Option<Shortfall>,
}

impl Rings {
    /// Makes a ring on each processor, as large as is granted up to `wanted` bytes.
    fn open(cpus: &CpuList, wanted: usize) -> Result<Self, RecordError> {
        let mut size = wanted.next_power_of_two();
        loop {
            match Self::of_size(cpus, size) {
                Ok((leaders, rings)) => {
                    let shortfall = (size < wanted).then(|| smaller_rings(wanted, size));
                    return Ok(Self { leaders, rings, shortfall });
                }
                Err(error) if error.call == "mmap" => {
                    let too_large = error.errno == Errno::PERM || error.errno == Errno::NOMEM;
                    if !too_large || size <= SMALLEST_RING {
                        return Err(RecordError::NoRing(error));
                    }
                    size /= 2;
                }
                Err(error) if error.errno == Errno::ACCESS || error.errno == Errno::PERM => {
                    return Err(RecordError::NotPermitted(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn of_size(cpus: &CpuList, size: usize) -> Result<(Vec<CpuEvent>, Vec<Ring>), SysError> {
        let (mut leaders, mut rings) = (Vec::new(), Vec::new());
        for cpu in cpus.iter() {
            let leader = CpuEvent::tasks(cpu, watermark(size))?;
            rings.push(Ring::map(&leader, size)?);
            leaders.push(leader);
        }
        Ok((leaders, rings))
    }
}

fn smaller_rings(wanted: usize, size: usize) -> Shortfall {
    Shortfall {
        asked: format!("rings of {} KiB", wanted >> 10),
        granted: format!("rings of {} KiB", size >> 10),
        reason: "more memory would be locked than this user may lock".to_owned(),
        mend: RecordError::NoRing(SysError::new("mmap", Errno::PERM)).mend(),
    }
}

/// Wakes the drainer when a quarter of the ring is used: the rest is for the
/// time it takes to come.
fn watermark(ring_size: usize) -> u32 {
    u32::try_from(ring_size / 4).unwrap_or(u32::MAX)
}

impl Opened {
    /// Opens a tracepoint on each processor, on all or on none; tells why not.
    fn add(
        &mut self,
        tracepoint: Tracepoint,
        format: &Format,
        options: &Options,
    ) -> Result<(), String> {
        let layout = Layout::new(tracepoint, format).map_err(|error| error.to_string())?;
        let filter = (tracepoint.is_of_a_thread() && !options.only_threads.is_empty())
            .then(|| filter(&options.only_threads));
        let open = |(cpu, leader): (u32, &CpuEvent)| {
            let event = CpuEvent::tracepoint(format.id, cpu, options.call_chains)?;
            if let Some(filter) = &filter {
                event.filter(filter)?;
            }
            event.redirect_to(leader)?;
            Ok(event)
        };
        let events = self.cpus.iter().zip(&self.leaders).map(open);
        let events: Vec<CpuEvent> = events.collect::<Result<_, SysError>>().map_err(explain)?;
        for (tracepoints, event) in self.tracepoints.iter_mut().zip(events) {
            tracepoints.push(event);
        }
        self.decoder.add(layout);
        self.names.push(tracepoint.name());
        Ok(())
    }

    fn events(&self) -> impl Iterator<Item = &CpuEvent> {
        self.leaders.iter().chain(self.tracepoints.iter().flatten())
    }

    /// Begins to record on all processors.
    pub(super) fn enable(&self) -> Result<(), SysError> {
        self.events().try_for_each(CpuEvent::enable)
    }

    /// Ceases to record on all processors.
    pub(super) fn disable(&self) -> Result<(), SysError> {
        self.events().try_for_each(CpuEvent::disable)
    }
}

fn filter(threads: &[ThreadId]) -> String {
    let each: Vec<String> =
        threads.iter().map(|thread| format!("common_pid == {thread}")).collect();
    each.join(" || ")
}

/// Why perf does not give an event, in a sentence.
fn explain(error: SysError) -> String {
    match error.errno {
        Errno::PERM | Errno::ACCESS => {
            format!("the kernel keeps this tracepoint from perf ({error})")
        }
        Errno::MFILE | Errno::NFILE => {
            format!("too many files are open ({error}); `ulimit -n` says how many may be")
        }
        _ => error.to_string(),
    }
}

/// Tracepoints with the kernel's descriptions of them, and those without.
struct Wanted {
    described: Vec<(Tracepoint, Format)>,
    absent: Vec<AbsentEvent>,
}

fn describe(tracepoints: &[Tracepoint]) -> Result<Wanted, RecordError> {
    let tracefs = Tracefs::find().map_err(RecordError::NoTracefs)?;
    let mut wanted = Wanted { described: Vec::new(), absent: Vec::new() };
    for &tracepoint in tracepoints {
        let event = tracepoint.name();
        let reason = match tracefs.format(&event) {
            Ok(text) => match text.parse::<Format>() {
                Ok(format) => {
                    wanted.described.push((tracepoint, format));
                    continue;
                }
                Err(error) => error.to_string(),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                "this kernel has no such event".to_owned()
            }
            Err(error) => {
                let place = tracefs.directory().to_owned();
                return Err(RecordError::Unreadable { place, error });
            }
        };
        wanted.absent.push(AbsentEvent { event, reason });
    }
    Ok(wanted)
}

/// The processors that are meant and online.
fn online(choice: &CpuChoice) -> Result<CpuList, RecordError> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online");
    let online: Option<CpuList> = text.ok().and_then(|text| text.trim().parse().ok());
    let cpus = match (choice, online) {
        (CpuChoice::All, Some(online)) => online,
        (CpuChoice::All, None) => tactus_sys::affinity::get()?,
        (CpuChoice::These(cpus), Some(online)) => {
            cpus.iter().filter(|cpu| online.contains(*cpu)).collect()
        }
        (CpuChoice::These(cpus), None) => cpus.clone(),
    };
    if cpus.is_empty() { Err(RecordError::NoProcessors(choice.to_string())) } else { Ok(cpus) }
}
