//! Serves the page over HTTP, and connections for the REST interface.

#[doc(hidden)]
pub mod answer;
pub mod connections;
pub mod server;
#[doc(hidden)]
pub mod site;
#[cfg(feature = "api")]
pub mod tls;
