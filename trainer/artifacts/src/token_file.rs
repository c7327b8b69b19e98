//! The token vectors of many texts, for Sum-of-Max, in a temporary file that is mapped into memory.
//!
//! ZESHEL has 490,000 concepts of up to 128 tokens: 6 GB of vectors with 96 dimensions, 48 GB with
//! 768. They are written text by text, in the order in which they are encoded, and memory holds 8
//! bytes a text. The system drops mapped pages when it needs the memory.

use crate::bundles::map_file;
use bytes::Bytes;
use pel_index::{TokenCodes, TokenStoreLayout};
use pel_io::files::io_error;
use pel_kb::error::{Error, Result};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A token store that is being written. Its file has no name and goes with its last user.
#[derive(Debug)]
pub struct TokenFile {
    file: File,
    /// For messages.
    path: PathBuf,
    layout: TokenStoreLayout,
    /// Rows to come.
    left: usize,
}

impl TokenFile {
    /// Begins a store in a folder or, where no file can be made, among the temporary files of the
    /// system.
    ///
    /// # Errors
    /// If no file can be made or written.
    pub fn new(folder: &Path, layout: TokenStoreLayout) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile());
        let file = file.map_err(|cause| io_error("making a temporary file in", folder, cause))?;
        let mut begun = Self {
            file,
            path: folder.join("temporary token vectors"),
            left: layout.rows(),
            layout,
        };
        begun
            .file
            .set_len(begun.layout.bytes() as u64)
            .map_err(|cause| io_error("writing", &begun.path, cause))?;
        for (at, bytes) in begun.layout.beginning() {
            put(&mut begun.file, &begun.path, at, bytes)?;
        }
        Ok(begun)
    }

    /// Writes a row, each once and in any order.
    ///
    /// # Errors
    /// If there is no such row, it has another number of tokens, or it cannot be written.
    pub fn write(&mut self, row: usize, tokens: &TokenCodes) -> Result<()> {
        let [codes, scales] = self.layout.places(row, tokens)?;
        let Self { file, path, .. } = self;
        put(file, path, codes, bytemuck::cast_slice(&tokens.codes))?;
        put(file, path, scales, bytemuck::cast_slice(&tokens.scales))?;
        self.left = self.left.saturating_sub(1);
        Ok(())
    }

    /// The whole store, mapped.
    ///
    /// # Errors
    /// If a row is missing, or the file cannot be written or mapped.
    pub fn finish(mut self) -> Result<Bytes> {
        if self.left > 0 {
            let (rows, left) = (self.layout.rows(), self.left);
            return Err(Error::artifact(format!(
                "the token vectors: expected {rows} rows, found {}",
                rows - left
            )));
        }
        let header = self.layout.header(&map_file(&self.file, &self.path)?)?;
        put(&mut self.file, &self.path, 0, &header)?;
        map_file(&self.file, &self.path)
    }
}

fn put(file: &mut File, path: &Path, at: usize, bytes: &[u8]) -> Result<()> {
    file.seek(SeekFrom::Start(at as u64))
        .and_then(|_| file.write_all(bytes))
        .map_err(|cause| io_error("writing", path, cause))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_index::TokenStore;
    use pel_kb::ConceptId;
    use pel_kb::container::Check;

    #[test]
    fn rows_are_found_as_written_and_none_may_be_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = [(ConceptId(0), 1), (ConceptId(1), 2)];
        let begin = |folder: &Path| {
            let layout = TokenStoreLayout::new(2, rows).expect("in order");
            TokenFile::new(folder, layout).expect("it can be written")
        };
        let codes = |tokens: &[f32]| TokenCodes::new(2, tokens);
        let (one, two) = (codes(&[1.0, 0.0]), codes(&[0.0, 1.0, 0.5, 0.5]));
        for folder in [folder.path(), Path::new("/no/such/folder")] {
            let mut file = begin(folder);
            assert!(file.write(0, &two).is_err() && file.write(2, &one).is_err());
            file.write(1, &two).expect("written");
            file.write(0, &one).expect("written");
            let bytes = file.finish().expect("whole");
            let store = TokenStore::from_bytes(&bytes, Check::Checksums).expect("whole");
            assert_eq!((store.row(0), store.row(1)), (one.clone(), two.clone()));
            let best = store.search(&codes(&[0.0, 2.0]), 1);
            assert_eq!(best[0].concept, ConceptId(1));
        }
        // The files have no names.
        assert_eq!(std::fs::read_dir(folder.path()).expect("listed").count(), 0);
        let mut file = begin(folder.path());
        file.write(1, &two).expect("written");
        let error = file.finish().expect_err("one is missing").to_string();
        assert!(error.contains("expected 2 rows, found 1"), "{error}");
    }
}
