//! Goldens and whole pipelines, across the crates.

mod added;
mod beside;
mod candidates;
mod detector;
mod encoder;
mod gpu_rows;
mod interchange;
mod names;
mod pipeline;
mod plain_names;
mod report;
mod report_parts;
mod sum_of_max;
mod tokens;
mod training;
mod wordings;
