//! The guests of a run, with all that is needed to boot them again.

use std::collections::BTreeSet;
use std::fmt::Write;

use tactus_model::digest::sha256;
use tactus_model::guest::{GuestAccount, GuestTime};
use tactus_model::run::Run;

use crate::format;
use crate::table::TableOptions;
use crate::wrap::wrapped;

/// Notes that belong with any figures of these runs, without repetition; empty if no run was
/// measured in guests.
///
/// The verdict has the details; these notes are at every table and on every page.
pub fn guests_notes<'r>(runs: impl IntoIterator<Item = &'r Run>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in runs.into_iter().filter_map(guests_note) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The same, broken into lines.
pub fn guests_text<'r>(runs: impl IntoIterator<Item = &'r Run>, options: &TableOptions) -> String {
    guests_notes(runs).iter().map(|note| wrapped(note, "", options.width)).collect()
}

/// The note of one run, in a few sentences.
pub(crate) fn guests_note(run: &Run) -> Option<String> {
    let time = run.header.plan.cells.iter().find_map(|cell| Some(cell.target.guest()?.time))?;
    Some(match time {
        GuestTime::Exact(speed) => format!(
            "Deterministic time: durations are counts of instructions that the guest kernel executed, at {} \
             million per second, on one emulated CPU. They do not include the effects of caches, address \
             translation, other CPUs or real devices.",
            speed.mips()
        ),
        GuestTime::Wall => format!(
            "Virtual: measured in guest kernels{}, in the host's wall time. Use these figures to compare \
             kernels on this host; a physical machine has others.",
            executed_by(run)
        ),
    })
}

/// What executed the guests and on how many CPUs, as far as the results show.
fn executed_by(run: &Run) -> String {
    let accounts: Vec<&GuestAccount> =
        run.measurements.iter().filter_map(|found| found.guest.as_deref()).collect();
    let kinds: BTreeSet<&str> = accounts.iter().map(|found| found.accelerator.as_str()).collect();
    let words: Vec<&str> = kinds
        .iter()
        .map(|kind| match *kind {
            "kvm" => "virtualized by KVM",
            "tcg" => "emulated in software",
            other => other,
        })
        .collect();
    let online = |found: &&GuestAccount| Some(found.facts.cpu.online.as_ref()?.len() as u64);
    let cpus: BTreeSet<u64> = accounts.iter().filter_map(online).collect();
    let cpus: Vec<String> = cpus.iter().map(|count| format::counted(*count, "CPU")).collect();
    [(", ", words.join(" or ")), (" with ", cpus.join(" or "))]
        .iter()
        .filter(|(_, words)| !words.is_empty())
        .map(|(before, words)| format!("{before}{words}"))
        .collect()
}

/// A guest's kernel as the plan names it, and its facts.
pub(crate) struct GuestRows {
    pub(crate) kernel: String,
    pub(crate) rows: Vec<(&'static str, String)>,
}

/// The SHA-256 digest, in hexadecimal, of the output of all guests of a run in deterministic time.
/// It is the same on any machine for the same kernels, program, emulator, plan and seed. `None` if
/// there is no result or if any result was not proved to repeat.
///
/// The digest covers one line per result, ordered by round and cell, both counted from 0: `ROUND
/// CELL SHA256`.
pub fn exact_digest(run: &Run) -> Option<String> {
    let mut results: Vec<_> = run.measurements.iter().collect();
    results.sort_by_key(|found| (found.turn.round, found.turn.cell));
    let mut lines = String::new();
    for found in &results {
        let proof = found.guest.as_ref()?.proof.as_ref()?;
        // Writing to a String cannot fail.
        let _ = writeln!(lines, "{} {} {}", found.turn.round, found.turn.cell, proof.sha256);
    }
    (!results.is_empty()).then(|| sha256([lines]))
}

/// The guests of a run, one per kernel, in the order of its cells.
pub(crate) fn guests(run: &Run) -> Vec<GuestRows> {
    let mut kernels: Vec<String> = Vec::new();
    for cell in &run.header.plan.cells {
        let kernel = cell.target.guest().map(|guest| guest.kernel.to_string());
        kernels.extend(kernel.filter(|kernel| !kernels.contains(kernel)));
    }
    kernels
        .into_iter()
        .filter_map(|kernel| {
            let accounts = accounts(run, &kernel);
            let first = accounts.first()?;
            Some(GuestRows { rows: rows(first, &accounts), kernel })
        })
        .collect()
}

fn accounts<'r>(run: &'r Run, kernel: &str) -> Vec<&'r GuestAccount> {
    let cells = &run.header.plan.cells;
    let of_kernel = |cell: usize| {
        let guest = cells.get(cell).and_then(|cell| cell.target.guest());
        guest.is_some_and(|guest| guest.kernel.to_string() == kernel)
    };
    let measured = run.measurements.iter().filter(|found| of_kernel(found.turn.cell));
    measured.filter_map(|found| found.guest.as_deref()).collect()
}

fn rows(first: &GuestAccount, all: &[&GuestAccount]) -> Vec<(&'static str, String)> {
    let kernel = &first.facts.kernel;
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let tick = kernel.tick_rate_hz.map_or("unknown".to_owned(), |rate| format!("{rate} Hz"));
    let proved = all.iter().filter(|account| account.proof.is_some()).count();
    let repeats = match (proved, all.len()) {
        (0, _) => "no result (wall time)".to_owned(),
        (proved, all) if proved == all => "every result, byte for byte".to_owned(),
        (proved, all) => format!("{proved} of {all} results"),
    };
    let has_third =
        |account: &&&GuestAccount| account.proof.as_ref().is_some_and(|proof| proof.outvoted > 0);
    let repeats = match all.iter().filter(has_third).count() {
        0 => repeats,
        decided => format!("{repeats}; {decided} by a third boot"),
    };
    vec![
        ("release", known(&kernel.release)),
        ("version", known(&kernel.version)),
        ("preemption", known(&kernel.preemption)),
        ("tick", tick),
        ("clock source", known(&first.facts.cpu.clock_source)),
        ("command line", known(&kernel.command_line)),
        ("kernel sha256", values(all, |account| account.kernel_sha256.clone())),
        ("program sha256", values(all, |account| account.program_sha256.clone())),
        (
            "emulator",
            values(all, |account| format!("{}, {}", account.emulator, account.accelerator)),
        ),
        ("seeds", values(all, |account| account.seed.to_string())),
        ("repeats", repeats),
    ]
}

/// The distinct values among the results of a kernel; only the first few if there are many.
fn values(all: &[&GuestAccount], of: impl Fn(&GuestAccount) -> String) -> String {
    const SHOWN: usize = 4;
    let values: BTreeSet<String> = all.iter().map(|account| of(account)).collect();
    let shown: Vec<String> = values.iter().take(SHOWN).cloned().collect();
    match values.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A guest on one line.
pub(crate) fn in_a_line(guest: &GuestRows) -> String {
    format!("{}: {}", guest.kernel, listed(&guest.rows))
}

/// The facts of one guest, or of several.
pub(crate) fn listed(rows: &[(&str, String)]) -> String {
    let rows: Vec<String> = rows.iter().map(|(name, value)| format!("{name} {value}")).collect();
    rows.join("; ")
}

/// Removes and returns the facts that all guests share; empty for a single guest.
pub(crate) fn take_common(guests: &mut [GuestRows]) -> Vec<(&'static str, String)> {
    let [first, others @ ..] = &*guests else { return Vec::new() };
    let is_common = |row: &&(&'static str, String)| {
        others.iter().all(|guest| guest.rows.contains(row)) && !others.is_empty()
    };
    let common: Vec<_> = first.rows.iter().filter(is_common).cloned().collect();
    for guest in guests {
        guest.rows.retain(|row| !common.contains(row));
    }
    common
}

#[cfg(test)]
mod tests {
    use tactus_model::guest::Proof;

    use super::*;
    use crate::fixture;

    /// A run in two guests, each with its own kernel.
    fn run() -> Run {
        let mut run = fixture::run(
            "name = \"lab\"\nguest-time = \"exact\"\nrounds = 2\n[settings]\nduration = \"200ms\"\n\
             kernel = [\"debian\", \"debian-rt\"]",
            3,
        );
        let facts = run.header.facts_before.clone();
        for found in &mut run.measurements {
            let kernel = format!("k{}", found.turn.cell);
            found.guest = Some(Box::new(GuestAccount {
                proof: Some(Proof { runs: 2, outvoted: 0, bytes: 5, sha256: "s".to_owned() }),
                ..fixture::guest(&kernel, found.turn.round + 1, facts.clone())
            }));
        }
        run
    }

    #[test]
    fn each_kernel_lists_what_its_results_share_and_what_differs() {
        let guests = guests(&run());
        assert_eq!(guests.len(), 2);
        let line = in_a_line(&guests[1]);
        assert!(line.starts_with("debian-rt: release"), "{line}");
        assert!(line.contains("kernel sha256 k1; program sha256 p"), "{line}");
        assert!(line.contains("seeds 1, 2; repeats every result"), "{line}");
    }

    #[test]
    fn the_digest_of_a_run_does_not_depend_on_the_order_of_results() {
        let mut run = run();
        run.measurements.sort_by_key(|found| (found.turn.cell, found.turn.round));
        // Of `printf '0 0 s\n0 1 s\n1 0 s\n1 1 s\n' | sha256sum`.
        let expected = "d3a8d78eac16737599a070ccfeddbcb56a14e0e714e9390679b77760afcbb2d9";
        assert_eq!(exact_digest(&run).as_deref(), Some(expected));
        let details = crate::run_details(&run, &[], &crate::TableOptions::default());
        assert!(details.contains(expected), "{details}");
        run.measurements[0].guest.as_mut().unwrap().proof = None;
        assert_eq!(exact_digest(&run), None);
        run.measurements.clear();
        assert_eq!(exact_digest(&run), None);
    }

    #[test]
    fn turns_that_needed_a_third_boot_are_counted() {
        let mut run = run();
        assert!(!in_a_line(&guests(&run)[0]).contains("third boot"));
        for found in run.measurements.iter_mut().filter(|found| found.turn.cell == 0) {
            found.guest.as_mut().unwrap().proof.as_mut().unwrap().outvoted = 1;
        }
        let line = in_a_line(&guests(&run)[0]);
        assert!(line.contains("repeats every result, byte for byte; 2 by a third boot"), "{line}");
        let details = crate::run_details(&run, &[], &crate::TableOptions::default());
        assert!(details.contains("2 of 4 turns needed a third boot"), "{details}");
        let page = crate::page(std::slice::from_ref(&run)).unwrap();
        assert!(page.contains("2 of 4 turns needed a third boot"));
    }

    #[test]
    fn results_that_were_not_repeated_are_counted() {
        let mut run = run();
        let first = run.measurements.iter_mut().find(|found| found.turn.cell == 0).unwrap();
        first.guest.as_mut().unwrap().proof = None;
        assert!(in_a_line(&guests(&run)[0]).contains("repeats 1 of 2 results"));
    }

    #[test]
    fn every_table_and_page_names_the_guests_clock() {
        let mut run = run();
        let note = guests_note(&run).unwrap();
        assert!(note.contains("1000 million") && note.contains("caches"), "{note}");
        let options = crate::TableOptions::default();
        for text in [crate::cells_table(&run, &options), crate::run_details(&run, &[], &options)] {
            assert!(text.contains("effects of caches"), "{text}");
        }
        let page = crate::page(std::slice::from_ref(&run)).unwrap();
        assert!(page.contains(&note), "{note}");
        for cell in &mut run.header.plan.cells {
            let tactus_model::cell::Target::Guest(guest) = &mut cell.target else { panic!() };
            guest.time = GuestTime::Wall;
        }
        let note = guests_note(&run).unwrap();
        assert!(
            note.starts_with("Virtual: measured in guest kernels, emulated in software"),
            "{note}"
        );
        assert!(crate::cells_table(&run, &options).contains("emulated in software"));
        assert_eq!(guests_note(&fixture::quick()), None);
    }

    #[test]
    fn the_verdict_lists_what_deterministic_time_does_not_model() {
        let mut run = run();
        let details = crate::run_details(&run, &[], &crate::TableOptions::default());
        for part in ["deterministic time", "does not model", "Guests", "kernel sha256"] {
            assert!(details.contains(part), "{part} is not in {details}");
        }
        let page = crate::page(std::slice::from_ref(&run)).unwrap();
        assert!(page.contains("caches, TLBs") && page.contains("kernel sha256 k0"));
        run.measurements[0].guest = None;
        let judged = tactus_judge::verdict::verdict(&run);
        assert_eq!(judged.validity, tactus_judge::verdict::Validity::Invalid);
    }
}
