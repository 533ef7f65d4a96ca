//! What the store needs from a database system.

use std::fmt::Debug;

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, Value, ValueRef};
use tactus_model::run::RunId;

use crate::StoreError;
use crate::fault::Fault;

/// Statements of one transaction.
pub(crate) type Work<'w> = &'w mut dyn FnMut(&dyn Database) -> Result<(), Fault>;

/// A database system with the tables of the store.
pub(crate) trait Engine: Debug + Send {
    /// Runs `work` on one state of the tables, unaffected by concurrent writes.
    fn read(&self, work: Work<'_>) -> Result<(), StoreError>;

    /// Runs `work` in a transaction, which is rolled back if `work` fails. When this returns, the
    /// transaction is on disk.
    fn write(&mut self, work: Work<'_>) -> Result<(), StoreError>;

    /// Like [`Engine::write`], for work that deletes: also on a full disk, if possible.
    fn delete(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        self.write(work)
    }
}

/// An open transaction.
///
/// Statements are those that SQLite and PostgreSQL share. Parameters are written `?1`, `?2`, ….
pub(crate) trait Database {
    /// Executes a statement and returns its rows.
    fn rows(&self, statement: &'static str, parameters: &[&dyn ToSql]) -> Result<Vec<Row>, Fault>;

    /// Waits until no other transaction writes this run. Until the end of this transaction, no
    /// other one does.
    fn lock_run(&self, run: &RunId) -> Result<(), Fault>;

    /// The same for the names of runs.
    fn lock_names(&self) -> Result<(), Fault>;
}

impl dyn Database + '_ {
    /// Executes a statement.
    pub(crate) fn execute(
        &self,
        statement: &'static str,
        parameters: &[&dyn ToSql],
    ) -> Result<(), Fault> {
        self.rows(statement, parameters).map(drop)
    }

    /// Executes a statement and returns its only row, if there is one.
    pub(crate) fn row_if_any(
        &self,
        statement: &'static str,
        parameters: &[&dyn ToSql],
    ) -> Result<Option<Row>, Fault> {
        Ok(self.rows(statement, parameters)?.into_iter().next())
    }

    /// Executes a statement that returns a row.
    pub(crate) fn row(
        &self,
        statement: &'static str,
        parameters: &[&dyn ToSql],
    ) -> Result<Row, Fault> {
        let row = self.row_if_any(statement, parameters)?;
        row.ok_or_else(|| Fault::Damaged("a row that others refer to is missing".to_owned()))
    }
}

/// A row of a result.
#[derive(Debug)]
pub(crate) struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The value in a column, counted from 0.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T, Fault> {
        T::column_result(self.value(column)).map_err(|error| misfit(column, &error))
    }

    /// The bytes in a column.
    pub(crate) fn bytes(&self, column: usize) -> Result<&[u8], Fault> {
        self.value(column).as_blob().map_err(|error| misfit(column, &error))
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        ValueRef::from(&self.0[column])
    }
}

fn misfit(column: usize, error: &FromSqlError) -> Fault {
    Fault::Damaged(format!("column {} of a stored row cannot be read: {error}", column + 1))
}
