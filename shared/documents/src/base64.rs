//! Base64 as writers of FHIR, CDA and HL7 v2 have it: with line ends, and with or without padding.

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use pel_kb::error::{Error, Result};
use std::borrow::Cow;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of base64.
///
/// # Errors
/// If it is not base64.
pub(crate) fn decoded(data: &str) -> Result<Vec<u8>> {
    let data = match data.bytes().any(|byte| byte.is_ascii_whitespace()) {
        true => Cow::Owned(data.split_ascii_whitespace().collect::<String>()),
        false => Cow::Borrowed(data),
    };
    BASE64
        .decode(data.as_bytes())
        .map_err(|cause| Error::input("the content is not base64").caused_by(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_missing_padding_are_read() {
        for data in ["ZmV2ZXI=", "ZmV2ZXI", "ZmV2\r\nZXI=\n"] {
            assert_eq!(decoded(data).expect("valid"), b"fever");
        }
        assert!(decoded("Zm?=").is_err());
    }
}
