//! `pel split`: makes data sets from an annotated corpus.

use clap::{Args, Subcommand};
use pel_corpora::domain::DomainOf;
use pel_corpora::resplit::{Material, Okb, Worlds, by_domain, hold_out, suggest};
use pel_io::json;
use pel_io::outputs::{Inputs, Output};
use pel_kb::error::Result;
use std::path::{Path, PathBuf};

/// Make a data set from an annotated corpus
#[derive(Debug, Args)]
pub struct SplitArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    /// Remove the concepts of some semantic types from the knowledge base, so that their mentions
    /// become NIL
    ///
    /// This is the PEL paper's test of NIL detection. Writes kb.jsonl (the kept concepts),
    /// held_out.jsonl (the removed ones), the corpus with labels `NIL:` and the former concept for
    /// held-out mentions, and okb.json and okb.txt, which compare held-out mentions with all.
    Okb(OkbArgs),
    /// Assign each semantic type or source to one split, as ZESHEL does with its worlds
    ///
    /// A mention is kept if its document and its domain belong to the same split; domains not named
    /// belong to training. The splits then share neither texts nor domains. The split `heldout` has
    /// mentions of training domains in texts of `test`.
    Domains(DomainsArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel split domains --corpus corpus --kb kb.jsonl                              (counts the \
    domains)\n  \
    pel split domains --corpus corpus --kb kb.jsonl --dev T017 --test T033,T103 --out worlds\n  \
    pel train --set data.domains=type --set negatives.domain=inside --corpus worlds ...")]
struct DomainsArgs {
    /// Corpus folder with documents.jsonl, mentions.train.jsonl, mentions.dev.jsonl and
    /// mentions.test.jsonl
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Concept table, one JSON object per line
    #[arg(long, value_name = "FILE")]
    kb: PathBuf,
    /// Property that defines the domain of a concept
    #[arg(long, value_enum, default_value = "type")]
    by: DomainOf,
    /// Domains of the split `dev`, separated by commas: sources, or types by identifier or name
    #[arg(long, value_name = "DOMAINS", requires = "out")]
    dev: Vec<String>,
    /// Domains of the split `test`
    #[arg(long, value_name = "DOMAINS", requires = "out")]
    test: Vec<String>,
    /// Output folder
    #[arg(long, value_name = "DIR", requires_all = ["dev", "test"])]
    out: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel split okb --corpus corpus --kb kb.jsonl                                  (counts the \
    types, proposes some)\n  \
    pel split okb --corpus corpus --kb kb.jsonl --types T033,T082 --out okb\n  \
    pel evaluate --corpus okb --kb okb/kb.jsonl")]
struct OkbArgs {
    /// Corpus folder with documents.jsonl and one mentions.SPLIT.jsonl per split
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Concept table, one JSON object per line
    #[arg(long, value_name = "FILE")]
    kb: PathBuf,
    /// Types to hold out, by identifier or name, separated by commas; without it types are only
    /// proposed
    #[arg(
        long,
        value_name = "TYPES",
        requires = "out",
        conflicts_with = "suggest"
    )]
    types: Vec<String>,
    /// Output folder
    #[arg(long, value_name = "DIR", requires = "types")]
    out: Option<PathBuf>,
    /// Only count the types and propose some
    #[arg(long)]
    suggest: bool,
    /// Share of linkable mentions that a proposal should hold out
    #[arg(long, value_name = "SHARE", default_value_t = 0.12, value_parser = share)]
    target: f64,
    /// Training split, which determines seen and zero-shot concepts
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
            let splits: Vec<String> = material
                .splits
                .iter()
                .map(|split| split.name.clone())
                .collect();
            print(json, &suggestion, || suggestion.text(&splits))
        }
        Some(out) => {
            let okb = Okb {
                corpus: args.corpus.clone(),
                kb: args.kb.clone(),
                types: args.types.clone(),
                out: out.clone(),
            };
            let report = hold_out(&material, &okb)?;
            print(json, &report, || {
                format!("{}\n\nwritten to {}", report.text(), out.display())
            })
        }
    }
}

/// Refuses outputs that overwrite the corpus or the concept table.
fn check_outputs(corpus: &Path, kb: &Path, out: Option<&Path>) -> Result<()> {
    let Some(out) = out else {
        return Inputs::new().corpora([corpus]).files([kb]).check([]);
    };
    let tables = ["kb.jsonl", "held_out.jsonl"].map(|name| out.join(name));
    let written =
        std::iter::once(Output::Into(out)).chain(tables.iter().map(|table| Output::File(table)));
    Inputs::new().corpora([corpus]).files([kb]).check(written)
}

fn domains(args: &DomainsArgs, json: bool) -> Result<()> {
    check_outputs(&args.corpus, &args.kb, args.out.as_deref())?;
    let material = Material::read(&args.corpus, &args.kb, "train")?;
    let (dev, test, out) = (args.dev.clone(), args.test.clone(), args.out.clone());
    let (corpus, kb) = (args.corpus.clone(), args.kb.clone());
    let worlds = Worlds {
        corpus,
        kb,
        by: args.by,
        dev,
        test,
        out: out.clone().unwrap_or_default(),
    };
    let report = by_domain(&material, &worlds)?;
    let written = out.map_or(String::new(), |out| {
        format!("\n\nwritten to {}", out.display())
    });
    print(json, &report, || format!("{}{written}", report.text()))
}

fn print(json: bool, value: &impl serde::Serialize, text: impl FnOnce() -> String) -> Result<()> {
    let text = if json { json::pretty(value)? } else { text() };
    println!("{text}");
    Ok(())
}
