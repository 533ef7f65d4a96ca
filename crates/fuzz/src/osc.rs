//! Packets of Open Sound Control.

use tactus_door::osc::request::{Request, payload_of};
use tactus_model::time::Instant;
use tactus_osc::packet::{ARGUMENTS, MESSAGES};
use tactus_osc::{Argument, Message, TimeTag, read};
use tactus_stream::{Format, IfLate};

/// A message, and a bundle that has one twice.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let arguments = vec![
        Argument::Text("id=7 late=drop:5ms"),
        Argument::Int(144),
        Argument::Midi([0, 0x90, 60, 100]),
        Argument::Blob(&[0xF0, 1, 2, 0xF7]),
        Argument::Time(TimeTag(0x83AA_7E80_8000_0000)),
    ];
    let message = Message { address: "/to/synth", arguments }.bytes();
    let mut bundle = b"#bundle\0\x83\xAA\x7E\x80\x80\0\0\0".to_vec();
    for _ in 0..2 {
        bundle.extend((message.len() as u32).to_be_bytes());
        bundle.extend_from_slice(&message);
    }
    vec![message, bundle]
}

/// What is read is written so that the same is read again; requests of items go on to payloads.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(timed) = read(bytes) else { return };
    assert!(timed.len() <= MESSAGES);
    for timed in timed {
        timed.time.real_time(Instant::from_nanos(1_800_000_000_000_000_000));
        assert!(timed.message.arguments.len() <= ARGUMENTS);
        let written = timed.message.bytes();
        let again = read(&written).expect("what was written is read");
        assert_eq!(again[0].message.bytes(), written);
        let Ok(Request::Item { options, values, .. }) = Request::of(&timed.message) else {
            continue;
        };
        assert!(!matches!(options.if_late, IfLate::Stop(_)));
        for format in [Format::Midi, Format::Dmx, Format::Bytes { most: 64 }] {
            let _ = payload_of(format, &values);
        }
    }
}
