//! Accepts connections until Ctrl-C.

use crate::serve::answer::answer;
use crate::serve::connections::{Activity, Connections, Full, Limits, TimedStream};
use crate::serve::site::Site;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use pel_io::interrupt;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

/// Interval between checks for Ctrl-C, and pause after a failed accept.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum request head in bytes and lines.
const HEAD: (usize, usize) = (16 << 10, 64);

/// Number of files compressed at the same time.
const PACKERS: usize = 4;

/// Time for aborted connections to close.
const BRIEF: Duration = Duration::from_millis(2);

/// Time for open responses to end after Ctrl-C.
const LAST: Duration = Duration::from_millis(500);

/// A listener and the runtime of its connections.
pub struct Server {
    runtime: Runtime,
    listener: tokio::net::TcpListener,
}

impl Server {
    /// Prepares a listener.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn new(listener: TcpListener) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(PACKERS)
            .build()?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        Ok(Self { runtime, listener })
    }

    /// Serves a site until Ctrl-C. `local` means that only this machine can connect; `read_timeout`
    /// limits the time to send a request head.
    pub fn run(self, site: Site, local: bool, limits: Limits, read_timeout: Duration) {
        let settings = Settings {
            limits,
            read_timeout,
            last: LAST,
            #[cfg(feature = "api")]
            tls: None,
        };
        let site = Arc::new(site);
        self.run_with(settings, move |request| {
            let site = Arc::clone(&site);
            async move { answer(&site, &request, local).await }
        });
    }

    /// Answers requests by a function until Ctrl-C.
    pub fn run_with<H, F, B>(self, settings: Settings, handler: H)
    where
        H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        // Open responses may end.
        let _held = interrupt::defer_exit();
        self.runtime
            .block_on(serve(self.listener, settings, handler));
        // Does not wait for compression.
        self.runtime.shutdown_background();
    }
}

/// How a server treats its connections.
#[derive(Clone)]
pub struct Settings {
    /// Limits on connections.
    pub limits: Limits,
    /// The time to send a request head, and for the handshake of TLS.
    pub read_timeout: Duration,
    /// The time for open responses to end after Ctrl-C.
    pub last: Duration,
    /// TLS instead of plain HTTP.
    #[cfg(feature = "api")]
    pub tls: Option<tokio_rustls::TlsAcceptor>,
}

/// Serves until Ctrl-C. Then the listener is closed, and open responses may end.
async fn serve<H, F, B>(listener: tokio::net::TcpListener, settings: Settings, handler: H)
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(settings.read_timeout)
        .max_buf_size(HEAD.0)
        .max_headers(HEAD.1);
    #[cfg(feature = "api")]
    let plain = settings.tls.is_none();
    #[cfg(not(feature = "api"))]
    let plain = true;
    let graceful = GracefulShutdown::new();
    let connections = Connections::new(settings.limits);
    while !interrupt::is_signalled() {
        let (stream, address) = match timeout(LOOK, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => {
                // The client has left, or too many files are open.
                let rest = if connections.close_some() > 0 {
                    BRIEF
                } else {
                    LOOK
                };
                sleep(rest).await;
                continue;
            }
            Err(_) => continue,
        };
        let place = match connections.admit(address.ip()) {
            Ok(place) => place,
            Err(full) => {
                // A client of TLS cannot read it.
                if plain {
                    refuse_busy(stream, full);
                }
                continue;
            }
        };
        let number = place.number();
        let activity = place.activity();
        let stream = connections.with_timeout(stream, place);
        let connection = Connection {
            http: http.clone(),
            watcher: graceful.watcher(),
            settings: settings.clone(),
            activity,
            handler: handler.clone(),
        };
        let task = tokio::spawn(connection.serve(stream));
        connections.set_abort_handle(number, task.abort_handle());
    }
    drop(listener);
    // Idle connections close at once.
    timeout(settings.last, graceful.shutdown())
        .await
        .unwrap_or_default();
}

/// What serves a connection.
struct Connection<H> {
    http: http1::Builder,
    watcher: Watcher,
    settings: Settings,
    activity: Activity,
    handler: H,
}

impl<H> Connection<H> {
    /// Serves a connection to its end, over TLS if the server has it. Broken ones are ignored.
    async fn serve<F, B>(self, stream: TimedStream)
    where
        H: Fn(Request<Incoming>) -> F,
        F: Future<Output = Response<B>>,
        B: Body + 'static,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let Self {
            http,
            watcher,
            settings,
            activity,
            handler,
        } = self;
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(activity.clone());
            let answer = handler(request);
            async move { Ok::<_, Infallible>(answer.await) }
        });
        #[cfg(feature = "api")]
        if let Some(tls) = &settings.tls {
            let begun = std::time::Instant::now();
            let mut handshake = std::pin::pin!(tls.accept(stream));
            let accepted = loop {
                if let Ok(accepted) = timeout(LOOK, handshake.as_mut()).await {
                    break accepted;
                }
                // The server must not wait for it after a signal.
                if begun.elapsed() > settings.read_timeout || interrupt::is_signalled() {
                    return;
                }
            };
            if let Ok(stream) = accepted {
                let connection = http.serve_connection(TokioIo::new(stream), service);
                watcher.watch(connection).await.unwrap_or_default();
            }
            return;
        }
        #[cfg(not(feature = "api"))]
        let _ = settings;
        let connection = http.serve_connection(TokioIo::new(stream), service);
        watcher.watch(connection).await.unwrap_or_default();
    }
}

/// Sends the busy response without waiting for the client.
fn refuse_busy(stream: TcpStream, full: Full) {
    let (whose, limit, option) = match full {
        Full::Address(limit) => (" from this address", limit, "--max-per-address"),
        Full::All(limit) => ("", limit, "--max-connections"),
    };
    let body = format!(
        "Too many clients are connected{whose} (limit {limit}, {option} of pel serve); try again \
         soon"
    );
    let response = format!(
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Type: \
         text/plain; charset=utf-8\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // A client that does not read it sees a closed connection.
    let _ = stream
        .into_std()
        .and_then(|mut stream| stream.write(response.as_bytes()));
}
