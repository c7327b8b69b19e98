//! `pel explain`: shows how one mention is linked.

mod print;

use super::choices::ScorerChoice;
use clap::Args;
use pel_artifacts::bundles;
use pel_artifacts::device::{DeviceArgs, OpenDevice, Work};
use pel_io::json;
use pel_io::outputs::Inputs;
use pel_io::text_encoding::{EncodingArgs, read_text_in};
use pel_kb::error::{Error, Result};
use pel_kb::group::Group;
use pel_kb::score::Candidate;
use pel_linker::{Link, LinkOptions, Linker, MatchedText, Prepared, Step};
use pel_model::nil::{Decision, Feature};
use pel_model::tokens::Cut;
use pel_model::tokens::cut_words;
use pel_model::tower::Side;
use pel_notes::link::detection::DetectionArgs;
use pel_notes::link::second_stage::{RankerArgs, SecondStage};
use pel_notes::link::{context_rules, link, open_linker, wordings};
use pel_output::Named;
use pel_text::context::{Allergy, Certainty, Experiencer, Laterality, Severity, Temporality};
use pel_text::detect::{Detected, Origin, join};
use pel_text::{Span, text_of};
use serde::Serialize;
use std::path::PathBuf;

/// Show one mention's tokens, candidates and scores, and why it was linked or not
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel explain --bundle bundle --text 'No chest pain today.' \
    --mention 'chest pain'\n  \
    pel explain --bundle bundle --file note.txt --span 120:131\n  \
    pel explain --bundle bundle --file note.txt --mention 'chest pain' --ranker rank/model \
    --rerank 16"
)]
pub struct ExplainArgs {
    /// Bundle
    #[arg(long)]
    bundle: PathBuf,
    /// Text
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    text: Option<String>,
    /// File with the text
    #[arg(long)]
    file: Option<PathBuf>,
    /// The encoding of the file.
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Mention: its first occurrence that is detected, else its first occurrence in the text
    #[arg(long, required_unless_present = "span", conflicts_with = "span")]
    mention: Option<String>,
    /// Mention as START:END in bytes; fragments as START:END;START:END
    #[arg(long)]
    span: Option<String>,
    #[command(flatten)]
    detection: DetectionArgs,
    /// Number of candidates to show
    #[arg(
        short,
        long,
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..=1000),
    )]
    k: u16,
    /// NIL threshold instead of the bundle's
    #[arg(long, value_parser = super::finite)]
    threshold: Option<f32>,
    /// Comparison of mentions and concepts, as in `pel link` [default: the bundle's]
    #[arg(long, value_enum)]
    scorer: Option<ScorerChoice>,
    /// Rules of context, as in `pel link` [default: english]
    #[arg(long, value_name = "NAME|FILE")]
    context_rules: Option<PathBuf>,
    /// File of paraphrases that stand for names, as in `pel link` [default: the English ones]
    #[arg(long, value_name = "FILE")]
    wordings: Option<PathBuf>,
    #[command(flatten)]
    second: RankerArgs,
}

/// The result of the first stage if a cross-encoder has reordered its candidates.
struct FirstStage {
    /// Its best candidate.
    nearest: Named,
    /// The former rank of each candidate, from 1.
    places: Vec<usize>,
    /// Number of candidates scored by the cross-encoder.
    seen: usize,
}

/// A candidate with the cross-encoder's score.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    matched: MatchedText,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranker_score: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_stage_rank: Option<usize>,
    /// The part of the score that comes from spelling.
    #[serde(skip_serializing_if = "Option::is_none")]
    spelling: Option<f32>,
    /// The letters by which a misspelt mention differs from a name of the concept.
    #[serde(skip_serializing_if = "Option::is_none")]
    misspelt_edits: Option<u8>,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Explained<'a> {
    span: Span,
    #[serde(skip_serializing_if = "<[Span]>::is_empty")]
    fragments: &'a [Span],
    mention: &'a str,
    /// What the encoder read in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_as: Option<&'a str>,
    /// The step that read it so.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_by: Option<&'static str>,
    origin: Origin,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<Group>,
    tokens: Vec<String>,
    cut: Cut,
    decision: Decision,
    threshold: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probability: Option<f32>,
    context: Said<'a>,
    /// The number of concepts that bear the mention as a name, if it is a name of the best.
    same_name: usize,
    /// What the features add to the log odds, against a typical right candidate.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Weighed>,
    candidates: Vec<Shown>,
}

/// What the text says of the mention.
#[derive(Serialize)]
struct Said<'a> {
    negated: bool,
    certainty: Certainty,
    temporality: Temporality,
    experiencer: Experiencer,
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    laterality: Option<Laterality>,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allergy: Option<Allergy>,
    cues: Vec<SaidBy<'a>>,
}

/// A cue that decided a value.
#[derive(Serialize)]
struct SaidBy<'a> {
    effect: &'static str,
    span: Span,
    scope: Span,
    pattern: &'a str,
    rule: &'a str,
    file: &'a str,
    line: usize,
}

impl<'a> Said<'a> {
    fn new(linker: &'a Linker, link: &'a Link) -> Self {
        let context = &link.context;
        let cues = context.cues.iter().filter_map(|cue| {
            let rule = linker.steps().context_rules().rule(cue.rule)?;
            Some(SaidBy {
                effect: cue.effect.name(),
                span: cue.span,
                scope: cue.scope,
                pattern: &rule.pattern,
                rule: &rule.heading,
                file: &rule.file,
                line: rule.line,
            })
        });
        Self {
            negated: context.negated,
            certainty: context.certainty,
            temporality: context.temporality,
            experiencer: context.experiencer,
            section: context.section.as_deref(),
            laterality: context.laterality,
            severity: context.severity,
            allergy: context.allergy,
            cues: cues.collect(),
        }
    }
}

/// A feature of the probability.
#[derive(Serialize)]
struct Weighed {
    feature: Feature,
    value: f32,
    adds: f32,
}

/// The features of a link's probability, those that lower it most first. Empty without a
/// probability.
fn weighed(linker: &Linker, link: &Link) -> Vec<Weighed> {
    let model = linker.bundle().manifest.nil.probability.as_ref();
    let (Some(model), Some(evidence)) = (model, link.evidence) else {
        return Vec::new();
    };
    let own = model.shortfalls(&evidence).into_iter();
    own.map(|(feature, adds)| Weighed {
        feature,
        value: evidence.value(feature),
        adds,
    })
    .collect()
}

/// Runs `pel explain`.
///
/// # Errors
/// If the bundle or text cannot be read, or the mention is not in the text.
pub fn run(args: &ExplainArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let models = std::iter::once(args.bundle.as_path()).chain(args.second.model());
    Inputs::new()
        .files(args.file.as_deref())
        .artifacts(models)
        .check([])?;
    let text = match (&args.text, &args.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_text_in(file, &args.encoding.get())?,
        (None, None) => return Err(Error::input("expected --text or --file")),
    };
    let opened = device.open(Work::Short)?;
    let linker = opened_linker(args, &opened)?;
    let second = args.second.open(&opened)?;
    let (given, link, first_stage) = explained_link(args, &linker, second.as_ref(), &text)?;
    let prepared = linker.steps().prepare(&text, vec![given.clone()])?;
    let scored = Scored {
        met: met(&linker, &prepared, &link)?,
        spelling: spelling(&linker, &prepared, &link),
        misspelt: misspelt(&prepared, &link),
        tokens: tokens(&linker, &prepared),
        first_stage,
        threshold: args.threshold.or(linker.bundle().manifest.nil.threshold),
    };
    let words = text_of(&text, given.pieces())?;
    match json {
        true => print_json(&linker, &given, &words, &link, scored),
        false => {
            print_text(&linker, &given, &words, &link, &scored);
            Ok(())
        }
    }
}

/// What the candidates of a mention were scored by.
struct Scored {
    met: Vec<MatchedText>,
    /// What spelling adds to each candidate, if it has a weight.
    spelling: Option<Vec<f32>>,
    /// The edits by which a name of each candidate differs from the mention, if any do.
    misspelt: Vec<Option<u8>>,
    /// The tokens of the mention.
    tokens: Vec<String>,
    /// `None` without a cross-encoder.
    first_stage: Option<FirstStage>,
    threshold: Option<f32>,
}

/// The bundle with the options of the command line.
fn opened_linker(args: &ExplainArgs, opened: &OpenDevice) -> Result<Linker> {
    let scorer = args.scorer.map(Into::into);
    let mut linker = open_linker(&args.bundle, bundles::open(&args.bundle)?, scorer, opened)?;
    if let Some(rules) = &args.context_rules {
        linker.settings().set_context_rules(context_rules(rules)?);
    }
    if let Some(file) = &args.wordings {
        linker.settings().set_wordings(wordings(file)?);
    }
    super::check_threshold(args.threshold, linker.bundle())?;
    Ok(linker)
}

/// The mention that is explained, its link, and the first stage of it. The other mentions of the
/// text bear on it, so all are linked, as `pel link` does.
fn explained_link(
    args: &ExplainArgs,
    linker: &Linker,
    second: Option<&SecondStage>,
    text: &str,
) -> Result<(Detected, Link, Option<FirstStage>)> {
    let k = usize::from(args.k).max(second.map_or(0, |second| second.count));
    let options = LinkOptions::default()
        .k(k)
        .threshold(args.threshold)
        .detect(args.detection.options(linker.bundle())?);
    let found = linker.detect(text, &options)?;
    let given = mention(args, text, &found)?;
    let own = |mention: &Detected| mention.pieces() == given.pieces();
    let mentions = match found.iter().any(own) {
        true => found,
        false => join(vec![given.clone()], found),
    };
    let at = mentions.iter().position(own);
    let all = link(linker, text, mentions, &options)?;
    let mut links: Vec<Link> = at
        .and_then(|at| all.into_iter().nth(at))
        .into_iter()
        .collect();
    let before = links.first().cloned();
    if let Some(second) = second {
        second.rerank(linker, text, &mut links)?;
    }
    let (mut link, before) = links
        .into_iter()
        .next()
        .zip(before)
        .ok_or_else(|| Error::input("no mention"))?;
    // Computed before the list is shortened, since the cross-encoder has scored all of it.
    let first_stage = first_stage(linker, &link, &before)?;
    link.truncate(usize::from(args.k));
    Ok((given, link, first_stage))
}

/// The tokens of the mention, as the vocabulary spells them.
fn tokens(linker: &Linker, prepared: &Prepared) -> Vec<String> {
    let ids = prepared.sequences().first().map(|encoded| &encoded.ids);
    let tokens = &linker.bundle().tokens;
    ids.into_iter()
        .flatten()
        .map(|id| tokens.token(*id))
        .collect()
}

fn spelling(linker: &Linker, prepared: &Prepared, link: &Link) -> Option<Vec<f32>> {
    let steps = linker.steps();
    let of = |candidate: &Candidate| steps.spelling_score(prepared, 0, candidate.concept);
    link.candidates.iter().map(of).collect()
}

fn misspelt(prepared: &Prepared, link: &Link) -> Vec<Option<u8>> {
    let edits = |candidate: &Candidate| {
        let misspelt = prepared.misspelt(0).iter();
        let mut own = misspelt.filter(|similar| similar.concept == candidate.concept);
        own.next().map(|similar| similar.edits)
    };
    link.candidates.iter().map(edits).collect()
}

/// Prints the explanation for a program.
fn print_json(
    linker: &Linker,
    given: &Detected,
    words: &str,
    link: &Link,
    scored: Scored,
) -> Result<()> {
    let Scored {
        met,
        spelling,
        misspelt,
        tokens,
        first_stage,
        threshold,
    } = scored;
    let place = |at: usize| Some(*first_stage.as_ref()?.places.get(at)?);
    let shown = met.into_iter().enumerate().map(|(at, matched)| Shown {
        matched,
        ranker_score: link
            .ranker_scores
            .get(at)
            .copied()
            .filter(|score| score.is_finite()),
        first_stage_rank: place(at),
        spelling: spelling.as_ref().and_then(|parts| parts.get(at)).copied(),
        misspelt_edits: misspelt.get(at).copied().flatten(),
    });
    let explained = Explained {
        span: given.span,
        fragments: &given.fragments,
        mention: words,
        read_as: link.read_as.as_deref(),
        read_by: link.read_by.map(Step::words),
        origin: link.origin,
        group: link.group,
        tokens,
        cut: link.cut,
        decision: link.decision,
        threshold,
        probability: link.probability,
        context: Said::new(linker, link),
        same_name: link.same_name(),
        evidence: weighed(linker, link),
        candidates: shown.collect(),
    };
    println!("{}", json::compact(&explained)?);
    Ok(())
}

/// Prints the explanation for a reader.
fn print_text(linker: &Linker, given: &Detected, words: &str, link: &Link, scored: &Scored) {
    let pieces = given.pieces().iter();
    let places: Vec<String> = pieces
        .map(|piece| format!("{}..{}", piece.start, piece.end))
        .collect();
    println!("Mention   {words:?}, bytes {}", places.join(" and "));
    if let Some(read) = &link.read_as {
        let step = link.read_by.map_or("", Step::words);
        println!("Read as   {read:?}: {step}");
    }
    let kind = link
        .group
        .map_or(String::new(), |group| format!(", {}", group.name()));
    println!("Origin    {}{kind}", print::origin(link.origin));
    let tokens = &scored.tokens;
    println!("Tokens    {} ({})", tokens.join(" "), tokens.len());
    if let Some(cut) = cut_words(link.cut) {
        println!("Cut       {cut}");
    }
    let (met, first_stage) = (&scored.met, scored.first_stage.as_ref());
    print::candidates(met, link, first_stage, scored.spelling.as_deref());
    for (met, edits) in met.iter().zip(&scored.misspelt) {
        if let Some(edits) = edits {
            let letters = if *edits == 1 { "letter" } else { "letters" };
            println!(
                "Misspelt  a name of {} differs from the mention by {edits} {letters}, and this \
                 raises its score",
                met.name
            );
        }
    }
    print::tokens(met);
    print::evidence(linker, link);
    print::context(linker, link);
    let decision = print::decision(link, met, first_stage, scored.threshold);
    println!("Decision  {decision}");
}

/// The result of the first stage; `None` without a cross-encoder.
fn first_stage(linker: &Linker, link: &Link, before: &Link) -> Result<Option<FirstStage>> {
    let Some(nearest) = before
        .candidates
        .first()
        .filter(|_| !link.ranker_scores.is_empty())
    else {
        return Ok(None);
    };
    let place = |concept| {
        before
            .candidates
            .iter()
            .position(|one| one.concept == concept)
            .map_or(0, |at| at + 1)
    };
    let places = link
        .candidates
        .iter()
        .map(|candidate| place(candidate.concept))
        .collect();
    Ok(Some(FirstStage {
        nearest: Named::new(linker, nearest)?,
        places,
        seen: link.ranker_scores.len(),
    }))
}

/// The requested mention: one of those that were `found`, else a given one.
fn mention(args: &ExplainArgs, text: &str, found: &[Detected]) -> Result<Detected> {
    if let Some(mention) = &args.mention {
        let detected = found
            .iter()
            .find(|found| text_of(text, found.pieces()).is_ok_and(|words| words == *mention));
        if let Some(detected) = detected {
            return Ok(detected.clone());
        }
        let start = text.find(mention).ok_or_else(|| {
            Error::input(format!(
                "--mention: expected a part of the text, found {mention:?}"
            ))
        })?;
        let span = Span::new(start, start + mention.len());
        span.of(text)?;
        return Ok(Detected::new(span, Origin::Given));
    }
    let given = args.span.as_deref().unwrap_or_default();
    let piece = |piece: &str| {
        let numbers = piece
            .split_once(':')
            .and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
        let (start, end) = numbers
            .ok_or_else(|| Error::input(format!("--span: expected START:END, found {piece:?}")))?;
        let span = Span::new(start, end);
        span.of(text)?;
        Ok(span)
    };
    let pieces = given.split(';').map(piece).collect::<Result<Vec<Span>>>()?;
    Detected::of_pieces(pieces, Origin::Given)
        .ok_or_else(|| Error::input("--span: it is empty; give START:END"))
}

/// Encodes the mention and the texts of each candidate again, to say which of them met it.
fn met(linker: &Linker, prepared: &Prepared, link: &Link) -> Result<Vec<MatchedText>> {
    let Some(mention) = prepared.sequences().first() else {
        return Ok(Vec::new());
    };
    let own =
        linker
            .steps()
            .encoder()
            .encode_for(linker.steps().scorer(), Side::Mention, &[mention])?;
    let texts = linker.steps().candidate_texts(link)?;
    let vectors = linker.steps().encoder().encode_for(
        linker.steps().scorer(),
        Side::Entity,
        &texts.rows(),
    )?;
    Ok(linker
        .steps()
        .matched_texts(&texts, mention, &own, &vectors))
}
