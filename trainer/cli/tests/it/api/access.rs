//! Token, TLS, origins, hosts and the page beside the interface.

use crate::api::client::{JSON, Server, answer, send};
use crate::common::{bundle, output_of, pel};
use std::io::Write;
use std::path::{Path, PathBuf};

fn token_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    file
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/tls")
        .join(name)
}

#[test]
fn token_is_needed() {
    let file = token_file("0123456789abcdef\n");
    let path = file.path().display().to_string();
    let server = Server::new(&["--token-file", &path]);
    for first in [
        "POST /v1/link",
        "GET /metrics",
        "GET /openapi.json",
        "GET /v1/other",
    ] {
        let answer = server.ask(first, &[JSON], b"{\"text\": \"\"}");
        answer.is_problem(401, Some("Authorization"), first);
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"pel\"");
    }
    let wrong = server.ask(
        "GET /metrics",
        &["Authorization: Bearer 0123456789abcdeF"],
        b"",
    );
    wrong.is_problem(401, Some("Authorization"), "another");
    assert!(wrong.header("www-authenticate").contains("invalid_token"));
    let right = "Authorization: Bearer 0123456789abcdef";
    let answer = server.ask("POST /v1/link", &[JSON, right], b"{\"text\": \"\"}");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(
        (server.get("/health").status, server.get("/ready").status),
        (200, 200)
    );
    let description = server.ask("GET /openapi.json", &[right], b"").json();
    assert_eq!(
        description["components"]["securitySchemes"]["token"]["scheme"],
        "bearer"
    );
}

#[cfg(unix)]
#[test]
fn secrets_that_others_can_read_cause_a_warning() {
    use std::os::unix::fs::PermissionsExt;
    let file = token_file("0123456789abcdef\n");
    let path = file.path().display().to_string();
    for (mode, warned) in [(0o600, false), (0o644, true)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(file.path(), permissions).expect("set");
        let (_, err) = Server::new(&["--token-file", &path]).stop("-INT");
        assert_eq!(err.contains("chmod 600"), warned, "{err}");
        assert!(!err.contains("0123456789abcdef"), "{err}");
    }
}

#[test]
fn invalid_options_are_reported() {
    let short = token_file("short");
    let (short, key) = (short.path().display().to_string(), fixture("localhost.key"));
    let (key, pem) = (
        key.display().to_string(),
        fixture("localhost.pem").display().to_string(),
    );
    for (args, code, expected) in [
        (vec!["--api"], 2, "--bundle"),
        (vec!["--token-file", &short, "--page", "x"], 2, "--api"),
        (
            vec!["--api", "--bundle", bundle(), "--token-file", &short],
            3,
            "at least 16 visible",
        ),
        (
            vec!["--api", "--bundle", bundle(), "--tls-cert", &pem],
            2,
            "--tls-key",
        ),
        (
            vec![
                "--api",
                "--bundle",
                bundle(),
                "--tls-cert",
                &key,
                "--tls-key",
                &key,
            ],
            3,
            "the file has no certificate in PEM",
        ),
        (
            vec![
                "--api",
                "--bundle",
                bundle(),
                "--tls-cert",
                &pem,
                "--tls-key",
                &pem,
            ],
            3,
            "the file has no private key in PEM",
        ),
        (
            vec!["--api", "--bundle", bundle(), "--allow-origin", "*"],
            2,
            "expected an origin such as",
        ),
        (
            vec!["--api", "--bundle", bundle(), "--max-memory", "1KiB"],
            2,
            "at least as large as --max-body",
        ),
        (vec!["--api", "--bundle", "nothing"], 4, "expected a bundle"),
    ] {
        let done = output_of(pel(&[&["serve"], &args[..]].concat()));
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.err);
        assert!(
            done.err.contains(expected) && !done.err.contains("short\""),
            "{args:?}: {}",
            done.err
        );
    }
}

#[test]
fn connections_can_be_encrypted() {
    use std::sync::Arc;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
    let (pem, key) = (fixture("localhost.pem"), fixture("localhost.key"));
    let (cert, key) = (pem.display().to_string(), key.display().to_string());
    let server = Server::new(&["--tls-cert", &cert, "--tls-key", &key]);
    assert!(server.address.starts_with("https://"));
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(&pem).expect("a certificate");
    roots.add(certificate).expect("added");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(client, server.connect());
    send(
        &mut stream,
        "POST /v1/link",
        &[JSON],
        b"{\"text\": \"fever\"}",
    );
    let linked = answer(&mut stream);
    assert_eq!(linked.json()["mentions"][0]["concept"]["id"], "D1");
    // Plain HTTP is not answered.
    let mut plain = server.connect();
    send(&mut plain, "GET /health", &[], b"");
    let mut bytes = Vec::new();
    let _ = std::io::Read::read_to_end(&mut plain, &mut bytes);
    assert!(!bytes.starts_with(b"HTTP"));
}

#[test]
fn other_origins_need_permission() {
    let preflight = [
        "Origin: https://notes.example",
        "Access-Control-Request-Method: POST",
    ];
    let allowed = |server: &Server, first: &str, lines: &[&str]| {
        let answer = server.ask(first, lines, b"");
        let origin = answer.header("access-control-allow-origin").to_owned();
        (answer.status, origin)
    };
    let server = Server::new(&[]);
    assert_eq!(
        allowed(&server, "OPTIONS /v1/link", &preflight),
        (405, String::new())
    );
    assert_eq!(
        allowed(&server, "GET /health", &preflight[..1]),
        (200, String::new())
    );
    let server = Server::new(&["--allow-origin", "https://notes.example"]);
    let origin = "https://notes.example".to_owned();
    assert_eq!(
        allowed(&server, "OPTIONS /v1/link", &preflight),
        (204, origin.clone())
    );
    assert_eq!(
        allowed(&server, "GET /health", &preflight[..1]),
        (200, origin)
    );
    let other = ["Origin: https://other.example", preflight[1]];
    assert_eq!(
        allowed(&server, "OPTIONS /v1/link", &other),
        (405, String::new())
    );
}

#[cfg(unix)]
#[test]
fn handshakes_do_not_delay_the_stop() {
    let name = |file: &str| fixture(file).display().to_string();
    let (cert, key) = (name("localhost.pem"), name("localhost.key"));
    let more = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--stop-timeout",
        "60",
    ];
    let mut server = Server::new(&more);
    let _silent = server.connect();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let begun = std::time::Instant::now();
    let (code, err) = server.stop("-TERM");
    assert_eq!(code, Some(0), "{err}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(10));
}

#[test]
fn refused_bodies_are_read_to_their_end() {
    let file = token_file("0123456789abcdef");
    let server = Server::new(&["--token-file", &file.path().display().to_string()]);
    let body = vec![b' '; 16 << 20];
    let mut stream = server.connect();
    write!(
        stream,
        "POST /v1/link HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    )
    .expect("sent");
    stream.write_all(&body).expect("the server reads it");
    answer(&mut stream).is_problem(401, Some("Authorization"), "no token");
}

#[test]
fn other_hosts_are_refused_without_token() {
    let host = ["Host: other.example"];
    Server::new(&[])
        .ask("GET /health", &host, b"")
        .is_problem(421, Some("Host"), "a host");
    let file = token_file("0123456789abcdef");
    let server = Server::new(&["--token-file", &file.path().display().to_string()]);
    assert_eq!(server.ask("GET /health", &host, b"").status, 200);
}

#[cfg(unix)]
#[test]
fn public_address_causes_a_warning() {
    let file = token_file("0123456789abcdef");
    let token = ["--token-file", &file.path().display().to_string()];
    for (more, expected) in [
        (&[][..], "without TLS and without a token"),
        (&token, "without TLS ("),
    ] {
        let mut server = Server::new(&[&["--host", "0.0.0.0"], more].concat());
        assert_eq!(
            server
                .ask("GET /health", &["Host: clinic.example"], b"")
                .status,
            200
        );
        let (_, err) = server.stop("-TERM");
        assert!(
            err.contains("others on the network") && err.contains(expected),
            "{err}"
        );
    }
}

#[test]
fn probe_asks_whether_the_server_is_ready() {
    let probe = |port: u16| output_of(pel(&["serve", "--probe", &port.to_string()]));
    let mut server = Server::new(&[]);
    let done = probe(server.port);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    server.child.kill().expect("killed");
    server.child.wait().expect("ended");
    assert_eq!(probe(server.port).code, Some(6));
}

#[test]
fn page_stands_beside_the_interface() {
    let page = tempfile::tempdir().expect("a folder");
    std::fs::write(page.path().join("index.html"), "<!doctype html>").expect("written");
    let server = Server::new(&["--page", &page.path().display().to_string()]);
    let index = server.get("/");
    assert_eq!(
        (index.status, index.text()),
        (200, "<!doctype html>".to_owned())
    );
    assert_eq!(server.get("/bundle/manifest.json").status, 200);
    assert_eq!(server.ask("POST /", &[], b"").header("allow"), "GET, HEAD");
    assert_eq!(server.get("/nothing").text(), "No such file.");
    server.get("/v1/nothing").is_problem(404, None, "a route");
    assert_eq!(
        server.link("{\"text\": \"fever\"}").json()["mentions"][0]["concept"]["id"],
        "D1"
    );
}
