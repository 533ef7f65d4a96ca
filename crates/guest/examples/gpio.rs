//! The guest of `cargo xtask gpio`, in which edges of a simulated line wake an event thread.
//!
//! The kernel's gpio-sim (*Documentation/admin-guide/gpio/gpio-sim.rst*) makes a chip by files of
//! configfs, and an edge by a write to the file `pull` of a line.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tactus_guest::first;
use tactus_guest::run;
use tactus_model::message::Message;
use tactus_rt::{Edges, Flow, Gpio, Policy, Process};
use tactus_sys::mount;

/// Edges that the thread serves one by one.
const SERVED: u32 = 1000;

/// Edges while one job lasts: more than the kernel keeps.
const BURST: u32 = 200;

/// The longest wait for an edge.
const PATIENCE: Duration = Duration::from_secs(10);

const CONFIGFS: &str = "/sys/kernel/config";
const LINE: u32 = 1;

/// What became of the edges.
#[derive(Serialize)]
struct Served {
    run: u64,
    missed: u64,
    rising: u64,
    /// From the interrupt to the job, in nanoseconds, while jobs did not delay each other.
    lateness_p50: u64,
    lateness_max: u64,
}

fn main() -> ExitCode {
    run(|| {
        let console = first::begin()?;
        match served() {
            Ok(served) => console.send(&served)?,
            Err(reason) => console.send(&Message::Failed { reason, hint: None })?,
        }
        first::end(console)
    })
}

/// A simulated line, which follows its pull.
struct Line {
    chip: String,
    pull: String,
    is_high: bool,
}

impl Line {
    /// Makes a chip with the line.
    fn create() -> Result<Self, String> {
        mount::mount("configfs", Path::new(CONFIGFS)).map_err(|error| {
            format!("this kernel has no configfs (CONFIG_CONFIGFS_FS): {error}")
        })?;
        let device = format!("{CONFIGFS}/gpio-sim/tactus");
        let bank = format!("{device}/bank");
        fs::create_dir(&device)
            .map_err(|error| format!("this kernel has no gpio-sim (CONFIG_GPIO_SIM): {error}"))?;
        fs::create_dir(&bank).map_err(text)?;
        set(&format!("{bank}/num_lines"), "4")?;
        set(&format!("{device}/live"), "1")?;
        let (device, chip) =
            (name(&format!("{device}/dev_name"))?, name(&format!("{bank}/chip_name"))?);
        let pull = format!("/sys/devices/platform/{device}/{chip}/sim_gpio{LINE}/pull");
        Ok(Self { chip: format!("/dev/{chip}"), pull, is_high: false })
    }

    /// Makes an edge.
    fn toggle(&mut self) -> Result<(), String> {
        self.is_high = !self.is_high;
        set(&self.pull, if self.is_high { "pull-up" } else { "pull-down" })
    }
}

fn served() -> Result<Served, String> {
    let mut line = Line::create()?;
    let source = Gpio::request(Path::new(&line.chip), LINE, Edges::Both).map_err(text)?;
    let rt = Process::builder().lock_memory().start().map_err(text)?;
    let (report, jobs) = channel();
    let (resume, resumed) = channel::<()>();
    let edges = rt.event("edges", source).policy(Policy::Fifo(80)).spawn(move |edge| {
        let _ = report.send((edge.index, edge.event.is_rising, edge.lateness()));
        if edge.index == u64::from(SERVED) {
            // The first edge of the burst: the others come during its job.
            let _ = resumed.recv();
        }
        Flow::Continue
    });
    let edges = edges.map_err(text)?;
    let next = |what: &str| match jobs.recv_timeout(PATIENCE) {
        Ok(job) => Ok(job),
        Err(RecvTimeoutError::Timeout) => Err(format!("no job for {what}")),
        Err(RecvTimeoutError::Disconnected) => Err("the thread has ended".to_owned()),
    };
    let mut rising = 0;
    let mut late = Vec::new();
    for number in 0..SERVED {
        line.toggle()?;
        let (_, is_rising, lateness) = next(&format!("edge {number}"))?;
        if is_rising != line.is_high {
            return Err(format!("edge {number} has the other direction"));
        }
        rising += u64::from(is_rising);
        late.push(lateness.ok_or("an edge has no time")?.as_nanos());
    }
    line.toggle()?;
    next("the first edge of the burst")?;
    for _ in 1..BURST {
        line.toggle()?;
        // The simulated interrupt comes a little later; two at once would be one edge.
        thread::sleep(Duration::from_millis(1));
    }
    resume.send(()).map_err(text)?;
    // The last edge is among those that the kernel keeps.
    while next("the rest of the burst")?.0 + 1 < u64::from(SERVED + BURST) {}
    let stats = edges.stop().stats;
    late.sort_unstable();
    Ok(Served {
        run: stats.run,
        missed: stats.missed,
        rising,
        lateness_p50: late[late.len() / 2],
        lateness_max: late[late.len() - 1],
    })
}

fn set(file: &str, value: &str) -> Result<(), String> {
    fs::write(file, value).map_err(|error| format!("cannot write {value} to {file}: {error}"))
}

fn name(file: &str) -> Result<String, String> {
    let read = fs::read_to_string(file);
    let read = read.map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(read.trim().to_owned())
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
