#!/usr/bin/env python3
"""Writes a synthetic release of MeSH (supplementary records) or an ontology in OWL (RDF/XML) or OBO Graphs.

Usage: synthetic_xml.py mesh|owl|obograph --records 300000 --out FILE

A record has the elements of a release: about 5 terms, numbers, a note and mapped headings, 2.3 kB in MeSH. A class has a
label, synonyms with annotations, a definition and cross-references. The same numbers give the same file.
"""
import argparse
import json
import random

from synthetic_rrf import WORDS

WORDS = WORDS.split() if isinstance(WORDS, str) else WORDS


def name(numbers, low=2, high=6):
    return " ".join(numbers.choices(WORDS, k=numbers.randint(low, high)))


def term(text, preferred, numbers):
    yes, tag = "Y" if preferred else "N", numbers.choice(["NON", "NON", "NON", "ABB", "LAB", "TRD"])
    return (f'     <Term ConceptPreferredTermYN="{yes}" IsPermutedTermYN="N" LexicalTag="{tag}" RecordPreferredTermYN="{yes}">\n'
            f"      <TermUI>T{numbers.randrange(10**6):06}</TermUI>\n      <String>{text}</String>\n      <DateCreated>\n"
            "       <Year>1999</Year>\n       <Month>01</Month>\n       <Day>01</Day>\n      </DateCreated>\n     </Term>\n")


def mesh(records, out, numbers):
    out.write('<?xml version="1.0"?>\n<!DOCTYPE SupplementalRecordSet SYSTEM "https://www.nlm.nih.gov/databases/dtd/'
              'nlmsupplementalrecordset_20260101.dtd">\n<SupplementalRecordSet LanguageCode="eng">\n')
    for record in range(records):
        own = name(numbers)
        terms = "".join(term(text, at == 0, numbers) for at, text in
                        enumerate([own] + [name(numbers) for _ in range(numbers.randint(0, 8))]))
        out.write(f'<SupplementalRecord SCRClass="{numbers.choice("11111134")}">\n'
                  f" <SupplementalRecordUI>C{record:09}</SupplementalRecordUI>\n <SupplementalRecordName>\n  <String>{own}"
                  f"</String>\n </SupplementalRecordName>\n <Note>{name(numbers, 8, 30)}</Note>\n <HeadingMappedToList>\n"
                  f"  <HeadingMappedTo>\n   <DescriptorReferredTo>\n    <DescriptorUI>*D{numbers.randrange(10**6):06}"
                  f"</DescriptorUI>\n    <DescriptorName>\n     <String>{name(numbers)}</String>\n    </DescriptorName>\n"
                  "   </DescriptorReferredTo>\n  </HeadingMappedTo>\n </HeadingMappedToList>\n <ConceptList>\n"
                  f'  <Concept PreferredConceptYN="Y">\n   <ConceptUI>M{record:09}</ConceptUI>\n   <ConceptName>\n'
                  f"    <String>{own}</String>\n   </ConceptName>\n   <RegistryNumber>{numbers.randrange(10**9):010}"
                  f"</RegistryNumber>\n   <TermList>\n{terms}   </TermList>\n  </Concept>\n </ConceptList>\n</SupplementalRecord>\n")
    out.write("</SupplementalRecordSet>\n")


OBO = "http://purl.obolibrary.org/obo/"
IN_OWL = "http://www.geneontology.org/formats/oboInOwl#"


def owl(records, out, numbers):
    out.write('<?xml version="1.0"?>\n<rdf:RDF xmlns="http://example.org/x#" xml:base="http://example.org/x"\n'
              f'  xmlns:obo="{OBO}" xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:oboInOwl="{IN_OWL}"\n'
              '  xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">\n'
              f'<owl:Ontology rdf:about="{OBO}x.owl"/>\n')
    for record in range(records):
        iri = f"{OBO}X_{record:07}"
        parents = "".join(f'    <rdfs:subClassOf rdf:resource="{OBO}X_{numbers.randrange(record):07}"/>\n'
                          for _ in range(min(record, numbers.choice([1, 1, 2]))))
        synonyms = [name(numbers) for _ in range(numbers.randint(0, 3))]
        out.write(f'\n    <!-- {iri} -->\n\n    <owl:Class rdf:about="{iri}">\n{parents}'
                  f"        <obo:IAO_0000115>{name(numbers, 8, 30)}</obo:IAO_0000115>\n"
                  f"        <oboInOwl:hasDbXref>MESH:D{numbers.randrange(10**6):06}</oboInOwl:hasDbXref>\n"
                  + "".join(f"        <oboInOwl:hasExactSynonym>{text}</oboInOwl:hasExactSynonym>\n" for text in synonyms)
                  + f"        <oboInOwl:id>X:{record:07}</oboInOwl:id>\n        <rdfs:label>{name(numbers)}</rdfs:label>\n    </owl:Class>\n")
        for text in synonyms:
            out.write(f'    <owl:Axiom>\n        <owl:annotatedSource rdf:resource="{iri}"/>\n'
                      f'        <owl:annotatedProperty rdf:resource="{IN_OWL}hasExactSynonym"/>\n'
                      f"        <owl:annotatedTarget>{text}</owl:annotatedTarget>\n        <oboInOwl:hasDbXref>PMID:1</oboInOwl:hasDbXref>\n"
                      "    </owl:Axiom>\n")
    out.write("</rdf:RDF>\n")


def obograph(records, out, numbers):
    out.write('{"graphs": [{"id": "' + OBO + 'x.owl", "nodes": [\n')
    edges = []
    for record in range(records):
        node = {"id": f"{OBO}X_{record:07}", "lbl": name(numbers), "type": "CLASS", "meta": {
            "definition": {"val": name(numbers, 8, 30), "xrefs": ["PMID:1"]},
            "synonyms": [{"pred": "hasExactSynonym", "val": name(numbers), "xrefs": []} for _ in range(numbers.randint(0, 3))],
            "xrefs": [{"val": f"MESH:D{numbers.randrange(10**6):06}"}]}}
        out.write((",\n" if record else "") + json.dumps(node))
        if record:
            edges.append((record, numbers.randrange(record)))
    out.write('\n], "edges": [\n')
    for at, (child, parent) in enumerate(edges):
        edge = {"sub": f"{OBO}X_{child:07}", "pred": "is_a", "obj": f"{OBO}X_{parent:07}"}
        out.write((",\n" if at else "") + json.dumps(edge))
    out.write("\n]}]}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("format", choices=["mesh", "owl", "obograph"])
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    with open(arguments.out, "w") as out:
        {"mesh": mesh, "owl": owl, "obograph": obograph}[arguments.format](arguments.records, out, random.Random(7))


if __name__ == "__main__":
    main()
