//! The concepts of a whole mention: those that bear its text, or a regular variant of it, as a
//! name.

use super::dictionary::Dictionary;
use super::normalise::Source;
use super::scan::Scan;
use pel_kb::ConceptId;

impl Dictionary {
    /// The concepts of a mention in ascending order: those with this name, else those with a
    /// regular variant of it: its plural or singular, its American spelling, or a derived form
    /// ("Alzheimers disease" of "Alzheimer's disease").
    pub fn lookup_mention(&self, mention: &str) -> Vec<ConceptId> {
        let stated = self.lookup(mention);
        if stated.is_empty() {
            self.lookup_forms(mention)
        } else {
            stated
        }
    }

    /// The concepts of a mention in ascending order: those with this name or any regular variant of
    /// it.
    pub fn lookup_forms(&self, mention: &str) -> Vec<ConceptId> {
        let mut scan = Scan::new(self, mention, Source::Name);
        let names = scan.names_at(0);
        let whole = names
            .into_iter()
            .filter(|found| scan.token(found.last + 1).is_none());
        let mut concepts: Vec<ConceptId> = whole
            .flat_map(|found| self.postings(found.postings))
            .map(|posting| posting.concept)
            .collect();
        concepts.sort_unstable();
        concepts.dedup();
        concepts
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{FEVER_AND_COLD, dictionary, ids};

    #[test]
    fn lookup_mention_finds_regular_variants() {
        let dictionary = dictionary(&FEVER_AND_COLD, "");
        assert_eq!(dictionary.lookup_mention("Fevers"), ids(&[0]));
        assert_eq!(dictionary.lookup_mention("colds"), ids(&[1, 2]));
        assert_eq!(dictionary.lookup_forms("colds"), ids(&[1, 2]));
        assert_eq!(dictionary.lookup_forms("cold"), ids(&[1, 2]));
        assert_eq!(dictionary.lookup_mention("Alzheimers"), ids(&[2]));
        let american = [
            ("brain tumor", &["Hemothorax", "esophageal tumors"][..]),
            ("edema", &["pedal edema"]),
        ];
        let american = super::super::tests::dictionary(&american, "");
        for (mention, found) in [
            ("brain tumour", 0),
            ("Brain Tumours", 0),
            ("haemothorax", 0),
            ("oesophageal tumour", 0),
            ("Pedal oedema", 1),
        ] {
            assert_eq!(american.lookup_mention(mention), ids(&[found]), "{mention}");
        }
        assert!(
            dictionary.lookup_mention("").is_empty()
                && dictionary.lookup_mention("fever cold").is_empty()
        );
    }
}
