//! The threads that existed before the recording, and their processes.

use tactus_model::recording::{Dictionary, ProcessId, ThreadId};

/// Adds the process of every thread in `/proc` to the dictionary.
///
/// Threads that begin or end meanwhile may be missed; the ring has records of new
/// threads.
pub(super) fn add_processes(dictionary: &mut Dictionary) {
    for process in numbers("/proc") {
        for thread in numbers(&format!("/proc/{process}/task")) {
            dictionary.set_process(ThreadId(thread), ProcessId(process));
        }
    }
}

/// The entries of a directory that are numbers; empty if the directory is gone or
/// hidden.
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
        add_processes(&mut dictionary);
        let own = std::process::id() as i32;
        assert_eq!(dictionary.process_of(ThreadId(own)), Some(ProcessId(own)));
    }
}
