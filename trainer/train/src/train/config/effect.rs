//! Settings without effect, because of other settings.

use super::{Config, Keep, LossKind, NegativeKind, Task};

/// Why a setting of this key has no effect; `None` if it may have one.
pub fn idle(config: &Config, key: &str) -> Option<&'static str> {
    let Config {
        data,
        loss,
        negatives,
        fgsm,
        distillation,
        transformation,
        validation,
        ..
    } = config;
    let (rank, listed) = (
        data.task == Task::Rank,
        !data.candidates.as_os_str().is_empty(),
    );
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    if key == "optimiser.patience" {
        let validates = match &config.detect {
            Some(detect) if data.task == Task::Detect => !detect.validation.is_empty(),
            _ => config.validates(),
        };
        return match (validates, config.validation_every(1)) {
            (false, _) => Some("nothing is validated"),
            (true, 0) => Some("the only validation is at the end (validation.every)"),
            _ => None,
        };
    }
    if data.task == Task::Detect {
        let used = match section {
            "optimiser" | "checkpoints" | "log" | "detect" | "" => true,
            "model" => matches!(
                name,
                "encoder" | "dropout" | "gradient_checkpointing" | "precision"
            ),
            "validation" => name == "every",
            _ => false,
        };
        return (!used).then_some("a detector has no such setting");
    }
    match (section, name) {
        ("negatives", _) if rank => {
            Some("the negatives of a cross-encoder are the other candidates of its lists")
        }
        ("negatives", name) if listed && name != "in_batch" => {
            Some("the candidates of the lists are the negatives")
        }
        ("negatives", "mine_every" | "mine_top") if !negatives.mines() => {
            Some("negatives.kind does not mine")
        }
        ("negatives", "hard_share") if negatives.kind != NegativeKind::Mixed => {
            Some("negatives.kind is not mixed")
        }
        ("negatives", "count" | "domain") if negatives.kind == NegativeKind::None => {
            Some("negatives.kind is none")
        }
        ("loss", "alpha" | "delta") if rank || loss.kind == LossKind::CrossEntropy => {
            Some("only the proxy-based loss has it")
        }
        ("data", "top" | "add_gold") if !listed => {
            Some("there are no lists (--candidates, --distil)")
        }
        ("validation", "keep") if validation.keep == Keep::Best && !config.validates() => {
            Some("nothing is validated, so the last weights are kept")
        }
        ("fgsm", "epsilon" | "absolute_epsilon") if fgsm.lambda == 0.0 => Some("fgsm.lambda is 0"),
        ("fgsm", "epsilon") if fgsm.absolute_epsilon > 0.0 => Some("fgsm.absolute_epsilon is set"),
        ("distillation", "temperature") if distillation.own_share >= 1.0 => {
            Some("nothing is distilled (--distil)")
        }
        ("transformation", name) if name != "weight" && transformation.weight == 0.0 => {
            Some("transformation.weight is 0")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_effect_are_recognised() {
        let of = |base: Config, settings: &[&str], key: &str| {
            let settings: Vec<String> = settings
                .iter()
                .map(|setting| (*setting).to_owned())
                .collect();
            idle(&base.read(None, &settings).expect("sound"), key).is_some()
        };
        let (link, rank) = (Config::default, Config::ranking);
        for (base, settings, key, expected) in [
            (rank(), &[][..], "negatives.count", true),
            (rank(), &[], "loss.alpha", true),
            (rank(), &["data.candidates=\"list\""], "data.top", false),
            (link(), &[], "data.top", true),
            (link(), &[], "negatives.count", false),
            (
                link(),
                &["data.candidates=\"list\""],
                "negatives.count",
                true,
            ),
            (
                link(),
                &["negatives.kind=random"],
                "negatives.mine_every",
                true,
            ),
            (
                link(),
                &["negatives.kind=hard"],
                "negatives.mine_every",
                false,
            ),
            (
                link(),
                &["negatives.kind=hard"],
                "negatives.hard_share",
                true,
            ),
            (link(), &["loss.kind=cross-entropy"], "loss.delta", true),
            (link(), &["loss.kind=proxy"], "loss.delta", false),
            (link(), &["fgsm.lambda=0"], "fgsm.epsilon", true),
            (link(), &["fgsm.lambda=0"], "fgsm.absolute_epsilon", true),
            (link(), &[], "fgsm.epsilon", false),
            (
                link(),
                &["fgsm.absolute_epsilon=0.01"],
                "fgsm.epsilon",
                true,
            ),
            (
                link(),
                &["fgsm.absolute_epsilon=0.01"],
                "fgsm.absolute_epsilon",
                false,
            ),
            (link(), &[], "transformation.norm", true),
            (
                link(),
                &["transformation.weight=1"],
                "transformation.norm",
                false,
            ),
            (link(), &[], "distillation.temperature", true),
            (link(), &[], "optimiser.batch", false),
            (
                link(),
                &["data.corpus=\"corpus\""],
                "validation.keep",
                false,
            ),
            (
                link(),
                &["data.corpus=\"corpus\"", "validation.mentions=0"],
                "validation.keep",
                true,
            ),
            (
                link(),
                &[
                    "data.corpus=\"corpus\"",
                    "validation.mentions=0",
                    "validation.keep=last",
                ],
                "validation.keep",
                false,
            ),
            (rank(), &["data.corpus=\"corpus\""], "validation.keep", true),
            (
                rank(),
                &["data.corpus=\"corpus\"", "validation.candidates=\"list\""],
                "validation.keep",
                false,
            ),
            (Config::alignment(), &[], "validation.keep", true),
            (link(), &[], "optimiser.patience", true),
            (
                link(),
                &["data.corpus=\"corpus\""],
                "optimiser.patience",
                false,
            ),
            (
                link(),
                &["data.corpus=\"corpus\"", "validation.keep=last"],
                "optimiser.patience",
                true,
            ),
            (Config::detection(), &[], "optimiser.patience", true),
            (Config::detection(), &[], "log.tensorboard", false),
        ] {
            assert_eq!(of(base, settings, key), expected, "{settings:?} {key}");
        }
    }
}
