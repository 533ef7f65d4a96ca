//! Keeps CPUs out of deep idle states.

use std::fs::{File, OpenOptions};
use std::io::Write;

use crate::error::SysError;

/// A request that no CPU enters an idle state with a longer exit latency.
///
/// It applies to the whole machine while the value exists; the kernel drops it when the
/// file is closed, also after a crash. See [PM quality of
/// service](https://docs.kernel.org/power/pm_qos_interface.html).
#[doc(alias = "cpu_dma_latency")]
#[derive(Debug)]
pub struct IdleStateLimit {
    _device: File,
}

impl IdleStateLimit {
    /// The device of the request.
    pub const DEVICE: &str = "/dev/cpu_dma_latency";

    /// Limits the exit latency of idle states to `microseconds`.
    ///
    /// # Errors
    /// - `EACCES`: only root may open the device, unless its mode was changed.
    /// - `ENOENT`: the kernel does not have the device, which is usual in containers.
    pub fn hold(microseconds: u32) -> Result<Self, SysError> {
        let named = |error: std::io::Error| SysError::from_io("/dev/cpu_dma_latency", &error);
        let mut device = OpenOptions::new().write(true).open(Self::DEVICE).map_err(named)?;
        // The device takes a signed 32-bit number in native byte order.
        let latency = i32::try_from(microseconds).unwrap_or(i32::MAX);
        device.write_all(&latency.to_ne_bytes()).map_err(named)?;
        Ok(Self { _device: device })
    }
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, skip};

    use super::*;
    use crate::error::Errno;

    #[test]
    fn the_limit_is_held_where_root_may_hold_it() {
        match IdleStateLimit::hold(100) {
            Ok(limit) => drop(limit),
            Err(error) if matches!(error.errno, Errno::ACCESS | Errno::NOENT | Errno::PERM) => {
                skip(Need::Machine, error);
            }
            Err(error) => panic!("{error}"),
        }
    }
}
