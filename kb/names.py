"""Names: cleaning, comparison, and the forms that are no names."""

import collections
import re

LONGEST_NAME, LONGEST_DEFINITION = 80, 400

# Endings that other vocabularies add to their labels.
LABEL = re.compile(r"\s*(\((inherited or acquired|disorder|finding|morphologic abnormality|body structure|procedure|context-dependent category|"
                   r"qualifier value|situation)\)|\[obs\]|\[WF\]|, NOS| NOS|\[Ambiguous\]|\(WF\))$", re.I)

# One of two names; codes and editors' remarks within a name.
EITHER_OR = re.compile(r"^\(.+\) or \(")
CODED = re.compile(r"\[dup\]|^[A-Z\d]{2,5}( -|,) |^[a-z]{2} - |\bNOS\b|unspecified|\bNEC\b|not otherwise specified|\[[a-z]+\]", re.I)


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


# Codes, inverted forms (`periodontitis, aggressive`, but not a list: `a, b and c`) and qualifiers in brackets at the end.
ODD = re.compile(r"\b(NOS|NEC)\b|[Uu]nspecified|[Nn]ot otherwise specified|, (?!.*\b(and|or)\b)|\s[(\[][^()\[\]]*[)\]]$")

# Which source's name is shown if names are equally good.
ORDER = ("PEL", "MONDO", "DOID", "DOID2016", "SYMP", "UBERON", "CL", "GO", "NBO", "PATO", "MPATH", "CHEBI", "MESH", "NCIT", "ORDO",
         "NIFSTD", "MAXO", "CDISC", "SNOMEDGPS", "DRUGBANK", "UNII", "DRUGSFDA", "PR", "BIOMAPPINGS", "MEDMENTIONS")


def is_odd(name):
    """Whether a name is none to show: all in capitals, with a code, inverted, or with a qualifier in brackets."""
    return name.isupper() or bool(ODD.search(name))


def preferred(rows, chosen=""):
    """The name to show of a concept that was merged from rows: (label, synonyms, sources), the row that stays first.

    It is a label, a synonym with the words of a label in another order, or `chosen`. The first of these decides: that the name is
    not odd; that it is `chosen`; that it is a label; how many sources bear it; which is the first of them in ORDER; the order of
    the rows.
    """
    words = [sorted(words_of(label)) for label, _, _ in rows]
    labels = {label.lower() for label, _, _ in rows}
    found, sources = {}, collections.defaultdict(set)
    for name in [chosen] if chosen else []:
        found[name.lower()] = name
    for label, synonyms, of in rows:
        for name in (label, *synonyms):
            low = name.lower()
            sources[low].update(of)
            if low in labels or sorted(words_of(name)) in words:
                if is_odd(found.setdefault(low, name)) and not is_odd(name):
                    found[low] = name

    def rank(low):
        places = [ORDER.index(source) for source in sources[low] if source in ORDER]
        return (is_odd(found[low]), low != chosen.lower(), low not in labels, -len(sources[low]), min(places, default=len(ORDER)))

    return found[min(found, key=rank)]


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
