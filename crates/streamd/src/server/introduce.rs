//! The first request of a connection: what its peer is.

use std::os::fd::AsFd;

use tactus_midi::Kinds;
use tactus_model::text::nearest;
use tactus_stream::message::{Reply, VERSION, Wanted, Welcome};

use crate::connection::{Closed, Role, Session, Shapes};
use crate::inputs::Inputs;
use crate::server::Server;

impl Server {
    /// Passes messages of an input on to a connection. The thread of the inputs replies.
    pub(super) fn listen(
        &mut self,
        key: u64,
        version: u32,
        input: &str,
        kinds: Kinds,
    ) -> Result<(), Closed> {
        check_version(version)?;
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        check_role(&connection.role)?;
        let inputs = self.inputs.as_ref();
        let Some((inputs, place)) = inputs.and_then(|inputs| Some((inputs, inputs.find(input)?)))
        else {
            let names = inputs.map(Inputs::names).unwrap_or_default();
            let hint = nearest(input, &names).map(|name| format!("; did you mean `{name}`?"));
            let reason = format!("there is no such input{}", hint.unwrap_or_default());
            return Err(Closed(Some(reason)));
        };
        if inputs.is_gone(place) {
            return Err(Closed(Some(format!("the device of input `{input}` is gone"))));
        }
        let failed = |error: std::io::Error| Closed(Some(format!("it cannot listen: {error}")));
        let socket = connection.socket().map_err(failed)?;
        connection.role = Role::Listener;
        inputs.enter(place, key, kinds, socket);
        Ok(())
    }

    /// Introduces a client.
    pub(super) fn welcome(&mut self, key: u64, version: u32, wanted: Wanted) -> Result<(), Closed> {
        let refused = |reason: String| Closed(Some(reason));
        check_version(version)?;
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(()) };
        check_role(&connection.role)?;
        let shapes = Shapes::of(&wanted).map_err(refused)?;
        self.users.take_memory(connection.peer.user, shapes.bytes()).map_err(refused)?;
        let client = self.desk.enter(shapes.room() as u32);
        let made = Session::new(client, wanted, &shapes);
        let (session, files, not_secret) = match made {
            Ok(made) => made,
            Err(error) => {
                self.desk.leave(client);
                self.users.return_memory(connection.peer.user, shapes.bytes());
                return Err(refused(format!("there is no memory for its rings: {error}")));
            }
        };
        let welcome = Welcome {
            client,
            items: session.room,
            payload_bytes: session.payload_bytes,
            horizon: self.settings.horizon,
            devices: self.devices.iter().map(|device| device.info.clone()).collect(),
        };
        connection.role = Role::Client(Box::new(session));
        self.clients.insert(client, key);
        self.has_secret_memory &= not_secret.is_none();
        let files = files.each_ref().map(AsFd::as_fd);
        connection.reply(&Reply::Welcome(welcome), &files)
    }
}

fn check_version(version: u32) -> Result<(), Closed> {
    if version == VERSION {
        return Ok(());
    }
    let reason = format!("the server has version {VERSION} of the protocol, not {version}");
    Err(Closed(Some(reason)))
}

/// A connection introduces itself once.
fn check_role(role: &Role) -> Result<(), Closed> {
    match role {
        Role::Unintroduced { .. } => Ok(()),
        Role::Listener | Role::Client(_) => {
            Err(Closed(Some("it has introduced itself already".to_owned())))
        }
    }
}
