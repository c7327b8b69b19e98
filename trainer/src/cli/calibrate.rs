//! `pel calibrate`: chooses the NIL threshold on annotated mentions and stores it in a bundle.

use crate::data::split::{NilOf, Split};
use crate::evaluate::bundle_settings::{BundleSettings, copy_settings, put};
use crate::evaluate::nil_model;
use crate::evaluate::score_weights::{MIXES, SPELLINGS, best_mix, tried, widest_spelling};
use crate::evaluate::{Calibration, Rule, TOP, Trial};
use crate::io::bundles;
use crate::io::device::DeviceArgs;
use crate::io::files::{io_error, write_atomic};
use crate::io::json;
use crate::io::outputs::{Inputs, Output};
use clap::{Args, ValueEnum};
use pel_shared::error::{Context, Error, Result};
use pel_shared::metrics::{CurvePoint, Interval};
use pel_shared::nil::NilModel;
use std::path::{Path, PathBuf};

/// Choose the NIL threshold of a bundle on annotated mentions
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel calibrate bundle --corpus corpus\n  \
    pel calibrate bundle --corpus corpus --precision 0.9 --dry-run\n  \
    pel calibrate bundle --corpus corpus --curve nil.csv --out nil.json\n  \
    pel calibrate local.pel --from bundle\n\n\
    Use another split than the one that results are reported on. Mentions are linked as `pel link` links given spans.")]
pub struct CalibrateArgs {
    /// The bundle
    bundle: PathBuf,
    /// Corpus folder with documents.jsonl and one mentions.SPLIT.jsonl per split
    #[arg(long, value_name = "DIR", required_unless_present = "from")]
    corpus: Option<PathBuf>,
    /// Copy threshold, curve, mix and spelling weight from a bundle with the same views and
    /// similarity, and choose nothing
    #[arg(long, value_name = "BUNDLE",
        conflicts_with_all = ["corpus", "split", "nil", "every", "precision", "curve", "out", "by", "mix", "spelling", "dry_run"])]
    from: Option<PathBuf>,
    /// Split to choose on
    #[arg(long, default_value = "dev")]
    split: String,
    /// Choose the threshold with the most links at this link precision, from 0 to 1, instead of the
    /// best NIL F1. It must link at least 5 % of the linkable mentions
    #[arg(long, value_name = "SHARE", value_parser = share)]
    precision: Option<f64>,
    /// NIL mentions to include besides linkable ones
    #[arg(long, value_enum, default_value = "all")]
    nil: NilOf,
    /// Write the NIL precision-recall curve to this file, as CSV if it ends in .csv, else as JSON
    #[arg(long, value_name = "FILE")]
    curve: Option<PathBuf>,
    /// Write the choice and its metrics to this file as JSON
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Value compared with the threshold [default: nil-model if the split has 1,000 mentions of
    /// each class, else score]
    #[arg(long, value_enum)]
    by: Option<By>,
    /// First choose the template's weight in a concept's score by recall@1, for bundles with both
    /// views
    #[arg(long)]
    mix: bool,
    /// First choose the weight of spelling overlap in the score: the largest that lowers recall@1
    /// by at most 0.5 points. It helps for concepts not in training, which are rare in a
    /// calibration split. For cosine bundles
    #[arg(long)]
    spelling: bool,
    /// Use every N-th mention only; a text then has fewer mentions that share candidates
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    every: u32,
    /// Do not change the bundle
    #[arg(long)]
    dry_run: bool,
}

/// The value compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The best score, as in the papers
    Score,
    /// The best score plus a fitted offset from further features: margin to the second, mention
    /// under 5 characters, spelling overlap, exact name, and the mention's vector if there are 20
    /// mentions of each class per dimension
    #[value(alias = "lifted-score")]
    NilModel,
}

fn share(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!(
            "expected a share above 0 and at most 1, found {text:?}"
        )),
    }
}

/// Runs `pel calibrate`.
///
/// # Errors
/// If the bundle or corpus cannot be read, the split has no NIL mention, no threshold reaches the
/// precision, or an output cannot be written.
pub fn run(args: &CalibrateArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let corpus = match (&args.from, &args.corpus) {
        (Some(from), _) => return take_over(from, &args.bundle, json),
        (None, Some(corpus)) => corpus,
        (None, None) => return Err(Error::input("expected --corpus or --from")),
    };
    let outputs = [&args.out, &args.curve]
        .into_iter()
        .flatten()
        .map(|out| Output::File(out));
    Inputs::new()
        .corpora([corpus.as_path()])
        .artifacts([args.bundle.as_path()])
        .check(outputs)?;
    // The bundle may be overwritten by itself: only its manifest changes.
    Inputs::new()
        .corpora([corpus.as_path()])
        .check([bundles::writes(&args.bundle)])?;
    let mut trial = Trial::open(&args.bundle, device)?;
    let split = Split::read(
        corpus,
        &args.split,
        args.every as usize,
        &trial.concepts()?.kb,
        None,
    )?
    .not_empty()?;
    Calibration::check(&split, args.nil)?;
    let context = || args.bundle.display().to_string();
    if args.mix {
        // Fails before all mentions are encoded.
        let expected = "--mix: expected a bundle whose concepts have names and templates (`pel index --view both`)";
        trial
            .set_mix(MIXES[1])
            .map_err(|cause| Error::input(expected).caused_by(cause))
            .context(context)?;
    }
    if args.spelling {
        trial.set_spelling(SPELLINGS[1]).context(context)?;
    }
    trial.encode(&split)?;
    let mut chosen = [None, None];
    let spelled = trial.spelling();
    if args.mix {
        trial.set_spelling(if args.spelling { 0.0 } else { spelled })?;
        chosen[0] = Some(choose(
            &mut trial,
            &split,
            "the template",
            &MIXES,
            Trial::set_mix,
            best_mix,
            json,
        )?);
    }
    if args.spelling {
        chosen[1] = Some(choose(
            &mut trial,
            &split,
            "spelling",
            &SPELLINGS,
            Trial::set_spelling,
            widest_spelling,
            json,
        )?);
    }
    let (mut ranked, features) = trial.found(TOP)?;
    let wanted = args.by.map(|by| by == By::NilModel);
    let model = nil_model::fit(&split, &features, args.nil, wanted)?;
    if let Some(model) = &model {
        nil_model::add_offsets(&mut ranked, &features, model);
    }
    let rule = args.precision.map_or(Rule::BestF1, Rule::LinkPrecision);
    let found = Calibration::choose(&ranked, corpus, &split, args.nil, rule)?;
    let found = Calibration {
        protocol: trial.protocol(model.as_ref()),
        nil_model: model,
        ..found
    };
    if let Some(path) = &args.curve {
        write_curve(path, &found.curve)?;
    }
    let record = json::pretty(&found)?;
    if let Some(path) = &args.out {
        write_atomic(path, |file| {
            writeln!(file, "{record}").map_err(|cause| io_error("writing", path, cause))
        })?;
    }
    if !args.dry_run {
        // The old files are still mapped, so they are replaced and not overwritten.
        let [mix, spelling] = chosen;
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
            "warning: the threshold {:.4} rejects every mention of the split {}: expected more mentions of each class; set one \
             with `pel index --nil-threshold`",
            found.figures.threshold, found.split
        );
    }
    match json {
        true => println!("{record}"),
        false => println!("{}", text(&found, trial.before().threshold, args)),
    }
    Ok(())
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
        nil_model,
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
    };
    let before = before.map_or("none".to_owned(), |before| before.to_string());
    let offsets = nil_model.as_ref().map_or(String::new(), |model| {
        let NilModel { margin, short_mention, ngram_overlap, exact_match, vector, intercept } = model;
        let along = match vector.len() {
            0 => String::new(),
            dim => format!(", {dim} weights times its vector"),
        };
        format!(
            "\nof the best score plus {margin:+.4} times its margin to the second, {short_mention:+.4} for a mention under 5 characters, \
             {ngram_overlap:+.4} times the spelling overlap with a name of the best, {exact_match:+.4} for an exact name{along}, and \
             {intercept:+.4} (zero on average)"
        )
    });
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
        "Chosen on {} mentions of the split {split}, {nils} of them NIL{kind} (blake3 {blake3})\n{protocol}\n\n\
         Threshold {} ({rule}; before: {before}){offsets}\n\n\
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
