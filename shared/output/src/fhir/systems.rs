//! The code systems of cross-references: what FHIR calls them, and how it writes their codes.

use crate::fhir::ids::urn;
use crate::{Named, NamedCode, Note};
use pel_kb::codes::{Match, System};
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
const SYSTEMS: [(&[&str], &str, Code); 30] = [
    (
        &["SNOMED", "SNOMEDCT", "SNOMEDCT_US", "SCTID", "SCT"],
        System::SnomedCt.uri(),
        Code::Bare,
    ),
    (&["ICD10CM"], System::Icd10Cm.uri(), Code::Bare),
    (&["ICD10"], "http://hl7.org/fhir/sid/icd-10", Code::Bare),
    (
        &["ICD9CM", "ICD9"],
        "http://hl7.org/fhir/sid/icd-9-cm",
        Code::Bare,
    ),
    (&["LOINC", "LNC"], System::Loinc.uri(), Code::Bare),
    (
        &["RXNORM", "RXCUI", "RXNORM_CUI"],
        System::RxNorm.uri(),
        Code::Bare,
    ),
    (&["UMLS", "UMLS_CUI", "CUI"], System::Umls.uri(), Code::Bare),
    (&["MESH", "MSH"], System::Mesh.uri(), Code::Bare),
    (&["UNII"], System::Unii.uri(), Code::Bare),
    (
        &["NCIT", "NCI"],
        "http://ncicb.nci.nih.gov/xml/owl/EVS/Thesaurus.owl",
        Code::Bare,
    ),
    (&["CVX"], System::Cvx.uri(), Code::Bare),
    (&["NDC"], "http://hl7.org/fhir/sid/ndc", Code::Bare),
    (&["ATC"], System::Atc.uri(), Code::Bare),
    (&["CPT"], "http://www.ama-assn.org/go/cpt", Code::Bare),
    (&["OMIM", "MIM"], "http://www.omim.org", Code::Bare),
    (
        &["ORPHANET", "ORPHA", "ORDO"],
        "http://www.orpha.net",
        Code::Bare,
    ),
    (&["HP", "HPO"], System::Hpo.uri(), Code::Prefixed("HP")),
    (&["MONDO"], System::Mondo.uri(), Code::Prefixed("MONDO")),
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
    (&["MEDRT", "MED-RT"], System::MedRt.uri(), Code::Bare),
    (
        &["NBO"],
        "http://purl.obolibrary.org/obo/nbo.owl",
        Code::Prefixed("NBO"),
    ),
    (
        &["MPATH"],
        "http://purl.obolibrary.org/obo/mpath.owl",
        Code::Prefixed("MPATH"),
    ),
    (
        &["PR"],
        "http://purl.obolibrary.org/obo/pr.owl",
        Code::Prefixed("PR"),
    ),
];

/// What the codings of a concept depend on, besides the concept.
pub(super) struct Vocabulary<'a> {
    /// The hash of the knowledge base.
    kb_blake3: &'a str,
    /// Whether the bundle has codes of its concepts.
    has_codes: bool,
    /// Whether the user chose code systems, so that no others are written.
    is_chosen: bool,
}

impl<'a> Vocabulary<'a> {
    /// That of a note's linker, with the code systems that the user chose.
    pub(super) fn of(note: &Note<'a>, systems: &[System]) -> Self {
        let bundle = note.linker.bundle();
        Self {
            kb_blake3: &bundle.manifest.kb.blake3,
            has_codes: bundle.codes.is_some(),
            is_chosen: !systems.is_empty(),
        }
    }
}

/// The codings of a concept. If the bundle has codes, they are those of the concept
/// ([`of_codes`]), or else its identifier, if its system is known.
///
/// In a bundle without codes they are its own identifier and its cross-references to known systems.
/// An identifier of no known system gets the knowledge base as its system, by the URN of its hash.
/// An identifier of several codes, such as `RXNORM:161+7052`, is no coding: no system has it.
pub(super) fn codings(named: &Named, vocabulary: &Vocabulary<'_>) -> Vec<Value> {
    let has_codes = vocabulary.has_codes;
    if has_codes {
        let codings = of_codes(&named.codes);
        if !codings.is_empty() || vocabulary.is_chosen {
            return codings;
        }
    }
    let local = || {
        let system = urn(&[b"knowledge base", vocabulary.kb_blake3.as_bytes()]);
        (system, tidy(&named.id))
    };
    let has_local = !has_codes && !is_composite(&named.id);
    let own = own(named).or_else(|| has_local.then(local));
    let own_name = own.clone().zip(Some(tidy(&named.name)));
    let mut all = Vec::from_iter(own);
    // The cross-references of a concept with codes are no codes of it.
    if !has_codes || named.added {
        for xref in &named.xrefs {
            if let Some(coding) = known(xref).filter(|coding| !all.contains(coding)) {
                all.push(coding);
            }
        }
    }
    let codings = all.into_iter().filter(|(_, code)| !code.is_empty());
    codings
        .map(|(system, code)| match &own_name {
            Some((own, name)) if !name.is_empty() && *own == (system.clone(), code.clone()) => {
                json!({ "system": system, "code": code, "display": name })
            }
            _ => json!({ "system": system, "code": code }),
        })
        .collect()
}

/// The systems that receivers expect; others identify a concept for few of them.
const STANDARD: [System; 5] = [
    System::SnomedCt,
    System::Icd10Cm,
    System::RxNorm,
    System::Loinc,
    System::Cvx,
];

/// The codings of a concept's codes: the preferred exact code of each system. All codings of a
/// CodeableConcept stand for one concept, so a broader code is a coding only if no standard system
/// has an exact one, with an extension that says so; a code of a part is none. A combined code stands
/// in the place of the other codes of its system.
fn of_codes(codes: &[NamedCode]) -> Vec<Value> {
    let preferred = |matches: Match| {
        let mut seen = Vec::new();
        let of_match = codes.iter().filter(move |code| code.matches == matches);
        of_match.filter(move |code| {
            let is_new = !seen.contains(&code.system);
            seen.push(code.system);
            is_new
        })
    };
    let is_standard = |code: &&NamedCode| STANDARD.contains(&code.system);
    let replaced = |code: &&NamedCode| {
        preferred(Match::Combined).any(|combined| combined.system == code.system)
    };
    let exact = || preferred(Match::Exact).filter(|code| !replaced(code));
    let has_exact = preferred(Match::Combined)
        .chain(exact())
        .any(|code| is_standard(&code));
    let broader = preferred(Match::Broader).filter(|code| !has_exact && is_standard(code));
    let all = preferred(Match::Combined).chain(exact()).chain(broader);
    all.map(coding).collect()
}

/// The extension of a coding whose meaning contains that of the concept, or has what the text says of
/// it. FHIR R4 has none.
const MATCH: &str = "urn:pel:match";

fn coding(code: &NamedCode) -> Value {
    let bare = tidy(&code.code);
    let written = match code.system {
        System::Hpo if !bare.starts_with("HP:") => format!("HP:{bare}"),
        System::Mondo if !bare.starts_with("MONDO:") => format!("MONDO:{bare}"),
        _ => bare,
    };
    let mut coding = json!({ "system": code.system.uri(), "code": written });
    let display = code.display.as_deref().map(tidy).unwrap_or_default();
    if !display.is_empty() {
        coding["display"] = display.into();
    }
    if matches!(code.matches, Match::Broader | Match::Combined) {
        coding["extension"] = json!([{ "url": MATCH, "valueCode": code.matches.name() }]);
    }
    coding
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
        _ if code.is_empty() || is_composite(&code) => return None,
        Code::Bare => code,
        Code::Prefixed(prefix) => format!("{prefix}:{code}"),
    };
    Some(((*system).to_owned(), code))
}

/// Whether an identifier consists of several codes of one system, such as `RXNORM:161+7052` for a
/// combination of drugs that RxNorm has no concept of.
fn is_composite(id: &str) -> bool {
    let mut parts = id.split('+');
    id.contains('+') && parts.all(|part| !part.trim().is_empty())
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
            ..Named::default()
        }
    }

    /// A vocabulary without codes.
    fn plain(kb_blake3: &str) -> Vocabulary<'_> {
        Vocabulary {
            kb_blake3,
            has_codes: false,
            is_chosen: false,
        }
    }

    const CODED: Vocabulary<'static> = Vocabulary {
        kb_blake3: "ab",
        has_codes: true,
        is_chosen: false,
    };

    fn code(system: System, code: &str, display: &str, matches: Match) -> NamedCode {
        NamedCode {
            system,
            code: code.to_owned(),
            display: Some(display.to_owned()).filter(|display| !display.is_empty()),
            matches,
            billable: None,
        }
    }

    fn coded(codes: &[NamedCode]) -> Value {
        let mut named = named("PEL:x", &["PEL"], &["ICD10CM:Z99"]);
        named.codes = codes.to_vec();
        Value::Array(codings(&named, &CODED))
    }

    #[test]
    fn exact_codes_of_each_system_are_codings_with_their_official_names() {
        let codes = [
            code(
                System::Icd10Cm,
                "I21.9",
                "Acute myocardial infarction, unspecified",
                Match::Exact,
            ),
            code(
                System::Icd10Cm,
                "I21",
                "Acute myocardial infarction",
                Match::Broader,
            ),
            code(
                System::SnomedCt,
                "22298006",
                "Myocardial infarction",
                Match::Exact,
            ),
            code(System::Hpo, "0001658", "", Match::Exact),
        ];
        assert_eq!(
            coded(&codes),
            json!([
                {
                    "system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "I21.9",
                    "display": "Acute myocardial infarction, unspecified",
                },
                {
                    "system": "http://snomed.info/sct", "code": "22298006",
                    "display": "Myocardial infarction",
                },
                { "system": "http://human-phenotype-ontology.org", "code": "HP:0001658" },
            ])
        );
    }

    #[test]
    fn broader_code_is_a_marked_coding_where_no_standard_system_has_an_exact_one() {
        let broader = code(
            System::Icd10Cm,
            "I50.2",
            "Systolic heart failure",
            Match::Broader,
        );
        let umls = code(System::Umls, "C1", "", Match::Exact);
        let snomed = code(System::SnomedCt, "1", "", Match::Exact);
        let marked = json!({
            "system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "I50.2",
            "display": "Systolic heart failure",
            "extension": [{ "url": "urn:pel:match", "valueCode": "broader" }],
        });
        let other = json!({ "system": "http://www.nlm.nih.gov/research/umls", "code": "C1" });
        assert_eq!(coded(&[broader.clone(), umls]), json!([other, marked]));
        let exact = json!({ "system": "http://snomed.info/sct", "code": "1" });
        assert_eq!(coded(&[broader, snomed]), json!([exact]));
    }

    #[test]
    fn combined_code_is_a_marked_coding_in_the_place_of_others_of_its_system() {
        let codes = [
            code(System::SnomedCt, "1", "", Match::Exact),
            code(System::Icd10Cm, "N18.32", "", Match::Combined),
            code(System::Icd10Cm, "N18.9", "", Match::Exact),
            code(System::Loinc, "2", "", Match::Broader),
        ];
        assert_eq!(
            coded(&codes),
            json!([
                {
                    "system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "N18.32",
                    "extension": [{ "url": "urn:pel:match", "valueCode": "combined" }],
                },
                { "system": "http://snomed.info/sct", "code": "1" },
            ])
        );
    }

    #[test]
    fn codes_of_parts_cross_references_and_own_identifiers_are_no_codings() {
        let parts = [
            code(System::RxNorm, "1191", "aspirin", Match::Parts),
            code(System::RxNorm, "7052", "morphine", Match::Parts),
        ];
        assert_eq!(coded(&parts), json!([]));
        let umls = named("C0015967", &[], &["ICD10CM:Z99"]);
        assert_eq!(codings(&umls, &CODED).len(), 1);
        let chosen = Vocabulary {
            is_chosen: true,
            ..CODED
        };
        assert!(codings(&umls, &chosen).is_empty());
    }

    #[test]
    fn identifier_of_several_codes_is_no_coding() {
        let mut drug = named(
            "RXNORM:161+7052",
            &["RXNORM"],
            &["MESH:D1", "ATC:N02A+N02B"],
        );
        let mesh = json!({ "system": "https://www.nlm.nih.gov/mesh", "code": "D1" });
        assert_eq!(codings(&drug, &plain("ab")), [mesh]);
        assert!(codings(&drug, &CODED).is_empty());
        drug.codes = vec![
            code(System::RxNorm, "161", "acetaminophen", Match::Parts),
            code(System::RxNorm, "7052", "morphine", Match::Parts),
            code(System::Unii, "X", "", Match::Exact),
        ];
        let unii = json!({ "system": "http://fdasis.nlm.nih.gov", "code": "X" });
        assert_eq!(codings(&drug, &CODED), [unii]);
    }

    #[test]
    fn identifiers_of_open_ontologies_have_their_systems() {
        for (id, system, code) in [
            (
                "MEDRT:N0000175503",
                "http://va.gov/terminology/medrt",
                "N0000175503",
            ),
            (
                "NBO:0000001",
                "http://purl.obolibrary.org/obo/nbo.owl",
                "NBO:0000001",
            ),
            (
                "MPATH:1",
                "http://purl.obolibrary.org/obo/mpath.owl",
                "MPATH:1",
            ),
            (
                "PR:000003035",
                "http://purl.obolibrary.org/obo/pr.owl",
                "PR:000003035",
            ),
            (
                "HP:0001945",
                "http://human-phenotype-ontology.org",
                "HP:0001945",
            ),
        ] {
            let found = codings(&named(id, &[], &[]), &CODED);
            let expected = json!({ "system": system, "code": code, "display": "fever" });
            assert_eq!(found, [expected], "{id}");
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
            Value::Array(codings(&named("C0015967", &[], &xrefs), &plain("ab"))),
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
        let first = |named: &Named| codings(named, &plain("ab"))[0].clone();
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
        let other = codings(&named("PEL:x", &["PEL"], &[]), &plain("cd"));
        assert_ne!(other[0]["system"], system);
    }
}
