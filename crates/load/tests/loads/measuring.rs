//! A process in the role of the measuring process: starts a load, reports it, and waits.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use tactus_load::{Containment, HostOptions, LoadError, RunningLoad};
use tactus_model::cpus::CpuChoice;
use tactus_model::load::{BuiltinLoad, LoadPlan};
use tactus_model::policy::Scheduling;
use tactus_testing::{Need, require};
use tactus_xserver::{Screen, Server};

/// An ordinary user who owns nothing.
pub const NOBODY: u32 = 65534;

/// A plan for the load `text`.
pub fn plan(text: &str) -> LoadPlan {
    LoadPlan { load: text.parse().unwrap(), scheduling: Scheduling::ORDINARY, cpus: CpuChoice::All }
}

/// Whether this machine has what the load `text` needs; otherwise, a skip is counted.
pub fn is_possible(text: &str) -> bool {
    let load: Result<BuiltinLoad, _> = text.parse();
    let screen = Screen { width: 640, height: 480, bytes_per_pixel: 4 };
    !load.is_ok_and(BuiltinLoad::needs_x_server)
        || require(Need::Display, Server::start(screen)).is_some()
}

/// Options that start the processes of a load from this test's own binary.
pub fn options(containment: Option<Containment>) -> HostOptions {
    HostOptions { containment, ..HostOptions::new(std::env::current_exe().unwrap()) }
}

/// The main function of the process: prints the process number of the load's host and the
/// containment, and waits for the end of its input.
pub fn main(arguments: &[&str]) -> Result<(), LoadError> {
    let [load, containment, directory] = arguments else { panic!("{arguments:?}") };
    let containment = Containment::ALL.into_iter().find(|kind| kind.to_string() == *containment);
    let options = HostOptions { directory: PathBuf::from(directory), ..options(containment) };
    let load = RunningLoad::start(&plan(load), &options)?;
    println!("{} {}", load.host_process().unwrap(), load.containment().unwrap());
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}

/// A measuring process that runs a load.
pub struct Measuring {
    pub child: Child,
    _input: ChildStdin,
    /// The load's host.
    pub host: u32,
    pub containment: String,
}

impl Measuring {
    /// Starts the process as `user`; waits until the load is ready.
    pub fn start(
        executable: &Path,
        load: &str,
        containment: Option<Containment>,
        user: Option<u32>,
        directory: &Path,
    ) -> Result<Self, String> {
        let containment = containment.map_or_else(|| "best".to_owned(), |kind| kind.to_string());
        let mut command = Command::new(executable);
        command.args(["internal", "measure", load, &containment]).arg(directory);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        command
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        match line.trim().split_once(' ') {
            Some((host, containment)) => Ok(Self {
                child,
                _input: input,
                host: host.parse().unwrap(),
                containment: containment.to_owned(),
            }),
            None => {
                let mut reason = String::new();
                child.stderr.take().unwrap().read_to_string(&mut reason).unwrap();
                child.wait().unwrap();
                Err(reason)
            }
        }
    }
}
