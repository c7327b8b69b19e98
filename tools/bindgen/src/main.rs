//! Writes the JavaScript glue of a WebAssembly module: `pel-bindgen MODULE.wasm FOLDER`.
//!
//! This is `wasm-bindgen --target web` without its other options. `scripts/build/wasm-build` builds and
//! calls it.

use anyhow::{Context, bail};
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        bail!(
            "expected two arguments, the module and the folder of the glue, found {}",
            arguments.len()
        );
    };
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .omit_default_module_path(false)
        .generate(folder)
        .with_context(|| format!("writing the glue of {}", Path::new(module).display()))
}
