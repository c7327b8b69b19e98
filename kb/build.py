#!/usr/bin/env python3
"""Builds the default knowledge base, default.jsonl.xz, from open vocabularies. Needs only Python 3.9 or later.

    build.py --check default.jsonl.xz    counts the violations of the rules below
    build.py --kb kb.jsonl.xz --extra kb_extra.jsonl.xz --doid HumanDO-2016.obo --symp symp.obo
             --mentions mentions.train.jsonl.xz --documents documents.jsonl.xz [--out default.jsonl.xz]

`kb` and `extra` are concept tables (JSON per line: id, name, synonyms, types, type_ids, definition, xrefs, sources); in
`kb` the ids are CUIs. `doid` and `symp` are ontologies as released. `mentions` and `documents` are MedMentions (CC0).
`clinical.tsv` in this folder is our own list of terms that are frequent in notes. It selects concepts, sets their types, adds
abbreviations and spellings that the vocabularies lack, and adds missing concepts.

The licence of the Human Phenotype Ontology forbids changes, so nothing is taken from it. See README.md for the rules and
LICENSES.md for the sources. The output depends only on the inputs: no clock, no randomness, no set order.
"""

import argparse
import collections
import json
import lzma
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Sources whose licences allow redistribution with changes; see LICENSES.md. HPO is not among them.
OPEN = {"MONDO", "ORDO", "NCIT", "NIFSTD", "UBERON", "DOID", "DOID2016", "SYMP", "CHEBI", "GO", "CL", "PATO", "MPATH",
        "NBO", "PR", "BIOMAPPINGS", "MESH", "MEDMENTIONS", "PEL"}
# Sources whose labels are in lower case. HPO's are capitalised (but for 3 of 19,176).
SMALL_LETTERS = ("MONDO", "DOID", "SYMP", "UBERON", "CL", "GO", "CHEBI", "PATO", "NBO")

MOST_SYNONYMS, LONGEST_NAME, LONGEST_DEFINITION = 8, 80, 400

# Endings that other vocabularies add to their labels.
LABEL = re.compile(r"\s*(\((inherited or acquired|disorder|finding|morphologic abnormality|body structure|procedure|context-dependent category|"
                   r"qualifier value|situation)\)|\[obs\]|\[WF\]|, NOS| NOS|\[Ambiguous\]|\(WF\))$", re.I)

# One of two names; codes and editors' remarks within a name.
EITHER_OR = re.compile(r"^\(.+\) or \(")
CODED = re.compile(r"\[dup\]|^[A-Z\d]{2,5}( -|,) |^[a-z]{2} - |\bNOS\b|unspecified|\bNEC\b|not otherwise specified|\[[a-z]+\]", re.I)


def read_jsonl(path):
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_obo(path):
    """id -> {"id", "name", "synonyms" (EXACT ones), "definition", "cuis"} of all terms but obsolete ones."""
    terms, term = [], None
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("["):
                term = {"synonyms": [], "cuis": [], "alt": []} if line == "[Term]" else None
                if term is not None:
                    terms.append(term)
            elif term is not None and ": " in line:
                key, value = line.split(": ", 1)
                if key in ("id", "name"):
                    term[key] = value
                elif key == "alt_id":
                    term["alt"].append(value)
                elif key == "is_obsolete":
                    term["obsolete"] = value == "true"
                elif key == "def":
                    term["definition"] = quoted(value)
                elif key == "synonym" and '" EXACT' in value:
                    term["synonyms"].append(quoted(value))
                elif key == "xref" and value.startswith("UMLS"):
                    term["cuis"] += re.findall(r"C\d{7}", value)
    return {id: term for term in terms if not term.get("obsolete") for id in [term["id"], *term["alt"]]}


def quoted(value):
    text = re.match(r'"((?:[^"\\]|\\.)*)"', value).group(1)
    return re.sub(r"\\(.)", r"\1", text)


# ---- names

def tidy(name):
    return LABEL.sub("", " ".join(name.split())).strip()


def upright(name):
    """The natural order of an inverted name such as MeSH's `Neoplasms, Lung`, if it has one comma between words; else `None`."""
    parts = name.split(", ")
    if len(parts) == 2 and not re.search(r"[\d()\[\]]", parts[1]) and parts[1][:1].isupper():
        return f"{parts[1]} {parts[0]}"
    return None


def names_of(concept):
    """The preferred name, then synonyms: cleaned, without case-insensitive duplicates, inverted names in natural order."""
    found, mesh = {}, "MESH" in concept["sources"]
    for name in [concept["name"], *concept["synonyms"]]:
        name = tidy(name)
        if (mesh or name.isupper()) and upright(name):
            name = upright(name)
        if name != concept["name"] and (len(name) == 3 and not name.islower() or CODED.search(name) or EITHER_OR.search(name)
                                        or is_classified(name)):
            # Rare diseases have hundreds of three-letter names that mean something else in notes.
            continue
        if 2 < len(name) <= LONGEST_NAME and re.search(r"[^\W\d_]{2}|\d[A-Z]|[A-Z]\d", name):
            found.setdefault(name.lower(), name)
    return list(found.values())


def key(name):
    """The key for comparing names: it ignores case, hyphens, apostrophes and a plural s."""
    words = re.sub(r"[^\w/+.]+", " ", name.lower().replace("'s", "").replace("\u2019s", "")).split()
    if words and len(words[-1]) > 3 and words[-1].endswith("s") and not words[-1].endswith(("ss", "is", "us")):
        words[-1] = words[-1][:-1]
    return " ".join(words)


# Words for a value on a scale.
SCALE = r"(grade|stage|type|class|level|phase|group|score|category|degree|grading|staging|subtype|form|variant)"
CLASSIFIED = re.compile(rf"({SCALE}s? ?)+[- ]?(\d+[a-c]?|[ivx]{{1,4}}[a-c]?|[a-d])?|(\d+|[ivx]{{1,4}})[- ]?({SCALE}s? ?)+", re.I)


def is_classified(name):
    """Whether a name is a value on an unnamed scale: Grade 3, Type II, Stage IV."""
    return bool(CLASSIFIED.fullmatch(name.strip()))


def words_of(name):
    return re.findall(r"[^\W\d_]+", name.lower())


def shares_a_word(name, other):
    """Whether two names share a word stem: the first four letters, or three in a three-letter word."""
    def one_stem(a, b):
        length = min(4, len(a), len(b))
        return length >= 3 and a[:length] == b[:length]
    return any(one_stem(a, b) for a in words_of(name) for b in words_of(other))


def is_short_form(short, long):
    """Whether the letters of `short` occur in `long` in this order, the first one at the start of a word
    (Schwartz and Hearst, 2003)."""
    short, long = short.lower(), long.lower()
    at = len(long)
    for place in range(len(short) - 1, -1, -1):
        at -= 1
        while at >= 0 and (long[at] != short[place] or place == 0 and at > 0 and long[at - 1].isalnum()):
            at -= 1
        if at < 0:
            return False
    return True


def is_small_acronym(name, names):
    """Whether a lower-case name is an acronym of another name: `sac` of serrated adenocarcinoma, `sag` of statoacoustic ganglion.
    In texts the lower-case form is an ordinary word."""
    return bool(re.fullmatch(r"[a-z]{2,4}", name)) and any(
        len(other) > 2 * len(name) and not shares_a_word(name, other) and is_short_form(name, other) for other in names)


def shorter(definition):
    """The definition, cut to about LONGEST_DEFINITION characters after a sentence, else at a word with an ellipsis."""
    if not definition:
        return None
    definition = " ".join(re.sub(r"\s*\[[^\]]*(unvetted|WP|Wikipedia|url:|http)[^\]]*\]", "", definition).split())
    if len(definition) <= LONGEST_DEFINITION:
        return definition
    head = definition[:LONGEST_DEFINITION]
    end = max(head.rfind(". "), head.rfind("; "))
    return head[: end + 1] if end > 100 else head.rsplit(" ", 1)[0] + " \u2026"


# ---- HPO

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


# ---- choice and type

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


# ---- the table

def absorb(kept, other):
    """Merges an equivalent concept into `kept`."""
    kept["names"] += other["names"]
    kept["xrefs"] += other["xrefs"] + ([("UMLS:" if re.fullmatch(r"C\d{7}", other["id"]) else "") + other["id"]])
    kept["sources"] += other["sources"]
    kept["types"] += other["types"]
    kept["type_ids"] += other["type_ids"]
    kept["definition"] = kept["definition"] or other["definition"]
    kept["kind"] = kept["kind"] or other["kind"]
    other["gone"] = True


def rank(concept):
    """The sort key for concepts with the same name: those with a CUI first, then with more sources, a definition, and by id."""
    return not concept["id"].startswith("C"), -len(set(concept["sources"])), concept["definition"] is None, concept["id"]


def prepared(concept, kind, chosen):
    names = names_of(concept)
    if not names:
        return None
    return {"id": concept["id"], "names": names, "kind": kind, "chosen": chosen, "gone": False,
            "types": list(concept["types"]), "type_ids": list(concept["type_ids"]), "definition": concept["definition"],
            "xrefs": [x for x in concept["xrefs"] if not re.match(r"HP:|UBERON:\w+_", x)], "sources": list(concept["sources"])}


def merge_same_names(pool):
    """Merges concepts with the same preferred name and type, and an extra concept with the CUI concept that names it."""
    groups = collections.defaultdict(list)
    for concept in pool:
        groups[key(concept["names"][0])].append(concept)
    for group in groups.values():
        group.sort(key=rank)
        for at, kept in enumerate(group):
            for other in group[at + 1:]:
                if not kept["gone"] and not other["gone"] and (kept["kind"] == other["kind"] or not other["id"].startswith("C")):
                    absorb(kept, other)
                    kept["chosen"] |= other["chosen"]
    by_name = collections.defaultdict(list)
    for concept in pool:
        if not concept["gone"] and concept["id"].startswith("C"):
            for name in dict.fromkeys(map(key, concept["names"])):
                by_name[name].append(concept)
    for concept in pool:
        homes = [home for home in by_name[key(concept["names"][0])] if not home["gone"]]
        if not concept["gone"] and not concept["id"].startswith("C") and len(homes) == 1:
            homes[0]["chosen"] |= concept["chosen"]
            absorb(homes[0], concept)


# Types in clinical.tsv that may replace another type: for example, a test that MeSH lists as a chemical.
COMPATIBLE = {
    ("Measurement", "Drug or chemical"), ("Measurement", "Procedure"), ("Measurement", "Sign or symptom"),
    ("Measurement", "Biological process"), ("Procedure", "Measurement"), ("Disease", "Sign or symptom"),
    ("Sign or symptom", "Disease"), ("Sign or symptom", "Biological process"), ("Disease", "Biological process"),
    ("Procedure", "Biological process"), ("Anatomy", "Cell"), ("Device", "Procedure"), ("Procedure", "Device"),
    ("Drug or chemical", "Biological process"), ("Procedure", "Sign or symptom"),
}


def apply_clinical(pool, rows):
    """Applies clinical.tsv: selects concepts, sets types and names, and adds concepts for names that no concept of a fitting type has."""
    by_label, by_name = collections.defaultdict(list), collections.defaultdict(list)
    for concept in pool:
        if not concept["gone"]:
            by_label[key(concept["names"][0])].append(concept)
            for name in dict.fromkeys(map(key, concept["names"])):
                by_name[name].append(concept)
    owner, added = {}, []
    for kind, name, synonyms in rows:
        keys = [key(name), *map(key, synonyms)]

        def fitting(found):
            fits = [c for c in found if not c["gone"] and not c.get("listed")
                    and (c["kind"] in (kind, None) or (kind, c["kind"]) in COMPATIBLE)]
            return sorted(fits, key=lambda c: (c["kind"] != kind, rank(c)))

        candidates = fitting(by_label[keys[0]]) or fitting(by_name[keys[0]])
        for other in keys[1:]:
            candidates = candidates or fitting(by_label[other])
        if candidates:
            concept = candidates[0]
        else:
            slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
            concept = {"id": f"PEL:{slug}", "names": [], "kind": kind, "chosen": True, "gone": False, "types": [],
                       "type_ids": [], "definition": None, "xrefs": [], "sources": ["PEL"]}
            added.append(concept)
        for other in dict.fromkeys(keys):
            for same in fitting(by_label[other]):
                if same is not concept and (same["kind"] == kind or same["kind"] is None):
                    absorb(concept, same)
        known = {n.lower() for n in concept["names"]}
        concept.update(kind=kind, chosen=True, listed=True)
        # Our name comes first, because it is the usual form in notes. New names are ours.
        if {n.lower() for n in (name, *synonyms)} - known:
            concept["sources"].append("PEL")
        label = next((n for n in concept["names"] if n.lower() == name.lower()), name)
        concept["names"] = [label, *synonyms, *concept["names"]]
        for one in (name, *synonyms):
            owner[one.lower()] = concept
    return added, owner


def acronyms_that_are_words(pool, documents):
    """Names in capitals, lower-cased, that texts write in lower case more often: WAS, CAN, ARC ..."""
    wanted = {name for concept in pool for name in concept["names"] if re.fullmatch(r"[A-Z]{3,6}s?", name)}
    upper, lower = collections.Counter(), collections.Counter()
    small = {name.lower() for name in wanted}
    for document in documents:
        if document["casing"] == "original":
            for word in re.findall(r"[A-Za-z]+", document["text"]):
                if word in wanted:
                    upper[word.lower()] += 1
                elif word in small:
                    lower[word] += 1
    return {name for name in small if lower[name] > upper[name]}


# The least number of documents with the word outside any mention. Annotators would have linked it if it meant the concept.
ENOUGH_DOCUMENTS = 3


def words_of_other_sense(pool, mentions, documents):
    """(id, word) for one-word names that texts use in another sense.

    MedMentions is annotated exhaustively. So a word that annotators linked to other concepts and never to this one is no name of
    it there (`midline` of the second vertebra), nor is one that stands by itself, in no longer mention, in several documents and
    that they linked to nothing (`abolished` of negative regulation). Words that share a stem with the label stay, and so do words of
    the definition that were linked to nothing.
    """
    suspects = collections.defaultdict(set)
    for concept in pool:
        if re.fullmatch(r"C\d{7}", concept["id"]):
            for name in concept["names"][1:]:
                if re.fullmatch(r"[A-Z]?[a-z]+", name) and not shares_a_word(name, concept["names"][0]):
                    suspects[name.lower()].add(concept["id"])
    definitions = {concept["id"]: set(words_of(concept["definition"] or "")) for concept in pool}
    linked, spans = collections.defaultdict(set), collections.defaultdict(list)
    for mention in mentions:
        linked[mention["text"].lower()].add(mention["cui"])
        spans[mention["doc_id"]].append((mention["start"], mention["end"]))
    alone = collections.Counter()
    for document in documents:
        inside = spans.get(document["doc_id"])
        if inside is None:
            continue
        found = set()
        for match in re.finditer(r"(?<![\w-])[A-Za-z][a-z]+(?![\w-])", document["text"]):
            word = match.group().lower()
            if word in suspects and word not in found and not any(
                    start <= match.start() and match.end() <= end and end - start > len(word) for start, end in inside):
                found.add(word)
        alone.update(found)
    return {(id, word) for word, ids in suspects.items() for id in ids
            if id not in linked[word] and (linked[word] or alone[word] >= ENOUGH_DOCUMENTS and word not in definitions[id])}


def quality_words(pool):
    """(id, word) for one-word names from PATO of a thing, process or disease: `triangular`, `arrested`. PATO's terms are qualities,
    which were merged with other concepts by mistake; they share no stem with the label."""
    return {(concept["id"], name.lower()) for concept in pool
            if "PATO" in concept["sources"] and concept["kind"] != "Sign or symptom" and set(concept["sources"]) != {"PATO"}
            for name in concept["names"][1:]
            if re.fullmatch(r"[a-z]+", name) and not shares_a_word(name, concept["names"][0])}


def organisms_of(concepts):
    """The names, lower-cased, of concepts that MedMentions types as organisms."""
    return {name.lower() for concept in concepts if concept["types"][:1] == ["Eukaryote"] for name in [concept["name"], *concept["synonyms"]]}


# Words that are labels of concepts, but have another sense in notes.
EVERYDAY = set("""
    abnormal absence absent acid acquired action active activity acute adrenal adult ageing agent aging air all
    anterior application art association attention awareness back base behavior behaviour binding biomarker body
    care case cases cast cavity cell cells central change changes child children chronic clear clinic cold color
    colour complaint compliance complication complications condition conditions control cool cortical course cut
    dark day decrease decreased degradation dependence development diagnosis differentiation digestion digital
    direction discharge disease diseases disorder disorders distal distance domain double drive drug drugs dry
    duration education end ends event events exposure expressed expression extracellular factor factors family
    fear feature feedback female fiber field finding firm fixed flat focus follow food form frequency fresh
    function gas giant group growth hard height high history home hospital hot hour hours house image images
    impact increase increased inferior infiltration inner invasive ion ions irregular language large lateral lead
    learning lectures left length level levels light limited line lines localization long loss low low-grade lower
    male man maps mass medial medication medications medicine memory men met metabolic metabolism method methods
    middle mild minute mobile model moderate month months mortality motility movement negative new none normal
    number nurse old onset open oral order organ other outer pale part pathway pathways patient patients pattern
    people perception peripheral person physician place plan play point pore position positive posterior presence
    present process prognosis progression proximal quality quantity rate ratio read recurrence refractory region
    regression regular relapse replication report research response rest result results review right risk role
    roles round salt scale scales school sensitive sensitivity set severe sex shape shell sign signaling signature
    signs single size small smoke smooth soft sound speed stable stage state states stem strength stress structure
    study superior surface surgeons symptom symptoms syndrome synthesis table tables test therapeutics therapy
    thing time tip tissue tissues total trace transport trauma treatment trunk tube unit units unstable upper
    vessel voice volume walker wall warm water wave week weeks weight well wet withdrawal woman women work year
    years young
""".split()) | {"anatomical structure", "finding by site", "neoplasm by site"}


def clinical_rows():
    """The rows of clinical.tsv: (type, name, synonyms)."""
    with open(HERE / "clinical.tsv", encoding="utf-8") as file:
        next(file)
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(kind, name, [s for s in synonyms.split("|") if s]) for kind, name, synonyms in rows]


def faults_of(concept, ours=frozenset()):
    """The violations of a row, as (rule, name). Names in `ours` were chosen by hand and are not checked."""
    name, kind = concept["name"], concept["types"][0] if concept["types"] else None
    sources = set(concept["sources"])
    own = {"sources": concept["sources"], "types": concept["types"][1:], "xrefs": concept["xrefs"]}
    if kind == "Anatomy" and is_disease(own):
        yield "a disease typed Anatomy", name
    if kind == "Organism" and sources & DISEASES:
        yield "a disease typed Organism", name
    for at, synonym in enumerate([name, *concept["synonyms"]]):
        others = [other for other in [name, *concept["synonyms"]] if other != synonym]
        if synonym.lower() in ours:
            continue
        if at and is_classified(synonym):
            yield "a place on an unnamed scale", f"{synonym} ({name})"
        if is_small_acronym(synonym, others):
            yield "an acronym in small letters", f"{synonym} ({others[0]})"
        if at and synonym.lower() in EVERYDAY:
            yield "an everyday word", f"{synonym} ({name})"
        if EITHER_OR.search(synonym):
            yield "one of two names", f"{synonym} ({name})"


def check(path):
    """Prints the number of violations of each rule, with examples; returns whether there are none."""
    faults = collections.defaultdict(list)
    ours = {one.lower() for _, name, synonyms in clinical_rows() for one in (name, *synonyms)}
    for concept in read_jsonl(path):
        for rule, what in faults_of(concept, ours):
            faults[rule].append(f"{concept['id']} {what}")
    for rule, rows in sorted(faults.items()):
        print(f"{len(rows)} x {rule}: " + "; ".join(rows[:5]) + (" ..." if len(rows) > 5 else ""))
    print(f"{path}: {sum(map(len, faults.values()))} faults")
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", type=pathlib.Path, metavar="TABLE", help="check a table against the rules, without building one")
    for name in ("kb", "extra", "doid", "symp", "mentions", "documents"):
        parser.add_argument(f"--{name}", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "default.jsonl.xz")
    options = parser.parse_args()
    if options.check:
        sys.exit(0 if check(options.check) else 1)
    missing = [name for name in ("kb", "extra", "doid", "symp", "mentions", "documents") if getattr(options, name) is None]
    if missing:
        parser.error("the following arguments are required: " + ", ".join(f"--{name}" for name in missing))

    counts = collections.Counter()
    doid, symp = read_obo(options.doid), read_obo(options.symp)
    surfaces = collections.defaultdict(collections.Counter)
    mentions, documents = read_jsonl(options.mentions), read_jsonl(options.documents)
    for mention in mentions:
        surfaces[mention["cui"]][mention["text"]] += 1

    pool, kb = [], read_jsonl(options.kb)
    organisms = organisms_of(kb)
    for concept in kb:
        if "HPO" in concept["sources"]:
            concept = without_hpo(concept, doid, symp, surfaces)
            counts["made again without HPO" if concept else "left out: HPO alone"] += 1
            if concept is None:
                continue
        assert set(concept["sources"]) <= OPEN, concept
        pool.append(prepared(concept, primary(concept), choose_cui(concept)))
    for concept in read_jsonl(options.extra):
        if concept["sources"] == ["HPO"]:
            counts["left out: HPO alone"] += 1
            continue
        assert set(concept["sources"]) <= OPEN, concept
        chosen, kind = choose_extra(concept)
        pool.append(prepared(concept, kind, chosen))
    pool = [concept for concept in pool if concept]

    merge_same_names(pool)
    added, owner = apply_clinical(pool, clinical_rows())
    pool = [concept for concept in pool + added if not concept["gone"] and concept["chosen"]]

    words = acronyms_that_are_words(pool, documents)
    other_sense = words_of_other_sense(pool, mentions, documents) | quality_words(pool)
    # A synonym is dropped if it is the label of another concept.
    labels = collections.defaultdict(set)
    for concept in pool:
        labels[concept["names"][0].lower()].add(concept["id"])
    table = []
    for concept in pool:
        names = {}
        for at, name in enumerate(concept["names"]):
            low = name.lower()
            ours = owner.get(low) is concept
            # A label that is only an acronym is dropped too; the next name becomes the label.
            others = [other for other in concept["names"] if other != name]
            if low in owner and not ours:
                counts["names left out: ours elsewhere"] += 1
            elif (low in EVERYDAY or low in words) and not ours:
                counts["names left out: everyday words"] += 1
            elif not ours and is_small_acronym(name, others):
                counts["names left out: acronyms in small letters"] += 1
            elif not ours and at > 0 and (concept["id"], low) in other_sense:
                counts["names left out: words that texts use in another sense"] += 1
            elif not ours and at > 0 and concept["kind"] == "Disease" and low in organisms:
                counts["names left out: the organism, not the disease"] += 1
            elif at > 0 and labels[low] - {concept["id"]}:
                counts["names left out: another concept's label"] += 1
            else:
                names.setdefault(low, name)
        names = list(names.values())
        if not names:
            counts["left out: no name of its own"] += 1
            continue
        mine = sum(1 for name in names if owner.get(name.lower()) is concept)
        names = names[: max(MOST_SYNONYMS, mine) + 1]
        types = dict.fromkeys([concept["kind"], *concept["types"]])
        table.append({
            "id": concept["id"], "name": names[0], "synonyms": names[1:], "types": list(types),
            "type_ids": list(dict.fromkeys(concept["type_ids"])), "definition": shorter(concept["definition"]),
            "xrefs": sorted(set(concept["xrefs"])), "sources": sorted(set(concept["sources"])),
        })
    table.sort(key=lambda concept: (not concept["id"].startswith("C"), concept["id"]))
    assert len({concept["id"] for concept in table}) == len(table)
    assert all(set(concept["sources"]) <= OPEN for concept in table)
    lines = "".join(json.dumps(concept, ensure_ascii=False, separators=(",", ":")) + "\n" for concept in table)
    options.out.write_bytes(lzma.compress(lines.encode(), preset=9 | lzma.PRESET_EXTREME))

    print(f"{len(table)} concepts, {sum(1 + len(c['synonyms']) for c in table)} names, "
          f"{sum(c['definition'] is not None for c in table)} definitions, {len(lines.encode())} bytes, "
          f"{options.out.stat().st_size} packed")
    for title, of in (("type", lambda c: c["types"][:1]), ("source", lambda c: c["sources"])):
        tally = collections.Counter(value for concept in table for value in of(concept))
        print(f"by {title}: " + ", ".join(f"{name} {n}" for name, n in sorted(tally.items(), key=lambda i: (-i[1], i[0]))))
    for what, n in sorted(counts.items()):
        print(f"{what}: {n}")


if __name__ == "__main__":
    main()
