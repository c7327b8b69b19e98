#!/usr/bin/env python3
"""Tests of the rules in build.py: python3 kb/test_build.py"""

import collections
import json
import lzma
import pathlib
import pickle
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import actions
import build
import compiled
import coverage
import drugs
import everyday
import findings
import identifiers
import laboratory
import merging
import names
import readers
import reviewed
import short_forms


def concept(name, first, sources, xrefs=(), synonyms=(), **more):
    return {"id": "C0000001", "name": name, "types": [first] if first else [], "sources": list(sources),
            "xrefs": list(xrefs), "synonyms": list(synonyms), "type_ids": [], "definition": None, **more}


def prepared(id, kind, names, definition=None, sources=("MESH",)):
    return {"id": id, "kind": kind, "names": names, "definition": definition, "sources": list(sources)}


class Types(unittest.TestCase):
    def test_malformations_of_disease_vocabularies_are_diseases(self):
        for sources in (["MONDO"], ["DOID", "HPO"], ["DOID2016", "MEDMENTIONS"], ["MONDO", "NIFSTD"]):
            self.assertEqual(compiled.primary(concept("cleft ear", "Anatomical Structure", sources)), "Disease", sources)

    def test_the_majority_of_identifiers_decides_between_disease_and_anatomy(self):
        part = concept("ear", "Anatomical Structure", ["MONDO", "UBERON"], ["UBERON:1", "FMA:2", "MONDO:3"])
        self.assertEqual(compiled.primary(part), "Anatomy")
        disease = concept("natal ear", "Anatomical Structure", ["MONDO", "UBERON"], ["UBERON:1", "DOID:2", "MONDO:3"])
        self.assertEqual(compiled.primary(disease), "Disease")

    def test_other_types_stay(self):
        for first, sources, expected in (
                ("Anatomical Structure", ["UBERON"], "Anatomy"), ("Anatomical Structure", ["CL"], "Cell"),
                ("Chemical", ["MONDO", "ORDO"], "Drug or chemical"), ("Spatial Concept", ["ORDO"], None),
                ("Finding", ["SYMP", "MONDO"], "Sign or symptom"), ("Eukaryote", ["ORDO"], "Organism")):
            self.assertEqual(compiled.primary(concept("x", first, sources)), expected, (first, sources))

    def test_names_tell_diseases_where_no_vocabulary_does(self):
        self.assertEqual(compiled.primary(concept("Subglottic Stenosis", "Anatomical Structure", ["MESH"])), "Disease")
        self.assertEqual(compiled.primary(concept("Cell Line, Tumor", "Anatomical Structure", ["MESH"])), "Anatomy")
        self.assertEqual(compiled.primary(concept("stenosis of x", "Anatomical Structure", ["UBERON"])), "Anatomy")

    def test_an_organism_takes_over_no_disease(self):
        pool = [dict(prepared("C1", "Disease", ["pox", "Poxus poxi"]), gone=False, chosen=True, xrefs=[], types=[], type_ids=[])]
        added, owner = merging.apply_clinical(pool, [("Organism", "Poxus poxi", [])])
        self.assertEqual([one["id"] for one in added], ["PEL:poxus-poxi"])
        self.assertEqual((pool[0]["kind"], pool[0]["names"][0]), ("Disease", "pox"))
        self.assertIs(owner["poxus poxi"], added[0])


class Reviewed(unittest.TestCase):
    def table(self):
        return [concept("Lack of energy", "Sign or symptom", ["SNOMEDGPS"], ["SNOMED:1"], ["no energy"], id="SNOMED:1"),
                concept("decreased energy", "Sign or symptom", ["PEL"], [], ["No energy", "low energy"], id="PEL:decreased-energy"),
                concept("fatigue", "Sign or symptom", ["MESH"], ["MESH:2"], ["tired"], id="C0000002")]

    def test_doubles_become_one_concept_with_the_usual_name(self):
        counts = collections.Counter()
        rows = reviewed.apply(self.table(), [(2, "PEL:decreased-energy", "SNOMED:1", "decreased energy")], [], counts)
        self.assertEqual([row["id"] for row in rows], ["SNOMED:1", "C0000002"])
        self.assertEqual((rows[0]["name"], rows[0]["synonyms"]), ("decreased energy", ["Lack of energy", "no energy", "low energy"]))
        self.assertEqual((rows[0]["xrefs"], rows[0]["sources"]), (["PEL:decreased-energy", "SNOMED:1"], ["PEL", "SNOMEDGPS"]))
        rows = reviewed.apply(self.table(), [(2, "C0000002", "SNOMED:1", "Lack of energy")], [], counts)
        self.assertEqual(rows[0]["name"], "Lack of energy")
        self.assertIn("UMLS:C0000002", rows[0]["xrefs"])

    def test_a_double_without_a_usual_name_has_the_better_one(self):
        table = self.table()
        table[0].update(name="Energy, lack of", synonyms=["LACK OF ENERGY"])
        rows = reviewed.apply(table, [(2, "PEL:decreased-energy", "SNOMED:1", "")], [], collections.Counter())
        self.assertEqual((rows[0]["name"], rows[0]["synonyms"]),
                         ("decreased energy", ["Energy, lack of", "LACK OF ENERGY", "No energy", "low energy"]))
        rows = reviewed.apply(self.table(), [(2, "PEL:decreased-energy", "SNOMED:1", "LOE")], [], collections.Counter())
        self.assertEqual((rows[0]["name"], rows[0]["synonyms"][-1]), ("decreased energy", "LOE"))

    def test_wordings_are_added_unless_another_concept_has_them(self):
        counts = collections.Counter()
        rows = reviewed.apply(self.table(), [], [(2, "C0000002", ["worn out", "Low energy", "Tired"])], counts)
        self.assertEqual((rows[2]["synonyms"], rows[2]["sources"]), (["tired", "worn out"], ["MESH", "PEL"]))
        self.assertEqual(counts["reviewed: wordings that are names of another concept"], 1)

    def test_unknown_identifiers_are_refused_with_their_line(self):
        for same, further, said in (([(7, "X", "C0000002", "x")], [], "doubles.tsv:7"), ([], [(9, "X", ["a"])], "wordings.tsv:9")):
            with self.assertRaisesRegex(ValueError, f"{said}: expected an identifier of the table, found X"):
                reviewed.apply(self.table(), same, further, collections.Counter())

    def test_the_committed_tables_are_whole(self):
        # A merged concept's identifier may now be the one of the concept that stays; builds know that one by its first.
        first = identifiers.first_ids(identifiers.read_redirects())
        same, further = reviewed.doubles(), [(at, first.get(id, id), found) for at, id, found in reviewed.wordings()]
        gone = {id for _, id, _, _ in same}
        self.assertEqual(len(gone), len(same), "each concept is merged once")
        self.assertFalse(gone & {first.get(kept, kept) for _, _, kept, _ in same}, "no chains")
        self.assertFalse(gone & {id for _, id, _ in further}, "wordings of concepts that stay")
        names = [name.lower() for _, _, found in further for name in found]
        self.assertEqual(len(names), len(set(names)), "each wording belongs to one concept")


class Names(unittest.TestCase):
    def test_places_on_an_unnamed_scale_are_no_names(self):
        for name in ("Grade 3", "Grade III", "stage IV", "Type 2", "type IIa", "Level", "3 grade", "class-B"):
            self.assertTrue(names.is_classified(name), name)
        for name in ("type 2 diabetes", "NYHA class II", "tumor grade 3", "Group A streptococcus", "staghorn"):
            self.assertFalse(names.is_classified(name), name)

    def test_acronyms_in_small_letters_are_found(self):
        self.assertTrue(names.is_small_acronym("sac", ["serrated adenocarcinoma"]))
        self.assertTrue(names.is_small_acronym("sag", ["statoacoustic ganglion"]))
        for name, others in (("flu", ["influenza"]), ("tics", ["tic disorder"]), ("SAC", ["serrated adenocarcinoma"]),
                             ("gut", ["digestive tract"]), ("rib", ["bone of the chest"])):
            self.assertFalse(names.is_small_acronym(name, others), name)

    def test_odd_names_are_found(self):
        for name in ("AORTIC VALVE", "Pneumonia NOS", "periodontitis, aggressive", "Unspecified asthma", "hypoblast (generic)",
                     "delirium [disease]", "lymphoma, not otherwise specified"):
            self.assertTrue(names.is_odd(name), name)
        for name in ("aortic valve", "HIV infection", "measles, mumps and rubella vaccine", "Lipoprotein(a)", "2,4-dinitrophenol",
                     "leukemia with isolated del(5q)"):
            self.assertFalse(names.is_odd(name), name)

    def test_the_order_of_sources_has_them_all(self):
        self.assertEqual(set(names.ORDER), build.OPEN)
        self.assertEqual(len(names.ORDER), len(build.OPEN))

    def test_the_name_to_show_follows_from_the_rule(self):
        def shown(*rows, chosen=""):
            return names.preferred(rows, chosen)
        # An odd form loses, whatever bears it.
        self.assertEqual(shown(("PNEUMONIA", [], ["MONDO", "MESH"]), ("Pneumonia NOS", [], ["NCIT"]), ("lung inflammation", [], ["DOID"])),
                         "lung inflammation")
        # The chosen name, unless it is odd; then a label before a synonym.
        two = (("heart failure", ["cardiac failure"], ["MESH"]), ("cardiac failure", ["failure heart"], ["MONDO"]))
        self.assertEqual(shown(*two, chosen="weak heart"), "weak heart")
        # The name that more sources bear, then the first source.
        self.assertEqual(shown(*two, chosen="HF"), "cardiac failure")
        self.assertEqual(shown(("renal failure", [], ["NCIT"]), ("kidney failure", [], ["MONDO"])), "kidney failure")
        self.assertEqual(shown(("renal failure", [], ["NCIT"]), ("kidney failure", [], ["NCIT"])), "renal failure")
        # A synonym counts if it is a label in another order, because another one may mean something else.
        gum = ("periodontitis, aggressive", ["juvenile periodontitis", "aggressive periodontitis"], ["MONDO"])
        self.assertEqual(shown(gum, ("AP", [], ["MESH"])), "aggressive periodontitis")
        # If all are odd, the one that stays.
        self.assertEqual(shown(("teeth, fused", [], ["MONDO"]), ("TEETH, FUSED", [], ["MESH"]), chosen="teeth, fused"), "teeth, fused")
        self.assertEqual(shown(("OHAHA SYNDROME", [], ["MONDO"]), ("Ohaha syndrome", [], ["MESH"])), "Ohaha syndrome")

    def test_one_of_two_names_is_dropped(self):
        found = names.names_of(concept("pox", None, ["MONDO"], synonyms=["(Pox) or (Poxus poxi)", "Grade 2", "the pox"]))
        self.assertEqual(found, ["pox", "the pox"])

    def test_words_that_texts_use_otherwise_are_found(self):
        pool = [prepared("C0000001", "Anatomy", ["second vertebra", "middle", "axial bone", "hump", "vertex"], "with a hump"),
                prepared("C0000002", "Biological process", ["negative regulation", "stopped", "halted", "regulating"])]
        text = "The middle stopped. Halted by the hump."
        documents = [{"doc_id": str(at), "text": text, "casing": "original"} for at in range(3)]
        mentions = [{"doc_id": str(at), "start": 4, "end": 10, "text": "middle", "cui": "C0000009"} for at in range(3)]
        mentions.append({"doc_id": "0", "start": 20, "end": 26, "text": "Halted", "cui": "C0000002"})
        found = everyday.words_of_other_sense(pool, mentions, documents)
        # `hump` is in the definition, `halted` was linked to the concept once, `vertex` and `regulating` share a stem.
        self.assertEqual(found, {("C0000001", "middle"), ("C0000002", "stopped")})
        # In a longer mention a word says nothing of itself.
        longer = [{"doc_id": str(at), "start": 0, "end": 18, "text": "The middle stopped", "cui": "C0000009"} for at in range(3)]
        self.assertEqual(everyday.words_of_other_sense(pool[1:], longer, documents), {("C0000002", "halted")})

    def test_qualities_are_no_names_of_things(self):
        pool = [prepared("C0000001", "Anatomy", ["area 45", "triangular", "Brodmann 45"], sources=["UBERON", "PATO"]),
                prepared("C0000002", "Anatomy", ["area 46", "oval"], sources=["UBERON"])]
        self.assertEqual(everyday.quality_words(pool), {("C0000001", "triangular")})


def english(counts=None, webster=(), given=(), abstracts=(), notes=()):
    return everyday.English(counts or {}, webster, set(given), abstracts, notes)


class Everyday(unittest.TestCase):
    def test_brands_that_are_words_or_given_names_are_left_out(self):
        words = english({"today": 900_000, "zyrtec": 300_000, "valium": 400_000, "emend": 40_000},
                        webster={"today", "emend"}, given={"heather"}, notes=["Zyrtec and Zyrtec today."])
        self.assertTrue(words.is_no_brand("today"))
        self.assertTrue(words.is_no_brand("heather"))
        # Texts write it with a capital; English has it as a brand; the word is rare.
        for brand in ("zyrtec", "valium", "emend", "metoprolol"):
            self.assertFalse(words.is_no_brand(brand), brand)

    def test_words_that_notes_have_far_more_often_than_books_are_clinical(self):
        words = english({"numbness": 200_000, "table": 200_000, "the": 999_600_000},
                        notes=["numbness " * 3 + "the " * 97 + "table"])
        self.assertTrue(words.is_word("numbness") and words.is_clinical("numbness"))
        self.assertFalse(words.is_everyday("numbness"))
        self.assertTrue(words.is_everyday("table"))

    def test_front_coded_words_are_unpacked(self):
        self.assertEqual(everyday.unpacked(["AapeDx", "Aheart"]), {"ape", "apex", "heart"})


UNII = [
    "Name\tTYPE\tUNII\tDisplay Name",
    "METOPROLOL\tof\tU1\tMETOPROLOL", "METOPROLOL [INN]\tcn\tU1\tMETOPROLOL", "METOPROLOL [VANDF]\tcn\tU1\tMETOPROLOL",
    "BEATROLOL\tbn\tU1\tMETOPROLOL", "TODAY\tbn\tU1\tMETOPROLOL",
    "METOPROLOL SUCCINATE\tof\tU2\tMETOPROLOL SUCCINATE",
    "METOPROLOL SUCCINATE [ORANGE BOOK]\tcn\tU2\tMETOPROLOL SUCCINATE",
    "2-PROPANOL, 1-(4-METHOXY)-, SUCCINATE\tsys\tU2\tMETOPROLOL SUCCINATE",
    "ESTROGENS, CONJUGATED\tof\tU3\tESTROGENS, CONJUGATED", "ESTROGENS, CONJUGATED [ORANGE BOOK]\tcn\tU3\tESTROGENS, CONJUGATED",
    "SODIUM CHLORIDE\tof\tU4\tSODIUM CHLORIDE", "SODIUM CHLORIDE [ORANGE BOOK]\tcn\tU4\tSODIUM CHLORIDE",
    "HYDROCHLOROTHIAZIDE\tof\tU5\tHYDROCHLOROTHIAZIDE", "HYDROCHLOROTHIAZIDE [INN]\tcn\tU5\tHYDROCHLOROTHIAZIDE",
    "HYDROCHLOROTHIAZIDE [VANDF]\tcn\tU5\tHYDROCHLOROTHIAZIDE",
    "BEEF\tof\tU6\tBEEF", "BEEF [VANDF]\tcn\tU6\tBEEF",
    "TOLUENE\tof\tU7\tTOLUENE", "TOLUENE [MI]\tcn\tU7\tTOLUENE",
]
PRODUCTS = [
    {"DrugName": "TOPROL-XL", "ActiveIngredient": "METOPROLOL SUCCINATE"},
    {"DrugName": "METOPROLOL SUCCINATE", "ActiveIngredient": "METOPROLOL SUCCINATE"},
    {"DrugName": "DUTOPROL", "ActiveIngredient": "HYDROCHLOROTHIAZIDE; METOPROLOL SUCCINATE **remark**"},
    {"DrugName": "PREMARIN", "ActiveIngredient": "ESTROGENS, CONJUGATED"},
]


class Drugs(unittest.TestCase):
    def setUp(self):
        words = english({"today": 900_000, "beef": 900_000}, webster={"today", "beef"})
        drugbank = [{"UNII": "U1", "DrugBank ID": "DB1"}]
        self.found = {c["names"][0]: c for c in drugs.concepts(UNII, PRODUCTS, drugbank, words)}

    def test_salts_are_folded_into_the_drug(self):
        drug = self.found["metoprolol"]
        self.assertEqual(drug["id"], "UNII:U1")
        self.assertIn("metoprolol succinate", drug["names"])
        self.assertEqual(drug["xrefs"], ["UNII:U1", "UNII:U2", "DRUGBANK:DB1"])
        self.assertEqual(drug["sources"], ["UNII", "DRUGSFDA", "DRUGBANK"])
        for name, base in (("ATORVASTATIN CALCIUM TRIHYDRATE", "atorvastatin"), ("SODIUM CHLORIDE", "sodium chloride"),
                           ("SIPONIMOD FUMARIC ACID", "siponimod"), ("LITHIUM CARBONATE", "lithium"),
                           ("ISOSORBIDE DINITRATE", "isosorbide dinitrate"), ("FERROUS SULFATE", "ferrous sulfate")):
            self.assertEqual(drugs.base_of(name), base)
        # No name is left without the salt.
        self.assertEqual(drugs.base_of("POLYESTRADIOL PHOSPHATE", {"estradiol"}), "polyestradiol phosphate")

    def test_brands_belong_to_the_drug_and_their_stem_too(self):
        self.assertIn("Toprol-XL", self.found["metoprolol"]["names"])
        self.assertIn("Toprol", self.found["metoprolol"]["names"])
        self.assertIn("Beatrolol", self.found["metoprolol"]["names"])
        self.assertNotIn("Today", self.found["metoprolol"]["names"])
        self.assertIn("Premarin", self.found["conjugated estrogens"]["names"])

    def test_products_of_several_drugs_are_concepts_of_their_own(self):
        combination = self.found["hydrochlorothiazide and metoprolol"]
        self.assertEqual(combination["names"][1:], ["hydrochlorothiazide-metoprolol", "metoprolol and hydrochlorothiazide",
                                                    "metoprolol-hydrochlorothiazide", "Dutoprol"])

    def test_foods_and_chemicals_are_no_drugs(self):
        self.assertNotIn("beef", self.found)
        self.assertNotIn("toluene", self.found)

    def test_names_are_names_of_notes(self):
        for name in ("vitamin B12", "interferon beta-1a", "Humulin 70/30", "polyethylene glycol 3350"):
            self.assertTrue(drugs.is_name(name), name)
        for name in ("BNT162", "2-propanol", "(+)-a", "abc", "lisinopril impurity a"):
            self.assertFalse(drugs.is_name(name), name)
        self.assertEqual(drugs.brand_name("LANTUS SOLOSTAR"), "LANTUS")


def gps(*displays):
    return {"compose": {"include": [{"concept": [{"code": str(at), "display": d} for at, d in enumerate(displays)]}]}}


class Findings(unittest.TestCase):
    def of(self, display):
        words = {"rib", "knee", "throat", "breathing"}
        return next(findings.concepts(gps(display), {"function", "alone"}.__contains__, words.__contains__))

    def test_names_and_variants_follow_from_the_specified_name(self):
        for display, expected, kind in (
                ("Fracture of rib (disorder)", ["Fracture of rib", "rib fracture"], "Disease"),
                ("Pain in throat (finding)", ["Pain in throat", "throat pain"], "Sign or symptom"),
                ("Malignant tumor of colon (disorder)", ["Malignant tumor of colon", "colon cancer", "cancer of colon"], "Disease"),
                ("Structure of ulnar nerve (body structure)", ["ulnar nerve"], "Anatomy"),
                ("Central venous catheter, device (physical object)", ["Central venous catheter"], "Device"),
                ("Magnetic resonance imaging of knee (procedure)", ["Magnetic resonance imaging of knee", "MRI of knee", "knee MRI", "MRI knee"],
                 "Procedure")):
            found = self.of(display)
            self.assertEqual((found["names"], found["kind"], found["only_identifier"]), (expected, kind, False))

    def test_phrases_and_everyday_words_give_an_identifier_alone(self):
        for display in ("Able to move knee (finding)", "Education about knee (procedure)", "Function (observable entity)",
                        "Lives alone (finding)", "Good memory (finding)", "Fall from tree in storm by knee (event)",
                        "Knee pain with fever (finding)", "Escherichia coli (organism)", "Difficulty at work (finding)"):
            self.assertTrue(self.of(display)["only_identifier"], display)

    def test_other_tags_are_not_read(self):
        self.assertEqual(list(findings.concepts(gps("Warm environment (environment)"), bool, bool)), [])


class Laboratory(unittest.TestCase):
    def rows(self, *terms):
        keys = ("Codelist Name", "CDISC Submission Value", "CDISC Synonym(s)", "NCI Preferred Term")
        return [dict(zip(keys, term), Code=f"C{at}", **{"Codelist Code": "C9", "CDISC Definition": "d"}) for at, term in enumerate(terms)]

    def test_tests_have_their_names_without_codes(self):
        row = ("Laboratory Test Name", "Alanine Aminotransferase", "ALT; Alanine Aminotransferase; SGPT1", "Alanine Aminotransferase Measurement")
        found, = laboratory.concepts(self.rows(row), {}, set())
        self.assertEqual(found["names"], ["Alanine Aminotransferase", "Alanine Aminotransferase Measurement"])
        self.assertEqual((found["id"], found["kind"]), ("NCIT:C0", "Measurement"))

    def test_levels_of_medicines_are_tests_if_another_source_measures_them(self):
        rows = self.rows(("Laboratory Test Name", "Glucose", "", "Glucose Measurement"),
                         ("Laboratory Test Name", "Milnacipran", "", "Milnacipran Measurement"),
                         ("Laboratory Test Name", "Ferritin", "", "Ferritin Measurement"))
        glucose, drug, ferritin = laboratory.concepts(rows, {"glucose": True, "milnacipran": True, "ferritin": False}, {"glucose measurement"})
        self.assertEqual((glucose["names"][0], glucose["shared"], glucose["only_identifier"]), ("Glucose Measurement", {"glucose"}, False))
        self.assertTrue(drug["only_identifier"])
        self.assertEqual(ferritin["kind"], "Drug or chemical")  # it joins the substance

    def test_terms_in_capitals_are_set_upright(self):
        self.assertEqual(laboratory.plain("BRACHYTHERAPY, INTRACAVITARY"), "intracavitary brachytherapy")
        self.assertEqual(laboratory.plain("TURBT"), "TURBT")


class Actions(unittest.TestCase):
    def test_terms_of_drug_treatment_and_of_other_ontologies_are_left_out(self):
        def term(id, name, parents=(), synonyms=()):
            return {"id": id, "name": name, "parents": list(parents), "synonyms": list(synonyms), "xrefs": ["NCIT:C1", "PMID:2"]}
        terms = [term("MAXO:1", "biopsy procedure", synonyms=["taking of tissue"]), term("MAXO:2", "pharmacotherapy"),
                 term("MAXO:3", "statin therapy", ["MAXO:2"]), term("UBERON:1", "heart"), term("MAXO:4", "biotin supplementation"),
                 term("MAXO:5", "folate measurement")]
        found = list(actions.concepts({one["id"]: one for one in terms}))
        self.assertEqual([(c["names"], c["kind"]) for c in found],
                         [(["biopsy", "taking of tissue"], "Procedure"), (["folate measurement"], "Measurement")])
        self.assertEqual(found[0]["xrefs"], ["MAXO:1", "NCIT:C1"])


def pooled(id, kind, *own, chosen=True):
    return {"id": id, "kind": kind, "names": list(own), "gone": False, "chosen": chosen, "types": [], "type_ids": [],
            "definition": None, "xrefs": [], "sources": ["MONDO"]}


class Merging(unittest.TestCase):
    def attached(self, pool, *concepts, owner=()):
        counts = collections.Counter()
        made = [dict(pooled(id, kind, *own), sources=["SNOMEDGPS"], xrefs=[id], **more) for id, kind, own, more in concepts]
        merging.attach(pool, dict(owner), made, counts, "x")
        return counts

    def test_a_concept_joins_the_one_of_its_name_and_group(self):
        pool = [pooled("C0000001", "Disease", "rib fracture"), pooled("C0000002", "Procedure", "repair")]
        counts = self.attached(pool, ("SNOMED:1", "Sign or symptom", ["Fracture of rib", "rib fracture"], {}),
                               ("SNOMED:2", "Anatomy", ["repair"], {}), ("SNOMED:3", "Disease", ["elsewhere"], {"only_identifier": True}))
        self.assertEqual((pool[0]["xrefs"], pool[0]["kind"]), (["SNOMED:1"], "Disease"))
        self.assertEqual(pool[0]["added"], ["Fracture of rib", "rib fracture"])
        self.assertEqual([c["id"] for c in pool], ["C0000001", "C0000002", "SNOMED:2"])
        self.assertEqual(counts["x: left out"], 1)

    def test_an_odd_label_gives_way_to_that_of_the_concept_which_joins(self):
        pool = [pooled("C0000001", "Disease", "Periodontitis, aggressive", "aggressive periodontitis"),
                pooled("X:1", "Disease", "aggressive periodontitis"),
                pooled("C0000002", "Disease", "gum disease", "disease of the gums"),
                pooled("X:2", "Disease", "disease of the gums")]
        merging.merge_same_names(pool)
        self.assertEqual([one["gone"] for one in pool], [False, True, False, True])
        self.assertEqual(pool[0]["names"][:2], ["aggressive periodontitis", "Periodontitis, aggressive"])
        self.assertEqual(pool[2]["names"][0], "gum disease")

    def test_an_identifier_alone_adds_no_name_and_selects_nothing(self):
        pool = [pooled("C0000001", "Organism", "coli", chosen=False)]
        self.attached(pool, ("SNOMED:1", "Organism", ["coli", "bacterium"], {"only_identifier": True}))
        self.assertEqual((pool[0]["xrefs"], pool[0]["names"], pool[0]["chosen"], pool[0]["sources"]),
                         (["SNOMED:1"], ["coli"], False, ["MONDO"]))

    def test_a_disorder_replaces_the_type_of_a_function(self):
        pool = [pooled("C0000001", "Biological process", "mantle cell lymphoma")]
        self.attached(pool, ("SNOMED:1", "Disease", ["mantle cell lymphoma"], {"over": "Biological process"}))
        self.assertEqual((len(pool), pool[0]["kind"]), (1, "Disease"))


class ShortForms(unittest.TestCase):
    def row(self, short, sense, group, concept=""):
        return {"short_form": short, "sense": sense, "group": group, "concept": concept, "capitals": "yes", "line": 2}

    def test_a_short_form_belongs_to_the_concepts_of_its_senses(self):
        pool = [pooled("C0000001", "Disease", "multiple sclerosis"), pooled("C0000002", "Disease", "stenosis", "mitral stenosis")]
        senses = short_forms.apply(pool, merging.Names(pool, {}), [
            self.row("MS", "multiple sclerosis", "Disease"), self.row("MS", "mitral stenosis", "Disease"),
            self.row("MS", "morphine", "Drug or chemical"), self.row("s/p", "status post", "Context")])
        self.assertEqual(senses, {"ms": {"C0000001", "C0000002", "PEL:morphine"}})
        self.assertEqual([c.get("short_forms") for c in pool], [["MS"]] * 3)

    def test_an_unknown_identifier_is_an_error_with_its_line(self):
        with self.assertRaisesRegex(ValueError, "abbreviations.tsv:2: no concept C9"):
            short_forms.apply([], merging.Names([], {}), [self.row("X", "y", "Disease", "C9")])

    def test_the_committed_table_is_sound(self):
        rows = short_forms.rows()
        groups = {"Disease", "Sign or symptom", "Anatomy", "Drug or chemical", "Procedure", "Measurement", "Device", "Organism", "Context"}
        self.assertGreater(len({row["short_form"] for row in rows}), 400)
        self.assertEqual({row["group"] for row in rows} - groups, set())
        pairs = collections.Counter((row["short_form"], row["sense"]) for row in rows)
        self.assertEqual([pair for pair, count in pairs.items() if count > 1], [])
        for short in ("MS", "RA", "PT", "CP", "PE", "MI"):
            self.assertGreater(sum(row["short_form"] == short for row in rows), 1, short)
        self.assertEqual({row["capitals"] for row in rows}, {"yes", "no"})


class Identifiers(unittest.TestCase):
    TABLE = [{"id": "C1", "name": "hernia", "synonyms": ["rupture"], "xrefs": ["UMLS:C0000002", "PEL:x"]}]

    def test_retired_identifiers_follow_cross_references_then_names(self):
        former = {"PEL:hernia": "Hernia", "C0000004": "gone"}
        found = identifiers.redirects_of({"C1", "C0000002", "PEL:x", "PEL:hernia", "C0000004"}, self.TABLE, former)
        self.assertEqual(found, {"C0000002": ("C1", "merged"), "PEL:x": ("C1", "merged"), "PEL:hernia": ("C1", "renamed"),
                                 "C0000004": ("", "retired")})
        self.assertEqual(list(identifiers.faults({"C1", *former}, found, self.TABLE)), [])

    def test_faults_of_redirects_are_named(self):
        found = list(identifiers.faults({"A", "C1"}, {"C1": ("C1", "merged"), "B": ("Z", "")}, self.TABLE))
        self.assertEqual([fault.split()[0] for fault in found], ["A", "B", "B", "C1"])

    def test_every_identifier_of_a_release_is_in_the_table_or_redirected(self):
        table = readers.read_jsonl(readers.content(build.HERE / "default.jsonl.xz"))
        self.assertEqual(list(identifiers.faults(identifiers.read_released(), identifiers.read_redirects(), table)), [])


class Readers(unittest.TestCase):
    def test_the_release_of_an_input_is_its_digest(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "symp.obo"
            path.write_text("[Term]\nid: S:1\nname: x\nis_a: S:0 ! y\n")
            with self.assertRaisesRegex(ValueError, "expected Symptom Ontology.* found [0-9a-f]{64}"):
                readers.released("symp", path)
            terms = readers.read_obo(readers.released("symp", path, any_release=True))
            self.assertEqual((terms["S:1"]["name"], terms["S:1"]["parents"]), ("x", ["S:0"]))

    def test_pickled_words_are_strings_alone(self):
        self.assertEqual(readers.read_pickled_words(pickle.dumps({"a", "b"})), {"a", "b"})
        with self.assertRaisesRegex(ValueError, "expected strings"):
            readers.read_pickled_words(pickle.dumps(collections.Counter("a")))

    def test_sources_have_a_licence_and_a_digest(self):
        rows = readers.source_rows()
        self.assertEqual(list(rows), list(build.INPUTS))
        for row in rows.values():
            self.assertRegex(row["sha256"], "^[0-9a-f]{64}$")
            self.assertTrue(row["licence"] and row["from"] and row["release"], row)


class Coverage(unittest.TestCase):
    def test_forms_are_compared_without_case_hyphens_and_plural(self):
        self.assertEqual(coverage.form("Crohn's T-wave."), "crohn t wave")
        table = coverage.Table(build.HERE / "default.jsonl.xz")
        for phrase in ("Ozempic", "toprol xl", "HFrEF", "chest X-rays", "DOE", "CPAP machine"):
            self.assertTrue(table.find(phrase), phrase)
        for phrase in ("Today", "Equal", "s/p"):
            self.assertFalse(table.find(phrase), phrase)
        self.assertGreater(len(table.find("MS")), 2)

    def test_the_phrases_are_covered(self):
        table = coverage.Table(build.HERE / "default.jsonl.xz")
        lines = (build.HERE / "phrases.tsv").read_text(encoding="utf-8").splitlines()[1:]
        found = [bool(table.find(line.split("\t")[1])) for line in lines]
        self.assertGreater(len(found), 150)
        self.assertGreater(sum(found) / len(found), 0.97)


class Check(unittest.TestCase):
    def test_faults_of_a_row_are_named(self):
        row = concept("scoliosis of x", "Anatomy", ["MONDO"], synonyms=["Grade 3", "sox", "(A b) or (C d)", "patient", "spine"])
        row["types"].append("Anatomical Structure")
        self.assertEqual(sorted(rule for rule, _ in build.faults_of(row)), sorted([
            "a disease typed Anatomy", "a place on an unnamed scale", "an acronym in small letters", "an everyday word",
            "one of two names"]))
        self.assertEqual(list(build.faults_of(row, ours={"sox", "grade 3", "(a b) or (c d)", "patient"}))[0][0], "a disease typed Anatomy")
        self.assertEqual(list(build.faults_of(concept("pox", "Organism", ["DOID"])))[0][0], "a disease typed Organism")


ROOT = pathlib.Path(__file__).resolve().parent.parent


def names_of_the_table():
    """The concepts of each name of the default table, in lower case."""
    known = collections.defaultdict(set)
    with lzma.open(ROOT / "kb/default.jsonl.xz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for name in [row["name"], *row["synonyms"]]:
                known[name.lower()].add(row["id"])
    return known


def read_lines(name):
    """The fields of the lines of a table in the library's sources."""
    text = (ROOT / "shared/text/src" / name).read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith(("#", "@"))]


class Wordings(unittest.TestCase):
    def test_wordings_of_the_library_stand_for_names_of_the_table(self):
        lines = read_lines("wordings/english.tsv")
        known = names_of_the_table()
        self.assertEqual([line for line in lines if len(line) != 2], [])
        self.assertGreater(len(lines), 800)
        self.assertEqual([name for name, _ in lines if name.lower() not in known], [])
        self.assertEqual([name for name, count in collections.Counter(name for name, _ in lines).items() if count > 1], [])

    def test_short_forms_of_the_library_with_one_sense_name_the_concept_of_their_sense(self):
        lines, known = read_lines("senses/single.tsv"), names_of_the_table()
        self.assertGreater(len(lines), 400)
        self.assertEqual([line for line in lines if len(line) != 2], [])
        concepts = [(form, name) for form, name in lines if not name.startswith("(")]
        self.assertEqual([(form, name) for form, name in concepts if name.lower() not in known], [])
        self.assertEqual([form for form, count in collections.Counter(form for form, _ in lines).items() if count > 1], [])
        self.assertEqual([form for form, _ in lines], sorted((form for form, _ in lines), key=lambda form: (form.lower(), form)))
        # A form that has several senses too has the default one here, or in brackets that it is no mention without cues.
        several = collections.defaultdict(list)
        for form, name, _ in read_lines("senses/english.tsv"):
            several[form.upper()].append(name.lower())
        self.assertEqual([form for form, name in concepts if form in several and name.lower() not in several[form]], [])


if __name__ == "__main__":
    unittest.main()
