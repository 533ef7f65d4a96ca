//! A session manager for a [`PrivateServer`]: it links the streams of native clients with the sink.
//!
//! Clients of JACK connect their ports themselves, those of PipeWire wait for a session manager. Ours is
//! WirePlumber with its policy only: it opens no devices of the machine.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};

use tactus_sys::process::end_with_parent;

use crate::server::PrivateServer;

/// The configuration without devices.
const POLICY: &str = "policy.conf";

/// Why there is no session manager.
#[derive(Debug, thiserror::Error)]
pub enum NoManager {
    /// WirePlumber is not in `PATH`.
    #[error(
        "WirePlumber is not installed, so players that do not link themselves are not heard; fix: apt-get install wireplumber"
    )]
    NotInstalled,
    /// The system fails.
    #[error("cannot start WirePlumber: {0}")]
    System(#[from] io::Error),
}

/// A WirePlumber. It ends with this value, and with the thread that started it.
#[derive(Debug)]
pub struct SessionManager(Child);

impl SessionManager {
    /// Starts it for a server. It does not wait: clients wait for it.
    ///
    /// # Errors
    /// It is not installed, or cannot be started.
    pub fn start(server: &PrivateServer) -> Result<Self, NoManager> {
        let mut command = Command::new("wireplumber");
        command
            .args(["-c", POLICY])
            .envs(server.variables())
            // Its own files are those of the system.
            .env_remove("PIPEWIRE_CONFIG_DIR")
            .env_remove("DBUS_SESSION_BUS_ADDRESS")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        end_with_parent(&mut command);
        let process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => NoManager::NotInstalled,
            _ => error.into(),
        })?;
        Ok(Self(process))
    }

    /// How it ended, if it did so by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for SessionManager {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
