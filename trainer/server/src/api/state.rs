//! `/health`, `/ready`, `/metrics`, `/openapi.json` and `/docs`: about the server itself.

use crate::api::concepts::no_parameters;
use crate::api::http::{JSON, offered, response};
use crate::api::problem::Problem;
use crate::api::{Api, metrics as counts};
use axum::body::Body;
use axum::extract::State;
use hyper::{Request, Response};
use pel_io::interrupt;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

/// Whether a path needs no token: an orchestrator has none.
pub fn is_open(path: &str) -> bool {
    matches!(path, "/health" | "/ready")
}

/// The state of the server.
#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// `ok`.
    status: &'static str,
    /// The version of PEL.
    version: &'static str,
}

/// The answer to a request without parameters.
fn plain(request: &Request<Body>, kind: &str, body: impl Into<Body>) -> Response<Body> {
    let essence = kind.split(';').next().unwrap_or_default();
    let checked = no_parameters(request).and_then(|()| offered(request.headers(), &[essence]));
    match checked {
        Ok(_) => response(kind, body),
        Err(problem) => problem.response(),
    }
}

fn ok(request: &Request<Body>) -> Response<Body> {
    let health = Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    };
    let body = serde_json::to_string(&health).unwrap_or_default();
    plain(request, JSON, body)
}

/// Whether the server runs.
#[utoipa::path(
    get,
    path = "/health",
    operation_id = "health",
    responses((status = 200, description = "It runs.", body = Health,
        content_type = "application/json"))
)]
pub async fn health(request: Request<Body>) -> Response<Body> {
    ok(&request)
}

/// Whether the server takes requests. The bundle is open before the first one is accepted.
#[utoipa::path(
    get,
    path = "/ready",
    operation_id = "ready",
    responses(
        (status = 200, description = "It takes requests.", body = Health,
            content_type = "application/json"),
        (status = 503, description = "It is stopping.", body = Problem,
            content_type = "application/problem+json"),
    )
)]
pub async fn ready(request: Request<Body>) -> Response<Body> {
    if interrupt::is_signalled() {
        return Problem::stopping().response();
    }
    ok(&request)
}

/// Counts, times and sizes in the text format of Prometheus. Never text.
#[utoipa::path(
    get,
    path = "/metrics",
    operation_id = "metrics",
    responses((status = 200, description = "The metrics.", body = String,
        content_type = "text/plain"))
)]
pub async fn metrics(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    let memory = memory_stats::memory_stats().map(|stats| stats.physical_mem as u64);
    let text = api.metrics.text(&api.pool.queue(), memory);
    plain(&request, counts::MEDIA_TYPE, text)
}

/// This description.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "openapi",
    responses((status = 200, description = "OpenAPI 3.1.", body = serde_json::Value,
        content_type = "application/json"))
)]
pub async fn openapi(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    plain(&request, JSON, api.description.clone())
}

/// A page that lists the operations.
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "docs",
    responses((status = 200, description = "The page.", body = String, content_type = "text/html"))
)]
pub async fn docs(State(api): State<Arc<Api>>, request: Request<Body>) -> Response<Body> {
    plain(&request, "text/html; charset=utf-8", api.page.clone())
}
