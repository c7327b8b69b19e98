#!/usr/bin/env python3
"""Tests of the rules in build.py: python3 kb/test_build.py"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import build


def concept(name, first, sources, xrefs=(), synonyms=(), **more):
    return {"id": "C0000001", "name": name, "types": [first] if first else [], "sources": list(sources),
            "xrefs": list(xrefs), "synonyms": list(synonyms), "type_ids": [], "definition": None, **more}


def prepared(id, kind, names, definition=None, sources=("MESH",)):
    return {"id": id, "kind": kind, "names": names, "definition": definition, "sources": list(sources)}


class Types(unittest.TestCase):
    def test_malformations_of_disease_vocabularies_are_diseases(self):
        for sources in (["MONDO"], ["DOID", "HPO"], ["DOID2016", "MEDMENTIONS"], ["MONDO", "NIFSTD"]):
            self.assertEqual(build.primary(concept("cleft ear", "Anatomical Structure", sources)), "Disease", sources)

    def test_the_majority_of_identifiers_decides_between_disease_and_anatomy(self):
        part = concept("ear", "Anatomical Structure", ["MONDO", "UBERON"], ["UBERON:1", "FMA:2", "MONDO:3"])
        self.assertEqual(build.primary(part), "Anatomy")
        disease = concept("natal ear", "Anatomical Structure", ["MONDO", "UBERON"], ["UBERON:1", "DOID:2", "MONDO:3"])
        self.assertEqual(build.primary(disease), "Disease")

    def test_other_types_stay(self):
        for first, sources, expected in (
                ("Anatomical Structure", ["UBERON"], "Anatomy"), ("Anatomical Structure", ["CL"], "Cell"),
                ("Chemical", ["MONDO", "ORDO"], "Drug or chemical"), ("Spatial Concept", ["ORDO"], None),
                ("Finding", ["SYMP", "MONDO"], "Sign or symptom"), ("Eukaryote", ["ORDO"], "Organism")):
            self.assertEqual(build.primary(concept("x", first, sources)), expected, (first, sources))

    def test_names_tell_diseases_where_no_vocabulary_does(self):
        self.assertEqual(build.primary(concept("Subglottic Stenosis", "Anatomical Structure", ["MESH"])), "Disease")
        self.assertEqual(build.primary(concept("Cell Line, Tumor", "Anatomical Structure", ["MESH"])), "Anatomy")
        self.assertEqual(build.primary(concept("stenosis of x", "Anatomical Structure", ["UBERON"])), "Anatomy")

    def test_an_organism_takes_over_no_disease(self):
        pool = [dict(prepared("C1", "Disease", ["pox", "Poxus poxi"]), gone=False, chosen=True, xrefs=[], types=[], type_ids=[])]
        added, owner = build.apply_clinical(pool, [("Organism", "Poxus poxi", [])])
        self.assertEqual([one["id"] for one in added], ["PEL:poxus-poxi"])
        self.assertEqual((pool[0]["kind"], pool[0]["names"][0]), ("Disease", "pox"))
        self.assertIs(owner["poxus poxi"], added[0])


class Names(unittest.TestCase):
    def test_places_on_an_unnamed_scale_are_no_names(self):
        for name in ("Grade 3", "Grade III", "stage IV", "Type 2", "type IIa", "Level", "3 grade", "class-B"):
            self.assertTrue(build.is_classified(name), name)
        for name in ("type 2 diabetes", "NYHA class II", "tumor grade 3", "Group A streptococcus", "staghorn"):
            self.assertFalse(build.is_classified(name), name)

    def test_acronyms_in_small_letters_are_found(self):
        self.assertTrue(build.is_small_acronym("sac", ["serrated adenocarcinoma"]))
        self.assertTrue(build.is_small_acronym("sag", ["statoacoustic ganglion"]))
        for name, others in (("flu", ["influenza"]), ("tics", ["tic disorder"]), ("SAC", ["serrated adenocarcinoma"]),
                             ("gut", ["digestive tract"]), ("rib", ["bone of the chest"])):
            self.assertFalse(build.is_small_acronym(name, others), name)

    def test_one_of_two_names_is_dropped(self):
        names = build.names_of(concept("pox", None, ["MONDO"], synonyms=["(Pox) or (Poxus poxi)", "Grade 2", "the pox"]))
        self.assertEqual(names, ["pox", "the pox"])

    def test_words_that_texts_use_otherwise_are_found(self):
        pool = [prepared("C0000001", "Anatomy", ["second vertebra", "middle", "axial bone", "hump", "vertex"], "with a hump"),
                prepared("C0000002", "Biological process", ["negative regulation", "stopped", "halted", "regulating"])]
        text = "The middle stopped. Halted by the hump."
        documents = [{"doc_id": str(at), "text": text, "casing": "original"} for at in range(3)]
        mentions = [{"doc_id": str(at), "start": 4, "end": 10, "text": "middle", "cui": "C0000009"} for at in range(3)]
        mentions.append({"doc_id": "0", "start": 20, "end": 26, "text": "Halted", "cui": "C0000002"})
        found = build.words_of_other_sense(pool, mentions, documents)
        # `hump` is in the definition, `halted` was linked to the concept once, `vertex` and `regulating` share a stem.
        self.assertEqual(found, {("C0000001", "middle"), ("C0000002", "stopped")})
        # In a longer mention a word says nothing of itself.
        longer = [{"doc_id": str(at), "start": 0, "end": 18, "text": "The middle stopped", "cui": "C0000009"} for at in range(3)]
        self.assertEqual(build.words_of_other_sense(pool[1:], longer, documents), {("C0000002", "halted")})

    def test_qualities_are_no_names_of_things(self):
        pool = [prepared("C0000001", "Anatomy", ["area 45", "triangular", "Brodmann 45"], sources=["UBERON", "PATO"]),
                prepared("C0000002", "Anatomy", ["area 46", "oval"], sources=["UBERON"])]
        self.assertEqual(build.quality_words(pool), {("C0000001", "triangular")})


class Check(unittest.TestCase):
    def test_faults_of_a_row_are_named(self):
        row = concept("scoliosis of x", "Anatomy", ["MONDO"], synonyms=["Grade 3", "sox", "(A b) or (C d)", "patient", "spine"])
        row["types"].append("Anatomical Structure")
        self.assertEqual(sorted(rule for rule, _ in build.faults_of(row)), sorted([
            "a disease typed Anatomy", "a place on an unnamed scale", "an acronym in small letters", "an everyday word",
            "one of two names"]))
        self.assertEqual(list(build.faults_of(row, ours={"sox", "grade 3", "(a b) or (c d)", "patient"}))[0][0], "a disease typed Anatomy")
        self.assertEqual(list(build.faults_of(concept("pox", "Organism", ["DOID"])))[0][0], "a disease typed Organism")


if __name__ == "__main__":
    unittest.main()
