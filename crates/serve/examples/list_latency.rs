//! How soon the site answers with a store of 10 000 runs: `cargo xtask serve [RUNS]`.

#[path = "../../report/fixtures/runs.rs"]
mod runs;

#[expect(dead_code, reason = "only the tests use all of it")]
#[path = "../tests/serve/client.rs"]
mod client;

#[expect(dead_code, reason = "only the tests use all of it")]
#[path = "../tests/serve/stores.rs"]
mod stores;

use std::time::Instant;

use client::{Served, name};
use tactus_store::Store;

/// The requests for each page, one after another.
const REQUESTS: usize = 1000;

/// The clients that ask at once in the second half.
const CLIENTS: usize = 4;

fn main() {
    let count: u64 =
        std::env::args().nth(1).map_or(10_000, |count| count.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("runs.sqlite");
    let began = Instant::now();
    let mut store = Store::open(&path).expect("a store");
    let template = runs::run(stores::PLAN, 5);
    for number in 0..count {
        let machine = ["ab12cd34", "ef56ab78", "0123abcd", "99887766"][number as usize % 4];
        let slower = number > count / 2;
        store.add(stores::run(&template, number / 4, machine, slower)).expect("a run");
    }
    println!("{count} runs stored in {:.1} s", began.elapsed().as_secs_f64());
    let began = Instant::now();
    let listed = store.list().expect("a list").len();
    println!("store.list(): {listed} runs in {:.0} ms", began.elapsed().as_secs_f64() * 1e3);
    drop(store);
    let began = Instant::now();
    let served = Served::start_unread(&name(&path), &[]);
    served.await_runs(|list| list["count"] != 0);
    println!("the list is shown after {:.1} s", began.elapsed().as_secs_f64());
    served.await_read();
    println!("all runs are read after {:.1} s", began.elapsed().as_secs_f64());
    let figures = served.json("/api/figures");
    let cell = figures["experiments"][0]["cells"][0]["cell"].as_str().expect("a cell");
    let cell = cell.replace(' ', "%20");
    let run = served.json("/api/runs")["runs"][0]["id"].as_str().expect("a run").to_owned();
    println!("{:<28}{:>8}{:>10}{:>10}{:>10}", "page", "clients", "p50 ms", "p99 ms", "max ms");
    let history = format!("/history?experiment=watched&cell={cell}&figure=p99");
    for (path, requests) in [
        ("/", REQUESTS),
        (&*format!("/?page={}", count.div_ceil(50).max(1)), REQUESTS),
        (&format!("/?machine={}", "ab12cd34".repeat(8)), REQUESTS),
        ("/api/runs", REQUESTS),
        ("/machines", REQUESTS),
        (&history, REQUESTS / 10),
        (&format!("/runs/{run}"), REQUESTS / 50),
    ] {
        for clients in [1, CLIENTS] {
            print(path, clients, times(&served, path, requests / clients, clients));
        }
    }
}

/// The times of requests by clients that each ask one after another, in milliseconds.
fn times(served: &Served, path: &str, requests: usize, clients: usize) -> Vec<f64> {
    let ask = || -> Vec<f64> {
        (0..requests.max(1))
            .map(|_| {
                let began = Instant::now();
                served.page(path);
                began.elapsed().as_secs_f64() * 1e3
            })
            .collect()
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().flat_map(|client| client.join().expect("a client")).collect()
    })
}

fn print(path: &str, clients: usize, mut times: Vec<f64>) {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let shown: String = path.chars().take(26).collect();
    println!("{shown:<28}{clients:>8}{:>10.1}{:>10.1}{:>10.1}", at(0.5), at(0.99), at(1.0));
}
