//! Who may ask: the bearer token, and the origins of browsers.

use crate::api::problem::Problem;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use pel_io::files::read_text;
use pel_kb::error::{Error, Result};
use std::path::Path;

/// The fewest characters of a token.
const TOKEN: usize = 16;

/// Methods and headers that another origin may use.
const ALLOWED: (&str, &str) = ("GET, POST", "authorization, content-type, accept");

/// A bearer token. Only its hash is kept.
pub struct Token(blake3::Hash);

impl Token {
    /// Reads a token from a file with one line. Warns if other users can read the file.
    ///
    /// # Errors
    /// If the file cannot be read, or has no token of at least 16 visible ASCII characters.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let token = text.trim();
        if token.len() < TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            // The token itself is not told.
            return Err(Error::input(format!(
                "--token-file {}: the file must have one line of at least {TOKEN} visible ASCII \
                 characters, without spaces; `openssl rand -hex 32` prints one",
                path.display()
            )));
        }
        warn_if_readable(path, "--token-file");
        Ok(Self(blake3::hash(token.as_bytes())))
    }

    /// Checks the header `Authorization`. Hashes are compared, in a time that does not depend on
    /// them.
    ///
    /// # Errors
    /// Status 401.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let given = match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok().and_then(|value| {
                let (scheme, token) = value.split_once(' ')?;
                scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
            }),
            _ => None,
        };
        let (detail, challenge) = match given {
            None => (
                "this server needs a token; send it in the header `Authorization: Bearer TOKEN`",
                "Bearer realm=\"pel\"",
            ),
            Some(token) if blake3::hash(token.as_bytes()) == self.0 => return Ok(()),
            Some(_) => (
                "this is not the token of this server; its --token-file has the right one",
                "Bearer realm=\"pel\", error=\"invalid_token\"",
            ),
        };
        Err(Problem::new(StatusCode::UNAUTHORIZED, detail)
            .field("Authorization")
            .header(header::WWW_AUTHENTICATE, challenge))
    }
}

/// Warns if other users can read a file with a secret.
pub fn warn_if_readable(path: &Path, option: &str) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0, |data| data.permissions().mode());
        if mode & 0o027 != 0 {
            eprintln!(
                "warning: {option} {}: other users of this machine can use the file; chmod 600 \
                 prevents it",
                path.display()
            );
        }
    }
    #[cfg(not(unix))]
    let _ = (path, option);
}

/// An origin that browsers send: `https://host` or `https://host:port`, in lower case.
#[derive(Clone, Debug)]
pub struct Origin(HeaderValue);

impl std::str::FromStr for Origin {
    type Err = String;

    fn from_str(origin: &str) -> Result<Self, String> {
        let host = origin
            .strip_prefix("https://")
            .or_else(|| origin.strip_prefix("http://"));
        let plain = |host: &str| !host.is_empty() && !host.contains(['/', '*', '?', '#', '@', ' ']);
        // Browsers send hosts in lower case.
        match HeaderValue::from_str(&origin.to_ascii_lowercase()) {
            Ok(value) if host.is_some_and(plain) => Ok(Self(value)),
            _ => Err("expected an origin such as https://notes.example.org, without a path".into()),
        }
    }
}

/// The origins that may use the interface from a browser; none by default.
#[derive(Default)]
pub struct Origins(pub Vec<Origin>);

impl Origins {
    /// The origin of a request, if it is allowed.
    pub fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let allowed = |allowed: &&Origin| allowed.0 == origin;
        self.0.iter().find(allowed).map(|origin| origin.0.clone())
    }

    /// Adds the headers of CORS to a response.
    pub fn add<B>(&self, origin: Option<HeaderValue>, response: &mut Response<B>) {
        if self.0.is_empty() {
            return;
        }
        let headers = response.headers_mut();
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                HeaderValue::from_static("retry-after"),
            );
        }
    }

    /// Adds the headers that answer a preflight request.
    pub fn add_preflight<B>(response: &mut Response<B>) {
        let headers = response.headers_mut();
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED.0),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED.1),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_accepted() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "0123456789abcdef\n").expect("written");
        let token = Token::read(file.path()).expect("a token");
        for (value, expected) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer  0123456789abcdef", true),
            ("Bearer 0123456789abcdeg", false),
            ("Bearer 0123456789abcde", false),
            ("Bearer", false),
            ("Basic 0123456789abcdef", false),
            ("0123456789abcdef", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, HeaderValue::from_static(value));
            assert_eq!(token.check(&headers).is_ok(), expected, "{value}");
        }
        assert!(token.check(&HeaderMap::new()).is_err());
        for text in ["", "short", "two words are here, but"] {
            std::fs::write(file.path(), text).expect("written");
            assert!(Token::read(file.path()).is_err(), "{text}");
        }
    }

    #[test]
    fn origins_have_no_path() {
        for (origin, expected) in [
            ("https://a.example", true),
            ("http://localhost:3000", true),
            ("https://a.example/", false),
            ("*", false),
            ("https://*", false),
            ("a.example", false),
        ] {
            assert_eq!(origin.parse::<Origin>().is_ok(), expected, "{origin}");
        }
        let origin = "https://A.Example".parse::<Origin>().expect("an origin");
        assert_eq!(origin.0, "https://a.example");
    }
}
