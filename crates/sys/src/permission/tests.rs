//! Every cause that is told apart, on machines made up for it.

use tactus_model::time::Instant;

use super::*;

/// A machine on which nothing is held, limited, contained or filtered, with four processors.
fn machine(change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
    let all: CpuList = (0..4).collect();
    facts.processor.present = Some(all.clone());
    facts.processor.online = Some(all.clone());
    facts.processor.isolated = Some(CpuList::default());
    facts.scheduling.rt_runtime_us = Some(950_000);
    facts.scheduling.rt_period_us = Some(1_000_000);
    facts.scheduling.deadline_period_min_us = Some(100);
    facts.scheduling.deadline_period_max_us = Some(4_194_304);
    facts.permission.user_id = Some(1000);
    facts.permission.capabilities = Some(Vec::new());
    facts.permission.rtprio_limit = Some(0);
    facts.permission.rtprio_limit_hard = Some(0);
    facts.permission.memlock_limit = Some(8 << 20);
    facts.permission.memlock_limit_hard = Some(8 << 20);
    facts.permission.nice = Some(0);
    facts.permission.nice_limit = Some(20);
    facts.permission.allowed_cpus = Some(all.clone());
    facts.permission.container = Some("none".to_owned());
    facts.permission.own_user_namespace = Some(false);
    facts.permission.seccomp = Some(false);
    facts.permission.no_new_privileges = Some(false);
    facts.permission.io_uring_disabled = Some(0);
    facts.cgroup.version = Some(2);
    facts.cgroup.cpu_directory = Some("/sys/fs/cgroup/user.slice".to_owned());
    facts.cgroup.cpuset_directory = Some("/sys/fs/cgroup/user.slice".to_owned());
    facts.cgroup.cpuset = Some(all);
    change(&mut facts);
    facts
}

/// The same, started by root with every capability.
fn root(change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    machine(|facts| {
        facts.permission.user_id = Some(0);
        let held = ["CAP_IPC_LOCK", "CAP_SYS_ADMIN", "CAP_SYS_NICE"];
        facts.permission.capabilities = Some(held.map(str::to_owned).to_vec());
        change(facts);
    })
}

/// A container of `name` whose calls are filtered and whose root holds nothing.
fn contained(name: &str, change: impl FnOnce(&mut MachineFacts)) -> MachineFacts {
    machine(|facts| {
        facts.permission.user_id = Some(0);
        facts.permission.container = Some(name.to_owned());
        facts.permission.seccomp = Some(true);
        change(facts);
    })
}

fn scheduling(text: &str) -> Asked {
    Asked::Scheduling { scheduling: text.parse().unwrap(), confined_to: None }
}

fn cpus(text: &str) -> CpuList {
    text.parse().unwrap()
}

#[track_caller]
fn check(asked: &Asked, errno: Errno, facts: &MachineFacts, reason: &str, mend: Option<&str>) {
    let found = diagnose(asked, errno, facts);
    assert_eq!(found.reason, reason);
    assert_eq!(found.mend.as_deref(), mend);
}

const SETCAP: Option<&str> = Some(
    "sudo setcap cap_perfmon,cap_dac_read_search,cap_ipc_lock,cap_sys_nice+ep \"$(command -v tactus)\"",
);

#[test]
fn a_priority_without_capability_and_limit() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &machine(|_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        SETCAP,
    );
}

#[test]
fn the_program_that_runs_is_the_one_to_be_granted() {
    let end = |program| {
        let command = grant_all(Some(program));
        command.split_once("+ep ").expect("a command of setcap").1.to_owned()
    };
    assert_eq!(end("/usr/local/bin/tactus"), "/usr/local/bin/tactus");
    assert_eq!(end("/home/a b/tactus"), "'/home/a b/tactus'");
    assert_eq!(end("/it's/tactus"), r"'/it'\''s/tactus'");
}

#[test]
fn a_priority_above_the_limit() {
    check(
        &scheduling("rr:90"),
        Errno::PERM,
        &machine(|facts| {
            facts.permission.rtprio_limit = Some(50);
            facts.permission.rtprio_limit_hard = Some(50);
        }),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO allows priorities up to 50 only",
        Some(
            "echo '@realtime - rtprio 99' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
        ),
    );
}

#[test]
fn a_priority_that_the_hard_limit_allows() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &machine(|facts| facts.permission.rtprio_limit_hard = Some(99)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some("ulimit -S -r 90"),
    );
}

#[test]
fn a_priority_in_containers() {
    let reason = "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0";
    for (name, mend) in [
        ("docker", "docker run --cap-add=SYS_NICE --ulimit rtprio=99 …"),
        ("podman", "podman run --cap-add=SYS_NICE --ulimit rtprio=99 …"),
        (
            "kubernetes",
            "in the pod's container: securityContext: {capabilities: {add: [SYS_NICE]}}",
        ),
        ("lxc", "in the container's configuration: lxc.prlimit.rtprio = 99"),
        ("systemd-nspawn", "systemd-nspawn --capability=CAP_SYS_NICE …"),
        ("unnamed", "give the container CAP_SYS_NICE where it is started"),
    ] {
        let facts = contained(name, |_| ());
        check(&scheduling("fifo:90"), Errno::PERM, &facts, reason, Some(mend));
    }
}

#[test]
fn a_capability_that_a_user_namespace_makes_void() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &root(|facts| {
            facts.permission.container = Some("podman".to_owned());
            facts.permission.own_user_namespace = Some(true);
        }),
        "CAP_SYS_NICE is held in a user namespace only, where it has no effect, and RLIMIT_RTPRIO is 0",
        Some(
            "echo '@realtime - rtprio 99' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again, \
             then podman run --ulimit rtprio=99 …",
        ),
    );
}

#[test]
fn a_process_that_can_gain_nothing() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &machine(|facts| facts.permission.no_new_privileges = Some(true)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some(
            "start it outside of what set no_new_privs, or with LimitRTPRIO=99 in its systemd unit",
        ),
    );
}

#[test]
fn root_that_lost_the_capability() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &machine(|facts| facts.permission.user_id = Some(0)),
        "CAP_SYS_NICE is not held, and RLIMIT_RTPRIO is 0",
        Some(
            "add CAP_SYS_NICE to CapabilityBoundingSet= of the systemd unit, or start it from a root shell",
        ),
    );
}

const NO_BUDGET: &str = "this process's cgroup has a real-time budget of 0 (RT_GROUP_SCHED), so the kernel refuses even root";

fn without_budget(facts: &mut MachineFacts) {
    facts.cgroup.version = Some(1);
    facts.cgroup.cpu_directory = Some("/sys/fs/cgroup/cpu/user.slice".to_owned());
    facts.cgroup.rt_runtime_us = Some(0);
    facts.kernel.rt_group_scheduling = Some(true);
}

#[test]
fn a_cgroup_without_budget_refuses_root() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &root(without_budget),
        NO_BUDGET,
        Some("echo 950000 | sudo tee /sys/fs/cgroup/cpu/user.slice/cpu.rt_runtime_us"),
    );
}

#[test]
fn a_cgroup_without_budget_refuses_who_is_within_the_limit() {
    check(
        &scheduling("fifo:50"),
        Errno::PERM,
        &machine(|facts| {
            without_budget(facts);
            facts.permission.rtprio_limit = Some(99);
        }),
        NO_BUDGET,
        Some("echo 950000 | sudo tee /sys/fs/cgroup/cpu/user.slice/cpu.rt_runtime_us"),
    );
}

#[test]
fn a_container_without_budget() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &root(|facts| {
            without_budget(facts);
            facts.permission.container = Some("docker".to_owned());
        }),
        NO_BUDGET,
        Some(
            "docker run --cpu-rt-runtime=950000 --cap-add=SYS_NICE --ulimit rtprio=99 … \
             (and the same budget for the daemon: dockerd --cpu-rt-runtime=950000)",
        ),
    );
}

#[test]
fn budgets_under_version_2_cannot_be_given() {
    let facts = |container: &str| {
        let container = container.to_owned();
        root(move |facts| {
            facts.kernel.rt_group_scheduling = Some(true);
            facts.permission.container = Some(container);
        })
    };
    let reason = "the kernel has RT_GROUP_SCHED, which under cgroup v2 leaves every cgroup but the root without a real-time budget";
    let asked = scheduling("fifo:90");
    check(
        &asked,
        Errno::PERM,
        &facts("none"),
        reason,
        Some("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs"),
    );
    check(
        &asked,
        Errno::PERM,
        &facts("docker"),
        reason,
        Some(
            "on the host: sudo sysctl kernel.sched_rt_runtime_us=-1 (turns real-time throttling off)",
        ),
    );
}

#[test]
fn a_filter_when_everything_else_is_granted() {
    let reason = "a seccomp filter refuses sched_setattr; nothing else that is known forbids it";
    let facts = |container: &str| {
        let container = container.to_owned();
        root(move |facts| {
            facts.permission.container = Some(container);
            facts.permission.seccomp = Some(true);
        })
    };
    for (container, mend) in [
        ("docker", "docker run --security-opt seccomp=unconfined …"),
        (
            "kubernetes",
            "in the pod's container: securityContext: {seccompProfile: {type: Unconfined}}",
        ),
        ("lxc", "start the container without its seccomp filter"),
        ("none", "without SystemCallFilter= in the systemd unit that starts it"),
    ] {
        let asked = scheduling("fifo:90");
        check(&asked, Errno::PERM, &facts(container), reason, Some(mend));
    }
}

#[test]
fn a_call_that_is_not_there() {
    check(
        &scheduling("fifo:90"),
        Errno::NOSYS,
        &contained("docker", |_| ()),
        "a seccomp filter answers sched_setattr as if the kernel did not have it",
        Some("docker run --security-opt seccomp=unconfined …"),
    );
    check(
        &Asked::IoUring,
        Errno::NOSYS,
        &root(|_| ()),
        "this kernel does not have io_uring_setup",
        None,
    );
}

#[test]
fn the_unexplained_says_so() {
    check(
        &scheduling("fifo:90"),
        Errno::PERM,
        &root(|_| ()),
        "sched_setattr was answered with \"Operation not permitted (os error 1)\", and no known cause fits",
        None,
    );
    check(
        &Asked::TimerSlack(Nanos::from_nanos(1)),
        Errno::INVAL,
        &machine(|_| ()),
        "prctl(PR_SET_TIMERSLACK) was answered with \"Invalid argument (os error 22)\", and no known cause fits",
        None,
    );
}

const DEADLINE: &str = "deadline:500us/1ms/1ms";

#[test]
fn the_deadline_class_without_capability() {
    check(
        &scheduling(DEADLINE),
        Errno::PERM,
        &machine(|facts| facts.permission.rtprio_limit = Some(99)),
        "CAP_SYS_NICE is not held, and no limit allows the deadline class without it",
        SETCAP,
    );
}

#[test]
fn a_pinned_deadline_task() {
    let asked =
        Asked::Scheduling { scheduling: DEADLINE.parse().unwrap(), confined_to: Some(cpus("1")) };
    let reason = "a deadline task must be able to run on all processors of its root domain, and it is pinned to 1, without 0,2-3";
    check(
        &asked,
        Errno::PERM,
        &root(|_| ()),
        reason,
        Some(
            "leave it unpinned, or run it in a cpuset partition: sudo sh -c 'cd /sys/fs/cgroup && \
             echo +cpuset > cgroup.subtree_control && mkdir -p tactus && \
             echo 1 > tactus/cpuset.cpus && echo root > tactus/cpuset.cpus.partition' && \
             echo $$ | sudo tee /sys/fs/cgroup/tactus/cgroup.procs",
        ),
    );
    check(
        &asked,
        Errno::PERM,
        &root(|facts| facts.cgroup.version = Some(1)),
        reason,
        Some(
            "leave it unpinned, or run it in an exclusive cpuset (cpuset(7)); \
             sudo sysctl kernel.sched_rt_runtime_us=-1 lifts the rule, and real-time throttling with it",
        ),
    );
}

#[test]
fn isolated_processors_are_no_part_of_the_root_domain() {
    let asked =
        Asked::Scheduling { scheduling: DEADLINE.parse().unwrap(), confined_to: Some(cpus("0-1")) };
    let facts = root(|facts| facts.processor.isolated = Some(cpus("2-3")));
    let found = diagnose(&asked, Errno::PERM, &facts);
    assert!(found.reason.ends_with("no known cause fits"), "{}", found.reason);
}

#[test]
fn a_deadline_task_in_a_cpuset() {
    check(
        &scheduling(DEADLINE),
        Errno::PERM,
        &root(|facts| {
            facts.permission.allowed_cpus = Some(cpus("0-1"));
            facts.cgroup.cpuset = Some(cpus("0-1"));
        }),
        "a deadline task must be able to run on all processors of its root domain, and its cpuset confines it to 0-1, without 2-3",
        Some(
            "give the cpuset a root domain of its own: echo root into its cpuset.cpus.partition \
             (cgroup v2), or cpuset.cpu_exclusive=1 with cpuset.sched_load_balance=0 above it (v1)",
        ),
    );
}

#[test]
fn no_bandwidth_for_the_deadline_class() {
    check(
        &scheduling(DEADLINE),
        Errno::PERM,
        &root(|facts| facts.scheduling.rt_runtime_us = Some(0)),
        "sched_rt_runtime_us is 0, which leaves the deadline class no bandwidth",
        Some("sudo sysctl kernel.sched_rt_runtime_us=950000"),
    );
}

#[test]
fn admission_is_full() {
    check(
        &scheduling(DEADLINE),
        Errno::BUSY,
        &root(|_| ()),
        "admission of the deadline class is full: with 50.0 % of a processor more, its tasks would exceed 95 % of each processor",
        Some("ask for a shorter runtime, or end deadline tasks: ps -eLo tid,cls,comm | grep DLN"),
    );
}

#[test]
fn deadline_periods_out_of_range() {
    check(
        &scheduling("deadline:10us/50us/50us"),
        Errno::INVAL,
        &root(|_| ()),
        "the kernel takes deadline periods of 100us and more",
        Some("sudo sysctl kernel.sched_deadline_period_min_us=50"),
    );
    check(
        &scheduling("deadline:1s/10s/10s"),
        Errno::INVAL,
        &root(|_| ()),
        "the kernel takes deadline periods up to 4194.304ms",
        Some("sudo sysctl kernel.sched_deadline_period_max_us=10000000"),
    );
    check(
        &scheduling(DEADLINE),
        Errno::INVAL,
        &root(|_| ()),
        "the kernel does not take these parameters of the deadline class, or has no such class",
        None,
    );
}

#[test]
fn an_older_kernel_knows_a_shorter_form() {
    check(
        &scheduling(DEADLINE),
        Errno::TOOBIG,
        &root(|_| ()),
        "this kernel knows a shorter form of sched_setattr than was used",
        None,
    );
}

#[test]
fn a_nice_value_below_the_limit() {
    check(
        &scheduling("other:-5"),
        Errno::ACCESS,
        &machine(|_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE does not allow less than the present 0",
        SETCAP,
    );
    check(
        &scheduling("batch:-15"),
        Errno::PERM,
        &machine(|facts| facts.permission.nice_limit = Some(-10)),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE allows -10 at best",
        Some(
            "echo '@realtime - nice -15' | sudo tee -a /etc/security/limits.d/realtime.conf && \
             sudo groupadd -f realtime && sudo usermod -aG realtime $USER, then log in again",
        ),
    );
    check(
        &scheduling("other"),
        Errno::PERM,
        &machine(|facts| facts.permission.nice = Some(10)),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE does not allow less than the present 10",
        SETCAP,
    );
    check(
        &scheduling("other:-20"),
        Errno::ACCESS,
        &contained("docker", |_| ()),
        "CAP_SYS_NICE is not held, and RLIMIT_NICE does not allow less than the present 0",
        Some("docker run --cap-add=SYS_NICE --ulimit nice=40 …"),
    );
}

#[test]
fn processors_that_cannot_be_used() {
    let confined = root(|facts| {
        facts.processor.present = Some(cpus("0-7"));
        facts.processor.online = Some(cpus("0-5"));
        facts.cgroup.cpuset = Some(cpus("0-3"));
    });
    let asked = |text| Asked::Processors(cpus(text));
    check(
        &asked("4"),
        Errno::INVAL,
        &confined,
        "processor 4 is outside this process's cpuset",
        Some("echo 0-4 | sudo tee /sys/fs/cgroup/user.slice/cpuset.cpus"),
    );
    check(
        &asked("6-7"),
        Errno::INVAL,
        &confined,
        "processors 6-7 are offline",
        Some(
            "echo 1 | sudo tee /sys/devices/system/cpu/cpu6/online && \
             echo 1 | sudo tee /sys/devices/system/cpu/cpu7/online",
        ),
    );
    check(
        &asked("9"),
        Errno::INVAL,
        &confined,
        "processor 9 is not present in this machine",
        Some("choose among processors 0-5"),
    );
    check(
        &asked("5-8"),
        Errno::INVAL,
        &confined,
        "processor 8 is not present in this machine, and processors 6-7 are offline, \
         and processor 5 is outside this process's cpuset",
        Some("echo 0-3,5 | sudo tee /sys/fs/cgroup/user.slice/cpuset.cpus"),
    );
    check(&asked(""), Errno::INVAL, &confined, "no processor was named", None);
    check(
        &asked("3"),
        Errno::INVAL,
        &contained("docker", |facts| facts.cgroup.cpuset = Some(cpus("0-1"))),
        "processor 3 is outside this process's cpuset",
        Some("docker run --cpuset-cpus=0-1,3 …"),
    );
}

#[test]
fn a_deadline_task_cannot_be_confined() {
    check(
        &Asked::Processors(cpus("1")),
        Errno::BUSY,
        &root(|_| ()),
        "the task is of the deadline class, which cannot be confined to 1 within its root domain",
        Some("leave it unpinned, or run it in a cpuset partition of its own"),
    );
}

#[test]
fn locked_memory_above_the_limit() {
    let asked = Asked::LockedMemory { bytes: Some(64 << 20) };
    check(
        &asked,
        Errno::NOMEM,
        &machine(|_| ()),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK allows 8192 KiB to be locked of the 65536 KiB asked for",
        SETCAP,
    );
    check(
        &asked,
        Errno::NOMEM,
        &machine(|facts| facts.permission.memlock_limit_hard = Some(100 << 20)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK allows 8192 KiB to be locked of the 65536 KiB asked for",
        Some("ulimit -S -l 65536"),
    );
    check(
        &Asked::LockedMemory { bytes: None },
        Errno::NOMEM,
        &machine(|facts| facts.permission.memlock_limit_hard = Some(u64::MAX)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK allows 8192 KiB to be locked",
        Some("ulimit -S -l unlimited"),
    );
    check(
        &asked,
        Errno::PERM,
        &contained("docker", |facts| facts.permission.memlock_limit = Some(0)),
        "CAP_IPC_LOCK is not held, and RLIMIT_MEMLOCK is 0",
        Some("docker run --cap-add=IPC_LOCK --ulimit memlock=-1 …"),
    );
    check(
        &asked,
        Errno::NOMEM,
        &root(|_| ()),
        "there is not enough memory to lock it, in the machine or in this process's cgroup",
        None,
    );
}

#[test]
fn the_idle_limit() {
    check(
        &Asked::IdleExitLatency,
        Errno::ACCESS,
        &machine(|_| ()),
        "only the owner of /dev/cpu_dma_latency, usually root, may write to it",
        Some("sudo chown $USER /dev/cpu_dma_latency"),
    );
    check(
        &Asked::IdleExitLatency,
        Errno::NOENT,
        &contained("docker", |_| ()),
        "the container does not have /dev/cpu_dma_latency",
        Some("docker run --device=/dev/cpu_dma_latency …"),
    );
    check(
        &Asked::IdleExitLatency,
        Errno::PERM,
        &contained("podman", |_| ()),
        "the container may not open the device /dev/cpu_dma_latency",
        Some("podman run --device=/dev/cpu_dma_latency …"),
    );
    check(
        &Asked::IdleExitLatency,
        Errno::NOENT,
        &root(|_| ()),
        "this kernel has no /dev/cpu_dma_latency",
        None,
    );
}

#[test]
fn io_uring() {
    let disabled = |value| machine(move |facts| facts.permission.io_uring_disabled = Some(value));
    let mend = Some("sudo sysctl kernel.io_uring_disabled=0");
    check(
        &Asked::IoUring,
        Errno::PERM,
        &disabled(1),
        "kernel.io_uring_disabled is 1: io_uring needs CAP_SYS_ADMIN or the group kernel.io_uring_group",
        mend,
    );
    check(
        &Asked::IoUring,
        Errno::PERM,
        &disabled(2),
        "kernel.io_uring_disabled is 2: io_uring is off for everybody",
        mend,
    );
    check(
        &Asked::IoUring,
        Errno::PERM,
        &contained("docker", |_| ()),
        "a seccomp filter refuses io_uring_setup; nothing else that is known forbids it",
        Some("docker run --security-opt seccomp=unconfined …"),
    );
}

/// Checks the alternatives that are tried one after the other when each is refused.
#[track_caller]
fn check_descent(asked: &str, facts: &MachineFacts, expected: &[&str]) {
    let mut tried = asked.parse().unwrap();
    for step in expected {
        tried = best_permitted(tried, facts);
        assert_eq!(tried.to_string(), *step, "after {asked}");
    }
    assert_eq!(best_permitted(tried, facts), tried, "the last of {asked} is never refused");
}

#[test]
fn the_best_that_is_permitted() {
    let nothing = machine(|_| ());
    let limited = machine(|facts| {
        facts.permission.rtprio_limit = Some(50);
        facts.permission.nice_limit = Some(-11);
    });
    let niced = machine(|facts| facts.permission.nice = Some(10));
    check_descent("fifo:90", &nothing, &["other"]);
    check_descent("fifo:90", &limited, &["fifo:50", "other:-11", "other"]);
    check_descent("rr:90", &limited, &["rr:50", "other:-11", "other"]);
    check_descent("fifo:40", &limited, &["other:-11", "other"]);
    check_descent("fifo:90", &root(|_| ()), &["other:-20", "other"]);
    check_descent(DEADLINE, &root(|_| ()), &["fifo:99", "other:-20", "other"]);
    check_descent(DEADLINE, &limited, &["fifo:50", "other:-11", "other"]);
    check_descent(DEADLINE, &nothing, &["other"]);
    check_descent("other:-20", &limited, &["other:-11", "other"]);
    check_descent("batch:-20", &limited, &["batch:-11", "batch", "other"]);
    check_descent("other", &niced, &["other:10"]);
    check_descent("idle", &niced, &["other:10"]);
    check_descent("other", &MachineFacts::unknown(Instant::from_nanos(0)), &[]);
}

#[test]
fn every_descent_ends_and_every_refusal_has_a_reason() {
    let machines = [
        MachineFacts::unknown(Instant::from_nanos(0)),
        machine(|_| ()),
        root(|_| ()),
        root(without_budget),
        contained("docker", |_| ()),
    ];
    let asked: Vec<Asked> = ["other:-3", "batch:7", "idle", "fifo:1", "rr:99", DEADLINE]
        .into_iter()
        .map(scheduling)
        .chain([
            Asked::Processors(cpus("0-9")),
            Asked::LockedMemory { bytes: None },
            Asked::IdleExitLatency,
            Asked::TimerSlack(Nanos::ZERO),
            Asked::IoUring,
        ])
        .collect();
    for facts in &machines {
        for asked in &asked {
            for errno in (1..134).map(Errno::from_raw_os_error) {
                assert!(!diagnose(asked, errno, facts).reason.is_empty());
            }
            if let Asked::Scheduling { scheduling, .. } = asked {
                let mut tried = *scheduling;
                for _ in 0..4 {
                    tried = best_permitted(tried, facts);
                }
                assert_eq!(best_permitted(tried, facts), tried);
            }
        }
    }
}
