//! Splits of notes: by the folders that they are in, or by shares.

use super::splits::ALL;
use std::collections::BTreeSet;

/// The shares of the validation and test splits; the rest is for training.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shares {
    /// The share of the validation split, from 0 to 1.
    pub dev: f64,
    /// The share of the test split, from 0 to 1.
    pub test: f64,
    /// The seed of the draw.
    pub seed: u64,
}

/// The split of a note by the first folder of its name; `None` if that is no split.
pub fn folder_split(doc_id: &str) -> Option<&'static str> {
    match doc_id.split_once('/')?.0 {
        "train" | "training" => Some("train"),
        "dev" | "val" | "valid" | "validation" => Some("dev"),
        "test" => Some("test"),
        _ => None,
    }
}

impl Shares {
    /// Whether a share is given.
    pub fn any(&self) -> bool {
        self.dev > 0.0 || self.test > 0.0
    }

    /// The split of each note. With shares, notes are drawn by the hash of seed and name, so that
    /// the order of files does not matter; each given share has at least one note. Without shares
    /// the folders count, if all notes are in folders of splits; else there is one split, `all`.
    pub fn splits<'a>(&self, ids: &BTreeSet<&'a str>) -> Vec<(&'a str, &'static str)> {
        if !self.any() {
            let by_folder: Option<Vec<_>> = ids
                .iter()
                .map(|id| folder_split(id).map(|split| (*id, split)))
                .collect();
            return by_folder.unwrap_or_else(|| ids.iter().map(|id| (*id, ALL)).collect());
        }
        let mut drawn: Vec<&str> = ids.iter().copied().collect();
        let hash = |id: &&str| {
            let mut hasher = blake3::Hasher::new();
            hasher
                .update(&self.seed.to_le_bytes())
                .update(id.as_bytes());
            *hasher.finalize().as_bytes()
        };
        drawn.sort_by_cached_key(hash);
        let count = |share: f64| match share > 0.0 {
            true => ((share * drawn.len() as f64).round() as usize).max(1),
            false => 0,
        };
        let dev = count(self.dev);
        let test = dev + count(self.test);
        let split = |at: usize| match at {
            at if at < dev => "dev",
            at if at < test => "test",
            _ => "train",
        };
        drawn
            .into_iter()
            .enumerate()
            .map(|(at, id)| (id, split(at)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(splits: &[(&str, &str)], split: &str) -> usize {
        splits.iter().filter(|(_, own)| *own == split).count()
    }

    #[test]
    fn shares_draw_by_name_and_seed() {
        let names: Vec<String> = (0..20).map(|at| format!("note-{at}")).collect();
        let ids: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let draw = |seed| {
            Shares {
                dev: 0.25,
                test: 0.2,
                seed,
            }
            .splits(&ids)
        };
        let splits = draw(1);
        let counts = ["train", "dev", "test"].map(|split| count(&splits, split));
        assert_eq!(counts, [11, 5, 4]);
        assert_eq!(splits, draw(1));
        assert_ne!(splits, draw(2));
    }

    #[test]
    fn folders_are_splits_if_all_are() {
        let none = Shares::default();
        let ids = BTreeSet::from(["dev/a", "train/b/c", "val/d"]);
        assert_eq!(
            none.splits(&ids),
            [("dev/a", "dev"), ("train/b/c", "train"), ("val/d", "dev")]
        );
        let ids = BTreeSet::from(["dev/a", "ward/b"]);
        assert_eq!(none.splits(&ids), [("dev/a", "all"), ("ward/b", "all")]);
    }
}
