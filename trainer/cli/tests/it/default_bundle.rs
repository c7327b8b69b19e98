//! The default bundle: detection and links in raw text, and accuracy on annotated notes.
//!
//! `tests/goldens/note.tsv` holds the expected links of `examples/note.txt`. To update it after an
//! intended change, run `PEL_WRITE_EXPECTED=1 cargo test -p pel-cli --test it default_bundle --
//! --nocapture` and review the difference. The command also prints the metrics that are compared
//! with the floors below.

use crate::common::{CommandOutput, output_of, pel, shared_folder};
use burn::tensor::Device;
use bytes::Bytes;
use pel_linker::bundle::{Bundle, Encoders, Parts};
use pel_linker::{LinkOptions, Linker};
use pel_model::encode::BatchSize;
use pel_model::tower::Side;
use serde::Deserialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A file of the repository.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// The default bundle, decompressed as by `./run`.
fn bundle() -> &'static str {
    static BUNDLE: OnceLock<String> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let committed = file("bundle/default");
        let unpacked = shared_folder("default-bundle", &[&committed], |folder| {
            for entry in std::fs::read_dir(&committed).expect("committed") {
                unpack(&entry.expect("listed").path(), folder);
            }
        });
        unpacked.display().to_string()
    })
}

/// Copies a file to a folder, decompressed if its name ends in `.xz`.
fn unpack(path: &Path, folder: &Path) {
    let name = path.file_name().expect("a name").to_string_lossy();
    let to = folder.join(name.strip_suffix(".xz").unwrap_or(&name));
    if !name.ends_with(".xz") {
        std::fs::copy(path, to).expect("copied");
        return;
    }
    let from = std::fs::File::open(path).expect("readable");
    let mut to = std::fs::File::create(to).expect("made");
    let mut from = liblzma::read::XzDecoder::new_multi_decoder(from);
    std::io::copy(&mut from, &mut to).expect("unpacked");
}

/// A line of `--format jsonl`.
#[derive(Deserialize)]
struct Linked {
    doc: String,
    start_code_point: usize,
    end_code_point: usize,
    text: String,
    concept: Option<Named>,
    probability: Option<f32>,
    read_as: Option<String>,
    group: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    name: String,
}

fn link(notes: &Path, more: &[&str]) -> Vec<Linked> {
    let notes = notes.display().to_string();
    let line = [
        "link",
        "--bundle",
        bundle(),
        "--device",
        "cpu",
        "--format",
        "jsonl",
        &notes,
    ];
    let CommandOutput { code, out, err } = output_of(pel(&[&line[..], more].concat()));
    assert_eq!(code, Some(0), "{err}");
    out.lines()
        .map(|line| serde_json::from_str(line).expect("a mention"))
        .collect()
}

fn is_update() -> bool {
    std::env::var_os("PEL_WRITE_EXPECTED").is_some()
}

/// What a web page shares between workers: the windows of the detector and the batches of mentions,
/// computed by other encoders of the same files, in another order.
#[test]
fn encoders_elsewhere_give_the_mentions_and_vectors_of_the_linker() {
    let files = std::fs::read_dir(bundle()).expect("unpacked").map(|entry| {
        let path = entry.expect("listed").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        let bytes = std::fs::read(&path).expect("readable");
        (name.into_owned(), Bytes::from(bytes))
    });
    let parts = Parts(files.collect());
    let files = parts.0.iter();
    let needed = files.filter(|(name, _)| Encoders::FILES.contains(&name.as_str()));
    let needed = needed.map(|(name, bytes)| (name.clone(), bytes.clone()));
    let encoders =
        Encoders::from_parts(&Parts(needed.collect()), &Device::flex()).expect("complete");
    let detector = encoders.detector.as_ref().expect("a detector");
    let bundle = Bundle::read(parts).expect("valid");
    let linker = Linker::new(bundle, &Device::flex()).expect("an encoder");
    let options = LinkOptions::default();
    let text = std::fs::read_to_string(file("examples/note.txt")).expect("committed");

    let input = linker.bundle().detector_input(&text, &options.detect);
    let mut input = input.expect("tokenized").expect("a detector");
    assert!(input.rows().len() > 2, "several windows");
    for at in (0..input.rows().len()).rev() {
        let hidden = detector.last_layer(&input.rows()[at..=at]).concat();
        let taken = linker.bundle().take_window(&mut input, at, &hidden[1..]);
        let refused = taken.expect_err("a value is missing").to_string();
        assert!(refused.contains("values, found"), "{refused}");
        linker
            .bundle()
            .take_window(&mut input, at, &hidden)
            .expect("its values");
    }
    let none = linker.bundle().take_window(&mut input, 99, &[]);
    assert!(none.expect_err("no such window").to_string().contains("99"));
    let found = linker
        .steps()
        .detect_from(&text, &options, input)
        .expect("found");
    assert_eq!(found, linker.detect(&text, &options).expect("found"));

    let prepared = linker.steps().prepare(&text, found).expect("prepared");
    let rows: Vec<_> = prepared.sequences().iter().collect();
    let batches = [(0..rows.len()).collect()];
    let steps = encoders
        .encoder
        .steps(encoders.scorer, Side::Mention, &rows, &batches);
    let values: Vec<f32> = steps
        .flat_map(|step| step.expect("encoded").vectors.read().expect("here"))
        .collect();
    let (encoder, scorer) = (linker.steps().encoder(), linker.steps().scorer());
    let own = encoder.encode_all(scorer, Side::Mention, &rows, BatchSize::default(), |_| {
        Ok(())
    });
    let refused = encoder.encodings(scorer, &rows, values[1..].to_vec());
    let refused = refused.expect_err("a value is missing").to_string();
    assert!(refused.contains("values, found"), "{refused}");
    let taken = encoder
        .encodings(scorer, &rows, values)
        .expect("its values");
    assert_eq!(taken, own.expect("encoded"));
}

#[test]
fn example_note_is_linked_as_expected() {
    // A file of spans beside the note would be used instead of detection.
    assert!(!file("examples/note.ann").exists());
    let mut found = "start\tend\tmention\tconcept\tname\n".to_owned();
    for mention in link(&file("examples/note.txt"), &[]) {
        let Linked {
            start_code_point,
            end_code_point,
            text,
            concept,
            ..
        } = mention;
        let (id, name) = concept.map_or(("NIL".into(), String::new()), |concept| {
            (concept.id, concept.name)
        });
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        writeln!(
            found,
            "{start_code_point}\t{end_code_point}\t{text}\t{id}\t{name}"
        )
        .expect("a string");
    }
    let path = file("tests/goldens/note.tsv");
    if is_update() {
        std::fs::write(&path, &found).expect("written");
    }
    let expected = std::fs::read_to_string(&path).expect("committed");
    let lines = |text: &str| {
        text.lines()
            .map(str::to_owned)
            .collect::<std::collections::BTreeSet<_>>()
    };
    let (before, now) = (lines(&expected), lines(&found));
    let difference: Vec<String> = before
        .difference(&now)
        .map(|line| format!("- {line}"))
        .chain(now.difference(&before).map(|line| format!("+ {line}")))
        .collect();
    assert!(
        difference.is_empty() && expected == found,
        "the links of the example note have changed; if intended, run PEL_WRITE_EXPECTED=1 cargo \
         test -p pel-cli --test it default_bundle\n{}",
        difference.join("\n")
    );
}

/// Without the weight of unknown words the syndrome has 22 %.
#[test]
fn unknown_words_lower_the_probability_but_misspelt_names_do_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("unknown.txt");
    let text = "She has Harrow-Lindqvist syndrome, pnuemonia and chest pain.\n";
    std::fs::write(&note, text).expect("written");
    let found = link(&note, &[]);
    let of = |name: &str| {
        let mention = found.iter().find(|mention| mention.text == name);
        mention
            .and_then(|mention| mention.probability)
            .expect("a probability")
    };
    assert!(of("Harrow-Lindqvist syndrome") < 0.12);
    assert!(of("pnuemonia") > 0.7);
}

/// The concepts that the mentions of a text are linked to, by the words of the mentions.
fn concepts_in(text: &str) -> Vec<(String, Option<String>)> {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note.txt");
    std::fs::write(&note, text).expect("written");
    let links = link(&note, &[]).into_iter();
    let named = links.map(|link| (link.text, link.concept.map(|concept| concept.name)));
    named.collect()
}

/// Misspelt brands have vectors like those of their names, and a brand that the knowledge base lacks
/// has not: "Duoderm" is no "Dioderm", a hydrocortisone.
#[test]
fn a_brand_is_misspelt_only_if_its_vector_is_alike() {
    let text = "She takes Norvask and Plavex daily. Duoderm was applied to the sacrum.";
    let found = concepts_in(text);
    let of = |words: &str| {
        let mut own = found.iter().filter(|(text, _)| text == words);
        own.next().and_then(|(_, concept)| concept.as_deref())
    };
    assert_eq!(of("Norvask"), Some("Amlodipine"));
    assert_eq!(of("Plavex"), Some("clopidogrel"));
    assert_eq!(of("Duoderm"), None);
}

#[test]
fn truncated_names_of_drugs_are_read_as_the_whole_ones() {
    for (line, name) in [
        ("HYDROCHLOROTH 25 mg daily", "Hydrochlorothiazide"),
        ("LEVOTHYROX 50 mcg daily", "levothyroxine"),
    ] {
        let found = concepts_in(line);
        assert_eq!(found[0].1.as_deref(), Some(name), "{found:?}");
    }
}

/// Beside its long form the short form alone was linked.
#[test]
fn a_long_form_and_its_short_form_are_linked_together() {
    let found = concepts_in("He got tissue type plasminogen activator (tPA). tPA was stopped.");
    assert_eq!(found.len(), 3);
    assert!(
        found
            .iter()
            .all(|(_, name)| name.as_deref() == Some("alteplase")),
        "{found:?}"
    );
}

/// Short forms and brands are read as their concepts. Headings, results, "Pt" and single letters are
/// no mentions; "Heart" inside a sentence is one.
#[test]
fn telegraphic_notes_are_read_as_clinicians_write_them() {
    let text = "RENAL: ESRD, missed HD x2. Neck: supple.\n\
                Pt c/o pain. She takes Jardiance for diabetes. s/p CABG. \
                Auscultation of Heart: regular, no m/r/g.\n";
    let expected = [
        ("ESRD", Some("end-stage renal disease")),
        ("HD", Some("hemodialysis")),
        ("pain", None),
        ("Jardiance", Some("empagliflozin")),
        ("diabetes", None),
        ("CABG", Some("coronary artery bypass grafting")),
        ("Auscultation", None),
        ("Heart", None),
    ];
    assert_read(text, &expected);
}

/// A mention of a telegraphic line with its kind.
#[derive(Deserialize)]
struct Kinded {
    start: usize,
    end: usize,
    r#type: String,
}

#[derive(Deserialize)]
struct Line {
    text: String,
    mentions: Vec<Kinded>,
}

/// The detector reads few telegraphic lines right; the concepts of a name and what stands behind a
/// substance tell its kind.
#[test]
fn kinds_of_telegraphic_lines_follow_the_concepts_and_the_results() {
    let lines = file("tests/fixtures/clinical/telegraphic.jsonl");
    let lines = std::fs::read_to_string(lines).expect("committed");
    let lines: Vec<Line> = lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line"))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    for (number, line) in lines.iter().enumerate() {
        let path = folder.path().join(format!("{number:02}.txt"));
        std::fs::write(path, &line.text).expect("written");
    }
    let found = link(folder.path(), &[]);
    let (mut right, mut all) = (0, 0);
    for (number, line) in lines.iter().enumerate() {
        let doc = format!("{number:02}");
        for gold in &line.mentions {
            // Those found with their exact words and linked.
            let mention = found.iter().find(|mention| {
                mention.doc == doc
                    && (mention.start_code_point, mention.end_code_point) == (gold.start, gold.end)
                    && mention.concept.is_some()
            });
            if let Some(mention) = mention {
                all += 1;
                right += usize::from(mention.group.as_deref() == Some(&gold.r#type));
            }
        }
    }
    assert!(all > 200, "{all} of the mentions are linked");
    floor("kinds of telegraphic lines", right, all, 0.95);
}

#[test]
fn substances_of_the_example_note_are_measured_or_given() {
    let found = link(&file("examples/note.txt"), &[]);
    let kind = |words: &str| {
        let mention = found.iter().find(|mention| mention.text == words);
        mention.and_then(|mention| mention.group.as_deref())
    };
    for words in [
        "creatinine",
        "HbA1c",
        "NT-proBNP",
        "troponin",
        "CRP",
        "ferritin",
    ] {
        assert_eq!(kind(words), Some("measurement"), "{words}");
    }
    for words in ["Metformin", "levothyroxine", "prednisolone"] {
        assert_eq!(kind(words), Some("drug"), "{words}");
    }
}

/// A short form whose letters have another order than the words that define it, one before
/// "-induced", a type without "type", an inverted name, and British spellings. A level that fell is
/// no fall.
#[test]
fn abstracts_are_read_as_their_authors_write_them() {
    let text = "Myotonic dystrophy (DM) is rare. Ptosis was seen in DM, and long QT syndrome type 1 \
                with agenesis of the corpus callosum in one. Haemophagocytosis with septicaemia \
                followed; ferritin fell. CP-induced diarrhoea was treated with L-DOPA.\n";
    let expected = [
        ("Myotonic dystrophy", None),
        ("DM", Some("Myotonic dystrophy")),
        ("Ptosis", None),
        ("DM", Some("Myotonic dystrophy")),
        ("long QT syndrome type 1", Some("long QT syndrome 1")),
        (
            "agenesis of the corpus callosum",
            Some("corpus callosum, agenesis of"),
        ),
        ("Haemophagocytosis", Some("hemophagocytosis")),
        ("septicaemia", Some("septicemia")),
        ("ferritin", None),
        ("CP", Some("Cisplatin")),
        ("diarrhoea", None),
        ("L-DOPA", Some("Levodopa")),
    ];
    assert_read(text, &expected);
}

/// Short forms, brands and words of British and Indian notes. "OA" behind a saturation is room air.
#[test]
fn notes_of_other_countries_are_read_as_clinicians_write_them_there() {
    let text = "k/c/o T2DM on Tab Telma, c/o loose motions and giddiness. \
                Hb 9.2, TLC 18,400, Plt 1.2 lakh.\n\
                L NOF #, unable to weight bear. SpO2 91% OA, bibasal creps. \
                FHx: mother Ca breast.\n";
    let expected = [
        ("T2DM", Some("type 2 diabetes mellitus")),
        ("Tab Telma", Some("telmisartan")),
        ("loose motions", Some("diarrhea")),
        ("giddiness", None),
        ("Hb", Some("hemoglobin")),
        ("TLC", Some("white count")),
        ("Plt", Some("platelet count")),
        ("L NOF #", Some("hip fracture")),
        ("unable to weight bear", Some("inability to bear weight")),
        ("SpO2", Some("oxygen saturation")),
        ("bibasal creps", Some("lung crackles")),
        ("Ca breast", Some("breast cancer")),
    ];
    assert_read(text, &expected);
}

/// A test and what it shows, places behind a side, and a day after an operation.
#[test]
fn findings_without_marks_between_them_are_read() {
    let text = "EKG STEMI, CXR cardiomegaly. Cellulitis R foot, AOM L ear. Cataract OD. \
                UTI POD2.\n";
    let expected = [
        ("EKG", Some("electrocardiography")),
        ("STEMI", Some("ST-elevation myocardial infarction")),
        ("CXR", Some("chest radiograph")),
        ("cardiomegaly", None),
        ("Cellulitis R foot", Some("Cellulitis of foot")),
        ("AOM L ear", Some("acute otitis media")),
        ("Cataract OD", Some("Cataract")),
        ("UTI", Some("urinary tract infection")),
    ];
    assert_read(text, &expected);
}

/// A wording without a name is not linked to its opposite, which has one.
#[test]
fn wordings_are_not_linked_to_their_opposites() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note.txt");
    let text = "Hypobilirubinemia and external carotid stenosis. Usher syndrome type 4 was ruled out. \
                Posterior cruciate ligament tear, infrapatellar bursitis, nonobstructive \
                hydrocephalus.\n";
    std::fs::write(&note, text).expect("written");
    let found = link(&note, &[]).into_iter();
    let linked: Vec<String> = found
        .filter_map(|mention| Some(mention.concept?.name))
        .collect();
    assert!(linked.contains(&"Usher syndrome".to_owned()), "{linked:?}");
    for opposite in [
        "hyperbilirubinemia",
        "internal carotid artery stenosis",
        "Usher syndrome type 2",
        "anterior cruciate ligament tear",
        "Prepatellar bursitis",
        "obstructive hydrocephalus",
    ] {
        assert!(!linked.contains(&opposite.to_owned()), "{linked:?}");
    }
}

/// Links a text and compares each mention with what it is read as. All are linked.
fn assert_read(text: &str, expected: &[(&str, Option<&str>)]) {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("note.txt");
    std::fs::write(&note, text).expect("written");
    let found = link(&note, &[]);
    let read: Vec<(&str, Option<&str>)> = found
        .iter()
        .map(|mention| (mention.text.as_str(), mention.read_as.as_deref()))
        .collect();
    assert_eq!(read, expected);
    assert!(found.iter().all(|mention| mention.concept.is_some()));
}

/// Jargon, a short form in a longer mention, values behind tests, and a side. A day in hospital and
/// a part of a code are no mentions, nor are a code and words of a prescription.
#[test]
fn values_and_codes_are_no_parts_of_mentions() {
    let text = "58F w/ CAD s/p appy, substernal CP. Ferritin 22, ALT 88. HD#3.\n\
                M54.50 low back pain, DVT LLE.\n\
                1. I10 Essential hypertension. Former smoker. Take 1 tablet by mouth daily.\n";
    let expected = [
        ("CAD", Some("coronary artery disease")),
        ("appy", Some("Appendectomy")),
        ("substernal CP", Some("chest pain")),
        ("Ferritin", None),
        ("ALT", Some("alanine aminotransferase")),
        ("low back pain", None),
        ("DVT LLE", Some("deep vein thrombosis")),
        ("Essential hypertension", None),
        ("smoker", Some("former smoker")),
    ];
    assert_read(text, &expected);
}

/// The detector's mentions, and on request the names in them.
#[test]
fn names_in_mentions_are_detected_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let note = folder.path().join("nested.txt");
    std::fs::write(&note, "He has lung cancer and left knee pain.\n").expect("written");
    let texts = |more: &[&str]| -> Vec<String> {
        let found = link(&note, more).into_iter();
        found.map(|mention| mention.text).collect()
    };
    assert_eq!(texts(&[]), ["lung cancer", "left knee pain"]);
    let nested = [
        "lung",
        "lung cancer",
        "cancer",
        "left knee",
        "left knee pain",
        "knee",
        "knee pain",
        "pain",
    ];
    assert_eq!(texts(&["--overlapping"]), nested);
}

/// A line of the annotated notes.
#[derive(Deserialize)]
struct Annotated {
    text: String,
    mentions: Vec<Gold>,
}

#[derive(Deserialize)]
struct Gold {
    start: usize,
    end: usize,
    text: String,
    /// The gold concepts in the default knowledge base; none if it has none.
    concepts: Vec<String>,
}

impl Gold {
    fn has(&self, concept: &Named) -> bool {
        self.concepts.contains(&concept.id)
    }
}

/// The annotated notes, and a folder with their texts and spans.
fn annotated() -> (Vec<Annotated>, tempfile::TempDir) {
    let text =
        std::fs::read_to_string(file("tests/fixtures/clinical/notes.jsonl")).expect("committed");
    let notes: Vec<Annotated> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a note"))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    for kind in ["texts", "spans"] {
        std::fs::create_dir(folder.path().join(kind)).expect("made");
    }
    for (number, note) in notes.iter().enumerate() {
        std::fs::write(
            folder.path().join(format!("texts/{number:02}.txt")),
            &note.text,
        )
        .expect("written");
        let spans = note.mentions.iter().map(|gold| {
            let Gold {
                start, end, text, ..
            } = gold;
            format!(
                "{}\n",
                serde_json::json!({"start": start, "end": end, "text": text})
            )
        });
        let spans: String = spans.collect();
        std::fs::write(
            folder.path().join(format!("spans/{number:02}.jsonl")),
            spans,
        )
        .expect("written");
    }
    (notes, folder)
}

/// The links by note and span.
fn by_span(all: Vec<Linked>) -> HashMap<(usize, usize, usize), Option<Named>> {
    let number = |doc: &str| -> usize {
        let stem = Path::new(doc)
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        stem.parse().expect("a number")
    };
    all.into_iter()
        .map(|mention| {
            (
                (
                    number(&mention.doc),
                    mention.start_code_point,
                    mention.end_code_point,
                ),
                mention.concept,
            )
        })
        .collect()
}

/// Checks a share against its floor; with `PEL_WRITE_EXPECTED` also prints it.
fn floor(what: &str, hits: usize, of: usize, least: f64) {
    let share = hits as f64 / of as f64;
    if is_update() {
        eprintln!(
            "{what}: {hits} of {of}, {:.1} %; floor {:.1} %",
            100.0 * share,
            100.0 * least
        );
    }
    assert!(
        share >= least,
        "{what}: {hits} of {of}, {:.1} %, expected at least {:.1} %",
        100.0 * share,
        100.0 * least
    );
}

#[test]
fn accuracy_on_annotated_notes_is_above_the_floors() {
    let (notes, folder) = annotated();
    let golds = || {
        notes.iter().enumerate().flat_map(|(at, note)| {
            note.mentions
                .iter()
                .map(move |gold| ((at, gold.start, gold.end), gold))
        })
    };
    let known = golds()
        .filter(|(_, gold)| !gold.concepts.is_empty())
        .count();

    // Raw text: a mention is correct if its exact span is linked to one of its concepts.
    let raw = by_span(link(&folder.path().join("texts"), &[]));
    let right = golds()
        .filter(|(span, gold)| matches!(raw.get(span), Some(Some(found)) if gold.has(found)))
        .count();
    floor("raw text: recall of linkable mentions", right, known, 0.58);
    let linked = golds()
        .filter(|(span, gold)| !gold.concepts.is_empty() && matches!(raw.get(span), Some(Some(_))))
        .count();
    floor(
        "raw text: accuracy of detected and linked mentions",
        right,
        linked,
        0.94,
    );
    let all = raw.values().filter(|found| found.is_some()).count();
    floor("raw text: precision of links", right, all, 0.55);

    // Given spans exclude detection.
    let spans = folder.path().join("spans").display().to_string();
    let given = by_span(link(
        &folder.path().join("texts"),
        &["--spans", &spans, "--spans-only"],
    ));
    let of = |wanted: &dyn Fn(&Gold, &Option<Named>) -> bool| {
        golds()
            .filter(|(span, gold)| wanted(gold, given.get(span).expect("every span is answered")))
            .count()
    };
    let right = of(&|gold, found| found.as_ref().is_some_and(|found| gold.has(found)));
    floor(
        "given spans: recall of linkable mentions",
        right,
        known,
        0.60,
    );
    let linked = of(&|gold, found| found.is_some() && !gold.concepts.is_empty());
    floor(
        "given spans: accuracy of linked mentions",
        right,
        linked,
        0.94,
    );
    let nil = of(&|gold, found| found.is_none() && gold.concepts.is_empty());
    floor(
        "given spans: NIL recall",
        nil,
        golds().count() - known,
        0.75,
    );
}
