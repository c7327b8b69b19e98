"""The two concept tables compiled from the vocabularies of diseases, anatomy and symptoms: which
concepts are useful for notes, and of which type they are."""

import collections
import re

from names import names_of, upright

# Sources whose labels are in lower case. HPO's are capitalised (but for 3 of 19,176).
SMALL_LETTERS = ("MONDO", "DOID", "SYMP", "UBERON", "CL", "GO", "CHEBI", "PATO", "NBO")


def without_hpo(concept, doid, symp, surfaces):
    """The concept with only the data that surely comes from sources other than HPO; `None` if there is none.

    A name counts as another source's own if the ontologies that we read ourselves (DOID 2015, SYMP) have it for this
    concept; if annotators of MedMentions wrote it for this concept; if it is the only name, so that every source has it;
    or if it is the label and begins with a small letter where a source that writes labels so is among the sources.
    """
    id, known = concept["id"], {name.lower() for name in [concept["name"], *concept["synonyms"]]}
    others = [source for source in concept["sources"] if source not in ("HPO", "BIOMAPPINGS")]
    names, sources, definition = [], [], None
    if others and (not concept["synonyms"] or concept["name"][:1].islower()):
        writers = others if not concept["synonyms"] else [s for s in others if s in SMALL_LETTERS][:1]
        if writers:
            names.append(concept["name"])
            sources += writers
    for source, terms in (("DOID2016", doid), ("SYMP", symp)):
        for xref in concept["xrefs"]:
            term = terms.get(xref)
            if term and (id in term["cuis"] or term["name"].lower() in known):
                names += [term["name"], *term["synonyms"]]
                sources.append(source)
                definition = definition or term.get("definition")
    written = [text for text, _ in sorted(surfaces.get(id, {}).items(), key=lambda item: (-item[1], item[0]))]
    for text in written:
        if len(text) > 3 and text.lower() in known:
            names.append(text)
            sources.append("MEDMENTIONS")
    if not names:
        return None
    label = next((name for name in names if name.lower() == concept["name"].lower()), names[0])
    return dict(concept, name=label, synonyms=names, definition=definition, sources=list(dict.fromkeys(sources)))


VETERINARY = re.compile(r"\b(bovine|canine|feline|equine|porcine|ovine|avian|murine|mouse|rat|simian|zebrafish|duck|"
                        r"turkey|chicken|swine|cattle|horse|fish|poultry|animal|dog|cat|goat|sheep|pig|non-human)\b", re.I)
OBSOLETE = re.compile(r"^\W*obsolete\b", re.I)
DISEASE = re.compile(
    r"(diseases?|disorders?|syndromes?|neoplasms?|tumors?|cancers?|infections?|injur(y|ies)|fractures?|burns?|poisoning|"
    r"hernias?|abscess(es)?|cysts?|ulcers?|fistulas?|failure|insufficiency|deficiency|obstruction|stenosis|thrombosis|"
    r"embolism|aneurysms?|hemorrhages?|hematomas?|ischemia|infarctions?|arrhythmias?|dislocations?|wounds?|bites?|"
    r"malformations?|abnormalities|hypertension|hypotension|anemia|diabetes|dermatitis|seizures?|toxicity|overdose|"
    r"complications?|withdrawal|dependence|addiction|abuse|delirium|dementia|shock|coma|"
    r"\w{3,}itis|\w{3,}osis|\w{4,}emia|\w{4,}uria|\w{4,}pathy|\w{3,}oma|\w{3,}plegia|\w{3,}paresis|\w{4,}penia|"
    r"\w{3,}algia|\w{3,}rrhea|\w{3,}rrhage|\w{4,}ectasis|\w{4,}megaly|\w{3,}phobia|\w{3,}lepsy|\w{3,}trophy)$", re.I)
NOT_DISEASE = re.compile(r"^(\w*(mitosis|meiosis|apoptosis|osmosis|biosynthesis|symbiosis|hypnosis|diagnosis|prognosis|"
                         r"narcosis|acoustics|pyroptosis|necroptosis|ferroptosis|endocytosis|exocytosis|pinocytosis|"
                         r"phagocytosis|transcytosis|metamorphosis|hydrolysis|photosynthesis))$", re.I)
PROCEDURE = re.compile(
    r"(\w{3,}ectomy|\w{3,}plasty|\w{3,}scopy|\w{4,}graphy|\w{3,}otomy|\w{3,}ostomy|\w{3,}centesis|\w{3,}pexy|\w{3,}desis|"
    r"\w{3,}rrhaphy|\w{3,}metry|transplantation|catheterization|tomography|biopsy|imaging|dialysis|intubation|ventilation|"
    r"transfusion|vaccination|therapy|surgery|ligation|resection|excision|repair|anesthesia|nerve block|irradiation|"
    r"stimulation|drainage|lavage|cautery|screening|surgical procedures|replacement|implantation|bypass|"
    r"(skin|stress|exercise|function|tolerance|provocation|pregnancy|serologic) tests?)$", re.I)
NOT_PROCEDURE = re.compile(r"chromatograph|crystallograph|spectro|electrophor|bibliograph|geograph|demograph|autoradio|"
                           r"lithograph|photograph|cartograph|microscop|topograph|calorimetr|densitometr|fluorometr|"
                           r"colorimetr|photometr|polarimetr|cytometr|biometry|anthropometr|optometry|psychometr|sociometr|"
                           r"magnetometr|refractometr|potentiometr|conductometr|dosimetr|geometry|osmometry|phytotherapy|"
                           r"choreograph|filmograph|biograph|historiograph|planigraph|anatomy|dichotomy|taxonomy|"
                           r"plant|insect|mouse|^DNA|^RNA|gene|drug |mass |^cell ", re.I)
# Stems of international non-proprietary names. One word only, because salts and classes are separate descriptors.
DRUG = re.compile(
    r"^(\w{2,}(olol|pril|prilat|sartan|vastatin|cillin|mycin|micin|cycline|floxacin|oxacin|conazole|nidazole|prazole|azepam|"
    r"azolam|barbital|caine|dipine|dronate|fibrate|gliptin|glitazone|gliflozin|[tlznbxvr][uiao]mab|[tf]inib|anib|navir|ciclovir|"
    r"cyclovir|vudine|oxetine|profen|semide|thiazide|setron|tidine|triptan|triptyline|tropium|terol|zosin|zepine|lukast|"
    r"parin|platin|rubicin|taxel|trexate|solone|sone|phylline|peridone|perazine|promazine|pramine|zodone|lamide|parib|"
    r"ciclib|rafenib|metinib|zomib|limus|stigmine|curonium|tadine|astine|fenac|oxicam|coxib|butazone|morphone|codone|"
    r"phetamine|dopa|giline|capone|pressin|tocin|relin|relix|tinidazole|bendazole|quine|antel|fungin|penem|bactam|cidin|"
    r"thromycin|mustine|fosfamide|abine|trozole|mestane|oxifene|lutamide|terone|gestrel|estradiol)|"
    r"(cef|ceph|sulfa)\w{4,})$", re.I)
NOT_DRUG = re.compile(r"(amine|kinase|protein|receptor|imide)s?$|progestone|ecdysone|quinone|^(juglone|cortisone)s$", re.I)
# ChEBI's classes by use. Most of its molecules are not drugs.
ROLE = re.compile(r"^[a-z-]+ (drug|agent|hormone|vitamin|antibiotic|anaesthetic|anesthetic)$|^vitamin \w+$|^(anti|hypo|hyper)\w+ic$")
NCIT_NOISE = re.compile(
    r"\b(stage|ajcc|fusion|gene|genes|pathway|t\(|inv\(|grade|cells?|childhood|adult|recurrent|refractory|neoplastic|"
    r"non-neoplastic|positive|negative|chromosome|chromosomal|mutation|deletion|amplification|gain|loss|trisomy|monosomy|"
    r"protein|allele|receptor|variant|score|with|without|of|by|in|due|secondary|metastatic|unresectable|resectable|"
    r"locally|advanced|localized|regional|pattern|present|absent|figo|who|rearrangement|expression|phase|level|cm|"
    r"differentiated|associated|related|subtype|type|primary|transplant-related|clinical|response|transcript|mRNA|signaling|"
    r"process|activity|event|abnormal|finding|nuclear|cytoplasm\w*|nucle\w+|no|not|other|part|function)\b|"
    r"[\d/();+]|-(positive|negative|like|related|associated)|\b[IVX]+\b", re.I)
NUMBERED = re.compile(r"(\b(type )?(\d+[a-z]{0,2}|[ivx]+[a-c]?|[a-z]\d*)|\d)$|linked|recessive|dominant|"
                      r"\d+[pq]\d*|chromosome|deficiency [A-Z]", re.I)

PRIMARY = {"Anatomical Structure": "Anatomy", "Chemical": "Drug or chemical", "Finding": "Sign or symptom",
           "Health Care Activity": "Procedure", "Medical Device": "Device", "Eukaryote": "Organism",
           "Biologic Function": "Biological process"}


# The type that an identifier of another vocabulary implies.
KIND_BY_PREFIX = {
    "Disease": {"MONDO", "DOID", "Orphanet", "OMIM", "OMIMPS", "ICD9", "ICD9CM", "ICD10", "ICD10CM", "ICD11", "ICDO", "GARD"},
    "Anatomy": {"UBERON", "FMA", "BIRNLEX", "NLXANAT", "EMAPA", "EHDAA", "EHDAA2", "MA", "VHOG", "TAO", "ZFA", "XAO", "CL"},
}
DISEASES, ANATOMIES = {"MONDO", "ORDO", "DOID", "DOID2016"}, {"UBERON", "CL"}


def is_disease(concept):
    """Whether a concept in a disease vocabulary is a disease.

    The UMLS type cannot tell: under Anatomical Structure it has malformations and other abnormalities, too (scoliosis, cleft
    palate). So the vocabularies decide. One of diseases alone says a disease; where one of anatomy has the concept, too, more of the
    concept's identifiers must be of diseases than of anatomy. Only MedMentions' type says that a thing is a chemical (for Orphanet
    has genes), a sign, a place or people.
    """
    sources, first = set(concept["sources"]), concept["types"][0] if concept["types"] else None
    if not sources & DISEASES or first not in (None, "Biologic Function", "Anatomical Structure", "Finding"):
        return False
    if first == "Finding":
        return "SYMP" not in sources
    if first != "Anatomical Structure" or not sources & ANATOMIES:
        return True
    votes = collections.Counter()
    for prefix in {xref.split(":")[0] for xref in concept["xrefs"]}:
        votes.update(kind for kind, prefixes in KIND_BY_PREFIX.items() if prefix in prefixes)
    return votes["Disease"] > votes["Anatomy"]


def primary(concept):
    """The primary type of a concept, or `None` if unknown."""
    sources, types = set(concept["sources"]), concept["types"]
    first = types[0] if types else None
    name = "MESH" in sources and upright(concept["name"]) or concept["name"]
    if first == "Chemical":
        return "Drug or chemical"
    if is_disease(concept):
        return "Disease"
    if first == "Finding" or "SYMP" in sources:
        return "Sign or symptom"
    if sources & {"CL"} and first == "Anatomical Structure":
        return "Cell"
    # Only MeSH and NCIt have abnormalities under Anatomical Structure without a marker.
    others = {"Biologic Function": {"GO", "NBO", "PATO"}, "Anatomical Structure": {"GO", "NBO", "PATO", "NIFSTD", *ANATOMIES}}
    if first in others and not sources & others[first] and DISEASE.search(name) and not NOT_DISEASE.search(name):
        return "Disease"
    if first == "Spatial Concept":
        return "Anatomy" if "UBERON" in sources else None
    return PRIMARY.get(first)


def choose_cui(concept):
    """Whether a concept of `kb` is useful for notes. clinical.tsv can still select it by name."""
    sources, name = set(concept["sources"]), concept["name"]
    first = concept["types"][0] if concept["types"] else None
    if OBSOLETE.search(name) or primary(concept) is None or VETERINARY.search(name):
        return False
    if sources == {"NIFSTD"}:
        return first == "Anatomical Structure" and any(xref.startswith("NLXANAT") for xref in concept["xrefs"])
    if first == "Eukaryote":
        return False
    if sources == {"ORDO"}:
        # Without an ICD-10 code these are genes, countries and headings.
        return any(xref.startswith("ICD10") for xref in concept["xrefs"])
    if sources <= {"MONDO", "BIOMAPPINGS"} and not concept["synonyms"] and NUMBERED.search(name):
        return False
    if sources == {"PR"} or sources <= {"PATO"}:
        return False
    return True


def choose_extra(concept):
    """(whether it is useful for notes, its type) for a concept of `extra`, which has one source."""
    source, name = concept["sources"][0], concept["name"]
    words = len(name.split())
    if OBSOLETE.search(name) or VETERINARY.search(name):
        return False, None
    if source == "MESH":
        natural = upright(name) or name
        head = name.split(",")[0]
        if DRUG.search(name) and not NOT_DRUG.search(name):
            return True, "Drug or chemical"
        if PROCEDURE.search(head) or PROCEDURE.search(natural):
            return not NOT_PROCEDURE.search(name) and words <= 5, "Procedure"
        if (DISEASE.search(head) or DISEASE.search(natural)) and not NOT_DISEASE.search(natural):
            return words <= 4 and not re.search(r"\d|virus", name), "Disease"
        return False, None
    if source == "NCIT":
        wanted = words <= 4 and not NCIT_NOISE.search(name) and concept["definition"] is not None
        return wanted and bool(DISEASE.search(name)), "Disease" if DISEASE.search(name) else None
    if source == "UBERON":
        return any(xref.startswith("FMA") for xref in concept["xrefs"]) and words <= 5, "Anatomy"
    if source == "SYMP":
        return True, "Sign or symptom"
    if source in ("DOID", "MONDO", "MPATH"):
        return True, "Disease"
    if source == "CHEBI":
        return words <= 3 and bool(ROLE.search(name)), "Drug or chemical"
    if source == "CL":
        return words <= 2 and not re.search(r"\d|-", name), "Cell"
    if source in ("GO", "NBO"):
        return words <= 2 and not re.search(r"\d|activity$|-.*tion", name), "Biological process"
    return False, None


def prepared(concept, kind, chosen):
    names = names_of(concept)
    if not names:
        return None
    return {"id": concept["id"], "names": names, "kind": kind, "chosen": chosen, "gone": False,
            "types": list(concept["types"]), "type_ids": list(concept["type_ids"]), "definition": concept["definition"],
            "xrefs": [x for x in concept["xrefs"] if not re.match(r"HP:|UBERON:\w+_", x)], "sources": list(concept["sources"])}
