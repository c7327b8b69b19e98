//! LEB128: whole numbers in as few bytes as they need, 7 bits a byte, low bits first.

/// Appends a number.
pub fn write(mut value: u32, bytes: &mut Vec<u8>) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a number and moves `bytes` behind it. `None` if the bytes end early, or the number has
/// more than 32 bits.
pub fn read(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_from_as_few_bytes_as_they_need() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (u32::MAX, 5)] {
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            assert_eq!(bytes.len(), length, "{value}");
            let mut rest = &bytes[..];
            assert_eq!((read(&mut rest), rest), (Some(value), &[][..]));
        }
    }

    #[test]
    fn truncated_and_too_large_numbers_are_refused() {
        assert_eq!(read(&mut &[0x80][..]), None);
        assert_eq!(read(&mut &[0xff, 0xff, 0xff, 0xff, 0x1f][..]), None);
    }
}
