//! The guests as a target.

use std::io;

use tactus_guests::{BootedGuests, Guests};
use tactus_model::message::{CellRequest, Message};
use tactus_wire::Input;

use crate::target::{Inbox, Measuring, Target};

impl Target for Guests {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        let listener = move |input: Input<Message>| {
            // An engine that is gone has ended the turn.
            inbox.put(input);
        };
        Ok(Box::new(self.start(request, listener)?))
    }
}

impl Measuring for BootedGuests {
    fn end(self: Box<Self>) -> String {
        (*self).end();
        "the guest was ended".to_owned()
    }
}
