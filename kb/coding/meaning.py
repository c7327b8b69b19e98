"""Whether two names mean the same, for names of concepts and official names of codes."""

import functools
import re
import unicodedata

# One word for words that mean the same in names of diseases, parts, tests and procedures.
SAME = {
    "tumour": "tumor", "neoplasm": "tumor", "neoplasms": "tumor", "tumors": "tumor", "tumours": "tumor",
    "disease": "disorder", "diseases": "disorder", "disorders": "disorder", "calculus": "stone", "calculi": "stone",
    "kidney": "renal", "kidneys": "renal", "hepatic": "liver", "cardiac": "heart", "pulmonary": "lung", "haemorrhage": "hemorrhage",
    "bleeding": "hemorrhage", "bleed": "hemorrhage", "gastric": "stomach", "ca": "cancer", "computerized": "computed",
    "swollen": "swelling", "ache": "pain", "infarct": "infarction", "itching": "pruritus", "itch": "pruritus",
}
ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9"}
# Words without a meaning of their own in a name.
EMPTY = frozenset("of the a an in on at by for to and or nos nec unspecified structure entire measurement level procedure".split())
# Phrases that are one word.
PHRASES = [
    (re.compile(r"\b(malignant (neoplasm|tumou?r|neoplastic disease)|primary malignant (neoplasm|tumou?r)|cancer|malignancy)\b"), "cancer"),
    (re.compile(r"\bbenign (neoplasm|tumou?r)\b"), "benign tumor"),
    (re.compile(r"\bmalignant (?=melanoma|lymphoma|mesothelioma)"), ""),
    (re.compile(r"\bdue to diabetes mellitus\b|\bdiabetic\b"), "diabetic"),
    (re.compile(r"\bsevere acute respiratory syndrome coronavirus\b"), "sars cov"),
    (re.compile(r"\b(predominantly )?(associated with|affecting|involving)\b|, device$"), ""),
    (re.compile(r"^product containing "), ""),
    # "Female-to-male" is not "male-to-female"; the order of the other words says nothing.
    (re.compile(r"\b(female|male)[ -]to[ -](female|male)\b"), r"\1to\2"),
    # The letter, not the article: vitamin A deficiency is no plain deficiency.
    (re.compile(r"\b(vitamin|hepatitis|hemophilia|influenza|type|group|class|grade|stage|protein|immunoglobulin|apolipoprotein|trisomy|toxin|bullosa) a\b"), r"\1 alpha"),
    (re.compile(r"\btype i\b"), "1"),
    (re.compile(r"\btype v\b"), "5"),
    (re.compile(r"\btype (?=\d|[ivx]+\b)"), ""),
    (re.compile(r"\b(thyroid|pituitary|adrenal|parotid|salivary|lacrimal|prostate|parathyroid|pineal|thymus|sublingual|submandibular) glands?\b"), r"\1"),
]
# What the lists add to a name that means the plain thing.
PLAIN = re.compile(r", unspecified (eye|eyelid|ear|joint|limb|kidney|lung|side)\b|"
                   r",? ?\b((of )?unspecified (site|nature|side|organism|type|cause|trimester|severity)|unspecified|"
                   r"not otherwise specified|NOS|uncomplicated|without complications?)\b", re.I)
TAG = re.compile(r"\s*\((disorder|finding|organism|procedure|body structure|observable entity|substance|event|qualifier value|situation|"
                 r"morphologic abnormality|physical object|ethnic group|regime/therapy|medicinal product( form)?|specimen|environment|product|"
                 r"attribute|occupation|person|racial group|assessment scale|clinical drug|staging scale|tumor staging|"
                 r"navigational concept)\)$")
BRITISH = [(re.compile(pattern), by) for pattern, by in (
    ("haem", "hem"), ("aem(i|e)", r"em\1"), ("oedem", "edem"), ("oesoph", "esoph"), ("diarrhoea", "diarrhea"), ("orrhoea", "orrhea"),
    ("paed", "ped"), ("anaesth", "anesth"), ("orthopaed", "orthoped"), ("gynaec", "gynec"), ("leukaem", "leukem"), ("foet", "fet"), ("caec", "cec"),
    ("faec", "fec"), ("isation", "ization"), ("ised\\b", "ized"), ("oestr", "estr"), ("coeliac", "celiac"), ("ischaem", "ischem"))]

# Words that make another, narrower or opposite, meaning of a plain name.
QUALIFIERS = frozenset(
    "acute subacute chronic congenital acquired secondary primary severe mild moderate profound benign malignant neonatal newborn infantile juvenile "
    "childhood adult maternal gestational pregnancy puerperal recurrent hereditary familial idiopathic induced traumatic nontraumatic diabetic "
    "alcoholic drug situ metastatic postoperative postprocedural allergic nonallergic viral bacterial fungal tuberculous gonococcal "
    "syphilitic exercise iatrogenic unilateral bilateral left right complete incomplete partial total open closed pathological stress "
    "history suspected without absent negative normal no non not history risk atypical subsequent old other poisoning adverse x-linked "
    "autosomal dominant recessive tertiary latent early late onset carrier remission relapse complicating complicated fetal fetus deep "
    "superficial internal external upper lower anterior posterior medial lateral central peripheral transient persistent intermittent "
    "end-stage paroxysmal permanent postmenopausal senile age-related rheumatic nonrheumatic hypertensive obstructive nonobstructive "
    "cancer male female with due resistant refractory perforated ruptured strangulated gangrenous monocular "
    "binocular depressed manic mixed single disseminated systemic generalized localized cutaneous visceral invasive carcinoma adenocarcinoma "
    "sarcoma squamous basal neuroendocrine melanoma lymphoma fulminant refractory progressive bicondylar".split())


def tag_of(name):
    """The semantic tag at the end of a name of SNOMED CT, without brackets."""
    found = TAG.search(name)
    return found.group(0).strip()[1:-1] if found else ""


def untagged(name):
    return TAG.sub("", name).strip()


def words(name):
    """The words of a name, one for each meaning, in their order."""
    name = "".join(one for one in unicodedata.normalize("NFD", untagged(name).lower()) if not unicodedata.combining(one))
    name = name.replace("'s", "").replace("\u2019s", "").replace("'", "")
    for pattern, by in BRITISH:
        name = pattern.sub(by, name)
    for pattern, by in PHRASES:
        name = pattern.sub(by, name)
    found = []
    for word in re.findall(r"[a-z0-9]+", name):
        word = ROMAN.get(word, SAME.get(word, word))
        if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "is", "us")):
            word = word[:-1]
        found.append(SAME.get(word, word))
    if "malignant" in found and "tumor" in found:
        # "malignant pancreatic neoplasm", too.
        found = ["cancer" if word == "tumor" else word for word in found if word != "malignant"]
    return found


@functools.lru_cache(maxsize=None)
def bag(name):
    """The key of a name for comparing: its words without order and empty ones."""
    every = words(PLAIN.sub("", name) or name)
    full = [word for word in every if word not in EMPTY]
    return " ".join(sorted(set(full or every)))


@functools.lru_cache(maxsize=None)
def content(name):
    return frozenset(word for word in words(PLAIN.sub("", name)) if word not in EMPTY)


def qualifiers(name):
    # "x-linked" and the like are two words after the split.
    return content(name) & QUALIFIERS


def extends(longer, shorter):
    """Whether a name says all that another one says, and more."""
    a, b = content(longer), content(shorter)
    return bool(b) and b < a


def contradicts(official, names, implied=frozenset()):
    """Whether an official name says something that none of a concept's names says, and that makes another meaning of it.

    `implied` are qualifiers that the concept has without saying so. "with" and "due" alone are none."""
    said = set().union(*(content(name) for name in names)) if names else set()
    stems = {word[:5] for word in said if len(word) > 4}
    more = {word for word in qualifiers(official) - said - implied if word[:5] not in stems}
    if more <= {"with", "due"}:
        return bool(more) and not content(official) - more <= said
    return True


def adds(names, official):
    """The qualifiers and numbers of a concept's first name that the official name lacks: its code is broader."""
    stems = {word[:5] for word in content(official)}
    return {word for word in content(names[0]) if (word in QUALIFIERS or re.fullmatch(r"\d+[a-z]?|[ivx]+", word)) and word[:5] not in stems} - {"with", "due"}


def variants(title):
    """A title of ICD-10-CM, and the same without words in round brackets, which need not be said, and without those in square
    brackets; these are another name of the whole where they end the title."""
    found = [title, re.sub(r"\s*\([^()]*\)", "", title), re.sub(r"\s*\[[^\[\]]*\]", "", title)]
    found.append(re.sub(r"\s*\([^()]*\)", "", found[-1]))
    found += [one for one in re.findall(r"\[([^\[\]]*)\]$", title) if not one.isupper()]
    return list(dict.fromkeys(one.strip() for one in found if one.strip()))


def share(name, other):
    """Whether two names have a word of the same stem: the first five letters."""
    def stems(text):
        return {word[:5] for word in content(text) if len(word) > 3}
    return bool(stems(name) & stems(other))
