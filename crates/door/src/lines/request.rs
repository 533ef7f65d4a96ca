//! Requests.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use tactus_model::text::UnknownWord;
use tactus_model::time::{Nanos, NotALength};
use tactus_stream::{BranchId, IfLate, Moment};

use crate::values::{BadIfLate, Value, if_late};

/// The most bytes of a line, in both directions.
pub const LINE_BYTES: usize = 64 << 10;

/// The most bytes of an `id`, since the door keeps it until the receipt.
pub const ID_BYTES: usize = 64;

/// What a line requests.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `{"send":{…}}`, answered by a receipt.
    Send(Send),
    /// Answered at once.
    Other(Other),
}

/// A request that is not an item.
#[derive(Clone, Debug, PartialEq)]
pub enum Other {
    /// `{"cut":{…}}`
    Cut(Cut),
    /// `{"resume":{"to":…}}`
    Resume(Resume),
    /// `{"devices":{}}`
    Devices,
    /// `{"clock":{}}`
    Clock,
}

/// An item.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Send {
    /// The device.
    pub to: String,
    /// When it is due, in nanoseconds of the monotonic clock.
    pub at: Option<u64>,
    /// When it is due: a duration from now, such as `20ms`. Without `at` and `in`: now.
    #[serde(rename = "in")]
    pub within: Option<String>,
    /// Its values as numbers.
    pub data: Option<Vec<Number>>,
    /// Its value as a text.
    pub text: Option<String>,
    /// A number or a text that comes back in the receipt.
    pub id: Option<Id>,
    /// The branch that it belongs to.
    #[serde(default)]
    pub branch: u32,
    /// What happens if it is late: `deliver`, `drop:5ms` or `stop:5ms`.
    pub late: Option<String>,
}

/// A number of `data`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "`data` takes numbers, such as [144,60,100]")]
pub enum Number {
    /// A whole one.
    Int(i64),
    /// Another one.
    Float(f64),
}

/// What a program calls an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`id` takes a whole number or a text")]
pub enum Id {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Cut {
    /// The branch.
    #[serde(default)]
    pub branch: u32,
    /// See [`Send::at`].
    pub at: Option<u64>,
    /// See [`Send::within`].
    #[serde(rename = "in")]
    pub within: Option<String>,
}

/// Lets the items of a device be delivered again that had stopped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Resume {
    /// The device.
    pub to: String,
}

/// Nothing.
#[derive(Deserialize)]
struct Empty {}

/// Requests with their keys.
pub const REQUESTS: [(&str, &[&str]); 5] = [
    ("send", &["to", "at", "in", "data", "text", "id", "branch", "late"]),
    ("cut", &["branch", "at", "in"]),
    ("resume", &["to"]),
    ("devices", &[]),
    ("clock", &[]),
];

/// Why a line is no request.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// It is not JSON.
    #[error("column {}: {}", .0.column(), without_place(.0))]
    Json(serde_json::Error),
    /// It is not an object with one key.
    #[error("a request is an object with one key, such as {{\"clock\":{{}}}}")]
    Shape,
    /// The request, or one of its keys.
    #[error(transparent)]
    Word(#[from] UnknownWord),
    /// A value of it.
    #[error("`{request}`: {}", in_words(error))]
    Value {
        /// The request.
        request: &'static str,
        /// What is wrong.
        error: serde_json::Error,
    },
    /// An `id` that is too long.
    #[error("`id` has {0} bytes, more than {ID_BYTES}")]
    Id(usize),
    /// Both, or neither.
    #[error("`{request}`: give {0} or {1}, not both", choice.0, choice.1)]
    Both {
        /// The request.
        request: &'static str,
        /// The keys.
        choice: (&'static str, &'static str),
    },
    /// An item without a value.
    #[error("`send`: `data` and `text` are missing; fix: \"data\":[144,60,100]")]
    NoData,
    /// A duration.
    #[error("`in`: {0}")]
    Within(#[from] NotALength),
    /// A policy.
    #[error("`late`: {0}")]
    IfLate(#[from] BadIfLate),
}

/// The text of an error of JSON; its line is always the first.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

/// The text of an error of a value, without names of types.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.replace("expected u64", "expected a whole number from 0")
        .replace("expected u32", "expected a whole number from 0 to 4294967295")
        .replace("expected a string", "expected a text, such as \"20ms\"")
}

/// The `id` in a line that may be wrong elsewhere.
pub fn id_of(line: &[u8]) -> Option<Id> {
    let mut json: Json = serde_json::from_slice(line).ok()?;
    let id = serde_json::from_value(json.get_mut("send")?.get_mut("id")?.take());
    id.ok().filter(|id: &Id| id.check().is_ok())
}

impl Id {
    fn check(&self) -> Result<(), BadLine> {
        match self {
            Self::Text(text) if text.len() > ID_BYTES => Err(BadLine::Id(text.len())),
            Self::Text(_) | Self::Number(_) => Ok(()),
        }
    }
}

impl Request {
    /// The request of a line.
    ///
    /// # Errors
    /// It is no request, or a value is impossible.
    pub fn parse(line: &[u8]) -> Result<Self, BadLine> {
        let json: Json = serde_json::from_slice(line).map_err(BadLine::Json)?;
        let Json::Object(mut object) = json else { return Err(BadLine::Shape) };
        let mut keys = object.keys();
        let (Some(word), None) = (keys.next().cloned(), keys.next()) else {
            return Err(BadLine::Shape);
        };
        let Some((request, known)) = REQUESTS.into_iter().find(|(request, _)| *request == word)
        else {
            let words = REQUESTS.map(|(request, _)| request);
            return Err(UnknownWord::new("request", &word, &words).into());
        };
        let content = object.remove(&word).unwrap_or_default();
        for key in content.as_object().into_iter().flat_map(|object| object.keys()) {
            if !known.contains(&key.as_str()) {
                return Err(UnknownWord::new("key", key, known).into());
            }
        }
        Ok(Self::Other(match request {
            "send" => {
                let send: Send = read(request, content)?;
                send.id.as_ref().map_or(Ok(()), Id::check)?;
                return Ok(Self::Send(send));
            }
            "cut" => Other::Cut(read(request, content)?),
            "resume" => Other::Resume(read(request, content)?),
            "devices" => read(request, content).map(|Empty {}| Other::Devices)?,
            _ => read(request, content).map(|Empty {}| Other::Clock)?,
        }))
    }
}

fn read<T: DeserializeOwned>(request: &'static str, content: Json) -> Result<T, BadLine> {
    serde_json::from_value(content).map_err(|error| BadLine::Value { request, error })
}

impl Send {
    /// When it is due.
    ///
    /// # Errors
    /// Two times are given, or one that is no duration.
    pub fn due(&self, now: Moment) -> Result<Moment, BadLine> {
        moment("send", self.at, self.within.as_deref(), now)
    }

    /// Its values.
    ///
    /// # Errors
    /// None is given, or both kinds.
    pub fn values(&self) -> Result<Vec<Value<'_>>, BadLine> {
        match (&self.data, &self.text) {
            (Some(_), Some(_)) => {
                Err(BadLine::Both { request: "send", choice: ("`data`", "`text`") })
            }
            (Some(data), None) => Ok(data
                .iter()
                .map(|number| match number {
                    Number::Int(value) => Value::Int(*value),
                    Number::Float(value) => Value::Float(*value),
                })
                .collect()),
            (None, Some(text)) => Ok(vec![Value::Text(text)]),
            (None, None) => Err(BadLine::NoData),
        }
    }

    /// What happens if it is late.
    ///
    /// # Errors
    /// The word is unknown, or its tolerance is no duration.
    pub fn if_late(&self) -> Result<IfLate, BadLine> {
        Ok(self.late.as_deref().map_or(Ok(IfLate::Deliver), if_late)?)
    }
}

impl Cut {
    /// From when on.
    ///
    /// # Errors
    /// See [`Send::due`].
    pub fn at(&self, now: Moment) -> Result<Moment, BadLine> {
        moment("cut", self.at, self.within.as_deref(), now)
    }

    /// The branch.
    pub const fn branch(&self) -> BranchId {
        BranchId(self.branch)
    }
}

fn moment(
    request: &'static str,
    at: Option<u64>,
    within: Option<&str>,
    now: Moment,
) -> Result<Moment, BadLine> {
    match (at, within) {
        (Some(_), Some(_)) => Err(BadLine::Both { request, choice: ("`at`", "`in`") }),
        (Some(at), None) => Ok(Moment::from_nanos(at)),
        (None, Some(within)) => Ok(now + within.parse::<Nanos>()?),
        (None, None) => Ok(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_nanos(1_000_000_000);

    fn send(line: &str) -> Send {
        match Request::parse(line.as_bytes()) {
            Ok(Request::Send(send)) => send,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check_refused(line: &str, reason: &str) {
        let wrong = match Request::parse(line.as_bytes()) {
            Ok(Request::Send(send)) => {
                send.due(NOW).map(drop).and(send.values().map(drop)).and(send.if_late().map(drop))
            }
            Ok(Request::Other(Other::Cut(cut))) => cut.at(NOW).map(drop),
            other => other.map(drop),
        };
        assert_eq!(wrong.unwrap_err().to_string(), reason);
    }

    #[test]
    fn items_have_times_values_and_options() {
        let short = send(r#"{"send":{"to":"synth","data":[144,60,100]}}"#);
        assert_eq!(short.due(NOW).unwrap(), NOW);
        assert_eq!(short.values().unwrap(), [144, 60, 100].map(Value::Int));
        assert_eq!((short.if_late().unwrap(), &short.id), (IfLate::Deliver, &None));
        let long = send(
            r#"{"send":{"to":"log","in":"20ms","text":"a","id":"x","branch":3,"late":"drop:5ms"}}"#,
        );
        assert_eq!(long.due(NOW).unwrap(), NOW + Nanos::from_millis(20));
        assert_eq!(long.values().unwrap(), [Value::Text("a")]);
        assert_eq!(long.if_late().unwrap(), IfLate::Drop(Nanos::from_millis(5)));
        assert_eq!((long.id, long.branch), (Some(Id::Text("x".to_owned())), 3));
        assert_eq!(
            send(r#"{"send":{"to":"a","at":7,"data":[0.5]}}"#).due(NOW).unwrap().as_nanos(),
            7
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place_and_the_nearest_word() {
        check_refused(r#"{"send":{"to":"a",}}"#, "column 19: trailing comma");
        check_refused("[1]", r#"a request is an object with one key, such as {"clock":{}}"#);
        check_refused(
            r#"{"cut":{},"clock":{}}"#,
            r#"a request is an object with one key, such as {"clock":{}}"#,
        );
        check_refused(
            r#"{"sned":{}}"#,
            "unknown request `sned` (did you mean `send`?); it is one of: send, cut, resume, devices, clock",
        );
        check_refused(
            r#"{"cut":{"brnach":1}}"#,
            "unknown key `brnach` (did you mean `branch`?); it is one of: branch, at, in",
        );
        check_refused(r#"{"send":{"data":[1]}}"#, "`send`: missing field `to`");
        check_refused(
            r#"{"send":{"to":"a","at":-1,"data":[1]}}"#,
            "`send`: invalid value: integer `-1`, expected a whole number from 0",
        );
        check_refused(
            r#"{"send":{"to":"a","data":["x"]}}"#,
            "`send`: `data` takes numbers, such as [144,60,100]",
        );
        check_refused(
            r#"{"send":{"to":"a","data":[1],"in":5}}"#,
            "`send`: invalid type: integer `5`, expected a text, such as \"20ms\"",
        );
        let long = format!(r#"{{"send":{{"to":"a","data":[1],"id":"{}"}}}}"#, "x".repeat(65));
        check_refused(&long, "`id` has 65 bytes, more than 64");
        assert_eq!(id_of(long.as_bytes()), None);
        check_refused(
            r#"{"send":{"to":"a","at":1,"in":"1ms","data":[1]}}"#,
            "`send`: give `at` or `in`, not both",
        );
        check_refused(
            r#"{"send":{"to":"a"}}"#,
            "`send`: `data` and `text` are missing; fix: \"data\":[144,60,100]",
        );
        check_refused(
            r#"{"send":{"to":"a","data":[1],"late":"stopp"}}"#,
            "`late`: unknown policy for late items `stopp` (did you mean `stop`?); it is one of: deliver, drop, stop",
        );
    }

    #[test]
    fn a_wrong_item_keeps_its_id() {
        let wrong = r#"{"send":{"to":"a","data":["x"],"id":"s"}}"#;
        assert_eq!(id_of(wrong.as_bytes()), Some(Id::Text("s".to_owned())));
        assert_eq!(id_of(br#"{"send":{"id":{}}}"#), None);
        assert_eq!(id_of(b"{"), None);
    }

    #[test]
    fn the_schema_has_every_request_and_key() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lines.schema.json");
        let schema: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for (request, keys) in REQUESTS {
            let found = &schema["$defs"]["request"]["properties"][request]["properties"];
            let found: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
            let mut wanted = keys.to_vec();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "{request}");
        }
    }
}
