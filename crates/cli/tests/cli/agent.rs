//! The agent as a process: late wakeups with their causes, its budget, its endpoint, its end.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tactus_model::cpus::CpuList;
use tactus_model::policy::Scheduling;
use tactus_record::file::RecordingFile;
use tactus_sys::{affinity, sched};
use tactus_testing::{Need, PATIENCE, eventually, require, wait_until};

use crate::flight::permitted;
use crate::support::Tactus;

/// A running agent, killed when it is dropped.
pub struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    pub address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts an agent, and waits until it serves.
    pub fn start(command: &mut Command, options: &[&str]) -> Self {
        command.args(["agent", "--json", "--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut agent = Self { child, lines, address: ([127, 0, 0, 1], 0).into() };
        agent.address = agent.until("started")["listen"].as_str().unwrap().parse().unwrap();
        agent
    }

    /// The next event.
    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("the agent has ended").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The next event of this name.
    pub fn until(&mut self, name: &str) -> Value {
        self.until_such(|event| event["event"] == name)
    }

    /// The next event that is as wanted.
    fn until_such(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let event = self.next();
            if wanted(&event) {
                return event;
            }
            assert!(began.elapsed() < PATIENCE, "last: {event}");
        }
    }

    fn metrics(&self) -> String {
        eventually(|| {
            let answer = get(self.address, "/metrics");
            if answer.starts_with("HTTP/1.1 200 ") { Ok(answer) } else { Err(answer) }
        })
    }

    /// The value of a metric without labels.
    fn metric(&self, name: &str) -> f64 {
        let text = self.metrics();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name}\n{text}")).parse().unwrap()
    }

    /// Ends it by SIGTERM; returns its last event.
    fn end(mut self) -> Value {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let ended = self.until("ended");
        assert_eq!(self.child.wait().unwrap().code(), Some(143));
        ended
    }
}

/// Requests a path and returns the answer with its head.
fn get(address: SocketAddr, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    let answered = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    answered().unwrap_or_else(|error| error.to_string())
}

const HOG: &str = "agent-hog";

/// Keeps a CPU from everything else for 10 ms twice a second until it is dropped.
struct Hog {
    ends: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Hog {
    /// Starts it if its policy is permitted.
    fn start(cpus: CpuList) -> Result<Self, String> {
        let (ends, ended) = channel();
        let (starts, started) = channel();
        let body = move || {
            let policy = "fifo:80".parse::<Scheduling>().unwrap();
            let prepared = affinity::set(&cpus).and_then(|()| sched::set(policy));
            let is_prepared = prepared.is_ok();
            starts.send(prepared.map_err(|error| error.to_string())).unwrap();
            while is_prepared
                && ended.recv_timeout(Duration::from_millis(500)) == Err(RecvTimeoutError::Timeout)
            {
                let end = Instant::now() + Duration::from_millis(10);
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
            }
        };
        let thread = Builder::new().name(HOG.to_owned()).spawn(body).unwrap();
        started.recv().unwrap().map(|()| Self { ends, thread: Some(thread) })
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.ends.send(());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn needs_tracing_a_planted_thread_is_named_counted_and_saved() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let cpu: CpuList = affinity::get().unwrap().iter().take(1).collect();
    let mut agent = Running::start(
        &mut tactus.command(&[]),
        &[
            "--cpus",
            &cpu.to_string(),
            "--policy",
            "fifo:50",
            "--interval",
            "2ms",
            "--late",
            "3ms",
            "--budget",
            "100%",
            "--saves-per-hour",
            "3600",
        ],
    );
    agent.until("recording");
    let Some(hog) = require(Need::Root, Hog::start(cpu)) else { return };
    // Beside other tests, wakeups are late for other reasons too, and saves are rationed: a
    // recording belongs to the late wakeups that were reported last before it.
    let mut is_hog = false;
    let saved = agent.until_such(|event| {
        if event["event"] == "late" {
            is_hog = event["cause"].as_str().is_some_and(|name| name.contains(HOG));
        }
        event["event"] == "saved" && is_hog
    });
    drop(hog);
    assert!(saved["before"].as_u64().unwrap() > 0, "{saved}");
    let file = saved["file"].as_str().unwrap().to_owned();
    let explained = tactus.succeed(&["explain", &file, "--json"]);
    let explained: Value = serde_json::from_str(explained.lines().next().unwrap()).unwrap();
    let worst = &explained["saved_for"]["worst"][0];
    assert_eq!(worst["parts"][0]["cause"]["thread"]["name"], HOG, "{worst}");
    let text = tactus.succeed(&["explain", &file]);
    assert!(text.starts_with("The recording was saved for this late wakeup:"), "{text}");
    assert!(text.contains(HOG), "{text}");
    let listed = tactus.succeed(&["list", "recordings"]);
    assert!(listed.contains(&file) && listed.contains(" late\n"), "{listed}");
    let metrics = agent.metrics();
    let count = |name: &str| -> f64 {
        let lines = metrics.lines().filter(|line| line.starts_with(name));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    assert!(count("tactus_agent_late_wakeups_total{cause=\"thread agent-hog") >= 1.0, "{metrics}");
    assert!(count("tactus_agent_recordings_saved_total") >= 1.0);
    let ended = agent.end();
    let late = ended["late"].as_f64().unwrap();
    assert!(late >= count("tactus_agent_late_wakeups_total"), "{ended}");
    tactus.require_nothing_left();
}

#[test]
fn needs_tracing_a_kill_leaves_whole_recordings_and_the_next_agent_works() {
    let tactus = Tactus::new();
    if !permitted(&tactus) {
        return;
    }
    let options = ["--late", "1us", "--budget", "100%", "--saves-per-hour", "3600"];
    for delay in [0, 30, 80] {
        let mut agent = Running::start(&mut tactus.command(&[]), &options);
        agent.until("saved");
        sleep(Duration::from_millis(delay));
        drop(agent);
        tactus.require_nothing_left();
    }
    let folder = tactus.folder().join("recordings");
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let whole: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|e| e == "tactusrec")).collect();
    assert!(whole.len() >= 3);
    for path in whole {
        let recording = RecordingFile::open(&path).unwrap();
        assert!(recording.summary().is_some() && recording.cut_off().is_none(), "{path:?}");
    }
}

#[test]
fn a_budget_that_is_exceeded_slows_the_probe_and_says_so() {
    let tactus = Tactus::new();
    let options = ["--budget", "0.01%", "--interval", "1ms", "--policy", "other", "--no-record"];
    let mut agent = Running::start(&mut tactus.command(&[]), &options);
    let slowed = agent.until_such(|event| {
        event["event"] == "stage" && event["interval"].as_u64().unwrap() > 1_000_000
    });
    assert_eq!(slowed["is_less"], true, "{slowed}");
    assert!(agent.metric("tactus_agent_interval_seconds") > 0.001);
    assert!(agent.metric("tactus_agent_reductions_total") >= 1.0);
    assert!(agent.metrics().contains("tactus_agent_stage{stage=\"slow\"} 1\n"));
    agent.end();
}

#[test]
fn a_flood_of_clients_gets_few_answers_and_does_not_end_the_watching() {
    let tactus = Tactus::new();
    let options = ["--policy", "other", "--no-record", "--budget", "100%"];
    let agent = Running::start(&mut tactus.command(&[]), &options);
    let (address, began) = (agent.address, Instant::now());
    let clients: Vec<_> = (0..8)
        .map(|_| {
            std::thread::spawn(move || {
                let mut answered = 0;
                while began.elapsed() < Duration::from_secs(3) {
                    answered += u32::from(get(address, "/metrics").starts_with("HTTP/1.1 200 "));
                }
                answered
            })
        })
        .collect();
    let answered: u32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
    // A burst of ten, then five a second.
    let most = 11.0 + 5.0 * began.elapsed().as_secs_f64();
    assert!(answered >= 1 && f64::from(answered) <= most, "{answered}");
    let before = agent.metric("tactus_agent_wakeups_total");
    wait_until("no wakeup", || agent.metric("tactus_agent_wakeups_total") > before);
    agent.end();
}

/// A Prometheus that scrapes an agent, killed when it is dropped.
struct Prometheus {
    child: Child,
    address: SocketAddr,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(folder: &Path, agent: SocketAddr) -> Result<Self, String> {
        let version = Command::new("prometheus").arg("--version").output();
        version.map_err(|error| format!("prometheus: {error}"))?;
        let config = folder.join("prometheus.yml");
        let text = format!(
            "global:\n  scrape_interval: 500ms\nscrape_configs:\n- job_name: tactus\n  \
             static_configs:\n  - targets: ['{agent}']\n"
        );
        fs::write(&config, text).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--enable-feature=native-histograms")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Ok(Self { child, address })
    }

    /// The value of the first result of a query, once there is one above zero.
    fn value(&mut self, query: &str) -> f64 {
        let query: String = form(query);
        eventually(|| {
            let answer = get(self.address, &format!("/api/v1/query?query={query}"));
            let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            let parsed: Value = serde_json::from_str(body).unwrap_or_default();
            let value = parsed["data"]["result"][0]["value"][1].as_str();
            let value = value.and_then(|text| text.parse().ok()).filter(|value| *value > 0.0);
            assert!(self.child.try_wait().unwrap().is_none(), "Prometheus has ended");
            value.ok_or_else(|| format!("{query}: {answer}"))
        })
    }
}

/// A query in a URL.
fn form(query: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    query.bytes().map(escaped).collect()
}

#[test]
fn a_real_prometheus_scrapes_native_histograms() {
    let tactus = Tactus::new();
    let options = ["--policy", "other", "--no-record", "--budget", "100%", "--interval", "5ms"];
    let agent = Running::start(&mut tactus.command(&[]), &options);
    let started = Prometheus::start(tactus.folder(), agent.address);
    let Some(mut prometheus) = require(Need::Prometheus, started) else { return };
    let name = "tactus_agent_wakeup_latency_seconds";
    let count = prometheus.value(&format!("histogram_count({name})"));
    assert!(count <= agent.metric("tactus_agent_wakeups_total"));
    let median = prometheus.value(&format!("histogram_quantile(0.5, {name})"));
    let max = agent.metric("tactus_agent_wakeup_latency_max_seconds");
    assert!(median <= max * 1.1, "{median} {max}");
    assert_eq!(prometheus.value("up"), 1.0);
    assert!(prometheus.value("tactus_agent_wakeups_total") > 0.0);
    let is_native = prometheus.value(&format!("count({name})"));
    assert_eq!(is_native, 1.0);
    agent.end();
}

#[test]
fn wrong_options_and_a_taken_port_are_explained() {
    let tactus = Tactus::new();
    for (options, part) in [
        (["--budget", "0%"], "0.01 to 100"),
        (["--keep", "1GB"], "e.g. 1GiB"),
        (["--interval", "10us"], "1ms to 1s are possible"),
        (["--saves-per-hour", "0"], "from 1 to 3600"),
        (["--late", "0s"], "is zero"),
    ] {
        let error = tactus.fail(2, &[&["agent"], &options[..]].concat());
        assert!(error.contains(part), "{error}");
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = tactus.fail(3, &["agent", "--listen", &address]);
    assert!(error.contains("hint: choose another address or port"), "{error}");
}
