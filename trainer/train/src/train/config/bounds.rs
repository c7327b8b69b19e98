//! The largest values of a configuration's numbers. A larger one is a slip or would fill the memory.

use super::Config;
use pel_kb::error::{Error, Result};

/// The most examples, candidates or negatives that are held at once.
const HELD: usize = 1 << 20;
/// The longest sequence in tokens.
const TOKENS: usize = 1 << 16;
/// The most steps of a run, or mentions of a corpus.
const COUNTED: usize = 1_000_000_000;
/// The most epochs of a run.
const EPOCHS: f64 = 1e6;
/// The most tokens of the mentions, or of the entities, of a micro-batch.
const TOGETHER: usize = 1 << 31;

impl Config {
    /// Checks that no number is beyond its bound.
    ///
    /// # Errors
    /// If one is; the error names its key and the bound.
    pub(super) fn check_bounds(&self) -> Result<()> {
        let Self {
            data,
            view,
            negatives,
            transformation,
            optimiser,
            validation,
            checkpoints,
            log,
            ..
        } = self;
        for (key, value, most) in [
            ("data.mentions", data.mentions, COUNTED),
            ("data.max_repeats", data.max_repeats, COUNTED),
            ("data.top", data.top, HELD),
            ("view.mention_tokens", view.mention_tokens, TOKENS),
            ("view.entity_tokens", view.entity_tokens, TOKENS),
            ("view.name_tokens", view.name_tokens, TOKENS),
            ("negatives.count", negatives.count, HELD),
            ("negatives.mine_every", negatives.mine_every, COUNTED),
            ("negatives.mine_top", negatives.mine_top, HELD),
            ("transformation.layer", transformation.layer, 1_000),
            ("transformation.ascents", transformation.ascents, 1_000),
            ("optimiser.batch", optimiser.batch, HELD),
            ("optimiser.micro_batch", optimiser.micro_batch, HELD),
            ("optimiser.chunk", optimiser.chunk, HELD),
            ("optimiser.replicas", optimiser.replicas, 1_000),
            ("optimiser.steps", optimiser.steps.unwrap_or(0), COUNTED),
            ("optimiser.patience", optimiser.patience, COUNTED),
            ("validation.every", validation.every, COUNTED),
            ("validation.mentions", validation.mentions, COUNTED),
            ("checkpoints.every", checkpoints.every, COUNTED),
            ("checkpoints.keep", checkpoints.keep, COUNTED),
            ("log.every", log.every, HELD),
        ] {
            if value > most {
                return Err(beyond(key, &format!("at most {most}"), &value));
            }
        }
        if let Some(detect) = &self.detect {
            let repeats = detect.corpora.iter().chain(&detect.validation);
            let repeat = repeats.map(|texts| texts.repeat).max().unwrap_or(0);
            for (key, value, most) in [
                ("detect.layers", detect.layers, 1_000),
                ("detect.corpora: repeat", repeat, 1_000),
            ] {
                if value > most {
                    return Err(beyond(key, &format!("at most {most}"), &value));
                }
            }
        }
        if optimiser.epochs > EPOCHS {
            let expected = format!("at most {EPOCHS} epochs");
            return Err(beyond("optimiser.epochs", &expected, &optimiser.epochs));
        }
        self.check_products()
    }

    /// Checks what is held for a micro-batch: each bound alone is met.
    fn check_products(&self) -> Result<()> {
        let at_once = match self.optimiser.chunk {
            0 => self.optimiser.micro(),
            chunk => chunk.min(self.optimiser.micro()),
        };
        for (key, length) in [
            ("view.mention_tokens", self.view.mention_tokens),
            ("view.entity_tokens", self.view.entity_tokens),
        ] {
            if at_once.saturating_mul(length) > TOGETHER {
                let expected = format!(
                    "at most {TOGETHER} tokens in a micro-batch (optimiser.micro_batch x {key})"
                );
                let found = format!("{at_once} x {length}");
                return Err(beyond("optimiser.batch", &expected, &found));
            }
        }
        let drawn = self.optimiser.batch.saturating_mul(self.negatives.count);
        if drawn > TOGETHER {
            let expected = format!(
                "at most {TOGETHER} negatives in a batch (optimiser.batch x negatives.count)"
            );
            let found = format!("{} x {}", self.optimiser.batch, self.negatives.count);
            return Err(beyond("negatives.count", &expected, &found));
        }
        Ok(())
    }
}

fn beyond(key: &str, expected: &str, found: &dyn std::fmt::Display) -> Error {
    Error::input(format!(
        "the configuration: `{key}`: expected {expected}, found {found}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_their_bounds_are_refused_by_key() {
        let read = |settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|one| (*one).to_owned()).collect();
            Config::default().read(None, &settings)
        };
        let huge = i64::MAX.to_string();
        for key in [
            "data.mentions",
            "data.max_repeats",
            "data.top",
            "view.mention_tokens",
            "view.entity_tokens",
            "view.name_tokens",
            "negatives.count",
            "negatives.mine_every",
            "negatives.mine_top",
            "transformation.layer",
            "transformation.ascents",
            "optimiser.batch",
            "optimiser.micro_batch",
            "optimiser.chunk",
            "optimiser.replicas",
            "optimiser.steps",
            "optimiser.patience",
            "validation.every",
            "validation.mentions",
            "checkpoints.every",
            "checkpoints.keep",
            "log.every",
        ] {
            let error = read(&[&format!("{key}={huge}")])
                .expect_err(key)
                .to_string();
            assert!(
                error.contains(&format!("`{key}`: expected at most")),
                "{error}"
            );
            assert!(error.contains(&huge), "{error}");
        }
        for (settings, expected) in [
            (
                &["optimiser.batch=1000000000000"][..],
                "`optimiser.batch`: expected at most 1048576",
            ),
            (
                &["optimiser.epochs=1e300"],
                "`optimiser.epochs`: expected at most 1000000 epochs",
            ),
            (
                &["optimiser.batch=1048576", "view.mention_tokens=65536"],
                "(optimiser.micro_batch x view.mention_tokens), found 1048576 x 65536",
            ),
            (
                &[
                    "optimiser.batch=1048576",
                    "negatives.count=1048576",
                    "optimiser.micro_batch=1",
                ],
                "(optimiser.batch x negatives.count), found 1048576 x 1048576",
            ),
        ] {
            let error = read(settings).expect_err(expected).to_string();
            assert!(error.contains(expected), "{error}");
        }
        read(&["optimiser.batch=65536", "optimiser.micro_batch=64"]).expect("within the bounds");
    }
}
