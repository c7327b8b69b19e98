//! Clients that read or write slowly, or are many: the others are served.

use super::client::{Server, page};
use crate::common::pel;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// More than the buffers of the system take.
const LARGE: usize = 24 << 20;

fn with_large_file() -> tempfile::TempDir {
    let page = page();
    std::fs::write(page.path().join("large.bin"), vec![7; LARGE]).expect("written");
    page
}

/// A connection that has sent a request, and waits no longer than ten seconds for anything.
fn asked(server: &Server, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    // Whoever is turned away cannot send.
    let _ = stream.write_all(request.as_bytes());
    stream
}

const WANTS_LARGE: &str = "GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Reads to the end, however the connection ends.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Err(cause) = stream.read_to_end(&mut bytes) {
        assert_ne!(cause.kind(), ErrorKind::WouldBlock, "the connection is still open");
    }
    bytes
}

/// The status of an answer to a new client, who gives up after ten seconds.
fn status(server: &Server, path: &str) -> Option<u16> {
    let mut stream = asked(server, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
    let bytes = rest(&mut stream);
    std::str::from_utf8(bytes.get(9..12)?).ok()?.parse().ok()
}

/// Is served within a while: the crowd's own connections are young at first.
fn is_served_soon(server: &Server) {
    let begun = Instant::now();
    while status(server, "/style.css") != Some(200) {
        assert!(begun.elapsed() < Duration::from_secs(5), "nobody else is served");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn many_who_never_read_keep_nobody_out() {
    let page = with_large_file();
    let server = Server::start(page.path(), &["--port", "0", "--max-connections", "20", "--max-per-address", "20"]);
    let crowd: Vec<TcpStream> = (0..100).map(|_| asked(&server, WANTS_LARGE)).collect();
    for _ in 0..5 {
        is_served_soon(&server);
    }
    drop(crowd);
}

#[cfg(unix)]
#[test]
fn more_clients_than_files_that_may_be_open_keep_nobody_out() {
    let page = with_large_file();
    let server = Server::under(&page_with_few_files(page.path()));
    let crowd: Vec<TcpStream> = (0..200).map(|_| asked(&server, WANTS_LARGE)).collect();
    for _ in 0..5 {
        is_served_soon(&server);
    }
    drop(crowd);
}

/// `pel serve` with 64 open files at most, as words of a shell.
#[cfg(unix)]
fn page_with_few_files(page: &Path) -> [String; 2] {
    let program = pel(&[]).get_program().to_string_lossy().into_owned();
    let line = format!("ulimit -n 64; exec '{program}' serve --json --port 0 --page '{}'", page.display());
    ["-c".to_owned(), line]
}

#[test]
fn who_takes_nothing_of_an_answer_is_left_and_who_is_slow_is_not() {
    let page = with_large_file();
    let server = Server::start(page.path(), &["--port", "0", "--write-timeout", "1"]);
    let (mut silent, mut slow) = (asked(&server, WANTS_LARGE), asked(&server, WANTS_LARGE));
    // 24 MiB in pieces of 1 MiB, over three seconds.
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
fn a_head_that_does_not_end_or_is_too_long_is_not_waited_for() {
    let page = page();
    let server = Server::start(page.path(), &["--port", "0", "--read-timeout", "1"]);
    let begun = Instant::now();
    let mut nothing = asked(&server, "");
    let mut half = asked(&server, "GET / HTTP/1.1\r\nHost: local");
    for _ in 0..4 {
        std::thread::sleep(Duration::from_millis(400));
        // A byte now and then does not make it longer.
        let _ = half.write_all(b"h");
    }
    assert!(!rest(&mut half).starts_with(b"HTTP/1.1 200") && rest(&mut nothing).is_empty());
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    let head = |lines: usize, bytes: usize| {
        let lines: String = (0..lines).map(|at| format!("X-{at}: {}\r\n", "a".repeat(bytes))).collect();
        let answer = rest(&mut asked(&server, &format!("GET / HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n")));
        String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned()
    };
    assert!(head(20, 500).starts_with("HTTP/1.1 200"));
    for (lines, bytes) in [(1, 20_000), (40, 500), (100, 1)] {
        assert!(head(lines, bytes).starts_with("HTTP/1.1 431"), "{lines} lines of {bytes}: {}", head(lines, bytes));
    }
}

#[test]
fn one_address_has_its_share_and_hears_when_it_is_taken() {
    let page = with_large_file();
    let server = Server::start(page.path(), &["--port", "0", "--max-per-address", "2"]);
    // Two that are at work all the time.
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let mut stream = asked(&server, WANTS_LARGE);
            std::thread::spawn(move || {
                let (mut piece, end) = (vec![0; 64 << 10], Instant::now() + Duration::from_millis(1500));
                while Instant::now() < end && stream.read(&mut piece).is_ok_and(|bytes| bytes > 0) {
                    std::thread::sleep(Duration::from_millis(5));
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(status(&server, "/style.css"), Some(503));
    readers.into_iter().for_each(|reader| reader.join().expect("it ends"));
    is_served_soon(&server);
}
