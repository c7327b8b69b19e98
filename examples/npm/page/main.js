import { Pel } from "pel-linker";

const [note, status, list] = ["textarea", "#status", "ol"].map((selector) => document.querySelector(selector));

/** Lists the links of the note. */
async function show(pel) {
  try {
    const { links } = await pel.link(note.value);
    list.replaceChildren(
      ...links.map(({ text, concept, negated }) => {
        const item = document.createElement("li");
        item.textContent = `${text}: ${concept?.id ?? "NIL"}${negated ? ", negated" : ""}`;
        return item;
      }),
    );
    status.textContent = `${links.length} mentions`;
  } catch (error) {
    // A newer note has come while this one was linked.
    if (error.code !== "cancelled") status.textContent = error.message;
  }
}

try {
  const pel = await Pel.load("./bundle/");
  note.addEventListener("input", () => show(pel));
  await show(pel);
} catch (error) {
  status.textContent = error.message;
}
