//! Which file or folder a path means, whatever it is called there.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

/// What a file or folder is, under each of its names: links, hard links, `..`, and other letters' case where the file system knows none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// The device and the number of the file.
    #[cfg(unix)]
    Number(u64, u64),
    /// The path without links; hard links are not seen through.
    #[cfg(not(unix))]
    Path(PathBuf),
}

impl Identity {
    /// That of a file or folder that is there.
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

    /// Those of a path, or of what it leads to if that is not there yet, and of the folders around it, the innermost first.
    pub fn around(path: &Path) -> impl Iterator<Item = Self> {
        let real = real(path);
        let found: Vec<Self> = real.ancestors().filter_map(Self::of).collect();
        found.into_iter()
    }
}

/// What standard input or output leads to, if that is a regular file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Standard {
    Input,
    Output,
}

impl Standard {
    /// The file.
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

/// Whether there is a file to be lost: neither a folder, nor a device or a pipe.
pub(super) fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).as_ref().is_ok_and(Metadata::is_file)
}

/// Whether two paths mean one file or folder that is there.
pub fn is_same(one: &Path, other: &Path) -> bool {
    Identity::of(one).is_some_and(|one| Identity::of(other).is_some_and(|other| one == other))
}

/// Links that lead to one another are followed so many times at most.
const LINKS: usize = 40;

/// The file or folder that a path means: behind links, also behind one that leads nowhere yet.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if let Ok(real) = path.canonicalize() {
            return real;
        }
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    path
}

/// The path without links and `..`, as far as it is there.
pub(super) fn real(path: &Path) -> PathBuf {
    let path = behind_links(path);
    let mut rest = Vec::new();
    let mut there = path.as_path();
    loop {
        let place = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        if let Ok(real) = place.canonicalize() {
            return rest.iter().rev().fold(real, |real, name| real.join(name));
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else { return path.clone() };
        rest.push(name);
        there = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_yet_is_found_from_what_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        std::fs::create_dir(root.join("a")).expect("made");
        assert_eq!(real(&folder.path().join("a/../new/file")), root.join("new/file"));
        let around: Vec<Identity> = Identity::around(&folder.path().join("a/new/file")).collect();
        assert_eq!(around[..2], [root.join("a"), root].map(|path| Identity::of(&path).expect("there")));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_seen_through() {
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
        // A circle is no file; whoever opens it hears that from the system.
        symlink("circle", path("circle")).expect("linked");
        assert_eq!(behind_links(&path("circle")), path("circle"));
    }
}
