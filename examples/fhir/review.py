#!/usr/bin/env python3
"""Lists the resources of a FHIR bundle of PEL for review: what each one states, and the words of the note that it comes from.

    pel link --bundle BUNDLE examples/note.txt --format fhir | python3 examples/fhir/review.py

Reads one bundle a line. Needs Python alone.
"""

import base64
import json
import sys

PLACE = "http://hl7.org/fhir/StructureDefinition/derivation-reference"


def code_of(concept):
    return concept.get("coding", [{}])[0].get("code", "")


def state_of(resource):
    """The status of a resource; of a condition or allergy, its two statuses."""
    if "verificationStatus" in resource:
        codes = [code_of(resource["verificationStatus"]), code_of(resource.get("clinicalStatus", {}))]
        return ", ".join(code for code in codes if code)
    return resource["status"]


def concept_of(resource):
    if "condition" in resource:
        return resource["condition"][0]["code"]
    return resource.get("code") or resource["medicationCodeableConcept"]


def probability_of(resource):
    """How likely the code is right, if the bundle has probabilities."""
    found = [one["valueDecimal"] for one in resource["extension"] if one["url"] == "urn:pel:probability"]
    return f"{found[0]:.0%}" if found else ""


def words_of(resource, texts):
    """The fragments of the mention in its note. Offsets are code points, as in Python."""
    words = []
    for extension in resource["extension"]:
        if extension["url"] != PLACE:
            continue
        part = {one["url"]: one for one in extension["extension"]}
        text = texts[part["reference"]["valueReference"]["reference"]]
        start = part["offset"]["valueInteger"]
        words.append(text[start : start + part["length"]["valueInteger"]])
    return " ... ".join(words)


def main():
    for line in sys.stdin:
        bundle = json.loads(line)
        texts = {}
        for entry in bundle["entry"]:
            resource = entry["resource"]
            if resource["resourceType"] == "DocumentReference":
                attachment = resource["content"][0]["attachment"]
                texts[entry["fullUrl"]] = base64.b64decode(attachment.get("data", "")).decode("utf-8")
                print(f"# {attachment.get('title', '')}")
            elif "extension" in resource:
                coding = concept_of(resource).get("coding", [{"code": "no code", "display": ""}])[0]
                fields = [resource["resourceType"], state_of(resource), coding["code"], coding.get("display", ""), words_of(resource, texts),
                          probability_of(resource)]
                print("\t".join(" ".join(field.split()) for field in fields))


if __name__ == "__main__":
    main()
