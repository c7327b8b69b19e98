//! Streams of texts.

use crate::api::client::{NDJSON, Server, answer, chunk, head, send};
use serde_json::json;
use std::io::{BufReader, Write};

/// Sends a chunk.
fn put(stream: &mut impl Write, piece: &str) {
    write!(stream, "{:x}\r\n{piece}\r\n", piece.len()).expect("sent");
}

#[test]
fn lines_are_answered_while_the_stream_is_open() {
    let server = Server::new(&[]);
    let mut stream = server.connect();
    send(
        &mut stream,
        "POST /v1/link?k=1",
        &[NDJSON, "Transfer-Encoding: chunked"],
        b"",
    );
    let mut reader = BufReader::new(stream.try_clone().expect("a handle"));
    put(&mut stream, "{\"id\": \"a\", \"text\": \"fever\"}\n{\"te");
    let (status, headers) = head(&mut reader);
    assert_eq!(
        (status, headers["content-type"].as_str()),
        (200, "application/x-ndjson")
    );
    let mut line = || -> serde_json::Value {
        serde_json::from_slice(&chunk(&mut reader).expect("a line")).expect("JSON")
    };
    let first = line();
    assert_eq!(
        (&first["doc"], &first["mentions"][0]["concept"]["id"]),
        (&json!("a"), &json!("D1"))
    );
    assert_eq!(
        first["mentions"][0]["candidates"].as_array().map(Vec::len),
        Some(1)
    );
    // The second line is finished, the third is empty, the fourth is wrong.
    put(&mut stream, "xt\": \"no chest pain\"}\r\n\n{\"text\": 3}\n");
    let second = line();
    assert_eq!(
        (&second["doc"], &second["mentions"][0]["negated"]),
        (&json!("2"), &json!(true))
    );
    let third = line();
    assert_eq!(
        (&third["line"], &third["error"]["status"]),
        (&json!(4), &json!(422))
    );
    assert_eq!(third["error"]["field"], "text");
    put(&mut stream, "{\"text\": \"diabetes\"}");
    write!(stream, "0\r\n\r\n").expect("sent");
    assert_eq!(line()["mentions"][0]["concept"]["id"], "D3");
    assert!(chunk(&mut reader).is_none());
}

#[test]
fn many_lines_keep_their_order() {
    let server = Server::new(&["--queue", "2"]);
    let body: String = (0..300)
        .map(|n| format!("{}\n", json!({"id": n.to_string(), "text": "fever"})))
        .collect();
    let mut stream = server.connect();
    send(&mut stream, "POST /v1/link", &[NDJSON], body.as_bytes());
    let lines = answer(&mut stream).lines();
    let ids: Vec<&str> = lines
        .iter()
        .map(|line| line["doc"].as_str().expect("an id"))
        .collect();
    assert_eq!(ids, (0..300).map(|n| n.to_string()).collect::<Vec<_>>());
    assert!(
        lines
            .iter()
            .all(|line| line["mentions"][0]["concept"]["id"] == "D1")
    );
}

#[test]
fn too_long_lines_end_the_stream() {
    let server = Server::new(&["--max-body", "1KiB", "--max-text", "100B"]);
    let ask = |body: &str| {
        server
            .ask("POST /v1/link", &[NDJSON], body.as_bytes())
            .lines()
    };
    let long = json!({"text": "a".repeat(101)}).to_string();
    let lines = ask(&format!("{long}\n{{\"text\": \"fever\"}}\n"));
    assert_eq!(
        (&lines[0]["error"]["status"], &lines[0]["error"]["field"]),
        (&json!(413), &json!("text"))
    );
    assert_eq!(lines[1]["mentions"][0]["concept"]["id"], "D1");
    let lines = ask(&"a".repeat(3000));
    assert_eq!(
        (lines.len(), &lines[0]["error"]["status"]),
        (1, &json!(413))
    );
    let answer = server.ask("POST /v1/link?k=0", &[NDJSON], b"");
    answer.is_problem(422, Some("k"), "k");
    let answer = server.ask("POST /v1/link", &[NDJSON, "Accept: text/csv"], b"");
    answer.is_problem(406, Some("Accept"), "a table");
    assert_eq!(server.ask("POST /v1/link", &[NDJSON], b"").text(), "");
}
