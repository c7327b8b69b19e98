//! What the rows of a folder share: it is kept beside them, and a call with other settings is refused.

use super::{Bench, ExperimentArgs, Family, Row, TableId, keep, kept, pretrained, stages};
use crate::corpus;
use crate::files::io_error;
use crate::outputs::entries;
use crate::train::config::Config;
use crate::train::model::check_windows;
use crate::train::{CHECKPOINTS, METRICS};
use pel_shared::error::{Context, Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What all rows of a paper share; a file of an earlier version has the defaults of what was not there yet.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    config: Config,
    split: String,
    every: u32,
    #[serde(default)]
    within_domain: bool,
    /// [`digest`]; an earlier version did not keep it.
    #[serde(default)]
    data: Option<String>,
}

/// Settings of the command line that have an option of their own, with that option.
const NAMED: [(&str, &str); 4] =
    [("seed", "--seeds"), ("data.kb", "--kb"), ("data.corpus", "--corpus"), ("model.encoder", "--encoder")];

/// The key of `KEY=VALUE`.
pub fn key(setting: &str) -> &str {
    setting.split('=').next().unwrap_or(setting).trim()
}

/// Refuses a folder that holds something and is none of this command's.
///
/// # Errors
/// If it is one; the first entry is named.
pub fn check_folder(out: &Path) -> Result<()> {
    let found = entries(out)?;
    match found.first() {
        Some(first) if !found.iter().any(|name| name.starts_with("settings") && name.ends_with(".json")) => {
            let out = out.display();
            Err(Error::input(format!(
                "{out}: expected a new or empty folder, or one of this command, found {first} in it"
            )))
        }
        _ => Ok(()),
    }
}

/// A hash of the concepts and the corpus: rows of others are not to meet in a table.
///
/// # Errors
/// If a file cannot be read.
pub fn digest(args: &ExperimentArgs) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let mut files = corpus::files(&args.corpus);
    files.sort();
    for path in std::iter::once(args.kb.clone()).chain(files) {
        let file = std::fs::File::open(&path).map_err(|cause| io_error("reading", &path, cause))?;
        hasher.update_reader(file).map_err(|cause| io_error("reading", &path, cause))?;
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// What all cross-encoders and students share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ranking {
    ranker: Config,
    train_every: u32,
    own_share: f64,
}

/// What all rows with models of another corpus share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pretrained {
    bi_encoder: PathBuf,
    ranker: PathBuf,
}

/// What all rows over another knowledge base share.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct OtherKb {
    kb: PathBuf,
}

/// Refuses to put rows of different settings into one table. What a call leaves out is not compared, so that its rows can join
/// later.
///
/// # Errors
/// If the settings are others, cannot be read or written, or models of another corpus are of the wrong stage.
pub fn check(bench: &Bench<'_>, data: &str) -> Result<()> {
    let (args, out) = (bench.args, &bench.args.out);
    let given = args.settings.iter().map(|setting| ("--set", setting));
    // Cross-encoders may begin with another model.
    let ranker = args.ranker_settings.iter().map(|setting| ("--ranker-set", setting));
    for (flag, setting) in given.chain(ranker.filter(|(_, setting)| key(setting) != "model.encoder")) {
        if let Some((key, option)) = NAMED.iter().find(|(named, _)| *named == key(setting)) {
            return Err(Error::input(format!("{flag} {key}: give it as {option}")));
        }
    }
    let name = match bench.family {
        Family::Pel => "settings.json",
        Family::TBiencoder => "settings-t-biencoder.json",
        Family::Blink => "settings-blink.json",
    };
    let config = bench.config(&[], 0)?;
    check_windows(&config).context(|| "--set view".into())?;
    let ranker = if bench.table.ranks() { Some(stages::ranker_config(bench, 0)?) } else { None };
    if let Some(ranker) = &ranker {
        check_windows(ranker).context(|| "--ranker-set view".into())?;
    }
    let (split, every, within_domain) = (args.split.clone(), args.every, args.within_domain);
    let data = Some(data.to_owned());
    let settings = Settings { config, split, every, within_domain, data };
    same(&out.join(name), settings, |kept, new| {
        if kept.data.is_none() {
            kept.data.clone_from(&new.data);
        }
    })?;
    if let Some(ranker) = ranker {
        let (train_every, own_share) = (args.train_every, args.own_share);
        let name = if bench.family == Family::Blink { "settings-blink-ranker.json" } else { "settings-ranker.json" };
        same(&out.join(name), Ranking { ranker, train_every, own_share }, |_, _| ())?;
    }
    if matches!(bench.table, TableId::Blink4 | TableId::Blink6) && args.pretrained.is_some() {
        let [bi_encoder, ranker] = pretrained::checked(bench)?.map(Path::to_path_buf);
        same(&out.join("settings-pretrained.json"), Pretrained { bi_encoder, ranker }, |_, _| ())?;
    }
    if let (TableId::Blink4, Some(kb)) = (bench.table, &args.other_kb) {
        same(&out.join("settings-other-kb.json"), OtherKb { kb: kb.clone() }, |_, _| ())?;
    }
    Ok(())
}

/// Refuses words of `--only` that name no row, and settings that every row makes itself; gives the rows' names in files.
///
/// # Errors
/// If there is one.
pub fn check_rows<R: Row>(bench: &Bench<'_>, rows: &[R]) -> Result<Vec<String>> {
    let args = bench.args;
    let slugs: Vec<String> = rows.iter().map(Row::slug).collect();
    let unknown = args.only.iter().find(|word| !slugs.iter().any(|slug| slug.contains(word.as_str())));
    // Of several tables, another may have it.
    if let (Some(word), [_]) = (unknown, &args.table[..]) {
        let expected = slugs.join(", ");
        return Err(Error::input(format!("--only: expected rows of the table ({expected}), found {word}")));
    }
    let own: Vec<Vec<String>> = rows.iter().map(Row::settings).collect();
    let is_own = |wanted: &str| own.iter().all(|row| row.iter().any(|setting| key(setting) == wanted));
    match args.settings.iter().map(|setting| key(setting)).find(|wanted| is_own(wanted)) {
        Some(wanted) => Err(Error::input(format!(
            "--set {wanted}: every row of {} sets this itself; choose among the rows with --only",
            bench.table.slug()
        ))),
        None => Ok(slugs),
    }
}

/// Whether anything has been trained or measured in a folder.
fn has_work(out: &Path) -> Result<bool> {
    let runs = out.join("runs");
    let begun = |run: &String| [METRICS, CHECKPOINTS].iter().any(|name| runs.join(run).join(name).exists());
    Ok(["results", "lists"].iter().any(|name| out.join(name).exists()) || entries(&runs)?.iter().any(begun))
}

/// Refuses settings that are not those of the folder; one without any work keeps them. `complete` gives what was kept what an earlier version
/// did not keep.
fn same<T: Serialize + for<'de> Deserialize<'de> + PartialEq>(
    path: &Path,
    settings: T,
    complete: impl FnOnce(&mut T, &T),
) -> Result<()> {
    if !path.is_file() {
        return keep(path, &settings);
    }
    let mut before = kept::<T>(path, || Err(Error::input("it has gone")))?;
    complete(&mut before, &settings);
    if before == settings {
        return Ok(());
    }
    if !has_work(path.parent().unwrap_or(Path::new("")))? {
        return keep(path, &settings);
    }
    let lines = |settings: &T| serde_json::to_string_pretty(settings).unwrap_or_default();
    let (was, is) = (lines(&before), lines(&settings));
    let other = was.lines().zip(is.lines()).find(|(was, is)| was != is).unwrap_or_default();
    let [was, is] = [other.0, other.1].map(|line| line.trim().trim_end_matches(','));
    let data = if was.starts_with("\"data\": \"") { " (the concepts or the corpus have changed)" } else { "" };
    Err(Error::input(format!(
        "{}: the rows there were begun with {was}, this call has {is}{data}; take another --out, or the same settings",
        path.display()
    )))
}
