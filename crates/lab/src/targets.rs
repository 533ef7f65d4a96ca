//! Each cell on its own target: this host, or a guest.

use std::io;

use tactus_guests::Guests;
use tactus_model::cell;
use tactus_model::message::CellRequest;

use crate::host::Host;
use crate::target::{Inbox, Measuring, Target};

/// The targets of a plan.
#[derive(Debug)]
pub struct Targets {
    /// This machine.
    pub host: Host,
    /// The guests, if the plan has any.
    pub guests: Option<Guests>,
}

impl Target for Targets {
    fn begin(&mut self, request: &CellRequest, inbox: Inbox) -> io::Result<Box<dyn Measuring>> {
        match (&request.cell.target, &mut self.guests) {
            (cell::Target::Host, _) => self.host.begin(request, inbox),
            (cell::Target::Guest(_), Some(guests)) => guests.begin(request, inbox),
            (cell::Target::Guest(guest), None) => {
                Err(io::Error::other(format!("no guest was prepared for {}", guest.kernel)))
            }
        }
    }
}
