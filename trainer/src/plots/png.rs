//! The PNG file of a picture: three bytes a pixel, rows as differences to the row above, one compressed chunk.

use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use pel_shared::error::{Error, Result};
use std::io::Write;
use tiny_skia::Pixmap;

/// What every PNG begins with.
pub(super) const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The filter of a row whose bytes are differences to the bytes above.
pub(super) const UP: u8 = 2;

/// Encodes a picture that nothing shines through: its transparency is left out.
pub(super) fn encoded(picture: &Pixmap) -> Result<Vec<u8>> {
    let width = picture.width() as usize;
    let (mut above, mut row) = (vec![0u8; 3 * width], Vec::<u8>::with_capacity(3 * width));
    let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
    let failed = |cause| Error::io("compressing a picture").caused_by(cause);
    for pixels in picture.data().chunks_exact(4 * width) {
        row.clear();
        row.extend(pixels.chunks_exact(4).flat_map(|pixel| &pixel[..3]));
        let mut filtered = vec![UP];
        filtered.extend(row.iter().zip(&above).map(|(&here, &above)| here.wrapping_sub(above)));
        compressed.write_all(&filtered).map_err(failed)?;
        std::mem::swap(&mut above, &mut row);
    }
    let mut header = Vec::new();
    header.extend(picture.width().to_be_bytes());
    header.extend(picture.height().to_be_bytes());
    // 8 bits a colour, red, green and blue, and the only compression, filters and order that there are.
    header.extend([8, 2, 0, 0, 0]);
    let mut png = SIGNATURE.to_vec();
    chunk(&mut png, b"IHDR", &header)?;
    chunk(&mut png, b"IDAT", &compressed.finish().map_err(failed)?)?;
    chunk(&mut png, b"IEND", &[])?;
    Ok(png)
}

/// Length, name, data, checksum of name and data.
fn chunk(png: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) -> Result<()> {
    let length =
        u32::try_from(data.len()).map_err(|cause| Error::io("a picture too large for PNG").caused_by(cause))?;
    let mut checksum = Crc::new();
    checksum.update(name);
    checksum.update(data);
    png.extend(length.to_be_bytes());
    png.extend(name);
    png.extend(data);
    png.extend(checksum.sum().to_be_bytes());
    Ok(())
}
