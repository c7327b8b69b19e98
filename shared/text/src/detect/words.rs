//! Ordinary words, from two lists in the source.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Ordinary words of English and of clinical notes, in lower case.
pub(super) struct Words {
    /// Names that are never found in text.
    pub stopped: HashSet<&'static str>,
    /// Words that are neither abbreviations in lower case nor unknown terms.
    pub ordinary: HashSet<&'static str>,
}

impl Words {
    pub fn new() -> Self {
        Self {
            stopped: lines(include_str!("stopped.txt")),
            ordinary: lines(include_str!("ordinary.txt")),
        }
    }
}

/// Whether a word, in lower case, is an ordinary word.
pub(crate) fn is_ordinary(word: &str) -> bool {
    static WORDS: LazyLock<Words> = LazyLock::new(Words::new);
    WORDS.ordinary.contains(word)
}

fn lines(list: &'static str) -> HashSet<&'static str> {
    list.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::normalise_name;
    use super::*;

    #[test]
    fn word_lists_are_normalised_and_sorted() {
        for list in [include_str!("stopped.txt"), include_str!("ordinary.txt")] {
            let entries: Vec<&str> = list.lines().filter(|line| !line.starts_with('#')).collect();
            assert!(entries.is_sorted_by(|a, b| a < b));
            assert!(
                entries
                    .iter()
                    .all(|entry| !entry.is_empty() && normalise_name(entry) == **entry)
            );
            assert!((300..4000).contains(&entries.len()) && list.len() < 20_000);
        }
        let words = Words::new();
        assert!(words.stopped.contains("stage") && words.ordinary.contains("yesterday"));
        assert!(
            !words
                .ordinary
                .iter()
                .chain(&words.stopped)
                .any(|word| word.starts_with('#'))
        );
    }
}
