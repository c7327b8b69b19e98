//! String similarity by character 3-grams.

use super::tfidf::{Counts, count};

/// The set of character 3-grams of a lower-cased text, as in [`CharTfidf`](super::CharTfidf).
#[derive(Clone, Debug)]
pub struct Spelling(Counts);

impl Spelling {
    /// Extracts the 3-grams of a text.
    pub fn new(text: &str) -> Self {
        Self(count(&text.to_lowercase()))
    }

    /// The Dice coefficient of two sets of 3-grams, 0 to 1; 0 if both are empty.
    pub fn overlap(&self, other: &Self) -> f32 {
        let mut shared = 0usize;
        let mut others = other.0.iter().peekable();
        for (gram, _) in &self.0 {
            while others.next_if(|(other, _)| other < gram).is_some() {}
            shared += usize::from(others.next_if(|(other, _)| other == gram).is_some());
        }
        match self.0.len() + other.0.len() {
            0 => 0.0,
            total => 2.0 * shared as f32 / total as f32,
        }
    }

    /// The first of the names with the largest [`Spelling::overlap`], and that.
    pub fn nearest_name<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Option<(f32, &'a str)> {
        let overlaps = names
            .into_iter()
            .map(|name| (self.overlap(&Self::new(name)), name));
        overlaps.reduce(|best, next| if next.0 > best.0 { next } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn overlap_is_the_dice_coefficient() {
        let fever = Spelling::new("FeVer");
        // Shared: " fe", "fev", "eve", "ver". "fever" has 5 grams, "fevers" 6.
        assert_eq!(fever.overlap(&Spelling::new("fevers")), 8.0 / 11.0);
        assert_eq!(fever.overlap(&Spelling::new("fever")), 1.0);
        assert_eq!(fever.overlap(&Spelling::new("")), 0.0);
        assert_eq!(Spelling::new(" ").overlap(&Spelling::new("")), 0.0);
        let names = ["heat", "fevers", "sreve", "fevers"];
        assert_eq!(fever.nearest_name(names), Some((8.0 / 11.0, "fevers")));
        assert_eq!(fever.nearest_name([]), None);
    }

    proptest! {
        #[test]
        fn overlap_is_symmetric_and_between_0_and_1(a in "[ab ]{0,8}", b in "[ab ]{0,8}") {
            let [one, other] = [&a, &b].map(|text| Spelling::new(text));
            let overlap = one.overlap(&other);
            prop_assert!((0.0..=1.0).contains(&overlap));
            prop_assert_eq!(overlap, other.overlap(&one));
            prop_assert_eq!(one.overlap(&one) == 1.0, !a.trim().is_empty());
        }
    }
}
