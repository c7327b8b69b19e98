//! Updates a bundle with [`BundleUpdate`]: progress, resumed runs and the recall of a graph.

use super::recall::Floor;
use super::vectors::{self, Encoding};
use super::{reached_recall, tick};
use pel_artifacts::device::OpenDevice;
use pel_index::GraphUpdate;
use pel_io::resume::WorkFolder;
use pel_kb::codes::CodeList;
use pel_kb::error::Result;
use pel_kb::hierarchy::HierarchyList;
use pel_kb::redirects::Redirect;
use pel_kb::{ConceptId, KnowledgeBase};
use pel_linker::bundle::{
    Bundle, BundleUpdate, ConceptOrigin, KbInfo, Parts, Queries, UpdatedBundle,
};
use pel_model::layer::Precision as ComputePrecision;

/// The inputs and options of `pel update`.
pub struct UpdateRecipe<'a> {
    /// The old bundle.
    pub old: &'a Bundle,
    /// The new version of the concepts.
    pub kb: KnowledgeBase,
    /// The origin of each of them.
    pub origins: Vec<ConceptOrigin>,
    /// The concepts that only the old bundle has.
    pub retired: Vec<ConceptId>,
    /// The description of the knowledge base.
    pub kb_info: KbInfo,
    /// The full text of its licences; `None` leaves the old bundle's.
    pub licence_text: Option<String>,
    /// The redirects of the new bundle.
    pub redirects: Vec<Redirect>,
    /// The codes of the concepts; `None` leaves those of concepts that stay.
    pub codes: Option<CodeList>,
    /// Is-a between the concepts and codes; `None` leaves it between concepts that stay.
    pub hierarchy: Option<HierarchyList>,
    /// The float files of the bundle's encoder, to encode new texts with.
    pub floats: Option<Parts>,
    /// How to treat the graph, if the bundle has one.
    pub graph: GraphUpdate,
    /// The least recall of the graph.
    pub floor: Floor,
    /// Tokens of one encoder batch, padding included; `None` chooses by device.
    pub batch_tokens: Option<usize>,
    /// The number format in which new texts are encoded, where the device has it.
    pub compute_precision: ComputePrecision,
}

/// An updated bundle with the recall of its graph.
pub struct Updated {
    /// The bundle.
    pub bundle: UpdatedBundle,
    /// How its graph came about; `None` without one.
    pub graph: Option<GraphUpdate>,
    /// The recall of the graph against the exact search; `None` without a graph.
    pub recall: Option<f64>,
}

/// Updates a bundle. `work` saves the vectors of new texts, so that an interrupted run can resume.
///
/// # Errors
/// If the parts do not fit together, the device fails, or the user interrupts the run.
pub fn update(recipe: UpdateRecipe<'_>, device: &OpenDevice, work: &WorkFolder) -> Result<Updated> {
    let UpdateRecipe {
        old,
        kb,
        origins,
        retired,
        ..
    } = recipe;
    let count = kb.len();
    let mut update = BundleUpdate::plan(old, kb, &origins, &retired, tick(count))?;
    if let Some(codes) = recipe.codes {
        update.set_codes(codes);
    }
    if let Some(hierarchy) = recipe.hierarchy {
        update.set_hierarchy(hierarchy);
    }
    let rows = update.rows();
    eprintln!(
        "{count} concepts, {} rows of the old bundle, {} new texts for {} rows, on {}",
        rows.reused, rows.texts, rows.encoded, device.name
    );
    let encoded = match update.sequences() {
        // No encoder has to be built.
        [] => Queries::default(),
        sequences => {
            let precision = vectors::supported(recipe.compute_precision, device);
            let encoder =
                BundleUpdate::encoder(old, recipe.floats.as_ref(), precision, &device.device)?;
            let key = format!(
                "update {:?} {:?} {:?} {}",
                old.manifest.encoder.reduction,
                old.manifest.files,
                recipe.floats.as_ref().map(Parts::file_infos),
                device.name
            );
            let encoding = Encoding {
                encoder: &encoder,
                batch_tokens: recipe.batch_tokens,
                compute_precision: precision,
                scorer: update.scorer(),
            };
            vectors::encode(&encoding, sequences, work, &key)?
        }
    };
    let mut index = update.index(&encoded, recipe.graph)?;
    let (graph, mix) = (index.graph, old.manifest.view.mix);
    let recall = match graph {
        None => None,
        Some(_) => {
            let (info, bytes) = (&mut index.info, &mut index.bytes);
            Some(reached_recall(info, bytes, None, recipe.floor, mix)?.1)
        }
    };
    let bundle = update.finish(
        index,
        &encoded,
        recipe.kb_info,
        recipe.licence_text,
        &recipe.redirects,
    )?;
    Ok(Updated {
        bundle,
        graph,
        recall,
    })
}
