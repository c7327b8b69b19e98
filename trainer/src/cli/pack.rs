//! `pel pack`: copies a bundle into the other form.

use crate::io::bundles;
use crate::io::outputs::Inputs;
use clap::Args;
use pel_shared::bundle::{Bundle, Manifest, Parts, names};
use pel_shared::error::{Context, Result};
use std::path::{Path, PathBuf};

/// Copy a bundle into the other form: a folder into one file, or back
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel pack bundle bundle.pel\n  pel pack bundle.pel bundle\n  pel pack --edited bundle new"
)]
pub struct PackArgs {
    /// The bundle
    bundle: PathBuf,
    /// Where it goes: one file if the name ends in .pel, else a folder
    out: PathBuf,
    /// Take a manifest.json that was edited by hand, in the folder of a bundle: what is written has a digest of it as it is now
    #[arg(long)]
    edited: bool,
}

/// Runs `pel pack`. What is written has the digest of its manifest, whichever version wrote the bundle.
///
/// # Errors
/// If the bundle cannot be read or written.
pub fn run(args: &PackArgs, json: bool) -> Result<()> {
    Inputs::new().artifacts([args.bundle.as_path()]).check([bundles::writes(&args.out)])?;
    bundles::check_place(&args.out)?;
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

/// A bundle whose manifest was edited, with a new digest; all else is checked.
fn edited(folder: &Path) -> Result<Bundle> {
    let (manifest, json) = Manifest::edited(&bundles::map(&folder.join(names::MANIFEST))?)?.sealed()?;
    let mut parts = Parts::default();
    for name in manifest.files.keys() {
        parts.0.insert(name.clone(), bundles::map(&folder.join(name))?);
    }
    parts.0.insert(names::MANIFEST.into(), json.into());
    Bundle::read(parts)
}
