//! Real results of the tools; `tests/data/import` describes how each was made.

use std::path::Path;

use proptest::prelude::*;
use tactus_import::{File, Format, ImportError, Options, run_of};
use tactus_model::origin::UNKNOWN;
use tactus_model::result::Measurement;
use tactus_model::run::Run;
use tactus_model::time::{Instant, Nanos};
use tactus_stats::CellSummary;

fn file(name: &str) -> File {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/import");
    let content =
        std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    File { name: name.to_owned(), content, modified: Some(Instant::from_nanos(7)) }
}

fn import(names: &[&str]) -> Result<Run, ImportError> {
    let files: Vec<File> = names.iter().map(|name| file(name)).collect();
    run_of(&files, &Options::default())
}

fn described(run: &Run) -> String {
    let header = &run.header;
    let origin = header.origin.as_ref().unwrap();
    let mut text = format!(
        "{} ({}) from {}\ncommand line: {}\nbegan: {}\nkernel: {}\n",
        origin.program(),
        origin.format,
        origin.files.join(", "),
        origin.command_line.as_deref().unwrap_or(UNKNOWN),
        header.created.as_nanos(),
        header.facts_before.kernel.release.as_deref().unwrap_or(UNKNOWN),
    );
    origin.notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
    for (cell, label) in header.plan.labels().iter().enumerate() {
        let known: Vec<String> = header.plan.cells[cell]
            .settings()
            .filter(|(_, value)| value != UNKNOWN)
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        text.push_str(&format!("\n{label}\n  known: {}\n", known.join(", ")));
        for measurement in run.of_cell(cell) {
            text.push_str(&format!(
                "  round {}: {}\n",
                measurement.turn.round,
                figures(measurement)
            ));
        }
    }
    text
}

fn figures(measurement: &Measurement) -> String {
    let summary = CellSummary::pool(&[measurement]);
    let precision = measurement.precision.unwrap();
    let beyond = precision
        .overflow
        .map_or(String::new(), |beyond| format!(", {} beyond {}", beyond.count, beyond.from));
    format!(
        "{} tasks, {} observed over {}, unit {}{beyond}; min {:?} median {:?} p99 {:?} max {:?} mean {:.2?}",
        measurement.tasks.len(),
        summary.accounting.observed,
        measurement.window,
        precision.unit,
        summary.min.map(Nanos::as_nanos),
        summary.per_wakeup.quantile(0.5).map(Nanos::as_nanos),
        summary.per_wakeup.quantile(0.99).map(Nanos::as_nanos),
        summary.max.map(Nanos::as_nanos),
        summary.mean_ns.unwrap_or_default(),
    )
}

/// The fixtures that contain a run, with their formats.
const FIXTURES: [(&str, Format); 10] = [
    ("cyclictest.json", Format::CyclictestJson),
    ("cyclictest-overflow.json", Format::CyclictestJson),
    ("cyclictest-histogram.txt", Format::CyclictestHistogram),
    ("cyclictest-overflow.txt", Format::CyclictestHistogram),
    ("cyclictest-summary.txt", Format::CyclictestHistogram),
    ("timerlat.txt", Format::TimerlatHistogram),
    ("timerlat-documented.txt", Format::TimerlatHistogram),
    ("jitterdebugger.json", Format::JitterdebuggerJson),
    ("oslat.json", Format::OslatJson),
    ("values.hlog", Format::HdrLog),
];

#[test]
fn every_fixture_is_recognised_and_read() {
    for (name, format) in FIXTURES {
        assert_eq!(Format::recognise(&file(name).content), Ok(format), "{name}");
        let run = import(&[name]).unwrap_or_else(|error| panic!("{name}: {error}"));
        for measurement in &run.measurements {
            for task in &measurement.tasks {
                assert!(task.accounting.balances(), "{name}");
                let counted: u64 = task.blocks.iter().map(|block| block.count).sum();
                assert_eq!(counted, task.accounting.observed, "{name}");
            }
            assert!(!measurement.precision.unwrap().missed_known, "{name}");
        }
        insta::assert_snapshot!(name, described(&run));
    }
}

/// cyclictest wrote both files in one run, so their figures are the same.
#[test]
fn the_json_and_the_histogram_of_one_run_agree() {
    for stem in ["cyclictest-overflow", "cyclictest"] {
        let text = if stem == "cyclictest" {
            "cyclictest-histogram.txt".to_owned()
        } else {
            format!("{stem}.txt")
        };
        let [json, text] = [format!("{stem}.json"), text].map(|name| import(&[&name]).unwrap());
        let [json, text] = [&json, &text].map(|run| &run.measurements[0]);
        assert_eq!(json.precision, text.precision);
        for (json, text) in json.tasks.iter().zip(&text.tasks) {
            assert_eq!(json.accounting, text.accounting);
            let without_sum = |task: &tactus_model::result::TaskResult| {
                let block = &task.blocks[0];
                (block.buckets.clone(), block.min, block.max)
            };
            assert_eq!(without_sum(json), without_sum(text));
        }
    }
}

#[test]
fn stages_of_timerlat_are_never_pooled() {
    let run = import(&["timerlat.txt"]).unwrap();
    assert_eq!(run.header.plan.labels(), ["timerlat-irq", "timerlat-thread", "timerlat-user"]);
    let observed: Vec<u64> =
        run.measurements.iter().map(|found| found.accounting().observed).collect();
    assert_eq!(observed, [20_000; 3]);
    let over: Vec<Option<u64>> = run
        .measurements
        .iter()
        .map(|found| found.precision.unwrap().overflow.map(|overflow| overflow.count))
        .collect();
    // The longest latency of each task is known; those of the other overflows are not.
    assert_eq!(over, [None, None, Some(1)]);
}

#[test]
fn several_files_become_rounds_of_one_run() {
    let names = ["cyclictest-round-1.json", "cyclictest-round-2.json", "cyclictest-round-3.json"];
    let run = import(&names).unwrap();
    assert_eq!((run.header.plan.rounds, run.measurements.len()), (3, 3));
    assert_eq!(run.header.origin.as_ref().unwrap().files, names);
    let refused = import(&[names[0], "timerlat.txt"]).unwrap_err().to_string();
    assert!(
        refused.contains("timerlat.txt") && refused.contains("timerlat-histogram"),
        "{refused}"
    );
    let refused = import(&[names[0], "cyclictest.json"]);
    assert!(refused.is_ok(), "another histogram size is not another cell: {refused:?}");
}

/// Checks that a changed fixture is rejected with a message that contains `expected`.
fn check_refused(name: &str, from: &str, to: &str, expected: &str) {
    let mut file = file(name);
    let text = String::from_utf8(file.content).unwrap();
    assert!(text.contains(from), "{name} has no `{from}`");
    file.content = text.replacen(from, to, 1).into_bytes();
    let error = run_of(&[file], &Options::default()).unwrap_err().to_string();
    assert!(error.contains(expected), "{name}: `{error}` does not contain: {expected}");
}

#[test]
fn errors_name_the_place() {
    check_refused(
        "cyclictest.json",
        "\"cycles\": 3000",
        "\"cycles\": 30",
        "thread.0: the histogram contains",
    );
    check_refused(
        "cyclictest.json",
        "\"13\": 2",
        "\"x\": 2",
        "histogram: `x` is not an integer at line",
    );
    check_refused("cyclictest.json", "\"cycles\"", "\"cycle\"", "missing field `cycles` at line");
    check_refused(
        "cyclictest.json",
        "cyclictest -q",
        "hackbench -q",
        "cannot import results of `hackbench`",
    );
    check_refused(
        "cyclictest-histogram.txt",
        "000084 000001",
        "000084 0000x1",
        "line 87: `0000x1`",
    );
    check_refused(
        "cyclictest-histogram.txt",
        "000084 000001",
        "000084 000002",
        "line 103: thread 0",
    );
    check_refused(
        "cyclictest-histogram.txt",
        "# Max Latencies: 01494",
        "# Max Latencies: 00014",
        "given as 14us",
    );
    check_refused("timerlat.txt", "   Thr-001", "   Foo-001", "line 4: `Foo-001`");
    check_refused("timerlat.txt", "9371", "-371", "line 5: `-371` is negative");
    check_refused("timerlat.txt", "9371 ", "", "line 5: 5 figures for 6 columns");
    check_refused("timerlat.txt", "9371", "9372", "line 16: column 4 has 10000");
    check_refused("timerlat.txt", "microseconds", "fortnights", "line 2: `fortnights (us)`");
    check_refused(
        "jitterdebugger.json",
        "\"count\": 4000",
        "\"count\": 4",
        "cpu.0: the histogram contains",
    );
    check_refused(
        "values.hlog",
        "HISTFAAAAO",
        "HISTFAAAAP!",
        "line 5: the histogram is not base64",
    );
    check_refused(
        "values.hlog",
        "HISTF",
        "HISTE",
        "line 5: the histogram is not in the compressed encoding",
    );
    check_refused("oslat.json", "-c 1 -D 3", "-c 1 -D 3 -B", "started with -B");
    let error = import(&["cyclictest-without-histogram.json"]).unwrap_err().to_string();
    assert!(error.contains("thread.0") && error.contains("-h 1000"), "{error}");
    let error = import(&["signaltest.json"]).unwrap_err().to_string();
    assert!(error.contains("`signaltest`") && error.contains("oslat"), "{error}");
    let error = Format::recognise(b"hello there").unwrap_err().to_string();
    assert!(!error.contains("hello") && error.contains("hdr-log"), "{error}");
    let error = "cyclictest-jsn".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("did you mean `cyclictest-json`?"), "{error}");
}

#[test]
fn a_missing_unit_can_be_given() {
    let with = |unit| {
        let options = Options { unit: Some(unit), ..Options::default() };
        run_of(&[file("values.hlog")], &options).unwrap()
    };
    let max = |run: &Run| run.measurements[0].tasks[0].blocks.iter().map(|block| block.max).max();
    let (nanos, micros) = (with(Nanos::from_nanos(1)), with(Nanos::from_micros(1)));
    let ratio = max(&micros).unwrap().as_nanos() / max(&nanos).unwrap().as_nanos();
    assert_eq!(ratio, 1000);
}

/// The first interval of the log, so often, each with a tag that `tag` gives.
fn long_log(intervals: usize, tag: impl Fn(usize) -> String) -> File {
    let text = String::from_utf8(file("values.hlog").content).unwrap();
    let interval = text.lines().find(|line| line.contains("HISTF")).unwrap();
    let (_, interval) = interval
        .rsplit_once("Tag=")
        .map_or(("", interval), |(_, rest)| rest.split_once(',').unwrap());
    let lines = (0..intervals).map(|number| format!("Tag={},{interval}\n", tag(number)));
    File {
        name: "long.hlog".to_owned(),
        content: lines.collect::<String>().into_bytes(),
        modified: None,
    }
}

/// A day's log has as many intervals as seconds; each took up to a megabyte until the end.
#[test]
fn a_long_log_is_read_in_little_memory() {
    let blocks = |intervals| -> (u64, Vec<u64>) {
        let run = run_of(&[long_log(intervals, |_| "A".to_owned())], &Options::default()).unwrap();
        let task = &run.measurements[0].tasks[0];
        (task.accounting.observed, task.blocks.iter().map(|block| block.count).collect())
    };
    let (each, _) = blocks(1);
    for (intervals, kept, together) in [(256, 256, 1), (257, 129, 2), (600, 150, 4)] {
        let (observed, found) = blocks(intervals);
        assert_eq!(observed, each * intervals as u64);
        assert_eq!(found.len(), kept, "{intervals}");
        assert!(found[..kept - 1].iter().all(|count| *count == each * together), "{found:?}");
        assert_eq!(found.iter().sum::<u64>(), observed);
    }
    let refused = run_of(&[long_log(300, |number| number.to_string())], &Options::default());
    assert!(refused.unwrap_err().to_string().contains("more than 128 tags"));
}

#[test]
fn a_histogram_of_no_thread_is_refused() {
    let content = b"# Histogram\n000001 000004\n# Min Latencies:\n".to_vec();
    let file = File { name: "empty.txt".to_owned(), content, modified: None };
    let refused = run_of(&[file], &Options::default()).unwrap_err().to_string();
    assert!(refused.contains("there is no thread"), "{refused}");
}

/// A change to the bytes of a file.
#[derive(Clone, Debug)]
enum Change {
    Put(usize, u8),
    Cut(usize, usize),
    Double(usize, usize),
    Number(usize, u64),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = || any::<usize>();
    let interesting = prop_oneof![
        Just(0),
        Just(u64::MAX),
        Just(1_u64 << 53),
        Just(i64::MAX as u64),
        any::<u64>(),
    ];
    let change = prop_oneof![
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Put(at, byte)),
        (place(), 0..200_usize).prop_map(|(at, length)| Change::Cut(at, length)),
        (place(), 0..200_usize).prop_map(|(at, length)| Change::Double(at, length)),
        (place(), interesting).prop_map(|(at, number)| Change::Number(at, number)),
    ];
    prop::collection::vec(change, 1..6)
}

fn changed(mut content: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let length = content.len().max(1);
        let end = |at: usize, count: usize| (at % length + count).min(content.len());
        match *change {
            _ if content.is_empty() => {}
            Change::Put(at, byte) => content[at % length] = byte,
            Change::Cut(at, count) => drop(content.drain(at % length..end(at, count))),
            Change::Double(at, count) => {
                let part = content[at % length..end(at, count)].to_vec();
                content.splice(at % length..at % length, part);
            }
            // Replaces the next number after the position.
            Change::Number(at, number) => {
                let from = at % length;
                let Some(begin) = content[from..].iter().position(u8::is_ascii_digit) else {
                    continue;
                };
                let begin = from + begin;
                let digits =
                    content[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                content.splice(begin..begin + digits, number.to_string().into_bytes());
            }
        }
    }
    content
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A damaged file is read or rejected, and a result that is read balances.
    #[test]
    fn damaged_files_are_read_or_rejected(which in 0..FIXTURES.len(), changes in changes(), forced in any::<bool>()) {
        let (name, format) = FIXTURES[which];
        let mut file = file(name);
        file.content = changed(file.content, &changes);
        let options = Options { format: forced.then_some(format), unit: None };
        if let Ok(run) = run_of(&[file], &options) {
            for measurement in &run.measurements {
                prop_assert!(measurement.tasks.iter().all(|task| task.accounting.balances()));
                let _ = CellSummary::pool(&[measurement]);
            }
        }
    }

    #[test]
    fn any_file_is_rejected_or_read_as_every_format(content in prop::collection::vec(any::<u8>(), 0..300), which in 0..FIXTURES.len()) {
        let _ = Format::recognise(&content);
        let file = File { name: "noise".to_owned(), content, modified: None };
        let _ = run_of(&[file], &Options { format: Some(FIXTURES[which].1), unit: None });
    }

    /// Damages the compressed histogram of a log inside its base64 and deflate encoding.
    #[test]
    fn damaged_histograms_of_a_log_are_read_or_rejected(changes in changes()) {
        use base64::{Engine, prelude::BASE64_STANDARD};
        let text = String::from_utf8(file("values.hlog").content).unwrap();
        let line = text.lines().find(|line| line.starts_with("Tag=")).unwrap();
        let (head, histogram) = line.rsplit_once(',').unwrap();
        let bytes = BASE64_STANDARD.decode(histogram).unwrap();
        let mut inner = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::ZlibDecoder::new(&bytes[8..]), &mut inner).unwrap();
        let inner = changed(inner, &changes);
        let mut compressed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut compressed, &inner).unwrap();
        let compressed = compressed.finish().unwrap();
        let mut whole = bytes[..4].to_vec();
        whole.extend((compressed.len() as u32).to_be_bytes());
        whole.extend(compressed);
        let content = format!("{head},{}\n", BASE64_STANDARD.encode(whole)).into_bytes();
        let file = File { name: "log".to_owned(), content, modified: None };
        let _ = run_of(&[file], &Options { format: Some(Format::HdrLog), unit: None });
    }
}
