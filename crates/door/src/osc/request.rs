//! What a message requests.

use tactus_model::text::UnknownWord;
use tactus_osc::{Argument, Message};
use tactus_stream::{BranchId, Format, IfLate};

use crate::values::{BadIfLate, BadValue, Value, if_late, payload};

/// A request. The time of its bundle is the time of the item, or of the cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// `/to/DEVICE [options] values…`: delivers an item.
    Item {
        /// The device.
        device: &'a str,
        /// Its options.
        options: Options,
        /// Its values.
        values: Vec<Argument<'a>>,
    },
    /// `/cut [branch]`: drops the items of a branch that are due at the time of the bundle or later.
    Cut(BranchId),
    /// `/subscribe`: sends receipts of this port back. `/subscribe PORT`: sends those of the whole
    /// host to another port of it. `/subscribe PORT COOKIE`: the same, with a proof.
    Subscribe {
        /// The port; `None` for that of the sender.
        port: Option<u16>,
        /// The proof.
        cookie: Option<i32>,
    },
    /// `/unsubscribe [PORT]`
    Unsubscribe {
        /// The port; `None` for that of the sender.
        port: Option<u16>,
    },
}

/// Options of an item: a text before its values, such as `id=7 branch=2 late=drop:5ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A number that comes back in the receipt.
    pub id: Option<i32>,
    /// The branch that the item belongs to.
    pub branch: BranchId,
    /// What happens if it is late.
    pub if_late: IfLate,
}

impl Default for Options {
    fn default() -> Self {
        Self { id: None, branch: BranchId(0), if_late: IfLate::Deliver }
    }
}

/// Addresses, without what follows them.
const ADDRESSES: [&str; 4] = ["/to", "/cut", "/subscribe", "/unsubscribe"];

/// The names of options.
const OPTIONS: [&str; 3] = ["id", "branch", "late"];

/// Why a message is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// No such address.
    #[error(transparent)]
    Address(UnknownWord),
    /// `/to` without a device.
    #[error("the address names no device; fix: /to/DEVICE")]
    NoDevice,
    /// An option without a value.
    #[error("option `{0}` has no value; fix: {0}=VALUE")]
    NoValue(String),
    /// No such option.
    #[error(transparent)]
    Option(UnknownWord),
    /// An option that is no number.
    #[error("option `{name}={value}`: {value} is not a whole number from {least} to {most}")]
    Number {
        /// The option.
        name: &'static str,
        /// Its value.
        value: String,
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// A policy.
    #[error("option `late`: {0}")]
    IfLate(#[from] BadIfLate),
    /// A policy that concerns all senders of the host.
    #[error(
        "option `late`: `stop` is not possible by OSC, where senders share a stream; fix: drop"
    )]
    Stop,
    /// A value is not possible for the device.
    #[error(transparent)]
    Value(#[from] BadValue),
    /// Arguments of another request.
    #[error("{address} takes {takes}")]
    Arguments {
        /// The address.
        address: &'static str,
        /// What it takes.
        takes: &'static str,
    },
}

impl<'a> Request<'a> {
    /// The request of a message.
    ///
    /// # Errors
    /// The address or an option is unknown, or the arguments do not fit.
    pub fn of(message: &Message<'a>) -> Result<Self, BadRequest> {
        let arguments = &message.arguments;
        if let Some(device) = message.address.strip_prefix("/to/") {
            return item(device, arguments);
        }
        match message.address {
            "/to" => Err(BadRequest::NoDevice),
            "/cut" => cut(arguments),
            "/subscribe" => subscribe(arguments),
            "/unsubscribe" => unsubscribe(arguments),
            other => {
                let first = other.get(1..).and_then(|rest| rest.split('/').next());
                let given = format!("/{}", first.unwrap_or_default());
                let unknown = UnknownWord::new("address", &given, &ADDRESSES);
                Err(BadRequest::Address(unknown))
            }
        }
    }
}

fn item<'a>(device: &'a str, arguments: &[Argument<'a>]) -> Result<Request<'a>, BadRequest> {
    if device.is_empty() {
        return Err(BadRequest::NoDevice);
    }
    let (options, values) = match arguments {
        [Argument::Text(text), values @ ..] => (self::options(text)?, values),
        values => (Options::default(), values),
    };
    Ok(Request::Item { device, options, values: values.to_vec() })
}

/// Parses the options of an item.
///
/// # Errors
/// An option is unknown or impossible.
pub fn options(text: &str) -> Result<Options, BadRequest> {
    let mut options = Options::default();
    for word in text.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else {
            return Err(BadRequest::NoValue(word.to_owned()));
        };
        match name {
            "id" => options.id = Some(number("id", value)?),
            "branch" => options.branch = BranchId(number("branch", value)?),
            "late" => match if_late(value)? {
                IfLate::Stop(_) => return Err(BadRequest::Stop),
                policy => options.if_late = policy,
            },
            other => {
                return Err(BadRequest::Option(UnknownWord::new("option", other, &OPTIONS)));
            }
        }
    }
    Ok(options)
}

trait Whole: std::str::FromStr {
    const LEAST: i64;
    const MOST: i64;
}

impl Whole for i32 {
    const LEAST: i64 = Self::MIN as i64;
    const MOST: i64 = Self::MAX as i64;
}

impl Whole for u32 {
    const LEAST: i64 = 0;
    const MOST: i64 = Self::MAX as i64;
}

fn number<N: Whole>(name: &'static str, value: &str) -> Result<N, BadRequest> {
    value.parse().map_err(|_| {
        let (least, most) = (N::LEAST, N::MOST);
        BadRequest::Number { name, value: value.to_owned(), least, most }
    })
}

fn cut<'a>(arguments: &[Argument<'a>]) -> Result<Request<'a>, BadRequest> {
    let takes = "the number of a branch, or nothing for branch 0";
    match *arguments {
        [] => Ok(Request::Cut(BranchId(0))),
        [Argument::Int(branch)] if branch >= 0 => Ok(Request::Cut(BranchId(branch.unsigned_abs()))),
        _ => Err(BadRequest::Arguments { address: "/cut", takes }),
    }
}

fn subscribe<'a>(arguments: &[Argument<'a>]) -> Result<Request<'a>, BadRequest> {
    let takes = "nothing, a port, or a port and the number of /cookie";
    let wrong = BadRequest::Arguments { address: "/subscribe", takes };
    let (given, cookie) = match *arguments {
        [] => return Ok(Request::Subscribe { port: None, cookie: None }),
        [Argument::Int(port)] => (port, None),
        [Argument::Int(port), Argument::Int(cookie)] => (port, Some(cookie)),
        _ => return Err(wrong),
    };
    Ok(Request::Subscribe { port: port(given).ok_or(wrong)?, cookie })
}

fn unsubscribe<'a>(arguments: &[Argument<'a>]) -> Result<Request<'a>, BadRequest> {
    let wrong = BadRequest::Arguments { address: "/unsubscribe", takes: "nothing, or a port" };
    match *arguments {
        [] => Ok(Request::Unsubscribe { port: None }),
        [Argument::Int(given)] => Ok(Request::Unsubscribe { port: port(given).ok_or(wrong)? }),
        _ => Err(wrong),
    }
}

/// The port of a number; 0 is that of the sender. `None` for a number that is no port.
fn port(number: i32) -> Option<Option<u16>> {
    u16::try_from(number).ok().map(|port| (port != 0).then_some(port))
}

/// The payload of an item for its device.
///
/// # Errors
/// A value is not possible for the device.
pub fn payload_of(format: Format, values: &[Argument<'_>]) -> Result<Vec<u8>, BadValue> {
    let plain: Result<Vec<Value<'_>>, BadValue> =
        values.iter().enumerate().map(|(index, value)| plain(index, value)).collect();
    payload(format, plain?)
}

fn plain<'a>(index: usize, argument: &Argument<'a>) -> Result<Value<'a>, BadValue> {
    Ok(match *argument {
        Argument::Int(value) => Value::Int(value.into()),
        Argument::Long(value) => Value::Int(value),
        Argument::Float(value) => Value::Float(value.into()),
        Argument::Double(value) => Value::Float(value),
        Argument::Text(text) => Value::Text(text),
        Argument::Blob(bytes) => Value::Bytes(bytes),
        Argument::Midi([_, status, first, second]) => Value::Midi([status, first, second]),
        _ => {
            let what = format!("type `{}` is not possible here", argument.tag());
            return Err(BadValue::Value { place: index + 1, what });
        }
    })
}

#[cfg(test)]
mod tests {
    use tactus_model::time::Nanos;

    use super::*;

    fn request<'a>(
        address: &'a str,
        arguments: &[Argument<'a>],
    ) -> Result<Request<'a>, BadRequest> {
        Request::of(&Message { address, arguments: arguments.to_vec() })
    }

    #[track_caller]
    fn check_refused(address: &str, arguments: &[Argument<'_>], reason: &str) {
        assert_eq!(request(address, arguments).unwrap_err().to_string(), reason);
    }

    #[test]
    fn items_have_options_before_their_values() {
        let values = vec![Argument::Int(144), Argument::Int(60)];
        let wanted =
            Request::Item { device: "a/b", options: Options::default(), values: values.clone() };
        assert_eq!(request("/to/a/b", &values), Ok(wanted));
        let all = [[Argument::Text("id=-7 branch=2  late=drop:5ms")].as_slice(), &values].concat();
        let options = Options {
            id: Some(-7),
            branch: BranchId(2),
            if_late: IfLate::Drop(Nanos::from_millis(5)),
        };
        assert_eq!(request("/to/x", &all), Ok(Request::Item { device: "x", options, values }));
    }

    #[test]
    fn cuts_and_subscriptions_are_read() {
        assert_eq!(request("/cut", &[]), Ok(Request::Cut(BranchId(0))));
        assert_eq!(request("/cut", &[Argument::Int(3)]), Ok(Request::Cut(BranchId(3))));
        let subscribe = |port, cookie| Ok(Request::Subscribe { port, cookie });
        assert_eq!(request("/subscribe", &[]), subscribe(None, None));
        assert_eq!(request("/subscribe", &[Argument::Int(9)]), subscribe(Some(9), None));
        let proof = [Argument::Int(0), Argument::Int(-5)];
        assert_eq!(request("/subscribe", &proof), subscribe(None, Some(-5)));
        let unsubscribe = Ok(Request::Unsubscribe { port: Some(9) });
        assert_eq!(request("/unsubscribe", &[Argument::Int(9)]), unsubscribe);
    }

    #[test]
    fn what_is_wrong_is_named_with_the_nearest_word() {
        check_refused(
            "/cuts/2",
            &[],
            "unknown address `/cuts` (did you mean `/cut`?); it is one of: /to, /cut, /subscribe, /unsubscribe",
        );
        check_refused("/to/", &[], "the address names no device; fix: /to/DEVICE");
        check_refused("/to/x", &[Argument::Text("id")], "option `id` has no value; fix: id=VALUE");
        check_refused(
            "/to/x",
            &[Argument::Text("brunch=1")],
            "unknown option `brunch` (did you mean `branch`?); it is one of: id, branch, late",
        );
        check_refused(
            "/to/x",
            &[Argument::Text("branch=-1")],
            "option `branch=-1`: -1 is not a whole number from 0 to 4294967295",
        );
        check_refused(
            "/to/x",
            &[Argument::Text("late=stop")],
            "option `late`: `stop` is not possible by OSC, where senders share a stream; fix: drop",
        );
        check_refused(
            "/cut",
            &[Argument::Int(-1)],
            "/cut takes the number of a branch, or nothing for branch 0",
        );
        check_refused(
            "/subscribe",
            &[Argument::Int(70000)],
            "/subscribe takes nothing, a port, or a port and the number of /cookie",
        );
    }

    #[test]
    fn payloads_are_those_of_the_values() {
        let midi = [Argument::Midi([0, 0x90, 60, 100])];
        assert_eq!(payload_of(Format::Midi, &midi), Ok(vec![0x90, 60, 100]));
        let wrong = payload_of(Format::Midi, &[Argument::Int(1), Argument::Nil]).unwrap_err();
        assert_eq!(wrong.to_string(), "value 2: type `N` is not possible here");
    }
}
