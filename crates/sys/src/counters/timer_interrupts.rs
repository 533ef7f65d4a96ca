//! How many clock interrupts a CPU has had.

use std::path::Path;

use crate::facts::Tree;

/// The number of interrupts of the clock of `cpu` since boot, from `proc/interrupts` below `root`,
/// normally `/`; `None` if the kernel does not count them.
///
/// See `/proc/interrupts` in
/// [proc_interrupts(5)](https://man7.org/linux/man-pages/man5/proc_interrupts.5.html). They are those
/// of the timer by which the kernel's ticks and its high-resolution timers expire.
#[doc(alias = "LOC")]
pub fn timer_interrupts(root: &Path, cpu: u32) -> Option<u64> {
    parse(&Tree::new(root).text("proc/interrupts")?, cpu)
}

/// The descriptions of the clock's interrupts: of x86, of ARM and of RISC-V.
const CLOCKS: [&str; 3] = ["Local timer interrupts", "arch_timer", "riscv-timer"];

fn parse(text: &str, cpu: u32) -> Option<u64> {
    let (head, rows) = text.split_once('\n')?;
    // Offline CPUs have no column.
    let name = format!("CPU{cpu}");
    let column = head.split_whitespace().position(|column| column == name)?;
    let clocks = rows.lines().filter(|row| CLOCKS.iter().any(|clock| row.ends_with(clock)));
    let of_cpu = clocks.map(|row| {
        let (_, counts) = row.split_once(':')?;
        counts.split_whitespace().nth(column)?.parse::<u64>().ok()
    });
    of_cpu.reduce(|sum, count| Some(sum?.saturating_add(count?))).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const X86: &str = "            CPU0       CPU2
   0:         27          0   IO-APIC   2-edge      timer
 LOC:    1234567        890   Local timer interrupts
 SPU:          0          0   Spurious interrupts
";
    const ARM: &str = "           CPU0       CPU1
 11:        100        200     GICv3  27 Level     arch_timer
 12:          7          8     GICv3  26 Level     arch_timer
";

    #[test]
    fn the_clocks_interrupts_are_those_of_the_cpus_column() {
        assert_eq!(parse(X86, 0), Some(1_234_567));
        assert_eq!(parse(X86, 2), Some(890));
        assert_eq!(parse(X86, 1), None, "offline");
        assert_eq!(parse(ARM, 1), Some(208));
        assert_eq!(parse("CPU0\n 0: 5 timer\n", 0), None);
        assert_eq!(parse("", 0), None);
    }

    proptest! {
        #[test]
        fn garbage_is_read_without_a_panic(text in "(CPU0|LOC:|arch_timer|[0-9]{1,25}|-| |\n|\\PC){0,40}") {
            let _ = parse(&text, 0);
        }
    }
}
