//! Facts about the machine that affect its timing. `None` means unknown, never "no".

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::format::{THIN_SPACE, axis_length, span};
use crate::time::{Instant, Nanos, Realtime};

/// The machine at one moment.
///
/// Facts added in a later version are unknown in stored runs of an earlier version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// When the facts were read.
    pub taken: Instant<Realtime>,
    /// A digest that identifies the machine. It is not part of messages and exports, so a run
    /// that has it was begun by the store that contains it.
    #[serde(skip)]
    pub machine_id: Option<String>,
    /// Which node of a cluster it is, if the run was measured there for another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeFacts>,
    /// The kernel.
    #[serde(default)]
    pub kernel: KernelFacts,
    /// The CPUs.
    #[serde(default)]
    #[serde(alias = "processor")]
    pub cpu: CpuFacts,
    /// The scheduler's settings.
    #[serde(default)]
    pub scheduling: SchedulingFacts,
    /// The permissions of this process.
    #[serde(default)]
    pub permission: PermissionFacts,
    /// The control group of this process.
    #[serde(default)]
    pub cgroup: CgroupFacts,
    /// Memory.
    #[serde(default)]
    pub memory: MemoryFacts,
    /// Temperatures and throttling.
    #[serde(default)]
    pub thermal: ThermalFacts,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Steal time since boot, summed over all CPUs.
    pub steal: Option<Nanos>,
}

/// A node of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Its name in the cluster.
    pub name: String,
    /// The common beginning of the names of the runs that one command measured on its nodes.
    pub group: String,
}

/// The running kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelFacts {
    /// `uname -r`.
    pub release: Option<String>,
    /// `uname -v`.
    pub version: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// `/proc/cmdline`.
    pub command_line: Option<String>,
    /// `none`, `voluntary`, `full`, `lazy` or `rt`, if it can be determined.
    pub preemption: Option<String>,
    /// Tick rate in Hz (`CONFIG_HZ`), if the kernel's configuration is readable.
    pub tick_rate_hz: Option<u32>,
    /// Whether high-resolution timers are active (`/proc/timer_list` or clock_getres(2)).
    pub high_resolution_timers: Option<bool>,
    /// Whether cgroups have real-time budgets (`CONFIG_RT_GROUP_SCHED`).
    pub rt_group_scheduling: Option<bool>,
    /// Whether the hard-lockup detector, driven by NMIs, is on (`nmi_watchdog`).
    #[serde(default)]
    pub nmi_watchdog: Option<bool>,
    /// Whether the soft-lockup detector, a task of the highest priority, is on
    /// (`soft_watchdog`).
    #[serde(default)]
    pub soft_watchdog: Option<bool>,
    /// Build options for debugging that slow the whole kernel, for example `PROVE_LOCKING`, if
    /// its configuration is readable.
    #[serde(default)]
    pub debugging_options: Option<Vec<String>>,
    /// What the kernel refuses even to root: `none`, `integrity` or `confidentiality`
    /// (kernel_lockdown(7)); `none` too if the kernel was built without lockdown.
    #[serde(default)]
    pub lockdown: Option<String>,
}

/// The CPUs and what slows or stops them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// The model's name.
    pub model: Option<String>,
    /// CPUs that are present, online or not.
    pub present: Option<CpuList>,
    /// CPUs that are online.
    pub online: Option<CpuList>,
    /// Whether several logical CPUs share a core (SMT).
    pub smt: Option<bool>,
    /// The size of the last-level cache in bytes.
    pub last_level_cache: Option<u64>,
    /// CPUs excluded from the scheduler's load balancing (`isolcpus`).
    pub isolated: Option<CpuList>,
    /// Tickless CPUs (`nohz_full`).
    pub nohz_full: Option<CpuList>,
    /// The frequency governors in use, without duplicates.
    pub governors: Option<Vec<String>>,
    /// The frequency drivers in use, without duplicates.
    #[serde(default)]
    pub frequency_drivers: Option<Vec<String>>,
    /// The idle states of the first CPU, the shallowest first.
    pub idle_states: Option<Vec<String>>,
    /// The longest exit latency, in µs, of the enabled idle states of the first CPU.
    #[serde(default)]
    pub idle_exit_latency_us_max: Option<u64>,
    /// The current limit of idle-state exit latency in µs, set by programs that hold
    /// `/dev/cpu_dma_latency`; 2000 s if there is no limit.
    #[serde(default)]
    pub idle_exit_latency_limit_us: Option<u64>,
    /// System management interrupts (SMIs) since boot, in which the firmware stops all CPUs
    /// (MSR 0x34 on Intel CPUs).
    #[serde(default)]
    pub smi_count: Option<u64>,
    /// The hypervisor (`kvm`, `xen`, …); `none` if the CPU reports none.
    pub virtualization: Option<String>,
    /// The clock source in use.
    pub clock_source: Option<String>,
    /// The clock sources that the kernel trusts, the best first.
    #[serde(default)]
    pub available_clock_sources: Option<Vec<String>>,
    /// CPUs that currently receive device interrupts.
    #[serde(default)]
    pub interrupt_cpus: Option<CpuList>,
    /// CPUs to which new device interrupts go (`/proc/irq/default_smp_affinity`).
    #[serde(default)]
    pub default_interrupt_cpus: Option<CpuList>,
    /// The CPU's vulnerabilities, each with what the kernel does about it, for example
    /// `meltdown: PTI`; without those that do not affect this CPU
    /// (`/sys/devices/system/cpu/vulnerabilities`).
    #[serde(default)]
    pub vulnerabilities: Option<Vec<String>>,
}

impl CpuFacts {
    /// The CPUs that the kernel's command line keeps free for real-time work: `isolcpus` and
    /// `nohz_full`.
    pub fn kept_free(&self) -> CpuList {
        self.isolated.iter().chain(&self.nohz_full).flat_map(CpuList::iter).collect()
    }
}

/// The scheduler's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingFacts {
    /// `sched_rt_runtime_us`: the time per period that real-time tasks may use; −1 for no
    /// limit.
    pub rt_runtime_us: Option<i64>,
    /// `sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// The quantum of the rr class in milliseconds (`sched_rr_timeslice_ms`).
    pub rr_timeslice_ms: Option<u64>,
    /// The shortest period that the deadline class accepts (`sched_deadline_period_min_us`).
    pub deadline_period_min_us: Option<u64>,
    /// The longest period that the deadline class accepts (`sched_deadline_period_max_us`).
    pub deadline_period_max_us: Option<u64>,
    /// Whether autogroup is on, so that nice values act only within a session.
    pub autogroup: Option<bool>,
    /// By how much the kernel may delay an ordinary task's timers to coalesce them
    /// (`PR_GET_TIMERSLACK`); `None` for a task of a real-time class.
    #[serde(default)]
    pub timer_slack: Option<Nanos>,
    /// Whether `irqbalance` runs, which moves interrupts between CPUs.
    #[serde(default)]
    pub irqbalance: Option<bool>,
    /// Tasks of other programs in a real-time class, for example `pipewire fifo:88`.
    #[serde(default)]
    pub realtime_tasks: Option<Vec<String>>,
    /// The number of recordings that other Tactus processes are running.
    #[serde(default)]
    pub recordings: Option<u64>,
    /// What killed Tactus processes have left and the next measurement removes: changed settings,
    /// e.g. `/proc/sys/kernel/sched_rr_timeslice_ms`, and tracing instances, e.g.
    /// `tracing instance tactus-42-0`. `None` if this process may not see all of them.
    #[serde(default)]
    pub left_behind: Option<Vec<String>>,
    /// The CPU time per [`Self::fair_server_period`] reserved for ordinary tasks while
    /// real-time tasks use the rest; zero if the fair server is off.
    #[serde(default)]
    pub fair_server_runtime: Option<Nanos>,
    /// The period of the fair server.
    #[serde(default)]
    pub fair_server_period: Option<Nanos>,
    /// The number of user-space tasks in the deadline class.
    #[serde(default)]
    pub deadline_tasks: Option<u64>,
    /// The bandwidth reserved in the deadline class, in millionths of a CPU: including the fair
    /// servers if the kernel's own account is readable, else an upper limit for the tasks
    /// alone.
    #[serde(default)]
    pub deadline_reserved_ppm: Option<u64>,
    /// An upper limit of the bandwidth that the threads of the deadline class have reserved,
    /// those of the kernel included, in millionths of a CPU.
    #[serde(default)]
    pub deadline_threads_ppm: Option<u64>,
    /// Threads of the deadline class that are ready and have no runtime left, a few hundred at most;
    /// `None` if not all processes are visible.
    #[serde(default)]
    pub throttled_threads: Option<Vec<ThrottledThread>>,
    /// The kernel's accounts of deadline bandwidth; `None` if they cannot be read (debugfs).
    #[serde(default)]
    pub deadline_accounts: Option<Vec<DeadlineAccount>>,
}

/// A thread of the deadline class that waits for its replenishment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThrottledThread {
    /// Its ID.
    pub thread: u64,
    /// Its name.
    pub name: String,
    /// The CPU time that it has used since it began.
    pub ran: Nanos,
}

/// The deadline bandwidth that the kernel has counted for some CPUs.
///
/// CPUs of one root domain share an account, and CPUs with equal accounts and servers share an
/// entry: the kernel does not show which CPUs form a root domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlineAccount {
    /// The CPUs.
    pub cpus: CpuList,
    /// The bandwidth reserved in the root domain of each of these CPUs, servers included, in
    /// millionths of a CPU. Below zero, the kernel has subtracted more than it added.
    pub reserved_ppm: i64,
    /// The bandwidth that the servers of each of these CPUs (the fair server and that of
    /// `sched_ext`) reserve, in millionths of a CPU; `None` if it cannot be read.
    pub server_ppm: Option<u64>,
}

/// The permissions of this process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionFacts {
    /// The path of the program of this process.
    #[serde(default)]
    pub program: Option<String>,
    /// The capabilities that the file of the program gives to every user who runs it.
    #[serde(default)]
    pub program_capabilities: Option<Vec<String>>,
    /// The effective user.
    pub user_id: Option<u32>,
    /// The effective capabilities this process holds, of those relevant here (`CAP_SYS_NICE`,
    /// …).
    pub capabilities: Option<Vec<String>>,
    /// The highest real-time priority without privilege (`RLIMIT_RTPRIO`).
    pub rtprio_limit: Option<u64>,
    /// How far the user may raise `rtprio_limit` (its hard limit).
    pub rtprio_limit_hard: Option<u64>,
    /// Bytes that may be locked without privilege (`RLIMIT_MEMLOCK`); `u64::MAX` for no limit.
    pub memlock_limit: Option<u64>,
    /// How far the user may raise `memlock_limit` (its hard limit).
    pub memlock_limit_hard: Option<u64>,
    /// How long a real-time task may run without sleeping before it gets `SIGXCPU`, in µs
    /// (`RLIMIT_RTTIME`); `u64::MAX` for no limit.
    #[serde(default)]
    pub rttime_limit_us: Option<u64>,
    /// After how long the kernel kills it (the hard limit).
    #[serde(default)]
    pub rttime_limit_hard_us: Option<u64>,
    /// This process's nice value.
    pub nice: Option<i8>,
    /// The most favoured nice value without privilege (20 − `RLIMIT_NICE`); at 20
    /// a process can only make itself less favoured.
    pub nice_limit: Option<i8>,
    /// The CPUs this process may run on.
    pub allowed_cpus: Option<CpuList>,
    /// The container around this process (`docker`, `podman`, …); `none` where its
    /// namespaces are the machine's own.
    pub container: Option<String>,
    /// Whether this process is in a child user namespace, where its capabilities do not apply
    /// to scheduling and memory locking (user_namespaces(7)).
    pub own_user_namespace: Option<bool>,
    /// Whether system calls are filtered (seccomp(2)).
    pub seccomp: Option<bool>,
    /// Whether child programs are denied new privileges (`PR_SET_NO_NEW_PRIVS`).
    pub no_new_privileges: Option<bool>,
    /// `kernel.io_uring_disabled`: 0 permits everybody, 1 privileged processes only, 2 nobody.
    pub io_uring_disabled: Option<u8>,
    /// `kernel.perf_event_paranoid`: from 2 upwards only privileged processes may record kernel
    /// events.
    #[serde(default)]
    pub perf_event_paranoid: Option<i64>,
    /// Whether the kernel's tracepoint descriptions are readable.
    #[serde(default)]
    pub tracefs_readable: Option<bool>,
}

impl PermissionFacts {
    /// Whether this process holds `capability` and it applies to scheduling and memory, that
    /// is, not only within a child user namespace.
    pub fn holds(&self, capability: &str) -> Option<bool> {
        if self.own_user_namespace == Some(true) {
            return Some(false);
        }
        self.capabilities.as_ref().map(|held| held.iter().any(|name| name == capability))
    }
}

/// The control group of this process and its limits (cgroups(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupFacts {
    /// The version of the cgroup hierarchy that has the cpu controller.
    pub version: Option<u8>,
    /// The directory of the group that controls CPU time.
    pub cpu_directory: Option<String>,
    /// The group's real-time budget in µs, if the kernel supports such budgets
    /// (`cpu.rt_runtime_us`).
    pub rt_runtime_us: Option<i64>,
    /// The tightest CPU quota on the group and its ancestors, in µs per `quota_period_us`; −1
    /// for no limit (`cpu.max`, `cpu.cfs_quota_us`).
    pub quota_us: Option<i64>,
    /// The period of that quota.
    pub quota_period_us: Option<u64>,
    /// The directory of the group that restricts CPUs.
    pub cpuset_directory: Option<String>,
    /// The mount point of the hierarchy of that group.
    #[serde(default)]
    pub cpuset_mount: Option<String>,
    /// The version of that hierarchy.
    #[serde(default)]
    pub cpuset_version: Option<u8>,
    /// The CPUs that the group allows.
    pub cpuset: Option<CpuList>,
    /// The cpusets that have, or ask for, CPUs of their own.
    #[serde(default)]
    pub exclusive_cpusets: Option<Vec<ExclusiveCpuset>>,
}

/// A cpuset that has, or asks for, CPUs of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExclusiveCpuset {
    /// Its directory.
    pub directory: String,
    /// Its CPUs.
    pub cpus: CpuList,
    /// `cpuset.cpus.partition` of version 2, e.g. `root`, `isolated`, or `root invalid (…)`; for
    /// version 1, `exclusive`, or `balanced` if the scheduler of the group above still spreads
    /// threads over these CPUs (`cpuset.sched_load_balance`).
    pub state: String,
}

impl ExclusiveCpuset {
    /// Whether the kernel keeps other threads off its CPUs.
    pub fn is_in_effect(&self) -> bool {
        matches!(&*self.state, "root" | "isolated" | "exclusive")
    }
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// Total memory in bytes.
    pub total: Option<u64>,
    /// Swap space in bytes.
    pub swap: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Whether the kernel may move locked pages to compact memory
    /// (`vm.compact_unevictable_allowed`).
    #[serde(default)]
    pub compact_unevictable_allowed: Option<bool>,
}

/// Temperatures and throttling.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThermalFacts {
    /// The number of thermal throttling events since boot.
    pub throttle_count: Option<u64>,
    /// The thermal zones.
    pub zones: Option<Vec<ThermalZone>>,
    /// The active cooling devices, for example `thermal-cpufreq-0 3 of 7`.
    pub cooling: Option<Vec<String>>,
}

/// A thermal zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThermalZone {
    /// The kind of zone, for example `x86_pkg_temp`.
    pub kind: String,
    /// Its temperature in millidegrees Celsius.
    pub millidegrees: i64,
    /// The temperature at which the kernel starts to throttle CPUs.
    pub slows_from_millidegrees: Option<i64>,
}

/// One fact, formatted for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// The group of the fact, for example *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value, or [`FactRow::UNKNOWN`].
    pub value: String,
}

impl FactRow {
    /// The text for an unknown fact.
    pub const UNKNOWN: &str = "unknown";
}

impl MachineFacts {
    /// A machine with all facts unknown.
    pub fn unknown(taken: Instant<Realtime>) -> Self {
        Self {
            taken,
            machine_id: None,
            node: None,
            kernel: KernelFacts::default(),
            cpu: CpuFacts::default(),
            scheduling: SchedulingFacts::default(),
            permission: PermissionFacts::default(),
            cgroup: CgroupFacts::default(),
            memory: MemoryFacts::default(),
            thermal: ThermalFacts::default(),
            load_average: None,
            steal: None,
        }
    }

    /// All facts in display order.
    pub fn rows(&self) -> Vec<FactRow> {
        let mut rows = Rows { group: "Kernel", rows: Vec::new() };
        rows.text("release", &self.kernel.release);
        rows.text("version", &self.kernel.version);
        rows.text("machine", &self.kernel.machine);
        rows.text("command line", &self.kernel.command_line);
        rows.text("preemption", &self.kernel.preemption);
        rows.text(
            "tick rate",
            &self.kernel.tick_rate_hz.map(|rate| format!("{rate}{THIN_SPACE}Hz")),
        );
        rows.flag("high-resolution timers", self.kernel.high_resolution_timers);
        rows.flag("cgroup real-time budgets", self.kernel.rt_group_scheduling);
        rows.flag("hard-lockup detector", self.kernel.nmi_watchdog);
        rows.flag("soft-lockup detector", self.kernel.soft_watchdog);
        rows.words("debug options", self.kernel.debugging_options.as_deref());
        rows.text("lockdown", &self.kernel.lockdown);
        rows.group = "CPU";
        rows.text("model", &self.cpu.model);
        rows.text("present", &self.cpu.present);
        rows.text("online", &self.cpu.online);
        rows.flag("SMT", self.cpu.smt);
        rows.bytes("last-level cache", self.cpu.last_level_cache);
        rows.list("isolated", self.cpu.isolated.as_ref());
        rows.list("nohz_full", self.cpu.nohz_full.as_ref());
        rows.words("frequency governors", self.cpu.governors.as_deref());
        rows.words("frequency drivers", self.cpu.frequency_drivers.as_deref());
        rows.words("idle states", self.cpu.idle_states.as_deref());
        rows.micros("longest idle-state exit", self.cpu.idle_exit_latency_us_max);
        rows.micros("idle-state exit limit", self.cpu.idle_exit_latency_limit_us);
        rows.text("virtualization", &self.cpu.virtualization);
        rows.text("clock source", &self.cpu.clock_source);
        rows.words("clock sources", self.cpu.available_clock_sources.as_deref());
        rows.list("device interrupts", self.cpu.interrupt_cpus.as_ref());
        rows.list("new device interrupts", self.cpu.default_interrupt_cpus.as_ref());
        rows.words("vulnerabilities", self.cpu.vulnerabilities.as_deref());
        rows.group = "Scheduling";
        rows.budget("real-time runtime", self.scheduling.rt_runtime_us);
        rows.budget("real-time period", self.scheduling.rt_period_us);
        rows.length("rr quantum", self.scheduling.rr_timeslice_ms.map(Nanos::from_millis));
        rows.micros("shortest deadline period", self.scheduling.deadline_period_min_us);
        rows.micros("longest deadline period", self.scheduling.deadline_period_max_us);
        rows.flag("autogroup", self.scheduling.autogroup);
        rows.length("timer slack", self.scheduling.timer_slack);
        rows.flag("irqbalance", self.scheduling.irqbalance);
        rows.words("real-time tasks", self.scheduling.realtime_tasks.as_deref());
        rows.text("other recordings", &self.scheduling.recordings);
        rows.words("left by killed runs", self.scheduling.left_behind.as_deref());
        rows.length("fair server runtime", self.scheduling.fair_server_runtime);
        rows.length("fair server period", self.scheduling.fair_server_period);
        rows.text("deadline tasks", &self.scheduling.deadline_tasks);
        rows.text(
            "deadline reserved",
            &self.scheduling.deadline_reserved_ppm.map(|ppm| format!("{ppm} ppm")),
        );
        rows.text(
            "deadline threads",
            &self.scheduling.deadline_threads_ppm.map(|ppm| format!("at most {ppm} ppm")),
        );
        let throttled = self.scheduling.throttled_threads.as_ref().map(|threads| {
            let entry = |found: &ThrottledThread| format!("{} {}", found.name, found.thread);
            threads.iter().map(entry).collect::<Vec<String>>()
        });
        rows.words("throttled deadline threads", throttled.as_deref());
        let accounts = self.scheduling.deadline_accounts.as_ref().map(|accounts| {
            let entry = |account: &DeadlineAccount| {
                format!("{} ppm on CPUs {}", account.reserved_ppm, account.cpus)
            };
            accounts.iter().map(entry).collect::<Vec<String>>()
        });
        rows.words("deadline accounts", accounts.as_deref());
        rows.group = "Permission";
        rows.text("program", &self.permission.program);
        rows.words("program's capabilities", self.permission.program_capabilities.as_deref());
        rows.text("user", &self.permission.user_id);
        rows.words("capabilities", self.permission.capabilities.as_deref());
        rows.text("real-time priority limit", &self.permission.rtprio_limit);
        rows.text("real-time priority hard limit", &self.permission.rtprio_limit_hard);
        rows.bytes("locked memory limit", self.permission.memlock_limit);
        rows.bytes("locked memory hard limit", self.permission.memlock_limit_hard);
        rows.limit_us("real-time run limit", self.permission.rttime_limit_us);
        rows.limit_us("real-time run hard limit", self.permission.rttime_limit_hard_us);
        rows.text("nice", &self.permission.nice);
        rows.text("nice limit", &self.permission.nice_limit);
        rows.text("allowed CPUs", &self.permission.allowed_cpus);
        rows.text("container", &self.permission.container);
        rows.flag("child user namespace", self.permission.own_user_namespace);
        rows.flag("seccomp filter", self.permission.seccomp);
        rows.flag("no new privileges", self.permission.no_new_privileges);
        rows.text("io_uring disabled", &self.permission.io_uring_disabled);
        rows.text("perf_event_paranoid", &self.permission.perf_event_paranoid);
        rows.flag("tracepoints readable", self.permission.tracefs_readable);
        rows.group = "Cgroup";
        rows.text("version", &self.cgroup.version);
        rows.text("cpu directory", &self.cgroup.cpu_directory);
        rows.budget("real-time budget", self.cgroup.rt_runtime_us);
        let quota = self.cgroup.quota_us.map(|quota| match self.cgroup.quota_period_us {
            Some(period) if quota >= 0 => {
                format!("{} of {}", micros(quota.unsigned_abs()), micros(period))
            }
            _ => "none".to_owned(),
        });
        rows.text("quota", &quota);
        rows.text("cpuset directory", &self.cgroup.cpuset_directory);
        rows.text("cpuset mount", &self.cgroup.cpuset_mount);
        rows.text("cpuset version", &self.cgroup.cpuset_version);
        rows.list("cpuset", self.cgroup.cpuset.as_ref());
        let exclusive = self.cgroup.exclusive_cpusets.as_ref().map(|cpusets| {
            let entry = |one: &ExclusiveCpuset| {
                format!("{} has CPUs {}: {}", one.directory, one.cpus, one.state)
            };
            cpusets.iter().map(entry).collect::<Vec<String>>()
        });
        rows.words("exclusive cpusets", exclusive.as_deref());
        rows.group = "Memory";
        rows.bytes("total", self.memory.total);
        rows.bytes("swap", self.memory.swap);
        rows.text("transparent huge pages", &self.memory.transparent_huge_pages);
        rows.flag("compacts locked pages", self.memory.compact_unevictable_allowed);
        rows.group = "Load";
        let averages = self
            .load_average
            .map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}"));
        rows.text("load average", &averages);
        rows.text("steal time since boot", &self.steal.map(span));
        rows.text("SMIs since boot", &self.cpu.smi_count);
        rows.text("thermal throttling since boot", &self.thermal.throttle_count);
        rows.words("thermal throttling now", self.thermal.cooling.as_deref());
        let zones = self.thermal.zones.as_ref().map(|zones| {
            let degrees =
                |zone: &ThermalZone| format!("{} {} °C", zone.kind, zone.millidegrees / 1000);
            zones.iter().map(degrees).collect::<Vec<String>>()
        });
        rows.words("temperatures", zones.as_deref());
        rows.rows
    }
}

/// A duration in microseconds as text.
fn micros(value: u64) -> String {
    axis_length(Nanos::from_micros(value))
}

struct Rows {
    group: &'static str,
    rows: Vec<FactRow>,
}

impl Rows {
    fn text(&mut self, name: &'static str, value: &Option<impl ToString>) {
        let value = value.as_ref().map_or_else(|| FactRow::UNKNOWN.to_owned(), ToString::to_string);
        self.rows.push(FactRow { group: self.group, name, value });
    }

    fn length(&mut self, name: &'static str, value: Option<Nanos>) {
        self.text(name, &value.map(axis_length));
    }

    fn micros(&mut self, name: &'static str, value: Option<u64>) {
        self.text(name, &value.map(micros));
    }

    /// A limit in microseconds; the greatest value is none.
    fn limit_us(&mut self, name: &'static str, value: Option<u64>) {
        let shown = value.map(|value| match value {
            u64::MAX => "unlimited".to_owned(),
            value => micros(value),
        });
        self.text(name, &shown);
    }

    /// A limit in microseconds; a negative value is none.
    fn budget(&mut self, name: &'static str, value: Option<i64>) {
        let shown = value.map(|value| match u64::try_from(value) {
            Ok(value) => micros(value),
            Err(_) => "unlimited".to_owned(),
        });
        self.text(name, &shown);
    }

    fn flag(&mut self, name: &'static str, value: Option<bool>) {
        self.text(name, &value.map(|flag| if flag { "yes" } else { "no" }));
    }

    fn list(&mut self, name: &'static str, value: Option<&CpuList>) {
        let shown =
            value.map(|list| if list.is_empty() { "none".to_owned() } else { list.to_string() });
        self.text(name, &shown);
    }

    fn words(&mut self, name: &'static str, value: Option<&[String]>) {
        let shown =
            value.map(|words| if words.is_empty() { "none".to_owned() } else { words.join(", ") });
        self.text(name, &shown);
    }

    fn bytes(&mut self, name: &'static str, value: Option<u64>) {
        let shown = value.map(|bytes| match bytes {
            u64::MAX => "unlimited".to_owned(),
            0 => "none".to_owned(),
            _ if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
            _ if bytes < 10 << 30 => format!("{} MiB", bytes >> 20),
            _ => format!("{} GiB", bytes >> 30),
        });
        self.text(name, &shown);
    }
}
