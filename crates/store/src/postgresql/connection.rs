//! An open connection, and transactions on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use postgres::types::Type;
use postgres::{Client, IsolationLevel, NoTls, Statement, Transaction};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use tactus_model::run::RunId;

use super::error::ServerError;
use super::tables::{self, NAMES_LOCK, State};
use super::{PATIENCE, Server};
use crate::StoreError;
use crate::engine::{Database, Engine, Row, Work};
use crate::fault::Fault;

/// The settings of every session: commits are synced, whatever the server's default is, and a lock
/// is waited for as long as in a file.
const SESSION: &str = "SET search_path TO tactus; SET synchronous_commit TO on;
    SET lock_timeout TO '15s'; SET client_min_messages TO warning";

/// The pause before another attempt to connect.
const RETRY: Duration = Duration::from_millis(100);

/// Prepared statements by their texts.
type Statements = HashMap<&'static str, Statement>;

/// A store on a server. A connection that broke between two transactions is opened again.
pub(crate) struct Postgresql {
    server: Server,
    session: RefCell<Session>,
    /// Whether the server refuses every write of this connection.
    only_reads: bool,
}

struct Session {
    client: Client,
    statements: Statements,
}

impl fmt::Debug for Postgresql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Postgresql({})", self.server)
    }
}

impl Session {
    fn connect(server: &Server) -> Result<Self, ServerError> {
        let connected = server.config.connect(NoTls);
        let mut client = connected.map_err(|error| server.not_connected(&error))?;
        client.batch_execute(SESSION)?;
        Ok(Self { client, statements: HashMap::new() })
    }

    /// Connects to a server that may be starting.
    fn connect_again(server: &Server) -> Result<Self, ServerError> {
        let end = Instant::now() + PATIENCE;
        loop {
            match Self::connect(server) {
                Err(ServerError::Unreachable(_) | ServerError::Lost(_)) if Instant::now() < end => {
                    std::thread::sleep(RETRY);
                }
                decided => return decided,
            }
        }
    }

    /// Begins a transaction. A transaction that only reads sees one state of the tables.
    fn begin(&mut self, only_reads: bool) -> Result<Open<'_>, ServerError> {
        let Self { client, statements } = self;
        let isolation =
            if only_reads { IsolationLevel::RepeatableRead } else { IsolationLevel::ReadCommitted };
        let builder = client.build_transaction().isolation_level(isolation).read_only(only_reads);
        Ok(Open {
            transaction: RefCell::new(builder.start()?),
            statements: RefCell::new(statements),
        })
    }
}

impl Postgresql {
    pub(super) fn connect(server: &Server) -> Result<Self, StoreError> {
        let session = Session::connect(server).map_err(|error| server.failed(error))?;
        Ok(Self { server: server.clone(), session: RefCell::new(session), only_reads: false })
    }

    /// Creates or migrates the tables.
    pub(super) fn prepare(&mut self, migrations: &[&str]) -> Result<(), StoreError> {
        let client = &mut self.session.get_mut().client;
        let migrated = tables::migrate(client, migrations);
        migrated.map_err(|error| self.server.failed(tables::with_owner(error, client)))
    }

    /// Migrates older tables if that is permitted; returns whether there are tables.
    pub(super) fn prepare_to_read(&mut self, migrations: &[&str]) -> Result<bool, StoreError> {
        let known = migrations.len() as i64;
        let client = &mut self.session.get_mut().client;
        let failed = |error| self.server.failed(error);
        self.only_reads = true;
        let state = tables::state(client, known);
        match state.map_err(|error| failed(tables::with_owner(error, client)))? {
            State::New => Ok(false),
            State::Version(found) if found == known => Ok(true),
            State::Version(found) => match tables::migrate(client, migrations) {
                Err(ServerError::Refused(_)) => Err(failed(ServerError::Older { found, known })),
                migrated => migrated.map(|()| true).map_err(failed),
            },
        }
    }

    /// Runs `work` in a transaction.
    fn transact(&self, only_reads: bool, work: Work<'_>) -> Result<(), StoreError> {
        let mut session = self.session.borrow_mut();
        let failed = |error| self.server.failed(error);
        let open = session.begin(only_reads);
        let done = if matches!(&open, Err(error) if error.is_lost()) {
            // The server was restarted since the last transaction. Nothing of this one was sent.
            drop(open);
            *session = Session::connect_again(&self.server).map_err(failed)?;
            session.begin(only_reads).map_err(failed)?.run(work)
        } else {
            open.map_err(failed)?.run(work)
        };
        done.map_err(|fault| match fault {
            Fault::Damaged(reason) => failed(ServerError::Damaged(reason)),
            Fault::Server(refused) => failed(tables::with_owner(refused, &mut session.client)),
            fault => fault.in_file(self.server.to_string().as_ref()),
        })
    }
}

impl Engine for Postgresql {
    fn read(&self, work: Work<'_>) -> Result<(), StoreError> {
        self.transact(true, work)
    }

    fn write(&mut self, work: Work<'_>) -> Result<(), StoreError> {
        self.transact(self.only_reads, work)
    }
}

/// An open transaction; rolled back unless it is committed.
struct Open<'s> {
    transaction: RefCell<Transaction<'s>>,
    statements: RefCell<&'s mut Statements>,
}

impl Open<'_> {
    fn run(self, work: Work<'_>) -> Result<(), Fault> {
        work(&self)?;
        Ok(self.transaction.into_inner().commit()?)
    }

    /// The prepared form of a statement.
    fn prepared(&self, text: &'static str) -> Result<Statement, postgres::Error> {
        let mut statements = self.statements.borrow_mut();
        if let Some(statement) = statements.get(text) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.borrow_mut().prepare(&text.replace('?', "$"))?;
        statements.insert(text, statement.clone());
        Ok(statement)
    }
}

impl Database for Open<'_> {
    fn rows(&self, statement: &'static str, parameters: &[&dyn ToSql]) -> Result<Vec<Row>, Fault> {
        let parameters: Vec<Parameter<'_>> =
            parameters.iter().map(|value| parameter(*value)).collect::<Result<_, _>>()?;
        let parameters: Vec<_> = parameters.iter().map(|parameter| &**parameter as _).collect();
        let statement = self.prepared(statement)?;
        let rows = self.transaction.borrow_mut().query(&statement, &parameters)?;
        Ok(rows.iter().map(values).collect::<Result<_, _>>()?)
    }

    fn lock_run(&self, run: &RunId) -> Result<(), Fault> {
        let lock = "SELECT number FROM run WHERE id = ?1 FOR UPDATE";
        self.rows(lock, rusqlite::params![run.as_str()]).map(drop)
    }

    fn lock_names(&self) -> Result<(), Fault> {
        // What it returns has no columns.
        let lock = "SELECT FROM pg_advisory_xact_lock(?1)";
        self.rows(lock, rusqlite::params![NAMES_LOCK]).map(drop)
    }
}

/// The values of a row.
fn values(row: &postgres::Row) -> Result<Row, postgres::Error> {
    let value = |(index, column): (usize, &postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.map(Value::Integer),
            Type::FLOAT8 => row.try_get::<_, Option<f64>>(index)?.map(Value::Real),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.map(Value::Blob),
            _ => row.try_get::<_, Option<String>>(index)?.map(Value::Text),
        }
        .unwrap_or(Value::Null))
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row)
}

/// A parameter in the form of the client.
type Parameter<'p> = Box<dyn postgres::types::ToSql + Sync + 'p>;

fn parameter<'p>(parameter: &'p dyn ToSql) -> Result<Parameter<'p>, Fault> {
    let unkeepable =
        |reason: String| Fault::Store(StoreError::Unkeepable { what: "a value", reason });
    let output = parameter.to_sql().map_err(|error| unkeepable(error.to_string()))?;
    Ok(match output {
        ToSqlOutput::Borrowed(ValueRef::Text(text)) => {
            let text = str::from_utf8(text).map_err(|error| unkeepable(error.to_string()))?;
            Box::new(without_nul(text)?)
        }
        ToSqlOutput::Borrowed(ValueRef::Blob(bytes)) => Box::new(bytes),
        ToSqlOutput::Borrowed(ValueRef::Integer(number))
        | ToSqlOutput::Owned(Value::Integer(number)) => Box::new(number),
        ToSqlOutput::Owned(Value::Text(text)) => {
            without_nul(&text)?;
            Box::new(text)
        }
        ToSqlOutput::Owned(Value::Blob(bytes)) => Box::new(bytes),
        // Only texts may be missing.
        ToSqlOutput::Borrowed(ValueRef::Null) | ToSqlOutput::Owned(Value::Null) => {
            Box::new(None::<&str>)
        }
        other => return Err(unkeepable(format!("{other:?} has no type of PostgreSQL"))),
    })
}

fn without_nul(text: &str) -> Result<&str, Fault> {
    /// Enough to recognise the text.
    const SHOWN: usize = 40;
    if text.contains('\0') {
        return Err(ServerError::Nul(text.chars().take(SHOWN).collect()).into());
    }
    Ok(text)
}
