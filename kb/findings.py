"""Findings, procedures, regimes, devices and body structures: the SNOMED CT Global Patient Set of
September 2020. It has one fully specified name a concept; other forms follow from it by rule."""

import re

# The clinical group of a semantic tag. Concepts of the other tags only give their identifier to a
# concept that has their name.
KINDS = {
    "disorder": "Disease", "finding": "Sign or symptom", "event": "Sign or symptom",
    "procedure": "Procedure", "regime/therapy": "Procedure",
    "observable entity": "Measurement", "assessment scale": "Measurement",
    "physical object": "Device", "body structure": "Anatomy",
}
ONLY_IDENTIFIER = {
    "morphologic abnormality": "Disease", "organism": "Organism", "substance": "Drug or chemical",
    "medicinal product": "Drug or chemical", "product": "Drug or chemical",
}
MOST_WORDS = 4

SPECIFIED = re.compile(r"^(.*\S) \(([^()]+)\)$")
# Not one clinical idea, a heading of the classification, or a phrase of nursing records.
PHRASE = re.compile(r"[/:;&()\[\]\"]| - |\b(and|or|and/or|with|without|due to|caused by|except|not|no|"
                    r"other|specified|using|related|associated|during|after|resulting|involving|"
                    r"ICD|International|subtype|NOS|stage|grade|status|current|previous|victim|"
                    r"care plan|service|department|staff|client|person|people)\b", re.I)
# Nursing and social records have phrases that notes do not have in these words.
SOCIAL = re.compile(r"\b(languages?|house|housing|home|friends?|relatives?|retirement|schools?|jobs?|shopping|financ\w+|"
                    r"marital|marriage|siblings?|parents?|spouse|partners?|religio\w+|employ\w*|unemploy\w*|work|military|"
                    r"prison|police|neighbo\w+|transport\w*|leisure|money|income|legal|law|milestones?|telephone|email|"
                    r"address|surname|oncoming|premises|personality trait|culture shock|spiritual\w*|wills?|caregiver|"
                    r"community|society|social|self-care|domestic|behaviou?rs?|activit(y|ies)|skills?|learning)\b", re.I)
OPENINGS = {
    "Sign or symptom": r"able|ability|unable|inability|cannot|can|does|do|did|has|had|is|are|was|needs?|requires?|"
                       r"wants?|seen|under|on|in|to|normal|finding|findings|observation|knowledge|level|at|high risk|risk|"
                       r"low risk|lives?|living|received?|interested|aware|unaware|concerned|effective|ineffective|"
                       r"adequate|inadequate|good|poor|fully|partially|previously|recently|never|always|"
                       r"denies|denied|fall|accident|accidental|exposure|assault|overexposure|injury|suicide by|details|"
                       r"electrocardiogram|ECG|EKG|patient|mother|father|child|history|family|desire|ready|"
                       r"engages|exercises|attends|works|unsatisfactory|satisfactory|provision|diet|tumor|node",
    "Procedure": r"education|referral|liaising|liaison|assessment|recommendation|monitoring|discharge|"
                 r"admission|operation|procedure|support|assisting|assistance|advice|provision|promotion|"
                 r"preparation|evaluation|management|initial|follow-up|followup|patient|informing|teaching|"
                 r"discussion|review|planning|record|recording|documentation|notification|request|"
                 r"supervision|arrangement|identification|facilitation|implementation|maintenance|"
                 r"identifying|encouraging|demonstrating|providing|obtaining|collection|specimen|"
                 r"seen|transfer|stabilization|care|history|determination|development|reporting",
    "Measurement": r"ability|able|knowledge|availability|details|provision|characteristic|feature|finding|"
                   r"functional|history|level|attitude|date|time|number|type|kind|place|color|colour|"
                   r"personal|pattern|family|country|name|quality|presence|possession|location|"
                   r"amount|detection|interest|reading|estimated date|ownership|belief|access|state",
    "Device": r"device|instrument|equipment|optical|microscope|supply|furniture|clothing|laboratory|"
              r"container|toy|food|paper",
}
OPENING = {kind: re.compile(rf"^({words})\b", re.I) for kind, words in OPENINGS.items()}
CLOSING = {
    "Sign or symptom": re.compile(r"\b(normal|compliance|finding|observation|diet|behavior|score|present|absent|"
                                  r"education|test|result|adequate|noted|procedure|positive|negative|ability|level)$", re.I),
    "Procedure": re.compile(r"\b(education|assessment|management|support|regime|procedure|teaching|"
                            r"counseling|advice|care|monitoring|review|plan|technique|method|stain method|stain|"
                            r"planning|activity|identification|evaluation|preparation|training|specimen|cytology)$", re.I),
    "Measurement": re.compile(r"\b(function|functions|behavior|level|ability|activity|skill|skills|status|"
                              r"observable|feature|characteristic|details|pattern|type|date|time|history|arrangement)$", re.I),
    "Anatomy": re.compile(r"\b(tooth|teeth|segment|segments|system|subdivision|proper|half|part|specimen)$", re.I),
    "Device": re.compile(r"\b(graft material|filter|material|for imaging procedure|microscope|laser|battery|"
                         r"cassette|tissue|jewelry|slide|stain)$", re.I),
}

# "Fracture of rib" is also written "rib fracture".
HEADS = re.compile(
    r"^((?:\w+ )?(?:fracture|injury|infection|ulcer|abscess|cyst|edema|swelling|laceration|contusion|sprain|strain|"
    r"dislocation|stenosis|obstruction|disorder|inflammation|mass|lesion|polyp|hernia|pain|tenderness|"
    r"stiffness|spasm|bleeding|biopsy|excision|repair|replacement|resection|amputation|transplantation|"
    r"culture|burn|wound|rash|discharge|effusion|deformity|weakness|numbness|itching|discomfort|"
    r"cramp|rupture|perforation|prolapse|atrophy|tear|removal|aspiration|block|arthroscopy|examination|"
    r"insufficiency|thrombosis|hemorrhage|atherosclerosis|aneurysm|calcification|dysfunction|carcinoma|"
    r"instability|arthritis|neoplasm|tumor|calculus|foreign body|closure|reconstruction|endoscopy|implantation|angioplasty|catheterization|irrigation|drainage|scan|injection|cancer)) (?:of|in|from) "
    r"((?!.*\b(of|by|in|to|for|from)\b)[\w' -]+)$", re.I)
CANCER = re.compile(r"^(?:malignant (?:neoplasm|tumor)|cancer) of (.+)$", re.I)
IMAGING = [
    (re.compile(r"^(?:computed tomography|CT)(?: scan)? of (.+)$", re.I),
     ("CT of {0}", "{0} CT", "CT {0}", "CT scan of {0}")),
    (re.compile(r"^(?:magnetic resonance imaging|MRI)(?: scan)? of (.+)$", re.I),
     ("MRI of {0}", "{0} MRI", "MRI {0}")),
    (re.compile(r"^(?:ultrasonography|ultrasound(?: scan)?) of (.+)$", re.I),
     ("ultrasound of {0}", "{0} ultrasound")),
    (re.compile(r"^(?:plain X-ray|radiography|diagnostic radiography|radiologic examination) of (.+)$", re.I),
     ("{0} x-ray", "x-ray of {0}", "{0} radiograph")),
    (re.compile(r"^(?:measurement of (.+))$", re.I), ("{0} measurement", "{0} level")),
    (re.compile(r"^(.+) measurement$", re.I), ("{0} level",)),
]
BODY = re.compile(r"^(?:entire |structure of (?:the )?)+| (?:region )?structure$", re.I)
# What is left of a name that the classification built around a heading.
STUB = re.compile(r"^\w+(al|ar|ic|ial|ous) of | structure |\b(?!canal|ear|malar|pedicle)\w+(al|ar|ic|ary|ous|ine)$", re.I)


def tidied(name, kind):
    """The name without what only the classification needs."""
    if kind == "Anatomy":
        name = BODY.sub("", name).strip()
    if kind == "Device":
        name = re.sub(r", device$", "", name)
    if kind == "Drug or chemical":
        name = re.sub(r"^(medicinal )?product (containing|acting as)( only| a)? ", "", name, flags=re.I)
    return name


def variants(name):
    """Other forms of a name in which its words are written in notes."""
    found = []
    head, cancer = HEADS.match(name), CANCER.match(name)
    if head and not cancer:
        found.append(f"{head.group(2)} {head.group(1).lower()}")
    if cancer:
        found += [f"{cancer.group(1)} cancer", f"cancer of {cancer.group(1)}"]
    for pattern, forms in IMAGING:
        match = pattern.match(name)
        if match:
            found += [form.format(match.group(1)) for form in forms]
    return found


def is_phrase(name, kind):
    """Whether a name is no clinical idea of its own, or no form of it is short enough for a note."""
    if PHRASE.search(name) or kind not in ("Disease", "Anatomy") and SOCIAL.search(name):
        return True
    if kind == "Anatomy" and STUB.search(name) or len(name) < 3:
        return True
    if min(len(form.split()) for form in (name, *variants(name))) > MOST_WORDS:
        return True
    opening, closing = OPENING.get(kind), CLOSING.get(kind)
    return bool(opening and opening.search(name) or closing and closing.search(name))


def concepts(value_set, is_everyday, is_clinical):
    """The concepts of a FHIR ValueSet whose entries have fully specified names.

    `is_everyday` tells words of everyday English; alone they are no finding or measurement.
    `is_clinical` tells words of body parts, diseases, signs and procedures; a finding, event,
    procedure or measurement without one is of nursing or social records.
    """
    for entry in value_set["compose"]["include"][0]["concept"]:
        match = SPECIFIED.match(entry["display"])
        if not match:
            continue
        full, tag = match.groups()
        kind = KINDS.get(tag) or ONLY_IDENTIFIER.get(tag)
        if kind is None:
            continue
        name = tidied(full, kind)
        if re.search(r" measurement$|^measurement of ", name, re.I) and kind == "Procedure":
            kind = "Measurement"
        plain = tag not in ("disorder", "body structure", "physical object") and not any(
            is_clinical(word) for word in re.findall(r"[a-z]{3,}", name.lower()))
        alone = len(name.split()) == 1 and kind != "Disease" and (
            kind == "Measurement" or is_everyday(name.lower()))
        yield {
            "id": f"SNOMED:{entry['code']}", "names": [name, *variants(name)], "kind": kind,
            "types": [tag], "type_ids": [], "definition": None,
            "xrefs": [f"SNOMED:{entry['code']}"], "sources": ["SNOMEDGPS"],
            # MeSH has disorders among biological functions.
            "over": "Biological process" if tag == "disorder" else None,
            "only_identifier": tag not in KINDS or plain or alone or is_phrase(name, kind),
        }
