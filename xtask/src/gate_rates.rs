//! How often `tactus lab gate` raises a false alarm, and how often it finds a planted difference, by its
//! number of seeds.
//!
//! One run measures the cells of a gate under a kernel, and under the same kernel with each plant. A gate
//! of n seeds is n rounds of that run, drawn at random without replacement and judged like every gate. The
//! draws share rounds, so the shares for n near the number of rounds say little beyond that one set.

use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::Context;
use tactus_judge::kernels::{Decision, check_seeds, compare, plan};
use tactus_model::experiment::{Plan, Turn};
use tactus_model::gate_rule::GateRule;
use tactus_model::kernel::GuestKernel;
use tactus_model::random::SplitMix64;
use tactus_model::run::Run;
use tactus_store::Store;

use crate::cargo;
use crate::conditions::Conditions;

/// A plant with the parameters that replace the kernel's `preempt=full`.
type Plant = (&'static str, &'static str);

/// A parameter that no kernel knows: the plant without a difference.
const NOTHING: Plant = ("nothing: a word without effect", "preempt=full,quiet.word=1");

/// Plants for every kernel with these features.
const PLANTS: [Plant; 4] = [
    NOTHING,
    ("preempt=none", "preempt=none"),
    ("slub_debug=FZP", "preempt=full,slub_debug=FZP"),
    ("an event in each system call", "preempt=full,trace_event=raw_syscalls:sys_enter"),
];

/// Plants near the limit, for a kernel with `gate_rates/loops.patch`: empty loops.
const LOOPS: [Plant; 7] = [
    NOTHING,
    ("4 rounds in getppid", "preempt=full,loop_getppid=4"),
    ("8 rounds in getppid", "preempt=full,loop_getppid=8"),
    ("16 rounds in getppid", "preempt=full,loop_getppid=16"),
    ("32 rounds in getppid", "preempt=full,loop_getppid=32"),
    ("16 rounds in the timer interrupt", "preempt=full,loop_hrtimer=16"),
    ("32 rounds in the timer interrupt", "preempt=full,loop_hrtimer=32"),
];

/// The numbers of seeds of the judged gates.
const SEEDS: [u32; 9] = [5, 6, 7, 8, 10, 12, 14, 16, 20];

/// How many gates are drawn for a number of seeds.
const DRAWS: usize = 400;

/// Measures a kernel beside the plants for every kernel. `options` are those of `tactus measure`, such
/// as fewer loads.
pub(crate) fn measure(
    root: &Path,
    kernel: &str,
    seeds: &str,
    options: &[&str],
) -> anyhow::Result<()> {
    measure_beside(&PLANTS, root, kernel, seeds, options)
}

/// Measures a kernel with `gate_rates/loops.patch` beside loops of a few rounds.
pub(crate) fn measure_loops(root: &Path, kernel: &str, seeds: &str) -> anyhow::Result<()> {
    let cell = ["--load", "syscall", "--policy", "fifo:80", "--duration", "300ms", "--jobs", "2"];
    measure_beside(&LOOPS, root, kernel, seeds, &cell)
}

/// Measures, keeps the run below cargo's target directory, and prints the table.
fn measure_beside(
    plants: &[Plant],
    root: &Path,
    kernel: &str,
    seeds: &str,
    options: &[&str],
) -> anyhow::Result<()> {
    let store = cargo::target(root).join("gate-rates.sqlite");
    let conditions = Conditions::begin()?;
    let mut command = Command::new(cargo::release(root)?);
    command.env("TACTUS_STORE", &store).args(["measure", "gate", "--rounds", seeds, "--seed", "1"]);
    let planted = plants.iter().map(|(_, words)| *words);
    for parameters in std::iter::once("preempt=full").chain(planted) {
        command.args(["--kernel", &format!("{kernel}:{parameters}")]);
    }
    // An interrupted run has whole rounds too.
    let _: ExitStatus = command.args(options).status().context("tactus")?;
    print(&store)?;
    conditions.print()
}

/// Prints the table of the last run in a store.
pub(crate) fn print(store: &Path) -> anyhow::Result<()> {
    let store = Store::open_to_read(store)?;
    let run = store.load(&store.find("last")?)?;
    let measured = Measured::of(&run)?;
    let (id, rounds) = (&run.header.id, measured.rounds.len());
    println!("{id}: {rounds} seeds; share of {DRAWS} gates that refuse a kernel, in %\n");
    println!("| plant | figures |{}", SEEDS.map(|seeds| format!(" {seeds} |")).concat());
    println!("|---|---|{}", "---|".repeat(SEEDS.len()));
    for paths_only in [false, true] {
        let rule = GateRule { paths_only, ..GateRule::default() };
        let what = if paths_only { "paths" } else { "all" };
        let mut rows = vec![("nothing: other seeds of one kernel", None)];
        let planted = PLANTS.iter().chain(&LOOPS[1..]).filter(|plant| measured.has(plant));
        rows.extend(planted.map(|(plant, parameters)| (*plant, Some(*parameters))));
        for (plant, parameters) in rows {
            let shares = SEEDS.map(|seeds| measured.refused(parameters, seeds, &rule));
            let entries = shares.map(|share| format!(" {} |", share.unwrap_or("–".to_owned())));
            println!("| {plant} | {what} |{}", entries.concat());
        }
    }
    Ok(())
}

/// A run of the cells of a gate under several kernels.
struct Measured<'r> {
    run: &'r Run,
    /// The kernels in the order of the plan, with the indices of their cells.
    kernels: Vec<(GuestKernel, Vec<usize>)>,
    /// The rounds in which every turn has a result.
    rounds: Vec<u32>,
}

impl<'r> Measured<'r> {
    fn of(run: &'r Run) -> anyhow::Result<Self> {
        let mut kernels: Vec<(GuestKernel, Vec<usize>)> = Vec::new();
        for (index, cell) in run.header.plan.cells.iter().enumerate() {
            let kernel = &cell.target.guest().context("the run has cells of this machine")?.kernel;
            match kernels.iter_mut().find(|(known, _)| known == kernel) {
                Some((_, cells)) => cells.push(index),
                None => kernels.push((kernel.clone(), vec![index])),
            }
        }
        let all = run.header.plan.cells.len();
        let measured = |round: &u32| {
            run.measurements.iter().filter(|found| found.turn.round == *round).count() == all
        };
        let rounds = (0..run.header.plan.rounds).filter(measured).collect();
        Ok(Self { run, kernels, rounds })
    }

    /// Whether the run has this plant.
    fn has(&self, (_, parameters): &Plant) -> bool {
        self.kernels.iter().any(|(kernel, _)| kernel.parameters.join(",") == *parameters)
    }

    /// The share of refused gates in per cent; `None` if the run has too few rounds, or so few seeds
    /// cannot decide. Without a plant, each kernel in turn is compared with itself, by other seeds.
    fn refused(&self, plant: Option<&str>, seeds: u32, rule: &GateRule) -> Option<String> {
        let baseline = &self.kernels.first()?.1;
        let mut random = SplitMix64::new(u64::from(seeds));
        let mut refused = 0;
        for draw in 0..DRAWS {
            let mut rounds = self.rounds.clone();
            random.shuffle(&mut rounds);
            let drawn = rounds.get(..seeds as usize)?;
            let gate = match plant {
                Some(parameters) => {
                    let is_planted =
                        |kernel: &GuestKernel| kernel.parameters.join(",") == parameters;
                    let (_, planted) =
                        self.kernels.iter().find(|(kernel, _)| is_planted(kernel))?;
                    self.gate([(baseline, drawn), (planted, drawn)], rule)
                }
                None => {
                    let others = rounds.get(seeds as usize..2 * seeds as usize)?;
                    let (_, cells) = &self.kernels[draw % self.kernels.len()];
                    self.gate([(cells, drawn), (cells, others)], rule)
                }
            };
            check_seeds(&gate.header.plan, rule).ok()?;
            let comparison = compare(&gate, rule).ok()?;
            refused += usize::from(comparison.decision(rule) == Decision::Refused);
        }
        Some(format!("{:.1}", 100.0 * refused as f64 / DRAWS as f64))
    }

    /// A gate of these cells and rounds of both sides.
    fn gate(&self, sides: [(&Vec<usize>, &[u32]); 2], rule: &GateRule) -> Run {
        let side = |cells: &[usize], rounds: &[u32]| Plan {
            cells: cells.iter().map(|cell| self.run.header.plan.cells[*cell].clone()).collect(),
            rounds: rounds.len() as u32,
            ..self.run.header.plan.clone()
        };
        let [baseline, kernel] = sides.map(|(cells, rounds)| side(cells, rounds));
        let mut header = self.run.header.clone();
        header.plan = plan(baseline, kernel, *rule);
        let mut measurements = Vec::new();
        for (number, (cells, rounds)) in sides.into_iter().enumerate() {
            for found in &self.run.measurements {
                let cell = cells.iter().position(|cell| *cell == found.turn.cell);
                let round = rounds.iter().position(|round| *round == found.turn.round);
                let (Some(cell), Some(round)) = (cell, round) else { continue };
                let mut measurement = found.clone();
                let turn = Turn { round: round as u32, cell: number * cells.len() + cell };
                measurement.turn = turn;
                measurements.push(measurement);
            }
        }
        Run { header, measurements, failures: Vec::new() }
    }
}
