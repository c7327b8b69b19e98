//! Postings: the concepts of a name, and the conditions under which text matches the name.

use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_kb::leb128;

/// The condition under which text matches a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// Text in any case matches.
    AnyCase,
    /// An abbreviation: text in any case matches; a plural must have the characters of the mask in
    /// upper case. Bit i is character i of the name's words.
    Abbreviation(u32),
    /// An abbreviation that is also a word, or is very short: the characters of the mask must be in
    /// upper case.
    CaseBound(u32),
    /// Text never matches: the name is an ordinary word.
    Never,
}

/// A concept of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Posting {
    pub concept: ConceptId,
    /// Whether the concept has this name itself; otherwise the name was derived.
    pub stated: bool,
    pub rule: Rule,
}

/// Appends the postings of a name: their number, and for each the concept, flags and mask, in
/// LEB128.
pub(super) fn write(postings: &[Posting], bytes: &mut Vec<u8>) {
    leb128::write(postings.len() as u32, bytes);
    for posting in postings {
        let (rule, mask) = match posting.rule {
            Rule::AnyCase => (0, None),
            Rule::Abbreviation(mask) => (1, Some(mask)),
            Rule::CaseBound(mask) => (2, Some(mask)),
            Rule::Never => (3, None),
        };
        leb128::write(posting.concept.0, bytes);
        leb128::write(rule << 1 | u32::from(posting.stated), bytes);
        if let Some(mask) = mask {
            leb128::write(mask, bytes);
        }
    }
}

/// Reads the postings at an offset. Damaged postings end early.
pub(super) struct Postings<'b> {
    bytes: &'b [u8],
    left: u32,
}

impl<'b> Postings<'b> {
    pub fn at(bytes: &'b [u8], at: u64) -> Self {
        let mut bytes = usize::try_from(at)
            .ok()
            .and_then(|at| bytes.get(at..))
            .unwrap_or_default();
        let left = leb128::read(&mut bytes).unwrap_or(0);
        Self { bytes, left }
    }
}

/// Checks that bytes are lists of postings of concepts below `concepts`.
///
/// # Errors
/// If a list ends early, or refers to another concept.
pub(super) fn check(bytes: &[u8], concepts: usize) -> Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = bytes.len() - rest.len();
        let expected = leb128::read(&mut rest).ok_or_else(|| {
            Error::artifact(format!(
                "the dictionary's postings: expected a number at byte {at}, found none"
            ))
        })?;
        let mut list = Postings {
            bytes: rest,
            left: expected,
        };
        let mut found = 0;
        let mut last = None;
        for posting in &mut list {
            found += 1;
            last = last.max(Some(posting.concept));
        }
        if let Some(last) = last.filter(|last| last.index() >= concepts) {
            let last = last.index();
            return Err(Error::artifact(format!(
                "the dictionary's postings: expected concepts below {concepts}, found {last} at \
                 byte {at}"
            )));
        }
        if found != expected {
            return Err(Error::artifact(format!(
                "the dictionary's postings: expected {expected} at byte {at}, found {found}"
            )));
        }
        rest = list.bytes;
    }
    Ok(())
}

impl Iterator for Postings<'_> {
    type Item = Posting;

    fn next(&mut self) -> Option<Posting> {
        self.left = self.left.checked_sub(1)?;
        let concept = ConceptId(leb128::read(&mut self.bytes)?);
        let flags = leb128::read(&mut self.bytes)?;
        let rule = match flags >> 1 {
            0 => Rule::AnyCase,
            1 => Rule::Abbreviation(leb128::read(&mut self.bytes)?),
            2 => Rule::CaseBound(leb128::read(&mut self.bytes)?),
            _ => Rule::Never,
        };
        Some(Posting {
            concept,
            stated: flags & 1 == 1,
            rule,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn posting() -> impl Strategy<Value = Posting> {
        let rule = prop_oneof![
            Just(Rule::AnyCase),
            any::<u32>().prop_map(Rule::Abbreviation),
            any::<u32>().prop_map(Rule::CaseBound),
            Just(Rule::Never),
        ];
        (any::<u32>(), any::<bool>(), rule).prop_map(|(concept, stated, rule)| Posting {
            concept: ConceptId(concept),
            stated,
            rule,
        })
    }

    #[test]
    fn check_rejects_unknown_concepts_and_truncation() {
        let posting = |concept, rule| Posting {
            concept: ConceptId(concept),
            stated: true,
            rule,
        };
        let mut bytes = vec![];
        write(
            &[
                posting(3, Rule::AnyCase),
                posting(300, Rule::Abbreviation(77)),
            ],
            &mut bytes,
        );
        write(&[posting(0, Rule::Never)], &mut bytes);
        check(&bytes, 301).expect("whole");
        check(&[], 0).expect("no postings are valid");
        let message = check(&bytes, 300)
            .expect_err("concept 300 does not exist")
            .to_string();
        assert!(
            message.contains("below 300, found 300 at byte 0"),
            "{message}"
        );
        for cut in 1..bytes.len() {
            let whole = cut == bytes.len() - 3;
            assert_eq!(check(&bytes[..cut], 301).is_ok(), whole, "cut at {cut}");
        }
        assert!(check(&[0xff, 0xff, 0xff, 0xff, 0x0f], 9).is_err());
    }

    #[test]
    fn small_numbers_are_encoded_in_one_byte() {
        let mut bytes = vec![];
        write(
            &[Posting {
                concept: ConceptId(300),
                stated: true,
                rule: Rule::AnyCase,
            }],
            &mut bytes,
        );
        assert_eq!(bytes, [1, 0xac, 0x02, 1]);
    }

    proptest! {
        #[test]
        fn written_postings_are_read(
            before in proptest::collection::vec(any::<u8>(), 0..4),
            postings in proptest::collection::vec(posting(), 0..5),
        ) {
            let mut bytes = before.clone();
            write(&postings, &mut bytes);
            prop_assert_eq!(
                Postings::at(&bytes, before.len() as u64).collect::<Vec<_>>(),
                postings
            );
        }

        #[test]
        fn any_bytes_can_be_read(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            at in any::<u64>(),
        ) {
            prop_assert!(
                Postings::at(&bytes, at % 50).count() <= 40
                    && Postings::at(&bytes, at).count() <= 40
            );
        }
    }
}
