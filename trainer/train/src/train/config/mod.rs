//! The configuration of a training run: every option with its default, read from TOML or JSON and
//! from `key=value` flags.

mod bounds;
mod check;
mod counts;
mod defaults;
mod detect;
mod effect;
mod methods;
mod read;
mod rules;

pub use detect::{AnnotatedTexts, Detect};
pub use effect::idle;
pub use methods::{Distillation, Fgsm, Transformation};

use clap::ValueEnum;
use pel_corpora::domain::DomainOf;
use pel_kb::score::{Scorer, Similarity};
use pel_model::layer::Precision;
use pel_model::losses::objectives::MultiSimilarity;
use pel_model::tokens::{EntityTemplate, MentionTemplate, View, ViewOptions};
use pel_model::tower::{Pooling, Reduction};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The configuration of a training run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Every random choice depends only on it and on the step.
    pub seed: u64,
    /// The training data.
    pub data: Data,
    /// The model to train.
    pub model: Model,
    /// How mentions and concepts are written.
    pub view: Views,
    /// The loss.
    pub loss: Loss,
    /// The negatives.
    pub negatives: Negatives,
    /// FGSM regularisation. Unless it is asked for, there is none in alignment, detection and
    /// distillation, which the paper does not have.
    pub fgsm: Fgsm,
    /// Distillation from a cross-encoder.
    pub distillation: Distillation,
    /// The learned transformation.
    pub transformation: Transformation,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// Validation during training.
    pub validation: Validation,
    /// Checkpoints during training.
    pub checkpoints: Checkpoints,
    /// The log and its copies for other programs.
    pub log: LogCopies,
    /// The detector, if one is trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect: Option<Detect>,
}

/// The training data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Data {
    /// The training task.
    pub task: Task,
    /// The corpus folder; not used for alignment.
    pub corpus: PathBuf,
    /// The training split.
    pub split: String,
    /// The concept table.
    pub kb: PathBuf,
    /// More concept tables, for alignment.
    pub more_kbs: Vec<PathBuf>,
    /// The number of training mentions, sampled by the seed; 0 = all.
    pub mentions: usize,
    /// At most so many mentions with the same tokens and the same concept; 0 = all. Bare mentions
    /// repeat often.
    pub max_repeats: usize,
    /// A candidate list for each mention, from `pel candidates`, for ranking and distillation.
    pub candidates: PathBuf,
    /// Candidates that are used of each list.
    pub top: usize,
    /// If a list lacks the right concept, replace its last candidate by it; otherwise such mentions
    /// are skipped.
    pub add_gold: bool,
    /// Which field of a concept is its domain.
    pub domains: DomainOf,
    /// Train only on mentions of concepts in these domains; empty = all.
    pub only_domains: Vec<String>,
}

/// The training task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Link annotated mentions with a bi-encoder (`pel train`).
    #[default]
    Link,
    /// Rank candidates with a cross-encoder (`pel train --stage rank`).
    Rank,
    /// Align the names of each concept (`pel pretrain`).
    Align,
    /// Find mentions (`pel train --stage detect`).
    Detect,
}

/// The model to train.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// A folder with config.json, model.safetensors or pytorch_model.bin, and tokenizer.json or
    /// vocab.txt.
    pub encoder: PathBuf,
    /// The initial entity tower, if it differs; needs `tied = false`.
    pub entity_encoder: Option<PathBuf>,
    /// Whether one tower encodes mentions and entities.
    pub tied: bool,
    /// The similarity of vectors. By default as in the papers: cosine for the proxy-based loss, dot
    /// product for cross-entropy.
    pub score: Option<Similarity>,
    /// The scorer: one vector each (dual), or the vectors of all tokens (Sum-of-Max).
    pub scorer: Scorer,
    /// How token vectors are pooled; under Sum-of-Max for the first pass of a search. `mention`
    /// pools only the tokens of the mention, without its context.
    pub pooling: Pooling,
    /// The dropout rate.
    pub dropout: f64,
    /// Freeze the embedding layer (T-Biencoder, section 4.3).
    pub freeze_embeddings: bool,
    /// Gradient checkpointing: less memory, more time.
    pub gradient_checkpointing: bool,
    /// The precision of products in linear layers (mixed precision): `bf16` needs a processor with
    /// AMX or AVX-512 BF16, or a GPU with bfloat16; `f16` needs a GPU with half-precision floats.
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
    /// For concepts with both views, the share of examples that use the template.
    pub template_share: f64,
}

/// The loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loss {
    /// Which loss.
    pub kind: LossKind,
    /// α of the proxy-based loss.
    pub alpha: f64,
    /// δ of the proxy-based loss.
    pub delta: f64,
    /// The factor on scores before cross-entropy; 1 in the paper. Cosines need a larger one.
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

/// The negatives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Negatives {
    /// Which entities are drawn.
    pub kind: NegativeKind,
    /// N: negatives of each mention.
    pub count: usize,
    /// p of Mixed-p: the share of hard negatives.
    pub hard_share: f64,
    /// Whether in-batch negatives are used too.
    pub in_batch: bool,
    /// Steps between two mining passes; 0 = one epoch.
    pub mine_every: usize,
    /// Hard negatives are drawn from this many nearest wrong entities.
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
    /// From all domains of the training mentions: Random-CD, Hard-CD. Test domains then never serve
    /// as negatives.
    Trained,
    /// From the domain of the right entity: Random-ID, Hard-ID.
    Inside,
}

/// Which entities are drawn as negatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NegativeKind {
    /// No negatives are drawn; only in-batch negatives can remain.
    None,
    /// Uniformly over the knowledge base.
    Random,
    /// The nearest wrong entities.
    Hard,
    /// A share of hard negatives, the rest random.
    Mixed,
}

/// The optimiser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Optimiser {
    /// The peak learning rate.
    pub learning_rate: f64,
    /// The share of steps in the linear warm-up; afterwards the rate follows `schedule`.
    pub warmup: f64,
    /// The schedule of the learning rate.
    pub schedule: Schedule,
    /// ε of AdamW.
    pub epsilon: f64,
    /// β1 and β2 of AdamW.
    pub betas: [f64; 2],
    /// Weight decay; not applied to biases and LayerNorms.
    pub weight_decay: f64,
    /// The norm to which gradients are clipped; 0 = no clipping.
    pub clip: f64,
    /// Examples of a step (effective batch size).
    pub batch: usize,
    /// Examples of a micro-batch; gradients are accumulated. 0 = the whole batch.
    pub micro_batch: usize,
    /// Sequences of a micro-batch that are encoded at a time (GradCache): less memory, an
    /// additional forward pass, the same gradients. 0 = all.
    pub chunk: usize,
    /// Replicas of the model, each with its share of a micro-batch: threads of the CPU, or NVIDIA
    /// GPUs.
    pub replicas: usize,
    /// Epochs.
    pub epochs: f64,
    /// The number of steps; overrides `epochs`.
    pub steps: Option<usize>,
    /// Early stopping: the run ends after so many validations in a row without a better figure
    /// (recall@1; for a detector the mean F1); 0 = off.
    pub patience: usize,
}

/// The schedule of the learning rate after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Linear decay to 0.
    Linear,
    /// Constant.
    Constant,
}

/// Validation during training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Validation {
    /// The split.
    pub split: String,
    /// Steps between two validations; 0 = after each epoch if the best weights are kept, otherwise
    /// only at the end.
    pub every: usize,
    /// Mentions to validate on, taken at equal distances; 0 = no validation.
    pub mentions: usize,
    /// Which weights become the model. Configurations without this key come from a version that
    /// kept the last weights.
    #[serde(default = "Keep::of_earlier_versions")]
    pub keep: Keep,
    /// For ranking: the candidate lists of the validation split, from `pel candidates`.
    pub candidates: PathBuf,
}

/// Which weights become the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Those with the highest recall@1 on the validation split, the earlier of equals; the last
    /// ones if nothing is validated
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

/// Checkpoints during training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Checkpoints {
    /// Steps between two checkpoints.
    pub every: usize,
    /// How many of the latest checkpoints are kept.
    pub keep: usize,
}

/// The log: its copy for TensorBoard, and how often figures are read. A run may be resumed with
/// other settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogCopies {
    /// Event files of TensorBoard.
    pub tensorboard: bool,
    /// On a GPU: the loss and the norm of gradients of so many steps are read back together; 0 = 10.
    /// On the processor, and with f16 or the learned transformation, those of each step.
    pub every: usize,
}

impl Config {
    /// Whether the run validates.
    pub fn validates(&self) -> bool {
        let listed =
            self.data.task != Task::Rank || !self.validation.candidates.as_os_str().is_empty();
        self.validation.mentions > 0 && !self.data.corpus.as_os_str().is_empty() && listed
    }

    /// Steps between two validations with this many training examples; 0 = only at the end.
    pub fn validation_every(&self, examples: usize) -> usize {
        match (self.validation.every, self.validation.keep) {
            (0, Keep::Best) => examples.div_ceil(self.optimiser.batch).max(1),
            (every, _) => every,
        }
    }

    /// How vectors are reduced and compared.
    pub fn reduction(&self) -> Reduction {
        let by_loss = match (self.data.task, self.loss.kind) {
            (Task::Link, LossKind::CrossEntropy) | (Task::Rank, _) => Similarity::Dot,
            _ => Similarity::Cosine,
        };
        Reduction {
            pooling: self.model.pooling,
            score: self.model.score.unwrap_or(by_loss),
        }
    }

    /// How mentions and concepts are written, as a bundle says it.
    pub fn view_options(&self) -> ViewOptions {
        let Views {
            concepts,
            template,
            synonyms,
            mention,
            mention_tokens,
            entity_tokens,
            name_tokens,
            ..
        } = self.view;
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
            name_context: None,
        }
    }
}
