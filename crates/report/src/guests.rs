//! What each guest of a run was, so that it can be booted again.

use std::collections::BTreeSet;

use tactus_model::guest::GuestAccount;
use tactus_model::run::Run;

/// A guest's kernel as its plan names it, and what is known of it.
pub(crate) struct GuestRows {
    pub(crate) kernel: String,
    pub(crate) rows: Vec<(&'static str, String)>,
}

/// The guests of a run, a kernel each, in the order of its cells.
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
        (0, _) => "nothing, in wall time".to_owned(),
        (proved, all) if proved == all => "every result, to the byte, when booted again".to_owned(),
        (proved, all) => format!("{proved} of {all} results"),
    };
    vec![
        ("release", known(&kernel.release)),
        ("version", known(&kernel.version)),
        ("preemption", known(&kernel.preemption)),
        ("tick", tick),
        ("clock source", known(&first.facts.processor.clock_source)),
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

/// The distinct values among the results of a kernel; of many the first few.
fn values(all: &[&GuestAccount], of: impl Fn(&GuestAccount) -> String) -> String {
    const SHOWN: usize = 4;
    let values: BTreeSet<String> = all.iter().map(|account| of(account)).collect();
    let shown: Vec<String> = values.iter().take(SHOWN).cloned().collect();
    match values.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A guest in a line.
pub(crate) fn in_a_line(guest: &GuestRows) -> String {
    let rows: Vec<String> =
        guest.rows.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!("{}: {}", guest.kernel, rows.join("; "))
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
            found.guest = Some(Box::new(GuestAccount {
                kernel_release: Some("6.1.0-56".to_owned()),
                kernel_sha256: format!("k{}", found.turn.cell),
                program_sha256: "p".to_owned(),
                archive_sha256: "a".to_owned(),
                emulator: "QEMU 7.2".to_owned(),
                accelerator: "tcg".to_owned(),
                command_line: Vec::new(),
                seed: found.turn.round + 1,
                proof: Some(Proof { runs: 2, bytes: 5, sha256: "s".to_owned() }),
                facts: facts.clone(),
            }));
        }
        run
    }

    #[test]
    fn each_kernel_is_told_with_what_its_results_share_and_what_not() {
        let guests = guests(&run());
        assert_eq!(guests.len(), 2);
        let line = in_a_line(&guests[1]);
        assert!(line.starts_with("debian-rt: release"), "{line}");
        assert!(line.contains("kernel sha256 k1; program sha256 p"), "{line}");
        assert!(line.contains("seeds 1, 2; repeats every result"), "{line}");
    }

    #[test]
    fn what_was_not_repeated_is_counted() {
        let mut run = run();
        let first = run.measurements.iter_mut().find(|found| found.turn.cell == 0).unwrap();
        first.guest.as_mut().unwrap().proof = None;
        assert!(in_a_line(&guests(&run)[0]).contains("repeats 1 of 2 results"));
    }

    #[test]
    fn the_verdict_tells_what_exact_time_leaves_out() {
        let mut run = run();
        let told = crate::run_details(&run, &crate::TableOptions::default());
        for part in ["exact time", "does not know", "Guests", "kernel sha256"] {
            assert!(told.contains(part), "{part} is not in {told}");
        }
        let page = crate::page(std::slice::from_ref(&run)).unwrap();
        assert!(page.contains("caches, TLBs") && page.contains("kernel sha256 k0"));
        run.measurements[0].guest = None;
        let judged = tactus_judge::verdict::verdict(&run);
        assert_eq!(judged.validity, tactus_judge::verdict::Validity::Invalid);
    }
}
