//! Names a place in the kernel by a call chain.

use tactus_model::recording::{ChainId, Dictionary};

use crate::symbol::source_name;

/// Where the CPU was when an interrupt came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// In kernel code, in this function.
    Kernel(String),
    /// In user mode.
    User,
    /// The chain does not tell, or there is none.
    Unknown,
}

/// Functions by which the kernel ends a section with interrupts off. An interrupt that was
/// held off comes exactly there, and the caller is who held it.
const INTERRUPTS_ON: [&str; 7] = [
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_write_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "finish_task_switch",
];

/// Functions by which the kernel ends a section with preemption or softirqs off and leaves
/// interrupts as they are. Again the caller is who held it.
const PREEMPTION_ON: [&str; 7] = [
    "_raw_spin_unlock",
    "_raw_spin_unlock_bh",
    "_raw_read_unlock",
    "_raw_read_unlock_bh",
    "_raw_write_unlock",
    "_raw_write_unlock_bh",
    "__local_bh_enable_ip",
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

/// Where an interrupt that came late found the CPU.
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
    if frames.iter().any(|frame| is_one_of(&SOFTIRQS, names.function_name(*frame))) {
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
    let holder = outside.find(|name| !ends_section(name));
    Interrupted::Kernel(holder.unwrap_or(innermost).to_owned())
}

/// Where the late interrupt came at whose entry `chain` was taken.
pub(super) fn found(chain: Option<ChainId>, names: &Dictionary) -> Found {
    let Some(chain) = chain else { return Found::Unknown };
    let mut frames = names.chain(chain).iter().map(|frame| names.function_name(*frame));
    // The chain of a switch goes through an interrupt's entry too, when the
    // thread gave way on the way out of one.
    let entry = frames.find(|name| is_entry(name) || is_switch(name));
    if !entry.is_some_and(is_entry) {
        return Found::Unknown;
    }
    let Some(innermost) = frames.next() else { return Found::InterruptsOn };
    if is_one_of(&SWITCHING_NONE, innermost) {
        return Found::InterruptsOn;
    }
    if !is_one_of(&INTERRUPTS_ON, innermost) {
        return Found::Kernel(innermost.to_owned());
    }
    let holder = frames.find(|name| !ends_section(name));
    Found::SectionEnd(holder.unwrap_or(innermost).to_owned())
}

fn is_entry(name: &str) -> bool {
    name.starts_with("asm_sysvec_") || name.starts_with("asm_common_interrupt")
}

/// Whether it is the function that switches threads.
fn is_switch(name: &str) -> bool {
    source_name(name) == "__schedule"
}

fn ends_section(name: &str) -> bool {
    is_one_of(&INTERRUPTS_ON, name) || is_one_of(&PREEMPTION_ON, name)
}

/// Whether a function, whatever the compiler made of it, is in a table.
fn is_one_of(table: &[&str], name: &str) -> bool {
    table.contains(&source_name(name))
}

/// Where a thread gave way at whose switch `chain` was taken; none when it was
/// on its way back to user mode.
pub(super) fn gave_way(chain: Option<ChainId>, names: &Dictionary) -> Option<String> {
    let frames = names.chain(chain?);
    let mut frames = frames.iter().map(|frame| names.function_name(*frame));
    if !frames.any(is_switch) {
        return None;
    }
    let holder = frames
        .find(|name| !is_one_of(&SWITCHING, name) && !ends_section(name) && !is_entry(name))?;
    (!is_one_of(&LEAVING, holder)).then(|| holder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of functions, the innermost first.
    fn chain(functions: &[&str]) -> (Option<ChainId>, Dictionary) {
        let mut names = Dictionary::new();
        let mut frames = Vec::new();
        for (address, name) in (1..).zip(functions) {
            let function = names.intern_function(address);
            names.name_function(function, name);
            frames.push(function);
        }
        (names.intern_chain(&frames), names)
    }

    const ENTRY: &str = "asm_sysvec_apic_timer_interrupt";

    #[test]
    fn who_held_interrupts_off_is_named_whatever_the_compiler_made_of_the_end() {
        for end in ["finish_task_switch", "finish_task_switch.isra.0", "_raw_read_unlock_irq"] {
            let (found_at, names) = chain(&["perf", ENTRY, end, "holder.constprop.0", "outer"]);
            let site = "holder.constprop.0".to_owned();
            assert_eq!(found(found_at, &names), Found::SectionEnd(site.clone()), "{end}");
            assert_eq!(interrupted(found_at, &names), Interrupted::Kernel(site), "{end}");
        }
    }

    #[test]
    fn the_end_of_a_section_without_preemption_held_no_interrupt() {
        let (found_at, names) = chain(&[ENTRY, "_raw_write_unlock", "holder"]);
        assert_eq!(found(found_at, &names), Found::Kernel("_raw_write_unlock".to_owned()));
        assert_eq!(interrupted(found_at, &names), Interrupted::Kernel("holder".to_owned()));
    }

    #[test]
    fn parts_of_functions_are_found_in_every_table() {
        let (at, names) = chain(&[ENTRY, "xas_load.part.0", "find_get_entry"]);
        assert_eq!(found(at, &names), Found::InterruptsOn);
        let (at, names) = chain(&[ENTRY, "f", "handle_softirqs.isra.0"]);
        assert_eq!(interrupted_thread(at, &names), Interrupted::Unknown);
        let (at, names) = chain(&["__schedule.llvm.77", "schedule", "holder.cold"]);
        assert_eq!(found(at, &names), Found::Unknown);
        assert_eq!(gave_way(at, &names), Some("holder.cold".to_owned()));
        let (at, names) = chain(&["__schedule", "schedule", "exit_to_user_mode_loop.part.0"]);
        assert_eq!(gave_way(at, &names), None);
    }
}
