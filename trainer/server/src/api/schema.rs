//! The schemas of what `pel_output` writes: links, mentions and candidates.

use utoipa::ToSchema;

/// The links of one text, or of several.
#[derive(ToSchema)]
#[serde(untagged)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub enum Linked {
    /// The links of one text.
    One(NoteObject),
    /// The links of several texts, in their order.
    Many(Vec<NoteObject>),
}

/// A text with its links, as `pel link --format json` writes it.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct NoteObject {
    /// The name of the text.
    doc: String,
    /// The text.
    text: String,
    /// The version of PEL.
    written_by: String,
    /// The name of the encoder.
    encoder: String,
    /// The name of the knowledge base.
    kb: String,
    /// The BLAKE3 of the knowledge base.
    kb_blake3: String,
    /// The mentions, in the order of the text.
    mentions: Vec<MentionObject>,
}

/// A mention with its context and its link.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct MentionObject {
    /// Where it begins, in bytes of UTF-8.
    start: u64,
    /// Where it ends, in bytes of UTF-8.
    end: u64,
    /// Where it begins, in code points.
    start_code_point: u64,
    /// Where it ends, in code points.
    end_code_point: u64,
    /// Where it begins, in UTF-16 units.
    start_utf16: u64,
    /// Where it ends, in UTF-16 units.
    end_utf16: u64,
    /// The pieces of a discontinuous mention.
    #[schema(nullable = false)]
    fragments: Option<Vec<Place>>,
    /// The text of the mention.
    text: String,
    /// The long form of an abbreviation that the text defines.
    #[schema(nullable = false)]
    read_as: Option<String>,
    /// Why it is a mention: `name`, `unknown_term`, `detector` or `given`.
    origin: String,
    /// `problem`, `drug`, `procedure`, `measurement`, `anatomy` or `device`.
    #[schema(nullable = false)]
    group: Option<String>,
    /// Whether the text says that it is absent.
    negated: bool,
    /// `certain`, `uncertain` or `hypothetical`.
    certainty: String,
    /// `current`, `historical` or `future`.
    temporality: String,
    /// `patient`, `family` or `other`.
    experiencer: String,
    /// The heading that it stands under.
    #[schema(nullable = false)]
    section: Option<String>,
    /// `left`, `right` or `bilateral`.
    #[schema(nullable = false)]
    laterality: Option<String>,
    /// `mild`, `moderate` or `severe`.
    #[schema(nullable = false)]
    severity: Option<String>,
    /// `allergen` of a substance that the patient does not tolerate, `reaction` of what it did.
    #[schema(nullable = false)]
    allergy: Option<String>,
    /// What stands beside it: doses, values, dates, stages.
    #[schema(nullable = false)]
    attributes: Option<Vec<AttributeObject>>,
    /// What the text says of it and another mention.
    #[schema(nullable = false)]
    relations: Option<Vec<RelationObject>>,
    /// `linked` or `nil`.
    decision: String,
    /// Why it has no concept.
    #[schema(nullable = false)]
    nil_reason: Option<String>,
    /// The probability that the best candidate is right.
    #[schema(nullable = false)]
    probability: Option<f64>,
    /// The concept; null without one.
    #[schema(required)]
    concept: Option<CandidateObject>,
    /// The number of concepts that bear the mention as a name, from 2.
    #[schema(nullable = false)]
    same_name: Option<u64>,
    /// The candidates, best first.
    candidates: Vec<CandidateObject>,
    /// Sets of answers that hold the right one with a stated probability.
    #[schema(nullable = false)]
    answer_sets: Option<Vec<AnswerSetObject>>,
    /// What the encoder's window truncated.
    cut: CutObject,
}

/// What stands beside a mention.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct AttributeObject {
    /// What it says: `strength`, `dose`, `value`, `date`, `stage` and others.
    name: String,
    /// Where it begins, in bytes of UTF-8.
    start: u64,
    /// Where it ends, in bytes of UTF-8.
    end: u64,
    /// Where it begins, in code points.
    start_code_point: u64,
    /// Where it ends, in code points.
    end_code_point: u64,
    /// Where it begins, in UTF-16 units.
    start_utf16: u64,
    /// Where it ends, in UTF-16 units.
    end_utf16: u64,
    /// Its words.
    text: String,
    /// The normal form: a string, or an object for a frequency without a code in FHIR. Null if the
    /// text does not settle it.
    #[schema(required, value_type = Value)]
    value: Option<serde_json::Value>,
    /// Whether it is an earlier value beside the present one.
    #[schema(nullable = false)]
    prior: Option<bool>,
}

/// A relation to another mention of the note.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct RelationObject {
    /// What the other mention is to this one: `indication`, `cause`, `site`, `finding`, `excludes`
    /// or `reaction`.
    name: String,
    /// Where the other mention begins, in bytes of UTF-8.
    start: u64,
    /// Where it ends, in bytes of UTF-8.
    end: u64,
    /// Where it begins, in code points.
    start_code_point: u64,
    /// Where it ends, in code points.
    end_code_point: u64,
    /// Where it begins, in UTF-16 units.
    start_utf16: u64,
    /// Where it ends, in UTF-16 units.
    end_utf16: u64,
    /// Its words.
    text: String,
}

/// A piece of a discontinuous mention.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct Place {
    /// Where it begins, in bytes of UTF-8.
    start: u64,
    /// Where it ends, in bytes of UTF-8.
    end: u64,
    /// Where it begins, in code points.
    start_code_point: u64,
    /// Where it ends, in code points.
    end_code_point: u64,
    /// Where it begins, in UTF-16 units.
    start_utf16: u64,
    /// Where it ends, in UTF-16 units.
    end_utf16: u64,
}

/// A concept as a candidate of a mention.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct CandidateObject {
    /// The identifier.
    id: String,
    /// The preferred name.
    name: String,
    /// The semantic types, the primary one first.
    types: Vec<String>,
    /// The vocabularies that the concept comes from.
    sources: Vec<String>,
    /// The concept in other vocabularies, such as `ICD10CM:R50.9`.
    #[schema(nullable = false)]
    xrefs: Option<Vec<String>>,
    /// The primary code of the linked concept.
    #[schema(nullable = false)]
    code: Option<CodeObject>,
    /// Codes of the linked concept in standard systems, the preferred ones first.
    #[schema(nullable = false)]
    codes: Option<Vec<CodeObject>>,
    /// The concepts and codes above the linked concept, the nearest first, if they were asked for.
    #[schema(nullable = false)]
    ancestors: Option<Vec<AncestorObject>>,
    /// Its similarity to the mention.
    score: f64,
    /// The score of the cross-encoder.
    #[schema(nullable = false)]
    ranker_score: Option<f64>,
    /// Whether a user added the concept.
    #[schema(nullable = false)]
    added: Option<bool>,
}

/// A concept or a code above a concept.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct AncestorObject {
    /// The identifier of the concept, or the code with its system, such as `ICD10CM:E08-E13`.
    id: String,
    /// The name, if it is known.
    #[schema(nullable = false)]
    name: Option<String>,
}

/// A code of a concept in a standard system.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct CodeObject {
    /// The system: SNOMEDCT, ICD10CM, RXNORM, ATC, LOINC, CVX, HPO, MEDRT, MESH, UMLS, UNII, MONDO.
    system: String,
    /// The code.
    code: String,
    /// The official name.
    #[schema(nullable = false)]
    display: Option<String>,
    /// How the meaning of the code stands to that of the concept: exact, broader, parts, combined.
    #[serde(rename = "match")]
    matches: String,
    /// Whether the code may be billed.
    #[schema(nullable = false)]
    billable: Option<bool>,
}

/// A set of answers.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct AnswerSetObject {
    /// The share of mentions whose set holds the right answer.
    coverage: f64,
    /// The identifiers of the concepts, best first.
    concepts: Vec<String>,
    /// Whether NIL is among the answers.
    nil: bool,
}

/// What the encoder's window truncated.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct CutObject {
    /// Whether the context was cut.
    context: bool,
    /// Whether the mention was cut.
    mention: bool,
}

/// The concepts that a search found.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // the schema of what `pel_output` writes
pub struct Found {
    /// The concepts, best first.
    results: Vec<CandidateObject>,
}
