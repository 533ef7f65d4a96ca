//! Lines of programs at a door of the delivery server.

use tactus_door::lines::request::{Other, Request};
use tactus_door::values::payload;
use tactus_model::time::Instant;
use tactus_stream::Format;

/// Requests.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    [
        r#"{"send":{"to":"synth","in":"20ms","data":[144,60,100],"id":1,"branch":2,"late":"drop:5ms"}}"#,
        r#"{"send":{"to":"log","at":74901500085046,"text":"onset","id":"a"}}"#,
        r#"{"cut":{"branch":2,"in":"1s"}}"#,
        r#"{"resume":{"to":"synth"}}"#,
        r#"{"clock":{}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Reads a line, and what it sends.
pub(crate) fn run(bytes: &[u8]) {
    let now = Instant::from_nanos(1_000_000_000);
    match Request::parse(bytes) {
        Ok(Request::Send(send)) => {
            let _ = (send.due(now), send.if_late());
            let Ok(values) = send.values() else { return };
            for format in [Format::Midi, Format::Dmx, Format::Audio { channels: 2 }] {
                let _ = payload(format, values.iter().copied());
            }
        }
        Ok(Request::Other(Other::Cut(cut))) => drop(cut.at(now)),
        Ok(_) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
