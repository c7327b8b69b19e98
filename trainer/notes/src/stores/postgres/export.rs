//! Writes a store: new tables beside the old ones, which are replaced at the end, all in one
//! transaction.

use super::address::Address;
use super::connection::{Answer, Connection};
use super::values::{Jsonb, Vector};
use super::{MARK, Tables};
use crate::stores::rows::{FORMAT, Identity, description, rows};
use crate::stores::{ConnectionArgs, ExportArgs, StoreIndex, Written};
use bytes::Bytes;
use pel_io::progress::Progress;
use pel_kb::ConceptId;
use pel_kb::error::{Error, Result};
use pel_linker::bundle::Bundle;
use std::pin::pin;
use tokio_postgres::CopyInSink;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

/// The longest vector that pgvector stores.
const LONGEST: usize = 16_000;

/// The longest vector that pgvector indexes.
const LONGEST_INDEXED: usize = 2_000;

/// Rows per cell of an index, as pgvector advises.
const PER_CELL: usize = 1_000;

/// The rows that are sent between two checks for Ctrl-C.
const BATCH: usize = 256;

/// Writes the vectors and concepts of a bundle into a database.
///
/// # Errors
/// If the server cannot be reached, lacks pgvector, has other tables of these names, or refuses.
/// The database is then as before.
pub fn export(
    bundle: &Bundle,
    url: &str,
    to: &ConnectionArgs,
    args: &ExportArgs,
) -> Result<Written> {
    check_dim(bundle, args.index)?;
    let address = Address::parse(url, to.ca.as_deref(), "pel export-vectors")?;
    let connection = Connection::open(address, to.patience())?;
    let export = Export {
        bundle,
        args,
        connection: &connection,
        name: &to.table,
        old: Tables::of(&to.table),
        new: Tables::of(&format!("{}_new", to.table)),
    };
    export.run()?;
    Ok(Written {
        rows: rows(bundle).count(),
        files: 0,
    })
}

fn check_dim(bundle: &Bundle, index: StoreIndex) -> Result<()> {
    let dim = bundle.index.info().dim;
    let (most, what) = match index {
        StoreIndex::None => (LONGEST, "stores"),
        _ => (LONGEST_INDEXED, "indexes"),
    };
    match dim <= most {
        true => Ok(()),
        false => Err(Error::input(format!(
            "pgvector {what} at most {most} values of a vector, the bundle has {dim}"
        ))),
    }
}

struct Export<'a> {
    bundle: &'a Bundle,
    args: &'a ExportArgs,
    connection: &'a Connection,
    name: &'a str,
    old: Tables,
    new: Tables,
}

impl Export<'_> {
    fn run(&self) -> Result<()> {
        // Without a commit the server undoes everything when the connection ends.
        self.execute("beginning", "BEGIN")?;
        super::search::check_extension(self.connection)?;
        self.take_turn()?;
        self.check_old()?;
        self.make_tables()?;
        self.copy_concepts()?;
        self.copy_vectors()?;
        self.describe()?;
        self.make_indexes()?;
        self.swap()?;
        self.execute("committing", "COMMIT")
    }

    fn execute(&self, doing: &str, statement: &str) -> Result<()> {
        let running = self.connection.client().batch_execute(statement);
        Ok(self.connection.wait(doing, running)?)
    }

    /// As [`Export::execute`], for work that takes as long as the table is large.
    fn execute_slowly(&self, doing: &str, statement: &str) -> Result<()> {
        let running = self.connection.client().batch_execute(statement);
        Ok(self.connection.wait_at_most(None, doing, running)?)
    }

    /// Refuses to write a store that another process is writing.
    fn take_turn(&self) -> Result<()> {
        let key = format!("pel export-vectors {}", self.name);
        let asked = "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))";
        let client = self.connection.client();
        let locked = self
            .connection
            .wait("locking", client.query_one(asked, &[&key]))?;
        match locked.get(0) {
            true => Ok(()),
            false => Err(Error::io(format!(
                "{}: another pel export-vectors is writing {}",
                self.connection.address(),
                self.name
            ))),
        }
    }

    /// Refuses to replace tables of others, and a store without `--replace`.
    fn check_old(&self) -> Result<()> {
        let address = self.connection.address();
        let asked =
            "SELECT obj_description(to_regclass($1), 'pg_class') WHERE to_regclass($1) IS NOT NULL";
        for (table, new) in self.old.each().into_iter().zip(self.new.each()) {
            for table in [table, new] {
                let values: [&(dyn ToSql + Sync); 1] = [&table];
                let finding = self.connection.client().query_opt(asked, &values);
                let found = self.connection.wait("looking for tables", finding)?;
                let Some(row) = found else { continue };
                let comment: Option<String> = row.get(0);
                if !comment.is_some_and(|comment| comment.starts_with(MARK)) {
                    return Err(Error::usage(format!(
                        "{address}: the table {table} is not from pel export-vectors, so it stays; \
                         choose another --table"
                    )));
                }
                if !self.args.replace {
                    return Err(Error::usage(format!(
                        "{address}: the table {table} exists; --replace replaces it, --table \
                         chooses another"
                    )));
                }
            }
        }
        Ok(())
    }

    fn make_tables(&self) -> Result<()> {
        let dim = self.bundle.index.info().dim;
        let Tables {
            bundle,
            vectors,
            concepts,
        } = &self.new;
        let statement = format!(
            "CREATE TABLE {bundle} (
                only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
                format integer NOT NULL,
                digest text NOT NULL,
                index_blake3 text NOT NULL,
                concepts_blake3 text NOT NULL,
                encoder text NOT NULL,
                encoder_blake3 text NOT NULL,
                dim integer NOT NULL,
                mix real NOT NULL,
                about jsonb NOT NULL,
                written_at timestamptz NOT NULL DEFAULT now()
            );
            CREATE TABLE {vectors} (
                row_number integer NOT NULL,
                concept integer NOT NULL,
                kind text NOT NULL,
                vector vector({dim}) NOT NULL
            );
            CREATE TABLE {concepts} (
                number integer NOT NULL,
                id text NOT NULL,
                name text NOT NULL,
                types text[] NOT NULL,
                type_ids text[] NOT NULL,
                sources text[] NOT NULL,
                concept jsonb NOT NULL
            );"
        );
        self.execute("making tables", &statement)
    }

    fn copy_concepts(&self) -> Result<()> {
        let count = self.bundle.concepts.len();
        let columns = [
            Type::INT4,
            Type::TEXT,
            Type::TEXT,
            Type::TEXT_ARRAY,
            Type::TEXT_ARRAY,
            Type::TEXT_ARRAY,
            Type::JSONB,
        ];
        let mut progress = Progress::new("sending concepts", count as u64, "concepts");
        let mut copy = self.copy_into(&self.new.concepts, &columns)?;
        for first in (0..count).step_by(BATCH) {
            let mut some = Vec::new();
            for at in first..count.min(first + BATCH) {
                let concept = self.bundle.concepts.get(ConceptId(at as u32))?;
                let json = serde_json::to_string(&concept)
                    .map_err(|cause| Error::artifact("encoding a concept").caused_by(cause))?;
                some.push((at as i32, concept, Jsonb(json)));
            }
            let values: Vec<[&(dyn ToSql + Sync); 7]> = some
                .iter()
                .map(|(number, concept, json)| -> [&(dyn ToSql + Sync); 7] {
                    [
                        number,
                        &concept.id,
                        &concept.name,
                        &concept.types,
                        &concept.type_ids,
                        &concept.sources,
                        json,
                    ]
                })
                .collect();
            copy.send(&values)?;
            progress.advance(some.len() as u64);
        }
        copy.finish()
    }

    fn copy_vectors(&self) -> Result<()> {
        let index = &self.bundle.index;
        let client = self.connection.client();
        let preparing = client.prepare("SELECT NULL::vector");
        let prepared = self.connection.wait("asking for a type", preparing)?;
        let vector = prepared.columns()[0].type_().clone();
        let columns = [Type::INT4, Type::INT4, Type::TEXT, vector];
        let mut progress =
            Progress::new("sending vectors", rows(self.bundle).count() as u64, "rows");
        let mut copy = self.copy_into(&self.new.vectors, &columns)?;
        let mut rows = rows(self.bundle);
        loop {
            let some: Vec<_> = rows
                .by_ref()
                .take(BATCH)
                .map(|row| {
                    let vector = index.vector(row.row);
                    (
                        row.row as i32,
                        row.concept.0 as i32,
                        row.kind.word(),
                        vector,
                    )
                })
                .collect();
            if some.is_empty() {
                return copy.finish();
            }
            let vectors: Vec<Vector<'_>> = some.iter().map(|row| Vector(&row.3)).collect();
            let values: Vec<[&(dyn ToSql + Sync); 4]> = some
                .iter()
                .zip(&vectors)
                .map(
                    |((row, concept, kind, _), vector)| -> [&(dyn ToSql + Sync); 4] {
                        [row, concept, kind, vector]
                    },
                )
                .collect();
            copy.send(&values)?;
            progress.advance(some.len() as u64);
        }
    }

    fn copy_into(&self, table: &str, columns: &[Type]) -> Result<Copy<'_>> {
        let statement = format!("COPY {table} FROM STDIN (FORMAT binary)");
        let client = self.connection.client();
        let begun = client.copy_in::<_, Bytes>(&statement);
        let sink: CopyInSink<Bytes> = self.connection.wait("sending rows", begun)?;
        Ok(Copy {
            connection: self.connection,
            writer: Box::pin(BinaryCopyInWriter::new(sink, columns)),
        })
    }

    fn describe(&self) -> Result<()> {
        let identity = Identity::of(self.bundle)?;
        let (manifest, about) = (&self.bundle.manifest, description(self.bundle)?);
        let statement = format!(
            "INSERT INTO {} (format, digest, index_blake3, concepts_blake3, encoder, encoder_blake3, dim, mix, about)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            self.new.bundle
        );
        let dim = self.bundle.index.info().dim as i32;
        let (client, about) = (self.connection.client(), Jsonb(about.to_string()));
        let values: [&(dyn ToSql + Sync); 9] = [
            &FORMAT,
            &manifest.digest,
            &identity.index,
            &identity.concepts,
            &manifest.encoder.name,
            &identity.encoder,
            &dim,
            &manifest.view.mix,
            &about,
        ];
        let inserting = client.execute(&statement, &values);
        self.connection.wait("describing the bundle", inserting)?;
        Ok(())
    }

    fn make_indexes(&self) -> Result<()> {
        let Tables {
            vectors, concepts, ..
        } = &self.new;
        let keys = format!(
            "ALTER TABLE {concepts} ADD PRIMARY KEY (number);
            ALTER TABLE {concepts} ADD UNIQUE (id);
            CREATE INDEX ON {concepts} USING gin (types);
            ALTER TABLE {vectors} ADD PRIMARY KEY (row_number);
            CREATE INDEX ON {vectors} (concept);"
        );
        self.execute_slowly("indexing", &keys)?;
        let options = match self.args.index {
            StoreIndex::None => None,
            StoreIndex::Hnsw => {
                let (m, ef) = (self.args.m, self.args.ef_construction);
                // pgvector demands it.
                if u16::from(m) * 2 > ef {
                    return Err(Error::usage(format!(
                        "expected --ef-construction of at least twice --m, found {ef} and {m}"
                    )));
                }
                Some(format!(
                    "hnsw (vector vector_ip_ops) WITH (m = {m}, ef_construction = {ef})"
                ))
            }
            StoreIndex::Ivfflat => {
                let advised = (self.bundle.index.info().rows / PER_CELL).clamp(1, 32_768);
                let lists = self.args.lists.map_or(advised, usize::from);
                Some(format!(
                    "ivfflat (vector vector_ip_ops) WITH (lists = {lists})"
                ))
            }
        };
        if let Some(options) = options {
            let statement = format!("CREATE INDEX ON {vectors} USING {options}");
            self.execute_slowly("indexing vectors", &statement)?;
        }
        self.execute_slowly(
            "counting",
            &format!("ANALYZE {vectors}; ANALYZE {concepts}"),
        )
    }

    /// Replaces the tables of the old store. Searches wait for the end of it, which takes no longer
    /// than to rename.
    fn swap(&self) -> Result<()> {
        let mut statement = String::new();
        let present = "SELECT to_regclass($1) IS NOT NULL";
        for (old, new) in self.old.each().into_iter().zip(self.new.each()) {
            let client = self.connection.client();
            let values: [&(dyn ToSql + Sync); 1] = [&old];
            let asking = client.query_one(present, &values);
            if self.connection.wait("looking for tables", asking)?.get(0) {
                statement +=
                    &format!("LOCK TABLE {old} IN ACCESS EXCLUSIVE MODE; DROP TABLE {old}; ");
            }
            statement += &format!("ALTER TABLE {new} RENAME TO {old}; ");
            statement += &format!("COMMENT ON TABLE {old} IS '{MARK} {FORMAT}'; ");
            for role in &self.args.grant {
                let role = role.replace('"', "\"\"");
                statement += &format!("GRANT SELECT ON {old} TO \"{role}\"; ");
            }
        }
        self.execute("replacing the store", &statement)
    }
}

/// Rows on their way into a table.
struct Copy<'a> {
    connection: &'a Connection,
    writer: std::pin::Pin<Box<BinaryCopyInWriter>>,
}

impl Copy<'_> {
    fn send<const N: usize>(&mut self, rows: &[[&(dyn ToSql + Sync); N]]) -> Result<()> {
        let writer = &mut self.writer;
        let sending = async {
            for row in rows {
                writer.as_mut().write(row).await?;
            }
            Ok(())
        };
        let sent: Answer<()> = self.connection.wait("sending rows", pin!(sending));
        Ok(sent?)
    }

    fn finish(mut self) -> Result<()> {
        let finishing = self.writer.as_mut().finish();
        self.connection.wait("sending rows", finishing)?;
        Ok(())
    }
}
