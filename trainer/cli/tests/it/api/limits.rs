//! Limits of size, time and number, and the end of the server.

use crate::api::client::{JSON, Server, answer, send};
use serde_json::json;
use std::io::Read;

/// A body with a text that takes a while.
fn long() -> String {
    json!({"text": "fever, chest pain, diabetes; ".repeat(20_000)}).to_string()
}

#[test]
fn sizes_and_numbers_are_limited() {
    let server = Server::new(&[
        "--max-body",
        "1KiB",
        "--max-text",
        "100B",
        "--max-texts",
        "2",
        "--read-timeout",
        "1",
    ]);
    server
        .link(&" ".repeat(1 << 20))
        .is_problem(413, None, "a body");
    server
        .link(&json!({"text": "a".repeat(101)}).to_string())
        .is_problem(413, Some("text"), "a text");
    let texts = json!({"texts": ["", {"text": "a".repeat(101)}]}).to_string();
    server
        .link(&texts)
        .is_problem(413, Some("texts[1].text"), "a text of several");
    server
        .link("[\"\", \"\", \"\"]")
        .is_problem(413, Some("texts"), "texts");
    let mut stream = server.connect();
    send(
        &mut stream,
        "POST /v1/link",
        &[JSON, "Content-Length: 100"],
        b"{",
    );
    answer(&mut stream).is_problem(408, None, "half a body");
    assert_eq!(server.link("[\"\", \"\"]").status, 200);
}

#[test]
fn memory_is_limited() {
    let server = Server::new(&["--max-body", "1KiB", "--max-memory", "1KiB"]);
    let many = format!("[\"\"{}]", ",\"\"".repeat(100));
    server.link(&many).is_problem(413, None, "many values");
    let mut half = server.connect();
    send(
        &mut half,
        "POST /v1/link",
        &[JSON, "Content-Length: 800"],
        &[b' '; 700],
    );
    // It holds the memory as soon as the server has read it.
    for _ in 0..200 {
        let busy = server.link(&format!("{}[]", " ".repeat(600)));
        if busy.status == 429 {
            busy.is_problem(429, None, "memory");
            drop(half);
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("the memory is not limited");
}

#[test]
fn answer_that_is_not_read_holds_memory() {
    let server = Server::new(&["--max-body", "1MiB", "--max-memory", "1MiB"]);
    let mut slow = server.connect();
    send(&mut slow, "POST /v1/link", &[JSON], long().as_bytes());
    // It begins, and is larger than what the system takes from the server.
    slow.read_exact(&mut [0]).expect("an answer");
    server
        .link(&long())
        .is_problem(429, None, "the answer holds no memory");
    assert_eq!(server.link("{\"text\": \"fever\"}").status, 200);
    drop(slow);
    let is_free = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        server.link(&long()).status == 200
    });
    assert!(is_free, "the memory is not free again");
}

#[test]
fn full_queue_is_told() {
    let server = Server::new(&["--queue", "1", "--request-timeout", "600"]);
    let (mut first, mut second) = (server.connect(), server.connect());
    send(&mut first, "POST /v1/link", &[JSON], long().as_bytes());
    // The thread has taken it from the queue; requests for metrics count themselves.
    server.wait_for("pel_http_requests_in_flight", 2.0);
    std::thread::sleep(std::time::Duration::from_millis(200));
    send(&mut second, "POST /v1/link", &[JSON], long().as_bytes());
    server.wait_for("pel_queue_jobs", 1.0);
    let busy = server.link(&long());
    busy.is_problem(429, None, "a full queue");
    // Short texts and searches have queues of their own.
    assert_eq!(server.link("{\"text\": \"fever\"}").status, 200);
    assert_eq!(server.get("/v1/search?q=fever").status, 200);
    assert!(busy.header("retry-after").parse::<u64>().expect("seconds") >= 1);
    assert_eq!(
        (answer(&mut first).status, answer(&mut second).status),
        (200, 200)
    );
}

#[test]
fn clients_that_wait_for_an_answer_stay_connected() {
    let server = Server::new(&["--max-per-address", "2"]);
    let mut first = server.connect();
    send(&mut first, "POST /v1/link", &[JSON], long().as_bytes());
    // Requests for metrics count themselves.
    server.wait_for("pel_http_requests_in_flight", 2.0);
    let _idle = server.connect();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(answer(&mut first).status, 200);
}

#[test]
fn searches_do_not_wait_for_notes() {
    let server = Server::new(&[]);
    // Each is one job, and few are one batch.
    let text = "fever, chest pain, diabetes; ".repeat(2_000);
    let body = json!({"text": text}).to_string();
    let waiting: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = server.connect();
            send(&mut stream, "POST /v1/link", &[JSON], body.as_bytes());
            stream
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(100));
    let found = server.get("/v1/search?q=fever");
    assert_eq!(found.status, 200);
    let left = server.metric("pel_queue_jobs ");
    assert!(left > 0.0, "the search has waited for the notes");
    drop(waiting);
}

#[test]
fn work_that_nobody_waits_for_is_ended() {
    let server = Server::new(&["--request-timeout", "1"]);
    let body = json!({"texts": vec!["fever, chest pain, diabetes; ".repeat(36_000); 3]});
    let body = body.to_string();
    server.link(&body).is_problem(504, None, "a long text");
    server.wait_for("pel_batch_failures_total ", 1.0);
    let texts = server.metric("pel_texts_total ");
    assert!(texts < 3.0, "{texts}");
    // Nor for a client that has left.
    let server = Server::new(&[]);
    let mut stream = server.connect();
    send(&mut stream, "POST /v1/link", &[JSON], body.as_bytes());
    server.wait_for("pel_http_requests_in_flight", 2.0);
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(stream);
    server.wait_for("pel_batch_failures_total ", 1.0);
    server.wait_for("pel_http_requests_in_flight", 1.0);
    assert_eq!(server.metric("pel_queue_jobs "), 0.0);
}

#[test]
fn candidates_are_limited() {
    let server = Server::new(&["--max-text", "1KiB"]);
    let ask = |bytes: usize, k: usize| {
        server.link(&json!({"text": "a".repeat(bytes), "options": {"k": k}}).to_string())
    };
    assert_eq!(ask(1000, 5).status, 200);
    assert_eq!(ask(20, 200).status, 200);
    ask(1000, 6).is_problem(422, None, "many candidates");
    let texts = json!({"texts": ["", "a".repeat(500)]}).to_string();
    let answer = server.post("/v1/link?k=20", &texts);
    answer.is_problem(422, Some("texts[1]"), "many candidates of a text");
}

#[test]
fn time_is_limited() {
    let server = Server::new(&["--request-timeout", "1"]);
    let body = json!({"texts": vec![long(); 2]}).to_string();
    server.link(&body).is_problem(504, None, "a long text");
}

#[cfg(unix)]
#[test]
fn open_requests_end_before_the_server() {
    let mut server = Server::new(&["--stop-timeout", "100"]);
    let mut stream = server.connect();
    send(&mut stream, "POST /v1/link", &[JSON], long().as_bytes());
    server.wait_for("pel_http_requests_in_flight", 2.0);
    server.signal("-TERM");
    let linked = answer(&mut stream);
    assert_eq!(linked.status, 200);
    assert!(
        linked.json()["mentions"]
            .as_array()
            .is_some_and(|all| all.len() >= 60_000)
    );
    let (code, err) = server.end();
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains("fever") && !err.contains("POST"), "{err}");
    assert!(std::net::TcpStream::connect(("127.0.0.1", server.port)).is_err());
}

#[cfg(unix)]
#[test]
fn server_does_not_wait_for_ever() {
    let mut server = Server::new(&["--stop-timeout", "0"]);
    let mut stream = server.connect();
    send(&mut stream, "POST /v1/link", &[JSON], long().as_bytes());
    server.wait_for("pel_http_requests_in_flight", 2.0);
    let begun = std::time::Instant::now();
    let (code, err) = server.stop("-INT");
    assert_eq!(code, Some(0), "{err}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(2));
}
