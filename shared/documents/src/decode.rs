//! Bytes to characters, by byte order mark, declared character set, or what the bytes show.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use pel_kb::error::{Error, Result};
use std::borrow::Cow;

/// The text of bytes in a named character set; without one in UTF-8, or where they are not valid
/// UTF-8 in windows-1252. A byte order mark takes precedence. Bytes that the set does not have
/// become U+FFFD.
pub(crate) fn lenient<'b>(bytes: &'b [u8], charset: Option<&str>) -> Cow<'b, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    let named = charset.and_then(|name| Encoding::for_label(name.trim().as_bytes()));
    match named {
        Some(encoding) if encoding != UTF_8 => encoding.decode_without_bom_handling(bytes).0,
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) if named.is_some() => String::from_utf8_lossy(bytes),
            Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
        },
    }
}

/// The text of bytes in a named character set, else in UTF-8.
///
/// # Errors
/// If the set is unknown, or a byte is not of it.
pub(crate) fn strict(bytes: &[u8], charset: Option<&str>) -> Result<String> {
    let encoding = match charset {
        None => UTF_8,
        Some(name) => Encoding::for_label(name.as_bytes()).ok_or_else(|| {
            let name: String = name.chars().take(40).collect();
            Error::input(format!("the charset {name:?} of contentType is unknown"))
        })?,
    };
    if encoding == UTF_8 {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        return String::from_utf8(bytes.to_vec()).map_err(|error| {
            Error::input(format!(
                "the attachment is not UTF-8 from byte {} on; name its encoding in contentType, \
                 such as text/plain; charset=windows-1252",
                error.utf8_error().valid_up_to()
            ))
        });
    }
    let (text, used, wrong) = encoding.decode(bytes);
    match wrong {
        false => Ok(text.into_owned()),
        true => Err(Error::input(format!(
            "the attachment has bytes that {} does not have; correct the charset of contentType",
            used.name()
        ))),
    }
}

/// The text of an XML document, whose declaration may name a character set.
pub(crate) fn xml(bytes: &[u8]) -> Cow<'_, str> {
    let head = &bytes[..bytes.len().min(256)];
    let head = String::from_utf8_lossy(head);
    let declared = head
        .trim_start()
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next())
        .and_then(|declaration| declaration.split_once("encoding"))
        .and_then(|(_, rest)| rest.trim_start().strip_prefix('='))
        .map(str::trim_start)
        .and_then(|value| {
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            value[1..].split(quote).next()
        });
    lenient(bytes, declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_set_is_that_of_the_mark_else_the_declared_one() {
        assert_eq!(
            lenient(b"\xef\xbb\xbfFi\xc3\xa8vre", Some("latin1")),
            "Fièvre"
        );
        assert_eq!(lenient(b"Fi\xe8vre", None), "Fièvre");
        assert_eq!(lenient(b"\xff\xfeF\0", None), "F");
        assert_eq!(
            xml(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe8</a>"),
            { "<?xml version='1.0' encoding='ISO-8859-1'?><a>è</a>" }
        );
        assert!(strict(b"\xe8", None).is_err());
        assert_eq!(strict(b"\xe8", Some("windows-1252")).expect("valid"), "è");
    }
}
