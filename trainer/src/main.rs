//! `pel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pel_trainer::cli::main(std::env::args_os()))
}
