// Loads the wasm package that lies beside this page and says which version it is.

import { build } from "./engine.js";

const output = document.getElementById("version");
try {
  const { default: init, version } = await import(`./pkg/${build}pel_web.js`);
  await init();
  output.textContent = version();
} catch (error) {
  output.textContent = `PEL could not be loaded: ${error.message}`;
}
