//! Servers and allocations from start to end through the program, with an
//! operator's own small playbooks in place of the packaged ones.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::program::Program;

#[test]
fn a_server_becomes_ready_and_its_facts_are_kept() {
    let p = Program::with_server();
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["status"], "READY");
    assert_eq!(server["facts"]["cpus"], 8);
    assert_eq!(server["facts"]["memory_mb"], 16000);
    let units = p.json(&["cu", "list"]);
    let nodes: Vec<_> = units
        .as_array()
        .unwrap()
        .iter()
        .map(|u| u["numa_node"].clone())
        .collect();
    assert_eq!(nodes, [json!(0), json!(0), json!(1)]);
    let unit = p.json(&["cu", "show", "alpha-cu02"]);
    assert_eq!(unit["cpu_set"], "4,5,6,7");
    assert_eq!(unit["storage_path"], "/mnt/kloigos/alpha/cu02");
    assert_eq!(unit["memory"], json!({"high_mb": 6480, "max_mb": 7200}));
}

#[test]
fn an_allocation_is_created_shown_and_deleted() {
    let p = Program::with_server();
    let key = p.key();
    let made = p.json(&[
        "alloc",
        "create",
        "web",
        "--key",
        &key,
        "--cpus",
        "4",
        "--tag",
        "team=shop",
    ]);
    let a = &made;
    assert_eq!(a["status"], "ALLOCATED");
    assert_eq!(a["compute_unit"], "alpha-cu02");
    assert_eq!(a["ip_address"], "192.0.2.10");
    assert_eq!(a["uid"], 20000);
    assert_eq!(a["tags"]["team"], "shop");
    assert_eq!(made["run"]["status"], "success");

    let pool = p.json(&["ip", "list"]);
    assert_eq!(pool[0]["status"], "ALLOCATED");
    assert_eq!(pool[0]["allocation"], "web");
    p.run(&["ip", "remove", "192.0.2.10", "--yes"]).exits(4);
    p.run(&["server", "remove", "alpha", "--yes"]).exits(4);

    let gone = p.json(&["alloc", "delete", "web", "--yes"]);
    assert_eq!(gone["status"], "DEALLOCATED");
    assert_eq!(p.json(&["ip", "list"])[0]["status"], "FREE");
    assert_eq!(p.json(&["cu", "show", "alpha-cu02"])["status"], "FREE");
    assert_eq!(p.json(&["alloc", "list"]), json!([]));
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "DEALLOCATED");

    // The id and the user are free again; the UID is not given at once.
    let next = p.json(&["alloc", "create", "web", "--key", &key]);
    assert_eq!(next["uid"], 20001);
    let runs = p.json(&["runs", "list"]);
    let playbooks: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["playbook"].clone())
        .collect();
    assert_eq!(
        playbooks,
        [
            "ALLOCATION_CREATE",
            "ALLOCATION_DELETE",
            "ALLOCATION_CREATE",
            "SERVER_INIT"
        ]
    );
    assert_eq!(runs[0]["version"], 2);
}

#[test]
fn a_failed_create_keeps_its_place_and_retry_goes_on() {
    let p = Program::with_server();
    let key = p.key();
    p.file("fail-create", "");
    let ran = p.run(&["alloc", "create", "web", "--key", &key]).exits(1);
    assert!(
        ran.stderr.contains("the disk of the tenant is broken"),
        "{}",
        ran.stderr
    );
    let a = p.json(&["alloc", "show", "web"]);
    assert_eq!(a["status"], "ALLOCATION_FAIL");
    assert!(
        a["status_reason"].as_str().unwrap().contains("broken"),
        "{a}"
    );
    assert_eq!(
        p.json(&["cu", "show", "alpha-cu00"])["status"],
        "ALLOCATION_FAIL"
    );
    assert_eq!(p.json(&["ip", "list"])[0]["status"], "RESERVED");

    std::fs::remove_file(p.path().join("fail-create")).unwrap();
    let done = p.json(&["alloc", "retry", "web"]);
    assert_eq!(done["status"], "ALLOCATED");
    assert_eq!(p.json(&["ip", "list"])[0]["status"], "ALLOCATED");
    p.run(&["alloc", "retry", "web"]).exits(4);
}

#[test]
fn a_unit_is_free_only_after_the_cleaning_has_succeeded() {
    let p = Program::with_server();
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    p.file("fail-delete", "");
    p.run(&["alloc", "delete", "web", "--yes"]).exits(1);
    assert_eq!(
        p.json(&["alloc", "show", "web"])["status"],
        "DEALLOCATION_FAIL"
    );
    assert_eq!(
        p.json(&["cu", "show", "alpha-cu00"])["status"],
        "DEALLOCATION_FAIL"
    );
    assert_eq!(p.json(&["ip", "list"])[0]["status"], "RELEASING");
    std::fs::remove_file(p.path().join("fail-delete")).unwrap();
    p.json(&["alloc", "retry", "web"]);
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "DEALLOCATED");
    assert_eq!(p.json(&["cu", "show", "alpha-cu00"])["status"], "FREE");
}

#[test]
fn a_killed_create_is_told_truly_and_retry_finishes() {
    let p = Program::with_server();
    let key = p.key();
    p.file("hang-create", "");
    let mut child = p
        .command(&["alloc", "create", "web", "--key", &key])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while p.json(&["runs", "list"])[0]["status"] != "running" {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "the run did not start"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "ALLOCATING");
    let run = p.json(&["runs", "list"])[0]["id"].to_string();
    let noted = p.store().join("runs").join(run).join("control");
    let control = std::path::PathBuf::from(std::fs::read_to_string(noted).unwrap());
    let mode = std::os::unix::fs::PermissionsExt::mode(&control.metadata().unwrap().permissions());
    assert_eq!(
        mode & 0o777,
        0o700,
        "others can look into {}",
        control.display()
    );
    child.kill().unwrap();
    child.wait().unwrap();

    // A reader says so before anybody has written it.
    assert_eq!(
        p.json(&["alloc", "show", "web"])["status"],
        "ALLOCATION_FAIL"
    );
    assert_eq!(
        p.json(&["cu", "show", "alpha-cu00"])["status"],
        "ALLOCATION_FAIL"
    );
    assert_eq!(p.json(&["runs", "list"])[0]["status"], "interrupted");
    assert_eq!(p.json(&["runs", "list", "--status", "running"]), json!([]));
    assert_eq!(
        p.json(&["runs", "list", "--status", "interrupted"])
            .as_array()
            .unwrap()
            .len(),
        1
    );

    std::fs::remove_file(p.path().join("hang-create")).unwrap();
    let done = p.json(&["alloc", "retry", "web"]);
    assert_eq!(done["status"], "ALLOCATED");
    assert!(
        !control.exists(),
        "{} is left of the killed run",
        control.display()
    );
    let kinds: Vec<_> = p
        .json(&["event", "list", "--subject", "allocation web"])
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["detail"]["to"].as_str().unwrap_or("").to_owned())
        .rev()
        .collect();
    assert_eq!(
        kinds,
        [
            "",
            "ALLOCATING",
            "ALLOCATION_FAIL",
            "ALLOCATING",
            "ALLOCATED"
        ]
    );
}

#[test]
fn a_lost_server_takes_its_allocations_with_it_on_the_operators_word() {
    let p = Program::with_server();
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    let removed = p.json(&["server", "remove", "alpha", "--lost", "--yes"]);
    assert_eq!(removed["closed_allocations"], json!(["web"]));
    assert_eq!(removed["freed_addresses"], json!(["192.0.2.10"]));
    assert_eq!(p.json(&["ip", "list"])[0]["status"], "FREE");
    assert_eq!(p.json(&["server", "list"]), json!([]));
}

#[test]
fn a_play_on_a_mistyped_group_is_no_success() {
    let p = Program::initialised();
    p.push(
        "SERVER_INIT",
        "---\n- name: Something here\n  hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n    - name: It is well\n      ansible.builtin.debug:\n        msg: well\n\n- name: The server\n  hosts: kloigos_sever\n  gather_facts: false\n  tasks:\n    - name: Never\n      ansible.builtin.debug:\n        msg: never\n",
    );
    let ran = p.add_server("alpha", &["0-1"]);
    assert_ne!(ran.code, 0);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
}

#[test]
fn what_a_tenant_wrote_into_a_key_is_never_run() {
    let p = Program::with_server();
    p.push(
        "ALLOCATION_CREATE",
        "---
- name: The key is given back
  hosts: kloigos_server
  connection: local
  gather_facts: false
  tasks:
    - name: Back
      ansible.builtin.set_stats:
        data:
          kloigos:
            key: \"{{ ssh_public_key }}\"
",
    );
    let comment = format!(
        "{{{{ lookup('pipe', 'touch {}; echo x') }}}}",
        p.path().join("ran").display()
    );
    let key = crate::program::TENANT_KEY
        .trim()
        .replace("tenant", &comment);
    let file = p.file("evil.pub", &key);
    p.json(&["alloc", "create", "evil", "--key", &file]);
    assert!(
        !p.path().join("ran").exists(),
        "the comment of a key was run"
    );
    let run = p.json(&["runs", "list", "-n", "1"])[0].clone();
    assert_eq!(run["data"]["key"], key.as_str());
}
