//! X servers: windows and images on any of them, and one of our own, which draws into its memory: an
//! Xvfb.
//!
//! | module | content |
//! |---|---|
//! | [`window`] | windows, the ways of frames to them, and when a frame was seen |
//! | [`drawing`] | drawing images |
//! | [`patient`] | connections that wait for their server for a limited time |
//! | [`framebuffer`] | the picture on the screen of our server, read without a client's help |
#![forbid(unsafe_code)]

pub mod drawing;
pub mod framebuffer;
pub mod patient;
pub mod window;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use patient::{ANSWER_MOST, PatientConnection, is_silence_at_first};
use tactus_model::time::Nanos;
use tactus_sys::wait::wait_readable;
use tactus_sys::{clock, process, shared_memory};
use x11rb::rust_connection::DefaultStream;

/// How clients prove that they may connect: by 16 bytes that only this user can read.
const PROTOCOL: &str = "MIT-MAGIC-COOKIE-1";
/// The authority file as the server finds it: its standard input.
const AUTHORITY: &str = "/proc/self/fd/0";
/// The most bytes of a display's number, and of a reason.
const NUMBER_MAX: usize = 16;
const REASON_MAX: u64 = 4096;
/// How long a server may take to start.
const START_MOST: Duration = Duration::from_secs(30);
/// How long a server may take to end, and how often that is observed.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(2);

/// Why there is no server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoServer {
    /// Xvfb is not in `PATH`.
    #[error("Xvfb is not installed")]
    NotInstalled,
    /// It does not work.
    #[error("Xvfb does not start: {0}")]
    Start(String),
    /// It refuses us.
    #[error("the display {display} cannot be used: {reason}")]
    Refused {
        /// Its name.
        display: String,
        /// The reason.
        reason: String,
    },
    /// It does not answer.
    #[error(
        "the Xvfb of {display} did not answer for {} s: it is stopped or overloaded",
        patience.as_secs()
    )]
    Silent {
        /// Its name.
        display: String,
        /// How long it was awaited.
        patience: Duration,
    },
}

impl NoServer {
    /// What the user can do about it.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInstalled => Some("apt-get install xvfb"),
            Self::Start(_) | Self::Refused { .. } | Self::Silent { .. } => None,
        }
    }
}

/// The screen of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Its width in pixels.
    pub width: u16,
    /// Its height in pixels.
    pub height: u16,
    /// The bytes of a pixel: 1, 2 or 4.
    pub bytes_per_pixel: u8,
}

/// An Xvfb that only this user may connect to.
///
/// It ends when its last client leaves, and when the thread that started it ends, for whatever
/// reason; it then removes its socket and its lock. What else belongs to it is in memory, so that
/// nothing is left if this process is killed.
pub struct Server {
    process: Child,
    number: u32,
    cookie: [u8; 16],
}

impl Server {
    /// Starts a server, and waits until it accepts connections.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn start(screen: Screen) -> Result<Self, NoServer> {
        Self::start_with(screen, &[])
    }

    /// The same, but its screen is a file in `folder`, for
    /// [`Framebuffer::open`](framebuffer::Framebuffer::open). The owner of the folder removes it.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_visible(screen: Screen, folder: &Path) -> Result<Self, NoServer> {
        // A pointer would cover what clients draw.
        let options = [OsStr::new("-nocursor"), OsStr::new("-fbdir"), folder.as_os_str()];
        Self::start_with(screen, &options)
    }

    /// The same, but pixels are red, green and blue without a colour map, even those of a byte.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_true_colour(screen: Screen) -> Result<Self, NoServer> {
        // TrueColor is visual class 4 of the protocol.
        Self::start_with(screen, &[OsStr::new("-cc"), OsStr::new("4")])
    }

    fn start_with(screen: Screen, options: &[&OsStr]) -> Result<Self, NoServer> {
        let start = |error: std::io::Error| NoServer::Start(error.to_string());
        let in_memory =
            || shared_memory::file().map_err(|error| NoServer::Start(error.to_string()));
        let (mut authority, said) = (in_memory()?, in_memory()?);
        let mut cookie = [0; 16];
        File::open("/dev/urandom")
            .and_then(|mut file| file.read_exact(&mut cookie))
            .map_err(start)?;
        authority.write_all(&entry(&cookie)).map_err(start)?;
        let errors = said.try_clone().map_err(start)?;
        let depth = match screen.bytes_per_pixel {
            1 => 8,
            2 => 16,
            _ => 24,
        };
        let screen = format!("{}x{}x{depth}", screen.width, screen.height);
        let mut command = Command::new("Xvfb");
        command
            .args(["-displayfd", "1", "-terminate", "-nolisten", "tcp", "-screen", "0", &screen])
            .args(["-auth", AUTHORITY])
            .args(options)
            .stdin(authority)
            .stdout(Stdio::piped())
            .stderr(errors);
        process::end_with_parent(&mut command);
        let mut process = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => NoServer::NotInstalled,
            _ => start(error),
        })?;
        // It sends its number once it accepts connections.
        let number = match process.stdout.take().map(|output| number_within(output, START_MOST)) {
            Some(Ok(Some(number))) => Ok(number),
            Some(Err(error)) if error.kind() == ErrorKind::TimedOut => Err(error.to_string()),
            _ => Err(last_line(said)),
        };
        let number = number.map_err(|reason| {
            let _ = process.kill();
            let _ = process.wait();
            NoServer::Start(reason)
        })?;
        Ok(Self { process, number, cookie })
    }

    /// The number of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// Its name.
    pub fn display(&self) -> String {
        format!(":{}", self.number)
    }

    /// The CPU time that it has used.
    pub fn cpu_time(&self) -> Nanos {
        // The number of a process is positive.
        clock::cpu_time_of_process(self.process.id().cast_signed())
    }

    /// Connects to it. No wait of the connection is longer than [`ANSWER_MOST`].
    ///
    /// # Errors
    /// It has ended, or does not answer.
    pub fn connect(&self) -> Result<PatientConnection, NoServer> {
        self.connect_within(ANSWER_MOST)
    }

    fn connect_within(&self, patience: Duration) -> Result<PatientConnection, NoServer> {
        let name = self.display();
        let refused = |error: &dyn std::fmt::Display| NoServer::Refused {
            display: name.clone(),
            reason: error.to_string(),
        };
        let stream = self.stream().map_err(|error| refused(&error))?;
        let (stream, _) =
            DefaultStream::from_unix_stream(stream).map_err(|error| refused(&error))?;
        patient::connect_by(stream, 0, self.authority(), patience).map_err(|error| {
            match is_silence_at_first(&error) {
                true => NoServer::Silent { display: name.clone(), patience },
                false => refused(&error),
            }
        })
    }

    /// Waits for its end, which its last client causes.
    ///
    /// # Errors
    /// The system does not say.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.process.wait()
    }

    /// Whether it still works: it accepts a client within `patience`.
    ///
    /// # Errors
    /// It has ended or does not answer.
    pub fn check(&mut self, patience: Duration) -> Result<(), NoServer> {
        let display = self.display();
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(NoServer::Refused { display, reason: format!("Xvfb ended ({status})") });
        }
        self.connect_within(patience).map(drop)
    }

    /// A connection to it that carries nothing yet.
    ///
    /// # Errors
    /// It has ended.
    pub fn stream(&self) -> std::io::Result<UnixStream> {
        let path = format!("/tmp/.X11-unix/X{}", self.number);
        // A user who may not create its directory has only the abstract socket.
        UnixStream::connect(&path).or_else(|_| {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(path.as_bytes())?)
        })
    }

    /// What proves to the server that a client may connect: a name and data, for
    /// [`patient::connect_by`].
    pub fn authority(&self) -> (Vec<u8>, Vec<u8>) {
        (PROTOCOL.as_bytes().to_vec(), self.cookie.to_vec())
    }

    /// Writes an authority file, for the variable XAUTHORITY of other processes: they find the
    /// server by its [name](Self::display).
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_authority(&self, path: &Path) -> std::io::Result<()> {
        std::fs::write(path, entry(&self.cookie))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its last client has left, so it ends by itself, and removes its socket and its lock.
        let deadline = Instant::now() + PATIENCE;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            std::thread::sleep(STEP);
        }
    }
}

/// An entry of an authority file, for every display (family 65535):
/// [Xsecurity(7)](https://manpages.debian.org/Xsecurity.7).
fn entry(cookie: &[u8]) -> Vec<u8> {
    let mut entry = vec![0xff, 0xff];
    for field in [b"".as_slice(), b"", PROTOCOL.as_bytes(), cookie] {
        // Fields are shorter than 64 KiB.
        let _ = entry.write_all(&(field.len() as u16).to_be_bytes());
        let _ = entry.write_all(field);
    }
    entry
}

/// The number of a display, in a line; `None` if the server ends before.
fn number_within(mut output: ChildStdout, patience: Duration) -> io::Result<Option<u32>> {
    let deadline = Instant::now() + patience;
    let mut line = Vec::new();
    while line.len() < NUMBER_MAX && !line.contains(&b'\n') {
        let left = deadline.saturating_duration_since(Instant::now());
        if wait_readable(output.as_fd(), left).map_err(io::Error::other)? {
            let mut byte = [0];
            match output.read(&mut byte)? {
                0 => break,
                _ => line.extend(byte),
            }
        } else if left.is_zero() {
            let reason = format!("it accepts no connections after {} s", patience.as_secs());
            return Err(io::Error::new(ErrorKind::TimedOut, reason));
        }
    }
    Ok(String::from_utf8_lossy(&line).trim().parse().ok())
}

/// The last line of what a server said.
fn last_line(mut said: File) -> String {
    let mut text = String::new();
    let _ = said.rewind().and_then(|()| said.take(REASON_MAX).read_to_string(&mut text));
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.unwrap_or("it ended without a reason").to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use tactus_testing::{Need, require, skip};
    use x11rb::rust_connection::RustConnection;

    use super::*;

    const SCREEN: Screen = Screen { width: 640, height: 480, bytes_per_pixel: 1 };

    fn is_there(number: u32) -> bool {
        [format!("/tmp/.X11-unix/X{number}"), format!("/tmp/.X{number}-lock")]
            .iter()
            .any(|path| Path::new(path).exists())
    }

    #[test]
    fn a_server_ends_with_its_last_client_and_leaves_nothing() {
        let Some(server) = require(Need::Display, Server::start(SCREEN)) else {
            return;
        };
        let connection = server.connect().unwrap();
        let number = server.number;
        assert!(is_there(number));
        // Without the cookie, nobody connects.
        let stream = UnixStream::connect(format!("/tmp/.X11-unix/X{number}")).unwrap();
        let (stream, _) = DefaultStream::from_unix_stream(stream).unwrap();
        assert!(RustConnection::connect_to_stream(stream, 0).is_err());
        drop(connection);
        drop(server);
        assert!(!is_there(number));
    }

    /// How long a stopped server is awaited.
    const SHORT: Duration = Duration::from_millis(50);

    #[test]
    fn a_connection_to_a_stopped_server_ends_its_wait() {
        // The other end never answers.
        let (stream, _other) = UnixStream::pair().unwrap();
        let (stream, _) = DefaultStream::from_unix_stream(stream).unwrap();
        let error = patient::connect_by(stream, 0, Default::default(), SHORT).unwrap_err();
        assert!(is_silence_at_first(&error), "{error}");
    }

    #[test]
    fn hanging_up_ends_a_wait() {
        let Some(server) = require(Need::Display, Server::start(SCREEN)) else {
            return;
        };
        let (connection, other) = (server.connect().unwrap(), server.connect().unwrap());
        let hang_up = patient::HangUp::of(&connection).unwrap();
        let process = tactus_sys::pidfd::PidFd::of_process(server.process()).unwrap();
        process.send(19).unwrap();
        let began = Instant::now();
        let waiting = std::thread::spawn(move || crate::drawing::wait(&connection));
        hang_up.hang_up();
        let error = waiting.join().unwrap().unwrap_err().into();
        // It would have waited for all of this.
        assert!(patient::is_silence(&error) && began.elapsed() < ANSWER_MOST, "{error}");
        process.send(18).unwrap();
        drop(other);
    }

    #[test]
    fn a_server_that_has_ended_or_is_stopped_is_noticed() {
        let Some(mut server) = require(Need::Display, Server::start(SCREEN)) else {
            return;
        };
        let _connection = server.connect().unwrap();
        let long = Duration::from_secs(60);
        assert_eq!(server.check(long), Ok(()));
        let process = tactus_sys::pidfd::PidFd::of_process(server.process()).unwrap();
        process.send(19).unwrap();
        assert!(matches!(server.check(SHORT), Err(NoServer::Silent { .. })));
        process.send(18).unwrap();
        assert_eq!(server.check(long), Ok(()));
        process.send(15).unwrap();
        let deadline = Instant::now() + long;
        // It closes its sockets before it is a process that has ended.
        while !server.check(long).is_err_and(|error| error.to_string().contains("Xvfb ended")) {
            assert!(Instant::now() < deadline, "{:?}", server.check(long));
            std::thread::sleep(STEP);
        }
    }

    #[test]
    fn a_server_that_sends_no_number_ends_the_wait() {
        let start = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
        };
        let number = |script: &str, patience| {
            let mut process = start(script);
            let number = number_within(process.stdout.take().unwrap(), patience);
            process.kill().unwrap();
            process.wait().unwrap();
            number
        };
        let long = Duration::from_secs(60);
        assert_eq!(number("echo 17", long).unwrap(), Some(17));
        assert_eq!(number("echo 17; exec sleep 1000", long).unwrap(), Some(17));
        assert_eq!(number("true", long).unwrap(), None);
        let error = number("exec sleep 1000", SHORT).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[test]
    #[ignore = "the next test starts and kills it"]
    fn a_server_that_waits() {
        let Some(server) = require(Need::Display, Server::start(SCREEN)) else {
            return;
        };
        let _connection = server.connect().unwrap();
        println!("display {}", server.number);
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_server_ends_when_its_client_is_killed() {
        let temporary = tempfile::tempdir().unwrap();
        let mut client = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture"])
            .arg("tests::a_server_that_waits")
            .env("TMPDIR", temporary.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(client.stdout.take().unwrap());
        let line = output.lines().map_while(Result::ok).find(|line| line.contains("display "));
        let number = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        client.kill().unwrap();
        client.wait().unwrap();
        let Some(number) = number else { return skip(Need::Display, "no Xvfb") };
        let deadline = Instant::now() + Duration::from_secs(30);
        while is_there(number) {
            assert!(Instant::now() < deadline, "Xvfb {number} has not ended");
            std::thread::sleep(STEP);
        }
        let left = std::fs::read_dir(temporary.path()).unwrap().count();
        assert_eq!(left, 0, "files that nobody removes");
    }
}
