//! Published experiments as presets: their settings from one TOML file each, and the folder that
//! they run in.
//!
//! ```text
//! OUT/preset.toml     the preset
//! OUT/data/...        the data in PEL's own files
//! OUT/PART/...        the folder of a `pel experiment` for each part
//! ```

use super::preset_data::Prepared;
use super::preset_part::{Part, value};
use super::{Family, Options};
use clap::ValueEnum;
use pel_corpora::domain::OwnDomain;
use pel_io::files::{entries, io_error, read_text, write_no_follow};
use pel_kb::error::{Error, Result};
use pel_trainer::train::MODEL;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The preset in the folder of its experiment.
const FILE: &str = "preset.toml";

/// What makes every training of a preset short, in both stages.
const SMOKE: [&str; 7] = [
    "optimiser.batch=2",
    "optimiser.steps=2",
    "view.mention_tokens=24",
    "view.entity_tokens=24",
    "negatives.count=2",
    "negatives.mine_top=2",
    "data.top=2",
];

/// A published experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Preset {
    /// PEL on MedMentions: tables 2, 4 and 5
    #[value(name = "pel-medmentions")]
    PelMedmentions,
    /// PEL on ZESHEL: tables 3 and 5, figure 3
    #[value(name = "pel-zeshel")]
    PelZeshel,
    /// BLINK on ZESHEL: tables 1 to 3, figure 2
    #[value(name = "blink-zeshel")]
    BlinkZeshel,
    /// BLINK on TAC-KBP 2010, after Wikipedia: tables 4 and 9
    #[value(name = "blink-tac")]
    BlinkTac,
    /// BLINK on WikilinksNED, after Wikipedia: tables 6, 8 and 9, figure 3
    #[value(name = "blink-wikilinks")]
    BlinkWikilinks,
    /// T-Biencoder on ZESHEL: tables 2 and 4 to 7
    #[value(name = "t-biencoder-zeshel")]
    TBiencoderZeshel,
    /// T-Biencoder's settings on MedMentions, by semantic types
    #[value(name = "t-biencoder-biomedical")]
    TBiencoderBiomedical,
}

impl Preset {
    /// Its file, with the source of each value.
    pub fn text(self) -> &'static str {
        match self {
            Self::PelMedmentions => include_str!("../../presets/pel-medmentions.toml"),
            Self::PelZeshel => include_str!("../../presets/pel-zeshel.toml"),
            Self::BlinkZeshel => include_str!("../../presets/blink-zeshel.toml"),
            Self::BlinkTac => include_str!("../../presets/blink-tac.toml"),
            Self::BlinkWikilinks => include_str!("../../presets/blink-wikilinks.toml"),
            Self::TBiencoderZeshel => include_str!("../../presets/t-biencoder-zeshel.toml"),
            Self::TBiencoderBiomedical => include_str!("../../presets/t-biencoder-biomedical.toml"),
        }
    }

    /// What it consists of.
    ///
    /// # Errors
    /// If the file is invalid.
    pub fn plan(self) -> Result<Plan> {
        toml::from_str(self.text())
            .map_err(|cause| Error::input("the preset").caused_by(cause.to_string()))
    }

    /// Its file as JSON.
    ///
    /// # Errors
    /// If the file is invalid.
    pub fn json(self) -> Result<serde_json::Value> {
        toml::from_str(self.text())
            .map_err(|cause| Error::input("the preset").caused_by(cause.to_string()))
    }

    /// Takes a folder for the experiment, and writes the preset into it.
    ///
    /// # Errors
    /// If the folder has another preset or other files, or cannot be written.
    pub fn claim(self, out: &Path) -> Result<()> {
        let path = out.join(FILE);
        if path.is_file() {
            // Comments may change between versions.
            let table = |text: &str| text.parse::<toml::Table>().ok();
            if table(&read_text(&path)?) == table(self.text()) {
                return Ok(());
            }
            return Err(Error::input(format!(
                "{}: the folder belongs to another preset, or to other settings of this one; use \
                 another --out",
                path.display()
            )));
        }
        let found = entries(out)?;
        if let Some(first) = found.iter().find(|name| !name.starts_with(".pel-")) {
            let out = out.display();
            return Err(Error::input(format!(
                "{out}: the folder has other files, such as {first}; name a new or empty folder \
                 with --out"
            )));
        }
        std::fs::create_dir_all(out).map_err(|cause| io_error("creating", out, cause))?;
        write_no_follow(&path, |file| {
            file.write_all(self.text().as_bytes())
                .map_err(|cause| io_error("writing", &path, cause))
        })
    }
}

/// The content of a preset's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Plan {
    /// The tables of the paper.
    pub paper: String,
    /// The encoder of the paper.
    pub encoder: String,
    /// The experiments, in their order.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

impl Plan {
    /// The parts that a call runs: those with the tables asked for, and before them those whose
    /// models they need. With `--pretrained` these models are given.
    ///
    /// # Errors
    /// If no part has a table that is asked for.
    pub fn chosen(&self, given: &Options) -> Result<Vec<&Part>> {
        let tables = self
            .parts
            .iter()
            .map(Part::all_tables)
            .collect::<Result<Vec<_>>>()?;
        let all = tables.concat();
        if let Some(other) = given.table.iter().find(|table| !all.contains(table)) {
            let all: Vec<String> = all.iter().map(|table| table.slug()).collect();
            return Err(Error::input(format!(
                "--table: expected tables of the preset ({}), found {}",
                all.join(", "),
                other.slug()
            )));
        }
        let is_base = |name: &str| self.parts.iter().any(|part| part.base() == Some(name));
        let (mut needed, mut chosen): (Vec<&str>, Vec<&Part>) = (Vec::new(), Vec::new());
        for (part, tables) in self.parts.iter().zip(&tables).rev() {
            let wanted = if given.table.is_empty() {
                !is_base(&part.name)
            } else {
                tables.iter().any(|table| given.table.contains(table))
            };
            if wanted || needed.contains(&part.name.as_str()) {
                if given.pretrained.is_none() {
                    needed.extend(part.base());
                }
                chosen.push(part);
            }
        }
        chosen.reverse();
        Ok(chosen)
    }

    /// The options of a part, over its data. `smoke` makes its trainings short.
    ///
    /// # Errors
    /// If the preset is invalid.
    pub fn options(
        &self,
        part: &Part,
        given: &Options,
        data: &Prepared,
        smoke: bool,
    ) -> Result<Options> {
        let mut own = given.clone();
        own.table = part.tables(given)?;
        own.out = given.out.join(&part.name);
        own.corpus.clone_from(&data.corpus);
        own.kb.clone_from(&data.kb);
        own.seeds = part.seeds(given);
        own.base = settings(&part.bi_encoder, "");
        own.ranker_base = settings(&part.cross_encoder, "");
        if own.rerank.is_empty() {
            own.rerank.clone_from(&part.rerank);
        }
        if let Some(split) = &part.split {
            own.split.clone_from(split);
        }
        if let (1, Some(every)) = (own.train_every, part.train_every) {
            own.train_every = every;
        }
        if let (None, Some(word)) = (own.within_domain, &part.within_domain) {
            own.within_domain = Some(value::<OwnDomain>(word)?);
        }
        let models = part
            .base()
            .map(|name| self.models(name, given))
            .transpose()?;
        (own.pretrained, own.pretrained_ranker) = (None, None);
        if let Some([bi_encoder, ranker]) = models {
            if part.begin_with.is_some() {
                let ranker = toml::Value::String(ranker.display().to_string());
                own.encoder = bi_encoder;
                own.ranker_base.push(format!("model.encoder={ranker}"));
            } else {
                own.pretrained = Some(bi_encoder);
                own.pretrained_ranker = Some(ranker);
            }
        }
        if smoke {
            let short = || SMOKE.map(str::to_owned);
            own.base.extend(short());
            own.ranker_base.extend(short());
            own.seeds.truncate(1);
            own.train_every = 1;
            if !own.rerank.is_empty() {
                own.rerank = vec![2];
            }
            if own.table.iter().any(|table| table.family() == Family::Pel) {
                own.counts = vec![1, 2];
            }
        }
        Ok(own)
    }

    /// The bi-encoder and the cross-encoder of a part, unless the call gives them.
    fn models(&self, name: &str, given: &Options) -> Result<[PathBuf; 2]> {
        if let (Some(bi_encoder), Some(ranker)) = (&given.pretrained, &given.pretrained_ranker) {
            return Ok([bi_encoder.clone(), ranker.clone()]);
        }
        let part = self
            .parts
            .iter()
            .find(|part| part.name == name)
            .ok_or_else(|| {
                Error::input(format!("the preset: expected a part {name}, found none"))
            })?;
        let seed = part.seeds(given).first().copied().unwrap_or(0);
        let runs = given.out.join(name).join("runs");
        Ok(["bi", "cross"].map(|stage| runs.join(format!("blink-{stage}-seed{seed}")).join(MODEL)))
    }
}

/// A table as `KEY=VALUE` settings.
fn settings(table: &toml::Table, prefix: &str) -> Vec<String> {
    table
        .iter()
        .flat_map(|(key, value)| match value {
            toml::Value::Table(inner) => settings(inner, &format!("{prefix}{key}.")),
            value => vec![format!("{prefix}{key}={value}")],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::estimate::trainings;
    use clap::Parser;
    use pel_artifacts::device::{DeviceArgs, DeviceChoice, Work};
    use pel_trainer::train::config::{Config, LossKind, NegativeKind};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
        #[arg(long)]
        preset: Option<String>,
    }

    fn given(words: &[&str]) -> Options {
        let line = ["pel", "--preset", "any"].iter().chain(words).copied();
        let Line {
            mut options,
            preset,
        } = Line::try_parse_from(line).expect("parsed");
        assert!(preset.is_some());
        options.encoder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/tests/fixtures/tiny");
        options
    }

    fn nowhere() -> Prepared {
        Prepared {
            corpus: "corpus".into(),
            kb: "kb.jsonl".into(),
        }
    }

    /// The trainings of a part, by name.
    fn of(preset: Preset, part: &str, words: &[&str]) -> Vec<(String, Config)> {
        let (plan, given) = (preset.plan().expect("valid"), given(words));
        let part = plan
            .parts
            .iter()
            .find(|own| own.name == part)
            .expect("there");
        let options = plan
            .options(part, &given, &nowhere(), false)
            .expect("valid");
        let device = DeviceArgs {
            device: DeviceChoice::Cpu,
            ..DeviceArgs::default()
        };
        trainings(&options, &device.open(Work::Short).expect("a CPU")).expect("valid")
    }

    fn named(all: &[(String, Config)], name: &str) -> Config {
        let found = all.iter().find(|(own, _)| own == name);
        found.unwrap_or_else(|| panic!("no {name}")).1.clone()
    }

    #[test]
    fn every_preset_has_valid_trainings() {
        for preset in Preset::value_variants() {
            let plan = preset.plan().expect("valid");
            for part in &plan.parts {
                assert!(
                    !of(*preset, &part.name, &[]).is_empty(),
                    "{preset:?} {}",
                    part.name
                );
                let base = part
                    .base()
                    .map(|name| plan.parts.iter().any(|own| own.name == name));
                assert_ne!(base, Some(false), "{preset:?} {}", part.name);
            }
        }
    }

    #[test]
    fn pel_has_the_values_of_table_6() {
        let all = of(Preset::PelMedmentions, "retrieval", &[]);
        let config = named(&all, "pb-fgsm-32-mixed");
        let optimiser = &config.optimiser;
        assert_eq!(
            (optimiser.learning_rate, optimiser.warmup, optimiser.epsilon),
            (1e-5, 0.25, 1e-6)
        );
        assert_eq!(
            (optimiser.clip, optimiser.batch, optimiser.epochs),
            (1.0, 32, 7.0)
        );
        assert_eq!((config.loss.alpha, config.loss.delta), (32.0, 0.0));
        assert_eq!(
            (config.loss.kind, config.fgsm.lambda),
            (LossKind::Proxy, 1.0)
        );
        assert_eq!(
            (
                config.negatives.hard_count(),
                config.negatives.random_count()
            ),
            (16, 16)
        );
        let ranker = named(&all, "cross");
        assert_eq!(
            (ranker.optimiser.learning_rate, ranker.optimiser.batch),
            (2e-5, 4)
        );
        assert_eq!((ranker.optimiser.epochs, ranker.data.top), (5.0, 16));
        assert_eq!(named(&all, "pb-64-random").negatives.count, 64);
    }

    #[test]
    fn blink_has_the_values_of_appendix_a() {
        let rate = |config: &Config| {
            let optimiser = &config.optimiser;
            (optimiser.learning_rate, optimiser.batch, optimiser.epochs)
        };
        let all = of(Preset::BlinkZeshel, "zeshel", &[]);
        assert_eq!(rate(&named(&all, "blink-bi")), (2e-5, 128, 5.0));
        assert_eq!(rate(&named(&all, "blink-cross")), (1e-5, 1, 2.0));
        assert_eq!(
            named(&all, "blink-bi-batch").negatives.kind,
            NegativeKind::None
        );
        for preset in [Preset::BlinkTac, Preset::BlinkWikilinks] {
            let all = of(preset, "wikipedia", &[]);
            assert_eq!(rate(&named(&all, "blink-bi")), (1e-5, 128, 4.0));
            assert_eq!(rate(&named(&all, "blink-cross")), (2e-5, 1, 1.0));
            assert_eq!(named(&all, "blink-cross").view.mention_tokens, 32);
        }
        let all = of(Preset::BlinkTac, "tac", &[]);
        assert_eq!(rate(&named(&all, "blink-finetuned-bi")), (2e-6, 128, 10.0));
        assert_eq!(rate(&named(&all, "blink-finetuned-cross")), (1e-5, 1, 10.0));
        let all = of(Preset::BlinkWikilinks, "wikilinks", &[]);
        assert_eq!(rate(&named(&all, "blink-bi")), (2e-6, 128, 1.0));
        assert_eq!(rate(&named(&all, "blink-cross")), (2e-6, 5, 1.0));
        let student = named(&of(Preset::BlinkTac, "distillation", &[]), "blink-student");
        assert_eq!(rate(&student), (2e-5, 128, 10.0));
        let distillation = student.distillation;
        assert_eq!(
            (distillation.own_share, distillation.temperature),
            (0.5, 2.0)
        );
    }

    #[test]
    fn t_biencoder_has_the_values_of_section_4_3() {
        let all = of(Preset::TBiencoderZeshel, "zeshel", &["--table", "t-2"]);
        assert_eq!(all.len(), 8);
        let config = named(&all, "t-dual-random-id-k1-e32");
        assert_eq!(
            (config.optimiser.learning_rate, config.optimiser.batch),
            (1e-5, 64)
        );
        assert_eq!((config.optimiser.epochs, config.negatives.count), (5.0, 15));
        assert!(config.model.freeze_embeddings);
        assert_eq!(
            (config.fgsm.lambda, config.transformation.epsilon),
            (0.0, 32.0)
        );
    }

    #[test]
    fn parts_follow_from_tables_and_given_models() {
        let names = |words: &[&str]| -> Vec<String> {
            let plan = Preset::BlinkTac.plan().expect("valid");
            let chosen = plan.chosen(&given(words)).expect("there");
            chosen.into_iter().map(|part| part.name.clone()).collect()
        };
        assert_eq!(names(&[]), ["wikipedia", "tac", "distillation"]);
        assert_eq!(
            names(&["--table", "blink-9"]),
            ["wikipedia", "distillation"]
        );
        let models = ["--pretrained", "bi", "--pretrained-ranker", "cross"];
        assert_eq!(names(&models), ["tac", "distillation"]);
        let plan = Preset::PelZeshel.plan().expect("valid");
        let error = plan
            .chosen(&given(&["--table", "t-2"]))
            .expect_err("another paper's");
        assert!(
            error.to_string().contains("(pel-3, pel-5), found t-2"),
            "{error}"
        );
    }

    #[test]
    fn folder_of_another_preset_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        Preset::PelZeshel.claim(&out).expect("new");
        Preset::PelZeshel.claim(&out).expect("its own");
        let error = Preset::BlinkZeshel.claim(&out).expect_err("another one's");
        assert!(
            error.to_string().contains("belongs to another preset"),
            "{error}"
        );
        let error = Preset::PelZeshel
            .claim(folder.path())
            .expect_err("not empty");
        assert!(
            error.to_string().contains("other files, such as out"),
            "{error}"
        );
    }
}
