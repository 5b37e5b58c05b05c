//! `steadfast explore`, as a browser and as an attacker meet it.

use super::fixtures::*;
use super::synthetic_captures::write_trace;
use super::threads_and_files;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use steadfast_domain::io_event::{CapturedDevice, CommandName, DeviceBusyStep, Mark, StreamInStep};
use steadfast_domain::{Bytes, CaptureConditions, FineHistogram, IoEvent, IoOp, Layer};
use steadfast_tracefile::StepWriter;

const IOS: u64 = 10_007;

fn write(path: &Path, ios: u64, name: &str) {
    let conditions = CaptureConditions {
        began_unix_ns: Some(1_763_697_600_000_000_000 + ios),
        devices: vec![CapturedDevice { name: "nvme0n1".into(), ..CapturedDevice::default() }],
        marks: vec![Mark { at_ns: 500_000_000, name: "</script><script>".into() }],
        workload: Some(name.into()),
        // Long enough for the last I/O to complete.
        lasted_ns: ios * 100_003 + 1_000_000,
        ..CaptureConditions::default()
    };
    let event = |n: u64| IoEvent {
        issued_ns: n * 100_003,
        response_ns: 50_000 + n * 7919 % 503 * 1000,
        queued_ns: n % 3 * 20_000,
        offset: if n.is_multiple_of(4) { n / 4 * 4096 } else { n * 7919 % 10_007 * 65_536 },
        bytes: if n.is_multiple_of(4) { 4096 } else { 16_384 },
        pid: if name.is_empty() { 0 } else { 100 + (n % 3) as u32 },
        command: if name.is_empty() {
            CommandName::default()
        } else {
            CommandName::new("<script>")
        },
        op: if n % 5 == 1 { IoOp::Write } else { IoOp::Read },
        ..IoEvent::default()
    };
    write_trace(path, conditions, &(0..ios).map(event).collect::<Vec<_>>());
}

/// A running explorer, ended by Ctrl-C when dropped.
pub(super) struct Explorer {
    child: Child,
    port: u16,
    token: String,
}

/// An answer of the explorer.
struct HttpResponse {
    status: u16,
    head: String,
    body: String,
}

impl HttpResponse {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{} {}", self.head, self.body))
    }
    #[track_caller]
    fn refused(&self, status: u16, part: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        let error = self.json()["error"].as_str().unwrap().to_owned();
        assert!(error.contains(part), "{error}");
    }
}

impl Explorer {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = steadfast();
        command.current_dir(directory).env("XDG_CACHE_HOME", directory.join("cache"));
        command.arg("explore").args(arguments).arg("--no-browser");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let rest =
            line.trim().strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{line}"));
        let (port, token) = rest.split_once('/').unwrap();
        let (port, token) = (port.parse().unwrap(), token.trim_end_matches('/').to_owned());
        Explorer { child, port, token }
    }

    /// Starts an explorer and waits until every index is made.
    pub(super) fn ready(directory: &Path, arguments: &[&str]) -> Self {
        let explorer = Explorer::start(directory, arguments);
        wait_until("the index", || !explorer.get("api/meta").body.contains("\"indexing\""));
        explorer
    }

    fn send(&self, request: &str) -> HttpResponse {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // A connection that is refused may be closed before all of it was read.
        let _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).unwrap_or("0").parse().unwrap();
        HttpResponse { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    /// Sends a request with a method, a path and further headers.
    fn ask(&self, method: &str, path: &str, headers: &str) -> HttpResponse {
        self.send(&format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    fn host(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\n", self.port)
    }

    fn get(&self, path: &str) -> HttpResponse {
        self.ask("GET", &format!("/{}/{path}", self.token), &self.host())
    }

    pub(super) fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// Ends it by Ctrl-C; returns the exit code.
    fn end(&mut self) -> Option<i32> {
        signal(&self.child, libc::SIGINT);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            self.end();
        }
    }
}

/// Every question has the answer of the command line, to the last digit.
#[test]
fn it_answers_as_the_command_line() {
    let home = &TestDirectory::new();
    write(&home.join("t.parquet"), IOS, "shop");
    let explorer = Explorer::ready(home, &["t.parquet"]);
    for (query, options) in [
        ("", ""),
        ("&from=100000000&to=700000000", "--from 100ms --to 700ms"),
        ("&op=write", "--op write"),
        ("&process=%3Cscript%3E&op=read", "--pid <script> --op read"),
        ("&pid=101", "--pid 101"),
        ("&stream=RND+16K+R&device=nvme0n1", "--stream 'RND 16K R' --device nvme0n1"),
    ] {
        compare_answers(&explorer, home, "t.parquet", query, options);
    }
    let hits = succeed_json(home, "trace hits t.parquet --ranges 1024 --json");
    let sum = |field: &str| -> u64 {
        array(&hits["maps"][0]["hits"]).iter().map(|hit| hit[field].as_u64().unwrap()).sum()
    };
    for (op, field) in [("read", "reads"), ("write", "writes")] {
        let heat = explorer.json(&format!("api/heat?c=0&kind=lba&cells=64&rows=1024&op={op}"));
        let counts = array(&heat["counts"]).iter().map(|n| n.as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), sum(field), "{op}");
    }
    let at = "trace hits t.parquet --at 1s --step 5s --ranges 1000 --json";
    let read_out = succeed_json(home, at);
    let ours = explorer.json("api/read-out?c=0&from=1000000000&to=6000000000&limit=64");
    assert_eq!(ours["streams"], read_out["read_out"]["devices"][0]["streams"]);
    assert!(!array(&ours["streams"]).is_empty());
    succeed(home, "workload derive t.parquet --op write -o w.toml");
    let ours = explorer.json("api/workload?c=0&op=write");
    assert_eq!(ours["toml"].as_str().unwrap(), fs::read_to_string(home.join("w.toml")).unwrap());
    let line = explorer.json("api/command?c=0&view=streams&process=%3Cscript%3E&from=5");
    assert_eq!(line["command"], "steadfast trace streams t.parquet --from 5ns --pid '<script>'");
}

/// Totals of 10,007 I/Os of three processes in `steps` steps.
fn write_totals(path: &Path, step_ns: u64, steps: u64) {
    let device = CapturedDevice { name: "nvme0n1".into(), ..CapturedDevice::default() };
    let conditions = CaptureConditions {
        began_unix_ns: Some(1_763_697_600_000_000_000),
        devices: vec![device],
        step_ns: Some(step_ns),
        busy_time: true,
        lasted_ns: steps * step_ns - 7,
        ..CaptureConditions::default()
    };
    let io = |n: u64| {
        let response_ns = 50_000 + n * 7919 % 503 * 1000;
        let is_small = n.is_multiple_of(4);
        StreamInStep {
            step: n * 7919 % IOS * steps / IOS,
            op: if n % 5 == 1 { IoOp::Write } else { IoOp::Read },
            sequential: is_small,
            bytes: if is_small { 4096 } else { 16_384 },
            pid: 100 + (n % 3) as u32,
            command: CommandName::new(if n.is_multiple_of(3) { "<script>" } else { "db" }),
            ios: 1,
            responses: 1,
            response_sum_ns: response_ns,
            response_max_ns: response_ns,
            response_buckets: vec![(FineHistogram::index(response_ns) as u16, 1)],
            depth_sum: n % 7 + 1,
            depth_max: (n % 7 + 1) as u32,
            offsets: n * 4096,
            ..StreamInStep::default()
        }
    };
    let mut writer = StepWriter::new(File::create(path).unwrap(), &conditions).unwrap();
    writer.add(&(0..IOS).map(io).collect::<Vec<_>>());
    let busy = |step: u64| DeviceBusyStep {
        step,
        device: 0,
        layer: Layer::Block,
        busy_ns: step_ns / 10 * (step % 10),
    };
    writer.add_busy(&(0..steps).map(busy).collect::<Vec<_>>());
    writer.finish(&conditions).unwrap();
}

/// Compares the tables and the steps of a file with those of the command line.
fn compare_answers(explorer: &Explorer, home: &Path, file: &str, query: &str, options: &str) {
    let answer = |command: &str| -> Value {
        succeed_json(home, &format!("{command} {file} {options} --json"))
    };
    let ours = explorer.json(&format!("api/streams?c=0{query}"));
    let theirs = answer("trace streams");
    assert!(ours["total"]["count"].as_u64().unwrap() > 0, "{query}");
    for field in ["total", "streams", "streams_in_all", "unlisted_count"] {
        assert_eq!(ours[field], theirs[field], "{file} {query}: {field}");
    }
    let ours = explorer.json(&format!("api/processes?c=0{query}"));
    assert_eq!(ours["processes"], answer("trace processes")["processes"], "{file} {query}");
    let ours = explorer.json(&format!("api/cumulative?c=0{query}"));
    assert_eq!(ours["workload"], answer("workload derive")["workload"], "{file} {query}");
    let ours = explorer.json(&format!("api/steps?c=0{query}&cells=40"));
    let theirs = answer(&format!("trace steps --step {}ns", ours["step_ns"]));
    assert_eq!(ours["steps"], theirs["steps"], "{file} {query}");
    let count = |step: &Value| step["count"].as_u64().unwrap();
    let counted: u64 = array(&theirs["steps"]).iter().map(count).sum();
    let sum =
        |counts: &Value| -> u64 { array(counts).iter().map(|count| count.as_u64().unwrap()).sum() };
    for by in ["", "&by=process"] {
        let series = explorer.json(&format!("api/series?c=0{query}&cells=40{by}"));
        assert_eq!(array(&series["ios"]).iter().map(sum).sum::<u64>(), counted, "{query}{by}");
    }
    let heat = explorer.json(&format!("api/heat?c=0{query}&kind=rt&cells=40"));
    assert_eq!(sum(&heat["counts"]), counted, "{query}");
}

/// A file of totals has the answers of the command line; questions about single I/Os are refused.
#[test]
fn totals_are_explored() {
    let home = &TestDirectory::new();
    // Cells of the index are one step wide, and two.
    for (file, step_ns, steps) in
        [("narrow.parquet", 100_000_000, 300), ("wide.parquet", 1_000_000, 200_000)]
    {
        write_totals(&home.join(file), step_ns, steps);
        let explorer = Explorer::ready(home, &[file]);
        for (query, options) in [
            ("", ""),
            ("&from=10000000000&to=11500000000", "--from 10s --to 11500ms"),
            ("&op=write", "--op write"),
            ("&process=%3Cscript%3E&op=read", "--pid <script> --op read"),
            ("&pid=101", "--pid 101"),
            ("&stream=RND+16K+R&device=nvme0n1", "--stream 'RND 16K R' --device nvme0n1"),
            ("&pid=102&from=10000000000&to=11500000000", "--pid 102 --from 10s --to 11500ms"),
        ] {
            compare_answers(&explorer, home, file, query, options);
        }
        // A part of the time consists of whole steps.
        let part = |from: u64, to: u64| {
            explorer.json(&format!("api/streams?from={from}&to={to}"))["total"]["count"].clone()
        };
        assert_eq!(part(10_000_000_001, 11_499_999_999), part(10_000_000_000, 11_500_000_000));
        let line = explorer.json("api/command?view=steps&from=10000000001&cells=10");
        assert!(line["command"].as_str().unwrap().contains("--from 10000000000ns"), "{line}");
        let meta = &explorer.json("api/meta")["items"][0];
        assert_eq!((&meta["step_ns"], &meta["ios"]), (&step_ns.into(), &IOS.into()));
        for view in ["lba", "hot", "subsecond", "ios"] {
            assert!(meta["refused"][view].as_str().unwrap().contains("--totals-every"), "{view}");
        }
        for question in
            ["heat?kind=lba", "heat?kind=qd", "heat?kind=subsecond", "hot", "ios", "read-out"]
        {
            explorer.get(&format!("api/{question}")).refused(400, "--totals-every");
        }
        explorer.get("api/groups?by=thread").refused(400, "no single I/Os");
        explorer.get("api/streams?tid=7").refused(400, "no single I/Os");
        succeed(home, &["explore", file, "-o", "page.html", "--force"]);
        assert!(fs::read_to_string(home.join("page.html")).unwrap().contains("--totals-every"));
    }
}

/// The explorer groups as the command line does, after a question that kept the I/Os in memory.
#[test]
fn groups_are_those_of_the_command_line() {
    let home = &TestDirectory::new();
    write_trace(
        home.join("t.parquet"),
        threads_and_files::conditions("web1", 78, 60_000_000_000),
        &threads_and_files::ios(23, 10_007, 1_000_003),
    );
    let explorer = Explorer::ready(home, &["t.parquet"]);
    let window = "from=1000000&to=900000000";
    assert_eq!(explorer.get(&format!("api/streams?{window}")).status, 200);
    for (by, layer, least) in
        [("thread", "block", 5), ("cgroup", "block", 3), ("file", "filesystem", 6)]
    {
        let ours = explorer.json(&format!("api/groups?by={by}&{window}"));
        let words = format!(
            "trace groups t.parquet --by {by} --json --from 1000000ns --to 900000000ns --layer {layer}"
        );
        let theirs = succeed_json(home, &words);
        assert!(array(&ours["groups"]).len() >= least, "{by}: {ours}");
        assert_eq!(ours["groups"], theirs["groups"], "{by}");
    }
    let ours = explorer.json(&format!("api/streams?{window}&tid=4242"));
    let words = "trace streams t.parquet --from 1000000ns --to 900000000ns --tid 4242 --json";
    let theirs = succeed_json(home, words);
    assert_eq!(ours["total"], theirs["total"]);
    assert!(ours["total"]["count"].as_u64() > Some(0));
}

/// A misspelled filter, or one that nothing passes, gets no answer about everything or nothing.
#[test]
fn names_that_do_not_exist_are_refused() {
    let home = &TestDirectory::new();
    let size = Bytes::mib(512);
    let mut conditions = threads_and_files::conditions("web1", 78, 60_000_000_000);
    conditions.layers = vec![Layer::Block];
    conditions.devices.truncate(1);
    conditions.devices[0].capacity = Some(size);
    let io = |n: u64| IoEvent {
        issued_ns: n * 1_000_003,
        response_ns: 1000,
        offset: size.0 - 4096 * (n + 1),
        bytes: if n == 700 { 1 << 20 } else { 4096 },
        pid: 100,
        command: CommandName::new("db"),
        ..IoEvent::default()
    };
    write_trace(home.join("t.parquet"), conditions, &(0..1009).map(io).collect::<Vec<_>>());
    let explorer = Explorer::ready(home, &["t.parquet"]);
    for name in ["foo", "fromm"] {
        explorer.get(&format!("api/streams?{name}=9")).refused(400, name);
    }
    explorer.get("api/streams?process=nosuch").refused(400, "nosuch");
    explorer.get("api/streams?pid=101").refused(400, "101");
    assert_eq!(explorer.json("api/streams?process=db")["total"]["count"], 1009);
    // The largest I/O lies below the last: the sum of both is beyond the device.
    let meta = &explorer.json("api/meta")["items"][0];
    assert_eq!((&meta["lba"]["low"], &meta["lba"]["high"]), (&0.into(), &size.0.into()));
}

/// Sums can only be selected by whole steps, and every text names those.
#[test]
fn a_time_within_a_step_selects_the_whole_step() {
    let home = &TestDirectory::new();
    write_totals(&home.join("n.parquet"), 1_000_000_000, 30);
    let json = |times: &str| -> Value {
        succeed_json(home, &format!("trace streams n.parquet {times} --json"))
    };
    let (cut, whole) = (json("--from 5s --to 7500ms"), json("--from 5s --to 8s"));
    assert_eq!(cut["total"]["count"], whole["total"]["count"]);
    assert_eq!(cut["filter"], "issued from 5 s to 8 s");
    assert_eq!(cut["filter"], whole["filter"]);
    let messages = stderr(&run_in(home, "trace streams n.parquet --from 5s --to 7500ms"));
    assert!(messages.contains("whole steps") && messages.contains("from 5 s to 8 s"), "{messages}");
    let messages = stderr(&run_in(home, "trace streams n.parquet --from 5s --to 8s"));
    assert!(!messages.contains("whole steps"), "{messages}");
    for (question, option) in [("streams --tid 5", "--tid"), ("groups --by thread", "--by thread")]
    {
        let words = question.replacen(' ', " n.parquet ", 1);
        refuse(home, &format!("trace {words}"), &["does not record threads", option]);
    }
    refuse(home, "trace groups n.parquet --by file", &["does not record files"]);
}

/// A fold file begins with its first capture, from which the command line counts its times.
#[test]
fn fold_files_are_explored() {
    let home = &TestDirectory::new();
    write(&home.join("t.parquet"), IOS, "shop");
    succeed(home, "trace fold t.parquet --step 10ms -o t.fold");
    let explorer = Explorer::ready(home, &["t.fold"]);
    let meta = explorer.json("api/meta")["items"][0].clone();
    let start_ns = meta["start_ns"].as_u64().unwrap();
    let [from, to] = [100_000_000, 700_000_000].map(|ns| ns - start_ns);
    let window = format!("--from {from}ns --to {to}ns");
    for (query, options) in [
        ("", ""),
        ("&from=100000000&to=700000000", &window),
        ("&pid=101", "--pid 101"),
        ("&op=write", "--op write"),
    ] {
        compare_answers(&explorer, home, "t.fold", query, options);
    }
    explorer.get("api/hot").refused(400, "fold file");
}

#[test]
fn only_who_has_the_token_is_answered_and_only_by_reading() {
    let here = &TestDirectory::new();
    write(&here.join("t.parquet"), 503, "x");
    fs::write(here.join("secret.txt"), "secret").unwrap();
    let mut explorer = Explorer::ready(here, &["t.parquet"]);
    let (host, token) = (explorer.host(), explorer.token.clone());
    assert!(token.len() == 32 && token.bytes().all(|b| b.is_ascii_hexdigit()));
    let page = explorer.get("");
    assert_eq!(page.status, 200);
    for line in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
        "referrer-policy: no-referrer",
        "content-type: text/html",
    ] {
        assert!(page.head.contains(line), "{line}: {}", page.head);
    }
    assert!(!page.head.contains("unsafe") && !page.head.contains("access-control"));
    for path in ["/", "/api/meta", "/favicon.ico", &format!("/{}/", "0".repeat(32))] {
        explorer.ask("GET", path, &host).refused(403, "token");
    }
    let meta = format!("/{token}/api/meta");
    for headers in ["", "Host: evil.example\r\n", "Host: 127.0.0.1:1\r\n", "Host: 127.0.0.1\r\n"] {
        let answer = explorer.ask("GET", &meta, headers);
        assert!([400, 403].contains(&answer.status), "{headers}: {}", answer.status);
    }
    for origin in ["http://evil.example", "null", "https://127.0.0.1"] {
        let headers = format!("{host}Origin: {origin}\r\n");
        explorer.ask("GET", &meta, &headers).refused(403, "another site");
    }
    let own = format!("{host}Origin: http://127.0.0.1:{}\r\n", explorer.port);
    assert_eq!(explorer.ask("GET", &meta, &own).status, 200);
    let local = format!("Host: localhost:{}\r\n", explorer.port);
    assert_eq!(explorer.ask("GET", &meta, &local).status, 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        explorer.ask(method, &meta, &host).refused(405, "GET and HEAD");
    }
    let head = explorer.ask("HEAD", &meta, &host);
    assert!(head.status == 200 && head.body.is_empty());
    for path in ["../secret.txt", "secret.txt", "%2e%2e/secret.txt", "t.parquet", "..%2fsecret.txt"]
    {
        explorer.get(path).refused(404, "nothing here");
    }
    explorer.get("api/nothing").refused(404, "no such question");
    explorer.get("api/streams?c=7").refused(404, "no number 7");
    for question in ["heat?kind=x", "series?cells=0", "series?cells=9999999", "series?op=%ff"] {
        assert_eq!(explorer.get(&format!("api/{question}")).status, 400, "{question}");
    }
    assert_eq!(explorer.get(&format!("api/streams?{}", "x=1&".repeat(5000))).status, 400);
    explorer.get("api/run?n=0").refused(400, "not a run");
    assert_eq!(explorer.end(), Some(0));
}

/// An explorer of a small capture in a directory.
fn small_explorer(directory: &Path) -> Explorer {
    write(&directory.join("t.parquet"), 503, "x");
    Explorer::ready(directory, &["t.parquet"])
}

#[test]
fn the_token_is_a_whole_part_of_the_path_and_nothing_else() {
    let here = &TestDirectory::new();
    let explorer = small_explorer(here);
    let (host, token) = (explorer.host(), explorer.token.clone());
    let encoded: String = token.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let (half, other) = (&token[..16], "f".repeat(32));
    let paths = [
        format!("/{half}/api/meta"),
        format!("/{token}0/api/meta"),
        format!("/{token}%00/api/meta"),
        format!("/{encoded}/api/meta"),
        format!("//{token}/api/meta"),
        format!("/./{token}/api/meta"),
        format!("/{other}/../{token}/api/meta"),
        format!("/api/meta?token={token}"),
        format!("/api/meta/{token}"),
        "/%2f/api/meta".into(),
    ];
    for path in paths {
        explorer.ask("GET", &path, &host).refused(403, "token");
    }
    for header in ["Authorization: Bearer", "Cookie: token=", "X-Token:", "Referer:"] {
        let headers = format!("{host}{header} {token}\r\n");
        explorer.ask("GET", "/api/meta", &headers).refused(403, "token");
    }
    // A whole address names a host too, and two hosts are none.
    let meta = format!("/{token}/api/meta");
    explorer.ask("GET", &format!("http://evil.example{meta}"), &host).refused(403, "another host");
    let own = format!("http://127.0.0.1:{}{meta}", explorer.port);
    assert_eq!(explorer.ask("GET", &own, &host).status, 200);
    explorer.ask("GET", &meta, &format!("{host}Host: evil.example\r\n")).refused(403, "host");
    for method in ["CONNECT", "TRACE", "FROB"] {
        explorer.ask(method, &meta, &host).refused(405, "GET and HEAD");
    }
    // What no browser sends ends the connection, and nothing else.
    let long = format!("{host}X: {}\r\n", "x".repeat(100_000));
    assert!([0, 431].contains(&explorer.ask("GET", &meta, &long).status));
    for nonsense in ["\r\n\r\n\r\n\r\n", "GET\r\n\r\n", "\0\u{1}\u{2} / HTTP/1.1\r\n\r\n"] {
        assert_ne!(explorer.send(nonsense).status, 200, "{nonsense:?}");
    }
    assert_eq!(explorer.get("api/meta").status, 200);
}

/// Many connections that send nothing, or half of a request, keep nobody out.
#[test]
fn silent_connections_are_closed() {
    let here = &TestDirectory::new();
    let explorer = small_explorer(here);
    let connect = |number: usize| {
        let mut stream = TcpStream::connect(("127.0.0.1", explorer.port)).unwrap();
        let half = format!("GET /{}/api/meta HT", explorer.token);
        if number.is_multiple_of(2) {
            stream.write_all(half.as_bytes()).unwrap();
        }
        stream
    };
    let mut silent: Vec<TcpStream> = (0..200).map(connect).collect();
    assert_eq!(explorer.get("api/meta").status, 200);
    let mut rest = Vec::new();
    // The connection ends without an answer.
    let _ = silent[0].read_to_end(&mut rest);
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
}

/// Sets a flag when it goes out of scope.
struct DropFlag<'a>(&'a AtomicBool);

impl Drop for DropFlag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A program without the token that asks on 500 connections, again and again, does not delay
/// the owner, and no refused connection stays open.
#[test]
fn strangers_do_not_keep_the_owner_out() {
    const CONNECTIONS: usize = 500;
    let here = &TestDirectory::new();
    let explorer = small_explorer(here);
    let connect = || TcpStream::connect(("127.0.0.1", explorer.port)).unwrap();
    let request = format!("GET /0/api/meta HTTP/1.1\r\n{}\r\n", explorer.host());
    // A connection of the owner's that stays open throughout.
    let mut kept = connect();
    let request_of_owner =
        format!("GET /{}/api/meta HTTP/1.1\r\n{}\r\n", explorer.token, explorer.host());
    let mut ask_kept = || {
        kept.write_all(request_of_owner.as_bytes()).unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            kept.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 200 ok"), "{head}");
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.split('\r').next().unwrap().parse().unwrap();
        kept.read_exact(&mut vec![0; length]).unwrap();
    };
    ask_kept();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Set also where an assertion fails: the scope waits for the strangers.
        let _guard = DropFlag(&ends);
        scope.spawn(|| {
            let mut all: Vec<TcpStream> = (0..CONNECTIONS).map(|_| connect()).collect();
            while !ends.load(Ordering::Relaxed) {
                for stream in &mut all {
                    if stream.write_all(request.as_bytes()).is_err() {
                        *stream = connect();
                        let _ = stream.write_all(request.as_bytes());
                    }
                }
            }
        });
        for _ in 0..20 {
            let begin = Instant::now();
            assert_eq!(explorer.get("api/meta").status, 200);
            let took = begin.elapsed();
            // One that waited for a place would have it after 10 s of the strangers' silence.
            assert!(took < Duration::from_secs(5), "{took:?}");
            ask_kept();
        }
    });
    let mut stranger = connect();
    stranger.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stranger.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("connection: close"), "{answer}");
}

#[test]
fn names_stay_names() {
    let home = &TestDirectory::new();
    write(&home.join("<script>alert(1)<.parquet"), 503, "</script><script>alert(2)</script>");
    let explorer = Explorer::ready(home, &["<script>alert(1)<.parquet"]);
    let meta = explorer.get("api/meta");
    assert!(meta.head.contains("content-type: application/json"), "{}", meta.head);
    assert_eq!(meta.json()["items"][0]["processes"][0]["name"], "<script>");
    succeed(home, "explore <script>alert(1)<.parquet -o page.html --no-cache");
    let page = fs::read_to_string(home.join("page.html")).unwrap();
    assert!(page.len() < 5_000_000, "{}", page.len());
    // Nothing in the capture opens or ends an element.
    assert!(!page.contains("alert(1)<") && !page.contains("<script>alert"));
    let answers = page.split_once("id=\"answers\">").unwrap().1.split_once("</script>").unwrap().0;
    let answers: Value = serde_json::from_str(answers).unwrap();
    assert_eq!(answers["api/meta"]["items"][0]["ios"], 503);
    assert_eq!(answers["api/streams?c=0"]["total"]["count"], 503);
    assert!(answers["api/heat?c=0&cells=512&kind=lba&op=read&rows=128"]["counts"].is_array());
    assert!(!page.contains("src=\"explorer.js\"") && !page.contains("href=\"explorer.css\""));
    // An existing file is not replaced unless requested.
    refuse(home, "explore <script>alert(1)<.parquet -o page.html", &["page.html"]);
}

#[test]
fn what_cannot_be_explored_is_refused_and_what_is_poor_is_shown() {
    let home = &TestDirectory::new();
    write(&home.join("empty.parquet"), 0, "x");
    write(&home.join("nobody.parquet"), 503, "");
    write(&home.join("other.parquet"), 1009, "y");
    fs::write(home.join("foreign.parquet"), "PAR1 but no trace").unwrap();
    refuse(home, "explore foreign.parquet", &["foreign.parquet", "not a trace"]);
    refuse(home, "explore missing.parquet", &["missing.parquet", "cannot be opened"]);
    refuse(home, "explore empty.parquet empty.parquet", &["empty.parquet"]);
    fs::create_dir(home.join("directory")).unwrap();
    refuse(home, "explore directory", &["directory", "not a run directory"]);
    let explorer =
        Explorer::ready(home, &["empty.parquet", "nobody.parquet", "other.parquet", "--no-cache"]);
    assert!(!home.join("cache").exists());
    let meta = explorer.json("api/meta");
    let ios: Vec<u64> = (0..3).map(|n| meta["items"][n]["ios"].as_u64().unwrap()).collect();
    assert_eq!(ios, [0, 503, 1009]);
    for question in
        ["series", "heat?kind=rt", "heat?kind=lba", "streams", "processes", "hot", "ios"]
    {
        assert_eq!(explorer.get(&format!("api/{question}")).status, 200, "{question}");
    }
    assert_eq!(explorer.json("api/processes?c=1")["processes"][0]["process"], "unknown");
    assert_eq!(explorer.json("api/streams?c=2")["total"]["count"], 1009);
    let port = explorer.port.to_string();
    refuse(home, &["explore", "other.parquet", "--port", &port], &["in use", "--port"]);
    // A file that is overwritten is no longer answered for; the others are.
    fs::write(home.join("other.parquet"), "gone").unwrap();
    explorer.get("api/streams?c=2").refused(409, "was changed");
    assert_eq!(explorer.get("api/streams?c=1").status, 200);
}

#[test]
fn a_run_is_shown_finished_and_unfinished() {
    let home = &TestDirectory::new();
    finished_run(home, "sim:small", "run");
    let explorer = Explorer::ready(home, &["run"]);
    let found = explorer.json("api/run?n=0");
    assert_eq!((&found["procedure"], &found["live"]), (&"iops".into(), &false.into()));
    let steps = array(&found["steps"]);
    assert!(steps.len() > 5 && steps[0]["ios"].as_u64().unwrap() > 0);
    let tracks = array(&found["tracks"]);
    assert!(!tracks.is_empty() && array(&tracks[0]["rounds"]).len() >= 5, "{found}");
    let detail = explorer.json("api/run/step?i=0&n=0");
    let sum = |values: &Value| -> u64 { array(values).iter().map(|n| n.as_u64().unwrap()).sum() };
    assert_eq!(sum(&detail["histogram"]["counts"]), steps[0]["ios"].as_u64().unwrap());
    explorer.get("api/run/step?i=99999&n=0").refused(404, "no step 99999");
    explorer.get("api/streams?c=0").refused(400, "this is a run");
    // A process that is in the middle of a line leaves fewer lines.
    let journal = home.join("run/journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    cut_journal(&home.join("run"), |lines| lines.len() / 2);
    let found = explorer.json("api/run?n=0");
    assert_eq!(found["state"], "unfinished");
    let fewer = array(&found["steps"]).len();
    assert!(fewer > 0 && fewer < steps.len());
    // The run continues: the explorer reads its new lines.
    fs::write(&journal, &text).unwrap();
    assert_eq!(explorer.json("api/run?n=0")["steps"].as_array().unwrap().len(), steps.len());
    assert_eq!(explorer.json("api/meta")["items"][0]["kind"], "run");
}
