//! The one check of every command: none of its outputs is, holds or lies in one of its inputs.

use super::file_identity::{Identity, Standard, is_file, real};
use crate::io::corpus_files;
use crate::io::files::listing::files_of;
use pel_shared::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What a command reads.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Files and folders that nothing may replace, with the names that the user gave them.
    places: HashMap<Identity, PathBuf>,
    /// Folders that are read whole, so that a file more in them would be read too or change what they are.
    whole: HashMap<Identity, PathBuf>,
    /// Folders of corpora, in which files of other names may be made.
    corpora: HashMap<Identity, PathBuf>,
    /// The paths that were given.
    given: Vec<PathBuf>,
}

/// What a command writes.
#[derive(Clone, Copy, Debug)]
pub enum Writes<'a> {
    /// One file; `-` is standard output.
    File(&'a Path),
    /// Files in a folder, beside others that stay; each of them is asked for too, or checked when it is written (`check_file`).
    Into(&'a Path),
    /// A folder that is this command's alone: what else lies there may be replaced or removed.
    Folder(&'a Path),
}

impl<'a> Writes<'a> {
    fn path(self) -> &'a Path {
        match self {
            Self::File(path) | Self::Into(path) | Self::Folder(path) => path,
        }
    }
}

impl Inputs {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files, `-` being standard input, or folders of which each file is read.
    #[must_use]
    pub fn files<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        for path in paths {
            if path.as_os_str() == "-" {
                let file = Standard::Input.identity();
                self.places.extend(file.map(|file| (file, PathBuf::from("standard input"))));
                continue;
            }
            // What cannot be listed is said by whoever reads it.
            for file in files_of(path).unwrap_or_default() {
                self.place(&file);
            }
            self.place(path);
        }
        self
    }

    /// Bundles, models and encoders, each a file or a folder, and folders of which every file is read: nothing may be written into them.
    #[must_use]
    pub fn artifacts<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        for path in paths {
            self = self.files([path]);
            if path.is_dir() {
                self.whole.extend(Identity::of(path).map(|folder| (folder, path.to_owned())));
            }
        }
        self
    }

    /// Folders of corpora: their files may not be replaced, and none may be made that would be read as one of them.
    #[must_use]
    pub fn corpora<'a>(mut self, folders: impl IntoIterator<Item = &'a Path>) -> Self {
        for folder in folders {
            corpus_files::inputs(folder).iter().for_each(|file| self.place(file));
            self.place(folder);
            self.corpora.extend(Identity::of(folder).map(|identity| (identity, folder.to_owned())));
        }
        self
    }

    fn place(&mut self, path: &Path) {
        // Nothing is lost by writing into a device, though it be read too.
        if is_file(path) || path.is_dir() {
            self.places.extend(Identity::of(path).map(|identity| (identity, path.to_owned())));
        }
        self.given.push(path.to_owned());
    }

    /// Refuses outputs that are inputs, lie in what is read whole, or would replace a folder in which an input lies; and two outputs that
    /// are one. To be asked before the work begins.
    ///
    /// # Errors
    /// If there is such an output, or a folder is where a file is to be written.
    pub fn check<'a>(&self, outputs: impl IntoIterator<Item = Writes<'a>>) -> Result<()> {
        let mut taken = HashSet::new();
        for output in outputs {
            let path = output.path();
            if path.as_os_str() == "-" && matches!(output, Writes::File(_)) {
                continue;
            }
            self.check_one(output)?;
            if !taken.insert(real(path)) && !is_device(path) {
                return Err(Error::usage(format!(
                    "{}: two outputs would go there; choose another place for one of them",
                    path.display()
                )));
            }
        }
        match Standard::Output.identity().and_then(|file| self.places.get(&file)) {
            Some(input) => Err(Error::usage(format!(
                "standard output: it leads into {}, which is an input; choose another place to write to",
                input.display()
            ))),
            None => Ok(()),
        }
    }

    fn check_one(&self, output: Writes<'_>) -> Result<()> {
        let path = output.path();
        if matches!(output, Writes::File(_)) && path.is_dir() {
            return Err(Error::input(format!("{}: expected a file to write, found a folder", path.display())));
        }
        let own = Identity::of(path);
        let mut refused = own.as_ref().and_then(|own| self.places.get(own).or(self.whole.get(own)));
        // Beside notes and other single files further ones may be written.
        if matches!(output, Writes::Into(_)) && path.is_dir() {
            refused = own.as_ref().and_then(|own| self.whole.get(own).or(self.corpora.get(own)));
        }
        if let Some(input) = refused {
            return Err(is_input(path, input));
        }
        if let Some(folder) = Identity::around(path).find_map(|around| self.whole.get(&around)) {
            return Err(Error::usage(format!(
                "{}: this lies in {}, which is an input; choose another place to write to",
                path.display(),
                folder.display()
            )));
        }
        if let (Writes::File(_), Some(folder)) = (output, self.corpus_around(path)) {
            return Err(Error::usage(format!(
                "{}: a file of this name would be read as one of the corpus {}, which is an input; choose another name",
                path.display(),
                folder.display()
            )));
        }
        if let (Writes::Folder(_), Some(own)) = (output, &own) {
            let inside = |input: &&PathBuf| Identity::around(input).skip(1).any(|around| around == *own);
            if let Some(input) = self.given.iter().find(inside) {
                return Err(Error::usage(format!(
                    "{}: {} lies in it, which is an input; choose another place to write to",
                    path.display(),
                    input.display()
                )));
            }
        }
        Ok(())
    }

    /// The corpus of which a file would be a part by its name.
    fn corpus_around(&self, path: &Path) -> Option<&PathBuf> {
        let real = real(path);
        let folder = self.corpora.get(&Identity::of(real.parent()?)?)?;
        real.file_name()?.to_str().is_some_and(corpus_files::is_part).then_some(folder)
    }
}

/// Refuses a file to be written that is a folder, or one of some inputs. Commands ask [`Inputs::check`] once; this is for files whose
/// names are known only when they are written.
///
/// # Errors
/// If it is one; the inputs' own errors are left to those who read them.
pub fn check_file<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    Inputs::new().files(inputs).check([Writes::File(out)])
}

fn is_device(path: &Path) -> bool {
    path.exists() && !path.is_dir() && !is_file(path)
}

/// The error of an output that is an input.
fn is_input(out: &Path, input: &Path) -> Error {
    let also = match out == input {
        true => String::new(),
        false => format!(" ({})", input.display()),
    };
    Error::usage(format!("{}: this is an input{also}; choose another place to write to", out.display()))
}

#[cfg(test)]
mod tests {
    use super::Writes::{File, Folder, Into};
    use super::*;
    use pel_shared::error::Kind;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new(files: &[&str]) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            for name in files {
                let path = folder.path().join(name);
                std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
                std::fs::write(path, "text").expect("written");
            }
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }
    }

    /// Why an output is refused; nothing if it is not.
    fn why(inputs: &Inputs, output: Writes<'_>) -> Option<String> {
        let error = inputs.check([output]).err()?;
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        Some(error.to_string())
    }

    #[test]
    fn a_file_that_is_read_is_not_written_under_any_name() {
        let place = Place::new(&["note.txt", "other.txt", "in/x"]);
        let input = place.path("note.txt");
        let inputs = Inputs::new().files([input.as_path()]);
        for same in [input.clone(), place.path("in/../note.txt")] {
            assert!(why(&inputs, File(&same)).is_some_and(|why| why.contains("this is an input")), "{same:?}");
            assert!(why(&inputs, Folder(&same)).is_some_and(|why| why.contains("this is an input")), "{same:?}");
        }
        for other in ["other.txt", "new.txt", "in/new/note.txt"] {
            assert_eq!(why(&inputs, File(&place.path(other))), None, "{other}");
        }
        assert_eq!(why(&inputs, File(Path::new("-"))), None);
        // Beside an input further files may be written; in its place a whole folder may not.
        assert_eq!(why(&inputs, Into(place.0.path())), None);
        let whole = why(&inputs, Folder(place.0.path()));
        assert!(whole.is_some_and(|why| why.contains("note.txt lies in it")));
        assert_eq!(why(&inputs, Folder(&place.path("in"))), None);
        let folder = inputs.check([File(&place.path("in"))]).expect_err("a folder");
        assert!(folder.kind() == Kind::Input && folder.to_string().contains("found a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_hard_links_of_an_input_are_that_input() {
        use std::os::unix::fs::symlink;
        let place = Place::new(&["note.txt", "bundle/manifest.json"]);
        let [note, hard, soft, bundle] = ["note.txt", "hard", "soft", "to_bundle"].map(|name| place.path(name));
        std::fs::hard_link(&note, &hard).expect("linked");
        symlink(&note, &soft).expect("linked");
        symlink(place.path("bundle"), &bundle).expect("linked");
        for (given, others) in [(&note, [&hard, &soft]), (&soft, [&note, &hard]), (&hard, [&note, &soft])] {
            let inputs = Inputs::new().files([given.as_path()]);
            for other in others {
                assert!(why(&inputs, File(other)).is_some_and(|why| why.contains("this is an input (")), "{other:?}");
            }
        }
        let inputs = Inputs::new().artifacts([bundle.as_path()]);
        for inside in ["bundle/new.csv", "to_bundle/new.csv", "bundle/a/b/new.csv"] {
            assert!(
                why(&inputs, File(&place.path(inside))).is_some_and(|why| why.contains("this lies in")),
                "{inside}"
            );
        }
        // A link that leads to a place in the bundle where nothing is yet.
        symlink(place.path("bundle/new"), place.path("dangling")).expect("linked");
        assert!(why(&inputs, File(&place.path("dangling"))).is_some_and(|why| why.contains("this lies in")));
        assert_eq!(why(&Inputs::new().files([Path::new("/dev/null")]), File(Path::new("/dev/null"))), None);
    }

    #[test]
    fn nothing_is_written_into_what_is_read_whole() {
        let place = Place::new(&["b/manifest.json", "b/deep/file", "b2/x"]);
        let bundle = place.path("b");
        let inputs = Inputs::new().artifacts([bundle.as_path()]);
        for name in ["b/manifest.json", "b/deep/file", "b/new.csv", "b/deep/new"] {
            assert!(why(&inputs, File(&place.path(name))).is_some(), "{name}");
        }
        for name in ["b", "b/deep", "b/new"] {
            assert!(why(&inputs, Into(&place.path(name))).is_some(), "{name}");
            assert!(why(&inputs, Folder(&place.path(name))).is_some(), "{name}");
        }
        assert!(why(&inputs, Folder(place.0.path())).is_some_and(|why| why.contains("lies in it")));
        for name in ["b2", "b3", "c"] {
            assert_eq!(why(&inputs, Folder(&place.path(name))), None, "{name}");
        }
    }

    #[test]
    fn a_corpus_keeps_its_files_and_gets_no_others_of_their_names() {
        let place = Place::new(&["c/documents.jsonl.gz", "c/mentions.dev.jsonl", "c/kb.jsonl", "c/mine.csv"]);
        let corpus = place.path("c");
        let inputs = Inputs::new().corpora([corpus.as_path()]);
        for name in ["c/documents.jsonl.gz", "c/mentions.dev.jsonl", "c/kb.jsonl"] {
            assert!(
                why(&inputs, File(&place.path(name))).is_some_and(|why| why.contains("this is an input")),
                "{name}"
            );
        }
        for name in ["c/documents.jsonl", "c/mentions.new.jsonl.xz"] {
            assert!(why(&inputs, File(&place.path(name))).is_some_and(|why| why.contains("another name")), "{name}");
        }
        for name in ["c/mine.csv", "c/results.json", "c/run/mentions.dev.jsonl"] {
            assert_eq!(why(&inputs, File(&place.path(name))), None, "{name}");
        }
        assert!(why(&inputs, Into(&corpus)).is_some_and(|why| why.contains("this is an input")));
        assert_eq!(why(&inputs, Folder(&place.path("c/run"))), None);
        assert!(why(&inputs, Folder(&corpus)).is_some());
    }

    #[test]
    fn two_outputs_are_two_files() {
        let place = Place::new(&["a/x"]);
        let inputs = Inputs::new();
        let (one, same, other) = (place.path("out"), place.path("a/../out"), place.path("a/out"));
        assert!(inputs.check([File(&one), File(&other)]).is_ok());
        let said = inputs.check([File(&one), File(&same)]).expect_err("one file").to_string();
        assert!(said.contains("two outputs would go there"), "{said}");
        assert!(inputs.check([File(Path::new("-")), File(Path::new("-"))]).is_ok());
    }
}
