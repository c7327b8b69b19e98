//! How alike two texts are spelled.

use super::tfidf::{Counts, count};

/// The different character 3-grams of a text, in any case of letters; those of [`CharTfidf`](super::CharTfidf).
#[derive(Clone, Debug)]
pub struct Spelling(Counts);

impl Spelling {
    /// Of a text.
    pub fn new(text: &str) -> Self {
        Self(count(&text.to_lowercase()))
    }

    /// The share that two texts have in common: twice the shared over all, 0 to 1 (Dice).
    pub fn overlap(&self, other: &Self) -> f32 {
        let (mut shared, mut theirs) = (0usize, other.0.iter().peekable());
        for (gram, _) in &self.0 {
            while theirs.next_if(|(other, _)| other < gram).is_some() {}
            shared += usize::from(theirs.next_if(|(other, _)| other == gram).is_some());
        }
        match self.0.len() + other.0.len() {
            0 => 0.0,
            all => 2.0 * shared as f32 / all as f32,
        }
    }

    /// The largest overlap with one of these names; 0 without any.
    pub fn nearest<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> f32 {
        names.into_iter().map(|name| self.overlap(&Self::new(name))).fold(0.0, f32::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_shared_grams_count_twice() {
        let fever = Spelling::new("FeVer");
        // " fe", "fev", "eve", "ver" of five and six.
        assert_eq!(fever.overlap(&Spelling::new("fevers")), 8.0 / 11.0);
        assert_eq!(fever.overlap(&Spelling::new("fever")), 1.0);
        assert_eq!(fever.overlap(&Spelling::new("")), 0.0);
        assert_eq!(Spelling::new(" ").overlap(&Spelling::new("")), 0.0);
        assert_eq!(fever.nearest(["heat", "fevers"]), 8.0 / 11.0);
        assert_eq!(fever.nearest([]), 0.0);
    }

    proptest! {
        #[test]
        fn an_overlap_is_a_share_and_goes_both_ways(a in "[ab ]{0,8}", b in "[ab ]{0,8}") {
            let [one, other] = [&a, &b].map(|text| Spelling::new(text));
            let overlap = one.overlap(&other);
            prop_assert!((0.0..=1.0).contains(&overlap));
            prop_assert_eq!(overlap, other.overlap(&one));
            prop_assert_eq!(one.overlap(&one) == 1.0, !a.trim().is_empty());
        }
    }
}
