//! The progress of the machines of a turn, reported if the turn takes too long.

/// The progress of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It waits until it may begin.
    Wait,
    /// It has begun, and sent nothing.
    Boot,
    /// It has sent its facts, starts its load and prepares.
    Preparation,
    /// It has sent a message of its cell.
    Measurement,
    /// It sends nothing more.
    End,
}

impl Stage {
    /// The stage after the machine has sent `line`.
    pub fn after(self, line: &str) -> Self {
        // A shortfall may arrive at any time.
        const SHORTFALL: &str = "{\"message\":\"shortfall\"";
        match self {
            Self::Wait | Self::Boot => Self::Preparation,
            Self::Preparation if line.starts_with(SHORTFALL) => self,
            Self::Preparation | Self::Measurement | Self::End => Self::Measurement,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Wait => "had not begun",
            Self::Boot => "had not booted",
            Self::Preparation => "had booted, but its load had not started",
            Self::Measurement => "was measuring",
            Self::End => "had ended",
        }
    }
}

/// The stages of the machines of a turn, in words.
pub fn stages(stages: &[Stage]) -> String {
    match stages {
        [stage] => format!("it {}", stage.words()),
        stages => {
            let words = |(index, stage): (usize, &Stage)| {
                format!("machine {} {}", index + 1, stage.words())
            };
            stages.iter().enumerate().map(words).collect::<Vec<_>>().join(", ")
        }
    }
}

/// What the CPUs did, by samples of QEMU's `info registers`; `None` without samples.
pub fn activity(looks: &[String]) -> Option<&'static str> {
    // For other CPUs than those of x86, QEMU does not print whether they are halted.
    let looks = || looks.iter().filter(|look| look.contains("HLT="));
    let halted = looks().filter(|look| look.contains("HLT=1")).count();
    match (halted, looks().count()) {
        (_, 0) => None,
        (0, _) => Some("its CPU was busy; use a longer --guest-limit or fewer copies of the load"),
        (halted, all) if halted == all => Some("its CPU was idle, so it waited for an event"),
        _ => Some("its CPU was partly busy and partly idle"),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::message::Message;
    use tactus_model::result::Shortfall;

    use super::*;

    #[test]
    fn a_late_guest_is_described_by_its_stage() {
        assert_eq!(stages(&[Stage::Boot]), "it had not booted");
        let shortfall = Shortfall {
            asked: String::new(),
            granted: String::new(),
            reason: String::new(),
            fix: None,
        };
        let shortfall = serde_json::to_string(&Message::Shortfall(shortfall)).unwrap();
        let opened = serde_json::to_string(&Message::Opened).unwrap();
        let preparing = Stage::Boot.after("{}").after(&shortfall);
        let measuring = preparing.after(&opened).after(&shortfall);
        assert_eq!(
            stages(&[Stage::End, measuring, preparing, Stage::Wait]),
            "machine 1 had ended, machine 2 was measuring, \
             machine 3 had booted, but its load had not started, machine 4 had not begun"
        );
    }

    #[test]
    fn the_activity_of_a_cpu_is_described_by_its_samples() {
        let look = |halted: u8| format!("RIP=ffffffff9c600080 CPL=0 II=0 A20=1 SMM=0 HLT={halted}");
        assert_eq!(activity(&[]), None);
        assert_eq!(activity(&["PC=ffffffc0080a1b2c X00=0".to_owned()]), None);
        assert!(activity(&[look(0), look(0)]).unwrap().contains("busy; use a longer"));
        assert!(activity(&[look(1), look(1)]).unwrap().contains("idle, so it waited"));
        assert!(activity(&[look(1), look(0)]).unwrap().contains("partly idle"));
    }
}
