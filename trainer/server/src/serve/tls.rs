//! TLS for the server, with a certificate and a key in files.

use pel_io::files::read_text;
use pel_kb::error::{Context, Error, Result};
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// TLS 1.2 and 1.3 with a chain of certificates and its key, both in PEM.
///
/// # Errors
/// If a file cannot be read, has no certificate or key, or the two do not belong together.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(read_text(certificate)?.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|cause| {
                Error::input("the file has a certificate that is not valid PEM").caused_by(cause)
            })
            .context(|| format!("--tls-cert {}", certificate.display()))?;
    if chain.is_empty() {
        return Err(Error::input(format!(
            "--tls-cert {}: the file has no certificate in PEM (-----BEGIN CERTIFICATE-----)",
            certificate.display()
        )));
    }
    let key_text = read_text(key)?;
    // The cause could hold a part of the key.
    let private = PrivateKeyDer::from_pem_slice(key_text.as_bytes()).map_err(|_| {
        Error::input(format!(
            "--tls-key {}: the file has no private key in PEM (-----BEGIN PRIVATE KEY-----)",
            key.display()
        ))
    })?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, private)
        })
        .map_err(|cause| {
            Error::input(format!(
                "the key --tls-key {} does not fit the certificate --tls-cert {}",
                key.display(),
                certificate.display()
            ))
            .caused_by(cause)
        })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
