//! What pages and JSON contain.

use rusqlite::Connection;
use tactus_store::Store;
use tactus_testing::{Need, PostgresqlServer, require};
use tempfile::TempDir;

use crate::client::{Served, name};
use crate::stores;

/// A site with runs of two machines.
pub fn filled() -> (TempDir, Served) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    stores::fill(&mut Store::open(&path).unwrap());
    let served = Served::start(&name(&path));
    (folder, served)
}

/// The path of the history of the only cell.
pub fn history(served: &Served, figure: &str) -> String {
    let figures = served.json("/api/figures");
    let group = &figures["experiments"][0];
    let cell = group["cells"][0]["cell"].as_str().unwrap().replace(' ', "%20");
    let experiment = group["experiment"].as_str().unwrap();
    format!("/history?experiment={experiment}&cell={cell}&figure={figure}")
}

#[test]
fn lists_have_all_runs_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let mut store = Store::open(&path).unwrap();
    let mut ids = stores::fill(&mut store);
    let template = crate::runs::run(stores::PLAN, 5);
    for number in 24..29 {
        ids.push(store.add(stores::run(&template, number, "ab12cd34", false)).unwrap());
    }
    let served = Served::start(&name(&path));
    let first = served.json("/api/runs");
    assert_eq!((&first["count"], &first["pages"]), (&53.into(), &2.into()));
    let second = served.json("/api/runs?page=2");
    let listed = [&first, &second].map(|page| page["runs"].as_array().unwrap().clone()).concat();
    let expected: Vec<&str> = ids.iter().rev().map(|id| id.as_str()).collect();
    assert_eq!(listed.iter().map(|run| run["id"].as_str().unwrap()).collect::<Vec<_>>(), expected);
    let page = served.page("/");
    assert!(page.contains("53 runs") && page.contains("href=\"/?page=2\""), "{page}");
    assert!(page.contains(&format!("href=\"/runs/{}\"", expected[0])));
    let machine = "ef56ab78".repeat(8);
    let of_machine = served.json(&format!("/api/runs?machine={machine}"));
    assert_eq!(of_machine["count"], 24);
    assert!(served.page(&format!("/?machine={machine}")).contains("24 runs"));
    assert_eq!(served.json("/api/runs?experiment=other")["count"], 0);
    let machines = served.json("/api/machines");
    let counts: Vec<_> =
        machines["machines"].as_array().unwrap().iter().map(|machine| &machine["runs"]).collect();
    assert_eq!(counts, [29, 24]);
    assert!(served.page("/machines").contains("<code>ef56ab78</code>"));
}

#[test]
fn a_planted_change_is_in_the_history_and_a_steady_machine_has_none() {
    let (_folder, served) = filled();
    for figure in ["p50", "p99"] {
        let path = history(&served, figure);
        let found = served.json(&format!("/api{path}"));
        let levels = |machine: &str| -> Vec<u64> {
            let series = found["series"].as_array().unwrap().iter();
            let of_machine =
                series.filter(|series| series["machine"].as_str().unwrap().starts_with(machine));
            let levels = of_machine.flat_map(|series| series["levels"].as_array().unwrap());
            levels.map(|level| level["first"].as_u64().unwrap()).collect()
        };
        assert_eq!(levels("ab12cd34"), [0], "{figure}");
        assert_eq!(levels("ef56ab78"), [0, 12], "{figure}");
        let page = served.page(&path);
        assert!(page.contains("changed on 1 of 2 machines and kernels"), "{page}");
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(page.contains("/compare?a="), "a change links to its comparison");
    }
}

#[test]
fn a_run_and_a_comparison_are_those_of_the_commands() {
    let (folder, served) = filled();
    let store = Store::open_to_read(&folder.path().join("runs.sqlite")).unwrap();
    let runs = store.list().unwrap();
    let [b, a] = [&runs[0].id, &runs[46].id];
    let exported = served.get(&format!("/api/runs/{a}"));
    assert_eq!(exported.body, tactus_store::document(&store.load(a).unwrap()).unwrap());
    assert!(served.page(&format!("/runs/{a}")).contains("watched"));
    let compared = served.json(&format!("/api/compare?a={a}&b={b}"));
    assert_eq!(
        (&compared["a"]["run"], &compared["b"]["run"]),
        (&a.as_str().into(), &b.as_str().into())
    );
    assert!(served.page(&format!("/compare?a={a}&b={b}")).contains("B / A"));
}

#[test]
fn the_site_follows_its_store() {
    let (folder, served) = filled();
    let mut store = Store::open(&folder.path().join("runs.sqlite")).unwrap();
    let newest = store.list().unwrap()[0].id.clone();
    store.delete(&newest).unwrap();
    served.await_runs(|list| list["count"] == 47);
    assert_eq!(served.get(&format!("/runs/{newest}")).status, 404);
    let template = crate::runs::run(stores::PLAN, 5);
    let added = store.add(stores::run(&template, 90, "ab12cd34", false)).unwrap();
    served.await_runs(|list| list["runs"][0]["id"] == added.as_str() && list["unread"] == 0);
    assert_eq!(*served.errors.lock().unwrap(), [""; 0]);
}

#[test]
fn a_run_that_cannot_be_read_is_counted_and_reported_once() {
    let (folder, served) = filled();
    drop(served);
    let path = folder.path().join("runs.sqlite");
    let newest = Store::open(&path).unwrap().list().unwrap()[0].id.clone();
    let damage = "UPDATE run SET facts_before = 'nothing' WHERE id = ?";
    Connection::open(&path).unwrap().execute(damage, [newest.as_str()]).unwrap();
    let served = Served::start_unread(&path.display().to_string(), &[]);
    served.await_runs(|list| list["unread"] == 1);
    while !served.page("/").contains("1 run cannot be read") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(served.errors.lock().unwrap().len(), 1);
}

#[test]
fn a_store_on_a_server_is_served_to_a_role_that_only_reads() {
    let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
    let owner = server.create("results");
    let location = tactus_store::Location::named(owner.as_ref(), None).unwrap();
    stores::fill(&mut location.open().unwrap());
    server.sql(
        "results",
        "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tactus TO reader;
         GRANT SELECT ON ALL TABLES IN SCHEMA tactus TO reader",
    );
    let served = Served::start(&owner.replace("tactus@", "reader@"));
    assert_eq!(served.json("/api/runs")["count"], 48);
    assert_eq!(served.json("/api/machines")["machines"].as_array().unwrap().len(), 2);
    let path = history(&served, "p99");
    assert_eq!(served.json(&format!("/api{path}"))["series"].as_array().unwrap().len(), 2);
}
