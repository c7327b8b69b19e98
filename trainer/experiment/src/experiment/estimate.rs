//! What a preset costs: the steps, sequences and memory of each training, from its configuration
//! and the published size of the data.

use super::cells::Table;
use super::models;
use super::preset_data::Prepared;
use super::preset_part::Size;
use super::presets::Plan;
use super::{Bench, Family, Options, Row, TableId, folds, pel, settings, t_biencoder};
use pel_artifacts::device::OpenDevice;
use pel_io::files::read_text;
use pel_kb::error::{Context, Result};
use pel_kb::score::Scorer;
use pel_model::config::BertConfig;
use pel_model::cross_encoder::longest_pair;
use pel_trainer::train::config::{Config, NegativeKind, Task};
use serde::Serialize;

/// Bytes of a trained parameter: weight, gradient, and the two moments of AdamW.
const STATE: u64 = 16;

/// The cost of one training.
#[derive(Clone, Debug, Serialize)]
struct Cost {
    part: String,
    training: String,
    seeds: usize,
    steps: u64,
    /// Sequences that go forward and backward, in all steps of one seed.
    sequences: u64,
    /// The longest sequence.
    tokens: usize,
    /// Bytes of weights, gradients and moments.
    state_bytes: u64,
    /// Bytes of the vectors of all concepts. Those of tokens, for Sum-of-Max, lie in a file.
    vector_bytes: u64,
}

/// The cost of a preset.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    paper: String,
    encoder: String,
    trainings: Vec<Cost>,
}

/// Estimates the parts of a preset that a call runs, at their published sizes. Trains nothing.
///
/// # Errors
/// If the encoder's configuration cannot be read, or the preset is invalid.
pub fn estimate(plan: &Plan, options: &Options, device: &OpenDevice) -> Result<Estimate> {
    let nowhere = Prepared {
        corpus: "-".into(),
        kb: "-".into(),
    };
    let path = options.encoder.join("config.json");
    let bert = BertConfig::from_bytes(read_text(&path)?.as_bytes())
        .context(|| path.display().to_string())?;
    let width = bert.hidden_size as u64;
    let mut all = Vec::new();
    for part in plan.chosen(options)? {
        let own = plan.options(part, options, &nowhere, false)?;
        for (training, config) in trainings(&own, device)? {
            let (steps, sequences) = work(&config, part.size, u64::from(own.train_every));
            let towers = if config.model.tied { 1 } else { 2 };
            let bytes_per_concept = match (config.data.task, config.model.scorer) {
                (Task::Rank, _) => 0,
                (_, Scorer::Dual) => 4 * width,
                // Of each token a byte a dimension.
                (_, Scorer::SumOfMax) => (4 + config.view.entity_tokens as u64) * width,
            };
            all.push(Cost {
                part: part.name.clone(),
                training,
                seeds: own.seeds.len(),
                steps,
                sequences,
                tokens: longest(&config),
                state_bytes: STATE * parameters(&bert) * towers,
                vector_bytes: bytes_per_concept * part.size.concepts,
            });
        }
    }
    Ok(Estimate {
        paper: plan.paper.clone(),
        encoder: plan.encoder.clone(),
        trainings: all,
    })
}

impl Estimate {
    /// The estimate as a table.
    pub fn text(&self) -> String {
        let head = [
            "Training",
            "Seeds",
            "Steps",
            "Sequences",
            "Tokens each, at most",
            "State, GB",
            "Vectors, GB",
        ];
        let mut table = Table::new(&format!("Cost of {}", self.paper), &head);
        let gigabytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e9);
        for cost in &self.trainings {
            table.line(&[
                format!("{}: {}", cost.part, cost.training),
                cost.seeds.to_string(),
                cost.steps.to_string(),
                cost.sequences.to_string(),
                cost.tokens.to_string(),
                gigabytes(cost.state_bytes),
                gigabytes(cost.vector_bytes),
            ]);
        }
        let seeds = |of: fn(&Cost) -> u64| -> u64 {
            let each = self.trainings.iter();
            each.map(|cost| of(cost) * cost.seeds as u64).sum()
        };
        table.note(&format!(
            "All of it: {} trainings, {} steps, {:.2e} sequences. The paper has {}.",
            seeds(|_| 1),
            seeds(|cost| cost.steps),
            seeds(|cost| cost.sequences) as f64,
            self.encoder
        ));
        table.note(
            "Sequences: the mentions and concepts, or pairs, of all batches, forward and backward. \
             FGSM, mining, validation and measuring come on top. State: weights, gradients and \
             moments; the activations of a step come on top (`--set optimiser.micro_batch`, `--set \
             optimiser.chunk`, `--set model.gradient_checkpointing=true` make them smaller). \
             Vectors: those of Sum-of-Max lie in a temporary file, not in memory.",
        );
        table.markdown()
    }
}

/// The trainings of all tables, each with its configuration. Several tables may have the same one.
///
/// # Errors
/// If a configuration is invalid, or the encoder's cannot be read.
pub fn trainings(options: &Options, device: &OpenDevice) -> Result<Vec<(String, Config)>> {
    let mut all: Vec<(String, Config)> = Vec::new();
    for table in &options.table {
        let bench = Bench {
            table: *table,
            options,
            family: table.family(),
            device,
            other_kb: None,
        };
        for (name, config) in of_table(&bench)? {
            if !all.iter().any(|(other, _)| *other == name) {
                all.push((name, config));
            }
        }
    }
    Ok(all)
}

fn of_table(bench: &Bench<'_>) -> Result<Vec<(String, Config)>> {
    let (table, options) = (bench.table, bench.options);
    let rows = |rows: Vec<(String, Vec<String>)>| -> Result<Vec<(String, Config)>> {
        rows.into_iter()
            .map(|(name, settings)| Ok((name, bench.config(&settings, 0)?)))
            .collect()
    };
    match bench.family {
        Family::Pel if table == TableId::Pel5 => {
            let retrievers = models::retrievers(options, options.pair_of_counts()?)?;
            let mut all = rows(named(&retrievers))?;
            for (name, lambda) in [("cross", 0.0), ("cross-fgsm", 1.0)] {
                let mut ranker = settings::ranker_config(bench, 0)?;
                ranker.fgsm.lambda = lambda;
                all.push((name.to_owned(), ranker));
            }
            Ok(all)
        }
        Family::Pel => rows(named(&pel::rows(table, options.pair_of_counts()?))),
        Family::TBiencoder => rows(named(&t_biencoder::rows(table, bench.depth()?))),
        Family::Blink if table.folds() => rows(named(&folds::rows(table, options)?)),
        Family::Blink => of_stages(bench),
    }
}

fn named<R: Row>(rows: &[R]) -> Vec<(String, Vec<String>)> {
    rows.iter()
        .map(|row| (row.slug(), row.settings()))
        .collect()
}

/// BLINK's stages: a bi-encoder in two phases and a cross-encoder, from the encoder or from a
/// model of another corpus, and two more bi-encoders where one is distilled.
fn of_stages(bench: &Bench<'_>) -> Result<Vec<(String, Config)>> {
    let (table, options) = (bench.table, bench.options);
    let begins: &[&str] = match (table, options.pretrained.is_some()) {
        (TableId::Blink4, true) => &["blink-finetuned"],
        (TableId::Blink6, true) => &["blink", "blink-finetuned"],
        _ => &["blink"],
    };
    let mut ranker = settings::ranker_config(bench, 0)?;
    ranker.fgsm.lambda = 0.0;
    let mut all = Vec::new();
    for begin in begins {
        for (phase, kind) in [("-batch", "none"), ("", "hard")] {
            let config = bench.config(&[format!("negatives.kind={kind}")], 0)?;
            all.push((format!("{begin}-bi{phase}"), config));
        }
        if table.ranks() {
            all.push((format!("{begin}-cross"), ranker.clone()));
        }
    }
    if table == TableId::Blink9 {
        for (name, share) in [("blink-own", 1.0), ("blink-student", options.own_share)] {
            let settings = [
                "data.candidates=\"-\"".to_owned(),
                format!("data.top={}", ranker.data.top),
                "negatives.kind=none".to_owned(),
                "negatives.in_batch=false".to_owned(),
                format!("distillation.own_share={share:?}"),
            ];
            all.push((name.to_owned(), bench.config(&settings, 0)?));
        }
    }
    Ok(all)
}

/// The steps of a training and the sequences of their batches. `every` is that of the candidate
/// lists.
fn work(config: &Config, size: Size, every: u64) -> (u64, u64) {
    let (data, negatives, optimiser) = (&config.data, &config.negatives, &config.optimiser);
    let listed = !data.candidates.as_os_str().is_empty();
    let all = match listed {
        true => size.train.div_ceil(every.max(1)),
        false => size.train,
    };
    let mentions = match data.mentions as u64 {
        0 => all,
        some => all.min(some),
    };
    let steps = optimiser.steps.map_or_else(
        || (optimiser.epochs * mentions as f64 / optimiser.batch as f64).ceil() as u64,
        |steps| steps as u64,
    );
    let of_example = match (data.task, listed, negatives.kind) {
        (Task::Rank, ..) => data.top,
        // The mention, its concept and the negatives.
        (_, true, _) => 1 + data.top.max(1),
        (_, false, NegativeKind::None) => 2,
        (_, false, _) => 2 + negatives.count,
    };
    (steps, steps * (optimiser.batch * of_example) as u64)
}

/// The longest sequence of a training.
fn longest(config: &Config) -> usize {
    match config.data.task {
        Task::Rank => longest_pair(&config.view_options()),
        _ => config.view.mention_tokens.max(config.view.entity_tokens),
    }
}

/// The parameters of an encoder without its pooler.
fn parameters(bert: &BertConfig) -> u64 {
    let [words, positions, types, width, inner, layers] = [
        bert.vocab_size,
        bert.max_position_embeddings,
        bert.type_vocab_size,
        bert.hidden_size,
        bert.intermediate_size,
        bert.num_hidden_layers,
    ]
    .map(|size| size as u64);
    // Query, key, value and output; the two layers of the feed-forward network; two LayerNorms.
    let layer = 4 * (width + 1) * width + (2 * width + 1) * inner + width + 4 * width;
    (words + positions + types + 2) * width + layers * layer
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        train: 100,
        concepts: 1000,
    };

    fn read(base: Config, settings: &[&str]) -> Config {
        let settings: Vec<String> = settings.iter().map(|word| (*word).to_owned()).collect();
        base.read(None, &settings).expect("valid")
    }

    #[test]
    fn sequences_of_a_bi_encoder_can_be_counted_by_hand() {
        let with = |more: &[&str]| {
            let settings = [
                "negatives.kind=random",
                "negatives.count=3",
                "optimiser.batch=10",
                "optimiser.epochs=2",
            ];
            let settings = [&settings[..], more].concat();
            work(&read(Config::default(), &settings), SIZE, 1)
        };
        // Two epochs of 10 steps; an example has a mention, its concept and 3 negatives.
        assert_eq!(with(&[]), (20, 20 * 10 * 5));
        let in_batch = ["negatives.kind=none", "negatives.in_batch=true"];
        assert_eq!(with(&in_batch), (20, 20 * 10 * 2));
        assert_eq!(with(&["data.mentions=25"]), (5, 5 * 10 * 5));
        assert_eq!(with(&["optimiser.steps=7"]), (7, 7 * 10 * 5));
    }

    #[test]
    fn sequences_of_a_cross_encoder_can_be_counted_by_hand() {
        let settings = [
            "data.candidates=\"list\"",
            "data.top=4",
            "view.mention_tokens=10",
            "view.entity_tokens=21",
            "optimiser.batch=5",
            "optimiser.epochs=1",
        ];
        let config = read(Config::ranking(), &settings);
        // Every second mention: 10 steps of 5 lists of 4 pairs.
        assert_eq!(work(&config, SIZE, 2), (10, 10 * 5 * 4));
        assert_eq!(longest(&config), 30);
    }

    #[test]
    fn parameters_of_bert_base_without_its_pooler() {
        let config = r#"{"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12,
            "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512}"#;
        let bert = BertConfig::from_bytes(config.as_bytes()).expect("valid");
        // BertModel of transformers has 109,482,240, its pooler 768 x 769 of them.
        assert_eq!(parameters(&bert), 109_482_240 - 768 * 769);
    }
}
