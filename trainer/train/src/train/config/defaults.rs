//! The defaults: those of PEL's table 6, where it lists the option.

use super::*;
use pel_corpora::domain::DomainOf;
use pel_model::losses::objectives::Proxy;
use pel_model::losses::transformation::Norm;
use pel_model::tokens::{EntityTemplate, MentionTemplate, View};

impl Config {
    /// The defaults of a cross-encoder: PEL, table 6, second column.
    pub fn ranking() -> Self {
        Self {
            data: Data {
                task: Task::Rank,
                ..Data::default()
            },
            model: Model {
                tied: true,
                ..Model::default()
            },
            loss: Loss {
                kind: LossKind::CrossEntropy,
                ..Loss::default()
            },
            optimiser: Optimiser {
                learning_rate: 2e-5,
                warmup: 0.2,
                batch: 4,
                epochs: 5.0,
                ..Optimiser::default()
            },
            ..Self::default()
        }
    }

    /// BLINK's bi-encoder: `[CLS]` pooling of titles and descriptions, cross-entropy over the dot
    /// product, in-batch negatives and 10 hard negatives (section 4.1 and appendix A).
    pub fn blink() -> Self {
        Self {
            loss: Loss {
                kind: LossKind::CrossEntropy,
                ..Loss::default()
            },
            negatives: Negatives {
                kind: NegativeKind::Hard,
                in_batch: true,
                count: 10,
                mine_top: 10,
                domain: Domain::Trained,
                ..Negatives::default()
            },
            fgsm: Fgsm::off(),
            optimiser: Optimiser {
                learning_rate: 2e-5,
                batch: 128,
                epochs: 5.0,
                ..Optimiser::default()
            },
            ..Self::default()
        }
        .as_blink_reads()
    }

    /// BLINK's cross-encoder on ZESHEL: `[CLS]` pooling of titles and descriptions, 64 candidates,
    /// one mention per step (section 5.2.1 and appendix A.2).
    pub fn blink_ranking() -> Self {
        let ranking = Self::ranking();
        Self {
            data: Data {
                top: 64,
                ..ranking.data
            },
            fgsm: Fgsm::off(),
            optimiser: Optimiser {
                learning_rate: 1e-5,
                batch: 1,
                epochs: 2.0,
                ..ranking.optimiser
            },
            ..ranking
        }
        .as_blink_reads()
    }

    /// T-Biencoder: `[CLS]` pooling of titles and descriptions, cross-entropy, 15 random in-domain
    /// negatives, frozen embeddings, and the transformation after the first layer (sections 3.3 and
    /// 4.3; table 3).
    pub fn t_biencoder() -> Self {
        Self {
            model: Model {
                freeze_embeddings: true,
                ..Model::default()
            },
            loss: Loss {
                kind: LossKind::CrossEntropy,
                ..Loss::default()
            },
            negatives: Negatives {
                kind: NegativeKind::Random,
                count: 15,
                // Used if `kind` is changed to hard negatives, which are mined once an epoch.
                mine_top: 15,
                mine_every: 0,
                domain: Domain::Inside,
                ..Negatives::default()
            },
            fgsm: Fgsm::off(),
            transformation: Transformation {
                weight: 1.0,
                ..Transformation::default()
            },
            optimiser: Optimiser {
                batch: 64,
                epochs: 5.0,
                ..Optimiser::default()
            },
            ..Self::default()
        }
        .as_blink_reads()
    }

    /// The defaults of alignment: one tower, names of at most 25 tokens, a batch of 256 pairs, a
    /// learning rate of 2e-5, one epoch (as SapBERT, with half its batch size).
    pub fn alignment() -> Self {
        let view = Views {
            concepts: View::Names,
            mention: MentionTemplate::Bare,
            mention_tokens: 25,
            name_tokens: 25,
            ..Views::default()
        };
        Self {
            data: Data {
                task: Task::Align,
                ..Data::default()
            },
            model: Model {
                tied: true,
                ..Model::default()
            },
            view,
            fgsm: Fgsm::off(),
            optimiser: Optimiser {
                learning_rate: 2e-5,
                batch: 256,
                epochs: 1.0,
                warmup: 0.1,
                ..Optimiser::default()
            },
            ..Self::default()
        }
    }

    /// The defaults of a detector.
    pub fn detection() -> Self {
        Self {
            data: Data {
                task: Task::Detect,
                ..Data::default()
            },
            model: Model {
                tied: true,
                freeze_embeddings: true,
                ..Model::default()
            },
            fgsm: Fgsm::off(),
            optimiser: Optimiser {
                learning_rate: 1e-4,
                warmup: 0.1,
                batch: 16,
                epochs: 4.0,
                ..Optimiser::default()
            },
            validation: Validation {
                keep: Keep::Last,
                ..Validation::default()
            },
            detect: Some(Detect::default()),
            ..Self::default()
        }
    }

    /// Sets `[CLS]` pooling and templates of titles and descriptions (BLINK, section 4).
    #[must_use]
    pub fn as_blink_reads(mut self) -> Self {
        (self.model.pooling, self.view.template) = (Pooling::Cls, EntityTemplate::Description);
        self
    }
}

impl Default for Data {
    fn default() -> Self {
        let (corpus, split, kb) = (PathBuf::new(), "train".into(), PathBuf::new());
        Self {
            task: Task::Link,
            corpus,
            split,
            kb,
            more_kbs: Vec::new(),
            mentions: 0,
            max_repeats: 0,
            candidates: PathBuf::new(),
            top: 16,
            add_gold: false,
            domains: DomainOf::Source,
            only_domains: Vec::new(),
        }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            encoder: PathBuf::new(),
            entity_encoder: None,
            tied: false,
            score: None,
            scorer: Scorer::Dual,
            pooling: Pooling::Mean,
            dropout: 0.1,
            freeze_embeddings: false,
            gradient_checkpointing: false,
            precision: Precision::F32,
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
            abbreviations: view.abbreviations,
            entity_tokens: view.entity_tokens,
            name_tokens: view.name_tokens,
            template_share: 0.5,
        }
    }
}

impl Default for Loss {
    fn default() -> Self {
        let Proxy { alpha, delta } = Proxy::default();
        Self {
            kind: LossKind::Proxy,
            alpha,
            delta,
            scale: 1.0,
            multi_similarity: MultiSimilarity::default(),
        }
    }
}

impl Default for Negatives {
    fn default() -> Self {
        Self {
            kind: NegativeKind::Mixed,
            count: 32,
            hard_share: 0.5,
            in_batch: false,
            mine_every: 1000,
            mine_top: 64,
            domain: Domain::Across,
        }
    }
}

impl Default for Fgsm {
    /// PEL, table 6: λ = 1, ε = 0.01. The input embeddings of BERT-base deviate by about 0.05 (its
    /// words by 0.043, positions and segments add to that), of which 0.01 is a fifth.
    fn default() -> Self {
        Self {
            lambda: 1.0,
            epsilon: 0.2,
            absolute_epsilon: 0.0,
        }
    }
}

impl Default for Distillation {
    fn default() -> Self {
        Self {
            own_share: 1.0,
            temperature: 2.0,
        }
    }
}

impl Transformation {
    /// The best ε of the paper for a scorer with random in-domain or hard negatives (T-Biencoder,
    /// table 3).
    pub fn best_epsilon(scorer: Scorer, negatives: NegativeKind) -> f64 {
        match (scorer, negatives == NegativeKind::Hard) {
            (Scorer::Dual, false) => 32.0,
            (Scorer::Dual, true) => 42.0,
            (Scorer::SumOfMax, false) => 20.0,
            (Scorer::SumOfMax, true) => 40.0,
        }
    }

    /// Maps a layer of the paper's encoder with 12 layers to an encoder with `depth` layers.
    pub fn scaled_layer(layer: usize, depth: usize) -> usize {
        match layer {
            0 => 0,
            layer => (layer * depth / 12).max(1),
        }
    }
}

impl Default for Transformation {
    /// T-Biencoder, table 3: dual scorer and random in-domain negatives. The paper does not state
    /// the step size of the ascent; at 0.1 ε training does not converge (results/t-biencoder.md).
    fn default() -> Self {
        Self {
            weight: 0.0,
            plain: true,
            layer: 1,
            norm: Norm::Frobenius,
            epsilon: 32.0,
            ascents: 0,
            rate: 0.003,
        }
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
            chunk: 0,
            replicas: 1,
            epochs: 7.0,
            steps: None,
            patience: 0,
        }
    }
}

impl Default for Validation {
    fn default() -> Self {
        Self {
            split: "dev".into(),
            every: 0,
            mentions: 1000,
            candidates: PathBuf::new(),
            keep: Keep::Best,
        }
    }
}

impl Default for Checkpoints {
    fn default() -> Self {
        Self {
            every: 500,
            keep: 2,
        }
    }
}
