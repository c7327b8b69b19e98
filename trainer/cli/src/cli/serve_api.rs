//! The options of `pel serve --api`.

use super::listening::Listening;
use clap::Args;
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, Work};
use pel_io::interrupt;
use pel_io::limits::Size;
use pel_kb::error::{Error, Result};
use pel_notes::link::text_linker::TextLinker;
use pel_notes::link::{context_rules, open_linker, wordings};
use pel_server::api::access::{Origin, Origins, Token, warn_if_readable};
use pel_server::api::{Access, Interface, Limits};
use pel_server::serve::server::Settings;
use pel_server::serve::site::Site;
use pel_server::serve::tls;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Options of the REST interface.
#[derive(Debug, Args)]
#[command(next_help_heading = "REST interface")]
pub struct ApiArgs {
    /// Link texts over HTTP with the bundle, at /v1/link; /openapi.json describes the interface
    #[arg(long, requires = "bundle")]
    pub api: bool,
    /// Ask the server at this port of this machine whether it is ready, over plain HTTP, and end
    /// (for containers)
    #[arg(long, value_name = "PORT", conflicts_with_all = ["api", "page", "bundle"])]
    pub probe: Option<u16>,
    /// File with a token of at least 16 characters, which requests then need (Authorization:
    /// Bearer)
    #[arg(long, value_name = "FILE", requires = "api")]
    token_file: Option<PathBuf>,
    /// Certificates in PEM, for HTTPS
    #[arg(long, value_name = "FILE", requires_all = ["api", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate in PEM
    #[arg(long, value_name = "FILE", requires_all = ["api", "tls_cert"])]
    tls_key: Option<PathBuf>,
    /// Origin of a web page that may use the interface, such as https://notes.example.org; may be
    /// repeated [default: none]
    #[arg(long, value_name = "ORIGIN", requires = "api")]
    allow_origin: Vec<Origin>,
    /// Rules for negation, certainty, time, person, side and severity: english, german, french,
    /// spanish, contextkit, or a rule file [default: english]
    #[arg(long, value_name = "NAME|FILE", requires = "api")]
    context_rules: Option<PathBuf>,
    /// File of paraphrases that stand for names, as in `pel link` [default: the English ones]
    #[arg(long, value_name = "FILE", requires = "api")]
    wordings: Option<PathBuf>,
    /// Search candidates of every mention, as in `pel link`
    #[arg(long, requires = "api")]
    search_names: bool,
    /// Maximum size of a request, and of a line of application/x-ndjson
    #[arg(long, value_name = "SIZE", default_value = "8MiB", requires = "api")]
    max_body: Size,
    /// Maximum size of a text
    #[arg(long, value_name = "SIZE", default_value = "1MiB", requires = "api")]
    max_text: Size,
    /// Maximum number of texts in a request of application/json
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        requires = "api",
        value_parser = clap::value_parser!(u32).range(1..=65_536),
    )]
    max_texts: u32,
    /// Maximum size of requests and unread answers in memory together
    #[arg(long, value_name = "SIZE", default_value = "64MiB", requires = "api")]
    max_memory: Size,
    /// Maximum number of jobs that wait; others get status 429. A job has at most 16 texts
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        requires = "api",
        value_parser = clap::value_parser!(u32).range(1..=65_536),
    )]
    queue: u32,
    /// Seconds for a request, or for each job of application/x-ndjson; then it gets status 504
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        requires = "api",
        value_parser = clap::value_parser!(u64).range(1..=86_400),
    )]
    request_timeout: u64,
    /// Seconds for open requests to end after Ctrl-C or SIGTERM
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 10,
        requires = "api",
        value_parser = clap::value_parser!(u64).range(0..=86_400),
    )]
    stop_timeout: u64,
}

impl ApiArgs {
    /// Serves the interface until Ctrl-C, beside the page if there is one.
    pub(super) fn run(
        &self,
        bundle: &Path,
        page: Option<&Path>,
        listening: &Listening,
        device: &DeviceArgs,
        json: bool,
    ) -> Result<()> {
        let site = page
            .map(|page| Site::read(page, Some(bundle)))
            .transpose()?;
        let token = self.token_file.as_deref().map(Token::read).transpose()?;
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => {
                let acceptor = tls::acceptor(certificate, key)?;
                warn_if_readable(key, "--tls-key");
                Some(acceptor)
            }
            _ => None,
        };
        let limits = self.limits(listening)?;
        let (listener, at) = listening.bind()?;
        let opened = device.open(Work::Short)?;
        let mut linker = open_linker(bundle, bundles::open_to_link(bundle)?, None, &opened)?;
        if let Some(rules) = &self.context_rules {
            linker.settings().set_context_rules(context_rules(rules)?);
        }
        if let Some(file) = &self.wordings {
            linker.settings().set_wordings(wordings(file)?);
        }
        linker.settings().set_search_names(self.search_names);
        let local = at.ip().is_loopback();
        let (has_token, has_tls) = (token.is_some(), tls.is_some());
        let access = Access {
            token,
            origins: Origins(self.allow_origin.clone()),
            local,
        };
        let files = site.as_ref().map_or(0, Site::files);
        let interface = Arc::new(Interface::start(
            TextLinker::from(linker),
            limits,
            access,
            site,
        )?);
        let server = listening.server(listener)?;
        listening.announce(at, has_tls, files, json);
        if !local {
            warn_of_others(at.port(), has_tls, has_token);
        }
        // After a signal, requests may end; then this process ends without an error.
        let held = interrupt::critical_section();
        let settings = Settings {
            limits: listening.limits(local || has_token),
            read_timeout: listening.read_timeout(),
            last: Duration::from_secs(self.stop_timeout),
            tls,
        };
        server.run_with(settings, move |request| {
            let interface = Arc::clone(&interface);
            async move { interface.answer(request).await }
        });
        std::mem::forget(held);
        Ok(())
    }

    fn limits(&self, listening: &Listening) -> Result<Limits> {
        let limits = Limits {
            body: bytes(self.max_body),
            text: bytes(self.max_text),
            texts: self.max_texts as usize,
            queue: self.queue as usize,
            memory: bytes(self.max_memory),
            time: Duration::from_secs(self.request_timeout),
            patience: listening.read_timeout(),
        };
        if limits.memory < limits.body {
            return Err(Error::usage(
                "--max-memory: it must be at least as large as --max-body",
            ));
        }
        Ok(limits)
    }
}

fn bytes(size: Size) -> usize {
    usize::try_from(size.0).unwrap_or(usize::MAX)
}

/// Warns if others can reach the interface without protection.
fn warn_of_others(port: u16, tls: bool, token: bool) {
    let missing = match (tls, token) {
        (true, true) => return,
        (false, false) => "without TLS and without a token (--tls-cert, --tls-key, --token-file)",
        (false, true) => "without TLS (--tls-cert, --tls-key)",
        (true, false) => "without a token (--token-file)",
    };
    eprintln!(
        "warning: others on the network can reach the REST interface at port {port} of this \
         machine {missing}"
    );
}
