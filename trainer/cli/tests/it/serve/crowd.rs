//! Slow clients and many clients do not block others.

use super::client::{Server, page};
use crate::common::pel;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// More than the socket buffers hold.
const LARGE: usize = 24 << 20;

fn with_large_file() -> tempfile::TempDir {
    let page = page();
    std::fs::write(page.path().join("large.bin"), vec![7; LARGE]).expect("written");
    page
}

/// A connection that has sent a request, with a read timeout of 10 s.
fn send(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("set");
    // A refused client cannot send.
    let _ = stream.write_all(request.as_bytes());
    stream
}

const WANTS_LARGE: &str = "GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Reads to the end, also of a reset connection.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(cause) = stream.read_to_end(&mut bytes) {
        assert_ne!(
            cause.kind(),
            ErrorKind::WouldBlock,
            "the connection is still open"
        );
    }
    bytes
}

/// The status of a new client's request, with a timeout of 10 s.
fn status(server: &Server, path: &str) -> Option<u16> {
    let mut stream = send(
        server,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    );
    let bytes = rest(&mut stream);
    std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()
}

/// Waits until a request is served, since connections must be idle for a while before they are
/// closed.
fn is_served_soon(server: &Server) {
    let begun = Instant::now();
    while status(server, "/style.css") != Some(200) {
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "nobody else is served"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn clients_that_do_not_read_block_nobody() {
    let page = with_large_file();
    let server = Server::start(
        page.path(),
        &[
            "--port",
            "0",
            "--max-connections",
            "20",
            "--max-per-address",
            "20",
        ],
    );
    let crowd: Vec<TcpStream> = (0..100).map(|_| send(&server, WANTS_LARGE)).collect();
    for _ in 0..5 {
        is_served_soon(&server);
    }
    drop(crowd);
}

#[cfg(unix)]
#[test]
fn more_clients_than_file_descriptors_block_nobody() {
    let page = with_large_file();
    let server = Server::under(&page_with_few_files(page.path()));
    let crowd: Vec<TcpStream> = (0..200).map(|_| send(&server, WANTS_LARGE)).collect();
    for _ in 0..5 {
        is_served_soon(&server);
    }
    drop(crowd);
}

/// `pel serve` with at most 64 open files, as arguments of a shell.
#[cfg(unix)]
fn page_with_few_files(page: &Path) -> [String; 2] {
    let program = pel(&[]).get_program().to_string_lossy().into_owned();
    let line = format!(
        "ulimit -n 64; exec '{program}' serve --json --port 0 --page '{}'",
        page.display()
    );
    ["-c".to_owned(), line]
}

#[test]
fn idle_reader_is_closed_and_slow_reader_is_not() {
    let page = with_large_file();
    let server = Server::start(page.path(), &["--port", "0", "--write-timeout", "1"]);
    let (mut silent, mut slow) = (send(&server, WANTS_LARGE), send(&server, WANTS_LARGE));
    // 24 MiB in pieces of 1 MiB over 3 s.
    let (mut piece, mut read) = (vec![0; 1 << 20], 0);
    while read < LARGE {
        std::thread::sleep(Duration::from_millis(120));
        match slow.read(&mut piece).expect("it goes on") {
            0 => break,
            bytes => read += bytes,
        }
    }
    assert!(read >= LARGE, "{read}");
    let got = rest(&mut silent).len();
    assert!(got > 0 && got < LARGE, "{got}");
}

#[test]
fn incomplete_and_long_request_heads_are_refused() {
    let page = page();
    let server = Server::start(page.path(), &["--port", "0", "--read-timeout", "1"]);
    let begun = Instant::now();
    let mut nothing = send(&server, "");
    let mut half = send(&server, "GET / HTTP/1.1\r\nHost: local");
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(400));
        // Single bytes do not extend the timeout.
        let _ = half.write_all(b"h");
    }
    assert!(!rest(&mut half).starts_with(b"HTTP/1.1 200") && rest(&mut nothing).is_empty());
    assert!(
        begun.elapsed() < Duration::from_secs(6),
        "{:?}",
        begun.elapsed()
    );
    let head = |lines: usize, bytes: usize| {
        let lines: String = (0..lines)
            .map(|at| format!("X-{at}: {}\r\n", "a".repeat(bytes)))
            .collect();
        let answer = rest(&mut send(
            &server,
            &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n"),
        ));
        String::from_utf8_lossy(&answer)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert!(head(20, 500).starts_with("HTTP/1.1 200"));
    for (lines, bytes) in [(1, 20_000), (40, 500), (100, 1)] {
        assert!(
            head(lines, bytes).starts_with("HTTP/1.1 431"),
            "{lines} lines of {bytes}: {}",
            head(lines, bytes)
        );
    }
}

#[test]
fn connections_per_address_are_limited() {
    let page = with_large_file();
    let server = Server::start(page.path(), &["--port", "0", "--max-per-address", "2"]);
    // Two busy readers.
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = send(&server, WANTS_LARGE);
            std::thread::spawn(move || {
                let (mut piece, end) = (
                    vec![0; 64 << 10],
                    Instant::now() + Duration::from_millis(1500),
                );
                while Instant::now() < end && stream.read(&mut piece).is_ok_and(|bytes| bytes > 0) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(status(&server, "/style.css"), Some(503));
    let refused = rest(&mut send(&server, WANTS_LARGE));
    let refused = String::from_utf8_lossy(&refused);
    assert!(
        refused.contains("from this address (limit 2, --max-per-address of pel serve)"),
        "{refused}"
    );
    readers
        .into_iter()
        .for_each(|reader| reader.join().expect("it ends"));
    is_served_soon(&server);
}
