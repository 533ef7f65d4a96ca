//! Encodes an event in few bytes: differences from the event before it, as varints.

use tactus_model::recording::{
    ChainId, Context, Event, EventKind, FunctionId, InterruptVector, LockKind, NameId, PageFault,
    Priority, Reclaim, SleepingCall, Softirq, TaskState, ThreadId, Wakeup,
};
use tactus_model::time::{Instant, Nanos};
use tactus_model::varint::{read_signed, read_unsigned, write_signed, write_unsigned};

use super::block::BadBlock;

/// The state that the next event is encoded relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coder {
    at: u64,
    thread: ThreadId,
    context: Context,
    address: u64,
}

/// The bits of an event's first byte other than its code.
const NEW_THREAD: u8 = 0x40;
const NEW_CONTEXT: u8 = 0x80;
const CODE: u8 = 0x3f;

/// The code of a call chain, which precedes its event.
const CHAIN: u8 = 0x3f;

/// The codes of events; they are part of the format and never change.
mod code {
    pub const SWITCH: u8 = 1;
    pub const WAKING: u8 = 2;
    pub const WAKEUP: u8 = 3;
    pub const WAKEUP_NEW: u8 = 4;
    pub const MIGRATE: u8 = 5;
    pub const RUNTIME: u8 = 6;
    pub const FORK: u8 = 7;
    pub const EXIT: u8 = 8;
    pub const HRTIMER_START: u8 = 9;
    pub const HRTIMER_CANCEL: u8 = 10;
    pub const HRTIMER_EXPIRE_ENTRY: u8 = 11;
    pub const HRTIMER_EXPIRE_EXIT: u8 = 12;
    pub const TIMER_EXPIRE_ENTRY: u8 = 13;
    pub const TIMER_EXPIRE_EXIT: u8 = 14;
    pub const VECTOR_ENTRY: u8 = 15;
    pub const VECTOR_EXIT: u8 = 16;
    pub const IRQ_ENTRY: u8 = 17;
    pub const IRQ_EXIT: u8 = 18;
    pub const SOFTIRQ_RAISE: u8 = 19;
    pub const SOFTIRQ_ENTRY: u8 = 20;
    pub const SOFTIRQ_EXIT: u8 = 21;
    pub const IDLE_ENTRY: u8 = 22;
    pub const IDLE_EXIT: u8 = 23;
    pub const CALL_ENTER: u8 = 24;
    pub const CALL_EXIT: u8 = 25;
    pub const SIGNAL_DELIVER: u8 = 26;
    pub const BLOCK_ISSUE: u8 = 27;
    pub const BLOCK_COMPLETE: u8 = 28;
    pub const WORK_START: u8 = 29;
    pub const WORK_END: u8 = 30;
    pub const PAGE_FAULT_USER: u8 = 31;
    pub const PAGE_FAULT_KERNEL: u8 = 32;
    pub const INHERIT_PRIORITY: u8 = 33;
    pub const CONTENTION_BEGIN: u8 = 34;
    pub const CONTENTION_END: u8 = 35;
    pub const RECLAIM_BEGIN: u8 = 36;
    pub const RECLAIM_END: u8 = 37;
    pub const COMPACTION_BEGIN: u8 = 38;
    pub const COMPACTION_END: u8 = 39;
    pub const BLOCK_START: u8 = 40;
    pub const BLOCKED_REASON: u8 = 41;
    pub const SYSTEM_CALL_ENTER: u8 = 42;
    pub const SYSTEM_CALL_EXIT: u8 = 43;
    pub const MARK: u8 = 44;
}

const fn code_of(kind: &EventKind) -> u8 {
    match kind {
        EventKind::Switch { .. } => code::SWITCH,
        EventKind::Waking(_) => code::WAKING,
        EventKind::Wakeup(_) => code::WAKEUP,
        EventKind::WakeupNew(_) => code::WAKEUP_NEW,
        EventKind::Migrate { .. } => code::MIGRATE,
        EventKind::Runtime { .. } => code::RUNTIME,
        EventKind::Fork { .. } => code::FORK,
        EventKind::Exit { .. } => code::EXIT,
        EventKind::HrtimerStart { .. } => code::HRTIMER_START,
        EventKind::HrtimerCancel { .. } => code::HRTIMER_CANCEL,
        EventKind::HrtimerExpireEntry { .. } => code::HRTIMER_EXPIRE_ENTRY,
        EventKind::HrtimerExpireExit { .. } => code::HRTIMER_EXPIRE_EXIT,
        EventKind::TimerExpireEntry { .. } => code::TIMER_EXPIRE_ENTRY,
        EventKind::TimerExpireExit { .. } => code::TIMER_EXPIRE_EXIT,
        EventKind::VectorEntry(_) => code::VECTOR_ENTRY,
        EventKind::VectorExit(_) => code::VECTOR_EXIT,
        EventKind::IrqEntry { .. } => code::IRQ_ENTRY,
        EventKind::IrqExit { .. } => code::IRQ_EXIT,
        EventKind::SoftirqRaise(_) => code::SOFTIRQ_RAISE,
        EventKind::SoftirqEntry(_) => code::SOFTIRQ_ENTRY,
        EventKind::SoftirqExit(_) => code::SOFTIRQ_EXIT,
        EventKind::IdleEntry { .. } => code::IDLE_ENTRY,
        EventKind::IdleExit => code::IDLE_EXIT,
        EventKind::CallEnter(_) => code::CALL_ENTER,
        EventKind::CallExit { .. } => code::CALL_EXIT,
        EventKind::SignalDeliver { .. } => code::SIGNAL_DELIVER,
        EventKind::BlockIssue { .. } => code::BLOCK_ISSUE,
        EventKind::BlockComplete { .. } => code::BLOCK_COMPLETE,
        EventKind::WorkStart { .. } => code::WORK_START,
        EventKind::WorkEnd { .. } => code::WORK_END,
        EventKind::PageFaultUser(_) => code::PAGE_FAULT_USER,
        EventKind::PageFaultKernel(_) => code::PAGE_FAULT_KERNEL,
        EventKind::InheritPriority { .. } => code::INHERIT_PRIORITY,
        EventKind::ContentionBegin { .. } => code::CONTENTION_BEGIN,
        EventKind::ContentionEnd { .. } => code::CONTENTION_END,
        EventKind::ReclaimBegin { .. } => code::RECLAIM_BEGIN,
        EventKind::ReclaimEnd { .. } => code::RECLAIM_END,
        EventKind::CompactionBegin { .. } => code::COMPACTION_BEGIN,
        EventKind::CompactionEnd { .. } => code::COMPACTION_END,
        EventKind::BlockStart { .. } => code::BLOCK_START,
        EventKind::BlockedReason { .. } => code::BLOCKED_REASON,
        EventKind::SystemCallEnter { .. } => code::SYSTEM_CALL_ENTER,
        EventKind::SystemCallExit { .. } => code::SYSTEM_CALL_EXIT,
        EventKind::Mark { .. } => code::MARK,
    }
}

/// Vectors, calls and kinds of reclaim in the order of their numbers in the format, which never change.
const VECTORS: [InterruptVector; 11] = [
    InterruptVector::LocalTimer,
    InterruptVector::Reschedule,
    InterruptVector::CallFunction,
    InterruptVector::CallFunctionSingle,
    InterruptVector::IrqWork,
    InterruptVector::PlatformIpi,
    InterruptVector::Spurious,
    InterruptVector::Error,
    InterruptVector::Thermal,
    InterruptVector::Threshold,
    InterruptVector::DeferredError,
];

const CALLS: [SleepingCall; 13] = [
    SleepingCall::ClockNanosleep,
    SleepingCall::Nanosleep,
    SleepingCall::Read,
    SleepingCall::Futex,
    SleepingCall::Poll,
    SleepingCall::Ppoll,
    SleepingCall::Pselect,
    SleepingCall::EpollWait,
    SleepingCall::EpollPwait,
    SleepingCall::SigTimedWait,
    SleepingCall::SigSuspend,
    SleepingCall::Pause,
    SleepingCall::IoUringEnter,
];

const RECLAIMS: [Reclaim; 2] = [Reclaim::Direct, Reclaim::Memcg];

fn number_of<T: PartialEq>(values: &[T], value: &T) -> u64 {
    values.iter().position(|known| known == value).unwrap_or(values.len()) as u64
}

impl Coder {
    /// Starts a block whose first event is at `first`.
    pub(super) const fn new(first: u64) -> Self {
        Self {
            at: first,
            thread: ThreadId::IDLE,
            context: Context { flags: 0, preempt_count: 0 },
            address: 0,
        }
    }

    /// Appends `event`.
    pub(super) fn encode(&mut self, event: &Event, bytes: &mut Vec<u8>) {
        if let Some(chain) = event.chain {
            bytes.push(CHAIN);
            write_unsigned(bytes, u64::from(chain.index()));
        }
        let new_thread = if event.thread == self.thread { 0 } else { NEW_THREAD };
        let new_context = if event.context == self.context { 0 } else { NEW_CONTEXT };
        bytes.push(code_of(&event.kind) | new_thread | new_context);
        write_signed(bytes, difference(event.at.as_nanos(), self.at));
        if new_thread != 0 {
            write_signed(bytes, i64::from(event.thread.0) - i64::from(self.thread.0));
        }
        if new_context != 0 {
            bytes.extend_from_slice(&[event.context.flags, event.context.preempt_count]);
        }
        (self.at, self.thread, self.context) = (event.at.as_nanos(), event.thread, event.context);
        self.encode_kind(&event.kind, bytes);
    }

    fn encode_kind(&mut self, kind: &EventKind, bytes: &mut Vec<u8>) {
        let mut out = Out { coder: self, bytes };
        match *kind {
            EventKind::Switch {
                prev,
                prev_name,
                prev_priority,
                prev_state,
                next,
                next_name,
                next_priority,
            } => {
                out.thread(prev);
                out.number(prev_name.index().into());
                out.priority(prev_priority);
                out.number(prev_state.0.into());
                out.thread(next);
                out.number(next_name.index().into());
                out.priority(next_priority);
            }
            EventKind::Waking(wakeup)
            | EventKind::Wakeup(wakeup)
            | EventKind::WakeupNew(wakeup) => {
                out.thread(wakeup.thread);
                out.number(wakeup.name.index().into());
                out.priority(wakeup.priority);
                out.number(wakeup.target_cpu.into());
            }
            EventKind::Migrate { thread, priority, from_cpu, to_cpu } => {
                out.thread(thread);
                out.priority(priority);
                out.number(from_cpu.into());
                out.number(to_cpu.into());
            }
            EventKind::Runtime { thread, runtime } => {
                out.thread(thread);
                out.number(runtime.as_nanos());
            }
            EventKind::Fork { child, child_name } => {
                out.thread(child);
                out.number(child_name.index().into());
            }
            EventKind::Exit { thread } => out.thread(thread),
            EventKind::HrtimerStart { timer, function, expires, soft_expires, mode } => {
                out.address(timer);
                out.number(function.index().into());
                out.time(expires);
                out.signed(difference(expires.as_nanos(), soft_expires.as_nanos()));
                out.number(mode.into());
            }
            EventKind::HrtimerCancel { timer }
            | EventKind::HrtimerExpireExit { timer }
            | EventKind::TimerExpireExit { timer } => out.address(timer),
            EventKind::HrtimerExpireEntry { timer, function, now } => {
                out.address(timer);
                out.number(function.index().into());
                out.time(now);
            }
            EventKind::TimerExpireEntry { timer, function, now_jiffies } => {
                out.address(timer);
                out.number(function.index().into());
                out.number(now_jiffies);
            }
            EventKind::VectorEntry(vector) | EventKind::VectorExit(vector) => {
                out.number(number_of(&VECTORS, &vector));
            }
            EventKind::IrqEntry { irq, name } => {
                out.signed(irq.into());
                out.number(name.index().into());
            }
            EventKind::IrqExit { irq, handled } => {
                out.signed(irq.into());
                out.number(handled.into());
            }
            EventKind::SoftirqRaise(softirq)
            | EventKind::SoftirqEntry(softirq)
            | EventKind::SoftirqExit(softirq) => out.number(softirq.0.into()),
            EventKind::IdleEntry { state } => out.number(state.into()),
            EventKind::IdleExit => {}
            EventKind::CallEnter(call) => out.number(number_of(&CALLS, &call)),
            EventKind::CallExit { call, returned } => {
                out.number(number_of(&CALLS, &call));
                out.signed(returned);
            }
            EventKind::SignalDeliver { signal } => out.signed(signal.into()),
            EventKind::BlockIssue { device, sector, sectors }
            | EventKind::BlockStart { device, sector, sectors } => {
                out.number(device.into());
                out.number(sector);
                out.number(sectors.into());
            }
            EventKind::BlockComplete { device, sector, sectors, error } => {
                out.number(device.into());
                out.number(sector);
                out.number(sectors.into());
                out.signed(error.into());
            }
            EventKind::WorkStart { work, function } | EventKind::WorkEnd { work, function } => {
                out.address(work);
                out.number(function.index().into());
            }
            EventKind::PageFaultUser(fault) | EventKind::PageFaultKernel(fault) => {
                out.number(fault.address);
                out.number(fault.instruction);
                out.number(fault.error_code.into());
            }
            EventKind::InheritPriority { thread, old, new } => {
                out.thread(thread);
                out.priority(old);
                out.priority(new);
            }
            EventKind::ContentionBegin { lock, kind } => {
                out.address(lock);
                out.number(kind.0.into());
            }
            EventKind::ContentionEnd { lock, error } => {
                out.address(lock);
                out.signed(error.into());
            }
            EventKind::ReclaimBegin { reclaim, order } => {
                out.number(number_of(&RECLAIMS, &reclaim));
                out.number(order.into());
            }
            EventKind::ReclaimEnd { reclaim, pages } => {
                out.number(number_of(&RECLAIMS, &reclaim));
                out.number(pages);
            }
            EventKind::CompactionBegin { sync } => out.number(sync.into()),
            EventKind::CompactionEnd { status } => out.number(status.into()),
            EventKind::BlockedReason { thread, place, io } => {
                out.thread(thread);
                out.number(place.index().into());
                out.number(io.into());
            }
            EventKind::SystemCallEnter { call, arguments } => {
                out.number(call.index().into());
                arguments.into_iter().for_each(|argument| out.number(argument));
            }
            EventKind::SystemCallExit { call, returned } => {
                out.number(call.index().into());
                out.signed(returned);
            }
            EventKind::Mark { text } => out.number(text.index().into()),
        }
    }

    /// Takes an event of `cpu` from the start of `bytes`.
    pub(super) fn decode(&mut self, cpu: u32, bytes: &mut &[u8]) -> Result<Event, BadBlock> {
        let mut first = byte(bytes)?;
        let mut chain = None;
        if first == CHAIN {
            chain = ChainId::from_index(narrow(read_unsigned(bytes))?);
            first = byte(bytes)?;
        }
        self.at = self.at.wrapping_add(read_signed(bytes).map_err(cut_off)? as u64);
        if first & NEW_THREAD != 0 {
            let step = read_signed(bytes).map_err(cut_off)?;
            self.thread = ThreadId(self.thread.0.wrapping_add(step as i32));
        }
        if first & NEW_CONTEXT != 0 {
            self.context = Context { flags: byte(bytes)?, preempt_count: byte(bytes)? };
        }
        let kind = In { coder: self, bytes }.kind(first & CODE)?;
        Ok(Event {
            at: Instant::from_nanos(self.at),
            cpu,
            thread: self.thread,
            context: self.context,
            chain,
            kind,
        })
    }
}

/// Writes the fields of an event.
struct Out<'a> {
    coder: &'a mut Coder,
    bytes: &'a mut Vec<u8>,
}

impl Out<'_> {
    fn number(&mut self, value: u64) {
        write_unsigned(self.bytes, value);
    }

    fn signed(&mut self, value: i64) {
        write_signed(self.bytes, value);
    }

    /// Most threads are close to the current thread, and usually equal to it.
    fn thread(&mut self, thread: ThreadId) {
        self.signed(i64::from(thread.0) - i64::from(self.coder.thread.0));
    }

    /// Most threads have the priority of nice 0.
    fn priority(&mut self, priority: Priority) {
        self.signed(i64::from(priority.0) - NICE_0);
    }

    /// The times of timers are close to the event.
    fn time(&mut self, time: Nanos) {
        self.signed(difference(time.as_nanos(), self.coder.at));
    }

    /// Addresses come in pairs: a start event and its end event.
    fn address(&mut self, address: u64) {
        self.signed(difference(address, self.coder.address));
        self.coder.address = address;
    }
}

const NICE_0: i64 = 120;

/// Reads the fields of an event.
struct In<'a, 'b> {
    coder: &'a mut Coder,
    bytes: &'a mut &'b [u8],
}

impl In<'_, '_> {
    fn kind(&mut self, code: u8) -> Result<EventKind, BadBlock> {
        Ok(match code {
            code::SWITCH => EventKind::Switch {
                prev: self.thread()?,
                prev_name: self.name()?,
                prev_priority: self.priority()?,
                prev_state: TaskState(self.narrow()?),
                next: self.thread()?,
                next_name: self.name()?,
                next_priority: self.priority()?,
            },
            code::WAKING => EventKind::Waking(self.wakeup()?),
            code::WAKEUP => EventKind::Wakeup(self.wakeup()?),
            code::WAKEUP_NEW => EventKind::WakeupNew(self.wakeup()?),
            code::MIGRATE => EventKind::Migrate {
                thread: self.thread()?,
                priority: self.priority()?,
                from_cpu: self.narrow()?,
                to_cpu: self.narrow()?,
            },
            code::RUNTIME => EventKind::Runtime {
                thread: self.thread()?,
                runtime: Nanos::from_nanos(self.number()?),
            },
            code::FORK => EventKind::Fork { child: self.thread()?, child_name: self.name()? },
            code::EXIT => EventKind::Exit { thread: self.thread()? },
            code::HRTIMER_START => {
                let (timer, function) = (self.address()?, self.function()?);
                let expires = self.time()?;
                let slack = self.signed()?;
                let soft = expires.as_nanos().wrapping_sub(slack as u64);
                let soft_expires = Nanos::from_nanos(soft);
                let mode = self.narrow()?;
                EventKind::HrtimerStart { timer, function, expires, soft_expires, mode }
            }
            code::HRTIMER_CANCEL => EventKind::HrtimerCancel { timer: self.address()? },
            code::HRTIMER_EXPIRE_ENTRY => EventKind::HrtimerExpireEntry {
                timer: self.address()?,
                function: self.function()?,
                now: self.time()?,
            },
            code::HRTIMER_EXPIRE_EXIT => EventKind::HrtimerExpireExit { timer: self.address()? },
            code::TIMER_EXPIRE_ENTRY => EventKind::TimerExpireEntry {
                timer: self.address()?,
                function: self.function()?,
                now_jiffies: self.number()?,
            },
            code::TIMER_EXPIRE_EXIT => EventKind::TimerExpireExit { timer: self.address()? },
            code::VECTOR_ENTRY => EventKind::VectorEntry(self.one_of(&VECTORS)?),
            code::VECTOR_EXIT => EventKind::VectorExit(self.one_of(&VECTORS)?),
            code::IRQ_ENTRY => EventKind::IrqEntry { irq: self.small()?, name: self.name()? },
            code::IRQ_EXIT => {
                EventKind::IrqExit { irq: self.small()?, handled: self.number()? != 0 }
            }
            code::SOFTIRQ_RAISE => EventKind::SoftirqRaise(Softirq(self.narrow()?)),
            code::SOFTIRQ_ENTRY => EventKind::SoftirqEntry(Softirq(self.narrow()?)),
            code::SOFTIRQ_EXIT => EventKind::SoftirqExit(Softirq(self.narrow()?)),
            code::IDLE_ENTRY => EventKind::IdleEntry { state: self.narrow()? },
            code::IDLE_EXIT => EventKind::IdleExit,
            code::CALL_ENTER => EventKind::CallEnter(self.one_of(&CALLS)?),
            code::CALL_EXIT => {
                EventKind::CallExit { call: self.one_of(&CALLS)?, returned: self.signed()? }
            }
            code::SIGNAL_DELIVER => EventKind::SignalDeliver { signal: self.small()? },
            code::BLOCK_ISSUE => EventKind::BlockIssue {
                device: self.narrow()?,
                sector: self.number()?,
                sectors: self.narrow()?,
            },
            code::BLOCK_COMPLETE => EventKind::BlockComplete {
                device: self.narrow()?,
                sector: self.number()?,
                sectors: self.narrow()?,
                error: self.small()?,
            },
            code::WORK_START => {
                EventKind::WorkStart { work: self.address()?, function: self.function()? }
            }
            code::WORK_END => {
                EventKind::WorkEnd { work: self.address()?, function: self.function()? }
            }
            code::PAGE_FAULT_USER => EventKind::PageFaultUser(self.fault()?),
            code::PAGE_FAULT_KERNEL => EventKind::PageFaultKernel(self.fault()?),
            code::INHERIT_PRIORITY => EventKind::InheritPriority {
                thread: self.thread()?,
                old: self.priority()?,
                new: self.priority()?,
            },
            code::CONTENTION_BEGIN => {
                EventKind::ContentionBegin { lock: self.address()?, kind: LockKind(self.narrow()?) }
            }
            code::CONTENTION_END => {
                EventKind::ContentionEnd { lock: self.address()?, error: self.small()? }
            }
            code::RECLAIM_BEGIN => {
                EventKind::ReclaimBegin { reclaim: self.one_of(&RECLAIMS)?, order: self.narrow()? }
            }
            code::RECLAIM_END => {
                EventKind::ReclaimEnd { reclaim: self.one_of(&RECLAIMS)?, pages: self.number()? }
            }
            code::COMPACTION_BEGIN => EventKind::CompactionBegin { sync: self.number()? != 0 },
            code::COMPACTION_END => EventKind::CompactionEnd { status: self.narrow()? },
            code::BLOCK_START => EventKind::BlockStart {
                device: self.narrow()?,
                sector: self.number()?,
                sectors: self.narrow()?,
            },
            code::BLOCKED_REASON => EventKind::BlockedReason {
                thread: self.thread()?,
                place: self.function()?,
                io: self.number()? != 0,
            },
            code::SYSTEM_CALL_ENTER => EventKind::SystemCallEnter {
                call: self.name()?,
                arguments: [self.number()?, self.number()?, self.number()?],
            },
            code::SYSTEM_CALL_EXIT => {
                EventKind::SystemCallExit { call: self.name()?, returned: self.signed()? }
            }
            code::MARK => EventKind::Mark { text: self.name()? },
            _ => return Err(BadBlock::Payload("an event has an unknown kind")),
        })
    }

    fn wakeup(&mut self) -> Result<Wakeup, BadBlock> {
        Ok(Wakeup {
            thread: self.thread()?,
            name: self.name()?,
            priority: self.priority()?,
            target_cpu: self.narrow()?,
        })
    }

    fn fault(&mut self) -> Result<PageFault, BadBlock> {
        Ok(PageFault {
            address: self.number()?,
            instruction: self.number()?,
            error_code: self.narrow()?,
        })
    }

    fn number(&mut self) -> Result<u64, BadBlock> {
        read_unsigned(self.bytes).map_err(cut_off)
    }

    fn signed(&mut self) -> Result<i64, BadBlock> {
        read_signed(self.bytes).map_err(cut_off)
    }

    /// A number that must fit a narrower type.
    fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, BadBlock> {
        narrow(read_unsigned(self.bytes))
    }

    fn small(&mut self) -> Result<i32, BadBlock> {
        i32::try_from(self.signed()?).map_err(|_| TOO_GREAT)
    }

    fn name(&mut self) -> Result<NameId, BadBlock> {
        self.narrow().map(NameId::from_index)
    }

    fn function(&mut self) -> Result<FunctionId, BadBlock> {
        self.narrow().map(FunctionId::from_index)
    }

    fn thread(&mut self) -> Result<ThreadId, BadBlock> {
        Ok(ThreadId(self.coder.thread.0.wrapping_add(self.signed()? as i32)))
    }

    fn priority(&mut self) -> Result<Priority, BadBlock> {
        let value = self.signed()?.wrapping_add(NICE_0);
        i16::try_from(value).map(Priority).map_err(|_| TOO_GREAT)
    }

    fn time(&mut self) -> Result<Nanos, BadBlock> {
        Ok(Nanos::from_nanos(self.coder.at.wrapping_add(self.signed()? as u64)))
    }

    fn address(&mut self) -> Result<u64, BadBlock> {
        self.coder.address = self.coder.address.wrapping_add(self.signed()? as u64);
        Ok(self.coder.address)
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> Result<T, BadBlock> {
        let number: usize = self.narrow()?;
        values.get(number).copied().ok_or(TOO_GREAT)
    }
}

const TOO_GREAT: BadBlock = BadBlock::Payload("a number of an event is out of range");

fn cut_off(_: tactus_model::varint::BadVarint) -> BadBlock {
    BadBlock::Payload("an event is truncated")
}

fn narrow<T: TryFrom<u64>>(
    value: Result<u64, tactus_model::varint::BadVarint>,
) -> Result<T, BadBlock> {
    T::try_from(value.map_err(cut_off)?).map_err(|_| TOO_GREAT)
}

fn byte(bytes: &mut &[u8]) -> Result<u8, BadBlock> {
    let (&byte, rest) = bytes.split_first().ok_or(BadBlock::Payload("an event is truncated"))?;
    *bytes = rest;
    Ok(byte)
}

/// `value − from`, wrapping, as a signed number.
const fn difference(value: u64, from: u64) -> i64 {
    value.wrapping_sub(from) as i64
}

#[cfg(test)]
mod tests;
