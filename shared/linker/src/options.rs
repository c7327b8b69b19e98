//! The options for linking a text.

use pel_text::detect::DetectOptions;

/// The options for linking a text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinkOptions {
    /// The number of candidates of a mention.
    pub k: usize,
    /// The lowest value that is linked, a probability if the bundle has a model of it, otherwise a
    /// score; `None` uses the bundle's policy.
    pub threshold: Option<f32>,
    /// The options for detection.
    pub detect: DetectOptions,
}

impl Default for LinkOptions {
    fn default() -> Self {
        Self {
            k: 5,
            threshold: None,
            detect: DetectOptions::default(),
        }
    }
}

impl LinkOptions {
    /// Sets the number of candidates of a mention.
    #[must_use]
    pub fn k(self, k: usize) -> Self {
        Self { k, ..self }
    }

    /// The number of candidates to find: the margin needs two, even if one was asked for.
    pub(crate) fn candidates(&self) -> usize {
        self.k.max(2)
    }

    /// Sets the lowest value that is linked, a probability if the bundle has a model of it,
    /// otherwise a score; `None` uses the bundle's policy.
    #[must_use]
    pub fn threshold(self, threshold: Option<f32>) -> Self {
        Self { threshold, ..self }
    }

    /// Sets the options for detection.
    #[must_use]
    pub fn detect(self, detect: DetectOptions) -> Self {
        Self { detect, ..self }
    }
}
