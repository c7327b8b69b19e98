//! What a document states of its text besides the words: its day and its sections.

use super::Span;

/// The names that the rules have for sections of C-CDA and FHIR, by their LOINC codes.
const LOINC: &str = include_str!("loinc.tsv");

/// What is stated of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The day of the note, as `YYYY-MM-DD`; what follows it, such as a time, is not read.
    pub day: Option<String>,
    /// The sections, in the order of the text.
    pub sections: Vec<StatedSection>,
}

/// A section that a document marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedSection {
    /// The heading in bytes; empty before the first word if no heading is shown.
    pub heading: Span,
    /// The name that the rules have for it; `None` if they are to read the heading.
    pub name: Option<String>,
}

impl StatedSection {
    /// A section with the LOINC code of its document, if it has one.
    #[must_use]
    pub fn of_code(heading: Span, code: Option<&str>) -> Self {
        Self {
            heading,
            name: code.and_then(section_of_loinc).map(str::to_owned),
        }
    }
}

impl Stated {
    /// What is stated of a part of the text, in bytes of this part.
    #[must_use]
    pub fn within(&self, part: Span) -> Self {
        let inside = self.sections.iter().filter(|section| {
            part.start <= section.heading.start && section.heading.end <= part.end
        });
        let moved = inside.map(|section| StatedSection {
            heading: Span::new(
                section.heading.start - part.start,
                section.heading.end - part.start,
            ),
            name: section.name.clone(),
        });
        Self {
            day: self.day.clone(),
            sections: moved.collect(),
        }
    }
}

/// The name that the rules have for a section with a LOINC code.
#[must_use]
pub fn section_of_loinc(code: &str) -> Option<&'static str> {
    let mut rows = LOINC.lines().filter_map(|row| row.split_once('\t'));
    rows.find(|(known, _)| *known == code).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Context, ContextRules, Experiencer, Target, Temporality};
    use pel_kb::group::Group;

    fn judged(text: &str, mention: &str, group: Group, stated: &[StatedSection]) -> Context {
        let start = text.find(mention).expect("there");
        let pieces = [Span::new(start, start + mention.len())];
        let target = Target {
            pieces: &pieces,
            group: Some(group),
        };
        let found = ContextRules::english().judge_stated(text, &[target], &[], stated);
        found.into_iter().next().expect("one")
    }

    #[test]
    fn names_of_codes_are_those_of_the_rules() {
        for row in LOINC.lines() {
            let (_, name) = row.split_once('\t').expect("two cells");
            let heading = format!("x\n\nHeading\ngout\n{name}");
            let stated = StatedSection {
                heading: Span::new(3, 10),
                name: Some(name.to_owned()),
            };
            let found = judged(&heading, "gout", Group::Problem, &[stated]);
            assert_eq!(found.section.as_deref(), Some(name));
        }
        assert!(LOINC.lines().is_sorted());
        assert_eq!(section_of_loinc("1-8"), None);
    }

    #[test]
    fn stated_section_counts_whatever_its_heading_is() {
        let text = "Verwandte\ngout\n\nGichtmittel\ncolchicine";
        let stated = [
            StatedSection::of_code(Span::new(0, 9), Some("10157-6")),
            StatedSection::of_code(Span::new(16, 27), Some("10160-0")),
        ];
        let gout = judged(text, "gout", Group::Problem, &stated);
        assert_eq!(gout.experiencer, Experiencer::Family);
        let drug = judged(text, "colchicine", Group::Drug, &stated);
        assert_eq!(drug.section.as_deref(), Some("medications"));
        assert_eq!(drug.experiencer, Experiencer::Patient);
        // Without codes the rules do not know the headings.
        assert_eq!(judged(text, "gout", Group::Problem, &[]).section, None);
    }

    #[test]
    fn section_without_heading_or_code_ends_the_one_before() {
        let text = "Past surgical history\nappendectomy\n\nbypass surgery tomorrow";
        let stated = [
            StatedSection::of_code(Span::new(0, 21), None),
            StatedSection::of_code(Span::new(36, 36), Some("1-8")),
        ];
        let first = judged(text, "appendectomy", Group::Procedure, &stated);
        assert_eq!(first.section.as_deref(), Some("past history"));
        assert_eq!(first.temporality, Temporality::Historical);
        assert_eq!(
            judged(text, "bypass", Group::Procedure, &stated).section,
            None
        );
    }

    #[test]
    fn part_of_a_text_has_its_sections() {
        let stated = Stated {
            day: Some("2026-01-03".into()),
            sections: vec![
                StatedSection::of_code(Span::new(0, 4), None),
                StatedSection::of_code(Span::new(10, 14), None),
            ],
        };
        let part = stated.within(Span::new(8, 20));
        assert_eq!(part.sections.len(), 1);
        assert_eq!(part.sections[0].heading, Span::new(2, 6));
        assert_eq!(part.day, stated.day);
    }
}
