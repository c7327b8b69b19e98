//! The one error type of the workspace: what went wrong, why, and whose side it is on.

use std::error::Error as StdError;
use std::fmt;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What failed, with its chain of causes.
///
/// Printed with `{}` it is one line, outermost first: `outer: inner: innermost`. Messages are lower-case, without a full
/// stop, and say what was expected and what was found.
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Whose side an error is on; the command line turns it into an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options that do not go together, such as an output that is also an input.
    Usage,
    /// Text, spans, tables or corpora that the user gave.
    Input,
    /// A model, tokenizer, index or bundle that is damaged, of another version, or does not fit.
    Artifact,
    /// A compute device that is missing or failed.
    Device,
    /// A file or folder that cannot be read or written.
    Io,
    /// The user stopped the work.
    Interrupted,
}

impl Error {
    /// An error about options that do not go together.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// An error about what the user gave.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// An error about a model, index or bundle.
    pub fn artifact(message: impl Into<String>) -> Self {
        Self::new(Kind::Artifact, message)
    }

    /// An error about a compute device.
    pub fn device(message: impl Into<String>) -> Self {
        Self::new(Kind::Device, message)
    }

    /// An error about a file or folder.
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(Kind::Io, message)
    }

    /// The user stopped the work.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted")
    }

    /// An error of the given kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Attaches the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Wraps this error in a sentence that says what was being done; the kind stays.
    #[must_use]
    pub fn context(self, message: impl Into<String>) -> Self {
        Self { kind: self.kind, message: message.into(), source: Some(Box::new(self)) }
    }

    /// Whose side the error is on.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the user stopped the work.
    pub fn is_interrupted(&self) -> bool {
        self.kind == Kind::Interrupted
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut source = self.source();
        while let Some(cause) = source {
            // Our own errors print their causes themselves.
            if let Some(own) = cause.downcast_ref::<Error>() {
                return write!(f, ": {own}");
            }
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} error: {self}", self.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Adds context to the error of a [`Result`].
pub trait Context<T> {
    /// Wraps the error in a sentence that says what was being done.
    fn context(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    fn context(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| error.context(message()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_chained_outermost_first() {
        let root = Error::input("expected 3 fields, found 2").context("line 7").context("reading kb.csv");
        assert_eq!(root.to_string(), "reading kb.csv: line 7: expected 3 fields, found 2");
        assert_eq!(root.kind(), Kind::Input);
    }

    #[test]
    fn foreign_causes_are_printed_too() {
        let cause = std::io::Error::other("disk full");
        let error = Error::io("writing index.bin").caused_by(cause);
        assert_eq!(error.to_string(), "writing index.bin: disk full");
    }
}
