//! The emulator's monitor, which saves the state of a booted machine and restores it.
//!
//! Its protocol is QMP, lines of JSON over a socket in the machine's working directory; see
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

/// The polling interval for events that come soon.
const STEP: Duration = Duration::from_millis(5);

/// How long a machine in trouble may take to respond.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to the monitor of one machine. It fails when the machine ends.
#[derive(Debug)]
pub struct Monitor {
    commands: MessageWriter<UnixStream>,
    lines: MessageReader<BufReader<UnixStream>>,
    /// Events that arrived during the wait for something else.
    events: VecDeque<Event>,
}

/// A line that the monitor writes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Line {
    Event(Event),
    Refused { error: Refusal },
    Response { r#return: Value },
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
    /// Connects to the machine in `directory` as soon as it listens.
    ///
    /// # Errors
    /// The machine has ended by `is_alive`, or the connection fails.
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
        // Without events, the end of a migration would have to be polled.
        let events = json!({"capabilities": [{"capability": "events", "state": true}]});
        monitor.execute("migrate-set-capabilities", &events)?;
        Ok(monitor)
    }

    /// Uses `stream`, which is connected.
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
    /// The machine ended first.
    pub fn wait_for_pause(&mut self) -> io::Result<()> {
        self.wait_for(|event| (event.event == "WATCHDOG").then_some(()))
    }

    /// Saves the state of the stopped machine to `file`, and ends the machine.
    ///
    /// # Errors
    /// The state cannot be saved.
    pub fn save(&mut self, file: &File) -> io::Result<()> {
        // The machine is stopped, so limiting the bandwidth has no benefit.
        self.execute("migrate-set-parameters", &json!({"max-bandwidth": 1_u64 << 40}))?;
        self.execute("migrate", &json!({"uri": format!("exec:cat > {}", open_file(file))}))?;
        self.wait_for_migration()?;
        // The last bytes may still be in the pipe to the process that writes the file. The
        // emulator waits for that process when it leaves the migration. If it were ended
        // before, the file could be incomplete for a while.
        while self.execute("query-status", &json!({}))?["status"] != "postmigrate" {
            thread::sleep(STEP);
        }
        // It ends whether or not its response arrives first.
        let _ = self.execute("quit", &json!({}));
        Ok(())
    }

    /// Samples the state of the CPU several times with QEMU's `info registers`.
    ///
    /// # Errors
    /// The machine has ended, or does not respond within some seconds.
    pub fn registers(directory: &Path) -> io::Result<Vec<String>> {
        const LOOKS: usize = 3;
        const BETWEEN: Duration = Duration::from_millis(100);
        let stream = UnixStream::connect(directory.join(MONITOR_FILE))?;
        // During the boot of a machine, its monitor serves another connection and does not respond.
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut monitor = Self::on(stream)?;
        let look = json!({"command-line": "info registers"});
        (0..LOOKS)
            .map(|_| {
                thread::sleep(BETWEEN);
                let registers = monitor.execute("human-monitor-command", &look)?;
                Ok(registers.as_str().unwrap_or_default().to_owned())
            })
            .collect()
    }

    /// Restores the state that [`Monitor::save`] wrote to `file`, and continues the machine.
    ///
    /// # Errors
    /// The file is not a state of such a machine.
    pub fn restore(&mut self, file: &File) -> io::Result<()> {
        let uri = json!({"uri": format!("exec:cat {}", open_file(file))});
        self.execute("migrate-incoming", &uri)?;
        self.wait_for_migration()?;
        // The machine is ready shortly after the last byte was read.
        while self.execute("query-status", &json!({}))?["status"] == "inmigrate" {
            thread::sleep(STEP);
        }
        // From here on nothing must stop it; a kernel may use the watchdog itself.
        self.execute("set-action", &json!({"watchdog": "none"}))?;
        self.execute("cont", &json!({})).map(drop)
    }

    fn wait_for_migration(&mut self) -> io::Result<()> {
        self.wait_for(|event| match event.data["status"].as_str() {
            Some("completed") if event.event == "MIGRATION" => Some(Ok(())),
            Some("failed") if event.event == "MIGRATION" => {
                Some(Err(io::Error::other("the emulator cannot save or restore a state")))
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
                    Line::Refused { .. } | Line::Response { .. } | Line::Greeting {} => continue,
                },
            };
            if let Some(found) = wanted(&event) {
                return Ok(found);
            }
        }
    }

    fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        // The writer writes in one piece: the emulator acts at the closing brace, and an emulator
        // that quits there does not read the end of the line.
        self.commands.write(&json!({"execute": command, "arguments": arguments}))?;
        loop {
            match self.line()? {
                Line::Event(event) => self.events.push_back(event),
                Line::Refused { error } => {
                    let reason = format!("the emulator rejects {command}: {}", error.desc);
                    return Err(io::Error::other(reason));
                }
                Line::Response { r#return } => return Ok(r#return),
                Line::Greeting {} => {}
            }
        }
    }

    fn line(&mut self) -> io::Result<Line> {
        self.lines.read().map_err(|error| match error {
            WireError::Closed => {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the emulator ended unexpectedly")
            }
            error => error.into(),
        })
    }
}

/// A path at which another process can open a file of ours that has no name.
fn open_file(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// Simulates a monitor that responds to each command with the given lines; returns the
    /// commands.
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
            let mut commands = Vec::new();
            let responses = ["{\"return\": {}}"; 2].iter().chain(script);
            // Responses first: after the last response, no command is awaited.
            for (response, line) in responses.zip(BufReader::new(stream).lines()) {
                let command: Value = serde_json::from_str(&line.unwrap()).unwrap();
                commands.push(command["execute"].as_str().unwrap().to_owned());
                writeln!(out, "{response}").unwrap();
            }
            commands
        });
        let mut monitor = Monitor::connect(directory.path(), || true).unwrap();
        let done = act(&mut monitor);
        drop(monitor);
        (done, emulator.join().unwrap())
    }

    #[test]
    fn a_machine_continues_only_after_its_state_is_read() {
        let script = &[
            "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"setup\"}}\n{\"return\": {}}\n\
             {\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}",
            "{\"return\": {\"status\": \"inmigrate\"}}",
            "{\"return\": {\"status\": \"watchdog\"}}",
            "{\"return\": {}}",
            "{\"event\": \"RESUME\"}\n{\"return\": {}}",
        ];
        let file = tempfile::tempfile().unwrap();
        let (done, commands) = check(script, |monitor| monitor.restore(&file));
        done.unwrap();
        let expected = ["migrate-incoming", "query-status", "query-status", "set-action", "cont"];
        assert_eq!(commands[2..], expected);
    }

    /// The responses while a machine is saved; the last is the response to `quit`.
    const SAVED: &[&str] = &[
        "{\"return\": {}}",
        "{\"return\": {}}\n{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}",
        "{\"return\": {\"status\": \"finish-migrate\"}}",
        "{\"return\": {\"status\": \"postmigrate\"}}",
        "{\"return\": {}}",
    ];

    #[test]
    fn a_machine_ends_only_after_its_state_is_written() {
        let file = tempfile::tempfile().unwrap();
        let (done, commands) = check(SAVED, |monitor| monitor.save(&file));
        done.unwrap();
        let expected =
            ["migrate-set-parameters", "migrate", "query-status", "query-status", "quit"];
        assert_eq!(commands[2..], expected);
    }

    #[test]
    fn a_machine_that_ends_without_a_response_to_quit_is_saved() {
        let file = tempfile::tempfile().unwrap();
        let (done, commands) = check(&SAVED[..4], |monitor| monitor.save(&file));
        done.unwrap();
        assert_eq!(commands[3..], ["migrate", "query-status", "query-status"]);
    }

    #[test]
    fn an_error_of_the_emulator_is_reported() {
        let script = &["{\"error\": {\"class\": \"GenericError\", \"desc\": \"no room\"}}"];
        let file = tempfile::tempfile().unwrap();
        let (done, _) = check(script, |monitor| monitor.save(&file));
        let error = done.unwrap_err().to_string();
        assert!(error.contains("migrate-set-parameters") && error.contains("no room"), "{error}");
    }

    #[test]
    fn an_ended_machine_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(Monitor::connect(directory.path(), || false).is_err());
        let (done, _) = check(&[], Monitor::wait_for_pause);
        assert!(done.is_err());
    }
}
