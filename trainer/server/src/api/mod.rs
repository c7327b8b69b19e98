//! The REST interface: links texts over HTTP, beside the page or alone.
//!
//! Texts are neither logged nor stored. One thread links; what waits for it is merged into batches
//! ([`pool`]).

mod accept;
pub mod access;
mod body;
mod coding;
mod concepts;
mod http;
mod link;
mod metrics;
pub mod openapi;
pub mod pool;
pub mod probe;
mod problem;
mod request;
mod schema;
mod state;
mod stream;

use crate::serve::answer::{answer as answer_page, names_this_machine};
use crate::serve::site::Site;
use access::{Origins, Token};
use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use body::{Budget, Held, Reader, Shared};
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::service::Service;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::service::TowerToHyperService;
use metrics::Metrics;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use pel_notes::link::text_linker::TextLinker;
use pool::Pool;
use problem::Problem;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Limits on requests.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body, and the longest line of a stream, in bytes.
    pub body: usize,
    /// The largest text, in bytes.
    pub text: usize,
    /// The most texts of a request that is no stream.
    pub texts: usize,
    /// Jobs that wait for the pool.
    pub queue: usize,
    /// Memory for the bodies of all requests and for unread answers, in bytes.
    pub memory: usize,
    /// The time of a request, or of each job of a stream.
    pub time: Duration,
    /// The time to wait for each piece of a body.
    pub patience: Duration,
}

/// Who may ask.
#[derive(Default)]
pub struct Access {
    /// The token that requests need; none if everyone may ask.
    pub token: Option<Token>,
    /// The origins that may use the interface from a browser.
    pub origins: Origins,
    /// Whether only this machine can connect.
    pub local: bool,
}

/// What the routes share.
pub struct Api {
    linker: Arc<TextLinker>,
    pool: Pool,
    limits: Limits,
    budget: Budget,
    /// Streams that may begin.
    streams: Arc<Semaphore>,
    metrics: Arc<Metrics>,
    /// The description as JSON.
    description: String,
    /// The page that shows it.
    page: String,
}

impl Api {
    /// Holds the memory for the values of a body.
    ///
    /// # Errors
    /// Status 413 if no budget is enough, 429 if the budget is used up.
    fn hold_values(&self, json: &[u8], held: &mut Held) -> Result<(), Problem> {
        let (bytes, most) = (request::memory(json), self.limits.memory);
        if json.len() + bytes > most {
            return Err(Problem::too_large(format!(
                "the values of the body need more than {most} bytes of memory (--max-memory); send \
                 fewer texts and mentions at once"
            )));
        }
        self.budget.more(held, bytes)
    }
}

/// The interface with what is before its routes.
pub struct Interface {
    api: Arc<Api>,
    routes: TowerToHyperService<Router>,
    access: Access,
    /// The page, which has the other addresses.
    site: Option<Site>,
}

impl Interface {
    /// Starts the thread that links. `site` is the page that is served beside the interface.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub fn start(
        linker: TextLinker,
        limits: Limits,
        access: Access,
        site: Option<Site>,
    ) -> Result<Self> {
        let (linker, metrics) = (Arc::new(linker), Arc::new(Metrics::default()));
        let pool = Pool::start(Arc::clone(&linker), limits.queue, Arc::clone(&metrics))
            .map_err(|cause| Error::io("starting a thread").caused_by(cause))?;
        let description = openapi::description(access.token.is_some());
        let api = Arc::new(Api {
            linker,
            pool,
            limits,
            budget: Budget::new(limits.memory),
            // Each has at most one job in the queue, so that others find places there.
            streams: Arc::new(Semaphore::new((limits.queue / 2).max(1))),
            metrics,
            page: openapi::page(&description),
            description: description.to_string(),
        });
        let router = Router::new()
            .route("/v1/link", post(link::link))
            .route("/v1/concepts/{id}", get(concepts::concept))
            .route("/v1/search", get(concepts::search))
            .route("/health", get(state::health))
            .route("/ready", get(state::ready))
            .route("/metrics", get(state::metrics))
            .route("/openapi.json", get(state::openapi))
            .route("/docs", get(state::docs))
            .with_state(Arc::clone(&api));
        Ok(Self {
            api,
            routes: TowerToHyperService::new(router),
            access,
            site,
        })
    }

    /// Answers a request.
    pub async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let route = route(request.uri().path());
        if let (None, Some(site)) = (route, &self.site) {
            let page = answer_page(site, &request, self.access.local).await;
            return page.map(Body::new);
        }
        let _entered = self.api.metrics.in_flight.enter();
        let begun = Instant::now();
        let origin = self.access.origins.allowed(request.headers());
        let packed = coding::accepts(request.headers());
        let head = request.method() == Method::HEAD;
        // Then the client sends no body before it has an answer.
        let expects = request.headers().contains_key(header::EXPECT);
        let refused = self.refused(&request);
        let (parts, body) = request.into_parts();
        let body = Shared::new(body);
        let request = Request::from_parts(parts, Body::new(body.clone()));
        let mut response = match refused {
            Some(refused) => refused,
            None => self.routed(request).await,
        };
        if response.status().is_client_error()
            && response.status() != StatusCode::REQUEST_TIMEOUT
            && !expects
        {
            self.drain(body);
        }
        self.access.origins.add(origin, &mut response);
        secure(&mut response);
        let mut response = coding::pack(packed && !head, response);
        if head {
            // The body of a problem, which the routes do not know to be left out.
            *response.body_mut() = Body::empty();
        }
        let metrics = &self.api.metrics;
        metrics.add_request(route.unwrap_or("other"), response.status(), begun.elapsed());
        response
    }

    /// Reads the rest of a body that was refused, beside the answer. Otherwise a client that reads
    /// after it has sent sees a broken connection.
    fn drain(&self, body: Shared) {
        let mut reader = Reader::new(Body::new(body), self.api.limits.patience);
        let limit = self.api.limits.time;
        tokio::spawn(async move {
            let _ = timeout(limit, reader.drain()).await;
        });
    }

    /// The answer to a request that reaches no route.
    fn refused(&self, request: &Request<Incoming>) -> Option<Response<Body>> {
        let Access {
            token,
            origins,
            local,
        } = &self.access;
        // A page of another site could name this machine, but it does not know the token.
        if *local && token.is_none() && !names_this_machine(request) {
            let detail = "a server without a token answers only at localhost, 127.0.0.1 or [::1]; \
                          use one of these, or start it with --token-file";
            let problem = Problem::new(StatusCode::MISDIRECTED_REQUEST, detail).field("Host");
            return Some(problem.response());
        }
        let asks = header::ACCESS_CONTROL_REQUEST_METHOD;
        if request.method() == Method::OPTIONS
            && request.headers().contains_key(asks)
            && origins.allowed(request.headers()).is_some()
        {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            Origins::add_preflight(&mut response);
            return Some(response);
        }
        if let Some(token) = token
            && !state::is_open(request.uri().path())
            && let Err(problem) = token.check(request.headers())
        {
            return Some(problem.response());
        }
        None
    }

    /// The answer of a route within the time of a request.
    async fn routed(&self, request: Request<Body>) -> Response<Body> {
        let limit = self.api.limits.time;
        let Ok(Ok(response)) = timeout(limit, self.routes.call(request)).await else {
            return match interrupt::is_signalled() {
                true => Problem::stopping().response(),
                false => Problem::late(limit.as_secs()).response(),
            };
        };
        let is_problem = response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind == problem::MEDIA_TYPE);
        let detail = match response.status() {
            StatusCode::NOT_FOUND => "the server has no such address; /openapi.json lists all",
            StatusCode::METHOD_NOT_ALLOWED => {
                "the address does not have this method; the header Allow lists those that it has"
            }
            _ => return response,
        };
        if is_problem {
            return response;
        }
        let mut problem = Problem::new(response.status(), detail).response();
        if let Some(allow) = response.headers().get(header::ALLOW) {
            problem.headers_mut().insert(header::ALLOW, allow.clone());
        }
        problem
    }
}

/// The route of an address, for the metrics.
fn route(path: &str) -> Option<&'static str> {
    Some(match path {
        "/v1/link" => "/v1/link",
        "/v1/search" => "/v1/search",
        "/health" => "/health",
        "/ready" => "/ready",
        "/metrics" => "/metrics",
        "/openapi.json" => "/openapi.json",
        "/docs" => "/docs",
        path if path.starts_with("/v1/concepts/") => "/v1/concepts/{id}",
        path if path.starts_with("/v1/") => "other",
        _ => return None,
    })
}

/// Adds the headers of every response.
fn secure(response: &mut Response<Body>) {
    const ALWAYS: [(HeaderName, &str); 4] = [
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'",
        ),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in ALWAYS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}
