//! The methods of the interface.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tactus_model::recording::ThreadId;
use tactus_model::time::Nanos;
use tactus_qos::message::{
    Call, ChangeCall, DESCRIPTION, FitCall, FollowCall, GrantReply, INTERFACE, Reason, ReleaseCall,
    Reply, ReserveCall, StatusCall, parameters,
};
use tactus_qos::{Refusal, ReserveId, Status};

use crate::connection::{Busy, Connection};
use crate::{Manager, Moment, NotASubject, NotReserved, Subject};

/// The shortest time from one status or report of the use to the next.
const EVERY_LEAST: Nanos = Nanos::from_millis(10);

/// The usual time from one status to the next.
const STATUS_EVERY: Nanos = Nanos::from_secs(1);

/// The interface of every Varlink service.
const SERVICE: &str = "org.varlink.service";

/// Its description, from <https://varlink.org/Service>.
const SERVICE_DESCRIPTION: &str = "\
# The Varlink Service Interface is provided by every varlink service.
interface org.varlink.service

# Get a list of all the interfaces a service provides and information about the implementation.
method GetInfo() -> (
  vendor: string,
  product: string,
  version: string,
  url: string,
  interfaces: []string
)

# Get the description of an interface that is implemented by this service.
method GetInterfaceDescription(interface: string) -> (description: string)

# The requested interface was not found.
error InterfaceNotFound (interface: string)

# The requested method was not found.
error MethodNotFound (method: string)

# The interface defines the requested method, but the service does not implement it.
error MethodNotImplemented (method: string)

# One of the passed parameters is invalid.
error InvalidParameter (parameter: string)

# Client is denied access.
error PermissionDenied ()

# Method is expected to be called with 'more' set to true, but wasn't.
error ExpectedMore ()
";

/// What a call works on.
pub(crate) struct Context<'m> {
    pub manager: &'m mut Manager,
    pub cpus: u32,
    pub connections: usize,
    pub now: Moment,
}

/// What a call leads to.
#[derive(Debug)]
pub(crate) enum Answer {
    /// One reply.
    Reply(Reply),
    /// Replies come later.
    Later(Busy),
    /// The first reply; more come later.
    First(Reply, Busy),
}

/// Whether a method changes reserves.
pub(crate) fn changes(method: &str) -> bool {
    let method = method.strip_prefix(INTERFACE).and_then(|rest| rest.strip_prefix('.'));
    matches!(method, Some("Reserve" | "Change" | "Release"))
}

/// Answers a call of a connection.
pub(crate) fn answer(context: Context<'_>, connection: &mut Connection, call: Call) -> Answer {
    let answer = match call.method.rsplit_once('.') {
        _ if call.upgrade => Err(error(
            "BadRequest",
            "no method changes the protocol of the connection; omit upgrade",
        )),
        Some((SERVICE, method)) => service(method, &call.parameters).map(Answer::Reply),
        Some((INTERFACE, method)) => manager(context, connection, method, &call),
        Some((interface, _)) => Err(service_error("InterfaceNotFound", "interface", interface)),
        None => Err(service_error("MethodNotFound", "method", &call.method)),
    };
    answer.unwrap_or_else(Answer::Reply)
}

/// The methods of every Varlink service; an error is a reply too.
fn service(method: &str, given: &Value) -> Result<Reply, Reply> {
    match method {
        "GetInfo" => Ok(reply(&json!({
            "vendor": "The Tactus authors",
            "product": "tactus qosd",
            "version": env!("CARGO_PKG_VERSION"),
            "url": "",
            "interfaces": [SERVICE, INTERFACE],
        }))),
        "GetInterfaceDescription" => {
            let interface = given.get("interface").and_then(Value::as_str);
            let description = match interface {
                Some(SERVICE) => SERVICE_DESCRIPTION,
                Some(INTERFACE) => DESCRIPTION,
                Some(other) => return Err(service_error("InterfaceNotFound", "interface", other)),
                None => return Err(service_error("InvalidParameter", "parameter", "interface")),
            };
            Ok(reply(&json!({ "description": description })))
        }
        other => {
            let method = format!("{SERVICE}.{other}");
            Err(service_error("MethodNotFound", "method", &method))
        }
    }
}

fn manager(
    context: Context<'_>,
    connection: &mut Connection,
    method: &str,
    call: &Call,
) -> Result<Answer, Reply> {
    let Context { manager, cpus, connections, now } = context;
    let client = connection.client;
    match method {
        "Reserve" => reserve(manager, connection, call, now),
        "Change" => {
            let ChangeCall { reserve, need } = read(call)?;
            manager.change(&client, reserve, need, now).map_err(not_reserved)?;
            Ok(Answer::Reply(self::reply(&GrantReply { grant: manager.grant(reserve) })))
        }
        "Release" => {
            let ReleaseCall { reserve } = read(call)?;
            manager.release(&client, reserve, now).map_err(not_reserved)?;
            Ok(Answer::Reply(self::reply(&json!({}))))
        }
        "Fit" => {
            let FitCall { period, deadline } = read(call)?;
            let fit = manager.fit(&client, period, deadline.unwrap_or(period));
            let fit = fit.map_err(|error| self::error("BadRequest", error.to_string()))?;
            Ok(Answer::Reply(self::reply(&fit)))
        }
        "Status" => {
            let StatusCall { every } = read(call)?;
            let status = status(manager, cpus, connections);
            let every = every.unwrap_or(STATUS_EVERY).max(EVERY_LEAST);
            Ok(match call.more {
                true => Answer::First(more(&status), Busy::Watches { every, next: now + every }),
                false => Answer::Reply(self::reply(&status)),
            })
        }
        "Follow" => follow(manager, connection, call),
        _ => Err(service_error("MethodNotFound", "method", &call.method)),
    }
}

fn reserve(
    manager: &mut Manager,
    connection: &mut Connection,
    call: &Call,
    now: Moment,
) -> Result<Answer, Reply> {
    let ReserveCall { need, descriptor, thread } = read(call)?;
    let bad_thread = |error: NotASubject| not_reserved(error.into());
    let subject = match (descriptor, thread) {
        (Some(index), None) => {
            let Some(descriptor) = connection.take_descriptor(index) else {
                let reason = format!("no descriptor {index} came with the call");
                return Err(error("BadRequest", reason));
            };
            Subject::of_descriptor(descriptor).map_err(|(wrong, descriptor)| {
                if let Some(descriptor) = descriptor {
                    connection.discard(descriptor);
                }
                bad_thread(wrong)
            })?
        }
        (None, Some(thread)) => {
            check_namespace(connection.process)?;
            Subject::of_id(ThreadId(thread)).map_err(bad_thread)?
        }
        _ => {
            let reason =
                "name one thread: write descriptor, the index of a pidfd, or thread, an ID";
            return Err(error("BadRequest", reason));
        }
    };
    let reserve = manager.reserve(&connection.client, subject, need, now).map_err(not_reserved)?;
    // The notice of the grant is the reply, now or later.
    Ok(Answer::Later(Busy::Awaits { reserve, more: call.more }))
}

/// Checks that the client's thread IDs are ours: a number of another PID namespace is a number of
/// another thread here.
fn check_namespace(process: i32) -> Result<(), Reply> {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/pid")).ok();
    match (of(&process.to_string()), of("self")) {
        (Some(theirs), Some(ours)) if theirs == ours => Ok(()),
        _ => Err(error(
            "BadThread",
            "the client has ended or is in another PID namespace; send a pidfd with the call",
        )),
    }
}

fn follow(manager: &Manager, connection: &Connection, call: &Call) -> Result<Answer, Reply> {
    let FollowCall { reserve, every } = read(call)?;
    if !call.more {
        return Err(Reply { error: Some(format!("{SERVICE}.ExpectedMore")), ..reply(&json!({})) });
    }
    let client = connection.client;
    let user = Some(client.user).filter(|user| *user != 0);
    let unknown = reserve.filter(|reserve| !manager.reserves_of(user).contains(reserve));
    if let Some(unknown) = unknown {
        return Err(not_reserved(NotReserved::Unknown(unknown)));
    }
    let every = every.map(|every| every.max(EVERY_LEAST));
    Ok(Answer::Later(Busy::Follows { reserve, every }))
}

/// Who has what.
pub(crate) fn status(manager: &Manager, cpus: u32, connections: usize) -> Status {
    let (least, granted, returning) = manager.book().totals();
    Status {
        cpus,
        capacity: manager.book().capacity().cpus(),
        least: least.cpus(),
        granted: granted.cpus(),
        returning: returning.cpus(),
        connections: u32::try_from(connections).unwrap_or(u32::MAX),
        reserves: manager.reserves(),
    }
}

fn read<T: DeserializeOwned>(call: &Call) -> Result<T, Reply> {
    parameters(call.parameters.clone()).map_err(|wrong| error("BadRequest", wrong.to_string()))
}

/// The last reply.
pub(crate) fn reply(parameters: &impl Serialize) -> Reply {
    // Our own types have a JSON form.
    let parameters = serde_json::to_value(parameters).unwrap_or_default();
    Reply { parameters, ..Reply::default() }
}

/// A reply that is followed by others.
pub(crate) fn more(parameters: &impl Serialize) -> Reply {
    Reply { continues: true, ..reply(parameters) }
}

/// An error of our interface with a reason.
pub(crate) fn error(name: &str, reason: impl Into<String>) -> Reply {
    own_error(name, &Reason { reason: reason.into() })
}

fn own_error(name: &str, parameters: &impl Serialize) -> Reply {
    Reply { error: Some(format!("{INTERFACE}.{name}")), ..reply(parameters) }
}

fn service_error(name: &str, parameter: &str, value: &str) -> Reply {
    let value = tactus_model::format::cut(value, 100);
    Reply { error: Some(format!("{SERVICE}.{name}")), ..reply(&json!({ parameter: value })) }
}

/// The error of a refusal.
pub(crate) fn refused(refusal: &Refusal) -> Reply {
    own_error("Refused", refusal)
}

/// The error of a reserve that has ended.
pub(crate) fn ended(reserve: ReserveId, reason: &str) -> Reply {
    own_error("Ended", &json!({ "reserve": reserve, "reason": reason }))
}

fn not_reserved(error: NotReserved) -> Reply {
    match error {
        NotReserved::Refused(refusal) => refused(&refusal),
        NotReserved::Unknown(reserve) => own_error("NoSuchReserve", &ReleaseCall { reserve }),
        NotReserved::Need(error) => self::error("BadRequest", error.to_string()),
        NotReserved::Thread(_) | NotReserved::Reserved(_) => {
            self::error("BadThread", error.to_string())
        }
    }
}
