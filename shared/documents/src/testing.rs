//! Archives for tests.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use std::io::Write;

/// A ZIP archive of members packed by Deflate.
pub(crate) fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in members {
        let (mut entry, config) = archive
            .new_file(name)
            .compression_method(rawzip::CompressionMethod::DEFLATE)
            .start()
            .expect("memory does not run out");
        let encoder = DeflateEncoder::new(&mut entry, Compression::default());
        let mut writer = config.wrap(encoder);
        writer.write_all(content).expect("memory does not run out");
        let (encoder, descriptor) = writer.finish().expect("memory does not run out");
        encoder.finish().expect("memory does not run out");
        entry.finish(descriptor).expect("memory does not run out");
    }
    archive.finish().expect("memory does not run out");
    bytes
}
