//! `pel split`: data sets made from other data sets.

use crate::data::domain::DomainOf;
use crate::data::resplit::{Material, Okb, Worlds, by_domain, hold_out, suggest};
use crate::io::outputs::{Inputs, Writes};
use clap::{Args, Subcommand};
use pel_shared::error::{Error, Result};
use std::path::{Path, PathBuf};

/// Make a data set from an annotated corpus
#[derive(Debug, Args)]
pub struct SplitArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Take the concepts of some semantic types out of the knowledge base; their mentions become NIL
    ///
    /// This is how the PEL paper measures whether a model notices what a knowledge base lacks. The folder gets kb.jsonl (what
    /// is left), held_out.jsonl (what was taken out), the corpus again, in which a held-out mention has the label
    /// `NIL:` and its former concept, and okb.json and okb.txt: is what is held out like the whole?
    Okb(OkbArgs),
    /// Give each semantic type or source to one split alone, as ZESHEL does with its worlds
    ///
    /// A mention stays if the split of its document is that of its domain; domains that are not named are trained on. So the
    /// splits share neither texts nor domains. The split `heldout` has the mentions of trained domains in the texts of `test`.
    Domains(DomainsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel split domains --corpus corpus --kb kb.jsonl                              (counts the domains)\n  \
    pel split domains --corpus corpus --kb kb.jsonl --dev T017 --test T033,T103 --out worlds\n  \
    pel train --set data.domains=type --set negatives.domain=inside --corpus worlds ...")]
struct DomainsArgs {
    /// The folder of the corpus: documents.jsonl and mentions.train.jsonl, mentions.dev.jsonl, mentions.test.jsonl
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// The concepts, one JSON object a line
    #[arg(long, value_name = "FILE")]
    kb: PathBuf,
    /// What the domain of a concept is
    #[arg(long, value_enum, default_value = "type")]
    by: DomainOf,
    /// The domains of the split `dev`: sources, or types by identifier or name, with commas between them
    #[arg(long, value_name = "DOMAINS", requires = "out")]
    dev: Vec<String>,
    /// The domains of the split `test`
    #[arg(long, value_name = "DOMAINS", requires = "out")]
    test: Vec<String>,
    /// The folder to write into
    #[arg(long, value_name = "DIR", requires_all = ["dev", "test"])]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel split okb --corpus corpus --kb kb.jsonl                                  (counts the types, proposes some)\n  \
    pel split okb --corpus corpus --kb kb.jsonl --types T033,T082 --out okb\n  \
    pel evaluate --corpus okb --kb okb/kb.jsonl")]
struct OkbArgs {
    /// The folder of the corpus: documents.jsonl and one mentions.SPLIT.jsonl for each split
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// The concepts, one JSON object a line
    #[arg(long, value_name = "FILE")]
    kb: PathBuf,
    /// The types to hold out, by identifier or name, with commas between them; without it types are only proposed
    #[arg(long, value_name = "TYPES", requires = "out", conflicts_with = "suggest")]
    types: Vec<String>,
    /// The folder to write into
    #[arg(long, value_name = "DIR", requires = "types")]
    out: Option<PathBuf>,
    /// Only count the types and propose some to hold out
    #[arg(long)]
    suggest: bool,
    /// The share of the mentions that can be linked which a proposal should hold out
    #[arg(long, value_name = "SHARE", default_value_t = 0.12, value_parser = share)]
    target: f64,
    /// The split that is trained on: it tells seen concepts from zero-shot ones
    #[arg(long, value_name = "SPLIT", default_value = "train")]
    train_split: String,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("expected a share between 0 and 1, found {text:?}")),
    }
}

/// Runs `pel split`.
///
/// # Errors
/// If an input cannot be read, a type does not fit, or the output cannot be written.
pub fn run(args: &SplitArgs, json: bool) -> Result<()> {
    let args = match &args.kind {
        Kind::Okb(args) => args,
        Kind::Domains(args) => return domains(args, json),
    };
    check_outputs(&args.corpus, &args.kb, args.out.as_deref())?;
    let material = Material::read(&args.corpus, &args.kb, &args.train_split)?;
    match &args.out {
        None => {
            let suggestion = suggest(&material, args.target)?;
            let splits: Vec<String> = material.splits.iter().map(|split| split.name.clone()).collect();
            print(json, &suggestion, || suggestion.text(&splits))
        }
        Some(out) => {
            let okb =
                Okb { corpus: args.corpus.clone(), kb: args.kb.clone(), types: args.types.clone(), out: out.clone() };
            let report = hold_out(&material, &okb)?;
            print(json, &report, || format!("{}\n\nwritten to {}", report.text(), out.display()))
        }
    }
}

/// Refuses to write over the corpus or the concept table, or into the folder of the corpus.
fn check_outputs(corpus: &Path, kb: &Path, out: Option<&Path>) -> Result<()> {
    let Some(out) = out else { return Inputs::new().corpora([corpus]).files([kb]).check([]) };
    let tables = ["kb.jsonl", "held_out.jsonl"].map(|name| out.join(name));
    let written = std::iter::once(Writes::Into(out)).chain(tables.iter().map(|table| Writes::File(table)));
    Inputs::new().corpora([corpus]).files([kb]).check(written)
}

fn domains(args: &DomainsArgs, json: bool) -> Result<()> {
    check_outputs(&args.corpus, &args.kb, args.out.as_deref())?;
    let material = Material::read(&args.corpus, &args.kb, "train")?;
    let (dev, test, out) = (args.dev.clone(), args.test.clone(), args.out.clone());
    let (corpus, kb) = (args.corpus.clone(), args.kb.clone());
    let worlds = Worlds { corpus, kb, by: args.by, dev, test, out: out.clone().unwrap_or_default() };
    let report = by_domain(&material, &worlds)?;
    let written = out.map_or(String::new(), |out| format!("\n\nwritten to {}", out.display()));
    print(json, &report, || format!("{}{written}", report.text()))
}

fn print(json: bool, value: &impl serde::Serialize, text: impl FnOnce() -> String) -> Result<()> {
    match json {
        true => println!(
            "{}",
            serde_json::to_string_pretty(value).map_err(|cause| Error::io("encoding JSON").caused_by(cause))?
        ),
        false => println!("{}", text()),
    }
    Ok(())
}
