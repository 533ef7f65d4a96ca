//! Fewer bytes on a wire: a status byte that does not change is left out.

use crate::message::{Message, REAL_TIME, SYSTEM_EXCLUSIVE};

/// The bytes of messages with running status: a channel message with the status of the one before
/// it consists of its data.
///
/// It follows one wire. Real-time messages leave the status as it is; other system messages end it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningStatus {
    status: Option<u8>,
}

impl RunningStatus {
    /// The bytes to write for a message.
    pub fn encode<'a>(&mut self, message: &'a Message) -> &'a [u8] {
        let bytes = message.bytes();
        let (status, data) = (bytes[0], &bytes[1..]);
        match status {
            REAL_TIME.. => bytes,
            SYSTEM_EXCLUSIVE.. => {
                self.status = None;
                bytes
            }
            _ if self.status == Some(status) => data,
            _ => {
                self.status = Some(status);
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tactus_model::time::Instant;

    use super::*;
    use crate::parser::{Parsed, Parser};
    use crate::testing::message;

    proptest! {
        #[test]
        fn a_parser_restores_every_message(
            messages in prop::collection::vec(message(), 0..60),
        ) {
            let (mut running, mut parser) = (RunningStatus::default(), Parser::default());
            let (mut found, mut written) = (Vec::new(), 0);
            for message in &messages {
                let bytes = running.encode(message);
                written += bytes.len();
                for byte in bytes {
                    parser.push(*byte, Instant::from_nanos(0), |parsed| found.push(parsed));
                }
            }
            let found: Vec<Message> = found
                .into_iter()
                .map(|parsed| match parsed {
                    Parsed::Message { message, .. } => message,
                    Parsed::Problem { problem, .. } => panic!("{problem}"),
                })
                .collect();
            prop_assert_eq!(&found, &messages);
            prop_assert!(written <= messages.iter().map(|message| message.bytes().len()).sum());
        }
    }
}
