//! The threads that were there before the recording, and their processes.

use tactus_model::recording::{Dictionary, ProcessId, ThreadId};

/// Tells the process of every thread that `/proc` shows.
///
/// What begins or ends meanwhile may be missed; the ring tells of new threads itself.
pub(super) fn tell_processes(dictionary: &mut Dictionary) {
    for process in numbers("/proc") {
        for thread in numbers(&format!("/proc/{process}/task")) {
            dictionary.set_process(ThreadId(thread), ProcessId(process));
        }
    }
}

/// The entries of a directory that are numbers; none of one that is gone or hidden.
fn numbers(directory: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_among_them() {
        let mut dictionary = Dictionary::new();
        tell_processes(&mut dictionary);
        let own = std::process::id() as i32;
        assert_eq!(dictionary.process_of(ThreadId(own)), Some(ProcessId(own)));
    }
}
