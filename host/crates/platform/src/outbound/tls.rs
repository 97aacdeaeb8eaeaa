//! TLS configuration, and errors that explain what is wrong with a certificate.

use crate::telemetry::printable;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error as TlsError};
use rustls_platform_verifier::BuilderVerifierExt;
use std::error::Error;
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// How many names of a certificate an error repeats. Bounds what a foreign certificate writes into a log.
const SHOWN: usize = 4;

/// TLS with the certificates that this machine trusts, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
pub(super) fn connector() -> Result<TlsConnector, String> {
    let words = |error: TlsError| error.to_string();
    let builder = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(words)?;
    let mut config = builder.with_platform_verifier().map_err(words)?.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The name or address that the certificate of this host must be for.
pub(super) fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let name = ServerName::try_from(bare.to_owned());
    name.map_err(|_| "the host's name is none that a certificate could be for".into())
}

/// The TLS problem that made something fail, described for the person who can fix it. `None` if TLS is not the cause.
pub(super) fn reason(error: &(dyn Error + 'static)) -> Option<String> {
    cause(error).map(|error| match error {
        TlsError::InvalidCertificate(why) => certificate_problem(why),
        other => tls_problem(other),
    })
}

/// The TLS error inside another error. I/O errors need a case of their own, because they do not return their inner error as
/// `source`.
pub(super) fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a TlsError> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    let held = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let held = held.map(|held| held as &(dyn Error + 'static));
    held.or_else(|| error.source()).and_then(cause)
}

pub(super) fn certificate_problem(why: &CertificateError) -> String {
    match why {
        CertificateError::UnknownIssuer => "no authority that this machine trusts has signed its certificate; \
            authorities of your own are trusted, instead of the system's, when SSL_CERT_FILE names a file with them"
            .into(),
        CertificateError::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            let names: Vec<_> = presented.iter().take(SHOWN).map(|name| printable(name).into_owned()).collect();
            let more = if presented.len() > SHOWN { " and more" } else { "" };
            format!("its certificate is not for this name, but for {}{more}", names.join(", "))
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is not for this name, and names no other".into()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not good yet; or is the clock of this machine slow?".into()
        }
        other => format!("its certificate is not good: {}", printable(&other.to_string())),
    }
}

pub(super) fn tls_problem(error: &TlsError) -> String {
    match error {
        TlsError::InvalidMessage(_) => "what answers there does not speak TLS; is it plain http?".into(),
        TlsError::PeerIncompatible(_) | TlsError::AlertReceived(AlertDescription::ProtocolVersion) => {
            "it speaks neither TLS 1.2 nor 1.3".into()
        }
        TlsError::NoApplicationProtocol | TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            "it does not speak HTTP/1.1".into()
        }
        other => printable(&other.to_string()).into_owned(),
    }
}
