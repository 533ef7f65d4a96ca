//! Local sockets that carry descriptors and know their peers:
//! [unix(7)](https://man7.org/linux/man-pages/man7/unix.7.html).

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
};

use crate::error::{Errno, SysError};

/// The most descriptors that are sent or received with one piece of a message; the kernel closes
/// others.
pub const DESCRIPTORS_MAX: usize = 4;

/// Who is at the other end of a connection, at the time when it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The process; 0 if it is outside of our PID namespace.
    pub process: i32,
    /// The effective user.
    pub user: u32,
    /// The effective group.
    pub group: u32,
    /// The supplementary groups.
    pub groups: Vec<u32>,
}

/// The most supplementary groups of a process: `NGROUPS_MAX`.
const GROUPS_MAX: usize = 65536;

/// Reads who is at the other end.
///
/// # Errors
/// `ENOTSOCK`, `ENOTCONN`: it is no connected local socket.
#[doc(alias = "SO_PEERCRED")]
#[doc(alias = "SO_PEERGROUPS")]
pub fn peer_credentials(socket: BorrowedFd<'_>) -> Result<PeerCredentials, SysError> {
    // SAFETY: an all-zero `ucred` is valid: it consists of numbers.
    let mut peer: libc::ucred = unsafe { std::mem::zeroed() };
    // rustix has a process ID that cannot be 0 here, and 0 is what the kernel reports for a
    // process outside of our PID namespace.
    // SAFETY: a `ucred` consists of numbers, so every value that the kernel writes is valid.
    unsafe { option(socket, libc::SO_PEERCRED, std::slice::from_mut(&mut peer)) }
        .map_err(|(error, _)| error)?;
    let groups = peer_groups(socket)?;
    Ok(PeerCredentials { process: peer.pid, user: peer.uid, group: peer.gid, groups })
}

fn peer_groups(socket: BorrowedFd<'_>) -> Result<Vec<u32>, SysError> {
    let mut groups = vec![0_u32; 64];
    loop {
        // SAFETY: every value of a number is valid.
        let count = match unsafe { option(socket, libc::SO_PEERGROUPS, &mut groups) } {
            Ok(count) => {
                groups.truncate(count);
                return Ok(groups);
            }
            Err((error, count)) if error.errno == Errno::RANGE && count > groups.len() => count,
            Err((error, _)) => return Err(error),
        };
        groups.resize(count.min(GROUPS_MAX), 0);
    }
}

/// Reads a list of `T` from an option of the socket; after a refusal too, the kernel says how many
/// there are.
///
/// # Safety
/// Every sequence of bytes must be a valid `T`.
unsafe fn option<T>(
    socket: BorrowedFd<'_>,
    name: libc::c_int,
    values: &mut [T],
) -> Result<usize, (SysError, usize)> {
    let mut length = size_of_val(values) as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `values`, which has that many and may
    // have any content, and the needed length to `length`.
    let returned = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            values.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    let count = length as usize / size_of::<T>();
    SysError::check("getsockopt", returned).map(|_| count).map_err(|error| (error, count))
}

/// Sends bytes, and descriptors with the first of them. Returns how many bytes were sent.
///
/// # Errors
/// `EINVAL`: more than [`DESCRIPTORS_MAX`] descriptors.
/// `EAGAIN`: the socket does not wait, and its buffer is full. `EPIPE`: the peer is gone; there is
/// no `SIGPIPE`.
#[doc(alias = "SCM_RIGHTS")]
pub fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<usize, SysError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(SysError::new("sendmsg", Errno::INVAL));
    }
    rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)
        .map_err(SysError::of("sendmsg"))
}

/// The file of a socket. Dropping this removes it, unless another has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
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

/// Connects to the socket at `path`, and waits for at most `patience` (not 0) while as many
/// connections as possible wait there to be accepted. Later sends wait no longer either.
///
/// # Errors
/// `TimedOut`: they still wait. `ConnectionRefused`: nobody listens. Others: see connect(2).
pub fn connect(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    connect_as(SocketType::STREAM, path, patience)
}

/// Like [`connect`], to a socket whose messages keep their bounds.
///
/// # Errors
/// Those of [`connect`]; `EPROTOTYPE`: the socket is of the other kind.
#[doc(alias = "SOCK_SEQPACKET")]
pub fn connect_packets(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    connect_as(SocketType::SEQPACKET, path, patience)
}

fn socket(kind: SocketType) -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
}

fn connect_as(kind: SocketType, path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = socket(kind)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    match rustix::net::connect(&socket, &SocketAddrUnix::new(path)?) {
        Err(Errno::AGAIN) => Err(ErrorKind::TimedOut.into()),
        connected => Ok(connected.map(|()| UnixStream::from(socket))?),
    }
}

/// How long a socket that may be left over has time to accept a connection.
const LEFT_OVER_PATIENCE: Duration = Duration::from_millis(1);

/// Permits all users to connect to the socket that was just bound at `path`.
///
/// Its directory may belong to another user, who can have put any file there since. So this
/// follows no link, and changes nothing but a socket of this user that has no other name.
fn permit_all(path: &Path) -> io::Result<()> {
    let file =
        rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = rustix::fs::fstat(&file)?;
    let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    if !is_socket || found.st_uid != crate::process::effective_user() || found.st_nlink != 1 {
        return Err(io::Error::other("another file has taken the place of the socket"));
    }
    // fchmod(2) refuses a descriptor of this kind.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(0o666))
}

/// Listens at `path` for connections of all users, until the file is dropped. A socket that a
/// killed process has left is replaced. A directory below `/run`, which is empty after each boot,
/// is created; others must exist.
///
/// # Errors
/// `AddrInUse`: another process listens there. Others: the directory or the file cannot be used, or
/// another process replaces the file meanwhile.
pub fn listen(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    listen_as(SocketType::STREAM, path)
}

/// Like [`listen`], for connections whose messages keep their bounds.
///
/// # Errors
/// Those of [`listen`].
pub fn listen_packets(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    listen_as(SocketType::SEQPACKET, path)
}

/// Whether the messages of a socket keep their bounds.
#[doc(alias = "SO_TYPE")]
pub fn keeps_bounds(socket: impl AsFd) -> bool {
    rustix::net::sockopt::socket_type(socket) == Ok(SocketType::SEQPACKET)
}

/// Connections that wait to be accepted, as the standard library has it.
const BACKLOG: i32 = 128;

fn listen_as(kind: SocketType, path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    match path.parent() {
        Some(directory) if directory.starts_with("/run") => fs::create_dir_all(directory)?,
        Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
            let reason = format!("there is no directory {}", directory.display());
            return Err(io::Error::new(ErrorKind::NotFound, reason));
        }
        _ => {}
    }
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "the file is not a socket"));
        }
        Ok(_) => match connect_as(kind, path, LEFT_OVER_PATIENCE) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            _ => return Err(ErrorKind::AddrInUse.into()),
        },
        Err(_) => {}
    }
    let listener = socket(kind)?;
    rustix::net::bind(&listener, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&listener, BACKLOG)?;
    let listener = UnixListener::from(listener);
    let file = SocketFile::of(path)?;
    permit_all(path)?;
    Ok((listener, file))
}

/// Lets every sender of descriptors to connections of a listener fail with `EPERM`.
///
/// # Errors
/// `ENOPROTOOPT`: the kernel is older than 6.16.
#[doc(alias = "SO_PASSRIGHTS")]
pub fn refuse_descriptors(listener: impl AsFd) -> Result<(), SysError> {
    /// `SO_PASSRIGHTS` of the kernel's `asm-generic/socket.h`.
    const PASS_RIGHTS: libc::c_int = 83;
    let no: libc::c_int = 0;
    // SAFETY: the kernel reads one `int`, which `no` is.
    let returned = unsafe {
        libc::setsockopt(
            listener.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            PASS_RIGHTS,
            (&raw const no).cast(),
            size_of_val(&no) as libc::socklen_t,
        )
    };
    SysError::check("setsockopt", returned).map(drop)
}

/// Whether descriptors come with what a socket receives next, or later if its messages do not keep
/// their bounds; never waits. They stay in its queue.
///
/// [`receive`] closes descriptors that are not accepted, and closing the socket those in its queue.
/// Both can wait for as long as the sender likes ([`crate::closer`]).
///
/// # Errors
/// `EAGAIN`: nothing has come. `ECONNRESET`: the peer is gone.
#[doc(alias = "MSG_PEEK")]
pub fn carries_descriptors(socket: impl AsFd) -> Result<bool, SysError> {
    let mut control = RecvAncillaryBuffer::new(&mut []);
    let mut byte = [0];
    let (bytes, flags) = (&mut [IoSliceMut::new(&mut byte)], RecvFlags::PEEK | RecvFlags::DONTWAIT);
    let received = rustix::net::recvmsg(socket, bytes, &mut control, flags)
        .map_err(SysError::of("recvmsg"))?;
    Ok(received.flags.contains(ReturnFlags::CTRUNC))
}

/// What [`receive`] returned.
#[derive(Debug)]
pub struct Received {
    /// The number of bytes; 0 at the end.
    pub count: usize,
    /// The descriptors that came with them.
    pub descriptors: Vec<OwnedFd>,
    /// The peer sent more descriptors than are accepted, than [`DESCRIPTORS_MAX`] at once, or than
    /// this process may open.
    pub lost_descriptors: bool,
}

/// Receives bytes, and descriptors if they are accepted; the kernel closes others, as it closes
/// those that are in a socket at its end.
///
/// # Errors
/// `EAGAIN`: the socket does not wait, and nothing has come. `ECONNRESET`: the peer is gone.
#[doc(alias = "SCM_RIGHTS")]
pub fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    accepts_descriptors: bool,
) -> Result<Received, SysError> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let space = if accepts_descriptors { &mut space[..] } else { &mut [] };
    let mut control = RecvAncillaryBuffer::new(space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [IoSliceMut::new(buffer)],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(SysError::of("recvmsg"))?;
    let descriptors = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    Ok(Received {
        count: received.bytes,
        descriptors: descriptors.collect(),
        lost_descriptors: received.flags.contains(ReturnFlags::CTRUNC),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_descriptor_comes_with_its_bytes() {
        let (near, far) = UnixStream::pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        assert_eq!(send(&near, b"one", &[file.as_fd()]), Ok(3));
        let mut buffer = [0; 16];
        let received = receive(&far, &mut buffer, true).unwrap();
        assert_eq!((received.count, received.descriptors.len()), (3, 1));
        assert!(!received.lost_descriptors);
        assert_eq!(send(&near, b"two", &[]), Ok(3));
        assert!(receive(&far, &mut buffer, true).unwrap().descriptors.is_empty());
        send(&near, b"three", &[file.as_fd()]).unwrap();
        let received = receive(&far, &mut buffer, false).unwrap();
        assert!(received.lost_descriptors && received.descriptors.is_empty());
        drop(near);
        assert_eq!(receive(&far, &mut buffer, true).unwrap().count, 0);
        assert_eq!(send(&far, b"x", &[]).unwrap_err().errno, Errno::PIPE);
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn all_users_may_connect_and_no_other_file_is_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, file) = (folder.path().join("socket"), folder.path().join("file"));
        let (_listener, _file) = listen(&socket).unwrap();
        assert_eq!(mode(&socket), 0o666);
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("link");
        for target in [&file, &socket] {
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(permit_all(&link).is_err());
            fs::remove_file(&link).unwrap();
        }
        assert!(permit_all(&file).is_err());
        fs::hard_link(&socket, &link).unwrap();
        assert!(permit_all(&link).is_err(), "a second name");
        assert_eq!(mode(&file), 0o600);
    }

    #[test]
    fn a_listener_that_accepts_nothing_is_not_awaited() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let _first = connect(&path, Duration::from_secs(5)).unwrap();
        let refused = connect(&path, Duration::from_millis(1)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::TimedOut);
        assert_eq!(listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        drop(listener);
        assert!(listen(&path).is_ok(), "left over");
    }

    #[test]
    fn the_directory_of_a_socket_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        let error = listen(&folder.path().join("runn/socket")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(error.to_string().ends_with("runn"), "{error}");
        assert!(!folder.path().join("runn").exists());
    }

    #[test]
    fn packets_keep_their_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (listener, _file) = listen_packets(&path).unwrap();
        let near = connect_packets(&path, Duration::from_secs(5)).unwrap();
        let (far, _) = listener.accept().unwrap();
        assert_eq!((send(&near, b"one", &[]), send(&near, b"x", &[])), (Ok(3), Ok(1)));
        let mut buffer = [0; 16];
        assert_eq!(receive(&far, &mut buffer, false).unwrap().count, 3);
        assert_eq!(receive(&far, &mut buffer, false).unwrap().count, 1);
        let other = connect(&path, Duration::from_secs(5)).unwrap_err();
        assert_eq!(other.raw_os_error(), Some(Errno::PROTOTYPE.raw_os_error()));
        assert_eq!(listen_packets(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(keeps_bounds(&listener) && !keeps_bounds(UnixStream::pair().unwrap().0));
    }

    #[test]
    fn descriptors_are_seen_before_they_are_received() {
        let (near, far) = UnixStream::pair().unwrap();
        let carries = || carries_descriptors(&far).map_err(|error| error.errno);
        assert_eq!(carries(), Err(Errno::AGAIN));
        send(&near, b"one", &[]).unwrap();
        assert_eq!(carries(), Ok(false));
        assert_eq!(receive(&far, &mut [0; 3], false).unwrap().count, 3);
        send(&near, b"two", &[near.as_fd()]).unwrap();
        assert_eq!((carries(), carries()), (Ok(true), Ok(true)), "they stay");
        assert_eq!(receive(&far, &mut [0; 3], true).unwrap().descriptors.len(), 1);
        drop(near);
        assert_eq!(carries(), Ok(false), "the end carries none");
    }

    #[test]
    fn a_listener_refuses_descriptors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let (listener, _file) = listen_packets(&path).unwrap();
        let Some(()) = tactus_testing::require(
            tactus_testing::Need::Machine,
            refuse_descriptors(&listener).map_err(|error| format!("SO_PASSRIGHTS: {error}")),
        ) else {
            return;
        };
        let near = connect_packets(&path, Duration::from_secs(5)).unwrap();
        let (far, _) = listener.accept().unwrap();
        assert_eq!(send(&near, b"one", &[near.as_fd()]).unwrap_err().errno, Errno::PERM);
        assert_eq!(send(&near, b"one", &[]), Ok(3));
        assert_eq!(carries_descriptors(&far), Ok(false));
    }

    #[test]
    fn a_peer_has_its_user_and_groups() {
        let (near, _far) = UnixStream::pair().unwrap();
        let peer = peer_credentials(near.as_fd()).unwrap();
        assert_eq!(peer.user, crate::process::effective_user());
        assert_eq!(peer.process, std::process::id() as i32);
        let groups = rustix::process::getgroups().unwrap();
        assert_eq!(peer.groups, groups.iter().map(|group| group.as_raw()).collect::<Vec<_>>());
    }
}
