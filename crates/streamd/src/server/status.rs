//! The present state of the server.

use tactus_delivery::desk::DeviceId;
use tactus_delivery::item::Moment;
use tactus_stream::message::{ClientStatus, DeviceStatus, Status};

use crate::connection::Role;
use crate::inputs::Inputs;
use crate::server::Server;

/// What a client could do without secret memory.
const NO_SECRET_MEMORY: &str = "secret memory: not granted for the rings of a client, so a hostile \
    client can stall the server. fix: a kernel with CONFIG_SECRETMEM, not disabled by secretmem.enable=0";

impl Server {
    /// The present state, for those who ask.
    pub(super) fn status(&mut self, now: Moment) -> Status {
        let mut status = Status {
            running: now - self.started,
            devices: Vec::new(),
            clients: Vec::new(),
            inputs: self.inputs.as_ref().map(Inputs::status).unwrap_or_default(),
            total: self.total,
            shortfalls: self.shortfalls.iter().map(ToString::to_string).collect(),
        };
        if !self.has_secret_memory {
            status.shortfalls.push(NO_SECRET_MEMORY.to_owned());
        }
        for (place, device) in self.devices.iter().enumerate() {
            let (waiting, delivered, error) = device.queue.report();
            let streams = self.desk.streams_of(DeviceId(place as u32));
            let info = device.info.clone();
            status.devices.push(DeviceStatus { info, streams, waiting, delivered, error });
        }
        for connection in self.connections.values_mut() {
            let Role::Client(session) = &mut connection.role else { continue };
            status.clients.push(ClientStatus {
                client: session.client,
                name: session.name.clone(),
                process: connection.peer.process,
                user: connection.peer.user,
                streams: self.desk.streams(session.client),
                waiting: session.waiting() as u64,
                items: session.room,
                counts: session.counts,
                slack: session.meter.slack(now),
            });
        }
        status
    }
}
