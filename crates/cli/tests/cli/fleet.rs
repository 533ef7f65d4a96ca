//! Turns on the nodes of a cluster: a real Slurm, and the manifest for Kubernetes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use tactus_testing::{Need, SlurmCluster, eventually, files_below, require, skip, wait_until};

use crate::full_disk::SmallDisk;
use crate::support::Tactus;

/// A plan of three short turns on this kernel.
fn plan<'a>(kernel: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["measure", "--kernel", kernel, "--exact"];
    let loads = ["--load", "idle", "--load", "syscall", "--load", "timer:1"];
    arguments.extend(loads);
    arguments.extend(["--rounds", "1", "--traced", "0s"]);
    arguments.extend([
        "--policy",
        "fifo:80",
        "--duration",
        "50ms",
        "--warmup",
        "10ms",
        "--no-page",
    ]);
    arguments.extend(more);
    arguments
}

/// A kernel that boots quickly, if it was fetched.
fn kernel(tactus: &Tactus) -> Option<String> {
    let known = tactus.succeed(&["lab", "kernels"]);
    let mut words = known.split_whitespace();
    let kernel = words.find(|word| word.starts_with("debian-cloud@")).map(str::to_owned);
    if kernel.is_none() {
        skip(Need::Guest, "no kernel; tactus lab kernels debian-cloud fetches one");
    }
    kernel
}

/// A command that runs, and the lines that it has written to standard error.
struct Running {
    child: Child,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let (out, kept) = (BufReader::new(child.stderr.take().unwrap()), Arc::clone(&lines));
        let reader = thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { child, lines, reader: Some(reader) }
    }

    fn said(&self) -> String {
        self.lines.lock().unwrap().join("\n")
    }

    fn says(&self, text: &str) -> bool {
        self.said().contains(text)
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        eventually(|| {
            if self.says(text) { Ok(()) } else { Err(format!("no {text}: {}", self.said())) }
        });
    }

    /// Waits for its end and its last line; returns the exit code.
    fn end(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
        code
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The exported bytes of the last run: its plan, results and failures. The rest describes the sitting:
/// when and on which machine it was.
fn exported(tactus: &Tactus) -> [String; 3] {
    let file = tactus.folder().join("run.json");
    tactus.succeed(&["export", "last", "--output", &file.display().to_string()]);
    let run: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    fs::remove_file(file).unwrap();
    assert_eq!(run["results"].as_array().map(Vec::len), Some(3), "{run:.1000}");
    [&run["header"]["plan"], &run["results"], &run["failures"]].map(Value::to_string)
}

/// The command with a plan on the cluster, one turn a task.
fn on_slurm(tactus: &Tactus, cluster: &SlurmCluster, kernel: &str, seed: &str) -> Command {
    let shared = cluster.shared().display().to_string();
    let site = ["--seed", seed, "--on", "slurm", "--shared", &shared, "--turns-per-task", "1"];
    let mut command = tactus.command(&plan(kernel, &site));
    command.env("SLURM_CONF", cluster.configuration());
    command
}

/// The result files of the only job.
fn result_files(cluster: &SlurmCluster) -> Vec<PathBuf> {
    let mut files = files_below(&cluster.shared());
    files.retain(|file| file.extension().is_some_and(|extension| extension == "turn"));
    files
}

fn require_nothing_left(tactus: &Tactus, cluster: &SlurmCluster) {
    assert_eq!(cluster.client("squeue", &["--noheader", "--states=PENDING,RUNNING"]), "");
    assert_eq!(fs::read_dir(cluster.shared()).unwrap().count(), 0);
    tactus.require_nothing_left();
}

#[test]
fn needs_slurm_a_run_on_three_nodes_equals_that_of_one_machine_although_a_node_is_lost() {
    let Some(cluster) = require(Need::Slurm, SlurmCluster::start()) else { return };
    let (here, there) = (Tactus::new(), Tactus::new());
    let Some(kernel) = kernel(&here) else { return };

    // A held job shows its reason, and how it goes on. A node is lost in the middle.
    let partition = |state| cluster.client("scontrol", &["update", "PartitionName=all", state]);
    partition("State=DOWN");
    let mut running = Running::start(&mut on_slurm(&there, &cluster, &kernel, "7"));
    running.wait_for("PartitionDown");
    let job = cluster.client("squeue", &["--noheader", "--format=%F"]);
    let job = job.lines().next().unwrap();
    cluster.client("scontrol", &["hold", job]);
    running.wait_for("3 wait (JobHeld");
    running.wait_for(&format!("fix: scontrol release {job}"));
    cluster.client("scontrol", &["release", job]);
    partition("State=UP");
    wait_until("no guest on n2", || cluster.tasks_of("n2").len() > 1);
    cluster.lose("n2");
    wait_until("no result", || !result_files(&cluster).is_empty());
    let stolen = fs::read(&result_files(&cluster)[0]).unwrap();
    let code = running.end();
    assert_eq!(code, Some(0), "{}\n{}", running.said(), cluster.logs());
    require_nothing_left(&there, &cluster);

    here.succeed(&plan(&kernel, &["--seed", "7"]));
    assert_eq!(exported(&here), exported(&there));

    // A result of that job is refused in another, and an interrupt leaves nothing.
    let mut running = Running::start(&mut on_slurm(&there, &cluster, &kernel, "8"));
    wait_until("no guest", || ["n1", "n3"].iter().any(|node| cluster.tasks_of(node).len() > 1));
    let jobs: Vec<_> = fs::read_dir(cluster.shared()).unwrap().flatten().collect();
    fs::write(jobs[0].path().join("results/0.n2.1-1.turn"), stolen).unwrap();
    running.wait_for("belongs to another plan");
    interrupt(&running.child);
    assert_eq!(running.end(), Some(130), "{}", running.said());
    require_nothing_left(&there, &cluster);
    let guests = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let mut guests = guests.filter(|entry| {
        entry.file_name().to_string_lossy().starts_with("tactus-guest-")
            && fs::read_link(entry.path().join("kernel"))
                .is_ok_and(|kernel| kernel.starts_with(cluster.shared()))
    });
    assert!(guests.next().is_none());
}

/// Interrupts a child as a terminal does.
fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[test]
fn wrong_options_of_clusters_are_explained() {
    let tactus = Tactus::new();
    let kernel = ["--kernel", "debian-cloud", "--exact"];
    let folder = tactus.folder().display().to_string();
    let cases: [(&[&str], &str); 8] = [
        (&["--on", "slrum"], "did you mean `slurm`?"),
        (&["--on", "slurm"], "`--on` needs `--shared DIR`"),
        (&["--on", "slurm", "--shared", "/no/such"], "/no/such does not exist"),
        (&["--on", "slurm", "--shared", &folder, "--until", "p99:5%"], "use --rounds"),
        (&["--on", "slurm", "--shared", &folder, "--pod-image", "x"], "`--on kubernetes` only"),
        (&["--on", "kubernetes", "--shared", &folder], "`--on` needs `--manifest FILE`"),
        (&["--shared", &folder], "--on"),
        (&["--turns-per-task", "0"], "not a whole number from 1"),
    ];
    for (site, expected) in cases {
        let error = tactus.fail(2, &[&["measure"], &kernel[..], site].concat());
        assert!(error.contains(expected), "{site:?}: {error}");
    }
    let nodes: [(&[&str], &str); 4] = [
        (&["--nodes", "n1"], "`--nodes` needs `--on slurm`"),
        (&["--nodes", "n1", "--on", "slurm"], "`--on` needs `--shared DIR`"),
        (
            &["--nodes", "n1", "--on", "slurm", "--shared", &folder, "--until", "p99:5%"],
            "use --rounds",
        ),
        (&["--nodes", "n1", "--on", "slurm", "--shared", &folder, "--for", "midi"], "tactus show"),
    ];
    for (site, expected) in nodes {
        let error = tactus.fail(2, &[&["measure"], site].concat());
        assert!(error.contains(expected), "{site:?}: {error}");
    }
    let error = tactus.fail(2, &["measure", "--on", "slurm", "--shared", &folder]);
    assert!(error.contains("in deterministic time only"), "{error}");
}

/// Validates a manifest by the schema that Kubernetes publishes, as the package
/// `kubernetes-validate` has it.
fn validate(manifest: &Path) -> Result<(), String> {
    let version = Command::new("kubernetes-validate").arg("--version").output();
    let module = Command::new("python3").args(["-c", "import kubernetes_validate"]).output();
    if version.is_err() || !module.is_ok_and(|module| module.status.success()) {
        return Err("the Python package kubernetes-validate is not installed".to_owned());
    }
    let output = Command::new("kubernetes-validate").arg("--strict").arg(manifest).output();
    let output = output.map_err(|error| error.to_string())?;
    let said =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "{said:?}");
    Ok(())
}

#[test]
fn the_manifest_for_kubernetes_is_valid_by_its_published_schema() {
    let tactus = Tactus::new();
    let Some(kernel) = kernel(&tactus) else { return };
    let (shared, manifest) = (tactus.folder().join("shared"), tactus.folder().join("job.json"));
    fs::create_dir(&shared).unwrap();
    let [shared, file] = [&shared, &manifest].map(|path| path.display().to_string());
    let site = ["--on", "kubernetes", "--shared", &shared, "--manifest", &file];
    let image = ["--pod-image", "registry.example/qemu:9", "--volume-claim", "measurements"];
    let arguments = plan(&kernel, &[&site[..], &image].concat());
    let mut running = Running::start(&mut tactus.command(&arguments));
    wait_until("no manifest", || {
        running.says("kubectl apply") || running.child.try_wait().unwrap().is_some()
    });
    if running.says("is not installed") || running.says("cannot find the program") {
        return skip(Need::Guest, running.said());
    }
    let text =
        fs::read_to_string(&manifest).unwrap_or_else(|error| panic!("{error}: {}", running.said()));
    let job: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (job["kind"].as_str(), job["spec"]["completionMode"].as_str()),
        (Some("Job"), Some("Indexed"))
    );
    let script = job["spec"]["template"]["spec"]["containers"][0]["command"][1].as_str().unwrap();
    assert!(Path::new(script).is_file(), "{script}");

    // The pods of a cluster run this script, with the number of their task.
    let pod = Command::new("sh").arg(script).env("JOB_COMPLETION_INDEX", "99").output().unwrap();
    let said = String::from_utf8_lossy(&pod.stderr).into_owned();
    assert!(said.contains("it has no task 99"), "{said}");
    interrupt(&running.child);
    assert_eq!(running.end(), Some(130), "{}", running.said());
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
    tactus.require_nothing_left();
    require(Need::Tools, validate(&manifest));
}

/// A plan of two short cells on the nodes themselves.
fn on_nodes(tactus: &Tactus, cluster: &SlurmCluster, nodes: &str, more: &[&str]) -> Command {
    let shared = cluster.shared().display().to_string();
    let plan = ["measure", "--load", "idle", "--load", "compute:1", "--policy", "other"];
    let short = ["--rounds", "2", "--duration", "50ms", "--warmup", "10ms", "--traced", "0s"];
    let site = ["--seed", "7", "--on", "slurm", "--shared", &shared, "--nodes", nodes];
    let mut command = tactus.command(&[&plan[..], &short, &site, more].concat());
    command.env("SLURM_CONF", cluster.configuration());
    command
}

#[test]
fn needs_slurm_nodes_are_measured_alone_and_ranked_and_an_interrupt_leaves_no_job() {
    let Some(cluster) = require(Need::Slurm, SlurmCluster::start()) else { return };
    let tactus = Tactus::new();
    let measure = |nodes: &str, more: &[&str]| {
        let output = on_nodes(&tactus, &cluster, nodes, more).output().unwrap();
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code(), out, err)
    };

    let (code, _, said) = measure("n1,n2,m3", &["--no-page"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("the cluster has no node `m3`") && said.contains("did you mean"),
        "{said}"
    );
    let (code, _, said) = measure("n[1-", &["--no-page"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("`n[1-` is not a list of nodes"), "{said}");
    require_nothing_left(&tactus, &cluster);

    // All nodes are one machine here, so only their order and their number are certain.
    let page = tactus.folder().join("nodes.html").display().to_string();
    let (code, out, said) = measure("n[1-3]", &["--page", &page]);
    assert_eq!(code, Some(0), "{out}\n{said}\n{}", cluster.logs());
    assert!(said.contains("(3 of 3 nodes)"), "{said}");
    assert!(fs::read_to_string(&page).unwrap().contains("<h2>Machines by p99"), "{page}");
    require_nothing_left(&tactus, &cluster);

    // The second time, each is compared with the first.
    let (code, out, said) = measure("n3,n1,n2", &["--no-page"]);
    assert_eq!(code, Some(0), "{out}\n{said}");
    let ranked = tactus.succeed(&["machines", "--json", "--figure", "max"]);
    let ranked: Value = serde_json::from_str(&ranked).unwrap();
    let machines = ranked["machines"].as_array().unwrap();
    let mut names: Vec<&str> = machines.iter().filter_map(|it| it["machine"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, SlurmCluster::NODES, "{ranked}");
    let values: Vec<u64> =
        machines.iter().filter_map(|it| it["figure"]["value"].as_u64()).collect();
    assert!(values.len() == 3 && values.is_sorted(), "{ranked}");
    for machine in machines {
        let (node, run) = (machine["machine"].as_str().unwrap(), machine["run"].as_str().unwrap());
        assert!(run.ends_with(&format!("-{node}")), "{run}");
        assert!(
            machine["drift"]["since"].as_str().is_some_and(|it| it.ends_with(node)),
            "{machine}"
        );
    }
    let text = tactus.succeed(&["machines", "--cell", "2", "--figure", "p50"]);
    assert!(text.contains("n1") && text.contains("The p50 of "), "{text}");
    let error = tactus.fail(2, &["machines", "--experiment", "no-such"]);
    assert!(error.contains("no run of an experiment `no-such`"), "{error}");

    // An interrupt keeps what has finished; here a node never starts.
    cluster.client("scontrol", &["update", "nodename=n2", "state=drain", "reason=test"]);
    let mut running = Running::start(&mut on_nodes(&tactus, &cluster, "n1,n2", &["--no-page"]));
    running.wait_for("(1 of 2 nodes)");
    interrupt(&running.child);
    assert_eq!(running.end(), Some(130), "{}", running.said());
    assert!(running.says("--nodes n2"), "{}", running.said());
    require_nothing_left(&tactus, &cluster);
    let long = ["--no-page", "--duration", "60s"];
    let mut running = Running::start(&mut on_nodes(&tactus, &cluster, "n1,n3", &long));
    wait_until("no task", || ["n1", "n3"].iter().all(|node| !cluster.tasks_of(node).is_empty()));
    interrupt(&running.child);
    assert_eq!(running.end(), Some(130), "{}", running.said());
    require_nothing_left(&tactus, &cluster);
    let listed = tactus.succeed(&["list", "--json"]);
    assert_eq!(listed.lines().count(), 7, "{listed}");
}

#[test]
fn needs_slurm_runs_of_nodes_are_kept_if_the_store_is_full_and_others_finish_without_a_lost_node() {
    let Some(cluster) = require(Need::Slurm, SlurmCluster::start()) else { return };
    let tactus = Tactus::new();
    let Some(disk) = SmallDisk::mount(&tactus, "8m") else { return };

    // The store is full when the nodes have finished.
    let store = disk.path("runs.sqlite").display().to_string();
    let more = ["--no-page", "--store", &store, "--duration", "2s"];
    let mut running = Running::start(&mut on_nodes(&tactus, &cluster, "n1,n3", &more));
    running.wait_for("submitted");
    let filler = disk.fill();
    assert_eq!(running.end(), Some(3), "{}", running.said());
    for said in ["the run of n1 is not stored yet", "the runs of n1, n3 are not stored"] {
        assert!(running.says(said), "{}", running.said());
    }
    assert!(running.says("tactus import ") && running.says("/*.run"), "{}", running.said());
    assert_eq!(cluster.client("squeue", &["--noheader", "--states=PENDING,RUNNING"]), "");
    let kept = files_below(&cluster.shared());
    assert_eq!(kept.len(), 2, "{kept:?}");
    fs::remove_file(filler).unwrap();
    for file in &kept {
        tactus.succeed(&["import", "--store", &store, &file.display().to_string()]);
        fs::remove_file(file).unwrap();
    }
    let ranked = tactus.succeed(&["machines", "--store", &store, "--json"]);
    assert!(ranked.contains("\"n1\"") && ranked.contains("\"n3\""), "{ranked}");
    fs::remove_dir(kept[0].parent().unwrap()).unwrap();
    require_nothing_left(&tactus, &cluster);

    // A node is lost in the middle, and does not come back.
    let page = tactus.folder().join("nodes.html").display().to_string();
    let more = ["--page", &page, "--duration", "2s", "--node-wait", "2s"];
    let mut running = Running::start(&mut on_nodes(&tactus, &cluster, "n[1-3]", &more));
    wait_until("no task on n2", || !cluster.tasks_of("n2").is_empty());
    cluster.lose("n2");
    assert_eq!(running.end(), Some(5), "{}\n{}", running.said(), cluster.logs());
    for said in
        ["node n2 cannot run its task: its state is down", "1 of 3 nodes gave no run", "--nodes n2"]
    {
        assert!(running.says(said), "{said}: {}", running.said());
    }
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("machines without a run, which are not ranked: n2 ("), "{page:.3000}");
    require_nothing_left(&tactus, &cluster);
    assert_eq!(tactus.succeed(&["list", "--json"]).lines().count(), 2);
}
