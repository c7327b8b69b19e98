/**
 * PEL in a page: links the mentions of diseases, signs, anatomy, drugs and procedures in a text to concepts, or says NIL.
 * The text never leaves the page. All offsets are UTF-16 units, as in JavaScript strings.
 */

/** Where the encoder runs. */
export type DeviceName = "webgpu" | "wasm";

/**
 * Where a bundle comes from: the address of a folder (ending in `/`, with a `manifest.json`) or of a bundle that is one
 * file; its bytes; or the files of a folder by their names.
 */
export type Source = string | URL | Blob | ArrayBuffer | Uint8Array | Record<string, Blob | ArrayBuffer | Uint8Array>;

/** How far loading is. */
export interface Progress {
  /** `program` (WebAssembly), `bundle` (its bytes), `start` (checking, building the encoder). */
  phase: "program" | "bundle" | "start";
  /** Bytes so far, in this phase. */
  loaded: number;
  /** Bytes in all, in this phase; 0 while unknown. */
  total: number;
  /** Whether the bytes come out of the browser's own store. */
  cached: boolean;
}

export interface LoadOptions {
  /** `auto` takes WebGPU where there is a real adapter, else WebAssembly. */
  device?: "auto" | DeviceName;
  /** Is told how far loading is. */
  onProgress?: (progress: Progress) => void;
  /** Is told when the device has failed and another has taken over. */
  onDevice?: (change: { device: DeviceName; why: string }) => void;
  /** Keep the bundle in the browser's store (Cache Storage) and take it from there; true where there is one. */
  cache?: boolean;
  /** Ends loading. */
  signal?: AbortSignal;
}

/** A place in a text, in UTF-16 units: start, and one past the end. */
export interface Span {
  start: number;
  end: number;
}

export interface LinkOptions {
  /**
   * Mentions that are known already; found ones that overlap them are left out. One with something between its parts that
   * does not belong to it has `fragments`, from its start to its end.
   */
  spans?: (Span & { fragments?: Span[] })[];
  /** Link the given spans alone. */
  spansOnly?: boolean;
  /** Candidates of a mention; 5. */
  k?: number;
  /** The lowest score that is linked, in place of the bundle's. */
  threshold?: number;
  /** Is told of links as they come, batch by batch. */
  onLinks?: (part: { links: Link[]; done: number; total: number }) => void;
  /** Ends linking. */
  signal?: AbortSignal;
}

export interface Candidate {
  id: string;
  name: string;
  /** Semantic types, the primary one first. */
  types: string[];
  /** The vocabularies it comes from. */
  sources: string[];
  /** The same concept in other vocabularies: `ICD10CM:R50.9`, `MESH:D005334`; missing where there is none. */
  xrefs?: string[];
  /** Cosine or dot product, as the bundle has it; higher is better. */
  score: number;
  /** Added in the page. */
  added?: boolean;
}

export interface Link extends Span {
  /** The text of the mention; of one in fragments, their texts with a blank between them. */
  text: string;
  /** The fragments of a mention with something between them that does not belong to it, in the order of the text. */
  fragments?: Span[];
  /** Found by a name, an unknown word, or given. */
  origin: "name" | "unknown_term" | "given";
  decision: "linked" | "nil";
  nil_reason?: "below_threshold" | "no_candidate" | "empty_mention" | "reader";
  /** What a short form was read as, where the text defines it. */
  read_as?: string;
  /** The concept; null if NIL. */
  concept: Candidate | null;
  /** Best first. */
  candidates: Candidate[];
  /** What the bundle's policy adds to the best score before it is compared with the threshold; 0 where scores stand alone. */
  lift: number;
  /** What did not fit into the encoder's window. */
  cut: { mention: boolean; context: boolean };
}

export interface Linked {
  /** In the order of the text. */
  links: Link[];
  device: DeviceName;
  /** Milliseconds of each part. */
  ms: { detect: number; encode: number; search: number };
}

/** One mention on its way to a decision. */
export interface Explanation {
  text: string;
  tokens: string[];
  decision: "linked" | "nil";
  threshold: number | null;
  /** What is added to the best score before it is compared. */
  lift: number;
  /** How far the best is before the second. */
  margin: number | null;
  candidates: (Candidate & {
    /** The name or template that met the mention, and how well. */
    through: string;
    through_score: number;
  })[];
}

/** A concept with all that is known of it. */
export interface Concept {
  id: string;
  name: string;
  synonyms?: string[];
  types?: string[];
  type_ids?: string[];
  definition?: string | null;
  xrefs?: string[];
  sources?: string[];
}

/** What became of concepts that were to be added. */
export interface Added {
  added: number;
  /** How many of each kind were kept, changed on the way, or skipped, with the first few places of each reason. */
  report: {
    kept: Record<string, number>;
    noted: Record<string, number>;
    skipped: Record<string, number>;
    examples: Record<string, string[]>;
  };
}

/** A file of concepts: the columns of CSV and TSV as for `pel import csv` (id, name, synonyms, types, definition ...). */
export interface ConceptFile {
  name: string;
  format: "csv" | "tsv" | "obo" | "jsonl";
  text: string;
}

/** A note to be written: links as `link` gave them, or as a reader has changed them. */
export interface Note {
  name: string;
  text: string;
  links: Link[];
}

export type Format = "json" | "csv" | "brat" | "pubtator" | "html";

export interface Manifest {
  format: number;
  written_by: string;
  encoder: { name: string; licence: string; tied: boolean; precision: string };
  kb: { name: string; concepts: number; names: number; licences: string[] };
  index: { rows: number; dim: number; precision: string; score: string };
  /** Only where mentions are scored by Sum-of-Max; scores then go up to the number of a mention's tokens. */
  token_vectors?: { rows: number; tokens: number; dim: number };
  nil: {
    threshold: number | null;
    /**
     * What is added to the best score: for its distance to the second, for brief mentions, for shared spelling, for a name of the
     * best, for each value of the mention's vector (missing where it is not weighed), for all.
     */
    lift?: { margin: number; brief: number; overlap: number; named: number; direction?: number[]; base: number };
    calibrated_on: string | null;
    /** Precision and recall of NIL by threshold, ascending; missing in bundles that were not calibrated. */
    curve?: { threshold: number; precision: number; recall: number }[];
  };
  files: Record<string, { bytes: number; blake3: string }>;
  [more: string]: unknown;
}

export type ErrorCode =
  /** The bundle is damaged, of another version, or its parts do not fit together. */
  | "bundle"
  /** A text, span, option or concept that cannot be used. */
  | "input"
  /** Something could not be fetched. */
  | "network"
  /** No WebAssembly, or none with SIMD. */
  | "no-wasm"
  /** WebGPU was asked for and is not there. */
  | "no-webgpu"
  /** The device failed, and no other could take over. */
  | "device"
  /** A newer request, or a signal, has ended this one. */
  | "cancelled"
  /** The handle has been freed. */
  | "freed";

export class PelError extends Error {
  code: ErrorCode;
}

/** A loaded bundle. There is no handle before it is loaded whole. */
export class Pel {
  private constructor();

  /** Loads a bundle in a worker of its own. */
  static load(source: Source, options?: LoadOptions): Promise<Pel>;

  /** Links a text. A newer call cancels an older one. */
  link(text: string, options?: LinkOptions): Promise<Linked>;

  /** Decides the links of the last text anew, by another threshold (the bundle's if there is none): nothing is encoded. */
  decide(options?: { threshold?: number }): Promise<Link[]>;

  /** How one mention of the last text comes to its decision. */
  explain(span: Span & { fragments?: Span[] }, options?: { k?: number; threshold?: number }): Promise<Explanation>;

  /** Adds concepts; they are found at once. An identifier of the bundle or of an earlier addition is refused. */
  addConcepts(concepts: Concept[] | ConceptFile): Promise<Added>;

  /** Takes added concepts away, all of them without identifiers; gives how many went. */
  removeConcepts(ids?: string[]): Promise<number>;

  /** The added concepts. */
  addedConcepts(): Promise<Concept[]>;

  /** The added concepts as a table, one JSON object a line. */
  exportConcepts(): Promise<string>;

  /** All that is known of a concept; null if there is none of the identifier. */
  concept(id: string): Promise<Concept | null>;

  /** The concepts nearest to some words, as if they were a mention: for choosing one by hand. */
  find(text: string, options?: { k?: number }): Promise<Candidate[]>;

  /** Writes a note in a format of other tools. */
  write(format: Format, note: Note): Promise<string>;

  /** A text of the bundle such as `LICENSES.md`; null if it has none of the name. */
  document(name: string): Promise<string | null>;

  /** Where the encoder runs now. */
  device(): DeviceName;

  /** The version of PEL. */
  version(): string;

  /** What the bundle says of itself. */
  manifest(): Manifest;

  /** Bytes of WebAssembly memory. */
  memory(): number;

  /** Ends the worker; the handle is of no use any more. */
  free(): void;
}
