//! BLINK's tables 4 and 6: accuracy by knowledge base, and by training data.

use super::TableId;
use super::blink::{Blink, CellHits, with_hits};
use super::cells::{RowHits, Table, differences};
use super::models::{Cross, Finder, TrainedEncoder};
use pel_corpora::retrieve::lexical::System;
use pel_kb::error::Result;

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
const WITH_PRETRAINED: &str = "`--pretrained` and `--pretrained-ranker` give models of another \
                               corpus, to be measured as they are and fine-tuned.";

/// Table 4. With models of another corpus, "ours" are these fine-tuned, as in the paper.
///
/// # Errors
/// As training and searching.
pub fn by_kb(blink: &Blink<'_>) -> Result<Table> {
    let (options, pretrained) = (
        blink.bench.options,
        blink.bench.options.pretrained.as_deref(),
    );
    let ours = if pretrained.is_some() {
        TrainedEncoder::Finetuned
    } else {
        TrainedEncoder::Retriever
    };
    let mut rows = Vec::new();
    for (name, _, finder) in SIMPLE {
        rows.push(blink.row(name, finder, &options.split, 1)?);
    }
    rows.push(blink.row(ALONE, Finder::Trained(ours), &options.split, 1)?);
    rows.push(both(blink, "Ours", Finder::Trained, ours)?);
    if blink.bench.other_kb.is_some() {
        rows.push(both(
            blink,
            "Ours (other knowledge base)",
            Finder::Elsewhere,
            ours,
        )?);
        if pretrained.is_some() {
            let name = "Ours (other knowledge base, without fine-tuning)";
            rows.push(both(
                blink,
                name,
                Finder::Elsewhere,
                TrainedEncoder::Pretrained,
            )?);
        }
    }
    let mut text = Table::new(TableId::Blink4.title(), &["Method", "Accuracy"]);
    rows.iter()
        .for_each(|(accuracy, (name, _))| text.line(&[name, accuracy]));
    compare(&mut text, rows.into_iter().map(|(_, row)| row));
    match pretrained {
        Some(folder) => text.note(&format!("Ours was fine-tuned from {}.", folder.display())),
        None => text.note(WITH_PRETRAINED),
    }
    match (blink.bench.other_kb, blink.stages.first()) {
        (Some(kb), Some(stages)) => {
            let [all, lacking] = stages.lacking(&options.split)?;
            text.note(&format!(
                "The other knowledge base has {} concepts and is searched for the same mentions; \
                 those whose concept it lacks, by its identifier, count as missed: {lacking} of \
                 {all}.",
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
pub fn by_training(blink: &Blink<'_>) -> Result<Table> {
    let (options, pretrained) = (
        blink.bench.options,
        blink.bench.options.pretrained.as_deref(),
    );
    let mut rows = Vec::new();
    for (name, training, finder) in SIMPLE {
        rows.push((training, blink.row(name, finder, &options.split, 1)?));
    }
    let count = if pretrained.is_some() {
        TRAININGS.len()
    } else {
        1
    };
    for (training, of) in TRAININGS.into_iter().take(count) {
        let alone = blink.row(ALONE, Finder::Trained(of), &options.split, 1)?;
        rows.push((training, alone));
        rows.push((training, both(blink, "Ours", Finder::Trained, of)?));
    }
    let title = TableId::Blink6.title();
    let Some(folder) = pretrained else {
        let mut text = Table::new(title, &["Method", "Accuracy"]);
        rows.iter()
            .for_each(|(_, (accuracy, (name, _)))| text.line(&[name, accuracy]));
        compare(&mut text, rows.into_iter().map(|(_, (_, row))| row));
        text.note(WITH_PRETRAINED);
        return Ok(text);
    };
    let mut text = Table::new(title, &["Method", "Training", "Accuracy"]);
    for (training, (accuracy, (name, _))) in &rows {
        text.line(&[name.as_str(), *training, accuracy.as_str()]);
    }
    let named =
        |(training, (_, (name, hits))): (&str, CellHits)| (format!("{name}, {training}"), hits);
    compare(&mut text, rows.into_iter().map(named));
    text.note(&format!(
        "The other corpus is that of {}.",
        folder.display()
    ));
    Ok(text)
}

/// Adds how the rows differ from that of the bi-encoder alone.
fn compare(text: &mut Table, rows: impl Iterator<Item = RowHits>) {
    let mut rows: Vec<RowHits> = rows.collect();
    if let Some(at) = rows.iter().position(|(name, _)| name.starts_with(ALONE)) {
        rows[..=at].rotate_right(1);
    }
    text.compare([differences(&rows, "accuracy")]);
}

/// Both stages, with the K that is best on the validation split.
fn both(
    blink: &Blink<'_>,
    name: &str,
    finder: fn(TrainedEncoder) -> Finder,
    of: TrainedEncoder,
) -> Result<CellHits> {
    let (k, ranks) = blink.best(
        finder(of),
        Cross { of, fgsm: false },
        &blink.bench.options.split,
    )?;
    Ok(with_hits(&format!("{name}, K = {k}"), &ranks, 1))
}
