//! Threads of the kernel that work on received packets:
//! [threaded NAPI](https://www.kernel.org/doc/html/latest/networking/napi.html#threaded).

use std::fs;
use std::path::Path;

use tactus_model::recording::ThreadId;

use super::{NetworkNamespace, name_socket};
use crate::error::{Errno, SysError};
use crate::mount::{mount, own_mounts};

/// Makes the kernel receive the packets of a virtual link in threads, one for each queue of the
/// interface at the receiver, and returns them. The interface has the same name at both ends, and is
/// up.
///
/// A virtual link has such threads only with generic receive offload at the receiver, and passes
/// packets to them only without segmentation offload at the sender, so both are set as well.
///
/// # Errors
/// `EPERM`: the process does not have `CAP_NET_ADMIN` and `CAP_SYS_ADMIN`. `ENOENT`: the kernel is
/// older than 5.12.
#[doc(alias = "ETHTOOL_SGRO")]
#[doc(alias = "ETHTOOL_STSO")]
pub fn receive_in_threads(
    sender: &NetworkNamespace,
    receiver: &NetworkNamespace,
    interface: &str,
) -> Result<Vec<ThreadId>, SysError> {
    sender.within(|| set_offload(interface, SET_SEGMENTATION_OFFLOAD, false))?;
    receiver.within(|| {
        set_offload(interface, SET_RECEIVE_OFFLOAD, true)?;
        enable_threads(interface)
    })?;
    Ok(threads_named(&format!("napi/{interface}-")))
}

/// `ETHTOOL_SGRO` and `ETHTOOL_STSO` of `linux/ethtool.h`.
const SET_RECEIVE_OFFLOAD: u32 = 0x2c;
const SET_SEGMENTATION_OFFLOAD: u32 = 0x1f;

fn set_offload(interface: &str, command: u32, enabled: bool) -> Result<(), SysError> {
    use std::os::fd::AsRawFd;
    const CALL: &str = "ioctl SIOCETHTOOL";
    let socket = name_socket()?;
    // struct ethtool_value: command, data.
    let mut value = [command, u32::from(enabled)];
    // SAFETY: `ifreq` consists of integers and pointers, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero.
    if interface.len() >= request.ifr_name.len() {
        return Err(SysError::new(CALL, Errno::NODEV));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *place = byte as libc::c_char;
    }
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the request is live, its name ends with zero, and its data is a live
    // `ethtool_value`, which these commands only read.
    let returned =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
    SysError::check(CALL, returned).map(drop)
}

/// Sets the interface's switch in sysfs, which shows the interfaces of the namespace in which it
/// was mounted. So it is mounted once more, in a mount namespace of the calling thread alone, which
/// ends with the thread.
fn enable_threads(interface: &str) -> Result<(), SysError> {
    own_mounts()?;
    mount("sysfs", Path::new("/sys"))?;
    fs::write(format!("/sys/class/net/{interface}/threaded"), "1")
        .map_err(SysError::of_io("write threaded"))
}

/// The processes whose names begin so; threads of the kernel are processes.
fn threads_named(beginning: &str) -> Vec<ThreadId> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let named = processes.filter_map(|process| {
        let number = process.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(process.path().join("comm")).ok()?;
        name.starts_with(beginning).then_some(ThreadId(number))
    });
    named.collect()
}
