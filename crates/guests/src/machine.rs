//! The virtual machine of a guest: the emulator's arguments as pure values.

use tactus_model::guest::{EXIT_PORT, Guest, GuestTime, MESSAGE_PORT, REQUEST_ITEM, Speed};
use tactus_model::kernel::{Architecture, KernelSource};

use crate::monitor::MONITOR_FILE;

pub use tactus_model::guest::REQUEST_FILE;

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The CPU, through KVM.
    Kvm,
    /// The emulator.
    Tcg,
}

impl Accelerator {
    /// QEMU's name for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        }
    }
}

/// A virtual machine in which a guest boots.
#[derive(Clone, Copy, Debug)]
pub struct Machine<'a> {
    /// The kernel, and how time passes.
    pub guest: &'a Guest,
    /// The CPUs for which the kernel was built.
    pub architecture: Architecture,
    /// What executes its instructions; in deterministic time always the emulator.
    pub accelerator: Accelerator,
    /// CPUs in wall time; in deterministic time there is one.
    pub cpus: u32,
    /// The seed of all random numbers that the emulator gives the guest.
    pub seed: u32,
}

/// The kernel, in the working directory of a machine. The names of the files are fixed, so the
/// command lines of machines are equal.
pub const KERNEL_FILE: &str = "kernel";
/// Like [`KERNEL_FILE`]: the archive.
pub const ARCHIVE_FILE: &str = "archive";
/// Like [`KERNEL_FILE`]: the console of the guest's kernel.
pub const CONSOLE_FILE: &str = "console";

/// The emulated CPU: old enough for every emulator, and without features that are slow to emulate.
/// The kernel must trust its clock, which counts nanoseconds: on arm64 by default it would count
/// sixteenths of a microsecond.
const fn emulated_cpu(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "qemu64,+invtsc",
        Architecture::Arm64 => "cortex-a53,cntfrq=1000000000",
    }
}

/// Memory in MiB: enough for the loads; more only prolongs the boot.
const MEMORY_MIB: u32 = 768;

/// Serial ports besides the console, for the load `serial`: `ttyS1` and up on amd64, `ttyS0` on
/// arm64.
const SERIAL_LINES: usize = 1;

/// The parameters of every guest's kernel: its console is the serial port, a panic ends the
/// emulator, and `/init` in the archive is the first process.
const fn kernel_command_line(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::Amd64 => "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable",
        Architecture::Arm64 => "console=ttyAMA0 quiet panic=-1 rdinit=/init",
    }
}

/// The frequency of the time stamp counter in deterministic time, in kHz: it counts virtual
/// nanoseconds. Kernels that we built get it as a parameter; their own calibration would differ
/// by parts per million.
pub(super) const EXACT_TIMESTAMP_KHZ: u64 = 1_000_000;

/// The kernel parameter for the frequency of the time stamp counter.
pub(super) fn timestamp_parameter(khz: u64) -> String {
    format!("tsc_early_khz={khz}")
}

/// The additional parameter in wall time: do not check the timer by counting interrupts for
/// some milliseconds. On a busy host the interrupts of an emulated timer come too late for the
/// check, and the kernel panics, or continues without the timer and hangs.
const NO_TIMER_CHECK: &str = "no_timer_check";

impl Machine<'_> {
    /// The CPUs of the guest.
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

    /// The arguments of a machine that stops after its boot, so that its state can be saved.
    pub fn arguments_to_save(&self) -> Vec<String> {
        let mut arguments = self.machine(MainLoop::Beside);
        arguments.monitor();
        arguments.words
    }

    /// The arguments that restore a saved machine instead of booting it.
    pub fn arguments_to_restore(&self) -> Vec<String> {
        let mut arguments = self.machine(MainLoop::Between);
        arguments.monitor().option("-incoming", "defer");
        arguments.words
    }

    /// The emulator's arguments.
    ///
    /// In deterministic time, each of them is needed for a repeatable run: with the host's clock
    /// or seed, with a second CPU or with `sleep=on`, no run is repeatable.
    pub fn arguments(&self) -> Vec<String> {
        self.machine(MainLoop::Between).words
    }

    fn machine(&self, main_loop: MainLoop) -> Arguments {
        let mut arguments = Arguments { words: Vec::new(), architecture: self.architecture };
        arguments.nothing_more();
        match (self.guest.time, self.accelerator()) {
            (GuestTime::Exact(speed), _) => {
                arguments.exact(speed, main_loop);
            }
            (GuestTime::Wall, Accelerator::Kvm) => {
                arguments.option("-accel", "kvm").option("-cpu", "host");
            }
            (GuestTime::Wall, Accelerator::Tcg) => {
                let cpu = emulated_cpu(self.architecture);
                arguments.option("-accel", "tcg").option("-cpu", cpu);
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
        for number in 0..SERIAL_LINES {
            arguments.serial_line(number);
        }
        arguments.messages();
        if self.architecture == Architecture::Amd64 {
            // On arm64, the guest reads the file by semihosting.
            arguments.option("-fw_cfg", &format!("name={REQUEST_ITEM},file={REQUEST_FILE}"));
        }
        arguments
    }

    fn is_built(&self) -> bool {
        matches!(self.guest.kernel.source, KernelSource::Built(_))
    }

    /// The number of CPUs. The tables in which our kernels find them list one CPU a socket.
    fn topology(&self) -> String {
        let count = self.cpus();
        if self.is_built() { format!("{count},sockets={count}") } else { count.to_string() }
    }

    fn kernel_command_line(&self) -> String {
        let mut words = vec![kernel_command_line(self.architecture).to_owned()];
        if self.is_built() && self.guest.time.is_exact() {
            words.push(timestamp_parameter(EXACT_TIMESTAMP_KHZ));
        }
        if !self.guest.time.is_exact() && self.architecture == Architecture::Amd64 {
            words.push(NO_TIMER_CHECK.to_owned());
        }
        words.extend(self.guest.kernel.parameters.iter().cloned());
        words.join(" ")
    }
}

/// When the emulator's main loop runs. The main loop advances virtual time while the CPU is
/// idle.
///
/// A CPU that halts is marked idle shortly before its executed instructions are accounted. If
/// the main loop runs in between, it advances time from the CPU's previous instant, and a
/// wakeup comes some hundred instructions late, about once in ten thousand wakeups
/// (`icount_start_warp_timer` and `icount_process_data` in QEMU's source).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MainLoop {
    /// Whenever it has something to do. Only this setting can save a machine's state.
    Beside,
    /// Only when the CPU does not run: recording for a replay puts both under one lock. The
    /// recorded data is discarded.
    Between,
}

/// The emulator's arguments for a bare-metal program that measures by itself, in deterministic
/// time.
pub fn bare_machine(speed: Speed, samples: u32) -> Vec<String> {
    const MEMORY_MIB: u32 = 16;
    let mut arguments = Arguments { words: Vec::new(), architecture: Architecture::Amd64 };
    arguments
        .nothing_more()
        .exact(speed, MainLoop::Between)
        .option("-smp", "1")
        .option("-m", &MEMORY_MIB.to_string())
        .option("-seed", "1")
        .option("-kernel", KERNEL_FILE)
        .option("-append", &format!("samples={samples}"))
        .messages();
    arguments.words
}

struct Arguments {
    words: Vec<String>,
    architecture: Architecture,
}

impl Arguments {
    /// Disables every default device and configuration.
    fn nothing_more(&mut self) -> &mut Self {
        self.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
        if self.architecture == Architecture::Arm64 {
            // This emulator has no default machine. Its older interrupt controller has 8 CPUs.
            self.option("-machine", "virt,gic-version=3");
        }
        self.option("-display", "none").option("-monitor", "none")
    }

    /// Sets deterministic (instruction-counted) time.
    fn exact(&mut self, speed: Speed, main_loop: MainLoop) -> &mut Self {
        let recording = match main_loop {
            MainLoop::Beside => "",
            MainLoop::Between => ",rr=record,rrfile=/dev/null",
        };
        let cpu = emulated_cpu(self.architecture);
        self.option("-accel", "tcg,thread=single")
            .option("-icount", &format!("shift={},sleep=off{recording}", speed.shift()))
            .option("-rtc", "base=2020-01-01T00:00:00,clock=vm")
            .option("-cpu", cpu)
    }

    /// Adds the devices with which a machine stops by itself, and its state is saved or restored.
    fn monitor(&mut self) -> &mut Self {
        let watchdog = match self.architecture {
            Architecture::Amd64 => "ib700",
            Architecture::Arm64 => "i6300esb",
        };
        self.option("-device", watchdog).option("-action", "watchdog=pause");
        self.option("-qmp", &format!("unix:{MONITOR_FILE},server=on,wait=off"))
    }

    /// Adds the outputs: messages to standard output, and an exit status.
    fn messages(&mut self) -> &mut Self {
        self.option("-chardev", "stdio,id=messages,signal=off");
        match self.architecture {
            Architecture::Amd64 => {
                let messages = format!("isa-debugcon,iobase={MESSAGE_PORT:#x},chardev=messages");
                let exit = format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04");
                self.option("-device", &messages).option("-device", &exit)
            }
            Architecture::Arm64 => {
                let requests = "enable=on,userspace=on,target=native,chardev=messages";
                self.option("-semihosting-config", requests)
            }
        }
    }

    /// Adds a serial port. Output there is discarded, and no input arrives.
    fn serial_line(&mut self, number: usize) -> &mut Self {
        match self.architecture {
            Architecture::Amd64 => self.option("-serial", "null"),
            // The machine has one serial port, which is the console.
            Architecture::Arm64 => self
                .option("-chardev", &format!("null,id=line{number}"))
                .option("-device", &format!("pci-serial,chardev=line{number}")),
        }
    }

    fn flag(&mut self, name: &str) -> &mut Self {
        self.words.push(name.to_owned());
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
        let architecture = Architecture::Amd64;
        let guest = Guest { kernel: kernel.parse().unwrap(), time: time.parse().unwrap() };
        Machine { guest: &guest, architecture, accelerator, cpus: 2, seed: 7 }.arguments().join(" ")
    }

    #[test]
    fn deterministic_time_is_one_emulated_cpu_with_its_own_clock_and_seed() {
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
    fn a_kernel_of_ours_gets_its_clock_frequency_as_a_parameter() {
        let parameters = "tsc=reliable tsc_early_khz=1000000 preempt=none -serial";
        let exact = arguments("built+hz=1000:preempt=none", "exact", Accelerator::Tcg);
        assert!(exact.contains(parameters), "{exact}");
        // In wall time the counter is the host's, whose frequency is measured.
        let wall = arguments("built+hz=1000:preempt=none", "wall", Accelerator::Tcg);
        assert!(!wall.contains("tsc_early_khz"), "{wall}");
        assert!(wall.contains("-smp 2,sockets=2 "), "{wall}");
    }

    #[test]
    fn a_machine_in_deterministic_time_is_saved_and_restored_with_the_same_arguments() {
        let guest = Guest { kernel: "debian".parse().unwrap(), time: "exact".parse().unwrap() };
        for (architecture, watchdog) in
            [(Architecture::Amd64, "ib700"), (Architecture::Arm64, "i6300esb")]
        {
            let accelerator = Accelerator::Tcg;
            let machine = Machine { guest: &guest, architecture, accelerator, cpus: 1, seed: 1 };
            let booted = machine.arguments_to_save();
            let pause = format!("-device {watchdog} -action watchdog=pause");
            assert!(booted.join(" ").contains(&pause));
            let restored = machine.arguments_to_restore().join(" ");
            let recorded = restored.replace(",rr=record,rrfile=/dev/null", "");
            assert_ne!(restored, recorded, "the main loop runs only between CPU work");
            assert_eq!(recorded, format!("{} -incoming defer", booted.join(" ")));
            let machine = machine.arguments().join(" ");
            assert!(!machine.contains(watchdog), "not a machine to be saved");
        }
    }

    #[test]
    fn a_machine_for_arm64_has_no_device_of_a_pc() {
        let guest =
            Guest { kernel: "debian-arm64".parse().unwrap(), time: "wall".parse().unwrap() };
        let (architecture, accelerator) = (Architecture::Arm64, Accelerator::Tcg);
        let machine = Machine { guest: &guest, architecture, accelerator, cpus: 2, seed: 1 };
        let line = machine.arguments().join(" ");
        for part in [
            "-machine virt,gic-version=3",
            "-cpu cortex-a53,cntfrq=1000000000",
            "-append console=ttyAMA0 quiet panic=-1 rdinit=/init -serial",
            "-semihosting-config enable=on,userspace=on,target=native,chardev=messages",
            "-device pci-serial,chardev=line0",
        ] {
            assert!(line.contains(part), "{part} is not in {line}");
        }
        for part in ["isa-", "fw_cfg", "tsc", "no_timer_check", "-serial null"] {
            assert!(!line.contains(part), "{part} is in {line}");
        }
    }

    #[test]
    fn wall_time_is_the_time_of_the_host() {
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
    fn the_first_serial_port_is_the_console_and_the_others_are_null() {
        for time in ["exact", "wall"] {
            let line = arguments("debian", time, Accelerator::Tcg);
            let ports: Vec<&str> = line.split("-serial ").skip(1).collect();
            assert_eq!(ports.len(), 1 + SERIAL_LINES);
            assert!(ports[0].starts_with("file:console "), "{line}");
            assert!(ports[1..].iter().all(|port| port.starts_with("null ")), "{line}");
        }
    }

    #[test]
    fn the_command_line_contains_no_path_of_the_host() {
        let line = arguments("/home/ann/bzImage", "exact", Accelerator::Tcg);
        assert!(!line.contains("/home/ann"), "{line}");
    }
}
