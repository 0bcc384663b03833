//! The store through its real migrations: what it refuses, what it keeps.

use crate::program::Program;
use std::path::Path;

use kloigos::clock::Clock;
use kloigos::domain::event::NewEvent;
use kloigos::domain::name::{AllocationId, ComputeUnitId, Hostname, LoginUser, PlaybookName};
use kloigos::domain::playbook::{Content, ContentFile, ContentKind};
use kloigos::domain::run::RunId;
use kloigos::domain::time::Timestamp;
use kloigos::env::Env;
use kloigos::error::Error;
use kloigos::paths::Paths;
use kloigos::store::allocations::NewRow;
use kloigos::store::events::EventFilter;
use kloigos::store::playbooks::{Authorship, Packed};
use kloigos::store::{Store, StoreError, Tx, migrate, open_memory, open_reader, open_writer};

const CLOCK: Clock = Clock::Fixed(Timestamp(1_796_083_200_000));

fn env() -> Env {
    Env::fixed(&[], "tester")
}

fn fresh(dir: &Path) -> Paths {
    let paths = Paths::at(dir);
    migrate(&paths, CLOCK, &env()).unwrap();
    paths
}

fn in_store<T>(store: &Store, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> T {
    store.write(f).unwrap()
}

fn insert(tx: &Tx<'_>, id: &str, uid: u32) -> Result<(), Error> {
    tx.allocations().insert(&NewRow {
        id: &AllocationId::parse(id)?,
        login_user: &LoginUser::parse(id)?,
        uid,
        ip_address: "10.0.0.1".parse().unwrap(),
        compute_unit: &ComputeUnitId::parse("a-cu00")?,
        server: &Hostname::parse("a")?,
        ssh_public_key: "k",
        tags: &Default::default(),
    })?;
    Ok(())
}

#[test]
fn a_missing_store_says_init() {
    let dir = tempfile::tempdir().unwrap();
    let e = open_reader(&Paths::at(dir.path()), CLOCK, &env())
        .err()
        .unwrap();
    assert!(matches!(e, StoreError::Missing(_)));
    assert!(e.hints()[0].contains("kloigos init"));
}

#[test]
fn a_newer_store_is_refused_and_its_file_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let paths = fresh(dir.path());
    let db = rusqlite::Connection::open(paths.database()).unwrap();
    db.execute(
        "INSERT INTO refinery_schema_history (version, name, applied_on, checksum) VALUES (99, 'x', 'x', '0')",
        [],
    )
    .unwrap();
    db.pragma_update(None, "wal_checkpoint", "TRUNCATE")
        .unwrap();
    drop(db);
    let before = std::fs::read(paths.database()).unwrap();
    for e in [
        open_reader(&paths, CLOCK, &env()).err().unwrap(),
        open_writer(&paths, CLOCK, &env()).err().unwrap(),
        migrate(&paths, CLOCK, &env()).err().unwrap(),
    ] {
        assert!(matches!(e, StoreError::Newer { found: 99, .. }), "{e}");
    }
    assert_eq!(std::fs::read(paths.database()).unwrap(), before);
}

/// Makes of a store of this build one as the first build left it.
pub const FIRST_BUILD: &str = "DROP TABLE playbook_defaults;
         ALTER TABLE playbooks DROP COLUMN last_version;
         DROP INDEX runs_queued_at;
         DROP INDEX runs_changed;
         DROP INDEX run_hosts_host_changed;
         DROP INDEX run_hosts_address_changed;
         ALTER TABLE runs DROP COLUMN exit_code;
         ALTER TABLE runs DROP COLUMN changed_hosts;
         DELETE FROM refinery_schema_history WHERE version > 1;";

#[test]
fn an_older_store_says_init_and_is_backed_up_before_the_upgrade() {
    let dir = tempfile::tempdir().unwrap();
    let paths = fresh(dir.path());
    let db = rusqlite::Connection::open(paths.database()).unwrap();
    // As the first build left it, with a run.
    db.execute_batch(&format!(
        "{FIRST_BUILD} {}",
        "INSERT INTO playbooks (name, default_version, updated_at) VALUES ('p', 3, 0), ('q', 1, 0);
         INSERT INTO playbook_versions (name, version, digest, kind, entry, size_bytes, author,
           packaged, content, created_at)
         SELECT n.name, v.value, '', 'file', 'p', 0, 'u', 0, x'', 0
         FROM (SELECT 'p' AS name UNION SELECT 'q') n, json_each('[1, 2, 3, 4]') v;
         INSERT INTO events (at, actor, kind, subject, detail)
         VALUES (1, 'u', 'playbook.default', 'playbook p', '{\"version\": 2}'),
                (2, 'u', 'playbook.default', 'playbook p', '{\"version\": 3}');
         INSERT INTO runs (status, ending, playbook, version, digest, requester_user,
           requester_host, requester_pid, check_mode, request, queued_at)
         VALUES ('failed', 'task_failed', 'p', 1, '', 'u', 'h', 1, 0, '{}', 0)"
    ))
    .unwrap();
    drop(db);
    let e = open_writer(&paths, CLOCK, &env()).err().unwrap();
    assert!(matches!(e, StoreError::Older { found: 1, .. }), "{e}");
    assert!(e.hints()[0].contains("kloigos init"));
    let (store, _) = migrate(&paths, CLOCK, &env()).unwrap();
    let run = in_store(&store, |tx| Ok(tx.runs().get(RunId(1))?)).unwrap();
    assert_eq!((run.version, run.exit_code), (1, None));
    let [p, q] = ["p", "q"].map(|name| PlaybookName::parse(name).unwrap());
    let before = |name| in_store(&store, |tx| Ok(tx.playbooks().previous_default(name)?));
    assert_eq!((before(&p), before(&q)), (Some(2), None));
    in_store(&store, |tx| Ok(tx.playbooks().roll_back(&p, 2)?));
    assert_eq!(before(&p), Some(1));
    let copies = std::fs::read_dir(dir.path())
        .unwrap()
        .filter(|f| {
            let name = f.as_ref().unwrap().file_name();
            name.to_string_lossy()
                .starts_with("kloigos.db.before-upgrade-1")
        })
        .count();
    assert_eq!(copies, 1);
}

#[test]
fn a_file_that_is_no_store_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let paths = Paths::at(dir.path());
    std::fs::write(paths.database(), vec![b'x'; 8192]).unwrap();
    let e = open_reader(&paths, CLOCK, &env()).err().unwrap();
    assert!(matches!(e, StoreError::Corrupt { .. }), "{e}");
    std::fs::remove_file(paths.database()).unwrap();
    rusqlite::Connection::open(paths.database())
        .unwrap()
        .execute_batch("CREATE TABLE other (x)")
        .unwrap();
    let e = open_reader(&paths, CLOCK, &env()).err().unwrap();
    assert!(e.to_string().contains("another program"), "{e}");
    assert!(migrate(&paths, CLOCK, &env()).is_err());
}

#[test]
fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let paths = fresh(dir.path());
    let store = open_reader(&paths, CLOCK, &env()).unwrap();
    let e = store
        .write(|tx| tx.addresses().insert("10.0.0.1".parse().unwrap()))
        .unwrap_err();
    assert!(matches!(e, StoreError::NotWritable { .. }), "{e}");
}

#[test]
fn a_failed_transaction_leaves_neither_change_nor_event() {
    let store = open_memory(CLOCK).unwrap();
    let refused: Result<(), Error> = store.write(|tx| {
        tx.addresses().insert("10.0.0.1".parse().unwrap())?;
        Err(Error::usage("no"))
    });
    assert!(refused.is_err());
    in_store(&store, |tx| {
        assert!(tx.addresses().list(None)?.is_empty());
        assert!(tx.events().list(&EventFilter::default())?.is_empty());
        Ok(())
    });
}

#[test]
fn a_status_changes_only_from_the_status_it_starts_from() {
    let store = open_memory(CLOCK).unwrap();
    in_store(&store, |tx| {
        tx.addresses().insert("10.0.0.1".parse().unwrap())?;
        insert(tx, "web", 20000)?;
        let stale = tx.addresses().get("10.0.0.1".parse().unwrap())?.unwrap();
        let allocation = tx.allocations().get(&AllocationId::parse("web")?)?.unwrap();
        let reserve = |a: &kloigos::domain::ip::PoolAddress| a.reserve().unwrap();
        tx.addresses()
            .set_status(stale.address, reserve(&stale), Some(allocation.key), None)?;
        let e = tx
            .addresses()
            .set_status(stale.address, reserve(&stale), Some(allocation.key), None)
            .unwrap_err();
        assert!(matches!(e, StoreError::Conflict { .. }));
        let kinds: Vec<String> = tx
            .events()
            .list(&EventFilter::default())?
            .into_iter()
            .map(|e| e.kind)
            .collect();
        assert_eq!(
            kinds,
            ["address.status", "allocation.requested", "address.added"]
        );
        Ok(())
    });
}

#[test]
fn live_allocations_never_share_id_user_or_uid() {
    let store = open_memory(CLOCK).unwrap();
    in_store(&store, |tx| insert(tx, "web", 20000));
    for (id, uid) in [("web", 20001), ("db", 20000)] {
        assert!(store.write(|tx| insert(tx, id, uid)).is_err(), "{id} {uid}");
    }
}

#[test]
fn uids_go_up_and_only_at_the_end_of_the_range_are_used_again() {
    let store = open_memory(CLOCK).unwrap();
    in_store(&store, |tx| {
        assert_eq!(tx.allocations().free_uid(20000, 20002)?, Some(20000));
        insert(tx, "a", 20001)?;
        assert_eq!(tx.allocations().free_uid(20000, 20002)?, Some(20002));
        insert(tx, "b", 20002)?;
        assert_eq!(tx.allocations().free_uid(20000, 20002)?, Some(20000));
        insert(tx, "c", 20000)?;
        assert_eq!(tx.allocations().free_uid(20000, 20002)?, None);
        Ok(())
    });
}

#[test]
fn a_version_comes_back_byte_exact_and_the_same_content_has_the_same_digest() {
    let store = open_memory(CLOCK).unwrap();
    let file = |path: &str, executable, bytes: &[u8]| ContentFile {
        path: path.to_owned(),
        executable,
        bytes: bytes.to_vec(),
    };
    let long = format!("roles/{}/tasks/main.yml", "x".repeat(120));
    let content = Content {
        kind: ContentKind::Bundle,
        entry: "playbook.yml".into(),
        files: vec![
            file("library/m.py", true, b"#!/usr/bin/python3\r\n\t\xff\x00"),
            file("playbook.yml", false, "\u{feff}- hosts: all\r\n".as_bytes()),
            file(&long, false, b""),
        ],
    };
    let packed = Packed::of(&content).unwrap();
    assert_eq!(packed.digest(), Packed::of(&content).unwrap().digest());
    let other = Content {
        entry: "library/m.py".into(),
        ..content.clone()
    };
    assert_ne!(packed.digest(), Packed::of(&other).unwrap().digest());
    in_store(&store, |tx| {
        let name = PlaybookName::parse("site")?;
        let by = Authorship {
            author: "tester",
            message: None,
            packaged: false,
        };
        assert_eq!(
            tx.playbooks()
                .insert_version(&name, &content, &packed, &by)?,
            1
        );
        assert_eq!(
            tx.playbooks()
                .insert_version(&name, &other, &Packed::of(&other).unwrap(), &by)?,
            2
        );
        let version = tx.playbooks().get(&name, None)?.unwrap();
        assert_eq!((version.version, version.is_default), (1, true));
        assert_eq!(tx.playbooks().content(&version)?, content);
        Ok(())
    });
}

#[test]
fn events_are_filtered_by_subject_and_by_noun() {
    let store = open_memory(CLOCK).unwrap();
    in_store(&store, |tx| {
        tx.events()
            .append(NewEvent::new("server.added", "server a"))?;
        tx.events()
            .append(NewEvent::new("server.status", "server b"))?;
        tx.events()
            .append(NewEvent::new("address.added", "address x"))?;
        let count = |filter: EventFilter| tx.events().list(&filter).unwrap().len();
        assert_eq!(
            count(EventFilter {
                kind: Some("server".into()),
                ..Default::default()
            }),
            2
        );
        assert_eq!(
            count(EventFilter {
                kind: Some("server.added".into()),
                ..Default::default()
            }),
            1
        );
        assert_eq!(
            count(EventFilter {
                subject: Some("server b".into()),
                ..Default::default()
            }),
            1
        );
        assert_eq!(
            count(EventFilter {
                limit: Some(1),
                ..Default::default()
            }),
            1
        );
        Ok(())
    });
}

#[test]
fn a_store_of_another_user_is_read_but_not_written_by_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let p = Program::initialised();
    let other = Some(rustix::fs::Uid::from_raw(12345));
    rustix::fs::chown(p.store().join("kloigos.db"), other, None).unwrap();
    p.run(&["server", "list"]).exits(0);
    for arguments in [&["ip", "add", "10.0.0.1"][..], &["init"]] {
        let ran = p.run(arguments).exits(9);
        assert!(ran.stderr.contains("UID 12345"), "{}", ran.stderr);
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused_and_the_stores_own_is_closed() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    };
    let p = Program::initialised();
    open(&p.store());
    let ran = p.run(&["ip", "add", "10.0.0.1"]).exits(9);
    assert!(ran.stderr.contains("chmod 700"), "{}", ran.stderr);
    p.run(&["init"]).exits(0);
    assert_eq!(mode(&p.store()), 0o700);
    p.run(&["ip", "add", "10.0.0.1"]).exits(0);

    // One that holds other things too is not the store's to close.
    let p = Program::bare();
    std::fs::create_dir(p.store()).unwrap();
    std::fs::write(p.store().join("thesis.txt"), "x").unwrap();
    open(&p.store());
    p.run(&["init"]).exits(9);
    assert_eq!(mode(&p.store()), 0o777);
}

#[test]
fn locks_that_cannot_be_made_are_the_stores_fault() {
    let p = Program::with_server();
    let locks = p.store().join("locks");
    std::fs::remove_dir_all(&locks).unwrap();
    std::fs::write(&locks, "x").unwrap();
    let ran = p
        .run(&["alloc", "create", "web", "--key", &p.key()])
        .exits(9);
    assert!(ran.stderr.contains("locks"), "{}", ran.stderr);
}

#[test]
fn a_database_that_is_no_file_is_said_and_never_waited_for() {
    let p = Program::initialised();
    let db = p.store().join("kloigos.db");
    std::fs::remove_file(&db).unwrap();
    std::fs::create_dir(&db).unwrap();
    for arguments in [&["runs", "list"][..], &["init"]] {
        let ran = p.run(arguments).exits(9);
        assert!(ran.stderr.contains("not a file"), "{}", ran.stderr);
    }
    std::fs::remove_dir(&db).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &db,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    p.run(&["runs", "list"]).exits(9);
}
