//! Names of kernel functions.

/// The name that a function has in the kernel's source.
///
/// Compilers add suffixes to the names of derived functions (GCC: `.isra.0`, `.constprop.0`,
/// `.part.0`, `.cold`; Clang: `.llvm.1234`). Names in C contain no dot.
pub(crate) fn source_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(source, _)| source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_compilers_are_not_part_of_a_name() {
        for name in [
            "finish_task_switch",
            "finish_task_switch.isra.0",
            "finish_task_switch.constprop.3",
            "finish_task_switch.part.0",
            "finish_task_switch.cold",
            "finish_task_switch.llvm.8212353420012",
            "finish_task_switch.isra.0.cold",
        ] {
            assert_eq!(source_name(name), "finish_task_switch", "{name}");
        }
        assert_eq!(source_name("?"), "?");
    }
}
