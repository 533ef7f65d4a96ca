//! What is known of the machine that decides its timing. `None` means unknown, never "no".

use serde::{Deserialize, Serialize};

use crate::cpus::CpuList;
use crate::time::{Instant, Nanos, Realtime};

/// The machine at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// When they were taken.
    pub taken: Instant<Realtime>,
    /// The kernel.
    pub kernel: KernelFacts,
    /// The processors.
    pub processor: ProcessorFacts,
    /// The scheduler's settings.
    pub scheduling: SchedulingFacts,
    /// What this process may do.
    pub permission: PermissionFacts,
    /// Memory.
    pub memory: MemoryFacts,
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
}

/// The processors and what slows or stops them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorFacts {
    /// The model's name.
    pub model: Option<String>,
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
    /// The idle states of the first processor, the shallowest first.
    pub idle_states: Option<Vec<String>>,
    /// The hypervisor or container that is around us, where one shows itself.
    pub virtualization: Option<String>,
    /// The clock source in use.
    pub clock_source: Option<String>,
}

/// The scheduler's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulingFacts {
    /// `sched_rt_runtime_us`: real-time tasks may use so much of each period; −1 without limit.
    pub rt_runtime_us: Option<i64>,
    /// `sched_rt_period_us`.
    pub rt_period_us: Option<i64>,
    /// Whether sessions are grouped, which makes nice values act within a session only.
    pub autogroup: Option<bool>,
    /// The real-time budget of this process's cgroup in µs, where the kernel has such budgets.
    pub cgroup_rt_runtime_us: Option<i64>,
}

/// What this process may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionFacts {
    /// The effective user.
    pub user_id: Option<u32>,
    /// The effective capabilities that matter here (`CAP_SYS_NICE`, …) and are held.
    pub capabilities: Option<Vec<String>>,
    /// The highest real-time priority without privilege (`RLIMIT_RTPRIO`).
    pub rtprio_limit: Option<u64>,
    /// Bytes that may be locked without privilege (`RLIMIT_MEMLOCK`); `u64::MAX` without limit.
    pub memlock_limit: Option<u64>,
    /// Processors this process may run on.
    pub allowed_cpus: Option<CpuList>,
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

/// One fact as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactRow {
    /// What it is about, as *Kernel*.
    pub group: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its value, or `unknown`.
    pub value: String,
}

impl MachineFacts {
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
        rows.group = "Processor";
        rows.text("model", &self.processor.model);
        rows.text("online", &self.processor.online);
        rows.flag("several threads a core", self.processor.smt);
        rows.bytes("last-level cache", self.processor.last_level_cache);
        rows.list("isolated", self.processor.isolated.as_ref());
        rows.list("without tick", self.processor.nohz_full.as_ref());
        rows.words("frequency governors", self.processor.governors.as_deref());
        rows.words("idle states", self.processor.idle_states.as_deref());
        rows.text("virtualization", &self.processor.virtualization);
        rows.text("clock source", &self.processor.clock_source);
        rows.group = "Scheduling";
        rows.text("real-time runtime in us", &self.scheduling.rt_runtime_us);
        rows.text("real-time period in us", &self.scheduling.rt_period_us);
        rows.flag("autogroup", self.scheduling.autogroup);
        rows.text("cgroup real-time budget in us", &self.scheduling.cgroup_rt_runtime_us);
        rows.group = "Permission";
        rows.text("user", &self.permission.user_id);
        rows.words("capabilities", self.permission.capabilities.as_deref());
        rows.text("real-time priority limit", &self.permission.rtprio_limit);
        rows.bytes("locked memory limit", self.permission.memlock_limit);
        rows.text("allowed processors", &self.permission.allowed_cpus);
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
        rows.rows
    }
}

struct Rows {
    group: &'static str,
    rows: Vec<FactRow>,
}

impl Rows {
    fn text(&mut self, name: &'static str, value: &Option<impl ToString>) {
        let value = value.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
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
