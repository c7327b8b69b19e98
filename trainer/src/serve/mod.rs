//! The page over HTTP, on this machine alone.

#[doc(hidden)]
pub mod answer;
pub mod connections;
pub mod server;
#[doc(hidden)]
pub mod site;
