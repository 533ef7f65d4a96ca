//! The pages in a real browser: they follow their policy and fit a phone.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tactus_testing::{Need, require};

use crate::client::Served;
use crate::replies::{filled, history};

/// The names under which the browser is installed.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// A browser that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(180);

fn browser() -> Option<&'static str> {
    let found = BROWSERS.into_iter().find(|name| {
        let mut version = Command::new(name);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    });
    require(
        Need::Browser,
        found.ok_or_else(|| format!("none of {} is installed", BROWSERS.join(", "))),
    )
}

/// The document of a page, and what the browser said about it.
fn open(browser: &str, served: &Served, path: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let [dumped, said] = ["dump.html", "said"].map(|name| folder.path().join(name));
    let file = |path| std::fs::File::create(path).unwrap();
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(format!("http://{}{path}", served.address))
        .stdout(file(&dumped))
        .stderr(file(&said))
        .spawn()
        .unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the browser did not finish within {PATIENCE:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    (std::fs::read_to_string(dumped).unwrap(), std::fs::read_to_string(said).unwrap())
}

#[test]
fn needs_chromium_the_pages_are_shown_and_follow_their_policy() {
    let Some(browser) = browser() else { return };
    let (_folder, served) = filled();
    let run = served.json("/api/runs")["runs"][0]["id"].as_str().unwrap().to_owned();
    let history = history(&served, "p99");
    for (path, expected) in [
        ("/", "48 runs"),
        ("/machines", "<code>ef56ab78</code>"),
        ("/figures", ">p99.9</a>"),
        (&*history, "changed on 1 of 2 machines and kernels"),
        (&*format!("/runs/{run}"), "data-ready=\"yes\""),
    ] {
        let (document, said) = open(browser, &served, path);
        assert!(document.contains(expected), "{path}: {document}");
        assert!(!document.contains("data-error"), "{path}: a script failed");
        let refused = said.lines().find(|line| line.contains("Content Security Policy"));
        assert_eq!(refused, None, "{path}");
    }
}

#[test]
#[ignore = "for people: serves made-up runs for an hour, and prints where"]
fn a_site_to_look_at() {
    let (_folder, served) = filled();
    println!("http://{}{}", served.address, history(&served, "p99"));
    std::thread::sleep(Duration::from_secs(3600));
}
