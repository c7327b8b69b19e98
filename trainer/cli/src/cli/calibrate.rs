//! `pel calibrate`: fits the probability that the best candidate is right, and chooses the NIL
//! threshold, on annotated mentions; stores both in a bundle.

use clap::{Args, ValueEnum};
use pel_artifacts::bundles;
use pel_artifacts::device::DeviceArgs;
use pel_corpora::split::{NilOf, Split, SplitCounts};
use pel_experiment::evaluate::bundle_settings::{BundleSettings, copy_settings, put};
use pel_experiment::evaluate::leave_out::{LeaveOut, Samples};
use pel_experiment::evaluate::probability;
use pel_experiment::evaluate::probability::Sample;
use pel_experiment::evaluate::score_weights::{MIXES, SPELLINGS, best_mix, tried, widest_spelling};
use pel_experiment::evaluate::{Calibration, Probabilities, Rule, TOP, Trial};
use pel_index::metrics::{
    BINS, CurvePoint, Forecast, Interval, brier, calibration_error, reliability,
};
use pel_io::files::{io_error, write_atomic};
use pel_io::json;
use pel_io::outputs::{Inputs, Output};
use pel_kb::error::{Context, Error, Result};
use pel_model::nil::NilPolicy;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Fit the probability of links and choose the NIL threshold of a bundle, on annotated mentions
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel calibrate bundle --corpus corpus\n  \
    pel calibrate bundle --corpus corpus --cost 1\n  \
    pel calibrate bundle --corpus abstracts --corpus notes --split dev --split train\n  \
    pel calibrate bundle --corpus notes --corpus abstracts --over bundle --over benchmark \
    --split train\n  \
    pel calibrate bundle --corpus corpus --precision 0.9 --dry-run\n  \
    pel calibrate bundle --corpus corpus --by score\n  \
    pel calibrate bundle --corpus corpus --curve nil.csv --out nil.json\n  \
    pel calibrate bundle --corpus corpus --leave-out --out parts.json\n  \
    pel calibrate local.pel --from bundle\n\n\
    Use another split than the one that results are reported on. Annotated mentions are linked as \
    `pel link` links given spans.")]
pub struct CalibrateArgs {
    /// The bundle
    bundle: PathBuf,
    /// Corpus folder with documents.jsonl and one mentions.SPLIT.jsonl per split. Several fit the
    /// probability together, each with the same weight; figures and threshold are of the first
    #[arg(long, value_name = "DIR", required_unless_present = "from")]
    corpus: Vec<PathBuf>,
    /// Bundle with the concepts of a corpus, once for each corpus. It must have the same encoder,
    /// --view and --score of `pel index` as the bundle [default: the bundle]
    #[arg(long, value_name = "BUNDLE", conflicts_with_all = ["mix", "spelling"])]
    over: Vec<PathBuf>,
    /// Mentions to fit on: one for all corpora, or one for each
    #[arg(long, value_enum, value_name = "MENTIONS", default_value = "annotated")]
    mentions: Vec<Mentions>,
    /// Copy probability, threshold, curve, mix and spelling weight from a bundle that `pel index`
    /// wrote with the same --view and --score, and choose nothing
    #[arg(
        long,
        value_name = "BUNDLE",
        conflicts_with_all = [
            "corpus", "over", "mentions", "split", "nil", "every", "precision", "cost", "curve",
            "out", "by", "mix", "spelling", "leave_out", "dry_run",
        ],
    )]
    from: Option<PathBuf>,
    /// Split to choose on: one for all corpora, or one for each
    #[arg(long, default_value = "dev")]
    split: Vec<String>,
    /// Choose the threshold with the most links at this link precision, from 0 to 1. It must link
    /// at least 5 % of the linkable mentions
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "cost")]
    precision: Option<f64>,
    /// Cost of a wrong link, if a right one brings 1: with probabilities, links are made from the
    /// probability COST / (1 + COST) on [default: 0.6]
    #[arg(long, value_name = "COST", value_parser = cost)]
    cost: Option<f64>,
    /// NIL mentions to include besides linkable ones
    #[arg(long, value_enum, default_value = "all")]
    nil: NilOf,
    /// Write the NIL precision-recall curve to this file, as CSV if it ends in .csv, else as JSON
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// Write the choice and its metrics to this file as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Value compared with the threshold [default: probability from 1,000 mentions on, or if the
    /// bundle has it already; else score]
    #[arg(long, value_enum)]
    by: Option<By>,
    /// First choose the template's weight in a concept's score by recall@1, for bundles of `pel
    /// index --view both`
    #[arg(long)]
    mix: bool,
    /// First choose the weight of spelling overlap in the score, for cosine bundles: the largest
    /// that lowers recall@1 by at most 0.5 points
    #[arg(long)]
    spelling: bool,
    /// Use every N-th annotated mention only; a text then has fewer mentions that share candidates.
    /// Of detected mentions all are used
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    every: u32,
    /// Print a Markdown table of ablations: the figures of the first corpus without each source of
    /// candidates and each feature, in 5-fold cross-validation. The bundle does not change
    #[arg(long, conflicts_with_all = ["precision", "curve", "by", "mix", "spelling", "dry_run"])]
    leave_out: bool,
    /// Do not change the bundle
    #[arg(long)]
    dry_run: bool,
}

/// The mentions of a corpus to fit on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mentions {
    /// The annotated ones
    Annotated,
    /// Detected ones, with the concept of the annotated mention that they overlap, else NIL. All
    /// mentions of interest must be annotated
    Detected,
}

/// The value compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The probability that the best candidate is right, with a threshold by --cost or --precision.
    /// With fewer than 2,000 mentions, the bundle's own model is rescaled
    Probability,
    /// The best score, as in the papers; the threshold with the best NIL F1, or by --precision
    Score,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!(
            "expected a share above 0 and at most 1, found {text:?}"
        )),
    }
}

fn cost(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(cost) if cost >= 0.0 && cost.is_finite() => Ok(cost),
        _ => Err(format!("expected a number of at least 0, found {text:?}")),
    }
}

/// The cost of a wrong link by default. On development corpora it links rightly most of what it can
/// at about 8 % wrong links.
const COST: f64 = 0.6;

/// The fewest mentions for a probability model by default.
const MENTIONS: usize = 1_000;

/// Runs `pel calibrate`.
///
/// # Errors
/// If the bundle or corpus cannot be read, the split has no NIL mention, no threshold reaches the
/// precision, or an output cannot be written.
pub fn run(args: &CalibrateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    if let Some(from) = &args.from {
        return take_over(from, &args.bundle, json);
    }
    let outputs = [&args.out, &args.curve]
        .into_iter()
        .flatten()
        .map(|out| Output::File(out));
    let corpora = || args.corpus.iter().map(PathBuf::as_path);
    Inputs::new()
        .corpora(corpora())
        .artifacts([args.bundle.as_path()])
        .artifacts(args.over.iter().map(PathBuf::as_path))
        .check(outputs)?;
    // The bundle may be overwritten by itself: only its manifest changes.
    Inputs::new()
        .corpora(corpora())
        .check([bundles::writes(&args.bundle)])?;
    let mut trial = Trial::open(&args.bundle, device)?;
    let mut others = others(args, &trial, device)?;
    let splits = splits(args, &trial, &others)?;
    let first = splits
        .first()
        .ok_or_else(|| Error::input("expected --corpus or --from"))?;
    if args.leave_out {
        let found = leave_out(args, &mut trial, &mut others, &splits)?;
        return write_leave_out(&found, &args.corpus[0], first, args.out.as_deref(), json);
    }
    let by = by(args, &splits, trial.before())?;
    if by != By::Probability {
        Calibration::check(first, args.nil)?;
    }
    let weights = choose_weights(args, &mut trial, first, json)?;
    let found = match by {
        By::Probability => by_probability(args, &mut trial, &mut others, &splits)?,
        By::Score => by_score(args, &mut trial, first)?,
    };
    if let Some(path) = &args.curve {
        write_curve(path, &found.curve)?;
    }
    let record = json::pretty(&found)?;
    write_record(args.out.as_deref(), &record)?;
    if !args.dry_run {
        // The old files are still mapped, so they are replaced and not overwritten.
        let [mix, spelling] = weights;
        put(
            &args.bundle,
            BundleSettings {
                nil: found.policy(),
                mix,
                spelling,
            },
        )?;
    }
    if found.figures.rejects_all {
        eprintln!(
            "warning: the threshold {:.4} rejects every mention of the split {}: expected more \
             mentions of each class; set one with `pel index --nil-threshold`",
            found.figures.threshold, found.split
        );
    }
    match json {
        true => println!("{record}"),
        false => println!("{}", text(&found, trial.before().threshold, args)),
    }
    Ok(())
}

/// The bundle that each corpus is linked over, where it is not the calibrated one.
fn others(args: &CalibrateArgs, trial: &Trial, device: &DeviceArgs) -> Result<Vec<Option<Trial>>> {
    if args.over.is_empty() {
        return Ok(args.corpus.iter().map(|_| None).collect());
    }
    if args.over.len() != args.corpus.len() {
        return Err(Error::input(format!(
            "--over: expected one for each of {} corpora, found {}",
            args.corpus.len(),
            args.over.len()
        )));
    }
    let other = |over: &PathBuf| {
        if *over == args.bundle {
            return Ok(None);
        }
        let other = Trial::open(over, device)?;
        trial
            .check_scores_like(&other)
            .context(|| format!("--over {}", over.display()))?;
        Ok(Some(other))
    };
    args.over.iter().map(other).collect()
}

/// The split of each corpus.
fn splits(args: &CalibrateArgs, trial: &Trial, others: &[Option<Trial>]) -> Result<Vec<Split>> {
    let names = for_each_corpus("--split", &args.split, args)?;
    let kinds = for_each_corpus("--mentions", &args.mentions, args)?;
    let own = trial.concepts()?.kb;
    let mut splits = Vec::with_capacity(args.corpus.len());
    for (at, corpus) in args.corpus.iter().enumerate() {
        let linked_over = others[at].as_ref().unwrap_or(trial);
        let every = match kinds[at] {
            Mentions::Annotated => args.every as usize,
            // Without its annotation a detected mention would count as NIL.
            Mentions::Detected => 1,
        };
        let read = |kb| Split::read(corpus, names[at], every, kb, None)?.not_empty();
        let split = match &others[at] {
            Some(other) => read(&other.concepts()?.kb)?,
            None => read(&own)?,
        };
        splits.push(match kinds[at] {
            Mentions::Annotated => split,
            Mentions::Detected => linked_over.detect(split)?.not_empty()?,
        });
    }
    Ok(splits)
}

/// The value of an option for each corpus.
fn for_each_corpus<'a, T>(
    option: &str,
    values: &'a [T],
    args: &CalibrateArgs,
) -> Result<Vec<&'a T>> {
    match values {
        [one] => Ok(vec![one; args.corpus.len()]),
        several if several.len() == args.corpus.len() => Ok(several.iter().collect()),
        several => Err(Error::input(format!(
            "{option}: expected one, or one for each of {} corpora, found {}",
            args.corpus.len(),
            several.len()
        ))),
    }
}

/// What is compared with the threshold.
fn by(args: &CalibrateArgs, splits: &[Split], before: &NilPolicy) -> Result<By> {
    let mentions: usize = splits.iter().map(|split| split.mentions.len()).sum();
    let by = args.by.unwrap_or_else(|| {
        match mentions >= MENTIONS || before.probability.is_some() || splits.len() > 1 {
            true => By::Probability,
            false => By::Score,
        }
    });
    if by == By::Probability {
        return Ok(by);
    }
    if args.cost.is_some() {
        return Err(Error::input(
            "--cost: a cost needs probabilities; give --by probability",
        ));
    }
    match splits.len() {
        1 => Ok(by),
        several => Err(Error::input(format!(
            "--by score: the threshold of a score is chosen on one corpus, and there are \
             {several}; give one, or --by probability"
        ))),
    }
}

/// Chooses the weights of the template and of spelling, as far as they are asked for, on a split,
/// whose mentions it then encodes.
fn choose_weights(
    args: &CalibrateArgs,
    trial: &mut Trial,
    split: &Split,
    json: bool,
) -> Result<[Option<f32>; 2]> {
    let context = || args.bundle.display().to_string();
    if args.mix {
        // Fails before all mentions are encoded.
        let expected = "--mix: expected a bundle whose concepts have names and templates (`pel \
                        index --view both`)";
        trial
            .set_mix(MIXES[1])
            .map_err(|cause| Error::input(expected).caused_by(cause))
            .context(context)?;
    }
    if args.spelling {
        trial.set_spelling(SPELLINGS[1]).context(context)?;
    }
    if !args.mix && !args.spelling {
        return Ok([None, None]);
    }
    trial.encode(split)?;
    let mut chosen = [None, None];
    let spelled = trial.spelling();
    if args.mix {
        trial.set_spelling(if args.spelling { 0.0 } else { spelled })?;
        chosen[0] = Some(choose(
            trial,
            split,
            "the template",
            &MIXES,
            Trial::set_mix,
            best_mix,
            json,
        )?);
    }
    if args.spelling {
        chosen[1] = Some(choose(
            trial,
            split,
            "spelling",
            &SPELLINGS,
            Trial::set_spelling,
            widest_spelling,
            json,
        )?);
    }
    Ok(chosen)
}

/// The threshold by scores.
fn by_score(args: &CalibrateArgs, trial: &mut Trial, split: &Split) -> Result<Calibration> {
    if !trial.has_encoded() {
        trial.encode(split)?;
    }
    let ranked = trial.found(TOP)?;
    let rule = args.precision.map_or(Rule::BestF1, Rule::LinkPrecision);
    let found = Calibration::choose(&ranked, &args.corpus[0], split, args.nil, rule)?;
    Ok(Calibration {
        protocol: trial.protocol(&found.policy()),
        ..found
    })
}

/// The probability, its threshold and the sets of answers.
fn by_probability(
    args: &CalibrateArgs,
    trial: &mut Trial,
    others: &mut [Option<Trial>],
    splits: &[Split],
) -> Result<Calibration> {
    let mut samples = Vec::with_capacity(splits.len());
    for (at, (split, other)) in splits.iter().zip(others).enumerate() {
        let linked_over = other.as_mut().unwrap_or(trial);
        if at > 0 || !linked_over.has_encoded() {
            linked_over.encode(split)?;
        }
        let (searched, evidence) = linked_over.evidence(None)?;
        samples.push(Sample::new(split, searched, evidence));
    }
    let before = trial.before().probability.as_ref();
    let model = probability::fit(&samples, args.nil, before)?;
    let cost = Rule::Cost(args.cost.unwrap_or(COST));
    let rule = args.precision.map_or(cost, Rule::LinkPrecision);
    let mut ranked = samples[0].judged(&model);
    splits[0].unify_gold(&mut ranked);
    let found = Calibration::choose(&ranked, &args.corpus[0], &splits[0], args.nil, rule)?;
    let forecasts: Vec<Forecast> = samples
        .iter()
        .flat_map(|sample| sample.forecasts(args.nil, &model))
        .collect();
    let words = |(corpus, split): (&PathBuf, &Split)| {
        let name = corpus.file_name().unwrap_or_default().to_string_lossy();
        let mentions = split
            .detected
            .as_ref()
            .map_or("", |_| ", detected mentions");
        let SplitCounts { split, blake3, .. } = &split.counts;
        format!("corpus {name}, split {split}{mentions} (blake3 {blake3})")
    };
    let fitted = Probabilities {
        sets: probability::limits(&samples, args.nil, &model),
        model,
        samples: args.corpus.iter().zip(splits).map(words).collect(),
        mentions: forecasts.len(),
        calibration_error: calibration_error(&reliability(&forecasts, BINS)),
        brier: brier(&forecasts),
    };
    let found = Calibration {
        probability: Some(fitted),
        ..found
    };
    Ok(Calibration {
        protocol: trial.protocol(&found.policy()),
        ..found
    })
}

/// The figures without each source of candidates and each feature.
fn leave_out(
    args: &CalibrateArgs,
    trial: &mut Trial,
    others: &mut [Option<Trial>],
    splits: &[Split],
) -> Result<LeaveOut> {
    let views_apart =
        trial.has_views_apart() && others.iter().flatten().all(Trial::has_views_apart);
    let mut samples = Samples::new(trial.spelling() > 0.0, views_apart);
    for (split, other) in splits.iter().zip(others) {
        let linked_over = other.as_mut().unwrap_or(trial);
        linked_over.encode(split)?;
        samples.add(linked_over, split)?;
    }
    let cost = args.cost.unwrap_or(COST);
    samples.measure(args.nil, (cost / (1.0 + cost)) as f32)
}

/// The figures without each part, with the mentions that they are of.
#[derive(Serialize)]
struct LeaveOutRecord<'a> {
    corpus: &'a str,
    split: &'a str,
    blake3: &'a str,
    #[serde(flatten)]
    found: &'a LeaveOut,
}

/// Prints the table of what each part gives, and writes it as JSON.
fn write_leave_out(
    found: &LeaveOut,
    corpus: &Path,
    split: &Split,
    out: Option<&Path>,
    json: bool,
) -> Result<()> {
    let SplitCounts {
        split,
        mentions,
        in_kb,
        blake3,
        ..
    } = &split.counts;
    let corpus = corpus.file_name().unwrap_or_default().to_string_lossy();
    let record = json::pretty(&LeaveOutRecord {
        corpus: &corpus,
        split,
        blake3,
        found,
    })?;
    write_record(out, &record)?;
    if json {
        println!("{record}");
        return Ok(());
    }
    println!(
        "{mentions} mentions of corpus {corpus}, split {split} (blake3 {blake3}), {in_kb} with a \
         concept. Links from the probability {} on, shares in %. Fitted on {} of {} parts of the \
         documents and measured on the other, each in turn.\n\n{}",
        found.threshold,
        found.folds - 1,
        found.folds,
        found.markdown()
    );
    if !found.views_apart {
        println!(
            "The vectors of names and of templates cannot be left out one by one: expected a \
             bundle with both as rows of their own (`pel index --view both`)."
        );
    }
    Ok(())
}

/// Writes a record to a file, if one is given.
fn write_record(out: Option<&Path>, record: &str) -> Result<()> {
    let Some(path) = out else { return Ok(()) };
    write_atomic(path, |file| {
        writeln!(file, "{record}").map_err(|cause| io_error("writing", path, cause))
    })
}

/// Evaluates weights by recall@1 and sets the chosen one.
fn choose(
    trial: &mut Trial,
    split: &Split,
    of: &str,
    shares: &[f32],
    set: fn(&mut Trial, f32) -> Result<()>,
    choose: fn(&[f64]) -> usize,
    json: bool,
) -> Result<f32> {
    let mut recalls = Vec::with_capacity(shares.len());
    for share in shares {
        set(trial, *share)?;
        recalls.push(trial.recall(split)?);
    }
    let taken = choose(&recalls);
    if !json {
        println!("{}", tried(of, shares, &recalls, taken));
    }
    set(trial, shares[taken])?;
    Ok(shares[taken])
}

/// Copies the NIL policy, mix and spelling weight of one bundle to another.
fn take_over(from: &Path, into: &Path, json: bool) -> Result<()> {
    Inputs::new()
        .artifacts([from])
        .check([bundles::writes(into)])?;
    let threshold = copy_settings(from, into)?;
    match (json, threshold) {
        (true, threshold) => println!("{}", serde_json::json!({"threshold": threshold})),
        (false, Some(threshold)) => println!(
            "Threshold {threshold}, written to the manifest of {}.",
            into.display()
        ),
        (false, None) => println!(
            "No threshold, written to the manifest of {}.",
            into.display()
        ),
    }
    Ok(())
}

fn text(found: &Calibration, before: Option<f32>, args: &CalibrateArgs) -> String {
    let Calibration {
        split,
        figures,
        blake3,
        rule,
        protocol,
        probability,
        ..
    } = found;
    let kind = if figures.nil == NilOf::All {
        String::new()
    } else {
        format!(" ({} only)", figures.nil.words())
    };
    let nils = figures.counts.found + figures.counts.missed;
    let rule = match rule {
        Rule::BestF1 => "best NIL F1".to_owned(),
        Rule::LinkPrecision(wished) => {
            format!("most links at a link precision of {:.1} %", 100.0 * wished)
        }
        Rule::Cost(cost) => format!("least cost if a wrong link costs {cost} of a right one"),
    };
    let before = before.map_or("none".to_owned(), |before| before.to_string());
    let model = probability
        .as_ref()
        .map_or(String::new(), probability_words);
    let links = figures.links;
    let end = match args.dry_run {
        true => "The bundle was not changed.".to_owned(),
        false => format!("Written to the manifest of {}.", args.bundle.display()),
    };
    let percent =
        |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{:.1}", 100.0 * value));
    let with = |value, interval: Option<Interval>| {
        let interval = interval.map_or(String::new(), |i| {
            format!(" [{:.1}..{:.1}]", 100.0 * i.low, 100.0 * i.high)
        });
        format!("{:>5}{interval}", percent(value))
    };
    let all = |at: usize| {
        figures
            .all_classes
            .get(at)
            .map_or("-".to_owned(), |at| with(at.recall, at.interval))
    };
    format!(
        "Chosen on {} mentions of the split {split}, {nils} of them NIL{kind} (blake3 {blake3})\n\
         {protocol}\n\n\
         Threshold {} ({rule}; before: {before}){model}\n\n\
         On these mentions, in % [95 % interval, bootstrap over documents at this threshold]:\n  \
         NIL precision          {}\n  NIL recall             {}\n  NIL F1                 {}\n  \
         NIL auPR               {} (random {:.1})\n  \
         correct links          {:>5} of {}\n  concepts found         {:>5} of {}\n  \
         all classes recall@1   {}\n  all classes recall@64  {}\n\n{end}",
        figures.mentions,
        figures.threshold,
        with(figures.precision, figures.intervals.precision),
        with(figures.recall, figures.intervals.recall),
        with(figures.f1, figures.intervals.f1),
        with(figures.au_pr, figures.intervals.au_pr),
        100.0 * figures.base_rate,
        percent(links.precision()),
        links.right + links.wrong,
        percent(links.recall()),
        links.known,
        all(0),
        all(1),
    )
}

/// The model of probabilities and its sets, for the terminal.
fn probability_words(fitted: &Probabilities) -> String {
    let Probabilities {
        model,
        sets,
        samples,
        mentions,
        calibration_error,
        brier,
    } = fitted;
    let number = |value: &Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let mut said = format!(
        "\nof the probability, fitted on {mentions} mentions of {}: there ECE {} and Brier score \
         {}.\n\nWeights of the log odds:\n",
        samples.join(" and "),
        number(calibration_error),
        number(brier)
    );
    for (feature, weight) in &model.weights {
        said.push_str(&format!("  {:<45} {weight:>8.3}\n", feature.words()));
    }
    said.push_str(&format!(
        "  {:<45} {:>8.3}\nRight at first, of all: {:.1} %, worth {} mentions in the estimate for \
         a text.",
        "intercept",
        model.intercept,
        100.0 * model.prior,
        model.prior_mentions
    ));
    for set in sets {
        let behind = set.behind.map_or("all candidates".to_owned(), |behind| {
            format!("candidates at most {behind:.4} behind the first")
        });
        let nil = set.nil_up_to.map_or("NIL".to_owned(), |limit| {
            format!("NIL up to the probability {limit:.3}")
        });
        said.push_str(&format!(
            "\nSets that hold {:.0} % of the answers: {behind}, and {nil}.",
            100.0 * set.coverage
        ));
    }
    said
}

/// Writes the curve, one point per distinct score.
fn write_curve(path: &Path, curve: &[CurvePoint]) -> Result<()> {
    let failed = |cause| io_error("writing", path, cause);
    write_atomic(path, |file| {
        if path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("csv"))
        {
            writeln!(file, "threshold,precision,recall").map_err(failed)?;
            for CurvePoint {
                threshold,
                precision,
                recall,
            } in curve
            {
                writeln!(file, "{threshold},{precision},{recall}").map_err(failed)?;
            }
            return Ok(());
        }
        serde_json::to_writer(&mut *file, curve)
            .map_err(|cause| io_error("writing", path, cause.into()))?;
        writeln!(file).map_err(failed)
    })
}
