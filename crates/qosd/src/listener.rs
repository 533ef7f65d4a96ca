//! The socket of the manager.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use tactus_sys::activation;

/// The socket that systemd has opened for this process, if it has.
pub fn activated() -> Option<UnixListener> {
    activation::take_sockets().into_iter().next().map(UnixListener::from)
}

/// Listens at `path`, for all users: the policy says what each may have. A socket that a killed
/// manager has left is replaced.
///
/// # Errors
/// `AddrInUse`: another manager listens there. Others: the directory or the file cannot be used.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            _ => return Err(ErrorKind::AddrInUse.into()),
        }
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(listener)
}
