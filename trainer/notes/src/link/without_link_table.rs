//! Replaces `link_table` in a build without the cargo feature `parquet`.

pub(crate) use super::link_row::LinkRow;
use pel_kb::codes::System;
use pel_kb::error::{Error, Result};
use std::io::Write;
use std::marker::PhantomData;
use std::path::Path;

/// A table that cannot be written.
pub(crate) struct LinkTable<'a>(PhantomData<&'a ()>);

impl<'a> LinkTable<'a> {
    /// Refuses: this build cannot write Parquet.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &'a mut dyn Write, _: &'a Path, _: &[System]) -> Result<Self> {
        check_build().map(|()| Self(PhantomData))
    }

    pub fn put(&mut self, _: Vec<LinkRow>) -> Result<()> {
        check_build()
    }

    pub fn finish(self) -> Result<()> {
        check_build()
    }
}

/// Refuses: this build cannot write Parquet.
///
/// # Errors
/// Always.
pub fn check_build() -> Result<()> {
    Err(Error::usage(format!(
        "this build of pel writes no Parquet files; {}",
        super::PARQUET_HINT
    )))
}
