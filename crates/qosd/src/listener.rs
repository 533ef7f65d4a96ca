//! The socket of the manager.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use tactus_sys::activation;

/// The socket that systemd has opened for this process, if it has.
pub fn activated() -> Option<UnixListener> {
    activation::take_sockets().into_iter().next().map(UnixListener::from)
}

/// The file of a socket. Dropping this removes it, unless another has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    /// The file at `path`.
    ///
    /// # Errors
    /// It cannot be examined.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), inode: inode(path)? })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode(&self.path).is_ok_and(|found| found == self.inode) {
            // What cannot be removed is replaced at the next start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
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
