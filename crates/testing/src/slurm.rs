//! A Slurm cluster for tests: several nodes on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::patience::eventually;

/// How long daemons may take to end.
const ENDING: Duration = Duration::from_secs(20);

/// A cluster of three nodes `n1` to `n3` with a CPU each, in a temporary directory and on loopback,
/// with its own authentication. It ends when this is dropped.
#[derive(Debug)]
pub struct SlurmCluster {
    directory: TempDir,
}

impl SlurmCluster {
    /// The names of the nodes.
    pub const NODES: [&str; 3] = ["n1", "n2", "n3"];

    /// Starts a cluster.
    ///
    /// # Errors
    /// Slurm is not installed, or this is not root: its daemons run jobs as any user.
    ///
    /// # Panics
    /// It is installed, but does not start.
    pub fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "squeue"] {
            let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
            version.map_err(|error| format!("{program}: {error}"))?;
        }
        if !fs::metadata("/proc/self")
            .is_ok_and(|owner| std::os::unix::fs::MetadataExt::uid(&owner) == 0)
        {
            return Err("slurmd needs root".to_owned());
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let cluster = Self { directory };
        cluster.write_configuration().expect("files in a directory of our own");
        cluster.start_munged();
        cluster.require_started("slurmctld", cluster.daemon("slurmctld", &["-c"]));
        let nodes = Self::NODES.map(|node| cluster.daemon("slurmd", &["-N", node]));
        nodes.into_iter().for_each(|node| cluster.require_started("slurmd", node));
        cluster.wait_for_nodes();
        Ok(cluster)
    }

    /// The file that `SLURM_CONF` names.
    pub fn configuration(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    /// The directory that all nodes see.
    pub fn shared(&self) -> PathBuf {
        self.path("shared")
    }

    /// Runs a client of the cluster and returns what it prints.
    ///
    /// # Panics
    /// It fails.
    pub fn client(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program).args(arguments).output().expect("a client");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {printed}\n{}", self.logs());
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Ends a node as a loss of power does: its daemon, its running tasks and their children. The
    /// controller is notified, as an administrator or a health check would.
    ///
    /// # Panics
    /// The node has no daemon.
    pub fn lose(&self, node: &str) {
        let daemon = self.process(&format!("{node}.pid")).expect("a running node");
        let mut doomed = vec![daemon];
        // The step's supervisor left the daemon's tree; its children know their node.
        for (process, parent) in self.tasks_of(node) {
            doomed.extend([parent, process]);
        }
        doomed.iter().for_each(|process| kill("KILL", *process));
        self.client(
            "scontrol",
            &["update", &format!("nodename={node}"), "state=down", "reason=lost"],
        );
    }

    /// The processes that run on a node for jobs of this cluster, with their parents.
    pub fn tasks_of(&self, node: &str) -> Vec<(u32, u32)> {
        let name = format!("SLURMD_NODENAME={node}");
        let place = format!("SLURM_CONF={}", self.configuration().display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let tasks = entries.filter_map(|entry| {
            let process: u32 = entry.file_name().to_str()?.parse().ok()?;
            // A process may end meanwhile.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let has = |wanted: &str| {
                environment.split(|byte| *byte == 0).any(|it| it == wanted.as_bytes())
            };
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            let mut fields = stat.rsplit_once(") ")?.1.split(' ');
            let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
            (state != "Z" && has(&name) && has(&place)).then_some((process, parent))
        });
        tasks.collect()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A program that finds this cluster.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.configuration()).stdin(Stdio::null());
        command
    }

    fn write_configuration(&self) -> io::Result<()> {
        for name in ["state", "shared", "munge"] {
            fs::create_dir(self.path(name))?;
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned();
        let ports = free_ports()?;
        let place = self.directory.path().display();
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             AuthType=auth/munge\nCredType=cred/munge\n\
             # Less than this does not let a requeued job start again before two minutes.\n\
             AuthInfo=socket={place}/munge/socket,cred_expire=5\n\
             SlurmUser=root\nSlurmdUser=root\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool-%n\nSlurmctldPidFile={place}/slurmctld.pid\n\
             SlurmdPidFile={place}/%n.pid\nSlurmctldLogFile={place}/slurmctld.log\n\
             SlurmdLogFile={place}/%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             MpiDefault=none\nSwitchType=switch/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nAccountingStorageType=accounting_storage/none\n\
             JobAcctGatherType=jobacct_gather/none\nJobCompType=jobcomp/none\nReturnToService=2\n\
             KillWait=2\nMinJobAge=10\nCompleteWait=0\n\
             SchedulerParameters=sched_interval=1,batch_sched_delay=0,sched_min_interval=0\n",
            ports[0]
        );
        for (node, port) in Self::NODES.iter().zip(&ports[1..]) {
            text += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1\n"
            );
        }
        text +=
            &format!("PartitionName=all Nodes={} Default=YES State=UP\n", Self::NODES.join(","));
        fs::write(self.configuration(), text)
    }

    /// Starts the authentication, with a key of its own.
    fn start_munged(&self) {
        let place = |name: &str| self.path("munge").join(name);
        let key: Vec<u8> =
            (0..1024_u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        fs::write(place("key"), key).expect("a key");
        let private = std::os::unix::fs::PermissionsExt::from_mode;
        fs::set_permissions(place("key"), private(0o600)).expect("a key");
        fs::set_permissions(self.path("munge"), private(0o755)).expect("a directory");
        let with = |option: &str, name: &str| format!("--{option}={}", place(name).display());
        let options = [
            // The directory is below that of temporary files, which others may write.
            "--force".to_owned(),
            with("key-file", "key"),
            with("socket", "socket"),
            with("pid-file", "pid"),
            with("log-file", "log"),
            with("seed-file", "seed"),
        ];
        succeed(self.command("munged").args(&options));
    }

    fn daemon(&self, program: &str, options: &[&str]) -> Child {
        let mut command = self.command(program);
        command.args(options).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("a daemon")
    }

    /// Waits until a daemon goes to the background, which it does when it is ready.
    fn require_started(&self, program: &str, daemon: Child) {
        let output = daemon.wait_with_output().expect("a daemon");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {printed}\n{}", self.logs());
    }

    fn wait_for_nodes(&self) {
        eventually(|| {
            let states = self.command("sinfo").args(["-h", "-N", "-o", "%T"]).output();
            let states = states.map(|output| output.stdout).unwrap_or_default();
            let ready =
                String::from_utf8_lossy(&states).lines().filter(|state| *state == "idle").count();
            if ready == Self::NODES.len() { Ok(()) } else { Err(self.logs()) }
        });
    }

    /// The ends of the logs of the daemons.
    pub fn logs(&self) -> String {
        let names = ["slurmctld.log", "n1.log", "n2.log", "n3.log", "munge/log"];
        let ends = names.iter().map(|name| {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            format!("{name}:\n{}\n", lines[lines.len().saturating_sub(15)..].join("\n"))
        });
        ends.collect()
    }

    /// The process in the file of a daemon of ours, if it still runs.
    fn process(&self, file: &str) -> Option<u32> {
        let process = fs::read_to_string(self.path(file)).ok()?.trim().parse().ok()?;
        let words = fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
        let is_daemon = ["slurmctld", "slurmd", "munged"].contains(&words.trim());
        is_daemon.then_some(process)
    }

    /// Ends daemons, and waits for them.
    fn end(&self, files: &[&str]) {
        let daemons: Vec<u32> = files.iter().filter_map(|file| self.process(file)).collect();
        daemons.iter().for_each(|process| kill("TERM", *process));
        let began = Instant::now();
        for process in daemons {
            while is_running(process) {
                if began.elapsed() > ENDING {
                    kill("KILL", process);
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for SlurmCluster {
    fn drop(&mut self) {
        for node in Self::NODES {
            self.tasks_of(node).iter().for_each(|(process, _)| kill("KILL", *process));
        }
        self.end(&["n1.pid", "n2.pid", "n3.pid", "slurmctld.pid"]);
        self.end(&["munge/pid"]);
    }
}

/// Whether a process runs; a daemon whose parent does not wait for it stays as a zombie.
fn is_running(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// Four ports of loopback that nobody uses now.
fn free_ports() -> io::Result<[u16; 4]> {
    let listeners = [(); 4].map(|()| std::net::TcpListener::bind("127.0.0.1:0"));
    let mut ports = [0; 4];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        let listener = listener.as_ref().map_err(|error| io::Error::from(error.kind()))?;
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn kill(signal: &str, process: u32) {
    // It may have ended.
    let _ = Command::new("kill")
        .args(["-s", signal, &process.to_string()])
        .stderr(Stdio::null())
        .status();
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {printed}");
    output
}

/// The files below a directory.
pub fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&entry.path())),
            _ => found.push(entry.path()),
        }
    }
    found
}
