//! Output to the terminal: all text for standard output and standard error is escaped here.
//!
//! The macros replace those of the standard library in this crate, so that no name or path can send
//! commands to a terminal ([`pel_shared::clean::escaped`]). Coloured text goes through
//! [`files::print`](crate::io::files::print), with each part escaped separately.

use pel_shared::clean::escaped;
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

macro_rules! print {
    ($($message:tt)*) => { $crate::io::terminal::out(format_args!($($message)*)) };
}

macro_rules! println {
    () => { $crate::io::terminal::out(format_args!("\n")) };
    ($($message:tt)*) => { $crate::io::terminal::out(format_args!("{}\n", format_args!($($message)*))) };
}

macro_rules! eprintln {
    () => { $crate::io::terminal::err(format_args!("\n")) };
    ($($message:tt)*) => { $crate::io::terminal::err(format_args!("{}\n", format_args!($($message)*))) };
}

#[allow(unused_macros)] // Shadows the standard library's macro for future uses.
macro_rules! eprint {
    ($($message:tt)*) => { $crate::io::terminal::err(format_args!($($message)*)) };
}
