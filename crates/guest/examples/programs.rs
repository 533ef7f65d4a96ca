//! The guest of chores that run programs of the host: it loads modules of its kernel and takes the
//! steps of a [`Request`].
#![forbid(unsafe_code)]

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tactus_guest::chore::{Loopback, Module, Reply, Request, Step};
use tactus_guest::{Console, first, run};
use tactus_model::message::Message;
use tactus_sys::{mount, pidfd::PidFd};

/// The environment of programs.
const ENVIRONMENT: [(&str, &str); 3] =
    [("PATH", "/usr/bin:/bin"), ("HOME", "/tmp"), ("NO_COLOR", "1")];

/// How often the loopback is emptied. Its buffer lasts much longer.
const TURN: Duration = Duration::from_millis(10);

fn main() -> ExitCode {
    run(|| {
        let console = first::begin()?;
        if let Err(reason) = first::request(console).and_then(|request| take(console, request)) {
            console.send(&Message::Failed { reason, hint: None })?;
        }
        first::end(console)
    })
}

fn take(console: Console, request: Request) -> Result<(), String> {
    let Request { modules, steps } = request;
    prepare()?;
    modules.iter().try_for_each(Module::load)?;
    let mut guest = Guest::default();
    for step in steps {
        let reply = guest.take(&step).map_err(|reason| format!("{step:?}: {reason}"))?;
        console.send(&reply).map_err(text)?;
    }
    Ok(())
}

/// What X servers and their clients expect.
fn prepare() -> Result<(), String> {
    let sockets = Path::new("/tmp/.X11-unix");
    fs::DirBuilder::new().mode(0o1777).create(sockets).map_err(text)?;
    let shared = Path::new("/dev/shm");
    fs::create_dir_all(shared).map_err(text)?;
    mount::mount("tmpfs", shared).map_err(text)
}

/// What runs in the guest.
#[derive(Default)]
struct Guest {
    started: Vec<Program>,
    capture: Option<Capture>,
}

impl Guest {
    fn take(&mut self, step: &Step) -> Result<Reply, String> {
        match step {
            Step::Run { words } => return Program::start(words)?.ended(),
            Step::Start { words } => self.started.push(Program::start(words)?),
            Step::Signal { number } => {
                let program = self.started.last().ok_or("no program was started")?;
                let process = PidFd::of_process(program.child.id()).map_err(text)?;
                process.send(*number).map_err(text)?;
            }
            Step::Await => {
                return self.started.pop().ok_or("no program was started")?.ended();
            }
            Step::Sleep { milliseconds } => thread::sleep(Duration::from_millis(*milliseconds)),
            Step::Read { path } => {
                return Ok(Reply::Text { text: fs::read_to_string(path).map_err(text)? });
            }
            Step::Write { path, text: content } => fs::write(path, content).map_err(text)?,
            Step::Capture { rate } => self.capture = Some(Capture::begin(*rate)?),
            Step::Captured => {
                let capture = self.capture.take().ok_or("nothing is captured")?;
                return capture.end();
            }
        }
        Ok(Reply::Done)
    }
}

/// A program. Its outputs are files, so it never waits for a reader.
struct Program {
    child: Child,
    output: File,
    errors: File,
}

impl Program {
    fn start(words: &[String]) -> Result<Self, String> {
        let (name, arguments) = words.split_first().ok_or("a program has a name")?;
        let output = tempfile::tempfile().map_err(text)?;
        let errors = tempfile::tempfile().map_err(text)?;
        let mut command = Command::new(name);
        command.args(arguments).env_clear().envs(ENVIRONMENT).current_dir("/tmp");
        command.stdin(Stdio::null());
        command.stdout(output.try_clone().map_err(text)?);
        command.stderr(errors.try_clone().map_err(text)?);
        Ok(Self { child: command.spawn().map_err(text)?, output, errors })
    }

    /// Waits for its end.
    fn ended(mut self) -> Result<Reply, String> {
        let code = self.child.wait().map_err(text)?.code();
        let (output, errors) = (content(self.output)?, content(self.errors)?);
        Ok(Reply::Ended { code, output, errors })
    }
}

fn content(mut file: File) -> Result<String, String> {
    file.rewind().map_err(text)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(text)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A thread that captures.
struct Capture {
    is_ending: Arc<AtomicBool>,
    thread: JoinHandle<Result<Reply, String>>,
}

impl Capture {
    fn begin(rate: u32) -> Result<Self, String> {
        let mut loopback = Loopback::open(rate)?;
        let is_ending = Arc::<AtomicBool>::default();
        let asked = Arc::clone(&is_ending);
        let thread = thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                loopback.turn()?;
                thread::sleep(TURN);
            }
            loopback.turn()?;
            let clicks = loopback.clicks().clone();
            let first = clicks[0].first().map(|(frame, _)| loopback.captured_at(*frame, rate));
            Ok(Reply::Captured { clicks, first_at: first.transpose()? })
        });
        Ok(Self { is_ending, thread })
    }

    fn end(self) -> Result<Reply, String> {
        self.is_ending.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| "capturing has panicked".to_owned())?
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
