//! Files that tests of several modules write.

use std::io::Write;
use std::path::Path;

/// Writes a ZIP archive with compressed members, given as names and contents.
///
/// # Panics
/// If it cannot be written.
pub fn zipped(path: &Path, members: &[(&str, &[u8])]) {
    let file = std::fs::File::create(path).expect("created");
    let mut archive = rawzip::ZipArchiveWriter::new(std::io::BufWriter::new(file));
    for (name, bytes) in members {
        let (mut entry, config) = archive
            .new_file(*name)
            .compression_method(rawzip::CompressionMethod::DEFLATE)
            .start()
            .expect("started");
        let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::fast());
        let mut writer = config.wrap(encoder);
        writer.write_all(bytes).expect("written");
        let (encoder, descriptor) = writer.finish().expect("finished");
        encoder.finish().expect("flushed");
        entry.finish(descriptor).expect("closed");
    }
    archive.finish().expect("closed");
}
