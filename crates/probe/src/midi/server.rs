//! The way through the delivery server, a process of its own.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant as StdInstant};

use tactus_model::cpus::CpuList;
use tactus_model::midi::MidiProbe;
use tactus_model::policy::Scheduling;
use tactus_model::time::{Clock, Instant, Monotonic, Nanos};
use tactus_stream::message::ITEMS_MOST;
use tactus_stream::{
    BranchId, Client, ConnectError, Draft, IfLate, Moment, Receipt, StreamId, SubmitError, Wanted,
};
use tactus_sys::owned_directory::{self, OwnedDirectory};
use tactus_sys::process::end_with_parent;
use tactus_sys::pty::open_terminal;
use tactus_sys::sleep::Sleeper;
use tactus_sys::{affinity, clock};

use super::client::HandedOver;
use super::{Messages, MidiError, message};

/// The prefix of the names of temporary directories, which have the server's socket.
const DIRECTORY: &str = "tactus-midi-";
/// The device, and its file in the directory: the line has no rate, as that of the library.
const DEVICE: &str = "line";
/// How long the server may take to listen, on a busy machine.
const START_MAX: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(2);

/// A running server with one client. It ends with this value.
pub(super) struct Server {
    client: Client,
    stream: StreamId,
    ahead: Nanos,
    window: Option<(Messages, bool)>,
    found: HandedOver,
    _process: Running,
}

/// The process.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It has nothing that its directory does not have.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts a server on these CPUs, whose threads have this policy, and connects to it. Returns the
    /// other end of its line too.
    pub(super) fn start(
        midi: &MidiProbe,
        scheduling: Scheduling,
        cpus: &CpuList,
    ) -> Result<(Self, File), MidiError> {
        let failed = |error: io::Error| MidiError::Server(error.to_string());
        let place = std::env::temp_dir();
        owned_directory::remove_stale(&place, DIRECTORY);
        let directory = OwnedDirectory::create(&place, DIRECTORY).map_err(failed)?;
        let (socket, line) = (directory.path().join("socket"), directory.path().join(DEVICE));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        let device = format!("{DEVICE}=midi-pty:unpaced,link={}", line.display());
        command
            .args(["streamd", "--quiet", "--device", &device])
            .args(["--policy", &scheduling.to_string(), "--horizon", "70s", "--socket"])
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        end_with_parent(&mut command);
        let mut process = Running(spawn_on(cpus, &mut command)?);
        // With less room, the client hands over less far ahead.
        let items = u32::try_from(midi.waiting_max()).unwrap_or(ITEMS_MOST).min(ITEMS_MOST);
        let wanted = Wanted { items, payload_bytes: 3, ..Wanted::named("tactus-measure") };
        let mut client = connect(&socket, &wanted, &mut process.0)?;
        let stream = client.open(DEVICE).map_err(|error| MidiError::Server(error.to_string()))?;
        let line = open_terminal(&line)?;
        // What is open needs no name any more, so nothing is left if this process is killed.
        drop(directory);
        let found = HandedOver::default();
        let ahead = midi.ahead;
        let server = Self { client, stream, ahead, window: None, found, _process: process };
        Ok((server, line))
    }

    /// Notes what to deliver.
    pub(super) fn begin(&mut self, messages: Messages, keeps_receipts: bool) {
        self.window = Some((messages, keeps_receipts));
    }

    /// Delivers a byte that is no message, now.
    pub(super) fn write(&mut self, byte: u8) -> Result<(), MidiError> {
        let now = clock::now::<Monotonic>();
        self.submit(now, &[byte], now + super::OVERTIME, false)?;
        self.read_all(now + super::OVERTIME, false)
    }

    /// Hands over all messages at their time, less the time ahead, and reads their receipts.
    pub(super) fn deliver<C: Clock>(
        &mut self,
        sleeper: &mut impl Sleeper<C>,
    ) -> Result<(), MidiError> {
        let Some((messages, keeps_receipts)) = self.window.clone() else { return Ok(()) };
        for (number, due) in (0..).zip(messages.schedule) {
            let due = messages.start + due;
            let from = (due - self.ahead).as_nanos();
            let now = clock::now::<Monotonic>().as_nanos();
            let now = match now < from {
                true => sleeper.sleep_until(Instant::from_nanos(from))?.as_nanos(),
                false => now,
            };
            if now > messages.until.as_nanos() {
                break;
            }
            self.found.late += u64::from(now > due.as_nanos());
            self.submit(due, message(number).bytes(), messages.until, keeps_receipts)?;
        }
        self.read_all(messages.until, keeps_receipts)
    }

    /// What the client knows.
    pub(super) fn end(self) -> HandedOver {
        self.found
    }

    /// Submits a message as soon as there is room for it.
    fn submit(
        &mut self,
        due: Moment,
        payload: &[u8],
        until: Moment,
        keeps: bool,
    ) -> Result<(), MidiError> {
        let (stream, branch, if_late) = (self.stream, BranchId(0), IfLate::Deliver);
        while self.read(Duration::ZERO, keeps)? {}
        loop {
            match self.client.submit(&Draft { stream, branch, due, if_late, payload }) {
                Ok(_) => return Ok(()),
                Err(SubmitError::Full { .. }) if clock::now::<Monotonic>() < until => {
                    self.read(STEP, keeps)?;
                }
                Err(error) => return Err(MidiError::Server(error.to_string())),
            }
        }
    }

    /// Reads the receipts of everything that was submitted.
    fn read_all(&mut self, until: Moment, keeps: bool) -> Result<(), MidiError> {
        while self.client.outstanding() > 0 && clock::now::<Monotonic>() < until {
            self.read(STEP, keeps)?;
        }
        Ok(())
    }

    fn read(&mut self, within: Duration, keeps: bool) -> Result<bool, MidiError> {
        let receipt: Option<Receipt> = self
            .client
            .receipt(Some(within))
            .map_err(|error| MidiError::Server(error.to_string()))?;
        let is_read = receipt.is_some();
        self.found.receipts.extend(receipt.filter(|_| keeps));
        Ok(is_read)
    }
}

/// Starts a process that may use these CPUs only.
fn spawn_on(cpus: &CpuList, command: &mut Command) -> Result<Child, MidiError> {
    let usual = affinity::get()?;
    affinity::set(cpus)?;
    let spawned = command.spawn();
    affinity::set(&usual)?;
    spawned.map_err(|error| MidiError::Server(error.to_string()))
}

/// Connects as soon as the server listens.
fn connect(socket: &Path, wanted: &Wanted, process: &mut Child) -> Result<Client, MidiError> {
    let begun = StdInstant::now();
    loop {
        match Client::connect(socket, wanted) {
            Ok(client) => return Ok(client),
            Err(error) => {
                let ended = process.try_wait().ok().flatten();
                if let Some(status) = ended {
                    return Err(MidiError::Server(format!("it ended: {status}")));
                }
                let is_early = matches!(error, ConnectError::Socket { .. });
                if begun.elapsed() > START_MAX || !is_early {
                    return Err(MidiError::Server(error.to_string()));
                }
                std::thread::sleep(STEP);
            }
        }
    }
}
