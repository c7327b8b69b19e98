//! Answers HTTP requests.

use super::site::{Coding, File, Found, Site};
use bytes::Bytes;
use headers::{
    AcceptRanges, ContentLength, ContentRange, ContentType, HeaderMapExt, IfNoneMatch, IfRange,
};
use http_body_util::Full;
use http_range_header::{EndPosition, StartPosition, parse_range_header};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{Method, Request, Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use std::cmp::Reverse;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;

type Answer = Response<Full<Bytes>>;

/// The Content-Security-Policy with the given `connect-src`.
macro_rules! policy {
    ($connect:literal) => {
        concat!(
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src \
             'self' data: blob:; ",
            "connect-src ",
            $connect,
            "; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        )
    };
}

/// Headers of every response.
const ALWAYS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-cache"),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Answers a request; `local` if the server listens on loopback only.
pub async fn answer<B>(site: &Site, request: &Request<B>, local: bool) -> Answer {
    let path = percent_decode_str(request.uri().path()).decode_utf8_lossy();
    let mut answer = if local && !names_this_machine(request) {
        let message = "This server answers only at localhost, 127.0.0.1 or [::1]. Use one of them.";
        text(StatusCode::MISDIRECTED_REQUEST, message)
    } else if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut answer = text(
            StatusCode::METHOD_NOT_ALLOWED,
            "This server has files for GET and HEAD, and no other method.",
        );
        answer
            .headers_mut()
            .insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        answer
    } else {
        match site.find(&path) {
            Some(Found::File(file)) => send(file, request).await,
            Some(Found::Folder) => move_to(&format!("{path}/")),
            None => text(StatusCode::NOT_FOUND, "No such file."),
        }
    };
    // The worker that reads notes must not connect to anything.
    let alone = path.contains("/pkg/") && path.ends_with("worker.js");
    let policy = if alone {
        policy!("'none'")
    } else {
        policy!("'self'")
    };
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(policy),
    );
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Whether all hosts named in the request are loopback. This prevents DNS rebinding, by which
/// another site could read what is served.
pub(crate) fn names_this_machine<B>(request: &Request<B>) -> bool {
    let headers = request.headers();
    let one = headers.get_all(header::HOST).iter().count() == 1;
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let target = request.uri().authority().map(Authority::as_str);
    one && host.is_some_and(is_loopback) && target.is_none_or(is_loopback)
}

/// Whether a host, with a port or without, is loopback. Nothing may stand between host and port.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some(parts) => parts,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_number))
        && (name.eq_ignore_ascii_case("localhost")
            || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

/// A short text response.
fn text(status: StatusCode, message: &'static str) -> Answer {
    let mut answer = Response::new(Full::from(message));
    *answer.status_mut() = status;
    answer.headers_mut().typed_insert(ContentType::text_utf8());
    answer
}

/// Redirects to a folder with a slash, so that relative links of its page resolve inside it.
fn move_to(path: &str) -> Answer {
    const SPECIAL: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'#')
        .add(b'%')
        .add(b'<')
        .add(b'>')
        .add(b'?')
        .add(b'\\');
    let mut answer = text(
        StatusCode::PERMANENT_REDIRECT,
        "The page is at this address followed by a slash.",
    );
    if let Ok(path) = HeaderValue::from_str(&utf8_percent_encode(path, SPECIAL).to_string()) {
        answer.headers_mut().insert(header::LOCATION, path);
    }
    answer
}

/// Sends a file: status 304 if the browser has it, the requested range, or the whole, compressed if
/// possible.
async fn send<B>(file: &Arc<File>, request: &Request<B>) -> Answer {
    let headers = request.headers();
    // Only GET has ranges, and they count uncompressed bytes.
    let ranged = request.method() == Method::GET && headers.contains_key(header::RANGE);
    let codings = if ranged {
        Vec::new()
    } else {
        accepted(headers)
    };
    let mut answer = Response::new(Full::default());
    let mut tag = file.tag(None);
    let forms = || std::iter::once(None).chain(codings.iter().copied().map(Some));
    let known = has_sound_tags(headers, &header::IF_NONE_MATCH)
        .then(|| headers.typed_get::<IfNoneMatch>())
        .flatten();
    let known = known.and_then(|known| {
        forms()
            .map(|form| file.tag(form))
            .find(|tag| !known.precondition_passes(tag))
    });
    if let Some(known) = known {
        tag = known;
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        let mut bytes = file.bytes.clone();
        answer
            .headers_mut()
            .typed_insert(ContentType::from(file.kind.clone()));
        match if ranged {
            range(file, headers)
        } else {
            RequestedRange::Whole
        } {
            RequestedRange::Part(part) => {
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                let named =
                    ContentRange::bytes(part.start as u64..part.end as u64, bytes.len() as u64);
                named
                    .into_iter()
                    .for_each(|named| answer.headers_mut().typed_insert(named));
                bytes = bytes.slice(part);
            }
            RequestedRange::Beyond => {
                let mut answer = text(
                    StatusCode::RANGE_NOT_SATISFIABLE,
                    "The range is outside the file.",
                );
                answer
                    .headers_mut()
                    .typed_insert(ContentRange::unsatisfied_bytes(bytes.len() as u64));
                return answer;
            }
            RequestedRange::Whole => {
                // If the first coding does not make it smaller, the next one would not either.
                if let Some(coding) = codings.first().copied()
                    && let Some(packed) = file.packed(coding).await
                {
                    (bytes, tag) = (packed, file.tag(Some(coding)));
                    answer.headers_mut().insert(
                        header::CONTENT_ENCODING,
                        HeaderValue::from_static(coding.name()),
                    );
                }
            }
        }
        // Set explicitly, because the empty response to HEAD would have no length.
        answer
            .headers_mut()
            .typed_insert(ContentLength(bytes.len() as u64));
        *answer.body_mut() = Full::new(bytes);
    }
    let headers = answer.headers_mut();
    headers.typed_insert(tag.clone());
    headers.typed_insert(AcceptRanges::bytes());
    headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    answer
}

/// The requested part of a file.
enum RequestedRange {
    /// The whole file; also if it has changed, or several ranges or other units are requested.
    Whole,
    Part(Range<usize>),
    /// A range outside the file.
    Beyond,
}

fn range(file: &File, headers: &HeaderMap) -> RequestedRange {
    let same = |known: IfRange| !known.is_modified(Some(file.tag(None)), None);
    let is_same = || {
        has_sound_tags(headers, &header::IF_RANGE)
            && headers.typed_get::<IfRange>().is_some_and(same)
    };
    if headers.contains_key(header::IF_RANGE) && !is_same() {
        return RequestedRange::Whole;
    }
    let range = headers
        .get(header::RANGE)
        .and_then(|range| range.to_str().ok());
    let Some(Ok(range)) = range.map(parse_range_header) else {
        return RequestedRange::Whole;
    };
    let [range] = range.ranges[..] else {
        return RequestedRange::Whole;
    };
    let len = file.bytes.len() as u64;
    // The parser's `validate` refuses a suffix range longer than the file.
    let part = match (range.start, range.end) {
        (StartPosition::FromLast(last), _) => len.saturating_sub(last)..len,
        (StartPosition::Index(from), EndPosition::LastByte) => from..len,
        (StartPosition::Index(from), EndPosition::Index(to)) => from..len.min(to.saturating_add(1)),
    };
    if part.is_empty() {
        RequestedRange::Beyond
    } else {
        RequestedRange::Part(part.start as usize..part.end as usize)
    }
}

/// Whether the quoted tags of a header end, and have no white space or control characters, which
/// HTTP forbids. With debug assertions the library panics on such tags; it joins the values of a
/// header, so a tag without end in one value goes on in the next.
fn has_sound_tags(headers: &HeaderMap, name: &HeaderName) -> bool {
    headers.get_all(name).iter().all(|value| {
        let mut quoted = false;
        let sound = value.as_bytes().iter().all(|byte| {
            quoted ^= *byte == b'"';
            !quoted || *byte > b' ' && *byte != 0x7f
        });
        sound && !quoted
    })
}

/// The accepted codings, preferred ones first.
pub(crate) fn accepted(headers: &HeaderMap) -> Vec<Coding> {
    let values = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let words = values.flat_map(|value| value.split(','));
    let weights: Vec<(&str, u16)> = words
        .map(|word| {
            let (name, parameters) = word.split_once(';').unwrap_or((word, ""));
            let weight = parameters
                .trim()
                .strip_prefix(['q', 'Q'])
                .map(|rest| rest.trim_start_matches(['=', ' ']));
            // In thousandths, the finest HTTP allows.
            let weight = weight
                .map_or(Some(1.0), |weight| weight.trim().parse::<f32>().ok())
                .unwrap_or(0.0);
            (name.trim(), (weight.clamp(0.0, 1.0) * 1000.0) as u16)
        })
        .collect();
    let weight = |coding: &Coding| {
        let of = |name: &str| {
            weights
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name))
                .map(|(_, weight)| *weight)
        };
        of(coding.name()).or_else(|| of("*")).unwrap_or(0)
    };
    let mut codings: Vec<Coding> = Coding::ALL
        .into_iter()
        .filter(|coding| weight(coding) > 0)
        .collect();
    codings.sort_by_key(|coding| Reverse(weight(coding)));
    codings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codings_are_ordered_by_weight() {
        use Coding::{Gzip, Zstd};
        for (header, expected) in [
            ("", &[][..]),
            ("identity", &[]),
            ("gzip, deflate", &[Gzip]),
            ("gzip, deflate, br, zstd", &[Zstd, Gzip]),
            ("gzip;q=1.0, zstd;q=0.5", &[Gzip, Zstd]),
            ("GZIP ; q = 0.001", &[Gzip]),
            ("zstd;q=0, *", &[Gzip]),
            ("*;q=0", &[]),
            ("gzip;q=x", &[]),
            ("gzip;q=", &[]),
            (",;,=", &[]),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(accepted(&headers), expected, "{header}");
        }
        assert!(accepted(&HeaderMap::new()).is_empty());
    }

    #[test]
    fn tags_with_white_space_are_invalid() {
        for (value, expected) in [
            ("\"a\", W/\"b\" , \"\"", true),
            ("*", true),
            ("Tue, 15 Nov 1994 12:45:26 GMT", true),
            ("\"a b\"", false),
            ("\"a\", \"b\t\"", false),
            ("\"a \"b\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static(value));
            assert_eq!(
                has_sound_tags(&headers, &header::IF_NONE_MATCH),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn loopback_hosts_are_recognised() {
        for (uri, host, expected) in [
            ("/", "localhost", true),
            ("/", "LocalHost:8080", true),
            ("/", "127.0.0.1:80", true),
            ("/", "[::1]:80", true),
            ("http://localhost/", "localhost", true),
            ("/", "evil.example", false),
            ("/", "localhost.evil.example", false),
            ("/", "127.0.0.1.evil.example", false),
            ("/", "[::1].evil.example", false),
            ("/", "[::1]evil.example:80", false),
            ("/", "[::1]:80.evil.example", false),
            ("/", "[127.0.0.1", false),
            ("/", "127.0.0.1:80.evil.example", false),
            ("/", "localhost:x", false),
            ("/", "[::1]", true),
            ("http://[::1].evil.example/", "localhost", false),
            ("/", "localhost@evil.example", false),
            ("/", "192.168.0.1", false),
            ("/", "0.0.0.0", false),
            ("/", "", false),
            ("http://evil.example/", "localhost", false),
        ] {
            let request = Request::builder()
                .uri(uri)
                .header(header::HOST, host)
                .body(())
                .expect("a request");
            assert_eq!(names_this_machine(&request), expected, "{uri} {host}");
        }
        let request = |hosts: &[&str]| {
            let builder = hosts.iter().fold(Request::builder(), |request, host| {
                request.header(header::HOST, *host)
            });
            builder.body(()).expect("a request")
        };
        assert!(!names_this_machine(&request(&[])));
        assert!(!names_this_machine(&request(&[
            "localhost",
            "evil.example"
        ])));
    }
}
