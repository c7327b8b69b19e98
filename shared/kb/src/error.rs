//! The error type of the workspace: what failed, why, and which [`Kind`] of problem it is.

use std::error::Error as StdError;
use std::fmt;

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its chain of causes.
///
/// `{}` prints one line, outermost cause first: `outer: inner: innermost`. Messages are lower-case,
/// have no full stop, and state what was expected and what was found.
///
/// # Example
/// ```
/// use pel_kb::error::Error;
///
/// let error = Error::input("expected 3 fields, found 2").context("reading kb.csv");
/// assert_eq!(error.to_string(), "reading kb.csv: expected 3 fields, found 2");
/// ```
pub struct Error {
    kind: Kind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The source of an error. The command line maps it to an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Options that contradict each other, such as an output path that is also an input.
    Usage,
    /// Invalid user input: text, spans, tables or corpora.
    Input,
    /// A damaged or incompatible model, tokenizer, index or bundle.
    Artifact,
    /// A compute device is missing or failed.
    Device,
    /// A file or folder cannot be read or written.
    Io,
    /// The user interrupted the command.
    Interrupted,
}

impl Error {
    /// An error of kind [`Kind::Usage`].
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message)
    }

    /// An error of kind [`Kind::Input`].
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(Kind::Input, message)
    }

    /// An error of kind [`Kind::Artifact`].
    pub fn artifact(message: impl Into<String>) -> Self {
        Self::new(Kind::Artifact, message)
    }

    /// An error of kind [`Kind::Device`].
    pub fn device(message: impl Into<String>) -> Self {
        Self::new(Kind::Device, message)
    }

    /// An error of kind [`Kind::Io`].
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(Kind::Io, message)
    }

    /// The user interrupted the command.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted")
    }

    /// An error of the given kind.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Attaches the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds a message that says which operation failed. The kind stays the same.
    #[must_use]
    pub fn context(self, message: impl Into<String>) -> Self {
        Self {
            kind: self.kind,
            message: message.into(),
            source: Some(Box::new(self)),
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the kind is [`Kind::Interrupted`].
    pub fn is_interrupted(&self) -> bool {
        self.kind == Kind::Interrupted
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let mut source = self.source();
        while let Some(cause) = source {
            // The Display of `Error` prints its own causes.
            if let Some(error) = cause.downcast_ref::<Error>() {
                return write!(f, ": {error}");
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
        self.source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

/// Adds context to the error of a [`Result`].
pub trait Context<T> {
    /// Adds a message that says which operation failed.
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
        let root = Error::input("expected 3 fields, found 2")
            .context("line 7")
            .context("reading kb.csv");
        assert_eq!(
            root.to_string(),
            "reading kb.csv: line 7: expected 3 fields, found 2"
        );
        assert_eq!(root.kind(), Kind::Input);
    }

    #[test]
    fn causes_of_other_types_are_printed() {
        let cause = std::io::Error::other("disk full");
        let error = Error::io("writing index.bin").caused_by(cause);
        assert_eq!(error.to_string(), "writing index.bin: disk full");
    }
}
