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

/// How often Ctrl-C is looked for, and how long a listener rests that could not take a connection.
const LOOK: Duration = Duration::from_millis(100);

/// The longest head of a request, in bytes and in lines.
const HEAD: (usize, usize) = (16 << 10, 64);

/// Files that are compressed at once while their askers wait.
const PACKERS: usize = 4;

/// What a client hears for whom there is no place.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 46\r\n\r\nToo many clients are connected; try again soon";

/// How long connections that are put out take to close.
const BRIEF: Duration = Duration::from_millis(2);

/// How long answers that are under way may take after Ctrl-C.
const LAST: Duration = Duration::from_millis(500);

/// A listener with the thread that its connections share.
pub struct Server {
    runtime: Runtime,
    listener: tokio::net::TcpListener,
}

impl Server {
    /// Prepares a listener; nothing is answered yet.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn new(listener: TcpListener) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(PACKERS).build()?;
        listener.set_nonblocking(true)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        Ok(Self { runtime, listener })
    }

    /// Serves a site until Ctrl-C. `local` says whether this machine alone can connect; `read_timeout` is how long a client may take to
    /// send the head of a request.
    pub fn run(self, site: Site, local: bool, limits: Limits, read_timeout: Duration) {
        // Answers that are under way may end.
        let _held = interrupt::hold();
        self.runtime.block_on(serve(&self.listener, Arc::new(site), local, limits, read_timeout));
        // Without waiting for what is still being compressed.
        self.runtime.shutdown_background();
    }
}

/// Answers until Ctrl-C.
async fn serve(
    listener: &tokio::net::TcpListener,
    site: Arc<Site>,
    local: bool,
    limits: Limits,
    read_timeout: Duration,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(read_timeout).max_buf_size(HEAD.0).max_headers(HEAD.1);
    let (graceful, connections) = (GracefulShutdown::new(), Connections::new(limits));
    while interrupt::check().is_ok() {
        let (stream, address) = match timeout(LOOK, listener.accept()).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => {
                // The client has left, which passes; or too many files are open.
                let rest = if connections.make_room() > 0 { BRIEF } else { LOOK };
                sleep(rest).await;
                continue;
            }
            Err(_) => continue,
        };
        let Some(place) = connections.admit(address.ip()) else {
            turn_away(stream);
            continue;
        };
        let site = Arc::clone(&site);
        let service = service_fn(move |request| {
            let site = Arc::clone(&site);
            async move { Ok::<_, Infallible>(answer(&site, &request, local).await) }
        });
        let number = place.number();
        let stream = TokioIo::new(connections.watched(stream, place));
        let connection = graceful.watch(http.serve_connection(stream, service));
        // A connection that breaks is its client's affair.
        let task = tokio::spawn(async { connection.await.unwrap_or_default() });
        connections.begun(number, task.abort_handle());
    }
    // Connections without a request close at once.
    timeout(LAST, graceful.shutdown()).await.unwrap_or_default();
}

/// Says that there is no place, without waiting for the client to hear it.
fn turn_away(stream: TcpStream) {
    // Whoever does not read it finds the connection closed.
    let _ = stream.into_std().and_then(|mut stream| stream.write(BUSY));
}
