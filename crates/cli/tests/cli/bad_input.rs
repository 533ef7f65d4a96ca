//! Wrong input, its answer and its exit code: one row each.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::{Tactus, text};

/// A row: the arguments, a part of the answer, and the exit code. `{dir}` is an empty directory, and
/// `{run}` is the name of a stored run with two cells.
type Row = (&'static [&'static str], &'static str, i32);

const ROWS: &[Row] = &[
    // Stores and sites.
    (&["list", "--store", "mysql://lab/runs"], "only files and PostgreSQL are supported", 2),
    (
        &["list", "--store", "postgresql://a@/b?host=/nonexistent"],
        "no server listens at the socket /nonexistent/.s.PGSQL.5432",
        3,
    ),
    (&["list", "--store", "postgresql://lab/b?sslmode=require"], "connects without TLS", 2),
    (&["serve", "--name", "https://results.example/"], "without scheme, port and path", 2),
    (&["serve", "--listen", "nowhere"], "write ADDRESS:PORT, e.g. 127.0.0.1:8423", 2),
    (&["agent", "--listen", "x"], "write ADDRESS:PORT, e.g. 127.0.0.1:8423", 2),
    (&["agent", "--keep", "1"], "is less than the buffer of a CPU", 2),
    // CPUs.
    (&["measure", "--cpus", "8000"], "CPU 8000 does not exist or is offline", 2),
    (&["measure", "--cpus", "0,8000"], "the online CPUs of this machine are 0", 2),
    (&["measure", "--load", "compute", "--load-cpus", "8000"], "load-cpus = \"8000\"", 2),
    (&["measure", "{dir}/cpus.toml"], "CPU 8000 does not exist or is offline", 2),
    (&["measure", "--cpus", "8000-8001"], "CPUs 8000-8001 do not exist or are offline", 2),
    (&["agent", "--cpus", "8000"], "CPU 8000 does not exist or is offline", 2),
    (&["watch", "--cpus", "8000"], "CPU 8000 does not exist or is offline", 2),
    (&["measure", "--load", "idle", "--load-cpus", "8000"], "load-cpus = \"8000\"", 2),
    (&["measure", "--kernel", "debian", "--cpus", "8000"], "the CPUs of a guest are 0", 2),
    (&["measure", "--kernel", "debian", "--exact", "--cpus", "1"], "deterministic time is 0", 2),
    (&["measure", "--jobs", "2"], "`--jobs` applies to guest kernels only", 2),
    (&["measure", "--kernel", "debian", "--jobs", "2"], "needs deterministic time", 2),
    (&["measure", "--jobs", "0"], "`0` is not a whole number from 1 to 1024", 2),
    // Durations.
    (&["measure", "--duration", "10"], "write a number and a unit", 2),
    (&["measure", "--duration", "0s"], "make it at least 1ms", 2),
    (&["measure", "--duration", "-1s"], "`-1s` is negative", 2),
    (&["measure", "--duration", "99999999h"], "is too long: the limit is 5124095h", 2),
    (&["measure", "--duration", "9000h"], "the limit for a cell is 8784h", 2),
    (&["measure", "--duration", "10MS", "--plan-only"], "duration 10ms", 0),
    (&["measure", "--until", "p99:5%", "--limit", "0s"], "`0s` is zero", 2),
    (&["measure", "{dir}/limit.toml"], "leaves no time for further rounds", 2),
    (&["record", "--duration", "0s"], "`0s` is zero", 2),
    // Numbers.
    (&["measure", "--rounds", "-1"], "`-1` is not a whole number from 1 to 10000", 2),
    (&["measure", "--rounds", "99999999999"], "from 1 to 10000", 2),
    (&["measure", "--seed", "x"], "`x` is not a whole number from 0 to", 2),
    (&["measure", "--sample-limit", "0"], "out of range; write 1 to 10000000000", 2),
    (&["list", "--newest", "0"], "`0` is not a whole number from 1", 2),
    (&["compare", "a", "b", "--margin", "-1"], "write a percentage between 0 and 100", 2),
    (&["why", "--pid", "abc"], "`abc` is not the number of a process; --name takes a name", 2),
    (&["why", "--pid", "0"], "there is no process 0", 2),
    (&["why", "-o", "{dir}/a.html"], "-o {dir}/a.tactusrec", 2),
    (&["why", "-o", "{dir}/no/x.tactusrec"], "mkdir -p {dir}/no", 2),
    (&["why", "--cgroup", "/sys/fs/cgroup/none.slice"], "group /sys/fs/cgroup/none.slice: No", 2),
    (&["why", "--cgroup", "none.slice"], "group /sys/fs/cgroup/none.slice: No", 2),
    // Threads to watch.
    (&["lint", "/bin/true"], "write `--` before the command: -- /bin/true", 2),
    (&["lint", "--pid", "abc"], "`abc` is not the number of a process; `pgrep NAME` prints it", 2),
    (&["lint", "--thread", "", "--", "true"], "the name is empty", 2),
    (&["lint", "--thread", "a-long-thread-name", "--", "true"], "keeps `a-long-thread-n`", 2),
    (&["lint", "--allow", "ppoll,read", "--", "true"], "repeat the option for each", 2),
    (&["lint", "--until", "getpid", "--", "true"], "it is one of: accept, accept4", 2),
    (&["lint", "--until", "getpid", "--", "true"], "waits for its next period in `getpid`", 2),
    // Packets.
    (&["measure", "--probe", "net"], "use clock = \"realtime\"", 2),
    (&["measure", "--probe", "net", "--net-packets", "0"], "write 1 to 1000", 2),
    (&["measure", "--net-path", "relay"], "add `--probe net`", 2),
    (&["measure", "--probe", "net", "--net-path", "sockets"], "did you mean `socket`?", 2),
    // Operations.
    (&["measure", "--probe", "midi", "--message-rate", "2000"], "the limit is 1000", 2),
    (&["measure", "--probe", "midi", "--message-ahead", "61s"], "the limit is 1min", 2),
    (&["measure", "--probe", "midi", "--clock", "tai"], "use clock = \"monotonic\"", 2),
    (&["measure", "--via", "server"], "add `--probe midi`", 2),
    (&["measure", "--probe", "midi", "--via", "sever"], "did you mean `server`?", 2),
    (&["measure", "--probe", "cost", "--operation", "pip"], "did you mean `pipe`?", 2),
    (&["measure", "--operation", "pipe"], "add `--probe cost`", 2),
    (&["costs", "--operation", "getppid", "--size", "1MiB"], "for operation = memory-read", 2),
    (&["costs", "--size", "1TiB"], "up to 1GiB", 2),
    (&["costs", "--size", "1B"], "use 16B to 1GiB", 2),
    (&["costs", "--operation", "ipc-pip"], "did you mean `ipc-pipe`?", 2),
    (
        &["costs", "--operation", "ipc-pipe", "--wait", "spin", "--partner-cpu", "same"],
        "use partner-cpu = \"other\"",
        2,
    ),
    (&["costs", "--policy", "deadline:1ms/2ms/2ms"], "whose partner has the same policy", 2),
    (&["costs", "--run", "{run}"], "has no result of an operation", 5),
    (&["costs", "--times", "0"], "write 1 to 1000000, or usual", 2),
    (&["costs", "--operation", "getppid", "--way", "one-way"], "for operation = pipe", 2),
    // Pipelines.
    (&["model", "control-lop"], "did you mean `control-loop`?", 2),
    (&["model", "{dir}"], "Is a directory", 2),
    (&["model", "{dir}/cpus.toml"], "the pipeline has no period", 2),
    (
        &["model", "{dir}/rate.toml"],
        "rate: write the frames a second as a number from 0.1 to 20000",
        2,
    ),
    (&["model", "control-loop", "--policy", "fifo:0"], "`0` is not a real-time priority", 2),
    // Words.
    (&["measure", "--policy", "FIFO:90", "--plan-only"], "policy fifo:90", 0),
    (&["measure", "--policy", "fifi:90"], "did you mean `fifo`?", 2),
    (&["measure", "--policy", "fifo"], "fifo needs a priority from 1 to 99", 2),
    (&["measure", "--load", "cpu"], "did you mean `compute`?", 2),
    (&["measure", "--tick", "100"], "add `--probe frames`", 2),
    (&["measure", "--probe", "frames", "--player", "play-shn"], "did you mean `play-shm`?", 2),
    (
        &["measure", "--probe", "frames", "--player", "play-shm", "--kernel", "debian"],
        "runs on the host only; use player = \"latest\" in a guest",
        2,
    ),
    (
        &["measure", "--probe", "frames", "--player", "play-shm", "--tick-shift", "5ms"],
        "which starts when it is ready; use \"sweep\"",
        2,
    ),
    (
        &["play", "--sound", "alsa:0", "clip.mkv"],
        "`0` is not an ALSA device; use hw:CARD or hw:CARD,DEVICE, e.g. hw:0,0",
        2,
    ),
    (&["play", "--ticks", "0", "clip.mkv"], "`0` is not a rate", 2),
    (&["measure", "{dir}/tick.toml"], "or in a file: probe = \"frames\"", 2),
    (&["measure", "--load", "COMPIL:2"], "did you mean `compile`?", 2),
    (&["measure", "--traced-events", "wakup-path"], "did you mean `wakeup-path`?", 2),
    (&["measure", "quik"], "did you mean `quick`?", 2),
    (&["measure", "latency-method"], "did you mean `papers/latency-method`?", 2),
    (&["record", "--source", "trafs", "--", "true"], "did you mean `tracefs`?", 2),
    (&["list", "load"], "did you mean `loads`?", 2),
    (&["list", "load"], "error: `WHAT`: unknown value `load`", 2),
    (&["lab", "kernels", "debain"], "error: `KERNEL`: ", 2),
    (&["lab", "setup", "debian-cluod-arm64"], "did you mean `debian-cloud-arm64`?", 2),
    (&["lab", "bisect"], "--good <REVISION>", 2),
    (&["lab", "bisect", "--good", "a", "--kernel", "debian"], "leave out `--kernel`", 2),
    (
        &["lab", "bisect", "--good", "a", "--tree", "{dir}/none"],
        "--tree names a directory in a git repository",
        2,
    ),
    (&["mesure"], "did you mean `measure`?", 2),
    (&["runs"], "did you mean `tactus list`?", 2),
    (&["experiments"], "did you mean `tactus list experiments`?", 2),
    (&["loads"], "did you mean `tactus list loads`?", 2),
    (&["policies"], "did you mean `tactus list policies`?", 2),
    (&["settings"], "did you mean `tactus list settings`?", 2),
    (&["lab", "measure"], "did you mean `tactus measure --kernel KERNEL`?", 2),
    (&["measure", "--intervall", "1ms"], "did you mean `--interval`?", 2),
    (&["measure", "--unknown"], "see `tactus measure --help`", 2),
    (&["measure", "--limit"], "`--limit <DURATION>` needs a value", 2),
    (&["measure", "--csv", "--json"], "`--csv` cannot be used with `--json`", 2),
    (&["import"], "missing: <FILE>", 2),
    (&["list", "--color", "red"], "it is one of: auto, always, never", 2),
    (&["help", "--help"], "Usage: tactus", 0),
    // Runs and cells.
    (&["show", "{run}x"], "did you mean {run}", 2),
    (&["show", ""], "the name of the run is empty", 2),
    (&["show", "last#99"], "there is no cell 99 of {run}; its cells are: 1", 2),
    (&["show", "{run}#"], "ends with `#` and names no cell", 2),
    (&["explain", "{run}#0"], "its cells are: 1 (other), 2 (idle)", 2),
    (&["explain", "{run}#othr"], "did you mean `other`?", 2),
    (&["explain", "last#1", "--cell", "2"], "this needs a whole run: write `last`", 2),
    (&["delete", "last#1"], "this needs a whole run: write `last`", 2),
    (&["measure", "--continue", "last#1"], "this needs a whole run: write `last`", 2),
    // Files.
    (&["record", "-o", "{dir}/no/x", "--", "true"], "mkdir -p {dir}/no", 2),
    (&["measure", "--page", "{dir}/no/x.html"], "mkdir -p {dir}/no", 2),
    (&["measure", "--page", "/proc/x.html"], "no file can be created in this directory", 2),
    (&["show", "{dir}/hello.txt"], "tactus import --format FORMAT", 2),
    (&["report", "-o", "{dir}"], "is a directory", 2),
    (&["report", "-o", "{dir}/cpus.toml/x.html"], "ot a directory", 2),
    (&["admit", "{dir}/no.toml"], "cannot open plan {dir}/no.toml", 2),
    (&["admit", "{dir}/limit.toml"], "line 3: unknown key `limit`", 2),
    (&["admit", "{dir}/tasks.toml"], "the largest cost is 10ms", 2),
    (&["admit", "{dir}/tasks.toml", "--cost-for", "10"], "write a number and a unit", 2),
    (&["admit", "{dir}/tasks.toml", "--cost-for", "2h"], "the limit is 1h", 2),
    (&["admit", "{dir}/tasks.toml", "--period-for", "0s"], "is zero", 2),
    (&["import", "{dir}/short.tactusrec"], "it is a recording, not a run", 2),
    (&["import", "{dir}/short.tactusrec"], "explain it with: tactus explain", 2),
    (&["import", "--format", "cyclictest-json", "{dir}/oslat.json"], "is oslat-json, not", 2),
    (&["import", "/dev/zero"], "it is a pipe or a device", 2),
    (&["import", "{dir}/pipe"], "it is a pipe or a device", 2),
    (&["measure", "{dir}/pipe"], "it is a pipe or a device", 2),
    (&["admit", "{dir}/pipe"], "it is a pipe or a device", 2),
    (&["quanta", "{dir}/pipe"], "it is a pipe or a device", 2),
    // Capacities.
    (&["reserve", "12ms/10ms", "--", "true"], "the largest cost is 10ms", 2),
    (&["reserve", "3ms", "--", "true"], "write the CPU time and the period", 2),
    (&["reserve", "1ms/9ms", "--rung", "dealine", "--", "true"], "did you mean `deadline`?", 2),
    (&["reserve", "1ms/5s", "--rung", "deadline", "--", "true"], "a period of 4194.304ms", 3),
    (&["reserve", "9us/50us", "--rung", "deadline", "--", "true"], "a period of 100us", 3),
    (&["reserve", "--adjust", "1", "1ms/9ms"], "does not run under `tactus reserve`", 2),
    // Devices of the delivery server.
    (&["streamd", "--device", "a=picture:0"], "`0` is not an X11 display, e.g. :0", 2),
    (&["streamd", "--device", "a=picture::0,9x"], "is not WIDTHxHEIGHT, e.g. 1280x720", 2),
    // Mail.
    (&["mail", "record", "{dir}/a.webm", "--picture", "screan"], "write synthetic, screen, cam", 2),
    (&["mail", "record", "{dir}/a.webm", "--sound", "mic"], "write synthetic, microphone, ", 2),
    (&["mail", "record", "{dir}/a.webm", "--size", "640"], "write WIDTHxHEIGHT in pixels", 2),
    (&["mail", "record", "{dir}/a.webm", "--rate", "1000"], "a rate from 1 to 120 pictures", 2),
    (&["mail", "record", "{dir}/a.webm", "--duration", "2h"], "a clip has at most 1h", 2),
    (
        &["mail", "send", "{dir}/a.webm", "--to", "a@b\nBcc: c@d"],
        "`a@b\\nBcc: c@d` is not an ad",
        2,
    ),
    (&["mail", "send", "{dir}/a", "--to", "a@b", "--subject", "a\nTo: c@d"], "has a line break", 2),
    (&["mail", "play", "{dir}/hello.txt"], "not a mail: it has no headers", 2),
    (&["mail", "play", "{dir}/pipe"], "it is a pipe or a device", 2),
    (&["mail", "play", "{dir}/none.eml"], "cannot read {dir}/none.eml: No such file", 2),
    // Options that would be ignored.
    (&["watch", "--traced", "1s"], "unknown option `--traced`", 2),
    (&["watch", "--plain", "--load", "idle", "--load", "compute"], "has several values", 2),
];

#[test]
fn wrong_input_is_answered_before_anything_is_done() {
    let tactus = Tactus::new();
    let folder = tactus.folder().join("files");
    fs::create_dir(&folder).unwrap();
    let plan = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    plan("rate.toml", "rate = \"25/s\"\n[[stage]]\nname = \"read\"\n");
    plan("cpus.toml", "name = \"cpus\"\n[settings]\ncpus = \"8000\"\n");
    plan("tick.toml", "name = \"tick\"\n[settings]\ntick = 100\n");
    plan("hello.txt", "hello\n");
    plan("limit.toml", "name = \"limit\"\nuntil = \"p99:5%\"\nlimit = \"0s\"\n");
    plan("tasks.toml", "[[task]]\ncost = \"11ms\"\nperiod = \"10ms\"\n");
    fs::write(folder.join("short.tactusrec"), b"TACTREC\n").unwrap();
    let oslat = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/import/oslat.json");
    fs::copy(oslat, folder.join("oslat.json")).unwrap();
    mknodat(CWD, folder.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let cells = ["--policy", "other", "--policy", "idle"];
    let short = ["--duration", "20ms", "--traced", "0s", "--warmup", "0s", "--no-page"];
    tactus.succeed(&[&["measure"], &cells[..], &short[..]].concat());
    let listed = tactus.succeed(&["list", "--json"]);
    let run: serde_json::Value = serde_json::from_str(listed.trim()).unwrap();
    let run = run["id"].as_str().unwrap();
    let filled = |text: &str| text.replace("{dir}", folder.to_str().unwrap()).replace("{run}", run);
    for (arguments, answer, code) in ROWS.iter().copied() {
        let arguments: Vec<String> = arguments.iter().map(|text| filled(text)).collect();
        let output = tactus.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let printed = text(&output.stdout) + &text(&output.stderr);
        // Lines are wrapped at the width of a terminal.
        let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&filled(answer)), "{arguments:?}: {printed}");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
    }
    assert_eq!(tactus.succeed(&["list", "--json"]), listed, "nothing was measured");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 9, "nothing was written");
}

#[test]
fn only_the_directory_of_the_default_store_is_created() {
    let tactus = Tactus::new();
    let missing = tactus.folder().join("missing");
    for arguments in [["measure", "--no-page", "--duration", "1ms"].as_slice(), &["delete", "x"]] {
        let mut command = tactus.command(arguments);
        let output = command.env("TACTUS_STORE", missing.join("runs.sqlite")).output().unwrap();
        let printed = text(&output.stderr);
        assert!(printed.contains(&format!("mkdir -p {}", missing.display())), "{printed}");
        assert_eq!(output.status.code(), Some(2), "{printed}");
        assert!(!missing.exists());
    }
    let folder = tactus.command(&["list"]).env("TACTUS_STORE", tactus.folder()).output().unwrap();
    let printed = text(&folder.stderr);
    assert!(printed.contains("is a directory; set TACTUS_STORE to a file"), "{printed}");
    assert_eq!(folder.status.code(), Some(2), "{printed}");
}

#[test]
fn a_cell_is_the_same_in_every_command() {
    let tactus = Tactus::new();
    let short = ["--duration", "20ms", "--traced", "0s", "--warmup", "0s", "--no-page"];
    tactus.succeed(&[&["measure", "--policy", "other", "--policy", "idle"], &short[..]].concat());
    let shown = tactus.succeed(&["show", "last#2", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(shown.trim()).unwrap();
    assert!(shown["id"].as_str().unwrap().ends_with("#2"));
    assert_eq!(shown["cells"].as_array().unwrap().len(), 1);
    assert_eq!(shown["plan"]["cells"][0]["policy"]["scheduling"], "idle");
    assert_eq!(shown["cells"][0]["number"], 1, "the only cell of what is shown");
    let gated = tactus.succeed(&["gate", "last#2", "--max", "1h"]);
    assert_eq!(gated.lines().count(), 1, "{gated}");
    let compared = tactus.succeed(&["compare", "last#1", "last#2", "--json"]);
    let compared: serde_json::Value = serde_json::from_str(compared.trim()).unwrap();
    let pair = &compared["pairs"][0];
    assert_eq!((&pair["a"]["number"], &pair["b"]["number"]), (&1.into(), &2.into()));
    let page = tactus.succeed(&["report", "last#2"]);
    assert!(page.trim().ends_with("-cell-2.html"), "{page}");
}

#[test]
fn what_can_be_named_is_listed() {
    let tactus = Tactus::new();
    for (what, name) in [
        ("experiments", "quick"),
        ("loads", "compute"),
        ("policies", "fifo:N"),
        ("settings", "cpus"),
    ] {
        let found = tactus.succeed(&["list", what]);
        assert!(found.lines().any(|line| line.starts_with(name)), "{what}: {found}");
        let lines = tactus.succeed(&["list", what, "--json"]);
        assert_eq!(lines.lines().count(), found.lines().count(), "{what}");
    }
}
