//! What a table was made from: the hashes of data, encoder, program and weights.

use super::settings::{hash_of, hash_of_corpus};
use super::{Options, Row};
use crate::experiment::measured::Measured;
use pel_io::files::{entries, read_text};
use pel_kb::error::{Error, Result};
use std::path::Path;

/// The digits of a model's hash in a table; its result has the whole.
const DIGITS: usize = 16;

/// The hashes of what all tables of a call share.
pub struct Sources {
    kb: String,
    corpus: String,
    encoder: String,
    program: String,
}

impl Sources {
    /// Hashes the inputs and the program.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn read(options: &Options) -> Result<Self> {
        let program = std::env::current_exe()
            .map_err(|cause| Error::io("finding the file of this program").caused_by(cause))?;
        Ok(Self {
            kb: hash_of(&options.kb)?,
            corpus: hash_of_corpus(&options.corpus)?,
            encoder: hash_of(&options.encoder)?,
            program: hash_of(&program)?,
        })
    }

    /// The hashes in words.
    pub fn words(&self) -> String {
        format!(
            "BLAKE3 of the data: concepts `{}`, corpus `{}`; of the encoder to begin with `{}`. \
             Written by pel {}, whose file is `{}`.",
            self.kb,
            self.corpus,
            self.encoder,
            env!("CARGO_PKG_VERSION"),
            self.program
        )
    }
}

/// A trained model of a table: its name in files, the hash of its weights, and the version of the
/// program that measured it. Results of an earlier version lack them.
pub struct Weights {
    name: String,
    hash: Option<String>,
    program: Option<String>,
}

/// The models of rows.
pub fn of_rows<'a, R: Row + 'a>(
    rows: impl IntoIterator<Item = (&'a R, &'a [Measured])>,
) -> Vec<Weights> {
    let of_row = |(row, measured): (&'a R, &'a [Measured])| {
        let slug = row.slug();
        let one = move |one: &Measured| Weights {
            name: format!("{slug}-seed{}", one.seed.unwrap_or(0)),
            hash: one.weights.clone(),
            program: one.program.clone(),
        };
        measured.iter().map(one).collect::<Vec<_>>()
    };
    rows.into_iter().flat_map(of_row).collect()
}

/// The models of all stages that a folder has with these seeds.
///
/// # Errors
/// If a record cannot be read.
pub fn of_stages(out: &Path, seeds: &[u64]) -> Result<Vec<Weights>> {
    let runs = out.join("runs");
    let mut all = Vec::new();
    for file in entries(&runs)? {
        let Some(name) = file.strip_suffix(".json") else {
            continue;
        };
        if !seeds
            .iter()
            .any(|seed| name.ends_with(&format!("-seed{seed}")))
        {
            continue;
        }
        let text = read_text(&runs.join(&file))?;
        let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let field = |key: &str| record[key].as_str().map(str::to_owned);
        all.push(Weights {
            name: name.to_owned(),
            hash: field("weights"),
            program: field("program"),
        });
    }
    Ok(all)
}

/// The models of a table in words; `None` without any.
pub fn words(all: &[Weights]) -> Option<String> {
    let one = |weights: &Weights| {
        let hash = weights
            .hash
            .as_deref()
            .map_or("not recorded", |hash| hash.get(..DIGITS).unwrap_or(hash));
        format!("{} `{hash}`", weights.name)
    };
    let models: Vec<String> = all.iter().map(one).collect();
    let mut programs: Vec<&str> = all
        .iter()
        .map(|weights| {
            weights
                .program
                .as_deref()
                .unwrap_or("of an earlier version")
        })
        .collect();
    programs.sort_unstable();
    programs.dedup();
    (!models.is_empty()).then(|| {
        format!(
            "BLAKE3 of the trained weights, the first {DIGITS} digits: {}. Measured with pel {}.",
            models.join(", "),
            programs.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_the_first_digits_of_their_hashes() {
        let one = |name: &str, hash: Option<&str>| Weights {
            name: name.into(),
            hash: hash.map(str::to_owned),
            program: hash.map(|_| "0.5.0".to_owned()),
        };
        let all = [
            one("a-seed0", Some("0123456789abcdef0123")),
            one("b-seed1", None),
        ];
        assert_eq!(
            words(&all).as_deref(),
            Some(
                "BLAKE3 of the trained weights, the first 16 digits: a-seed0 `0123456789abcdef`, \
                 b-seed1 `not recorded`. Measured with pel 0.5.0, of an earlier version."
            )
        );
        assert_eq!(words(&[]), None);
    }
}
