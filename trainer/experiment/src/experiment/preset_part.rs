//! The parts of a preset: each is one experiment.

use super::{Options, TableId};
use clap::ValueEnum;
use pel_kb::error::{Context, Error, Result};
use serde::Deserialize;

/// A data set in its released form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// MedMentions ST21pv in PubTator format with lists of its splits, and a concept table.
    Medmentions,
    /// ZESHEL: documents and mentions by world.
    Zeshel,
    /// Wikipedia in the format of BLINK's code, in the folder `wikipedia`.
    Wikipedia,
    /// The entity linking task of TAC-KBP 2010.
    Tac,
    /// WikilinksNED, whose entities are those of Wikipedia.
    Wikilinks,
}

/// One experiment: tables over one corpus.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// Its name, and that of its folder.
    pub name: String,
    /// Its data.
    pub data: Data,
    /// Its tables.
    pub(super) tables: Vec<String>,
    /// Tables that only `--table` asks for.
    #[serde(default)]
    pub(super) on_demand: Vec<String>,
    /// The seeds of each row; none for those of the call.
    #[serde(default)]
    pub(super) seeds: Vec<u64>,
    /// How many candidates a cross-encoder sees.
    #[serde(default)]
    pub(super) rerank: Vec<u32>,
    /// The split to measure on; `None` for that of the call.
    pub(super) split: Option<String>,
    /// N, where every N-th training mention has candidates.
    pub(super) train_every: Option<u32>,
    /// In which domain a mention is searched.
    pub(super) within_domain: Option<String>,
    /// The part whose models its trainings begin with.
    pub(super) begin_with: Option<String>,
    /// The part whose models are compared and fine-tuned.
    pub(super) pretrained: Option<String>,
    /// The semantic types that are removed from the knowledge base.
    #[serde(default)]
    pub hold_out: Vec<String>,
    /// The domains of the split `dev`; none for the splits of the corpus.
    #[serde(default)]
    pub dev_domains: Vec<String>,
    /// The domains of the split `test`.
    #[serde(default)]
    pub test_domains: Vec<String>,
    /// The published size of the data.
    pub size: Size,
    /// The configuration of the bi-encoder.
    pub(super) bi_encoder: toml::Table,
    /// The configuration of the cross-encoder.
    #[serde(default)]
    pub(super) cross_encoder: toml::Table,
}

/// The size of a data set.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Training mentions.
    pub train: u64,
    /// Concepts.
    pub concepts: u64,
}

impl Part {
    /// All tables, those on demand last.
    pub(super) fn all_tables(&self) -> Result<Vec<TableId>> {
        self.tables.iter().map(|word| value(word)).collect()
    }

    /// The tables of a call: those asked for, or all that need not be asked for.
    pub(super) fn tables(&self, given: &Options) -> Result<Vec<TableId>> {
        let all = self.all_tables()?;
        let asked: Vec<TableId> = all
            .iter()
            .copied()
            .filter(|table| given.table.contains(table))
            .collect();
        if !asked.is_empty() {
            return Ok(asked);
        }
        let on_demand = |table: &TableId| self.on_demand.contains(&table.slug());
        Ok(all.into_iter().filter(|table| !on_demand(table)).collect())
    }

    pub(super) fn seeds(&self, given: &Options) -> Vec<u64> {
        if self.seeds.is_empty() || given.seeds != [0] {
            given.seeds.clone()
        } else {
            self.seeds.clone()
        }
    }

    /// The part that it needs the models of.
    pub(super) fn base(&self) -> Option<&str> {
        self.begin_with.as_deref().or(self.pretrained.as_deref())
    }
}

/// A word of the preset as the command line reads it.
///
/// # Errors
/// If no value has this name.
pub(super) fn value<T: ValueEnum>(word: &str) -> Result<T> {
    T::from_str(word, false)
        .map_err(|cause| Error::input(format!("{word}: {cause}")))
        .context(|| "the preset".to_owned())
}
