//! Output to the terminal: all text for standard output and standard error is escaped here.
//!
//! The macros replace those of the standard library in the crates of the programs, so that no name or path can send
//! commands to a terminal ([`pel_kb::clean::escaped`]). Coloured text goes through
//! [`files::print`](crate::files::print), with each part escaped separately.

use pel_kb::clean::escaped;
use std::fmt::{Arguments, Display};

/// A number of things, such as `1 note` or `2 notes`.
pub fn counted<N: Display + From<u8> + PartialEq>(count: N, thing: &str) -> String {
    let plural = if count == N::from(1_u8) { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// Prints to standard output.
///
/// # Panics
/// If standard output cannot be written; `main` turns that into an error.
pub fn out(message: Arguments<'_>) {
    std::print!("{}", escaped(&message.to_string()));
}

/// Prints to standard error.
///
/// # Panics
/// If standard error cannot be written.
pub fn err(message: Arguments<'_>) {
    std::eprint!("{}", escaped(&message.to_string()));
}

/// `std::print!` with its text escaped.
#[macro_export]
macro_rules! print {
    ($($message:tt)*) => { $crate::terminal::out(format_args!($($message)*)) };
}

/// `std::println!` with its text escaped.
#[macro_export]
macro_rules! println {
    () => { $crate::terminal::out(format_args!("\n")) };
    ($($message:tt)*) => { $crate::terminal::out(format_args!("{}\n", format_args!($($message)*))) };
}

/// `std::eprintln!` with its text escaped.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::terminal::err(format_args!("\n")) };
    ($($message:tt)*) => { $crate::terminal::err(format_args!("{}\n", format_args!($($message)*))) };
}

/// `std::eprint!` with its text escaped.
#[macro_export]
macro_rules! eprint {
    ($($message:tt)*) => { $crate::terminal::err(format_args!($($message)*)) };
}
