//! Option values for types of `pel-shared`, which does not depend on clap.

use clap::ValueEnum;
use pel_index::Precision;
use pel_kb::score::{Scorer, Similarity};
use pel_model::tokens::{EntityTemplate, MentionTemplate, View};
use pel_model::tower::Pooling;

/// Declares the values of an option for a type.
macro_rules! choice {
    ($name:ident => $target:ty { $($variant:ident = $text:literal),+ }) => {
        #[derive(Clone, Copy, Debug, ValueEnum)]
        pub enum $name { $(#[value(name = $text)] $variant),+ }
        impl From<$name> for $target {
            fn from(choice: $name) -> Self {
                match choice { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

choice!(ViewChoice => View { Names = "names", Template = "template", Both = "both" });
choice!(MentionChoice => MentionTemplate { Bare = "bare", Context = "context" });
choice!(TemplateChoice => EntityTemplate { Description = "description", Types = "types" });
choice!(PoolingChoice => Pooling { Mean = "mean", Cls = "cls", Mention = "mention" });
choice!(ScoreChoice => Similarity { Cosine = "cosine", Dot = "dot" });
choice!(ScorerChoice => Scorer { Dual = "dual", SumOfMax = "sum-of-max" });
choice!(PrecisionChoice => Precision { Int4 = "int4", Int8 = "int8", F32 = "f32" });
choice!(WeightsChoice => Precision { Int8 = "int8", F32 = "f32" });
