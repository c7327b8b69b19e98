//! The address of a database, and how it is encrypted.

use crate::stores::check_address;
use pel_io::files::io_error;
use pel_kb::error::{Error, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The variable of the environment with the password, as in PostgreSQL's own programs.
const PASSWORD: &str = "PGPASSWORD";

/// The time to wait for a connection.
const CONNECT: Duration = Duration::from_secs(15);

/// The address of a database. Its text form has no password.
pub struct Address {
    pub config: Config,
    pub tls: MakeRustlsConnect,
    shown: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Reads an address. The connection to another machine is encrypted unless the address says
    /// otherwise (`sslmode`). Certificates are always verified.
    ///
    /// # Errors
    /// If the address or a certificate cannot be read. No message has the password.
    pub fn parse(text: &str, ca: Option<&Path>, program: &str) -> Result<Self> {
        check_address(text)?;
        // Names of libpq: it verifies less with `require`, and PEL never does.
        let known = text
            .replace("sslmode=verify-full", "sslmode=require")
            .replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = known.parse().map_err(|cause: tokio_postgres::Error| {
            Error::usage("the address of the database").caused_by(cause)
        })?;
        if config.get_password().is_none()
            && let Ok(password) = std::env::var(PASSWORD)
        {
            config.password(password);
        }
        config.application_name(program).connect_timeout(CONNECT);
        config.keepalives_idle(Duration::from_secs(60));
        let local = config.get_hosts().iter().all(is_local)
            && config
                .get_hostaddrs()
                .iter()
                .all(|address| address.is_loopback());
        if !text.contains("sslmode=") {
            config.ssl_mode(if local {
                SslMode::Disable
            } else {
                SslMode::Require
            });
        }
        let encrypted = config.get_ssl_mode() != SslMode::Disable;
        let roots = if encrypted {
            roots(ca)?
        } else {
            RootCertStore::empty()
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|cause| Error::io("preparing encryption").caused_by(cause))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let shown = shown(&config);
        Ok(Self {
            config,
            tls: MakeRustlsConnect::new(tls),
            shown,
        })
    }
}

/// Whether what is sent to a host stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address: Result<std::net::IpAddr, _> = name.parse();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => config
            .get_hostaddrs()
            .first()
            .map_or_else(String::new, ToString::to_string),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default();
    format!("database {database} on {host}:{port}")
}

/// The certificates that may sign a server's: those of a file, else those of the system.
fn roots(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    let Some(path) = ca else {
        // A certificate of the system that cannot be read signs no server.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return match roots.is_empty() {
            false => Ok(roots),
            true => Err(Error::io(
                "this system has no certificates to verify the server with; give a file with --ca",
            )),
        };
    };
    let bytes = std::fs::read(path).map_err(|cause| io_error("reading", path, cause))?;
    let place = || format!("{}: expected certificates in PEM form", path.display());
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate =
            certificate.map_err(|cause| Error::input(place()).caused_by(cause.to_string()))?;
        roots
            .add(certificate)
            .map_err(|cause| Error::input(place()).caused_by(cause))?;
    }
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(Error::input(format!("{}: the file has none", place()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> SslMode {
        let address = Address::parse(text, None, "test");
        address.expect("an address").config.get_ssl_mode()
    }

    #[test]
    fn connection_to_another_machine_is_encrypted_unless_the_address_says_otherwise() {
        for local in [
            "postgres://u@localhost/d",
            "postgresql://u@127.0.0.1:5433/d",
            "postgres://u@[::1]/d",
            "postgres://u@/d?host=/run/postgresql",
        ] {
            assert_eq!(mode(local), SslMode::Disable, "{local}");
        }
        let fixture = tempfile::tempdir().expect("a folder");
        let empty = fixture.path().join("none.pem");
        std::fs::write(&empty, "").expect("written");
        for remote in [
            "postgres://u@db.example.org/d",
            "postgres://u@10.0.0.5/d",
            "postgres://u@db/d?sslmode=verify-full",
            "postgres://u@localhost/d?sslmode=require",
            "postgres://u@localhost,db/d",
        ] {
            // Encryption needs certificates, and the file has none.
            let refused = Address::parse(remote, Some(&empty), "test").map(|_| ());
            let refused = refused.expect_err(remote).to_string();
            assert!(
                refused.contains("expected certificates"),
                "{remote}: {refused}"
            );
        }
        assert_eq!(mode("postgres://u@db/d?sslmode=disable"), SslMode::Disable);
    }

    #[test]
    fn text_of_an_address_and_its_errors_have_no_password() {
        let address = Address::parse("postgres://u:secret@localhost:5433/d", None, "test");
        let address = address.expect("an address").to_string();
        assert_eq!(address, "database d on localhost:5433");
        let wrong = Address::parse(
            "postgres://u:secret@localhost/d?sslmode=perhaps",
            None,
            "test",
        );
        let wrong = wrong.map(|_| ()).expect_err("no such mode").to_string();
        assert!(
            wrong.contains("sslmode") && !wrong.contains("secret"),
            "{wrong}"
        );
    }
}
