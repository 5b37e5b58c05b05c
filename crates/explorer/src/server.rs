//! The server: read-only HTTP on loopback for one browser. Requests without the token, with a
//! foreign `Host` or `Origin`, or with a method other than GET and HEAD are rejected before
//! anything else is done.

use crate::explorer_items::ExplorerItems;
use crate::http_error::{HttpError, HttpResult};
use crate::page;
use crate::query::QueryString;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steadfast_domain::hex::to_hex;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// Content security policy of the page: only content from this server, and no inline script or
/// style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
    data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Maximum number of questions that are processed at once; others wait.
const QUESTIONS_MAX: usize = 4;
/// Interval at which the server checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of threads that answer, including waiting ones.
const THREADS_MAX: usize = 16;
/// Maximum number of open connections that sent the token, and maximum number of those that did
/// not. Beyond it the oldest is closed. A browser opens about six for a page.
const CONNECTIONS_MAX: usize = 128;
/// Time that a connection may take to send the head of a request, or stay idle.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Largest head of a request, in bytes: more than the longest question needs.
const HEAD_BYTES_MAX: usize = 32 << 10;
/// Pause after the system refused to accept a connection.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A server that is bound to its port.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

struct ServerState {
    items: Arc<ExplorerItems>,
    token: String,
    hosts: [String; 2],
    permits: Arc<Semaphore>,
}

impl Server {
    /// Binds to a port on 127.0.0.1; port 0 selects a free one.
    ///
    /// # Errors
    /// Returns an error if the port is in use or not permitted.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address, token: token()? })
    }

    /// Returns the address of the page.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// Serves until `is_over` returns `true`. Answers in progress are abandoned.
    ///
    /// # Errors
    /// Returns an error if the system refuses a resource that the server needs.
    pub fn serve(
        self,
        items: Arc<ExplorerItems>,
        is_over: impl Fn() -> bool + Send,
    ) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(THREADS_MAX)
            .build()?;
        let port = self.address.port();
        let state = Arc::new(ServerState {
            items,
            token: self.token,
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            permits: Arc::new(Semaphore::new(QUESTIONS_MAX)),
        });
        let outcome = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = accept_connections(&listener, &state) => Ok(()),
                () = wait_until(is_over) => Ok(()),
            }
        });
        runtime.shutdown_background();
        outcome
    }
}

#[derive(Clone)]
struct Connection {
    server: Arc<ServerState>,
    /// Set once a request had the token.
    is_trusted: Arc<AtomicBool>,
}

struct OpenConnection {
    is_trusted: Arc<AtomicBool>,
    task: AbortHandle,
}

/// Open connections, the oldest first. Any local program can connect, so connections that did not
/// send the token never displace those that did. None of them waits: if there are too many, the
/// oldest is closed.
#[derive(Default)]
struct OpenConnections {
    trusted: VecDeque<OpenConnection>,
    untrusted: VecDeque<OpenConnection>,
}

impl OpenConnections {
    fn add(&mut self, connection: OpenConnection) {
        for open in std::mem::take(&mut self.untrusted) {
            if open.is_trusted.load(Ordering::Relaxed) {
                self.trusted.push_back(open);
            } else {
                self.untrusted.push_back(open);
            }
        }
        self.untrusted.push_back(connection);
        for all in [&mut self.trusted, &mut self.untrusted] {
            all.retain(|open| !open.task.is_finished());
            while all.len() > CONNECTIONS_MAX {
                if let Some(oldest) = all.pop_front() {
                    oldest.task.abort();
                }
            }
        }
    }
}

/// Accepts connections, and serves each in a task of its own. Never returns.
async fn accept_connections(listener: &tokio::net::TcpListener, server: &Arc<ServerState>) {
    let mut open = OpenConnections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The connection was already closed, or no file descriptor is left; some become free.
            tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(IDLE_TIMEOUT)
            .max_buf_size(HEAD_BYTES_MAX);
        let is_trusted = Arc::new(AtomicBool::new(false));
        let connection = Connection { server: server.clone(), is_trusted: is_trusted.clone() };
        let router = Router::new().fallback(handle).with_state(connection);
        let service = TowerToHyperService::new(router);
        let task = tokio::spawn(async move {
            // A failed connection must not stop the server.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
        });
        open.add(OpenConnection { is_trusted, task: task.abort_handle() });
        // The request is read before other connections can displace this one.
        tokio::task::yield_now().await;
    }
}

async fn wait_until(is_over: impl Fn() -> bool) {
    while !is_over() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Returns 128 random bits as hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bits = [0u8; 16];
    getrandom::fill(&mut bits).map_err(io::Error::other)?;
    Ok(to_hex(&bits))
}

struct HttpReply {
    status: u16,
    kind: &'static str,
    content: Vec<u8>,
}

impl HttpReply {
    fn refusal(refusal: &HttpError) -> Self {
        let text = serde_json::json!({ "error": refusal.text }).to_string();
        HttpReply { status: refusal.status, kind: page::JSON, content: text.into_bytes() }
    }
}

async fn handle(State(connection): State<Connection>, request: Request) -> Response<Body> {
    let is_head = request.method() == Method::HEAD;
    let server = &connection.server;
    let path = match server.check(&request) {
        Ok(path) => path,
        Err(refusal) => {
            // A client without the token does not keep its connection.
            let mut response = response(HttpReply::refusal(&refusal), is_head);
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            return response;
        }
    };
    connection.is_trusted.store(true, Ordering::Relaxed);
    let reply = match path.strip_prefix("api/") {
        None => asset(&path),
        Some(what) => {
            let query = request.uri().query().unwrap_or_default().to_owned();
            answer(server, what.to_owned(), query).await
        }
    };
    response(reply, is_head)
}

impl ServerState {
    /// Returns the path below the token, if the request may be answered.
    fn check(&self, request: &Request) -> HttpResult<String> {
        if ![Method::GET, Method::HEAD].contains(request.method()) {
            return Err(HttpError { status: 405, text: "only GET and HEAD are answered".into() });
        }
        let forbidden = |text: &str| Err(HttpError { status: 403, text: text.into() });
        let host = single_header(request.headers(), &HOST);
        let is_own = |host: &str| self.hosts.iter().any(|own| own == host);
        // An authority in the request target takes precedence over the `Host` header.
        let target = request.uri().authority().map_or(host, |host| Some(host.as_str()));
        if !host.is_some_and(is_own) || !target.is_some_and(is_own) {
            return forbidden("the request is for another host; open the address that was printed");
        }
        if request.headers().contains_key(ORIGIN) {
            let origin = single_header(request.headers(), &ORIGIN);
            if !origin.and_then(|origin| origin.strip_prefix("http://")).is_some_and(is_own) {
                return forbidden("the request comes from another site's page");
            }
        }
        let path = request.uri().path().strip_prefix('/').unwrap_or_default();
        let (token, rest) = path.split_once('/').unwrap_or((path, ""));
        if is_equal_in_constant_time(token, &self.token) {
            Ok(rest.to_owned())
        } else {
            forbidden("the address lacks the token; open the address that was printed")
        }
    }
}

/// Returns the value of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &axum::http::HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok();
    if values.next().is_some() { None } else { first }
}

/// Compares two strings in a time that does not reveal where they differ.
fn is_equal_in_constant_time(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

fn asset(path: &str) -> HttpReply {
    match page::asset(path) {
        Some((kind, content)) => HttpReply { status: 200, kind, content: content.to_vec() },
        None => HttpReply::refusal(&HttpError::missing("there is nothing here")),
    }
}

/// Answers on a thread of the pool; the number of questions at once is limited.
async fn answer(server: &ServerState, what: String, query: String) -> HttpReply {
    let Ok(permit) = Arc::clone(&server.permits).acquire_owned().await else {
        return HttpReply::refusal(&HttpError::failed("the explorer is ending"));
    };
    let items = Arc::clone(&server.items);
    let work = move || {
        let answer = QueryString::parse(&query).and_then(|query| items.answer(&what, &query));
        drop(permit);
        answer
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(text)) => {
            HttpReply { status: 200, kind: page::JSON, content: text.as_bytes().to_vec() }
        }
        Ok(Err(refusal)) => HttpReply::refusal(&refusal),
        Err(_) => HttpReply::refusal(&HttpError::failed(
            "the question could not be answered because of an error in the explorer",
        )),
    }
}

fn response(reply: HttpReply, is_head: bool) -> Response<Body> {
    let length = reply.content.len();
    let body = if is_head { Body::empty() } else { Body::from(reply.content) };
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let fixed = [
        ("content-type", reply.kind),
        ("cache-control", "no-store"),
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert("content-length", HeaderValue::from(length));
    response
}
