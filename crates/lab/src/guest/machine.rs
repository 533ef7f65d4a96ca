//! The virtual machine of a guest: the emulator's arguments, from values alone.

use tactus_model::guest::{EXIT_PORT, Guest, GuestTime, MESSAGE_PORT};

/// What executes a guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
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
    /// Processors in wall time; in exact time there is one.
    pub processors: u32,
    /// The seed of all random numbers that the guest gets from the emulator.
    pub seed: u32,
}

/// The files that a machine is started with and writes, in its working directory. That
/// they have no other name keeps one machine's command line equal to another's.
pub const KERNEL_FILE: &str = "kernel";
/// As [`KERNEL_FILE`]: the archive.
pub const ARCHIVE_FILE: &str = "archive";
/// As [`KERNEL_FILE`]: what the kernel wrote to its console.
pub const CONSOLE_FILE: &str = "console";

/// The processor that is emulated: old enough for every emulator, with the time stamp
/// counter that the kernel trusts. One that has more is slower to emulate.
const EMULATED_PROCESSOR: &str = "qemu64,+invtsc";

/// Memory in MiB: enough for the loads, and more only makes a kernel boot longer.
const MEMORY_MIB: u32 = 768;

/// What every guest's kernel is told: to speak to the serial port, to end the emulator
/// when it panics, and which program of the archive is its first.
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 quiet panic=-1 rdinit=/init tsc=reliable";

impl Machine<'_> {
    /// The processors that the guest has.
    pub const fn processors(&self) -> u32 {
        match self.guest.time {
            GuestTime::Wall => self.processors,
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

    /// The emulator's arguments.
    ///
    /// In exact time each of them is needed for a run to repeat: without a clock and a
    /// seed of its own, with a second processor or with `sleep=on` none does.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = Arguments(Vec::new());
        // Nothing is there that was not asked for.
        arguments.flag("-nodefaults").flag("-no-user-config").flag("-no-reboot");
        arguments.option("-display", "none").option("-monitor", "none");
        match (self.guest.time, self.accelerator()) {
            (GuestTime::Exact(speed), _) => {
                let count = format!("shift={},sleep=off", speed.shift());
                arguments
                    .option("-accel", "tcg,thread=single")
                    .option("-icount", &count)
                    .option("-rtc", "base=2020-01-01T00:00:00,clock=vm")
                    .option("-cpu", EMULATED_PROCESSOR);
            }
            (GuestTime::Wall, Accelerator::Kvm) => {
                arguments.option("-accel", "kvm").option("-cpu", "host");
            }
            (GuestTime::Wall, Accelerator::Tcg) => {
                arguments.option("-accel", "tcg").option("-cpu", EMULATED_PROCESSOR);
            }
        }
        arguments
            .option("-smp", &self.processors().to_string())
            .option("-m", &MEMORY_MIB.to_string())
            .option("-seed", &self.seed.to_string())
            .option("-kernel", KERNEL_FILE)
            .option("-initrd", ARCHIVE_FILE)
            .option("-append", &self.kernel_command_line())
            .option("-serial", &format!("file:{CONSOLE_FILE}"))
            .option("-chardev", "stdio,id=messages,signal=off")
            .option("-device", &format!("isa-debugcon,iobase={MESSAGE_PORT:#x},chardev=messages"))
            .option("-device", &format!("isa-debug-exit,iobase={EXIT_PORT:#x},iosize=0x04"));
        arguments.0
    }

    fn kernel_command_line(&self) -> String {
        let mut words = vec![KERNEL_COMMAND_LINE.to_owned()];
        words.extend(self.guest.kernel.parameters.iter().cloned());
        words.join(" ")
    }
}

struct Arguments(Vec<String>);

impl Arguments {
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
        Machine { guest: &guest, accelerator, processors: 2, seed: 7 }.arguments().join(" ")
    }

    #[test]
    fn exact_time_is_one_emulated_processor_with_clock_and_seed_of_its_own() {
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
    fn wall_time_is_the_hosts() {
        let emulated = arguments("debian", "wall", Accelerator::Tcg);
        assert!(emulated.contains("-accel tcg -cpu qemu64"), "{emulated}");
        assert!(emulated.contains("-smp 2"), "{emulated}");
        assert!(!emulated.contains("icount") && !emulated.contains("-rtc"), "{emulated}");
        let virtualized = arguments("debian", "wall", Accelerator::Kvm);
        assert!(virtualized.contains("-accel kvm -cpu host"), "{virtualized}");
    }

    #[test]
    fn the_command_line_names_no_path_of_the_host() {
        let line = arguments("/home/ann/bzImage", "exact", Accelerator::Tcg);
        assert!(!line.contains("/home/ann"), "{line}");
    }
}
