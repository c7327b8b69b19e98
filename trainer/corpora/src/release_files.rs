//! The files of a release on disk: in a folder, in a ZIP archive, or given one by one.

use super::xml_encoding::decoded;
use pel_io::archive::{Member, is_archive, members};
use pel_io::files::{list_files, open};
use pel_io::limits::Bound;
use pel_io::text_encoding::{TextEncoding, decode, open_text};
use pel_kb::error::{Error, Result};
use pel_terminologies::release::{Content, ReleaseFile, ReleaseFiles};
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of its own; `-` is standard input.
#[derive(Debug)]
struct OwnFile {
    path: PathBuf,
    encoding: TextEncoding,
}

impl OwnFile {
    fn of_release(path: PathBuf) -> Arc<Self> {
        let encoding = TextEncoding::default();
        Arc::new(Self { path, encoding })
    }
}

impl Content for OwnFile {
    fn open(&self) -> Result<Box<dyn BufRead>> {
        open(&self.path)
    }

    fn open_text(&self) -> Result<Box<dyn BufRead>> {
        open_text(&self.path, &self.encoding, Bound::Stream)
    }

    fn open_xml(&self) -> Result<Box<dyn BufRead>> {
        decoded(&self.path.display().to_string(), self.open()?)
    }
}

/// A member of a ZIP archive.
#[derive(Debug)]
struct ArchiveFile(Member);

impl Content for ArchiveFile {
    fn open(&self) -> Result<Box<dyn BufRead>> {
        self.0.open(Bound::Stream)
    }

    fn open_text(&self) -> Result<Box<dyn BufRead>> {
        let (label, raw) = (self.0.label(), self.open()?);
        decode(Path::new(&label), raw, &TextEncoding::default())
    }

    fn open_xml(&self) -> Result<Box<dyn BufRead>> {
        decoded(&self.0.label(), self.open()?)
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.display().to_string();
    paths.iter().map(name).collect()
}

/// Text files in an encoding, as they are given.
#[must_use]
pub fn texts(paths: &[PathBuf], encoding: &TextEncoding) -> ReleaseFiles {
    let given = names(paths);
    let files = paths.iter().zip(&given).map(|(path, name)| {
        let (path, encoding) = (path.clone(), encoding.clone());
        let content = Arc::new(OwnFile { path, encoding });
        ReleaseFile::new(name.clone(), name.clone(), content)
    });
    ReleaseFiles {
        files: files.collect(),
        given,
    }
}

/// The files of a release, given as folders, ZIP archives or single files.
///
/// # Errors
/// If a path does not exist, or a folder or archive cannot be read.
pub fn files(paths: &[PathBuf]) -> Result<ReleaseFiles> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() != "-" && !path.exists() {
            return Err(Error::io(format!(
                "opening {}: there is no such file or folder",
                path.display()
            )));
        }
        if path.is_dir() {
            files.extend(list_files(path)?.into_iter().map(|file| {
                let name = file.strip_prefix(path).unwrap_or(&file);
                let parts = name
                    .components()
                    .map(|part| part.as_os_str().to_string_lossy());
                let name = parts.collect::<Vec<_>>().join("/");
                let label = file.display().to_string();
                ReleaseFile::new(name, label, OwnFile::of_release(file))
            }));
        } else if path.is_file() && is_archive(path) {
            files.extend(members(path)?.into_iter().map(|member| {
                let (name, label) = (member.name().to_owned(), member.label());
                ReleaseFile::new(name, label, Arc::new(ArchiveFile(member)))
            }));
        } else {
            let name = path.display().to_string();
            let content = OwnFile::of_release(path.clone());
            files.push(ReleaseFile::new(name.clone(), name, content));
        }
    }
    Ok(ReleaseFiles {
        files,
        given: names(paths),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pel_io::testing::zipped;
    use pel_terminologies::release::one_named;
    use std::io::Read;

    #[test]
    fn files_are_found_in_folders_and_archives() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        std::fs::create_dir(root.join("META")).expect("made");
        std::fs::write(root.join("META/MRCONSO.RRF"), "a|\n").expect("written");
        zipped(
            &root.join("b.zip"),
            &[("2026AA/META/MRSTY.RRF", b"b|\nc|\n")],
        );
        let all = files(&[root.join("META"), root.join("b.zip")])
            .expect("listed")
            .files;
        let names: Vec<_> = all.iter().map(ReleaseFile::name).collect();
        assert_eq!(names, ["MRCONSO.RRF", "2026AA/META/MRSTY.RRF"]);
        let styles = one_named(&all, "mrsty.rrf").expect("one").expect("found");
        assert!(styles.label().ends_with("b.zip:2026AA/META/MRSTY.RRF"));
        let mut text = String::new();
        styles
            .open_text()
            .expect("a text")
            .read_to_string(&mut text)
            .expect("readable");
        assert_eq!(text, "b|\nc|\n");
        assert!(one_named(&all, "MRDEF.RRF").expect("none").is_none());
        let twice = files(&[root.join("META"), root.join("META")])
            .expect("listed")
            .files;
        let message = one_named(&twice, "MRCONSO.RRF")
            .expect_err("two")
            .to_string();
        assert!(
            message.contains("expected one file MRCONSO.RRF"),
            "{message}"
        );
        assert!(files(&[root.join("none")]).is_err());
    }
}
