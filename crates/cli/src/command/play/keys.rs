//! Keys of the terminal.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::thread;

use tactus_player::Command;
use tactus_sys::terminal::KeyMode;

use super::commands::Commands;

/// A terminal whose keys are commands; its mode is restored with this value.
pub(super) struct Keys {
    _mode: KeyMode,
}

impl Keys {
    /// Attends to the terminal of standard input, if there is one in the foreground.
    pub(super) fn attend(to: Commands) -> Option<Self> {
        let mode = KeyMode::set(io::stdin().as_fd()).ok()??;
        let mut input = File::from(mode.as_fd().try_clone_to_owned().ok()?);
        let read = move || {
            let mut bytes = [0; 64];
            // A sequence of a key comes in one piece. It ends with the program.
            while let Ok(count @ 1..) = input.read(&mut bytes) {
                commands(&bytes[..count]).into_iter().for_each(|command| to.send(command));
            }
        };
        thread::Builder::new().name("keys".to_owned()).spawn(read).ok()?;
        Some(Self { _mode: mode })
    }
}

/// The bytes of keys, and their commands; sequences come before what they begin with.
const KEYS: [(&[u8], Command); 13] = [
    (b"\x1b[C", Command::Jump(5)),
    (b"\x1b[D", Command::Jump(-5)),
    (b"\x1b[A", Command::Jump(60)),
    (b"\x1b[B", Command::Jump(-60)),
    (b"\x1bOC", Command::Jump(5)),
    (b"\x1bOD", Command::Jump(-5)),
    (b"\x1bOA", Command::Jump(60)),
    (b"\x1bOB", Command::Jump(-60)),
    (b" ", Command::Pause),
    (b"q", Command::Quit),
    (b"+", Command::Faster),
    (b"-", Command::Slower),
    (b"=", Command::NormalSpeed),
];

/// The commands of keys that came together. An unknown sequence has none.
fn commands(mut bytes: &[u8]) -> Vec<Command> {
    let mut found = Vec::new();
    while let [first, ..] = bytes {
        let known = KEYS.iter().find(|(key, _)| bytes.starts_with(key));
        match known {
            Some((key, command)) => {
                found.push(*command);
                bytes = &bytes[key.len()..];
            }
            None if *first == 0x1b => break,
            None => bytes = &bytes[1..],
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_commands() {
        let found = commands(b" x\x1b[C\x1b[Dq");
        let wanted = [Command::Pause, Command::Jump(5), Command::Jump(-5), Command::Quit];
        assert_eq!(found, wanted);
        assert!(commands(b"\x1b[15~q").is_empty(), "an unknown sequence");
    }
}
