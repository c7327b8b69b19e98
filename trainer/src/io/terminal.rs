//! The edge to the terminal: everything that is printed to standard output or standard error is cleaned here.
//!
//! The macros stand in for those of the standard library in this whole crate, so that no name, identifier or path reaches a
//! terminal as a command ([`pel_shared::clean::escaped`]). What brings colours of its own goes through
//! [`files::print`](crate::io::files::print), its parts cleaned one by one.

use pel_shared::clean::escaped;
use std::fmt::Arguments;

/// Prints to standard output.
///
/// # Panics
/// As the macro of the standard library, if it cannot be written; `main` turns that into an error.
pub fn out(said: Arguments<'_>) {
    std::print!("{}", escaped(&said.to_string()));
}

/// Prints to standard error.
///
/// # Panics
/// As the macro of the standard library, if it cannot be written.
pub fn err(said: Arguments<'_>) {
    std::eprint!("{}", escaped(&said.to_string()));
}

macro_rules! print {
    ($($said:tt)*) => { $crate::io::terminal::out(format_args!($($said)*)) };
}

macro_rules! println {
    () => { $crate::io::terminal::out(format_args!("\n")) };
    ($($said:tt)*) => { $crate::io::terminal::out(format_args!("{}\n", format_args!($($said)*))) };
}

macro_rules! eprintln {
    () => { $crate::io::terminal::err(format_args!("\n")) };
    ($($said:tt)*) => { $crate::io::terminal::err(format_args!("{}\n", format_args!($($said)*))) };
}

#[allow(unused_macros)] // So that the one of the standard library is not taken where it is wanted next.
macro_rules! eprint {
    ($($said:tt)*) => { $crate::io::terminal::err(format_args!($($said)*)) };
}
