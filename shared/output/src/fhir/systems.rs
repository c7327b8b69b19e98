//! The code systems of cross-references: what FHIR calls them, and how it writes their codes.

use crate::Named;
use crate::fhir::ids::urn;
use serde_json::{Value, json};

/// How the codes of a system are written.
#[derive(Clone, Copy)]
enum Code {
    /// Without the prefix: `R50.9` of `ICD10CM:R50.9`.
    Bare,
    /// With the prefix: `HP:0001945`.
    Prefixed(&'static str),
}

/// Prefixes in capitals, the URI of the system, and how its codes are written. The URIs are those
/// of FHIR R4 and of HL7 Terminology.
const SYSTEMS: [(&[&str], &str, Code); 26] = [
    (
        &["SNOMED", "SNOMEDCT", "SNOMEDCT_US", "SCTID", "SCT"],
        "http://snomed.info/sct",
        Code::Bare,
    ),
    (
        &["ICD10CM"],
        "http://hl7.org/fhir/sid/icd-10-cm",
        Code::Bare,
    ),
    (&["ICD10"], "http://hl7.org/fhir/sid/icd-10", Code::Bare),
    (
        &["ICD9CM", "ICD9"],
        "http://hl7.org/fhir/sid/icd-9-cm",
        Code::Bare,
    ),
    (&["LOINC", "LNC"], "http://loinc.org", Code::Bare),
    (
        &["RXNORM", "RXCUI", "RXNORM_CUI"],
        "http://www.nlm.nih.gov/research/umls/rxnorm",
        Code::Bare,
    ),
    (
        &["UMLS", "UMLS_CUI", "CUI"],
        "http://www.nlm.nih.gov/research/umls",
        Code::Bare,
    ),
    (&["MESH", "MSH"], "https://www.nlm.nih.gov/mesh", Code::Bare),
    (&["UNII"], "http://fdasis.nlm.nih.gov", Code::Bare),
    (
        &["NCIT", "NCI"],
        "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl",
        Code::Bare,
    ),
    (&["CVX"], "http://hl7.org/fhir/sid/cvx", Code::Bare),
    (&["NDC"], "http://hl7.org/fhir/sid/ndc", Code::Bare),
    (&["ATC"], "http://www.whocc.no/atc", Code::Bare),
    (&["CPT"], "http://www.ama-assn.org/go/cpt", Code::Bare),
    (&["OMIM", "MIM"], "http://www.omim.org", Code::Bare),
    (
        &["ORPHANET", "ORPHA", "ORDO"],
        "http://www.orpha.net",
        Code::Bare,
    ),
    (
        &["HP", "HPO"],
        "http://human-phenotype-ontology.org",
        Code::Prefixed("HP"),
    ),
    (
        &["MONDO"],
        "http://purl.obolibrary.org/obo/mondo.owl",
        Code::Prefixed("MONDO"),
    ),
    (
        &["DOID"],
        "http://purl.obolibrary.org/obo/doid.owl",
        Code::Prefixed("DOID"),
    ),
    (
        &["CHEBI"],
        "http://purl.obolibrary.org/obo/chebi.owl",
        Code::Prefixed("CHEBI"),
    ),
    (
        &["UBERON"],
        "http://purl.obolibrary.org/obo/uberon.owl",
        Code::Prefixed("UBERON"),
    ),
    (
        &["FMA"],
        "http://purl.obolibrary.org/obo/fma.owl",
        Code::Prefixed("FMA"),
    ),
    (
        &["GO"],
        "http://purl.obolibrary.org/obo/go.owl",
        Code::Prefixed("GO"),
    ),
    (
        &["CL"],
        "http://purl.obolibrary.org/obo/cl.owl",
        Code::Prefixed("CL"),
    ),
    (
        &["MAXO"],
        "http://purl.obolibrary.org/obo/maxo.owl",
        Code::Prefixed("MAXO"),
    ),
    (
        &["SYMP"],
        "http://purl.obolibrary.org/obo/symp.owl",
        Code::Prefixed("SYMP"),
    ),
];

/// The codings of a concept: its own identifier first, then its cross-references to known systems.
/// An identifier of no known system gets the knowledge base as its system, by the URN of
/// `kb_blake3`.
pub(super) fn codings(named: &Named, kb_blake3: &str) -> Vec<Value> {
    let (system, code) = own(named).unwrap_or_else(|| {
        let system = urn(&[b"knowledge base", kb_blake3.as_bytes()]);
        (system, tidy(&named.id))
    });
    let mut all = vec![(system, code)];
    for xref in &named.xrefs {
        if let Some(coding) = known(xref).filter(|coding| !all.contains(coding)) {
            all.push(coding);
        }
    }
    let name = tidy(&named.name);
    let codings = all.into_iter().filter(|(_, code)| !code.is_empty());
    codings
        .enumerate()
        .map(|(at, (system, code))| match at {
            0 if !name.is_empty() => json!({ "system": system, "code": code, "display": name }),
            _ => json!({ "system": system, "code": code }),
        })
        .collect()
}

/// The system and code of a concept's identifier: by its prefix, as a UMLS CUI, or by the only
/// vocabulary that the concept comes from.
fn own(named: &Named) -> Option<(String, String)> {
    let id = named.id.trim();
    if id.contains(':') {
        return known(id);
    }
    let is_cui = id.len() == 8
        && id.starts_with('C')
        && id.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    match &named.sources[..] {
        _ if is_cui => known(&format!("UMLS:{id}")),
        [source] => known(&format!("{source}:{id}")),
        _ => None,
    }
}

/// The system and code of a cross-reference such as `ICD10CM:R50.9`, if its prefix is known.
fn known(xref: &str) -> Option<(String, String)> {
    let (prefix, code) = xref.split_once(':')?;
    let (prefix, code) = (prefix.trim().to_uppercase(), tidy(code));
    let (_, system, style) = SYSTEMS
        .iter()
        .find(|(prefixes, ..)| prefixes.contains(&prefix.as_str()))?;
    let code = match style {
        _ if code.is_empty() => return None,
        Code::Bare => code,
        Code::Prefixed(prefix) => format!("{prefix}:{code}"),
    };
    Some(((*system).to_owned(), code))
}

/// Text without control characters and with single spaces, as a code and a string of FHIR need it.
pub(super) fn tidy(text: &str) -> String {
    crate::in_one_line(&pel_kb::clean::field(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str, sources: &[&str], xrefs: &[&str]) -> Named {
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Named {
            id: id.to_owned(),
            name: "fever".to_owned(),
            types: Vec::new(),
            sources: list(sources),
            xrefs: list(xrefs),
            score: 1.0,
            ranker_score: None,
            added: false,
        }
    }

    #[test]
    fn cross_references_become_codings_of_known_systems() {
        let xrefs = [
            "SNOMED:386661006",
            "icd10cm:R50.9",
            "MESH:D005334",
            "HP:0001945",
            "Orphanet:14",
            "DRUGBANK:DB1",
            "SNOMEDCT_US:386661006",
            "no prefix",
            "LOINC:",
        ];
        assert_eq!(
            Value::Array(codings(&named("C0015967", &[], &xrefs), "ab")),
            json!([
                { "system": "http://www.nlm.nih.gov/research/umls", "code": "C0015967", "display": "fever" },
                { "system": "http://snomed.info/sct", "code": "386661006" },
                { "system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "R50.9" },
                { "system": "https://www.nlm.nih.gov/mesh", "code": "D005334" },
                { "system": "http://human-phenotype-ontology.org", "code": "HP:0001945" },
                { "system": "http://www.orpha.net", "code": "14" },
            ])
        );
    }

    #[test]
    fn own_identifier_has_its_vocabulary_or_the_knowledge_base_as_system() {
        let first = |named: &Named| codings(named, "ab")[0].clone();
        let rxnorm = first(&named("161", &["RXNORM"], &[]));
        assert_eq!(
            rxnorm["system"],
            "http://www.nlm.nih.gov/research/umls/rxnorm"
        );
        let mondo = first(&named("MONDO:0008692", &["MONDO", "DOID"], &[]));
        assert_eq!(mondo["code"], "MONDO:0008692");
        let ours = first(&named("PEL: a\tb", &["PEL"], &[]));
        assert_eq!(ours["code"], "PEL: a b");
        let system = ours["system"].as_str().expect("a URI");
        assert!(system.starts_with("urn:uuid:"), "{system}");
        let other = codings(&named("PEL:x", &["PEL"], &[]), "cd");
        assert_ne!(other[0]["system"], system);
    }
}
