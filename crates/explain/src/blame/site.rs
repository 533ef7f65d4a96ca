//! Names a place in the kernel from a call chain.

use tactus_model::recording::{ChainId, Dictionary};

use crate::symbol::source_name;

/// Where an interrupt found the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interrupted {
    /// In kernel code, in this function.
    Kernel(String),
    /// In user mode.
    User,
    /// There is no chain, or it does not show it.
    Unknown,
}

/// Functions that end an IRQ-off section. A delayed interrupt arrives exactly there, and the
/// caller is the holder of the section.
const INTERRUPTS_ON: [&str; 7] = [
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_write_unlock_irqrestore",
    "_raw_write_unlock_irq",
    "finish_task_switch",
];

/// Functions that end a preemption-off or softirq-off section and do not change interrupts.
/// Again the caller is the holder of the section.
const PREEMPTION_ON: [&str; 7] = [
    "_raw_spin_unlock",
    "_raw_spin_unlock_bh",
    "_raw_read_unlock",
    "_raw_read_unlock_bh",
    "_raw_write_unlock",
    "_raw_write_unlock_bh",
    "__local_bh_enable_ip",
];

/// Functions that neither enable nor disable interrupts, nor call such functions (x86: `arch/x86/lib`,
/// `lib/iomap.c`, `lib/list_debug.c`, `lib/xarray.c`, `lib/maple_tree.c`): code that was
/// interrupted there had interrupts enabled before.
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

/// Where a late interrupt found the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Where the kernel enables interrupts, at the end of an IRQ-off section of this function,
    /// which delayed the interrupt.
    SectionEnd(String),
    /// Elsewhere in this function of the kernel. It may have enabled interrupts itself, or they
    /// were enabled all the time.
    Kernel(String),
    /// Where interrupts were enabled before: in user mode (the kernel returns to it with
    /// interrupts off, but only for some hundred instructions), or in a function that does not
    /// change them.
    InterruptsOn,
    /// There is no chain, or it does not show it.
    Unknown,
}

/// Functions between a `sched_switch` event and the code that yielded the CPU.
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

/// Functions on the return to user mode: a switch there does not show what the thread did
/// before.
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

/// Where an interrupt found the thread: like [`interrupted`], but unknown if the interrupt came
/// in a softirq, which does not belong to the thread.
pub(super) fn interrupted_thread(chain: Option<ChainId>, names: &Dictionary) -> Interrupted {
    let frames = chain.map_or(&[][..], |chain| names.chain(chain));
    if frames.iter().any(|frame| is_one_of(&SOFTIRQS, names.function_name(*frame))) {
        return Interrupted::Unknown;
    }
    interrupted(chain, names)
}

/// The code that was interrupted, from the `chain` at the interrupt's entry.
///
/// The kernel's entry code for an interrupt is an `asm_…` function (x86,
/// `arch/x86/include/asm/idtentry.h`); the frame outside it was interrupted. There is no such
/// frame in user mode.
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

/// The place of a late interrupt, from the `chain` at its entry.
pub(super) fn found(chain: Option<ChainId>, names: &Dictionary) -> Found {
    let Some(chain) = chain else { return Found::Unknown };
    let mut frames = names.chain(chain).iter().map(|frame| names.function_name(*frame));
    // The chain of a switch contains an interrupt's entry too, if the thread was preempted at
    // the interrupt's exit.
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

/// Whether this is the function that switches threads.
fn is_switch(name: &str) -> bool {
    source_name(name) == "__schedule"
}

fn ends_section(name: &str) -> bool {
    is_one_of(&INTERRUPTS_ON, name) || is_one_of(&PREEMPTION_ON, name)
}

/// Whether a function, without suffixes of the compiler, is in a table.
fn is_one_of(table: &[&str], name: &str) -> bool {
    table.contains(&source_name(name))
}

/// Where a thread yielded the CPU, from the `chain` at its switch; `None` if it was returning to
/// user mode.
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
    fn the_holder_of_an_irq_off_section_is_named_despite_compiler_suffixes() {
        for end in ["finish_task_switch", "finish_task_switch.isra.0", "_raw_read_unlock_irq"] {
            let (found_at, names) = chain(&["perf", ENTRY, end, "holder.constprop.0", "outer"]);
            let site = "holder.constprop.0".to_owned();
            assert_eq!(found(found_at, &names), Found::SectionEnd(site.clone()), "{end}");
            assert_eq!(interrupted(found_at, &names), Interrupted::Kernel(site), "{end}");
        }
    }

    #[test]
    fn a_preemption_off_section_delays_no_interrupt() {
        let (found_at, names) = chain(&[ENTRY, "_raw_write_unlock", "holder"]);
        assert_eq!(found(found_at, &names), Found::Kernel("_raw_write_unlock".to_owned()));
        assert_eq!(interrupted(found_at, &names), Interrupted::Kernel("holder".to_owned()));
    }

    #[test]
    fn partial_functions_are_found_in_every_table() {
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
