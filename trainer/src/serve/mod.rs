//! The page over HTTP, on this machine alone.

#[doc(hidden)]
pub mod answer;
pub mod connections;
#[doc(hidden)]
pub mod site;
