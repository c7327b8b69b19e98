"""Drugs with brands, salts and combinations: FDA's UNII names, Drugs@FDA, and DrugBank's vocabulary.

A substance that FDA, EMA or two pharmacopoeias list as a drug is a concept. Its salts, esters and
hydrates are names of it. A product of several substances is a concept of its own.
"""

import collections
import re

from names import LONGEST_NAME

# The label of a product says which salt it has; a note means the drug. Words after the drug's name.
SALTS = set("""
    acetate acetonide acetylsalicylate adipate aceponate anhydrous arginine ascorbate aspartate axetil
    benzathine benzoate besilate besylate bisulfate bitartrate bromide butyrate butylbromide calcium camsylate
    carbonate chloride cilexetil choline cipionate citrate cyclamate cypionate decanoate diacetate
    dihydrate dihydrochloride dihydrobromide diolamine dimaleate dinitrate dipivoxil dipropionate
    disodium disoproxil dimeglumine edisylate embonate enanthate epolamine erbumine esylate
    ethylsuccinate estolate etexilate fumarate furoate gluceptate gluconate glucuronate
    glutamate hemihydrate hemisuccinate hemifumarate heptahydrate hyclate hydrate hydrobromide
    hydrochloride hydroiodide hydroxide hydroxynaphthoate isethionate lactate lactobionate laurate lauroxil lysine
    magnesium malate maleate mafenatox medoxomil meglumine mesilate mesylate methylsulfate
    methylbromide mofetil monohydrate monohydrochloride mononitrate mucate napadisylate napsylate
    nitrate oleate olamine orotate oxalate oxide palmitate pamoate pantothenate pendetide pentahydrate
    perchlorate phenylpropionate phosphate pivalate pivoxil polistirex potassium probutate proxetil
    propanediol propionate resinate saccharate salicylate sesquihydrate sodium stearate strontium
    succinate sulfate sulphate sulfonate tannate tartrate tebutate teoclate tetrahydrate
    tidoxil tosilate tosylate tridecanoate triflutate trihydrate trisodium tromethamine
    tetrasodium undecanoate undecylenate valerate xinafoate zinc bicarbonate dipotassium hexahydrate
    alafenamide pidolate caproate hydroxycaproate erbumin dihydrogen monosodium monobasic
    unspecified form
""".split())
# Names that would be left without their salt are elements or ions, and these are not the drug.
IONS = set("""
    aluminium aluminum ammonium barium bismuth calcium cesium chromic chromium cobalt copper cupric
    ferric ferrous fluoride gold iodide iron lead magnesium manganese mercuric mercury nickel
    phosphorus platinum potassium rubidium selenium silver sodium stannous strontium sulfur thallium
    tin titanium zinc hydrogen nitric nitrous carbon choline lysine arginine acid betaine
    ethyl methyl benzyl acetyl benzalkonium benzethonium cetylpyridinium cetrimonium dequalinium
""".split()) | SALTS
# Co-crystals: siponimod fumaric acid.
ACIDS = {"fumaric", "succinic", "maleic", "citric", "tartaric", "phosphoric", "hemifumaric"}
# These are as different from their base as one drug from another.
APART = {"isosorbide dinitrate", "isosorbide mononitrate", "tenofovir alafenamide",
         "tenofovir disoproxil", "methenamine mandelate"}

TAGGED = re.compile(r"^(.*?)\s*\[([^\[\]]+)\]$")
COMPONENT = re.compile(r"^(?:[A-Z]{1,4}-?\d+\S* )?(.+?) COMPONENT .+$")
# Agencies that list substances of medicines, and pharmacopoeias and lists of names of drugs.
LISTED = {"VANDF", "ORANGE BOOK", "PURPLE BOOK CDER", "EMA EPAR"}
NAMED = ("USAN", "WHO-DD", "JAN", "MART.")
BRANDED = {"INN", "USAN", "USP", "USP MONOGRAPH", "USP-RS"}
# Lists that have names of drugs and hardly any of foods and reagents.
DRUG_NAMES = {"INN", "USAN", "ORANGE BOOK"}
# The order in which names of a substance are taken.
PRECEDENCE = ("INN", "USAN", "VANDF", "ORANGE BOOK", "USP MONOGRAPH", "EMA EPAR",
              "PURPLE BOOK CDER", "JAN", "MART.", "WHO-DD", "MI", "HSDB")
MOST_NAMES, MOST_COMPONENTS = 24, 5
MOST_SALTS, MOST_BRANDS = 4, 18

# What follows a brand's name on the label of a product.
PRESENTATION = re.compile(
    r"\s+(in (plastic|sterile|sodium|dextrose|\d).*|preservative free|sugar free|hydrochloride|for .*|"
    r"\(.*\)|w/ .* (free|container).*|copackaged\)?.*|pharmacy bulk package|kit|"
    r"and sodium chloride.*|in .*container.*|(adult|pediatric|children'?s|junior|infants?'?)( .*)?|"
    r"otc|autoinjector|pen|flexpen|kwikpen|solostar|flextouch|respiclick|diskus|ellipta|respimat|"
    r"handihaler|turbuhaler|hfa|inhub|pressair|digihaler|twisthaler|neohaler|nasal|ophthalmic|"
    r"powder|\S*-?pak|topical|relprevv)$", re.I)
RELEASE = {"XR", "ER", "SR", "CR", "XL", "LA", "CD", "DR", "IR", "ODT", "HCT", "HFA", "DS", "PM", "DM",
           "EC", "FE", "LO", "XT", "PE", "AQ", "HD", "TTS", "CQ", "ES", "NR", "IV", "NS"}


# Digits that belong to a name: vitamin B12, interferon beta-1a, Novolog Mix 70/30, macrogol 3350.
DIGITS = re.compile(r"\bvitamin [a-z]\d+\b|\bomega-3\b|\bQ10\b|\b\d\d/\d\d$|\bglycol \d+$|"
                    r"\b(alfa|alpha|beta|gamma)-?\d[a-z]?\b", re.I)
IMPURE = re.compile(r"\b(impurity|related compound|for assay|component|isomer|radical|unspecified)\b", re.I)


def spelt(name):
    """A name of the lists in upper case as it is compared: one space between words, upright."""
    name = " ".join(name.replace("\u2019", "'").split())
    parts = name.split(", ")
    if len(parts) == 2 and re.fullmatch(r"[A-Z][A-Z ]*[A-Z]", parts[1]) and len(parts[1].split()) < 3:
        name = f"{parts[1]} {parts[0]}"
    return name


def is_name(name):
    """Whether a name can be written in a note: no structural formula, code or strength."""
    bare = DIGITS.sub("xxxx", name)
    return (not IMPURE.search(name) and 3 < len(bare) <= 60 and not re.search(r"[\d(),\[\]{}.+:;@\"*%]", bare)
            and len(bare.split()) <= 6 and bool(re.search(r"[A-Za-z]{3}", bare)))


def base_of(name, known=None):
    """The name of a drug without salt, ester and hydrate, in lower case.

    With `known`, a set of names in lower case, a name that would leave none of them stays whole.
    """
    words = name.lower().split()
    if len(words) > 2 and words[-1] == "acid" and words[-2] in ACIDS:
        words = words[:-2]
    while len(words) > 1 and words[-1] in SALTS and " ".join(words) not in APART:
        if len(words) == 2 and words[0] in IONS:
            break
        if all(word in IONS for word in words[:-1]):
            break
        words.pop()
    if len(words) > 1 and words[0] in ("anhydrous", "racemic"):
        words = words[1:]
    base = " ".join(words)
    return base if known is None or base in known else name.lower()


def in_title_case(brand):
    """A brand as it is written: `Toprol-XL`, `Zyrtec`."""
    def one(word):
        return word if word.upper() in RELEASE else word.capitalize()
    return " ".join("-".join(one(part) for part in word.split("-")) for word in brand.upper().split())


class Substance:
    """A substance of the UNII list."""

    def __init__(self, unii, display):
        self.unii, self.display = unii, spelt(display)
        self.names, self.brands, self.tags = {}, [], set()

    def is_drug(self):
        tags = self.tags
        return bool(tags & LISTED or self.brands and tags & BRANDED
                    or "INN" in tags and sum(tag in tags for tag in NAMED) > 1)

    def best_names(self):
        """Its names, best first: by the first list of PRECEDENCE that has it."""
        def place(item):
            name, tags = item
            place = min((PRECEDENCE.index(tag) for tag in tags if tag in PRECEDENCE), default=99)
            # Handbooks of chemistry have names of chemistry, too.
            return 99 if place >= PRECEDENCE.index("MI") and not re.fullmatch(r"[A-Z]{4,18}", name) else place
        ordered = sorted(self.names.items(), key=lambda item: (place(item), item[0]))
        return [name for name, tags in ordered if place((name, tags)) < 99 or "of" in tags]


def substances(lines):
    """(UNII -> Substance, brand -> UNIIs of its components) of the UNII list."""
    found, components = {}, collections.defaultdict(set)
    for line in lines[1:]:
        name, kind, unii, display = line.split("\t")[:4]
        if kind not in ("of", "cn", "bn"):
            continue
        substance = found.get(unii)
        if substance is None:
            substance = found[unii] = Substance(unii, display)
        part = COMPONENT.match(name)
        if part:
            components[part.group(1)].add(unii)
            continue
        tagged = TAGGED.match(name)
        name, tag = (tagged.group(1), tagged.group(2)) if tagged else (name, "of" if kind == "of" else None)
        name = spelt(name)
        if kind == "bn":
            substance.brands.append(name)
        else:
            tags = substance.names.setdefault(name, set())
            if tag:
                tags.add(tag)
                substance.tags.add(tag)
    return found, components


def brand_name(product):
    """The brand of a product's name on the label: `LANTUS SOLOSTAR` -> LANTUS."""
    name = spelt(product)
    before = None
    while name != before:
        before, name = name, PRESENTATION.sub("", name).strip(" ,")
    return name


def joined(parts):
    if len(parts) > 2:
        return ", ".join(parts[:-1]) + ", and " + parts[-1]
    return " and ".join(parts)


def spellings(parts):
    """The names of a combination: `a and b`, `b and a`, `a-b`, `b-a`."""
    names = [joined(parts), "-".join(parts)]
    if len(parts) == 2:
        names += [joined(parts[::-1]), "-".join(parts[::-1])]
    return [name for name in names if len(name) <= LONGEST_NAME]


class Catalogue:
    """The substances, grouped into drugs by the name without salt."""

    def __init__(self, unii_lines):
        self.substances, self.components = substances(unii_lines)
        self.known = {name.lower() for s in self.substances.values() for name in s.names}
        self.generic = {name.lower() for s in self.substances.values() for name, tags in s.names.items()
                        if tags & {"INN", "USAN", "VANDF", "ORANGE BOOK", "of"}}
        self.by_display = {s.display.lower(): s for s in self.substances.values()}
        self.groups = collections.defaultdict(list)
        for substance in self.substances.values():
            if substance.is_drug() and is_name(substance.display):
                base = self.base(substance.display)
                if is_name(base):
                    self.groups[base].append(substance)
        # Other names of the drugs: aciclovir is in the group of acyclovir.
        self.group_of = {base: base for base in self.groups}
        for base, members in sorted(self.groups.items()):
            for member in members:
                for name in member.names:
                    self.group_of.setdefault(self.base(name), base)

    def base(self, name):
        return base_of(name, self.known)

    def drug(self, name):
        """The group of a substance's name; the name without salt if there is none."""
        base = self.base(name)
        return self.group_of.get(base, base)

    def members(self, base):
        """The substances of a group, the drug itself first, then the one with most lists."""
        own = self.by_display.get(base)
        rest = sorted((s for s in self.groups[base] if s is not own),
                      key=lambda s: (-len(s.tags & LISTED), s.display))
        return ([own] if own else []) + rest


def owners(catalogue, product_rows):
    """(brand -> the drugs in it, brand -> its rows in Drugs@FDA).

    Drugs@FDA decides by most of its rows, then the list of substances: by the components of a
    product, then by the substance that has the brand. A brand of several substances has no owner.
    """
    marketed = collections.defaultdict(collections.Counter)
    for row in product_rows:
        # A remark may follow: "XL; YL **Federal Register determination ...**"
        listed = [part.strip() for part in row["ActiveIngredient"].split("**")[0].split(";")]
        words = {word for part in listed for word in re.findall(r"\w+", part.lower())}
        brand = brand_name(row["DrugName"])
        parts = tuple(sorted({catalogue.drug(spelt(part)) for part in listed if part}))
        rest = set(re.findall(r"\w+", brand.lower())) - words - {"and", "w", "with"}
        if parts and rest and brand.lower() not in catalogue.generic:
            marketed[brand][parts] += 1
            # `Toprol-XL` is also called Toprol.
            stem = re.sub(r"[ -](\w+)$", lambda end: "" if end.group(1) in RELEASE else end.group(), brand)
            if stem != brand:
                marketed[stem][parts] += 1
    found = {brand: min(by.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[0]
             for brand, by in marketed.items()}
    for brand, units in sorted(catalogue.components.items()):
        parts = {catalogue.drug(catalogue.substances[unii].display) for unii in units}
        found.setdefault(brand_name(brand), tuple(sorted(parts)))
    listed = collections.defaultdict(set)
    for base, members in catalogue.groups.items():
        for member in members:
            for brand in member.brands:
                listed[brand_name(brand)].add(base)
    for brand, bases in listed.items():
        if len(bases) == 1:
            found.setdefault(brand, tuple(bases))
    return found, {brand: sum(by.values()) for brand, by in marketed.items()}


def concepts(unii_lines, product_rows, drugbank_rows, english):
    """The drugs as concepts of the build. Brands and names that are words of everyday English are
    left out, unless a list of drugs has the word as a drug's name (`aspirin`)."""
    catalogue = Catalogue(unii_lines)
    drugbank = {row["UNII"]: row["DrugBank ID"] for row in drugbank_rows if row["UNII"]}
    owner, rows = owners(catalogue, product_rows)
    brands = collections.defaultdict(list)
    for brand in sorted(owner, key=lambda brand: (-rows.get(brand, 0), brand)):
        if is_name(brand) and not english.is_no_brand(brand.lower()):
            brands[owner[brand]].append(brand)

    def concept(id, names, mine, units):
        sources = ["UNII"]
        sources += ["DRUGSFDA"] if any(brand in rows for brand in mine) else []
        sources += ["DRUGBANK"] if any(unii in drugbank for unii in units) else []
        xrefs = [f"UNII:{unii}" for unii in units]
        xrefs += [f"DRUGBANK:{drugbank[unii]}" for unii in units if unii in drugbank]
        return {"id": id, "names": unique(names)[:MOST_NAMES + 1], "kind": "Drug or chemical",
                "types": ["Chemical"], "type_ids": ["T103"], "definition": None,
                "xrefs": xrefs, "sources": sources, "most": MOST_NAMES}

    for base in sorted(catalogue.groups):
        members = catalogue.members(base)
        mine = brands.get((base,), [])[:MOST_BRANDS]
        # Names of the drug itself, its brands, its salts, and the names of these.
        first, later = [], []
        for member in members:
            for name in filter(is_name, member.best_names()):
                if english.is_word(name.lower()) and not member.names[name] & DRUG_NAMES:
                    continue
                (first if catalogue.base(name) == name.lower() else later).append(name.lower())
        tags = set().union(*(member.tags for member in members))
        if english.is_word(base) and not tags & DRUG_NAMES:
            continue  # a food, a plant, a metal
        salts = [s.display.lower() for s in members[1:] if is_name(s.display)]
        names = [base, *first, *map(in_title_case, mine), *salts[:MOST_SALTS], *later]
        found = concept(f"UNII:{members[0].unii}", names, mine, [s.unii for s in members])
        # Allergens, excipients and herbs are listed without an international or approved name.
        found["only_identifier"] = not mine and not tags & (DRUG_NAMES | {"JAN", "EMA EPAR", "PURPLE BOOK CDER"})
        yield found
    for parts in sorted(brands):
        if 1 < len(parts) <= MOST_COMPONENTS and all(part in catalogue.groups for part in parts):
            mine = brands[parts][:MOST_BRANDS]
            names = [*spellings(list(parts)), *map(in_title_case, mine)]
            slug = re.sub(r"[^a-z0-9]+", "-", joined(parts)).strip("-")
            yield concept(f"PEL:{slug}", names, mine, [])


def unique(names):
    found = {}
    for name in names:
        found.setdefault(name.lower(), name)
    return list(found.values())
