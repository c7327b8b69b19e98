//! The line `sep=;`, which Excel writes before the header of a table and reads there.

/// The delimiter of a line `sep=;`, which Excel writes before the header.
pub(crate) fn declared_delimiter(line: &[u8]) -> Option<u8> {
    let line = line
        .strip_prefix(b"\"")
        .and_then(|line| line.strip_suffix(b"\""))
        .unwrap_or(line);
    match line {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] if delimiter.is_ascii() => {
            Some(*delimiter)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_may_be_quoted_and_in_capitals() {
        assert_eq!(declared_delimiter(b"sep=;"), Some(b';'));
        assert_eq!(declared_delimiter(b"\"SEP=\t\""), Some(b'\t'));
        assert_eq!(declared_delimiter(b"sep=;;"), None);
        assert_eq!(declared_delimiter(b"separator;term"), None);
    }
}
