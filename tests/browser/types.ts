// Every call of the package, as a page in TypeScript writes it; it is compiled, never run.

import { type Added, type Code, type CodeSystem, type Explanation, type Link, Pel, PelError } from "../../web/js/pel.js";

export async function everyCall(bytes: ArrayBuffer, file: File): Promise<string> {
  const controller = new AbortController();
  const pel = await Pel.load(new URL("bundle/", location.href), {
    device: "auto",
    cache: false,
    workers: 2,
    signal: controller.signal,
    onProgress: ({ phase, loaded, total, cached }) => void [phase === "bundle", loaded / total, cached],
    onDevice: ({ device, why }) => void (device === "wasm" && why.length),
  });
  await Pel.load(bytes);
  await Pel.load(file);
  await Pel.load({ "manifest.json": bytes });
  const { links, ms, device } = await pel.link("fever", { spans: [{ start: 0, end: 5 }], k: 3, codes: ["SNOMEDCT", "ICD10CM"], threshold: 0.5, onRead: ({ done, total }) => done <= total, onLinks: () => {} });
  const first: Link | undefined = links[0];
  const { negated, certainty, temporality, experiencer, group, section, laterality, severity, allergy } = links[0]!;
  const stated: boolean = !negated && certainty === "certain" && temporality === "current" && experiencer === "patient" && !allergy;
  const by: "reader" | undefined = links[0]!.decided_by;
  const side: "left" | "right" | "bilateral" | undefined = laterality;
  const degree: "mild" | "moderate" | "severe" | undefined = severity;
  const reacts: "allergen" | "reaction" | undefined = allergy;
  const kind: "problem" | "drug" | "procedure" | "measurement" | "anatomy" | "device" | "none" = group ?? "none";
  const codes: Code[] = first?.concept?.codes ?? [];
  const systems: CodeSystem[] = codes.map(({ system }) => system);
  const coded: string = codes.map(({ code, display, match, billable }) => `${code} ${display ?? ""} ${match === "broader"} ${billable ?? ""}`).join();
  const why: Explanation | undefined = first && (await pel.explain(first));
  const sets: string[] = (why?.answer_sets ?? []).flatMap(({ coverage, concepts, nil }) => (nil ? [`${coverage} NIL`] : concepts));
  const added: Added = await pel.addConcepts([{ id: "X1", name: "sore toe" }]);
  await pel.addConcepts({ name: "own.csv", format: "csv", text: "id,name\n" });
  const { removed, renamed }: Added = await pel.addConcepts([{ id: "X2", name: "big toe" }], { list: "toes", onProgress: ({ done, total }) => done <= total, signal: new AbortController().signal });
  await pel.removeConcepts(["X1"]);
  const all: Link[] = await pel.decide({ threshold: 0.7 });
  const html: string = await pel.write("html", { name: "note", text: "fever", links: all });
  const table: string = await pel.write("csv", { name: "note", text: "fever", links: all, codes: systems });
  const numbers: number = ms.encode + pel.memory() + pel.workers() + added.added + removed + renamed + (why?.margin ?? 0) + (pel.manifest().nil.curve?.length ?? 0);
  try {
    await pel.link("cough");
  } catch (error) {
    if (error instanceof PelError && error.code === "cancelled") return device;
  }
  // @ts-expect-error: there is no handle before a bundle is loaded
  new Pel();
  // @ts-expect-error: no such device
  await Pel.load("bundle/", { device: "cuda" });
  pel.free();
  return `${html} ${table} ${coded} ${first?.concept?.code?.code} ${sets} ${numbers} ${stated} ${kind} ${section ?? ""} ${side ?? ""} ${degree ?? ""} ${reacts ?? ""} ${by ?? ""} ${pel.version()} ${pel.device()} ${(await pel.concept("X1"))?.name} ${await pel.exportConcepts()}
    ${(await pel.find("toe")).length} ${(await pel.addedConcepts()).length} ${await pel.document("LICENSES.md")}`;
}
