//! A server inside another program, for itself alone.

use std::path::PathBuf;
use std::thread::JoinHandle;

use tactus_sys::local_socket;
use tactus_sys::owned_directory::OwnedDirectory;

use crate::error::{ServeError, StartError};
use crate::inputs::{Inputs, OfferedInput};
use crate::server::{Handle, Offered, Server, Settings};

/// The prefix of the directory of a socket.
const DIRECTORY: &str = "tactus-streamd-";

/// A server in a thread of this process, on a socket that only this user can reach. Dropping it
/// ends it.
#[derive(Debug)]
pub struct LocalServer {
    /// Removed when the thread has ended.
    directory: OwnedDirectory,
    handle: Handle,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl LocalServer {
    /// Starts a server with devices and inputs.
    ///
    /// # Errors
    /// Those of [`Server::new`] and [`Inputs::start`], or no directory can be made for its socket.
    pub fn start(
        offered: Vec<Offered>,
        inputs: Vec<OfferedInput>,
        settings: Settings,
    ) -> Result<Self, StartError> {
        let place = std::env::temp_dir();
        let failed = |error| StartError::Socket { path: place.clone(), error };
        let directory = OwnedDirectory::create(&place, DIRECTORY).map_err(failed)?;
        let (listener, file) =
            local_socket::listen_packets(&socket_in(&directory)).map_err(failed)?;
        let mut server = Server::new(listener, Some(file), offered, settings)?;
        if !inputs.is_empty() {
            let inputs = Inputs::start(inputs, settings.pace.policy).map_err(StartError::Thread)?;
            server = server.with_inputs(inputs);
        }
        let handle = server.handle();
        let thread = std::thread::Builder::new().name("streamd".to_owned());
        let thread = thread.spawn(move || server.run()).map_err(StartError::Thread)?;
        Ok(Self { directory, handle, thread: Some(thread) })
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        socket_in(&self.directory)
    }

    /// Ends it from another thread.
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Ends it: every item that it has gets its receipt.
    ///
    /// # Errors
    /// It has ended by itself before.
    pub fn end(&mut self) -> Result<(), ServeError> {
        self.handle.end();
        self.wait()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// It has ended by itself.
    ///
    /// # Panics
    /// Its thread has panicked.
    pub fn wait(&mut self) -> Result<(), ServeError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        self.handle.end();
        // A panic was reported by its thread, and nobody waits for an error.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn socket_in(directory: &OwnedDirectory) -> PathBuf {
    directory.path().join("socket")
}
