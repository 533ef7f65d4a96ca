//! The doctor's findings about fictional machines.

#[path = "../../sys/tests/support/mod.rs"]
mod support;

use support::FakeRoot;
use tactus_judge::doctor::{Finding, State, examine, examine_between, worst};
use tactus_model::facts::MachineFacts;
use tactus_model::time::{Instant, Nanos};
use tactus_sys::facts::{CallFacts, read_with};

/// The results of system calls on a machine with high-resolution timers.
fn calls(tick_rate_hz: u64) -> CallFacts {
    CallFacts {
        machine: None,
        timer_resolution: Some(Nanos::from_nanos(1)),
        tick: Some(Nanos::from_nanos(1_000_000_000 / tick_rate_hz)),
    }
}

fn findings(tick_rate_hz: u64, trees: &[&str]) -> Vec<Finding> {
    examine(&read_with(FakeRoot::new(&trees.concat()).path(), &calls(tick_rate_hz)))
}

/// Every field of every finding.
fn listed(findings: &[Finding]) -> String {
    let line = |name: &str, text: &str| format!("  {name:8}{text}\n");
    let entry = |finding: &Finding| {
        let Finding { check, state, fact, why, effect, fix } = finding;
        let effect = effect.iter().map(|effect| line("effect", effect));
        let fix = fix.iter().map(|fix| line("fix", fix));
        let rest: String = effect.chain(fix).collect();
        format!("{state}  {check}: {fact}\n{}{rest}", line("why", why))
    };
    findings.iter().map(entry).collect()
}

fn state(findings: &[Finding], check: &str) -> State {
    findings.iter().find(|finding| finding.check == check).expect("a check of this name").state
}

/// Files that all machines without a container have in common.
const OWN_NAMESPACES: &str = r"
    proc/self/exe -> /usr/local/bin/tactus
    proc/self/ns/pid -> pid:[4026531836]
    proc/self/ns/uts -> uts:[4026531838]
    proc/self/ns/ipc -> ipc:[4026531839]
    proc/self/ns/cgroup -> cgroup:[4026531835]
    proc/self/ns/user -> user:[4026531837]
    proc/self/timerslack_ns = 50000
    proc/self/cgroup = 0::/user.slice
    proc/self/mountinfo = 35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw
    sys/fs/cgroup/user.slice/
    proc/sys/kernel/sched_rt_runtime_us = 950000
    proc/sys/kernel/sched_rt_period_us = 1000000
    proc/1/stat = 1 (init) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/loadavg = 0.02 0.05 0.09 1/230 4242
";

/// A carefully prepared machine with a real-time kernel: nothing is left to fix.
const REALTIME: &str = r"
    proc/sys/kernel/osrelease = 6.12.48
    proc/sys/kernel/version = #1 SMP PREEMPT_RT Debian 6.12.48-1
    proc/cmdline = BOOT_IMAGE=/vmlinuz isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3
    boot/config-6.12.48 = CONFIG_PREEMPT_RT=y\nCONFIG_HZ=1000\n# CONFIG_PROVE_LOCKING is not set
    proc/cpuinfo = vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) E-2276G\nflags\t\t: fpu vme
    dev/cpu/0/msr = xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx7\0\0\0\0\0\0\0
    sys/kernel/debug/sched/fair_server/cpu0/runtime = 50000000
    sys/kernel/debug/sched/fair_server/cpu0/period = 1000000000
    sys/kernel/debug/sched/fair_server/cpu1/runtime = 50000000
    sys/kernel/debug/sched/fair_server/cpu1/period = 1000000000
    sys/kernel/debug/sched/debug = dl_rq[0]:\n  .dl_bw->bw                     : 996147\n  .dl_bw->total_bw               : 104856\ndl_rq[1]:\n  .dl_bw->total_bw               : 104856
    sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 0
    sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count = 0
    sys/class/thermal/thermal_zone0/type = x86_pkg_temp
    sys/class/thermal/thermal_zone0/temp = 41000
    sys/class/thermal/thermal_zone0/trip_point_0_type = passive
    sys/class/thermal/thermal_zone0/trip_point_0_temp = 100000
    sys/devices/system/cpu/present = 0-3
    sys/devices/system/cpu/online = 0-3
    sys/devices/system/cpu/isolated = 2-3
    sys/devices/system/cpu/nohz_full = 2-3
    sys/devices/system/cpu/smt/active = 0
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = performance
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = intel_pstate
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = POLL
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 0
    sys/devices/system/cpu/cpu0/cpuidle/state1/name = C1
    sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 2
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
    proc/irq/9/effective_affinity_list = 0
    proc/irq/9/acpi/
    proc/sys/kernel/nmi_watchdog = 0
    proc/sys/kernel/soft_watchdog = 0
    proc/sys/kernel/sched_autogroup_enabled = 0
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-3\nNoNewPrivs:\t0\nSeccomp:\t0
    proc/self/limits = Max locked memory         8388608 8388608 bytes\nMax realtime priority 0 0\nMax realtime timeout unlimited unlimited us
    sys/kernel/tracing/events/sched/sched_switch/format = name: sched_switch
    sys/kernel/security/lsm = capability,yama
    proc/irq/default_smp_affinity = 3
    proc/sys/vm/compact_unevictable_allowed = 0
    proc/meminfo = MemTotal:        8000000 kB\nSwapTotal:       0 kB
    sys/kernel/mm/transparent_hugepage/enabled = always madvise [never]
    proc/stat = cpu  100 0 50 1000 5 0 1 0 0 0
";

#[test]
fn a_prepared_machine_is_fit() {
    let found = findings(1000, &[OWN_NAMESPACES, REALTIME]);
    assert_eq!(worst(&found), State::Fine, "{}", listed(&found));
    insta::assert_snapshot!(listed(&found));
}

/// A server with default settings, with a deadline task of another program.
const BARE_METAL: &str = r"
    proc/sys/kernel/osrelease = 6.12.1-cloud-amd64
    proc/sys/kernel/version = #1 SMP Debian 6.12.1-1
    boot/config-6.12.1-cloud-amd64 = CONFIG_PREEMPT_NONE=y\nCONFIG_HZ=250\nCONFIG_PROVE_LOCKING=y\nCONFIG_KASAN=y
    proc/cmdline = BOOT_IMAGE=/vmlinuz root=/dev/md0
    proc/cpuinfo = vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 7313P\nflags\t\t: fpu vme
    sys/devices/system/cpu/present = 0-31
    sys/devices/system/cpu/online = 0-31
    sys/devices/system/cpu/isolated =
    sys/devices/system/cpu/smt/active = 1
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = schedutil
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = amd-pstate
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = POLL
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 0
    sys/devices/system/cpu/cpu0/cpuidle/state1/name = C2
    sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 400
    dev/cpu_dma_latency = \0\0\0\0
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
    proc/irq/9/effective_affinity_list = 4
    proc/irq/9/acpi/
    proc/700/stat = 700 (irqbalance) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/900/stat = 900 (control) S 1 900 900 0 -1 4194560 0 0 0 0 0 0 0 0 -101 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 6 0 0
    proc/900/task/900/stat = 900 (control) S 1 900 900 0 -1 4194560 0 0 0 0 0 0 0 0 -101 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 6 0 0
    proc/900/task/900/sched = control (900, #threads: 1)\npolicy                 :   6\ndl.runtime             :   3000000\ndl.deadline            :   10000000
    sys/kernel/debug/sched/fair_server/cpu0/runtime = 0
    sys/kernel/debug/sched/fair_server/cpu0/period = 1000000000
    proc/sys/kernel/nmi_watchdog = 1
    proc/sys/kernel/soft_watchdog = 1
    proc/sys/kernel/sched_autogroup_enabled = 1
    proc/sys/kernel/perf_event_paranoid = 3
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-31\nNoNewPrivs:\t0\nSeccomp:\t0
    proc/self/limits = Max locked memory         8388608 8388608 bytes\nMax realtime priority 0 0
    sys/kernel/tracing/events/sched/sched_switch/format = name: sched_switch
    proc/meminfo = MemTotal:        8000000 kB\nSwapTotal:       2097152 kB
    sys/kernel/mm/transparent_hugepage/enabled = [always] madvise never
    proc/stat = cpu  100 0 50 1000 5 0 1 0 0 0
";

#[test]
fn a_server_with_default_settings() {
    let found = findings(250, &[OWN_NAMESPACES, BARE_METAL]);
    assert_eq!(state(&found, "idle states"), State::Fine, "a program limits the exit latency");
    assert_eq!(state(&found, "kernel debugging"), State::Warning);
    insta::assert_snapshot!(listed(&found));
}

/// A laptop with default settings and an ordinary user.
const LAPTOP: &str = r"
    proc/sys/kernel/osrelease = 6.1.0-18-amd64
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)
    boot/config-6.1.0-18-amd64 = CONFIG_PREEMPT_VOLUNTARY=y
    proc/cmdline = BOOT_IMAGE=/vmlinuz root=/dev/sda1 quiet
    proc/cpuinfo = model name\t: Intel(R) Core(TM) i5-8250U\nflags\t\t: fpu vme ht
    sys/devices/system/cpu/online = 0-7
    sys/devices/system/cpu/isolated =
    sys/devices/system/cpu/smt/active = 1
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = powersave
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = intel_pstate
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = POLL
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 0
    sys/devices/system/cpu/cpu0/cpuidle/state1/name = C1
    sys/devices/system/cpu/cpu0/cpuidle/state1/latency = 2
    sys/devices/system/cpu/cpu0/cpuidle/state2/name = C10
    sys/devices/system/cpu/cpu0/cpuidle/state2/latency = 890
    sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count = 7
    sys/class/thermal/thermal_zone0/type = acpitz
    sys/class/thermal/thermal_zone0/temp = 25000
    sys/class/thermal/thermal_zone3/type = x86_pkg_temp
    sys/class/thermal/thermal_zone3/temp = 96000
    sys/class/thermal/thermal_zone3/trip_point_0_type = active
    sys/class/thermal/thermal_zone3/trip_point_0_temp = 50000
    sys/class/thermal/thermal_zone3/trip_point_1_type = passive
    sys/class/thermal/thermal_zone3/trip_point_1_temp = 99000
    sys/class/thermal/cooling_device0/type = CPU
    sys/class/thermal/cooling_device0/cur_state = 0
    sys/class/thermal/cooling_device0/max_state = 10
    sys/devices/system/clocksource/clocksource0/current_clocksource = hpet
    sys/devices/system/clocksource/clocksource0/available_clocksource = hpet acpi_pm
    proc/irq/9/effective_affinity_list = 2
    proc/irq/9/acpi/
    proc/700/stat = 700 (irqbalance) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/800/stat = 800 (pipewire) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    proc/800/task/801/stat = 801 (data-loop.0) S 1 700 700 0 -1 4194560 0 0 0 0 0 0 0 0 -89 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 88 1 0 0
    proc/sys/kernel/nmi_watchdog = 1
    proc/sys/kernel/soft_watchdog = 1
    proc/sys/kernel/sched_autogroup_enabled = 1
    proc/sys/kernel/perf_event_paranoid = 3
    proc/self/status = Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-7\nNoNewPrivs:\t0\nSeccomp:\t0
    proc/self/limits = Max locked memory         8388608 8388608 bytes\nMax realtime priority 0 0
    sys/kernel/tracing/
    proc/meminfo = MemTotal:        8000000 kB\nSwapTotal:       2097152 kB
    sys/kernel/mm/transparent_hugepage/enabled = [always] madvise never
    proc/loadavg = 1.62 1.05 0.59 1/830 4242
    proc/stat = cpu  100 0 50 1000 5 0 1 0 0 0
";

#[test]
fn a_laptop_with_default_settings() {
    insta::assert_snapshot!(listed(&findings(250, &[OWN_NAMESPACES, LAPTOP])));
}

#[test]
fn only_unreadable_tracepoints_need_the_right_to_read_any_file() {
    let readable = "sys/kernel/tracing/events/sched/sched_switch/format = name: sched_switch\n";
    let fix = |trees: &[&str]| {
        let found = findings(250, trees);
        let tracing = found.into_iter().find(|finding| finding.check == "tracing");
        tracing.and_then(|finding| finding.fix).expect("a fix for tracing")
    };
    assert!(fix(&[OWN_NAMESPACES, LAPTOP]).contains("cap_dac_read_search,"));
    let for_perf = fix(&[OWN_NAMESPACES, LAPTOP, readable]);
    assert!(for_perf.contains("cap_perfmon"), "{for_perf}");
    assert!(!for_perf.contains("cap_dac_read_search"), "{for_perf}");
}

/// A small KVM guest whose cgroup (v1) has no real-time budget.
const GUEST: &str = r"
    proc/sys/kernel/osrelease = 6.18.44
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC
    proc/cmdline = console=ttyS0 preempt=full
    proc/cpuinfo = model name\t: AMD EPYC\nflags\t\t: fpu hypervisor lahf_lm
    sys/devices/system/cpu/online = 0-1
    sys/devices/system/cpu/isolated =
    sys/devices/system/cpu/smt/active = 0
    sys/devices/system/cpu/cpufreq/
    sys/devices/system/cpu/cpuidle/current_driver = none
    sys/devices/system/clocksource/clocksource0/current_clocksource = kvm-clock
    sys/devices/system/clocksource/clocksource0/available_clocksource = kvm-clock tsc
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\nNoNewPrivs:\t0\nSeccomp:\t0
    proc/self/limits = Max locked memory         8388608 8388608 bytes\nMax realtime priority 0 0
    sys/kernel/tracing/
    proc/self/cgroup = 2:cpu,cpuacct:/job\n0::/
    proc/self/mountinfo = 32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
    sys/fs/cgroup/cpu,cpuacct/job/cpu.rt_runtime_us = 0
    sys/kernel/mm/transparent_hugepage/enabled = always [madvise] never
    proc/meminfo = MemTotal:        8000000 kB\nSwapTotal:       0 kB
    proc/stat = cpu  6191 0 3287 259378 504 0 68 1234 0 0
";

#[test]
fn a_guest() {
    let found = findings(1000, &[OWN_NAMESPACES, GUEST]);
    assert_eq!(state(&found, "hypervisor"), State::Warning);
    assert_eq!(
        state(&found, "frequency governor"),
        State::Unknown,
        "the host's governor is invisible"
    );
    insta::assert_snapshot!(listed(&found));
}

/// A container with half a CPU, which sees little of its machine.
const CONTAINER: &str = r"
    proc/sys/kernel/osrelease = 6.8.0
    proc/sys/kernel/version = #1 SMP PREEMPT_DYNAMIC Mon Jan 1 2024
    proc/cmdline = BOOT_IMAGE=/vmlinuz
    proc/self/ns/pid -> pid:[4026532512]
    proc/self/ns/user -> user:[4026531837]
    proc/self/status = Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nCpus_allowed_list:\t4-5\nSeccomp:\t2\nNoNewPrivs:\t1
    proc/self/limits = Max locked memory         8388608 8388608 bytes\nMax realtime priority 0 0
    proc/sys/kernel/perf_event_paranoid = 4
    proc/sys/kernel/sched_rt_runtime_us = 950000
    proc/sys/kernel/sched_rt_period_us = 1000000
    proc/1/stat = 1 (sh) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0
    .dockerenv =
    proc/self/cgroup = 0::/
    proc/self/mountinfo = 700 690 0:29 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw
    sys/fs/cgroup/cpu.max = 50000 100000
    sys/devices/system/cpu/online = 0-7
    sys/devices/system/clocksource/clocksource0/current_clocksource = tsc
    sys/kernel/mm/transparent_hugepage/enabled = [always] madvise never
";

#[test]
fn a_container() {
    let found = findings(250, &[CONTAINER]);
    assert_eq!(worst(&found), State::Invalidates, "the quota");
    assert_eq!(
        state(&found, "other real-time tasks"),
        State::Unknown,
        "other processes are invisible"
    );
    insta::assert_snapshot!(listed(&found));
}

/// A board with four Arm CPUs and a kernel with a slow tick.
const BOARD: &str = r"
    proc/sys/kernel/osrelease = 6.6.20-v8
    proc/sys/kernel/version = #1752 SMP PREEMPT Thu Mar 14
    proc/cmdline = coherent_pool=1M isolcpus=3
    proc/cpuinfo = CPU\t: 0\nFeatures\t: fp asimd
    proc/device-tree/model = Raspberry Pi 4 Model B Rev 1.5\0
    sys/devices/system/cpu/present = 0-3
    sys/devices/system/cpu/online = 0-3
    sys/devices/system/cpu/isolated = 3
    sys/devices/system/cpu/smt/active = 0
    sys/devices/system/cpu/cpufreq/policy0/scaling_governor = ondemand
    sys/devices/system/cpu/cpufreq/policy0/scaling_driver = cpufreq-dt
    sys/class/thermal/cooling_device0/type = thermal-cpufreq-0
    sys/class/thermal/cooling_device0/cur_state = 2
    sys/class/thermal/cooling_device0/max_state = 4
    sys/devices/system/cpu/cpu0/cpuidle/state0/name = WFI
    sys/devices/system/cpu/cpu0/cpuidle/state0/latency = 1
    sys/devices/system/clocksource/clocksource0/current_clocksource = arch_sys_counter
    proc/irq/11/effective_affinity_list = 0
    proc/irq/11/fe00b880.mailbox/
    proc/irq/31/smp_affinity_list = 0-3
    proc/irq/31/eth0/
    proc/self/status = Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-3\nNoNewPrivs:\t0\nSeccomp:\t0
    proc/self/limits = Max locked memory         unlimited unlimited bytes\nMax realtime priority 95 95
    proc/meminfo = MemTotal:        4000000 kB\nSwapTotal:       102396 kB
    proc/stat = cpu  100 0 50 1000 5 0 1 0 0 0
";

#[test]
fn a_board_with_arm_cpus() {
    let found = findings(100, &[OWN_NAMESPACES, BOARD]);
    assert_eq!(state(&found, "real-time classes"), State::Fine);
    assert_eq!(state(&found, "deadline class"), State::Warning, "no resource limit permits it");
    assert_eq!(state(&found, "swap"), State::Fine, "memory can be locked");
    insta::assert_snapshot!(listed(&found));
}

#[test]
fn an_unknown_machine_is_neither_fit_nor_unfit() {
    let found = examine(&MachineFacts::unknown(Instant::from_nanos(0)));
    for finding in &found {
        assert_eq!(finding.state, State::Unknown, "{finding:?}");
    }
    assert_eq!(worst(&found), State::Unknown);
}

#[test]
fn what_disturbs_real_time_work_has_its_fix() {
    let disturbed = REALTIME
        .replace("Max realtime timeout unlimited unlimited", "Max realtime timeout 200000 500000")
        .replace("default_smp_affinity = 3", "default_smp_affinity = f")
        .replace("compact_unevictable_allowed = 0", "compact_unevictable_allowed = 1");
    let more = r"
    sys/kernel/security/lockdown = none integrity [confidentiality]
    sys/fs/cgroup/rt/cpuset.cpus = 1
    sys/fs/cgroup/rt/cpuset.cpus.partition = root invalid (Cpu list in cpuset.cpus not exclusive)
";
    let found = findings(1000, &[OWN_NAMESPACES, &disturbed, more]);
    let check = |name: &str, fact: &str, fix: &str| {
        let finding = found.iter().find(|finding| finding.check == name).unwrap();
        assert_eq!(finding.state, State::Warning, "{finding:?}");
        assert!(finding.fact.contains(fact), "{finding:?}");
        assert!(finding.fix.as_deref().unwrap().contains(fix), "{finding:?}");
    };
    check("real-time run limit", "200\u{202f}ms", "prlimit");
    check("interrupt affinity", "new ones may go to 2-3", "echo 3 | sudo tee /proc/irq/default");
    check("compaction of locked memory", "permitted", "vm.compact_unevictable_allowed=0");
    check("kernel lockdown", "confidentiality", "Secure Boot");
    check("cpusets", "not in effect: root invalid", "/rt/cpuset.cpus.partition");
}

#[test]
fn what_killed_runs_have_left_is_a_warning_with_a_fix() {
    let root = FakeRoot::new("proc/self/status = Uid:\t0\t0\t0\t0");
    let found = || {
        let findings = examine(&read_with(root.path(), &calls(1000)));
        findings.into_iter().find(|found| found.check == "left by killed runs").unwrap()
    };
    assert_eq!(found().state, State::Fine);
    root.write("proc/sys/kernel/sched_rr_timeslice_ms", "60\n");
    root.write("run/tactus/settings/proc-sys-kernel-sched_rr_timeslice_ms", "{}");
    root.write("sys/kernel/tracing/instances/tactus-7-0/tracing_on", "0\n");
    let found = found();
    assert_eq!(found.state, State::Warning);
    let left = "/proc/sys/kernel/sched_rr_timeslice_ms, tracing instance tactus-7-0";
    assert_eq!(found.fact, left);
    assert!(found.fix.is_some_and(|fix| fix.contains("tactus measure")));
}

/// A machine with two CPUs, whose fair servers reserve a tenth of a CPU together, and whose
/// account shows `total` in units of 1/2^20 of a CPU.
fn with_account(total: i64) -> FakeRoot {
    let root = FakeRoot::new(OWN_NAMESPACES);
    root.write("sys/devices/system/cpu/online", "0-1\n");
    let mut account = String::new();
    for cpu in 0..2 {
        let server = format!("sys/kernel/debug/sched/fair_server/cpu{cpu}");
        root.write(&format!("{server}/runtime"), "50000000\n");
        root.write(&format!("{server}/period"), "1000000000\n");
        account.push_str(&format!(
            "dl_rq[{cpu}]:\n  .dl_bw->bw       : 996147\n  .dl_bw->total_bw       : {total}\n"
        ));
    }
    root.write("sys/kernel/debug/sched/debug", account);
    root
}

/// A thread with 250 ms in each second.
fn put_deadline_thread(root: &FakeRoot) {
    let stat = "77 (robot) S 1 77 77 0 -1 4194560 0 0 0 0 0 0 0 0 -101 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 6 0 0";
    root.write("proc/77/stat", stat);
    root.write("proc/77/task/77/stat", stat);
    root.write("proc/77/task/77/sched", "dl.runtime : 250000000\ndl.deadline : 1000000000\n");
}

fn deadline_account(root: &FakeRoot) -> Finding {
    let findings = examine(&read_with(root.path(), &calls(1000)));
    findings.into_iter().find(|found| found.check == "deadline account").unwrap()
}

#[test]
fn a_wrong_account_of_deadline_bandwidth_is_found() {
    assert_eq!(deadline_account(&with_account(104_856)).state, State::Fine, "servers only");
    let busy = with_account(104_856 + 262_144);
    put_deadline_thread(&busy);
    assert_eq!(deadline_account(&busy).state, State::Fine, "servers and a thread");

    // The thread's bandwidth was subtracted twice.
    let found = deadline_account(&with_account(104_856 - 262_144));
    assert_eq!((found.state, &*found.fact), (State::Warning, "below zero on CPUs 0-1: -0.15 CPUs"));
    assert!(found.effect.unwrap().contains("EBUSY"));
    let fix = found.fix.unwrap();
    assert!(fix.contains("cd /sys/fs/cgroup && echo +cpuset >cgroup.subtree_control"), "{fix}");
    assert!(fix.contains("echo 1 >rebuild/cpuset.cpus"), "{fix}");

    let found = deadline_account(&with_account(10_486));
    assert_eq!(found.state, State::Warning);
    assert_eq!(
        found.fact,
        "too low on CPUs 0-1: 0.01 CPUs, and their servers alone reserve 0.05 CPUs"
    );
}

#[test]
fn two_exclusive_cpusets_have_correct_accounts() {
    // Each root domain has one CPU and its server: half of what both servers reserve.
    assert_eq!(deadline_account(&with_account(52_428)).state, State::Fine);
}

#[test]
fn bandwidth_of_an_ended_thread_is_a_leak_only_if_it_stays() {
    let root = with_account(104_856 + 262_144);
    let found = deadline_account(&root);
    assert_eq!(found.state, State::Unknown, "{found:?}");
    let before = read_with(root.path(), &calls(1000));
    let mut after = before.clone();
    let later =
        |seconds: u64| Instant::from_nanos(before.taken.as_nanos() + seconds * 1_000_000_000);
    let state_after =
        |after: &MachineFacts| state(&examine_between(&before, after), "deadline account");
    after.taken = later(2);
    assert_eq!(state_after(&after), State::Unknown, "the thread's period may be longer");
    after.taken = later(10);
    assert_eq!(state_after(&after), State::Warning);
    let mut gone = read_with(with_account(104_856).path(), &calls(1000));
    gone.taken = later(10);
    assert_eq!(state_after(&gone), State::Fine);
}

#[test]
fn the_fix_for_a_wrong_account_fits_the_version_of_cgroups() {
    let root = with_account(-1_000_000);
    root.write("proc/self/cgroup", "3:cpuset:/\n0::/\n");
    root.write(
        "proc/self/mountinfo",
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
    );
    root.write("sys/fs/cgroup/cpuset/cpuset.cpus", "0-1\n");
    let fix = deadline_account(&root).fix.unwrap();
    assert!(
        fix.contains("cd /sys/fs/cgroup/cpuset && old=$(cat cpuset.sched_load_balance)"),
        "{fix}"
    );
}

#[test]
fn counters_since_boot_are_reported_for_the_time_between_two_readings() {
    let before = {
        let root = FakeRoot::new(&[OWN_NAMESPACES, REALTIME].concat());
        read_with(root.path(), &calls(1000))
    };
    let mut after = before.clone();
    after.taken = Instant::from_nanos(before.taken.as_nanos() + 10_000_000_000);
    let quiet = examine_between(&before, &after);
    assert_eq!(worst(&quiet), State::Fine, "{}", listed(&quiet));
    assert_eq!(quiet.len(), examine(&after).len(), "each check once");

    after.steal = Some(Nanos::from_millis(400));
    after.thermal.throttle_count = Some(3);
    after.cpu.smi_count = Some(60);
    let found = examine_between(&before, &after);
    assert_eq!(found.len(), quiet.len(), "each check once");
    let fact = |check: &str| {
        let finding = found.iter().find(|finding| finding.check == check).expect("this check");
        assert_eq!(finding.state, State::Warning);
        finding.fact.replace(tactus_model::format::THIN_SPACE, " ")
    };
    assert_eq!(fact("steal time"), "400 ms in 10 s, 1.0 % of all CPU time");
    assert_eq!(fact("heat"), "CPUs were throttled 3 times");
    assert_eq!(fact("firmware interrupts"), "SMIs stopped all CPUs 5 times");
}

#[test]
fn every_problem_has_an_effect_and_a_fix() {
    let trees: [&[&str]; 4] = [
        &[OWN_NAMESPACES, LAPTOP],
        &[OWN_NAMESPACES, BARE_METAL],
        &[CONTAINER],
        &[OWN_NAMESPACES, BOARD],
    ];
    for trees in trees {
        for finding in findings(100, trees) {
            assert!(finding.why.ends_with('.'), "{finding:?}");
            if matches!(finding.state, State::Invalidates | State::Warning) {
                assert!(finding.fix.is_some(), "{finding:?}");
                assert!(finding.effect.is_some_and(|effect| effect.ends_with('.')));
            }
        }
    }
}

#[test]
fn absurd_settings_are_examined_like_others() {
    let mut facts = MachineFacts::unknown(Instant::from_nanos(0));
    facts.scheduling.rt_runtime_us = Some(i64::MAX);
    facts.scheduling.rt_period_us = Some(1);
    facts.kernel.tick_rate_hz = Some(0);
    facts.cgroup.quota_us = Some(i64::MIN);
    facts.cgroup.quota_period_us = Some(u64::MAX);
    facts.permission.rtprio_limit = Some(u64::MAX);
    facts.permission.capabilities = Some(Vec::new());
    facts.steal = Some(Nanos::MAX);
    assert!(listed(&examine(&facts)).contains("tick rate"));
}

#[test]
fn findings_are_in_the_order_of_their_states() {
    let states: Vec<State> =
        findings(100, &[CONTAINER]).iter().map(|finding| finding.state).collect();
    assert!(states.is_sorted(), "{states:?}");
}

#[test]
fn timers_of_low_resolution_and_clocks_of_ticks_invalidate() {
    let low = CallFacts { timer_resolution: Some(Nanos::from_millis(4)), ..CallFacts::default() };
    let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource = jiffies";
    let found = examine(&read_with(FakeRoot::new(clock).path(), &low));
    assert_eq!(state(&found, "high-resolution timers"), State::Invalidates);
    assert_eq!(state(&found, "clock source"), State::Invalidates);
}

#[test]
fn a_deadline_thread_that_never_runs_again_is_found_by_two_readings() {
    let throttled = |ran: &str| {
        let root = with_account(104_856 + 262_144);
        put_deadline_thread(&root);
        let stat = "77 (rob ot) R 1 77 77 0 -1 4194560 0 0 0 0 0 0 0 0 -101 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 6 0 0";
        root.write("proc/77/stat", stat);
        root.write("proc/77/task/77/stat", stat);
        root.write("proc/77/task/77/sched", "dl.runtime : -3035436\ndl.deadline : 1000000000\n");
        root.write("proc/77/task/77/schedstat", format!("{ran} 2 3\n"));
        read_with(root.path(), &calls(1000))
    };
    let found = |before: &MachineFacts, mut after: MachineFacts, seconds: u64| {
        after.taken = Instant::from_nanos(before.taken.as_nanos() + seconds * 1_000_000_000);
        let findings = examine_between(before, &after);
        findings.into_iter().find(|found| found.check == "deadline threads").unwrap()
    };
    let before = throttled("150");
    assert_eq!(
        found(&before, throttled("150"), 2).state,
        State::Unknown,
        "a period may be as long"
    );
    assert_eq!(found(&before, throttled("151"), 10).state, State::Unknown, "it has run");
    let stuck = found(&before, throttled("150"), 10);
    assert_eq!(
        (stuck.state, &*stuck.fact),
        (State::Warning, "1 ready thread did not run for 10s, e.g. 77 (rob ot)")
    );
    assert_eq!(stuck.fix.unwrap(), "for t in 77; do sudo chrt --other --pid 0 $t; done");
    let fine = examine(&read_with(with_account(104_856).path(), &calls(1000)));
    assert!(fine.iter().all(|found| found.check != "deadline threads"));
}
