// Hooks: a bundle, and the links of a text. Effects run in the browser alone, so that a server can render the component.

import { type Link, Pel, PelError } from "pel-linker";
import { useEffect, useState } from "react";

/** Loads a bundle. `pel` is missing while it loads, and if there is an error. */
export function usePel(bundle: string): { pel?: Pel; error?: string } {
  const [state, setState] = useState<{ pel?: Pel; error?: string }>({});
  useEffect(() => {
    const controller = new AbortController();
    let loaded: Pel | undefined;
    Pel.load(bundle, { signal: controller.signal }).then(
      (pel) => {
        // The component may have gone meanwhile.
        if (controller.signal.aborted) return pel.free();
        loaded = pel;
        setState({ pel });
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setState({ error: message(error) });
      },
    );
    return () => {
      controller.abort();
      // A worker has hundreds of megabytes of memory.
      loaded?.free();
      setState({});
    };
  }, [bundle]);
  return state;
}

/** The links of a text. While a text is linked they are those of the text before. */
export function useLinks(pel: Pel | undefined, text: string): { links: Link[]; error?: string } {
  const [state, setState] = useState<{ links: Link[]; error?: string }>({ links: [] });
  useEffect(() => {
    if (!pel) return;
    const controller = new AbortController();
    pel.link(text, { signal: controller.signal }).then(
      ({ links }) => setState({ links }),
      (error: unknown) => {
        if (!(error instanceof PelError && error.code === "cancelled")) setState({ links: [], error: message(error) });
      },
    );
    return () => controller.abort();
  }, [pel, text]);
  return state;
}

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));
