//! Values in PostgreSQL's binary form.

use bytes::{BufMut, BytesMut};
use std::error::Error as StdError;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A vector in pgvector's binary form.
#[derive(Debug)]
pub struct Vector<'a>(pub &'a [f32]);

impl ToSql for Vector<'_> {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.put_u16(u16::try_from(self.0.len())?);
        // Unused by pgvector.
        out.put_u16(0);
        self.0.iter().for_each(|value| out.put_f32(*value));
        Ok(IsNull::No)
    }

    fn accepts(column: &Type) -> bool {
        column.name() == "vector"
    }

    to_sql_checked!();
}

/// JSON for a column of type `jsonb`.
#[derive(Debug)]
pub struct Jsonb(pub String);

impl ToSql for Jsonb {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        // The version of the form.
        out.put_u8(1);
        out.put_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(column: &Type) -> bool {
        *column == Type::JSONB
    }

    to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_has_its_length_and_big_endian_floats() {
        let mut out = BytesMut::new();
        let written = Vector(&[1.0, -2.5]).to_sql(&Type::BYTEA, &mut out);
        assert!(matches!(written, Ok(IsNull::No)));
        assert_eq!(out[..], [0, 2, 0, 0, 0x3f, 0x80, 0, 0, 0xc0, 0x20, 0, 0]);
        let long = vec![0.0; 1 << 16];
        assert!(Vector(&long).to_sql(&Type::BYTEA, &mut out).is_err());
    }
}
