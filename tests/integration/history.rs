//! What can be done with runs from another terminal, and after their end.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::engine_end::{ended, spawn, until};
use crate::processes::{alive, faked, start_stubborn};
use crate::program::Program;

fn db(p: &Program) -> rusqlite::Connection {
    rusqlite::Connection::open(p.store().join("kloigos.db")).unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

fn stop(child: Child) {
    kill_process(pid(&child), Signal::INT).unwrap();
    ended(child, 15);
}

#[test]
fn a_running_and_a_queued_run_are_cancelled_from_another_terminal() {
    let p = faked();
    let (first, pids) = start_stubborn(&p);
    let second = spawn(&p, &["run", "fake"]);
    until(10, "run 2 waits", || {
        let shown = p.run(&["runs", "show", "2", "--format", "json"]);
        shown.code == 0 && shown.json()["waits_for"][0]["run"] == 1
    });
    let run = p.json(&["runs", "cancel", "2"]);
    assert_eq!(
        (&run["id"], &run["status"]),
        (&json!(2), &json!("cancelled"))
    );
    ended(second, 5).exits(143);

    let started = Instant::now();
    let ran = p.run(&["runs", "cancel", "1"]).exits(0);
    assert!(started.elapsed() < Duration::from_secs(12));
    assert!(ran.stdout.contains("cancelled by TERM"), "{}", ran.stdout);
    assert!(pids.iter().all(|p| !alive(*p)), "something lives on");
    ended(first, 5).exits(143);

    let ran = p.run(&["runs", "cancel", "1"]).exits(4);
    assert!(ran.stderr.contains("it is cancelled"), "{}", ran.stderr);
    p.run(&["runs", "cancel", "7"]).exits(3);
    let events = p.json(&["event", "list", "--kind", "run.cancel"]);
    assert_eq!(events.as_array().unwrap().len(), 2);
}

#[test]
fn a_process_that_is_not_the_runs_is_never_signalled() {
    let p = faked();
    let (run, _) = start_stubborn(&p);
    let mut other = std::process::Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let path = p.store().join("runs/1/alive");
    let owner: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let mut refused = |change: &dyn Fn(&mut Value), said: &str| {
        let mut changed = owner.clone();
        change(&mut changed);
        std::fs::write(&path, changed.to_string()).unwrap();
        let ran = p.run(&["runs", "cancel", "1"]).exits(4);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
        assert_eq!(other.try_wait().unwrap(), None, "it was signalled");
    };
    refused(&|o| o["start"] = json!(1), "cannot be proved");
    refused(&|o| o["boot"] = json!("x"), "on another machine");
    refused(&|o| o["namespace"] = json!("x"), "another container");
    refused(&|o| *o = json!(null), "cannot be proved");
    // The PID of the run, used again by another process.
    db(&p)
        .execute("UPDATE runs SET requester_pid = ?1", [other.id()])
        .unwrap();
    let mut changed = owner.clone();
    changed["pid"] = json!(other.id());
    std::fs::write(&path, changed.to_string()).unwrap();
    let ran = p.run(&["runs", "cancel", "1"]).exits(4);
    assert!(ran.stderr.contains("cannot be proved"), "{}", ran.stderr);
    assert_eq!(other.try_wait().unwrap(), None, "it was signalled");
    db(&p)
        .execute("UPDATE runs SET requester_host = 'elsewhere'", [])
        .unwrap();
    let ran = p.run(&["runs", "cancel", "1"]).exits(4);
    assert!(ran.stderr.contains("on host elsewhere"), "{}", ran.stderr);
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "running");
    other.kill().unwrap();
    other.wait().unwrap();
    stop(run);
}

#[test]
fn a_run_whose_process_was_killed_cannot_be_cancelled() {
    let p = faked();
    let (mut run, pids) = start_stubborn(&p);
    run.kill().unwrap();
    run.wait().unwrap();
    let ran = p.run(&["runs", "cancel", "1"]).exits(4);
    assert!(ran.stderr.contains("it is interrupted"), "{}", ran.stderr);
    for pid in pids {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
}
