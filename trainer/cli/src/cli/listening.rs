//! Where and how `pel serve` listens.

use clap::Args;
use pel_kb::error::{Error, Result};
use pel_server::serve::connections::Limits;
use pel_server::serve::server::Server;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

/// Where and how to listen.
#[derive(Debug, Args)]
pub struct Listening {
    /// Port; 0 is any free one [default: 8080, or the next free one]
    #[arg(long)]
    port: Option<u16>,
    /// Address to listen on; other hosts can reach all but 127.0.0.1 and ::1
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: String,
    /// Maximum number of connections
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    max_connections: u32,
    /// Maximum number of connections per client address, which clients behind a proxy share
    /// [default: 64; as many as --max-connections if only this machine can connect, or with a
    /// token]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_per_address: Option<u32>,
    /// Seconds for a client to send a request head, including the wait before it
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=86_400),
    )]
    read_timeout: u64,
    /// Seconds for a client to read each 4 KiB of a response
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 20,
        value_parser = clap::value_parser!(u64).range(1..=86_400),
    )]
    write_timeout: u64,
}

/// Default number of connections per client address, where anyone may connect.
const PER_ADDRESS: u32 = 64;

/// Default port.
const PORT: u16 = 8080;

/// Number of ports tried by default.
const PORTS: u16 = 100;

impl Listening {
    /// Binds the address.
    pub(super) fn bind(&self) -> Result<(TcpListener, SocketAddr)> {
        let listener = listen(&self.host, self.port)?;
        let at = listener.local_addr().map_err(starting)?;
        Ok((listener, at))
    }

    /// A server at a bound address.
    pub(super) fn server(&self, listener: TcpListener) -> Result<Server> {
        Server::new(listener).map_err(starting)
    }

    /// The limits on connections. `known` clients are of this machine, or have a token: they may
    /// share an address, as behind a proxy.
    pub(super) fn limits(&self, known: bool) -> Limits {
        let default = if known {
            self.max_connections
        } else {
            PER_ADDRESS
        };
        Limits {
            all: self.max_connections as usize,
            of_address: self.max_per_address.unwrap_or(default) as usize,
            write_timeout: Duration::from_secs(self.write_timeout),
        }
    }

    /// The time for a client to send a request head.
    pub(super) fn read_timeout(&self) -> Duration {
        Duration::from_secs(self.read_timeout)
    }

    /// Prints the address.
    pub(super) fn announce(&self, at: SocketAddr, tls: bool, files: usize, json: bool) {
        // Browsers cannot open an unspecified address.
        let ip = match at.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let at = SocketAddr::new(ip, at.port());
        let scheme = if tls { "https" } else { "http" };
        if json {
            println!(
                "{}",
                serde_json::json!({"address": format!("{scheme}://{at}/"), "port": at.port(),
                    "files": files})
            );
        } else {
            println!("PEL at {scheme}://{at}/ (Ctrl-C stops it)");
        }
    }
}

fn starting(cause: std::io::Error) -> Error {
    Error::io("starting the server").caused_by(cause)
}

/// Binds the given port, or the first free one.
fn listen(host: &str, port: Option<u16>) -> Result<TcpListener> {
    // URLs have brackets around IPv6 addresses.
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let bind = |port| TcpListener::bind((host, port)).map_err(|cause| (port, cause));
    let bound = match port {
        Some(port) => bind(port),
        None => {
            let taken = |(_, cause): &(u16, std::io::Error)| cause.kind() == ErrorKind::AddrInUse;
            let mut ports = (PORT..PORT + PORTS).map(bind);
            ports
                .find(|bound| !bound.as_ref().is_err_and(taken))
                .unwrap_or_else(|| bind(0))
        }
    };
    bound.map_err(|(port, cause)| match cause.kind() {
        ErrorKind::AddrInUse => Error::input(format!(
            "--port: expected a free port, found {port} of {host} in use; use another, or 0 for \
             any free one"
        )),
        ErrorKind::PermissionDenied => Error::input(format!(
            "--port: expected a port that you may use, found {port} of {host}; use one above 1023, \
             or 0 for any free one"
        )),
        _ => Error::input(format!(
            "--host {host}: expected an address of this machine, such as 127.0.0.1, found one that \
             cannot be bound"
        ))
        .caused_by(cause),
    })
}
