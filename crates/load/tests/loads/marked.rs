//! Finds the processes of a load by the mark in their environment.

use std::fs;

use tactus_load::MARK;
use tactus_testing::eventually;

/// The processes that carry the mark of the measuring process `measuring`, without zombies,
/// each with its command line.
pub fn processes(measuring: u32) -> Vec<(u32, String)> {
    let mark = format!("{MARK}={measuring}");
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&process| process != std::process::id())
        .filter(|process| {
            fs::read(format!("/proc/{process}/environ")).is_ok_and(|environment| {
                environment.split(|&b| b == 0).any(|v| v == mark.as_bytes())
            })
        })
        .map(|process| (process, command_line(process)))
        .collect()
}

/// The copies among these processes.
pub fn copies(running: &[(u32, String)]) -> Vec<u32> {
    running
        .iter()
        .filter(|(_, line)| line.trim_end().ends_with(" internal load-worker"))
        .map(|(process, _)| *process)
        .collect()
}

/// The processes whose command line contains `part`, except those that only received the load
/// as an argument.
pub fn by_command_line(part: &str) -> Vec<(u32, String)> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|&process| process != std::process::id())
        .map(|process| (process, command_line(process)))
        .filter(|(_, line)| line.contains(part) && !line.contains("internal measure"))
        .collect()
}

fn command_line(process: u32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

/// Waits until `found` finds nothing.
pub fn wait_until_none(what: &str, found: impl Fn() -> Vec<(u32, String)>) {
    eventually(|| match found() {
        left if left.is_empty() => Ok(()),
        left => Err(format!("{what}: left behind: {left:?}")),
    });
}
