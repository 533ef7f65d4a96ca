//! Conclusions from a run are the same from the store and from a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tactus_app::gate::{Demands, Gated, gate};
use tactus_app::overview::RunOverview;
use tactus_app::page::{self, PageOptions};
use tactus_app::runs::{Runs, Source, delete, list};
use tactus_app::{ErrorKind, Places, Subject, accounts, compare, explain, import};
use tactus_judge::compare::CompareOptions;
use tactus_judge::gate::Demand;
use tactus_judge::verdict::Validity;
use tactus_model::address::Address;
use tactus_model::run::{RunId, RunStatus};
use tactus_model::sample::{Sample, SampleBlock};
use tactus_model::time::{Instant, Nanos};
use tactus_model::traced::TracedData;
use tactus_store::Store;
use tempfile::TempDir;

use crate::common::{CREATED, Size, facts, measurement, plan, turn, with_traced};

/// A store in a temporary directory.
struct Here {
    folder: TempDir,
    places: Places,
}

impl Here {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Some(folder.path().join("runs.sqlite").into());
        Self { folder, places: Places { store, ..Places::default() } }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

/// Stores a run of one turn with a golden recording, without measuring.
fn recorded_run(store: &mut Store) -> RunId {
    let run = store.create_run(&plan(1), &facts(), "0.1.0", CREATED, None).unwrap();
    let (measured, samples) = measurement(turn(0, 0), 1, Size::SMALL);
    let (mut measured, traced_data) = with_traced(measured, 1);
    let golden: Value =
        serde_json::from_slice(&fs::read(data("blame/kernel-section.json")).unwrap()).unwrap();
    let task = &golden["task"];
    let traced = measured.traced.as_mut().unwrap();
    traced.opened = Instant::from_nanos(task["opened"].as_u64().unwrap());
    traced.tasks[0].thread = serde_json::from_value(task["thread"].clone()).unwrap();
    traced.tasks[0].handed_over = None;
    let late: Sample = serde_json::from_value(task["samples"][0].clone()).unwrap();
    let mut traced_samples = traced_data.samples[0].1.decode().unwrap();
    *traced_samples.last_mut().unwrap() = late;
    let traced_data = TracedData {
        samples: vec![(0, SampleBlock::encode(&traced_samples))],
        recording: fs::read(data("blame/kernel-section.tactusrec")).unwrap(),
    };
    store.save_traced(&run, &measured, &samples, &traced_data).unwrap();
    store.finish_run(&run, RunStatus::Complete, &facts()).unwrap();
    run
}

/// All conclusions from one run.
fn conclusions(subject: Subject<'_>) -> Value {
    let explained =
        explain::of_cells(&subject, Nanos::from_micros(100), 3).map_err(|e| e.to_string());
    let overview = serde_json::to_value(RunOverview::of(&subject, &[]).unwrap()).unwrap();
    let accounts: Vec<Value> = accounts::of_run(&subject, &[])
        .unwrap()
        .iter()
        .map(|found| serde_json::to_value(&found.accounts).unwrap())
        .collect();
    let run = serde_json::to_value(subject.run()).unwrap();
    let causes = explain::causes(subject.run(), &explain::of_run(&subject).unwrap());
    assert_eq!(overview.get("causes"), (!causes.is_empty()).then(|| json!(causes)).as_ref());
    let page = page::of_runs(vec![subject], &PageOptions::default()).unwrap();
    assert!(causes.iter().all(|line| page.contains(line)), "{causes:?}");
    json!({
        "run": run, "overview": overview, "explained": explained, "accounts": accounts, "page": page,
    })
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn demands(no_worse_than: &str) -> Demands {
    Demands {
        of_cells: vec![Demand::Max(Nanos::from_micros(50))],
        no_worse_than: Some(address(no_worse_than)),
        margin: 0.05,
        validity: Some(Validity::Valid),
        allow_unsupported: true,
    }
}

/// Requires the same conclusions from the run `stored` and that of `file`.
fn require_the_same(runs: &Runs<'_>, stored: &str, file: &str) {
    let found = |name: &str| conclusions(runs.find(&address(name)).unwrap());
    assert_eq!(found(stored), found(file));
    let gated = |run: &str, baseline: &str| {
        let Gated { verdict, report, comparison, .. } =
            gate(runs, &address(run), &demands(baseline)).unwrap();
        serde_json::to_value((verdict, report, comparison)).unwrap()
    };
    assert_eq!(gated(stored, file), gated(file, stored));
    let options = CompareOptions { margin: 0.05, force: false };
    let compared = compare::named(runs, &address(stored), &address(file), &options).unwrap();
    assert!(!compared.comparison.any_worse() && compared.comparison.facts.is_empty());
}

#[test]
fn an_exported_run_gives_the_conclusions_of_the_stored_run() {
    let here = Here::new();
    let run = recorded_run(&mut here.places.open_store().unwrap());
    let file = here.path("run.json");
    let runs = Runs::new(&here.places);
    runs.store().unwrap().export(&run, File::create(&file).unwrap(), true).unwrap();
    require_the_same(&runs, run.as_str(), file.to_str().unwrap());
    let explained = |text: &str| {
        let subject = runs.find(&address(text)).unwrap();
        let explained = explain::of_cells(&subject, Nanos::from_micros(100), 1);
        serde_json::to_string(&explained.unwrap()).unwrap()
    };
    assert!(explained("last").contains("kernel-section"), "{}", explained("last"));
    assert_eq!(explained("last#1"), explained(&format!("{}#1", file.display())));
    // The only cell as a run of its own has the same samples and recordings.
    let alone = runs.find(&address("last#1")).unwrap().alone();
    assert_eq!(alone.id().as_str(), format!("{run}#1"));
    let explanation = |subject: &Subject<'_>| {
        let explained = explain::of_cells(subject, Nanos::from_micros(100), 1).unwrap();
        serde_json::to_value(&explained[0].explanation).unwrap()
    };
    assert_eq!(explanation(&alone), explanation(&runs.find(&address("last#1")).unwrap()));
    let error = runs.find(&address("last#0")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}

#[test]
fn a_result_of_another_tool_gives_the_conclusions_of_the_imported_run() {
    let here = Here::new();
    let file = data("import/cyclictest.json");
    let options = tactus_import::Options::default();
    let mut store = here.places.open_store().unwrap();
    let imported = import::file(&mut store, &file, &options).unwrap();
    assert_eq!(imported.origin.unwrap().tool, "cyclictest");
    let runs = Runs::new(&here.places);
    require_the_same(&runs, imported.run.as_str(), file.to_str().unwrap());
    let again = import::file(&mut store, &file, &options).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Usage);
    assert!(again.to_string().contains("cannot import"), "{again}");
}

#[test]
fn a_file_needs_no_store() {
    let nowhere = Places::default();
    let runs = Runs::new(&nowhere);
    let file = data("import/cyclictest.json");
    let demands = Demands { no_worse_than: None, validity: None, ..demands("") };
    let gated = gate(&runs, &address(file.to_str().unwrap()), &demands).unwrap();
    assert_eq!(gated.report.judgements.len(), 1);
    assert_eq!(runs.find(&Address::last()).unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_name_is_a_recording_an_exported_run_or_a_stored_run() {
    let here = Here::new();
    let run = recorded_run(&mut here.places.open_store().unwrap());
    let file = here.path("run.json");
    let runs = Runs::new(&here.places);
    runs.store().unwrap().export(&run, File::create(&file).unwrap(), false).unwrap();
    let recording = data("blame/kernel-section.tactusrec");
    let source = |name: Option<&str>| match runs.source(&address(name.unwrap_or("last"))).unwrap() {
        Source::Recording(path) => path.display().to_string(),
        Source::Run(subject) => subject.id().to_string(),
    };
    assert_eq!(source(recording.to_str()), recording.display().to_string());
    assert_eq!([source(file.to_str()), source(None)], [run.to_string(), run.to_string()]);
}

#[test]
fn an_unknown_name_deletes_nothing() {
    let here = Here::new();
    let mut store = here.places.open_store().unwrap();
    let run = recorded_run(&mut store).to_string();
    let both = [address(&run), address("none")];
    delete(&mut store, &both, |_| Ok(true), |run| panic!("{run}")).unwrap_err();
    assert_eq!(list(&store, None).unwrap().runs.len(), 1);
    assert_eq!(list(&store, Some(0)).unwrap().older, 1);
    let mut gone = Vec::new();
    delete(&mut store, &[address(&run)], |_| Ok(true), |run| gone.push(run.to_string())).unwrap();
    assert_eq!(gone, [run]);
}
