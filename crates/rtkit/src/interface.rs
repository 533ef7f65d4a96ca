//! The interface on the bus, with the names and types of rtkit.

use std::sync::Arc;

use tactus_sys::pidfd::PidFd;
use zbus::fdo::{self, ConnectionCredentials};
use zbus::message::Header;
use zbus::{Connection, block_on, interface};

use crate::{Admission, Caller, Keeper, Limits, Policy, Refused, Request};

/// The name on the bus.
const NAME: &str = "org.freedesktop.RealtimeKit1";

/// The path of the object.
const PATH: &str = "/org/freedesktop/RealtimeKit1";

const BUS: &str = "org.freedesktop.DBus";

/// The bus to serve on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bus {
    /// The system's, or the one at `DBUS_SYSTEM_BUS_ADDRESS`.
    System,
    /// The one at this address.
    At(String),
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// The bus cannot be reached, or refuses the name.
    #[error("{NAME} is not served: {0}")]
    Bus(#[from] zbus::Error),
    /// The keeper did not start.
    #[error("{NAME} is not served: {0}")]
    Keeper(#[from] Refused),
}

/// A connection that serves. Dropping it ends the service, and all granted threads become
/// ordinary.
#[derive(Debug)]
pub struct Served {
    // Closed before the keeper ends.
    _connection: Connection,
    keeper: Arc<Keeper>,
}

impl Served {
    /// The keeper of the grants.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }
}

/// Serves on a bus until the result is dropped.
///
/// # Errors
/// The bus cannot be reached, another service has the name, or this process may not have the
/// keeper's priority.
pub fn serve(
    bus: &Bus,
    policy: Policy,
    admission: Box<dyn Admission>,
) -> Result<Served, NotServed> {
    let keeper = Arc::new(Keeper::start(policy, admission)?);
    let interface = Interface { keeper: Arc::clone(&keeper), limits: policy.limits };
    let builder = match bus {
        Bus::System => zbus::connection::Builder::system(),
        Bus::At(address) => zbus::connection::Builder::address(address.as_str()),
    };
    let connection = block_on(async {
        let connection = builder.serve_at(PATH, interface).build().await?;
        connection.request_name(NAME).await?;
        Ok::<_, zbus::Error>(connection)
    })?;
    Ok(Served { _connection: connection, keeper })
}

struct Interface {
    keeper: Arc<Keeper>,
    limits: Limits,
}

impl Interface {
    async fn ask(
        &self,
        connection: &Connection,
        header: Header<'_>,
        request: Request,
    ) -> fdo::Result<()> {
        let caller = caller(connection, &header).await.map_err(error)?;
        self.keeper.ask(caller, request).map_err(error)
    }
}

#[interface(name = "org.freedesktop.RealtimeKit1")]
impl Interface {
    async fn make_thread_realtime(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
        thread: u64,
        priority: u32,
    ) -> fdo::Result<()> {
        let request = Request::Realtime { process: None, thread, priority };
        self.ask(connection, header, request).await
    }

    #[zbus(name = "MakeThreadRealtimeWithPID")]
    async fn make_thread_realtime_with_pid(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
        process: u64,
        thread: u64,
        priority: u32,
    ) -> fdo::Result<()> {
        let request = Request::Realtime { process: Some(process), thread, priority };
        self.ask(connection, header, request).await
    }

    async fn make_thread_high_priority(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
        thread: u64,
        priority: i32,
    ) -> fdo::Result<()> {
        let request = Request::HighPriority { process: None, thread, nice: priority };
        self.ask(connection, header, request).await
    }

    #[zbus(name = "MakeThreadHighPriorityWithPID")]
    async fn make_thread_high_priority_with_pid(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
        process: u64,
        thread: u64,
        priority: i32,
    ) -> fdo::Result<()> {
        let request = Request::HighPriority { process: Some(process), thread, nice: priority };
        self.ask(connection, header, request).await
    }

    async fn reset_known(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> fdo::Result<()> {
        self.ask(connection, header, Request::ResetKnown).await
    }

    async fn reset_all(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> fdo::Result<()> {
        self.ask(connection, header, Request::ResetAll).await
    }

    async fn exit(
        &self,
        #[zbus(connection)] connection: &Connection,
        #[zbus(header)] header: Header<'_>,
    ) -> fdo::Result<()> {
        self.ask(connection, header, Request::Exit).await?;
        connection.release_name(NAME).await?;
        Ok(())
    }

    #[zbus(property(emits_changed_signal = "const"), name = "RTTimeUSecMax")]
    fn rt_time_usec_max(&self) -> i64 {
        i64::try_from(self.limits.realtime_limit_max.as_nanos() / 1000).unwrap_or(i64::MAX)
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn max_realtime_priority(&self) -> i32 {
        self.limits.priority_max.into()
    }

    #[zbus(property(emits_changed_signal = "const"))]
    fn min_nice_level(&self) -> i32 {
        self.limits.nice_min.into()
    }
}

/// Asks the bus who sent a message.
async fn caller(connection: &Connection, header: &Header<'_>) -> Result<Caller, Refused> {
    let unknown = |reason: String| Refused::UnknownCaller(reason);
    let sender = header.sender().ok_or_else(|| unknown("the message has no sender".to_owned()))?;
    let reply = connection
        .call_method(
            Some(BUS),
            "/org/freedesktop/DBus",
            Some(BUS),
            "GetConnectionCredentials",
            &sender,
        )
        .await
        .map_err(|error| unknown(error.to_string()))?;
    let credentials: ConnectionCredentials =
        reply.body().deserialize().map_err(|error| unknown(error.to_string()))?;
    let user = credentials.unix_user_id().ok_or_else(|| unknown("no user".to_owned()))?;
    let groups = credentials.unix_group_ids().cloned().unwrap_or_default();
    let process_id = credentials.process_id();
    // Not all buses pass a descriptor of the process; an ID may be another process's by now, and
    // then its user is checked.
    let process = match (credentials.into_process_fd(), process_id) {
        (Some(descriptor), _) => PidFd::from(std::os::fd::OwnedFd::from(descriptor)),
        (None, Some(process)) => PidFd::of_process(process)
            .map_err(|_| Refused::NoSuchThread { process: process.into(), thread: 0 })?,
        (None, None) => return Err(unknown("no process".to_owned())),
    };
    Ok(Caller { user, groups, process })
}

/// The error that clients of rtkit expect.
fn error(refused: Refused) -> fdo::Error {
    let text = refused.to_string();
    match refused {
        Refused::NoSuchThread { .. }
        | Refused::NoSuchPriority(_)
        | Refused::NoSuchNice(_)
        | Refused::UnknownCaller(_)
        | Refused::Kernel(_)
        | Refused::Ending => fdo::Error::Failed(text),
        _ => fdo::Error::AccessDenied(text),
    }
}
