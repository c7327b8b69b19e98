//! The vectors of a bundle elsewhere: in Parquet files and in PostgreSQL with pgvector.
//!
//! The cargo feature `stores` compiles it. A store is a set of tables in a database;
//! [`VectorStore`] is one that is open for searches.

#[cfg_attr(not(feature = "stores"), path = "without_parquet_files.rs")]
mod parquet_files;
#[cfg_attr(not(feature = "stores"), path = "without_postgres.rs")]
mod postgres;
#[cfg(feature = "stores")]
mod rows;

pub use parquet_files::{ROWS_PER_FILE, write as write_parquet};
pub use postgres::{VectorStore, export as export_to_postgres};

use clap::{Args, ValueEnum};
use pel_kb::error::{Error, Result};
use std::path::PathBuf;
use std::time::Duration;

/// How to get a build with stores.
#[cfg(not(feature = "stores"))]
const BUILD_HINT: &str = "programs of a release do, as do those of `cargo build \
                          --release -p pel-cli --features stores`";

/// How to reach a database.
#[derive(Clone, Debug, Args)]
pub struct ConnectionArgs {
    /// Name of the store in the database: the prefix of its tables
    #[arg(long, value_name = "NAME", default_value = "pel", value_parser = store_name)]
    pub table: String,
    /// File of certificates (PEM) that sign the server's [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Seconds that the server may take for an answer
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(1..=86_400),
    )]
    pub timeout: u32,
}

impl ConnectionArgs {
    /// The time that the server may take for an answer.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.timeout))
    }
}

/// The index of the database for approximate search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreIndex {
    /// No index: exact search
    None,
    /// A graph
    Hnsw,
    /// Coarse cells
    Ivfflat,
}

/// How a store is written.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// Index of the database for approximate search
    #[arg(long, value_enum, default_value = "none", requires = "to")]
    pub index: StoreIndex,
    /// Links per node of --index hnsw
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u8).range(2..=100))]
    pub m: u8,
    /// Candidates per node while --index hnsw is built
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(4..=1000))]
    pub ef_construction: u16,
    /// Cells of --index ivfflat [default: a thousandth of the rows]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=32_768))]
    pub lists: Option<u16>,
    /// Replace the store of this name
    #[arg(long, requires = "to")]
    pub replace: bool,
    /// Role that may read the store; can be given several times
    #[arg(long, value_name = "ROLE", requires = "to")]
    pub grant: Vec<String>,
}

/// How a store is searched.
#[derive(Clone, Debug, Args)]
pub struct SearchArgs {
    /// Search the vectors in PostgreSQL, where `pel export-vectors --to` wrote those of the bundle
    #[arg(long, value_name = "postgres://...")]
    pub vectors: Option<String>,
    /// Link only to concepts with one of these types, separated by commas
    #[arg(
        long,
        value_name = "TYPE,...",
        value_delimiter = ',',
        requires = "vectors"
    )]
    pub types: Vec<String>,
    /// Compare every row, even if the store has an index
    #[arg(long, requires = "vectors")]
    pub exact: bool,
    /// Depth of the search in the store's index: hnsw.ef_search or ivfflat.probes
    #[arg(
        long,
        value_name = "N",
        requires = "vectors",
        conflicts_with = "exact",
        value_parser = clap::value_parser!(u16).range(1..=32_768),
    )]
    pub depth: Option<u16>,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Vectors.
    pub rows: usize,
    /// Files; 0 for a database.
    pub files: usize,
}

/// The most characters of a store's name. PostgreSQL cuts names of tables at 63.
const LONGEST_NAME: usize = 40;

/// A name that is safe in a statement.
fn store_name(text: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_';
    let fits = text.starts_with(letter)
        && text.chars().all(|c| letter(c) || c.is_ascii_digit())
        && text.len() <= LONGEST_NAME;
    match fits {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "expected at most {LONGEST_NAME} small letters, digits and _, found {text:?}"
        )),
    }
}

/// Whether a text is the address of a database.
///
/// # Errors
/// If it is not. The message does not repeat it, because an address can hold a password.
pub fn check_address(text: &str) -> Result<()> {
    match text.starts_with("postgres://") || text.starts_with("postgresql://") {
        true => Ok(()),
        false => Err(Error::usage(
            "expected an address such as postgres://user@host:5432/database, found another text",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_name_has_small_letters_digits_and_underscores() {
        for good in ["pel", "_x", "clinic_2"] {
            assert_eq!(store_name(good).as_deref(), Ok(good));
        }
        let long = "x".repeat(LONGEST_NAME + 1);
        for bad in ["", "2x", "Pel", "a-b", "a;drop", "a\"b", "a.b", &long] {
            assert!(store_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn message_about_an_address_does_not_repeat_it() {
        assert!(check_address("postgresql://u@h/d").is_ok());
        let error = check_address("mysql://u:secret@h/d").expect_err("another scheme");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
