//! Searches a store.
//!
//! A store proposes concepts and the bundle computes every score. Rounding in pgvector or a changed
//! row cannot change a score, so thresholds hold as they are.

use super::Tables;
use super::address::Address;
use super::connection::{Answer, Connection, Failure};
use super::values::Vector;
use crate::link::candidate_store::CandidateStore;
use crate::stores::rows::{FORMAT, Identity};
use crate::stores::{ConnectionArgs, SearchArgs};
use pel_kb::ConceptId;
use pel_kb::error::{Context, Error, Result};
use pel_linker::bundle::Bundle;
use std::collections::{BTreeSet, HashMap};
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

/// Mentions of a round trip.
const BATCH: usize = 32;

/// The factor of rows, if those taken belong to too few concepts.
const MORE: usize = 4;

/// The longest list of a search in pgvector's graph.
const LONGEST_LIST: usize = 1_000;

/// The time before a lost connection is opened again: a server that restarts needs some.
const PAUSE: Duration = Duration::from_millis(500);

/// A store that fits a bundle, open for searches.
pub struct VectorStore {
    connection: Connection,
    tables: Tables,
    identity: Identity,
    /// The number of concepts of the bundle.
    concepts: usize,
    types: Vec<String>,
    depth: Option<usize>,
    exact: bool,
    /// The index for approximate search, if the search uses one.
    index: Option<StoredIndex>,
    /// Prepared searches, by the number of rows and whether the index serves them.
    prepared: HashMap<(usize, bool), Statement>,
}

/// An index of pgvector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoredIndex {
    Hnsw,
    Ivfflat { lists: usize },
}

impl CandidateStore for VectorStore {
    /// A lost connection is opened again once. A store that has been replaced is an error.
    fn search(
        &mut self,
        queries: &[f32],
        wanted: usize,
        dim: usize,
    ) -> Result<Vec<Vec<ConceptId>>> {
        let queries: Vec<&[f32]> = queries.chunks_exact(dim).collect();
        let mut found = Vec::with_capacity(queries.len());
        for some in queries.chunks(BATCH) {
            found.extend(match self.search_batch(some, wanted) {
                Err(Failure::Lost(first)) => {
                    std::thread::sleep(PAUSE);
                    let lost = || format!("after a lost connection ({first})");
                    self.connection.reopen().context(lost)?;
                    self.begin().map_err(Error::from).context(lost)?;
                    self.search_batch(some, wanted)
                        .map_err(Error::from)
                        .context(lost)?
                }
                found => found?,
            });
        }
        Ok(found)
    }
}

impl VectorStore {
    /// Opens the store of a bundle.
    ///
    /// # Errors
    /// If the server cannot be reached, there is no such store, it was written from another bundle,
    /// or it has no concept of a given type.
    pub fn open(
        bundle: &Bundle,
        url: &str,
        to: &ConnectionArgs,
        args: &SearchArgs,
    ) -> Result<Self> {
        let address = Address::parse(url, to.ca.as_deref(), "pel link")?;
        let mut store = Self {
            connection: Connection::open(address, to.patience())?,
            tables: Tables::of(&to.table),
            identity: Identity::of(bundle)?,
            concepts: bundle.concepts.len(),
            types: args.types.clone(),
            depth: args.depth.map(usize::from),
            exact: args.exact,
            index: None,
            prepared: HashMap::new(),
        };
        store.begin()?;
        store.check_types()?;
        Ok(store)
    }

    /// Sets up a connection and checks the store.
    fn begin(&mut self) -> Answer<()> {
        self.prepared.clear();
        check_extension(&self.connection)?;
        // Plans depend on settings that change between two searches.
        let timeout = self.connection.patience().as_millis();
        self.set(&format!(
            "SET default_transaction_read_only = on; SET statement_timeout = {timeout}; SET \
             plan_cache_mode = force_custom_plan; SET jit = off"
        ))?;
        self.check_identity()?;
        if !self.exact {
            self.index = self.find_index()?;
        }
        self.use_index(self.index.is_some())
    }

    fn set(&self, settings: &str) -> Answer<()> {
        let setting = self.connection.client().batch_execute(settings);
        self.connection.wait("setting up", setting)
    }

    /// Lets the planner use an index for approximate search, or no such index.
    fn use_index(&self, use_it: bool) -> Answer<()> {
        // Other indexes serve through bitmap scans.
        self.set(match use_it {
            true => "SET enable_indexscan = on",
            false => "SET enable_indexscan = off",
        })
    }

    fn query(
        &self,
        doing: &str,
        statement: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Answer<Vec<Row>> {
        let asking = self.connection.client().query(statement, values);
        self.connection.wait(doing, asking)
    }

    /// Compares the bundle of the store with that of the linker.
    fn check_identity(&self) -> Answer<()> {
        let address = self.connection.address();
        for table in self.tables.each() {
            let asked = "SELECT to_regclass($1) IS NOT NULL";
            let rows = self.query("looking for the store", asked, &[&table])?;
            if !rows.iter().all(|row| row.get(0)) {
                return Err(Failure::Refused(Error::artifact(format!(
                    "{address}: there is no table {table} of pel export-vectors; write it with pel \
                     export-vectors, or give its name with --table"
                ))));
            }
        }
        let asked = format!(
            "SELECT format, index_blake3, concepts_blake3, encoder, encoder_blake3 FROM {}",
            self.tables.bundle
        );
        let rows = self.query("reading what the store is of", &asked, &[])?;
        let refuse = |why: String| {
            Err(Failure::Refused(Error::artifact(format!(
                "{address}: {why}"
            ))))
        };
        let [row] = &rows[..] else {
            return refuse(format!(
                "expected one row in {}, found {}",
                self.tables.bundle,
                rows.len()
            ));
        };
        let format: i32 = row.get(0);
        if format != FORMAT {
            return refuse(format!(
                "the store has format {format}, this build reads {FORMAT}"
            ));
        }
        let again = "write the store again with pel export-vectors --replace";
        let [index, concepts, encoder, weights]: [String; 4] = [1, 2, 3, 4].map(|at| row.get(at));
        let own = &self.identity;
        if weights != own.encoder && index != own.index {
            return refuse(format!(
                "the store was made from another bundle, with another encoder ({encoder}); {again}"
            ));
        }
        if index != own.index || concepts != own.concepts {
            return refuse(format!("the store was made from another bundle; {again}"));
        }
        Ok(())
    }

    fn check_types(&self) -> Result<()> {
        if self.types.is_empty() {
            return Ok(());
        }
        let asked = format!(
            "SELECT DISTINCT kind FROM {}, unnest(types) AS kind ORDER BY kind",
            self.tables.concepts
        );
        let rows = self.query("reading the types", &asked, &[])?;
        let known: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        match self.types.iter().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(unknown) => Err(Error::input(format!(
                "--types: no concept of the store has the type {unknown:?}; it has {}",
                known.join(", ")
            ))),
        }
    }

    /// The index of the vectors, as pgvector made it.
    fn find_index(&self) -> Answer<Option<StoredIndex>> {
        let asked = "SELECT am.amname::text, c.reloptions FROM pg_index AS i
            JOIN pg_class AS c ON c.oid = i.indexrelid JOIN pg_am AS am ON am.oid = c.relam
            WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND am.amname IN ('hnsw', 'ivfflat')";
        let rows = self.query("looking for an index", asked, &[&self.tables.vectors])?;
        let kind = |row: &Row| {
            let (method, options): (String, Option<Vec<String>>) = (row.get(0), row.get(1));
            let lists = options
                .unwrap_or_default()
                .iter()
                .find_map(|option| option.strip_prefix("lists=")?.parse().ok());
            match method.as_str() {
                "hnsw" => StoredIndex::Hnsw,
                // The default of pgvector.
                _ => StoredIndex::Ivfflat {
                    lists: lists.unwrap_or(100),
                },
            }
        };
        Ok(rows.first().map(kind))
    }

    /// Searches until each query has enough concepts or all rows.
    fn search_batch(&mut self, queries: &[&[f32]], wanted: usize) -> Answer<Vec<Vec<ConceptId>>> {
        let mut found: Vec<Vec<ConceptId>> = vec![Vec::new(); queries.len()];
        let mut open: Vec<usize> = (0..queries.len()).collect();
        let mut rows = 2 * wanted + 16;
        let mut approximate = self.index.is_some();
        while !open.is_empty() {
            if approximate {
                self.set_depth(rows)?;
            }
            let some: Vec<Vector<'_>> = open.iter().map(|at| Vector(queries[*at])).collect();
            let mut taken = vec![0; open.len()];
            let mut distinct = vec![BTreeSet::new(); open.len()];
            for row in self.ask(&some, rows, approximate)? {
                let (at, concept) = self.read(&row, open.len())?;
                taken[at] += 1;
                distinct[at].insert(concept);
            }
            let complete = |at: usize| {
                // An index can miss rows, so fewer than asked for are not all.
                distinct[at].len() >= wanted || !approximate && taken[at] < rows
            };
            let left = (0..open.len())
                .filter(|at| !complete(*at))
                .map(|at| open[at])
                .collect();
            for (at, concepts) in open.iter().zip(&distinct) {
                found[*at] = concepts.iter().copied().collect();
            }
            open = left;
            match approximate {
                true if !open.is_empty() => {
                    approximate = false;
                    self.use_index(false)?;
                }
                _ => rows = rows.saturating_mul(MORE),
            }
        }
        if self.index.is_some() && !approximate {
            self.use_index(true)?;
        }
        Ok(found)
    }

    /// Sets how far a search goes in the store's index.
    fn set_depth(&self, rows: usize) -> Answer<()> {
        match self.index {
            None => Ok(()),
            Some(StoredIndex::Hnsw) => {
                let list = self.depth.unwrap_or(0).max(rows).min(LONGEST_LIST);
                self.set(&format!("SET hnsw.ef_search = {list}"))
            }
            Some(StoredIndex::Ivfflat { lists }) => {
                let advised = (lists as f64).sqrt().ceil() as usize;
                let probes = self.depth.unwrap_or(advised).clamp(1, 32_768);
                self.set(&format!("SET ivfflat.probes = {probes}"))
            }
        }
    }

    /// The best `rows` rows of each query. The result also depends on the store being that of the
    /// bundle, because another process can replace it at any time.
    fn ask(&mut self, queries: &[Vector<'_>], rows: usize, approximate: bool) -> Answer<Vec<Row>> {
        let statement = match self.prepared.get(&(rows, approximate)) {
            Some(statement) => statement.clone(),
            None => {
                let preparing = self.statement(rows, approximate);
                let preparing = self.connection.client().prepare(&preparing);
                let statement = self.connection.wait("preparing a search", preparing)?;
                self.prepared.insert((rows, approximate), statement.clone());
                statement
            }
        };
        let mut values: Vec<&(dyn ToSql + Sync)> =
            vec![&self.identity.index, &self.identity.concepts, &queries];
        if !self.types.is_empty() {
            values.push(&self.types);
        }
        let asking = self.connection.client().query(&statement, &values);
        let found = self.connection.wait("searching", asking)?;
        if found.is_empty() {
            // It may have been replaced.
            self.check_identity()?;
        }
        Ok(found)
    }

    fn statement(&self, rows: usize, approximate: bool) -> String {
        let Tables {
            bundle,
            vectors,
            concepts,
        } = &self.tables;
        let filter = match self.types.is_empty() {
            true => String::new(),
            false => {
                format!(
                    "WHERE v.concept IN (SELECT c.number FROM {concepts} AS c WHERE c.types && $4)"
                )
            }
        };
        // An index serves one key only. Equal vectors are taken in the order of concepts.
        let ties = if approximate { "" } else { ", v.concept" };
        format!(
            "SELECT q.at, f.concept
            FROM (SELECT 1 FROM {bundle} WHERE index_blake3 = $1 AND concepts_blake3 = $2) AS b
            CROSS JOIN unnest($3::vector[]) WITH ORDINALITY AS q(vector, at)
            CROSS JOIN LATERAL (
                SELECT v.concept FROM {vectors} AS v {filter} ORDER BY v.vector <#> q.vector{ties} LIMIT {rows}
            ) AS f"
        )
    }

    /// The query and the concept of a found row.
    fn read(&self, row: &Row, queries: usize) -> Answer<(usize, ConceptId)> {
        let (at, concept): (i64, i32) = (row.get(0), row.get(1));
        let at = usize::try_from(at - 1).ok().filter(|at| *at < queries);
        let number = u32::try_from(concept).ok();
        let concept = number
            .map(ConceptId)
            .filter(|concept| concept.index() < self.concepts);
        at.zip(concept).ok_or_else(|| {
            Failure::Refused(Error::artifact(format!(
                "{}: a row of {} names a concept that the bundle with {} concepts lacks; write the \
                 table again with pel export-vectors --replace",
                self.connection.address(),
                self.tables.vectors,
                self.concepts
            )))
        })
    }
}

/// Refuses a database without pgvector, and says what to do.
///
/// # Errors
/// If it lacks the extension, or does not answer.
pub(super) fn check_extension(connection: &Connection) -> Answer<()> {
    let asked = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector'),
        EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')";
    let asking = connection.client().query_one(asked, &[]);
    let row = connection.wait("looking for pgvector", asking)?;
    let (created, installed): (bool, bool) = (row.get(0), row.get(1));
    let address = connection.address();
    let why = match (created, installed) {
        (true, _) => return Ok(()),
        (false, true) => {
            "the server has pgvector, but this database does not use it; its owner runs: \
             CREATE EXTENSION vector"
        }
        (false, false) => {
            "the server has no pgvector; install it there (Debian: postgresql-16-pgvector), then \
             run: CREATE EXTENSION vector"
        }
    };
    Err(Failure::Refused(Error::artifact(format!(
        "{address}: {why}"
    ))))
}
