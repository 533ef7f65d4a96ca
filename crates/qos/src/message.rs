//! Messages of the [Varlink protocol](https://varlink.org/Method-Call): JSON objects, each
//! followed by a NUL.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tactus_model::time::Nanos;

use crate::{Grant, Need, ReserveId};

/// The interface of the manager.
pub const INTERFACE: &str = "org.tactus.qos";

/// The description of the interface, as `GetInterfaceDescription` answers it.
pub const DESCRIPTION: &str = include_str!("org.tactus.qos.varlink");

/// Bytes of a call at most.
pub const CALL_BYTES: usize = 16 << 10;

/// Bytes of a reply at most. The largest is a status of all reserves.
pub const REPLY_BYTES: usize = 2 << 20;

/// A call of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The method, with its interface: `org.tactus.qos.Reserve`.
    pub method: String,
    /// Its parameters, an object.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub parameters: Value,
    /// Several replies are accepted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub more: bool,
    /// No reply is expected.
    #[serde(default, skip_serializing_if = "is_false")]
    pub oneway: bool,
    /// The connection changes its protocol; no method here does.
    #[serde(default, skip_serializing_if = "is_false")]
    pub upgrade: bool,
}

/// A reply to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The result, or the parameters of the error; an object.
    #[serde(default)]
    pub parameters: Value,
    /// More replies to the same call follow.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continues: bool,
    /// The error, with its interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The bytes of a message.
///
/// # Panics
/// The value cannot be written as JSON, e.g. a map with keys that are no texts.
pub fn encode(message: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(message).expect("messages have a JSON form");
    bytes.push(0);
    bytes
}

/// Cuts the first message off `bytes`, without its NUL; `None` if its end has not come.
pub fn cut(bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let rest = bytes.split_off(end + 1);
    let mut message = std::mem::replace(bytes, rest);
    message.pop();
    Some(message)
}

/// Reads parameters. Absent ones count as an empty object.
///
/// # Errors
/// They do not fit the type.
pub fn parameters<T: DeserializeOwned>(value: Value) -> Result<T, serde_json::Error> {
    let value = if value.is_null() { Value::Object(serde_json::Map::new()) } else { value };
    serde_json::from_value(value)
}

/// Parameters of `Reserve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReserveCall {
    /// The need.
    pub need: Need,
    /// The index of the thread's pidfd among the descriptors of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub descriptor: Option<usize>,
    /// The thread's ID, if there is no descriptor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<i32>,
}

/// The result of `Reserve` and `Change`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantReply {
    /// The grant; `None` only for a change of a reserve that waits for its first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Grant>,
}

/// Parameters of `Change`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeCall {
    /// The reserve.
    pub reserve: ReserveId,
    /// The new need.
    pub need: Need,
}

/// Parameters of `Release`, and of the error `NoSuchReserve`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReleaseCall {
    /// The reserve.
    pub reserve: ReserveId,
}

/// Parameters of `Fit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitCall {
    /// The period.
    pub period: Nanos,
    /// The deadline; usually the period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Nanos>,
}

/// Parameters of `Status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusCall {
    /// With `more`: from one reply to the next; usually a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
}

/// Parameters of `Follow`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FollowCall {
    /// The reserve; without it all of the user, for root all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<ReserveId>,
    /// From one report of the use to the next; without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Nanos>,
}

/// A reply of `Follow`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowReply {
    /// What happened.
    pub event: crate::Event,
}

/// Parameters of errors that have only a reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The reason, as a sentence.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_at_their_ends() {
        let mut bytes = b"{}\0{\"a\":1}\0{".to_vec();
        assert_eq!(cut(&mut bytes).unwrap(), b"{}");
        assert_eq!(cut(&mut bytes).unwrap(), b"{\"a\":1}");
        assert_eq!(cut(&mut bytes), None);
        assert_eq!(bytes, b"{");
    }

    #[test]
    fn a_call_has_the_form_of_varlink() {
        let text = r#"{"method":"org.tactus.qos.Fit","parameters":{"period":10},"more":true}"#;
        let call: Call = serde_json::from_str(text).unwrap();
        let fit: FitCall = parameters(call.parameters.clone()).unwrap();
        assert_eq!(fit.period, Nanos::from_nanos(10));
        assert_eq!(encode(&call), [text.as_bytes(), b"\0"].concat());
        let status: StatusCall = parameters(Value::Null).unwrap();
        assert_eq!(status, StatusCall::default());
    }

    #[test]
    fn the_description_names_every_method() {
        for method in ["Reserve", "Change", "Release", "Fit", "Status", "Follow"] {
            assert!(DESCRIPTION.contains(&format!("\nmethod {method}(")), "{method}");
        }
        assert!(DESCRIPTION.contains(&format!("\ninterface {INTERFACE}\n")));
    }
}
