//! A connection with a limit on the time of every answer.

use super::address::Address;
use pel_io::interrupt;
use pel_kb::error::{Error, Result};
use std::error::Error as StdError;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres::error::{DbError, SqlState};

/// The time that the server has to report its own limit.
const GRACE: Duration = Duration::from_secs(5);

/// A failed statement.
pub enum Failure {
    /// The connection is lost; another one may work.
    Lost(Error),
    /// Another connection would not help.
    Refused(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Lost(error) | Failure::Refused(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// The result of a statement.
pub type Answer<T> = std::result::Result<T, Failure>;

/// An open connection to a database.
pub struct Connection {
    runtime: Runtime,
    client: Client,
    address: Address,
    patience: Duration,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn open(address: Address, patience: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| Error::io("starting a connection").caused_by(cause))?;
        let client = connect(&runtime, &address)?;
        Ok(Self {
            runtime,
            client,
            address,
            patience,
        })
    }

    /// Connects again after a lost connection.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn reopen(&mut self) -> Result<()> {
        self.client = connect(&self.runtime, &self.address)?;
        Ok(())
    }

    /// The time that the server may take for an answer.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// The client, for statements that [`Connection::wait`] runs.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The server's name, for messages.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Runs a statement to its end, at most for the time that was set.
    ///
    /// # Errors
    /// If it fails, takes longer, or the user interrupts.
    pub fn wait<T>(
        &self,
        doing: &str,
        statement: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Answer<T> {
        self.wait_at_most(Some(self.patience + GRACE), doing, statement)
    }

    /// As [`Connection::wait`], for as long as it takes if there is no limit.
    ///
    /// # Errors
    /// As [`Connection::wait`].
    pub fn wait_at_most<T>(
        &self,
        limit: Option<Duration>,
        doing: &str,
        statement: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Answer<T> {
        interrupt::check()?;
        let answer = match limit {
            None => self.runtime.block_on(statement),
            Some(limit) => self
                .runtime
                .block_on(async { tokio::time::timeout(limit, statement).await })
                .map_err(|_| self.too_slow(doing))?,
        };
        interrupt::check()?;
        answer.map_err(|cause| self.failure(doing, &cause))
    }

    fn too_slow(&self, doing: &str) -> Failure {
        let (address, seconds) = (&self.address, self.patience.as_secs());
        Failure::Refused(Error::io(format!(
            "{address}: {doing}: no answer in {seconds} s (--timeout)"
        )))
    }

    fn failure(&self, doing: &str, cause: &tokio_postgres::Error) -> Failure {
        let stopped = cause.code() == Some(&SqlState::QUERY_CANCELED);
        if stopped {
            return self.too_slow(doing);
        }
        let text = format!("{}: {doing}: {}", self.address, reason(cause));
        match cause.as_db_error() {
            Some(error) if !is_ending(error) => Failure::Refused(Error::io(text)),
            _ => Failure::Lost(Error::io(text)),
        }
    }
}

fn connect(runtime: &Runtime, address: &Address) -> Result<Client> {
    let connecting = address.config.connect(address.tls.clone());
    let (client, connection) = runtime
        .block_on(connecting)
        .map_err(|cause| Error::io(format!("{address}: connecting: {}", reason(&cause))))?;
    // Its errors are those of the next statement.
    runtime.spawn(async { drop(connection.await) });
    Ok(client)
}

/// Whether the server is closing the connection, or starting.
fn is_ending(error: &DbError) -> bool {
    let code = error.code().code();
    code.starts_with("57P") || code.starts_with("08")
}

/// What the server says, or why it was not reached. Causes are part of some texts already.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        let more = error.detail().or(error.hint());
        return more.map_or_else(
            || error.message().to_owned(),
            |more| format!("{} ({more})", error.message()),
        );
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    if text.contains("UnknownIssuer") {
        text += "; --ca gives the certificates that sign the server's";
    }
    text
}
