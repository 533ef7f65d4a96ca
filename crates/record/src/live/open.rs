//! Opens the events of all CPUs, by perf or by tracefs.

use std::io;

use tactus_model::cpus::{CpuChoice, CpuList};
use tactus_model::recording::{AbsentEvent, Mechanism};
use tactus_model::result::Shortfall;
use tactus_sys::tracefs::Tracefs;

use super::error::RecordError;
use super::mechanism::Opened;
use super::options::{Options, Source};
use super::tracefs::Traced;
use super::{perf, tracefs};
use crate::decode::{Format, Tracepoint};

/// The minimum size of a useful buffer, in bytes.
pub(super) const SMALLEST_BUFFER: usize = 1 << 16;

/// What a recording needs and what takes long: an instance of tracefs with its buffers, if this
/// process may have one. Nothing is recorded, and no event is enabled.
#[derive(Debug)]
pub struct Prepared {
    tracefs: Tracefs,
    cpus: CpuList,
    made: Result<tracefs::Made, RecordError>,
}

impl Prepared {
    /// Prepares a recording by the mechanism that `options` ask for, with their buffers and call
    /// chains; their events may still change.
    ///
    /// # Errors
    /// The kernel's tracepoints cannot be read, or no CPU is online.
    pub fn new(options: &Options) -> Result<Self, RecordError> {
        let tracefs = Tracefs::find().map_err(|error| RecordError::no_tracepoints(&error))?;
        let cpus = online(&options.cpus)?;
        let made = match options.source {
            Source::Only(Mechanism::Perf) => Err(RecordError::NothingAsked),
            _ => tracefs::make(&tracefs, &cpus, options),
        };
        Ok(Self { tracefs, cpus, made })
    }

    /// Whether there is an instance of tracefs. Without one, only an attempt shows whether perf
    /// may record.
    pub fn has_instance(&self) -> bool {
        self.made.is_ok()
    }
}

/// Opens what `options` ask for, as far as possible, by the requested mechanism or the
/// best available one.
pub(super) fn open(options: &Options, prepared: Prepared) -> Result<Opened, RecordError> {
    let Prepared { tracefs, cpus, made } = prepared;
    let wanted = describe(&tracefs, &options.tracepoints)?;
    let by_perf = || perf::open(options, &wanted, &cpus);
    let by_tracefs = || {
        let opened = made.and_then(|made| tracefs::open(made, options, &wanted, &cpus, &tracefs));
        opened.map(Opened::of_any_mechanism)
    };
    let mut opened = match options.source {
        Source::Only(Mechanism::Perf) => by_perf()?,
        Source::Only(Mechanism::Tracefs) => by_tracefs()?,
        Source::Auto => match by_tracefs() {
            Ok(opened) => opened,
            Err(refused) => {
                let mut opened = by_perf()?;
                opened.shortfalls.push(perf_instead(&refused));
                opened
            }
        },
    };
    for event in options.tracepoints.iter().filter(|tracepoint| options.narrows(**tracepoint)) {
        let reason = "it is recorded only for some threads".to_owned();
        opened.absent.push(AbsentEvent { event: event.name(), reason });
    }
    match opened.absent.first() {
        _ if !opened.names.is_empty() => Ok(opened),
        Some(absent) => Err(RecordError::NoEvents(absent.clone())),
        None => Err(RecordError::NothingAsked),
    }
}

/// Like [`open`], by tracefs only.
///
/// # Errors
/// There is no instance of tracefs, or it records none of the events.
pub(super) fn open_traced(
    options: &Options,
    prepared: Prepared,
) -> Result<Opened<Traced>, RecordError> {
    let Prepared { tracefs, cpus, made } = prepared;
    let wanted = describe(&tracefs, &options.tracepoints)?;
    let opened = tracefs::open(made?, options, &wanted, &cpus, &tracefs)?;
    match opened.absent.first() {
        Some(absent) if opened.names.is_empty() => Err(RecordError::NoEvents(absent.clone())),
        _ => Ok(opened),
    }
}

fn perf_instead(refused: &RecordError) -> Shortfall {
    Shortfall {
        asked: "events by tracefs".to_owned(),
        granted: "events by perf, which costs more time for each event".to_owned(),
        reason: refused.to_string(),
        fix: refused.fix(),
    }
}

/// The kernel's filter for what is recorded of `tracepoint`; `None` if everything is.
pub(super) fn filter(tracepoint: Tracepoint, options: &Options) -> Option<String> {
    if tracepoint == Tracepoint::ContentionBegin {
        return Some(WAITS_ASLEEP.to_owned());
    }
    let threads = &options.only_threads;
    let restricted = tracepoint.is_of_a_thread() || options.narrows(tracepoint);
    (restricted && !threads.is_empty()).then(|| {
        let each = tracepoint
            .thread_fields()
            .iter()
            .flat_map(|field| threads.iter().map(move |thread| format!("{field} == {thread}")));
        each.collect::<Vec<_>>().join(" || ")
    })
}

/// Contention for a lock that is awaited asleep. Contention for one that is awaited spinning, which has
/// the flag `LCB_F_SPIN`, is half of these events or more, and explains no sleep.
const WAITS_ASLEEP: &str = "!(flags & 1)";

/// Tracepoints with the kernel's formats, and events without a format.
pub(super) struct Wanted {
    pub(super) described: Vec<(Tracepoint, Format)>,
    pub(super) absent: Vec<AbsentEvent>,
}

fn describe(tracefs: &Tracefs, tracepoints: &[Tracepoint]) -> Result<Wanted, RecordError> {
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
                let effect = tracepoint.unknown_without();
                let lacking = AbsentEvent::NOT_IN_KERNEL;
                effect.map_or(lacking.to_owned(), |effect| format!("{lacking}: {effect}"))
            }
            Err(error) => return Err(RecordError::no_tracepoints(&error)),
        };
        wanted.absent.push(AbsentEvent { event, reason });
    }
    Ok(wanted)
}

/// The chosen CPUs that are online.
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
    if cpus.is_empty() { Err(RecordError::NoCpus(choice.to_string())) } else { Ok(cpus) }
}
