//! What a run would do, told before it is done.

use crate::engine_end::{ended, local_inventory, spawn, until};
use crate::program::Program;

const TWO: &str = "---
- name: First
  hosts: a
  gather_facts: false
  tasks:
    - name: A file would show that it ran
      ansible.builtin.file:
        path: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}/ran\"
        state: touch
        mode: \"0600\"
    - name: By another
      ansible.builtin.debug:
        msg: x
      delegate_to: c
- name: Second
  hosts: a:b
  gather_facts: false
  tasks: []
";

#[test]
fn an_explanation_names_hosts_version_variables_and_touches_nothing() {
    let p = Program::initialised();
    p.push("TWO", TWO);
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    let secrets = p.file("secrets", "pw=hunter2222\n");
    let before = p.json(&["event", "list"]);
    let told = p.json(&[
        "run",
        "TWO",
        "-i",
        &inventory,
        "-e",
        "n=1",
        "--secret-file",
        &secrets,
        "--explain",
    ]);
    assert_eq!(
        (&told["playbook"], &told["version"]),
        (&"TWO".into(), &1.into())
    );
    let names = |list: &serde_json::Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|h| h["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&told["plays"]), ["First", "Second"]);
    assert_eq!(names(&told["hosts"]), ["a", "c", "b"]);
    assert_eq!(told["hosts"][1]["delegate"], true);
    assert_eq!(told["hosts"][0]["held_by"], serde_json::json!([]));
    let variables = told["variables"].to_string();
    assert!(variables.contains("\"n\"") && variables.contains("\"pw\""));
    assert!(!told.to_string().contains("hunter2222"));
    assert!(!p.path().join("ran").exists(), "a task ran");
    assert_eq!(p.json(&["event", "list"]), before, "something was recorded");
    assert_eq!(p.json(&["runs", "list"]), serde_json::json!([]));
    let left: Vec<_> = std::fs::read_dir(p.store().join("runs")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");

    let list = p
        .run(&["run", "TWO", "-i", &inventory, "--list-hosts"])
        .exits(0);
    assert_eq!(list.stdout, "a\nc\nb\n");
}

#[test]
fn an_explanation_says_who_holds_a_host_and_what_would_refuse() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a", "b"]);
    p.push(
        "HOLD",
        "---
- name: Hold
  hosts: a
  gather_facts: false
  tasks:
    - name: Wait
      ansible.builtin.wait_for:
        path: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}/go\"
        timeout: 60
",
    );
    p.push("TWO", &TWO.replace("delegate_to: c", "delegate_to: b"));
    let hold = spawn(&p, &["run", "HOLD", "-i", &inventory]);
    until(30, "the host is held", || {
        p.json(&["runs", "list"])[0]["status"] == "running"
    });
    let told = p.json(&["run", "TWO", "-i", &inventory, "--explain"]);
    assert_eq!(told["hosts"][0]["held_by"][0]["run"], 1);
    assert_eq!(told["hosts"][0]["held_by"][0]["holds"], true);
    assert_eq!(told["hosts"][1]["held_by"], serde_json::json!([]));
    p.file("go", "");
    ended(hold, 60).exits(0);

    let explain = |playbook: &str, more: &[&str]| {
        let mut all = vec!["run", playbook, "-i", &inventory, "--explain"];
        all.extend(more);
        p.run(&all)
    };
    let none = explain("TWO", &["--limit", "nosuch"]).exits(8);
    assert!(none.stderr.contains("limit"), "{}", none.stderr);
    explain("SERVER_INIT", &[]).exits(4);
    explain("NOSUCH", &[]).exits(3);
    p.push(
        "ASK",
        "---
- name: Ask
  hosts: a
  gather_facts: false
  vars_prompt:
    - name: release
      prompt: Which one
  tasks:
    - name: A person looks
      ansible.builtin.pause:
",
    );
    let asks = explain("ASK", &[]).exits(7);
    assert!(
        asks.stdout.contains("waits for a person"),
        "{}",
        asks.stdout
    );
    assert!(asks.stderr.contains("-e release="), "{}", asks.stderr);
}
