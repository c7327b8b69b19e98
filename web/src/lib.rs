//! PEL in a web page: a wasm-bindgen shell. All arithmetic is in the crates of `shared`.

mod additions;
mod browser;
mod engine;
mod failure;
mod files;
#[cfg_attr(not(feature = "gpu"), path = "no_gpu.rs")]
mod gpu;
mod helper;
#[cfg(feature = "parts")]
mod parts;
mod shapes;

pub use engine::Engine;
pub use files::Files;
pub use helper::Helper;

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of PEL, for example `0.2.0`: what a page shows and what a bug report should name.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_has_three_numbers() {
        let version = super::version();
        let numbers: Vec<_> = version.split('.').map(str::parse::<u32>).collect();
        assert!(
            numbers.len() == 3 && numbers.iter().all(Result::is_ok),
            "{version}"
        );
    }
}
