"""The billable code that ICD-10-CM gives the plain disease of a category that cannot be billed: K21.9 of K21."""

import re

from coding.icd import GENERIC
from coding.meaning import bag, content, variants

# What a title may say beside the disease and still mean the plain one: nothing is specified, and no complication is present.
NEUTRAL = [re.compile(pattern, re.I) for pattern in (
    r",? (and )?(without|not having achieved) .*$",
    r",? not (intractable|(otherwise )?specified( as [^,]*)?|stated as [^,]*|elsewhere classified)",
    r",? unspecified (as|whether|if) (to )?[^,]*",
    r",? (organ involvement|region|site|type|severity) (unspecified|not specified)",
    r",? (of |in |at |due to |with )?unspecified (site|part|region|type|nature|cause|organism|severity|trimester|control|degree|stage|etiology|episode|age|form|origin|location|side|depth)s?( of(?= unspecified))?\b",
    r"\bNOS\b")]
BARE = re.compile(r"\bunspecified\b,?", re.I)
# A place of which no side is named: "unspecified lower leg". Its words are no more than the disease says if it is of this place alone.
PLACE = re.compile(r"(?<=[a-z),] )unspecified ((?:(?!(?:unspecified|without|with|whether|as)\b)[a-z()-]+ ?){1,4})", re.I)
SIDES = re.compile(r"\b(right|left|bilateral|first|second|third|male|female)\b", re.I)
PLAIN = re.compile(r"\b(unspecified|without|not having achieved|not specified)\b", re.I)
OTHER = re.compile(r"^other\b( and)? ?", re.I)


# Codes of injuries and their causes need a seventh character, which says when the patient was seen.
EPISODES = re.compile("[STVWXY]")


def neutral(title):
    """A title without what it says of nothing specified and no complication; "unspecified" alone stays."""
    for pattern in NEUTRAL:
        title = pattern.sub("", title)
    return title


def plain(title):
    return BARE.sub("", neutral(title)).strip(" ,")


def says_nos(icd, code, bags):
    """Whether an inclusion term of the code is one of these names, NOS."""
    return any(re.search(r"\bNOS\b", term) and any(bag(one) in bags for one in variants(term)) for term in icd.terms.get(code, ()))


def below(icd, code):
    for child in icd.children.get(code, ()):
        yield child
        yield from below(icd, child)


def default_of(icd, category, names):
    """The billable code below a category that says no more than the category or the concept's label, unspecified or without
    complications; None if there is none, or if several places are as likely."""
    if category in icd.unspecified:
        return icd.unspecified[category]
    said = set().union(content(names[0]), *(content(plain(one)) for one in variants(icd.titles[category])))
    least = min((content(plain(one)) - GENERIC for one in variants(icd.titles[category])), key=len)
    bags = {bag(icd.titles[category]), *map(bag, names)}
    several = re.search(r"\band\b|,", plain(icd.titles[category]))
    found = []
    for code in below(icd, category):
        title = icd.titles[code]
        tail = re.search(r"\bwithout .*", title, re.I)
        if icd.billable[code] != "1" or EPISODES.match(code) or SIDES.search(title) or tail and re.search(r"\bwith\b", tail.group(0), re.I):
            continue
        nos = says_nos(icd, code, bags)
        if not nos and (re.search(r"\bother\b", title, re.I) or not PLAIN.search(title)) or "due to" in title and "due to" not in icd.titles[category]:
            continue
        places = set().union(*map(content, PLACE.findall(neutral(title)))) - GENERIC
        words = [content(plain(OTHER.sub("", one) if nos else one)) - GENERIC for one in variants(title)]
        # A category of two diseases is neither of them.
        if any(one - places <= said and not (several and least - one) for one in words):
            place = frozenset(places - said)
            found.append(((bool(place), "without" in title.lower(), not nos, len(title), code), place))
    found.sort(key=lambda one: one[0])
    if not found or found[0][1] and len({place for _, place in found}) > 1:
        return None
    return found[0][0][-1]


def defaults(concepts, found):
    """Puts the default billable code before an exact category that is a concept's preferred code."""
    icd = concepts.lists.icd
    for id in concepts.table:
        first = next(iter(found.of(id, "ICD10CM")), None)
        if first is None or first.match != "exact" or icd.billable[first.code] == "1":
            continue
        code = default_of(icd, first.code, concepts.names[id])
        if code:
            found.add(id, "ICD10CM", code, "exact", first.source[0], first.rank - 0.5)
            found.counts["ICD10CM: default billable codes of categories"] += 1
