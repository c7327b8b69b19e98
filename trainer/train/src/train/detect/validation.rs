//! Validation of a detector: strict spans on annotated texts, with the best threshold.

use super::corpora::Corpora;
use crate::train::validation::SpanFigures;
use pel_io::interrupt;
use pel_kb::error::Result;
use pel_model::detector::Detector;
use pel_model::detector::decode::without_overlap;
use pel_model::tokens::Tokens;
use std::collections::HashSet;

/// The thresholds that are compared.
const THRESHOLDS: [f32; 13] = [
    0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
];

/// Measures a detector on each corpus.
///
/// # Errors
/// If the user interrupts.
pub fn validate(
    detector: &Detector,
    tokens: &Tokens,
    corpora: &Corpora,
) -> Result<Vec<SpanFigures>> {
    let mut all = Vec::new();
    for (number, (scheme, _)) in corpora.covered.iter().enumerate() {
        // Found, right, and right with the label, for each threshold.
        let mut counts = [[0usize; 3]; THRESHOLDS.len()];
        let mut mentions = 0;
        for text in corpora.texts.iter().filter(|text| text.corpus == number) {
            interrupt::check()?;
            let offset = detector.info().columns(*scheme).start;
            let gold: HashSet<(usize, usize)> = text
                .mentions
                .iter()
                .map(|(first, last, _)| (*first, *last))
                .collect();
            let labelled: HashSet<_> = text.mentions.iter().copied().collect();
            mentions += gold.len();
            let spans = detector.spans(
                tokens,
                &text.words,
                &text.features[0],
                *scheme,
                THRESHOLDS[0],
            );
            for (threshold, counts) in THRESHOLDS.iter().zip(&mut counts) {
                let kept = spans
                    .iter()
                    .filter(|span| span.probability >= *threshold)
                    .copied()
                    .collect();
                for span in without_overlap(kept) {
                    counts[0] += 1;
                    counts[1] += usize::from(gold.contains(&(span.first, span.last)));
                    let with_label = (span.first, span.last, offset + span.label);
                    counts[2] += usize::from(labelled.contains(&with_label));
                }
            }
        }
        let share = |part: usize, all: usize| part as f64 / all.max(1) as f64;
        let figures = |(threshold, [found, right, labelled]): (&f32, &[usize; 3])| SpanFigures {
            scheme: detector.info().schemes[*scheme].name.clone(),
            mentions,
            threshold: *threshold,
            precision: share(*right, *found),
            recall: share(*right, mentions),
            f1: share(2 * right, found + mentions),
            labelled: share(*labelled, *right),
        };
        // Of equal ones the lower threshold.
        let best = THRESHOLDS
            .iter()
            .zip(&counts)
            .map(figures)
            .reduce(|best, next| if next.f1 > best.f1 { next } else { best });
        all.extend(best);
    }
    Ok(all)
}
