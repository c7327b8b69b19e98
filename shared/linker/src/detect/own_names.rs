//! Names of a table of the user's own, which are mentions whatever the detector says.

use super::Passes;
use super::places::{highest_ends, is_whole_name};
use crate::bundle::Bundle;
use pel_text::detect::{Detected, Origin};
use pel_text::language::{is_foreign, is_function_word};
use pel_text::modifiers::{without_drug_form, without_modifiers};

/// Adds every name, if the bundle asks for it.
pub(crate) fn add(passes: &Passes<'_>, mut detected: Vec<Detected>) -> Vec<Detected> {
    let (bundle, text) = (passes.bundle, passes.text);
    if !bundle.manifest.every_name {
        return detected;
    }
    let own = passes.names.iter().filter(|name| {
        let words = name.span.of(text).unwrap_or_default();
        is_whole_name(name) && !is_function_word(words)
    });
    let is_name = |found: &Detected| bundle.is_name_of_base(text, found);
    // What a detector of English finds in another language.
    if is_foreign(text) {
        detected.retain(|found| found.origin != Origin::Detector || is_name(found));
    }
    let own = own.cloned().collect();
    with_names(own, detected, is_name, passes.overlapping)
}

impl Bundle {
    /// Whether a mention is a name of the knowledge base, but for words of side, severity or a
    /// drug's form at its ends.
    fn is_name_of_base(&self, text: &str, mention: &Detected) -> bool {
        let words = mention.span.of(text).unwrap_or_default();
        let core = without_modifiers(words).or_else(|| without_drug_form(words));
        !self.named(words).is_empty() || core.is_some_and(|core| !self.named(core).is_empty())
    }
}

/// Adds names, in the order of the text, where no mention that is a name itself covers them. They
/// replace mentions that they overlap, unless mentions may overlap.
fn with_names(
    names: Vec<Detected>,
    detected: Vec<Detected>,
    is_name: impl Fn(&Detected) -> bool,
    overlapping: bool,
) -> Vec<Detected> {
    let ends = highest_ends(detected.iter().map(|found| &found.span));
    let (mut lost, mut added) = (vec![false; detected.len()], Vec::new());
    for name in names {
        let span = name.span;
        let first = ends.partition_point(|end| *end <= span.start);
        let beside: Vec<usize> = (first..detected.len())
            .take_while(|at| detected[*at].span.start < span.end)
            .filter(|at| detected[*at].overlaps(&name))
            .collect();
        let is_taken = |at: &usize| {
            let found = detected[*at].span;
            let covers = found.start <= span.start && span.end <= found.end;
            found == span || !overlapping && covers && is_name(&detected[*at])
        };
        if !beside.iter().any(is_taken) {
            let replaced = beside.iter().filter(|_| !overlapping);
            replaced.for_each(|at| lost[*at] = true);
            added.push(name);
        }
    }
    let kept = detected.into_iter().zip(lost).filter(|(_, lost)| !lost);
    let mut all: Vec<Detected> = kept.map(|(found, _)| found).collect();
    all.append(&mut added);
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detect::test_mentions::found;
    use pel_text::Span;

    #[test]
    fn names_are_added_where_no_named_mention_covers_them() {
        let name = |start: usize, end: usize| Detected::new(Span::new(start, end), Origin::Name);
        let names = || vec![name(0, 6), name(10, 16), name(20, 26), name(30, 36)];
        // The same span, a longer one, one that crosses the name, and one inside it.
        let mentions = || vec![found(0, 6), found(8, 18), found(18, 22), found(31, 33)];
        assert_eq!(
            with_names(names(), mentions(), |_| true, false),
            [found(0, 6), found(8, 18), name(20, 26), name(30, 36)]
        );
        // "Niega fiebre" is not a name of the knowledge base, "fiebre" is.
        assert_eq!(
            with_names(names(), mentions(), |_| false, false),
            [found(0, 6), name(10, 16), name(20, 26), name(30, 36)]
        );
        let mut all = mentions();
        all.extend([name(10, 16), name(20, 26), name(30, 36)]);
        all.sort_unstable();
        assert_eq!(with_names(names(), mentions(), |_| true, true), all);
        assert_eq!(with_names(names(), Vec::new(), |_| true, false), names());
    }
}
