//! The pages in a real browser: they follow their policy and fit a phone.

use std::time::Duration;

use tactus_testing::{Browser, Need, Shown, require};

use crate::replies::{filled, history};

#[test]
fn needs_chromium_the_pages_are_shown_and_follow_their_policy() {
    let Some(browser) = require(Need::Browser, Browser::find()) else { return };
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
        let Shown { document, complaints } =
            browser.show(&format!("http://{}{path}", served.address), 800);
        assert!(document.contains(expected), "{path}: {document}");
        assert!(!document.contains("data-error"), "{path}: a script failed");
        let refused = complaints.lines().find(|line| line.contains("Content Security Policy"));
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
