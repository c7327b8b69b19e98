//! The mean of several detectors' weights (model soup, Wortsman et al. 2022).
//!
//! Runs that begin with the same weights and the same seed but differ in length or in the mixture
//! of texts reach nearby minima. The mean of their weights costs no more than one of them, and
//! holds better on texts of other kinds.

use super::model::read_files;
use bytes::Bytes;
use pel_kb::error::{Context, Error, Result};
use pel_model::detector::DetectorInfo;
use pel_model::weights::Weights;
use safetensors::tensor::{Dtype, TensorView};
use std::path::{Path, PathBuf};

/// Reads one detector or several: the description of the first, thresholds included, and the mean
/// of all weights.
///
/// # Errors
/// If a file is missing or damaged, or the detectors differ in labels or sizes.
pub fn read_mean(folders: &[PathBuf]) -> Result<(DetectorInfo, Bytes)> {
    let Some((first, others)) = folders.split_first() else {
        return Err(Error::input("expected a detector, found none"));
    };
    let (info, weights) = read_files(first)?;
    if others.is_empty() {
        return Ok((info, weights));
    }
    let mut all = vec![(first.as_path(), weights)];
    for folder in others {
        let (other, weights) = read_files(folder)?;
        if !same_model(&info, &other) {
            return Err(Error::input(format!(
                "{}: expected a detector with the labels, windows and sizes of {}, found other \
                 ones",
                folder.display(),
                first.display()
            )));
        }
        all.push((folder.as_path(), weights));
    }
    Ok((info, mean(&all)?.into()))
}

/// Whether both describe the same network and labels. Names, licences and thresholds may differ.
fn same_model(one: &DetectorInfo, other: &DetectorInfo) -> bool {
    let labels = |info: &DetectorInfo| -> Vec<(String, Vec<String>)> {
        let schemes = info.schemes.iter();
        schemes
            .map(|scheme| (scheme.name.clone(), scheme.labels.clone()))
            .collect()
    };
    let sizes =
        |info: &DetectorInfo| [info.window, info.overlap, info.words, info.width, info.rank];
    labels(one) == labels(other) && sizes(one) == sizes(other)
}

/// The mean of each tensor, summed in the order of the files.
fn mean(files: &[(&Path, Bytes)]) -> Result<Vec<u8>> {
    let mut opened = Vec::with_capacity(files.len());
    for (folder, bytes) in files {
        let weights = Weights::from_bytes(bytes).context(|| folder.display().to_string())?;
        opened.push((*folder, weights));
    }
    let tensors = opened
        .first()
        .map(|(_, weights)| weights.left())
        .unwrap_or_default();
    let mut means = Vec::with_capacity(tensors.len());
    for (name, shape) in tensors {
        let mut sum = vec![0f32; shape.iter().product()];
        for (folder, weights) in &mut opened {
            let values = weights
                .floats(&name, &shape)
                .context(|| folder.display().to_string())?;
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += value;
            }
        }
        let count = files.len() as f32;
        sum.iter_mut().for_each(|sum| *sum /= count);
        means.push((name, shape, sum));
    }
    for (folder, weights) in opened {
        weights.finish().context(|| folder.display().to_string())?;
    }
    let failed = |cause: safetensors::SafeTensorError| {
        Error::artifact("writing the mean of the detectors").caused_by(cause)
    };
    let views = means.iter().map(|(name, shape, values)| {
        Ok((
            name.as_str(),
            TensorView::new(Dtype::F32, shape.clone(), bytemuck::cast_slice(values))?,
        ))
    });
    let views = views.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    safetensors::serialize(views, None).map_err(failed)
}
