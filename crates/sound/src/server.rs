//! A sound server of our own, without hardware.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tactus_sys::owned_directory::OwnedDirectory;
use tactus_sys::process::end_with_parent;

/// The name of the sink of [`PrivateServer`], whose monitor can be captured.
pub const SINK: &str = "quiet";

/// The prefix of the directories of servers.
const DIRECTORY: &str = "tactus-sound-";
/// How long a server may take to start, on a busy machine.
const START_MOST: Duration = Duration::from_secs(20);
const STEP: Duration = Duration::from_millis(20);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum NoServer {
    /// PipeWire is not in `PATH`.
    #[error("PipeWire is not installed; fix: apt-get install pipewire pipewire-bin pipewire-jack")]
    NotInstalled,
    /// It does not work.
    #[error("PipeWire does not start: {0}")]
    Start(String),
    /// The system fails.
    #[error("cannot start PipeWire: {0}")]
    System(#[from] io::Error),
}

/// A PipeWire that nobody else uses. It ends with this value, and with the thread that started it.
///
/// Its clients are processes with [its environment](Self::variables): the libraries read it when a
/// process starts.
#[derive(Debug)]
pub struct PrivateServer {
    process: Child,
    directory: OwnedDirectory,
}

impl PrivateServer {
    /// Starts a server with one sink, [`SINK`], whose cycles have `quantum` frames of 1/48000 s.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(quantum: u32) -> Result<Self, NoServer> {
        let directory = OwnedDirectory::create(&std::env::temp_dir(), DIRECTORY)?;
        fs::write(directory.path().join("pipewire.conf"), configuration(quantum))?;
        for file in ["client.conf", "client-rt.conf", "jack.conf"] {
            // Without it, the server or the library is missing too.
            let shipped = Path::new("/usr/share/pipewire").join(file);
            let _ = fs::copy(shipped, directory.path().join(file));
        }
        let process = spawn(directory.path())?;
        let mut server = Self { process, directory };
        server.wait()?;
        Ok(server)
    }

    /// The variables of the environment by which its clients find it.
    pub fn variables(&self) -> [(&'static str, PathBuf); 3] {
        variables(self.directory.path())
    }

    /// Ends the server and starts it again: its clients lose it meanwhile.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn restart(&mut self) -> Result<(), NoServer> {
        self.end();
        self.process = spawn(self.directory.path())?;
        self.wait()
    }

    /// Ends the server; [`restart`](Self::restart) starts it again.
    pub fn end(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(self.socket());
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// How it ended, if it did so by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("pipewire-0")
    }

    /// Waits until it accepts clients.
    fn wait(&mut self) -> Result<(), NoServer> {
        let began = Instant::now();
        while !self.socket().exists() {
            if let Some(status) = self.process.try_wait()? {
                return Err(NoServer::Start(status.to_string()));
            }
            if began.elapsed() > START_MOST {
                return Err(NoServer::Start(format!("no socket after {} s", START_MOST.as_secs())));
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn spawn(directory: &Path) -> Result<Child, NoServer> {
    let mut command = Command::new("pipewire");
    command.envs(variables(directory)).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    end_with_parent(&mut command);
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => NoServer::NotInstalled,
        _ => error.into(),
    })
}

fn variables(directory: &Path) -> [(&'static str, PathBuf); 3] {
    ["XDG_RUNTIME_DIR", "HOME", "PIPEWIRE_CONFIG_DIR"].map(|name| (name, directory.to_owned()))
}

/// The configuration of a PipeWire with as little as possible: a driver, and a sink `quiet` without
/// a device, whose ports are `playback_FL` and so on, and `monitor_FL`. A cycle has `quantum`
/// frames of 1/48000 s.
pub fn configuration(quantum: u32) -> String {
    SERVER.replace("QUANTUM", &quantum.to_string())
}

/// Clients ask for their priority as the server does.
const SERVER: &str = r"
context.properties = {
    core.daemon = true core.name = pipewire-0 log.level = 0
    default.clock.rate = 48000 default.clock.quantum = QUANTUM
    default.clock.min-quantum = QUANTUM default.clock.max-quantum = QUANTUM
}
context.spa-libs = {
    audio.convert.* = audioconvert/libspa-audioconvert
    support.* = support/libspa-support
}
context.modules = [
    { name = libpipewire-module-rt args = { nice.level = -11 } flags = [ nofail ] }
    { name = libpipewire-module-protocol-native }
    { name = libpipewire-module-profiler }
    { name = libpipewire-module-metadata }
    { name = libpipewire-module-spa-node-factory }
    { name = libpipewire-module-client-node }
    { name = libpipewire-module-access }
    { name = libpipewire-module-adapter }
    { name = libpipewire-module-link-factory }
]
context.objects = [
    { factory = spa-node-factory args = {
        factory.name = support.node.driver node.name = driver node.group = pipewire.dummy priority.driver = 20000
    } }
    { factory = adapter args = {
        factory.name = support.null-audio-sink node.name = quiet media.class = Audio/Sink
        audio.position = [ FL FR ] adapter.auto-port-config = { mode = dsp monitor = true position = preserve }
    } }
]
";
