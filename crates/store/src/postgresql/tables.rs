//! The tables, and their migration to the current version.

use postgres::{Client, GenericClient};

use super::error::{Other, Refusal, ServerError};

/// The migrations from an empty schema to the current tables, the first from version 0 to version
/// 1. Released migrations are never changed.
pub(super) const MIGRATIONS: &[&str] = &[include_str!("1.sql"), include_str!("2.sql")];

/// The lock of a transaction that creates or migrates the tables: `Tact`.
const MIGRATION_LOCK: i64 = 0x5461_6374;

/// The lock of a transaction that gives a run its name.
pub(super) const NAMES_LOCK: i64 = MIGRATION_LOCK + 1;

/// What a database contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No tables of Tactus.
    New,
    /// Tables of this version.
    Version(i64),
}

/// Determines what the database contains. Writes nothing.
///
/// # Errors
/// The schema belongs to another program, or has a version later than `known`.
pub(super) fn state(client: &mut impl GenericClient, known: i64) -> Result<State, ServerError> {
    let tables = "SELECT count(*), count(*) FILTER (WHERE relname = 'store')
        FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace
            ON pg_class.relnamespace = pg_namespace.oid
        WHERE nspname = 'tactus'";
    let row = client.query_one(tables, &[])?;
    match (row.get::<_, i64>(0), row.get::<_, i64>(1)) {
        (0, _) => return Ok(State::New),
        (_, 0) => return Err(ServerError::NotAStore),
        _ => {}
    }
    let version = client.query_opt("SELECT version FROM tactus.store", &[]);
    let found: i64 = version?.ok_or(ServerError::NotAStore)?.get(0);
    if found > known { Err(ServerError::Newer { found, known }) } else { Ok(State::Version(found)) }
}

/// Adds to a refusal whose the tables are, if they belong to a role of which the user is no member.
pub(super) fn with_owner(error: ServerError, client: &mut impl GenericClient) -> ServerError {
    let ServerError::Refused(Refusal { reason, .. }) = error else { return error };
    // Every user may read the catalogue.
    let owner = "SELECT quote_ident(rolname), rolsuper, quote_ident(current_user)
        FROM pg_catalog.pg_namespace JOIN pg_catalog.pg_roles ON pg_roles.oid = nspowner
        WHERE nspname = 'tactus' AND NOT pg_has_role(current_user, nspowner, 'USAGE')";
    let row = client.query_opt(owner, &[]).ok().flatten();
    let tables_of =
        row.map(|row| Other { owner: row.get(0), is_superuser: row.get(1), user: row.get(2) });
    ServerError::Refused(Refusal { reason, tables_of })
}

/// Applies the migrations that the database lacks, all or none of them.
pub(super) fn migrate(client: &mut Client, migrations: &[&str]) -> Result<(), ServerError> {
    let known = migrations.len() as i64;
    if state(client, known)? == State::Version(known) {
        return Ok(());
    }
    let mut transaction = client.transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK])?;
    // Again under the lock: another process may have migrated in the meantime.
    let done = match state(&mut transaction, known)? {
        State::New => {
            transaction.batch_execute(
                "CREATE SCHEMA IF NOT EXISTS tactus;
                 CREATE TABLE tactus.store (version BIGINT NOT NULL);
                 INSERT INTO tactus.store VALUES (0)",
            )?;
            0
        }
        State::Version(version) => version,
    };
    for step in migrations.iter().skip(usize::try_from(done).unwrap_or(0)) {
        transaction.batch_execute(step)?;
    }
    transaction.execute("UPDATE tactus.store SET version = $1", &[&known])?;
    Ok(transaction.commit()?)
}

#[cfg(test)]
mod tests {
    use tactus_testing::{Need, PostgresqlServer, require};

    use super::super::Server;
    use super::*;
    use crate::StoreError;

    /// A hypothetical next version that adds a column.
    fn one_more() -> Vec<&'static str> {
        [MIGRATIONS, &["ALTER TABLE tactus.run ADD COLUMN note TEXT"]].concat()
    }

    #[test]
    fn older_tables_are_migrated_all_or_none_and_newer_ones_are_refused() {
        let Some(server) = require(Need::Postgresql, PostgresqlServer::start()) else { return };
        let place = Server::of_url(&server.create("results"), None).unwrap();
        let version = || server.sql("results", "SELECT version FROM tactus.store");
        let notes = || {
            let columns = "SELECT count(*) FROM information_schema.columns
                WHERE table_schema = 'tactus' AND column_name = 'note'";
            server.sql("results", columns)
        };
        let mut opened = place.open().unwrap();
        let known = MIGRATIONS.len() as i64;
        assert_eq!((version(), notes()), (known.to_string(), "0".to_owned()));
        let broken = [&one_more()[..], &["no SQL"]].concat();
        opened.prepare(&broken).unwrap_err();
        assert_eq!((version(), notes()), (known.to_string(), "0".to_owned()));
        server.sql(
            "results",
            "CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA tactus TO reader;
             GRANT SELECT ON ALL TABLES IN SCHEMA tactus TO reader",
        );
        let reader = server.url("results").replace("tactus@", "reader@");
        let mut reader = Server::of_url(&reader, None).unwrap().open_to_read().unwrap().unwrap();
        let StoreError::Server { error, .. } = reader.prepare_to_read(&one_more()).unwrap_err()
        else {
            panic!("an error of the server");
        };
        assert!(matches!(error, ServerError::Older { .. }), "{error}");
        assert!(opened.prepare_to_read(&one_more()).unwrap());
        opened.prepare(&one_more()).unwrap();
        assert_eq!((version(), notes()), ((known + 1).to_string(), "1".to_owned()));
        let StoreError::Server { error, .. } = place.open().unwrap_err() else {
            panic!("an error of the server");
        };
        assert!(matches!(error, ServerError::Newer { .. }), "{error}");
    }
}
