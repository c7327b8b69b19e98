//! BLINK's tables 4 and 6: accuracy by knowledge base, and by training data.

use super::TableId;
use super::blink::{Blink, recall};
use super::cells::Markdown;
use super::models::{Cross, Finder, TrainedEncoder};
use crate::retrieve::lexical::System;
use pel_shared::error::Result;

/// The name of the training split in table 6.
const IN_DOMAIN: &str = "in-domain";

/// The baselines: name, training data, retriever.
const SIMPLE: [(&str, &str, Finder); 2] = [
    (
        "Most frequent",
        IN_DOMAIN,
        Finder::Lexical(System::Majority),
    ),
    ("Cosine similarity (untrained)", "-", Finder::Untrained),
];

/// The row of a bi-encoder without its ranker.
const ALONE: &str = "Ours (bi-encoder only)";

/// The trainings of table 6. Only the first needs no other corpus.
const TRAININGS: [(&str, TrainedEncoder); 3] = [
    (IN_DOMAIN, TrainedEncoder::Retriever),
    ("other corpus", TrainedEncoder::Pretrained),
    ("other corpus and in-domain", TrainedEncoder::Finetuned),
];

/// A note on the rows that are left out.
const WITH_PRETRAINED: &str = "`--pretrained` and `--pretrained-ranker` give models of another corpus, to be measured as \
    they are and fine-tuned.";

/// Table 4. With models of another corpus, "ours" are these fine-tuned, as in the paper.
///
/// # Errors
/// As training and searching.
pub fn by_kb(blink: &Blink<'_>) -> Result<Markdown> {
    let (options, pretrained) = (
        blink.bench.options,
        blink.bench.options.pretrained.as_deref(),
    );
    let ours = if pretrained.is_some() {
        TrainedEncoder::Finetuned
    } else {
        TrainedEncoder::Retriever
    };
    let mut text = Markdown::new(TableId::Blink4.title(), &["Method", "Accuracy"]);
    for (name, _, finder) in SIMPLE {
        text.line(&[name.to_owned(), blink.recall(finder, &options.split, 1)?]);
    }
    text.line(&[
        ALONE.to_owned(),
        blink.recall(Finder::Trained(ours), &options.split, 1)?,
    ]);
    text.line(&both(blink, "Ours", Finder::Trained, ours)?);
    if blink.bench.other_kb.is_some() {
        text.line(&both(
            blink,
            "Ours (other knowledge base)",
            Finder::Elsewhere,
            ours,
        )?);
        if pretrained.is_some() {
            let name = "Ours (other knowledge base, without fine-tuning)";
            text.line(&both(
                blink,
                name,
                Finder::Elsewhere,
                TrainedEncoder::Pretrained,
            )?);
        }
    }
    match pretrained {
        Some(folder) => text.note(&format!("Ours was fine-tuned from {}.", folder.display())),
        None => text.note(WITH_PRETRAINED),
    }
    match (blink.bench.other_kb, blink.stages.first()) {
        (Some(kb), Some(stages)) => {
            let [all, lacking] = stages.lacking(&options.split)?;
            text.note(&format!(
                "The other knowledge base has {} concepts and is searched for the same mentions; those whose concept it lacks, by \
                 its identifier, count as missed: {lacking} of {all}.",
                kb.len()
            ));
        }
        _ => text.note("`--other-kb` gives the rows over another knowledge base."),
    }
    Ok(text)
}

/// Table 6. Without models of another corpus there is one training, and no column of trainings.
///
/// # Errors
/// As training and searching.
pub fn by_training(blink: &Blink<'_>) -> Result<Markdown> {
    let (options, pretrained) = (
        blink.bench.options,
        blink.bench.options.pretrained.as_deref(),
    );
    let mut rows: Vec<[String; 3]> = Vec::new();
    for (name, training, finder) in SIMPLE {
        rows.push([
            name.to_owned(),
            training.to_owned(),
            blink.recall(finder, &options.split, 1)?,
        ]);
    }
    let count = if pretrained.is_some() {
        TRAININGS.len()
    } else {
        1
    };
    for (training, of) in TRAININGS.into_iter().take(count) {
        let alone = blink.recall(Finder::Trained(of), &options.split, 1)?;
        rows.push([ALONE.to_owned(), training.to_owned(), alone]);
        let [name, accuracy] = both(blink, "Ours", Finder::Trained, of)?;
        rows.push([name, training.to_owned(), accuracy]);
    }
    let title = TableId::Blink6.title();
    let Some(folder) = pretrained else {
        let mut text = Markdown::new(title, &["Method", "Accuracy"]);
        rows.iter()
            .for_each(|[name, _, accuracy]| text.line(&[name, accuracy]));
        text.note(WITH_PRETRAINED);
        return Ok(text);
    };
    let mut text = Markdown::new(title, &["Method", "Training", "Accuracy"]);
    rows.iter().for_each(|row| text.line(row));
    text.note(&format!(
        "The other corpus is that of {}.",
        folder.display()
    ));
    Ok(text)
}

/// The cells of both stages, with the K that is best on the validation split.
fn both(
    blink: &Blink<'_>,
    name: &str,
    finder: fn(TrainedEncoder) -> Finder,
    of: TrainedEncoder,
) -> Result<[String; 2]> {
    let (k, ranks) = blink.best(
        finder(of),
        Cross { of, fgsm: false },
        &blink.bench.options.split,
    )?;
    Ok([format!("{name}, K = {k}"), recall(&ranks, 1)])
}
