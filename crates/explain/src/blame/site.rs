//! Names a place in the kernel by a call chain.

use tactus_model::recording::{ChainId, Dictionary};

/// Where the processor was when an interrupt came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// In kernel code, in this function.
    Kernel(String),
    /// In user mode.
    User,
    /// The chain does not tell, or there is none.
    Unknown,
}

/// Functions by which the kernel ends a section with interrupts or preemption
/// off. An interrupt that was held off comes exactly there, and the caller is
/// who held it.
const SECTION_ENDS: [&str; 9] = [
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_spin_unlock",
    "_raw_spin_unlock_bh",
    "_raw_read_unlock_irqrestore",
    "_raw_write_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "__local_bh_enable_ip",
    "finish_task_switch.isra.0",
];

/// Those among them that switch interrupts on: all but the ones that touch
/// preemption and softirqs alone.
const INTERRUPTS_ON: [&str; 8] = [
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_write_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "finish_task_switch.isra.0",
    "finish_task_switch",
];

/// Functions that switch no interrupts, nor call what does (x86: `arch/x86/lib`,
/// `lib/iomap.c`, `lib/list_debug.c`, `lib/xarray.c`, `lib/maple_tree.c`): who was
/// interrupted there had had interrupts on since before.
const SWITCHING_NONE: [&str; 35] = [
    "clear_page_erms",
    "clear_page_rep",
    "clear_page_orig",
    "copy_page",
    "copy_page_regs",
    "memset",
    "__memset",
    "memset_orig",
    "memcpy",
    "__memcpy",
    "memcpy_orig",
    "memmove",
    "__memmove",
    "rep_movs_alternative",
    "rep_stos_alternative",
    "copy_mc_enhanced_fast_string",
    "copy_mc_fragile",
    "__put_user_1",
    "__put_user_4",
    "__put_user_8",
    "__get_user_4",
    "__get_user_8",
    "iowrite8",
    "iowrite16",
    "iowrite32",
    "ioread8",
    "ioread16",
    "ioread32",
    "__list_add_valid_or_report",
    "__list_del_entry_valid_or_report",
    "xas_start",
    "xas_load",
    "xas_descend",
    "mas_walk",
    "mtree_range_walk",
];

/// Where an interrupt that came late found the processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Where the kernel switches interrupts on, at the end of a section of this
    /// function: the interrupt was held off until there.
    SectionEnd(String),
    /// Elsewhere in this function of the kernel. It may have switched interrupts
    /// on itself, or they were on all the time.
    Kernel(String),
    /// Where interrupts were on before: in user mode, to which the kernel comes back
    /// with them off, but within some hundred instructions; or within a function
    /// that does not switch them.
    InterruptsOn,
    /// The chain does not tell, or there is none.
    Unknown,
}

/// Functions between a `sched_switch` event and the code that gave way.
const SWITCHING: [&str; 17] = [
    "__traceiter_sched_switch",
    "perf_trace_sched_switch",
    "trace_event_raw_event_sched_switch",
    "__perf_event_task_sched_out",
    "__schedule",
    "schedule",
    "__cond_resched",
    "dynamic_cond_resched",
    "__cond_resched_lock",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_notrace",
    "preempt_schedule_thunk",
    "preempt_schedule_irq",
    "raw_irqentry_exit_cond_resched",
    "irqentry_exit",
    "__cond_resched_rwlock_read",
];

/// Functions on the way back to user mode: a thread that gave way there tells
/// nothing of what it did before.
const LEAVING: [&str; 6] = [
    "exit_to_user_mode_loop",
    "irqentry_exit_to_user_mode",
    "syscall_exit_to_user_mode",
    "do_syscall_64",
    "ret_from_fork",
    "ret_from_fork_asm",
];

/// The function that serves softirqs, in newer and in older kernels.
const SOFTIRQS: [&str; 2] = ["handle_softirqs", "__do_softirq"];

/// Where the thread was that an interrupt found: as [`interrupted`], but
/// unknown when the interrupt came in a softirq, which is not the thread's doing.
pub(super) fn interrupted_thread(chain: Option<ChainId>, names: &Dictionary) -> Interrupted {
    let frames = chain.map_or(&[][..], |chain| names.chain(chain));
    if frames.iter().any(|frame| SOFTIRQS.contains(&names.function_name(*frame))) {
        return Interrupted::Unknown;
    }
    interrupted(chain, names)
}

/// Where the interrupt came at whose entry `chain` was taken.
///
/// The kernel's entry code for an interrupt is an `asm_…` function (x86,
/// `arch/x86/include/asm/idtentry.h`); the frame outside it was interrupted,
/// and there is none when that was user mode.
pub(super) fn interrupted(chain: Option<ChainId>, names: &Dictionary) -> Interrupted {
    let Some(chain) = chain else { return Interrupted::Unknown };
    let frames = names.chain(chain);
    let mut outside =
        frames.iter().map(|frame| names.function_name(*frame)).skip_while(|name| !is_entry(name));
    if outside.next().is_none() {
        return Interrupted::Unknown;
    }
    let mut outside = outside.peekable();
    let Some(&innermost) = outside.peek() else { return Interrupted::User };
    let holder = outside.find(|name| !SECTION_ENDS.contains(name));
    Interrupted::Kernel(holder.unwrap_or(innermost).to_owned())
}

/// Where the late interrupt came at whose entry `chain` was taken.
pub(super) fn found(chain: Option<ChainId>, names: &Dictionary) -> Found {
    let Some(chain) = chain else { return Found::Unknown };
    let mut frames = names.chain(chain).iter().map(|frame| names.function_name(*frame));
    // The chain of a switch goes through an interrupt's entry too, when the
    // thread gave way on the way out of one.
    let entry = frames.find(|name| is_entry(name) || *name == "__schedule");
    if !entry.is_some_and(is_entry) {
        return Found::Unknown;
    }
    let Some(innermost) = frames.next() else { return Found::InterruptsOn };
    if SWITCHING_NONE.contains(&innermost) {
        return Found::InterruptsOn;
    }
    if !INTERRUPTS_ON.contains(&innermost) {
        return Found::Kernel(innermost.to_owned());
    }
    let holder = frames.find(|name| !SECTION_ENDS.contains(name));
    Found::SectionEnd(holder.unwrap_or(innermost).to_owned())
}

fn is_entry(name: &str) -> bool {
    name.starts_with("asm_sysvec_") || name.starts_with("asm_common_interrupt")
}

/// Where a thread gave way at whose switch `chain` was taken; none when it was
/// on its way back to user mode.
pub(super) fn gave_way(chain: Option<ChainId>, names: &Dictionary) -> Option<String> {
    let frames = names.chain(chain?);
    let mut frames = frames.iter().map(|frame| names.function_name(*frame));
    if !frames.any(|name| name == "__schedule") {
        return None;
    }
    let holder = frames.find(|name| {
        !SWITCHING.contains(name) && !SECTION_ENDS.contains(name) && !is_entry(name)
    })?;
    (!LEAVING.contains(&holder)).then(|| holder.to_owned())
}
