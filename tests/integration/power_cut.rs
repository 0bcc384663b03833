//! The machine stops in the middle of a write: what lies on the disk at that
//! moment is opened elsewhere.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use crate::processes::{faked_server, pid};
use crate::program::Program;

/// A copy of the store as it lies there, with nobody alive in it.
fn copied(from: &Path) -> Program {
    let copy = Program::bare();
    for entry in walk(from) {
        let to = copy.store().join(entry.strip_prefix(from).unwrap());
        // SQLite makes its shared memory anew; sockets are of processes.
        if entry.is_dir() {
            std::fs::create_dir_all(&to).unwrap();
        } else if entry.is_file() && !entry.ends_with("kloigos.db-shm") {
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(&entry, &to).unwrap();
        }
    }
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(copy.store(), private).unwrap();
    copy
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(walk(&path));
        }
        found.push(path);
    }
    found
}

#[test]
fn whatever_moment_the_power_goes_the_store_opens_and_the_work_can_go_on() {
    let p = faked_server(1);
    p.json(&["ip", "add", "192.0.2.1"]);
    let key = p.key();
    let mut child = p
        .command(&["alloc", "create", "web", "--key", &key])
        .env("FAKE_SCENARIO", "chatty")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut begun, mut told) = (0, 0);
    // Until the end, on a slow machine too.
    for moment in 0..200 {
        std::thread::sleep(Duration::from_millis(60 + moment * 37 % 140));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        kill_process(pid(&child), Signal::STOP).unwrap();
        let copy = copied(&p.store());
        kill_process(pid(&child), Signal::CONT).unwrap();

        let db = rusqlite::Connection::open(copy.store().join("kloigos.db")).unwrap();
        let verdict: String = db
            .query_row("PRAGMA integrity_check", [], |r| r.get(0))
            .unwrap();
        assert_eq!(verdict, "ok");
        drop(db);
        let allocations = copy.json(&["alloc", "list"]);
        if allocations.as_array().unwrap().is_empty() {
            continue;
        }
        begun += 1;
        let status = &allocations[0]["status"];
        assert!(
            ["ALLOCATION_FAIL", "REQUESTED"].contains(&status.as_str().unwrap()),
            "{status}"
        );
        let run = copy.json(&["runs", "list"])[0].clone();
        assert_eq!(run["status"], "interrupted");
        let id = run["id"].to_string();
        let output = copy.run(&["runs", "output", &id]).exits(0).stdout;
        let lines = output.lines().filter(|l| l.starts_with("line ")).count();
        told += usize::from(lines > 0);
        copy.run(&["alloc", "delete", "web", "--yes"]).exits(0);
        assert_eq!(copy.json(&["cu", "list"])[0]["status"], "FREE");
    }
    assert!(child.wait().unwrap().success());
    assert!(begun > 2 && told > 1, "{begun} moments, output in {told}");
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "ALLOCATED");
}
