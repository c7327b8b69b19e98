//! The objects of a PDF.

use std::collections::BTreeMap;

/// An object.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Object {
    Null,
    Bool(bool),
    Number(f64),
    /// The bytes of a string.
    Text(Vec<u8>),
    Name(String),
    Array(Vec<Object>),
    Dict(Dict),
    /// The number of an object.
    Reference(u32),
    /// A keyword, such as an operator of a content stream.
    Word(String),
}

/// A dictionary.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Dict(pub BTreeMap<String, Object>);

impl Dict {
    /// The value of a key; `Null` if it is missing.
    pub fn get(&self, key: &str) -> &Object {
        self.0.get(key).unwrap_or(&Object::Null)
    }
}

impl Object {
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn count(&self) -> Option<usize> {
        let number = self.number()?;
        ((0.0..=4e9).contains(&number) && number.fract() == 0.0).then_some(number as usize)
    }

    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn array(&self) -> &[Object] {
        match self {
            Self::Array(all) => all,
            _ => &[],
        }
    }

    pub fn dict(&self) -> Option<&Dict> {
        match self {
            Self::Dict(dict) => Some(dict),
            _ => None,
        }
    }
}

/// A text string: UTF-16 or UTF-8 behind a byte order mark, else as the first 256 characters.
pub(super) fn text_string(bytes: &[u8]) -> String {
    match bytes {
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] | [0xef, 0xbb, 0xbf, ..] => {
            crate::decode::lenient(bytes, None).into_owned()
        }
        _ => crate::decode::lenient(bytes, Some("windows-1252")).into_owned(),
    }
}
