//! The compiled part of the Python package `pel_linker`. Linking is that of
//! [`pel_notes::link::text_linker`].

mod arrow;
mod beside;
mod engine;
mod errors;
mod links;
mod options;
mod spans;
mod work;

use clap::ValueEnum;
use pel_notes::link::format::Format;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

/// The formats of `Linker.write`, by name.
#[pyfunction]
fn formats() -> Vec<String> {
    Format::value_variants()
        .iter()
        .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
        .collect()
}

/// Runs the command line with arguments, without the name of the program. Returns its exit code.
#[pyfunction]
#[pyo3(name = "main")]
fn run_program(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let all = std::iter::once(OsString::from("pel")).chain(args);
    py.detach(|| {
        let code = pel_cli::cli::main(all);
        // A program does this at its end, a library does not.
        let _ = std::io::stdout().flush();
        code
    })
}

/// The compiled part of `pel_linker`.
#[pymodule(name = "_pel")]
fn extension(module: &Bound<'_, PyModule>) -> PyResult<()> {
    work::silence_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(formats, module)?)?;
    module.add_function(wrap_pyfunction!(run_program, module)?)?;
    module.add_function(wrap_pyfunction!(links::unpickled, module)?)?;
    module.add_function(wrap_pyfunction!(options::chosen_systems, module)?)?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<links::Link>()?;
    module.add_class::<beside::Attribute>()?;
    module.add_class::<beside::Relation>()?;
    module.add_class::<links::Candidate>()?;
    module.add_class::<links::Concept>()?;
    module.add_class::<links::Code>()?;
    module.add_class::<arrow::RecordBatch>()?;
    Ok(())
}
