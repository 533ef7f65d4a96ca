//! For tests and a chore: a message bus of its own, a sound server on it, and clients that run
//! away. Everything that is started ends with its value.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tactus_model::policy::Scheduling;
use tactus_model::recording::ThreadId;
use tactus_prepare::ThreadRef;
use tempfile::TempDir;
use zbus::block_on;

/// The user whom sound server and clients run as: root needs no manager.
const NOBODY: u32 = 65534;

/// The longest wait for a program to be ready.
const PATIENCE: Duration = Duration::from_secs(20);

pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A process that is killed with this value.
#[derive(Debug)]
pub struct Started(pub Child);

impl Started {
    pub fn start(command: &mut Command) -> Outcome<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        Ok(Self(command.spawn().map_err(|error| format!("{program}: {error}"))?))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until `ready` has a value.
pub fn wait_for<T>(what: &str, mut ready: impl FnMut() -> Option<T>) -> Outcome<T> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(value) = ready() {
            return Ok(value);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what}: not ready after {PATIENCE:?}").into())
}

/// A bus on which everybody may do everything.
#[derive(Debug)]
pub struct PrivateBus {
    directory: TempDir,
    _daemon: Started,
}

impl PrivateBus {
    pub fn start() -> Outcome<Self> {
        let directory = TempDir::new()?;
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755))?;
        let socket = directory.path().join("bus");
        let configuration = directory.path().join("bus.conf");
        let policy = r#"<policy context="default"><allow user="*"/><allow own="*"/>
            <allow send_destination="*"/><allow receive_sender="*"/></policy>"#;
        let text = format!(
            "<busconfig><listen>unix:path={}</listen><auth>EXTERNAL</auth>{policy}</busconfig>",
            socket.display()
        );
        fs::write(&configuration, text)?;
        let mut daemon = Command::new("dbus-daemon");
        daemon.arg("--nofork").arg("--config-file").arg(configuration).stderr(Stdio::null());
        let daemon = Started::start(&mut daemon)?;
        wait_for("dbus-daemon", || UnixStream::connect(&socket).ok())?;
        Ok(Self { directory, _daemon: daemon })
    }

    pub fn address(&self) -> String {
        format!("unix:path={}", self.directory.path().join("bus").display())
    }

    pub fn connect(&self) -> Outcome<zbus::Connection> {
        let address = self.address();
        Ok(block_on(zbus::connection::Builder::address(address.as_str()).build())?)
    }

    /// A program of another user with this bus as the system's, on one CPU.
    fn client(&self, cpu: u32, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("taskset");
        command.arg("--cpu-list").arg(cpu.to_string()).arg(program);
        command.uid(NOBODY).gid(NOBODY);
        command.env("DBUS_SYSTEM_BUS_ADDRESS", self.address());
        command.env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A program of another user with the limit that the interface demands, on one CPU. Its copy
    /// is where that user can read it.
    pub fn limited(&self, cpu: u32, program: &Path, arguments: &[&str]) -> Outcome<Command> {
        let copy = self.directory.path().join("client");
        if !copy.exists() {
            fs::copy(program, &copy)?;
            fs::set_permissions(&copy, Permissions::from_mode(0o755))?;
        }
        let mut command = self.client(cpu, "prlimit");
        command.arg("--rttime=200000:200000").arg(copy).args(arguments).stdout(Stdio::piped());
        Ok(command)
    }
}

/// Asks for a real-time priority of a thread of a process; 0 is its first one.
pub fn ask_for_priority(
    connection: &zbus::Connection,
    process: u32,
    thread: i32,
    priority: u32,
) -> Result<(), zbus::Error> {
    const NAME: &str = "org.freedesktop.RealtimeKit1";
    let body = (u64::from(process), u64::from(thread.unsigned_abs()), priority);
    let path = "/org/freedesktop/RealtimeKit1";
    let method = "MakeThreadRealtimeWithPID";
    block_on(connection.call_method(Some(NAME), path, Some(NAME), method, &body)).map(drop)
}

/// A client that gets priority 20 and then spins for a time, with a sleep just before the kernel's
/// own limit. Returns its share of a CPU.
pub fn run_away(address: &str, time: Duration) -> Outcome<f64> {
    let connection = block_on(zbus::connection::Builder::address(address).build())?;
    let thread = tactus_sys::thread::current_id().0;
    ask_for_priority(&connection, std::process::id(), thread, 20)?;
    Ok(spin(time))
}

/// Spins for a time, with short sleeps. Returns its share of a CPU.
pub fn spin(time: Duration) -> f64 {
    let used = || tactus_sys::usage::of_this_thread().map_or(0, |usage| usage.cpu_time.as_nanos());
    let (began, before) = (Instant::now(), used());
    while began.elapsed() < time {
        let burst = Instant::now();
        while burst.elapsed() < Duration::from_millis(150) {}
        std::thread::sleep(Duration::from_micros(500));
    }
    (used() - before) as f64 / began.elapsed().as_nanos() as f64
}

/// The policies of all threads of a process.
pub fn policies(process: u32) -> Vec<Scheduling> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let threads = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok().map(ThreadId));
    threads.filter_map(|thread| ThreadRef::Id(thread).scheduling().ok()).collect()
}

pub fn is_realtime(process: u32) -> bool {
    policies(process).iter().any(|policy| matches!(policy, Scheduling::RoundRobin(_)))
}

/// A sound server, a player, and a monitor of both, on one CPU.
#[derive(Debug)]
pub struct Sound {
    pub server: Started,
    pub player: Started,
    _monitor: Started,
    screen: PathBuf,
}

impl Sound {
    /// Plays a tone into a sink without a device, `quantum` samples of 1/48000 s a cycle.
    pub fn start(bus: &PrivateBus, cpu: u32, quantum: u32) -> Outcome<Self> {
        let directory = bus.directory.path().join("sound");
        fs::create_dir(&directory)?;
        fs::write(directory.join("pipewire.conf"), tactus_sound::server::configuration(quantum))?;
        for file in ["client.conf", "client-rt.conf"] {
            fs::copy(Path::new("/usr/share/pipewire").join(file), directory.join(file))?;
        }
        let tone = directory.join("tone.wav");
        write_tone(&tone)?;
        chown(&directory, Some(NOBODY), Some(NOBODY))?;
        fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        let client = |program: &str| {
            let mut command = bus.client(cpu, program);
            command.current_dir("/");
            for variable in ["XDG_RUNTIME_DIR", "HOME", "PIPEWIRE_CONFIG_DIR"] {
                command.env(variable, &directory);
            }
            command
        };
        let server = Started::start(&mut client("pipewire"))?;
        wait_for("pipewire", || directory.join("pipewire-0").exists().then_some(()))?;
        let mut player = client("pw-cat");
        player.args(["--playback", "--target", "0", "--latency", &quantum.to_string()]);
        player.args(["--properties", "{ adapter.auto-port-config = { mode = dsp } }"]).arg(tone);
        let player = Started::start(&mut player)?;
        for channel in ["FL", "FR"] {
            let [from, to] =
                [format!("pw-cat:output_{channel}"), format!("quiet:playback_{channel}")];
            wait_for("pw-link", || {
                let linked = client("pw-link").args([&from, &to]).status();
                linked.is_ok_and(|status| status.success()).then_some(())
            })?;
        }
        // pw-top needs a terminal, which script provides.
        let screen = directory.join("screen");
        let mut monitor = client("script");
        monitor
            .args(["--quiet", "--flush", "--command", "pw-top"])
            .arg(&screen)
            .env("TERM", "xterm");
        let monitor = Started::start(&mut monitor)?;
        let sound = Self { server, player, _monitor: monitor, screen };
        wait_for("pw-top", || sound.errors().ok().filter(|errors| errors.len() == 2))?;
        Ok(sound)
    }

    /// The xruns so far by node, as pw-top shows them once a second.
    pub fn errors(&self) -> Outcome<BTreeMap<String, u64>> {
        let text = fs::read(&self.screen)?;
        Ok(errors_on_screen(&String::from_utf8_lossy(&text)))
    }
}

/// The column `ERR` of the last whole screen of pw-top.
pub fn errors_on_screen(text: &str) -> BTreeMap<String, u64> {
    let mut screens = text.rsplit("\x1b[H\x1b[2J").skip(1);
    screens
        .find_map(|screen| Some(nodes(screen)).filter(|nodes| !nodes.is_empty()))
        .unwrap_or_default()
}

fn nodes(screen: &str) -> BTreeMap<String, u64> {
    // Only cursor movements separate some columns.
    let mut plain = String::new();
    let mut pieces = screen.split('\x1b');
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let end = piece.find(|c: char| c.is_ascii_alphabetic()).map_or(piece.len(), |end| end + 1);
        plain.push(' ');
        plain.push_str(&piece[end..]);
    }
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut nodes = BTreeMap::new();
    for (index, rate) in words.iter().enumerate() {
        // QUANT RATE WAIT BUSY W/Q B/Q ERR FORMAT (three words) [+] NAME
        // The format has a rate, too.
        let has_shares = words.get(index + 3).is_some_and(|share| share.contains('.'));
        if *rate != "48000" || !has_shares {
            continue;
        }
        let errors = words.get(index + 5).and_then(|errors| errors.parse().ok());
        let name = words.get(index + 9).filter(|name| **name != "+").or(words.get(index + 10));
        if let (Some(errors), Some(name)) = (errors, name) {
            nodes.insert((*name).to_owned(), errors);
        }
    }
    nodes
}

/// A minute of a tone of 480 Hz.
fn write_tone(path: &Path) -> std::io::Result<()> {
    const RATE: u32 = 48_000;
    const BYTES: u32 = 60 * RATE * 4;
    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"RIFF")?;
    file.write_all(&(36 + BYTES).to_le_bytes())?;
    file.write_all(b"WAVEfmt ")?;
    file.write_all(&16_u32.to_le_bytes())?;
    // PCM, two channels.
    file.write_all(&[1, 0, 2, 0])?;
    file.write_all(&RATE.to_le_bytes())?;
    file.write_all(&(RATE * 4).to_le_bytes())?;
    // Four bytes in both channels, sixteen bits.
    file.write_all(&[4, 0, 16, 0])?;
    file.write_all(b"data")?;
    file.write_all(&BYTES.to_le_bytes())?;
    for sample in 0..60 * RATE {
        let value = (i32::try_from(sample % 100).unwrap_or(0) - 50) * 100;
        let bytes = i16::try_from(value).unwrap_or(0).to_le_bytes();
        file.write_all(&[bytes, bytes].concat())?;
    }
    file.flush()
}
