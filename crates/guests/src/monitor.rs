//! The emulator's monitor: a machine that has booted is kept by it, and taken up again.
//!
//! It speaks QMP, lines of JSON over a socket in the machine's working directory; see
//! [QEMU's reference](https://www.qemu.org/docs/master/interop/qemu-qmp-ref.html).

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tactus_wire::{MESSAGE_LIMIT, MessageReader, MessageWriter, WireError};

/// The socket, in the working directory of its machine.
pub const MONITOR_FILE: &str = "monitor";

/// How long is waited between two looks at something that comes soon.
const STEP: Duration = Duration::from_millis(5);

/// How long a machine that is in trouble may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to the monitor of one machine. It fails when the machine ends.
#[derive(Debug)]
pub struct Monitor {
    commands: MessageWriter<UnixStream>,
    lines: MessageReader<BufReader<UnixStream>>,
    /// Events that were told while something else was waited for.
    events: VecDeque<Event>,
}

/// A line that the monitor writes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Event(Event),
    Refused { error: Refusal },
    Answer { r#return: Value },
    Greeting {},
}

#[derive(Debug, Deserialize)]
struct Event {
    event: String,
    #[serde(default)]
    data: Value,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    desc: String,
}

impl Monitor {
    /// Connects to the machine that runs in `directory`, as soon as it listens.
    ///
    /// # Errors
    /// `is_alive` says that the machine has ended, or the connection fails.
    pub fn connect(directory: &Path, is_alive: impl Fn() -> bool) -> io::Result<Self> {
        let socket = directory.join(MONITOR_FILE);
        let stream = loop {
            match UnixStream::connect(&socket) {
                Ok(stream) => break stream,
                Err(error) if !is_alive() => return Err(error),
                Err(_) => thread::sleep(STEP),
            }
        };
        let mut monitor = Self::on(stream)?;
        // Else the end of a migration would have to be asked for again and again.
        let events = json!({"capabilities": [{"capability": "events", "state": true}]});
        monitor.execute("migrate-set-capabilities", &events)?;
        Ok(monitor)
    }

    /// Speaks by `stream`, which is connected.
    fn on(stream: UnixStream) -> io::Result<Self> {
        let lines = MessageReader::new(BufReader::new(stream.try_clone()?), MESSAGE_LIMIT);
        let commands = MessageWriter::new(stream, MESSAGE_LIMIT);
        let mut monitor = Self { commands, lines, events: VecDeque::new() };
        monitor.execute("qmp_capabilities", &json!({}))?;
        Ok(monitor)
    }

    /// Waits until the guest stops itself by [`PAUSE_PORT`](tactus_model::guest::PAUSE_PORT).
    ///
    /// # Errors
    /// The machine ended before.
    pub fn wait_for_pause(&mut self) -> io::Result<()> {
        self.wait_for(|event| (event.event == "WATCHDOG").then_some(()))
    }

    /// Writes the whole state of the stopped machine to `file`, and ends the machine.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn keep(&mut self, file: &File) -> io::Result<()> {
        // Nobody is kept waiting meanwhile, so there is no bandwidth to spare.
        self.execute("migrate-set-parameters", &json!({"max-bandwidth": 1_u64 << 40}))?;
        self.execute("migrate", &json!({"uri": format!("exec:cat > {}", open_file(file))}))?;
        self.wait_for_migration()?;
        // The last bytes may be in a pipe still, and the emulator waits for whoever writes
        // them to the file when it has left the migration behind; told to end before, it
        // ends, and the file may be short for a while.
        while self.execute("query-status", &json!({}))?["status"] != "postmigrate" {
            thread::sleep(STEP);
        }
        // It ends whether or not its answer comes out before.
        let _ = self.execute("quit", &json!({}));
        Ok(())
    }

    /// What the CPU is doing, looked at several times, as QEMU's `info registers`
    /// has it.
    ///
    /// # Errors
    /// The machine has ended, or does not answer within some seconds.
    pub fn registers(directory: &Path) -> io::Result<Vec<String>> {
        const LOOKS: usize = 3;
        const BETWEEN: Duration = Duration::from_millis(100);
        let stream = UnixStream::connect(directory.join(MONITOR_FILE))?;
        // While a machine boots its monitor is in use, and answers nobody else.
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut monitor = Self::on(stream)?;
        let look = json!({"command-line": "info registers"});
        (0..LOOKS)
            .map(|_| {
                thread::sleep(BETWEEN);
                let told = monitor.execute("human-monitor-command", &look)?;
                Ok(told.as_str().unwrap_or_default().to_owned())
            })
            .collect()
    }

    /// Reads the state that [`Monitor::keep`] wrote to `file`, and lets the machine run on.
    ///
    /// # Errors
    /// It is no state of such a machine.
    pub fn take_up(&mut self, file: &File) -> io::Result<()> {
        let uri = json!({"uri": format!("exec:cat {}", open_file(file))});
        self.execute("migrate-incoming", &uri)?;
        self.wait_for_migration()?;
        // The machine is ready a moment after the last byte was read.
        while self.execute("query-status", &json!({}))?["status"] == "inmigrate" {
            thread::sleep(STEP);
        }
        // From here on nothing stops it; a kernel may have a use of its own for the watchdog.
        self.execute("set-action", &json!({"watchdog": "none"}))?;
        self.execute("cont", &json!({})).map(drop)
    }

    fn wait_for_migration(&mut self) -> io::Result<()> {
        self.wait_for(|event| match event.data["status"].as_str() {
            Some("completed") if event.event == "MIGRATION" => Some(Ok(())),
            Some("failed") if event.event == "MIGRATION" => {
                Some(Err(io::Error::other("the emulator cannot keep or take up a state")))
            }
            _ => None,
        })?
    }

    fn wait_for<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> io::Result<T> {
        loop {
            let event = match self.events.pop_front() {
                Some(event) => event,
                None => match self.line()? {
                    Line::Event(event) => event,
                    Line::Refused { .. } | Line::Answer { .. } | Line::Greeting {} => continue,
                },
            };
            if let Some(found) = wanted(&event) {
                return Ok(found);
            }
        }
    }

    fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        // It is written in one piece: the emulator obeys at the closing brace, and one that
        // quits there takes no end of the line.
        self.commands.write(&json!({"execute": command, "arguments": arguments}))?;
        loop {
            match self.line()? {
                Line::Event(event) => self.events.push_back(event),
                Line::Refused { error } => {
                    let told = format!("the emulator refuses {command}: {}", error.desc);
                    return Err(io::Error::other(told));
                }
                Line::Answer { r#return } => return Ok(r#return),
                Line::Greeting {} => {}
            }
        }
    }

    fn line(&mut self) -> io::Result<Line> {
        self.lines.read().map_err(|error| match error {
            WireError::Closed => {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the emulator ended untold")
            }
            error => error.into(),
        })
    }
}

/// A name for a file of ours that another process can open, though it lies in no directory.
fn open_file(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// A monitor that answers each command by the lines given, and what it was asked.
    fn check(
        script: &'static [&'static str],
        act: impl FnOnce(&mut Monitor) -> io::Result<()>,
    ) -> (io::Result<()>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(MONITOR_FILE)).unwrap();
        let emulator = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut out = stream.try_clone().unwrap();
            writeln!(out, r#"{{"QMP": {{"version": {{}}, "capabilities": []}}}}"#).unwrap();
            let mut asked = Vec::new();
            let answers = ["{\"return\": {}}"; 2].iter().chain(script);
            // Answers first: after the last one nothing more is awaited.
            for (answer, line) in answers.zip(BufReader::new(stream).lines()) {
                let command: Value = serde_json::from_str(&line.unwrap()).unwrap();
                asked.push(command["execute"].as_str().unwrap().to_owned());
                writeln!(out, "{answer}").unwrap();
            }
            asked
        });
        let mut monitor = Monitor::connect(directory.path(), || true).unwrap();
        let done = act(&mut monitor);
        drop(monitor);
        (done, emulator.join().unwrap())
    }

    #[test]
    fn a_machine_is_taken_up_when_its_state_is_read_and_not_before() {
        let script = &[
            "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"setup\"}}\n{\"return\": {}}\n\
             {\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}",
            "{\"return\": {\"status\": \"inmigrate\"}}",
            "{\"return\": {\"status\": \"watchdog\"}}",
            "{\"return\": {}}",
            "{\"event\": \"RESUME\"}\n{\"return\": {}}",
        ];
        let file = tempfile::tempfile().unwrap();
        let (done, asked) = check(script, |monitor| monitor.take_up(&file));
        done.unwrap();
        let expected = ["migrate-incoming", "query-status", "query-status", "set-action", "cont"];
        assert_eq!(asked[2..], expected);
    }

    /// What a machine answers that is kept; the last answer is that to `quit`.
    const KEPT: &[&str] = &[
        "{\"return\": {}}",
        "{\"return\": {}}\n{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}",
        "{\"return\": {\"status\": \"finish-migrate\"}}",
        "{\"return\": {\"status\": \"postmigrate\"}}",
        "{\"return\": {}}",
    ];

    #[test]
    fn a_machine_ends_when_all_of_its_state_is_written_and_not_before() {
        let file = tempfile::tempfile().unwrap();
        let (done, asked) = check(KEPT, |monitor| monitor.keep(&file));
        done.unwrap();
        let expected =
            ["migrate-set-parameters", "migrate", "query-status", "query-status", "quit"];
        assert_eq!(asked[2..], expected);
    }

    #[test]
    fn a_machine_that_ends_in_place_of_an_answer_to_quit_is_kept() {
        let file = tempfile::tempfile().unwrap();
        let (done, asked) = check(&KEPT[..4], |monitor| monitor.keep(&file));
        done.unwrap();
        assert_eq!(asked[3..], ["migrate", "query-status", "query-status"]);
    }

    #[test]
    fn what_the_emulator_refuses_is_told() {
        let script = &["{\"error\": {\"class\": \"GenericError\", \"desc\": \"no room\"}}"];
        let file = tempfile::tempfile().unwrap();
        let (done, _) = check(script, |monitor| monitor.keep(&file));
        let told = done.unwrap_err().to_string();
        assert!(told.contains("migrate-set-parameters") && told.contains("no room"), "{told}");
    }

    #[test]
    fn a_machine_that_ended_answers_nothing() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Monitor::connect(directory.path(), || false).is_err());
        let (done, _) = check(&[], Monitor::wait_for_pause);
        assert!(done.is_err());
    }
}
