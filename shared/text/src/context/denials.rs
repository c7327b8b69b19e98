//! Sections whose list of allergies is over at the end of their first line: what stands below
//! "Allergies: NKDA" is no allergy, nor what stands below the sentence "Allergy: sulfa."

use super::scope::ScopedCue;
use super::sections::Section;
use super::tokens::{Border, Token};
use super::values::Effect;

/// For each section the first token below its first line, if that begins with a denial, or is a
/// sentence with a full stop and the line below is no item of a list; else [`usize::MAX`].
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
    let is_sentence = |section: &Section, below: usize| {
        let in_line = !tokens[section.content].border.starts_line();
        in_line && tokens[below - 1].mark == '.' && tokens[below].border != Border::Bullet
    };
    let sections = sections.iter();
    sections
        .map(|section| match below(section) {
            Some(below) if denies(section) || is_sentence(section, below) => below,
            _ => usize::MAX,
        })
        .collect()
}
