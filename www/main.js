// Loads the wasm package that lies beside this page and says which version it is.

import init, { version } from "./pkg/pel_web.js";

const output = document.getElementById("version");
try {
  await init();
  output.textContent = version();
} catch (error) {
  output.textContent = `PEL could not be loaded: ${error.message}`;
}
