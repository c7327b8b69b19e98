//! What a preset costs: the tokens of each training, from its configuration and the published size
//! of the data, and from these time and memory by measured rates. Every window counts as full, so
//! the figures are upper bounds.

use super::cells::Table;
use super::models;
use super::preset_data::Prepared;
use super::presets::{Plan, Size};
use super::{Bench, Family, Options, Row, TableId, folds, pel, stages, t_biencoder};
use crate::io::device::OpenDevice;
use crate::io::files::read_text;
use crate::io::{interrupt, memory};
use crate::train::config::{Config, Keep, NegativeKind, Task};
use crate::train::model::Model;
use burn::module::Module;
use burn::tensor::Device;
use pel_shared::error::{Context, Error, Result};
use pel_shared::model::burn::bert::{BertInput, Pass};
use pel_shared::model::config::BertConfig;
use pel_shared::model::cross_encoder::longest_pair;
use pel_shared::model::tower::Side;
use pel_shared::score::Scorer;
use pel_shared::tokens::{Cut, Encoded, TokenBatch};
use serde::Serialize;
use std::time::Instant;

/// Bytes of a trained parameter: weight, gradient, and the two moments of AdamW.
const STATE: f64 = 16.0;

/// A pass that is measured takes about this long.
const SECONDS: f64 = 0.5;

/// The most sequences of a measured pass, without and with gradients.
const MOST: [usize; 2] = [1024, 64];

/// Tokens a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// The length of the measured sequences; `None` for given rates.
    pub tokens: Option<usize>,
    /// Tokens that the encoder reads in a second.
    pub read: f64,
    /// Tokens that it trains on in a second: forward and backward.
    pub trained: f64,
    /// Bytes that a token of a training step adds, if they could be measured.
    pub bytes_per_token: Option<f64>,
}

/// The work of one training, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Work {
    steps: u64,
    /// Tokens that go forward and backward, in all steps.
    trained: f64,
    /// Tokens that are encoded without gradients: mining, validation and measuring.
    read: f64,
    /// Tokens of a micro-batch or chunk, which are in memory together.
    at_once: f64,
}

/// The cost of one training.
#[derive(Clone, Debug, Serialize)]
struct Cost {
    part: String,
    training: String,
    seeds: usize,
    #[serde(flatten)]
    work: Work,
    /// Hours with one seed.
    hours: f64,
    /// Bytes of weights, gradients and moments.
    state_bytes: f64,
    /// Bytes of the activations of a step.
    activation_bytes: Option<f64>,
    /// Bytes of the vectors of all concepts. Those of tokens, for Sum-of-Max, lie in a file.
    vector_bytes: f64,
}

/// The cost of a preset.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    paper: String,
    encoder: String,
    device: String,
    rates: Vec<Rates>,
    trainings: Vec<Cost>,
    /// Hours of all trainings, with all seeds.
    hours: f64,
}

/// Estimates the parts of a preset that a call runs, at their published sizes. Trains nothing.
/// `given` are tokens read and trained on in a second; without them they are measured with the
/// encoder of the call.
///
/// # Errors
/// If the encoder cannot be read, the preset is invalid, or the device fails.
pub fn estimate(
    plan: &Plan,
    options: &Options,
    device: &OpenDevice,
    given: Option<[f64; 2]>,
) -> Result<Estimate> {
    let nowhere = Prepared {
        corpus: "-".into(),
        kb: "-".into(),
    };
    let (mut rates, mut all): (Vec<Rates>, Vec<Cost>) = (Vec::new(), Vec::new());
    let mut parameters = None;
    for part in plan.chosen(options)? {
        let own = plan.options(part, options, &nowhere, false)?;
        for (training, config) in trainings(&own, device)? {
            let begin = begin(&config, options)?;
            let of_tower = match parameters {
                Some(count) => count,
                None => {
                    let gradients = device.device.clone().autodiff();
                    let count = Model::begin(&begin, &gradients)?.towers.num_params() as f64;
                    *parameters.insert(count)
                }
            };
            let length = longest(&config);
            let known = rates
                .iter()
                .find(|rate| rate.tokens == Some(length))
                .copied();
            let rate = match (given, known) {
                (Some([read, trained]), _) => Rates {
                    tokens: None,
                    read,
                    trained,
                    bytes_per_token: None,
                },
                (None, Some(rate)) => rate,
                (None, None) => {
                    let rate = measured(&begin, device, length)?;
                    rates.push(rate);
                    rate
                }
            };
            let every = u64::from(own.train_every);
            let work = work(
                &config,
                part.size,
                every,
                own.ks(family(&own)).last().copied(),
            );
            let towers = if config.model.tied { 1.0 } else { 2.0 };
            let width = bert(options)?.hidden_size as f64;
            let vectors = match (config.data.task, config.model.scorer) {
                (Task::Rank, _) => 0.0,
                (_, Scorer::Dual) => 4.0 * width,
                // Of each token a byte a dimension.
                (_, Scorer::SumOfMax) => (4.0 + config.view.entity_tokens as f64) * width,
            };
            all.push(Cost {
                part: part.name.clone(),
                training,
                seeds: own.seeds.len(),
                work,
                hours: (work.trained / rate.trained + work.read / rate.read) / 3600.0,
                state_bytes: STATE * of_tower * towers,
                activation_bytes: rate.bytes_per_token.map(|bytes| bytes * work.at_once),
                vector_bytes: vectors * part.size.concepts as f64,
            });
        }
    }
    if let Some([read, trained]) = given {
        rates.push(Rates {
            tokens: None,
            read,
            trained,
            bytes_per_token: None,
        });
    }
    Ok(Estimate {
        paper: plan.paper.clone(),
        encoder: plan.encoder.clone(),
        device: device.name.clone(),
        hours: all.iter().map(|cost| cost.hours * cost.seeds as f64).sum(),
        rates,
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
            "Trained, tokens",
            "Read, tokens",
            "Hours a seed",
            "State, GB",
            "Step, GB",
            "Vectors, GB",
        ];
        let mut table = Table::new(&format!("Cost of {}", self.paper), &head);
        let gigabytes = |bytes: f64| format!("{:.1}", bytes / 1e9);
        for cost in &self.trainings {
            table.line(&[
                format!("{}: {}", cost.part, cost.training),
                cost.seeds.to_string(),
                cost.work.steps.to_string(),
                format!("{:.2e}", cost.work.trained),
                format!("{:.2e}", cost.work.read),
                format!("{:.1}", cost.hours),
                gigabytes(cost.state_bytes),
                cost.activation_bytes.map_or_else(|| "-".into(), gigabytes),
                gigabytes(cost.vector_bytes),
            ]);
        }
        let rates = self.rates.iter().map(|rate| {
            let read = format!(
                "{:.0} tokens/s read, {:.0} trained on",
                rate.read, rate.trained
            );
            match rate.tokens {
                Some(length) => format!("measured in sequences of {length} tokens: {read}"),
                None => format!("given: {read}"),
            }
        });
        table.note(&format!(
            "All of it: {:.0} hours. {}: {}. The paper has {}.",
            self.hours,
            self.device,
            rates.collect::<Vec<_>>().join("; "),
            self.encoder
        ));
        table.note(
            "Every window counts as full, and every negative as encoded by itself, so time and \
             memory are upper bounds. Searching the vectors and reading the data are not counted. \
             State: weights, gradients and moments. Step: the activations of a micro-batch or \
             chunk (`--set optimiser.micro_batch`, `--set optimiser.chunk`, `--set \
             model.gradient_checkpointing=true` make it smaller). Vectors: those of Sum-of-Max lie \
             in a temporary file, not in memory.",
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
                let mut ranker = stages::ranker_config(bench, 0)?;
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
    let mut ranker = stages::ranker_config(bench, 0)?;
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

/// The work of a training. `every` is that of the candidate lists, `k` the number of candidates
/// that a cross-encoder scores when it is measured.
fn work(config: &Config, size: Size, every: u64, k: Option<usize>) -> Work {
    let (data, negatives, optimiser) = (&config.data, &config.negatives, &config.optimiser);
    let listed = !data.candidates.as_os_str().is_empty();
    let all = if listed {
        size.train.div_ceil(every.max(1))
    } else {
        size.train
    };
    let mentions = match data.mentions as u64 {
        0 => all,
        some => all.min(some),
    };
    let batch = optimiser.batch as f64;
    let steps = optimiser.steps.map_or_else(
        || (optimiser.epochs * mentions as f64 / batch).ceil(),
        |steps| steps as f64,
    );
    let [mention, entity, concepts] = [
        config.view.mention_tokens as f64,
        config.view.entity_tokens as f64,
        size.concepts as f64,
    ];
    let perturbs = config.fgsm.lambda > 0.0;
    let measured = (size.dev + size.test) as f64;
    let validated = size.dev.min(config.validation.mentions as u64) as f64;
    let passes = match (config.validation.keep, validated > 0.0) {
        (Keep::Best, true) => {
            let every = config.validation_every(mentions as usize).max(1) as f64;
            (steps / every).ceil().max(1.0)
        }
        _ => 0.0,
    };
    let (tokens, read) = if data.task == Task::Rank {
        let pair = longest_pair(&config.view_options()) as f64;
        let list = data.top as f64 * pair;
        // FGSM: a pass for the direction, and one over the perturbed pairs.
        let tokens = if perturbs { 3.0 * list } else { list };
        let scored = k.unwrap_or(data.top) as f64 * pair;
        (tokens, passes * validated * list + measured * scored)
    } else {
        let drawn = match (listed, negatives.kind) {
            (true, _) => data.top.saturating_sub(1),
            (false, NegativeKind::None) => 0,
            (false, _) => negatives.count,
        };
        let entities = 1.0 + drawn as f64;
        let mut tokens = mention + entities * entity;
        if config.transformation.weight > 0.0 && config.transformation.plain {
            tokens *= 2.0;
        }
        let pairs = match (perturbs, negatives.in_batch) {
            (false, _) => 0.0,
            (true, true) => entities * batch,
            (true, false) => entities,
        };
        let mut read = passes * (concepts * entity + validated * mention);
        if optimiser.in_chunks() {
            // Everything is first read without a graph, and directions are found twice.
            read += steps * batch * (tokens + pairs * entity);
            tokens += pairs * entity;
        }
        tokens += 2.0 * pairs * entity;
        if config.mines() {
            let every = match negatives.mine_every {
                0 => (mentions as f64 / batch).ceil().max(1.0),
                every => every as f64,
            };
            read += (steps / every).ceil() * concepts * entity + steps * batch * mention;
        }
        (tokens, read + concepts * entity + measured * mention)
    };
    let at_once = tokens * optimiser.micro() as f64 / optimiser.replicas as f64;
    let chunk = optimiser.chunk as f64 * mention.max(entity);
    Work {
        steps: steps as u64,
        trained: tokens * batch * steps,
        read,
        at_once: if chunk > 0.0 {
            at_once.min(chunk)
        } else {
            at_once
        },
    }
}

/// The longest sequence of a training.
fn longest(config: &Config) -> usize {
    match config.data.task {
        Task::Rank => longest_pair(&config.view_options()),
        _ => config.view.mention_tokens.max(config.view.entity_tokens),
    }
}

/// The configuration of one tower with the encoder of the call, to be measured.
fn begin(config: &Config, options: &Options) -> Result<Config> {
    let mut own = config.clone();
    own.data.task = Task::Link;
    own.model.tied = true;
    own.model.freeze_embeddings = false;
    own.model.encoder.clone_from(&options.encoder);
    let positions = bert(options)?.max_position_embeddings;
    for window in [&mut own.view.mention_tokens, &mut own.view.entity_tokens] {
        *window = positions.min(*window);
    }
    Ok(own)
}

fn bert(options: &Options) -> Result<BertConfig> {
    let path = options.encoder.join("config.json");
    BertConfig::from_bytes(read_text(&path)?.as_bytes()).context(|| path.display().to_string())
}

/// The tables of a part are of one paper.
fn family(options: &Options) -> Family {
    options
        .table
        .first()
        .map_or(Family::Pel, |table| table.family())
}

/// Measures one tower on sequences of `length` tokens. Nothing is trained.
fn measured(config: &Config, device: &OpenDevice, length: usize) -> Result<Rates> {
    config.check_output(&device.device)?;
    let gradients = device.device.clone().autodiff();
    let gradients = if config.model.gradient_checkpointing {
        gradients.gradient_checkpointing()
    } else {
        gradients
    };
    let model = Model::begin(config, &gradients)?;
    let encoder = model.encoder(&device.device)?;
    let seq = length.min(encoder.max_positions());
    let size = model.tokens.size() as u32;
    let id = |at: usize| (at as u32).wrapping_mul(2_654_435_761) % size;
    let pass = Pass {
        precision: config.model.precision,
        recompute: config.model.gradient_checkpointing,
        ..Pass::default()
    };
    let tower = model.towers.tower(Side::Mention);
    let (trained, bytes_per_token) = rate(seq, MOST[1], &gradients, |rows| {
        let ids = (0..rows * seq).map(|at| id(at) as i32).collect();
        let input = BertInput::new(&TokenBatch::full(seq, ids), &gradients);
        let vectors = tower.forward_pass(&input, model.reduction, &pass);
        drop(vectors.powi_scalar(2).sum().backward());
        device
            .device
            .sync()
            .map_err(|cause| Error::device("measuring a step").caused_by(cause.to_string()))
    })?;
    let (read, _) = rate(seq, MOST[0], &gradients, |rows| {
        let sequence = |row: usize| {
            let ids = (0..seq).map(|at| id(row * seq + at)).collect();
            Encoded::whole(ids, Cut::default())
        };
        let sequences: Vec<Encoded> = (0..rows).map(sequence).collect();
        let sequences: Vec<&Encoded> = sequences.iter().collect();
        encoder.encode(Side::Mention, &sequences).map(drop)
    })?;
    Ok(Rates {
        tokens: Some(length),
        read,
        trained,
        bytes_per_token,
    })
}

/// Doubles the sequences of a pass until it takes [`SECONDS`] or has the most. Returns the best
/// rate in tokens a second, and the bytes that a token adds.
fn rate(
    seq: usize,
    most: usize,
    device: &Device,
    mut run: impl FnMut(usize) -> Result<()>,
) -> Result<(f64, Option<f64>)> {
    let (mut rows, mut best) = (2, 0.0_f64);
    let mut used: Vec<(f64, Option<u64>)> = Vec::new();
    loop {
        interrupt::check()?;
        // The first pass of a size compiles and allocates.
        run(rows)?;
        let began = Instant::now();
        run(rows)?;
        let (seconds, tokens) = (began.elapsed().as_secs_f64(), (rows * seq) as f64);
        best = best.max(tokens / seconds.max(1e-9));
        used.push((tokens, memory::of_gpu(device).or_else(memory::peak)));
        if rows >= most || (seconds > SECONDS && used.len() > 1) {
            break;
        }
        rows *= 2;
    }
    let bytes = match (used.first(), used.last()) {
        (Some((few, Some(before))), Some((many, Some(after)))) if after > before => {
            Some((after - before) as f64 / (many - few))
        }
        _ => None,
    };
    Ok((best, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size {
        train: 100,
        dev: 10,
        test: 20,
        concepts: 1000,
    };

    fn read(base: Config, settings: &[&str]) -> Config {
        let settings: Vec<String> = settings.iter().map(|word| (*word).to_owned()).collect();
        base.read(None, &settings).expect("valid")
    }

    #[test]
    fn tokens_of_a_bi_encoder_can_be_counted_by_hand() {
        let settings = [
            "fgsm.lambda=0",
            "negatives.kind=random",
            "negatives.count=3",
            "view.mention_tokens=10",
            "view.entity_tokens=20",
            "optimiser.batch=10",
            "optimiser.epochs=2",
            "validation.keep=last",
        ];
        let found = work(&read(Config::default(), &settings), SIZE, 1, None);
        // Two epochs of 10 steps; a mention has 10 + 4 x 20 tokens.
        assert_eq!(
            (found.steps, found.trained, found.at_once),
            (20, 18000.0, 900.0)
        );
        // Measuring: 1,000 concepts and 30 mentions.
        assert_eq!(found.read, 20000.0 + 300.0);

        let with = |more: &[&str]| {
            let all = [settings.as_slice(), more].concat();
            work(&read(Config::default(), &all), SIZE, 1, None)
        };
        // FGSM adds two passes over 4 pairs, the transformation a second pass over everything.
        assert_eq!(
            with(&["fgsm.lambda=1"]).at_once,
            900.0 + 10.0 * 2.0 * 4.0 * 20.0
        );
        assert_eq!(with(&["transformation.weight=1"]).at_once, 1800.0);
        // Two sequences of 20 tokens at a time. The 90 tokens of each of 200 examples are read once
        // more, and so are 4 perturbed pairs, whose direction is found once more.
        let chunked = with(&["optimiser.chunk=2", "fgsm.lambda=1"]);
        assert_eq!(
            (chunked.at_once, chunked.trained, chunked.read - found.read),
            (40.0, 200.0 * (90.0 + 240.0), 200.0 * (90.0 + 80.0))
        );
        // Mining every 10 steps, twice; validation after each epoch.
        let mined = with(&["negatives.kind=hard", "negatives.mine_every=10"]);
        assert_eq!(mined.read - found.read, 2.0 * 20000.0 + 200.0 * 10.0);
        let settings = ["validation.keep=best", "validation.mentions=5"];
        assert_eq!(with(&settings).read - found.read, 2.0 * (20000.0 + 50.0));
    }

    #[test]
    fn tokens_of_a_cross_encoder_can_be_counted_by_hand() {
        let settings = [
            "fgsm.lambda=0",
            "data.candidates=\"list\"",
            "data.top=4",
            "view.mention_tokens=10",
            "view.entity_tokens=21",
            "optimiser.batch=5",
            "optimiser.epochs=1",
            "validation.keep=last",
        ];
        let found = work(&read(Config::ranking(), &settings), SIZE, 2, Some(8));
        // Every second mention: 10 steps of 5 lists of 4 pairs of 30 tokens.
        assert_eq!((found.steps, found.trained), (10, 6000.0));
        // 30 mentions with 8 pairs each.
        assert_eq!(found.read, 7200.0);
    }
}
