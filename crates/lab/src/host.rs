//! The target that measures on this machine, in a fresh process of our own binary.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Duration;

use tactus_model::message::CellRequest;
use tactus_wire::{Peer, Start};

use crate::target::{Inbox, Measuring, Target};

/// Measures on this machine.
#[derive(Debug)]
pub struct Host {
    executable: PathBuf,
    arguments: Vec<String>,
}

impl Host {
    /// Measures with `executable`, which must run [`tactus_cell::main`] with `arguments`.
    pub fn new(executable: PathBuf, arguments: &[&str]) -> Self {
        Self { executable, arguments: arguments.iter().map(ToString::to_string).collect() }
    }
}

impl Target for Host {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let mut command = Command::new(&self.executable);
        command.args(&self.arguments);
        let start = Start::new(command).in_own_group().dies_with_this_thread();
        let (peer, messages) = start.keeps_last_words().start()?;
        let forwarder = messages.listen("cell-reader", move |read| inbox.put(read.into()))?;
        let mut measuring = HostMeasuring { peer, forwarder };
        match measuring.peer.send(request) {
            Ok(()) => Ok(Box::new(measuring)),
            Err(error) => Err(io::Error::other(format!("{error}; {}", Box::new(measuring).end()))),
        }
    }
}

struct HostMeasuring {
    /// Its input stays open until the result has arrived.
    peer: Peer,
    forwarder: JoinHandle<()>,
}

/// How long a process that has closed its output may take to end by itself, so that its own
/// exit status is reported.
const END_GRACE: Duration = Duration::from_secs(1);

impl Measuring for HostMeasuring {
    fn end(self: Box<Self>) -> String {
        let patience = if self.forwarder.is_finished() { END_GRACE } else { Duration::ZERO };
        let end = self.peer.end(patience);
        tactus_cell::machine::clean_up();
        end
    }
}

#[cfg(test)]
mod tests {
    use tactus_model::experiment::{Experiment, Overrides, Turn};
    use tactus_model::message::Message;
    use tactus_wire::Input;

    use super::*;
    use crate::target::Signal;

    fn request() -> CellRequest {
        let plan = Experiment::parse("name = \"a\"").unwrap().plan(&Overrides::default()).unwrap();
        let cell = plan.cells.into_iter().next().unwrap();
        CellRequest { turn: Turn { cell: 0, round: 0 }, cell, seed: 1, boot_seed: 1 }
    }

    /// The engine's input from a measuring process that runs this script, to the first input
    /// that is not a message, and how the process ended.
    fn input_of(script: &str) -> (Vec<Message>, Input<Message>, String) {
        let mut host = Host::new("sh".into(), &["-c", script]);
        let (inbox, inputs) = Inbox::new();
        let measuring = host.begin(&request(), inbox).unwrap();
        let mut messages = Vec::new();
        loop {
            match inputs.recv_timeout(Duration::from_secs(60)).unwrap() {
                Signal::Input(Input::Message(message)) => messages.push(message),
                Signal::Input(input) => return (messages, input, measuring.end()),
                Signal::Stop => panic!("nobody stopped it"),
            }
        }
    }

    #[test]
    fn the_end_of_a_process_is_closed_even_within_a_message() {
        for half in ["", "printf '{\"message\":\"clo';"] {
            let script = format!(
                "read request; echo '{{\"message\":\"opened\"}}'; {half} echo no >&2; kill -9 $$"
            );
            let (messages, input, end) = input_of(&script);
            assert_eq!(messages, [Message::Opened]);
            assert!(matches!(input, Input::Closed), "{input:?}");
            assert_eq!(end, "it was killed by signal 9; stderr: no");
        }
    }

    #[test]
    fn invalid_output_of_a_process_is_garbled() {
        let check = |script: &str, expected: &str| match input_of(script) {
            (_, Input::Garbled(line), _) => assert_eq!(line, expected),
            (_, input, _) => panic!("{input:?}"),
        };
        check("read request; echo 'segmentation fault'", "segmentation fault");
        let flood = format!("message of more than 67108864 bytes: {}…", "x".repeat(200));
        check("read request; yes x | tr -d '\\n'", &flood);
    }
}
