//! Writes the settings that a calibration chooses into a bundle, or copies them from another
//! bundle.

use pel_artifacts::bundles;
use pel_io::files::{io_error, write_atomic, write_no_follow};
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::{Manifest, names};
use pel_model::nil::NilPolicy;
use pel_model::tokens::ViewOptions;
use std::path::Path;

/// The settings of a bundle that a calibration chooses.
#[derive(Clone, Debug)]
pub struct BundleSettings {
    /// The NIL policy.
    pub nil: NilPolicy,
    /// The mix of views, if one was chosen.
    pub mix: Option<f32>,
    /// The share of spelling, if one was chosen.
    pub spelling: Option<f32>,
}

/// Writes settings into a bundle's manifest. In a folder it replaces the manifest alone; a bundle
/// of one file is rewritten. Either is atomic.
///
/// # Errors
/// If the bundle cannot be read, is damaged, or cannot be written.
pub fn put(path: &Path, settings: BundleSettings) -> Result<()> {
    let mut parts = bundles::parts(path).context(|| path.display().to_string())?;
    let manifest =
        Manifest::from_bytes(parts.get(names::MANIFEST)?).context(|| path.display().to_string())?;
    let BundleSettings { nil, mix, spelling } = settings;
    let view = ViewOptions {
        mix: mix.unwrap_or(manifest.view.mix),
        spelling: spelling.unwrap_or(manifest.view.spelling),
        ..manifest.view
    };
    let (_, json) = Manifest {
        nil,
        view,
        ..manifest
    }
    .sealed()?;
    if path.is_dir() {
        let target = path.join(names::MANIFEST);
        return write_no_follow(&target, |file| {
            file.write_all(&json)
                .map_err(|cause| io_error("writing", &target, cause))
        });
    }
    parts.0.insert(names::MANIFEST.into(), json.into());
    let bytes = parts.to_one_file()?;
    write_atomic(path, |file| {
        file.write_all(&bytes)
            .map_err(|cause| io_error("writing", path, cause))
    })
}

/// Checks that the scores of another bundle mean what those of this one mean.
///
/// # Errors
/// If encoders, views or scores of the two differ.
pub fn same_scores(own: &Manifest, other: &Manifest) -> Result<()> {
    if !other.has_encoder_of(own) {
        let [own, other] = [own, other].map(|manifest| &manifest.encoder.name);
        return Err(Error::input(format!(
            "its encoder ({other}) is not that of the bundle ({own}), so its scores mean something \
             else"
        )));
    }
    let scored = |manifest: &Manifest| {
        let view = ViewOptions {
            mix: 0.0,
            spelling: 0.0,
            ..manifest.view
        };
        (
            view,
            manifest.encoder.reduction,
            manifest.index.score,
            manifest.token_vectors.is_some(),
        )
    };
    if scored(other) != scored(own) {
        return Err(Error::input(
            "its views or scores are not those of the bundle, so they cannot be compared",
        ));
    }
    Ok(())
}

/// Copies the settings of the bundle `from` into the bundle `into`, and returns the threshold.
///
/// # Errors
/// If a bundle cannot be read or written, or encoders, views or scores of the two differ.
pub fn copy_settings(from: &Path, into: &Path) -> Result<Option<f32>> {
    let [source, target] =
        [from, into].map(|path| bundles::open(path).map(|bundle| bundle.manifest));
    let (source, target) = (source?, target?);
    same_scores(&target, &source).context(|| format!("--from {}", from.display()))?;
    let nil = source.nil;
    let threshold = nil.threshold;
    let ViewOptions { mix, spelling, .. } = source.view;
    put(
        into,
        BundleSettings {
            nil,
            mix: Some(mix),
            spelling: Some(spelling),
        },
    )?;
    Ok(threshold)
}
