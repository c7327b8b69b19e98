//! `pel pack`: converts a bundle between folder and single file.

use crate::io::bundles;
use crate::io::outputs::Inputs;
use clap::Args;
use pel_shared::bundle::{Bundle, Manifest, Parts, names};
use pel_shared::error::{Context, Result};
use std::path::{Path, PathBuf};

/// Convert a bundle from folder to single file or back
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel pack bundle bundle.pel\n  pel pack bundle.pel bundle\n  pel pack --edited bundle new"
)]
pub struct PackArgs {
    /// Bundle
    bundle: PathBuf,
    /// Output: a single file if the name ends in .pel, else a folder
    out: PathBuf,
    /// Accept a manifest.json edited by hand in a bundle folder, and write a new digest of it
    #[arg(long)]
    edited: bool,
}

/// Runs `pel pack`. The output has a digest of its manifest, whatever version wrote the bundle.
///
/// # Errors
/// If the bundle cannot be read or written.
pub fn run(args: &PackArgs, json: bool) -> Result<()> {
    Inputs::new()
        .artifacts([args.bundle.as_path()])
        .check([bundles::writes(&args.out)])?;
    bundles::check_output(&args.out)?;
    let bundle = match args.edited {
        true => edited(&args.bundle).context(|| args.bundle.display().to_string())?,
        false => bundles::open(&args.bundle)?,
    };
    let mut parts = bundle.parts().clone();
    let (_, manifest) = bundle.manifest.sealed()?;
    parts.0.insert(names::MANIFEST.into(), manifest.into());
    bundles::save(&args.out, &parts)?;
    match json {
        true => println!("{}", serde_json::json!({ "out": args.out })),
        false => println!("{}", args.out.display()),
    }
    Ok(())
}

/// A bundle with an edited manifest and a new digest. All other files are checked.
fn edited(folder: &Path) -> Result<Bundle> {
    let (manifest, json) =
        Manifest::edited(&bundles::map(&folder.join(names::MANIFEST))?)?.sealed()?;
    let mut parts = Parts::default();
    for name in manifest.files.keys() {
        parts
            .0
            .insert(name.clone(), bundles::map(&folder.join(name))?);
    }
    parts.0.insert(names::MANIFEST.into(), json.into());
    Bundle::read(parts)
}
