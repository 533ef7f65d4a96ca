//! Connections and requests, with limits on their number, size and time.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::reply::{HTML, Refusal, Reply};
use crate::site::Site;

/// The most connections at once; further ones wait.
const CONNECTIONS_MAX: usize = 64;

/// The most requests that are answered at once, each by a thread; further ones wait.
const ANSWERS_MAX: usize = 4;

/// The bytes of a request's head, with its URL.
const HEAD_BYTES: usize = 16 << 10;

/// The fields of a request's head.
const FIELDS_MAX: usize = 64;

/// How long a client may take to send the head of a request, or be silent before the next.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// How long an answer may take. The page of a large run with recordings takes a few seconds.
const ANSWER_TIME: Duration = Duration::from_secs(60);

/// The life of a connection, with the time in which a slow client reads.
const CONNECTION_TIME: Duration = Duration::from_secs(180);

/// Serves until `end` is notified.
pub(crate) fn serve(listener: TcpListener, site: Arc<Site>, end: &Notify) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(ANSWERS_MAX)
        .build()?;
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let (mut accepted, mut ended) = (pin!(accept(listener, site)), pin!(end.notified()));
        poll_fn(|context| match ended.as_mut().poll(context) {
            Poll::Pending => accepted.as_mut().poll(context),
            ended => ended,
        })
        .await;
        Ok(())
    });
    // An answer under way is not waited for: it only reads.
    runtime.shutdown_background();
    served
}

async fn accept(listener: tokio::net::TcpListener, site: Arc<Site>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let answers = Arc::new(Semaphore::new(ANSWERS_MAX));
    loop {
        let Ok(room) = Arc::clone(&connections).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, or the client is gone.
                site.report(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (site, answers) = (Arc::clone(&site), Arc::clone(&answers));
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let (site, answers) = (Arc::clone(&site), Arc::clone(&answers));
                async move { Ok::<_, Infallible>(respond(request, site, answers).await) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(HEAD_BYTES)
                .max_headers(FIELDS_MAX)
                .serve_connection(TokioIo::new(stream), service);
            // What a client does wrong ends its connection and nothing else.
            let _ = timeout(CONNECTION_TIME, connection).await;
            drop(room);
        });
    }
}

async fn respond(
    request: Request<Incoming>,
    site: Arc<Site>,
    answers: Arc<Semaphore>,
) -> Response<Whole> {
    let only_head = request.method() == Method::HEAD;
    let path = request.uri().path().to_owned();
    let as_json = path == "/api" || path.starts_with("/api/");
    if let Err(refusal) = check(&request, &site) {
        return response(refusal.reply(as_json), only_head);
    }
    let query = request.uri().query().unwrap_or_default().to_owned();
    let answer = async {
        let room = answers.acquire_owned().await;
        let answered = tokio::task::spawn_blocking(move || {
            // Held by the thread: an answer that takes too long still takes its thread.
            let _room = room;
            site.answer(&path, &query)
        });
        answered.await
    };
    let reply = match timeout(ANSWER_TIME, answer).await {
        Ok(Ok(reply)) => reply,
        // The panic's own text is on standard error already.
        Ok(Err(error)) => Refusal::defect(error.to_string()).reply(as_json),
        Err(_) => {
            let text = format!("the answer took more than {} s; try again", ANSWER_TIME.as_secs());
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).reply(as_json)
        }
    };
    response(reply, only_head)
}

/// Refuses what is not a request to read this site.
fn check(request: &Request<Incoming>, site: &Site) -> Result<(), Refusal> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let text = "this site is read-only: only GET and HEAD are answered".to_owned();
        return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, text));
    }
    if !request.body().is_end_stream() {
        return Err(Refusal::bad("the request has a body".to_owned()));
    }
    let hosts: Vec<_> = request.headers().get_all(header::HOST).iter().collect();
    let host = match hosts[..] {
        [host] => host.to_str().ok(),
        _ => None,
    };
    if !host.is_some_and(|host| site.is_host(host)) {
        let text = "this site has another name; `tactus serve --name NAME` adds one".to_owned();
        return Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, text));
    }
    Ok(())
}

/// The fields of every response. A page's own policy in its head permits its style and scripts.
const FIELDS: [(header::HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-cache"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

fn response(reply: Reply, only_head: bool) -> Response<Whole> {
    let Reply { status, content_type, body } = reply;
    let length = body.len();
    let body = if only_head { Vec::new() } else { body };
    let mut response = Response::new(Whole(Some(Bytes::from(body))));
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    for (name, value) in FIELDS {
        fields.insert(name, HeaderValue::from_static(value));
    }
    if content_type != HTML {
        let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
        fields.insert(header::CONTENT_SECURITY_POLICY, nothing);
    }
    if status == StatusCode::METHOD_NOT_ALLOWED {
        fields.insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

/// A body that is sent at once.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
