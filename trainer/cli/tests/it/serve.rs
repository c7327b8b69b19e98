//! `pel serve` over real connections.

mod client;
mod crowd;
mod http;

use crate::common::{bundle, copy, output_of, pel};
use client::{Server, page, script};
use std::net::TcpListener;

#[test]
fn files_have_media_types() {
    let page = page();
    let server = Server::of(page.path());
    for (path, kind, file) in [
        ("/", "text/html; charset=utf-8", "index.html"),
        (
            "/index.html?from=here",
            "text/html; charset=utf-8",
            "index.html",
        ),
        ("/help/", "text/html; charset=utf-8", "help/index.html"),
        ("/main.js", "text/javascript; charset=utf-8", "main.js"),
        ("/style.css", "text/css; charset=utf-8", "style.css"),
        ("/icon.svg", "image/svg+xml", "icon.svg"),
        ("/icon.png", "image/png", "icon.png"),
        ("/noise.bin", "application/octet-stream", "noise.bin"),
        ("/empty.txt", "text/plain; charset=utf-8", "empty.txt"),
        (
            "/a%20page%20%C3%A9.md",
            "text/markdown; charset=utf-8",
            "a page \u{e9}.md",
        ),
        ("/pkg/pel_bg.wasm", "application/wasm", "pkg/pel_bg.wasm"),
        (
            "/bundle/manifest.json",
            "application/json",
            "bundle/manifest.json",
        ),
    ] {
        let answer = server.get(path, &[]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, kind),
            "{path}"
        );
        assert!(
            answer.body == std::fs::read(page.path().join(file)).expect("read"),
            "{path}"
        );
        assert_eq!(answer.header("cache-control"), "no-cache");

        let head = server.ask(&format!("HEAD {path}"), &[]);
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
        for name in [
            "content-length",
            "content-type",
            "etag",
            "accept-ranges",
            "vary",
        ] {
            assert_eq!(head.header(name), answer.header(name), "{path}: {name}");
        }
    }
    let moved = server.get("/help", &[]);
    assert_eq!((moved.status, moved.header("location")), (308, "/help/"));
}

#[test]
fn other_paths_are_not_found() {
    let page = page();
    let server = Server::of(page.path());
    for path in [
        "/nothing",
        "/../",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/help/../../etc/passwd",
        "/help%2findex.html/",
        "/..%5c..%5cwindows",
        "//etc/passwd",
        "//",
        "/pkg/",
        "/main.js/",
        "/.git/config",
        "/main.js%00",
        "/%ff",
        "/%",
    ] {
        let answer = server.get(path, &[]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (404, "text/plain; charset=utf-8"),
            "{path}"
        );
        assert_eq!(answer.body, b"No such file.", "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"] {
        let answer = server.ask(&format!("{method} /"), &["Content-Length: 0"]);
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, "GET, HEAD"),
            "{method}"
        );
    }
}

#[test]
fn given_bundle_replaces_the_page_s_own() {
    let page = page();
    let folder = tempfile::tempdir().expect("a folder");
    let one = folder.path().join("b.pel").display().to_string();
    assert_eq!(output_of(pel(&["pack", bundle(), &one])).code, Some(0));
    for bundle_given in [bundle(), one.as_str()] {
        let server = Server::start(page.path(), &["--port", "0", "--bundle", bundle_given]);
        for entry in std::fs::read_dir(bundle()).expect("listed") {
            let entry = entry.expect("listed");
            let answer = server.get(
                &format!("/bundle/{}", entry.file_name().to_string_lossy()),
                &[],
            );
            assert_eq!(answer.status, 200, "{:?}", entry.file_name());
            assert!(
                answer.body == std::fs::read(entry.path()).expect("read"),
                "{:?}",
                entry.file_name()
            );
        }
        let manifest = server.get("/bundle/manifest.json", &["Accept-Encoding: gzip"]);
        assert_eq!(manifest.header("content-type"), "application/json");
        assert_eq!(
            manifest.plain(),
            std::fs::read(format!("{}/manifest.json", bundle())).expect("read")
        );
        assert_eq!(server.get("/", &[]).status, 200);
        assert_eq!(server.get("/bundle/nothing.bin", &[]).status, 404);
    }
}

#[test]
fn invalid_arguments_are_reported() {
    let (page, folder) = (page(), tempfile::tempdir().expect("a folder"));
    let at = |name: &str| folder.path().join(name).display().to_string();
    let page = page.path().display().to_string();
    copy(bundle(), &folder.path().join("damaged"));
    std::fs::write(folder.path().join("damaged/config.json"), "{}").expect("written");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("a port").port().to_string();
    for (args, code, expected) in [
        (
            vec!["--page", &at("nothing")],
            3,
            "expected the folder of the built page, found no such file or folder",
        ),
        (
            vec!["--page", &format!("{page}/index.html")],
            3,
            "expected the folder of the built page, found a file",
        ),
        (
            vec!["--page", &at("")],
            3,
            "expected the folder of the built page, found a folder without index.html",
        ),
        (
            vec!["--page", &page, "--bundle", &at("nothing")],
            4,
            "expected a bundle: no such file or folder",
        ),
        (
            vec!["--page", &page, "--bundle", &at("damaged")],
            4,
            "`config.json` has been cut or extended",
        ),
        (
            vec!["--page", &page, "--port", &port],
            3,
            &format!("found {port} of 127.0.0.1 in use"),
        ),
        (
            vec!["--page", &page, "--host", "192.0.2.1"],
            3,
            "--host 192.0.2.1: expected an address of this machine",
        ),
        (vec!["--page", &page, "--port", "65536"], 2, "--port"),
        (vec![], 2, "--page"),
    ] {
        let done = output_of(pel(&[&["serve"], &args[..]].concat()));
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.err);
        assert!(
            done.err.contains(expected) && done.out.is_empty(),
            "{args:?}: {}",
            done.err
        );
    }
}

#[cfg(unix)]
#[test]
fn links_to_files_outside_the_page_are_refused() {
    use std::os::unix::fs::symlink;
    let (page, outside) = (page(), tempfile::NamedTempFile::new().expect("a file"));
    symlink(page.path().join("main.js"), page.path().join("inside.js")).expect("linked");
    assert!(Server::of(page.path()).get("/inside.js", &[]).body == script().as_bytes());
    symlink(outside.path(), page.path().join("help/outside.txt")).expect("linked");
    let done = output_of(pel(&[
        "serve",
        "--page",
        &page.path().display().to_string(),
    ]));
    assert_eq!(done.code, Some(3), "{}", done.err);
    assert!(
        done.err
            .contains("outside.txt: this link leads out of the page's folder"),
        "{}",
        done.err
    );
}

#[test]
fn default_port_is_the_next_free_one() {
    let page = page();
    let (one, other) = (
        Server::start(page.path(), &[]),
        Server::start(page.path(), &[]),
    );
    assert!(
        one.port >= 8080 && other.port >= 8080 && one.port != other.port,
        "{} {}",
        one.port,
        other.port
    );
    assert_eq!(
        (one.get("/", &[]).status, other.get("/", &[]).status),
        (200, 200)
    );
}

#[cfg(unix)]
mod end {
    use super::{Server, page};
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    /// Interrupts a server and returns its standard error.
    fn interrupt(server: &mut Server) -> String {
        let id = server.child.id().to_string();
        assert!(
            std::process::Command::new("kill")
                .args(["-INT", &id])
                .status()
                .expect("kill can be started")
                .success()
        );
        let (begin, mut err) = (Instant::now(), String::new());
        server
            .child
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut err)
            .expect("UTF-8");
        assert_eq!(
            server.child.wait().expect("it ends").code(),
            Some(0),
            "{err}"
        );
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "{:?}",
            begin.elapsed()
        );
        err
    }

    #[test]
    fn interrupt_ends_the_server_with_open_connections() {
        let page = page();
        let mut server = Server::of(page.path());
        let silent = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
        let mut kept = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
        write!(kept, "GET /style.css HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut begun = [0; 12];
        kept.read_exact(&mut begun).expect("an answer");
        assert_eq!(&begun, b"HTTP/1.1 200");
        let err = interrupt(&mut server);
        assert!(
            !err.contains("GET") && !err.contains("style"),
            "requests are not logged: {err}"
        );
        drop((silent, kept));
    }

    #[test]
    fn public_address_causes_a_warning() {
        let page = page();
        let mut server = Server::start(page.path(), &["--port", "0", "--host", "0.0.0.0"]);
        assert_eq!(server.get("/", &["Host: clinic.example"]).status, 200);
        let err = interrupt(&mut server);
        assert!(
            err.contains(&format!(
                "others on the network can reach the page at port {}",
                server.port
            )),
            "{err}"
        );
    }
}
