//! A page, a server and an HTTP client for raw requests.

use crate::common::pel;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

/// A compressible file.
pub fn script() -> String {
    (0..1000).map(|n| format!("console.log({n});\n")).collect()
}

/// A file large enough to be compressed in the background.
pub fn large() -> String {
    script().repeat(80)
}

/// The folder of a page.
pub fn page() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let noise: Vec<u8> = (0..100_u32)
        .flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes())
        .collect();
    for (name, bytes) in [
        ("index.html", &b"<!doctype html><title>PEL</title>"[..]),
        ("main.js", script().as_bytes()),
        ("large.js", large().as_bytes()),
        ("style.css", b"p {}"),
        ("icon.svg", b"<svg/>"),
        ("icon.png", &[7; 5000]),
        ("noise.bin", &noise),
        ("empty.txt", b""),
        ("a page \u{e9}.md", b"# A page"),
        ("pkg/pel_bg.wasm", b"\0asm"),
        ("pkg/worker.js", b"self.close();"),
        ("help/index.html", b"<p>help"),
        ("bundle/manifest.json", b"{}"),
        (".git/config", b"secret"),
    ] {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }
    folder
}

/// A `pel serve` that is stopped at the end of the test.
pub struct Server {
    pub child: Child,
    pub port: u16,
}

impl Server {
    pub fn start(page: &Path, more: &[&str]) -> Self {
        let mut command = pel(&["serve", "--json", "--page"]);
        command.arg(page).args(more);
        Self::spawned(command)
    }

    /// A server started by a shell.
    #[cfg(unix)]
    pub fn under(words: &[String]) -> Self {
        let mut command = std::process::Command::new("sh");
        command.args(words);
        Self::spawned(command)
    }

    fn spawned(mut command: std::process::Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped"))
            .read_line(&mut line)
            .expect("UTF-8");
        let message: serde_json::Value = serde_json::from_str(&line).expect("one line of JSON");
        let port = message["port"].as_u64().expect("a port") as u16;
        assert_eq!(message["address"], format!("http://127.0.0.1:{port}/"));
        Self { child, port }
    }

    /// Serves a page on a free port.
    pub fn of(page: &Path) -> Self {
        Self::start(page, &["--port", "0"])
    }

    /// Sends a request with the given headers and reads the whole response.
    pub fn ask(&self, first: &str, lines: &[&str]) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let host = if lines.iter().any(|line| line.starts_with("Host")) {
            ""
        } else {
            "Host: localhost\r\n"
        };
        let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
        write!(
            stream,
            "{first} HTTP/1.1\r\n{host}{lines}Connection: close\r\n\r\n"
        )
        .expect("sent");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("read");
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8(bytes[..end].to_vec()).expect("UTF-8");
        let mut head = head.lines();
        let status = head
            .next()
            .and_then(|line| line.split(' ').nth(1))
            .and_then(|status| status.parse().ok());
        let headers = head.map(|line| {
            line.split_once(": ")
                .map(|(name, value)| (name.into(), value.into()))
        });
        let headers: HashMap<String, String> = headers.collect::<Option<_>>().expect("headers");
        Answer {
            status: status.expect("a status"),
            headers,
            body: bytes[end + 4..].to_vec(),
        }
    }

    pub fn get(&self, path: &str, lines: &[&str]) -> Answer {
        let answer = self.ask(&format!("GET {path}"), lines);
        if answer.status != 304 {
            assert_eq!(
                answer.header("content-length"),
                answer.body.len().to_string(),
                "{path}"
            );
        }
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        self.child.wait().expect("it ends");
    }
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

    /// The decompressed body.
    pub fn plain(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        match self.header("content-encoding") {
            "gzip" => flate2::read::GzDecoder::new(&self.body[..])
                .read_to_end(&mut plain)
                .expect("gzip"),
            "zstd" => zstd::Decoder::new(&self.body[..])
                .expect("zstd")
                .read_to_end(&mut plain)
                .expect("zstd"),
            other => panic!("expected a coding, found {other:?}"),
        };
        plain
    }
}
