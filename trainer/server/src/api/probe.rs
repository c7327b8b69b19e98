//! Asks a server of this machine whether it is ready, for containers without `curl`.

use pel_kb::error::{Error, Result};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Time to connect, and to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the server at a port of 127.0.0.1 for `/ready`, by plain HTTP.
///
/// # Errors
/// If none answers, or it is not ready.
pub fn probe(port: u16) -> Result<()> {
    let failed = |cause| {
        Error::io(format!("asking the server at port {port} of this machine")).caused_by(cause)
    };
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream
        .write_all(b"GET /ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .map_err(failed)?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).map_err(failed)?;
    match &status {
        b"HTTP/1.1 200" => Ok(()),
        _ => Err(Error::io(format!(
            "the server at port {port} of this machine answers, but is not ready, or is not `pel \
             serve --api`"
        ))),
    }
}
