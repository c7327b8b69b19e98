//! `pel serve`: the page and a bundle over HTTP, for the browser of this machine.

use crate::io::interrupt;
use crate::serve::answer::answer;
use crate::serve::connections::{Connections, Limits};
use crate::serve::site::Site;
use clap::Args;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use pel_shared::error::{Error, Result};
use std::convert::Infallible;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Serve the page and a bundle to the browser of this machine
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel serve --page page\n  \
    pel serve --page page --bundle bundle.pel\n  \
    pel serve --page page --bundle bundle --port 0 --json\n\n\
    The files are read once, when it starts: start it again after a change. Files whose names begin with a dot are left \
    out. Notes are read in the browser: none is sent here, and requests are written to no log. Ctrl-C ends it.\n\n\
    Where all connections are taken, a new client gets the place of the one in which nothing has moved for longest; if something \
    moves in each of them, it is told to come back (503). The head of a request may have 16 KiB and 64 lines.")]
pub struct ServeArgs {
    /// The folder of the built page, with index.html
    #[arg(long, value_name = "DIR")]
    page: PathBuf,
    /// A bundle, checked and then served below /bundle/ instead of the page's own
    #[arg(long)]
    bundle: Option<PathBuf>,
    /// The port; 0 takes any free one [default: 8080, or the next free one]
    #[arg(long)]
    port: Option<u16>,
    /// The address of this machine to listen at; all but 127.0.0.1 and ::1 let others on the network reach the page
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// How many clients may be connected at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// How many of them may come from one address, which many share behind a proxy
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    max_per_address: u32,
    /// How long a client may take to send the head of a request, the waiting before it included
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    read_timeout: u64,
    /// How long a client may take to read each 4 KiB of an answer
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    write_timeout: u64,
}

/// The port if none is asked for.
const PORT: u16 = 8080;

/// How many ports are tried if none is asked for.
const PORTS: u16 = 100;

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

/// Runs `pel serve`, until Ctrl-C.
///
/// # Errors
/// If the folder has no page, the bundle is damaged, or the address cannot be listened at.
pub fn run(args: &ServeArgs, json: bool) -> Result<()> {
    let site = Site::read(&args.page, args.bundle.as_deref())?;
    let listener = listen(&args.host, args.port)?;
    let failed = |cause| Error::io("starting the server").caused_by(cause);
    let at = listener.local_addr().map_err(failed)?;
    let local = at.ip().is_loopback();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .max_blocking_threads(PACKERS)
        .build()
        .map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(failed)?
    };
    announce(at, site.files(), json);
    if !local {
        eprintln!(
            "pel: others on the network can now reach the page, at port {} of this machine; the notes that they open \
             stay in their browsers, which over plain HTTP offer the page no GPU and no offline use",
            at.port()
        );
    }
    let limits = Limits {
        all: args.max_connections as usize,
        of_address: args.max_per_address as usize,
        write_timeout: Duration::from_secs(args.write_timeout),
    };
    // Answers that are under way may end.
    let _held = interrupt::hold();
    runtime.block_on(serve(&listener, Arc::new(site), local, limits, Duration::from_secs(args.read_timeout)));
    // Without waiting for what is still being compressed.
    runtime.shutdown_background();
    Ok(())
}

/// Says where the page is.
fn announce(at: SocketAddr, files: usize, json: bool) {
    // No browser goes to an address that means all of this machine's.
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let at = SocketAddr::new(ip, at.port());
    if json {
        println!("{}", serde_json::json!({"address": format!("http://{at}/"), "port": at.port(), "files": files}));
    } else {
        println!("PEL at http://{at}/ (Ctrl-C ends it)");
    }
}

/// Takes the port that is asked for, or else the first free one.
fn listen(host: &str, port: Option<u16>) -> Result<TcpListener> {
    // A URL has brackets round these addresses.
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let bind = |port| TcpListener::bind((host, port)).map_err(|cause| (port, cause));
    let bound = match port {
        Some(port) => bind(port),
        None => {
            let taken = |(_, cause): &(u16, std::io::Error)| cause.kind() == ErrorKind::AddrInUse;
            let mut ports = (PORT..PORT + PORTS).map(bind);
            ports.find(|bound| !bound.as_ref().is_err_and(taken)).unwrap_or_else(|| bind(0))
        }
    };
    bound.map_err(|(port, cause)| match cause.kind() {
        ErrorKind::AddrInUse => Error::input(format!(
            "port {port} of {host} is taken by another program: choose another with --port, or 0 for any free one"
        )),
        ErrorKind::PermissionDenied => Error::input(format!(
            "port {port} of {host} may not be used by you: choose one above 1023 with --port, or 0 for any free one"
        )),
        _ => Error::input(format!(
            "--host {host}: expected an address of this machine, such as 127.0.0.1, found one that cannot be listened at"
        ))
        .caused_by(cause),
    })
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
