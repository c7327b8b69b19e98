import { useState } from "react";
import { useLinks, usePel } from "./pel";

/** A note that is linked as one types. */
export function Note({ bundle, first }: { bundle: string; first: string }) {
  const [text, setText] = useState(first);
  const loading = usePel(bundle);
  const { links, error } = useLinks(loading.pel, text);
  const trouble = loading.error ?? error;
  return (
    <main>
      <h1>Concepts in a note</h1>
      <textarea rows={8} cols={60} value={text} onChange={(event) => setText(event.target.value)} />
      <p role="status">{trouble ?? (loading.pel ? `${links.length} mentions` : "Loading the model …")}</p>
      <ol>
        {links.map((link) => (
          <li key={`${link.start} ${link.end}`}>
            {link.text}: {link.concept?.id ?? "NIL"}
            {link.negated ? ", negated" : ""}
          </li>
        ))}
      </ol>
    </main>
  );
}
