//! Targets: readers of the command line. Their input is written to a file first, in memory if
//! possible.

use crate::artifacts::{TEXT, check_spans, two};
use crate::seeds;
use clap::Parser;
use hyper::rt::ReadBufCursor;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use pel_artifacts::concept_table;
use pel_artifacts::pretrained::torch_to_safetensors;
use pel_cli::cli::import::{ImportArgs, import};
use pel_corpora::candidate_lists::CandidateLists;
use pel_corpora::corpus::Corpus;
use pel_corpora::import::pubtator as reader;
use pel_corpora::recognise;
use pel_corpora::spans as given;
use pel_io::archive as archive_reader;
use pel_io::files;
use pel_io::limits::Bound;
use pel_io::text_encoding::TextEncoding;
use pel_kb::KnowledgeBase;
use pel_kb::error::Result;
use pel_server::serve::answer::answer;
use pel_server::serve::site::Site;
use pel_terminologies::import::concepts::CONCEPTS;
use pel_terminologies::import::report::Report;
use pel_trainer::train::config::Config;
use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static FOLDER: TempDir = new_folder();
    /// Parsed command lines. Building the parser takes as long as a small import.
    static PARSED: RefCell<HashMap<Vec<PathBuf>, Rc<ImportArgs>>> = RefCell::default();
}

fn new_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.expect("a folder for temporary files")
}

/// Writes a file of this thread.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = FOLDER.with(|folder| folder.path().join(name));
    std::fs::write(&path, bytes).expect("there is room for a temporary file");
    path
}

#[derive(Parser)]
struct Import {
    #[command(flatten)]
    args: ImportArgs,
}

/// Runs `pel import` with these words, of which the first is `import`.
fn run_import<'a>(words: impl IntoIterator<Item = &'a Path>) -> Result<Report> {
    let words: Vec<PathBuf> = words.into_iter().map(Path::to_path_buf).collect();
    let parsed = PARSED.with_borrow_mut(|parsed| {
        let parse = |words: &Vec<PathBuf>| Rc::new(Import::parse_from(words).args);
        Rc::clone(parsed.entry(words).or_insert_with_key(parse))
    });
    import(&parsed)
}

/// A PubTator file: imported records read back as a corpus without skips.
pub fn pubtator(data: &[u8]) {
    let input = file("corpus.txt", data);
    let out = FOLDER.with(|folder| folder.path().join("corpus"));
    let words = ["import", "pubtator", "--prefix", "UMLS:", "--out"].map(Path::new);
    if let Ok(report) = run_import(words.into_iter().chain([out.as_path(), input.as_path()])) {
        let corpus = Corpus::read(&out, "all")
            .unwrap_or_else(|error| panic!("what was written is refused: {error}"));
        assert_eq!(corpus.report.skipped_in_all(), 0, "{:?}", corpus.report);
        assert_eq!(corpus.documents.len(), report.kept(reader::DOCUMENTS));
        assert_eq!(corpus.mentions.len(), report.kept("mentions (all)"));
    }
    let _ = std::fs::remove_dir_all(&out);
}

/// Imports a release, once with each set of options, into a concept table, which must read back as
/// one; its redirects lead to concepts.
fn import_release(format: &str, files: &[(&str, &[u8])], all_options: &[&[&str]]) {
    let (release, out) = FOLDER.with(|folder| {
        let folder = folder.path();
        (
            folder.join("releases").join(format),
            folder.join("terminology"),
        )
    });
    // The files of the next input have the same names.
    std::fs::create_dir_all(&release).expect("a folder for temporary files");
    for (name, bytes) in files {
        std::fs::write(release.join(name), bytes).expect("there is room for a temporary file");
    }
    for options in all_options {
        let words = ["import", format, "--out"].map(Path::new);
        let places = [out.as_path(), release.as_path()];
        let options = options.iter().map(Path::new);
        if let Ok(report) = run_import(words.into_iter().chain(places).chain(options)) {
            check_import(&out, &report);
        }
        let _ = std::fs::remove_dir_all(&out);
    }
}

fn check_import(out: &Path, report: &Report) {
    let read = concept_table::read(&out.join("kb.jsonl"))
        .unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    assert_eq!(read.kb.len(), report.kept(CONCEPTS));
    let Ok(redirects) = std::fs::read_to_string(out.join("redirects.tsv")) else {
        return;
    };
    let rows: Vec<&str> = redirects.lines().skip(1).collect();
    assert!(rows.is_sorted(), "{redirects}");
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let [id, successor, reason] = fields[..] else {
            panic!("a redirect of 3 fields: {row:?}")
        };
        assert!(!reason.is_empty() && read.kb.find(id).is_none(), "{row:?}");
        assert!(
            successor.is_empty() || read.kb.find(successor).is_some(),
            "{row:?}"
        );
    }
}

/// Names, types and retired identifiers of the Metathesaurus, with zero bytes between.
pub fn umls(data: &[u8]) {
    let (names, rest) = two(data);
    let (types, retired) = two(rest);
    let files = [
        ("MRCONSO.RRF", names),
        ("MRSTY.RRF", types),
        ("MRCUI.RRF", retired),
    ];
    let options: [&[&str]; 2] = [&["--languages", "all"], &["--skip-bad", "--obsolete"]];
    import_release("umls", &files, &options);
}

/// Names and retired identifiers of RxNorm, with a zero byte between.
pub fn rxnorm(data: &[u8]) {
    let (names, retired) = two(data);
    let files = [("RXNCONSO.RRF", names), ("RXNCUI.RRF", retired)];
    import_release("rxnorm", &files, &[&["--skip-bad"]]);
}

/// Concepts, descriptions, dialects and associations of SNOMED CT, with zero bytes between.
pub fn snomed(data: &[u8]) {
    let (concepts, rest) = two(data);
    let (names, rest) = two(rest);
    let (dialects, associations) = two(rest);
    let files = [
        ("sct2_Concept_Snapshot_INT_20260101.txt", concepts),
        ("sct2_Description_Snapshot-en_INT_20260101.txt", names),
        (
            "der2_cRefset_LanguageSnapshot-en_INT_20260101.txt",
            dialects,
        ),
        (
            "der2_cRefset_AssociationSnapshot_INT_20260101.txt",
            associations,
        ),
    ];
    let options: [&[&str]; 2] = [&["--languages", "all"], &["--skip-bad", "--inactive"]];
    import_release("snomed", &files, &options);
}

/// A mapping that merges the concepts of a table.
pub fn sssom(data: &[u8]) {
    let map = file("map.sssom.tsv", data);
    let table = "{\"id\":\"A:1\",\"name\":\"fever\"}\n{\"id\":\"B:1\",\"name\":\"pyrexia\"}\n\
                 {\"id\":\"C0000001\",\"name\":\"febris\"}\n\
                 {\"id\":\"7\",\"name\":\"cough\",\"sources\":[\"S\"]}\n";
    let table = file("table.jsonl", table.as_bytes());
    let out = FOLDER.with(|folder| folder.path().join("mapped"));
    let paths = [
        out.as_path(),
        table.as_path(),
        Path::new("--map"),
        map.as_path(),
    ];
    let words = ["import", "jsonl", "--out"].map(Path::new);
    if let Ok(report) = run_import(words.into_iter().chain(paths)) {
        check_import(&out, &report);
    }
    let _ = std::fs::remove_dir_all(&out);
}

/// Weights of `torch.save`: what is read is a safetensors file of no more numbers than the input
/// has.
pub fn torch(data: &[u8]) {
    let Ok(made) = torch_to_safetensors(data) else {
        return;
    };
    let file = safetensors::tensor::SafeTensors::deserialize(&made)
        .unwrap_or_else(|error| panic!("what was written is refused: {error}"));
    let bytes: usize = file.iter().map(|(_, view)| view.data().len()).sum();
    assert!(bytes <= data.len(), "{bytes} of {}", data.len());
}

/// A ZIP archive: its members end, and it is recognised or refused.
pub fn archive(data: &[u8]) {
    let path = file("release.zip", data);
    if let Ok(members) = archive_reader::members(&path) {
        for member in members.iter().take(8) {
            if let Ok(reader) = member.open(Bound::Stream) {
                // A bomb ends where the archive says that it does.
                let mut reader = reader.take(1 << 20);
                let _ = io::copy(&mut reader, &mut io::sink());
            }
        }
    }
    let _ = recognise::recognise(&path);
}

fn read_spans(name: &str, data: &[u8]) {
    let (text, lines) = two(data);
    let text = if text.is_empty() {
        TEXT.into()
    } else {
        String::from_utf8_lossy(text)
    };
    let Ok(spans) = given::read(&file(name, lines), &TextEncoding::default(), &text) else {
        return;
    };
    check_spans(&text, &spans.mentions);
}

/// A note, a zero byte, and BRAT's annotations of it.
pub fn brat(data: &[u8]) {
    read_spans("note.ann", data);
}

/// A note, a zero byte, and its spans as JSON Lines.
pub fn spans(data: &[u8]) {
    read_spans("note.jsonl", data);
}

/// Candidate lists.
pub fn candidates(data: &[u8]) {
    static KB: OnceLock<KnowledgeBase> = OnceLock::new();
    let kb = KB.get_or_init(|| {
        let mut kb = KnowledgeBase::new();
        for concept in seeds::concepts() {
            kb.push(concept).expect("the ids are unique");
        }
        kb
    });
    let _ = CandidateLists::read(&file("candidates.jsonl", data), kb);
}

/// The documents of a corpus, a zero byte, and its mentions.
pub fn corpus(data: &[u8]) {
    let (documents, mentions) = two(data);
    file("documents.jsonl", documents);
    let path = file("mentions.dev.jsonl", mentions);
    let folder = path.parent().expect("it is in a folder");
    let Ok(corpus) = Corpus::read(folder, "dev") else {
        return;
    };
    for placed in &corpus.mentions {
        let found = placed
            .span
            .of(&corpus.documents[placed.document].text)
            .expect("a span can be cut");
        assert_eq!(found, placed.mention.text);
    }
}

/// A note, possibly compressed.
pub fn compressed(data: &[u8]) {
    let read = files::read_text(&file("note.txt", data));
    if let (Ok(read), Ok(text)) = (read, std::str::from_utf8(data)) {
        assert_eq!(
            read.trim_start_matches('\u{feff}'),
            text.trim_start_matches('\u{feff}')
        );
    }
}

/// A training configuration.
pub fn settings(data: &[u8]) {
    let Ok(config) = Config::default().read(Some(&file("config.toml", data)), &[]) else {
        return;
    };
    let written = config.to_toml().expect("what was read can be written");
    let again = Config::default().read(Some(&file("again.toml", written.as_bytes())), &[]);
    let again =
        again.unwrap_or_else(|error| panic!("what was written is refused: {error}\n{written}"));
    assert_eq!(
        again.to_toml().expect("what was read can be written"),
        written
    );
}

/// Content of files that must never be served.
const SECRET: &[u8] = b"not-to-be-served";

fn site() -> &'static Site {
    static SITE: OnceLock<(TempDir, Site)> = OnceLock::new();
    let (_, site) = SITE.get_or_init(|| {
        let folder = new_folder();
        let large = "long enough to be compressed, ".repeat(80);
        for (name, body) in [
            ("outside", SECRET),
            ("page/.hidden", SECRET),
            ("page/index.html", b"<!doctype html>"),
            ("page/a b.js", large.as_bytes()),
            ("page/pkg/worker.js", b"1"),
            ("page/sub/index.html", b""),
        ] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
            std::fs::write(path, body).expect("written");
        }
        let site = Site::read(&folder.path().join("page"), None).expect("a page");
        (folder, site)
    });
    site
}

/// A connection whose client has sent all of its requests.
struct Connection<'a> {
    input: &'a [u8],
    output: Arc<Mutex<Vec<u8>>>,
}

impl hyper::rt::Read for Connection<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.input.split_at(into.remaining().min(self.input.len()));
        into.put_slice(now);
        self.input = later;
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Connection<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.output
            .lock()
            .expect("nobody panics with it")
            .extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Raw requests to the server: each answer is valid HTTP and contains no file outside the page.
pub fn http(data: &[u8]) {
    thread_local! {
        static RUNTIME: Runtime = Builder::new_current_thread().build().expect("it can be started");
    }
    let output = Arc::new(Mutex::new(Vec::new()));
    let connection = Connection {
        input: data,
        output: Arc::clone(&output),
    };
    let service =
        service_fn(
            |request| async move { Ok::<_, Infallible>(answer(site(), &request, true).await) },
        );
    // An invalid request ends the connection with an error.
    let _ = RUNTIME.with(|runtime| {
        runtime.block_on(http1::Builder::new().serve_connection(connection, service))
    });
    let output = output.lock().expect("nobody panics with it");
    assert!(
        output.is_empty() || output.starts_with(b"HTTP/1."),
        "{:?}",
        String::from_utf8_lossy(&output)
    );
    let has = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window == SECRET);
    assert!(
        !has(&output) || has(data),
        "{:?}",
        String::from_utf8_lossy(&output)
    );
}
