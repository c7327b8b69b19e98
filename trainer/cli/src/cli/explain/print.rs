//! The output of `pel explain` for a reader.

use super::{FirstStage, Weighed, weighed};
use pel_io::text_tables::table;
use pel_linker::{Link, Linker, MatchedText};
use pel_model::nil::Decision;
use pel_output::Named;
use pel_text::detect::Origin;

/// How the mention was found.
pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Name => "a name of the knowledge base",
        Origin::Detector => "found by the detector",
        Origin::UnknownTerm => "unknown word",
        Origin::Given => "given",
    }
}

/// The candidates with their scores.
pub(super) fn candidates(
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

/// What the probability consists of, and which concepts have the same name.
pub(super) fn evidence(linker: &Linker, link: &Link) {
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
pub(super) fn context(linker: &Linker, link: &Link) {
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
        let rule = linker.steps().context_rules().rule(cue.rule);
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
pub(super) fn tokens(met: &[MatchedText]) {
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

/// The decision, with what it was compared with.
pub(super) fn decision(
    link: &Link,
    met: &[MatchedText],
    first_stage: Option<&FirstStage>,
    threshold: Option<f32>,
) -> String {
    let limit = match (link.probability, threshold) {
        (Some(probability), _) => {
            let limit = threshold.map_or(String::new(), |threshold| {
                format!(", the threshold is {threshold}")
            });
            format!("right with a probability of {probability:.3}{limit}")
        }
        (None, None) => "no threshold".to_owned(),
        (None, Some(threshold)) => format!("the threshold is {threshold}"),
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
