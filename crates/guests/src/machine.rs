//! The virtual machine of a guest: the emulator's arguments, from values alone.

use tactus_model::guest::{EXIT_PORT, Guest, GuestTime, MESSAGE_PORT, REQUEST_ITEM, Speed};
use tactus_model::kernel::KernelSource;

use crate::monitor::MONITOR_FILE;

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The CPU itself.
    Kvm,
    /// The emulator.
    Tcg,
}

impl Accelerator {
    /// Its name as QEMU has it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// A virtual machine in which a guest is booted.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The kernel, and how time passes.
    pub guest: &'a Guest,
    /// What executes its instructions; in exact time it is always the emulator.
    pub accelerator: Accelerator,
    /// CPUs in wall time; in exact time there is one.
    pub cpus: u32,
    /// The seed of all random numbers that the guest gets from the emulator.
    pub seed: u32,
}

/// The files that a machine is started with and writes, in its working directory. That
/// they have no other name keeps one machine's command line equal to another's.
pub const KERNEL_FILE: &str = "kernel";
/// As [`KERNEL_FILE`]: the archive.
pub const ARCHIVE_FILE: &str = "archive";
/// As [`KERNEL_FILE`]: the request, which the guest reads when it has booted.
pub const REQUEST_FILE: &str = "order";
/// As [`KERNEL_FILE`]: what the kernel wrote to its console.
pub const CONSOLE_FILE: &str = "console";

/// The CPU that is emulated: old enough for every emulator, with the time stamp
/// counter that the kernel trusts. One that has more is slower to emulate.
const EMULATED_CPU: &str = "qemu64,+invtsc";

/// Memory in MiB: enough for the loads, and more only makes a kernel boot longer.
const MEMORY_MIB: u32 = 768;

/// Serial ports beside that of the console: `ttyS1` and on, for the load `serial`.
const SERIAL_LINES: usize = 1;

/// What every guest's kernel is told: to speak to the serial port, to end the emulator
/// when it panics, and which program of the archive is its first.
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable";

/// What a kernel that we built is told of its time stamp counter in exact time, in kHz: it
/// counts virtual nanoseconds. What the kernel would measure differs by parts in a million.
pub(super) const EXACT_TIMESTAMP_KHZ: u64 = 1_000_000;

/// The parameter by which a kernel is told how fast its time stamp counter counts.
pub(super) fn timestamp_parameter(khz: u64) -> String {
    format!("tsc_early_khz={khz}")
}

/// What a kernel is told in wall time besides: not to try its timer by counting interrupts
/// for some milliseconds. On a busy host an emulated one comes too late for that, and the
/// kernel panics, or goes on without it and hangs.
const NO_TIMER_CHECK: &str = "no_timer_check";

impl Machine<'_> {
    /// The CPUs that the guest has.
    pub const fn cpus(&self) -> u32 {
        match self.guest.time {
            GuestTime::Wall => self.cpus,
            GuestTime::Exact(_) => 1,
        }
    }

    /// What executes the guest's instructions.
    pub const fn accelerator(&self) -> Accelerator {
        match self.guest.time {
            GuestTime::Wall => self.accelerator,
            // Only the emulator counts instructions.
            GuestTime::Exact(_) => Accelerator::Tcg,
        }
    }

    /// The arguments of a machine that stops when it has booted, so that its state can be kept.
    pub fn arguments_to_keep(&self) -> Vec<String> {
        let mut arguments = self.machine(MainLoop::Beside);
        arguments.monitor();
        arguments.0
    }

    /// The arguments by which a machine that was kept is taken up, in place of booting it.
    pub fn arguments_to_take_up(&self) -> Vec<String> {
        let mut arguments = self.machine(MainLoop::Between);
        arguments.monitor().option("-incoming", "defer");
        arguments.0
    }

    /// The emulator's arguments.
    ///
    /// In exact time each of them is needed for a run to repeat: without a clock and a
    /// seed of its own, with a second CPU or with `sleep=on` none does.
    pub fn arguments(&self) -> Vec<String> {
        self.machine(MainLoop::Between).0
    }

    fn machine(&self, main_loop: MainLoop) -> Arguments {
        let mut arguments = Arguments(Vec::new());
        arguments.nothing_more();
        match (self.guest.time, self.accelerator()) {
            (GuestTime::Exact(speed), _) => {
                arguments.exact(speed, main_loop);
            }
            (GuestTime::Wall, Accelerator::Kvm) => {
                arguments.option("-accel", "kvm").option("-cpu", "host");
            }
            (GuestTime::Wall, Accelerator::Tcg) => {
                arguments.option("-accel", "tcg").option("-cpu", EMULATED_CPU);
            }
        }
        arguments
            .option("-smp", &self.topology())
            .option("-m", &MEMORY_MIB.to_string())
            .option("-seed", &self.seed.to_string())
            .option("-kernel", KERNEL_FILE)
            .option("-initrd", ARCHIVE_FILE)
            .option("-append", &self.kernel_command_line())
            .option("-serial", &format!("file:{CONSOLE_FILE}"));
        for _ in 0..SERIAL_LINES {
            // What is written there leads nowhere, and nothing ever comes from there.
            arguments.option("-serial", "null");
        }
        arguments.messages().option("-fw_cfg", &format!("name={REQUEST_ITEM},file={REQUEST_FILE}"));
        arguments
    }

    fn is_built(&self) -> bool {
        matches!(self.guest.kernel.source, KernelSource::Built(_))
    }

    /// How many CPUs there are. The tables by which kernels of ours find them have one
    /// for each socket.
    fn topology(&self) -> String {
        let count = self.cpus();
        if self.is_built() { format!("{count},sockets={count}") } else { count.to_string() }
    }

    fn kernel_command_line(&self) -> String {
        let mut words = vec![KERNEL_COMMAND_LINE.to_owned()];
        if self.is_built() && self.guest.time.is_exact() {
            words.push(timestamp_parameter(EXACT_TIMESTAMP_KHZ));
        }
        if !self.guest.time.is_exact() {
            words.push(NO_TIMER_CHECK.to_owned());
        }
        words.extend(self.guest.kernel.parameters.iter().cloned());
        words.join(" ")
    }
}

/// When the emulator's main loop works, whose part it is to move virtual time on while the
/// CPU is idle.
///
/// A CPU that halts is idle a moment before it has told how far it came. A main loop
/// that looks just then moves time on from where the CPU began, so that a wakeup
/// comes some hundred instructions late, once in some ten thousand (`icount_start_warp_timer`
/// and `icount_process_data` in QEMU's source).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MainLoop {
    /// Whenever it has something to do. A machine's state can be kept by this one alone.
    Beside,
    /// Only when the CPU does not: while all is recorded for a replay, one lock keeps
    /// the two apart. What is recorded goes nowhere.
    Between,
}

/// The emulator's arguments for a bare kernel that measures by itself, in exact time.
pub fn bare_machine(speed: Speed, samples: u32) -> Vec<String> {
    const MEMORY_MIB: u32 = 16;
    let mut arguments = Arguments(Vec::new());
    arguments
        .nothing_more()
        .exact(speed, MainLoop::Between)
        .option("-smp", "1")
        .option("-m", &MEMORY_MIB.to_string())
        .option("-seed", "1")
        .option("-kernel", KERNEL_FILE)
        .option("-append", &format!("samples={samples}"))
        .messages();
    arguments.0
}

struct Arguments(Vec<String>);

impl Arguments {
    /// Nothing is there that is not asked for.
    fn nothing_more(&mut self) -> &mut Self {
        self.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
        self.option("-display", "none").option("-monitor", "none")
    }

    /// Time is instructions.
    fn exact(&mut self, speed: Speed, main_loop: MainLoop) -> &mut Self {
        let recording = match main_loop {
            MainLoop::Beside => "",
            MainLoop::Between => ",rr=record,rrfile=/dev/null",
        };
        self.option("-accel", "tcg,thread=single")
            .option("-icount", &format!("shift={},sleep=off{recording}", speed.shift()))
            .option("-rtc", "base=2020-01-01T00:00:00,clock=vm")
            .option("-cpu", EMULATED_CPU)
    }

    /// What a machine needs so that it stops by itself, and its state can be kept or taken up.
    fn monitor(&mut self) -> &mut Self {
        self.option("-device", "ib700").option("-action", "watchdog=pause");
        self.option("-qmp", &format!("unix:{MONITOR_FILE},server=on,wait=off"))
    }

    /// The ways out: messages to standard output, and an exit status.
    fn messages(&mut self) -> &mut Self {
        self.option("-chardev", "stdio,id=messages,signal=off")
            .option("-device", &format!("isa-debugcon,iobase={MESSAGE_PORT:#x},chardev=messages"))
            .option("-device", &format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04"))
    }

    fn flag(&mut self, name: &str) -> &mut Self {
        self.0.push(name.to_owned());
        self
    }

    fn option(&mut self, name: &str, value: &str) -> &mut Self {
        self.flag(name).flag(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(kernel: &str, time: &str, accelerator: Accelerator) -> String {
        let guest = Guest { kernel: kernel.parse().unwrap(), time: time.parse().unwrap() };
        Machine { guest: &guest, accelerator, cpus: 2, seed: 7 }.arguments().join(" ")
    }

    #[test]
    fn exact_time_is_one_emulated_cpu_with_clock_and_seed_of_its_own() {
        let line = arguments("debian:preempt=none", "exact:125", Accelerator::Kvm);
        for part in [
            "-accel tcg,thread=single",
            "-icount shift=3,sleep=off",
            "-rtc base=2020-01-01T00:00:00,clock=vm",
            "-seed 7",
            "-smp 1",
            "-nodefaults",
            "-no-user-config",
            "rdinit=/init tsc=reliable preempt=none -serial",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        assert!(!line.contains("kvm"), "{line}");
    }

    #[test]
    fn a_kernel_of_ours_is_told_how_its_clock_goes() {
        let told = "tsc=reliable tsc_early_khz=1000000 preempt=none -serial";
        let exact = arguments("built+hz=1000:preempt=none", "exact", Accelerator::Tcg);
        assert!(exact.contains(told), "{exact}");
        // In wall time the counter is the host's, which has to be measured.
        let wall = arguments("built+hz=1000:preempt=none", "wall", Accelerator::Tcg);
        assert!(!wall.contains("tsc_early_khz"), "{wall}");
        assert!(wall.contains("-smp 2,sockets=2 "), "{wall}");
    }

    #[test]
    fn a_machine_in_exact_time_can_be_kept_and_is_taken_up_by_the_same_arguments() {
        let guest = Guest { kernel: "debian".parse().unwrap(), time: "exact".parse().unwrap() };
        let machine =
            Machine { guest: &guest, accelerator: Accelerator::Tcg, cpus: 1, seed: 1 };
        let booted = machine.arguments_to_keep();
        assert!(booted.join(" ").contains("-device ib700 -action watchdog=pause"));
        let taken_up = machine.arguments_to_take_up().join(" ");
        let recorded = taken_up.replace(",rr=record,rrfile=/dev/null", "");
        assert_ne!(taken_up, recorded, "while it measures the main loop does nothing beside");
        assert_eq!(recorded, format!("{} -incoming defer", booted.join(" ")));
        assert!(!machine.arguments().join(" ").contains("ib700"), "one that is not to be kept");
    }

    #[test]
    fn wall_time_is_the_hosts() {
        let emulated = arguments("debian", "wall", Accelerator::Tcg);
        assert!(emulated.contains("-accel tcg -cpu qemu64"), "{emulated}");
        assert!(emulated.contains("-smp 2"), "{emulated}");
        assert!(!emulated.contains("icount") && !emulated.contains("-rtc"), "{emulated}");
        assert!(emulated.contains("tsc=reliable no_timer_check"), "{emulated}");
        assert!(!arguments("debian", "exact", Accelerator::Tcg).contains(NO_TIMER_CHECK));
        let virtualized = arguments("debian", "wall", Accelerator::Kvm);
        assert!(virtualized.contains("-accel kvm -cpu host"), "{virtualized}");
    }

    #[test]
    fn serial_lines_lead_nowhere_and_the_first_is_the_console() {
        for time in ["exact", "wall"] {
            let line = arguments("debian", time, Accelerator::Tcg);
            let ports: Vec<&str> = line.split("-serial ").skip(1).collect();
            assert_eq!(ports.len(), 1 + SERIAL_LINES);
            assert!(ports[0].starts_with("file:console "), "{line}");
            assert!(ports[1..].iter().all(|port| port.starts_with("null ")), "{line}");
        }
    }

    #[test]
    fn the_command_line_names_no_path_of_the_host() {
        let line = arguments("/home/ann/bzImage", "exact", Accelerator::Tcg);
        assert!(!line.contains("/home/ann"), "{line}");
    }
}
