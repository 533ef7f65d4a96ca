//! Reads a Perfetto trace back with the published protocol buffers.
//!
//! Needs python3 with the package `perfetto`; without them it prints that it is
//! skipped.

use std::process::Command;

use tactus_model::recording::EventKind;
use tactus_record::simulate::{Plan, simulate};
use tactus_testing::{Need, skip};

const READ_BACK: &str = r"
import sys
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
trace = Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
events = [e for p in trace.packet for e in p.ftrace_events.event]
switches = [e.sched_switch for e in events if e.HasField('sched_switch')]
timers = [e for e in events if e.HasField('local_timer_entry')]
slices = [p for p in trace.packet if p.HasField('track_event')]
known = sum(1 for e in events if e.ListFields()[-1][0].name not in ('timestamp', 'pid'))
print(len(events), len(switches), len(timers), len(slices),
      sum(s.next_comm == 'probe' for s in switches), known)
";

#[test]
fn a_trace_is_read_back_with_the_published_protos() {
    let has_package = Command::new("python3")
        .args(["-c", "import perfetto.protos.perfetto.trace.perfetto_trace_pb2"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_package {
        return skip(Need::Tools, "python3 has no package `perfetto`");
    }
    let simulation = simulate(&Plan { seed: 3, ..Plan::default() });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("simulated.perfetto-trace");
    let mut file = std::fs::File::create(&path).unwrap();
    tactus_record::perfetto::export(&mut simulation.recording.reader(), &mut file).unwrap();
    let output = Command::new("python3").args(["-c", READ_BACK]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let found: Vec<usize> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();

    let events = &simulation.recording.events;
    let count = |wanted: &dyn Fn(&EventKind) -> bool| {
        events.iter().filter(|event| wanted(&event.kind)).count()
    };
    let on_tracks =
        count(&|kind| matches!(kind, EventKind::CallEnter(_) | EventKind::CallExit { .. }));
    let charged = count(&|kind| matches!(kind, EventKind::Runtime { .. }));
    let switches = count(&|kind| matches!(kind, EventKind::Switch { .. }));
    let timers = count(&|kind| matches!(kind, EventKind::VectorEntry(_)));
    let to_probe = count(&|kind| match kind {
        EventKind::Switch { next_name, .. } => {
            simulation.recording.dictionary.name(*next_name) == "probe"
        }
        _ => false,
    });
    let ftrace = events.len() - on_tracks - charged;
    assert_eq!(found, [ftrace, switches, timers, on_tracks, to_probe, ftrace]);
}
