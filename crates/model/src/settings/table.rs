//! The table of settings.

use std::str::FromStr;

use super::Setting;
use crate::cell::{Cell, Target};
use crate::cost::{CostProbe, Parameter, Sampling};
use crate::frames::FramesProbe;
use crate::guest::{Guest, GuestTime};
use crate::kernel::GuestKernel;
use crate::midi::MidiProbe;
use crate::net::NetProbe;
use crate::probe::{Interval, ProbeKind, TimerProbe};
use crate::sort::SortProbe;
use crate::text::UnknownWord;
use crate::time::Nanos;

/// The value that leaves a setting of the kernel unchanged.
const UNTOUCHED: &str = "untouched";

/// The value of `kernel` for the machine that runs the plan.
const HOST: &str = "host";

fn put<T: FromStr<Err: ToString>>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

fn put_number<T: FromStr>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    Ok(())
}

fn put_flag(place: &mut bool, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|_| format!("`{text}` is neither true nor false"))?;
    Ok(())
}

/// The kernel takes this limit as a signed integer of microseconds.
fn whole_micros(latency: Nanos) -> Result<u32, String> {
    let nanos = latency.as_nanos();
    let micros = u32::try_from(nanos / 1000).ok().filter(|micros| *micros <= i32::MAX as u32);
    match micros {
        Some(micros) if nanos.is_multiple_of(1000) => Ok(micros),
        _ => Err(format!("`{latency}` is not a whole number of microseconds up to 2147483647us")),
    }
}

const fn timer(cell: &Cell) -> &TimerProbe {
    cell.probe.timer()
}

const fn timer_mut(cell: &mut Cell) -> &mut TimerProbe {
    cell.probe.timer_mut()
}

fn frames_mut(cell: &mut Cell) -> Result<&mut FramesProbe, String> {
    cell.probe.frames_mut().ok_or_else(|| "it applies to the frames probe only".to_owned())
}

fn sort_mut(cell: &mut Cell) -> Result<&mut SortProbe, String> {
    cell.probe.sort_mut().ok_or_else(|| "it applies to the sort probe only".to_owned())
}

fn net_mut(cell: &mut Cell) -> Result<&mut NetProbe, String> {
    cell.probe.net_mut().ok_or_else(|| "it applies to the net probe only".to_owned())
}

fn cost_mut(cell: &mut Cell) -> Result<&mut CostProbe, String> {
    cell.probe.cost_mut().ok_or_else(|| "it applies to the cost probe only".to_owned())
}

fn midi_mut(cell: &mut Cell) -> Result<&mut MidiProbe, String> {
    cell.probe.midi_mut().ok_or_else(|| "it applies to the midi probe only".to_owned())
}

/// Empty if the cell's probe measures no operation that takes the parameter.
fn cost_text<T: ToString>(cell: &Cell, parameter: Parameter, of: fn(&CostProbe) -> T) -> String {
    let taking = cell.probe.cost().filter(|cost| cost.operation.takes(parameter));
    taking.map(|cost| of(cost).to_string()).unwrap_or_default()
}

/// Empty if the cell's probe measures no operation.
fn cost_sampling<T: ToString>(cell: &Cell, of: fn(&Sampling) -> T) -> String {
    cell.probe.cost().map(|cost| of(&cost.sampling).to_string()).unwrap_or_default()
}

/// Empty if the cell's probe is not the timer probe.
fn timer_text<T: ToString>(cell: &Cell, of: fn(&TimerProbe) -> T) -> String {
    match cell.probe.kind() {
        ProbeKind::Timer => of(timer(cell)).to_string(),
        _ => String::new(),
    }
}

/// Empty if the cell's probe sends no packets.
fn net_text<T: ToString>(cell: &Cell, of: fn(&NetProbe) -> T) -> String {
    cell.probe.net().map(|net| of(net).to_string()).unwrap_or_default()
}

/// Empty if the cell's probe delivers no messages.
fn midi_text<T: ToString>(cell: &Cell, of: fn(&MidiProbe) -> T) -> String {
    cell.probe.midi().map(|midi| of(midi).to_string()).unwrap_or_default()
}

/// Empty if the cell's probe has no frames.
fn frames_text<T: ToString>(cell: &Cell, of: fn(&FramesProbe) -> T) -> String {
    cell.probe.frames().map(|frames| of(frames).to_string()).unwrap_or_default()
}

/// All settings, in the order in which results name them. Which settings apply to a cell depends on
/// its probe and its operation, which therefore come first.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: "kernel",
        of: None,
        value: "KERNEL",
        about: "The kernel to measure: host, or a guest kernel such as debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, or a file",
        set: |cell, text| {
            cell.target = match text {
                HOST => Target::Host,
                _ => {
                    let kernel = text.parse::<GuestKernel>().map_err(|error| {
                        format!("{error}; or `{HOST}` for this machine's kernel")
                    })?;
                    Target::Guest(Guest { kernel, time: GuestTime::Wall })
                }
            };
            Ok(())
        },
        get: |cell| match &cell.target {
            Target::Host => HOST.to_owned(),
            Target::Guest(guest) => guest.kernel.to_string(),
        },
    },
    Setting {
        name: "probe",
        of: None,
        value: "KIND",
        about: "What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time)",
        set: |cell, text| {
            let kind = text.parse().map_err(|error: UnknownWord| error.to_string())?;
            cell.probe = cell.probe.of_kind(kind);
            Ok(())
        },
        get: |cell| cell.probe.kind().to_string(),
    },
    Setting {
        name: "load",
        of: None,
        value: "LOAD",
        about: "Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:\"make -j4\"; stress-ng:\"--vm 2\"; several together: player@60+display",
        set: |cell, text| put(&mut cell.load.load, text),
        get: |cell| cell.load.load.to_string(),
    },
    Setting {
        name: "load-policy",
        of: None,
        value: "POLICY",
        about: "Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD",
        set: |cell, text| put(&mut cell.load.scheduling, text),
        get: |cell| cell.load.scheduling.to_string(),
    },
    Setting {
        name: "load-cpus",
        of: None,
        value: "CPUS",
        about: "The CPUs the load may use: all, or a list such as 0,2-3",
        set: |cell, text| put(&mut cell.load.cpus, text),
        get: |cell| cell.load.cpus.to_string(),
    },
    Setting {
        name: "policy",
        of: None,
        value: "POLICY",
        about: "Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD",
        set: |cell, text| put(&mut cell.policy.scheduling, text),
        get: |cell| cell.policy.scheduling.to_string(),
    },
    Setting {
        name: "cpus",
        of: None,
        value: "CPUS",
        about: "The measured CPUs: all, or a list such as 0,2-3",
        set: |cell, text| put(&mut cell.policy.cpus, text),
        get: |cell| cell.policy.cpus.to_string(),
    },
    Setting {
        name: "operation",
        of: Some(ProbeKind::Cost),
        value: "OPERATION",
        about: "The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all",
        set: |cell, text| put(&mut cost_mut(cell)?.operation, text),
        get: |cell| cell.probe.cost().map(|cost| cost.operation.to_string()).unwrap_or_default(),
    },
    Setting {
        name: "sleep",
        of: None,
        value: "METHOD",
        about: "How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer's interrupt",
        set: |cell, text| put(&mut timer_mut(cell).sleep, text),
        get: |cell| timer(cell).sleep.to_string(),
    },
    Setting {
        name: "clock",
        of: None,
        value: "CLOCK",
        about: "The clock for sleeping: monotonic, realtime, tai, boottime",
        set: |cell, text| put(&mut timer_mut(cell).clock, text),
        get: |cell| timer(cell).clock.to_string(),
    },
    Setting {
        name: "interval",
        of: Some(ProbeKind::Timer),
        value: "INTERVAL",
        about: "The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered)",
        set: |cell, text| put(&mut timer_mut(cell).interval, text),
        get: |cell| timer_text(cell, |timer| timer.interval),
    },
    Setting {
        name: "interrupted",
        of: Some(ProbeKind::Timer),
        value: "PROGRAM",
        about: "What runs on the CPU when a task is due: none (only the load), idle, thread (of the task's process), process (of another address space)",
        set: |cell, text| put(&mut timer_mut(cell).interrupted, text),
        get: |cell| timer_text(cell, |timer| timer.interrupted),
    },
    Setting {
        name: "dirt",
        of: Some(ProbeKind::Timer),
        value: "DIRT",
        about: "What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time)",
        set: |cell, text| put(&mut timer_mut(cell).dirt, text),
        get: |cell| timer_text(cell, |timer| timer.dirt),
    },
    Setting {
        name: "frame-rate",
        of: Some(ProbeKind::Frames),
        value: "RATE",
        about: "The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001",
        set: |cell, text| {
            let frames = frames_mut(cell)?;
            put(&mut frames.frame_rate, text)?;
            frames.timer.interval = Interval::Fixed(frames.frame_rate.period());
            Ok(())
        },
        get: |cell| frames_text(cell, |frames| frames.frame_rate),
    },
    Setting {
        name: "tick",
        of: Some(ProbeKind::Frames),
        value: "RATE",
        about: "Simulated tick rate in Hz: a player's timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel's own timers",
        set: |cell, text| put(&mut frames_mut(cell)?.tick, text),
        get: |cell| frames_text(cell, |frames| frames.tick),
    },
    Setting {
        name: "tick-shift",
        of: Some(ProbeKind::Frames),
        value: "SHIFT",
        about: "Time from the first frame to a tick: 5ms; sweep covers every shift in turn",
        set: |cell, text| put(&mut frames_mut(cell)?.tick_shift, text),
        get: |cell| frames_text(cell, |frames| frames.tick_shift),
    },
    Setting {
        name: "player",
        of: Some(ProbeKind::Frames),
        value: "PLAYER",
        about: "Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory)",
        set: |cell, text| put(&mut frames_mut(cell)?.player, text),
        get: |cell| frames_text(cell, |frames| frames.player),
    },
    Setting {
        name: "numbers",
        of: Some(ProbeKind::Sort),
        value: "N",
        about: "How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache",
        set: |cell, text| put(&mut sort_mut(cell)?.numbers, text),
        get: |cell| cell.probe.sort().map(|sort| sort.numbers.to_string()).unwrap_or_default(),
    },
    Setting {
        name: "net-path",
        of: Some(ProbeKind::Net),
        value: "PATH",
        about: "Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender's thread, over AF_PACKET or AF_XDP)",
        set: |cell, text| put(&mut net_mut(cell)?.path, text),
        get: |cell| net_text(cell, |net| net.path),
    },
    Setting {
        name: "net-period",
        of: Some(ProbeKind::Net),
        value: "DURATION",
        about: "The time from one burst of packets to the next",
        set: |cell, text| {
            let net = net_mut(cell)?;
            let period = text.parse::<Nanos>().map_err(|error| error.to_string())?;
            if period < Nanos::from_millis(1) {
                return Err(format!("`{text}` is too short; the least is 1ms"));
            }
            net.set_period(period);
            Ok(())
        },
        get: |cell| net_text(cell, NetProbe::period),
    },
    Setting {
        name: "net-packets",
        of: Some(ProbeKind::Net),
        value: "N",
        about: "The packets of a burst, 1 KiB each: 1 to 1000",
        set: |cell, text| put(&mut net_mut(cell)?.packets, text),
        get: |cell| net_text(cell, |net| net.packets),
    },
    Setting {
        name: "net-work",
        of: Some(ProbeKind::Net),
        value: "DURATION",
        about: "The computation of a burst, in CPU time",
        set: |cell, text| put(&mut net_mut(cell)?.burst_work, text),
        get: |cell| net_text(cell, |net| net.burst_work),
    },
    Setting {
        name: "net-rivals",
        of: Some(ProbeKind::Net),
        value: "N",
        about: "Low-priority senders of the same bursts, by the same path: 0 to 16",
        set: |cell, text| put_number(&mut net_mut(cell)?.rivals, text),
        get: |cell| net_text(cell, |net| net.rivals),
    },
    Setting {
        name: "relay-policy",
        of: Some(ProbeKind::Net),
        value: "POLICY",
        about: "Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD",
        set: |cell, text| put(&mut net_mut(cell)?.relay_policy, text),
        get: |cell| net_text(cell, |net| net.relay_policy),
    },
    Setting {
        name: "net-receive",
        of: Some(ProbeKind::Net),
        value: "PLACE",
        about: "Where the kernel works on received packets: softirq (here the sender's thread), thread (a kernel thread per queue: threaded NAPI)",
        set: |cell, text| put(&mut net_mut(cell)?.receive, text),
        get: |cell| net_text(cell, |net| net.receive),
    },
    Setting {
        name: "napi-policy",
        of: Some(ProbeKind::Net),
        value: "POLICY",
        about: "Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD",
        set: |cell, text| put(&mut net_mut(cell)?.napi_policy, text),
        get: |cell| net_text(cell, |net| net.napi_policy),
    },
    Setting {
        name: "message-rate",
        of: Some(ProbeKind::Midi),
        value: "RATE",
        about: "MIDI messages per second, at most 1000: 100; 24.5",
        set: |cell, text| {
            let midi = midi_mut(cell)?;
            let mut rate = midi.message_rate;
            put(&mut rate, text)?;
            midi.set_rate(rate);
            Ok(())
        },
        get: |cell| midi_text(cell, |midi| midi.message_rate),
    },
    Setting {
        name: "message-ahead",
        of: Some(ProbeKind::Midi),
        value: "DURATION",
        about: "How long before its time a MIDI message is handed over, at most 60s",
        set: |cell, text| put(&mut midi_mut(cell)?.ahead, text),
        get: |cell| midi_text(cell, |midi| midi.ahead),
    },
    Setting {
        name: "via",
        of: Some(ProbeKind::Midi),
        value: "WAY",
        about: "Who keeps MIDI messages until their time: library (a thread of the program, with the cell's policy), server (tactus streamd, another process, with the cell's policy)",
        set: |cell, text| put(&mut midi_mut(cell)?.via, text),
        get: |cell| midi_text(cell, |midi| midi.via),
    },
    Setting {
        name: "size",
        of: Some(ProbeKind::Cost),
        value: "BYTES",
        about: "Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB",
        set: |cell, text| put(&mut cost_mut(cell)?.size, text),
        get: |cell| cost_text(cell, Parameter::Size, |cost| cost.size),
    },
    Setting {
        name: "pages",
        of: Some(ProbeKind::Cost),
        value: "SIZE",
        about: "Pages of the memory of an operation: normal, huge (transparent huge pages)",
        set: |cell, text| put(&mut cost_mut(cell)?.pages, text),
        get: |cell| cost_text(cell, Parameter::Pages, |cost| cost.pages),
    },
    Setting {
        name: "partner",
        of: Some(ProbeKind::Cost),
        value: "KIND",
        about: "The other side of a round trip: thread (of the same process), process (another address space)",
        set: |cell, text| put(&mut cost_mut(cell)?.partner, text),
        get: |cell| cost_text(cell, Parameter::Partner, |cost| cost.partner),
    },
    Setting {
        name: "partner-cpu",
        of: Some(ProbeKind::Cost),
        value: "CPU",
        about: "Where the other side of a round trip runs: same (as the task), other (the next of the cell's CPUs)",
        set: |cell, text| put(&mut cost_mut(cell)?.partner_cpu, text),
        get: |cell| cost_text(cell, Parameter::PartnerCpu, |cost| cost.partner_cpu),
    },
    Setting {
        name: "working-set",
        of: Some(ProbeKind::Cost),
        value: "BYTES",
        about: "Memory that each side of a round trip reads before it hands over, 0B to 1GiB",
        set: |cell, text| put(&mut cost_mut(cell)?.working_set, text),
        get: |cell| cost_text(cell, Parameter::WorkingSet, |cost| cost.working_set),
    },
    Setting {
        name: "touch",
        of: Some(ProbeKind::Cost),
        value: "WHO",
        about: "Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both",
        set: |cell, text| put(&mut cost_mut(cell)?.touch, text),
        get: |cell| cost_text(cell, Parameter::Touch, |cost| cost.touch),
    },
    Setting {
        name: "buffers",
        of: Some(ProbeKind::Cost),
        value: "KIND",
        about: "Memory of messages: recycled (the same for all), fresh (new pages for each)",
        set: |cell, text| put(&mut cost_mut(cell)?.buffers, text),
        get: |cell| cost_text(cell, Parameter::Buffers, |cost| cost.buffers),
    },
    Setting {
        name: "wait",
        of: Some(ProbeKind::Cost),
        value: "WAY",
        about: "How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs)",
        set: |cell, text| put(&mut cost_mut(cell)?.wait, text),
        get: |cell| cost_text(cell, Parameter::Wait, |cost| cost.wait),
    },
    Setting {
        name: "file-size",
        of: Some(ProbeKind::Cost),
        value: "BYTES",
        about: "Size of the file that is read, 512B to 1GiB, at least a block",
        set: |cell, text| put(&mut cost_mut(cell)?.file.file_size, text),
        get: |cell| cost_text(cell, Parameter::FileSize, |cost| cost.file.file_size),
    },
    Setting {
        name: "directory",
        of: Some(ProbeKind::Cost),
        value: "PATH",
        about: "Directory in which the file is made: an absolute path, or temporary (TMPDIR)",
        set: |cell, text| put(&mut cost_mut(cell)?.file.directory, text),
        get: |cell| cost_text(cell, Parameter::Directory, |cost| cost.file.directory.clone()),
    },
    Setting {
        name: "cache",
        of: Some(ProbeKind::Cost),
        value: "STATE",
        about: "Where the file's content is: warm (in the page cache), cold (dropped from it before each pass over the file)",
        set: |cell, text| put(&mut cost_mut(cell)?.file.cache, text),
        get: |cell| cost_text(cell, Parameter::Cache, |cost| cost.file.cache),
    },
    Setting {
        name: "advice",
        of: Some(ProbeKind::Cost),
        value: "ADVICE",
        about: "Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now)",
        set: |cell, text| put(&mut cost_mut(cell)?.file.advice, text),
        get: |cell| cost_text(cell, Parameter::Advice, |cost| cost.file.advice),
    },
    Setting {
        name: "queue-depth",
        of: Some(ProbeKind::Cost),
        value: "N",
        about: "How many reads of io_uring are on their way at a time: 1 to 256",
        set: |cell, text| put(&mut cost_mut(cell)?.file.queue_depth, text),
        get: |cell| cost_text(cell, Parameter::QueueDepth, |cost| cost.file.queue_depth),
    },
    Setting {
        name: "image",
        of: Some(ProbeKind::Cost),
        value: "SIZE",
        about: "Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4",
        set: |cell, text| put(&mut cost_mut(cell)?.image, text),
        get: |cell| cost_text(cell, Parameter::Image, |cost| cost.image),
    },
    Setting {
        name: "idle-count",
        of: Some(ProbeKind::Cost),
        value: "BOOL",
        about: "Whether a thread of the lowest priority counts while the task's CPU is idle: true, false; it shows all CPU time that the operation takes there",
        set: |cell, text| put_flag(&mut cost_mut(cell)?.idle_count, text),
        get: |cell| cost_text(cell, Parameter::IdleCount, |cost| cost.idle_count),
    },
    Setting {
        name: "pause",
        of: Some(ProbeKind::Cost),
        value: "DURATION",
        about: "How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back",
        set: |cell, text| put(&mut cost_mut(cell)?.sampling.pause, text),
        get: |cell| cost_sampling(cell, |sampling| sampling.pause),
    },
    Setting {
        name: "times",
        of: Some(ProbeKind::Cost),
        value: "N",
        about: "Operations in a sample: a number up to 1000000, or usual (several of a cheap operation)",
        set: |cell, text| put(&mut cost_mut(cell)?.sampling.times, text),
        get: |cell| cost_sampling(cell, |sampling| sampling.times),
    },
    Setting {
        name: "way",
        of: Some(ProbeKind::Cost),
        value: "WAY",
        about: "What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs)",
        set: |cell, text| put(&mut cost_mut(cell)?.sampling.way, text),
        get: |cell| cost_text(cell, Parameter::Way, |cost| cost.sampling.way),
    },
    Setting {
        name: "read-clock",
        of: Some(ProbeKind::Cost),
        value: "CLOCK",
        about: "The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU's counter)",
        set: |cell, text| put(&mut cost_mut(cell)?.read_clock, text),
        get: |cell| cost_text(cell, Parameter::ReadClock, |cost| cost.read_clock),
    },
    Setting {
        name: "align",
        of: None,
        value: "DURATION",
        about: "Start at a multiple of this duration; 0ns starts at once",
        set: |cell, text| put(&mut timer_mut(cell).align, text),
        get: |cell| timer(cell).align.to_string(),
    },
    Setting {
        name: "offset",
        of: None,
        value: "DURATION",
        about: "Each further task starts this much later than the task before it",
        set: |cell, text| put(&mut timer_mut(cell).offset, text),
        get: |cell| timer(cell).offset.to_string(),
    },
    Setting {
        name: "work",
        of: None,
        value: "WORK",
        about: "What a task does between wakeups: none, 5% (of the interval), continuous",
        set: |cell, text| put(&mut timer_mut(cell).work, text),
        get: |cell| timer(cell).work.to_string(),
    },
    Setting {
        name: "tasks-per-cpu",
        of: None,
        value: "N",
        about: "Number of tasks per CPU, 1 to 256",
        set: |cell, text| put_number(&mut timer_mut(cell).tasks_per_cpu, text),
        get: |cell| timer(cell).tasks_per_cpu.to_string(),
    },
    Setting {
        name: "tasks",
        of: None,
        value: "KIND",
        about: "What the tasks are: threads of one process, or processes",
        set: |cell, text| put(&mut timer_mut(cell).tasks, text),
        get: |cell| timer(cell).tasks.to_string(),
    },
    Setting {
        name: "lock-memory",
        of: None,
        value: "BOOL",
        about: "Lock and touch all memory before measuring: true or false",
        set: |cell, text| put_flag(&mut cell.policy.lock_memory, text),
        get: |cell| cell.policy.lock_memory.to_string(),
    },
    Setting {
        name: "timer-slack",
        of: None,
        value: "DURATION",
        about: "Timer slack of ordinary tasks, or untouched",
        set: |cell, text| {
            cell.policy.timer_slack = match text {
                UNTOUCHED => None,
                _ => Some(text.parse::<Nanos>().map_err(|error| error.to_string())?),
            };
            Ok(())
        },
        get: |cell| match cell.policy.timer_slack {
            None => UNTOUCHED.to_owned(),
            Some(slack) => slack.to_string(),
        },
    },
    Setting {
        name: "cpu-dma-latency",
        of: None,
        value: "DURATION",
        about: "Longest idle-state exit latency that is allowed, on the whole machine; or untouched",
        set: |cell, text| {
            cell.policy.cpu_dma_latency_us = match text {
                UNTOUCHED => None,
                _ => {
                    let latency: Nanos = text.parse().map_err(|error| {
                        format!("{error}; or `{UNTOUCHED}` to leave idle states unchanged")
                    })?;
                    Some(whole_micros(latency)?)
                }
            };
            Ok(())
        },
        get: |cell| match cell.policy.cpu_dma_latency_us {
            None => UNTOUCHED.to_owned(),
            Some(micros) => Nanos::from_micros(micros.into()).to_string(),
        },
    },
    Setting {
        name: "block-requests",
        of: None,
        value: "SIZE",
        about: "Size of requests to block devices: untouched, or single (one page); restored afterwards",
        set: |cell, text| put(&mut cell.block_requests, text),
        get: |cell| cell.block_requests.to_string(),
    },
    Setting {
        name: "quantum",
        of: None,
        value: "DURATION",
        about: "Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards",
        set: |cell, text| put(&mut cell.quantum, text),
        get: |cell| cell.quantum.to_string(),
    },
    Setting {
        name: "extra-interrupts",
        of: None,
        value: "N",
        about: "Clock interrupts per second on the measured CPUs in addition to the kernel's own, 0 to 20000: an emulation of a higher tick rate, without the scheduler's work in a tick",
        set: |cell, text| put_number(&mut cell.extra_interrupts, text),
        get: |cell| cell.extra_interrupts.to_string(),
    },
    Setting {
        name: "warmup",
        of: None,
        value: "DURATION",
        about: "How long the load runs before the measurement starts",
        set: |cell, text| put(&mut cell.warmup, text),
        get: |cell| cell.warmup.to_string(),
    },
    Setting {
        name: "duration",
        of: None,
        value: "DURATION",
        about: "How long each cell is measured in each round",
        set: |cell, text| put(&mut cell.duration, text),
        get: |cell| cell.duration.to_string(),
    },
    Setting {
        name: "traced",
        of: None,
        value: "DURATION",
        about: "Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none",
        set: |cell, text| put(&mut cell.traced, text),
        get: |cell| cell.traced.to_string(),
    },
    Setting {
        name: "traced-events",
        of: None,
        value: "EVENTS",
        about: "Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when)",
        set: |cell, text| put(&mut cell.traced_events, text),
        get: |cell| cell.traced_events.to_string(),
    },
    Setting {
        name: "sample-limit",
        of: None,
        value: "N",
        about: "Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped",
        set: |cell, text| put_number(&mut cell.sample_limit, text),
        get: |cell| cell.sample_limit.to_string(),
    },
];
