//! `pel inspect`: shows the content of a bundle.

use burn::tensor::Device;
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use pel_artifacts::bundles;
use pel_index::FIRST_PASS;
use pel_io::json;
use pel_io::outputs::Inputs;
use pel_io::terminal::counted;
use pel_io::text_tables;
use pel_kb::codes::{CodeTable, Match, System, SystemCounts};
use pel_kb::error::{Context, Error, Result};
use pel_kb::redirects::Redirect;
use pel_kb::{Concept, ConceptId};
use pel_linker::bundle::{Bundle, Manifest, Resolved, names};
use pel_model::detector::DetectorInfo;
use pel_output::NamedCode;
use serde::Serialize;
use std::path::PathBuf;

/// Check every file of a bundle and show what it contains
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  pel inspect bundle\n  pel inspect bundle --concept MONDO:0005148\n  \
         pel inspect bundle --name 'heart attack'\n  pel inspect bundle --under ICD10CM:E08-E13"
)]
pub struct InspectArgs {
    /// Bundle
    bundle: PathBuf,
    /// Show the concept with this identifier
    #[arg(long, value_name = "ID")]
    concept: Option<String>,
    /// Show the concepts with this name
    #[arg(long, value_name = "NAME", conflicts_with = "concept")]
    name: Option<String>,
    /// List the concepts below this identifier or code, such as ICD10CM:E08-E13, and the one itself
    #[arg(long, value_name = "CODE", conflicts_with_all = ["concept", "name"])]
    under: Option<String>,
    /// Print the model card of the bundle
    #[arg(long, conflicts_with_all = ["concept", "name", "under"])]
    card: bool,
}

/// Runs `pel inspect`.
///
/// # Errors
/// If the bundle is damaged, or has no such concept.
pub fn run(args: &InspectArgs, json: bool) -> Result<()> {
    Inputs::new().artifacts([args.bundle.as_path()]).check([])?;
    let bundle = bundles::open(&args.bundle)?;
    if let Some(redirects) = &bundle.redirects {
        redirects
            .check()
            .context(|| format!("{}: {}", args.bundle.display(), names::REDIRECTS))?;
    }
    // Refuses what `pel link` would refuse: weights of wrong shape or with non-finite values.
    bundle
        .encoder(&Device::flex())
        .context(|| args.bundle.display().to_string())?;
    if args.card {
        return print_card(&bundle);
    }
    // Read when it is needed, so a damaged one would be found late.
    bundle
        .hierarchy()
        .context(|| args.bundle.display().to_string())?;
    if let Some(code) = &args.under {
        return print_under(&bundle, code, json);
    }
    let concepts = match (&args.concept, &args.name) {
        (Some(id), _) => {
            let resolved = bundle.resolve(id)?;
            let reason = |redirect: &Redirect| match redirect.reason.as_str() {
                "" => "no reason is given".to_owned(),
                reason => reason.to_owned(),
            };
            match &resolved {
                Resolved::Redirected { redirect, .. } => eprintln!(
                    "{id} is retired ({}); this is its successor",
                    reason(redirect)
                ),
                Resolved::Retired(redirect) => {
                    return Err(Error::input(format!(
                        "the id {id} is retired ({}), and no concept of the bundle has replaced it",
                        reason(redirect)
                    )));
                }
                Resolved::Concept(_) | Resolved::Unknown => {}
            }
            match resolved.concept() {
                Some(at) => vec![at],
                None => {
                    return Err(Error::input(format!(
                        "the bundle has no concept with the id {id}"
                    )));
                }
            }
        }
        (None, Some(name)) => {
            let found = bundle.dictionary.lookup(name);
            if found.is_empty() {
                return Err(Error::input(format!(
                    "expected a name of a concept of the bundle, found {name:?}"
                )));
            }
            found
        }
        (None, None) => {
            if json {
                println!("{}", json::pretty(&bundle.manifest)?);
                return Ok(());
            }
            return print_manifest(&bundle).context(|| args.bundle.display().to_string());
        }
    };
    let shown = concepts.into_iter().map(|at| shown(&bundle, at));
    let shown = shown.collect::<Result<Vec<_>>>()?;
    if json {
        println!("{}", json::pretty(&shown)?);
        return Ok(());
    }
    shown.iter().for_each(print_concept);
    Ok(())
}

/// Lists the concepts below an identifier or a code.
fn print_under(bundle: &Bundle, code: &str, json: bool) -> Result<()> {
    let mut all = Vec::new();
    for concept in bundle.under(code).context(|| "--under".to_owned())? {
        let Concept { id, name, .. } = bundle.concepts.get(concept)?;
        all.push(serde_json::json!({ "id": id, "name": name }));
        if !json {
            println!("{id}  {name}");
        }
    }
    match json {
        true => println!("{}", json::pretty(&all)?),
        false => eprintln!("{}", counted(all.len(), "concept")),
    }
    Ok(())
}

fn print_card(bundle: &Bundle) -> Result<()> {
    if !bundle.manifest.files.contains_key(names::MODEL_CARD) {
        return Err(Error::input(format!(
            "the bundle has no model card ({}); `pel pack --card FILE` adds one",
            names::MODEL_CARD
        )));
    }
    let card = String::from_utf8_lossy(bundle.parts().get(names::MODEL_CARD)?);
    for line in card.lines() {
        println!("{line}");
    }
    Ok(())
}

fn print_manifest(bundle: &Bundle) -> Result<()> {
    let manifest = &bundle.manifest;
    let mut rows = encoder_rows(bundle)?;
    rows.extend(knowledge_rows(bundle)?);
    rows.extend(
        manifest
            .detector
            .as_ref()
            .map(|own| detector_row(manifest, own)),
    );
    rows.extend(reading_rows(bundle));
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    // Columns are as wide as their longest cell.
    println!("{}\n", table.trim_fmt());
    let mut table = text_tables::table(["File", "Bytes", "blake3 (checked)"]);
    for (name, info) in &manifest.files {
        table.add_row([name.clone(), info.bytes.to_string(), info.blake3.clone()]);
    }
    println!("{table}");
    Ok(())
}

/// A name with its value.
type NamedValue = (&'static str, String);

/// The encoder, its vectors and how they are searched.
fn encoder_rows(bundle: &Bundle) -> Result<Vec<NamedValue>> {
    let Manifest {
        written_by,
        format,
        encoder,
        index,
        ..
    } = &bundle.manifest;
    let towers = match encoder.tied {
        true => "one tower for both sides",
        false => "two towers",
    };
    let (name, precision, licence) = (&encoder.name, encoder.precision, &encoder.licence);
    let mut rows = vec![
        (
            "Written by",
            format!("{written_by}, bundle format {format}"),
        ),
        (
            "Encoder",
            format!("{name} ({towers}, {precision:?}; licence: {licence})"),
        ),
    ];
    if let Some(trained) = bundle.trained_concepts()? {
        let concepts = counted(trained.len(), "concept");
        rows.push(("Trained on", format!("mentions of {concepts}")));
    }
    let reduction = &encoder.reduction;
    rows.push((
        "Vectors",
        format!(
            "{} of {} values, {:?}, {:?} pooling, {:?} score",
            index.rows, index.dim, index.precision, reduction.pooling, reduction.score
        ),
    ));
    let search = index.hnsw.map_or("exact".into(), |hnsw| {
        format!(
            "HNSW, ef {} (built with {}, seed {})",
            hnsw.ef_search, hnsw.ef_construction, hnsw.seed
        )
    });
    rows.push(("Search", search));
    if let Some(info) = &bundle.manifest.token_vectors {
        let (tokens, dim) = (info.tokens, info.dim);
        let compared = format!("Sum-of-Max on the best {FIRST_PASS}");
        rows.push((
            "Token vectors",
            format!("{tokens} of {dim} values, Int8: {compared}"),
        ));
    }
    Ok(rows)
}

/// The knowledge base, with its codes and hierarchy.
fn knowledge_rows(bundle: &Bundle) -> Result<Vec<NamedValue>> {
    let kb = &bundle.manifest.kb;
    let (concepts, names) = (counted(kb.concepts, "concept"), counted(kb.names, "name"));
    let mut rows = vec![(
        "Knowledge base",
        format!("{}: {concepts}, {names}", kb.name),
    )];
    if let Some(redirects) = &bundle.redirects {
        rows.push(("Redirects", counted(redirects.len(), "retired identifier")));
    }
    if let Some(codes) = &bundle.codes {
        rows.push(("Codes", code_counts(codes)));
    }
    if let Some(hierarchy) = bundle.hierarchy()? {
        let parents = counted(hierarchy.edges(), "parent");
        let codes = counted(hierarchy.codes(), "code");
        rows.push(("Hierarchy", format!("{parents} of concepts and {codes}")));
    }
    Ok(rows)
}

/// The detector with its thresholds.
fn detector_row(manifest: &Manifest, detector: &DetectorInfo) -> NamedValue {
    let schemes = detector.schemes.iter().map(|scheme| {
        let (name, labels) = (&scheme.name, scheme.labels.join(", "));
        format!("{name} from {} on ({labels})", scheme.threshold)
    });
    let schemes = schemes.collect::<Vec<_>>().join("; ");
    let every_name = match manifest.every_name {
        true => "; every name of the knowledge base is a mention",
        false => "",
    };
    let (name, licence) = (&detector.name, &detector.licence);
    (
        "Detector",
        format!("{name} (licence: {licence}): {schemes}{every_name}"),
    )
}

/// How concepts and mentions are read, the rule for NIL, and the licences.
fn reading_rows(bundle: &Bundle) -> Vec<NamedValue> {
    let Manifest {
        view,
        nil,
        digest,
        kb,
        ..
    } = &bundle.manifest;
    let mix = match view.mix > 0.0 {
        true => format!(", weight {} in the score", view.mix),
        false => String::new(),
    };
    let spelling = match view.spelling > 0.0 {
        true => format!("; spelling has weight {} in the score", view.spelling),
        false => String::new(),
    };
    let concepts = format!(
        "{:?} (template {:?}, at most {} tokens{mix}){spelling}",
        view.concepts, view.entity_template, view.entity_tokens
    );
    let forms = match view.abbreviations {
        true => ", abbreviations expanded",
        false => "",
    };
    let names = view.name_context.map_or(String::new(), |words| {
        let words = counted(words, "word");
        format!(", names of one concept with {words} of context")
    });
    let mentions = format!(
        "{:?}, at most {} tokens{names}{forms}",
        view.mention_template, view.mention_tokens
    );
    let judged = match nil.probability {
        Some(_) => "the probability",
        None => "the score",
    };
    let chosen_on = nil.calibrated_on.as_ref();
    let chosen_on = chosen_on.map_or(String::new(), |on| format!(", chosen on {on}"));
    let threshold = match nil.threshold {
        Some(threshold) => format!("below {judged} {threshold}{chosen_on}"),
        None => "never (no threshold)".into(),
    };
    let licences = match kb.licences.is_empty() {
        true => "not stated".into(),
        false => kb.licences.join("\n"),
    };
    vec![
        ("Dictionary", counted(bundle.dictionary.len(), "name")),
        ("Concepts by", concepts),
        ("Mentions", mentions),
        ("NIL", threshold),
        ("Manifest", format!("blake3 {digest} (checked)")),
        ("Licences", licences),
    ]
}

/// The number of concepts and codes of each system, one line each.
fn code_counts(codes: &CodeTable) -> String {
    let line = |(system, counts): (System, SystemCounts)| {
        let by_match = [
            (counts.exact, Match::Exact),
            (counts.broader, Match::Broader),
            (counts.parts, Match::Parts),
        ];
        let by_match = by_match.iter().filter(|(count, _)| *count > 0);
        let by_match: Vec<String> = by_match
            .map(|(count, one)| format!("{count} {}", one.name()))
            .collect();
        format!(
            "{} ({}): {} of {} ({})",
            system.name(),
            system.prefix(),
            counted(counts.codes, "code"),
            counted(counts.concepts, "concept"),
            by_match.join(", ")
        )
    };
    let lines: Vec<String> = codes.counts().into_iter().map(line).collect();
    lines.join("\n")
}

/// A concept with its codes.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    concept: Concept,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    codes: Vec<NamedCode>,
}

fn shown(bundle: &Bundle, at: ConceptId) -> Result<Shown> {
    Ok(Shown {
        concept: bundle.concepts.get(at)?,
        codes: NamedCode::of_concept(bundle, at),
    })
}

fn print_concept(Shown { concept, codes }: &Shown) {
    println!("{}  {}", concept.id, concept.name);
    for (name, values) in [
        ("synonyms", &concept.synonyms),
        ("types", &concept.types),
        ("also", &concept.xrefs),
        ("sources", &concept.sources),
    ] {
        if !values.is_empty() {
            println!("  {name}: {}", values.join("; "));
        }
    }
    for code in codes {
        let display = code.display.as_deref().unwrap_or_default();
        println!("  {} {display}", code.in_words());
    }
    if let Some(definition) = &concept.definition {
        println!("  {definition}");
    }
}
