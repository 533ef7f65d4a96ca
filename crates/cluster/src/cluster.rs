//! A job as a target: the engine receives each turn's messages from its result file.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use tactus_guests::Guests;
use tactus_lab::target::{Inbox, Measuring, Target};
use tactus_model::experiment::{Plan, Turn};
use tactus_model::message::{CellRequest, Message};
use tactus_wire::Input;

use crate::directory::{CONSOLES, JobDirectory, keep_runs, stale};
use crate::error::of_file;
use crate::job::JobSettings;
use crate::kubernetes::{Kubernetes, KubernetesSettings};
use crate::notice::{Notice, NoticeListener};
use crate::result_file::read;
use crate::slurm::Slurm;
use crate::submitted::Submitted;
use crate::watcher::{Shared, TurnState, Watcher};
use crate::{ClusterError, Job, parts};

/// The maximum size of a console that is kept, in bytes.
const CONSOLE_LIMIT: u64 = 16 << 20;

/// Where and how a job runs.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory that all nodes see.
    pub shared: PathBuf,
    /// The manifest for Kubernetes; without it, the job is for Slurm.
    pub kubernetes: Option<KubernetesSettings>,
    /// How turns are measured.
    pub job: JobSettings,
    /// The program `tactus`, which tasks execute.
    pub executable: PathBuf,
    /// The directories of programs, in the form of `PATH`.
    pub search_path: std::ffi::OsString,
    /// The directory for the consoles of failed guests.
    pub consoles: PathBuf,
}

/// A submitted job. Dropping it cancels what has not ended, and removes its directory.
#[derive(Debug)]
pub struct Cluster {
    job: Arc<Job>,
    digest: String,
    indexes: HashMap<Turn, usize>,
    shared: Arc<Shared>,
    watcher: Option<JoinHandle<()>>,
    consoles: PathBuf,
    // After the watcher has ended.
    directory: Arc<JobDirectory>,
}

impl Cluster {
    /// Submits `turns` of `plan`; `guests` are those of all its cells.
    ///
    /// # Errors
    /// The shared directory cannot be written, or Slurm refuses the job.
    pub fn submit(
        plan: Plan,
        turns: Vec<Turn>,
        guests: &Guests,
        settings: &Settings,
        listener: NoticeListener,
    ) -> Result<Self, ClusterError> {
        let shared =
            fs::canonicalize(&settings.shared).map_err(of_file("open", &settings.shared))?;
        remove_stale(&shared, &settings.search_path, settings.kubernetes.is_none(), &listener);
        let directory = JobDirectory::create(&shared)?;
        let cpus = settings.job.jobs;
        let slurm = match &settings.kubernetes {
            Some(_) => None,
            None => Some(Slurm::new(&settings.search_path, directory.path(), cpus)?),
        };
        let job = Job::new(plan, turns, &settings.job, parts::of(guests));
        let digest = directory.write(&job, guests, &settings.executable)?;
        if let Some(kubernetes) = &settings.kubernetes {
            let file = kubernetes.manifest.display().to_string();
            Kubernetes::new(kubernetes.clone(), &shared, directory.path(), cpus)
                .write(job.tasks.len())?;
            listener(&Notice::Manifest { file });
        }
        let submit = |slurm| {
            let tasks = (0..job.tasks.len()).map(|task| job.turns_of(task)).collect();
            Submitted::new(slurm, Arc::clone(&listener), directory.path(), tasks, job.turns.len())
        };
        let submitted = slurm.map(submit).transpose()?;
        let indexes = job.turns.iter().enumerate().map(|(index, turn)| (*turn, index)).collect();
        let (job, state) = (Arc::new(job), Arc::new(Shared::default()));
        let watcher = Watcher {
            job: Arc::clone(&job),
            digest: digest.clone(),
            directory: directory.path().to_owned(),
            submitted,
            listener,
            shared: Arc::clone(&state),
            files: HashSet::new(),
        };
        Ok(Self {
            job,
            digest,
            indexes,
            shared: state,
            watcher: Some(thread::spawn(move || watcher.watch())),
            consoles: settings.consoles.clone(),
            directory: Arc::new(directory),
        })
    }

    /// Cancels what has not ended, and waits for it.
    ///
    /// # Errors
    /// Two nodes measured a turn with different results, after one of them was merged.
    pub fn finish(mut self) -> Result<(), String> {
        self.end();
        let conflict = self.shared.index().conflict();
        conflict.map_or(Ok(()), |(turn, reason)| {
            let Turn { round, cell } = self.job.turns[turn];
            Err(format!("round {}, cell {cell}: {reason}", round + 1))
        })
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.shared.wake();
        if let Some(watcher) = self.watcher.take() {
            // It fails only by a panic, which has been printed.
            let _ = watcher.join();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.end();
    }
}

/// Cancels, if `is_slurm`, and removes the jobs of killed processes. Runs of nodes that they did not import
/// are kept.
pub(crate) fn remove_stale(
    shared: &Path,
    search_path: &OsStr,
    is_slurm: bool,
    listener: &NoticeListener,
) {
    for (directory, _lock) in stale(shared) {
        // A job that cannot be cancelled now ends by itself: its tasks find no directory.
        if let Ok(slurm) = Slurm::new(search_path, &directory, 1)
            && is_slurm
        {
            let _ = slurm.cancel();
        }
        match keep_runs(&directory) {
            Ok(None) => {}
            Ok(Some(folder)) => listener(&Notice::Kept { folder: folder.display().to_string() }),
            // The next command tries again.
            Err(_) => continue,
        }
        let _ = fs::remove_dir_all(&directory);
    }
}

impl Target for Cluster {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let planned = self.indexes.get(&request.turn).copied();
        let turn = planned.filter(|turn| self.job.request(*turn).as_ref() == Some(request));
        let turn = turn.ok_or_else(|| io::Error::other("the turn is not in the submitted job"))?;
        let is_ended = Arc::new(AtomicBool::new(false));
        let waiting = Waiting {
            job: Arc::clone(&self.job),
            digest: self.digest.clone(),
            shared: Arc::clone(&self.shared),
            directory: Arc::clone(&self.directory),
            consoles: self.consoles.clone(),
            turn,
            is_ended: Arc::clone(&is_ended),
        };
        let thread = thread::spawn(move || waiting.pass(&inbox));
        Ok(Box::new(Turning { is_ended, shared: Arc::clone(&self.shared), thread }))
    }
}

/// A turn whose result the engine waits for.
struct Turning {
    is_ended: Arc<AtomicBool>,
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Measuring for Turning {
    fn end(self: Box<Self>) -> String {
        self.is_ended.store(true, Ordering::SeqCst);
        self.shared.wake();
        // It fails only by a panic, which has been printed.
        let _ = self.thread.join();
        "its result file ended".to_owned()
    }
}

/// Waits for a result file, and passes its messages on.
struct Waiting {
    job: Arc<Job>,
    digest: String,
    shared: Arc<Shared>,
    directory: Arc<JobDirectory>,
    consoles: PathBuf,
    turn: usize,
    is_ended: Arc<AtomicBool>,
}

impl Waiting {
    fn pass(self, inbox: &Inbox) {
        let failed = |reason| vec![Message::Failed { reason, hint: None }];
        let messages = match self.shared.wait(self.turn, &self.is_ended) {
            None | Some(TurnState::Waiting) => return,
            Some(TurnState::Lost(reason)) => failed(reason),
            Some(TurnState::Found(found)) => {
                match read(&found.path, &self.job, &self.digest, self.turn) {
                    Ok(checked) if checked.digest == found.digest => checked.messages,
                    Ok(_) => failed("its result file was altered".to_owned()),
                    Err(reason) => failed(format!("its result file was altered: {reason}")),
                }
            }
        };
        for message in messages {
            if !inbox.put(Input::Message(self.with_kept_console(message))) {
                return;
            }
        }
        inbox.put(Input::Closed);
    }

    /// Keeps the console that the hint of a failure names, since the shared directory is removed.
    fn with_kept_console(&self, message: Message) -> Message {
        let (reason, hint, is_of_host) = match message {
            Message::Failed { reason, hint: Some(hint) } => (reason, hint, false),
            Message::HostFault { reason, hint: Some(hint) } => (reason, hint, true),
            message => return message,
        };
        let from = self.directory.path().join(CONSOLES);
        // A console that cannot be kept is still named; the failure has its last line.
        let _ = fs::create_dir_all(&self.consoles);
        for entry in fs::read_dir(&from).into_iter().flatten().flatten() {
            if hint.contains(&*entry.file_name().to_string_lossy())
                && let Ok(from) = tactus_sys::regular_file::open_of_others(&entry.path())
                && let Ok(mut to) = fs::File::create(self.consoles.join(entry.file_name()))
            {
                let _ = io::copy(&mut from.take(CONSOLE_LIMIT), &mut to);
            }
        }
        let [from, to] = [&from, &self.consoles].map(|path| path.display().to_string());
        let hint = Some(hint.replace(&from, &to));
        match is_of_host {
            true => Message::HostFault { reason, hint },
            false => Message::Failed { reason, hint },
        }
    }
}
