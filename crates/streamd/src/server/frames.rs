//! Memory for frames of pictures.

use std::os::fd::{AsFd, OwnedFd};

use tactus_stream::StreamId;
use tactus_stream::message::{FRAMES_MOST, Reply};
use tactus_sys::shared_memory::sized_file;

use crate::connection::Closed;
use crate::queue::Granted;
use crate::server::Server;

impl Server {
    /// Gives a client memory for one more frame, which the device gets too. No thread of the server
    /// touches it.
    pub(super) fn grant_frame(&mut self, key: u64, stream: StreamId) -> Result<(), Closed> {
        let granted = self.new_frame(key, stream);
        let Some(connection) = self.connections.get(&key) else { return Ok(()) };
        match granted {
            Ok(Some((number, file))) => connection.reply(&Reply::Frame { number }, &[file.as_fd()]),
            Ok(None) => Err(Closed(Some("the first request is `hello`".to_owned()))),
            Err(reason) => connection.reply(&Reply::Refused(reason), &[]),
        }
    }

    fn new_frame(&mut self, key: u64, stream: StreamId) -> Result<Option<(u32, OwnedFd)>, String> {
        let Some(connection) = self.connections.get_mut(&key) else { return Ok(None) };
        let user = connection.peer.user;
        let Some(session) = connection.session_mut() else { return Ok(None) };
        let device = self.desk.device(session.client, stream);
        let device = device.map_err(|refusal| refusal.to_string())?;
        let device = &self.devices[device.0 as usize];
        let Some(bytes) = device.info.format.frame_bytes() else {
            let takes = device.info.format.takes();
            return Err(format!("the device `{}` takes {takes}, not frames", device.info.name));
        };
        if session.frames >= FRAMES_MOST {
            return Err(format!("a client has {FRAMES_MOST} frames at most"));
        }
        self.users.take_memory(user, bytes)?;
        let made = sized_file(bytes).map_err(|error| std::io::Error::from(error.errno));
        let made = made.and_then(|file| Ok((file.try_clone()?, file)));
        let (ours, theirs) = match made {
            Ok(made) => made,
            Err(error) => {
                self.users.return_memory(user, bytes);
                return Err(format!("there is no memory for a frame: {error}"));
            }
        };
        let (client, number) = (session.client, session.frames);
        session.frames += 1;
        session.shared_bytes += bytes;
        device.queue.grant(Granted { client, number, file: ours });
        Ok(Some((number, theirs)))
    }
}
