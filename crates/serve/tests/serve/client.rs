//! A client that reads one reply, and a site that ends when it is dropped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tactus_app::Places;
use tactus_serve::{Handle, Options};

/// A site that has not read its store by then hangs.
const PATIENCE: Duration = Duration::from_secs(1200);

/// A site in this process.
pub struct Served {
    pub address: SocketAddr,
    /// The errors that it reported.
    pub errors: Arc<Mutex<Vec<String>>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves the store in a file or on a server, and waits until all runs are read.
    pub fn start(store: &str) -> Self {
        let served = Self::start_unread(store, &[]);
        served.await_read();
        served
    }

    pub fn start_unread(store: &str, names: &[&str]) -> Self {
        let places = Places::default().with_store(Some(store.into()));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        let options = Options {
            listen: "127.0.0.1:0".parse().expect("an address"),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let on_error = Arc::new(move |error: &str| {
            kept.lock().expect("a list").push(error.to_owned());
        });
        let server = tactus_serve::start(places, &options, on_error).expect("a site");
        let (address, handle) = (server.address(), server.handle());
        let thread = std::thread::spawn(move || server.run().expect("a site that serves"));
        Self { address, errors, handle, thread: Some(thread) }
    }

    /// Waits until the site has read every run of its store at least once.
    pub fn await_read(&self) {
        self.await_runs(|list| list["count"] != 0 && list["unread"] == 0);
    }

    /// Waits until the list of runs is as wanted.
    pub fn await_runs(&self, wanted: impl Fn(&Value) -> bool) {
        let began = Instant::now();
        loop {
            let list = self.json("/api/runs");
            if wanted(&list) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the site hangs: {list}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The reply to a request for `path`.
    pub fn get(&self, path: &str) -> Reply {
        let host = self.address;
        self.send(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )
    }

    /// The body of a page.
    pub fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        reply.text()
    }

    /// A JSON reply.
    pub fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path)).expect("JSON")
    }

    /// Sends bytes and reads the reply to the end of the connection.
    pub fn send(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        let mut bytes = Vec::new();
        // The server may reset a connection that it refuses.
        let _ = stream.write_all(request);
        let _ = stream.read_to_end(&mut bytes);
        Reply::of(&bytes)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.handle.end();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("a thread").expect("a site that ended without a panic");
        }
    }
}

/// A reply.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    fn of(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        Self { status, head, body }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The name of a store in a file, for [`Served::start`].
pub fn name(path: &Path) -> String {
    path.display().to_string()
}
