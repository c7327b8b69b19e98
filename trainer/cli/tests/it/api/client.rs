//! A server of the REST interface, and an HTTP client for raw requests.

use crate::common::{bundle, pel};
use serde_json::Value;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A `pel serve --api` that is stopped at the end of the test.
pub struct Server {
    pub child: Child,
    pub port: u16,
    pub address: String,
}

impl Server {
    /// A server of the common bundle.
    pub fn new(more: &[&str]) -> Self {
        Self::of(bundle(), more)
    }

    /// A server of a bundle.
    pub fn of(bundle: &str, more: &[&str]) -> Self {
        let mut command = pel(&["serve", "--api", "--json", "--port", "0"]);
        command
            .args(["--device", "cpu", "--bundle", bundle])
            .args(more);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut line)
            .expect("UTF-8");
        let message: Value = serde_json::from_str(&line).expect("one line of JSON");
        Self {
            child,
            port: message["port"].as_u64().expect("a port") as u16,
            address: message["address"].as_str().expect("an address").to_owned(),
        }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).expect("set");
        stream
    }

    /// Sends a request and reads its response.
    pub fn ask(&self, first: &str, lines: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        send(&mut stream, first, lines, body);
        answer(&mut stream)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[], b"")
    }

    /// Links by a JSON body.
    pub fn link(&self, body: &str) -> Answer {
        self.post("/v1/link", body)
    }

    pub fn post(&self, path: &str, body: &str) -> Answer {
        self.ask(&format!("POST {path}"), &[JSON], body.as_bytes())
    }

    /// The value of a metric.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").text();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or(0.0)
    }

    /// Waits until a metric has a value.
    pub fn wait_for(&self, name: &str, value: f64) {
        for _ in 0..600 {
            if self.metric(name) == value {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} is {}", self.metric(name));
    }

    /// Sends a signal and returns the exit code and standard error.
    #[cfg(unix)]
    pub fn stop(&mut self, signal: &str) -> (Option<i32>, String) {
        self.signal(signal);
        self.end()
    }

    #[cfg(unix)]
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args([signal, &id])
            .status();
        assert!(kill.expect("kill can be started").success());
    }

    /// Waits for its end. Returns the exit code and standard error.
    pub fn end(&mut self) -> (Option<i32>, String) {
        let mut err = String::new();
        let from = self.child.stderr.as_mut().expect("piped");
        from.read_to_string(&mut err).expect("UTF-8");
        (self.child.wait().expect("it ends").code(), err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        self.child.wait().expect("it ends");
    }
}

pub const JSON: &str = "Content-Type: application/json";
pub const NDJSON: &str = "Content-Type: application/x-ndjson";

/// Sends a request on a connection that is then closed.
pub fn send(stream: &mut impl Write, first: &str, lines: &[&str], body: &[u8]) {
    let has = |name: &str| lines.iter().any(|line| line.starts_with(name));
    let mut head = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
    if !has("Host") {
        head += "Host: localhost\r\n";
    }
    if !has("Content-Length") && !has("Transfer-Encoding") {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    lines.iter().for_each(|line| head += &format!("{line}\r\n"));
    stream
        .write_all(format!("{head}\r\n").as_bytes())
        .expect("sent");
    // The server may answer before it has read everything.
    let _ = stream.write_all(body);
}

/// Reads a response to the end of the connection.
pub fn answer(stream: &mut impl Read) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, headers) = head(&mut reader);
    let mut body = Vec::new();
    if headers
        .get("transfer-encoding")
        .is_some_and(|coding| coding == "chunked")
    {
        while let Some(piece) = chunk(&mut reader) {
            body.extend(piece);
        }
    } else {
        reader.read_to_end(&mut body).expect("read");
    }
    Answer {
        status,
        headers,
        body,
    }
}

/// Reads the head of a response.
pub fn head(reader: &mut impl BufRead) -> (u16, HashMap<String, String>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("read");
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("read");
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_owned(), value.to_owned());
    }
    (
        status.unwrap_or_else(|| panic!("expected a status, found {line:?}")),
        headers,
    )
}

/// Reads a chunk; `None` for the last one.
pub fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut size = String::new();
    reader.read_line(&mut size).expect("read");
    let size = usize::from_str_radix(size.trim(), 16).expect("a size");
    let mut piece = vec![0; size + 2];
    reader.read_exact(&mut piece).expect("read");
    piece.truncate(size);
    (size > 0).then_some(piece)
}

pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}: {}", self.status, self.text()))
    }

    /// The JSON of each line.
    pub fn lines(&self) -> Vec<Value> {
        let text = self.text();
        text.lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }

    /// Checks that it is a problem with a status, and its field.
    pub fn is_problem(&self, status: u16, field: Option<&str>, what: &str) {
        let found = self.json();
        assert_eq!(self.status, status, "{what}: {found}");
        assert_eq!(
            self.header("content-type"),
            "application/problem+json",
            "{what}"
        );
        assert_eq!(found["status"], status, "{what}: {found}");
        assert_eq!(found["field"].as_str(), field, "{what}: {found}");
        assert!(
            found["title"].is_string() && found["detail"].is_string(),
            "{what}: {found}"
        );
    }
}
