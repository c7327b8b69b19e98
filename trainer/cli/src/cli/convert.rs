//! `pel convert`: writes a published encoder or a model of BLINK as a folder that PEL maps.

use clap::Args;
use pel_artifacts::blink;
use pel_artifacts::blink::Kind;
use pel_artifacts::bundles;
use pel_artifacts::models::{SETTINGS_FILE, TowerFiles};
use pel_io::files::{write_folder, write_in_folder};
use pel_io::outputs::{Inputs, Output, check_new_folder};
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::names;
use pel_model::tokens::Tokens;
use serde_json::json;
use std::path::PathBuf;

/// Convert a published encoder (vocab.txt, pytorch_model.bin) or a model of BLINK to safetensors
/// and tokenizer.json
#[derive(Debug, Args)]
#[command(
    after_help = "Every command converts such an encoder in memory each time. This one does it \
    once.\n\nExamples:\n  \
    pel convert SapBERT --out sapbert\n  \
    pel convert models/biencoder_wiki_large.bin --bert bert-large-uncased --out blink\n  \
    pel convert models/crossencoder_wiki_large.bin --bert bert-large-uncased --out blink-ranker"
)]
pub struct ConvertArgs {
    /// Folder of an encoder, or file of BLINK: biencoder_wiki_large.bin or
    /// crossencoder_wiki_large.bin
    model: PathBuf,
    /// For BLINK: folder of the BERT that it was trained from (config.json, vocab.txt)
    #[arg(long, value_name = "FOLDER")]
    bert: Option<PathBuf>,
    /// For BLINK: JSON file of its settings. Default: the model's name with .json
    #[arg(long, value_name = "FILE", requires = "bert")]
    params: Option<PathBuf>,
    /// Folder to write
    #[arg(long)]
    out: PathBuf,
}

/// Runs `pel convert`.
///
/// # Errors
/// If a file is missing or damaged, or they do not belong together, or the folder cannot be
/// written.
pub fn run(args: &ConvertArgs, json: bool) -> Result<()> {
    let ConvertArgs {
        model,
        bert,
        params,
        out,
    } = args;
    Inputs::new()
        .artifacts(
            [Some(model), bert.as_ref()]
                .into_iter()
                .flatten()
                .map(PathBuf::as_path),
        )
        .files(params.iter().map(PathBuf::as_path))
        .check([Output::Folder(out)])?;
    check_new_folder(out)?;
    let kind = match (bert, model.is_file()) {
        (Some(bert), true) => {
            let beside = model.with_extension("json");
            let params = params.as_ref().unwrap_or(&beside);
            match blink::convert(model, bert, params, out)? {
                Kind::BiEncoder => "bi-encoder",
                Kind::CrossEncoder => "cross-encoder",
            }
        }
        (None, false) => {
            convert_folder(args)?;
            "encoder"
        }
        (None, true) => {
            return Err(Error::usage(format!(
                "{}: a file of BLINK also needs --bert FOLDER; of another encoder, give its folder",
                model.display()
            )));
        }
        (Some(_), false) => {
            return Err(Error::usage(format!(
                "--bert: expected a file of BLINK with it, found {}, which is none",
                model.display()
            )));
        }
    };
    if json {
        println!("{}", json!({"out": out, "kind": kind}));
    } else {
        println!("{}: {kind}", out.display());
    }
    Ok(())
}

/// Writes an encoder with its files as PEL reads them, and its settings if PEL trained it.
fn convert_folder(args: &ConvertArgs) -> Result<()> {
    let named = || args.model.display().to_string();
    let files = TowerFiles::read(&args.model)?;
    let tokens = Tokens::from_bytes(&files.tokenizer).context(named)?;
    files.check(&tokens).context(named)?;
    let of_training = [SETTINGS_FILE, names::TRAINED].map(|name| (name, args.model.join(name)));
    write_folder(&args.out, |folder| {
        for (name, path) in of_training.iter().filter(|(_, path)| path.is_file()) {
            write_in_folder(&folder.join(name), &bundles::map(path)?)?;
        }
        files.write(folder)
    })
}
