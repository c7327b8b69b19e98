//! Responses, and the media types that they have.

use crate::api::accept::preferred;
use crate::api::problem::Problem;
use axum::body::Body;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

/// The media type of JSON.
pub const JSON: &str = "application/json";

/// The media type of tables.
pub const CSV: &str = "text/csv";

/// A response with a body.
pub fn response(kind: &str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let kind = match kind {
        CSV => "text/csv; charset=utf-8; header=present",
        kind => kind,
    };
    if let Ok(kind) = HeaderValue::from_str(kind) {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

/// The offer that a client accepts.
///
/// # Errors
/// Status 406.
pub fn offered<'o>(headers: &HeaderMap, offers: &[&'o str]) -> Result<&'o str, Problem> {
    preferred(headers, offers).ok_or_else(|| {
        let detail = format!(
            "the header Accept allows no media type of this answer; allow one of {}",
            offers.join(", ")
        );
        Problem::new(StatusCode::NOT_ACCEPTABLE, detail).field("Accept")
    })
}
