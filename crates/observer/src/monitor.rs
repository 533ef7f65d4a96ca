//! How much later than it is heard a sample of a sink comes out of the sink's monitor.
//!
//! A sound server may process the reader of a monitor before or after the sink, so a monitor can be a
//! cycle behind. A click of our own at a known position shows it, before the player starts. When that
//! position is heard is what [`Output`] says: a device plays the samples of a cycle from the next
//! one on.

use std::time::{Duration, Instant};

use tactus_model::time::{Monotonic, Nanos};
use tactus_sound::{Capture, ClientSpec, Output, Peer, SoundError};
use tactus_synchrony::observed::Moment;
use tactus_sys::clock;

/// How loud a click is, and from when on a sample is one.
const CLICK: f32 = 0.5;
const HEARD: f32 = 0.25;

/// How far ahead a click is put, and how long it may take.
const AHEAD: Nanos = Nanos::from_millis(150);
const PATIENCE: Duration = Duration::from_millis(800);
const STEP: Duration = Duration::from_millis(5);

/// As many clicks must agree, of so many: a lost cycle moves one.
const AGREE: usize = 2;
const CLICKS_MOST: usize = 6;

/// The delay of the monitor of a sink in frames, negative if it is early; `None` if no two clicks
/// agree.
///
/// # Errors
/// There is no sound server, or no such sink.
pub(crate) fn delay(capture: &mut Capture, sink: &str) -> Result<Option<i64>, SoundError> {
    let peer = Peer::Client(sink.to_owned());
    let spec = ClientSpec { name: "tactus-click".to_owned(), channels: 1, peer };
    let mut output = Output::open(&spec)?;
    let mut delays: Vec<u64> = Vec::new();
    for _ in 0..CLICKS_MOST {
        let Some(delay) = click(&mut output, capture) else { continue };
        delays.push(delay);
        if delays.iter().filter(|known| **known == delay).count() >= AGREE {
            return Ok(Some(delay.cast_signed() - i64::from(output.latency())));
        }
    }
    Ok(None)
}

/// Plays a click, and returns how many frames after its position it is heard.
fn click(output: &mut Output, capture: &mut Capture) -> Option<u64> {
    let began = Instant::now();
    let mut put = None;
    let mut samples = Vec::new();
    while began.elapsed() < PATIENCE {
        output.turn();
        if put.is_none() {
            let at: Moment = clock::now::<Monotonic>() + AHEAD;
            put = output.position_heard_from(at).filter(|at| output.put(*at, &[CLICK]) == 1);
        }
        while let Some(block) = capture.read(&mut samples) {
            let found = samples.iter().position(|sample| *sample > HEARD);
            if let (Some(place), Some(put)) = (found, put) {
                return (block.position + place as u64).checked_sub(put);
            }
        }
        std::thread::sleep(STEP);
    }
    None
}
