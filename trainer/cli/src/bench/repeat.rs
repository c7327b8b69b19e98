//! A fixed amount of work, untimed, for programs that count instructions.

use crate::bench::Options;
use crate::bench::encode::sequences;
use crate::bench::search::own_index;
use pel_artifacts::device::OpenDevice;
use pel_io::interrupt;
use pel_kb::error::{Context, Error, Result};
use pel_kernels::Isa;
use pel_linker::bundle::Bundle;
use pel_model::tokens::Encoded;
use pel_model::tower::Side;
use serde::Serialize;
use std::hint::black_box;

/// From the row of one query to that of the next; a prime, so that queries differ.
const STEP: usize = 7919;

/// The work of a run. `scripts/test/instructions` reads its JSON.
#[derive(Serialize)]
pub(crate) struct Repeated {
    /// The best instructions that the processor has, or that its emulation has.
    pub instructions: String,
    pub encodes: u32,
    pub searches: u32,
}

/// Encodes the first shape and searches the bundle's index as `pel link` does, `times` times each.
pub(crate) fn repeat(
    options: &Options,
    bundle: &Bundle,
    device: &OpenDevice,
    times: u32,
) -> Result<Repeated> {
    let mut repeated = Repeated {
        instructions: format!("{:?}", Isa::best()).to_lowercase(),
        encodes: 0,
        searches: 0,
    };
    if let Some(&shape) = options.encode_shapes.first()
        && !options.no_encode
    {
        let encoder = bundle
            .encoder(&device.device)
            .context(|| options.bundle.display().to_string())?;
        if shape.seq > encoder.max_positions() {
            return Err(Error::input(format!(
                "--encode-shapes: expected at most {} tokens, found {}",
                encoder.max_positions(),
                shape.seq
            )));
        }
        let sequences = sequences(bundle, shape);
        let sequences: Vec<&Encoded> = sequences.iter().collect();
        for _ in 0..times {
            interrupt::check()?;
            encoder.encode(Side::Mention, &sequences).map(drop)?;
        }
        repeated.encodes = times;
    }
    let rows = bundle.index.info().rows;
    if rows > 0 && !options.no_search {
        let (index, _) = own_index(bundle)?;
        for at in 0..times as usize {
            interrupt::check()?;
            black_box(index.search(&index.vector(at * STEP % rows), options.k));
        }
        repeated.searches = times;
    }
    Ok(repeated)
}
