//! What a training run is: every option with its default, read from TOML or JSON and from `key=value` flags.
//!
//! Defaults are those of PEL's table 6 where it has the option.

use crate::files::read_text;
use pel_shared::biencoder::{Pooling, Reduction};
use pel_shared::bundle::{View, ViewOptions};
use pel_shared::error::{Context, Error, Result};
use pel_shared::loss::{MultiSimilarity, Proxy};
use pel_shared::score::Score;
use pel_shared::tokens::{EntityTemplate, MentionTemplate};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Every random choice derives from it and from the step.
    pub seed: u64,
    /// What is learned from.
    pub data: Data,
    /// What is trained.
    pub model: Model,
    /// How mentions and concepts are written.
    pub view: Views,
    /// What is minimised.
    pub loss: Loss,
    /// What mentions are pushed away from.
    pub negatives: Negatives,
    /// FGSM regularisation.
    pub fgsm: Fgsm,
    /// How weights change.
    pub optimiser: Optimiser,
    /// Looking at a held-out split on the way.
    pub validation: Validation,
    /// What is kept on the way.
    pub checkpoints: Checkpoints,
}

/// What is learned from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// Annotated mentions, or the names of the knowledge base alone.
    pub task: Task,
    /// The corpus folder; not used for alignment.
    pub corpus: PathBuf,
    /// The split to learn from.
    pub split: String,
    /// The concept table.
    pub kb: PathBuf,
    /// More concept tables, whose names alignment learns from too.
    pub more_kbs: Vec<PathBuf>,
    /// Learn from so many mentions only, chosen by the seed; 0 = all.
    pub mentions: usize,
    /// Of mentions with the same tokens and the same concept only the first so many stay; 0 = all. Bare mentions repeat a
    /// lot.
    pub max_repeats: usize,
}

/// What a run learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// To link annotated mentions (`pel train`).
    #[default]
    Link,
    /// That the names of a concept mean the same (`pel pretrain`).
    Align,
}

/// What is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// A folder with config.json, model.safetensors and tokenizer.json.
    pub encoder: PathBuf,
    /// Where the entity tower begins, if elsewhere; needs `tied = false`.
    pub entity_encoder: Option<PathBuf>,
    /// Whether one tower reads mentions and entities.
    pub tied: bool,
    /// How vectors are compared; without it, as the paper has it: by cosine for the proxy-based loss, by the raw dot
    /// product for cross-entropy.
    pub score: Option<Score>,
    /// How token vectors become one vector.
    pub pooling: Pooling,
    /// The share of values that dropout drops.
    pub dropout: f64,
    /// Compute layers again on the way back: less memory, more time.
    pub gradient_checkpointing: bool,
}

/// How mentions and concepts are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Views {
    /// Which texts stand for a concept.
    pub concepts: View,
    /// The form of a concept's template.
    pub template: EntityTemplate,
    /// Whether a template lists synonyms.
    pub synonyms: bool,
    /// The form of a mention.
    pub mention: MentionTemplate,
    /// The longest mention in tokens, context included.
    pub mention_tokens: usize,
    /// The longest template in tokens.
    pub entity_tokens: usize,
    /// The longest name in tokens.
    pub name_tokens: usize,
    /// Where concepts have both views, the share of examples that meet the template.
    pub template_share: f64,
}

/// What is minimised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loss {
    /// Which loss.
    pub kind: LossKind,
    /// α of the proxy-based loss.
    pub alpha: f64,
    /// δ of the proxy-based loss.
    pub delta: f64,
    /// The factor on scores before cross-entropy; 1 in the paper. Cosines need one.
    pub scale: f64,
    /// The multi-similarity loss of alignment.
    pub multi_similarity: MultiSimilarity,
}

/// Which loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// PEL, eq. 3.
    Proxy,
    /// PEL, eq. 1.
    CrossEntropy,
}

/// What mentions are pushed away from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Negatives {
    /// Which entities.
    pub kind: NegativeKind,
    /// N: how many for each mention.
    pub count: usize,
    /// p of Mixed-p: the share that is hard.
    pub hard_share: f64,
    /// Whether the entities of a batch's other mentions are negatives too.
    pub in_batch: bool,
    /// Steps between two searches over the whole knowledge base for hard negatives.
    pub mine_every: usize,
    /// Hard negatives are drawn from so many of the nearest wrong entities.
    pub mine_top: usize,
}

/// Which entities are drawn as negatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NegativeKind {
    /// None are drawn; only those of the batch are left.
    None,
    /// Uniformly over the knowledge base.
    Random,
    /// The nearest wrong ones.
    Hard,
    /// A share of hard ones, the rest random.
    Mixed,
}

/// FGSM regularisation (PEL, eq. 6 to 8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fgsm {
    /// λ: the weight of the loss over perturbed entities; 0 = no FGSM.
    pub lambda: f64,
    /// ε: the size of a perturbation.
    pub epsilon: f64,
}

/// How weights change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Optimiser {
    /// The highest learning rate.
    pub learning_rate: f64,
    /// The share of steps in which it rises from 0; it falls to 0 in the others.
    pub warmup: f64,
    /// The learning rate over the steps.
    pub schedule: Schedule,
    /// Added to the root of the squares.
    pub epsilon: f64,
    /// β1 and β2.
    pub betas: [f64; 2],
    /// Weight decay; biases and LayerNorms have none.
    pub weight_decay: f64,
    /// The longest gradient; 0 = no clipping.
    pub clip: f64,
    /// Examples of a step (the effective batch).
    pub batch: usize,
    /// Examples that are computed at once; their gradients are added up. 0 = all of the batch.
    pub micro_batch: usize,
    /// Passes over the examples.
    pub epochs: f64,
    /// Steps; if given, instead of the epochs.
    pub steps: Option<usize>,
}

/// The learning rate over the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Up in the warm-up, then down to 0.
    Linear,
    /// Up in the warm-up, then the same.
    Constant,
}

/// Looking at a held-out split on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// The split.
    pub split: String,
    /// Steps between two looks; 0 = only at the end.
    pub every: usize,
    /// Look at so many mentions, at equal steps; 0 = none at all.
    pub mentions: usize,
}

/// What is kept on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Checkpoints {
    /// Steps between two checkpoints.
    pub every: usize,
    /// How many of the last ones stay.
    pub keep: usize,
}

impl Default for Data {
    fn default() -> Self {
        let (corpus, split, kb) = (PathBuf::new(), "train".into(), PathBuf::new());
        Self { task: Task::Link, corpus, split, kb, more_kbs: Vec::new(), mentions: 0, max_repeats: 0 }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            encoder: PathBuf::new(),
            entity_encoder: None,
            tied: false,
            score: None,
            pooling: Pooling::Mean,
            dropout: 0.1,
            gradient_checkpointing: false,
        }
    }
}

impl Default for Views {
    fn default() -> Self {
        ViewOptions::template().into()
    }
}

impl From<ViewOptions> for Views {
    fn from(view: ViewOptions) -> Self {
        Self {
            concepts: view.concepts,
            template: view.entity_template,
            synonyms: view.synonyms,
            mention: view.mention_template,
            mention_tokens: view.mention_tokens,
            entity_tokens: view.entity_tokens,
            name_tokens: view.name_tokens,
            template_share: 0.5,
        }
    }
}

impl Default for Loss {
    fn default() -> Self {
        let Proxy { alpha, delta } = Proxy::default();
        Self { kind: LossKind::Proxy, alpha, delta, scale: 1.0, multi_similarity: MultiSimilarity::default() }
    }
}

impl Default for Negatives {
    fn default() -> Self {
        Self { kind: NegativeKind::Mixed, count: 32, hard_share: 0.5, in_batch: false, mine_every: 1000, mine_top: 64 }
    }
}

impl Default for Fgsm {
    fn default() -> Self {
        Self { lambda: 0.0, epsilon: 0.01 }
    }
}

impl Default for Optimiser {
    fn default() -> Self {
        Self {
            learning_rate: 1e-5,
            warmup: 0.25,
            schedule: Schedule::Linear,
            epsilon: 1e-6,
            betas: [0.9, 0.999],
            weight_decay: 0.01,
            clip: 1.0,
            batch: 32,
            micro_batch: 0,
            epochs: 7.0,
            steps: None,
        }
    }
}

impl Default for Validation {
    fn default() -> Self {
        Self { split: "dev".into(), every: 0, mentions: 1000 }
    }
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self { every: 500, keep: 2 }
    }
}

impl Config {
    /// Reads a configuration over these defaults: a file (TOML, or JSON if its name ends in .json), then `key=value`
    /// settings such as `loss.alpha=16`; values are TOML, bare words are strings.
    ///
    /// # Errors
    /// If the file cannot be read, a key is not known (the error suggests the nearest one), a value has another form, or
    /// values do not fit together.
    pub fn read(self, file: Option<&Path>, settings: &[String]) -> Result<Self> {
        let known = toml::Table::try_from(self.with_all_keys())
            .map_err(|cause| Error::input("the configuration").caused_by(cause))?;
        let mut table =
            toml::Table::try_from(&self).map_err(|cause| Error::input("the configuration").caused_by(cause))?;
        if let Some(path) = file {
            let given = parse(path)?;
            check_keys(&given, &known, "").context(|| path.display().to_string())?;
            merge(&mut table, given);
        }
        for setting in settings {
            let given = assignment(setting)?;
            check_keys(&given, &known, "").context(|| format!("--set {setting}"))?;
            merge(&mut table, given);
        }
        let config: Self = table.try_into().map_err(|cause: toml::de::Error| {
            Error::input("the configuration").caused_by(cause.to_string().trim().replace("\n", " "))
        })?;
        config.validate()?;
        Ok(config)
    }

    /// Options that are absent by default would be missing in a list of keys.
    fn with_all_keys(&self) -> Self {
        let mut all = self.clone();
        all.model.score.get_or_insert(Score::Cosine);
        all.model.entity_encoder.get_or_insert_default();
        all.optimiser.steps.get_or_insert(0);
        all
    }

    fn validate(&self) -> Result<()> {
        let refuse = |key: &str, expected: &str, found: &dyn std::fmt::Display| {
            Err(Error::input(format!("the configuration: `{key}`: expected {expected}, found {found}")))
        };
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let Self { data, model, view, loss, negatives, fgsm, optimiser, .. } = self;
        let link = data.task == Task::Link;
        for (key, path, needed) in
            [("data.kb", &data.kb, true), ("data.corpus", &data.corpus, link), ("model.encoder", &model.encoder, true)]
        {
            if needed && path.as_os_str().is_empty() {
                return refuse(key, "a path", &"nothing");
            }
        }
        if model.tied && model.entity_encoder.is_some() {
            return refuse("model.tied", "false, because there is an entity encoder", &true);
        }
        if !(0.0..1.0).contains(&model.dropout) {
            return refuse("model.dropout", "a share from 0 to less than 1", &model.dropout);
        }
        if !share(view.template_share) {
            return refuse("view.template_share", "a share from 0 to 1", &view.template_share);
        }
        if !(loss.alpha > 0.0 && loss.alpha.is_finite()) {
            return refuse("loss.alpha", "a positive number", &loss.alpha);
        }
        // Cosines are at most 1 apart from 0: a larger margin asks for what no pair can reach.
        if !(0.0..1.0).contains(&loss.delta) {
            return refuse("loss.delta", "a margin from 0 to less than 1", &loss.delta);
        }
        if !(loss.scale > 0.0 && loss.scale.is_finite()) {
            return refuse("loss.scale", "a positive number", &loss.scale);
        }
        if !(0.0..=10.0).contains(&fgsm.epsilon) || (fgsm.lambda > 0.0 && fgsm.epsilon == 0.0) {
            return refuse("fgsm.epsilon", "a small positive number", &fgsm.epsilon);
        }
        if !(fgsm.lambda >= 0.0 && fgsm.lambda.is_finite()) {
            return refuse("fgsm.lambda", "a number from 0", &fgsm.lambda);
        }
        if !share(negatives.hard_share) {
            return refuse("negatives.hard_share", "a share from 0 to 1", &negatives.hard_share);
        }
        let drawn = negatives.kind != NegativeKind::None && negatives.count > 0;
        if link && !drawn && !negatives.in_batch {
            return refuse("negatives", "a count, or in_batch = true", &"no negatives at all");
        }
        if negatives.mines() && (negatives.mine_every == 0 || negatives.mine_top < negatives.hard_count()) {
            let expected = "mine_every of at least 1, and mine_top no smaller than the hard ones of a mention";
            let found = format!("{} and {}", negatives.mine_every, negatives.mine_top);
            return refuse("negatives", expected, &found);
        }
        if !(optimiser.learning_rate > 0.0 && optimiser.learning_rate < 1.0) {
            return refuse("optimiser.learning_rate", "a small positive number", &optimiser.learning_rate);
        }
        if !share(optimiser.warmup) {
            return refuse("optimiser.warmup", "a share from 0 to 1", &optimiser.warmup);
        }
        if optimiser.betas.iter().any(|beta| !(0.0..1.0).contains(beta)) {
            return refuse("optimiser.betas", "two shares below 1", &format!("{:?}", optimiser.betas));
        }
        let from_zero = |value: f64| value >= 0.0 && value.is_finite();
        if optimiser.epsilon == 0.0
            || ![optimiser.epsilon, optimiser.clip, optimiser.weight_decay].into_iter().all(from_zero)
        {
            return refuse("optimiser", "epsilon above 0, clip and weight_decay from 0", &"something else");
        }
        if optimiser.batch == 0 {
            return refuse("optimiser.batch", "at least 1", &0);
        }
        if !optimiser.batch.is_multiple_of(optimiser.micro()) {
            return refuse("optimiser.micro_batch", "a divisor of the batch", &optimiser.micro_batch);
        }
        if optimiser.epochs == 0.0 || !from_zero(optimiser.epochs) || optimiser.steps == Some(0) {
            return refuse("optimiser", "epochs above 0, or at least one step", &"none");
        }
        if self.checkpoints.every == 0 || self.checkpoints.keep == 0 {
            return refuse("checkpoints", "every and keep of at least 1", &0);
        }
        Ok(())
    }

    /// How vectors are reduced and compared.
    pub fn reduction(&self) -> Reduction {
        let by_loss = match (self.data.task, self.loss.kind) {
            (Task::Link, LossKind::CrossEntropy) => Score::Dot,
            _ => Score::Cosine,
        };
        Reduction { pooling: self.model.pooling, score: self.model.score.unwrap_or(by_loss) }
    }

    /// How mentions and concepts are written, as a bundle says it.
    pub fn view_options(&self) -> ViewOptions {
        let Views { concepts, template, synonyms, mention, mention_tokens, entity_tokens, name_tokens, .. } = self.view;
        ViewOptions {
            concepts,
            entity_template: template,
            synonyms,
            entity_tokens,
            name_tokens,
            mention_template: mention,
            mention_tokens,
        }
    }

    /// The configuration as TOML.
    ///
    /// # Errors
    /// If it cannot be written so.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self).map_err(|cause| Error::input("writing the configuration").caused_by(cause))
    }
}

impl Optimiser {
    /// Examples that are computed at once.
    pub fn micro(&self) -> usize {
        if self.micro_batch == 0 { self.batch } else { self.micro_batch }
    }
}

impl Negatives {
    /// Whether hard negatives are wanted.
    pub fn mines(&self) -> bool {
        self.hard_count() > 0
    }

    /// Hard negatives of a mention.
    pub fn hard_count(&self) -> usize {
        match self.kind {
            NegativeKind::None | NegativeKind::Random => 0,
            NegativeKind::Hard => self.count,
            NegativeKind::Mixed => (self.count as f64 * self.hard_share).round() as usize,
        }
    }

    /// Random negatives of a mention.
    pub fn random_count(&self) -> usize {
        if self.kind == NegativeKind::None { 0 } else { self.count - self.hard_count() }
    }
}

fn parse(path: &Path) -> Result<toml::Table> {
    let text = read_text(path)?;
    let named = || path.display().to_string();
    if path.extension().is_some_and(|extension| extension == "json") {
        let mut json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|cause| Error::input("expected JSON").caused_by(cause))
            .context(named)?;
        drop_nulls(&mut json);
        return serde_json::from_value(json)
            .map_err(|cause| Error::input("expected an object").caused_by(cause))
            .context(named);
    }
    text.parse().map_err(|cause: toml::de::Error| {
        let line = cause.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::input(format!("{}: line {line}: {}", path.display(), cause.message()))
    })
}

/// TOML has no null; it means the same as an absent key here.
fn drop_nulls(json: &mut serde_json::Value) {
    if let serde_json::Value::Object(fields) = json {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

/// `a.b=value` as a table.
fn assignment(setting: &str) -> Result<toml::Table> {
    let Some((key, value)) = setting.split_once('=') else {
        return Err(Error::input(format!("--set: expected key=value, found {setting:?}")));
    };
    let parsed = format!("value = {value}").parse::<toml::Table>().ok().and_then(|mut table| table.remove("value"));
    let mut inner = parsed.unwrap_or_else(|| toml::Value::String(value.to_owned()));
    for part in key.trim().rsplit('.') {
        inner = toml::Value::Table(toml::Table::from_iter([(part.to_owned(), inner)]));
    }
    match inner {
        toml::Value::Table(table) => Ok(table),
        _ => Ok(toml::Table::new()),
    }
}

/// Refuses a key that the defaults do not have.
fn check_keys(given: &toml::Table, known: &toml::Table, prefix: &str) -> Result<()> {
    for (key, value) in given {
        let path = format!("{prefix}{key}");
        match (known.get(key), value) {
            (None, _) => {
                let nearest = known.keys().map(|other| (strsim::jaro_winkler(key, other), other));
                let nearest = nearest.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(near, _)| *near > 0.6);
                let hint = nearest.map_or_else(
                    || format!("; keys here: {}", known.keys().cloned().collect::<Vec<_>>().join(", ")),
                    |(_, other)| format!("; did you mean `{prefix}{other}`?"),
                );
                return Err(Error::input(format!("there is no key `{path}`{hint}")));
            }
            (Some(toml::Value::Table(known)), toml::Value::Table(given)) => {
                check_keys(given, known, &format!("{path}."))?;
            }
            (Some(toml::Value::Table(_)), _) => {
                return Err(Error::input(format!("`{path}`: expected a table, found {}", value.type_str())));
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
    use super::*;

    const PATHS: [&str; 3] = ["data.kb=kb.jsonl", "data.corpus=corpus", "model.encoder=minilm"];

    fn read(settings: &[&str]) -> Result<Config> {
        let settings: Vec<String> = PATHS.iter().chain(settings).map(|setting| (*setting).to_owned()).collect();
        Config::default().read(None, &settings)
    }

    #[test]
    fn defaults_are_the_papers() {
        let config = read(&[]).expect("whole");
        let Optimiser { learning_rate, warmup, epsilon, clip, batch, epochs, .. } = config.optimiser;
        assert_eq!((learning_rate, warmup, epsilon, clip, batch, epochs), (1e-5, 0.25, 1e-6, 1.0, 32, 7.0));
        assert_eq!((config.loss.alpha, config.loss.delta, config.fgsm.epsilon), (32.0, 0.0, 0.01));
        assert_eq!((config.view.mention_tokens, config.view.entity_tokens), (128, 128));
        assert_eq!((config.negatives.hard_count(), config.negatives.random_count()), (16, 16));
        assert_eq!(config.reduction().score, Score::Cosine);
        assert_eq!(read(&["loss.kind=cross-entropy"]).expect("whole").reduction().score, Score::Dot);
        assert_eq!(
            read(&["loss.kind=cross-entropy", "model.score=cosine"]).expect("whole").reduction().score,
            Score::Cosine
        );
    }

    #[test]
    fn a_written_configuration_reads_back() {
        let config = read(&["model.tied=true", "optimiser.steps=7", "data.more_kbs=[\"a\"]"]).expect("whole");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, config.to_toml().expect("written")).expect("written");
        assert_eq!(Config::default().read(Some(&path), &[]).expect("whole"), config);
        let path = folder.path().join("config.json");
        std::fs::write(&path, serde_json::to_string(&config).expect("written")).expect("written");
        let again = Config::default().read(Some(&path), &[]);
        assert_eq!(again.expect("whole"), config);
    }

    #[test]
    fn bad_settings_are_named() {
        for (setting, said) in [
            ("optimiser.learnig_rate=1", "did you mean `optimiser.learning_rate`?"),
            ("lose.alpha=1", "did you mean `loss`?"),
            ("loss=3", "expected a table"),
            ("loss.alpha=high", "alpha"),
            ("loss.delta=1.5", "`loss.delta`: expected a margin"),
            ("fgsm.epsilon=-1", "`fgsm.epsilon`"),
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
    }
}
