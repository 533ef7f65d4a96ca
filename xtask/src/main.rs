//! Chores of this repository: `cargo xtask NAME`.
#![forbid(unsafe_code)]

mod agent_cost;
mod alsa;
mod analysis_speed;
mod attacks;
mod c_library;
mod camera;
mod card;
mod cargo;
mod chore_guest;
mod conditions;
mod cost_noise;
mod coverage;
mod cyclictest;
mod dist;
mod fifo_peers;
mod floor;
mod gate_rates;
mod generated;
mod gpio;
mod lab_figures;
mod peers;
mod planted_causes;
mod ratio;
mod rt_faults;
mod rtkit;
mod stores;
mod streams;
mod timerlat;
mod tracing_cost;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask CHORE

  generate            write docs/man, docs/completions and docs/commands.md from the command line
  generate --check    fail if they are out of date
  header              write tactus_rt.h and tactus.h in crates/capi/include from the sources of the
                      C library
  header --check      fail if they are out of date
  c-library PREFIX    build the C library and copy it below PREFIX, with its headers and their
                      descriptions for pkg-config
  dist                build what people install, below target/dist: a static program that contains
                      the program for guests, as an archive and as a Debian package (minutes;
                      musl-gcc)
  analysis-speed      compare the speed of analysis with perf sched timehist (root, perf)
  cyclictest          measure in pairs with cyclictest and print the ratios (root, two CPUs)
  coverage            coverage of the intervals of rare latencies, on simulated data (minutes)
  coverage intervals  coverage of the intervals of quantiles, with a fixed number of rounds and
                      with rounds added until they are narrow (minutes)
  coverage goodness   critical values of the goodness of fit of tails (minutes)
  faults [KILLS]      kill every kind of process at random moments, 500 times or as given, and print
                      what each left (root)
  agent [PAIRS [SECONDS [PROGRAM]]]
                      what `tactus agent` costs, in pairs of windows with and without it, on an idle machine and
                      under stress-ng, 5 pairs of 30 s or as given, by this program or a release build (minutes;
                      root, stress-ng)
  tracing-cost [BLOCKS]
                      what `tactus why`, `tactus record` and the events that explain sleeps cost an
                      event and a 1 kHz thread, interleaved with perf sched record and perf trace -s,
                      6 times or as given (minutes; root, two CPUs, perf)
  attacks [--seconds S]
                      attack the real-time side of FIFOs as another user, 60 s each or as given, beside
                      decent peers, and print the tails and the longest push and pop (root, two CPUs)
  rt-faults [--seconds S]
                      kill, stop, corrupt and exhaust the ordinary side of a real-time loop, step the
                      clock, and let the loop panic and hang, 20 s each or as given, beside undisturbed
                      blocks; print the deadlines kept, items lost and times to recover, and how soon
                      100 hung threads are demoted (root, two CPUs)
  rt-faults --guests [KERNEL [--seconds S]]
                      set the clock, swap, and unplug CPUs beside the same loop, in guests with this kernel
                      or Debian's cloud kernel, 2 s each or as given (minutes; qemu, musl target)
  fifo-peers [BLOCKS] compare the writes and latencies of FIFOs with rtrb and iceoryx2, in 8 blocks of
                      each or as given (root, two CPUs; builds 60 crates the first time)
  cost-noise [ROUNDS] the A/A noise floor of each operation of `tactus costs`, and the smallest difference
                      that five minutes find, from 20 processes of each or as given (minutes)
  peers [NAME]        what operations cost by `tactus costs` and by other tools (perf bench, …), in pairs
                      of fresh processes; only the rows whose quantity or tool contains NAME (root, two
                      CPUs, the tools; minutes)
  fifo-peers messages [BLOCKS]
                      compare a message in shared memory, one way, with iceoryx2, both spinning
                      (two CPUs)
  streams [SECONDS]   error of the delivery server against due times beside a bare loop of
                      clock_nanosleep, idle and under load, 60 s or as given; then its throughput,
                      memory, and 100 clients (root, two CPUs)
  stream-peers [ROUNDS]
                      error against due times of the delivery server beside liblo, PortTime and
                      SuperCollider, 5 rounds or as given (root, cc, liblo-dev, libportmidi-dev,
                      supercollider-language)
  stores              runs stored a second by one writer and by eight, in SQLite and in PostgreSQL
                      (a minute; postgresql)
  serve [RUNS]        how soon `tactus serve` answers with a store of 10 000 runs or as given (minutes)
  rtkit [ROUNDS [QUANTUM]]
                      sound beside a client that runs away: rtkit and tactus qosd --rtkit in pairs
                      (root, two CPUs, rtkit, pipewire, dbus-daemon)
  timerlat KERNEL [LOAD [TIME]]
                      compare the kernel's timerlat with our segments in a guest, in
                      deterministic time (minutes)
  gate-rates KERNEL [SEEDS [OPTION…]]
                      false alarms of `tactus lab gate` and the plants it finds, by the number of seeds,
                      from a run of 40 seeds or as given, with these options of `tactus measure` (an hour;
                      qemu)
  gate-rates --loops KERNEL [SEEDS]
                      the same with loops of a few rounds, in a kernel with xtask/src/gate_rates/loops.patch, from
                      20 seeds or as given
  gate-rates --store FILE
                      the same from the last run in a store
  planted-causes KERNEL
                      plant a thread of higher priority, interrupts and kernel work in a guest, also on
                      arm64, and fail if `tactus explain` does not name them (minutes; qemu)
  lab-figures KERNEL [PLACE]
                      run the commands whose figures docs/lab.md and docs/kernel-ci.md contain, or those
                      whose place there contains PLACE (an hour; qemu)
  gpio [KERNEL]       edges of a simulated GPIO line wake an event thread in a guest: each is served or
                      counted, in deterministic time (minutes)
  alsa [KERNEL]       clicks that a guest plays through ALSA's loopback are captured at their distances,
                      across an xrun too, in deterministic time (minutes)
  camera              `tactus mail record` takes pictures from the kernel's simulated camera in a guest: stamps
                      are the driver's, also of a recorder that is stopped, in deterministic time
                      (minutes; qemu, ffmpeg)
  card                `tactus play` plays a clip on ALSA's loopback and an X display in a guest: clicks are
                      captured at their distances, in deterministic time (minutes; qemu, ffmpeg, xvfb)
  floor [OPTION…]     wakeup latency of FreeRTOS in deterministic time (qemu, gcc; --help)";

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["generate"] => generated::write(&repository())?,
        ["generate", "--check"] => generated::check(&repository())?,
        ["header"] => c_library::write_header(&repository())?,
        ["header", "--check"] => c_library::check_header(&repository())?,
        ["c-library", prefix] => c_library::install(&repository(), prefix)?,
        ["dist"] => dist::build(&repository())?,
        ["coverage"] => coverage::levels(),
        ["coverage", "intervals"] => coverage::intervals(),
        ["coverage", "goodness"] => coverage::goodness(),
        ["analysis-speed"] => analysis_speed::compare(&repository())?,
        ["gate-rates", "--store", file] => gate_rates::print(Path::new(file))?,
        ["gate-rates", "--loops", kernel] => {
            gate_rates::measure_loops(&repository(), kernel, "20")?;
        }
        ["gate-rates", "--loops", kernel, seeds] => {
            gate_rates::measure_loops(&repository(), kernel, seeds)?;
        }
        ["gate-rates", kernel] => gate_rates::measure(&repository(), kernel, "40", &[])?,
        ["gate-rates", kernel, seeds, ref options @ ..] => {
            gate_rates::measure(&repository(), kernel, seeds, options)?;
        }
        ["planted-causes", kernel] => planted_causes::check(&repository(), kernel)?,
        ["lab-figures", kernel] => lab_figures::measure(&repository(), kernel, "")?,
        ["lab-figures", kernel, place] => lab_figures::measure(&repository(), kernel, place)?,
        ["alsa"] => alsa::check(&repository(), None)?,
        ["alsa", kernel] => alsa::check(&repository(), Some(kernel))?,
        ["camera"] => camera::check(&repository())?,
        ["card"] => card::check(&repository())?,
        ["gpio"] => gpio::check(&repository(), None)?,
        ["gpio", kernel] => gpio::check(&repository(), Some(kernel))?,
        ["timerlat", kernel] => timerlat::compare(&repository(), kernel, "idle", "exact:125")?,
        ["timerlat", kernel, load] => {
            timerlat::compare(&repository(), kernel, load, "exact:125")?;
        }
        ["timerlat", kernel, load, time] => {
            timerlat::compare(&repository(), kernel, load, time)?;
        }
        ["attacks"] => attacks::run(&repository(), "60")?,
        ["attacks", "--seconds", seconds] => attacks::run(&repository(), seconds)?,
        ["rt-faults"] => rt_faults::run(&repository(), "20")?,
        ["rt-faults", "--seconds", seconds] => rt_faults::run(&repository(), seconds)?,
        ["rt-faults", "--guests"] => rt_faults::in_guests(&repository(), "debian-cloud", "2")?,
        ["rt-faults", "--guests", kernel] => rt_faults::in_guests(&repository(), kernel, "2")?,
        ["rt-faults", "--guests", kernel, "--seconds", seconds] => {
            rt_faults::in_guests(&repository(), kernel, seconds)?;
        }
        ["fifo-peers", ref arguments @ ..] => fifo_peers::compare(&repository(), arguments)?,
        ["streams"] => streams::measure(&repository(), "60")?,
        ["streams", seconds] => streams::measure(&repository(), seconds)?,
        ["stream-peers"] => streams::compare(&repository(), "5")?,
        ["stream-peers", rounds] => streams::compare(&repository(), rounds)?,
        ["stores"] => stores::writers(&repository())?,
        ["serve"] => stores::site(&repository(), "10000")?,
        ["serve", runs] => stores::site(&repository(), runs)?,
        ["rtkit"] => rtkit::compare(&repository(), 5, 1024)?,
        ["rtkit", rounds] => rtkit::compare(&repository(), rounds.parse()?, 1024)?,
        ["rtkit", rounds, quantum] => {
            rtkit::compare(&repository(), rounds.parse()?, quantum.parse()?)?;
        }
        _ if rtkit::helper(&words)? => {}
        ["faults"] => cargo::faults(&repository(), "500")?,
        ["faults", kills] => cargo::faults(&repository(), kills)?,
        ["agent"] => agent_cost::measure(&repository(), 5, 30, None)?,
        ["agent", pairs] => agent_cost::measure(&repository(), pairs.parse()?, 30, None)?,
        ["agent", pairs, seconds, ref program @ ..] if program.len() <= 1 => {
            let program = program.first().copied();
            agent_cost::measure(&repository(), pairs.parse()?, seconds.parse()?, program)?;
        }
        ["tracing-cost"] => tracing_cost::compare(&repository(), "6")?,
        ["tracing-cost", blocks] => tracing_cost::compare(&repository(), blocks)?,
        ["floor", ref options @ ..] => floor::run(options)?,
        ["cost-noise"] => cost_noise::measure(&repository(), "20")?,
        ["cost-noise", rounds] => cost_noise::measure(&repository(), rounds)?,
        ["peers"] => peers::compare(&repository(), "")?,
        ["peers", named] => peers::compare(&repository(), named)?,
        ["cyclictest"] => cyclictest::compare(&repository())?,
        _ => {
            eprintln!("{USAGE}");
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
