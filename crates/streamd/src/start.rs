//! Starts a server as its command describes it.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use tactus_prepare::NotGranted;
use tactus_sys::local_socket::SocketFile;
use tactus_sys::memory::{self, Lock};
use tactus_sys::{activation, local_socket, process};

use crate::error::StartError;
use crate::server::{Offered, Server, Settings};
use crate::spec::NamedDevice;

/// What the server is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where it listens, unless systemd has passed a socket.
    pub socket: PathBuf,
    /// Its devices.
    pub devices: Vec<NamedDevice>,
    /// How it works.
    pub settings: Settings,
}

/// Opens the devices and the socket, and locks the memory of the process. Returns whether systemd
/// has passed the socket too.
///
/// # Errors
/// A device cannot be opened, another server listens at the socket, or a thread does not start.
pub fn start(options: Options) -> Result<(Server, bool), StartError> {
    // A process that starts no programs needs only this limit raised.
    process::raise_open_files_limit()?;
    // Rings are locked; with a limit, fewer clients find room.
    let unlimited = process::remove_lock_limit();
    let failed = |error| StartError::Socket { path: options.socket.clone(), error };
    let activated = activation::take_sockets().into_iter().next().map(UnixListener::from);
    let is_activated = activated.is_some();
    let (listener, file): (UnixListener, Option<SocketFile>) = match activated {
        Some(listener) if local_socket::keeps_bounds(&listener) => (listener, None),
        Some(_) => {
            let reason = "systemd passed a socket of another kind than ListenSequentialPacket=";
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        None => {
            let (listener, file) = local_socket::listen_packets(&options.socket).map_err(failed)?;
            (listener, Some(file))
        }
    };
    let offered: Result<Vec<Offered>, StartError> =
        options.devices.into_iter().map(offer).collect();
    let mut server = Server::new(listener, file, offered?, options.settings)?;
    // Later mappings would fail beyond a limit.
    if let Err(refused) = unlimited.and_then(|()| memory::lock(Lock::OnceTouched)) {
        let refused = NotGranted::LockedMemory { errno: refused.errno.raw_os_error() };
        server.add_shortfall(refused.explain_here());
    }
    Ok((server, is_activated))
}

fn offer(device: NamedDevice) -> Result<Offered, StartError> {
    let NamedDevice { name, spec } = device;
    match spec.open(&name) {
        Ok(sink) => Ok(Offered { name, spec: spec.to_string(), sink }),
        Err(error) => Err(StartError::Device { name, error }),
    }
}
