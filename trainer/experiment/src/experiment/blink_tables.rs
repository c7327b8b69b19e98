//! BLINK's tables and figures in the paper's layout.

use super::blink::{Blink, cell_of, macro_accuracy, mean_value, recall, with_hits};
use super::cells::{RowHits, Table, VALUES, differences, seeds};
use super::models::{Cross, Finder, TrainedEncoder};
use super::pel::PelRow;
use super::{Row, TableId, accuracy, search};
use crate::evaluate::ranks::Ranks;
use pel_corpora::retrieve::lexical::System;
use pel_io::text_tables::percent;
use pel_kb::error::{Error, Result};
use pel_trainer::plots::{Chart, Series};

const BI: Finder = Finder::Trained(TrainedEncoder::Retriever);
const BM25: Finder = Finder::Lexical(System::Bm25);
/// The papers index the whole text of an entity's page.
const DEFINED: (&str, Finder) = (
    "BM25, definitions too",
    Finder::Lexical(System::Bm25Definitions),
);

/// The ks of figure 2.
const FIGURE_2: [usize; 9] = [1, 2, 5, 10, 20, 50, 100, 150, 200];

/// The k by which PEL chooses its retriever: as many candidates as a ranker reorders.
const LISTED: usize = 16;

/// Examples of table 8.
const EXAMPLES: usize = 8;

/// Code points of context on either side of an example's mention.
const CONTEXT: usize = 60;

/// A table. Missing models and lists are trained and searched first.
///
/// # Errors
/// As training and searching.
pub fn table(blink: &Blink<'_>, table: TableId) -> Result<Table> {
    let (dev, test) = (
        blink.validation.as_str(),
        blink.bench.options.split.as_str(),
    );
    let train = blink.bench.config(&[], 0)?.data.split;
    let mut text = match table {
        TableId::Blink1 => retrieval(blink, table, [&train, dev, test])?,
        TableId::Blink2 => both_stages(blink, table, test)?,
        TableId::Blink3 => ranking(blink, table, [dev, test])?,
        TableId::Blink4 => accuracy::by_kb(blink)?,
        TableId::Blink5 => retrieval_at_100(blink, table, test)?,
        TableId::Blink6 => accuracy::by_training(blink)?,
        TableId::Blink7 => match blink.stages.first() {
            Some(stages) => return search::table(table, blink.bench, stages),
            None => Table::new(table.title(), &[]),
        },
        TableId::Blink8 => examples(blink, table, test)?,
        TableId::Blink9 => distillation(blink, table, test)?,
        TableId::BlinkFigure2 => recall_by_k(blink, table, dev)?,
        _ => by_k(blink, table, dev)?,
    };
    if table != TableId::Blink8 {
        text.note(&format!("{} {VALUES}", seeds(&blink.bench.options.seeds)));
    }
    Ok(text)
}

/// Table 1: recall@64 of the retrievers on each split.
fn retrieval(blink: &Blink<'_>, table: TableId, [train, dev, test]: [&str; 3]) -> Result<Table> {
    let mut text = Table::new(table.title(), &["Method", "Train", "Validation", "Test"]);
    let mut rows = Vec::new();
    for (name, finder) in [("BM25", BM25), DEFINED, ("Bi-encoder", BI)] {
        let of = |split: &str| blink.recall(finder, split, 64);
        let (cell, row) = blink.row(name, finder, test, 64)?;
        text.line(&[name.to_owned(), of(train)?, of(dev)?, cell]);
        rows.push(row);
    }
    text.compare([differences(&rows, &format!("recall@64 on {test}"))]);
    let every = blink.bench.options.train_every;
    if every > 1 {
        text.note(&format!("Train: one mention of {every} (`--train-every`)."));
    }
    Ok(text)
}

/// Table 2: accuracy of the bi-encoder, alone and with the cross-encoder.
fn both_stages(blink: &Blink<'_>, table: TableId, test: &str) -> Result<Table> {
    let mut text = Table::new(
        table.title(),
        &["Method", "U.Acc.", "U.Acc., macro over domains"],
    );
    let bi = blink.over(|stages| stages.ranks(BI, test))?;
    let (k, both) = blink.best(BI, Cross::BLINK, test)?;
    let second = format!("Bi-encoder and cross-encoder, K = {k}");
    let mut rows = Vec::new();
    for (name, ranks) in [("Bi-encoder only", &bi), (second.as_str(), &both)] {
        let (cell, row) = with_hits(name, ranks, 1);
        text.line(&[name.to_owned(), cell, macro_accuracy(ranks)]);
        rows.push(row);
    }
    text.compare([differences(&rows, "unnormalised accuracy")]);
    Ok(text)
}

/// Table 3: normalised accuracy of BM25 and of the cross-encoder over its candidates.
fn ranking(blink: &Blink<'_>, table: TableId, [dev, test]: [&str; 2]) -> Result<Table> {
    let k = blink.most();
    let head = [
        "Method",
        "Validation",
        "Macro over domains",
        "Test",
        "Macro over domains",
    ];
    let mut text = Table::new(&format!("{}, K = {k}", table.title()), &head);
    let first = |split: &str| blink.over(|stages| stages.ranks(BM25, split));
    let second = |split: &str| {
        blink.over(|stages| Ok(stages.reranked(BM25, Cross::BLINK, split, &[k])?.remove(0)))
    };
    let mut rows: Vec<RowHits> = Vec::new();
    let mut row = |name: &str, [dev, test]: [Vec<Ranks>; 2]| {
        let hits = test.iter().map(|one| one.normalised_hits(k)).collect();
        rows.push((name.to_owned(), hits));
        let cells = [&dev, &test].map(|ranks| {
            [
                cell_of(ranks, |one| one.normalised(k)),
                cell_of(ranks, |one| one.normalised_by_domain(k)),
            ]
        });
        text.line(&[vec![name.to_owned()], cells.concat()].concat());
    };
    row("BM25", [first(dev)?, first(test)?]);
    row("Cross-encoder", [second(dev)?, second(test)?]);
    let figure = format!("normalised accuracy on {test}");
    text.compare([differences(&rows, &figure)]);
    text.note("The cross-encoder has learned from the bi-encoder's candidates, not from BM25's.");
    Ok(text)
}

/// Table 5: recall@100 of the retrievers.
fn retrieval_at_100(blink: &Blink<'_>, table: TableId, test: &str) -> Result<Table> {
    let mut text = Table::new(table.title(), &["Method", "Recall@100"]);
    let rows = [
        (
            "Alias table of the training split, by frequency, then names",
            Finder::Lexical(System::Majority),
        ),
        ("Names and synonyms", Finder::Lexical(System::Exact)),
        ("BM25", BM25),
        (DEFINED.0, DEFINED.1),
        ("Bi-encoder", BI),
    ];
    let mut compared = Vec::new();
    for (name, finder) in rows {
        let (cell, row) = blink.row(name, finder, test, 100)?;
        text.line(&[name.to_owned(), cell]);
        compared.push(row);
    }
    text.compare([differences(&compared, "recall@100")]);
    Ok(text)
}

/// Table 9: accuracy of the bi-encoder before and after distillation, and of its teacher.
fn distillation(blink: &Blink<'_>, table: TableId, test: &str) -> Result<Table> {
    let (k, teacher) = blink.best(BI, Cross::BLINK, test)?;
    let head = [
        "Bi-encoder",
        &format!("Teacher, K = {k}"),
        "Distilled bi-encoder",
    ];
    let mut text = Table::new(table.title(), &head);
    let of = |name, encoder| blink.row(name, Finder::Trained(encoder), test, 1);
    let cells = [
        of("the bi-encoder", TrainedEncoder::Own)?,
        with_hits("teacher", &teacher, 1),
        of("distilled bi-encoder", TrainedEncoder::Student)?,
    ];
    let (cells, rows): (Vec<String>, Vec<RowHits>) = cells.into_iter().unzip();
    text.line(&cells);
    text.compare([differences(&rows, "accuracy")]);
    Ok(text)
}

/// Figure 2: recall of the retrievers by the number of candidates.
fn recall_by_k(blink: &Blink<'_>, table: TableId, dev: &str) -> Result<Table> {
    let head: Vec<String> = FIGURE_2.iter().map(|k| format!("recall@{k}")).collect();
    let head: Vec<&str> = ["Method"]
        .into_iter()
        .chain(head.iter().map(String::as_str))
        .collect();
    let mut text = Table::new(table.title(), &head);
    let mut series = Vec::new();
    for (name, finder) in [("BM25", BM25), DEFINED, ("Bi-encoder", BI)] {
        let ranks = blink.over(|stages| stages.ranks(finder, dev))?;
        text.line(
            &[
                vec![name.to_owned()],
                FIGURE_2.map(|k| recall(&ranks, k)).into(),
            ]
            .concat(),
        );
        series.push(points(name, &FIGURE_2, |k| {
            mean_value(&ranks, |ranks| ranks.recall(k))
        }));
    }
    draw(blink, table, "k: candidates", "recall", series)?;
    Ok(text)
}

/// Table 5 of PEL: rankers over the candidates of the retriever with the best recall@16 (its
/// appendix B).
///
/// # Errors
/// As training and searching.
pub fn of_pel(blink: &Blink<'_>, retrievers: &[PelRow]) -> Result<Table> {
    let mut found = Vec::new();
    for row in retrievers {
        let ranks = blink.over(|stages| {
            stages.ranks(
                Finder::Trained(TrainedEncoder::Pel(*row)),
                &blink.validation,
            )
        })?;
        found.push((row, mean_value(&ranks, |ranks| ranks.recall(LISTED))));
    }
    // The first of equals.
    let best = found
        .iter()
        .rev()
        .max_by(|a, b| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0)));
    let Some((row, _)) = best else {
        return Err(Error::input("--retrievers: expected one"));
    };
    let (of, test) = (
        TrainedEncoder::Pel(**row),
        blink.bench.options.split.as_str(),
    );
    let (finder, title) = (Finder::Trained(of), TableId::Pel5.title());
    let mut text = Table::new(
        title,
        &["Ranker", "Candidates", "Accuracy", "Macro over domains"],
    );
    let mut rows = Vec::new();
    let mut add = |name: &str, k: String, ranks: &[Ranks]| {
        let (cell, row) = with_hits(name, ranks, 1);
        text.line(&[name.to_owned(), k, cell, macro_accuracy(ranks)]);
        rows.push(row);
    };
    let alone = blink.over(|stages| stages.ranks(finder, test))?;
    add(
        &format!("{} without a ranker", row.name()),
        "-".into(),
        &alone,
    );
    for (name, fgsm) in [("PEL-Pb", false), ("PEL-Pb + FGSM", true)] {
        let (k, both) = blink.best(finder, Cross { of, fgsm }, test)?;
        add(name, k.to_string(), &both);
    }
    text.compare([differences(&rows, "accuracy")]);
    let compared = found
        .iter()
        .map(|(row, value)| format!("{} {}", row.slug(), percent(*value)));
    text.note(&format!(
        "The candidates are those of {}, by recall@{LISTED} on {}: {}.",
        row.slug(),
        blink.validation,
        compared.collect::<Vec<_>>().join(", ")
    ));
    text.note(&format!("{} {VALUES}", seeds(&blink.bench.options.seeds)));
    Ok(text)
}

/// Figure 3: accuracy of both stages by the number of candidates.
fn by_k(blink: &Blink<'_>, table: TableId, split: &str) -> Result<Table> {
    let head = [
        "K",
        "Recall@K of the bi-encoder",
        "Normalised accuracy of the cross-encoder",
        "Overall accuracy",
    ];
    let mut text = Table::new(table.title(), &head);
    let bi = blink.over(|stages| stages.ranks(BI, split))?;
    let all = blink.over(|stages| stages.reranked(BI, Cross::BLINK, split, &blink.ks))?;
    let at = |at: usize| -> Vec<Ranks> { all.iter().map(|ks| ks[at].clone()).collect() };
    for (place, k) in blink.ks.iter().enumerate() {
        let both = at(place);
        text.line(&[
            k.to_string(),
            recall(&bi, *k),
            cell_of(&both, |one| one.normalised(*k)),
            recall(&both, 1),
        ]);
    }
    let place = |k: usize| blink.ks.iter().position(|other| *other == k).unwrap_or(0);
    let series = vec![
        points("recall@K of the bi-encoder", &blink.ks, |k| {
            mean_value(&bi, |ranks| ranks.recall(k))
        }),
        points("normalised accuracy", &blink.ks, |k| {
            mean_value(&at(place(k)), |ranks| ranks.normalised(k))
        }),
        points("overall accuracy", &blink.ks, |k| {
            mean_value(&at(place(k)), |ranks| ranks.recall(1))
        }),
    ];
    draw(blink, table, "K: candidates", "share of mentions", series)?;
    Ok(text)
}

/// Table 8: mentions that only one stage links rightly; first those that the cross-encoder
/// corrects.
fn examples(blink: &Blink<'_>, table: TableId, split: &str) -> Result<Table> {
    let (k, _) = blink.best(BI, Cross::BLINK, split)?;
    let title = format!("{}, K = {k}", table.title());
    let mut text = Table::new(&title, &["Mention", "Bi-encoder", "Cross-encoder"]);
    let (Some(stages), Some(seed)) = (blink.stages.first(), blink.bench.options.seeds.first())
    else {
        return Ok(text);
    };
    let (found, scores) = stages.taught(
        BI,
        Cross::BLINK,
        split,
        blink.most(),
        blink.bench.options.every as usize,
    )?;
    let reranked = found.reranked(&scores, k);
    let (mut corrected, mut worsened) = (Vec::new(), Vec::new());
    for ((gold, first), second) in found
        .split
        .mentions
        .iter()
        .zip(&found.ranked)
        .zip(&reranked)
    {
        let (Some(bi), Some(cross)) = (first.first(), second.first()) else {
            continue;
        };
        let name = |concept| {
            let name = stages
                .kb()
                .get(concept)
                .map_or("", |concept| concept.name.as_str());
            if Some(concept) == gold.concept {
                format!("**{name}**")
            } else {
                name.to_owned()
            }
        };
        let to = match (
            Some(bi.concept) == gold.concept,
            Some(cross.concept) == gold.concept,
        ) {
            (false, true) => &mut corrected,
            (true, false) => &mut worsened,
            _ => continue,
        };
        let around = around(
            &found.split.documents[gold.document].text,
            gold.span.start,
            gold.span.end,
        );
        to.push([around, name(bi.concept), name(cross.concept)]);
    }
    let (up, down) = (corrected.len(), worsened.len());
    let half = EXAMPLES / 2;
    corrected
        .iter()
        .take(half)
        .chain(worsened.iter().take(half))
        .for_each(|cells| text.line(cells));
    text.note(&format!(
        "With seed {seed}, the cross-encoder corrected {up} of {} mentions and made {down} \
         wrong. The right concept is bold.",
        reranked.len()
    ));
    Ok(text)
}

fn draw(blink: &Blink<'_>, table: TableId, x: &str, y: &str, series: Vec<Series>) -> Result<()> {
    let chart = Chart {
        title: table.title().into(),
        x: x.into(),
        y: y.into(),
        series,
        y_range: Some((0.0, 1.0)),
        ..Chart::default()
    };
    chart.write(&blink.bench.options.out.join("plots").join(table.slug()))
}

fn points(name: &str, ks: &[usize], value: impl Fn(usize) -> Option<f64>) -> Series {
    Series {
        name: name.into(),
        points: ks
            .iter()
            .filter_map(|k| Some((*k as f64, value(*k)?)))
            .collect(),
    }
}

/// A mention in bold with some text around it, as a cell of a table.
fn around(text: &str, start: usize, end: usize) -> String {
    let cut = |part: &str| {
        part.replace('|', "/")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let before: String = text[..start]
        .chars()
        .rev()
        .take(CONTEXT)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .collect();
    let after: String = text[end..].chars().take(CONTEXT).collect();
    format!(
        "… {} **{}** {} …",
        cut(&before),
        cut(&text[start..end]),
        cut(&after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_shows_context_around_its_mention() {
        let text = format!("{} a|b fever\nand cough", "é".repeat(100));
        let start = text.find("fever").expect("there");
        let cell = around(&text, start, start + 5);
        assert!(
            cell.starts_with("… ééé") && cell.ends_with("a/b **fever** and cough …"),
            "{cell}"
        );
        assert!(cell.chars().count() < 2 * CONTEXT + 20, "{cell}");
    }
}
