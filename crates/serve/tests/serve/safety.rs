//! Wrong, hostile and too many requests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tactus_store::Store;

use crate::client::{Served, name};
use crate::replies::filled;
use crate::stores;

#[test]
fn only_reading_is_answered() {
    let (folder, served) = filled();
    let file = folder.path().join("runs.sqlite");
    let before = std::fs::read(&file).unwrap();
    let host = served.address;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        let reply = served.send(request.as_bytes());
        assert_eq!(reply.status, 405, "{method}: {}", reply.head);
        assert!(reply.head.contains("allow: get, head"), "{}", reply.head);
    }
    let request = format!("HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let reply = served.send(request.as_bytes());
    assert_eq!((reply.status, reply.body.len()), (200, 0));
    let body = format!("GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(served.send(body.as_bytes()).status, 400);
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn requests_for_other_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let served =
        Served::start_unread(&name(&folder.path().join("none.sqlite")), &["results.example"]);
    let status = |host: &str| {
        served.send(format!("GET / HTTP/1.1\r\n{host}Connection: close\r\n\r\n").as_bytes()).status
    };
    for host in ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:80", "results.example"] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1", "", "results.example.evil"] {
        assert_eq!(status(&format!("Host: {host}\r\n")), 421, "{host:?}");
    }
    assert_eq!(status("Host: localhost\r\nHost: evil.example\r\n"), 421);
    assert!(matches!(status(""), 400 | 421));
}

#[test]
fn a_url_names_runs_and_never_files() {
    let (folder, served) = filled();
    let exported = folder.path().join("run.json");
    let store = Store::open_to_read(&folder.path().join("runs.sqlite")).unwrap();
    let run = store.list().unwrap()[0].id.clone();
    std::fs::write(&exported, tactus_store::document(&store.load(&run).unwrap()).unwrap()).unwrap();
    let file = exported.display();
    for path in [
        format!("/compare?a={file}&b={file}"),
        format!("/api/compare?a={run}&b={file}"),
        format!("/runs/{file}"),
        "/runs/../../../../etc/passwd".to_owned(),
        "/runs/%2e%2e%2fruns.sqlite".to_owned(),
        "/runs/last".to_owned(),
        "/runs/".to_owned(),
        "/runs".to_owned(),
        "/nothing".to_owned(),
        "/api/nothing".to_owned(),
    ] {
        let reply = served.get(&path);
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        assert!(!reply.text().contains("root:"), "{path}");
    }
    for (path, expected) in [
        ("/?pgae=2", "unknown parameter `pgae`; expected experiment, machine, kernel, page"),
        ("/?page=0", "is not the number of a page"),
        ("/?page=2", "there is no page 2; the last one is 1"),
        ("/compare?a=x", "there is no run `x`"),
        ("/compare", "the parameter `a` is missing"),
        ("/history?experiment=a&cell=b&figure=p98", "expected p50, p99, p99.9, max"),
        ("/history?experiment=a&cell=b", "/figures lists the cells"),
    ] {
        let reply = served.get(&format!(
            "/api{}",
            if path.starts_with("/?") { format!("/runs{}", &path[1..]) } else { path.to_owned() }
        ));
        assert!((400..500).contains(&reply.status), "{path}: {}", reply.status);
        assert!(reply.text().contains(expected), "{path}: {}", reply.text());
        assert!(reply.head.contains("application/json"), "{}", reply.head);
        assert!(served.get(path).head.contains("text/html"));
    }
}

#[test]
fn every_reply_has_the_fields_that_protect_it() {
    let (_folder, served) = filled();
    for path in ["/", "/machines", "/figures", "/nothing", "/api", "/api/runs"] {
        let head = served.get(path).head;
        for field in [
            "x-content-type-options: nosniff",
            "x-frame-options: deny",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-cache",
        ] {
            assert!(head.contains(field), "{path} lacks {field}: {head}");
        }
    }
    let page = served.page("/");
    assert!(page.contains("default-src 'none'") && !page.contains("unsafe-inline"), "{page}");
}

#[test]
fn what_a_run_contains_is_escaped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.sqlite");
    let hostile = "<script>alert(1)</script>\"'&\u{202e}";
    let plan = stores::PLAN.replace("\"idle\"", "'cmd:\"<script>alert(2)</script>\"'");
    let mut run = stores::run(&crate::runs::run(&plan, 5), 0, "ab12cd34", false);
    run.header.plan.name = hostile.to_owned();
    run.header.facts_before.machine_id = Some(hostile.to_owned());
    run.header.facts_before.kernel.release = Some(hostile.to_owned());
    run.header.facts_before.cpu.model = Some(hostile.to_owned());
    let mut store = Store::open(&path).unwrap();
    store.add(run).unwrap();
    let served = Served::start(&name(&path));
    let run = served.json("/api/runs")["runs"][0]["id"].as_str().unwrap().to_owned();
    let figures = served.json("/api/figures");
    let cell = figures["experiments"][0]["cells"][0]["cell"].as_str().unwrap().to_owned();
    let encode =
        |text: &str| -> String { form_urlencoded::byte_serialize(text.as_bytes()).collect() };
    let history = format!("/history?experiment={}&cell={}", encode(hostile), encode(&cell));
    let strange = "/?experiment=%3Cscript%3Ealert(3)%3C/script%3E";
    let wrong = "/?%3Cscript%3Ealert(4)%3C/script%3E=1";
    let no_run = "/runs/%3Cscript%3Ealert(5)%3C/script%3E";
    for path in ["/", "/machines", "/figures", &history, strange, wrong, no_run] {
        let page = served.get(path).text();
        assert!(!page.contains("<script"), "{path}: {page}");
        assert!(!page.contains('\u{202e}'), "{path} reorders text");
    }
    let page = served.page(&format!("/runs/{run}"));
    assert!(!page.contains("<script>alert"), "the page of a run");
}

#[test]
fn what_exceeds_a_limit_is_refused_and_the_site_lives() {
    let (_folder, served) = filled();
    let host = served.address;
    let long = format!("GET /?page={} HTTP/1.1\r\nHost: {host}\r\n\r\n", "1".repeat(40_000));
    assert!(matches!(served.send(long.as_bytes()).status, 0 | 400 | 414 | 431));
    let fields = "X: y\r\n".repeat(200);
    let many = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
    assert!(matches!(served.send(many.as_bytes()).status, 0 | 400 | 431));
    for junk in [&b"\x16\x03\x01\x02\x00"[..], b"\r\n\r\n\r\n", b"GET\r\n\r\n", &[0; 4096]] {
        let reply = served.send(&[junk, b"\r\n\r\n"].concat());
        assert!(matches!(reply.status, 0 | 400 | 408), "{junk:?}: {}", reply.status);
    }
    // Clients that say nothing, or begin and stop.
    let silent: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(host).unwrap();
            stream.write_all(b"GET / HT").unwrap();
            stream
        })
        .collect();
    assert_eq!(served.get("/").status, 200, "others are answered meanwhile");
    drop(silent);
}

#[test]
fn a_silent_client_is_cut_off_and_frees_its_place() {
    let (_folder, served) = filled();
    let mut silent: Vec<TcpStream> =
        (0..70).map(|_| TcpStream::connect(served.address).unwrap()).collect();
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    }
    // More than there are places; it waits until the first are cut off.
    assert_eq!(served.get("/").status, 200);
    let mut first = [0; 256];
    // Cut off: the end of the stream, with or without a reply that says so.
    while silent[0].read(&mut first).unwrap_or(0) > 0 {}
}

#[test]
fn a_store_that_fails_is_reported_to_the_operator_only() {
    let (folder, served) = filled();
    let path = folder.path().join("runs.sqlite");
    let run = served.json("/api/runs")["runs"][0]["id"].as_str().unwrap().to_owned();
    for suffix in ["-wal", "-shm", "-ballast"] {
        let _ = std::fs::remove_file(folder.path().join(format!("runs.sqlite{suffix}")));
    }
    std::fs::write(&path, "no database at all, and longer than a header of one\n".repeat(99))
        .unwrap();
    let reply = served.get(&format!("/runs/{run}"));
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(!reply.text().contains(&name(folder.path())), "{}", reply.text());
    let reported = served.errors.lock().unwrap().join("\n");
    assert!(reported.contains("is no results database of Tactus"), "{reported}");
    served.await_runs(|list| list["stale"] == true);
    let page = served.page("/");
    assert!(page.contains("The results database cannot be read now"), "{page}");
    assert!(page.contains(&run), "what is in memory is still shown: {page}");
}

#[test]
fn a_store_that_has_gone_is_not_an_empty_one() {
    let (folder, served) = filled();
    let before = served.json("/api/runs")["count"].clone();
    for suffix in ["", "-wal", "-shm", "-ballast"] {
        let _ = std::fs::remove_file(folder.path().join(format!("runs.sqlite{suffix}")));
    }
    served.await_runs(|list| list["stale"] == true);
    assert_eq!(served.json("/api/runs")["count"], before, "the list is that of before");
    let reported = served.errors.lock().unwrap().join("\n");
    assert!(reported.contains("runs.sqlite is gone"), "{reported}");
}
