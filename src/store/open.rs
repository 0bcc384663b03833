//! Opening, checking and migrating the database file.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{Store, StoreError};
use crate::clock::Clock;
use crate::domain::time::Timestamp;
use crate::env::Env;
use crate::paths::Paths;

mod embedded {
    refinery::embed_migrations!("migrations");
}

/// The schema of this build: the number of the last migration.
pub const SCHEMA_VERSION: u32 = 3;

/// How long a writer waits for another before it gives up. Writers hold the
/// lock for milliseconds, so only a stuck process ever makes this run out.
pub(in crate::store) const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

/// What [`migrate`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    pub created: bool,
    /// The older schema it came from, if it was upgraded.
    pub from: Option<u32>,
    /// Why the rollback journal is used instead of WAL, where that is so.
    pub journal_note: Option<String>,
}

fn configure(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(BUSY_TIMEOUT)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    // With WAL this is safe against a crash of the program; a power cut may
    // lose the last transactions but never tears one.
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(())
}

/// For commands that only read: no write reaches the file.
pub fn open_reader(paths: &Paths, clock: Clock, env: &Env) -> Result<Store, StoreError> {
    let store = match open(paths, clock, env, false) {
        Err(StoreError::Full(_)) if log_is_empty(paths) => {
            // WAL cannot make its shared memory, but everything is in the file
            // itself.
            with_handle(immutable(&paths.database())?, paths, clock, env, false)?
        }
        opened => opened?,
    };
    store
        .conn
        .pragma_update(None, "query_only", true)
        .map_err(|e| StoreError::from_sqlite(e, &store.path))?;
    Ok(store)
}

pub fn open_writer(paths: &Paths, clock: Clock, env: &Env) -> Result<Store, StoreError> {
    guard(paths)?;
    open(paths, clock, env, true)
}

/// What root wrote into a user's store that user could not use any more, and
/// what others can write into nobody should trust.
fn guard(paths: &Paths) -> Result<(), StoreError> {
    use std::os::unix::fs::MetadataExt;
    let me = rustix::process::geteuid().as_raw();
    let path = paths.database();
    if let Ok(meta) = std::fs::metadata(&path)
        && meta.uid() != me
    {
        let owner = meta.uid();
        return Err(StoreError::Foreign { path, owner, me });
    }
    let dir = paths.root();
    if crate::fs::mode(dir).is_ok_and(|mode| mode & 0o022 != 0) {
        return Err(StoreError::OthersWrite(dir.to_owned()));
    }
    Ok(())
}

fn open(paths: &Paths, clock: Clock, env: &Env, write: bool) -> Result<Store, StoreError> {
    let path = paths.database();
    match std::fs::metadata(&path) {
        Ok(meta) if meta.is_file() => {}
        Ok(_) => {
            return Err(StoreError::Corrupt {
                path,
                why: "it is not a file".to_owned(),
            });
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(StoreError::Missing(path));
        }
        Err(e) => {
            return Err(StoreError::CannotOpen {
                path,
                why: e.to_string(),
            });
        }
    }
    with_handle(connect(&path, write)?, paths, clock, env, write)
}

fn with_handle(
    conn: Connection,
    paths: &Paths,
    clock: Clock,
    env: &Env,
    write: bool,
) -> Result<Store, StoreError> {
    let path = paths.database();
    let wrap = |e| StoreError::from_sqlite(e, &path);
    configure(&conn).map_err(wrap)?;
    check_version(&conn, &path)?;
    if write && conn.is_readonly("main").map_err(wrap)? {
        return Err(StoreError::NotWritable {
            path,
            why: "the file or its directory is read-only".into(),
        });
    }
    Ok(Store {
        conn,
        path,
        clock,
        actor: env.user.clone(),
    })
}

/// A reader falls back to a read-only handle, so that a store on read-only
/// media can still be looked at.
fn connect(path: &Path, write: bool) -> Result<Connection, StoreError> {
    if !write && crate::fs::is_read_only(path) {
        // WAL wants its shared memory beside the file, which cannot be made
        // here; but nobody can write either, so SQLite need not look for it.
        return immutable(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, flags) {
        Ok(conn) => Ok(conn),
        Err(_) if !write => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(path, flags).map_err(|e| StoreError::from_sqlite(e, path))
        }
        Err(e) => Err(StoreError::from_sqlite(e, path)),
    }
}

fn log_is_empty(paths: &Paths) -> bool {
    let mut log = paths.database().into_os_string();
    log.push("-wal");
    std::fs::metadata(log).map_or(true, |m| m.len() == 0)
}

/// As the file stands, no log and no locks.
fn immutable(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let encoded: String = path
        .as_os_str()
        .as_encoded_bytes()
        .iter()
        .map(|b| match b {
            b'/' | b'.' | b'-' | b'_' => char::from(*b).to_string(),
            b if b.is_ascii_alphanumeric() => char::from(*b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags)
        .map_err(|e| StoreError::from_sqlite(e, path))
}

fn check_version(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    match found_version(conn, path)? {
        Some(v) if v == SCHEMA_VERSION => Ok(()),
        Some(found) if found > SCHEMA_VERSION => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known: SCHEMA_VERSION,
        }),
        Some(found) => Err(StoreError::Older {
            path: path.to_owned(),
            found,
            needed: SCHEMA_VERSION,
        }),
        None => Err(StoreError::Missing(path.to_owned())),
    }
}

/// None for a database in which nothing has been made yet.
fn found_version(conn: &Connection, path: &Path) -> Result<Option<u32>, StoreError> {
    let wrap = |e| StoreError::from_sqlite(e, path);
    let tables: u32 = conn
        .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
        .map_err(wrap)?;
    if tables == 0 {
        return Ok(None);
    }
    let history: bool = conn
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'refinery_schema_history'",
            [],
            |r| r.get(0),
        )
        .map_err(wrap)?;
    if !history {
        return Err(StoreError::Corrupt {
            path: path.to_owned(),
            why: "it is a database of another program".into(),
        });
    }
    let version: Option<u32> = conn
        .query_row(
            "SELECT max(version) FROM refinery_schema_history",
            [],
            |r| r.get(0),
        )
        .map_err(wrap)?;
    Ok(version)
}

/// Makes the store, or brings an older one up to date, after a backup beside
/// it. The caller holds the migration lock. A newer store is refused unchanged.
pub fn migrate(paths: &Paths, clock: Clock, env: &Env) -> Result<(Store, Migrated), StoreError> {
    guard(paths)?;
    let path = paths.database();
    let fresh = !path.exists();
    if !fresh && !path.is_file() {
        return Err(StoreError::Corrupt {
            path,
            why: "it is not a file".to_owned(),
        });
    }
    if fresh {
        // SQLite would make the file by the umask.
        crate::fs::write_private(&path, b"").map_err(|e| StoreError::NotWritable {
            path: path.clone(),
            why: e.source.to_string(),
        })?;
    }
    let mut conn = connect(&path, true)?;
    let wrap = |e| StoreError::from_sqlite(e, &path);
    conn.busy_timeout(BUSY_TIMEOUT).map_err(wrap)?;
    let found = found_version(&conn, &path)?;
    if let Some(found) = found.filter(|v| *v > SCHEMA_VERSION) {
        return Err(StoreError::Newer {
            path,
            found,
            known: SCHEMA_VERSION,
        });
    }
    if let Some(found) = found.filter(|v| *v < SCHEMA_VERSION) {
        backup(&conn, &path, found, clock.now())?;
    }
    let journal_note = set_journal(&conn, paths).map_err(wrap)?;
    configure(&conn).map_err(wrap)?;
    // refinery opens its own transaction: it must not be wrapped in another.
    embedded::migrations::runner()
        .set_grouped(true)
        .run(&mut conn)
        .map_err(|e| StoreError::Corrupt {
            path: path.clone(),
            why: format!("a migration failed: {e}"),
        })?;
    conn.execute(
        "INSERT OR IGNORE INTO store_identity (one, id, created_at) VALUES (1, ?1, ?2)",
        rusqlite::params![uuid::Uuid::new_v4().to_string(), clock.now().0],
    )
    .map_err(wrap)?;
    let store = Store {
        conn,
        path,
        clock,
        actor: env.user.clone(),
    };
    Ok((
        store,
        Migrated {
            created: found.is_none(),
            from: found.filter(|v| *v < SCHEMA_VERSION),
            journal_note,
        },
    ))
}

fn backup(conn: &Connection, path: &Path, from: u32, now: Timestamp) -> Result<(), StoreError> {
    let copy = path.with_file_name(format!("kloigos.db.before-upgrade-{from}-{}", now.0));
    let text = copy.to_string_lossy().into_owned();
    conn.execute("VACUUM INTO ?1", [text])
        .map_err(|e| StoreError::from_sqlite(e, path))?;
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&copy, private).map_err(|e| StoreError::NotWritable {
        path: copy,
        why: e.to_string(),
    })
}

/// WAL, except on a network file system, where its shared memory does not
/// work: then the rollback journal, and a sentence that says so.
fn set_journal(conn: &Connection, paths: &Paths) -> rusqlite::Result<Option<String>> {
    let (mode, note) = match crate::fs::network_file_system(paths.root()) {
        None => ("WAL", None),
        Some(kind) => (
            "DELETE",
            Some(format!(
                "{} is on {kind}: the rollback journal is used instead of WAL, and other machines must not use this store at the same time",
                paths.root().display()
            )),
        ),
    };
    conn.pragma_update(None, "journal_mode", mode)?;
    Ok(note)
}

/// A store in memory through the real migrations, for tests.
pub fn open_memory(clock: Clock) -> Result<Store, StoreError> {
    let path = std::path::PathBuf::from(":memory:");
    let wrap = |e| StoreError::from_sqlite(e, Path::new(":memory:"));
    let mut conn = Connection::open_in_memory().map_err(wrap)?;
    configure(&conn).map_err(wrap)?;
    embedded::migrations::runner()
        .run(&mut conn)
        .map_err(|e| StoreError::Corrupt {
            path: path.clone(),
            why: e.to_string(),
        })?;
    conn.execute(
        "INSERT INTO store_identity (one, id, created_at) VALUES (1, '00000000-0000-4000-8000-000000000000', 0)",
        [],
    )
    .map_err(wrap)?;
    Ok(Store {
        conn,
        path,
        clock,
        actor: "tester".into(),
    })
}
