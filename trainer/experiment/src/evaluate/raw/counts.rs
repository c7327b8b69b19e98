//! The counts of one document: annotated and reported mentions in, proportions out.

use pel_index::metrics::Share;
use pel_kb::ConceptId;
use pel_text::Span;
use pel_text::context::Context;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the type of mentions without one.
pub const NO_TYPE: &str = "(none)";

/// An annotated mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// Its extent in bytes, from the first fragment to the last.
    pub span: Span,
    /// The right concepts that the knowledge base has, each as right as the others; of a composite
    /// mention, those of all its parts.
    pub concepts: BTreeSet<ConceptId>,
    /// The right concepts of each part of a composite mention; empty for other mentions.
    pub parts: Vec<BTreeSet<ConceptId>>,
    /// Its types.
    pub types: BTreeSet<String>,
    /// What the text says of it ([`values_of`]); `None` if the annotation does not tell.
    pub context: Option<BTreeSet<&'static str>>,
}

impl Annotated {
    /// What has to be found, each for itself: the concepts of each part, or of the whole. What has
    /// no concept of the knowledge base is left out.
    pub fn items(&self) -> Vec<&BTreeSet<ConceptId>> {
        let whole = self.parts.is_empty().then_some(&self.concepts);
        let all = self.parts.iter().chain(whole);
        all.filter(|concepts| !concepts.is_empty()).collect()
    }

    /// Adds the concepts and types of another mention of the same span.
    fn join(&mut self, other: &Self) {
        if !(self.parts.is_empty() && other.parts.is_empty()) {
            let items: BTreeSet<_> = self.items().into_iter().chain(other.items()).collect();
            self.parts = items.into_iter().cloned().collect();
        }
        self.concepts.extend(&other.concepts);
        self.types.extend(other.types.iter().cloned());
    }
}

/// A reported mention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Its extent in bytes, from the first fragment to the last.
    pub span: Span,
    /// The concept that it is linked to; `None` for NIL.
    pub concept: Option<ConceptId>,
    /// What the text says of it ([`values_of`]).
    pub context: BTreeSet<&'static str>,
}

/// The values of a context that are not the default.
pub fn values_of(context: &Context) -> BTreeSet<&'static str> {
    let negated = context.negated.then_some(NEGATED);
    let others = [
        context.certainty.name(),
        context.temporality.name(),
        context.experiencer.name(),
    ];
    let default = Context::default();
    let defaults = [
        default.certainty.name(),
        default.temporality.name(),
        default.experiencer.name(),
    ];
    let others = others.into_iter().filter(|value| !defaults.contains(value));
    negated.into_iter().chain(others).collect()
}

/// The value of a negated mention.
const NEGATED: &str = "negated";

/// The values that are measured.
pub const VALUES: [&str; 7] = [
    NEGATED,
    "uncertain",
    "hypothetical",
    "historical",
    "future",
    "family",
    "other",
];

/// What counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A span. Annotated mentions of one span have the concepts of all of them, as corpora write
    /// a mention with several concepts. Links of one span count each.
    Span,
    /// A mention.
    Mention,
}

/// When a reported mention is at an annotated one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matching {
    Strict,
    Overlap,
}

impl Matching {
    fn fits(self, one: &Span, other: &Span) -> bool {
        match self {
            Self::Strict => one == other,
            Self::Overlap => one.overlaps(other),
        }
    }

    /// Whether a link to one of the concepts of an annotated mention is at its place. A
    /// coordination may be reported in pieces, so a composite mention also has the links inside of
    /// it.
    fn has_place(self, one: &Annotated, link: &Span) -> bool {
        let is_inside = one.span.start <= link.start && link.end <= one.span.end;
        self.fits(&one.span, link) || !one.parts.is_empty() && is_inside
    }
}

/// A precision and a recall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrecisionRecall {
    /// The proportion of what is reported that is right.
    pub precision: Share,
    /// The proportion of what is annotated that is found.
    pub recall: Share,
}

impl PrecisionRecall {
    /// The harmonic mean of precision and recall; a proportion of nothing counts as 0. `None` if
    /// nothing is annotated or reported.
    pub fn f1(self) -> Option<f64> {
        let (precision, recall) = match (self.precision.value(), self.recall.value()) {
            (None, None) => return None,
            (precision, recall) => (precision.unwrap_or(0.0), recall.unwrap_or(0.0)),
        };
        let sum = precision + recall;
        Some(if sum > 0.0 {
            2.0 * precision * recall / sum
        } else {
            0.0
        })
    }
}

impl std::iter::Sum for PrecisionRecall {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            precision: sum.precision + one.precision,
            recall: sum.recall + one.recall,
        })
    }
}

/// The recalls of the annotated mentions of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeCounts {
    /// Mentions with a reported mention of the same span.
    pub strict: Share,
    /// Mentions that a reported mention overlaps.
    pub overlap: Share,
    /// Of the mentions with a concept of the knowledge base, those that overlap a link to it; each
    /// part of a composite mention counts for itself.
    pub concepts: Share,
}

/// The counts of one document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Spans of mentions, linked or NIL, that are equal.
    pub spans_strict: PrecisionRecall,
    /// Spans of mentions, linked or NIL, that overlap.
    pub spans_overlap: PrecisionRecall,
    /// Links to a right concept at an equal span, or inside of a composite mention. Recall is over
    /// the annotated mentions with a concept of the knowledge base, each part of a composite one
    /// for itself.
    pub concepts_strict: PrecisionRecall,
    /// Links to a right concept at a span that overlaps.
    pub concepts_overlap: PrecisionRecall,
    /// The different linked concepts against the different sets of right concepts.
    pub document: PrecisionRecall,
    /// The recalls by type. A mention counts in each of its types.
    pub types: BTreeMap<String, TypeCounts>,
    /// Each value of the context: of the annotated mentions that are said to have it those that
    /// have it, and the reverse. What is said of an annotated mention is said of the reported one
    /// nearest to it ([`nearest`]); of a mention that was not found nothing is said.
    pub context: BTreeMap<&'static str, PrecisionRecall>,
}

impl Counts {
    /// Counts the mentions of a document.
    pub fn of(annotated: &[Annotated], reported: &[Reported], unit: Unit) -> Self {
        let annotated: Cow<'_, [Annotated]> = match unit {
            Unit::Span => Cow::Owned(merge_same_spans(annotated)),
            Unit::Mention => Cow::Borrowed(annotated),
        };
        let mut spans: Vec<Span> = reported.iter().map(|one| one.span).collect();
        if unit == Unit::Span {
            spans.sort_unstable();
            spans.dedup();
        }
        let links: Vec<(Span, ConceptId)> = reported
            .iter()
            .filter_map(|one| Some((one.span, one.concept?)))
            .collect();
        Self {
            spans_strict: count_spans(&annotated, &spans, &links, Matching::Strict),
            spans_overlap: count_spans(&annotated, &spans, &links, Matching::Overlap),
            concepts_strict: count_concepts(&annotated, &links, Matching::Strict),
            concepts_overlap: count_concepts(&annotated, &links, Matching::Overlap),
            document: count_document(&annotated, &links),
            types: count_types(&annotated, &spans, &links),
            context: count_context(&annotated, reported),
        }
    }
}

/// Joins the annotated mentions of one span, in the order of spans.
fn merge_same_spans(annotated: &[Annotated]) -> Vec<Annotated> {
    let mut merged: BTreeMap<Span, Annotated> = BTreeMap::new();
    for one in annotated {
        match merged.entry(one.span) {
            Entry::Vacant(new) => {
                new.insert(one.clone());
            }
            Entry::Occupied(mut same) => same.get_mut().join(one),
        }
    }
    merged.into_values().collect()
}

/// Whether a mention is reported, or each part of a composite one is linked.
fn is_found(
    one: &Annotated,
    spans: &[Span],
    links: &[(Span, ConceptId)],
    matching: Matching,
) -> bool {
    let has_pieces = || {
        let items = one.items();
        let mut linked = items
            .iter()
            .map(|item| is_linked(one, item, links, matching));
        !one.parts.is_empty() && !items.is_empty() && linked.all(|linked| linked)
    };
    spans.iter().any(|span| matching.fits(&one.span, span)) || has_pieces()
}

fn is_right(one: &Annotated, link: &(Span, ConceptId), matching: Matching) -> bool {
    matching.has_place(one, &link.0) && one.concepts.contains(&link.1)
}

/// Whether a mention is linked to a concept of one of its [items](Annotated::items).
fn is_linked(
    one: &Annotated,
    item: &BTreeSet<ConceptId>,
    links: &[(Span, ConceptId)],
    matching: Matching,
) -> bool {
    links
        .iter()
        .any(|link| matching.has_place(one, &link.0) && item.contains(&link.1))
}

fn count_spans(
    annotated: &[Annotated],
    spans: &[Span],
    links: &[(Span, ConceptId)],
    matching: Matching,
) -> PrecisionRecall {
    // A piece of a composite mention is right if its link is.
    let is_piece = |span: &Span| {
        let mut own = links.iter().filter(|link| link.0 == *span);
        own.any(|link| annotated.iter().any(|one| is_right(one, link, matching)))
    };
    let is_annotated =
        |span: &Span| annotated.iter().any(|one| matching.fits(&one.span, span)) || is_piece(span);
    PrecisionRecall {
        precision: spans.iter().map(is_annotated).collect(),
        recall: annotated
            .iter()
            .map(|one| is_found(one, spans, links, matching))
            .collect(),
    }
}

fn count_concepts(
    annotated: &[Annotated],
    links: &[(Span, ConceptId)],
    matching: Matching,
) -> PrecisionRecall {
    PrecisionRecall {
        precision: links
            .iter()
            .map(|link| annotated.iter().any(|one| is_right(one, link, matching)))
            .collect(),
        recall: annotated
            .iter()
            .map(|one| linked_items(one, links, matching))
            .sum(),
    }
}

/// The [items](Annotated::items) of a mention that are linked.
fn linked_items(one: &Annotated, links: &[(Span, ConceptId)], matching: Matching) -> Share {
    let items = one.items();
    let linked = items
        .iter()
        .map(|item| is_linked(one, item, links, matching));
    linked.collect()
}

fn count_document(annotated: &[Annotated], links: &[(Span, ConceptId)]) -> PrecisionRecall {
    let units: BTreeSet<&BTreeSet<ConceptId>> =
        annotated.iter().flat_map(Annotated::items).collect();
    let linked: BTreeSet<ConceptId> = links.iter().map(|link| link.1).collect();
    PrecisionRecall {
        precision: linked
            .iter()
            .map(|concept| units.iter().any(|unit| unit.contains(concept)))
            .collect(),
        recall: units
            .iter()
            .map(|unit| !unit.is_disjoint(&linked))
            .collect(),
    }
}

/// The reported mention with the longest overlap; of equal overlaps the one with the span of the
/// annotated mention, else the first. `None` if none overlaps.
pub fn nearest<'r>(one: &Annotated, reported: &'r [Reported]) -> Option<&'r Reported> {
    let shared = |other: &&Reported| {
        let (from, to) = (
            one.span.start.max(other.span.start),
            one.span.end.min(other.span.end),
        );
        (to.saturating_sub(from), other.span == one.span)
    };
    reported
        .iter()
        .filter(|other| other.span.overlaps(&one.span))
        .rev()
        .max_by_key(shared)
}

fn count_context(
    annotated: &[Annotated],
    reported: &[Reported],
) -> BTreeMap<&'static str, PrecisionRecall> {
    let mut counts: BTreeMap<&'static str, PrecisionRecall> = BTreeMap::new();
    let nothing = BTreeSet::new();
    for one in annotated {
        let Some(right) = &one.context else {
            continue;
        };
        let said = nearest(one, reported).map_or(&nothing, |other| &other.context);
        for value in VALUES {
            let sum = counts.entry(value).or_default();
            if said.contains(value) {
                sum.precision += Share::from_iter([right.contains(value)]);
            }
            if right.contains(value) {
                sum.recall += Share::from_iter([said.contains(value)]);
            }
        }
    }
    counts
}

fn count_types(
    annotated: &[Annotated],
    spans: &[Span],
    links: &[(Span, ConceptId)],
) -> BTreeMap<String, TypeCounts> {
    let mut types: BTreeMap<String, TypeCounts> = BTreeMap::new();
    for one in annotated {
        let hit = |hit: bool| Share::from_iter([hit]);
        let counts = TypeCounts {
            strict: hit(is_found(one, spans, links, Matching::Strict)),
            overlap: hit(is_found(one, spans, links, Matching::Overlap)),
            concepts: linked_items(one, links, Matching::Overlap),
        };
        let untyped = one.types.is_empty().then_some(NO_TYPE);
        for name in one.types.iter().map(String::as_str).chain(untyped) {
            let sum = types.entry(name.to_owned()).or_default();
            sum.strict += counts.strict;
            sum.overlap += counts.overlap;
            sum.concepts += counts.concepts;
        }
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotated(start: usize, end: usize, concepts: &[u32], kind: &str) -> Annotated {
        Annotated {
            span: Span::new(start, end),
            concepts: concepts.iter().copied().map(ConceptId).collect(),
            parts: Vec::new(),
            types: Some(kind.to_owned())
                .filter(|kind| !kind.is_empty())
                .into_iter()
                .collect(),
            context: None,
        }
    }

    fn reported(start: usize, end: usize, concept: Option<u32>) -> Reported {
        Reported {
            span: Span::new(start, end),
            concept: concept.map(ConceptId),
            context: BTreeSet::new(),
        }
    }

    #[test]
    fn context_is_that_of_the_longest_overlap() {
        let with = |values: &[&'static str]| values.iter().copied().collect::<BTreeSet<_>>();
        let right = |start, end, values: &[&'static str]| Annotated {
            context: Some(with(values)),
            ..annotated(start, end, &[], "Sign")
        };
        let said = |start, end, values: &[&'static str]| Reported {
            context: with(values),
            ..reported(start, end, None)
        };
        let annotated = [
            right(0, 10, &["negated"]),
            right(20, 30, &["family", "negated"]),
            right(40, 50, &[]),
            right(60, 70, &["negated"]),
        ];
        let reported = [
            said(0, 4, &[]),
            said(4, 10, &["negated"]),
            said(20, 30, &["family"]),
            said(40, 50, &["negated"]),
        ];
        let counts = Counts::of(&annotated, &reported, Unit::Mention);
        assert_eq!(counted(counts.context["negated"]), [(1, 2), (1, 3)]);
        assert_eq!(counted(counts.context["family"]), [(1, 1), (1, 1)]);
        assert_eq!(counted(counts.context["future"]), [(0, 0), (0, 0)]);
    }

    /// "lung cancer" and "lung" in it, both annotated: each has its own mention, and a nested
    /// mention that is not annotated is wrong where spans have to be equal.
    #[test]
    fn nested_mentions_are_counted_each_for_itself() {
        let right = [annotated(0, 4, &[1], ""), annotated(0, 11, &[2], "")];
        let all = [
            reported(0, 4, Some(1)),
            reported(0, 11, Some(2)),
            reported(5, 11, Some(3)),
        ];
        for unit in [Unit::Span, Unit::Mention] {
            let counts = Counts::of(&right, &all, unit);
            assert_eq!(counted(counts.spans_strict), [(2, 3), (2, 2)]);
            assert_eq!(counted(counts.spans_overlap), [(3, 3), (2, 2)]);
            assert_eq!(counted(counts.concepts_strict), [(2, 3), (2, 2)]);
            let outer = Counts::of(&right, &all[1..2], unit);
            assert_eq!(counted(outer.spans_strict), [(1, 1), (1, 2)]);
        }
        assert_eq!(nearest(&right[0], &all), Some(&all[0]));
        assert_eq!(nearest(&right[1], &all), Some(&all[1]));
        // The first of two that are as near.
        let inside = annotated(6, 8, &[], "");
        assert_eq!(nearest(&inside, &all), Some(&all[1]));
        assert_eq!(nearest(&annotated(20, 25, &[], ""), &all), None);
    }

    /// Hits and denominators of precision and recall.
    fn counted(of: PrecisionRecall) -> [(usize, usize); 2] {
        [of.precision, of.recall].map(|share| (share.hits, share.of))
    }

    fn of_type(counts: &Counts, kind: &str) -> [(usize, usize); 3] {
        let TypeCounts {
            strict,
            overlap,
            concepts,
        } = counts.types[kind];
        [strict, overlap, concepts].map(|share| (share.hits, share.of))
    }

    /// 10..20 is annotated twice, and reported twice: two discontinuous mentions with one extent.
    /// 30..35 has no concept of the knowledge base.
    fn document() -> (Vec<Annotated>, Vec<Reported>) {
        let annotated = vec![
            annotated(0, 5, &[1, 2], "Disease"),
            annotated(10, 20, &[3], "Disease"),
            annotated(10, 20, &[4], "Chemical"),
            annotated(30, 35, &[], "Disease"),
            annotated(40, 50, &[5], "Chemical"),
        ];
        let reported = vec![
            reported(0, 5, Some(2)),
            reported(10, 20, Some(9)),
            reported(10, 20, Some(4)),
            reported(30, 33, None),
            reported(42, 48, Some(5)),
            // Spurious, but its concept is right in the document.
            reported(60, 65, Some(3)),
        ];
        (annotated, reported)
    }

    #[test]
    fn span_counts_equal_hand_counts() {
        let (annotated, reported) = document();
        let counts = Counts::of(&annotated, &reported, Unit::Span);
        assert_eq!(counted(counts.spans_strict), [(2, 5), (2, 4)]);
        assert_eq!(counted(counts.spans_overlap), [(4, 5), (4, 4)]);
        assert_eq!(counted(counts.concepts_strict), [(2, 5), (2, 3)]);
        assert_eq!(counted(counts.concepts_overlap), [(3, 5), (3, 3)]);
        assert_eq!(counted(counts.document), [(4, 5), (3, 3)]);
        // The merged mention has both types.
        assert_eq!(of_type(&counts, "Disease"), [(2, 3), (3, 3), (2, 2)]);
        assert_eq!(of_type(&counts, "Chemical"), [(1, 2), (2, 2), (2, 2)]);
    }

    #[test]
    fn mention_counts_equal_hand_counts() {
        let (annotated, reported) = document();
        let counts = Counts::of(&annotated, &reported, Unit::Mention);
        assert_eq!(counted(counts.spans_strict), [(3, 6), (3, 5)]);
        assert_eq!(counted(counts.spans_overlap), [(5, 6), (5, 5)]);
        assert_eq!(counted(counts.concepts_strict), [(2, 5), (2, 4)]);
        assert_eq!(counted(counts.concepts_overlap), [(3, 5), (3, 4)]);
        assert_eq!(counted(counts.document), [(4, 5), (4, 4)]);
        assert_eq!(of_type(&counts, "Disease"), [(2, 3), (3, 3), (1, 2)]);
        assert_eq!(of_type(&counts, "Chemical"), [(1, 2), (2, 2), (2, 2)]);
    }

    /// "breast and ovarian cancer" (1 or 7, and 2), of which `reported` are the pieces.
    fn composite(reported: &[Reported], unit: Unit) -> Counts {
        let set = |concepts: &[u32]| concepts.iter().copied().map(ConceptId).collect();
        let both = Annotated {
            parts: vec![set(&[1, 7]), set(&[2])],
            ..annotated(0, 25, &[1, 2, 7], "Disease")
        };
        Counts::of(&[both], reported, unit)
    }

    #[test]
    fn parts_of_a_composite_mention_count_for_themselves() {
        for unit in [Unit::Span, Unit::Mention] {
            // Linked as a whole: one part is right.
            let counts = composite(&[reported(0, 25, Some(7))], unit);
            assert_eq!(counted(counts.spans_strict), [(1, 1), (1, 1)]);
            assert_eq!(counted(counts.concepts_strict), [(1, 1), (1, 2)]);
            assert_eq!(counted(counts.document), [(1, 1), (1, 2)]);
            assert_eq!(of_type(&counts, "Disease"), [(1, 1), (1, 1), (1, 2)]);
            // In pieces: "breast ... cancer" reaches over the whole, "ovarian cancer" does not.
            let pieces = [reported(0, 25, Some(1)), reported(11, 25, Some(2))];
            let counts = composite(&pieces, unit);
            assert_eq!(counted(counts.spans_strict), [(2, 2), (1, 1)]);
            assert_eq!(counted(counts.concepts_strict), [(2, 2), (2, 2)]);
            assert_eq!(counted(counts.document), [(2, 2), (2, 2)]);
            // Pieces that do not reach over the whole; one is linked wrongly, then both rightly.
            let counts = composite(&[reported(0, 6, Some(9)), reported(11, 25, Some(2))], unit);
            assert_eq!(counted(counts.spans_strict), [(1, 2), (0, 1)]);
            assert_eq!(counted(counts.concepts_strict), [(1, 2), (1, 2)]);
            assert_eq!(counted(counts.spans_overlap), [(2, 2), (1, 1)]);
            let counts = composite(&[reported(0, 6, Some(1)), reported(11, 25, Some(2))], unit);
            assert_eq!(counted(counts.spans_strict), [(2, 2), (1, 1)]);
            assert_eq!(of_type(&counts, "Disease"), [(1, 1), (1, 1), (2, 2)]);
        }
    }

    #[test]
    fn mentions_of_the_span_of_a_composite_one_join_its_parts() {
        let set = |concepts: &[u32]| concepts.iter().copied().map(ConceptId).collect();
        let both = Annotated {
            parts: vec![set(&[1]), set(&[])],
            ..annotated(0, 9, &[1], "")
        };
        let all = [both, annotated(0, 9, &[1], ""), annotated(0, 9, &[3], "")];
        let counts = Counts::of(&all, &[reported(0, 9, Some(3))], Unit::Span);
        assert_eq!(counted(counts.concepts_strict), [(1, 1), (1, 2)]);
    }

    #[test]
    fn empty_documents_have_empty_counts() {
        for unit in [Unit::Span, Unit::Mention] {
            assert_eq!(Counts::of(&[], &[], unit), Counts::default());
            let missed = Counts::of(&[annotated(0, 5, &[1], "")], &[], unit);
            assert_eq!(counted(missed.spans_overlap), [(0, 0), (0, 1)]);
            assert_eq!(of_type(&missed, NO_TYPE), [(0, 1), (0, 1), (0, 1)]);
            let spurious = Counts::of(&[], &[reported(0, 5, Some(1))], unit);
            assert_eq!(counted(spurious.concepts_strict), [(0, 1), (0, 0)]);
            assert_eq!(counted(spurious.document), [(0, 1), (0, 0)]);
        }
    }

    #[test]
    fn spans_that_touch_do_not_overlap() {
        let counts = Counts::of(
            &[annotated(0, 5, &[1], "")],
            &[reported(5, 9, Some(1))],
            Unit::Span,
        );
        assert_eq!(counted(counts.spans_overlap), [(0, 1), (0, 1)]);
        assert_eq!(counted(counts.concepts_overlap), [(0, 1), (0, 1)]);
        assert_eq!(counted(counts.document), [(1, 1), (1, 1)]);
    }

    #[test]
    fn f1_is_the_harmonic_mean() {
        let of = |precision, recall| {
            let share = |(hits, of)| Share { hits, of };
            let both = PrecisionRecall {
                precision: share(precision),
                recall: share(recall),
            };
            both.f1()
        };
        assert_eq!(of((1, 2), (1, 1)), Some(1.0 / 1.5));
        assert_eq!(of((0, 2), (0, 1)), Some(0.0));
        assert_eq!(of((0, 0), (0, 1)), Some(0.0));
        assert_eq!(of((0, 0), (0, 0)), None);
    }
}
