//! HTTP responses: caching, ranges, compression and security headers.

use crate::serve::client::{Server, large, page, script};
use std::time::{Duration, Instant};

#[test]
fn known_content_is_not_sent_again() {
    let page = page();
    let server = Server::of(page.path());
    let first = server.get("/main.js", &[]);
    let tag = first.header("etag");
    assert_eq!(
        tag,
        format!("\"{}\"", blake3::hash(script().as_bytes()).to_hex())
    );
    let (gzip, zstd) = (
        tag.replace("\"", "") + "-gzip",
        tag.replace("\"", "") + "-zstd",
    );
    for (known, accepted, status) in [
        (tag.to_owned(), "", 304),
        (format!("W/{tag}"), "", 304),
        (format!("\"other\", {tag}"), "gzip", 304),
        ("*".into(), "", 304),
        (format!("\"{gzip}\""), "gzip, zstd", 304),
        (format!("\"{zstd}\""), "gzip, zstd", 304),
        (format!("\"{zstd}\""), "gzip", 200),
        (format!("\"{gzip}\""), "", 200),
        ("\"other\"".into(), "gzip", 200),
    ] {
        let lines = [
            format!("If-None-Match: {known}"),
            format!("Accept-Encoding: {accepted}"),
        ];
        let answer = server.get("/main.js", &[&lines[0], &lines[1]]);
        assert_eq!(answer.status, status, "{known} {accepted}");
        assert_eq!(answer.header("vary"), "Accept-Encoding");
        if status == 304 {
            assert!(
                answer.body.is_empty() && answer.headers.contains_key("etag"),
                "{known}"
            );
        }
    }
}

#[test]
fn ranges_are_sent_uncompressed() {
    let page = page();
    let server = Server::of(page.path());
    let whole = script().into_bytes();
    let (all, tag) = (
        whole.len(),
        server.get("/main.js", &[]).header("etag").to_owned(),
    );
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=10-19", 10, 20),
        ("bytes=100-", 100, all),
        ("bytes=-7", all - 7, all),
        ("bytes=-99999999", 0, all),
        ("bytes=5-99999999", 5, all),
    ] {
        let answer = server.get(
            "/main.js",
            &[&format!("Range: {range}"), "Accept-Encoding: gzip, zstd"],
        );
        assert_eq!(answer.status, 206, "{range}");
        assert_eq!(
            answer.header("content-range"),
            format!("bytes {from}-{}/{all}", to - 1)
        );
        assert_eq!(
            (answer.header("etag"), answer.header("content-encoding")),
            (tag.as_str(), "")
        );
        assert!(answer.body == whole[from..to], "{range}");
    }
    for (path, range, length) in [
        ("/main.js", format!("bytes={all}-"), all),
        ("/empty.txt", "bytes=0-".into(), 0),
    ] {
        let answer = server.get(path, &[&format!("Range: {range}")]);
        assert_eq!(
            (answer.status, answer.header("content-range")),
            (416, format!("bytes */{length}").as_str())
        );
    }
    // Several ranges, other units and invalid ranges get the whole file.
    for range in [
        "bytes=0-1,5-6",
        "lines=0-1",
        "bytes=x-y",
        "bytes=",
        "bytes=99999999999999999999-",
    ] {
        let answer = server.get("/main.js", &[&format!("Range: {range}")]);
        assert!(
            answer.status == 200 && answer.body == whole,
            "{range}: {}",
            answer.status
        );
    }
    for (condition, status) in [
        (tag.clone(), 206),
        (format!("W/{tag}"), 200),
        ("\"other\"".into(), 200),
        ("Wed, 21 Oct 2037 07:28:00 GMT".into(), 200),
        ("nonsense".into(), 200),
    ] {
        let answer = server.get(
            "/main.js",
            &["Range: bytes=0-9", &format!("If-Range: {condition}")],
        );
        assert_eq!(answer.status, status, "{condition}");
    }
    let head = server.ask("HEAD /main.js", &["Range: bytes=0-9"]);
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, all.to_string().as_str())
    );
}

#[test]
fn compressible_files_are_compressed_if_accepted() {
    let page = page();
    let server = Server::of(page.path());
    let plain = server.get("/main.js", &[]);
    assert_eq!(plain.header("content-encoding"), "");
    for (accepted, coding) in [
        ("gzip, deflate, br", "gzip"),
        ("gzip, deflate, br, zstd", "zstd"),
        ("zstd;q=0.5, gzip", "gzip"),
    ] {
        let answer = server.get("/main.js", &[&format!("Accept-Encoding: {accepted}")]);
        assert_eq!(answer.header("content-encoding"), coding, "{accepted}");
        assert!(
            answer.plain() == plain.body && answer.body.len() < plain.body.len() / 2,
            "{accepted}"
        );
        assert_eq!(
            answer.header("etag"),
            plain.header("etag").trim_end_matches('"').to_owned() + &format!("-{coding}\"")
        );
        assert_eq!(
            (answer.header("vary"), answer.header("content-type")),
            ("Accept-Encoding", plain.header("content-type"))
        );
        let head = server.ask("HEAD /main.js", &[&format!("Accept-Encoding: {accepted}")]);
        assert_eq!(
            head.header("content-length"),
            answer.header("content-length")
        );
    }
    for (path, accepted) in [
        ("/main.js", "br, deflate"),
        ("/main.js", "gzip;q=0, zstd;q=0, *"),
        ("/style.css", "gzip"),
        ("/icon.png", "gzip"),
        ("/noise.bin", "gzip, zstd"),
    ] {
        let answer = server.get(path, &[&format!("Accept-Encoding: {accepted}")]);
        assert_eq!(
            (answer.status, answer.header("content-encoding")),
            (200, ""),
            "{path}"
        );
    }
}

#[test]
fn large_files_are_compressed_for_later_requests() {
    let page = page();
    let server = Server::of(page.path());
    for coding in ["gzip", "zstd"] {
        let lines = [format!("Accept-Encoding: {coding}")];
        let first = server.get("/large.js", &[&lines[0]]);
        assert!(
            first.header("content-encoding").is_empty() && first.body == large().as_bytes(),
            "{coding}"
        );
        let begin = Instant::now();
        let again = loop {
            let again = server.get("/large.js", &[&lines[0]]);
            if again.header("content-encoding") == coding {
                break again;
            }
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "{coding}: never compressed"
            );
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(again.plain() == large().as_bytes(), "{coding}");
        // The uncompressed form stays valid.
        let known = format!("If-None-Match: {}", first.header("etag"));
        assert_eq!(server.get("/large.js", &[&lines[0], &known]).status, 304);
    }
}

#[test]
fn every_response_has_security_headers() {
    let page = page();
    let server = Server::of(page.path());
    let tag = format!("If-None-Match: {}", server.get("/", &[]).header("etag"));
    for (first, lines, status) in [
        ("GET /", &[][..], 200),
        ("GET /", &[tag.as_str()], 304),
        ("GET /main.js", &["Range: bytes=0-1"], 206),
        ("GET /main.js", &["Range: bytes=99999999-"], 416),
        ("GET /help", &[], 308),
        ("GET /nothing", &[], 404),
        ("POST /", &["Content-Length: 0"], 405),
        ("GET /", &["Host: evil.example"], 421),
        ("GET /pkg/worker.js", &[], 200),
        ("GET /pkg/work%65r.js", &[], 200),
        ("GET /pkg/relaxed/worker.js", &[], 404),
    ] {
        let answer = server.ask(first, lines);
        assert_eq!(answer.status, status, "{first}");
        for (name, value) in [
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-embedder-policy", "require-corp"),
            ("cross-origin-resource-policy", "same-origin"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(answer.header(name), value, "{first}: {name}");
        }
        let connect = if first.contains("/pkg/") {
            "'none'"
        } else {
            "'self'"
        };
        assert_eq!(
            answer.header("content-security-policy"),
            format!(
                "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                 img-src 'self' data: blob:; connect-src {connect}; worker-src 'self'; \
                 manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
            ),
            "{first}"
        );
    }
}

#[test]
fn only_loopback_hosts_are_answered() {
    let page = page();
    let server = Server::of(page.path());
    for host in [
        "localhost",
        "LOCALHOST:8080",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8080",
    ] {
        assert_eq!(
            server.get("/", &[&format!("Host: {host}")]).status,
            200,
            "{host}"
        );
    }
    for host in [
        "evil.example",
        "localhost.evil.example:8080",
        "192.168.1.2",
        "0.0.0.0",
        "",
    ] {
        let answer = server.get("/", &[&format!("Host: {host}")]);
        assert_eq!(answer.status, 421, "{host}");
        assert!(
            String::from_utf8_lossy(&answer.body).contains("only at localhost, 127.0.0.1 or [::1]")
        );
    }
    assert_eq!(
        server
            .ask("GET /", &["Host: localhost", "Host: evil.example"])
            .status,
        421
    );
    assert_eq!(server.get("http://evil.example/", &[]).status, 421);
}
