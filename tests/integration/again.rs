//! Runs done again, with real Ansible.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::engine_end::{ended, local_inventory, spawn, until};
use crate::program::Program;

/// On hosts a, b, c: fails where a file `fail-<host>` stands, one host after
/// the other when `serial` is 1.
fn fragile(serial: u32) -> String {
    format!(
        "---
- name: Work
  hosts: all
  gather_facts: false
  serial: {serial}
  vars:
    dir: \"{{{{ lookup('env', 'KLOIGOS_TEST_DIR') }}}}\"
  tasks:
    - name: Begin
      ansible.builtin.debug:
        msg: begin
    - name: Break
      ansible.builtin.fail:
        msg: broken
      when: (dir ~ '/fail-' ~ inventory_hostname) is exists
    - name: Hang
      ansible.builtin.command: sleep 60
      changed_when: false
      when: (dir ~ '/hang-' ~ inventory_hostname) is exists
"
    )
}

fn hosts_of(p: &Program, run: &str) -> Vec<String> {
    let shown = p.json(&["runs", "show", run]);
    let hosts = shown["hosts"].as_array().unwrap().iter();
    hosts
        .map(|h| h["host"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_rerun_is_the_same_version_inventory_options_and_variables() {
    let p = Program::initialised();
    let types = "---\n- name: Types\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Types\n      ansible.builtin.debug:\n        msg: \"one {{ text | type_debug }} {{ n | type_debug }} {{ l | type_debug }} {{ more }}\"\n      tags: [say]\n    - name: Never\n      ansible.builtin.fail:\n        msg: not tagged\n";
    p.push("types", types);
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    let relative = std::path::Path::new(&inventory).file_name().unwrap();
    p.file("vars.yml", "more: from-file\n");
    p.run(&[
        "run",
        "types",
        "-i",
        relative.to_str().unwrap(),
        "--limit",
        "a:b",
        "--tags",
        "say",
        "--check",
        "--diff",
        "-e",
        "text=3",
        "-e",
        "n:=3",
        "-e",
        "l:=[1,\"x\"]",
        "-e",
        "@vars.yml",
    ])
    .exits(0);
    p.push("types", &types.replace("one ", "two "));

    let elsewhere = tempfile::tempdir().unwrap();
    let output = p
        .command(&["runs", "rerun", "1"])
        .current_dir(elsewhere.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let (first, again) = (
        p.json(&["runs", "show", "1"]),
        p.json(&["runs", "show", "2"]),
    );
    for field in ["version", "digest", "check", "playbook"] {
        assert_eq!(first[field], again[field], "{field}");
    }
    let mut request = again["request"].clone();
    assert_eq!(
        request.as_object_mut().unwrap().remove("rerun_of"),
        Some(json!(1))
    );
    assert_eq!(request, first["request"]);
    assert_eq!(hosts_of(&p, "2"), ["a", "b"]);
    let said = p.run(&["runs", "output", "2"]).stdout;
    assert!(said.contains("one str int list from-file"), "{said}");

    std::fs::remove_file(p.path().join("vars.yml")).unwrap();
    let ran = p.run(&["runs", "rerun", "2"]).exits(2);
    assert!(
        ran.stderr.contains("vars.yml: No such file") && ran.stderr.contains("runs show 2"),
        "{}",
        ran.stderr
    );
    p.run(&["runs", "rerun", "9"]).exits(3);
    assert_eq!(p.json(&["runs", "list"]).as_array().unwrap().len(), 2);
}

#[test]
fn a_retry_goes_to_the_hosts_that_failed_until_none_is_left() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.file("fail-b", "");
    p.run(&["run", "work", "-i", &inventory]).exits(1);
    let ran = p.run(&["runs", "retry", "1"]).exits(1);
    assert!(
        ran.stderr.contains("1 of 3 hosts are left: b"),
        "{}",
        ran.stderr
    );
    assert_eq!(hosts_of(&p, "2"), ["b"]);
    assert_eq!(p.json(&["runs", "show", "2"])["request"]["retry_of"], 1);
    std::fs::remove_file(p.path().join("fail-b")).unwrap();
    p.run(&["runs", "retry", "2"]).exits(0);
    assert_eq!(hosts_of(&p, "3"), ["b"]);
    let ran = p.run(&["runs", "retry", "3"]).exits(4);
    assert!(
        ran.stderr.starts_with("error: nothing is left to retry"),
        "{}",
        ran.stderr
    );
    // A rerun of a retry is the retry, not the first run.
    p.run(&["runs", "rerun", "3"]).exits(0);
    assert_eq!(hosts_of(&p, "4"), ["b"]);
}

#[test]
fn a_retry_goes_to_the_hosts_that_were_never_reached() {
    let p = Program::initialised();
    p.push("work", &fragile(1));
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.file("fail-b", "");
    p.run(&["run", "work", "-i", &inventory]).exits(1);
    std::fs::remove_file(p.path().join("fail-b")).unwrap();
    p.run(&["runs", "retry", "1"]).exits(0);
    assert_eq!(hosts_of(&p, "2"), ["b", "c"]);
}

#[test]
fn a_retry_after_a_kill_goes_to_every_host_without_a_recap() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.file("hang-b", "");
    let mut run = spawn(&p, &["run", "work", "-i", &inventory, "--limit", "a:b"]);
    until(20, "two hosts are at work", || {
        let shown = p.run(&["runs", "show", "1", "--format", "json"]);
        shown.code == 0
            && shown.json()["tasks"]
                .as_array()
                .unwrap()
                .iter()
                .any(|t| t["name"] == "Hang")
    });
    let ran = p.run(&["runs", "retry", "1"]).exits(4);
    assert!(ran.stderr.contains("still running"), "{}", ran.stderr);
    run.kill().unwrap();
    run.wait().unwrap();
    std::fs::remove_file(p.path().join("hang-b")).unwrap();
    let again = spawn(&p, &["runs", "retry", "1"]);
    ended(again, 30).exits(0);
    assert_eq!(hosts_of(&p, "2"), ["a", "b"]);
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "interrupted");
}

#[test]
fn what_an_older_build_recorded_is_run_again_too() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a", "b"]);
    p.run(&["run", "work", "-i", &inventory]).exits(0);
    let older = json!({"hosts": [], "inventory": inventory, "limit": "a", "tags": null,
        "skip_tags": null, "check": false, "diff": false, "variables": {},
        "variable_files": [], "become_password_file": null, "vault_ids": []});
    let db = rusqlite::Connection::open(p.store().join("kloigos.db")).unwrap();
    db.execute(
        "UPDATE runs SET request = ?1 WHERE id = 1",
        [older.to_string()],
    )
    .unwrap();
    p.run(&["runs", "rerun", "1"]).exits(0);
    assert_eq!(hosts_of(&p, "2"), ["a"]);
}

#[test]
fn secrets_are_asked_for_again_or_given_again() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a"]);
    let secrets = p.file("secrets", "token=hunter2222\n");
    p.run(&["run", "work", "-i", &inventory, "--secret-file", &secrets])
        .exits(0);
    let ran = p.run(&["runs", "rerun", "1"]).exits(2);
    assert!(ran.stderr.contains("token"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--secret-file"), "{}", ran.stderr);
    p.run(&["runs", "rerun", "1", "--secret-file", &secrets])
        .exits(0);
    let request = p.json(&["runs", "show", "2"])["request"].clone();
    assert_eq!(request["secrets"], json!(["token"]));
    assert!(!request.to_string().contains("hunter2222"));
}

#[test]
fn lifecycle_runs_are_not_done_again() {
    let p = Program::with_server();
    p.run(&["server", "init", "alpha"]).exits(0);
    for verb in ["rerun", "retry"] {
        let ran = p.run(&["runs", verb, "1"]).exits(4);
        assert!(ran.stderr.contains("kloigos server init"), "{}", ran.stderr);
    }
}

#[test]
fn a_retry_of_a_run_that_never_got_its_hosts_is_the_whole_run() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a", "b"]);
    p.file("hang-a", "");
    let first = spawn(&p, &["run", "work", "-i", &inventory, "--limit", "a"]);
    until(20, "run 1 has its host", || {
        p.json(&["runs", "list"])[0]["status"] == "running"
    });
    p.run(&["run", "work", "-i", &inventory, "--no-wait"])
        .exits(5);
    let pid = Pid::from_raw(i32::try_from(first.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    ended(first, 15).exits(130);
    std::fs::remove_file(p.path().join("hang-a")).unwrap();
    p.run(&["runs", "retry", "2"]).exits(0);
    assert_eq!(hosts_of(&p, "3"), ["a", "b"]);
}

#[test]
fn two_runs_are_compared_by_what_was_asked_and_what_came_of_it() {
    let p = Program::initialised();
    p.push("work", &fragile(3));
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.run(&["run", "work", "-i", &inventory, "-e", "x=1"])
        .exits(0);
    p.push("work", &fragile(2));
    p.file("fail-b", "");
    p.run(&[
        "run", "work", "-i", &inventory, "-e", "x:=1", "--limit", "a:b",
    ])
    .exits(1);
    let same = p.run(&["runs", "diff", "1", "1"]).exits(0);
    assert_eq!(
        (same.stdout.as_str(), same.stderr.as_str()),
        ("", "no differences\n")
    );
    let db = rusqlite::Connection::open(p.store().join("kloigos.db")).unwrap();
    db.execute(
        "UPDATE run_results SET duration_ms = 9000 WHERE run_id = 2 AND host = 'a' AND task_no = 1",
        [],
    )
    .unwrap();
    let diff = p.json(&["runs", "diff", "1", "2"]);
    let fields: Vec<_> = diff["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        [
            "version",
            "sha256",
            "limit",
            "variable x",
            "status",
            "exit_code"
        ]
    );
    assert_eq!(
        diff["hosts"],
        json!([{"host": "b", "a": "ok", "b": "failed"}, {"host": "c", "a": "ok", "b": null}])
    );
    let tasks = diff["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2, "{tasks:?}");
    assert_eq!(
        tasks[0],
        json!({"play": "Work", "task": "Break", "host": "b", "a": "skipped", "b": "failed"})
    );
    assert_eq!(
        tasks[1]["b"],
        json!(null),
        "the task after it was not reached"
    );
    assert_eq!(diff["slower"][0]["task"], "Begin");
    assert_eq!(diff["slower"][0]["b_ms"], 9000);
    let text = p.run(&["runs", "diff", "1", "2"]).exits(0).stdout;
    assert!(
        text.contains("Slower") && text.contains("variable x"),
        "{text}"
    );
    p.run(&["runs", "diff", "1", "9"]).exits(3);
}

#[test]
fn a_retry_reaches_hosts_that_the_playbook_itself_adds() {
    let p = Program::initialised();
    let adds = "---
- name: Make
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Add
      ansible.builtin.add_host:
        name: \"{{ item }}\"
        ansible_connection: local
        groups: made
      loop: [m1, m2]
- name: Prepare
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Say
      ansible.builtin.debug:
        msg: x
"
    .to_owned()
        + fragile(2)
            .replace("hosts: all", "hosts: made")
            .trim_start_matches("---\n");
    p.push("adds", &adds);
    p.file("fail-m2", "");
    p.run(&["run", "adds"]).exits(1);
    std::fs::remove_file(p.path().join("fail-m2")).unwrap();
    p.run(&["runs", "retry", "1"]).exits(0);
    let shown = p.json(&["runs", "show", "2"]);
    let work = &shown["tasks"][2];
    assert_eq!((&work["name"], &work["ok"]), (&json!("Begin"), &json!(1)));
    assert!(!hosts_of(&p, "2").contains(&"m1".to_owned()));
}
