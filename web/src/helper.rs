//! What a further worker computes for the one that links: the encoders alone, on the processor.
//!
//! Threads of WebAssembly would save the second copy of the weights. They need two HTTP headers
//! that many static hosts cannot set.

use crate::failure::Outcome;
use crate::files::Files;
use crate::shapes::Rows;
use burn::tensor::Device;
use pel_kb::error::Error;
use pel_linker::bundle::Encoders;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use wasm_bindgen::prelude::wasm_bindgen;

/// The encoders of a bundle.
#[wasm_bindgen]
pub struct Helper {
    encoders: Encoders,
}

#[wasm_bindgen]
impl Helper {
    /// Builds the encoders of a bundle that an [`Engine`](crate::Engine) has read.
    ///
    /// # Errors
    /// If the files do not fit together.
    pub fn load(files: Files) -> Outcome<Helper> {
        let encoders = Encoders::from_parts(&files.into_parts(), &Device::flex())?;
        Ok(Self { encoders })
    }

    /// The values of a window, for [`Engine::take_window`](crate::Engine::take_window).
    ///
    /// # Errors
    /// If the bundle has no detector.
    #[wasm_bindgen(js_name = readWindow)]
    pub fn read_window(&self, window: &str) -> Outcome<Vec<f32>> {
        let rows = serde_json::from_str::<Rows>(window)?.sequences();
        let detector = self.encoders.detector.as_ref();
        let detector = detector.ok_or_else(|| Error::input("the bundle has no detector"))?;
        Ok(detector.last_layer(&rows).concat())
    }

    /// The values of a batch of mentions, for [`Engine::take_vectors`](crate::Engine::take_vectors).
    ///
    /// # Errors
    /// If a sequence is not one of the encoder.
    pub fn encode(&self, batch: &str) -> Outcome<Vec<f32>> {
        self.values(Side::Mention, batch)
    }

    /// The values of a batch of texts of concepts, for
    /// [`Engine::take_concepts`](crate::Engine::take_concepts).
    ///
    /// # Errors
    /// If a sequence is not one of the encoder.
    #[wasm_bindgen(js_name = encodeConcepts)]
    pub fn encode_concepts(&self, batch: &str) -> Outcome<Vec<f32>> {
        self.values(Side::Entity, batch)
    }

    fn values(&self, side: Side, batch: &str) -> Outcome<Vec<f32>> {
        let rows = serde_json::from_str::<Rows>(batch)?.sequences();
        let rows: Vec<&Encoded> = rows.iter().collect();
        let (encoder, scorer) = (&self.encoders.encoder, self.encoders.scorer);
        let whole = [(0..rows.len()).collect()];
        let mut values = Vec::new();
        for step in encoder.steps(scorer, side, &rows, &whole) {
            values.extend(step?.vectors.read()?);
        }
        Ok(values)
    }
}
