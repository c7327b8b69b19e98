//! Bodies and answers that are compressed by gzip.

use crate::api::client::{JSON, NDJSON, Server};
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use serde_json::json;
use std::io::Read;

const GZIP: &str = "Content-Encoding: gzip";
const ACCEPTS: &str = "Accept-Encoding: gzip, deflate";

fn packed(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    GzEncoder::new(text, Compression::default())
        .read_to_end(&mut packed)
        .expect("in memory");
    packed
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes)
        .read_to_string(&mut text)
        .expect("gzip");
    text
}

#[test]
fn packed_bodies_are_read_within_their_limit() {
    let server = Server::new(&["--max-body", "64KiB"]);
    let body = json!({"text": "no fever"}).to_string();
    let plain = server.link(&body);
    let answer = server.ask("POST /v1/link", &[JSON, GZIP], &packed(body.as_bytes()));
    assert_eq!((answer.status, answer.text()), (200, plain.text()));
    let answer = server.ask("POST /v1/link", &[JSON, GZIP], body.as_bytes());
    answer.is_problem(400, Some("Content-Encoding"), "no gzip");
    let cut = packed(body.as_bytes());
    let answer = server.ask("POST /v1/link", &[JSON, GZIP], &cut[..cut.len() - 4]);
    answer.is_problem(400, Some("Content-Encoding"), "half a body");
    // 64 MiB in 64 KiB.
    let bomb = packed(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 70 << 10, "{}", bomb.len());
    let answer = server.ask("POST /v1/link", &[JSON, GZIP], &bomb);
    answer.is_problem(413, None, "a body that unpacks to too much");
    let answer = server.ask("POST /v1/link", &[NDJSON, GZIP], &bomb);
    assert!(
        answer.text().contains("\"status\":413"),
        "{}",
        answer.text()
    );
}

#[test]
fn answers_are_packed_for_clients_that_accept_it() {
    let server = Server::new(&[]);
    let body = json!({"text": "fever and chest pain; ".repeat(40)}).to_string();
    let plain = server.link(&body);
    assert_eq!(plain.header("content-encoding"), "");
    let answer = server.ask("POST /v1/link", &[JSON, ACCEPTS], body.as_bytes());
    assert_eq!(answer.header("content-encoding"), "gzip");
    assert_eq!(unpacked(&answer.body), plain.text());
    assert!(answer.body.len() < plain.body.len() / 5);
    let stream = server.ask(
        "POST /v1/link",
        &[NDJSON, ACCEPTS, GZIP],
        &packed(body.as_bytes()),
    );
    assert_eq!(stream.header("content-encoding"), "gzip");
    let line: serde_json::Value = serde_json::from_str(&unpacked(&stream.body)).expect("a line");
    let count = |note: &serde_json::Value| note["mentions"].as_array().map(Vec::len);
    assert_eq!(
        (count(&line), count(&line)),
        (Some(80), count(&plain.json()))
    );
    let short = server.ask("GET /health", &[ACCEPTS], b"");
    assert_eq!(short.header("content-encoding"), "");
    let refused = server.ask(
        "POST /v1/link",
        &[JSON, "Accept-Encoding: gzip;q=0"],
        body.as_bytes(),
    );
    assert_eq!(refused.text(), plain.text());
}
