//! Lists of English words and people's names, which `lexicon/build.py` creates.

use std::sync::LazyLock;

/// English words of 6 letters or more, and people's names. `lexicon/LICENSES.md` lists the sources.
///
/// Regular derivations of other words by the rules of `terms.rs` are left out.
pub(super) struct Lexicon {
    /// Words that occur in a million books.
    pub common: WordList,
    /// Other words. Capitalised inside a sentence they are mostly brands or places.
    pub rare: WordList,
    /// Given names.
    pub given: WordList,
    /// Surnames.
    pub surnames: WordList,
}

impl Lexicon {
    pub fn get() -> &'static Self {
        static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| Lexicon {
            common: WordList::unpack(include_str!("lexicon/common.txt")),
            rare: WordList::unpack(include_str!("lexicon/rare.txt")),
            given: WordList::unpack(include_str!("lexicon/given.txt")),
            surnames: WordList::unpack(include_str!("lexicon/surnames.txt")),
        });
        &LEXICON
    }

    /// Whether a word is a given name or a surname.
    pub fn is_name(&self, word: &str) -> bool {
        self.surnames.contains(word) || self.given.contains(word)
    }
}

/// A sorted list of words in one string.
pub(super) struct WordList {
    words: String,
    ends: Vec<u32>,
}

impl WordList {
    /// Reads front-coded words. A capital letter is the length of the prefix that a word shares
    /// with its predecessor (A is 0); the rest of the word follows.
    fn unpack(packed: &str) -> Self {
        let mut list = Self {
            words: String::new(),
            ends: Vec::new(),
        };
        let mut before = 0;
        let bytes = packed.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at].is_ascii_uppercase() {
                let shared = before + usize::from(bytes[at] - b'A');
                let length = bytes[at + 1..]
                    .iter()
                    .take_while(|b| b.is_ascii_lowercase())
                    .count();
                let start = list.words.len();
                list.words.extend_from_within(before..shared.min(start));
                list.words.push_str(&packed[at + 1..at + 1 + length]);
                list.ends.push(list.words.len() as u32);
                before = start;
                at += length;
            }
            at += 1;
        }
        list
    }

    fn get(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.words[start as usize..self.ends[at] as usize]
    }

    /// Whether the list has a word, by binary search.
    pub fn contains(&self, word: &str) -> bool {
        let mut low = 0;
        let mut high = self.ends.len();
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(word) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpack_reads_front_coded_words() {
        let list = WordList::unpack("AapeDx\nAheartFsClp\n");
        let words: Vec<&str> = (0..list.ends.len()).map(|at| list.get(at)).collect();
        assert_eq!(words, ["ape", "apex", "heart", "hearts", "help"]);
        assert!(
            list.contains("help")
                && list.contains("ape")
                && !list.contains("hear")
                && !list.contains("zebra")
        );
        assert!(!WordList::unpack("").contains(""));
    }

    #[test]
    fn lexicon_is_complete_and_sorted() {
        let lexicon = Lexicon::get();
        for (list, count) in [
            (&lexicon.common, 8362),
            (&lexicon.rare, 20_895),
            (&lexicon.given, 5130),
            (&lexicon.surnames, 18_796),
        ] {
            assert_eq!(list.ends.len(), count);
            assert!((1..count).all(|at| list.get(at - 1) < list.get(at)));
        }
        assert!(lexicon.common.contains("boyfriend") && lexicon.rare.contains("tylenol"));
        assert!(
            lexicon.is_name("martha") && lexicon.is_name("kowalski") && !lexicon.is_name("tylenol")
        );
    }
}
