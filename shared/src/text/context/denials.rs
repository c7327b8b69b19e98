//! Sections that begin with a denial: what stands below "Allergies: NKDA" is no allergy.

use super::scope::ScopedCue;
use super::sections::Section;
use super::tokens::Token;
use super::values::Effect;

/// For each section the first token below the line of a denial that it begins with;
/// [`usize::MAX`] if it begins with none.
pub(super) fn find(tokens: &[Token], sections: &[Section], cues: &[ScopedCue]) -> Vec<usize> {
    let denies = |section: &Section| {
        let start = cues.partition_point(|cue| cue.first < section.content);
        let mut first = cues[start..].iter();
        let mut first = first
            .by_ref()
            .take_while(|cue| cue.first == section.content);
        first.any(|cue| cue.effect == Effect::Negated)
    };
    let below = |section: &Section| {
        let mut lines = section.content + 1..section.end.min(tokens.len());
        lines.find(|at| tokens[*at].border.starts_line())
    };
    let sections = sections.iter();
    sections
        .map(|section| match denies(section) {
            true => below(section).unwrap_or(usize::MAX),
            false => usize::MAX,
        })
        .collect()
}
