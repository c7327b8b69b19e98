//! Checkpoints: everything that a resumed run needs to equal an uninterrupted one.
//!
//! ```text
//! checkpoints/step-0000500/
//!   state.json               steps done; the size and checksum of every other file; its own digest
//!   model/                   the towers, as Hugging Face folders
//!   optimiser.safetensors    both moments of every parameter
//!   hard.safetensors         the hard negatives of the last mining pass
//!   worst.safetensors        the matrices of the learned transformation, if there is one
//! ```
//!
//! Random numbers and the position in the data follow from the seed and the number of steps. A
//! folder is written under a temporary name and then renamed, so that an existing checkpoint is
//! complete.

use super::batch::HardNegatives;
use super::config::{Checkpoints as Options, Config};
use super::model::Model;
use super::optimiser::Optimiser;
use super::step::perturbation::Perturbation;
use crate::train::entity_inputs::SequenceId;
use crate::train::loss_scale::Scale;
use burn::tensor::{Device, Tensor};
use pel_artifacts::bundles;
use pel_artifacts::tensors::{Dtype, NamedTensor, to_bytes};
use pel_io::files::{entries, io_error, list_files, write_folder, write_in_folder};
use pel_kb::digest;
use pel_kb::error::{Context, Error, Result};
use pel_kb::numbers::check_finite;
use pel_linker::bundle::FileInfo;
use pel_model::burn::floats;
use pel_model::tokens::ViewOptions;
use pel_model::weights::Weights;
use safetensors::tensor::SafeTensors;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the checkpoints in that of their run.
pub const CHECKPOINTS: &str = "checkpoints";

const STATE: &str = "state.json";
const MODEL: &str = "model";
const OPTIMISER: &str = "optimiser.safetensors";
const HARD: &str = "hard.safetensors";
const WORST: &str = "worst.safetensors";
/// The names of both matrices.
const MATRICES: [&str; 2] = ["mention", "entity"];

/// The only format that is read and written.
const FORMAT: u32 = 2;

/// The state of a run besides its tensors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// The format version of the checkpoint.
    format: u32,
    /// Steps done.
    step: usize,
    /// The loss scale, for half-precision floats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
    /// The hash of the training data ([`Checkpoints::with_data`]); absent in earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    /// The deviation of the encoder's input embeddings when the run began, for FGSM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deviation: Option<f64>,
    /// All other files of the checkpoint, by their paths in it.
    files: BTreeMap<String, FileInfo>,
    /// The digest of the fields above ([`digest::of`]).
    digest: String,
}

impl State {
    /// Encodes the state with its digest.
    fn sealed(mut self) -> Result<Vec<u8>> {
        let encode = |state: &Self| {
            serde_json::to_vec(state).map_err(|cause| Error::io("encoding JSON").caused_by(cause))
        };
        // The digest is computed with an empty digest field.
        self.digest = String::new();
        self.digest = digest::of(&encode(&self)?).to_hex().to_string();
        encode(&self)
    }

    /// Reads the state, and verifies its digest and the checksums of the other files in the
    /// checkpoint.
    fn read(folder: &Path) -> Result<Self> {
        let json = bundles::map(&folder.join(STATE))?;
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let refuse = |cause| {
            Error::artifact("expected a checkpoint's state")
                .caused_by(cause)
                .context(STATE)
        };
        let Version { format } = serde_json::from_slice(&json).map_err(refuse)?;
        if format != FORMAT {
            return Err(Error::artifact(format!(
                "{STATE}: the checkpoint has format version {format}, this build reads {FORMAT}; \
                 resume with the version of PEL that wrote it, or start the run again in another \
                 --out"
            )));
        }
        let state: Self = serde_json::from_slice(&json).map_err(refuse)?;
        if state.digest.as_str() != digest::of(&json).to_hex().as_str() {
            return Err(Error::artifact(format!(
                "{STATE} has been altered: its digest differs"
            )));
        }
        let (files, found) = (&state.files, infos(folder)?);
        let mut names = files.keys().chain(found.keys());
        if let Some(name) = names.find(|name| files.get(*name) != found.get(*name)) {
            let what = match (files.get(name), found.get(name)) {
                (Some(_), None) => "is missing".to_owned(),
                (Some(expected), Some(found)) if expected.bytes != found.bytes => format!(
                    "has another size: expected {} bytes, found {}",
                    expected.bytes, found.bytes
                ),
                (Some(_), Some(_)) => "has been altered: its checksum differs".to_owned(),
                (None, _) => format!("is not listed in {STATE}"),
            };
            return Err(Error::artifact(format!("{name} {what}")));
        }
        state
            .scale
            .map_or(Ok(()), |scale| scale.check())
            .context(|| STATE.to_owned())?;
        Ok(state)
    }
}

/// The size and checksum of every file of a checkpoint except its state, by its path in the
/// checkpoint with `/` between the parts.
fn infos(folder: &Path) -> Result<BTreeMap<String, FileInfo>> {
    let mut infos = BTreeMap::new();
    for file in list_files(folder)? {
        let parts = file.strip_prefix(folder).unwrap_or(&file).components();
        let name = parts
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join("/");
        if name != STATE {
            let bytes = bundles::map(&file)?;
            let blake3 = blake3::hash(&bytes).to_hex().to_string();
            infos.insert(
                name,
                FileInfo {
                    bytes: bytes.len() as u64,
                    blake3,
                },
            );
        }
    }
    Ok(infos)
}

/// Writes the checksums of a checkpoint's files again, after a test changed one.
#[cfg(test)]
pub fn reseal(folder: &Path) {
    let json = fs::read(folder.join(STATE)).expect("read");
    let state: State = serde_json::from_slice(&json).expect("a state");
    let files = infos(folder).expect("read");
    let json = State { files, ..state }.sealed().expect("encoded");
    fs::write(folder.join(STATE), json).expect("written");
}

/// The checkpoints of a run.
pub struct Checkpoints {
    folder: PathBuf,
    options: Options,
    data: Option<String>,
    deviation: Option<f64>,
}

/// The state that a run resumes from.
pub struct Resumed {
    /// Steps done.
    pub step: usize,
    /// The hash of the training data.
    pub data: Option<String>,
    /// The deviation of the encoder's input embeddings when the run began, if FGSM needs it.
    pub deviation: Option<f64>,
    /// The towers.
    pub model: Model,
    /// The hard negatives of the last mining pass.
    pub hard: HardNegatives,
    /// The learned transformation, if the run has one.
    pub perturbation: Option<Perturbation>,
}

impl Checkpoints {
    /// The checkpoints in the folder of a run.
    pub fn of(run: &Path, options: &Options) -> Self {
        Self {
            folder: run.join(CHECKPOINTS),
            options: options.clone(),
            data: None,
            deviation: None,
        }
    }

    /// Sets the deviation of the encoder's input embeddings when the run began.
    #[must_use]
    pub fn with_deviation(self, deviation: Option<f64>) -> Self {
        Self { deviation, ..self }
    }

    /// The complete checkpoints, in ascending order of steps.
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
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if let Some(step) = name
                .strip_prefix("step-")
                .and_then(|step| step.parse().ok())
            {
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

    /// Sets the hash of the training data. A checkpoint refers to negatives and examples by number,
    /// so a run cannot resume with other data.
    ///
    /// # Errors
    /// If the run began with other data, whose hash is `before`.
    pub fn with_data(self, data: String, before: Option<&str>) -> Result<Self> {
        if before.is_some_and(|before| before != data) {
            let run = self.folder.parent().unwrap_or(&self.folder).display();
            return Err(Error::input(format!(
                "{run}: knowledge base, corpus or candidates changed since the run began; restore \
                 them, or choose another --out"
            )));
        }
        Ok(Self {
            data: Some(data),
            ..self
        })
    }

    /// Removes temporary folders that a killed process left. The run lock excludes other processes.
    fn sweep(&self) -> Result<()> {
        for name in entries(&self.folder)? {
            if name.starts_with(".step-") && [".part", ".old"].iter().any(|end| name.ends_with(end))
            {
                let left = self.folder.join(name);
                fs::remove_dir_all(&left).map_err(|cause| io_error("removing", &left, cause))?;
            }
        }
        Ok(())
    }

    /// Writes a checkpoint, then removes the oldest ones.
    ///
    /// # Errors
    /// If the device fails, or a file cannot be written; older checkpoints are kept in that case.
    pub fn save(
        &self,
        step: usize,
        model: &Model,
        view: &ViewOptions,
        optimiser: &Optimiser,
        hard: &HardNegatives,
        perturbation: Option<&Perturbation>,
    ) -> Result<()> {
        self.save_with(step, optimiser, |folder| {
            model.save(&folder.join(MODEL), view)?;
            write_in_folder(&folder.join(HARD), &pack(hard)?)?;
            perturbation.map_or(Ok(()), |perturbation| {
                write_in_folder(&folder.join(WORST), &pack_matrices(perturbation)?)
            })
        })
    }

    /// Writes a checkpoint of an optimiser and of what `write` writes into its folder, then removes
    /// the oldest ones.
    ///
    /// # Errors
    /// As [`Checkpoints::save`].
    pub fn save_with(
        &self,
        step: usize,
        optimiser: &Optimiser,
        write: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let place = self.folder.join(format!("step-{step:07}"));
        if place.is_dir() {
            return Ok(());
        }
        self.sweep()?;
        write_folder(&place, |folder| {
            write(folder)?;
            write_in_folder(&folder.join(OPTIMISER), &optimiser.to_safetensors()?)?;
            // The state comes last: it holds the checksums of the files as written.
            let (scale, data, files) = (optimiser.scale, self.data.clone(), infos(folder)?);
            let state = State {
                format: FORMAT,
                step,
                scale,
                data,
                deviation: self.deviation,
                files,
                digest: String::new(),
            };
            write_in_folder(&folder.join(STATE), &state.sealed()?)
        })?;
        let all = self.list()?;
        for (_, old) in &all[..all.len().saturating_sub(self.options.keep)] {
            fs::remove_dir_all(old).map_err(|cause| io_error("removing", old, cause))?;
        }
        Ok(())
    }

    /// Reads a checkpoint of another model than the towers: `read` gives the model in the folder,
    /// `begin` its optimiser. Returns the steps, the hash of the data, the model and the optimiser.
    ///
    /// # Errors
    /// As [`Checkpoints::load`].
    pub fn load_with<M>(
        folder: &Path,
        read: impl FnOnce(&Path) -> Result<M>,
        begin: impl FnOnce(&M) -> Optimiser,
    ) -> Result<(usize, Option<String>, M, Optimiser)> {
        let load = || {
            let state = State::read(folder)?;
            let model = read(folder)?;
            let mut optimiser = begin(&model);
            optimiser.scale = state.scale;
            load_moments(folder, &mut optimiser)?;
            Ok((state.step, state.data, model, optimiser))
        };
        load().context(|| unreadable(folder))
    }

    /// Reads a checkpoint.
    ///
    /// # Errors
    /// If a file is missing or damaged; the error names it.
    pub fn load(folder: &Path, config: &Config, device: &Device) -> Result<(Resumed, Optimiser)> {
        Self::read(folder, config, device).context(|| unreadable(folder))
    }

    fn read(folder: &Path, config: &Config, device: &Device) -> Result<(Resumed, Optimiser)> {
        let file = |name: &'static str| {
            bundles::map(&folder.join(name)).map(|bytes| (bytes, move || name.to_owned()))
        };
        let state = State::read(folder)?;
        let model = Model::resume(&folder.join(MODEL), config, device)?;
        let mut optimiser = Optimiser::new(&config.optimiser, &model.towers, device);
        optimiser.scale = state.scale;
        load_moments(folder, &mut optimiser)?;
        let (hard, named) = file(HARD)?;
        let hard = unpack(&hard).context(named)?;
        let perturbation = match Perturbation::begin(&model, config, device)? {
            None => None,
            Some(begun) => {
                let (matrices, named) = file(WORST)?;
                let sizes = begun.matrices().each_ref().map(|matrix| matrix.dims());
                let matrices =
                    unpack_matrices(&matrices, sizes, &device.clone().inner()).context(named)?;
                Some(Perturbation::from_matrices(
                    &config.transformation,
                    matrices,
                    device,
                ))
            }
        };
        Ok((
            Resumed {
                step: state.step,
                data: state.data,
                deviation: state.deviation,
                model,
                hard,
                perturbation,
            },
            optimiser,
        ))
    }
}

fn unreadable(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "{folder}: this checkpoint cannot be read; remove the folder to resume from the checkpoint \
         before it"
    )
}

fn load_moments(folder: &Path, optimiser: &mut Optimiser) -> Result<()> {
    let moments = bundles::map(&folder.join(OPTIMISER))?;
    check_moments(&moments)
        .and_then(|()| optimiser.load(&moments))
        .context(|| OPTIMISER.to_owned())
}

/// Checks the moments of an optimiser: finite floats, and second moments not below zero.
fn check_moments(file: &[u8]) -> Result<()> {
    let all = SafeTensors::deserialize(file)
        .map_err(|cause| Error::artifact("the optimiser's state").caused_by(cause))?;
    for (name, view) in all.iter() {
        let what = format!("the tensor `{name}`");
        if view.dtype() != Dtype::F32 {
            let found = view.dtype();
            return Err(Error::artifact(format!(
                "{what}: expected F32, found {found:?}"
            )));
        }
        let values: Vec<f32> = view
            .data()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect();
        check_finite(&what, &values)?;
        if let Some(at) = values
            .iter()
            .position(|value| *value < 0.0)
            .filter(|_| name.ends_with(".second"))
        {
            let found = values[at];
            return Err(Error::artifact(format!(
                "{what}: expected numbers from 0, found {found} at position {at}"
            )));
        }
    }
    Ok(())
}

/// Pads rows with fewer sequences.
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
    to_bytes(&[
        tensor("examples", vec![count], &examples),
        tensor("sequences", vec![count, width], &sequences),
    ])
}

fn unpack(file: &[u8]) -> Result<HardNegatives> {
    let failed = |cause: safetensors::SafeTensorError| Error::artifact(HARD).caused_by(cause);
    let all = SafeTensors::deserialize(file).map_err(failed)?;
    let numbers = |name: &str| -> Result<(Vec<usize>, Vec<u32>)> {
        let view = all.tensor(name).map_err(failed)?;
        if view.dtype() != Dtype::U32 {
            let found = view.dtype();
            return Err(Error::artifact(format!(
                "the tensor `{name}`: expected U32, found {found:?}"
            )));
        }
        let values = view
            .data()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| u32::from_le_bytes(*bytes))
            .collect();
        Ok((view.shape().to_vec(), values))
    };
    let ((_, examples), (shape, sequences)) = (numbers("examples")?, numbers("sequences")?);
    let count = examples.len();
    let width = match shape[..] {
        [rows, width] if rows == count => width,
        _ => {
            return Err(Error::artifact(format!(
                "the tensor `sequences`: expected one row for each of {count} examples, found \
                 shape {shape:?}"
            )));
        }
    };
    let rows = examples.iter().enumerate().map(|(at, number)| {
        let row = sequences[at * width..][..width]
            .iter()
            .filter(|sequence| **sequence != NONE);
        (
            *number as usize,
            row.map(|sequence| SequenceId(*sequence)).collect(),
        )
    });
    Ok(rows.collect())
}

/// Checks that hard negatives are of examples and of sequences that there are.
///
/// # Errors
/// If one is not.
pub fn check_hard(hard: &HardNegatives, examples: usize, sequences: usize) -> Result<()> {
    let refuse = |what: &str, count: usize, found: usize| {
        Err(Error::artifact(format!(
            "{HARD}: expected numbers of the {count} {what}, which are below {count}, found \
             {found}; without the folder of this checkpoint the run goes on from the one before it"
        )))
    };
    if let Some(found) = hard.keys().max().filter(|number| **number >= examples) {
        return refuse("examples", examples, *found);
    }
    match hard
        .values()
        .flatten()
        .map(|sequence| sequence.index())
        .max()
        .filter(|number| *number >= sequences)
    {
        Some(found) => refuse("texts", sequences, found),
        None => Ok(()),
    }
}

fn pack_matrices(perturbation: &Perturbation) -> Result<Vec<u8>> {
    let values = perturbation.matrices().iter().map(|matrix| {
        Ok((
            matrix.dims().to_vec(),
            floats(matrix.clone().try_into_data())?,
        ))
    });
    let values = values.collect::<Result<Vec<_>>>()?;
    let tensors = MATRICES.iter().zip(&values);
    to_bytes(
        &tensors
            .map(|(name, (shape, values))| NamedTensor::floats(*name, shape.clone(), values))
            .collect::<Vec<_>>(),
    )
}

fn unpack_matrices(file: &[u8], sizes: [[usize; 2]; 2], device: &Device) -> Result<[Tensor<2>; 2]> {
    let mut weights = Weights::from_bytes(file)?;
    let [mention, entity] = [0, 1].map(|at| weights.take::<2>(MATRICES[at], sizes[at], device));
    let matrices = [mention?, entity?];
    weights.finish()?;
    Ok(matrices)
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
    fn hard_negatives_of_another_form_are_refused() {
        let numbers = [0u32, 1, 2, 3];
        let tensor = |name: &str, dtype, shape: Vec<usize>| {
            let bytes: &[u8] = bytemuck::cast_slice(&numbers);
            let count = shape.iter().product::<usize>();
            NamedTensor {
                name: name.into(),
                dtype,
                shape,
                bytes: &bytes[..4 * count],
            }
        };
        for (examples, sequences, expected) in [
            (
                tensor("examples", Dtype::F32, vec![2]),
                tensor("sequences", Dtype::U32, vec![2, 2]),
                "`examples`: expected U32",
            ),
            (
                tensor("examples", Dtype::U32, vec![2]),
                tensor("sequences", Dtype::U32, vec![4, 1]),
                "[4, 1]",
            ),
            (
                tensor("examples", Dtype::U32, vec![2]),
                tensor("sequences", Dtype::U32, vec![4]),
                "[4]",
            ),
            (
                tensor("examples", Dtype::U32, vec![0]),
                tensor("sequences", Dtype::U32, vec![2, 2]),
                "[2, 2]",
            ),
        ] {
            let said = unpack(&to_bytes(&[examples, sequences]).expect("written"))
                .expect_err(expected)
                .to_string();
            assert!(said.contains(expected), "{said}");
        }
    }

    #[test]
    fn hard_negatives_that_are_not_there_are_refused() {
        let hard = HardNegatives::from([(3, vec![SequenceId(8), SequenceId(1)]), (0, vec![])]);
        check_hard(&hard, 4, 9).expect("all are there");
        check_hard(&HardNegatives::new(), 0, 0).expect("nothing is wrong");
        let said = check_hard(&hard, 4, 8)
            .expect_err("a text too many")
            .to_string();
        assert!(
            said.contains("the 8 texts, which are below 8, found 8"),
            "{said}"
        );
        let said = check_hard(&hard, 3, 9)
            .expect_err("an example too many")
            .to_string();
        assert!(
            said.contains("the 3 examples, which are below 3, found 3"),
            "{said}"
        );
    }

    #[test]
    fn moments_have_to_be_finite_and_those_of_squares_not_negative() {
        let file = |name: &str, values: &[f32]| {
            to_bytes(&[NamedTensor::floats(name, vec![values.len()], values)]).expect("written")
        };
        check_moments(&file("a.first", &[-1.0, 0.0])).expect("as it should be");
        check_moments(&file("a.second", &[1.0, 0.0])).expect("as it should be");
        let said = |name, values: &[f32]| {
            check_moments(&file(name, values))
                .expect_err("refused")
                .to_string()
        };
        assert!(
            said("a.first", &[0.0, f32::NAN])
                .contains("`a.first`: expected finite numbers, found NaN at position 1")
        );
        assert!(
            said("a.second", &[0.0, -0.5])
                .contains("`a.second`: expected numbers from 0, found -0.5 at position 1")
        );
    }

    #[test]
    fn a_state_is_read_only_with_the_files_that_it_was_written_for() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path();
        write_in_folder(&folder.join("model/a"), b"first").expect("written");
        write_in_folder(&folder.join("b"), b"second").expect("written");
        let state = |files| State {
            format: FORMAT,
            step: 7,
            scale: None,
            data: Some("d".into()),
            deviation: Some(0.05),
            files,
            digest: String::new(),
        };
        let whole = state(infos(folder).expect("read"))
            .sealed()
            .expect("encoded");
        let put = |bytes: &[u8]| write_in_folder(&folder.join(STATE), bytes).expect("written");
        put(&whole);
        assert_eq!(State::read(folder).expect("whole").step, 7);
        // Every bit of the state is covered.
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            put(&bytes);
            assert!(State::read(folder).is_err(), "bit {bit}");
        }
        put(&whole);
        let said = || State::read(folder).expect_err("refused").to_string();
        write_in_folder(&folder.join("b"), b"secone").expect("written");
        assert!(said().contains("b has been altered"), "{}", said());
        write_in_folder(&folder.join("b"), b"second, longer").expect("written");
        assert!(
            said().contains("b has another size: expected 6 bytes, found 14"),
            "{}",
            said()
        );
        fs::remove_file(folder.join("b")).expect("removed");
        assert!(said().contains("b is missing"), "{}", said());
        write_in_folder(&folder.join("b"), b"second").expect("written");
        write_in_folder(&folder.join("model/c"), b"third").expect("written");
        assert!(
            said().contains("model/c is not listed in state.json"),
            "{}",
            said()
        );
        for (other, expected) in [
            (
                r#"{"format":1,"step":3}"#,
                "format version 1, this build reads 2",
            ),
            (
                r#"{"format":3,"steps":3}"#,
                "format version 3, this build reads 2",
            ),
            (r#"{"format":2,"step":3}"#, "missing field `files`"),
        ] {
            put(other.as_bytes());
            assert!(said().contains(expected), "{}", said());
        }
    }

    #[test]
    fn folder_is_complete_or_absent() {
        let root = tempfile::tempdir().expect("a folder");
        let place = root.path().join("step-0000001");
        let failed = write_folder(&place, |folder| {
            write_in_folder(&folder.join("half"), b"x")?;
            Err(Error::io("disk full"))
        });
        assert!(failed.is_err() && !place.exists());
        write_folder(&place, |folder| {
            write_in_folder(&folder.join("whole"), b"x")
        })
        .expect("written");
        write_folder(&place, |folder| {
            write_in_folder(&folder.join("again"), b"y")
        })
        .expect("replaced");
        let names: Vec<_> = fs::read_dir(&place)
            .expect("there")
            .map(|entry| entry.expect("read").file_name())
            .collect();
        assert_eq!(names, ["again"]);
        // What was replaced has gone.
        assert_eq!(fs::read_dir(root.path()).expect("there").count(), 1);
    }
}
