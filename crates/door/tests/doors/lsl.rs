//! Markers of the Lab Streaming Layer, read by `pylsl`.

use std::process::{Command, Stdio};
use std::time::Duration;

use tactus_door::lsl::Markers;
use tactus_stream::{BranchId, Client, Draft, IfLate};
use tactus_streamd::Measure;
use tactus_streamd::sink::Sink;
use tactus_sys::SysError;
use tactus_sys::network::NetworkNamespace;
use tactus_testing::{Need, require, skip};

use crate::common::{Running, SETTINGS, ms};
use crate::peers::python;

/// Reads markers until the last, and prints each with its time in nanoseconds.
const READER: &str = r#"
import sys
try:
    import pylsl
except Exception:
    print("absent"); sys.exit()
streams = pylsl.resolve_byprop("name", "trial", timeout=20)
inlet = pylsl.StreamInlet(streams[0])
inlet.open_stream(timeout=20)
print("ready", flush=True)
while True:
    sample, time = inlet.pull_sample(timeout=20)
    if sample is None or sample[0] == "last":
        break
    print(sample[0], round(time * 1e9), flush=True)
"#;

#[test]
fn deliveries_become_markers_with_their_times() {
    let Some(namespace) = require(Need::Root, NetworkNamespace::new()) else { return };
    // Only the loopback interface: nobody else sees the markers.
    let in_namespace = namespace.within(|| {
        trial();
        Ok::<_, SysError>(())
    });
    in_namespace.unwrap();
}

fn trial() {
    let up = "ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo";
    if !Command::new("sh").args(["-c", up]).status().is_ok_and(|status| status.success()) {
        return skip(Need::Tools, "iproute2 is not installed");
    }
    let (markers, sink) =
        Markers::open("trial", "log", Box::new(Measure) as Box<dyn Sink>).unwrap();
    let server = Running::with([("log", sink)], SETTINGS);
    let mut client = server.client("trial");
    let stream = client.open("log").unwrap();
    let mut reader = python();
    reader.args(["-c", READER]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Some(mut reader) = require(Need::Peers, reader.spawn()) else { return };
    let mut said = std::io::BufReader::new(reader.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    if line.starts_with("absent") {
        reader.wait().unwrap();
        return skip(Need::Tools, "python3 has no package `pylsl`");
    }
    assert_eq!(line, "ready\n");
    let start = Client::now() + ms(100);
    let mut send = |text: &str, step: u64, if_late| {
        let (due, payload) = (start + ms(20 * step), text.as_bytes());
        let draft = Draft { stream, branch: BranchId(0), due, if_late, payload };
        client.submit(&draft).unwrap();
        client.receipt(Some(Duration::from_secs(20))).unwrap().unwrap()
    };
    let began: Vec<u64> = (0..10)
        .map(|step| send(&format!("m{step}"), step, IfLate::Deliver).began.unwrap().as_nanos())
        .collect();
    // It is not delivered, so it has no marker.
    assert!(send("never", 0, IfLate::Drop(ms(1))).began.is_none());
    send("last", 11, IfLate::Deliver);
    let text = std::io::read_to_string(said).unwrap();
    assert!(reader.wait().unwrap().success());
    let seen: Vec<(&str, u64)> = text
        .lines()
        .map(|line| line.split_once(' ').map(|(text, time)| (text, time.parse().unwrap())).unwrap())
        .collect();
    assert_eq!(seen.len(), began.len(), "{text}");
    for (step, ((text, time), began)) in seen.iter().zip(began).enumerate() {
        assert_eq!(*text, format!("m{step}"));
        // LSL has times in floating point: seconds.
        assert!(time.abs_diff(began) < 1000, "{time} {began}");
    }
    assert_eq!(markers.lost(), 0);
}
