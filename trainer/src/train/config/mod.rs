//! What a training run is: every option with its default, read from TOML or JSON and from `key=value` flags.

mod check;
mod counts;
mod defaults;
mod effect;
mod methods;
mod read;

pub use effect::idle;
pub use methods::{Distillation, Fgsm, Transformation};

use crate::data::domain::DomainOf;
use clap::ValueEnum;
use pel_shared::losses::objectives::MultiSimilarity;
use pel_shared::model::layer::Precision;
use pel_shared::model::tower::{Pooling, Reduction};
use pel_shared::score::{Score, Scorer};
use pel_shared::tokens::{EntityTemplate, MentionTemplate};
use pel_shared::tokens::{View, ViewOptions};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
    /// What is learned from a teacher.
    pub distillation: Distillation,
    /// The learned transformation.
    pub transformation: Transformation,
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
    /// A list of candidates for each mention, as `pel candidates` writes it; ranking and distillation learn from it.
    pub candidates: PathBuf,
    /// How many candidates of a list are used.
    pub top: usize,
    /// Put the right concept in the place of the last candidate where a list lacks it; else such mentions are left out.
    pub add_gold: bool,
    /// What the domain of a concept is.
    pub domains: DomainOf,
    /// Learn only from mentions whose concept is of one of these domains; of all if there is none.
    pub only_domains: Vec<String>,
}

/// What a run learns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// To link annotated mentions (`pel train`).
    #[default]
    Link,
    /// To put candidates into order: a cross-encoder (`pel train --stage rank`).
    Rank,
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
    /// What is compared: one vector of each, or the vectors of all tokens (Sum-of-Max).
    pub scorer: Scorer,
    /// How token vectors become one vector; for Sum-of-Max, in the first pass of a search. With `mention` it compares a
    /// mention's own tokens alone, without its context.
    pub pooling: Pooling,
    /// The share of values that dropout drops.
    pub dropout: f64,
    /// Leave the embedding layer as it is (T-Biencoder, section 4.3).
    pub freeze_embeddings: bool,
    /// Compute layers again on the way back: less memory, more time.
    pub gradient_checkpointing: bool,
    /// In which numbers linear layers multiply (mixed precision): `bf16` needs a processor with AMX or AVX-512 BF16,
    /// or a GPU that has it; `f16` a GPU that has it.
    pub precision: Precision,
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
    /// Whether short forms that a text defines are written out in its mentions.
    pub abbreviations: bool,
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
    /// Steps between two searches for hard negatives; 0 = an epoch.
    pub mine_every: usize,
    /// Hard negatives are drawn from so many of the nearest wrong entities.
    pub mine_top: usize,
    /// From which domains negatives are drawn.
    pub domain: Domain,
}

/// From which domains negatives are drawn (T-Biencoder, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Domain {
    /// From all of the knowledge base.
    #[default]
    Across,
    /// From all that training has mentions of: Random-CD, Hard-CD. What is tested on other domains has then not been trained against.
    Trained,
    /// From that of the right entity: Random-ID, Hard-ID.
    Inside,
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

/// How weights change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Optimiser {
    /// The highest learning rate.
    pub learning_rate: f64,
    /// The share of steps in which it rises, by equal parts from the first step on; in the others it falls to 0, or stays
    /// (`schedule`).
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
    /// Steps between two looks; 0 = after each epoch where the best weights are kept, else only at the end.
    pub every: usize,
    /// Look at so many mentions, at equal steps; 0 = none at all.
    pub mentions: usize,
    /// Which weights become the model. A configuration that was kept without this key is of a version that kept the last ones.
    #[serde(default = "Keep::of_earlier_versions")]
    pub keep: Keep,
    /// For ranking: the candidates of this split's mentions, as `pel candidates` writes them.
    pub candidates: PathBuf,
}

/// Which weights of a run become its model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Those with the highest recall@1 on the validation split, the earlier of equals; the last ones if nothing is validated
    #[default]
    Best,
    /// Those after the last step
    Last,
}

impl Keep {
    fn of_earlier_versions() -> Self {
        Self::Last
    }
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

impl Config {
    /// Whether a held-out split is looked at.
    pub fn validates(&self) -> bool {
        let listed = self.data.task != Task::Rank || !self.validation.candidates.as_os_str().is_empty();
        self.validation.mentions > 0 && !self.data.corpus.as_os_str().is_empty() && listed
    }

    /// Steps between two looks at the validation split, with so many examples to learn from; 0 = only at the end.
    pub fn validation_every(&self, examples: usize) -> usize {
        match (self.validation.every, self.validation.keep) {
            (0, Keep::Best) => examples.div_ceil(self.optimiser.batch).max(1),
            (every, _) => every,
        }
    }

    /// How vectors are reduced and compared.
    pub fn reduction(&self) -> Reduction {
        let by_loss = match (self.data.task, self.loss.kind) {
            (Task::Link, LossKind::CrossEntropy) | (Task::Rank, _) => Score::Dot,
            _ => Score::Cosine,
        };
        Reduction { pooling: self.model.pooling, score: self.model.score.unwrap_or(by_loss) }
    }

    /// How mentions and concepts are written, as a bundle says it.
    pub fn view_options(&self) -> ViewOptions {
        let Views { concepts, template, synonyms, mention, mention_tokens, entity_tokens, name_tokens, .. } = self.view;
        let abbreviations = self.view.abbreviations;
        ViewOptions {
            concepts,
            entity_template: template,
            synonyms,
            entity_tokens,
            name_tokens,
            mention_template: mention,
            mention_tokens,
            abbreviations,
            mix: 0.0,
            spelling: 0.0,
        }
    }
}
