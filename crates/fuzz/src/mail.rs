//! Video mail.

use tactus_mail::timing::VERSION;
use tactus_mail::{Letter, Opened, Timing};
use tactus_model::time::Instant;

/// A mail, and stamps alone.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let timing =
        br#"{"version":1,"origin":7,"picture":{"source":"synthetic","width":320,"height":240,
        "stamps":[0,40000000],"within":5,"missing":0},"sound":{"source":"microphone","rate":48000,
        "channels":1,"blocks":[[0,480,0],[480,480,10000000]],"missing":0},"video":null}"#;
    let origin = Instant::from_nanos(7);
    let empty = Timing { version: VERSION, origin, picture: None, sound: None, video: None };
    let read = Timing::read(timing).unwrap_or(empty);
    let mail = Letter::default().compose(&read, b"a clip of some bytes").unwrap_or_default();
    vec![mail, timing.to_vec()]
}

/// Stamps are written so that the same are read again; a mail that is read has the clip that its
/// digest says.
pub(crate) fn run(bytes: &[u8]) {
    if let Ok(timing) = Timing::read(bytes) {
        timing.length();
        let again = Timing::read(&timing.bytes()).expect("what was written is read");
        assert_eq!(again, timing);
    }
    if let Ok(opened) = Opened::read(bytes) {
        let digest = opened.timing.video.expect("a digest was checked");
        assert_eq!(digest.bytes, opened.clip.len() as u64);
    }
}
