//! How far the machines of a turn came, for a turn that is given up.

/// How far a machine of a turn came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has said nothing.
    Boot,
    /// It has told what machine it is, and starts its load and prepares.
    Preparation,
    /// It has said something of its cell.
    Measurement,
    /// It says nothing more.
    End,
}

impl Stage {
    /// The stage after the machine has said `line`.
    pub fn after(self, line: &str) -> Self {
        // What is not granted is told whenever that is known.
        const SHORTFALL: &str = "{\"message\":\"shortfall\"";
        match self {
            Self::Boot => Self::Preparation,
            Self::Preparation if line.starts_with(SHORTFALL) => self,
            Self::Preparation | Self::Measurement | Self::End => Self::Measurement,
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Boot => "had not booted",
            Self::Preparation => "had booted, and its load had not started",
            Self::Measurement => "was measuring",
            Self::End => "had ended",
        }
    }
}

/// Where the machines of a turn were, in words.
pub fn stages(stages: &[Stage]) -> String {
    match stages {
        [one] => format!("it {}", one.told()),
        several => {
            let told = several.iter().enumerate();
            let told =
                told.map(|(number, stage)| format!("machine {} {}", number + 1, stage.told()));
            told.collect::<Vec<_>>().join(", ")
        }
    }
}

/// What the CPUs did when they were looked at, by QEMU's `info registers`; `None` when
/// nobody could look.
pub fn activity(looks: &[String]) -> Option<&'static str> {
    let halted = looks.iter().filter(|look| look.contains("HLT=1")).count();
    match (halted, looks.len()) {
        (_, 0) => None,
        (0, _) => {
            Some("its CPU was at work: a longer --guest-limit, or fewer copies of the load")
        }
        (halted, all) if halted == all => {
            Some("its CPU was idle, so it waited for something")
        }
        _ => Some("its CPU was now at work and now idle"),
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::message::Message;
    use tactus_model::result::Shortfall;

    use super::*;

    #[test]
    fn a_guest_that_is_given_up_tells_how_far_it_came() {
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
            stages(&[Stage::End, measuring, preparing]),
            "machine 1 had ended, machine 2 was measuring, \
             machine 3 had booted, and its load had not started"
        );
    }

    #[test]
    fn what_a_cpu_did_is_told_when_it_was_seen() {
        let look = |halted: u8| format!("RIP=ffffffff9c600080 CPL=0 II=0 A20=1 SMM=0 HLT={halted}");
        assert_eq!(activity(&[]), None);
        assert!(activity(&[look(0), look(0)]).unwrap().contains("at work: a longer"));
        assert!(activity(&[look(1), look(1)]).unwrap().contains("idle, so it waited"));
        assert!(activity(&[look(1), look(0)]).unwrap().contains("now idle"));
    }
}
