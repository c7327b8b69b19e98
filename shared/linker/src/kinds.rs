//! The kind of a mention: what the detector read, against the concepts of its name and what the
//! text says of a substance.

use crate::linker::Linker;
use crate::prepared::PreparedMention;
use pel_kb::error::Result;
use pel_kb::group::Group;
use pel_text::substances::{Class, Use};

/// The most characters of a short form.
const SHORT: usize = 6;

/// The most concepts of a name that are read. A careless table can have thousands of one name.
const MOST_READ: usize = 64;

impl Linker {
    /// The kind of a mention, as its name and the text show it. Every output has this one.
    ///
    /// # Errors
    /// If a concept is damaged.
    pub(crate) fn group_of(&self, text: &str, mention: &PreparedMention) -> Result<Option<Group>> {
        let read = mention.detected.group;
        let (mut groups, mut names) = (Vec::new(), vec![mention.text.clone()]);
        for id in mention.named.iter().take(MOST_READ) {
            let concept = self.concept(*id)?;
            groups.extend(Group::of(&concept));
            names.push(concept.name);
        }
        let span = mention.detected.span;
        let words = text.get(span.start..span.end).unwrap_or_default();
        let class = Class::of(names.iter().map(String::as_str));
        if is_substance(&groups, class) {
            let shown = class.use_in(text, span);
            return Ok(substance(read, &groups, class, shown));
        }
        Ok(weighed(read, &groups, is_short_form(words)))
    }
}

/// Whether the concepts of a name are a substance that is given or measured. Its measurement may be
/// a procedure, and cells are parts of the body.
fn is_substance(groups: &[Group], class: Class) -> bool {
    let is_problem = |group: &Group| *group == Group::Problem;
    let is_listed = class != Class::Other && !groups.is_empty() && !groups.iter().all(is_problem);
    groups.contains(&Group::Drug) || is_listed
}

/// The kind of a substance. Use of alcohol and the like is a problem.
fn substance(
    read: Option<Group>,
    groups: &[Group],
    class: Class,
    shown: Option<Use>,
) -> Option<Group> {
    let is_problem = read == Some(Group::Problem);
    let is_read = |read: &Group| match class {
        Class::Other => groups.contains(read),
        _ => [Group::Drug, Group::Measurement].contains(read),
    };
    match shown {
        _ if is_problem && (class == Class::Used || groups.contains(&Group::Problem)) => read,
        Some(Use::Measured) => Some(Group::Measurement),
        Some(Use::Given) => Some(Group::Drug),
        None => read
            .filter(is_read)
            .or_else(|| groups.contains(&Group::Drug).then_some(Group::Drug))
            .or_else(|| groups.first().copied()),
    }
}

/// The kind of a mention by what the detector read and by the concepts of its name, which tell it
/// better than the words around it. But plain words of body parts, procedures and tests are said for
/// others too ("swollen legs", "wound drainage"); a short form is not.
fn weighed(read: Option<Group>, groups: &[Group], is_short: bool) -> Option<Group> {
    use Group::{Anatomy, Device, Drug, Measurement, Problem, Procedure};
    let own = commonest(groups);
    let (Some(read), Some(own)) = (read, own) else {
        return read.or(own);
    };
    let is_loose = match own {
        Anatomy => matches!(read, Problem | Measurement),
        Procedure => matches!(read, Problem | Measurement | Drug | Device),
        Measurement => read == Problem,
        Problem | Drug | Device => false,
    };
    let is_read = groups.contains(&read) || is_loose && !is_short;
    Some(if is_read { read } else { own })
}

/// The commonest of some kinds, the first of equals.
fn commonest(groups: &[Group]) -> Option<Group> {
    let count = |group: &&Group| groups.iter().filter(|other| other == group).count();
    groups.iter().rev().max_by_key(count).copied()
}

/// Whether a mention is a few letters, two or more of them capitals.
pub(crate) fn is_short_form(words: &str) -> bool {
    let capitals = words.chars().filter(|c| c.is_uppercase()).count();
    capitals > 1 && words.chars().count() <= SHORT && !words.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_kind_unless_its_words_are_said_for_another() {
        use Group::{Anatomy, Device, Drug, Measurement, Problem, Procedure};
        for (words, read, groups, kind) in [
            ("DM2", Some(Measurement), &[Problem][..], Some(Problem)),
            ("PFTs", Some(Measurement), &[Procedure], Some(Procedure)),
            (
                "urine culture",
                Some(Measurement),
                &[Procedure],
                Some(Measurement),
            ),
            ("drainage", Some(Problem), &[Procedure], Some(Problem)),
            ("legs", Some(Problem), &[Anatomy], Some(Problem)),
            (
                "PE",
                Some(Measurement),
                &[Procedure, Problem, Problem],
                Some(Problem),
            ),
            ("melena", Some(Drug), &[Problem], Some(Problem)),
            (
                "tap",
                Some(Procedure),
                &[Anatomy, Procedure],
                Some(Procedure),
            ),
            ("ICD", Some(Drug), &[Device], Some(Device)),
            ("stent", None, &[Device], Some(Device)),
            ("unknown", Some(Drug), &[], Some(Drug)),
            ("unknown", None, &[], None),
        ] {
            assert_eq!(weighed(read, groups, is_short_form(words)), kind, "{words}");
        }
    }

    #[test]
    fn a_substance_is_of_the_kind_that_the_text_shows() {
        use Group::{Drug, Measurement, Problem};
        let measured = Some(Use::Measured);
        for (read, groups, class, shown, kind) in [
            (
                Some(Drug),
                &[Drug][..],
                Class::Measured,
                measured,
                Measurement,
            ),
            (Some(Measurement), &[Drug], Class::Either, None, Measurement),
            (Some(Problem), &[Drug], Class::Either, None, Drug),
            (
                Some(Measurement),
                &[Drug],
                Class::Other,
                Some(Use::Given),
                Drug,
            ),
            (
                Some(Measurement),
                &[Drug, Measurement],
                Class::Other,
                None,
                Measurement,
            ),
            (Some(Problem), &[Drug], Class::Used, measured, Problem),
            (Some(Drug), &[Measurement], Class::Either, None, Drug),
            (
                Some(Problem),
                &[Measurement],
                Class::Measured,
                None,
                Measurement,
            ),
        ] {
            assert_eq!(
                substance(read, groups, class, shown),
                Some(kind),
                "{read:?} {groups:?}"
            );
        }
        assert!(is_substance(&[Measurement], Class::Either));
        assert!(!is_substance(&[Measurement], Class::Other));
        assert!(!is_substance(&[Problem], Class::Either) && !is_substance(&[], Class::Either));
    }
}
