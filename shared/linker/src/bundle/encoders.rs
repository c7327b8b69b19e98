//! The encoders of a bundle by themselves: what several workers of a web page need who share the
//! encoding of one text.

use super::{Manifest, Parts, detector, names};
use burn::tensor::Device;
use pel_kb::error::Result;
use pel_kb::score::Scorer;
use pel_model::detector::Detector;
use pel_model::encode::Encoder;
use pel_model::tokens::Tokens;

/// The encoders of a bundle, without its concepts and its index.
pub struct Encoders {
    /// The encoder of mentions and entities.
    pub encoder: Encoder,
    /// The vectors that the bundle compares.
    pub scorer: Scorer,
    /// The detector of mentions, if the bundle has one.
    pub detector: Option<Detector>,
}

impl Encoders {
    /// Builds the encoders on a device from files of a bundle that was read before
    /// ([`Bundle::read`]): the files are not compared with the manifest again.
    ///
    /// # Errors
    /// If one of [`Encoders::FILES`] that the manifest lists is missing, or they do not fit
    /// together.
    ///
    /// [`Bundle::read`]: super::Bundle::read
    pub fn from_parts(parts: &Parts, device: &Device) -> Result<Self> {
        let manifest = Manifest::from_bytes(parts.get(names::MANIFEST)?)?;
        let tokens = Tokens::from_bytes(parts.get(names::TOKENIZER)?)?;
        Ok(Self {
            encoder: parts.encoder(&tokens, &manifest.encoder, device)?,
            scorer: manifest.scorer(),
            detector: detector(&manifest, parts)?,
        })
    }

    /// The files that they are built from, as far as a bundle has them.
    pub const FILES: [&'static str; 10] = [
        names::MANIFEST,
        names::TOKENIZER,
        names::CONFIG,
        names::WEIGHTS,
        names::PROJECTION,
        names::ENTITY_CONFIG,
        names::ENTITY_WEIGHTS,
        names::ENTITY_PROJECTION,
        names::DETECTOR_CONFIG,
        names::DETECTOR_WEIGHTS,
    ];
}
