//! Programs of others, unmodified.

use std::process::{Command, Stdio};

use tactus_door::osc::{Door, Options};
use tactus_testing::{Need, skip, wait_until};

use crate::support::{Kept, payloads, server};

/// Runs a program to its end; `None` and a skip if it does not exist.
fn run(command: &mut Command) -> Option<String> {
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) => {
            let name = command.get_program().to_string_lossy().into_owned();
            skip(Need::Tools, format!("{name}: {error}"));
            return None;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}{errors}", output.status);
    Some(text)
}

fn open(server: &crate::common::Running) -> Door {
    let address = "127.0.0.1:0".parse().unwrap();
    Door::open(&Options { address, server: server.socket() }, |_| {}).unwrap()
}

/// The payloads, once there are `count`.
fn wait_for(kept: &Kept, count: usize) -> Vec<Vec<u8>> {
    wait_until("too few items", || kept.lock().unwrap().len() >= count);
    payloads(kept)
}

#[test]
fn oscsend_of_liblo() {
    let (server, [synth, lights, log]) = server();
    let door = open(&server);
    let port = door.address().port().to_string();
    let send = |arguments: &[&str]| {
        run(Command::new("oscsend").args(["localhost", &port]).args(arguments)).is_some()
    };
    if !send(&["/to/synth", "iii", "144", "60", "100"]) {
        return;
    }
    send(&["/to/synth", "sm", "id=7 late=drop:1s", "00903d64"]);
    send(&["/to/lights", "iii", "255", "0", "7"]);
    send(&["/to/log", "ss", "", "hello"]);
    assert_eq!(wait_for(&synth, 2), [[144, 60, 100], [144, 61, 100]]);
    assert_eq!(
        (wait_for(&lights, 1), wait_for(&log, 1)),
        (vec![vec![255, 0, 7]], vec![b"hello".to_vec()])
    );
}

#[test]
fn python_osc() {
    let (server, [synth, ..]) = server();
    let door = open(&server);
    let program = r#"
import sys, time
try:
    from pythonosc import osc_bundle_builder, osc_message_builder, osc_packet
    from pythonosc.udp_client import UDPClient
except ImportError:
    print("absent"); sys.exit()
client = UDPClient("127.0.0.1", int(sys.argv[1]))
def message(address, *values):
    builder = osc_message_builder.OscMessageBuilder(address)
    for value in values:
        builder.add_arg(value)
    return builder.build()
client.send(message("/subscribe"))
start = time.time() + 0.2
for step in range(10):
    bundle = osc_bundle_builder.OscBundleBuilder(start + 0.05 * step)
    bundle.add_content(message("/to/synth", f"id={step}", 144, 60 + step, 100))
    client.send(bundle.build())
client._sock.settimeout(20)
heard = 0
while heard < 10:
    packet = osc_packet.OscPacket(client._sock.recv(2048))
    for timed in packet.messages:
        if timed.message.address == "/receipt":
            values = timed.message.params
            print(values[0], values[1], values[2], values[3], values[7] >= 0)
            heard += 1
"#;
    let port = door.address().port().to_string();
    let Some(said) = run(python().arg("-c").arg(program).arg(port)) else { return };
    if said.starts_with("absent") {
        return skip(Need::Tools, "python3 has no package `python-osc`");
    }
    let wanted: String =
        (0..10).map(|step| format!("{step} synth delivered call True\n")).collect();
    assert_eq!(said, wanted);
    let keys: Vec<u8> = payloads(&synth).iter().map(|bytes| bytes[1]).collect();
    assert_eq!(keys, (60..70).collect::<Vec<u8>>());
    let kept = synth.lock().unwrap();
    for pair in kept.windows(2) {
        // Their time tags are computed in floating point.
        let step = (pair[1].0 - pair[0].0).as_nanos();
        assert!(step.abs_diff(50_000_000) < 2000, "{step}");
    }
}

/// Python, perhaps of an environment that has more packages.
pub(crate) fn python() -> Command {
    Command::new(std::env::var_os("TACTUS_PYTHON").unwrap_or_else(|| "python3".into()))
}

#[test]
fn sclang_of_supercollider() {
    let (server, [synth, ..]) = server();
    let door = open(&server);
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program.scd");
    let port = door.address().port();
    let text = format!(
        r#"(
var door = NetAddr("127.0.0.1", {port}), heard = 0;
OSCdef(\receipt, {{ |message|
    ("receipt " ++ message[1] ++ " " ++ message[2] ++ " " ++ message[3] ++ " " ++ (message[8] >= 0)).postln;
    heard = heard + 1;
    if (heard == 10) {{ 0.exit }};
}}, "/receipt");
OSCdef(\subscribed, {{
    10.do {{ |step|
        door.sendBundle(0.2 + (step * 0.05), ["/to/synth", "id=" ++ step, 144, 60 + step, 100]);
    }};
}}, "/subscribed");
door.sendMsg("/subscribe");
)"#
    );
    std::fs::write(&program, text).unwrap();
    let mut sclang = Command::new("timeout");
    sclang.args(["300", "sclang", "-D"]).arg(&program);
    // It looks for its settings and a display; its browser does not start as root in a sandbox.
    sclang.env("QT_QPA_PLATFORM", "offscreen").env("HOME", folder.path());
    sclang.env("QTWEBENGINE_DISABLE_SANDBOX", "1");
    if !Command::new("sclang")
        .arg("-v")
        .stdin(Stdio::null())
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return skip(Need::Tools, "sclang is not installed");
    }
    let Some(said) = run(&mut sclang) else { return };
    let heard: Vec<&str> = said.lines().filter(|line| line.starts_with("receipt ")).collect();
    let wanted: Vec<String> =
        (0..10).map(|step| format!("receipt {step} synth delivered true")).collect();
    assert_eq!(heard, wanted, "{said}");
    let keys: Vec<u8> = payloads(&synth).iter().map(|bytes| bytes[1]).collect();
    assert_eq!(keys, (60..70).collect::<Vec<u8>>());
}

#[test]
fn a_shell_with_socat() {
    let (server, [synth, ..]) = server();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines");
    let options = tactus_door::lines::Options { path: path.clone(), server: server.socket() };
    let _door = tactus_door::lines::Door::open(&options).unwrap();
    let script = r#"printf '%s\n' '{"send":{"to":"synth","in":"20ms","data":[144,60,100],"id":1}}' \
        '{"send":{"to":"synth","in":"40ms","data":[128,60,0],"id":2}}' | socat -t 20 - UNIX-CONNECT:"$0""#;
    if Command::new("socat").arg("-V").output().is_err() {
        return skip(Need::Tools, "socat is not installed");
    }
    let Some(said) = run(Command::new("sh").arg("-c").arg(script).arg(&path)) else { return };
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<u64> = lines.iter().map(|line| line["receipt"]["id"].as_u64().unwrap()).collect();
    assert_eq!((ids, payloads(&synth).len()), (vec![1, 2], 2));
}
