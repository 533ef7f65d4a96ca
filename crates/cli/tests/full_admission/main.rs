//! What `tactus reserve` does while the kernel's deadline admission is full.
//!
//! Apart from the other tests of subcommands, which run side by side and would be refused.

#[path = "../cli/support.rs"]
#[expect(dead_code, reason = "the tests of the subcommands use the rest")]
mod support;

use serde_json::Value;
use tactus_testing::{Need, skip};

use support::{Tactus, text};

#[test]
fn needs_root_a_thread_that_was_refused_is_tried_again() {
    let tactus = Tactus::new();
    // Each wants most of a CPU. The first ones end, and the last one lives longer.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let program = format!(
        "
import threading, time, ctypes
def work(seconds):
    ctypes.CDLL(None).prctl(15, b'worker', 0, 0, 0)
    time.sleep(seconds)
for number in range({cpus} + 1):
    threading.Thread(target=work, args=(8 if number == {cpus} else 2,)).start()
    time.sleep(0.1)
"
    );
    let options = ["reserve", "18ms/20ms", "--json", "--rung", "deadline", "--threads", "worker"];
    let output = tactus.run(&[&options[..], &["--", "python3", "-c", &program]].concat());
    let reported = text(&output.stderr);
    if output.status.code() == Some(127) {
        return skip(Need::Peers, reported);
    }
    if reported.contains("no rung grants") {
        return skip(Need::Root, reported);
    }
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(reported.contains("(worker) has no reserve: "), "{reported}");
    assert_eq!(result["without"], Value::Array(Vec::new()), "{reported}");
    assert_eq!(result["threads"].as_array().unwrap().len(), cpus + 1, "{reported}");
}
