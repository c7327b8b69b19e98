//! `pel`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(pel_cli::cli::main(std::env::args_os()))
}
