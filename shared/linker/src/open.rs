//! Bundles from files. Everything else of this crate reads bytes.

use crate::bundle::{Bundle, Parts, names};
use crate::linker::Linker;
use burn::tensor::Device;
use bytes::Bytes;
use pel_kb::error::{Error, Result};
use std::path::Path;

impl Linker {
    /// Opens a bundle on the processor: one file (`pel pack`), or a folder.
    ///
    /// The files are read into memory. A program that starts often maps them instead (`pel-artifacts`).
    ///
    /// # Errors
    /// If a file cannot be read, or as [`Bundle::read`].
    ///
    /// # Examples
    /// ```no_run
    /// use pel_linker::Linker;
    ///
    /// for link in Linker::open("default.pel")?.link("Fever since Monday, no cough.")? {
    ///     println!("{:?}: {:?}", link.span, link.decision);
    /// }
    /// # Ok::<(), pel_linker::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let parts = match path.is_dir() {
            true => of_folder(path)?,
            false => Parts::from_one_file(&read(path)?)?,
        };
        Self::new(Bundle::read(parts)?, &Device::flex())
    }
}

fn read(path: &Path) -> Result<Bytes> {
    std::fs::read(path)
        .map(Bytes::from)
        .map_err(|cause| Error::io(format!("reading {}", path.display())).caused_by(cause))
}

/// The files of a folder. [`Bundle::read`] says which are missing and which do not belong there.
fn of_folder(folder: &Path) -> Result<Parts> {
    if !folder.join(names::MANIFEST).is_file() {
        return Err(Error::input(format!(
            "{} is not a bundle: it has no file {}",
            folder.display(),
            names::MANIFEST
        )));
    }
    let listed = std::fs::read_dir(folder)
        .map_err(|cause| Error::io(format!("reading {}", folder.display())).caused_by(cause))?;
    let mut parts = Parts::default();
    for entry in listed {
        let path = entry
            .map_err(|cause| Error::io(format!("reading {}", folder.display())).caused_by(cause))?
            .path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        if path.is_file() && !name.starts_with('.') {
            parts.0.insert(name.to_owned(), read(&path)?);
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleBuilder;
    use pel_kb::{Concept, KnowledgeBase};

    fn bundle() -> Parts {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/tiny");
        let mut files = Parts::default();
        for name in [names::CONFIG, names::WEIGHTS, names::TOKENIZER] {
            let file = Path::new(folder).join(name);
            files.0.insert(name.into(), read(&file).expect("a fixture"));
        }
        let mut kb = KnowledgeBase::new();
        let fever = Concept {
            id: "D1".into(),
            name: "fever".into(),
            ..Concept::default()
        };
        kb.push(fever).expect("a new concept");
        let built = BundleBuilder::new(kb, files).build(&Device::flex());
        built.expect("built").parts().clone()
    }

    fn linked(path: &Path) -> Vec<crate::Link> {
        let linker = Linker::open(path).expect("opened");
        linker.link("Fever since Monday.").expect("linked")
    }

    #[test]
    fn a_file_and_a_folder_give_the_same_links() {
        let place = std::env::temp_dir().join(format!("pel-open-{}", std::process::id()));
        let (folder, file) = (place.join("folder"), place.join("bundle.pel"));
        std::fs::create_dir_all(&folder).expect("created");
        let parts = bundle();
        for (name, bytes) in &parts.0 {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
        std::fs::write(&file, parts.to_one_file().expect("one file")).expect("written");
        let (of_file, of_folder) = (linked(&file), linked(&folder));
        assert_eq!(of_file.len(), 1);
        assert_eq!(of_file, of_folder);
        std::fs::remove_file(folder.join(names::MANIFEST)).expect("removed");
        let refused = Linker::open(&folder).err().expect("no manifest");
        assert!(refused.to_string().contains("is not a bundle"), "{refused}");
        let missing = Linker::open(place.join("none")).err().expect("missing");
        assert!(missing.to_string().contains("none"), "{missing}");
        std::fs::remove_dir_all(&place).expect("removed");
    }
}
