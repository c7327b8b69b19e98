//! What the rows of a folder share: it is kept beside them, and a call with other settings is refused.

use super::{Bench, Family, TableId, keep, kept, pretrained, stages};
use crate::train::config::Config;
use pel_shared::error::{Error, Result};
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
pub fn check(bench: &Bench<'_>) -> Result<()> {
    let (args, out) = (bench.args, &bench.args.out);
    let name = match bench.family {
        Family::Pel => "settings.json",
        Family::TBiencoder => "settings-t-biencoder.json",
        Family::Blink => "settings-blink.json",
    };
    let config = bench.config(&[], 0)?;
    let (split, every, within_domain) = (args.split.clone(), args.every, args.within_domain);
    same(&out.join(name), Settings { config, split, every, within_domain })?;
    if bench.family == Family::Blink || bench.table == TableId::Pel5 {
        let ranker = stages::ranker_config(bench, 0)?;
        let (train_every, own_share) = (args.train_every, args.own_share);
        let name = if bench.family == Family::Blink { "settings-blink-ranker.json" } else { "settings-ranker.json" };
        same(&out.join(name), Ranking { ranker, train_every, own_share })?;
    }
    if matches!(bench.table, TableId::Blink4 | TableId::Blink6) && args.pretrained.is_some() {
        let [bi_encoder, ranker] = pretrained::checked(bench)?.map(Path::to_path_buf);
        same(&out.join("settings-pretrained.json"), Pretrained { bi_encoder, ranker })?;
    }
    if let (TableId::Blink4, Some(kb)) = (bench.table, &args.other_kb) {
        same(&out.join("settings-other-kb.json"), OtherKb { kb: kb.clone() })?;
    }
    Ok(())
}

/// Refuses settings that are not those of the folder; a new one keeps them.
fn same<T: Serialize + for<'de> Deserialize<'de> + PartialEq>(path: &Path, settings: T) -> Result<()> {
    if !path.is_file() {
        return keep(path, &settings);
    }
    match kept::<T>(path, || Err(Error::input("it has gone")))? == settings {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{}: the rows there have other settings than these; take another --out, or the same settings",
            path.display()
        ))),
    }
}
