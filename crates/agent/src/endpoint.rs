//! The endpoint: `GET /metrics` over HTTP, at a cost that clients cannot raise.
//!
//! A few threads take one connection at a time each, read one request and answer it. How often
//! connections are accepted, how often the metrics are written, how long a request takes and how
//! often a piece of it is read has a limit, so that no client takes the budget of the agent.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant as StdInstant};

use tactus_model::host::Host;
use tactus_model::time::{Monotonic, Nanos};
use tactus_model::token_bucket::TokenBucket;
use tactus_sys::clock;

use crate::exposition::{Family, Form};

/// The connections at once.
const CONNECTIONS: usize = 4;

/// The bytes of a request's head.
const HEAD_BYTES: usize = 8 << 10;

/// The fields of a request's head.
const FIELDS: usize = 64;

/// How long a client may take for its request.
const HEAD_TIME: Duration = Duration::from_millis(700);

/// How long a client may take to read the answer.
const ANSWER_TIME: Duration = Duration::from_millis(700);

/// The time between two reads of a request that comes in pieces.
const PIECE: Duration = Duration::from_millis(20);

/// The size of a thread's stack.
const STACK: usize = 256 << 10;

/// From one connection to the next, on average.
const PER_CONNECTION: Nanos = Nanos::from_millis(50);

/// From one answer with metrics to the next, on average.
const PER_ANSWER: Nanos = Nanos::from_millis(200);

/// How many connections and answers may come at once.
const BURST: u64 = 10;

/// Gives the present metrics, from the number of requests that were refused.
pub(crate) type Source = Arc<dyn Fn(u64) -> Vec<Family> + Send + Sync>;

/// The endpoint. Its drop ends it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

/// What the threads share.
struct Shared {
    listener: Mutex<Accepting>,
    address: SocketAddr,
    answers: Mutex<TokenBucket>,
    refused: AtomicU64,
    ended: AtomicBool,
    source: Source,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Accepting {
    listener: TcpListener,
    bucket: TokenBucket,
}

impl Endpoint {
    /// Begins to listen and to answer.
    ///
    /// # Errors
    /// The address cannot be listened at, or a thread cannot be started.
    pub(crate) fn start(listen: SocketAddr, source: Source) -> io::Result<Self> {
        let listener = TcpListener::bind(listen)?;
        let address = listener.local_addr()?;
        let bucket = |every| TokenBucket::new(every, BURST);
        let shared = Arc::new(Shared {
            listener: Mutex::new(Accepting { listener, bucket: bucket(PER_CONNECTION) }),
            address,
            answers: Mutex::new(bucket(PER_ANSWER)),
            refused: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            source,
        });
        for _ in 0..CONNECTIONS {
            let shared = Arc::clone(&shared);
            let named = thread::Builder::new().name("tactus-endpoint".to_owned()).stack_size(STACK);
            named.spawn(move || shared.serve())?;
        }
        Ok(Self { address, shared })
    }

    /// The number of requests that were refused because too many came.
    #[cfg(test)]
    fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection; the others wait for it.
        let mut address = self.address;
        if address.ip().is_unspecified() {
            let loopback = match address.ip() {
                IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
                IpAddr::V6(_) => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
            };
            address.set_ip(loopback);
        }
        let _ = TcpStream::connect_timeout(&address, Duration::from_millis(100));
    }
}

/// A panic of another thread has left nothing half done behind these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn serve(&self) {
        while let Some(stream) = self.accept() {
            // What a client does wrong ends its connection and nothing else.
            let _ = self.answer(stream);
        }
    }

    /// The next connection; `None` at the end.
    fn accept(&self) -> Option<TcpStream> {
        let mut accepting = lock(&self.listener);
        loop {
            while let Err(until) = accepting.bucket.take(clock::now::<Monotonic>()) {
                thread::sleep((until - clock::now::<Monotonic>()).into());
            }
            // One connection wakes one thread; the others see the end here.
            if self.ended.load(Ordering::Relaxed) {
                return None;
            }
            let accepted = accepting.listener.accept();
            if self.ended.load(Ordering::Relaxed) {
                return None;
            }
            match accepted {
                Ok((stream, _)) => return Some(stream),
                // Out of descriptors, or the client is gone: the bucket limits how often.
                Err(_) => thread::sleep(PIECE),
            }
        }
    }

    fn answer(&self, mut stream: TcpStream) -> io::Result<()> {
        let head = read_head(&mut stream)?;
        let reply = match head {
            Head::Whole(request) => self.reply(&request),
            Head::TooLong => Reply::text(431, "Request Header Fields Too Large", "too long\n"),
            Head::Bad => Reply::text(400, "Bad Request", "not a request of HTTP/1\n"),
            Head::Late => Reply::text(408, "Request Timeout", "the request came too slowly\n"),
        };
        reply.send(&mut stream)?;
        // What the client still sends would reset the connection before it has read the answer.
        stream.shutdown(Shutdown::Write)?;
        stream.set_read_timeout(Some(PIECE))?;
        let _ = stream.read(&mut [0; HEAD_BYTES]);
        Ok(())
    }

    fn reply(&self, request: &Request) -> Reply {
        if !request.has_host || !self.is_host(&request.host) {
            return Reply::text(421, "Misdirected Request", "this agent has another name\n");
        }
        let (is_get, is_head) = (request.method == "GET", request.method == "HEAD");
        if !is_get && !is_head {
            return Reply::text(405, "Method Not Allowed", "only GET and HEAD are answered\n");
        }
        let path = request.path.split('?').next().unwrap_or_default();
        let reply = match path {
            "/healthz" => Reply::text(200, "OK", "ok\n"),
            "/" => Reply::text(200, "OK", "the metrics of tactus agent are at /metrics\n"),
            "/metrics" => {
                if lock(&self.answers).take(clock::now::<Monotonic>()).is_err() {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    Reply::text(429, "Too Many Requests", "too many requests; wait a second\n")
                } else {
                    let form = Form::accepted(&request.accept);
                    let body = form.write(&(self.source)(self.refused.load(Ordering::Relaxed)));
                    Reply { status: (200, "OK"), content_type: form.content_type(), body, is_head }
                }
            }
            _ => Reply::text(404, "Not Found", "the metrics are at /metrics\n"),
        };
        Reply { is_head, ..reply }
    }

    /// Whether a request for this host is for us. A page whose name was made to mean this machine
    /// (DNS rebinding) cannot read what listens on loopback; elsewhere, machines have any names.
    fn is_host(&self, host: &str) -> bool {
        if !self.address.ip().is_loopback() {
            return true;
        }
        Host::of_field(host).is_local()
    }
}

/// What a client sent.
enum Head {
    Whole(Request),
    TooLong,
    Bad,
    Late,
}

/// What matters of a request.
struct Request {
    method: String,
    path: String,
    accept: String,
    has_host: bool,
    host: String,
}

/// Reads the head of a request, within its limits.
fn read_head(stream: &mut TcpStream) -> io::Result<Head> {
    let until = StdInstant::now() + HEAD_TIME;
    let mut bytes = vec![0; HEAD_BYTES];
    let mut length = 0;
    loop {
        let left = until.saturating_duration_since(StdInstant::now());
        if left.is_zero() {
            return Ok(Head::Late);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes[length..]) {
            Ok(0) => return Ok(Head::Bad),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return Ok(Head::Late);
            }
            Err(error) => return Err(error),
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(&bytes[..length]) {
            Ok(httparse::Status::Complete(_)) => return Ok(Head::Whole(request(&parsed))),
            Ok(httparse::Status::Partial) if length == bytes.len() => return Ok(Head::TooLong),
            Ok(httparse::Status::Partial) => thread::sleep(PIECE),
            Err(httparse::Error::TooManyHeaders) => return Ok(Head::TooLong),
            Err(_) => return Ok(Head::Bad),
        }
    }
}

fn request(parsed: &httparse::Request<'_, '_>) -> Request {
    let fields = |name: &'static str| {
        let named =
            parsed.headers.iter().filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| String::from_utf8_lossy(field.value).trim().to_owned())
    };
    let hosts: Vec<String> = fields("host").collect();
    Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        accept: fields("accept").collect::<Vec<_>>().join(","),
        has_host: hosts.len() == 1,
        host: hosts.into_iter().next().unwrap_or_default(),
    }
}

/// An answer, after which the connection ends.
struct Reply {
    status: (u16, &'static str),
    content_type: &'static str,
    body: Vec<u8>,
    is_head: bool,
}

impl Reply {
    fn text(code: u16, reason: &'static str, text: &str) -> Self {
        let (status, body) = ((code, reason), text.as_bytes().to_vec());
        Self { status, content_type: "text/plain; charset=utf-8", body, is_head: false }
    }

    fn send(&self, stream: &mut TcpStream) -> io::Result<()> {
        let Self { status: (code, reason), content_type, body, is_head } = self;
        let more = match code {
            405 => "Allow: GET, HEAD\r\n",
            429 => "Retry-After: 1\r\n",
            _ => "",
        };
        let mut bytes = format!(
            "HTTP/1.1 {code} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
             X-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n{more}\
             Connection: close\r\n\r\n",
            body.len()
        )
        .into_bytes();
        if !is_head {
            bytes.extend_from_slice(body);
        }
        // All of it fits into the socket's buffer: a client that does not read delays nothing.
        stream.set_write_timeout(Some(ANSWER_TIME))?;
        stream.write_all(&bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint() -> Endpoint {
        let source = Arc::new(|_| vec![Family::gauge("tactus_a", "A.", 1.0)]);
        Endpoint::start("127.0.0.1:0".parse().unwrap(), source).unwrap()
    }

    /// Sends bytes and reads the whole answer.
    fn exchange(endpoint: &Endpoint, request: &str) -> String {
        let mut stream = TcpStream::connect(endpoint.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(path: &str, fields: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
    }

    #[test]
    fn requests_are_answered_and_wrong_ones_refused() {
        let endpoint = endpoint();
        let check = |request: &str, status: u16, part: &str| {
            let answer = exchange(&endpoint, request);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request}\n{answer}");
            assert!(answer.contains(part), "{request}\n{answer}");
        };
        check(&get("/metrics", ""), 200, "tactus_a 1\n");
        check(&get("/metrics?x=1", "Accept: application/openmetrics-text\r\n"), 200, "# EOF\n");
        check(&get("/healthz", ""), 200, "ok\n");
        check(&get("/other", ""), 404, "/metrics");
        check(&get("/", "").replace("GET", "POST"), 405, "Allow: GET, HEAD");
        check(&get("/", "").replace("localhost", "evil.example"), 421, "another name");
        check("GET / HTTP/1.1\r\n\r\n", 421, "another name");
        check("nonsense\r\n\r\n", 400, "not a request");
        check(&get("/", &"A: b\r\n".repeat(100)), 431, "too long");
        check(&format!("GET /{} HTTP/1.1\r\n", "a".repeat(20_000)), 431, "too long");
        let head = exchange(&endpoint, &get("/metrics", "").replace("GET", "HEAD"));
        assert!(head.ends_with("\r\n\r\n") && head.contains("Content-Length: "), "{head}");
    }

    #[test]
    fn a_client_that_is_slow_is_answered_and_delays_nobody() {
        let endpoint = endpoint();
        let slow = TcpStream::connect(endpoint.address).unwrap();
        let mut drip = TcpStream::connect(endpoint.address).unwrap();
        drip.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
        assert!(exchange(&endpoint, &get("/metrics", "")).contains("tactus_a 1\n"));
        let mut answer = String::new();
        drip.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        drop(slow);
    }

    #[test]
    fn too_many_requests_are_refused_cheaply() {
        let endpoint = endpoint();
        let is = |answer: &String, status: &str| answer.starts_with(&format!("HTTP/1.1 {status} "));
        let mut answers = (0..100).map(|_| exchange(&endpoint, &get("/metrics", "")));
        assert!(is(&answers.next().unwrap(), "200"));
        assert!(answers.any(|answer| is(&answer, "429")));
        assert_eq!(endpoint.refused(), 1);
    }

    #[test]
    fn the_end_closes_the_port() {
        let endpoint = endpoint();
        let (address, shared) = (endpoint.address, Arc::downgrade(&endpoint.shared));
        drop(endpoint);
        while shared.strong_count() > 0 {
            thread::sleep(Duration::from_millis(1));
        }
        assert!(TcpStream::connect(address).is_err());
    }
}
