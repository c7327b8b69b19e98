//! The settings that the rows of a folder share. They are stored in the folder, and a call with
//! other settings is refused.

use super::{Bench, Family, Options, Row, TableId, keep, kept, pretrained};
use pel_corpora::corpus;
use pel_corpora::domain::{DomainOf, OwnDomain};
use pel_io::files::{entries, io_error, list_files, read_text, write_no_follow};
use pel_kb::error::{Context, Error, Result};
use pel_trainer::train::config::{Config, Fgsm};
use pel_trainer::train::model::check_windows;
use pel_trainer::train::{CHECKPOINTS, METRICS};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The settings that all rows of a paper share. Fields that a file of an earlier version lacks have
/// their defaults.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    config: Config,
    split: String,
    every: u32,
    #[serde(default)]
    within_domain: bool,
    /// The kind of domain, if it is the right concept's.
    #[serde(default)]
    own_domain: Option<DomainOf>,
    /// [`digest`]; `None` in files of an earlier version.
    #[serde(default)]
    data: Option<String>,
    /// A hash of the encoder; `None` in files of an earlier version.
    #[serde(default)]
    encoder_hash: Option<String>,
}

/// Settings with an option of their own, and that option.
const NAMED: [(&str, &str); 5] = [
    ("seed", "--seeds"),
    ("data.kb", "--kb"),
    ("data.corpus", "--corpus"),
    ("model.encoder", "--encoder"),
    ("distillation.own_share", "--own-share"),
];

/// The settings that BLINK's stages set themselves, in the bi-encoder's and the cross-encoder's
/// configuration.
const OF_STAGES: [(&str, &[&str]); 2] = [
    ("--set", &["negatives.kind", "data.candidates", "data.top"]),
    ("--ranker-set", &["fgsm.lambda", "data.candidates"]),
];

/// The key of `KEY=VALUE`.
pub fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or(setting).trim()
}

/// The configuration that all cross-encoders share. The candidate list has a placeholder, because
/// it may not exist yet.
///
/// # Errors
/// If the configuration cannot be read.
pub fn ranker_config(bench: &Bench<'_>, seed: u64) -> Result<Config> {
    let list = vec!["data.candidates=\"-\"".to_owned()];
    let settings = [
        bench.paths(seed),
        bench.options.ranker_base.clone(),
        bench.options.ranker_settings.clone(),
        list,
    ]
    .concat();
    let base = match bench.family {
        Family::Blink => Config::blink_ranking(),
        Family::Pel | Family::TBiencoder => Config {
            fgsm: Fgsm::off(),
            ..Config::ranking()
        },
    };
    base.read(bench.options.ranker_config.as_deref(), &settings)
}

/// Checks that a folder is new, empty, or of this command.
///
/// # Errors
/// If it is not; the error names the first entry.
pub fn check_folder(out: &Path) -> Result<()> {
    // A killed call leaves such files.
    let found: Vec<String> = entries(out)?
        .into_iter()
        .filter(|name| !name.starts_with(".pel-"))
        .collect();
    match found.first() {
        Some(first)
            if !found
                .iter()
                .any(|name| name.starts_with("settings") && name.ends_with(".json")) =>
        {
            let out = out.display();
            Err(Error::input(format!(
                "{out}: expected a new or empty folder, or one of this command, found {first} in it"
            )))
        }
        _ => Ok(()),
    }
}

/// A hash of the concepts and the corpus, so that a table has no rows of other data.
///
/// # Errors
/// If a file cannot be read.
pub fn digest(options: &Options) -> Result<String> {
    hash_all(std::iter::once(options.kb.clone()).chain(corpus_files(&options.corpus)))
}

/// A hash of a file, or of all files below a folder in the order of their names.
///
/// # Errors
/// If a file cannot be read.
pub fn hash_of(path: &Path) -> Result<String> {
    hash_all(list_files(path)?)
}

/// A hash of the documents and mentions of a corpus, in the order of the files' names.
///
/// # Errors
/// If a file cannot be read.
pub fn hash_of_corpus(corpus: &Path) -> Result<String> {
    hash_all(corpus_files(corpus))
}

fn corpus_files(corpus: &Path) -> Vec<PathBuf> {
    let mut files = corpus::files(corpus);
    files.sort();
    files
}

fn hash_all(files: impl IntoIterator<Item = PathBuf>) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for file in files {
        add(&mut hasher, &file)?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn add(hasher: &mut blake3::Hasher, path: &Path) -> Result<()> {
    let file = std::fs::File::open(path).map_err(|cause| io_error("reading", path, cause))?;
    hasher
        .update_reader(file)
        .map_err(|cause| io_error("reading", path, cause))?;
    Ok(())
}

/// The settings that all cross-encoders and students share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ranking {
    ranker: Config,
    train_every: u32,
    own_share: f64,
    /// As those of [`Settings`]; `None` in files of an earlier version.
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    encoder_hash: Option<String>,
}

/// The settings that all rows with models of another corpus share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pretrained {
    bi_encoder: PathBuf,
    ranker: PathBuf,
    /// The hashes of their files; `None` in files of an earlier version.
    #[serde(default)]
    bi_encoder_hash: Option<String>,
    #[serde(default)]
    ranker_hash: Option<String>,
}

/// The settings that all rows over another knowledge base share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct OtherKb {
    kb: PathBuf,
    /// `None` in files of an earlier version.
    #[serde(default)]
    hash: Option<String>,
}

/// Checks that a call has the settings of the folder. Settings that a call does not use are not
/// compared.
///
/// # Errors
/// If the settings differ, cannot be read or written, or models of another corpus are of the wrong
/// stage.
pub fn check(bench: &Bench<'_>, data: &str) -> Result<()> {
    check_options(bench.options)?;
    check_stages(bench)?;
    let config = bench.config(&[], 0)?;
    check_windows(&config).context(|| "--set view".into())?;
    let ranker = if bench.table.ranks() {
        Some(ranker_config(bench, 0)?)
    } else {
        None
    };
    if let Some(ranker) = &ranker {
        check_windows(ranker).context(|| "--ranker-set view".into())?;
    }
    let encoder_hash = hash_of(&bench.options.encoder)?;
    compare_rows(bench, config, data, &encoder_hash)?;
    if let Some(ranker) = ranker {
        compare_ranking(bench, ranker, data, encoder_hash)?;
    }
    compare_pretrained(bench)?;
    compare_other_kb(bench)
}

/// Checks that no setting has an option of its own.
fn check_options(options: &Options) -> Result<()> {
    let given = options.settings.iter().map(|setting| ("--set", setting));
    // Cross-encoders may start from another model.
    let ranker = options
        .ranker_settings
        .iter()
        .map(|setting| ("--ranker-set", setting))
        .filter(|(_, setting)| key(setting) != "model.encoder");
    for (flag, setting) in given.chain(ranker) {
        if let Some((key, option)) = NAMED.iter().find(|(named, _)| *named == key(setting)) {
            return Err(Error::input(format!("{flag} {key}: give it as {option}")));
        }
    }
    Ok(())
}

/// Checks that no setting is one that the stages of a table set themselves.
fn check_stages(bench: &Bench<'_>) -> Result<()> {
    if !bench.table.has_stages() && bench.table != TableId::BlinkFoldsRanker {
        return Ok(());
    }
    let of = |flag: &str| {
        if flag == "--set" {
            &bench.options.settings
        } else {
            &bench.options.ranker_settings
        }
    };
    let is_own = |flag, own: &[&str]| {
        of(flag)
            .iter()
            .map(|word| key(word))
            .find(|key| own.contains(key))
            .map(|key| (flag, key))
    };
    match OF_STAGES
        .into_iter()
        .find_map(|(flag, own)| is_own(flag, own))
    {
        Some((flag, key)) => Err(Error::input(format!(
            "{flag} {key}: the stages of {} set this themselves",
            bench.table.slug()
        ))),
        None => Ok(()),
    }
}

/// Compares the settings that all rows share.
fn compare_rows(bench: &Bench<'_>, config: Config, data: &str, encoder_hash: &str) -> Result<()> {
    let options = bench.options;
    let name = match bench.family {
        Family::Pel => "settings.json",
        Family::TBiencoder => "settings-t-biencoder.json",
        Family::Blink => "settings-blink.json",
    };
    let settings = Settings {
        config,
        split: options.split.clone(),
        every: options.every,
        within_domain: options.within_domain.is_some(),
        own_domain: options.within_domain.and_then(OwnDomain::of_concept),
        data: Some(data.to_owned()),
        encoder_hash: Some(encoder_hash.to_owned()),
    };
    same(&options.out.join(name), settings, |kept, new| {
        forget_epsilon(bench.family, &mut kept.config, &new.config);
        let known = [kept.data.is_some(), kept.encoder_hash.is_some()];
        forget_paths(&mut kept.config, &new.config, known);
        fill(&mut kept.data, &new.data);
        fill(&mut kept.encoder_hash, &new.encoder_hash);
    })
}

/// Compares the settings that all cross-encoders share. `encoder_hash` is that of the bi-encoder's
/// encoder.
fn compare_ranking(
    bench: &Bench<'_>,
    ranker: Config,
    data: &str,
    encoder_hash: String,
) -> Result<()> {
    let options = bench.options;
    let name = if bench.family == Family::Blink {
        "settings-blink-ranker.json"
    } else {
        "settings-ranker.json"
    };
    let encoder_hash = match ranker.model.encoder == options.encoder {
        true => encoder_hash,
        false => hash_of(&ranker.model.encoder)?,
    };
    let ranking = Ranking {
        ranker,
        train_every: options.train_every,
        own_share: options.own_share,
        data: Some(data.to_owned()),
        encoder_hash: Some(encoder_hash),
    };
    same(&options.out.join(name), ranking, |kept, new| {
        let known = [kept.data.is_some(), kept.encoder_hash.is_some()];
        forget_epsilon(bench.family, &mut kept.ranker, &new.ranker);
        forget_paths(&mut kept.ranker, &new.ranker, known);
        fill(&mut kept.data, &new.data);
        fill(&mut kept.encoder_hash, &new.encoder_hash);
    })
}

/// Compares the models of another corpus, if the table uses them.
fn compare_pretrained(bench: &Bench<'_>) -> Result<()> {
    if !matches!(bench.table, TableId::Blink4 | TableId::Blink6)
        || bench.options.pretrained.is_none()
    {
        return Ok(());
    }
    let [bi_encoder, ranker] = pretrained::checked(bench)?.map(Path::to_path_buf);
    let [bi_encoder_hash, ranker_hash] = [Some(hash_of(&bi_encoder)?), Some(hash_of(&ranker)?)];
    let settings = Pretrained {
        bi_encoder,
        ranker,
        bi_encoder_hash,
        ranker_hash,
    };
    let path = bench.options.out.join("settings-pretrained.json");
    same(&path, settings, |kept, new| {
        if kept.bi_encoder_hash.is_some() {
            kept.bi_encoder.clone_from(&new.bi_encoder);
        }
        if kept.ranker_hash.is_some() {
            kept.ranker.clone_from(&new.ranker);
        }
        fill(&mut kept.bi_encoder_hash, &new.bi_encoder_hash);
        fill(&mut kept.ranker_hash, &new.ranker_hash);
    })
}

/// Compares the other knowledge base, if the table uses it.
fn compare_other_kb(bench: &Bench<'_>) -> Result<()> {
    let (TableId::Blink4, Some(kb)) = (bench.table, &bench.options.other_kb) else {
        return Ok(());
    };
    let other = OtherKb {
        kb: kb.clone(),
        hash: Some(hash_of(kb)?),
    };
    let path = bench.options.out.join("settings-other-kb.json");
    same(&path, other, |kept, new| {
        if kept.hash.is_some() {
            kept.kb.clone_from(&new.kb);
        }
        fill(&mut kept.hash, &new.hash);
    })
}

/// Fills in what an earlier version did not write.
fn fill(kept: &mut Option<String>, new: &Option<String>) {
    if kept.is_none() {
        kept.clone_from(new);
    }
}

/// Takes the paths of data and of the encoder from this call, where hashes (`known`) say what they
/// name: a folder can be moved with its inputs. Copies of the log may differ too.
fn forget_paths(kept: &mut Config, new: &Config, known: [bool; 2]) {
    let [data, encoder] = known;
    if data {
        kept.data.kb.clone_from(&new.data.kb);
        kept.data.corpus.clone_from(&new.data.corpus);
    }
    if encoder {
        kept.model.encoder.clone_from(&new.model.encoder);
    }
    kept.log.clone_from(&new.log);
}

/// Gives a run that began in another place the paths of this call, if it differs in nothing else.
/// [`check`] has compared the hashes of the inputs; candidate lists and models of earlier stages
/// lie in the folder itself.
///
/// # Errors
/// If its configuration cannot be read or written.
pub fn follow_move(config: &Config, run: &Path) -> Result<()> {
    let path = run.join("config.toml");
    if !path.is_file() {
        return Ok(());
    }
    // Training itself refuses a file that is no configuration.
    let Ok(before) = toml::from_str::<Config>(&read_text(&path)?) else {
        return Ok(());
    };
    let mut moved = before.clone();
    forget_paths(&mut moved, config, [true, true]);
    moved.data.candidates.clone_from(&config.data.candidates);
    let candidates = &config.validation.candidates;
    moved.validation.candidates.clone_from(candidates);
    if moved != *config || before == *config {
        return Ok(());
    }
    let text = config.to_toml()?;
    write_no_follow(&path, |file| {
        file.write_all(text.as_bytes())
            .map_err(|cause| io_error("writing", &path, cause))
    })
}

/// Checks that each word of `--only` names a row. `slugs` are the file names of all rows.
///
/// # Errors
/// If a word names no row, or a table has no independent rows.
pub fn check_only(options: &Options, slugs: &[String]) -> Result<()> {
    if let (Some(table), Some(_)) = (
        options.table.iter().find(|table| table.has_stages()),
        options.only.first(),
    ) {
        return Err(Error::input(format!(
            "--only: {} has no independent rows",
            table.slug()
        )));
    }
    match options
        .only
        .iter()
        .find(|word| !slugs.iter().any(|slug| slug.contains(word.as_str())))
    {
        Some(word) => {
            let expected = slugs.join(", ");
            Err(Error::input(format!(
                "--only: expected rows of the table ({expected}), found {word}"
            )))
        }
        None => Ok(()),
    }
}

/// Checks that no setting is one that every row sets itself, and returns the rows' file names.
///
/// # Errors
/// If there is such a setting.
pub fn check_rows<R: Row>(bench: &Bench<'_>, rows: &[R]) -> Result<Vec<String>> {
    let slugs: Vec<String> = rows.iter().map(Row::slug).collect();
    let own: Vec<Vec<String>> = rows.iter().map(Row::settings).collect();
    let is_own = |wanted: &str| {
        own.iter()
            .all(|row| row.iter().any(|setting| key(setting) == wanted))
    };
    let (flag, given) = match bench.table {
        TableId::BlinkFoldsRanker => ("--ranker-set", &bench.options.ranker_settings),
        _ => ("--set", &bench.options.settings),
    };
    match given
        .iter()
        .map(|setting| key(setting))
        .find(|wanted| is_own(wanted))
    {
        Some(wanted) => Err(Error::input(format!(
            "{flag} {wanted}: every row of {} sets this itself",
            bench.table.slug()
        ))),
        None => Ok(slugs),
    }
}

/// Where no row has FGSM, ε of an earlier version does not differ.
fn forget_epsilon(family: Family, kept: &mut Config, new: &Config) {
    if family != Family::Pel && kept.fgsm.lambda == 0.0 && new.fgsm.lambda == 0.0 {
        kept.fgsm.clone_from(&new.fgsm);
    }
}

/// Whether anything has been trained or measured in a folder.
fn has_work(out: &Path) -> Result<bool> {
    let runs = out.join("runs");
    let begun = |run: &String| {
        [METRICS, CHECKPOINTS]
            .iter()
            .any(|name| runs.join(run).join(name).exists())
    };
    if ["results", "lists"]
        .iter()
        .any(|name| out.join(name).exists())
        || entries(&runs)?.iter().any(begun)
    {
        return Ok(true);
    }
    // Folds have runs and lists of their own (`OUT/folds/COUNT/N`).
    for of_count in entries(&out.join("folds"))? {
        let folds = out.join("folds").join(of_count);
        for fold in entries(&folds)? {
            if has_work(&folds.join(fold))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Checks that settings equal those of the folder. A folder without any work takes them. `complete`
/// fills in what a file of an earlier version lacks.
fn same<T: Serialize + for<'de> Deserialize<'de> + PartialEq>(
    path: &Path,
    settings: T,
    complete: impl FnOnce(&mut T, &T),
) -> Result<()> {
    if !path.is_file() {
        return keep(path, &settings);
    }
    let mut before = kept::<T>(path, || Err(Error::input("the file was removed meanwhile")))?;
    complete(&mut before, &settings);
    if before == settings {
        return Ok(());
    }
    if !has_work(path.parent().unwrap_or(Path::new("")))? {
        return keep(path, &settings);
    }
    let lines = |settings: &T| serde_json::to_string_pretty(settings).unwrap_or_default();
    let (was, is) = (lines(&before), lines(&settings));
    let other = was
        .lines()
        .zip(is.lines())
        .find(|(was, is)| was != is)
        .unwrap_or_default();
    let [was, is] = [other.0, other.1].map(|line| line.trim().trim_end_matches(','));
    // The message explains a hash that differs.
    let what = match was.split('"').nth(1) {
        Some("data") => " (the concepts or the corpus have changed)",
        Some("encoder_hash") => " (the encoder has changed)",
        Some("hash") => " (the other knowledge base has changed)",
        Some("bi_encoder_hash" | "ranker_hash") => " (the model of the other corpus has changed)",
        _ => "",
    };
    Err(Error::input(format!(
        "{}: expected the settings of its rows, {was}, found {is}{what}; use another --out, or the \
         same settings",
        path.display()
    )))
}

/// Whether `--only` includes a row. Without words it includes all rows. A word that is a row's
/// whole name is that row; another word is every row whose name contains it.
pub fn asked_for(slug: &str, slugs: &[String], only: &[String]) -> bool {
    only.is_empty()
        || only.iter().any(|word| {
            if slugs.contains(word) {
                slug == word
            } else {
                slug.contains(word.as_str())
            }
        })
}

#[cfg(test)]
mod tests {
    use super::asked_for;

    #[test]
    fn whole_row_name_selects_that_row_only() {
        let slugs = ["t-e1", "t-e10", "b-hard"].map(str::to_owned);
        let rows = |words: &[&str]| -> Vec<&str> {
            let only: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            slugs
                .iter()
                .map(String::as_str)
                .filter(|slug| asked_for(slug, &slugs, &only))
                .collect()
        };
        assert_eq!(rows(&[]), ["t-e1", "t-e10", "b-hard"]);
        assert_eq!(rows(&["t-e1"]), ["t-e1"]);
        assert_eq!(rows(&["-e1"]), ["t-e1", "t-e10"]);
        assert_eq!(rows(&["-e10", "hard"]), ["t-e10", "b-hard"]);
    }
}
