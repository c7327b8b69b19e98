//! The identity of a file or folder, independent of its path.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// Identifies a file or folder across links, hard links, `..` and case-insensitive names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// Device and inode.
    #[cfg(unix)]
    Number(u64, u64),
    /// The canonical path, which does not resolve hard links.
    #[cfg(not(unix))]
    Path(PathBuf),
}

impl Identity {
    /// The identity of an existing file or folder.
    pub fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        {
            std::fs::metadata(path).ok().as_ref().map(Self::of_metadata)
        }
        #[cfg(not(unix))]
        {
            path.canonicalize().ok().map(Self::Path)
        }
    }

    #[cfg(unix)]
    fn of_metadata(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self::Number(found.dev(), found.ino())
    }

    /// The identities of a path and of the folders around it, innermost first. The path itself need
    /// not exist.
    pub fn around(path: &Path) -> impl Iterator<Item = Self> {
        let real = real(path);
        let found: Vec<Self> = real.ancestors().filter_map(Self::of).collect();
        found.into_iter()
    }
}

/// Standard input or output.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standard {
    Input,
    Output,
}

impl Standard {
    /// The identity of the regular file that it is redirected to, if any.
    pub fn identity(self) -> Option<Identity> {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            let descriptor = match self {
                Self::Input => std::io::stdin().as_fd().try_clone_to_owned(),
                Self::Output => std::io::stdout().as_fd().try_clone_to_owned(),
            };
            let found = std::fs::File::from(descriptor.ok()?).metadata().ok()?;
            found.is_file().then(|| Identity::of_metadata(&found))
        }
        #[cfg(not(unix))]
        {
            None
        }
    }
}

/// Whether the path is an existing regular file.
pub(super) fn is_file(path: &Path) -> bool {
    std::fs::metadata(path)
        .as_ref()
        .is_ok_and(Metadata::is_file)
}

/// Whether two paths are the same existing file or folder.
pub fn is_same(one: &Path, other: &Path) -> bool {
    Identity::of(one).is_some_and(|one| Identity::of(other).is_some_and(|other| one == other))
}

/// Maximum length of a chain of links.
const LINKS: usize = 40;

/// Resolves symbolic links, also a link to a path that does not exist yet.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let Ok(to) = std::fs::read_link(&path) else {
            break;
        };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

/// The path without links and `..`, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    let path = behind_links(path);
    let mut rest = Vec::new();
    let mut there = path.as_path();
    loop {
        let place = if there.as_os_str().is_empty() {
            Path::new(".")
        } else {
            there
        };
        if let Ok(real) = place.canonicalize() {
            return rest.iter().rev().fold(real, |real, name| real.join(name));
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return path.clone();
        };
        rest.push(name);
        there = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_path_is_resolved_from_its_existing_ancestors() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        std::fs::create_dir(root.join("a")).expect("made");
        assert_eq!(
            real(&folder.path().join("a/../new/file")),
            root.join("new/file")
        );
        let around: Vec<Identity> = Identity::around(&folder.path().join("a/new/file")).collect();
        assert_eq!(
            around[..2],
            [root.join("a"), root].map(|path| Identity::of(&path).expect("there"))
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_resolved() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        let path = |name: &str| root.join(name);
        std::fs::write(path("file"), "text").expect("written");
        std::fs::hard_link(path("file"), path("hard")).expect("linked");
        symlink("file", path("soft")).expect("linked");
        symlink("second", path("first")).expect("linked");
        symlink("nowhere", path("second")).expect("linked");
        assert!(is_same(&path("file"), &path("hard")) && is_same(&path("soft"), &path("hard")));
        assert!(!is_same(&path("file"), &path("first")));
        assert_eq!(behind_links(&path("first")), path("nowhere"));
        // A cycle of links stays unresolved; opening it fails.
        symlink("circle", path("circle")).expect("linked");
        assert_eq!(behind_links(&path("circle")), path("circle"));
    }
}
