//! The seconds of a run.

/// Seconds of the steps of this call.
#[derive(Default)]
pub struct Times {
    /// All steps.
    pub steps: f64,
    /// FGSM, where it was measured.
    pub fgsm: f64,
    /// The steps where it was measured.
    pub measured: f64,
}

impl Times {
    /// The share of FGSM in the steps where it was measured; `None` without any.
    pub fn fgsm_share(&self) -> Option<f64> {
        (self.measured > 0.0).then_some(self.fgsm / self.measured)
    }
}
