//! Which weights of a run become its model.

use super::super::config::{Config, Keep, Schedule};
use super::super::log::{self, Event};
use super::super::{CHECKPOINTS, METRICS, Trained};
use super::methods::ranking;
use super::{ended_and_resumed, outcome, run, tiny, world};
use pel_io::files::entries;
use pel_io::interrupt;
use std::path::Path;

/// A run whose later steps spoil what the earlier ones learned.
fn spoilt(folder: &Path) -> Config {
    let mut config = world(folder);
    (config.optimiser.schedule, config.optimiser.warmup) = (Schedule::Constant, 0.0);
    (config.optimiser.learning_rate, config.optimiser.steps) = (0.02, Some(6));
    (config.validation.every, config.validation.mentions) = (1, 8);
    config
}

/// Recall@1 after each validated step.
fn figures(out: &Path) -> Vec<(usize, Option<f64>)> {
    let events = log::read(&out.join(METRICS)).expect("whole");
    let of = |event| {
        if let Event::Validation { step, found, .. } = event {
            Some((step, found.recall_1))
        } else {
            None
        }
    };
    events.into_iter().filter_map(of).collect()
}

fn best_folders(out: &Path) -> Vec<String> {
    entries(&out.join(CHECKPOINTS))
        .expect("listed")
        .into_iter()
        .filter(|name| name.contains("best"))
        .collect()
}

#[test]
fn the_model_is_that_of_the_best_validation() {
    let root = tempfile::tempdir().expect("a folder");
    let config = spoilt(root.path());
    let whole = root.path().join("whole");
    let Trained {
        kept, validated, ..
    } = run(&config, &whole).expect("it trains");
    let figures = figures(&whole);
    assert_eq!(figures.len(), 6);
    let highest = figures
        .iter()
        .filter_map(|(_, recall)| *recall)
        .fold(0.0, f64::max);
    let first = figures
        .iter()
        .find(|(_, recall)| *recall == Some(highest))
        .expect("there is one")
        .0;
    assert_eq!((kept.step, kept.recall_1), (first, Some(highest)));
    assert!(
        first < 6 && validated.expect("validated").recall_1 < Some(highest),
        "{figures:?}"
    );
    // The weights are those of a run that ends there.
    let mut short = config.clone();
    (short.optimiser.steps, short.validation.keep) = (Some(first), Keep::Last);
    let shorter = run(&short, &root.path().join("short")).expect("it trains");
    assert_eq!((shorter.kept.step, shorter.kept.recall_1), (first, None));
    assert!(
        outcome(&whole).0 == outcome(&root.path().join("short")).0,
        "other weights"
    );
    let mut last = config.clone();
    last.validation.keep = Keep::Last;
    let lasting = run(&last, &root.path().join("last")).expect("it trains");
    assert_eq!((lasting.kept.step, lasting.kept.recall_1), (6, None));
    assert!(
        outcome(&whole).0 != outcome(&root.path().join("last")).0,
        "the weights of the last step"
    );
    assert!(best_folders(&root.path().join("last")).is_empty());
    // The same command again changes nothing.
    let before = outcome(&whole);
    assert_eq!(run(&config, &whole).expect("it is done").kept, kept);
    assert!(outcome(&whole) == before);
    assert!(
        before
            .1
            .last()
            .is_some_and(|line| line.starts_with("6 Kept")),
        "{:?}",
        before.1
    );
}

#[test]
fn resumed_run_keeps_the_best_weights_of_an_uninterrupted_run() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = spoilt(root.path());
    // Best weights are found between checkpoints.
    config.checkpoints.every = 2;
    let whole = run(&config, &root.path().join("whole")).expect("it trains");
    assert!(whole.kept.step < 6, "{:?}", whole.kept);
    let expected = outcome(&root.path().join("whole"));
    let deaths = ended_and_resumed(
        interrupt::kill_after,
        &config,
        root.path(),
        "ended",
        9,
        |out, checks| {
            let found = outcome(out);
            assert_eq!(found.1, expected.1, "killed at check {checks}");
            assert!(
                found.0 == expected.0,
                "killed at check {checks}: other weights"
            );
        },
    );
    assert!(deaths > 5, "{deaths}");
    // Killed between the best weights and the line that says so.
    (config.checkpoints.every, config.checkpoints.keep) = (1, 10);
    let out = root.path().join("between");
    run(&config, &out).expect("it trains");
    (whole.kept.step + 1..=6).for_each(|step| {
        std::fs::remove_dir_all(out.join(format!("checkpoints/step-{step:07}"))).expect("removed");
    });
    let lines = std::fs::read_to_string(out.join(METRICS)).expect("read");
    let best = format!("{{\"event\":\"validation\",\"step\":{},", whole.kept.step);
    let before: Vec<&str> = lines
        .lines()
        .take_while(|line| !line.starts_with(&best))
        .collect();
    assert!(before.len() < lines.lines().count());
    std::fs::write(out.join(METRICS), before.join("\n") + "\n").expect("written");
    run(&config, &out).expect("it goes on");
    assert!(outcome(&out) == expected, "other weights");
}

#[test]
fn the_earliest_of_equal_validations_is_kept() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = spoilt(root.path());
    (config.optimiser.learning_rate, config.optimiser.steps) = (1e-12, Some(3));
    let out = root.path().join("run");
    let trained = run(&config, &out).expect("it trains");
    let figures = figures(&out);
    assert!(
        figures
            .iter()
            .all(|(_, recall)| *recall == figures[0].1 && recall.is_some()),
        "{figures:?}"
    );
    assert_eq!(trained.kept.step, 1);
}

#[test]
fn last_weights_are_kept_without_intermediate_validations() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = spoilt(root.path());
    config.optimiser.steps = Some(3);
    // Nothing to compare, and no mention with a concept.
    config.validation.mentions = 0;
    let none = run(&config, &root.path().join("none")).expect("it trains");
    assert_eq!(
        (none.kept.step, none.kept.recall_1, none.validated),
        (3, None, None)
    );
    config.validation.mentions = 8;
    let mentions = std::fs::read_to_string(root.path().join("mentions.dev.jsonl")).expect("read");
    let nil = mentions.lines().last().expect("there are some");
    std::fs::write(root.path().join("mentions.dev.jsonl"), nil).expect("written");
    let nil = run(&config, &root.path().join("nil")).expect("it trains");
    assert_eq!((nil.kept.step, nil.kept.recall_1), (3, None));
    for name in ["none", "nil"] {
        assert!(best_folders(&root.path().join(name)).is_empty(), "{name}");
    }
}

#[test]
fn runs_with_best_weights_validate_each_epoch() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = spoilt(root.path());
    config.validation.every = 0;
    let out = root.path().join("run");
    // Eight examples, four a step.
    assert_eq!(run(&config, &out).expect("it trains").examples, 8);
    assert_eq!(
        figures(&out)
            .iter()
            .map(|(step, _)| *step)
            .collect::<Vec<_>>(),
        [2, 4, 6]
    );
    config.validation.keep = Keep::Last;
    let out = root.path().join("last");
    run(&config, &out).expect("it trains");
    assert_eq!(
        figures(&out)
            .iter()
            .map(|(step, _)| *step)
            .collect::<Vec<_>>(),
        [6]
    );
}

#[test]
fn rankers_and_aligned_encoders_keep_their_best_too() {
    let root = tempfile::tempdir().expect("a folder");
    let mut ranker = ranking(root.path());
    (
        ranker.optimiser.learning_rate,
        ranker.optimiser.steps,
        ranker.validation.every,
    ) = (1e-12, Some(3), 1);
    let mut align = Config::alignment();
    (align.data.kb, align.data.corpus, align.model.encoder) =
        (ranker.data.kb.clone(), root.path().to_owned(), tiny());
    (
        align.optimiser.batch,
        align.optimiser.steps,
        align.optimiser.learning_rate,
    ) = (8, Some(3), 1e-12);
    align.validation.every = 1;
    for (name, config) in [("ranker", ranker), ("align", align)] {
        let trained = run(&config, &root.path().join(name)).expect("it trains");
        assert!(
            trained.kept.step == 1 && trained.kept.recall_1.is_some(),
            "{name}: {:?}",
            trained.kept
        );
        assert_eq!(
            best_folders(&root.path().join(name)),
            ["best-0000001"],
            "{name}"
        );
    }
}

#[test]
fn a_run_of_an_earlier_version_kept_the_last_weights() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = spoilt(root.path());
    config.validation.keep = Keep::Last;
    let out = root.path().join("run");
    run(&config, &out).expect("it trains");
    let text = std::fs::read_to_string(out.join("config.toml")).expect("read");
    let without: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("keep = \"last\""))
        .collect();
    assert_eq!(without.len() + 1, text.lines().count());
    std::fs::write(out.join("config.toml"), without.join("\n") + "\n").expect("written");
    assert_eq!(run(&config, &out).expect("it goes on").kept.step, 6);
    config.validation.keep = Keep::Best;
    let error = run(&config, &out)
        .expect_err("another configuration")
        .to_string();
    assert!(
        error.contains("`keep = \"last\"`, found `keep = \"best\"`"),
        "{error}"
    );
}

/// A run whose weights do not move, so that no validation is better than the first.
fn impatient(folder: &Path, patience: usize) -> Config {
    let mut config = spoilt(folder);
    config.optimiser.learning_rate = 1e-12;
    config.optimiser.patience = patience;
    config
}

#[test]
fn run_stops_after_validations_without_improvement() {
    let root = tempfile::tempdir().expect("a folder");
    for (patience, keep, steps, kept) in [
        (0, Keep::Best, 6, 1),
        (2, Keep::Best, 3, 1),
        (2, Keep::Last, 3, 3),
        (6, Keep::Best, 6, 1),
    ] {
        let mut config = impatient(root.path(), patience);
        config.validation.keep = keep;
        // No checkpoint is due where the run stops.
        config.checkpoints.every = 100;
        let out = root.path().join(format!("run-{patience}-{keep:?}"));
        let trained = run(&config, &out).expect("it trains");
        assert_eq!((trained.steps, trained.kept.step), (steps, kept));
        assert!(trained.validated.is_some() && figures(&out).len() == steps);
        let before = outcome(&out);
        let stopped = before
            .1
            .iter()
            .find(|line| line.contains("stopped"))
            .map(String::as_str);
        assert_eq!(stopped, (steps == 3).then_some("3 stopped, 2 since 1"));
        // The same command again changes nothing.
        let again = run(&config, &out).expect("it is done");
        assert_eq!((again.steps, again.kept.step), (steps, kept));
        assert!(outcome(&out) == before);
    }
}

#[test]
fn resumed_run_stops_where_an_uninterrupted_run_does() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = impatient(root.path(), 2);
    config.checkpoints.every = 2;
    run(&config, &root.path().join("whole")).expect("it trains");
    let expected = outcome(&root.path().join("whole"));
    for end in [interrupt::kill_after, interrupt::interrupt_after] {
        let deaths = ended_and_resumed(end, &config, root.path(), "ended", 5, |out, checks| {
            let found = outcome(out);
            assert_eq!(found.1, expected.1, "ended at check {checks}");
            assert!(
                found.0 == expected.0,
                "ended at check {checks}: other weights"
            );
        });
        assert!(deaths > 2, "{deaths}");
    }
}
