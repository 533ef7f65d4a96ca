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
use crate::sink::Sink;
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
    start_observed(options, |_, sink| Ok(sink))
}

/// Like [`start`]. `observe` gets the name of each device and the way to it, and returns what
/// replaces it, e.g. a sink that passes on what it does.
///
/// # Errors
/// Those of [`start`], and those of `observe`.
pub fn start_observed(
    options: Options,
    mut observe: impl FnMut(&str, Box<dyn Sink>) -> Result<Box<dyn Sink>, String>,
) -> Result<(Server, bool), StartError> {
    // A process that starts no programs needs only this limit raised.
    process::raise_open_files_limit()?;
    // Rings are locked; with a limit, fewer clients find room, and later mappings would fail.
    let lock = match process::remove_lock_limit() {
        Ok(()) => Lock::OnceTouched,
        Err(_) => Lock::Present,
    };
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
        options.devices.into_iter().map(|device| offer(device, &mut observe)).collect();
    let mut server = Server::new(listener, file, offered?, options.settings)?;
    if let Err(refused) = memory::lock(lock) {
        let refused = NotGranted::LockedMemory { errno: refused.errno.raw_os_error() };
        server.add_shortfall(refused.explain_here());
    }
    Ok((server, is_activated))
}

fn offer(
    device: NamedDevice,
    observe: &mut impl FnMut(&str, Box<dyn Sink>) -> Result<Box<dyn Sink>, String>,
) -> Result<Offered, StartError> {
    let NamedDevice { name, spec } = device;
    match spec.open(&name) {
        Ok(sink) => {
            let sink = observe(&name, sink).map_err(StartError::Observer)?;
            Ok(Offered { name, spec: spec.to_string(), sink })
        }
        Err(error) => Err(StartError::Device { name, error }),
    }
}
