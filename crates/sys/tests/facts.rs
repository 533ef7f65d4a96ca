//! The facts of simulated machines, of garbage, and of the machine that runs this test.

mod support;

use std::path::Path;

use proptest::prelude::*;
use support::FakeRoot;
use tactus_model::cpus::CpuList;
use tactus_model::facts::MachineFacts;
use tactus_model::time::{Instant, Nanos};
use tactus_sys::facts::{CallFacts, read, read_with};

fn cpus(text: &str) -> Option<CpuList> {
    Some(text.parse().unwrap())
}

fn words(text: &str) -> Option<Vec<String>> {
    Some(text.split_whitespace().map(str::to_owned).collect())
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

const DESKTOP: &str = r"
    proc/sys/kernel/osrelease = 6.1.0-18-amd64
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
    proc/cmdline = BOOT_IMAGE=/vmlinuz root=/dev/sda1 isolcpus=2-3 nohz_full=2-3
    boot/config-6.1.0-18-amd64 = # CONFIG_PREEMPT_NONE is not set\nCONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_RT_GROUP_SCHED is not set
    proc/timer_list = Timer List Version: v0.9\n  .hres_active    : 1
    proc/cpuinfo = CPU\t: 0\nmodel name\t: Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz\nflags\t\t: fpu vme ht
    sys/devices/system/cpu/present = 0-3
    sys/devices/system/cpu/online = 0-3
    sys/devices/system/cpu/isolated = 2-3
    sys/devices/system/cpu/nohz_full = 2-3
    sys/devices/system/cpu/smt/active = 1
    sys/devices/system/cpu/cpu0/cache/index0/level = 1
    sys/devices/system/cpu/cpu0/cache/index0/size = 32K
    sys/devices/system/cpu/cpu0/cache/index3/level = 3
    sys/devices/system/cpu/cpu0/cache/index3/size = 6144K
    sys/devices/system/cpu/vulnerabilities/meltdown = Mitigation: PTI
    sys/devices/system/cpu/vulnerabilities/srbds = Not affected
    sys/devices/system/cpu/vulnerabilities/mds = Vulnerable: Clear CPU buffers attempted, no microcode
    proc/sys/kernel/watchdog = 1
    proc/sys/kernel/nmi_watchdog = 1
    proc/sys/kernel/soft_watchdog = 1
    proc/sys/kernel/perf_event_paranoid = -1
    proc/self/timerslack_ns = 50000
    proc/irq/1/smp_affinity_list = 0-3
    proc/irq/9/smp_affinity_list = 0-3
    proc/irq/9/effective_affinity_list = 2
    proc/irq/9/acpi/
    proc/irq/12/smp_affinity_list = 0-1
    proc/irq/12/i8042/
    proc/1/stat = 1 (systemd) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/18/stat = 18 (migration/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 -100 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 99 1 0 0
    proc/700/stat = 700 (irqbalance) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/800/stat = 800 (a) b) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/800/task/800/stat = 800 (a) b) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/800/task/801/stat = 801 (data-loop.0) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 -89 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 88 1 0 0
    proc/800/task/802/stat = 802 (data-loop.0) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 -89 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 88 1 0 0
    sys/kernel/tracing/
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = intel_pstate
    sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 2
    sys/devices/system/cpu/cpu0/cpuidle/state2/latency = 10
    sys/devices/system/cpu/cpu0/cpuidle/state10/latency = 890
    sys/devices/system/cpu/cpu0/cpuidle/state10/disable = 1
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = powersave
    sys/devices/system/cpu/cpufreq/policy1/scaling_governor = performance
    sys/devices/system/cpu/cpufreq/policy2/scaling_governor = powersave
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = POLL
    sys/devices/system/cpu/cpu0/cpuidle/state1/name = C1
    sys/devices/system/cpu/cpu0/cpuidle/state2/name = C1E
    sys/devices/system/cpu/cpu0/cpuidle/state10/name = C10
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
    sys/class/dmi/id/sys_vendor = LENOVO
    proc/sys/kernel/sched_rt_runtime_us = 950000
    proc/sys/kernel/sched_rt_period_us = 1000000
    proc/sys/kernel/sched_autogroup_enabled = 1
    proc/self/status = Name:\ttactus\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-1\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0
    proc/self/limits = Limit                     Soft Limit           Hard Limit           Units
    |Max locked memory         8388608              unlimited            bytes
    |Max nice priority         31                   31
    |Max realtime priority     0                    95
    |Max realtime timeout      200000               unlimited            us
    proc/irq/default_smp_affinity = 1,0000000f
    proc/sys/vm/compact_unevictable_allowed = 1
    sys/kernel/security/lockdown = none [integrity] confidentiality
    sys/fs/cgroup/rt/cpuset.cpus = 2-3
    sys/fs/cgroup/rt/cpuset.cpus.partition = isolated
    sys/fs/cgroup/rt/below/cpuset.cpus = 3
    sys/fs/cgroup/rt/below/cpuset.cpus.partition = root invalid (Parent is not a partition root)
    sys/fs/cgroup/user.slice/cpuset.cpus.partition = member
    proc/self/stat = 4242 (tact) us) S 1 4242 4242 0 -1 0 0 0 0 0 0 0 0 0 20 -5 1 0 99
    proc/self/ns/pid -> pid:[4026531836]
    proc/self/ns/uts -> uts:[4026531838]
    proc/self/ns/ipc -> ipc:[4026531839]
    proc/self/ns/cgroup -> cgroup:[4026531835]
    proc/self/ns/user -> user:[4026531837]
    proc/self/cgroup = 0::/user.slice/user-1000.slice/session-2.scope
    proc/self/mountinfo = 35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
    sys/fs/cgroup/cpuset.cpus.effective = 0-3
    sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope/
    proc/meminfo = MemTotal:        8000000 kB\nSwapTotal:       2000 kB
    sys/kernel/mm/transparent_hugepage/enabled = always [madvise] never
    proc/loadavg = 0.52 0.58 0.59 1/830 4242
    proc/stat = cpu  100 0 50 1000 5 0 1 0 0 0
";

#[test]
fn a_desktop_on_bare_metal() {
    let root = FakeRoot::new(DESKTOP);
    let facts = read(root.path());
    let kernel = &facts.kernel;
    assert_eq!(kernel.release, text("6.1.0-18-amd64"));
    assert_eq!(kernel.preemption, text("voluntary"));
    assert_eq!(kernel.tick_rate_hz, Some(250));
    assert_eq!(kernel.high_resolution_timers, Some(true));
    assert_eq!(kernel.rt_group_scheduling, Some(false));
    let cpu = &facts.cpu;
    assert_eq!(cpu.model, text("Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz"));
    assert_eq!(cpu.online, cpus("0-3"));
    assert_eq!(cpu.smt, Some(true));
    assert_eq!(cpu.last_level_cache, Some(6 << 20));
    assert_eq!(cpu.isolated, cpus("2-3"));
    assert_eq!(cpu.nohz_full, cpus("2-3"));
    assert_eq!(cpu.governors, words("performance powersave"));
    assert_eq!(cpu.idle_states, words("POLL C1 C1E C10"));
    let mds = "mds: Vulnerable: Clear CPU buffers attempted, no microcode";
    assert_eq!(cpu.vulnerabilities, Some(vec![mds.to_owned(), "meltdown: PTI".to_owned()]));
    assert_eq!(cpu.virtualization, text("none"));
    assert_eq!(cpu.clock_source, text("tsc"));
    let scheduling = &facts.scheduling;
    assert_eq!(scheduling.rt_runtime_us, Some(950_000));
    assert_eq!(scheduling.autogroup, Some(true));
    let permission = &facts.permission;
    assert_eq!(permission.user_id, Some(1000));
    assert_eq!(permission.capabilities, Some(Vec::new()));
    assert_eq!((permission.rtprio_limit, permission.rtprio_limit_hard), (Some(0), Some(95)));
    assert_eq!(permission.memlock_limit, Some(8 << 20));
    assert_eq!(permission.memlock_limit_hard, Some(u64::MAX));
    assert_eq!((permission.nice, permission.nice_limit), (Some(-5), Some(-11)));
    assert_eq!(permission.allowed_cpus, cpus("0-1"));
    assert_eq!(permission.container, text("none"));
    assert_eq!(permission.own_user_namespace, Some(false));
    let cgroup = &facts.cgroup;
    assert_eq!(cgroup.version, Some(2));
    assert_eq!(
        cgroup.cpu_directory,
        text("/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope")
    );
    assert_eq!(cgroup.quota_us, Some(-1));
    assert_eq!(cgroup.cpuset, cpus("0-3"), "the group above confines");
    assert_eq!(facts.memory.total, Some(8_000_000 * 1024));
    assert_eq!(facts.memory.transparent_huge_pages, text("madvise"));
    assert_eq!(facts.load_average, Some([0.52, 0.58, 0.59]));
    assert_eq!(facts.steal, Some(Nanos::ZERO));
}

#[test]
fn what_matters_to_real_time_programs_on_a_desktop() {
    let facts = read(FakeRoot::new(DESKTOP).path());
    assert_eq!(facts.kernel.lockdown, text("integrity"));
    assert_eq!(facts.memory.compact_unevictable_allowed, Some(true));
    let permission = &facts.permission;
    let limits = (permission.rttime_limit_us, permission.rttime_limit_hard_us);
    assert_eq!(limits, (Some(200_000), Some(u64::MAX)));
    assert_eq!(facts.cpu.default_interrupt_cpus, cpus("0-3,32"));
    let found = facts.cgroup.exclusive_cpusets.unwrap();
    let [below, above] = &found[..] else { panic!("{found:?}") };
    let (above, below) = if above.state == "isolated" { (above, below) } else { (below, above) };
    assert_eq!((above.directory.as_str(), above.is_in_effect()), ("/sys/fs/cgroup/rt", true));
    assert_eq!(Some(above.cpus.clone()), cpus("2-3"));
    assert!(!below.is_in_effect(), "{below:?}");
}

#[test]
fn exclusive_cpusets_of_the_first_version() {
    let facts = |balance: u8| {
        read(
            FakeRoot::new(&format!(
                "
    proc/self/cgroup = 3:cpuset:/
    proc/self/mountinfo = 34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
    sys/fs/cgroup/cpuset/cpuset.sched_load_balance = {balance}
    sys/fs/cgroup/cpuset/user/cpuset.cpus = 0-1
    sys/fs/cgroup/cpuset/user/cpuset.cpu_exclusive = 0
    sys/fs/cgroup/cpuset/rt/cpuset.cpus = 2
    sys/fs/cgroup/cpuset/rt/cpuset.cpu_exclusive = 1
"
            ))
            .path(),
        )
    };
    let found = |balance| facts(balance).cgroup.exclusive_cpusets.unwrap();
    assert_eq!(found(0).len(), 1);
    assert!(found(0)[0].is_in_effect() && !found(1)[0].is_in_effect(), "{:?}", found(1));
}

#[test]
fn disturbances_on_a_desktop() {
    let facts = read(FakeRoot::new(DESKTOP).path());
    assert_eq!(facts.kernel.nmi_watchdog, Some(true));
    assert_eq!(facts.kernel.soft_watchdog, Some(true));
    assert_eq!(facts.cpu.available_clock_sources, words("tsc hpet acpi_pm"));
    assert_eq!(facts.cpu.frequency_drivers, words("intel_pstate"));
    assert_eq!(facts.cpu.idle_exit_latency_us_max, Some(10), "the deepest is disabled");
    assert_eq!(facts.cpu.interrupt_cpus, cpus("0-2"), "interrupt 1 has no handler");
    assert_eq!(facts.scheduling.timer_slack, Some(Nanos::from_micros(50)));
    assert_eq!(facts.scheduling.irqbalance, Some(true));
    assert_eq!(facts.scheduling.realtime_tasks, Some(vec!["data-loop.0 fifo:88".to_owned()]));
    assert_eq!(facts.permission.perf_event_paranoid, Some(-1));
    assert_eq!(facts.permission.tracefs_readable, Some(false), "it is not mounted");
    let mounted = "sys/kernel/tracing/events/sched/sched_switch/format = name: sched_switch";
    assert_eq!(read(FakeRoot::new(mounted).path()).permission.tracefs_readable, Some(true));
    let switched_off = "proc/sys/kernel/watchdog = 0\nproc/sys/kernel/nmi_watchdog = 1";
    let facts = read(FakeRoot::new(switched_off).path());
    assert_eq!(facts.kernel.nmi_watchdog, Some(false));
}

#[test]
fn programs_of_the_measurement_do_not_count_as_others() {
    let root = FakeRoot::new(DESKTOP);
    let put = |id: u32, name: &str, parent: u32| {
        let zeros = "0 ".repeat(20);
        let stat =
            format!("{id} ({name}) S {parent} 1 1 0 -1 0 {zeros}0 0 0 0 0 0 0 0 17 0 1 1 0 0\n");
        for place in [format!("proc/{id}"), format!("proc/{id}/task/{id}")] {
            root.write(&format!("{place}/stat"), &stat);
        }
    };
    // This process is 4242; one of its grandchildren measures and records.
    put(4242, "tactus", 900);
    put(4300, "cell", 4242);
    put(4301, "probe", 4300);
    put(4302, "tactus-drainer", 4300);
    let own_only = read(root.path()).scheduling;
    assert_eq!(own_only.realtime_tasks, Some(vec!["data-loop.0 fifo:88".to_owned()]));
    assert_eq!(own_only.recordings, Some(0));
    // Of another user.
    put(5000, "tactus-drainer", 900);
    put(5001, "probe", 900);
    // Two whose process ids were reused while they were read.
    put(6000, "ring", 6001);
    put(6001, "ring", 6000);
    let others = read(root.path()).scheduling;
    assert_eq!(others.recordings, Some(1));
    let names = others.realtime_tasks.unwrap().join(", ");
    assert_eq!(names, "data-loop.0 fifo:88, probe fifo:1, ring fifo:1");
}

#[test]
fn temperatures_deadlines_and_smis() {
    let root = FakeRoot::new(DESKTOP);
    assert_eq!(read(root.path()).cpu.smi_count, None, "the vendor is unknown");
    root.write("proc/cpuinfo", "vendor_id\t: GenuineIntel\n");
    root.write("dev/cpu/0/msr", [&[0xff; 0x34][..], &7_u64.to_le_bytes()].concat());
    root.write("dev/cpu_dma_latency", 20_i32.to_ne_bytes());
    root.write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n");
    root.write("sys/kernel/debug/sched/fair_server/cpu1/runtime", "0\n");
    root.write("sys/class/thermal/cooling_device0/type", "thermal-cpufreq-0\n");
    root.write("sys/class/thermal/cooling_device0/cur_state", "3\n");
    root.write("sys/class/thermal/cooling_device0/max_state", "7\n");
    let facts = read(root.path());
    assert_eq!(facts.cpu.smi_count, Some(7));
    assert_eq!(facts.cpu.idle_exit_latency_limit_us, Some(20));
    assert_eq!(facts.scheduling.fair_server_runtime, Some(Nanos::ZERO), "one is off");
    assert_eq!(facts.scheduling.deadline_reserved_ppm, Some(0), "no task is of the class");
    assert_eq!(facts.thermal.cooling, Some(vec!["thermal-cpufreq-0 3 of 7".to_owned()]));
    assert_eq!((facts.thermal.zones, facts.thermal.throttle_count), (None, None));
    assert_eq!(facts.kernel.debugging_options, Some(Vec::new()));
    let account = "dl_rq[0]:\n  .dl_bw->bw    : 996147\n  .dl_bw->total_bw    : 104857\n";
    root.write("sys/kernel/debug/sched/debug", account);
    let reserved = read(root.path()).scheduling.deadline_reserved_ppm;
    assert_eq!(reserved, Some(99_999), "two fair servers of 50 ms a second, rounded down");
}

#[test]
fn the_accounts_of_deadline_bandwidth_are_read_by_cpu() {
    let root = FakeRoot::new(DESKTOP);
    assert_eq!(read(root.path()).scheduling.deadline_accounts, None);
    // The kernel prints a wrapped account as a negative number.
    let domain = |cpu: u32, total: i64| {
        format!("cpu#{cpu}, 2596.120 MHz\n\ndl_rq[{cpu}]:\n  .dl_bw->total_bw    : {total}\n")
    };
    let account = [domain(0, 104_857), domain(1, 104_857), domain(2, -262_144)].concat();
    root.write("sys/kernel/debug/sched/debug", account);
    let accounts = || read(root.path()).scheduling.deadline_accounts.unwrap();
    let listed: Vec<(String, i64, Option<u64>)> = accounts()
        .into_iter()
        .map(|account| (account.cpus.to_string(), account.reserved_ppm, account.server_ppm))
        .collect();
    let expected = [("0-1", 99_999, Some(0)), ("2", -250_000, Some(0))];
    assert_eq!(listed, expected.map(|(cpus, total, server)| (cpus.to_owned(), total, server)));
    root.write("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000\n");
    root.write("sys/kernel/debug/sched/fair_server/cpu0/period", "1000000000\n");
    let servers: Vec<Option<u64>> =
        accounts().into_iter().map(|account| account.server_ppm).collect();
    assert_eq!(servers, [Some(50_000), None, None], "those of CPUs 1 and 2 cannot be read");
}

#[test]
fn programs_are_unknown_if_not_all_are_visible() {
    let hidden = DESKTOP.replace("proc/1/stat", "proc/2/stat");
    let facts = read(FakeRoot::new(&hidden).path());
    assert_eq!((facts.scheduling.irqbalance, facts.scheduling.realtime_tasks), (None, None));
}

/// A small guest made from a container image, with cgroups of version 1.
const GUEST: &str = r"
    proc/sys/kernel/osrelease = 6.18.44
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC
    proc/sys/kernel/arch = x86_64
    proc/cmdline = console=ttyS0 preempt=full -- --preempt=none preempt=lazy
    proc/cpuinfo = model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm
    sys/devices/system/cpu/present = 0-1
    sys/devices/system/cpu/online = 0-1
    sys/devices/system/cpu/isolated =
    sys/devices/system/cpu/cpufreq/
    sys/devices/system/cpu/cpuidle/current_driver = none
    sys/devices/system/cpu/cpu0/topology/thread_siblings_list = 0
    sys/devices/system/cpu/cpu1/topology/thread_siblings_list = 1
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc kvm-clock
    proc/self/ns/pid -> pid:[4026531836]
    proc/self/ns/uts -> uts:[4026531838]
    proc/self/ns/ipc -> ipc:[4026531839]
    proc/self/ns/cgroup -> cgroup:[4026531835]
    .dockerenv =
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t000001fffeffffff\nSeccomp:\t0
    proc/self/cgroup = 3:cpuset:/job\n2:cpu,cpuacct:/job\n0::/
    proc/self/mountinfo = 32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
    |34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
    |41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
    sys/fs/cgroup/cpu,cpuacct/job/cpu.rt_runtime_us = 0
    sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us = 90000
    sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us = 100000
    sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us = -1
    sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us = 100000
    sys/fs/cgroup/cpuset/job/cpuset.effective_cpus = 1
    proc/stat = cpu  6191 0 3287 259378 504 0 68 12 0 0
";

#[test]
fn a_tick_of_any_length_is_a_rate_but_a_nanosecond_is_not() {
    let root = FakeRoot::new(GUEST);
    for (tick, rate) in [(10_000_000, Some(100)), (200_000, Some(5000)), (50_000, Some(20_000))] {
        let calls = CallFacts { tick: Some(Nanos::from_nanos(tick)), ..CallFacts::default() };
        assert_eq!(read_with(root.path(), &calls).kernel.tick_rate_hz, rate, "{tick}");
    }
    let calls = CallFacts { tick: Some(Nanos::from_nanos(1)), ..CallFacts::default() };
    assert_eq!(read_with(root.path(), &calls).kernel.tick_rate_hz, None);
}

#[test]
fn a_guest_made_from_a_containers_image() {
    let root = FakeRoot::new(GUEST);
    let calls = CallFacts {
        machine: None,
        timer_resolution: Some(Nanos::from_nanos(1)),
        tick: Some(Nanos::from_nanos(3_333_333)),
    };
    let facts = read_with(root.path(), &calls);
    assert_eq!(facts.kernel.machine, text("x86_64"));
    assert_eq!(facts.kernel.preemption, text("full"), "what follows -- is not the kernel's");
    assert_eq!(facts.kernel.tick_rate_hz, Some(300));
    assert_eq!(facts.kernel.high_resolution_timers, Some(true));
    assert_eq!(facts.kernel.rt_group_scheduling, Some(true));
    assert_eq!(facts.cpu.virtualization, text("kvm"));
    assert_eq!(facts.cpu.smt, Some(false));
    assert_eq!(facts.cpu.isolated, cpus(""));
    assert_eq!(facts.cpu.nohz_full, cpus(""), "the kernel always has a tick");
    assert_eq!(facts.cpu.governors, Some(Vec::new()));
    assert_eq!(facts.cpu.idle_states, Some(Vec::new()));
    assert_eq!(facts.permission.container, text("none"), "the mark comes from the image");
    assert_eq!(facts.permission.holds("CAP_SYS_NICE"), Some(true));
    assert_eq!(facts.permission.holds("CAP_SYS_RESOURCE"), Some(false));
    assert_eq!(facts.cgroup.version, Some(1));
    assert_eq!(facts.cgroup.rt_runtime_us, Some(0));
    assert_eq!(
        (facts.cgroup.quota_us, facts.cgroup.quota_period_us),
        (Some(90_000), Some(100_000))
    );
    assert_eq!(facts.cgroup.cpuset, cpus("1"));
    assert_eq!(facts.steal, Some(Nanos::from_millis(120)));
}

/// An unprivileged container, seen through a mount of its own part of the hierarchy.
const CONTAINER: &str = r"
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Mon Jan 1 2024
    proc/self/ns/pid -> pid:[4026532512]
    proc/self/ns/uts -> uts:[4026532510]
    proc/self/ns/ipc -> ipc:[4026532511]
    proc/self/ns/cgroup -> cgroup:[4026531835]
    proc/self/ns/user -> user:[4026532600]
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\nNoNewPrivs:\t1
    .dockerenv =
    proc/self/cgroup = 0::/docker/4f2a/worker
    proc/self/mountinfo = 700 690 0:29 /docker/4f2a /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw
    sys/fs/cgroup/cpu.max = 50000 100000
    sys/fs/cgroup/worker/cpu.max = max 100000
    sys/fs/cgroup/worker/cpuset.cpus.effective = 4-5
";

#[test]
fn a_container() {
    let facts = read(FakeRoot::new(CONTAINER).path());
    assert_eq!(facts.permission.container, text("docker"));
    assert_eq!(facts.permission.own_user_namespace, Some(true));
    assert_eq!(facts.permission.seccomp, Some(true));
    assert_eq!(facts.permission.no_new_privileges, Some(true));
    assert_eq!(facts.permission.holds("CAP_DAC_OVERRIDE"), Some(false), "only in its namespace");
    assert_eq!(facts.permission.capabilities, words("CAP_DAC_OVERRIDE"));
    assert_eq!(facts.cgroup.cpu_directory, text("/sys/fs/cgroup/worker"));
    assert_eq!(
        (facts.cgroup.quota_us, facts.cgroup.quota_period_us),
        (Some(50_000), Some(100_000))
    );
    assert_eq!(facts.cgroup.cpuset, cpus("4-5"));
    assert_eq!(facts.kernel.preemption, None, "the mode is in no file");
}

#[test]
fn containers_by_their_marks() {
    let namespaces = "proc/self/ns/pid -> pid:[4026532512]\n";
    let check = |marks: &str, expected: &str| {
        let facts = read(FakeRoot::new(&format!("{namespaces}{marks}")).path());
        assert_eq!(facts.permission.container, text(expected), "{marks}");
    };
    check("run/.containerenv =", "podman");
    check("proc/self/cgroup = 0::/kubepods/besteffort/pod1", "kubernetes");
    check("proc/self/cgroup = 0::/lxc.payload.web", "lxc");
    check("run/systemd/container = systemd-nspawn", "systemd-nspawn");
    check("", "unnamed");
    // A service that hides the host's name from itself is not in a container.
    let service = "proc/self/ns/pid -> pid:[4026531836]\nproc/self/ns/uts -> uts:[4026532999]";
    assert_eq!(read(FakeRoot::new(service).path()).permission.container, text("none"));
}

#[test]
fn a_group_outside_of_the_mount_is_unknown() {
    let outside = r"
        proc/self/cgroup = 0::/../other
        proc/self/mountinfo = 35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
        sys/fs/cgroup/cpu.max = 1000 100000
        sys/fs/other/
    ";
    let cgroup = read(FakeRoot::new(outside).path()).cgroup;
    assert_eq!(cgroup, tactus_model::facts::CgroupFacts::default());
}

#[test]
fn a_realtime_kernel() {
    for version in [
        "#1 SMP PREEMPT_RT Debian 6.1.76-1",
        "#1 SMP PREEMPT RT 4.19.1-rt3",
        "#2 SMP PREEMPT_{RT,(lazy)} Tue Nov 4",
    ] {
        let root = FakeRoot::new("proc/cmdline = preempt=full");
        root.write("proc/sys/kernel/version", version);
        assert_eq!(read(root.path()).kernel.preemption, text("rt"), "{version}");
    }
    let running = FakeRoot::new("sys/kernel/realtime = 1");
    assert_eq!(read(running.path()).kernel.preemption, text("rt"));
}

#[test]
fn the_running_preemption_mode_precedes_boot_parameter_and_configuration() {
    let check = |lines: &str, expected: Option<&str>| {
        let release = "proc/sys/kernel/osrelease = 6\n";
        let facts = read(FakeRoot::new(&format!("{release}{lines}")).path());
        assert_eq!(facts.kernel.preemption.as_deref(), expected, "{lines}");
    };
    let dynamic = "proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC\n";
    let built = "boot/config-6 = CONFIG_PREEMPT_BUILD=y\\nCONFIG_PREEMPT_NONE=y\n";
    let booted = "proc/cmdline = preempt=full preempt=voluntary\n";
    let running = "sys/kernel/debug/sched/preempt = none voluntary full (lazy)\n";
    check(&format!("{dynamic}{built}{booted}{running}"), Some("lazy"));
    check(&format!("{dynamic}{built}{booted}"), Some("voluntary"));
    check(&format!("{dynamic}{built}"), Some("none"));
    check(dynamic, None);
    check("proc/sys/kernel/version = #1 SMP PREEMPT Wed", Some("full"));
    check("proc/sys/kernel/version = #1 SMP Wed", None);
    check(&format!("proc/sys/kernel/version = #1 SMP Wed\n{built}"), Some("none"));
}

const BOARD: &str = r"
    proc/sys/kernel/osrelease = 6.6.20-v8
    proc/sys/kernel/version = #1752 SMP PREEMPT Thu Mar 14
    proc/sys/kernel/arch = aarch64
    proc/cpuinfo = CPU\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nRevision\t: c03115\nModel\t\t: Raspberry Pi 4 Model B Rev 1.5
    proc/device-tree/model = Raspberry Pi 4 Model B Rev 1.5\0
    proc/device-tree/compatible = raspberrypi,4-model-b\0brcm,bcm2711\0
    sys/devices/system/cpu/online = 0-3
    sys/devices/system/cpu/smt/active = 0
    sys/devices/system/cpu/cpu0/cache/index0/level = 1
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = WFI
    sys/devices/system/clocksource/clocksource0/current_clocksource = arch_sys_counter
";

#[test]
fn a_board_with_arm_cpus() {
    let facts = read(FakeRoot::new(BOARD).path());
    assert_eq!(facts.cpu.model, text("Raspberry Pi 4 Model B Rev 1.5"));
    assert_eq!(facts.cpu.smt, Some(false));
    assert_eq!(facts.cpu.last_level_cache, None, "its caches do not show their size");
    assert_eq!(facts.cpu.idle_states, words("WFI"));
    assert_eq!(facts.cpu.virtualization, None, "these CPUs do not show one");
    assert_eq!(facts.kernel.preemption, text("full"));
}

#[test]
fn hypervisors_by_their_signs() {
    let check = |lines: &str, expected: Option<&str>| {
        let facts = read(FakeRoot::new(lines).path());
        assert_eq!(facts.cpu.virtualization.as_deref(), expected, "{lines}");
    };
    let guest = "proc/cpuinfo = flags\\t: fpu hypervisor\n";
    check(guest, Some("unnamed"));
    check(&format!("{guest}sys/class/dmi/id/product_name = VMware7,1"), Some("vmware"));
    check(&format!("{guest}sys/class/dmi/id/product_name = Virtual Machine"), Some("hyper-v"));
    check("sys/hypervisor/type = xen", Some("xen"));
    check("sys/class/dmi/id/sys_vendor = QEMU", Some("qemu"));
    check("proc/device-tree/compatible = linux,dummy-virt\\0", Some("qemu"));
    // A bare-metal machine of a vendor whose guests have the same name.
    let rented = "proc/cpuinfo = flags\\t: fpu vme\n";
    check(&format!("{rented}sys/class/dmi/id/product_name = Google Compute Engine"), Some("none"));
}

#[test]
fn an_empty_root_has_no_facts() {
    let facts = read(FakeRoot::new("").path());
    assert_eq!(facts, MachineFacts::unknown(facts.taken));
    let not_there = read(Path::new("/nowhere/at/all"));
    assert_eq!(not_there, MachineFacts::unknown(not_there.taken));
    assert!(facts.rows().iter().all(|row| row.value == "unknown"));
}

/// Every file that is read, to be filled with garbage.
fn files() -> Vec<String> {
    let described = [DESKTOP, GUEST, CONTAINER, BOARD].concat();
    let extra = ["sys/kernel/debug/sched/preempt", "sys/kernel/realtime", "proc/timer_list"];
    described
        .lines()
        .filter_map(|line| line.split_once(" ="))
        .map(|(path, _)| path.trim().to_owned())
        .filter(|path| !path.starts_with('|') && !path.is_empty())
        .chain(extra.map(str::to_owned))
        .collect()
}

/// Pieces of text that resemble valid input.
fn garbage() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"cpu ",
        b"\nMemTotal:",
        b"\nMax realtime priority ",
        b"\nMax nice priority ",
        b"18446744073709551616 ",
        b"18446744073709551615 ",
        b"-9223372036854775808 ",
        b"0 0",
        b"0-4294967295",
        b" kB",
        b":",
        b"(",
        b")",
        b"[",
        b"\nCapEff:\t",
        b" - cgroup2 x y",
        b"0::/",
        b"../",
        b"\xff\xfe",
        "µ€".as_bytes(),
        b"\nCONFIG_HZ=",
        b"K",
        b"\0",
    ];
    let piece = prop::sample::select(pieces);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn garbage_is_read_without_a_panic(texts in prop::collection::vec(garbage(), 90)) {
        let root = FakeRoot::new("");
        for (path, text) in files().iter().zip(texts.iter().cycle()) {
            root.write(path, text);
        }
        let facts = read(root.path());
        prop_assert_eq!(facts.rows().len(), MachineFacts::unknown(Instant::from_nanos(0)).rows().len());
    }
}

#[test]
fn the_machine_that_runs_this() {
    let facts = read(Path::new("/"));
    let cpu = &facts.cpu;
    let online = cpu.online.clone().expect("every kernel lists its CPUs");
    assert!(!online.is_empty());
    let present = cpu.present.clone().expect("every kernel lists present CPUs");
    assert!(online.without(&present).is_empty(), "{online} in {present}");
    let allowed = facts.permission.allowed_cpus.clone().expect("every process has an affinity");
    assert!(!allowed.is_empty() && allowed.without(&online).is_empty(), "{allowed} in {online}");
    let rate = facts.kernel.tick_rate_hz.expect("the coarse clock has it");
    assert!((24..=50_000).contains(&rate), "{rate}");
    assert!(facts.kernel.release.is_some() && facts.kernel.machine.is_some());
    assert!(facts.kernel.high_resolution_timers.is_some());
    assert!(facts.memory.total > Some(0));
    let permission = &facts.permission;
    assert!(permission.rtprio_limit.is_some() && permission.memlock_limit_hard.is_some());
    assert!(permission.rtprio_limit <= permission.rtprio_limit_hard);
    assert!(permission.nice.is_some_and(|nice| (-20..=19).contains(&nice)));
    assert!(permission.nice_limit.is_some_and(|nice| (-20..=20).contains(&nice)));
    // Only a kernel that schedules groups has a budget for them.
    let budget = facts.cgroup.rt_runtime_us;
    let can_have_one = facts.kernel.rt_group_scheduling == Some(true);
    assert!(budget.is_none_or(|budget| budget >= -1 && can_have_one), "{budget:?}");
    let again = read(Path::new("/"));
    assert_eq!((again.kernel, again.permission), (facts.kernel, facts.permission));
}
