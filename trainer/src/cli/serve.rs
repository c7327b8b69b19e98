//! `pel serve`: the page and a bundle over HTTP, for the browser of this machine.

use crate::serve::connections::Limits;
use crate::serve::server::Server;
use crate::serve::site::Site;
use clap::Args;
use pel_shared::error::{Error, Result};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

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
    let server = Server::new(listener).map_err(failed)?;
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
    server.run(site, local, limits, Duration::from_secs(args.read_timeout));
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
