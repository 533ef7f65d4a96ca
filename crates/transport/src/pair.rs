//! Two network namespaces with a virtual link between them, for tests and experiments.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU32, Ordering};

use tactus_model::recording::ThreadId;
use tactus_sys::SysError;
use tactus_sys::network::{
    LinkEnd, NetworkNamespace, RouteSocket, interface_index, receive_in_threads,
};

use crate::Local;

/// Two network namespaces with a virtual link between them. They have no name and no route to
/// the machine's network, and the kernel removes them with the process, however it ends.
#[derive(Debug)]
pub struct Pair {
    near: NetworkNamespace,
    far: NetworkNamespace,
    name: String,
    interface: u32,
}

/// Pairs that this process has made: threads of the kernel are found by the interface's name.
static MADE: AtomicU32 = AtomicU32::new(0);

const NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PREFIX: u8 = 24;
/// The addresses of libraries begin here.
const LIBRARIES: u8 = 16;

impl Pair {
    /// Makes a pair whose link has `queues` queues.
    ///
    /// # Errors
    /// `EPERM`: the process does not have `CAP_SYS_ADMIN` or `CAP_NET_ADMIN`. `EOPNOTSUPP`: the
    /// kernel has no veth driver.
    pub fn make(queues: u32) -> Result<Self, SysError> {
        let (near, far) = (NetworkNamespace::new()?, NetworkNamespace::new()?);
        // At most 15 bytes, the limit of the kernel.
        let made = MADE.fetch_add(1, Ordering::Relaxed) % 10_000;
        let name = format!("t{}n{made}", std::process::id());
        let interface = near.within(|| {
            let mut routes = RouteSocket::open()?;
            let end = |last| LinkEnd { name: &name, mac: [2, 0, 0, 0, 0, last] };
            routes.add_link(end(1), end(2), far.as_fd(), queues)?;
            let interface = interface_index(&name)?;
            routes.take_up(interface, NEAR, PREFIX)?;
            Ok::<u32, SysError>(interface)
        })?;
        far.within(|| RouteSocket::open()?.take_up(interface_index(&name)?, FAR, PREFIX))?;
        Ok(Self { near, far, name, interface })
    }

    /// Makes the kernel work on packets to the far end in threads of its own, and returns them.
    ///
    /// # Errors
    /// See [`receive_in_threads`].
    pub fn receive_in_threads(&self) -> Result<Vec<ThreadId>, SysError> {
        receive_in_threads(&self.near, &self.far, &self.name)
    }

    /// The namespace of those that send.
    pub const fn near(&self) -> &NetworkNamespace {
        &self.near
    }

    /// The namespace of those that receive.
    pub const fn far(&self) -> &NetworkNamespace {
        &self.far
    }

    /// The index of the interface in the near namespace.
    pub const fn interface(&self) -> u32 {
        self.interface
    }

    /// The address of the far end.
    pub const fn peer(port: u16) -> SocketAddrV4 {
        SocketAddrV4::new(FAR, port)
    }

    /// Addresses at the near end for library `number`, from 0 to 200.
    pub fn library(number: u8) -> Local {
        let last = LIBRARIES.saturating_add(number);
        Local {
            mac: [2, 0, 0, 0, 1, last],
            address: Ipv4Addr::new(10, 77, 0, last),
            prefix: PREFIX,
            port: 7,
        }
    }
}
