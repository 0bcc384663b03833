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

#[test]
fn a_run_is_followed_live_and_the_follower_ends_as_the_run_does() {
    let p = faked();
    let (run, _) = start_stubborn(&p);
    let out = p.path().join("followed");
    let follower = p
        .command(&["runs", "follow", "1"])
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until(10, "the follower shows the output of a live run", || {
        std::fs::read_to_string(&out).unwrap().contains("child ")
    });
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "running");
    kill_process(pid(&run), Signal::INT).unwrap();
    ended(run, 15).exits(130);
    let ran = ended(follower, 3).exits(130);
    assert_eq!(ran.stderr, "run 1 ended as cancelled: cancelled by INT\n");

    // Afterwards what is there, and the outcome.
    let ran = p
        .run(&["runs", "follow", "1", "--format", "json"])
        .exits(130);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines[0]["event"], "output");
    assert_eq!(lines[0]["run"], 1);
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["event"], &last["status"], &last["exit_code"]),
        (&json!("finished"), &json!("cancelled"), &json!(130))
    );
    assert!(last["hosts"][0]["host"] == "fake", "{last}");
    p.run(&["runs", "follow", "9"]).exits(3);
}

#[test]
fn a_follower_of_a_queued_run_says_what_it_waits_for_and_of_a_killed_one_that() {
    let p = faked();
    let (mut first, pids) = start_stubborn(&p);
    let second = spawn(&p, &["run", "fake"]);
    until(10, "run 2 is there", || {
        p.run(&["runs", "show", "2"]).code == 0
    });
    let queued = spawn(&p, &["runs", "follow", "2"]);
    let running = spawn(&p, &["runs", "follow", "1"]);
    std::thread::sleep(Duration::from_millis(800));
    p.run(&["runs", "cancel", "2"]).exits(0);
    ended(second, 5).exits(143);
    let ran = ended(queued, 3).exits(143);
    assert!(
        ran.stderr.contains("waits for fake: run 1 of tester"),
        "{}",
        ran.stderr
    );
    first.kill().unwrap();
    first.wait().unwrap();
    let ran = ended(running, 3).exits(1);
    assert!(ran.stderr.contains("interrupted"), "{}", ran.stderr);
    for pid in pids {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
}

#[test]
fn a_follower_gives_the_code_that_the_run_itself_gave() {
    let p = faked();
    for (scenario, code) in [("exit-4", 1), ("exit-unreachable", 6), ("", 0)] {
        let output = p
            .command(&["run", "fake"])
            .env("FAKE_SCENARIO", scenario)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code));
        let id = p.json(&["runs", "list"])[0]["id"].to_string();
        p.run(&["runs", "follow", &id]).exits(code);
        assert_eq!(p.json(&["runs", "show", &id])["exit_code"], code);
    }
    // One that has an ending of its own, and another code than that says.
    p.push(
        "asks",
        "---\n- name: Ask\n  hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: Wait\n      ansible.builtin.pause:\n        prompt: go on?\n",
    );
    p.run(&["setting", "reset", "ansible.playbook_path"])
        .exits(0);
    p.run(&["run", "asks"]).exits(7);
    p.run(&["runs", "follow", "4"]).exits(7);
}

fn ids(p: &Program, options: &[&str]) -> Vec<i64> {
    let mut all = vec!["runs", "list"];
    all.extend(options);
    let runs = p.json(&all);
    let runs = runs.as_array().unwrap().iter();
    runs.map(|r| r["id"].as_i64().unwrap()).collect()
}

#[test]
fn runs_are_listed_by_time_and_by_what_they_changed() {
    let p = faked();
    for (scenario, check, host) in [
        ("", false, "x"),
        ("exit-unreachable", false, "x"),
        ("", true, "x"),
        ("", false, "y"),
    ] {
        let variable = format!("hostname={host}");
        let mut command = p.command(&["run", "fake", "-e", &variable]);
        if check {
            command.arg("--check");
        }
        command.env("FAKE_SCENARIO", scenario).output().unwrap();
    }
    // The fake's recap says changed in any case.
    let db = db(&p);
    db.execute_batch(
        "UPDATE run_hosts SET changed = 0 WHERE run_id = 2;
         UPDATE runs SET changed_hosts = 0 WHERE id = 2;
         UPDATE runs SET queued_at = queued_at - 3600000 * 49 WHERE id = 1;
         UPDATE runs SET status = 'running', ending = NULL WHERE id = 2",
    )
    .unwrap();
    assert_eq!(ids(&p, &[]), [4, 3, 2, 1]);
    assert_eq!(ids(&p, &["--changed"]), [4, 1]);
    assert_eq!(ids(&p, &["--changed", "--host", "x"]), [1]);
    assert_eq!(ids(&p, &["--changed", "-n", "1"]), [4]);
    assert_eq!(ids(&p, &["--since", "2d"]), [4, 3, 2]);
    assert_eq!(ids(&p, &["--since", "3d", "--changed"]), [4, 1]);
    assert_eq!(ids(&p, &["--since", "2020-01-01", "-n", "2"]), [4, 3]);
    assert!(ids(&p, &["--since", "2099-01-01"]).is_empty());
    assert_eq!(ids(&p, &["--host", "x", "--since", "1h"]), [3, 2]);
    // Its process is gone, so it is no running one.
    assert!(ids(&p, &["--status", "running"]).is_empty());
    assert_eq!(ids(&p, &["--status", "interrupted", "-n", "1"]), [2]);
    assert_eq!(
        ids(&p, &["--status", "success", "--playbook", "fake"]),
        [4, 3, 1]
    );
    let ran = p.run(&["runs", "list", "--since", "yesterday"]).exits(2);
    assert!(ran.stderr.contains("2026-11-30"), "{}", ran.stderr);
}

#[test]
fn reasons_and_details_are_never_left_out_at_80_columns() {
    let p = Program::with_server();
    p.file("fail-create", "");
    p.run(&["alloc", "create", "web", "--key", &p.key()])
        .exits(1);
    for (command, said) in [
        (&["runs", "list"][..], "the disk of the tenant is broken"),
        (&["event", "list"], "from=ALLOCATING to=ALLOCATION_FAIL"),
        (&["server", "show", "alpha"], "to=READY"),
    ] {
        let output = p.command(command).env("COLUMNS", "80").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let words: Vec<_> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(said), "{text}");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        let notes = String::from_utf8(output.stderr).unwrap();
        assert!(
            !notes.contains("reason") && !notes.contains("detail"),
            "{notes}"
        );
    }
}

#[test]
fn a_server_tells_what_changed_it_under_any_of_its_names() {
    let p = faked();
    p.add_server("alpha", &["0"]).exits(0);
    for (host, check) in [
        ("alpha", false),
        ("other", false),
        ("alias", false),
        ("alpha", true),
    ] {
        let variable = format!("hostname={host}");
        let mut arguments = vec!["run", "fake", "-e", &variable];
        if check {
            arguments.push("--check");
        }
        p.run(&arguments).exits(0);
    }
    let set = |sql| db(&p).execute_batch(sql).unwrap();
    set(
        "UPDATE run_hosts SET address = '127.0.0.21', port = 1 WHERE host = 'alias';
         UPDATE run_hosts SET address = '127.0.0.21', port = 1 WHERE run_id = 2",
    );
    let shown = p.json(&["server", "show", "alpha"]);
    let runs: Vec<_> = shown["changes"].as_array().unwrap().iter().collect();
    let seen: Vec<_> = runs
        .iter()
        .map(|c| (c["run"].as_i64(), c["changed"].as_i64()))
        .collect();
    assert_eq!(
        seen,
        [(4, 1), (2, 1), (1, 1)].map(|(r, c)| (Some(r), Some(c)))
    );
    assert_eq!(runs[0]["playbook"], "fake");
    let text = p.run(&["server", "show", "alpha"]).exits(0).stdout;
    assert!(
        text.contains("What changed it") && text.contains("fake@1"),
        "{text}"
    );
    // Another port of that address is another machine.
    set("UPDATE run_hosts SET port = 2 WHERE host = 'alias'");
    let shown = p.json(&["server", "show", "alpha"]);
    assert_eq!(shown["changes"].as_array().unwrap().len(), 2);
}

#[test]
fn the_output_of_runs_is_searched() {
    let p = faked();
    for scenario in ["sleeper", "", "bytes"] {
        p.command(&["run", "fake"])
            .env("FAKE_SCENARIO", scenario)
            .output()
            .unwrap();
    }
    let ran = p.run(&["runs", "grep", "^last|AFTER"]).exits(0);
    assert_eq!(ran.stdout, "run 1: last words\n");
    let ran = p.run(&["runs", "grep", "-i", "^last|AFTER"]).exits(0);
    assert_eq!(ran.stdout, "run 3: after\nrun 1: last words\n");
    let ran = p
        .run(&["runs", "grep", "e", "-n", "2", "--playbook", "fake"])
        .exits(0);
    assert_eq!(ran.stdout.lines().count(), 2);
    let found = p.json(&["runs", "grep", "words", "--host", "fake", "--since", "1h"]);
    assert_eq!(
        found,
        json!([{"run": 1, "stream": "stdout", "line": "last words"}])
    );
    let ran = p.run(&["runs", "grep", "nowhere"]).exits(3);
    assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 1));
    let ran = p
        .run(&[
            "runs", "grep", "words", "--format", "json", "--host", "other",
        ])
        .exits(3);
    assert_eq!(ran.stdout, "[]\n");
    let ran = p.run(&["runs", "grep", "a(b"]).exits(2);
    assert_eq!(
        ran.stderr,
        "error: `a(b` is not a regular expression: unclosed group\n"
    );
}

#[test]
fn old_runs_are_removed_and_what_is_referred_to_stays() {
    let p = faked();
    p.add_server("alpha", &["0"]).exits(0);
    for _ in 0..3 {
        p.run(&["run", "fake"]).exits(0);
    }
    let age = |ms: i64, runs: &str| {
        db(&p)
            .execute_batch(&format!(
                "UPDATE runs SET ended_at = ended_at - {ms}, queued_at = queued_at - {ms} WHERE id IN ({runs});
                 UPDATE events SET at = at - {ms} WHERE run_id IN ({runs})"
            ))
            .unwrap();
    };
    let nothing = p.run(&["runs", "prune"]).exits(0);
    assert!(nothing.stderr.contains("nothing is that old"));
    // Run 1 is the server's last one.
    age(86_400_000 * 91, "1, 2, 3");
    let (live, _) = start_stubborn(&p);
    let ran = p.run(&["runs", "prune"]).exits(2);
    assert!(
        ran.stderr.contains("removes 2 runs") && ran.stderr.contains("--yes"),
        "{}",
        ran.stderr
    );
    let kept = p.json(&["runs", "prune", "--keep", "3", "--yes"]);
    assert_eq!((&kept["runs"], &kept["keep"]), (&json!(1), &json!(3)));
    assert_eq!(ids(&p, &[]), [5, 4, 3, 1]);
    let pruned = p.json(&["runs", "prune", "--yes"]);
    assert_eq!(pruned["runs"], 1);
    assert_eq!(ids(&p, &[]), [5, 4, 1]);
    let dirs = || {
        let mut all: Vec<String> = std::fs::read_dir(p.store().join("runs"))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        all.sort();
        all
    };
    assert_eq!(dirs(), ["1", "4", "5"]);
    let rows = |table: &str| -> i64 {
        db(&p)
            .query_row(
                &format!("SELECT count(*) FROM {table} WHERE run_id IN (2, 3)"),
                [],
                |r| r.get(0),
            )
            .unwrap()
    };
    for table in [
        "run_hosts",
        "run_tasks",
        "run_results",
        "run_output",
        "events",
    ] {
        assert_eq!(rows(table), 0, "{table}");
    }
    assert!(
        !p.json(&["event", "list", "--run", "1"])
            .as_array()
            .unwrap()
            .is_empty()
    );
    // All that has ended, but neither the live one nor the server's.
    std::fs::create_dir(p.store().join("runs/2")).unwrap();
    p.run(&["runs", "prune", "--older-than", "0s", "--yes"])
        .exits(0);
    assert_eq!(ids(&p, &[]), [5, 1]);
    assert_eq!(dirs(), ["1", "5"]);
    assert_eq!(p.json(&["runs", "show", "5"])["status"], "running");
    stop(live);
    p.run(&["setting", "set", "data.retention_days", "0"])
        .exits(2);
}
