//! `pel export-vectors`: writes the vectors of a bundle to Parquet files or PostgreSQL.

use clap::Args;
use pel_artifacts::bundles;
use pel_io::outputs::{Inputs, Output};
use pel_kb::error::Result;
use pel_notes::stores::{
    ConnectionArgs, ExportArgs, ROWS_PER_FILE, check_address, export_to_postgres, write_parquet,
};
use serde_json::json;
use std::path::PathBuf;

/// Write the vectors and concepts of a bundle as Parquet files, or into PostgreSQL with pgvector,
/// where `pel link --vectors` searches them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    pel export-vectors bundle --out vectors.parquet\n  \
    pel export-vectors bundle --to postgres://writer@db.example.org/concepts --index hnsw --grant \
    readers\n\n\
    The password comes from the variable PGPASSWORD. A connection to another machine is encrypted \
    unless the address ends in ?sslmode=disable.")]
pub struct ExportVectorsArgs {
    /// Bundle
    bundle: PathBuf,
    /// Output: a file if the name ends in .parquet, else a new folder of files
    #[arg(long, required_unless_present = "to", conflicts_with = "to")]
    out: Option<PathBuf>,
    /// Most rows of a file in the output folder
    #[arg(
        long,
        value_name = "N",
        default_value_t = ROWS_PER_FILE,
        value_parser = clap::value_parser!(u32).range(1..),
    )]
    rows_per_file: u32,
    /// Address of a PostgreSQL database with pgvector
    #[arg(long, value_name = "postgres://...")]
    to: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    export: ExportArgs,
}

/// Runs `pel export-vectors`.
///
/// # Errors
/// If the bundle cannot be read, or the output cannot be written. Nothing is then left of it.
pub fn run(args: &ExportVectorsArgs, json: bool) -> Result<()> {
    if let Some(out) = &args.out {
        let inputs = Inputs::new().artifacts([args.bundle.as_path()]);
        inputs.check([
            match out.extension().is_some_and(|name| name == "parquet") {
                true => Output::File(out),
                false => Output::Folder(out),
            },
        ])?;
    }
    if let Some(to) = &args.to {
        check_address(to)?;
    }
    let bundle = bundles::open(&args.bundle)?;
    let written = match (&args.out, &args.to) {
        (Some(out), _) => write_parquet(&bundle, out, args.rows_per_file)?,
        (None, to) => {
            let to = to.as_deref().unwrap_or_default();
            export_to_postgres(&bundle, to, &args.connection, &args.export)?
        }
    };
    if json {
        let table = args.to.as_ref().map(|_| &args.connection.table);
        let report =
            json!({"rows": written.rows, "files": written.files, "out": args.out, "table": table});
        println!("{report}");
        return Ok(());
    }
    match &args.out {
        Some(out) => println!("{}: {} vectors", out.display(), written.rows),
        None => println!("{}: {} vectors", args.connection.table, written.rows),
    }
    Ok(())
}
