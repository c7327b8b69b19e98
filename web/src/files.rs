//! The files of a bundle on their way into WebAssembly.

use crate::failure::Outcome;
use bytes::Bytes;
use pel_linker::bundle::Parts;
use wasm_bindgen::prelude::wasm_bindgen;

/// The files of a bundle on their way in.
#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Files(Parts);

#[wasm_bindgen]
impl Files {
    /// None yet.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn add(&mut self, name: String, bytes: Vec<u8>) {
        self.0.0.insert(name, bytes.into());
    }

    /// Adds all files of a bundle that is one file.
    ///
    /// # Errors
    /// If it is no bundle, of another version, or cut short.
    #[wasm_bindgen(js_name = addWhole)]
    pub fn add_whole(&mut self, bytes: Vec<u8>) -> Outcome<()> {
        self.0
            .0
            .extend(Parts::from_one_file(&Bytes::from(bytes))?.0);
        Ok(())
    }
}

impl Files {
    /// What has come.
    pub(crate) fn into_parts(self) -> Parts {
        self.0
    }
}
