//! `pel serve`: serves the page and a bundle to browsers over HTTP, and the REST interface.

use super::listening::Listening;
#[cfg(feature = "api")]
use super::serve_api::ApiArgs;
use clap::Args;
use pel_artifacts::device::DeviceArgs;
use pel_kb::error::{Error, Result};
use pel_server::serve::site::Site;
use std::path::PathBuf;

/// Serve the page and a bundle to the browser of this machine, or link texts over HTTP
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel serve --page page\n  \
    pel serve --page page --bundle bundle.pel\n  \
    pel serve --page page --bundle bundle --port 0 --json\n  \
    pel serve --api --bundle bundle.pel\n\n\
    Files are read once at the start; restart after a change. Files whose names begin with a dot \
    are not served. Notes are read in the browser and not sent; requests are not logged. Ctrl-C \
    stops the server.\n\n\
    With --api (in the programs of a release; else cargo feature `api`) texts are sent to the \
    server, which neither logs nor stores them.\n\n\
    If all connections are in use, a new client replaces the one that has been idle longest, or \
    gets status 503. A request head may have 16 KiB and 64 lines.")]
pub struct ServeArgs {
    /// Folder of the built page, with index.html
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Bundle to check and serve at /bundle/ instead of the page's own, and to link with (--api)
    #[arg(long)]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    listening: Listening,
    #[command(flatten)]
    api: ApiArgs,
}

/// Stands for the options of the REST interface, which this program lacks.
#[cfg(not(feature = "api"))]
#[derive(Debug, Args)]
struct ApiArgs {
    /// Link texts over HTTP (not in this program: it was built without the cargo feature `api`)
    #[arg(long)]
    api: bool,
}

/// Runs `pel serve`, until Ctrl-C.
///
/// # Errors
/// If the folder has no page, the bundle or another file is damaged, or the address cannot be used.
pub fn run(args: &ServeArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let listening = &args.listening;
    #[cfg(feature = "api")]
    if let Some(port) = args.api.probe {
        return pel_server::api::probe::probe(port);
    }
    if args.api.api {
        return run_api(args, device, json);
    }
    let Some(page) = &args.page else {
        return Err(Error::usage(
            "say what to serve: the page with --page FOLDER, or the REST interface with --api",
        ));
    };
    let site = Site::read(page, args.bundle.as_deref())?;
    let (listener, at) = listening.bind()?;
    let local = at.ip().is_loopback();
    let server = listening.server(listener)?;
    listening.announce(at, false, site.files(), json);
    if !local {
        eprintln!(
            "warning: others on the network can reach the page at port {} of this machine. Their \
             notes stay in their browsers. Over plain HTTP browsers offer no GPU and no offline \
             use",
            at.port()
        );
    }
    server.run(
        site,
        local,
        listening.limits(local),
        listening.read_timeout(),
    );
    Ok(())
}

#[cfg(feature = "api")]
fn run_api(args: &ServeArgs, device: &DeviceArgs, json: bool) -> Result<()> {
    let Some(bundle) = &args.bundle else {
        return Err(Error::usage(
            "--api: name the bundle to link with by --bundle",
        ));
    };
    let page = args.page.as_deref();
    args.api.run(bundle, page, &args.listening, device, json)
}

#[cfg(not(feature = "api"))]
fn run_api(_: &ServeArgs, _: &DeviceArgs, _: bool) -> Result<()> {
    Err(Error::usage(
        "--api: expected a program with the cargo feature `api`, as those of a release, found one \
         without",
    ))
}
