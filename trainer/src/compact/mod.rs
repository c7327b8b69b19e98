//! `pel compact`: a smaller model of the same depth: a vocabulary without the pieces that nobody uses, and a projection of
//! its vectors to fewer dimensions.
//!
//! What it costs is measured by whoever uses it, with `pel evaluate`; what is left is trained on with `pel train`.

mod curve;
mod projection;
mod vocabulary;

use crate::data::concept_table;
use crate::data::corpus::documents;
use crate::io::bundles;
use crate::io::device::{DeviceArgs, Work};
use crate::io::files::for_each_line;
use crate::io::models::{SETTINGS, Settings, TOWERS};
use crate::io::outputs::{Inputs, Writes, check_new_folder};
use crate::io::tensors;
use crate::io::tensors::NamedTensor;
use crate::train::config::Config;
use crate::train::{Snapshot, write_file, write_folder};
use clap::Args;
use pel_shared::bundle::names;
use pel_shared::error::{Context, Error, Result};
use pel_shared::kb::Concept;
use pel_shared::model::cpu::Tower;
use pel_shared::model::layer::Precision as BertPrecision;
use pel_shared::model::tower::TowerBytes;
use pel_shared::tokens::Tokens;
use projection::{Projection, principal};
use safetensors::tensor::SafeTensors;
use serde_json::Value;
use std::path::{Path, PathBuf};
use vocabulary::{Pruned, prune};

/// The word table's name in a Hugging Face file, but for a prefix.
const WORDS: &str = "embeddings.word_embeddings.weight";

/// Make a model smaller: drop pieces of the vocabulary that no text uses, project vectors to fewer dimensions
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  pel compact run/model --kb kb.jsonl --corpus corpus --dim 64 --out small\n  \
    pel index --encoder small --kb kb.jsonl --encoder-precision int8 --precision int4 --out bundle")]
pub struct CompactArgs {
    /// The model: a folder that `pel train` wrote
    model: PathBuf,
    /// The concept tables whose texts must keep their pieces; the projection keeps the first one's similarities
    #[arg(long, required = true)]
    kb: Vec<PathBuf>,
    /// Corpora whose documents must keep their pieces
    #[arg(long)]
    corpus: Vec<PathBuf>,
    /// Text files whose lines must keep their pieces
    #[arg(long)]
    text: Vec<PathBuf>,
    /// Drop pieces that these texts use fewer times than this; 0 keeps the whole vocabulary
    #[arg(long, default_value_t = 1)]
    min_count: u32,
    /// Project vectors to so many dimensions
    #[arg(long)]
    dim: Option<usize>,
    /// Only measure what an index over the first concept table loses with so many dimensions, in each precision
    #[arg(long, value_delimiter = ',', requires = "corpus", conflicts_with_all = ["out", "dim"])]
    curve: Vec<usize>,
    /// The split of the first corpus on which the curve is measured
    #[arg(long, default_value = "dev")]
    split: String,
    /// Measure the curve on so many mentions, at equal steps
    #[arg(long, default_value_t = 2500)]
    mentions: usize,
    /// Encode in bfloat16: much faster on a processor with AMX or AVX-512 BF16
    #[arg(long)]
    bf16: bool,
    /// The folder to write
    #[arg(long, required_unless_present = "curve")]
    out: Option<PathBuf>,
}

/// Runs `pel compact`.
///
/// # Errors
/// If the model is none that `pel train` wrote, a text cannot be read, or the folder cannot be written.
pub fn run(args: &CompactArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    Inputs::new()
        .artifacts([args.model.as_path()])
        .files(args.kb.iter().chain(&args.text).map(PathBuf::as_path))
        .corpora(args.corpus.iter().map(PathBuf::as_path))
        .check(args.out.as_deref().map(Writes::Folder))?;
    let settings = Settings::of(&args.model)?.ok_or_else(|| {
        Error::input(format!("{}: expected a model that `pel train` wrote, found no {SETTINGS}", args.model.display()))
    })?;
    let tied = !args.model.join(TOWERS[0]).is_dir();
    let Some(out) = &args.out else { return measured(args, &settings, tied, device, json) };
    check_new_folder(out)?;
    let folders: Vec<&str> = if tied { vec![""] } else { TOWERS.into() };
    let tokenizer = bundles::map(&args.model.join(folders[0]).join(names::TOKENIZER))?;
    let tokens = Tokens::from_bytes(&tokenizer)?;
    for folder in &folders {
        let from = args.model.join(folder);
        check_tower(&from, &tokens).context(|| from.display().to_string())?;
    }
    let projection = match args.dim {
        None => None,
        Some(dim) => Some(project(args, &settings, tied, dim, device)?),
    };
    let pruned = match args.min_count {
        0 => None,
        least => Some(prune(&tokenizer, &used(args, &tokens, least)?)?),
    };
    write_folder(out, |out| {
        folders.iter().try_for_each(|folder| {
            let (from, to) = (args.model.join(folder), out.join(folder));
            write_tower(&from, &to, &tokenizer, pruned.as_ref(), projection.as_ref())
                .context(|| from.display().to_string())
        })
    })?;
    let rows = pruned.as_ref().map_or(tokens.size(), |pruned| pruned.rows.len());
    let kept = projection.as_ref().map(|projection| projection.kept);
    if json {
        let said = serde_json::json!({"out": out, "vocabulary": rows, "of": tokens.size(), "kept": kept});
        println!("{said}");
        return Ok(());
    }
    println!("{}: {rows} of {} pieces of the vocabulary", out.display(), tokens.size());
    if let (Some(kept), Some(dim)) = (kept, args.dim) {
        println!("{dim} dimensions keep {:.1} % of the vectors' squared length", 100.0 * kept);
    }
    Ok(())
}

fn project(args: &CompactArgs, settings: &Settings, tied: bool, dim: usize, device: &DeviceArgs) -> Result<Projection> {
    let snapshot = snapshot(args, &config(args, settings, tied), device)?;
    let (vectors, hidden) = snapshot.vectors();
    principal(vectors, hidden, dim)
}

fn measured(args: &CompactArgs, settings: &Settings, tied: bool, device: &DeviceArgs, json: bool) -> Result<()> {
    let config = config(args, settings, tied);
    let snapshot = snapshot(args, &config, device)?;
    let Some((held_out, vectors)) = snapshot.held_out(&config)? else {
        return Err(Error::input("--mentions: expected at least 1, found 0"));
    };
    let points = curve::curve(&snapshot, &held_out, &vectors, &args.curve)?;
    if json {
        println!("{}", serde_json::json!(points));
    } else {
        println!("{}", curve::shown(&points));
    }
    Ok(())
}

/// The model as if it were trained on.
fn config(args: &CompactArgs, settings: &Settings, tied: bool) -> Config {
    let mut config = Config::default();
    config.model.tied = tied;
    config.model.pooling = settings.reduction.pooling;
    config.model.score = Some(settings.reduction.score);
    config.view = settings.view.into();
    config.data.kb = args.kb[0].clone();
    config.data.corpus = args.corpus.first().cloned().unwrap_or_default();
    config.validation.split = args.split.clone();
    config.model.precision = if args.bf16 { BertPrecision::Bf16 } else { BertPrecision::F32 };
    config.validation.mentions = args.mentions;
    config
}

fn snapshot(args: &CompactArgs, config: &Config, device: &DeviceArgs) -> Result<Snapshot> {
    Snapshot::open(config, Some(&args.model), "model", &device.open(Work::Long)?)
}

/// Which pieces the texts use often enough.
fn used(args: &CompactArgs, tokens: &Tokens, least: u32) -> Result<Vec<bool>> {
    let mut counts = vec![0u32; tokens.size()];
    let mut count = |text: &str| -> Result<()> {
        for id in tokens.pieces(text)? {
            if let Some(count) = counts.get_mut(id as usize) {
                *count = count.saturating_add(1);
            }
        }
        Ok(())
    };
    for table in &args.kb {
        for (_, concept) in concept_table::read(table)?.kb.iter() {
            texts(concept).try_for_each(&mut count)?;
        }
    }
    for folder in &args.corpus {
        documents(folder)?.iter().try_for_each(|document| count(&document.text))?;
    }
    for file in &args.text {
        for_each_line(file, |_, line| count(line))?;
    }
    Ok(counts.into_iter().map(|count| count >= least).collect())
}

fn texts(concept: &Concept) -> impl Iterator<Item = &str> {
    let more = concept.types.iter().chain(&concept.definition).map(String::as_str);
    concept.names().chain(more)
}

/// Reads a tower as `pel link` would, and so finds what it would refuse: rows are taken from the file as it is.
fn check_tower(folder: &Path, tokens: &Tokens) -> Result<()> {
    let map = |name: &str| bundles::map(&folder.join(name));
    let (config, weights) = (map(names::CONFIG)?, map(names::WEIGHTS)?);
    let projection = folder.join(names::PROJECTION);
    let projection = projection.exists().then(|| bundles::map(&projection)).transpose()?;
    let bytes = TowerBytes { config: &config, weights: &weights, projection: projection.as_deref() };
    Tower::from_bytes(bytes, tokens).map(drop)
}

fn write_tower(
    from: &Path,
    to: &Path,
    tokenizer: &[u8],
    pruned: Option<&Pruned>,
    projection: Option<&Projection>,
) -> Result<()> {
    let mut config: Value = serde_json::from_slice(&bundles::map(&from.join(names::CONFIG))?)
        .map_err(|cause| Error::artifact(names::CONFIG).caused_by(cause))?;
    let weights = bundles::map(&from.join(names::WEIGHTS))?;
    let weights = match pruned {
        None => weights.to_vec(),
        Some(Pruned { rows, .. }) => {
            config["vocab_size"] = Value::from(rows.len());
            with_rows(&weights, rows)?
        }
    };
    let config = serde_json::to_vec_pretty(&config).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?;
    write_file(&to.join(names::CONFIG), &config)?;
    write_file(&to.join(names::WEIGHTS), &weights)?;
    write_file(&to.join(names::TOKENIZER), pruned.map_or(tokenizer, |pruned| &pruned.tokenizer))?;
    write_file(&to.join(SETTINGS), &bundles::map(&from.join(SETTINGS))?)?;
    let before = from.join(names::PROJECTION);
    match projection {
        Some(_) if before.exists() => Err(Error::input("the model has a projection already; choose the one before it")),
        Some(projection) => write_file(&to.join(names::PROJECTION), &projection_file(projection)?),
        None if before.exists() => write_file(&to.join(names::PROJECTION), &bundles::map(&before)?),
        None => Ok(()),
    }
}

/// The file with some rows of the word table only.
fn with_rows(file: &[u8], rows: &[usize]) -> Result<Vec<u8>> {
    let failed = |cause: safetensors::SafeTensorError| Error::artifact(names::WEIGHTS).caused_by(cause);
    let all = SafeTensors::deserialize(file).map_err(failed)?;
    // The rows outlive the tensors that are made of them.
    let mut words: Vec<u8> = Vec::new();
    let is_words = |name: &str| name == WORDS || name.ends_with(&format!(".{WORDS}"));
    for (_, view) in all.tensors().iter().filter(|(name, _)| is_words(name)) {
        let width = view.data().len() / view.shape().first().copied().unwrap_or(1).max(1);
        for row in rows {
            let row = view.data().get(row * width..(row + 1) * width);
            words.extend_from_slice(row.ok_or_else(|| Error::artifact("the vocabulary is larger than its table"))?);
        }
    }
    let tensors = all.tensors();
    let tensors = tensors.iter().map(|(name, view)| {
        let (dtype, name) = (view.dtype(), name.clone());
        match is_words(&name) {
            true => NamedTensor { name, dtype, shape: [&[rows.len()], &view.shape()[1..]].concat(), bytes: &words },
            false => NamedTensor { name, dtype, shape: view.shape().to_vec(), bytes: view.data() },
        }
    });
    tensors::to_bytes(&tensors.collect::<Vec<_>>())
}

fn projection_file(projection: &Projection) -> Result<Vec<u8>> {
    let Projection { weight, dim, .. } = projection;
    let bias = vec![0.0f32; *dim];
    tensors::to_bytes(&[
        NamedTensor::floats("weight", vec![*dim, weight.len() / dim], weight),
        NamedTensor::floats("bias", vec![*dim], &bias),
    ])
}
