// Light or dark colours: the system's setting, until the reader chooses.

import { byId } from "./dom.js";

const KEY = "pel-theme";

export function createTheme() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const sheet = byId("dark");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    // Paper is white.
    sheet.media = isDark() ? "screen" : "not all";
  };

  const kept = recall();
  if (kept === "light" || kept === "dark") root.dataset.theme = kept;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    keep(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

// Browsers may forbid storage.
function recall() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice holds for this visit only.
  }
}
