//! Identifiers of resources. They follow from what a resource is about, so that the same links give
//! the same resources.

use crate::facts::hash;

/// The UUID (version 8) of several values.
pub(super) fn id(values: &[&[u8]]) -> String {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash(values).as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// The UUID of several values as a URN, which references within a bundle use.
pub(super) fn urn(values: &[&[u8]]) -> String {
    of(&id(values))
}

/// The URN of a UUID.
pub(super) fn of(id: &str) -> String {
    format!("urn:uuid:{id}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn identifiers_are_uuids_of_version_8() {
        let one = id(&[b"note", b"1"]);
        let read = Uuid::parse_str(&one).expect("a UUID");
        assert_eq!(read.get_version_num(), 8);
        assert_eq!(one, id(&[b"note", b"1"]));
        assert_ne!(one, id(&[b"note1", b""]));
        assert_eq!(urn(&[b"note", b"1"]), format!("urn:uuid:{one}"));
    }
}
