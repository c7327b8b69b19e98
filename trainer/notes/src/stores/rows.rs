//! The rows of an index in their order, and the description of the bundle that they come from.

use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::{Bundle, names};
use pel_model::tokens::View;
use serde_json::{Value, json};

/// The version of the layout of files and tables.
pub const FORMAT: i32 = 1;

/// What a row's vector is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// The concept's template.
    Template,
    /// One of its names.
    Name,
    /// A name and the template together, or the template of a concept without names.
    Mixed,
}

impl RowKind {
    /// Its word in files and tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Name => "name",
            Self::Mixed => "mixed",
        }
    }
}

/// A row without its vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub row: usize,
    /// Its concept.
    pub concept: ConceptId,
    /// What its vector is of.
    pub kind: RowKind,
}

/// The rows of a bundle's index, ascending, without those of retired concepts.
pub fn rows(bundle: &Bundle) -> impl Iterator<Item = Row> + '_ {
    let (view, mixed) = (
        bundle.manifest.view.concepts,
        bundle.index.info().mixed > 0.0,
    );
    let mut previous = None;
    bundle
        .index
        .concepts()
        .enumerate()
        .filter_map(move |(row, number)| {
            let first = previous.replace(number) != Some(number);
            let concept = bundle.index.concept_of(number)?;
            let kind = match view {
                _ if mixed => RowKind::Mixed,
                View::Template => RowKind::Template,
                View::Names => RowKind::Name,
                View::Both if first => RowKind::Template,
                View::Both => RowKind::Name,
            };
            Some(Row { row, concept, kind })
        })
}

/// What identifies a bundle's vectors and the numbers of its concepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The BLAKE3 of its index.
    pub index: String,
    /// The BLAKE3 of its concepts.
    pub concepts: String,
    /// The BLAKE3 of the encoder's weights.
    pub encoder: String,
}

impl Identity {
    /// That of a bundle.
    ///
    /// # Errors
    /// If its manifest lacks a file.
    pub fn of(bundle: &Bundle) -> Result<Self> {
        let digest = |name: &str| {
            let file = bundle.manifest.files.get(name);
            file.map(|file| file.blake3.clone())
                .ok_or_else(|| Error::artifact(format!("the bundle has no `{name}`")))
        };
        Ok(Self {
            index: digest(names::INDEX)?,
            concepts: digest(names::CONCEPTS)?,
            encoder: digest(names::WEIGHTS)?,
        })
    }
}

/// The description of a bundle as JSON, for files and tables.
///
/// # Errors
/// As [`Identity::of`].
pub fn description(bundle: &Bundle) -> Result<Value> {
    let (manifest, info) = (&bundle.manifest, bundle.index.info());
    let identity = Identity::of(bundle)?;
    Ok(json!({
        "format": FORMAT,
        "digest": manifest.digest,
        "index_blake3": identity.index,
        "concepts_blake3": identity.concepts,
        "encoder": manifest.encoder.name,
        "encoder_blake3": identity.encoder,
        "knowledge_base": manifest.kb.name,
        "licences": manifest.kb.licences,
        "view": manifest.view,
        "similarity": info.score,
        "mix": manifest.view.mix,
        "mixed_rows": info.mixed > 0.0,
        "dim": info.dim,
        "rows": rows(bundle).count(),
        "concepts": bundle.concepts.len(),
        "written_by": format!("pel {}", env!("CARGO_PKG_VERSION")),
    }))
}
