//! What can be asked for: a table of paths, made once, so that no request ever reaches the file system.

use crate::io::bundles;
use crate::io::files::{io_error, walk_error};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use headers::ETag;
use mime_guess::{Mime, mime};
use pel_shared::error::{Error, Result};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use walkdir::{DirEntry, WalkDir};

/// Files up to so many bytes are sent as they are: little would be gained.
const SMALL: usize = 1024;

/// Files from so many bytes on are compressed while the first who ask for them get them as they are.
const LARGE: usize = 1 << 20;

/// The page of a folder.
const INDEX: &str = "index.html";

/// The files, by path.
pub struct Site(HashMap<String, Found>);

/// What a path leads to.
#[derive(Clone)]
pub enum Found {
    /// A file.
    File(Arc<File>),
    /// A folder with a page, asked for without the slash at its end.
    Folder,
}

impl Site {
    /// Reads the folder of a page, and a bundle that takes the place of the page's own.
    ///
    /// # Errors
    /// If the folder has no page, a link leads out of it, a file cannot be read, or the bundle is damaged.
    pub fn read(page: &Path, bundle: Option<&Path>) -> Result<Self> {
        let shown = page.display();
        let expected = |found| Error::input(format!("{shown}: expected the folder of the built page, found {found}"));
        if !page.exists() {
            return Err(expected("nothing of that name"));
        }
        if !page.is_dir() {
            return Err(expected("a file"));
        }
        if !page.join(INDEX).is_file() {
            return Err(expected("a folder without index.html"));
        }
        let mut site = Self(HashMap::new());
        // The cheap errors first: a bundle is read whole.
        site.add_page(page, bundle.is_some())?;
        if let Some(bundle) = bundle {
            for (name, bytes) in &bundles::open(bundle)?.parts().0 {
                site.add(&format!("/bundle/{name}"), bytes.clone())?;
            }
        }
        Ok(site)
    }

    /// Adds the files of the page's folder, perhaps without its bundle.
    fn add_page(&mut self, page: &Path, without_bundle: bool) -> Result<()> {
        let root = page.canonicalize().map_err(|cause| io_error("opening", page, cause))?;
        let left_out = |entry: &DirEntry| match entry.depth() {
            0 => false,
            1 if without_bundle && entry.file_name() == "bundle" => true,
            _ => entry.file_name().as_encoded_bytes().starts_with(b"."),
        };
        for entry in WalkDir::new(&root).follow_links(true).into_iter().filter_entry(|entry| !left_out(entry)) {
            let entry = entry.map_err(|cause| walk_error(page, cause))?;
            let path = entry.path();
            let real = path.canonicalize().map_err(|cause| io_error("opening", path, cause))?;
            if !real.starts_with(&root) {
                let said = "expected files of the page, found a link that leads out of its folder";
                return Err(Error::input(format!("{}: {said}", path.display())));
            }
            if !entry.file_type().is_file() {
                continue;
            }
            let inside = path.strip_prefix(&root).unwrap_or(path);
            let names = inside.iter().map(|name| name.to_str().map(|name| format!("/{name}")));
            let Some(name) = names.collect::<Option<String>>() else {
                return Err(Error::input(format!("{}: expected a name in Unicode, found another", path.display())));
            };
            // Not mapped: who builds the page anew may shorten the files that are being served.
            self.add(&name, std::fs::read(path).map_err(|cause| io_error("reading", path, cause))?.into())?;
        }
        Ok(())
    }

    fn add(&mut self, path: &str, bytes: Bytes) -> Result<()> {
        let file = Found::File(Arc::new(File::new(path, bytes)?));
        if let Some(folder) = path.strip_suffix(INDEX).filter(|folder| folder.ends_with('/')) {
            self.0.insert(folder.to_owned(), file.clone());
            if let Some(folder) = folder.strip_suffix('/').filter(|folder| !folder.is_empty()) {
                self.0.insert(folder.to_owned(), Found::Folder);
            }
        }
        self.0.insert(path.to_owned(), file);
        Ok(())
    }

    /// What a path leads to, if anything.
    pub fn find(&self, path: &str) -> Option<&Found> {
        self.0.get(path)
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        self.0.iter().filter(|(path, found)| !path.ends_with('/') && matches!(found, Found::File(_))).count()
    }
}

/// A way to send a file compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Browsers take it over HTTPS, and over HTTP from their own machine.
    Zstd,
    /// Browsers take it always.
    Gzip,
}

impl Coding {
    /// The better one first.
    pub const ALL: [Self; 2] = [Self::Zstd, Self::Gzip];

    /// Its name in HTTP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    fn compress(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            // Levels from 20 on use a larger window than browsers accept; from 10 on a model takes seconds.
            Self::Zstd => zstd::bulk::compress(bytes, 9),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// A file as it is served.
pub struct File {
    /// Its content.
    pub bytes: Bytes,
    /// What it is.
    pub kind: Mime,
    plain: ETag,
    packed: Option<[Packed; 2]>,
}

/// The compressed form of a file, made when somebody asks for it; none where it is no smaller.
struct Packed {
    tag: ETag,
    begun: AtomicBool,
    bytes: OnceLock<Option<Bytes>>,
}

/// Large files are compressed one after another.
static TURN: Mutex<()> = Mutex::new(());

impl File {
    fn new(path: &str, bytes: Bytes) -> Result<Self> {
        let hash = blake3::hash(&bytes).to_hex();
        let tag = |end: &str| {
            let tag = format!("\"{hash}{end}\"").parse();
            tag.map_err(|cause| Error::io(format!("making the tag of {path}")).caused_by(cause))
        };
        let packed = |coding: Coding| {
            let tag = tag(&format!("-{}", coding.name()))?;
            Ok(Packed { tag, begun: AtomicBool::new(false), bytes: OnceLock::new() })
        };
        let kind = kind(path);
        let [zstd, gzip] = Coding::ALL.map(packed);
        let packed = if bytes.len() > SMALL && can_shrink(&kind) { Some([zstd?, gzip?]) } else { None };
        Ok(Self { plain: tag("")?, bytes, kind, packed })
    }

    /// The tag of its content, as it is or compressed.
    pub fn tag(&self, coding: Option<Coding>) -> &ETag {
        match (coding, &self.packed) {
            (Some(coding), Some(packed)) => &packed[coding as usize].tag,
            _ => &self.plain,
        }
    }

    /// The file compressed, where that is smaller. A large file is compressed in the background first, for whoever asks
    /// again.
    pub async fn packed(self: &Arc<Self>, coding: Coding) -> Option<Bytes> {
        let packed = &self.packed.as_ref()?[coding as usize];
        if let Some(done) = packed.bytes.get() {
            return done.clone();
        }
        let file = Arc::clone(self);
        if self.bytes.len() < LARGE {
            return tokio::task::spawn_blocking(move || file.pack(coding)).await.ok()?;
        }
        if !packed.begun.swap(true, Ordering::Relaxed) {
            let pack = move || {
                let _turn = TURN.lock();
                file.pack(coding);
            };
            // Without a thread it is sent as it is.
            std::thread::Builder::new().spawn(pack).ok();
        }
        None
    }

    fn pack(&self, coding: Coding) -> Option<Bytes> {
        let smaller = |bytes: &Vec<u8>| bytes.len() < self.bytes.len();
        let pack = || coding.compress(&self.bytes).ok().filter(smaller).map(Bytes::from);
        self.packed.as_ref()?[coding as usize].bytes.get_or_init(pack).clone()
    }
}

/// What a file is, by the end of its name; texts are UTF-8.
fn kind(path: &str) -> Mime {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    if kind.type_() == mime::TEXT { format!("{kind}; charset=utf-8").parse().unwrap_or(kind) } else { kind }
}

/// Whether files of a kind are worth compressing: texts, programs, and the files of a bundle.
fn can_shrink(kind: &Mime) -> bool {
    let named = |name: mime::Name<'_>| ["javascript", "json", "octet-stream", "wasm", "xml"].contains(&name.as_str());
    kind.type_() == mime::TEXT || named(kind.subtype()) || kind.suffix().is_some_and(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_the_ends_of_names() {
        for (path, expected, shrinks) in [
            ("/index.html", "text/html; charset=utf-8", true),
            ("/a.js", "text/javascript; charset=utf-8", true),
            ("/a.css", "text/css; charset=utf-8", true),
            ("/LICENSES.md", "text/markdown; charset=utf-8", true),
            ("/a.wasm", "application/wasm", true),
            ("/manifest.json", "application/json", true),
            ("/a.webmanifest", "application/manifest+json", true),
            ("/a.svg", "image/svg+xml", true),
            ("/a.png", "image/png", false),
            ("/model.safetensors", "application/octet-stream", true),
            ("/index.bin", "application/octet-stream", true),
            ("/index.bin.xz", "application/x-xz", false),
            ("/LICENSE", "application/octet-stream", true),
        ] {
            let kind = kind(path);
            assert_eq!((kind.as_ref(), can_shrink(&kind)), (expected, shrinks), "{path}");
        }
    }

    #[test]
    fn what_does_not_shrink_has_no_compressed_form() {
        let noise: Vec<u8> = (0..64_u32).flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes()).collect();
        for coding in Coding::ALL {
            let file = |bytes: Vec<u8>| File::new("/a.bin", bytes.into()).expect("a file");
            assert_eq!(file(noise.clone()).pack(coding), None);
            assert!(file(vec![7; 2048]).pack(coding).is_some_and(|bytes| bytes.len() < 100));
            assert_eq!(file(vec![7; SMALL]).pack(coding), None);
        }
    }
}
