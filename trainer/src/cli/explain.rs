//! `pel explain`: shows how one mention is linked.

use super::choices::ScorerChoice;
use crate::io::bundles;
use crate::io::device::{DeviceArgs, Work};
use crate::io::json;
use crate::io::outputs::Inputs;
use crate::io::text_encoding::{EncodingArgs, read_text_in};
use crate::io::text_tables::table;
use crate::link::second_stage::RankerArgs;
use crate::link::{context_rules, link, open_linker};
use clap::Args;
use pel_shared::error::{Error, Result};
use pel_shared::linker::{Link, LinkOptions, Linker, MatchedText, Prepared};
use pel_shared::model::tower::Side;
use pel_shared::nil::{Decision, Feature};
use pel_shared::output::Named;
use pel_shared::score::Candidate;
use pel_shared::text::context::{Certainty, Experiencer, Laterality, Severity, Temporality};
use pel_shared::text::detect::{Detected, Origin, join};
use pel_shared::text::{Span, text_of};
use pel_shared::tokens::Cut;
use pel_shared::tokens::cut_words;
use serde::Serialize;
use std::path::PathBuf;

/// Show one mention's tokens, candidates and scores, and why it was linked or not
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel explain --bundle bundle --text 'No chest pain today.' --mention 'chest pain'\n  \
    pel explain --bundle bundle --file note.txt --span 120:131\n  \
    pel explain --bundle bundle --file note.txt --mention 'chest pain' --ranker rank/model --rerank 16"
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
    /// Mention: its first occurrence in the text
    #[arg(long, required_unless_present = "span", conflicts_with = "span")]
    mention: Option<String>,
    /// Mention as START:END in bytes; fragments as START:END;START:END
    #[arg(long)]
    span: Option<String>,
    /// Number of candidates to show
    #[arg(short, long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
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
    tokens: Vec<String>,
    cut: Cut,
    decision: Decision,
    threshold: Option<f32>,
    nil_offset: f32,
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
            let rule = linker.context_rules().rule(cue.rule)?;
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
    let given = mention(args, &text)?;
    let opened = device.open(Work::Short)?;
    let mut linker = open_linker(
        &args.bundle,
        bundles::open(&args.bundle)?,
        args.scorer.map(Into::into),
        &opened,
    )?;
    if let Some(rules) = &args.context_rules {
        linker.set_context_rules(context_rules(rules)?);
    }
    let second = args.second.open(&opened)?;
    let k = usize::from(args.k).max(second.as_ref().map_or(0, |second| second.count));
    let options = LinkOptions::default().k(k).threshold(args.threshold);
    let words = text_of(&text, given.pieces())?;
    // The other mentions of the text bear on this one.
    let mentions = join(vec![given.clone()], linker.detect(&text, &options)?);
    let own = |mention: &Detected| mention.pieces() == given.pieces();
    let at = mentions.iter().position(own);
    let all = link(&linker, &text, mentions, &options)?;
    let mut links: Vec<Link> = at
        .and_then(|at| all.into_iter().nth(at))
        .into_iter()
        .collect();
    let before = links.first().cloned();
    if let Some(second) = &second {
        second.rerank(&linker, &text, &mut links)?;
    }
    let (link, before) = links
        .first_mut()
        .zip(before)
        .ok_or_else(|| Error::input("no mention"))?;
    // Computed before the list is shortened, since the cross-encoder has scored all of it.
    let first_stage = first_stage(&linker, link, &before)?;
    link.truncate(usize::from(args.k));
    let prepared = linker.prepare(&text, vec![given.clone()])?;
    let ids = prepared
        .sequences()
        .first()
        .map_or(Vec::new(), |encoded| encoded.ids.clone());
    let tokens: Vec<String> = ids
        .iter()
        .map(|id| linker.bundle().tokens.token(*id))
        .collect();
    let met = met(&linker, &prepared, link)?;
    let spelling: Option<Vec<f32>> = link
        .candidates
        .iter()
        .map(|candidate| linker.spelling_score(&prepared, 0, candidate.concept))
        .collect();
    let edits = |candidate: &Candidate| {
        let misspelt = prepared.misspelt(0).iter();
        let mut own = misspelt.filter(|similar| similar.concept == candidate.concept);
        own.next().map(|similar| similar.edits)
    };
    let misspelt: Vec<Option<u8>> = link.candidates.iter().map(edits).collect();
    let threshold = args.threshold.or(linker.bundle().manifest.nil.threshold);
    if json {
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
            mention: &words,
            tokens,
            cut: link.cut,
            decision: link.decision,
            threshold,
            nil_offset: link.nil_offset,
            probability: link.probability,
            context: Said::new(&linker, link),
            same_name: link.same_name(),
            evidence: weighed(&linker, link),
            candidates: shown.collect(),
        };
        println!("{}", json::compact(&explained)?);
        return Ok(());
    }
    let places: Vec<String> = given
        .pieces()
        .iter()
        .map(|piece| format!("{}..{}", piece.start, piece.end))
        .collect();
    println!("Mention   {words:?}, bytes {}", places.join(" and "));
    println!("Tokens    {} ({})", tokens.join(" "), tokens.len());
    if let Some(cut) = cut_words(link.cut) {
        println!("Cut       {cut}");
    }
    print_candidates(&met, link, first_stage.as_ref(), spelling.as_deref());
    for (met, edits) in met.iter().zip(&misspelt) {
        if let Some(edits) = edits {
            println!(
                "Misspelt  a name of {} differs from the mention by {edits} {}, and this raises its score",
                met.name,
                if *edits == 1 { "letter" } else { "letters" }
            );
        }
    }
    print_tokens(&met);
    print_evidence(&linker, link);
    print_context(&linker, link);
    println!(
        "Decision  {}",
        decision(link, &met, first_stage.as_ref(), threshold)
    );
    Ok(())
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

fn print_candidates(
    met: &[MatchedText],
    link: &Link,
    first_stage: Option<&FirstStage>,
    spelling: Option<&[f32]>,
) {
    let own = ["", "Concept", "Id", "Score", "Through", "Similarity"];
    let (added, second) = (spelling.map(|_| "Spelling adds"), ["Ranker", "Before"]);
    let heads = own.into_iter().chain(added);
    let mut table = table(heads.chain(second.into_iter().filter(|_| first_stage.is_some())));
    for (rank, met) in met.iter().enumerate() {
        let (score, exact) = (
            format!("{:.4}", met.score),
            format!("{:.4}", met.best_text_score),
        );
        let own = [
            (rank + 1).to_string(),
            met.name.clone(),
            met.id.clone(),
            score,
            met.best_text.clone(),
            exact,
        ];
        let second = first_stage.map(|before| {
            let score = link
                .ranker_scores
                .get(rank)
                .filter(|score| score.is_finite());
            let score = score.map_or("-".to_owned(), |score| format!("{score:.4}"));
            [score, before.places[rank].to_string()]
        });
        let added = spelling.map(|parts| {
            parts
                .get(rank)
                .map_or("-".to_owned(), |part| format!("{part:.4}"))
        });
        table.add_row(
            own.into_iter()
                .chain(added)
                .chain(second.into_iter().flatten()),
        );
    }
    println!("{table}");
}

/// The requested mention.
fn mention(args: &ExplainArgs, text: &str) -> Result<Detected> {
    if let Some(mention) = &args.mention {
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
        .ok_or_else(|| Error::input("--span: expected START:END, found none"))
}

/// Encodes the mention and the texts of each candidate again, to say which of them met it.
fn met(linker: &Linker, prepared: &Prepared, link: &Link) -> Result<Vec<MatchedText>> {
    let Some(mention) = prepared.sequences().first() else {
        return Ok(Vec::new());
    };
    let own = linker
        .encoder()
        .encode_for(linker.scorer(), Side::Mention, &[mention])?;
    let texts = linker.candidate_texts(link)?;
    let vectors = linker
        .encoder()
        .encode_for(linker.scorer(), Side::Entity, &texts.rows())?;
    Ok(linker.matched_texts(&texts, mention, &own, &vectors))
}

/// What the probability consists of, and which concepts have the same name.
fn print_evidence(linker: &Linker, link: &Link) {
    let features = weighed(linker, link);
    if !features.is_empty() {
        let mut shown = table(["Feature", "Value", "Adds to the log odds"]);
        for Weighed {
            feature,
            value,
            adds,
        } in features.iter().filter(|one| one.adds.abs() >= 0.005)
        {
            shown.add_row([
                feature.words().to_owned(),
                format!("{value:.3}"),
                format!("{adds:+.2}"),
            ]);
        }
        println!("{shown}");
        println!("(against a typical right candidate)");
    }
    if link.same_name() > 1 {
        let reason = match link.evidence {
            Some(evidence) if evidence.margin < 0.0 => {
                "the first one has the types and sources of the text's other concepts"
            }
            Some(evidence) if evidence.margin > 0.0 => "the first one has the highest score",
            _ => "their scores are equal, so they are in the order of the knowledge base",
        };
        println!(
            "Same name {} concepts bear this name; {reason}",
            link.same_name()
        );
    }
}

/// What the text says of the mention, and by which cues.
fn print_context(linker: &Linker, link: &Link) {
    let context = &link.context;
    let stated = "stated of the patient now";
    let words = match (context.is_asserted(), context.words()) {
        (true, words) if words.is_empty() => stated.to_owned(),
        (true, words) => format!("{stated}, {words}"),
        (false, words) => words,
    };
    let section = context
        .section
        .as_ref()
        .map_or(String::new(), |section| format!("; section {section:?}"));
    println!("Context   {words}{section}");
    for cue in &context.cues {
        let rule = linker.context_rules().rule(cue.rule);
        let rule = rule.map_or(String::new(), |rule| {
            format!(
                "{:?} of `{}` ({}:{})",
                rule.pattern, rule.heading, rule.file, rule.line
            )
        });
        println!(
            "          {}: the cue at {}..{}, by {rule}, reaches {}..{}",
            cue.effect.name(),
            cue.span.start,
            cue.span.end,
            cue.scope.start,
            cue.scope.end
        );
    }
}

/// Which tokens met, of the best candidate that has any.
fn print_tokens(met: &[MatchedText]) {
    let Some(best) = met.iter().find(|met| !met.tokens.is_empty()) else {
        return;
    };
    let mut shown = table(["Token", "Met", "Similarity"]);
    for met in &best.tokens {
        shown.add_row([
            met.mention.clone(),
            met.text.clone(),
            format!("{:.4}", met.similarity),
        ]);
    }
    println!("{shown}");
    let (name, sum) = (&best.name, best.best_text_score);
    println!(
        "Sum       {sum:.4}, of each mention token's best match in {name} ({})",
        best.best_text
    );
}

fn decision(
    link: &Link,
    met: &[MatchedText],
    first_stage: Option<&FirstStage>,
    threshold: Option<f32>,
) -> String {
    let limit = match (threshold, link.nil_offset) {
        _ if let Some(probability) = link.probability => {
            let limit = threshold.map_or(String::new(), |threshold| {
                format!(", the threshold is {threshold}")
            });
            format!("right with a probability of {probability:.3}{limit}")
        }
        (None, _) => "no threshold".to_owned(),
        (Some(threshold), 0.0) => format!("the threshold is {threshold}"),
        (Some(threshold), offset) => {
            format!("plus {offset:.4} for NIL features; the threshold is {threshold}")
        }
    };
    if let (Some(FirstStage { nearest, seen, .. }), Some(first)) = (first_stage, met.first()) {
        let Named { name, score, .. } = nearest;
        let nearest = format!("the first stage's best is {name} with {score:.4}, {limit}");
        return match link.decision {
            Decision::Linked { .. } => {
                format!(
                    "linked to {} ({}), first of {seen} by the cross-encoder; {nearest}",
                    first.name, first.id
                )
            }
            Decision::Nil { reason, .. } => {
                format!(
                    "NIL, {}: {nearest}; first of {seen} by the cross-encoder is {}",
                    reason.words(),
                    first.name
                )
            }
        };
    }
    let margin = match met {
        [first, second, ..] => format!("; margin to the second {:.4}", first.score - second.score),
        _ => String::new(),
    };
    match (link.decision, met.first()) {
        (Decision::Linked { best }, Some(first)) => {
            format!(
                "linked to {} ({}): score {:.4}, {limit}{margin}",
                first.name, first.id, best.score
            )
        }
        (
            Decision::Nil {
                reason,
                best: Some(best),
            },
            Some(first),
        ) => {
            format!(
                "NIL, {}: the best is {} with {:.4}, {limit}",
                reason.words(),
                first.name,
                best.score
            )
        }
        (Decision::Nil { reason, .. }, _) => format!("NIL: {}", reason.words()),
        (Decision::Linked { .. }, None) => "linked".to_owned(),
    }
}
