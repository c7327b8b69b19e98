//! Reads a configuration: a file overrides the defaults, and `key=value` settings override the
//! file. Unknown keys are errors.

use super::Config;
use pel_io::files::read_text;
use pel_kb::error::{Context, Error, Result};
use pel_kb::score::Similarity;
use std::path::Path;

impl Config {
    /// Overrides these defaults by a file (TOML, or JSON if its name ends in .json), then by
    /// `key=value` settings such as `loss.alpha=16`. Values are TOML; bare words are strings.
    ///
    /// # Errors
    /// If the file cannot be read, a key is unknown (the error suggests the nearest one), a value
    /// has the wrong type, or values do not fit together.
    pub fn read(self, file: Option<&Path>, settings: &[String]) -> Result<Self> {
        let known = toml::Table::try_from(self.with_all_keys())
            .map_err(|cause| Error::input("the configuration").caused_by(cause))?;
        let mut table = toml::Table::try_from(&self)
            .map_err(|cause| Error::input("the configuration").caused_by(cause))?;
        let mut asked = false;
        if let Some(path) = file {
            let mut given = parse(path)?;
            check_keys(&given, &known, "").context(|| path.display().to_string())?;
            read_earlier_epsilon(&mut given, &known, path)?;
            asked |= asks_for_fgsm(&given);
            merge(&mut table, given);
        }
        for setting in settings {
            let given = assignment(setting)?;
            check_keys(&given, &known, "").context(|| format!("--set {setting}"))?;
            asked |= asks_for_fgsm(&given);
            merge(&mut table, given);
        }
        let mut config: Self = table.try_into().map_err(|cause: toml::de::Error| {
            Error::input("the configuration").caused_by(cause.to_string().trim().replace("\n", " "))
        })?;
        if !asked && !config.may_perturb() {
            config.fgsm.lambda = 0.0;
        }
        config.validate()?;
        Ok(config)
    }

    /// Sets the options that are absent by default, so that the list of keys is complete.
    fn with_all_keys(&self) -> Self {
        let mut all = self.clone();
        all.model.score.get_or_insert(Similarity::Cosine);
        all.model.entity_encoder.get_or_insert_default();
        all.optimiser.steps.get_or_insert(0);
        all.detect.get_or_insert_default();
        all
    }

    /// The configuration as TOML.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|cause| Error::input("writing the configuration").caused_by(cause))
    }
}

/// Whether a file or a setting says λ.
fn asks_for_fgsm(given: &toml::Table) -> bool {
    matches!(given.get("fgsm"), Some(toml::Value::Table(fgsm)) if fgsm.contains_key("lambda"))
}

/// Earlier versions had no `fgsm.absolute_epsilon`: their `fgsm.epsilon` was it. That of a run's
/// own configuration, which has every key, is read so; of another file nobody can tell.
///
/// # Errors
/// If it is another file.
fn read_earlier_epsilon(given: &mut toml::Table, known: &toml::Table, path: &Path) -> Result<()> {
    let mut keys = known.keys().filter(|key| *key != "detect");
    let is_of_a_run = keys.all(|key| given.contains_key(key));
    let Some(toml::Value::Table(fgsm)) = given.get_mut("fgsm") else {
        return Ok(());
    };
    let epsilon = match fgsm.get("epsilon") {
        Some(epsilon) if !fgsm.contains_key("absolute_epsilon") => epsilon.clone(),
        _ => return Ok(()),
    };
    let path = path.display();
    if !is_of_a_run {
        return Err(Error::input(format!(
            "{path}: `fgsm.epsilon` is ambiguous without `fgsm.absolute_epsilon`: it was absolute \
             in earlier versions, and is now a multiple of the deviation of the input embeddings. \
             Write `absolute_epsilon = {epsilon}` instead of it for the absolute value, or add \
             `absolute_epsilon = 0` for the multiple"
        )));
    }
    if fgsm.get("lambda").and_then(toml::Value::as_float) != Some(0.0) {
        eprintln!(
            "{path}: `fgsm.epsilon` of an earlier version is read as `fgsm.absolute_epsilon = \
             {epsilon}`"
        );
    }
    fgsm.remove("epsilon");
    fgsm.insert("absolute_epsilon".to_owned(), epsilon);
    Ok(())
}

fn parse(path: &Path) -> Result<toml::Table> {
    let text = read_text(path)?;
    let named = || path.display().to_string();
    if path
        .extension()
        .is_some_and(|extension| extension == "json")
    {
        let mut json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|cause| Error::input("expected JSON").caused_by(cause))
            .context(named)?;
        drop_nulls(&mut json);
        return serde_json::from_value(json)
            .map_err(|cause| Error::input("expected an object").caused_by(cause))
            .context(named);
    }
    text.parse().map_err(|cause: toml::de::Error| {
        let line = cause
            .span()
            .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::input(format!(
            "{}: line {line}: {}",
            path.display(),
            cause.message()
        ))
    })
}

/// Drops nulls: TOML has none, and here a null means an absent key.
fn drop_nulls(json: &mut serde_json::Value) {
    if let serde_json::Value::Object(fields) = json {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

/// `a.b=value` as a table.
fn assignment(setting: &str) -> Result<toml::Table> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Error::input(format!(
            "--set: expected key=value, found {setting:?}"
        )));
    };
    let parsed = format!("value = {value}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("value"));
    let mut inner = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    for part in key.trim().rsplit('.') {
        inner = toml::Value::Table(toml::Table::from_iter([(part.to_owned(), inner)]));
    }
    match inner {
        toml::Value::Table(table) => Ok(table),
        _ => Ok(toml::Table::new()),
    }
}

/// Refuses unknown keys.
fn check_keys(given: &toml::Table, known: &toml::Table, prefix: &str) -> Result<()> {
    for (key, value) in given {
        let path = format!("{prefix}{key}");
        match (known.get(key), value) {
            (None, _) => {
                let nearest = known
                    .keys()
                    .map(|other| (strsim::jaro_winkler(key, other), other));
                let nearest = nearest
                    .max_by(|a, b| a.0.total_cmp(&b.0))
                    .filter(|(near, _)| *near > 0.6);
                let hint = nearest.map_or_else(
                    || {
                        format!(
                            "; keys here: {}",
                            known.keys().cloned().collect::<Vec<_>>().join(", ")
                        )
                    },
                    |(_, other)| format!("; did you mean `{prefix}{other}`?"),
                );
                return Err(Error::input(format!("there is no key `{path}`{hint}")));
            }
            (Some(toml::Value::Table(known)), toml::Value::Table(given)) => {
                check_keys(given, known, &format!("{path}."))?;
            }
            (Some(toml::Value::Table(_)), _) => {
                return Err(Error::input(format!(
                    "`{path}`: expected a table, found {}",
                    value.type_str()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

fn merge(table: &mut toml::Table, given: toml::Table) {
    for (key, value) in given {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(inner)), toml::Value::Table(given)) => merge(inner, given),
            (_, value) => {
                table.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use super::*;

    const PATHS: [&str; 3] = [
        "data.kb=kb.jsonl",
        "data.corpus=corpus",
        "model.encoder=minilm",
    ];

    fn read(settings: &[&str]) -> Result<Config> {
        let settings: Vec<String> = PATHS
            .iter()
            .chain(settings)
            .map(|setting| (*setting).to_owned())
            .collect();
        Config::default().read(None, &settings)
    }

    #[test]
    fn default_settings_equal_the_papers() {
        let config = read(&[]).expect("whole");
        let Optimiser {
            learning_rate,
            warmup,
            epsilon,
            clip,
            batch,
            epochs,
            ..
        } = config.optimiser;
        assert_eq!(
            (learning_rate, warmup, epsilon, clip, batch, epochs),
            (1e-5, 0.25, 1e-6, 1.0, 32, 7.0)
        );
        assert_eq!(
            (config.loss.alpha, config.loss.delta, config.fgsm.lambda),
            (32.0, 0.0, 1.0)
        );
        // Of BERT-base's deviation, about 0.05, it is the paper's ε.
        assert!((config.fgsm.resolved(0.05) - 0.01).abs() < 1e-12);
        assert_eq!(
            (config.view.mention_tokens, config.view.entity_tokens),
            (128, 128)
        );
        assert_eq!(
            (
                config.negatives.hard_count(),
                config.negatives.random_count()
            ),
            (16, 16)
        );
        assert_eq!(config.reduction().score, Similarity::Cosine);
        assert_eq!(
            read(&["loss.kind=cross-entropy"])
                .expect("whole")
                .reduction()
                .score,
            Similarity::Dot
        );
        assert_eq!(
            read(&["loss.kind=cross-entropy", "model.score=cosine"])
                .expect("whole")
                .reduction()
                .score,
            Similarity::Cosine
        );
    }

    #[test]
    fn a_written_configuration_reads_back() {
        let config = read(&[
            "model.tied=true",
            "optimiser.steps=7",
            "data.more_kbs=[\"a\"]",
        ])
        .expect("whole");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, config.to_toml().expect("written")).expect("written");
        assert_eq!(
            Config::default().read(Some(&path), &[]).expect("whole"),
            config
        );
        let path = folder.path().join("config.json");
        std::fs::write(&path, serde_json::to_string(&config).expect("written")).expect("written");
        let again = Config::default().read(Some(&path), &[]);
        assert_eq!(again.expect("whole"), config);
    }

    #[test]
    fn fgsm_is_off_where_the_paper_has_none_unless_it_is_asked_for() {
        let lambda = |base: Config, settings: &[&str]| {
            let settings: Vec<String> = settings
                .iter()
                .map(|setting| (*setting).to_owned())
                .collect();
            base.read(None, &settings).map(|config| config.fgsm.lambda)
        };
        let distilled = ["data.candidates=\"list\"", "distillation.own_share=0.5"];
        for (base, settings, expected) in [
            (Config::default(), &[][..], 1.0),
            (Config::ranking(), &[], 1.0),
            (Config::blink(), &[], 0.0),
            (Config::blink_ranking(), &[], 0.0),
            (Config::t_biencoder(), &[], 0.0),
            (Config::alignment(), &[], 0.0),
            (Config::detection(), &[], 0.0),
            (Config::default(), &["data.task=align"], 0.0),
            (Config::default(), &distilled[..], 0.0),
            (Config::blink(), &["fgsm.lambda=0.5"], 0.5),
        ] {
            let found = lambda(base, settings).expect("whole");
            assert_eq!(found, expected, "{settings:?}");
        }
        let both = [&distilled[..], &["fgsm.lambda=1"][..]].concat();
        assert_eq!(lambda(Config::default(), &both).expect("whole"), 1.0);
        assert!(lambda(Config::alignment(), &["fgsm.lambda=1"]).is_err());
    }

    #[test]
    fn epsilon_of_an_earlier_version_keeps_its_meaning() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |text: &str| {
            let path = folder.path().join("config.toml");
            std::fs::write(&path, text).expect("written");
            Config::default().read(Some(&path), &[])
        };
        let epsilons = |config: &Config| (config.fgsm.epsilon, config.fgsm.absolute_epsilon);
        // The configuration of a run.
        let now = Config::default().to_toml().expect("written");
        let then = now.replace(
            "epsilon = 0.2\nabsolute_epsilon = 0.0\n",
            "epsilon = 0.03\n",
        );
        assert_ne!(now, then);
        assert_eq!(epsilons(&read(&then).expect("whole")), (0.2, 0.03));
        let config: Config = toml::from_str(&then).expect("whole");
        assert_eq!(epsilons(&config), (0.2, 0.03));
        assert_eq!(epsilons(&read(&now).expect("whole")), (0.2, 0.0));
        // What somebody wrote, in that version or in this one.
        let error = read("[fgsm]\nlambda = 1.0\nepsilon = 0.03\n").expect_err("unclear");
        assert!(
            error
                .to_string()
                .contains("`fgsm.epsilon` is ambiguous without `fgsm.absolute_epsilon`"),
            "{error}"
        );
        let read = |text: &str| epsilons(&read(text).expect("clear"));
        assert_eq!(read("[fgsm]\nabsolute_epsilon = 0.03\n"), (0.2, 0.03));
        assert_eq!(
            read("[fgsm]\nepsilon = 0.03\nabsolute_epsilon = 0\n"),
            (0.03, 0.0)
        );
    }

    #[test]
    fn defaults_alone_can_be_shown() {
        assert!(
            Config::default()
                .read(None, &[])
                .and_then(|config| config.to_toml())
                .is_ok()
        );
    }

    #[test]
    fn bad_settings_are_named() {
        for (setting, said) in [
            (
                "optimiser.learnig_rate=1",
                "did you mean `optimiser.learning_rate`?",
            ),
            ("lose.alpha=1", "did you mean `loss`?"),
            ("loss=3", "expected a table"),
            ("loss.alpha=high", "alpha"),
            ("loss.delta=1.5", "`loss.delta`: expected a margin"),
            ("fgsm.epsilon=-1", "`fgsm.epsilon`"),
            ("fgsm.epsilon=0", "`fgsm.epsilon`"),
            ("fgsm.absolute_epsilon=-1", "`fgsm.absolute_epsilon`"),
            ("negatives.kind=soft", "random"),
            ("optimiser.micro_batch=5", "a divisor of the batch"),
            ("negatives.count=0", "no negatives at all"),
            ("model.dropout=1", "`model.dropout`"),
            ("optimiser.batch=0", "`optimiser.batch`"),
            ("nonsense", "expected key=value"),
        ] {
            let error = read(&[setting]).expect_err(setting).to_string();
            assert!(error.contains(said), "{setting}: {error}");
        }
        for (settings, said) in [
            (
                ["data.task=align", "fgsm.lambda=1"],
                "`fgsm.lambda`: expected no setting, because alignment",
            ),
            (
                ["data.task=align", "model.scorer=sum-of-max"],
                "`model.scorer`: expected no setting",
            ),
            (
                ["data.task=align", "loss.multi_similarity.alpha=0"],
                "alpha and beta above 0",
            ),
            (
                ["transformation.ascents=1", "optimiser.micro_batch=4"],
                "`transformation.ascents`",
            ),
            (
                ["transformation.weight=1", "optimiser.chunk=4"],
                "`optimiser.chunk`: expected 0, because the learned transformation",
            ),
            (
                ["transformation.weight=1", "optimiser.replicas=2"],
                "`optimiser.replicas`: expected 1, because the learned transformation",
            ),
            (
                ["optimiser.batch=2", "optimiser.replicas=3"],
                "`optimiser.replicas`: expected at least 1, and at most",
            ),
            (
                ["data.task=detect", "optimiser.chunk=4"],
                "`optimiser.chunk`: expected 0, because this task",
            ),
        ] {
            let error = read(&settings).expect_err(said).to_string();
            assert!(error.contains(said), "{settings:?}: {error}");
        }
        // The candidates of the lists are the negatives.
        let listed = [
            "data.candidates=\"list\"",
            "negatives.kind=none",
            "distillation.own_share=0.5",
        ];
        assert!(read(&listed).is_ok());
    }
}
