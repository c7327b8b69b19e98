//! Errors as problem details (RFC 9457).

use axum::body::Body;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use pel_kb::error::{Error, Kind};
use serde::Serialize;
use utoipa::ToSchema;

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// Maximum length of a detail, in code points. Messages of the JSON reader can contain values.
const DETAIL: usize = 300;

/// An error as problem details (RFC 9457).
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// Always `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The words of the status.
    title: String,
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// What is wrong, and what to do.
    detail: String,
    /// The field of the body, the parameter or the header that is wrong, such as
    /// `texts[3].spans[0]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    field: Option<String>,
    /// Headers of its response.
    #[serde(skip)]
    #[schema(ignore)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem with a status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let detail: String = detail.into();
        let end = detail.char_indices().nth(DETAIL).map(|(at, _)| at);
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            detail: end.map_or_else(
                || detail.clone(),
                |end| format!("{}...", detail.get(..end).unwrap_or_default()),
            ),
            field: None,
            headers: Vec::new(),
        }
    }

    /// A body or parameter that cannot be read: status 400.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// A value of the wrong kind or out of its range: status 422.
    pub fn unprocessable(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail).field(field)
    }

    /// Too much at once: status 413.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// The server has too much to do: status 429, to be tried again after some seconds.
    pub fn busy(seconds: u64, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(seconds)
    }

    /// The time of a request is over: status 504.
    pub fn late(seconds: u64) -> Self {
        Self::new(
            StatusCode::GATEWAY_TIMEOUT,
            format!(
                "reading and linking took longer than {seconds} s (--request-timeout); send less \
                 text at once"
            ),
        )
    }

    /// The server is stopping: status 503.
    pub fn stopping() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping").retry_after(5)
    }

    /// An error of this program: status 500. Its cause is not told, since it could contain text.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal error of the server, please report it",
        )
    }

    /// Names the field that is wrong.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into()).filter(|field| !field.is_empty());
        self
    }

    /// Puts the problem's field into another one.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = Some(match self.field.take() {
            Some(field) => format!("{outer}.{field}"),
            None => outer.to_owned(),
        });
        self
    }

    /// Adds a header to its response.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, &seconds.max(1).to_string())
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The response.
    pub fn response(&self) -> Response<Body> {
        let body = serde_json::to_vec(self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        response
    }
}

impl From<Error> for Problem {
    /// Input that does not fit is the sender's; the rest is an internal error.
    fn from(error: Error) -> Self {
        match error.kind() {
            Kind::Input => Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()),
            Kind::Interrupted => Self::stopping(),
            _ => Self::internal(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        let problem = Problem::bad_request("\u{e9}".repeat(400));
        assert_eq!(problem.detail, format!("{}...", "\u{e9}".repeat(300)));
        assert_eq!(Problem::bad_request("short").detail, "short");
    }

    #[test]
    fn fields_are_nested() {
        let problem = Problem::unprocessable("spans[0]", "").within("texts[3]");
        assert_eq!(problem.field.as_deref(), Some("texts[3].spans[0]"));
        let problem = Problem::bad_request("").within("texts[3]");
        assert_eq!(problem.field.as_deref(), Some("texts[3]"));
    }

    #[test]
    fn other_errors_tell_no_cause() {
        let problem = Problem::from(Error::artifact("secret"));
        assert_eq!(problem.status, 500);
        assert!(!problem.detail.contains("secret"));
        assert_eq!(Problem::from(Error::input("it is empty")).status, 422);
    }
}
