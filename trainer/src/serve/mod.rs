//! Serves the page over HTTP.

#[doc(hidden)]
pub mod answer;
pub mod connections;
pub mod server;
#[doc(hidden)]
pub mod site;
