"""ICD-10-CM codes of problems: by titles and inclusion terms, by the maps of Mondo and the Disease Ontology, and by ancestors in Mondo."""

import collections
import re

from coding.meaning import adds, bag, content, contradicts, extends, share, variants
from coding.problems import INBORN, PROBLEMS, TUMOR, WEAK, by_bag, own_names

# Codes for the behaviour of a tumor that is not known; they contain no benign and no malignant one.
UNKNOWN_BEHAVIOUR = re.compile(r"D(3[7-9]|4[0-9])")
# Diseases of newborns and of pregnancy, and infections by some bacteria, have chapters of their own.
PERIODS = ((re.compile(r"(?i)\b(neonat\w*|newborns?|perinatal)\b"), re.compile("[PQ]|E[78]")),
           (re.compile(r"(?i)\b(pregnan\w*|gestational|maternal|puerper\w*|postpartum|obstetric)\b"), re.compile("[CDO]")),
           (re.compile(r"(?i)\b(metasta\w*|secondary (malignant|neoplasm|tumou?r|cancer))\b"), re.compile("C7[7-9]|C80")),
           (re.compile(r"(?i)\b(congenital|infantile)\b"), re.compile("[^AB]")),
           (re.compile(r"(?i)\b(lymphomas?|leuk[ae]+mias?|myelomas?)\b"), re.compile("C8[1-9]|C9[0-6]|[^CD]")),
           (re.compile(r"(?i)\b(tubercul\w*|syphili\w*|gonoco\w*|gonorrh\w*)\b"), re.compile("[AB]|O98|J65")),
           (re.compile(r"(?i)\b(juvenile|childhood|pediatric)\b"), re.compile("(?!M0[56])")))
# A rest class without a word of the concept is one if the maps put this many concepts there.
CLASS = 3
# From this rank on, a code is of a map alone.
MAPPED = 50
STEPS = 3
# The codes of diseases of organs contain no tumors; those have chapter II.
NEOPLASM = "MONDO:0005070"
# A code of a term with more descendants says nothing of them: infectious disease, cancer.
CROWD = 1000
OTHER = re.compile(r"\bother\b|\bnot elsewhere classified\b", re.I)
REST = frozenset(("other", "not"))


def icd10cm(concepts, found):
    """The codes that the list's names and the maps give; inherited_icd adds those of ancestors."""
    icd = concepts.lists.icd
    titles = by_bag((code, one) for code, title in icd.titles.items() for one in variants(title))
    terms = by_bag((code, one) for code, notes in icd.terms.items() for term in notes for one in variants(term))
    mondo, do = collections.defaultdict(list), collections.defaultdict(list)
    for id, code in [*concepts.lists.mondo_icd, *concepts.lists.mondo_icd_other]:
        if code not in mondo[id]:
            mondo[id].append(code)
    for doid, xref in concepts.lists.doid_maps:
        if xref.startswith("ICD10CM:"):
            do[doid].append(xref[8:])
    concepts.mapped_to = collections.Counter(code for id in concepts.table for code in {*concepts.xrefs(id, "ICD10CM"), *(
        code for one in concepts.doid[id][:1] for code in do[one])})
    for id in concepts.table:
        if concepts.group[id] not in PROBLEMS:
            continue
        names = own_names(concepts, id)
        by_name(found, icd, id, names, titles, terms)
        mapped = [(code, "mondo") for one in concepts.mondo[id][:1] for code in mondo[one]]
        mapped += [(code, "doid") for one in concepts.doid[id][:1] for code in do[one]]
        mapped += [(code, "table") for code in concepts.xrefs(id, "ICD10CM")]
        for code, source in mapped:
            add_icd(found, concepts, id, code, names, source)
        if not any(one.match == "exact" for one in found.of(id, "ICD10CM")):
            # Names that say more than the label without another meaning: "cardiac murmur" of murmur, "diabetes mellitus" of diabetes.
            longer = [name for name in concepts.names[id][1:] if name not in names and not adds([name], names[0])
                      and (concepts.group[id] != "Disease" or content(name) - content(names[0]) <= GENERIC)]
            by_name(found, icd, id, [names[0], *longer], titles, terms)
        for one in found.of(id, "ICD10CM"):
            code = icd.unspecified.get(one.code)
            if code:
                for source in one.source:
                    found.add(id, "ICD10CM", code, one.match, source, one.rank - 1)


def by_name(found, icd, id, names, titles, terms):
    """Codes whose title or inclusion term is a name of the concept; the first name is the label."""
    for at, name in enumerate(names):
        for code in titles.get(bag(name), ()):
            match = "exact" if at == 0 or not adds(names, icd.titles[code]) else "broader"
            found.add(id, "ICD10CM", code, match, "icd-title", (10 if at == 0 else 26) + unbillable(icd, code))
        for code in terms.get(bag(name), ()):
            match = "exact" if says(icd, code, names) else "broader"
            found.add(id, "ICD10CM", code, match, "icd-term", (16 if at == 0 else 28) + unbillable(icd, code))


def unbillable(icd, code):
    return 0 if icd.billable[code] == "1" else 1


def says(icd, code, names):
    """Whether an inclusion term of this code means the code itself. It does if the label is the default, with "NOS", or with words in
    brackets that need not be said; and if the title is no rest class and lacks none of the concept's qualifiers, if the concept has two of the terms as names,
    and these are half of its terms, or the concept's names have all words of the title. Fewer may be a part of the class: parotitis of sialoadenitis,
    atrophic rhinitis of chronic rhinitis. One of several defaults is a part of it, too, unless the title has all its words: "Infestation by mites NOS"."""
    title, bags = icd.titles[code], {bag(name) for name in names}
    own = [term for term in icd.terms[code] if any(bag(one) in bags for one in variants(term))]
    defaults = [term for term in icd.terms[code] if re.search(r"\bNOS\b", term)]
    if any(term in defaults and bag(names[0]) in map(bag, variants(term)) for term in own):
        return set(defaults) <= set(own) or content(names[0]) <= content(title)
    if content(names[0]) <= content(title) and any("(" in term and content(title) <= content(term) and bag(re.sub(r"\([^()]*\)", "", term)) == bag(names[0]) for term in own):
        return True
    return not OTHER.search(title) and not adds(names, title) and len(own) > 1 and (2 * len(own) >= len(icd.terms[code]) or whole(title, names))


def add_icd(found, concepts, id, code, names, source):
    """A mapped code: exact where Mondo says so and the title is no rest class; narrower titles are left out; the rest is broader."""
    icd = concepts.lists.icd
    title = icd.titles.get(code)
    if title is None:
        found.counts[f"ICD10CM: of {source}, no longer in the list" if "-" not in code else f"ICD10CM: of {source}, a section"] += 1
        return
    implied = REST | (INBORN if concepts.xrefs(id, "OMIM") or concepts.xrefs(id, "Orphanet") else frozenset())
    same = any(bag(one) == bag(name) for one in variants(title) for name in names)
    own = [names[0], *(concepts.lists.mondo[one]["label"] for one in concepts.mondo[id][:1])]
    more = not OTHER.search(title) and all(any(extends(one, name) for name in (own if source == "mondo" else names)) for one in variants(title))
    if not same and (more or all(contradicts(one, names, implied) for one in variants(title))):
        found.counts[f"ICD10CM: of {source}, its title says more than the concept"] += 1
    elif source == "mondo" and not OTHER.search(title) and (same or not adds(names, title)):
        found.add(id, "ICD10CM", code, "exact", source, 12 + unbillable(icd, code))
    elif source != "mondo" and not (same or OTHER.search(title) and (concepts.mapped_to[code] >= CLASS or whole(title, names))
                                    or not OTHER.search(title) and shared(title, names) or is_above(concepts, id, code)):
        found.counts[f"ICD10CM: of {source}, its title has no word of the concept"] += 1
    elif not UNKNOWN_BEHAVIOUR.match(code) or same:
        found.add(id, "ICD10CM", code, "broader", source, (40 if source == "mondo" else MAPPED + 2) + unbillable(icd, code))


def is_above(concepts, id, code):
    """Whether a code is that of an ancestor in Mondo by one of the ancestor's names."""
    bags = {bag(one) for one in variants(concepts.lists.icd.titles[code])}
    ancestors = concepts.lists.mondo[concepts.mondo[id][0]]["ancestors"] if concepts.mondo[id] else {}
    return any(bag(concepts.lists.mondo[one]["label"]) in bags for one in ancestors if one in concepts.lists.mondo)


def inherited_icd(concepts, found, chosen=frozenset()):
    """The code of the nearest ancestor in Mondo, at most three steps away, for a disease without one: broader. `chosen` are the
    (concept, system) that a hand list decides."""
    icd, lists = concepts.lists.icd, concepts.lists
    crowd = collections.Counter(above for term in lists.mondo.values() for above in term["ancestors"])
    given = {}
    for id in concepts.table:
        if concepts.group[id] not in PROBLEMS or not concepts.mondo[id] or (id, "ICD10CM") in chosen:
            continue
        names, mapped = own_names(concepts, id), found.of(id, "ICD10CM")
        if any(one.match == "exact" or one.rank < MAPPED for one in mapped):
            continue
        above, options = lists.mondo[concepts.mondo[id][0]]["ancestors"], []
        for mondo, step in above.items():
            owner = concepts.by_mondo.get(mondo) if step <= STEPS and crowd[mondo] <= CROWD else None
            for one in found.of(owner, "ICD10CM") if owner else ():
                title = icd.titles[one.code]
                if any(said.search(" ".join(names)) and not chapters.match(one.code) for said, chapters in PERIODS):
                    continue
                if one.match == "exact" and one.rank < WEAK and not OTHER.search(title) and whole(title, concepts.names[owner]) and not opposed(title, names) and not UNKNOWN_BEHAVIOUR.match(one.code):
                    near = shared(title, [*names, *(lists.mondo[m]["label"] for m in concepts.mondo[id][:1])])
                    tumor = bool(re.match("C|D[0-4]", one.code))
                    # A code without a word of the concept is right of a parent at most: ectopia lentis is no class of syndromes with it.
                    if (step == 1 or near and whole(title, names)) and (tumor or NEOPLASM not in above) and (not tumor or any(map(TUMOR.search, names))):
                        options.append((not near, step, -near, unbillable(icd, one.code), one.code))
                    break
        # A map's rest class gives way to an ancestor's code that shares more words: "Bardet-Biedl syndrome" of its types.
        if options and (not mapped or -min(options)[2] > max(shared(icd.titles[one.code], names) for one in mapped)):
            given[id] = min(options)
    for id, (_, step, _, _, code) in given.items():
        for one in found.of(id, "ICD10CM"):
            found.drop(id, "ICD10CM", one.code, "a code of a map that says less than an ancestor's")
        found.add(id, "ICD10CM", code, "broader", f"mondo-ancestor-{step}", 60 + step)


# Words of titles that narrow nothing.
GENERIC = frozenset("disorder unspecified site tumor cancer infection syndrome other and congenital disease acquired hereditary mellitu region part area".split())


def whole(title, names):
    """Whether a title has no word that the names of its concept lack: "coloboma of iris" is the default of coloboma, and no class of all colobomas."""
    said = {word[:5] for name in names for word in content(name)}
    return all(word[:5] in said and not word.endswith("osis") or word in GENERIC or any(word in content(name) for name in names) for word in content(title))


OPPOSED = [({"congenital", "neonatal", "newborn", "hereditary", "familial"}, {"acquired", "secondary", "traumatic"}), ({"benign", "dysplasia", "intraepithelial", "situ"}, {"malignant", "cancer"}),
           ({"acute"}, {"chronic"}), ({"primary"}, {"secondary"}), ({"male"}, {"female"})]


def opposed(title, names):
    """Whether a title excludes what a concept's names say: acquired and congenital, benign and malignant, acute and chronic."""
    title, said = content(title), set().union(*map(content, names))
    return any(a & title and b & said and not b & title or b & title and a & said and not a & title for a, b in OPPOSED)


def shared(title, names):
    """How many words of a title, other than those that every title has, the names have, too."""
    said = {word[:5] for name in names for word in content(name)}
    return sum(word[:5] in said for word in content(title) - GENERIC)
