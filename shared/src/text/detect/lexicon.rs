//! English words and people's names, from lists that `lexicon/build.py` makes.

use std::sync::LazyLock;

/// English words of six letters or more, and people's names; `lexicon/LICENSES.md` says where they come from.
///
/// A word that follows from another one by the rules of `terms.rs` is left out.
pub(super) struct Lexicon {
    /// Words that a million books have.
    pub common: WordList,
    /// Other words. With a capital inside a sentence they are brands, places and the like.
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

    /// Whether it is a given name or a surname.
    pub fn is_name(&self, word: &str) -> bool {
        self.surnames.contains(word) || self.given.contains(word)
    }
}

/// Words in order, one after the other.
pub(super) struct WordList {
    words: String,
    ends: Vec<u32>,
}

impl WordList {
    /// Reads front-coded words: a capital letter says how many letters a word has in common with the one before (A for
    /// none), and the others follow.
    fn unpack(packed: &str) -> Self {
        let (mut list, mut before) = (Self { words: String::new(), ends: Vec::new() }, 0);
        let bytes = packed.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if bytes[at].is_ascii_uppercase() {
                let shared = before + usize::from(bytes[at] - b'A');
                let length = bytes[at + 1..].iter().take_while(|b| b.is_ascii_lowercase()).count();
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

    pub fn contains(&self, word: &str) -> bool {
        let (mut low, mut high) = (0, self.ends.len());
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
    fn packed_words_are_read_in_order() {
        let list = WordList::unpack("AapeDx\nAheartFsClp\n");
        let words: Vec<&str> = (0..list.ends.len()).map(|at| list.get(at)).collect();
        assert_eq!(words, ["ape", "apex", "heart", "hearts", "help"]);
        assert!(list.contains("help") && list.contains("ape") && !list.contains("hear") && !list.contains("zebra"));
        assert!(!WordList::unpack("").contains(""));
    }

    #[test]
    fn the_lexicon_is_whole() {
        let lexicon = Lexicon::get();
        for (list, count) in
            [(&lexicon.common, 8362), (&lexicon.rare, 20_895), (&lexicon.given, 5130), (&lexicon.surnames, 18_796)]
        {
            assert_eq!(list.ends.len(), count);
            assert!((1..count).all(|at| list.get(at - 1) < list.get(at)));
        }
        assert!(lexicon.common.contains("boyfriend") && lexicon.rare.contains("tylenol"));
        assert!(lexicon.is_name("martha") && lexicon.is_name("kowalski") && !lexicon.is_name("tylenol"));
    }
}
