//! Checkpoints: everything that a run needs to go on as if it had never stopped.
//!
//! ```text
//! checkpoints/step-0000500/
//!   state.json               steps done
//!   model/                   the towers, as Hugging Face folders
//!   optimiser.safetensors    both moments of every parameter
//!   hard.safetensors         the hard negatives of the last mining pass
//!   worst.safetensors        the matrices of the learned transformation, if there is one
//! ```
//!
//! Random numbers and the place in the data derive from the seed and the number of steps. A folder is written beside its
//! place and then renamed: one that is there is whole.

use super::batch::HardNegatives;
use super::catalogue::SequenceId;
use super::config::{Checkpoints as Options, Config};
use super::model::Model;
use super::optimiser::Optimiser;
use super::scale::Scale;
use super::step::Worst;
use crate::bundles;
use crate::files::io_error;
use crate::tensors::{Dtype, NamedTensor, to_bytes};
use burn::tensor::{Device, Tensor};
use pel_shared::bert::Weights;
use pel_shared::bundle::ViewOptions;
use pel_shared::encoder::floats;
use pel_shared::error::{Context, Error, Result};
use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

const STATE: &str = "state.json";
const MODEL: &str = "model";
const OPTIMISER: &str = "optimiser.safetensors";
const HARD: &str = "hard.safetensors";
const WORST: &str = "worst.safetensors";
/// The names of both matrices.
const MATRICES: [&str; 2] = ["mention", "entity"];

/// What is known of a run besides its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    /// Raised when the form of a checkpoint changes.
    format: u32,
    /// Steps done.
    step: usize,
    /// The scale of the loss, where the numbers need one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
    /// The hash of what is learned from ([`Checkpoints::over`]); nothing in those of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
}

/// The checkpoints of a run.
pub struct Checkpoints {
    folder: PathBuf,
    options: Options,
    data: Option<String>,
}

/// What a run goes on with.
pub struct Resumed {
    /// Steps done.
    pub step: usize,
    /// The hash of what was learned from.
    pub data: Option<String>,
    /// The towers.
    pub model: Model,
    /// The hard negatives of the last mining pass.
    pub hard: HardNegatives,
    /// The learned transformation, if the run has one.
    pub worst: Option<Worst>,
}

impl Checkpoints {
    /// The checkpoints in the folder of a run.
    pub fn of(run: &Path, options: &Options) -> Self {
        Self { folder: run.join(super::CHECKPOINTS), options: options.clone(), data: None }
    }

    /// The whole checkpoints, by steps.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn list(&self) -> Result<Vec<(usize, PathBuf)>> {
        if !self.folder.is_dir() {
            return Ok(Vec::new());
        }
        let failed = |cause| io_error("listing", &self.folder, cause);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some(step) = name.strip_prefix("step-").and_then(|step| step.parse().ok()) {
                found.push((step, path));
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The last checkpoint's folder and its steps.
    ///
    /// # Errors
    /// If the folder cannot be listed.
    pub fn last(&self) -> Result<Option<(usize, PathBuf)>> {
        Ok(self.list()?.pop())
    }

    /// The checkpoints of a run over data with this hash. A checkpoint names negatives and places by number, so one of other data
    /// cannot be gone on with.
    ///
    /// # Errors
    /// If the run began with other data, whose hash is `before`.
    pub fn over(self, data: String, before: Option<&str>) -> Result<Self> {
        if before.is_some_and(|before| before != data) {
            let run = self.folder.parent().unwrap_or(&self.folder).display();
            return Err(Error::input(format!(
                "{run}: the knowledge base, the corpus or the candidates are not those that the run began with; choose another --out, \
                 or bring them back"
            )));
        }
        Ok(Self { data: Some(data), ..self })
    }

    /// Writes a checkpoint, then removes the oldest.
    ///
    /// # Errors
    /// If the device does not give its tensors, or a file cannot be written; older checkpoints stay then.
    pub fn save(
        &self,
        step: usize,
        model: &Model,
        view: &ViewOptions,
        optimiser: &Optimiser,
        hard: &HardNegatives,
        worst: Option<&Worst>,
    ) -> Result<()> {
        let place = self.folder.join(format!("step-{step:07}"));
        if place.is_dir() {
            return Ok(());
        }
        write_folder(&place, |folder| {
            model.save(&folder.join(MODEL), view)?;
            write(&folder.join(OPTIMISER), &optimiser.to_safetensors()?)?;
            write(&folder.join(HARD), &pack(hard)?)?;
            worst.map_or(Ok(()), |worst| write(&folder.join(WORST), &pack_matrices(worst)?))?;
            let state = serde_json::to_vec(&State { format: 1, step, scale: optimiser.scale, data: self.data.clone() })
                .map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
            write(&folder.join(STATE), &state)
        })?;
        let all = self.list()?;
        for (_, old) in &all[..all.len().saturating_sub(self.options.keep)] {
            fs::remove_dir_all(old).map_err(|cause| io_error("removing", old, cause))?;
        }
        Ok(())
    }

    /// Reads a checkpoint; the optimiser is made for its towers by `optimiser`.
    ///
    /// # Errors
    /// If a file is missing or damaged; it is named.
    pub fn load(folder: &Path, config: &Config, device: &Device) -> Result<(Resumed, Optimiser)> {
        Self::read(folder, config, device).context(|| {
            let folder = folder.display();
            format!(
                "{folder}: this checkpoint cannot be read; without its folder the run goes on from the one before it"
            )
        })
    }

    fn read(folder: &Path, config: &Config, device: &Device) -> Result<(Resumed, Optimiser)> {
        let file = |name: &'static str| bundles::map(&folder.join(name)).map(|bytes| (bytes, move || name.to_owned()));
        let (state, named) = file(STATE)?;
        let state: State = serde_json::from_slice(&state)
            .map_err(|cause| Error::artifact("expected a checkpoint's state").caused_by(cause))
            .context(named)?;
        if state.format != 1 {
            let found = state.format;
            return Err(Error::artifact(format!("{STATE}: expected checkpoint format 1, found {found}")));
        }
        let model = Model::resume(&folder.join(MODEL), config, device)?;
        let mut optimiser = Optimiser::new(&config.optimiser, &model.towers, device);
        optimiser.scale = state.scale;
        let (moments, named) = file(OPTIMISER)?;
        optimiser.load(&moments).context(named)?;
        let (hard, named) = file(HARD)?;
        let hard = unpack(&hard).context(named)?;
        let worst = match model.worst(config, device)? {
            None => None,
            Some(_) => {
                let (matrices, named) = file(WORST)?;
                let matrices = unpack_matrices(&matrices, &device.clone().inner()).context(named)?;
                Some(Worst::from_matrices(&config.transformation, matrices, device))
            }
        };
        Ok((Resumed { step: state.step, data: state.data, model, hard, worst }, optimiser))
    }
}

/// Writes a folder whole or not at all: beside its place first, then renamed. An old one is replaced; whoever is killed meanwhile has
/// left it in its place, or beside it as `.NAME.old`.
///
/// # Errors
/// What `fill` gives, or if the folder cannot be made or renamed.
pub fn write_folder(place: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let part = place.with_file_name(format!(".{name}.part"));
    let clear = |folder: &Path| match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(|cause| io_error("removing", folder, cause)),
        false => Ok(()),
    };
    clear(&part)?;
    fs::create_dir_all(&part).map_err(|cause| io_error("making the folder", &part, cause))?;
    fill(&part)?;
    let old = place.with_file_name(format!(".{name}.old"));
    let rename = |from: &Path, to: &Path| fs::rename(from, to).map_err(|cause| io_error("renaming to", to, cause));
    if place.exists() {
        clear(&old)?;
        rename(place, &old)?;
    }
    rename(&part, place)?;
    clear(&old)
}

/// Writes a file of a folder that is not in its place yet, also after the user has asked to stop.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        use std::io::Write;
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        let mut file = fs::File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|cause| io_error("writing", path, cause))
}

/// Fills a row of fewer sequences.
const NONE: u32 = u32::MAX;

fn pack(hard: &HardNegatives) -> Result<Vec<u8>> {
    let mut numbers: Vec<usize> = hard.keys().copied().collect();
    numbers.sort_unstable();
    let width = hard.values().map(Vec::len).max().unwrap_or(0);
    let mut examples = Vec::with_capacity(numbers.len());
    let mut sequences = Vec::with_capacity(numbers.len() * width);
    for number in numbers {
        examples.push(number as u32);
        let row = hard[&number].iter().map(|sequence| sequence.0);
        sequences.extend(row.chain(std::iter::repeat(NONE)).take(width));
    }
    let count = examples.len();
    let tensor = |name: &str, shape, values| NamedTensor {
        name: name.into(),
        dtype: Dtype::U32,
        shape,
        bytes: bytemuck::cast_slice(values),
    };
    to_bytes(&[tensor("examples", vec![count], &examples), tensor("sequences", vec![count, width], &sequences)])
}

fn unpack(file: &[u8]) -> Result<HardNegatives> {
    let failed = |cause: safetensors::SafeTensorError| Error::artifact(HARD).caused_by(cause);
    let all = SafeTensors::deserialize(file).map_err(failed)?;
    let numbers = |name: &str| -> Result<Vec<u32>> {
        let view = all.tensor(name).map_err(failed)?;
        Ok(view.data().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
    };
    let (examples, sequences) = (numbers("examples")?, numbers("sequences")?);
    let width = sequences.len().checked_div(examples.len()).unwrap_or(0);
    let rows = examples.iter().enumerate().map(|(at, number)| {
        let row = sequences[at * width..][..width].iter().filter(|sequence| **sequence != NONE);
        (*number as usize, row.map(|sequence| SequenceId(*sequence)).collect())
    });
    Ok(rows.collect())
}

fn pack_matrices(worst: &Worst) -> Result<Vec<u8>> {
    let values =
        worst.matrices().iter().map(|matrix| Ok((matrix.dims().to_vec(), floats(matrix.clone().try_into_data())?)));
    let values = values.collect::<Result<Vec<_>>>()?;
    let tensors = MATRICES.iter().zip(&values);
    to_bytes(
        &tensors.map(|(name, (shape, values))| NamedTensor::floats(*name, shape.clone(), values)).collect::<Vec<_>>(),
    )
}

fn unpack_matrices(file: &[u8], device: &Device) -> Result<[Tensor<2>; 2]> {
    let mut weights = Weights::from_bytes(file).context(|| WORST.into())?;
    let mut take = |name: &str| {
        let size = weights.rows(name)?;
        weights.take::<2>(name, [size, size], device)
    };
    let [mention, entity] = MATRICES.map(&mut take);
    Ok([mention?, entity?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_negatives_read_back() {
        let ids = |ids: &[u32]| ids.iter().map(|id| SequenceId(*id)).collect::<Vec<_>>();
        let hard = HardNegatives::from([(7, ids(&[3, 1, 2])), (2, ids(&[9])), (4, ids(&[]))]);
        assert_eq!(unpack(&pack(&hard).expect("written")).expect("whole"), hard);
        let none = HardNegatives::new();
        assert_eq!(unpack(&pack(&none).expect("written")).expect("whole"), none);
        assert!(unpack(b"nonsense").is_err());
    }

    #[test]
    fn a_folder_is_whole_or_not_there() {
        let root = tempfile::tempdir().expect("a folder");
        let place = root.path().join("step-0000001");
        let failed = write_folder(&place, |folder| {
            write(&folder.join("half"), b"x")?;
            Err(Error::io("disk full"))
        });
        assert!(failed.is_err() && !place.exists());
        write_folder(&place, |folder| write(&folder.join("whole"), b"x")).expect("written");
        write_folder(&place, |folder| write(&folder.join("again"), b"y")).expect("replaced");
        let names: Vec<_> =
            fs::read_dir(&place).expect("there").map(|entry| entry.expect("read").file_name()).collect();
        assert_eq!(names, ["again"]);
        // What was replaced has gone.
        assert_eq!(fs::read_dir(root.path()).expect("there").count(), 1);
    }
}
