//! The browser around the WebAssembly instance: its console and its clock.

use js_sys::{Reflect, global};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Performance, console};

/// Writes panics to the console; the trap that follows says only `unreachable`.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| {
        console::error_1(&panic.to_string().into())
    }));
}

/// One step of linking, timed. The browser's performance tools show it as a measure of the given
/// name.
pub struct Timer {
    name: &'static str,
    performance: Performance,
    start: f64,
}

impl Timer {
    pub fn start(name: &'static str) -> Self {
        // Windows and workers both have it, and no common type.
        let performance =
            Reflect::get(&global(), &"performance".into()).unwrap_or(JsValue::UNDEFINED);
        let performance = performance.unchecked_into::<Performance>();
        let _ = performance.mark(name);
        Self {
            name,
            start: performance.now(),
            performance,
        }
    }

    /// Ends the step; gives its milliseconds.
    pub fn stop(self) -> f64 {
        let ms = self.performance.now() - self.start;
        let _ = self
            .performance
            .measure_with_start_mark(self.name, self.name);
        // Observers have the measure already; without this the list would grow with every note.
        self.performance.clear_marks_with_mark_name(self.name);
        self.performance.clear_measures_with_measure_name(self.name);
        ms
    }
}
