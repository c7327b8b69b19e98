//! From the probabilities of spans to mentions.

/// A span of words with the probabilities of its labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredSpan {
    /// The first word.
    pub first: usize,
    /// The last word.
    pub last: usize,
    /// The most probable label.
    pub label: usize,
    /// The probability that it is a mention of any label.
    pub probability: f32,
}

/// Chooses mentions: the most probable first, without those that share a word with one chosen
/// before. The result is in the order of the text. Of equally probable spans the longer comes
/// first, then the earlier.
pub fn without_overlap(mut spans: Vec<ScoredSpan>) -> Vec<ScoredSpan> {
    let length = |span: &ScoredSpan| span.last - span.first;
    spans.sort_by(|a, b| {
        b.probability
            .total_cmp(&a.probability)
            .then(length(b).cmp(&length(a)))
            .then(a.first.cmp(&b.first))
    });
    let words = spans.iter().map(|span| span.last + 1).max().unwrap_or(0);
    let mut taken = vec![false; words];
    spans.retain(|span| {
        let free = !taken[span.first..=span.last].contains(&true);
        if free {
            taken[span.first..=span.last].fill(true);
        }
        free
    });
    spans.sort_by_key(|span| (span.first, span.last));
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_probable_spans_win() {
        let span = |first, last, probability| ScoredSpan {
            first,
            last,
            label: 0,
            probability,
        };
        let found = without_overlap(vec![
            span(0, 1, 0.6),
            span(1, 3, 0.9),
            span(4, 4, 0.5),
            span(4, 5, 0.5),
            span(3, 3, 0.8),
        ]);
        assert_eq!(found, [span(1, 3, 0.9), span(4, 5, 0.5)]);
        assert!(without_overlap(Vec::new()).is_empty());
    }
}
