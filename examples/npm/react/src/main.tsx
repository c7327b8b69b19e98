import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Note } from "./Note";

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Note bundle="./bundle/" first="No fever, no chest pain. Known diabetes." />
    </StrictMode>,
  );
}
