//! Checks that no output of a command is one of its inputs, contains one or lies in one.

use crate::corpus_files;
use crate::file_identity::{Identity, Standard, is_file, real};
use crate::files::listing::list_files;
use pel_kb::error::{Error, Result};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The inputs of a command.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Files and folders that must not be replaced, with the names given by the user.
    places: HashMap<Identity, PathBuf>,
    /// Folders that are read completely, so that no file may be added.
    whole: HashMap<Identity, PathBuf>,
    /// Corpus folders, to which files of other names may be added.
    corpora: HashMap<Identity, PathBuf>,
    /// All given paths.
    given: Vec<PathBuf>,
}

/// An output of a command.
#[derive(Clone, Copy, Debug)]
pub enum Output<'a> {
    /// One file; `-` is standard output.
    File(&'a Path),
    /// Files in a folder beside others; each file is checked separately, here or when written
    /// (`check_file`).
    Into(&'a Path),
    /// A folder owned by this command, whose other content may be replaced or removed.
    Folder(&'a Path),
}

impl<'a> Output<'a> {
    fn path(self) -> &'a Path {
        match self {
            Self::File(path) | Self::Into(path) | Self::Folder(path) => path,
        }
    }
}

impl Inputs {
    /// No inputs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds files (`-` is standard input), or folders whose files are read.
    #[must_use]
    pub fn files<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        for path in paths {
            if path.as_os_str() == "-" {
                let file = Standard::Input.identity();
                self.places
                    .extend(file.map(|file| (file, PathBuf::from("standard input"))));
                continue;
            }
            // The reader reports a folder that cannot be listed.
            for file in list_files(path).unwrap_or_default() {
                self.place(&file);
            }
            self.place(path);
        }
        self
    }

    /// Adds bundles, models, encoders and folders that are read completely. Nothing may be written
    /// into them.
    #[must_use]
    pub fn artifacts<'a>(mut self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        for path in paths {
            self = self.files([path]);
            if path.is_dir() {
                self.whole
                    .extend(Identity::of(path).map(|folder| (folder, path.to_owned())));
            }
        }
        self
    }

    /// Adds corpus folders. Their files must not be replaced, and no file may be added that would
    /// be read with them.
    #[must_use]
    pub fn corpora<'a>(mut self, folders: impl IntoIterator<Item = &'a Path>) -> Self {
        for folder in folders {
            corpus_files::inputs(folder)
                .iter()
                .for_each(|file| self.place(file));
            self.place(folder);
            self.corpora
                .extend(Identity::of(folder).map(|identity| (identity, folder.to_owned())));
        }
        self
    }

    fn place(&mut self, path: &Path) {
        // Writing to a device that is also read loses nothing.
        if is_file(path) || path.is_dir() {
            self.places
                .extend(Identity::of(path).map(|identity| (identity, path.to_owned())));
        }
        self.given.push(path.to_owned());
    }

    /// Refuses outputs that are inputs, lie in a folder that is read completely, or would replace a
    /// folder around an input. Also refuses two equal outputs. Call it before the work begins.
    ///
    /// # Errors
    /// If there is such an output, or a folder has the name of an output file.
    pub fn check<'a>(&self, outputs: impl IntoIterator<Item = Output<'a>>) -> Result<()> {
        let mut taken = HashSet::new();
        for output in outputs {
            let path = output.path();
            if path.as_os_str() == "-" && matches!(output, Output::File(_)) {
                continue;
            }
            self.check_one(output)?;
            if !taken.insert(real(path)) && !is_device(path) {
                return Err(Error::usage(format!(
                    "{}: two outputs have this path; choose another path for one",
                    path.display()
                )));
            }
        }
        match Standard::Output
            .identity()
            .and_then(|file| self.places.get(&file))
        {
            Some(input) => Err(Error::usage(format!(
                "standard output: it is redirected to {}, which is an input; choose another output",
                input.display()
            ))),
            None => Ok(()),
        }
    }

    fn check_one(&self, output: Output<'_>) -> Result<()> {
        let path = output.path();
        if matches!(output, Output::File(_)) && path.is_dir() {
            return Err(Error::input(format!(
                "{}: expected a file to write, found a folder",
                path.display()
            )));
        }
        let own = Identity::of(path);
        let mut refused = own
            .as_ref()
            .and_then(|own| self.places.get(own).or(self.whole.get(own)));
        // Further files may be written beside single input files.
        if matches!(output, Output::Into(_)) && path.is_dir() {
            refused = own
                .as_ref()
                .and_then(|own| self.whole.get(own).or(self.corpora.get(own)));
        }
        if let Some(input) = refused {
            return Err(is_input(path, input));
        }
        if let Some(folder) = Identity::around(path).find_map(|around| self.whole.get(&around)) {
            return Err(Error::usage(format!(
                "{}: this is inside {}, which is an input; choose another output",
                path.display(),
                folder.display()
            )));
        }
        if let (Output::File(_), Some(folder)) = (output, self.corpus_around(path)) {
            return Err(Error::usage(format!(
                "{}: a file of this name would be read with the corpus {}, which is an input; \
                 choose another name",
                path.display(),
                folder.display()
            )));
        }
        if let (Output::Folder(_), Some(own)) = (output, &own) {
            let inside =
                |input: &&PathBuf| Identity::around(input).skip(1).any(|around| around == *own);
            if let Some(input) = self.given.iter().find(inside) {
                return Err(Error::usage(format!(
                    "{}: it contains {}, which is an input; choose another output",
                    path.display(),
                    input.display()
                )));
            }
        }
        Ok(())
    }

    /// The input corpus that would include a file of this name.
    fn corpus_around(&self, path: &Path) -> Option<&PathBuf> {
        let real = real(path);
        let folder = self.corpora.get(&Identity::of(real.parent()?)?)?;
        real.file_name()?
            .to_str()
            .is_some_and(corpus_files::is_part)
            .then_some(folder)
    }
}

/// Checks one output file whose name is known only when it is written. Commands call
/// [`Inputs::check`] once.
///
/// # Errors
/// If it is a folder or an input.
pub fn check_file<'a>(out: &Path, inputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    Inputs::new().files(inputs).check([Output::File(out)])
}

fn is_device(path: &Path) -> bool {
    path.exists() && !path.is_dir() && !is_file(path)
}

/// The error for an output that is an input.
fn is_input(out: &Path, input: &Path) -> Error {
    let also = match out == input {
        true => String::new(),
        false => format!(" ({})", input.display()),
    };
    Error::usage(format!(
        "{}: this is an input{also}; choose another output",
        out.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::Output::{File, Folder, Into};
    use super::*;
    use pel_kb::error::Kind;

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

    /// The reason why an output is refused, if it is.
    fn why(inputs: &Inputs, output: Output<'_>) -> Option<String> {
        let error = inputs.check([output]).err()?;
        assert_eq!(error.kind(), Kind::Usage, "{error}");
        Some(error.to_string())
    }

    #[test]
    fn input_is_not_overwritten_under_another_path() {
        let place = Place::new(&["note.txt", "other.txt", "in/x"]);
        let input = place.path("note.txt");
        let inputs = Inputs::new().files([input.as_path()]);
        for same in [input.clone(), place.path("in/../note.txt")] {
            assert!(
                why(&inputs, File(&same)).is_some_and(|why| why.contains("this is an input")),
                "{same:?}"
            );
            assert!(
                why(&inputs, Folder(&same)).is_some_and(|why| why.contains("this is an input")),
                "{same:?}"
            );
        }
        for other in ["other.txt", "new.txt", "in/new/note.txt"] {
            assert_eq!(why(&inputs, File(&place.path(other))), None, "{other}");
        }
        assert_eq!(why(&inputs, File(Path::new("-"))), None);
        // Files may be written beside an input; a folder around it must not be replaced.
        assert_eq!(why(&inputs, Into(place.0.path())), None);
        let whole = why(&inputs, Folder(place.0.path()));
        assert!(whole.is_some_and(|why| why.contains("it contains")));
        assert_eq!(why(&inputs, Folder(&place.path("in"))), None);
        let folder = inputs
            .check([File(&place.path("in"))])
            .expect_err("a folder");
        assert!(folder.kind() == Kind::Input && folder.to_string().contains("found a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_to_an_input_are_refused() {
        use std::os::unix::fs::symlink;
        let place = Place::new(&["note.txt", "bundle/manifest.json"]);
        let [note, hard, soft, bundle] =
            ["note.txt", "hard", "soft", "to_bundle"].map(|name| place.path(name));
        std::fs::hard_link(&note, &hard).expect("linked");
        symlink(&note, &soft).expect("linked");
        symlink(place.path("bundle"), &bundle).expect("linked");
        for (given, others) in [
            (&note, [&hard, &soft]),
            (&soft, [&note, &hard]),
            (&hard, [&note, &soft]),
        ] {
            let inputs = Inputs::new().files([given.as_path()]);
            for other in others {
                assert!(
                    why(&inputs, File(other)).is_some_and(|why| why.contains("this is an input (")),
                    "{other:?}"
                );
            }
        }
        let inputs = Inputs::new().artifacts([bundle.as_path()]);
        for inside in ["bundle/new.csv", "to_bundle/new.csv", "bundle/a/b/new.csv"] {
            assert!(
                why(&inputs, File(&place.path(inside)))
                    .is_some_and(|why| why.contains("this is inside")),
                "{inside}"
            );
        }
        // A dangling link into the bundle.
        symlink(place.path("bundle/new"), place.path("dangling")).expect("linked");
        assert!(
            why(&inputs, File(&place.path("dangling")))
                .is_some_and(|why| why.contains("this is inside"))
        );
        assert_eq!(
            why(
                &Inputs::new().files([Path::new("/dev/null")]),
                File(Path::new("/dev/null"))
            ),
            None
        );
    }

    #[test]
    fn artifact_folder_gets_no_new_files() {
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
        assert!(
            why(&inputs, Folder(place.0.path())).is_some_and(|why| why.contains("it contains"))
        );
        for name in ["b2", "b3", "c"] {
            assert_eq!(why(&inputs, Folder(&place.path(name))), None, "{name}");
        }
    }

    #[test]
    fn corpus_gets_no_files_that_would_be_read_with_it() {
        let place = Place::new(&[
            "c/documents.jsonl.gz",
            "c/mentions.dev.jsonl",
            "c/kb.jsonl",
            "c/mine.csv",
        ]);
        let corpus = place.path("c");
        let inputs = Inputs::new().corpora([corpus.as_path()]);
        for name in ["c/documents.jsonl.gz", "c/mentions.dev.jsonl", "c/kb.jsonl"] {
            assert!(
                why(&inputs, File(&place.path(name)))
                    .is_some_and(|why| why.contains("this is an input")),
                "{name}"
            );
        }
        for name in ["c/documents.jsonl", "c/mentions.new.jsonl.xz"] {
            assert!(
                why(&inputs, File(&place.path(name)))
                    .is_some_and(|why| why.contains("another name")),
                "{name}"
            );
        }
        for name in ["c/mine.csv", "c/results.json", "c/run/mentions.dev.jsonl"] {
            assert_eq!(why(&inputs, File(&place.path(name))), None, "{name}");
        }
        assert!(why(&inputs, Into(&corpus)).is_some_and(|why| why.contains("this is an input")));
        assert_eq!(why(&inputs, Folder(&place.path("c/run"))), None);
        assert!(why(&inputs, Folder(&corpus)).is_some());
    }

    #[test]
    fn two_equal_outputs_are_refused() {
        let place = Place::new(&["a/x"]);
        let inputs = Inputs::new();
        let (one, same, other) = (
            place.path("out"),
            place.path("a/../out"),
            place.path("a/out"),
        );
        assert!(inputs.check([File(&one), File(&other)]).is_ok());
        let message = inputs
            .check([File(&one), File(&same)])
            .expect_err("one file")
            .to_string();
        assert!(message.contains("two outputs have this path"), "{message}");
        assert!(
            inputs
                .check([File(Path::new("-")), File(Path::new("-"))])
                .is_ok()
        );
    }
}
