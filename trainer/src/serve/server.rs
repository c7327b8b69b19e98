//! Accepts connections until Ctrl-C.

use crate::io::interrupt;
use crate::serve::answer::answer;
use crate::serve::connections::{Connections, Limits};
use crate::serve::site::Site;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
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

/// Response to a client that is not admitted.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 46\r\n\r\nToo many clients are connected; try again soon";

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
        // Open responses may end.
        let _held = interrupt::defer_exit();
        self.runtime.block_on(serve(
            &self.listener,
            Arc::new(site),
            local,
            limits,
            read_timeout,
        ));
        // Does not wait for compression.
        self.runtime.shutdown_background();
    }
}

/// Serves until Ctrl-C.
async fn serve(
    listener: &tokio::net::TcpListener,
    site: Arc<Site>,
    local: bool,
    limits: Limits,
    read_timeout: Duration,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(read_timeout)
        .max_buf_size(HEAD.0)
        .max_headers(HEAD.1);
    let (graceful, connections) = (GracefulShutdown::new(), Connections::new(limits));
    while interrupt::check().is_ok() {
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
        let Some(place) = connections.admit(address.ip()) else {
            refuse_busy(stream);
            continue;
        };
        let site = Arc::clone(&site);
        let service = service_fn(move |request| {
            let site = Arc::clone(&site);
            async move { Ok::<_, Infallible>(answer(&site, &request, local).await) }
        });
        let number = place.number();
        let stream = TokioIo::new(connections.with_timeout(stream, place));
        let connection = graceful.watch(http.serve_connection(stream, service));
        // Broken connections are ignored.
        let task = tokio::spawn(async { connection.await.unwrap_or_default() });
        connections.set_abort_handle(number, task.abort_handle());
    }
    // Idle connections close at once.
    timeout(LAST, graceful.shutdown()).await.unwrap_or_default();
}

/// Sends the busy response without waiting for the client.
fn refuse_busy(stream: TcpStream) {
    // A client that does not read it sees a closed connection.
    let _ = stream.into_std().and_then(|mut stream| stream.write(BUSY));
}
