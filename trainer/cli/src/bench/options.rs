//! The options of a benchmark.

use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

/// Rows and tokens of a batch, written as `16x64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub batch: usize,
    pub seq: usize,
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected rows and tokens such as 16x64, found {text:?}");
        let (batch, seq) = text.split_once('x').ok_or_else(expected)?;
        let number = |part: &str| match part.parse::<usize>() {
            Ok(number) if (1..=1 << 20).contains(&number) => Ok(number),
            _ => Err(expected()),
        };
        Ok(Self {
            batch: number(batch)?,
            seq: number(seq)?,
        })
    }
}

/// The options of `pel bench`.
#[derive(Debug, Args)]
pub struct Options {
    /// Bundle to measure
    #[arg(long)]
    pub(crate) bundle: PathBuf,
    /// Also measure the encoder of this bundle, for example the same one in int8
    #[arg(long, value_name = "BUNDLE")]
    pub(crate) int8_bundle: Option<PathBuf>,
    /// Also measure this ranker, the model of `pel train --stage rank`: 16 pairs of 128 tokens, a
    /// mention with its candidates
    #[arg(long, value_name = "MODEL")]
    pub(crate) ranker: Option<PathBuf>,
    /// Read the token ids of the pairs from a file (raw little-endian u32)
    #[arg(long, value_name = "FILE", requires = "ranker")]
    pub(crate) pairs_from: Option<PathBuf>,
    /// Vectors to search: the bundle's own, then means of two of them [default: the bundle's
    /// number]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub(crate) rows: Option<u32>,
    /// Neighbours of an exact search
    #[arg(short, long, default_value_t = 64)]
    pub(crate) k: usize,
    /// Queries of a search, taken from the vectors
    #[arg(long, default_value_t = 256)]
    pub(crate) queries: usize,
    /// Read the queries from a file (raw little-endian f32)
    #[arg(long, value_name = "FILE", conflicts_with = "queries")]
    pub(crate) queries_from: Option<PathBuf>,
    /// Take as queries the mentions of the notes in this folder, at most --queries of them
    #[arg(long, value_name = "FOLDER", conflicts_with = "queries_from")]
    pub(crate) query_notes: Option<PathBuf>,
    /// Compare the bundle's index with exact search over these vectors, which `pel index
    /// --export-vectors` wrote before quantisation (raw little-endian f32)
    #[arg(long, value_name = "FILE")]
    pub(crate) floats: Option<PathBuf>,
    /// Write the queries to a file (raw little-endian f32)
    #[arg(long, value_name = "FILE")]
    pub(crate) export_queries: Option<PathBuf>,
    /// Also search an HNSW graph with these search depths (ef), separated by commas
    #[arg(long, value_name = "EF", value_delimiter = ',')]
    pub(crate) hnsw: Vec<usize>,
    /// Vectors in the HNSW graph, the first ones [default: all]
    #[arg(long, value_name = "ROWS")]
    pub(crate) hnsw_rows: Option<usize>,
    /// Neighbours of an HNSW search
    #[arg(long, default_value_t = 10)]
    pub(crate) hnsw_k: usize,
    /// Also search an index with this number of cells
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) cells: Option<u32>,
    /// The cells that a search reads, several numbers separated by commas
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        default_value = "32",
        requires = "cells"
    )]
    pub(crate) probes: Vec<usize>,
    /// Folder to cache graphs and cells in
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cache: Option<PathBuf>,
    /// Link the notes of this folder, compare with the encoder's throughput, and print the time of
    /// each step and the size of each file of the bundle
    #[arg(long, value_name = "FOLDER", conflicts_with = "no_encode")]
    pub(crate) notes: Option<PathBuf>,
    /// Minimum time of one measurement, in seconds
    #[arg(long, default_value_t = 0.5, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Write the searched vectors to a file (raw little-endian f32)
    #[arg(long, value_name = "FILE")]
    pub(crate) export_vectors: Option<PathBuf>,
    /// Write the rows that each kind of search found, a file for each (raw little-endian u32, k for
    /// each query)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) export_found: Option<PathBuf>,
    /// Batches to encode: rows and tokens
    #[arg(
        long,
        value_name = "ROWSxTOKENS",
        value_delimiter = ',',
        default_value = "1x32,1x128,16x64,32x128"
    )]
    pub(crate) encode_shapes: Vec<Shape>,
    /// Also measure training: forward and backward of a batch of texts, and whole steps of as many
    /// pairs
    #[arg(long)]
    pub(crate) train: bool,
    /// Batches to train on: rows and tokens
    #[arg(
        long,
        value_name = "ROWSxTOKENS",
        value_delimiter = ',',
        default_value = "16x64"
    )]
    pub(crate) train_shapes: Vec<Shape>,
    /// Encode the first batch and search the bundle's index N times each and time nothing, for
    /// programs that count instructions
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = [
            "int8_bundle", "ranker", "rows", "queries_from", "query_notes", "floats",
            "export_queries", "hnsw", "cells", "cache", "notes", "export_vectors", "export_found",
            "train", "kernels",
        ]
    )]
    pub(crate) repeat: Option<u32>,
    /// Also measure each kernel with each instruction set of this processor
    #[arg(long)]
    pub(crate) kernels: bool,
    /// Skip encoding
    #[arg(long)]
    pub(crate) no_encode: bool,
    /// Skip searching
    #[arg(long)]
    pub(crate) no_search: bool,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err(format!("expected 0 to 3600 seconds, found {text:?}")),
    }
}
