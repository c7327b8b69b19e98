//! The served files: a table of paths built once, so that requests never access the file system.

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use headers::ETag;
use mime_guess::{Mime, mime};
use pel_artifacts::bundles;
use pel_io::files::{io_error, walk_error};
use pel_kb::error::{Error, Result};
use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use walkdir::{DirEntry, WalkDir};

/// Files up to this size are not compressed.
const SMALL: usize = 1024;

/// Files from this size on are sent uncompressed until compression in the background has finished.
const LARGE: usize = 1 << 20;

/// Index page of a folder.
const INDEX: &str = "index.html";

/// The files by path.
pub struct Site(HashMap<String, Found>);

/// What a path refers to.
#[derive(Clone)]
pub enum Found {
    /// A file.
    File(Arc<File>),
    /// A folder with a page, requested without a trailing slash.
    Folder,
}

impl Site {
    /// Reads the folder of the page, and a bundle that replaces the page's own.
    ///
    /// # Errors
    /// If the folder has no page, a link leads out of it, a file cannot be read, or the bundle is
    /// damaged.
    pub fn read(page: &Path, bundle: Option<&Path>) -> Result<Self> {
        let shown = page.display();
        let expected = |found| {
            Error::input(format!(
                "{shown}: expected the folder of the built page, found {found}"
            ))
        };
        if !page.exists() {
            return Err(expected("no such file or folder"));
        }
        if !page.is_dir() {
            return Err(expected("a file"));
        }
        if !page.join(INDEX).is_file() {
            return Err(expected("a folder without index.html"));
        }
        let mut site = Self(HashMap::new());
        // Check the page first, because reading a bundle takes longer.
        site.add_page(page, bundle.is_some())?;
        if let Some(bundle) = bundle {
            for (name, bytes) in &bundles::open(bundle)?.parts().0 {
                site.add(&format!("/bundle/{name}"), bytes.clone())?;
            }
        }
        Ok(site)
    }

    /// Adds the files of the page's folder, optionally without its bundle.
    fn add_page(&mut self, page: &Path, without_bundle: bool) -> Result<()> {
        let root = page
            .canonicalize()
            .map_err(|cause| io_error("opening", page, cause))?;
        let left_out = |entry: &DirEntry| match entry.depth() {
            0 => false,
            1 if without_bundle && entry.file_name() == "bundle" => true,
            _ => entry.file_name().as_encoded_bytes().starts_with(b"."),
        };
        for entry in WalkDir::new(&root)
            .follow_links(true)
            .into_iter()
            .filter_entry(|entry| !left_out(entry))
        {
            let entry = entry.map_err(|cause| walk_error(page, cause))?;
            let path = entry.path();
            let real = path
                .canonicalize()
                .map_err(|cause| io_error("opening", path, cause))?;
            if !real.starts_with(&root) {
                let message =
                    "this link leads out of the page's folder; copy the file there instead";
                return Err(Error::input(format!("{}: {message}", path.display())));
            }
            if !entry.file_type().is_file() {
                continue;
            }
            let inside = path.strip_prefix(&root).unwrap_or(path);
            let names = inside
                .iter()
                .map(|name| name.to_str().map(|name| format!("/{name}")));
            let Some(name) = names.collect::<Option<String>>() else {
                return Err(Error::input(format!(
                    "{}: the name of the file is not Unicode; rename it, or remove it from the \
                     page's folder",
                    path.display()
                )));
            };
            // Not mapped, because rebuilding the page may truncate files in use.
            self.add(
                &name,
                std::fs::read(path)
                    .map_err(|cause| io_error("reading", path, cause))?
                    .into(),
            )?;
        }
        Ok(())
    }

    fn add(&mut self, path: &str, bytes: Bytes) -> Result<()> {
        let file = Found::File(Arc::new(File::new(path, bytes)?));
        if let Some(folder) = path
            .strip_suffix(INDEX)
            .filter(|folder| folder.ends_with('/'))
        {
            self.0.insert(folder.to_owned(), file.clone());
            if let Some(folder) = folder.strip_suffix('/').filter(|folder| !folder.is_empty()) {
                self.0.insert(folder.to_owned(), Found::Folder);
            }
        }
        self.0.insert(path.to_owned(), file);
        Ok(())
    }

    /// The entry of a path.
    pub fn find(&self, path: &str) -> Option<&Found> {
        self.0.get(path)
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.0
            .iter()
            .filter(|(path, found)| !path.ends_with('/') && matches!(found, Found::File(_)))
            .count()
    }
}

/// An HTTP content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// Accepted by browsers over HTTPS and from localhost.
    Zstd,
    /// Accepted by browsers always.
    Gzip,
}

impl Coding {
    /// Preferred codings first.
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
            // Levels from 20 on need a larger window than browsers accept; from 10 on a model takes
            // seconds.
            Self::Zstd => zstd::bulk::compress(bytes, 9),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// A served file.
pub struct File {
    /// Its content.
    pub bytes: Bytes,
    /// Its media type.
    pub kind: Mime,
    plain: ETag,
    packed: Option<[Packed; 2]>,
}

/// A file's compressed form, created on first request; none if it is not smaller.
struct Packed {
    tag: ETag,
    begun: AtomicBool,
    bytes: OnceLock<Option<Bytes>>,
}

/// Large files are compressed one at a time.
static TURN: Mutex<()> = Mutex::new(());

impl File {
    fn new(path: &str, bytes: Bytes) -> Result<Self> {
        let hash = blake3::hash(&bytes).to_hex();
        let tag = |end: &str| {
            let tag = format!("\"{hash}{end}\"").parse();
            tag.map_err(|cause| Error::io(format!("making the tag of {path}")).caused_by(cause))
        };
        let packed = |coding: Coding| -> Result<Packed> {
            let tag = tag(&format!("-{}", coding.name()))?;
            Ok(Packed {
                tag,
                begun: AtomicBool::new(false),
                bytes: OnceLock::new(),
            })
        };
        let kind = kind(path);
        let [zstd, gzip] = Coding::ALL.map(packed);
        let packed = if bytes.len() > SMALL && can_shrink(&kind) {
            Some([zstd?, gzip?])
        } else {
            None
        };
        Ok(Self {
            plain: tag("")?,
            bytes,
            kind,
            packed,
        })
    }

    /// The entity tag of a file, uncompressed or compressed.
    pub fn tag(&self, coding: Option<Coding>) -> &ETag {
        match (coding, &self.packed) {
            (Some(coding), Some(packed)) => &packed[coding as usize].tag,
            _ => &self.plain,
        }
    }

    /// The compressed file, if smaller. A large file is compressed in the background for later
    /// requests.
    pub async fn packed(self: &Arc<Self>, coding: Coding) -> Option<Bytes> {
        let packed = &self.packed.as_ref()?[coding as usize];
        if let Some(done) = packed.bytes.get() {
            return done.clone();
        }
        let file = Arc::clone(self);
        if self.bytes.len() < LARGE {
            return tokio::task::spawn_blocking(move || file.pack(coding))
                .await
                .ok()?;
        }
        if !packed.begun.swap(true, Ordering::Relaxed) {
            let pack = move || {
                let _turn = TURN.lock();
                file.pack(coding);
            };
            // If no thread can be started, the file is sent uncompressed.
            std::thread::Builder::new().spawn(pack).ok();
        }
        None
    }

    fn pack(&self, coding: Coding) -> Option<Bytes> {
        let smaller = |bytes: &Vec<u8>| bytes.len() < self.bytes.len();
        let pack = || {
            coding
                .compress(&self.bytes)
                .ok()
                .filter(smaller)
                .map(Bytes::from)
        };
        self.packed.as_ref()?[coding as usize]
            .bytes
            .get_or_init(pack)
            .clone()
    }
}

/// The media type by file extension; texts are UTF-8.
fn kind(path: &str) -> Mime {
    let kind = mime_guess::from_path(path).first_or_octet_stream();
    if kind.type_() == mime::TEXT {
        format!("{kind}; charset=utf-8").parse().unwrap_or(kind)
    } else {
        kind
    }
}

/// Whether files of a type shrink when compressed: texts, programs and bundle files.
fn can_shrink(kind: &Mime) -> bool {
    let named = |name: mime::Name<'_>| {
        ["javascript", "json", "octet-stream", "wasm", "xml"].contains(&name.as_str())
    };
    kind.type_() == mime::TEXT || named(kind.subtype()) || kind.suffix().is_some_and(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_follow_extensions() {
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
            assert_eq!(
                (kind.as_ref(), can_shrink(&kind)),
                (expected, shrinks),
                "{path}"
            );
        }
    }

    #[test]
    fn incompressible_files_have_no_compressed_form() {
        let noise: Vec<u8> = (0..64_u32)
            .flat_map(|n| *blake3::hash(&n.to_le_bytes()).as_bytes())
            .collect();
        for coding in Coding::ALL {
            let file = |bytes: Vec<u8>| File::new("/a.bin", bytes.into()).expect("a file");
            assert_eq!(file(noise.clone()).pack(coding), None);
            assert!(
                file(vec![7; 2048])
                    .pack(coding)
                    .is_some_and(|bytes| bytes.len() < 100)
            );
            assert_eq!(file(vec![7; SMALL]).pack(coding), None);
        }
    }
}
