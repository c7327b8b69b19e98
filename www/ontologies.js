// Web addresses of concepts by identifier. Pure; only identifiers of a known, strict form get an address.

const obo = (id) => `https://purl.obolibrary.org/obo/${id.replace(":", "_")}`;
const registry = (prefix) => (id) => `https://bioregistry.io/${prefix}:${id.slice(id.indexOf(":") + 1)}`;
const after = (address) => (id) => address + id.slice(id.indexOf(":") + 1);

/** @type {[RegExp, string, (id: string) => string][]} */
const SITES = [
  [/^C\d{7}$/, "UMLS", (id) => `https://uts.nlm.nih.gov/uts/umls/concept/${id}`],
  [/^UMLS:C\d{7}$/, "UMLS", after("https://uts.nlm.nih.gov/uts/umls/concept/")],
  [/^MONDO:\d{7}$/, "Mondo Disease Ontology", obo],
  [/^DOID:\d{1,7}$/, "Human Disease Ontology", obo],
  [/^HP:\d{7}$/, "Human Phenotype Ontology", obo],
  [/^UBERON:\d{7}$/, "Uberon", obo],
  [/^CHEBI:\d{1,7}$/, "ChEBI", obo],
  [/^GO:\d{7}$/, "Gene Ontology", obo],
  [/^CL:\d{7}$/, "Cell Ontology", obo],
  [/^SYMP:\d{7}$/, "Symptom Ontology", obo],
  [/^NBO:\d{7}$/, "Neuro Behavior Ontology", obo],
  [/^MPATH:\d{1,7}$/, "Mouse Pathology Ontology", obo],
  [/^PATO:\d{7}$/, "Phenotype and Trait Ontology", obo],
  [/^PR:\d{9}$/, "Protein Ontology", obo],
  [/^(NCIT|NCI):C\d{1,7}$/, "NCI Thesaurus", (id) => `https://purl.obolibrary.org/obo/NCIT_${id.split(":")[1]}`],
  [/^(ORDO|Orphanet):\d{1,7}$/, "Orphanet", registry("orphanet.ordo")],
  [/^MESH:[CD]\d{6,9}$/, "MeSH", after("https://meshb.nlm.nih.gov/record/ui?ui=")],
  [/^OMIM:(PS)?\d{6}$/, "OMIM", (id) => omim(id.slice(5))],
  [/^ICD10CM:[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4})?$/, "ICD-10-CM", registry("icd10cm")],
  [/^SNOMED(CT)?:\d{6,18}$/, "SNOMED CT", registry("snomedct")],
  [/^DRUGBANK:DB\d{5}$/, "DrugBank", after("https://go.drugbank.com/drugs/")],
  [/^MAXO:\d{7}$/, "Medical Action Ontology", obo],
  [/^MEDRT:N\d{10}$/, "MED-RT", after("https://evsexplore.semantics.cancer.gov/evsexplore/concept/medrt/")],
  [/^RXNORM:\d{1,8}$/, "RxNorm", registry("rxnorm")],
  [/^LOINC:\d{1,7}-\d$/, "LOINC", after("https://loinc.org/")],
  [/^ATC:[A-Z]\d\d[A-Z]{2}\d\d$/, "ATC", registry("atc")],
  [/^CVX:\d{1,3}$/, "CVX", registry("cvx")],
  [/^UNII:[0-9A-Z]{10}$/, "UNII", registry("unii")],
  [/^ICD10:[A-Z]\d\d(\.\d{1,2})?$/, "ICD-10", after("https://icd.who.int/browse10/2019/en#/")],
  [/^FMA:\d{1,7}$/, "Foundational Model of Anatomy", registry("fma")],
  [/^BIRNLEX:\d{1,7}$/, "NIF Standard Ontology", registry("birnlex")],
  [/^SAO:\d{1,12}$/, "NIF Standard Ontology", registry("sao")],
  [/^NIFEXT:\d{1,7}$/, "NIF Standard Ontology", registry("nifext")],
  [/^NIFSTD:[A-Za-z]{1,12}_\d{1,12}$/, "NIF Standard Ontology", registry("nifstd")],
];

function omim(number) {
  return number.startsWith("PS") ? `https://omim.org/phenotypicSeries/${number}` : `https://omim.org/entry/${number}`;
}

/**
 * The site that describes an identifier; null if there is none, or if the identifier is malformed.
 *
 * @param {string} id
 * @returns {{ name: string, address: string } | null}
 */
export function siteOf(id) {
  const site = SITES.find(([pattern]) => pattern.test(id));
  return site ? { name: site[1], address: site[2](id) } : null;
}
