/**
 * PEL in a page: links the mentions of diseases, signs, anatomy, drugs and procedures in a text to concepts, or says NIL.
 * The text never leaves the page. All offsets are UTF-16 units, as in JavaScript strings.
 */

/** Where the encoder runs. */
export type DeviceName = "webgpu" | "wasm";

/**
 * A bundle: the address of a folder (ending in `/`, with a `manifest.json`), the address of a one-file bundle, the bytes of
 * one, or the files of a folder by name.
 */
export type Source = string | URL | Blob | ArrayBuffer | Uint8Array | Record<string, Blob | ArrayBuffer | Uint8Array>;

/** The progress of loading. */
export interface Progress {
  /** `program` (WebAssembly), `bundle` (its bytes), `start` (checking, building the encoder). */
  phase: "program" | "bundle" | "start";
  /** Bytes loaded in this phase. */
  loaded: number;
  /** Total bytes of this phase; 0 while unknown. */
  total: number;
  /** Whether the bytes come from the browser's Cache Storage. */
  cached: boolean;
}

/**
 * Rules that judge the context of mentions: built-in ones by name (`contextkit` is English as the ConText kit has it), or the text of a rule
 * file, whose `name` is for messages. A text that starts with `include english` extends those rules.
 */
export type ContextRules = "english" | "german" | "french" | "spanish" | "contextkit" | { name?: string; text: string };

export interface LoadOptions {
  /** `auto` (the default) uses WebGPU on a hardware adapter, else WebAssembly. */
  device?: "auto" | DeviceName;
  /** Called with the progress of loading. */
  onProgress?: (progress: Progress) => void;
  /** Called when the device failed and another replaced it. */
  onDevice?: (change: { device: DeviceName; why: string }) => void;
  /** The rules of context; `english` by default. */
  contextRules?: ContextRules;
  /**
   * The number of workers that encode on WebAssembly, 1 to 16; 1 by default. Two link a note in two thirds of the time where two
   * cores are free. Each further one takes some 50 MB with the default bundle. A GPU needs one.
   */
  workers?: number;
  /** Whether to keep the bundle in Cache Storage and read it from there; true by default. */
  cache?: boolean;
  /** Cancels loading. */
  signal?: AbortSignal;
}

/** A span of a text in UTF-16 units: start, and one past the end. */
export interface Span {
  start: number;
  end: number;
}

export interface LinkOptions {
  /**
   * Mentions that are already known. Detected mentions that overlap them are dropped. A discontinuous mention has
   * `fragments` that cover its start and its end.
   */
  spans?: (Span & { fragments?: Span[] })[];
  /** Link the given spans only. */
  spansOnly?: boolean;
  /**
   * Detect nested and overlapping mentions too ("knee" in "left knee pain"), not only the longest names and the most probable
   * spans. Links are in the order of their starts, then of their ends.
   */
  overlapping?: boolean;
  /** Candidates per mention; 5 by default. */
  k?: number;
  /**
   * Only codes of these systems, in this order. The first one in which a concept has a code gives its primary code. All by default; the
   * bundle must have codes.
   */
  codes?: CodeSystem[];
  /** The lowest probability that is linked, or score if the bundle has no probabilities; the bundle's threshold by default. */
  threshold?: number;
  /** Called while the detector reads the text, before there are links: the parts of the text that were read, and all. */
  onRead?: (progress: { done: number; total: number }) => void;
  /** Called with the links of each batch. */
  onLinks?: (part: { links: Link[]; done: number; total: number }) => void;
  /** Cancels linking. */
  signal?: AbortSignal;
}

/** A standard code system. */
export type CodeSystem =
  | "SNOMEDCT"
  | "ICD10CM"
  | "RXNORM"
  | "ATC"
  | "LOINC"
  | "CVX"
  | "HPO"
  | "MEDRT"
  | "MESH"
  | "UMLS"
  | "UNII"
  | "MONDO";

/** A code of a concept. */
export interface Code {
  system: CodeSystem;
  code: string;
  /** The official name; missing where its licence does not let it be given. */
  display?: string;
  /**
   * `exact`: the code means the concept. `broader`: its meaning contains the concept's, so it says less than the text. `parts`: one of
   * several codes that mean the concept together. `combined`: it means the concept together with what the text says of it, such as a stage.
   */
  match: "exact" | "broader" | "parts" | "combined";
  /** Whether the code may be billed, if the system says so. */
  billable?: boolean;
}

export interface Candidate {
  id: string;
  name: string;
  /** Semantic types, the primary type first. */
  types: string[];
  /** The vocabularies that contain it. */
  sources: string[];
  /** The same concept in other vocabularies: `ICD10CM:R50.9`, `MESH:D005334`; missing where there is none. */
  xrefs?: string[];
  /** The primary code of the linked concept, which is what a reader of its group expects; missing without one. */
  code?: Code;
  /** The codes of the linked concept, the preferred ones first; missing where there is none, and in other candidates. */
  codes?: Code[];
  /** Cosine similarity or dot product, as the bundle says; higher is better. */
  score: number;
  /** Whether it was added in the page. */
  added?: boolean;
}

export interface Link extends Span {
  /** The text of the mention; fragments are joined by a space. */
  text: string;
  /** The fragments of a discontinuous mention, in text order. */
  fragments?: Span[];
  /** Detected by a name, detected as an unknown term, or given by the caller. */
  origin: "name" | "unknown_term" | "detector" | "given";
  /** What kind of thing it is, as far as it is known. */
  group?: "problem" | "drug" | "procedure" | "measurement" | "anatomy" | "device";
  /** Whether the text says that it is absent. */
  negated: boolean;
  /** How sure the author is: "possible", or under a condition. */
  certainty: "certain" | "uncertain" | "hypothetical";
  /** When it holds. */
  temporality: "current" | "historical" | "future";
  /** Whom it is about. */
  experiencer: "patient" | "family" | "other";
  /** The section of the note, as the rules name it. */
  section?: string;
  /** The side of the body, if the text says it. */
  laterality?: "left" | "right" | "bilateral";
  /** How severe the problem is, if the text says it. */
  severity?: "mild" | "moderate" | "severe";
  /** A substance that the patient is allergic to or does not tolerate, or what one did; missing if neither. */
  allergy?: "allergen" | "reaction";
  /** What stands beside it: doses, values, dates, stages; missing if there is nothing. */
  attributes?: Attribute[];
  /** What the text says of it and another mention; missing if there is nothing. {@link Pel.write} finds them anew. */
  relations?: Relation[];
  decision: "linked" | "nil";
  nil_reason?: "below_threshold" | "ambiguous" | "type_clash" | "unlike_any_name" | "no_candidate" | "empty_mention" | "reader";
  /** `reader` where a reader decided and not the linker; {@link Pel.write} then leaves out `probability`. */
  decided_by?: "reader";
  /** What a reader said of the decision; missing if nobody has reviewed it. {@link Pel.write} writes it. */
  review?: Review;
  /** The probability, 0 to 1, that the best candidate is right; missing if the bundle has no model of it. */
  probability?: number;
  /** The number of concepts that bear the mention as a name, if there are two or more and one is the best candidate. */
  same_name?: number;
  /** The long form of an abbreviation that the text defines. */
  read_as?: string;
  /** The concept; null if NIL. */
  concept: Candidate | null;
  /** Best first. */
  candidates: Candidate[];
  /** Whether the mention or its context was truncated to the encoder's window. */
  cut: { mention: boolean; context: boolean };
}

/** A reader's review of a decision. */
export interface Review {
  /** Whether the reader kept the answer. */
  review: "confirmed" | "changed";
  reviewed_by?: string;
  /** UTC: `2026-11-30T09:30:00Z`. */
  reviewed_at?: string;
  /** The answer that the reader changed; `id` is null if it was NIL. */
  former?: { id: string | null; name?: string; probability?: number };
}

/** What stands beside a mention. */
export interface Attribute {
  /** What it says: `strength`, `dose`, `form`, `route`, `frequency`, `value`, `unit`, `date`, `stage` and others. */
  name: string;
  /** In UTF-16 units. */
  start: number;
  end: number;
  /** The normal form, an object for a frequency without a code in FHIR; missing if the text does not settle it. */
  value?: string | { frequency: number; period: number; unit: string; [more: string]: unknown };
  /** An earlier value beside the present one. */
  prior?: true;
}

/** A relation to another mention. */
export interface Relation {
  /** What the other mention is to this one. `excludes`: an examination excludes it. */
  name: "indication" | "cause" | "site" | "finding" | "excludes" | "reaction";
  /** The extent of the other mention, in UTF-16 units. */
  start: number;
  end: number;
}

export interface Linked {
  /** In text order. */
  links: Link[];
  device: DeviceName;
  /** Milliseconds of each step in the worker that links; what other workers encode meanwhile does not count. */
  ms: { detect: number; encode: number; search: number };
}

/** A set of answers (conformal prediction). */
export interface AnswerSet {
  /** The share of mentions, of texts like those of the calibration, whose set holds the right answer. */
  coverage: number;
  /** The identifiers of the concepts, best first; also of concepts that are no candidates in the list. */
  concepts: string[];
  /** Whether NIL is among the answers. */
  nil: boolean;
}

/** How the decision on one mention was made. */
export interface Explanation {
  text: string;
  tokens: string[];
  decision: "linked" | "nil";
  threshold: number | null;
  /** The best score less the second; null with fewer than 2 candidates. */
  margin: number | null;
  /** The probability that the best candidate is right; missing if the bundle has no model of it. */
  probability?: number;
  /** Sets of answers that hold the right one with a stated probability, narrowest first; missing if the bundle has no limits for them. */
  answer_sets?: AnswerSet[];
  candidates: (Candidate & {
    /** The name or template that matched the mention best, and its score. */
    through: string;
    through_score: number;
  })[];
}

/** A concept with all its fields. */
export interface Concept {
  id: string;
  name: string;
  synonyms?: string[];
  types?: string[];
  type_ids?: string[];
  definition?: string | null;
  xrefs?: string[];
  sources?: string[];
  /** Its primary code, if the bundle has one; a concept that is added has none. */
  code?: Code;
  /** Its codes in standard systems, the preferred ones first; a concept that is added has none. */
  codes?: Code[];
}

export interface AddOptions {
  /** The name of the list that the concepts replace or form; by default that of the file. */
  list?: string;
  /** Called with the texts that were encoded, and all that have to be. */
  onProgress?: (progress: { done: number; total: number }) => void;
  /** Cancels the addition: nothing is added then. */
  signal?: AbortSignal;
}

/** The result of adding concepts. The counts of `removed`, `changed` and `unchanged` compare with the earlier list of the same name. */
export interface Added {
  /** New concepts. */
  added: number;
  /** Concepts that the earlier list has and this one lacks. */
  removed: number;
  /** Concepts of both lists that differ. */
  changed: number;
  /** Of these, concepts with another preferred name. */
  renamed: number;
  /** Concepts of both lists that do not differ. */
  unchanged: number;
  /** Texts that were encoded. */
  texts_encoded: number;
  /** Names and templates whose vectors were known from earlier additions. */
  rows_reused: number;
  /** Counts by reason of what was kept, changed or skipped, with the first places of each reason. */
  report: {
    kept: Record<string, number>;
    noted: Record<string, number>;
    skipped: Record<string, number>;
    examples: Record<string, string[]>;
  };
}

/**
 * A file of concepts: the columns of CSV and TSV as for `pel import csv` (id, name, synonyms, types, definition, preferred ...). Rows of one id
 * are one concept with several names.
 */
export interface ConceptFile {
  name: string;
  format: "csv" | "tsv" | "obo" | "jsonl";
  text: string;
}

/** A note to export, with the links of `link` or a reader's changes to them. */
export interface Note {
  name: string;
  text: string;
  links: Link[];
  /**
   * The mentions that a reader removed; given if the note is reviewed. `csv` then has five columns for reviews, `json` and `brat` list these
   * mentions.
   */
  removed?: (Span & { fragments?: Span[]; review: Review })[];
  /** Only codes of these systems, in this order; all by default. `csv` has two columns for each, and none by default. */
  codes?: CodeSystem[];
}

export type Format = "json" | "csv" | "brat" | "pubtator" | "html";

export interface Manifest {
  format: number;
  written_by: string;
  encoder: { name: string; licence: string; tied: boolean; reduction: { pooling: string; score: string }; precision: string };
  kb: { name: string; concepts: number; names: number; blake3: string; licences: string[] };
  /** How mentions and concepts are written for the encoder. */
  view: Record<string, boolean | number | string>;
  index: {
    rows: number;
    dim: number;
    precision: string;
    score: string;
    /** The options of the HNSW graph; null if the search is exact. */
    hnsw: { ef_construction: number; ef_search: number; seed: number } | null;
  };
  /** Present if mentions are scored by Sum-of-Max. Scores then range up to the number of a mention's tokens. */
  token_vectors?: { rows: number; tokens: number; dim: number };
  nil: {
    threshold: number | null;
    calibrated_on: string | null;
    /** The model of the probability that the best candidate is right; the threshold is then a probability. */
    probability?: {
      weights: Record<string, number>;
      intercept: number;
      prior: number;
      prior_mentions: number;
      typical: Record<string, number>;
      /** That of mentions which are plainly the name of one concept and are not encoded; missing if the bundle has none. */
      plain_names?: { weights: Record<string, number>; intercept: number };
    };
    /** The limits of sets of answers, one for each coverage; missing without probabilities. */
    sets?: { coverage: number; behind: number | null; nil_up_to: number | null }[];
    /** NIL precision and recall by threshold, ascending; missing without calibration. */
    curve?: { threshold: number; precision: number; recall: number }[];
  };
  /** The detector of mentions; missing if mentions are found by names alone. */
  detector?: {
    name: string;
    licence: string;
    /** The sets of labels; the first is the default. */
    schemes: { name: string; labels: string[]; threshold: number }[];
    window: number;
    overlap: number;
    words: number;
    width: number;
    rank: number;
  };
  files: Record<string, { bytes: number; blake3: string }>;
  /** The checksum of all other fields, verified on loading. */
  digest: string;
  [more: string]: unknown;
}

export type ErrorCode =
  /** The bundle is damaged, or its parts do not fit together. */
  | "bundle"
  /** The bundle was written by a later version of PEL: a newer package or page reads it. */
  | "newer-bundle"
  /** A text, span, option or concept is invalid. */
  | "input"
  /** A file could not be fetched. */
  | "network"
  /** The browser has no WebAssembly with SIMD. */
  | "no-wasm"
  /** There is no `Worker`, as in Node, or the worker's file may not be started from here. */
  | "no-worker"
  /** WebGPU was requested and is not available. */
  | "no-webgpu"
  /** The device failed, and no other could replace it. */
  | "device"
  /** A newer request or a signal cancelled this one. */
  | "cancelled"
  /** The handle has been freed. */
  | "freed";

export class PelError extends Error {
  code: ErrorCode;
}

/** A loaded bundle. */
export class Pel {
  private constructor();

  /** Loads a bundle in a worker of its own. */
  static load(source: Source, options?: LoadOptions): Promise<Pel>;

  /**
   * Sets the rules of context for the texts that are linked from now on. If they are invalid, the error names the line, and the former rules
   * stay.
   */
  setContextRules(rules: ContextRules): Promise<void>;

  /** Links a text. A newer call cancels an older one. */
  link(text: string, options?: LinkOptions): Promise<Linked>;

  /** Applies another threshold (by default the bundle's) to the links of the last text, without encoding it again. */
  decide(options?: { threshold?: number }): Promise<Link[]>;

  /** Explains the decision on one mention of the last text. */
  explain(span: Span & { fragments?: Span[] }, options?: { k?: number; threshold?: number }): Promise<Explanation>;

  /**
   * Adds concepts, which are found at once. Skips an identifier that the bundle or an earlier addition has. A file, or concepts with the
   * name of a list, replace those that were added under this name before; only new texts are encoded. Texts are linked meanwhile, as if
   * nothing had been added yet.
   */
  addConcepts(concepts: Concept[] | ConceptFile, options?: AddOptions): Promise<Added>;

  /** Removes added concepts: the given identifiers, or all. Returns how many it removed. */
  removeConcepts(ids?: string[]): Promise<number>;

  /** The added concepts. */
  addedConcepts(): Promise<Concept[]>;

  /** The added concepts as JSON Lines. */
  exportConcepts(): Promise<string>;

  /** A concept by identifier, or the successor of a retired identifier; null if there is none. */
  concept(id: string): Promise<Concept | null>;

  /** The concepts nearest to a text, as if it were a mention: for choosing one by hand. */
  find(text: string, options?: { k?: number }): Promise<Candidate[]>;

  /** Exports a note. */
  write(format: Format, note: Note): Promise<string>;

  /** A text file of the bundle such as `LICENSES.md`; null if there is none. */
  document(name: string): Promise<string | null>;

  /** Where the encoder runs now. */
  device(): DeviceName;

  /** The version of PEL. */
  version(): string;

  /** The bundle's manifest. */
  manifest(): Manifest;

  /** Bytes of WebAssembly memory, without that of the workers that only encode. */
  memory(): number;

  /** The number of workers that encode now: 1, and those of `workers` that have started. */
  workers(): number;

  /** Terminates the workers. Later calls fail with `freed`. */
  free(): void;
}
