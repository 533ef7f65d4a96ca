//! What is known of the machine that decides its timing. `None` means unknown, never "no".

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::time::{Instant, Nanos, Realtime};

/// The machine at one moment.
///
/// Facts that an older version did not know are unknown in what it stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// When they were taken.
    pub taken: Instant<Realtime>,
    /// The kernel.
    #[serde(default)]
    pub kernel: KernelFacts,
    /// The processors.
    #[serde(default)]
    pub processor: ProcessorFacts,
    /// The scheduler's settings.
    #[serde(default)]
    pub scheduling: SchedulingFacts,
    /// What this process may do.
    #[serde(default)]
    pub permission: PermissionFacts,
    /// The control group of this process.
    #[serde(default)]
    pub cgroup: CgroupFacts,
    /// Memory.
    #[serde(default)]
    pub memory: MemoryFacts,
    /// Heat.
    #[serde(default)]
    pub thermal: ThermalFacts,
    /// Load averages over 1, 5 and 15 minutes.
    pub load_average: Option<[f64; 3]>,
    /// Processor time the hypervisor gave to others since boot, all processors together.
    pub steal: Option<Nanos>,
}

/// The kernel that runs.
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
    /// `none`, `voluntary`, `full`, `lazy` or `rt`, where it can be told.
    pub preemption: Option<String>,
    /// Ticks a second (`CONFIG_HZ`), where the kernel's configuration can be read.
    pub tick_rate_hz: Option<u32>,
    /// Whether timers are of high resolution (`/proc/timer_list` or clock_getres(2)).
    pub high_resolution_timers: Option<bool>,
    /// Whether cgroups have real-time budgets (`CONFIG_RT_GROUP_SCHED`).
    pub rt_group_scheduling: Option<bool>,
    /// Whether an unmaskable interrupt looks for processors that hang (`nmi_watchdog`).
    #[serde(default)]
    pub nmi_watchdog: Option<bool>,
    /// Whether a task of the highest priority looks for processors that hang (`soft_watchdog`).
    #[serde(default)]
    pub soft_watchdog: Option<bool>,
    /// Options for debugging that slow the whole kernel and that it was built with, as
    /// `PROVE_LOCKING`, where its configuration can be read.
    #[serde(default)]
    pub debugging_options: Option<Vec<String>>,
}

/// The processors and what slows or stops them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorFacts {
    /// The model's name.
    pub model: Option<String>,
    /// Processors that are there, online or not.
    pub present: Option<CpuList>,
    /// Processors that are online.
    pub online: Option<CpuList>,
    /// Whether several logical processors share a core.
    pub smt: Option<bool>,
    /// The size of the last-level cache in bytes.
    pub last_level_cache: Option<u64>,
    /// Processors kept from the scheduler (`isolcpus`).
    pub isolated: Option<CpuList>,
    /// Processors without a tick (`nohz_full`).
    pub nohz_full: Option<CpuList>,
    /// The frequency governors in use, without repetition.
    pub governors: Option<Vec<String>>,
    /// The frequency drivers in use, without repetition.
    #[serde(default)]
    pub frequency_drivers: Option<Vec<String>>,
    /// The idle states of the first processor, the shallowest first.
    pub idle_states: Option<Vec<String>>,
    /// The longest exit latency in µs of the first processor's idle states that are not disabled.
    #[serde(default)]
    pub idle_exit_latency_us_max: Option<u64>,
    /// The longest exit latency in µs that any program allows at present, by holding
    /// `/dev/cpu_dma_latency`; of two thousand seconds when none does.
    #[serde(default)]
    pub idle_exit_latency_limit_us: Option<u64>,
    /// Interrupts of the firmware since boot, which stop all processors (system management
    /// interrupts, MSR 0x34 of processors of Intel).
    #[serde(default)]
    pub smi_count: Option<u64>,
    /// The hypervisor below the kernel (`kvm`, `xen`, …); `none` where the processor would show one.
    pub virtualization: Option<String>,
    /// The clock source in use.
    pub clock_source: Option<String>,
    /// The clock sources that the kernel trusts, the best first.
    #[serde(default)]
    pub available_clock_sources: Option<Vec<String>>,
    /// Processors to which interrupts of devices go at present.
    #[serde(default)]
    pub interrupt_cpus: Option<CpuList>,
}

/// The scheduler's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingFacts {
    /// `sched_rt_runtime_us`: real-time tasks may use so much of each period; −1 without limit.
    pub rt_runtime_us: Option<i64>,
    /// `sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// The quantum of the rr class in milliseconds (`sched_rr_timeslice_ms`).
    pub rr_timeslice_ms: Option<u64>,
    /// The shortest period the deadline class takes (`sched_deadline_period_min_us`).
    pub deadline_period_min_us: Option<u64>,
    /// The longest period the deadline class takes (`sched_deadline_period_max_us`).
    pub deadline_period_max_us: Option<u64>,
    /// Whether sessions are grouped, which makes nice values act within a session only.
    pub autogroup: Option<bool>,
    /// How long an ordinary task's timers may be late to coincide with others
    /// (`PR_GET_TIMERSLACK`); nothing for a task of a real-time class.
    #[serde(default)]
    pub timer_slack: Option<Nanos>,
    /// Whether `irqbalance` runs, which moves interrupts between processors.
    #[serde(default)]
    pub irqbalance: Option<bool>,
    /// Tasks of other programs that are scheduled by a real-time class, as `pipewire fifo:88`.
    #[serde(default)]
    pub realtime_tasks: Option<Vec<String>>,
    /// Recordings by other processes of Tactus that are under way.
    #[serde(default)]
    pub recordings: Option<u64>,
    /// The processor time of each [`Self::fair_server_period`] that ordinary tasks get when
    /// real-time tasks leave none; zero when the fair server is off.
    #[serde(default)]
    pub fair_server_runtime: Option<Nanos>,
    /// The period of the fair server.
    #[serde(default)]
    pub fair_server_period: Option<Nanos>,
    /// Tasks of programs that are of the deadline class.
    #[serde(default)]
    pub deadline_tasks: Option<u64>,
    /// What the deadline class has reserved, in millionths of a processor: with the fair servers
    /// where the kernel's own account can be read, else by tasks alone and at most.
    #[serde(default)]
    pub deadline_reserved_ppm: Option<u64>,
}

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionFacts {
    /// The path of the program that this process runs.
    #[serde(default)]
    pub program: Option<String>,
    /// The effective user.
    pub user_id: Option<u32>,
    /// The effective capabilities that matter here (`CAP_SYS_NICE`, …) and are held.
    pub capabilities: Option<Vec<String>>,
    /// The highest real-time priority without privilege (`RLIMIT_RTPRIO`).
    pub rtprio_limit: Option<u64>,
    /// How far the user may raise `rtprio_limit` (its hard limit).
    pub rtprio_limit_hard: Option<u64>,
    /// Bytes that may be locked without privilege (`RLIMIT_MEMLOCK`); `u64::MAX` without limit.
    pub memlock_limit: Option<u64>,
    /// How far the user may raise `memlock_limit` (its hard limit).
    pub memlock_limit_hard: Option<u64>,
    /// This process's nice value.
    pub nice: Option<i8>,
    /// The most favoured nice value without privilege (20 − `RLIMIT_NICE`); at 20
    /// a process can only make itself less favoured.
    pub nice_limit: Option<i8>,
    /// Processors this process may run on.
    pub allowed_cpus: Option<CpuList>,
    /// The container around this process (`docker`, `podman`, …); `none` where its
    /// namespaces are the machine's own.
    pub container: Option<String>,
    /// Whether this process lives in a user namespace of its own, where its
    /// capabilities have no effect on scheduling and memory locking (user_namespaces(7)).
    pub own_user_namespace: Option<bool>,
    /// Whether system calls are filtered (seccomp(2)).
    pub seccomp: Option<bool>,
    /// Whether programs that this process starts can gain no privilege (`PR_SET_NO_NEW_PRIVS`).
    pub no_new_privileges: Option<bool>,
    /// `kernel.io_uring_disabled`: 0 for everybody, 1 privileged only, 2 nobody.
    pub io_uring_disabled: Option<u8>,
    /// `kernel.perf_event_paranoid`: from 2 upwards the kernel's events are for the privileged.
    #[serde(default)]
    pub perf_event_paranoid: Option<i64>,
    /// Whether the descriptions of the kernel's tracepoints can be read.
    #[serde(default)]
    pub tracefs_readable: Option<bool>,
}

impl PermissionFacts {
    /// Whether `capability` is effective for scheduling and memory: held, and not
    /// merely within a user namespace of its own.
    pub fn holds(&self, capability: &str) -> Option<bool> {
        if self.own_user_namespace == Some(true) {
            return Some(false);
        }
        self.capabilities.as_ref().map(|held| held.iter().any(|name| name == capability))
    }
}

/// The control group of this process and what it limits (cgroups(7)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CgroupFacts {
    /// The version of the cgroup hierarchy that has the cpu controller.
    pub version: Option<u8>,
    /// The directory of the group that shares out processor time.
    pub cpu_directory: Option<String>,
    /// The group's real-time budget in µs, where the kernel has such budgets (`cpu.rt_runtime_us`).
    pub rt_runtime_us: Option<i64>,
    /// The tightest quota of time sharing on the group and those above it, in µs
    /// of each `quota_period_us`; −1 without limit (`cpu.max`, `cpu.cfs_quota_us`).
    pub quota_us: Option<i64>,
    /// The period of that quota.
    pub quota_period_us: Option<u64>,
    /// The directory of the group that confines processors.
    pub cpuset_directory: Option<String>,
    /// The processors to which the group confines.
    pub cpuset: Option<CpuList>,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryFacts {
    /// All of it, in bytes.
    pub total: Option<u64>,
    /// Swap space in bytes.
    pub swap: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
}

/// Heat, and what was done about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThermalFacts {
    /// How many times processors were slowed since boot because they were too hot.
    pub throttle_count: Option<u64>,
    /// The places whose temperature is known.
    pub zones: Option<Vec<ThermalZone>>,
    /// What slows processors at present for their heat, as `thermal-cpufreq-0 3 of 7`.
    pub cooling: Option<Vec<String>>,
}

/// A place whose temperature is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThermalZone {
    /// What it is, as `x86_pkg_temp`.
    pub kind: String,
    /// Its temperature in thousandths of a degree Celsius.
    pub millidegrees: i64,
    /// From which temperature on the kernel slows processors.
    pub slows_from_millidegrees: Option<i64>,
}

/// One fact as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// What it is about, as *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value, or [`FactRow::UNKNOWN`].
    pub value: String,
}

impl FactRow {
    /// The value of a fact that is not known.
    pub const UNKNOWN: &str = "unknown";
}

impl MachineFacts {
    /// A machine of which nothing is known.
    pub fn unknown(taken: Instant<Realtime>) -> Self {
        Self {
            taken,
            kernel: KernelFacts::default(),
            processor: ProcessorFacts::default(),
            scheduling: SchedulingFacts::default(),
            permission: PermissionFacts::default(),
            cgroup: CgroupFacts::default(),
            memory: MemoryFacts::default(),
            thermal: ThermalFacts::default(),
            load_average: None,
            steal: None,
        }
    }

    /// All facts in the order in which they are shown.
    pub fn rows(&self) -> Vec<FactRow> {
        let mut rows = Rows { group: "Kernel", rows: Vec::new() };
        rows.text("release", &self.kernel.release);
        rows.text("version", &self.kernel.version);
        rows.text("machine", &self.kernel.machine);
        rows.text("command line", &self.kernel.command_line);
        rows.text("preemption", &self.kernel.preemption);
        rows.text("tick rate in Hz", &self.kernel.tick_rate_hz);
        rows.flag("high-resolution timers", self.kernel.high_resolution_timers);
        rows.flag("real-time budgets of cgroups", self.kernel.rt_group_scheduling);
        rows.flag("watchdog by interrupt", self.kernel.nmi_watchdog);
        rows.flag("watchdog by task", self.kernel.soft_watchdog);
        rows.words("options for debugging", self.kernel.debugging_options.as_deref());
        rows.group = "Processor";
        rows.text("model", &self.processor.model);
        rows.text("present", &self.processor.present);
        rows.text("online", &self.processor.online);
        rows.flag("several threads a core", self.processor.smt);
        rows.bytes("last-level cache", self.processor.last_level_cache);
        rows.list("isolated", self.processor.isolated.as_ref());
        rows.list("without tick", self.processor.nohz_full.as_ref());
        rows.words("frequency governors", self.processor.governors.as_deref());
        rows.words("frequency drivers", self.processor.frequency_drivers.as_deref());
        rows.words("idle states", self.processor.idle_states.as_deref());
        rows.text("longest idle exit in us", &self.processor.idle_exit_latency_us_max);
        rows.text("idle exit limit in us", &self.processor.idle_exit_latency_limit_us);
        rows.text("virtualization", &self.processor.virtualization);
        rows.text("clock source", &self.processor.clock_source);
        rows.words("clock sources", self.processor.available_clock_sources.as_deref());
        rows.list("interrupts of devices", self.processor.interrupt_cpus.as_ref());
        rows.group = "Scheduling";
        rows.text("real-time runtime in us", &self.scheduling.rt_runtime_us);
        rows.text("real-time period in us", &self.scheduling.rt_period_us);
        rows.text("rr quantum in ms", &self.scheduling.rr_timeslice_ms);
        rows.text("shortest deadline period in us", &self.scheduling.deadline_period_min_us);
        rows.text("longest deadline period in us", &self.scheduling.deadline_period_max_us);
        rows.flag("autogroup", self.scheduling.autogroup);
        rows.text("timer slack", &self.scheduling.timer_slack);
        rows.flag("irqbalance", self.scheduling.irqbalance);
        rows.words("real-time tasks", self.scheduling.realtime_tasks.as_deref());
        rows.text("other recordings", &self.scheduling.recordings);
        rows.text("fair server runtime", &self.scheduling.fair_server_runtime);
        rows.text("fair server period", &self.scheduling.fair_server_period);
        rows.text("deadline tasks", &self.scheduling.deadline_tasks);
        rows.text("deadline reserved in ppm", &self.scheduling.deadline_reserved_ppm);
        rows.group = "Permission";
        rows.text("program", &self.permission.program);
        rows.text("user", &self.permission.user_id);
        rows.words("capabilities", self.permission.capabilities.as_deref());
        rows.text("real-time priority limit", &self.permission.rtprio_limit);
        rows.text("real-time priority hard limit", &self.permission.rtprio_limit_hard);
        rows.bytes("locked memory limit", self.permission.memlock_limit);
        rows.bytes("locked memory hard limit", self.permission.memlock_limit_hard);
        rows.text("nice", &self.permission.nice);
        rows.text("nice limit", &self.permission.nice_limit);
        rows.text("allowed processors", &self.permission.allowed_cpus);
        rows.text("container", &self.permission.container);
        rows.flag("user namespace of its own", self.permission.own_user_namespace);
        rows.flag("system calls filtered", self.permission.seccomp);
        rows.flag("no new privileges", self.permission.no_new_privileges);
        rows.text("io_uring disabled", &self.permission.io_uring_disabled);
        rows.text("perf_event_paranoid", &self.permission.perf_event_paranoid);
        rows.flag("tracepoints readable", self.permission.tracefs_readable);
        rows.group = "Cgroup";
        rows.text("version", &self.cgroup.version);
        rows.text("cpu directory", &self.cgroup.cpu_directory);
        rows.text("real-time budget in us", &self.cgroup.rt_runtime_us);
        let quota = self.cgroup.quota_us.map(|quota| match self.cgroup.quota_period_us {
            Some(period) if quota >= 0 => format!("{quota} of {period}"),
            _ => "none".to_owned(),
        });
        rows.text("quota in us", &quota);
        rows.text("cpuset directory", &self.cgroup.cpuset_directory);
        rows.list("cpuset", self.cgroup.cpuset.as_ref());
        rows.group = "Memory";
        rows.bytes("total", self.memory.total);
        rows.bytes("swap", self.memory.swap);
        rows.text("transparent huge pages", &self.memory.transparent_huge_pages);
        rows.group = "Load";
        let averages = self
            .load_average
            .map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}"));
        rows.text("load average", &averages);
        rows.text("steal since boot", &self.steal);
        rows.text("firmware interrupts since boot", &self.processor.smi_count);
        rows.text("slowed by heat since boot", &self.thermal.throttle_count);
        rows.words("slowed by heat now", self.thermal.cooling.as_deref());
        let zones = self.thermal.zones.as_ref().map(|zones| {
            let degrees =
                |zone: &ThermalZone| format!("{} {} °C", zone.kind, zone.millidegrees / 1000);
            zones.iter().map(degrees).collect::<Vec<String>>()
        });
        rows.words("temperatures", zones.as_deref());
        rows.rows
    }
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
