//! Names that differ from a misspelt mention by a few letters.
//!
//! A mention is misspelt only if one of its words occurs in no name, no definition and not in
//! general English. Otherwise "uvula" would be a misspelt "uvea".
//!
//! The automaton of names is walked together with the rows of an edit-distance table. A branch ends
//! where every value of its row exceeds the limit. This needs no bytes beside the dictionary.

use super::dictionary::Dictionary;
use super::normalise::normalise_name;
use crate::contrasts::Contrasts;
use pel_kb::ConceptId;

/// A mention with fewer bytes has too many neighbours at one edit: "pain" and "main".
const MIN_BYTES: usize = 5;

/// From this many bytes on, two edits are allowed.
const TWO_EDITS_FROM: usize = 9;

/// In a mention of several words, a word with fewer bytes has no edit.
const MIN_WORD: usize = 4;

/// In a mention of several words, a word with as many bytes may have two edits.
const LONG_WORD: usize = 6;

/// Beginnings of words whose first letter is silent ("pneumonia", "knee").
const SILENT: &[[u8; 2]] = &[*b"pn", *b"ps", *b"pt", *b"kn", *b"gn", *b"mn", *b"wr"];

/// A longer mention is not compared.
const MAX_BYTES: usize = 64;

/// A concept with a name that is similar to a mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimilarName {
    /// The number of edits between the mention and the name, after normalisation.
    pub edits: u8,
    /// The concept.
    pub concept: ConceptId,
}

/// The most edits for a normalised mention.
fn limit(bytes: usize) -> usize {
    match bytes {
        ..MIN_BYTES => 0,
        MIN_BYTES..TWO_EDITS_FROM => 1,
        TWO_EDITS_FROM..=MAX_BYTES => MOST_EDITS,
        _ => 0,
    }
}

/// The most edits for a word of a mention of several words.
fn word_limit(bytes: usize) -> usize {
    match bytes {
        ..MIN_WORD => 0,
        MIN_WORD..LONG_WORD => 1,
        _ => MOST_EDITS,
    }
}

/// Whether a mention and a name may be one misspelt word: they have the same first letter, the
/// first two are swapped, or a silent one is missing. People seldom miss a first letter, and
/// "eserine" is no misspelt "serine".
fn begin_alike(mention: &[u8], name: &[u8]) -> bool {
    let (Some(own), Some(first)) = (mention.first(), name.first()) else {
        return false;
    };
    let second = name.get(1);
    let is_swapped =
        second == Some(own) && mention.get(1) == Some(first) && mention.get(2) == name.get(2);
    let is_silent = second == Some(own) && SILENT.contains(&[*first, *own]);
    own == first || is_swapped || is_silent
}

/// Letters that sound alike.
const SOUNDS: &[&[u8]] = &[b"aeiouy", b"ckqsxz", b"bpvfw", b"dt", b"mn", b"gj", b"lr"];

/// The rows of a keyboard.
const KEYS: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];

/// Whether a letter is easily written for another: they sound alike, or their keys touch.
fn letters_alike(one: u8, other: u8) -> bool {
    let place = |letter: u8| {
        let keys = KEYS.iter().enumerate();
        let mut places = keys.filter_map(|(row, keys)| {
            let at = keys.iter().position(|key| *key == letter)?;
            Some((row, at))
        });
        places.next()
    };
    let sound = |group: &&[u8]| group.contains(&one) && group.contains(&other);
    let touch = place(one).zip(place(other)).is_some_and(|(own, near)| {
        // Each row is shifted to the right by half a key.
        let (upper, lower) = (own.min(near), own.max(near));
        match lower.0 - upper.0 {
            0 => lower.1.abs_diff(upper.1) == 1,
            1 => upper.1 == lower.1 || upper.1 == lower.1 + 1,
            _ => false,
        }
    });
    SOUNDS.iter().any(sound) || touch
}

/// Whether a mention may be a misspelt name: not if all they differ in is two letters, of which
/// neither is easily written for the other ("asterixis" is no misspelt "arteritis").
fn differ_alike(mention: &[u8], name: &[u8]) -> bool {
    if mention.len() != name.len() {
        return true;
    }
    let pairs = mention.iter().zip(name).filter(|(own, other)| own != other);
    let pairs: Vec<(u8, u8)> = pairs.map(|(own, other)| (*own, *other)).collect();
    let [one, other] = pairs[..] else {
        return true;
    };
    let is_swap = one.0 == other.1 && one.1 == other.0;
    is_swap || letters_alike(one.0, one.1) || letters_alike(other.0, other.1)
}

/// The most edits of any mention.
const MOST_EDITS: usize = 2;

/// A value beyond every limit.
const BEYOND: u8 = 9;

/// A row of the edit-distance table for a prefix of `depth` bytes: the distances of the prefix from
/// the first `depth + at - 2` bytes of the mention, for `at` from 0 to 4. Values farther from the
/// diagonal exceed the limit.
type Row = [u8; 2 * MOST_EDITS + 1];

/// A walk over the names that are similar to a mention.
struct Walk<'d> {
    dictionary: &'d Dictionary,
    mention: Vec<u8>,
    /// What tells the mention apart from names of something else.
    contrasts: Contrasts,
    limit: u8,
    /// One row for each byte of the prefix, and one for the empty prefix.
    rows: Vec<Row>,
    prefix: Vec<u8>,
    /// Edits and postings of the names that were found.
    found: Vec<(u8, u64)>,
}

impl Walk<'_> {
    fn descend(&mut self, node: fst::raw::Node<'_>, output: u64) {
        if node.is_final() {
            let edits = self.distance();
            if edits <= self.limit
                && begin_alike(&self.mention, &self.prefix)
                && differ_alike(&self.mention, &self.prefix)
                && self.words_alike()
                && !self.is_contrary()
            {
                self.found
                    .push((edits, output + node.final_output().value()));
            }
        }
        for transition in node.transitions() {
            let row = self.next_row(transition.inp);
            if row.iter().all(|value| *value > self.limit) {
                continue;
            }
            self.rows.push(row);
            self.prefix.push(transition.inp);
            let next = self.dictionary.names.node(transition.addr);
            self.descend(next, output + transition.out.value());
            self.rows.pop();
            self.prefix.pop();
        }
    }

    /// Whether no word has more edits than a word of its length may have. Words are compared only
    /// if mention and name have the same number of them.
    fn words_alike(&self) -> bool {
        let words = |text: &[u8]| text.split(|byte| *byte == b' ').count();
        let count = words(&self.mention);
        if count == 1 || words(&self.prefix) != count {
            return true;
        }
        let space = |byte: &u8| *byte == b' ';
        let mut both = self.mention.split(space).zip(self.prefix.split(space));
        both.all(|(own, name)| {
            let edits = strsim::generic_damerau_levenshtein(own, name);
            edits == 0 || edits <= word_limit(own.len()) && begin_alike(own, name)
        })
    }

    /// Whether the name stands for something else, such as the opposite.
    fn is_contrary(&self) -> bool {
        let name = String::from_utf8_lossy(&self.prefix);
        self.contrasts.differ_from(&name)
    }

    /// The distance of the prefix from the whole mention.
    fn distance(&self) -> u8 {
        let at = (self.mention.len() + MOST_EDITS).checked_sub(self.prefix.len());
        let value = at.and_then(|at| self.rows.last()?.get(at));
        value.copied().unwrap_or(BEYOND)
    }

    /// The row after another byte: an insertion, a deletion, a substitution and a swap of
    /// neighbours each cost 1 (optimal string alignment).
    fn next_row(&self, byte: u8) -> Row {
        let depth = self.rows.len();
        let last = self.rows.last().copied().unwrap_or([BEYOND; 5]);
        let before = depth.checked_sub(2).map(|at| self.rows[at]);
        let mut row = [BEYOND; 5];
        for at in 0..row.len() {
            let Some(end) = (depth + at).checked_sub(MOST_EDITS) else {
                continue;
            };
            if end > self.mention.len() {
                break;
            }
            let above = last.get(at + 1).copied().unwrap_or(BEYOND);
            let left = at.checked_sub(1).map_or(BEYOND, |at| row[at]);
            let mut value = above.min(left) + 1;
            if end > 0 {
                let own = self.mention[end - 1];
                value = value.min(last[at] + u8::from(own != byte));
                if let (Some(before), Some(previous)) = (before, self.prefix.last())
                    && end > 1
                    && own == *previous
                    && self.mention[end - 2] == byte
                {
                    value = value.min(before[at] + 1);
                }
            }
            row[at] = value.min(BEYOND);
        }
        row
    }
}

/// Whether a capital follows a small letter.
fn has_capital_inside(mention: &str) -> bool {
    let small = mention.chars().map(char::is_lowercase);
    let mut pairs = small.zip(mention.chars().skip(1));
    pairs.any(|(follows_small, next)| follows_small && next.is_uppercase())
}

impl Dictionary {
    /// The concepts that a misspelt mention may name; `None` if every word of it is known.
    ///
    /// Their names differ from the mention by one edit, or by two if it has 9 bytes or more. An
    /// edit is an inserted, missing or other byte, or two swapped ones. Only concepts with the
    /// fewest edits are returned, at most `most` in their order. A mention with a capital inside a
    /// word has none: "MitraClip" is a name of its own, not "Miraclid" misspelt.
    pub fn lookup_misspelt(&self, mention: &str, most: usize) -> Option<Vec<SimilarName>> {
        let normalised = normalise_name(mention);
        if !self.has_unknown_word(&normalised) {
            return None;
        }
        if has_capital_inside(mention) {
            return Some(Vec::new());
        }
        let mut similar = self.similar(normalised);
        let fewest = similar.first().map_or(0, |first| first.edits);
        similar.retain(|similar| similar.edits == fewest);
        similar.truncate(most);
        Some(similar)
    }

    /// The concepts with a name that is similar to a normalised mention. Fewer edits come first,
    /// then the order of concepts.
    fn similar(&self, mention: String) -> Vec<SimilarName> {
        let contrasts = Contrasts::of(&mention);
        let mention = mention.into_bytes();
        let limit = limit(mention.len());
        if limit == 0 {
            return Vec::new();
        }
        // The empty prefix differs from the first n bytes by n insertions.
        let mut first = [BEYOND; 2 * MOST_EDITS + 1];
        for (edits, value) in first[MOST_EDITS..].iter_mut().enumerate() {
            *value = edits as u8;
        }
        let mut walk = Walk {
            dictionary: self,
            mention,
            contrasts,
            limit: limit as u8,
            rows: vec![first],
            prefix: Vec::new(),
            found: Vec::new(),
        };
        walk.descend(self.names.root(), 0);
        let mut similar: Vec<SimilarName> = Vec::new();
        for (edits, at) in walk.found {
            let concepts = self.postings(at).filter(|posting| posting.stated);
            similar.extend(concepts.map(|posting| SimilarName {
                edits,
                concept: posting.concept,
            }));
        }
        similar.sort_unstable_by_key(|similar| (similar.concept, similar.edits));
        similar.dedup_by_key(|similar| similar.concept);
        similar.sort_unstable();
        similar
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::dictionary;
    use super::*;

    #[test]
    fn a_word_with_a_capital_inside_is_a_name_of_its_own() {
        let dictionary = dictionary(&[("Miraclid", &[])], "");
        assert_eq!(dictionary.lookup_misspelt("MitraClip", 8), Some(Vec::new()));
        let found = dictionary.lookup_misspelt("miraclit", 8);
        assert_eq!(found.map(|found| found.len()), Some(1));
    }

    fn found(mention: &str) -> Vec<(u8, u32)> {
        let dictionary = dictionary(
            &[
                ("Pneumonia", &[]),
                ("hypertension", &["high blood pressure"]),
                ("hypotension", &[]),
                ("nausea", &[]),
                ("Seizures", &[]),
            ],
            "",
        );
        let similar = dictionary.similar(normalise_name(mention));
        similar
            .into_iter()
            .map(|similar| (similar.edits, similar.concept.0))
            .collect()
    }

    /// The edits between two texts, by the whole table.
    fn edits(one: &[u8], other: &[u8]) -> u8 {
        let mut table = vec![vec![0u8; other.len() + 1]; one.len() + 1];
        for row in 0..=one.len() {
            for at in 0..=other.len() {
                table[row][at] = if row == 0 || at == 0 {
                    (row + at) as u8
                } else {
                    let same = one[row - 1] == other[at - 1];
                    let mut value = (table[row - 1][at - 1] + u8::from(!same))
                        .min(table[row - 1][at] + 1)
                        .min(table[row][at - 1] + 1);
                    if row > 1
                        && at > 1
                        && one[row - 1] == other[at - 2]
                        && one[row - 2] == other[at - 1]
                    {
                        value = value.min(table[row - 2][at - 2] + 1);
                    }
                    value
                };
            }
        }
        table[one.len()][other.len()]
    }

    #[test]
    fn only_mentions_with_an_unknown_word_are_misspelt() {
        let dictionary = dictionary(&[("uvea", &[]), ("nausea", &["sick"]), ("nauses", &[])], "");
        let found = |mention: &str| -> Vec<u32> {
            let found = dictionary.lookup_misspelt(mention, 8).unwrap_or_default();
            found.into_iter().map(|found| found.concept.0).collect()
        };
        assert_eq!(found("nausia"), [1]);
        // One edit from both; "nursed" is an English word.
        assert_eq!(found("nausee"), [1, 2]);
        assert_eq!(dictionary.lookup_misspelt("nursed", 8), None);
        assert_eq!(dictionary.lookup_misspelt("uvea", 8), None);
        assert_eq!(dictionary.lookup_misspelt("zorblatt", 8), Some(Vec::new()));
        let first = dictionary.lookup_misspelt("nausee", 1).unwrap_or_default();
        assert_eq!(first.len(), 1);
    }

    #[test]
    fn compounds_of_known_words_are_not_misspelt() {
        let text = "toxicity of the nephron";
        let dictionary = dictionary(&[("neurotoxicity", &[]), ("hypertension", &[])], text);
        let found = |mention: &str| Some(dictionary.lookup_misspelt(mention, 8)?.len());
        assert_eq!(found("nephrotoxicity"), None);
        assert_eq!(found("neurotoxicty"), Some(1));
        // "tension" is known, but no word begins with "hypr".
        assert_eq!(found("hyprtension"), Some(1));
    }

    #[test]
    fn similar_names_differ_by_few_letters() {
        assert_eq!(found("pnuemonia"), [(1, 0)]);
        assert_eq!(found("hypertention"), [(1, 1)]);
        assert_eq!(found("hyprtension"), [(1, 1), (1, 2)]);
        assert_eq!(found("nausia"), [(1, 3)]);
        assert_eq!(found("SIEZURES"), [(1, 4)]);
        assert_eq!(found("high blod presure"), [(2, 1)]);
        assert_eq!(found("nausea"), [(0, 3)]);
        // "nasa" is too short, "nausial" has two edits and fewer than 9 bytes.
        assert!(found("nasa").is_empty());
        assert!(found("nausial").is_empty());
        assert!(found(&"x".repeat(5000)).is_empty());
    }

    #[test]
    fn an_opposite_is_no_misspelling() {
        let names: &[(&str, &[&str])] = &[("hyperbilirubinemia", &[]), ("interleukin 33", &[])];
        let dictionary = dictionary(names, "");
        let found = |mention: &str| dictionary.similar(normalise_name(mention)).len();
        assert_eq!(
            [found("hyperbilirubinaemia"), found("interlekin 33")],
            [1, 1]
        );
        assert_eq!(
            [found("hypobilirubinemia"), found("interleukin 36")],
            [0, 0]
        );
    }

    #[test]
    fn misspelt_names_begin_with_the_right_letter() {
        let dictionary = dictionary(
            &[("serine", &[]), ("tannic acid", &[]), ("pneumonia", &[])],
            "",
        );
        let found = |mention: &str| dictionary.similar(normalise_name(mention)).len();
        assert_eq!([found("eserine"), found("kainic acid")], [0, 0]);
        assert_eq!(
            [found("esrine"), found("tanic acid"), found("neumonia")],
            [1, 1, 1]
        );
    }

    #[test]
    fn two_other_letters_are_alike() {
        let dictionary = dictionary(&[("arteritis", &[]), ("emphysema", &[])], "");
        let found = |mention: &str| dictionary.similar(normalise_name(mention)).len();
        assert_eq!(found("asterixis"), 0);
        // One other letter, "s" beside "a", two vowels, and two swapped letters.
        for mention in ["arterixis", "srterixis", "artaratis", "arteritsi"] {
            let expected = usize::from(!mention.starts_with('s'));
            assert_eq!(found(mention), expected, "{mention}");
        }
        assert_eq!(found("emphizema"), 1);
        assert!(
            letters_alike(b's', b'a') && letters_alike(b'e', b's') && letters_alike(b'g', b'v')
        );
        assert!(
            !letters_alike(b's', b'r') && !letters_alike(b'x', b't') && !letters_alike(b'q', b'm')
        );
    }

    #[test]
    fn short_words_of_a_mention_have_one_edit() {
        let dictionary = dictionary(&[("blood pressure", &[]), ("red man syndrome", &[])], "");
        let found = |mention: &str| dictionary.similar(normalise_name(mention)).len();
        assert_eq!([found("blod presure"), found("blood prezzure")], [1, 1]);
        // Two edits in "blood", one in "man".
        assert_eq!([found("bluud pressure"), found("red men syndrome")], [0, 0]);
    }

    proptest::proptest! {
        #[test]
        fn every_name_within_the_limit_is_found(
            // These letters sound alike.
            names in proptest::collection::vec("[ae]{3,12}", 1..12),
            mention in "[ae]{3,12}",
        ) {
            let concepts: Vec<(&str, &[&str])> =
                names.iter().map(|name| (name.as_str(), &[][..])).collect();
            let similar = dictionary(&concepts, "").similar(mention.clone());
            let mut expected: Vec<(u8, u32)> = Vec::new();
            for (concept, name) in names.iter().enumerate() {
                let edits = edits(name.as_bytes(), mention.as_bytes());
                let allowed = limit(mention.len()) as u8;
                let alike = begin_alike(mention.as_bytes(), name.as_bytes());
                if allowed > 0 && edits <= allowed && alike {
                    expected.push((edits, concept as u32));
                }
            }
            expected.sort_unstable();
            let found: Vec<(u8, u32)> = similar
                .iter()
                .map(|one| (one.edits, one.concept.0))
                .collect();
            proptest::prop_assert_eq!(found, expected);
        }
    }
}
