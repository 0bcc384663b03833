//! Claims of real runs: many hosts, hosts that a play adds, runs that wait for
//! each other.

use crate::engine_end::{ended, local_inventory, spawn, until};
use crate::program::Program;

#[test]
fn the_hosts_of_a_large_inventory_are_claimed() {
    let p = Program::initialised();
    let long = "a-name-that-is-as-long-as-names-in-some-places-are".repeat(2);
    let names: Vec<String> = (0..700).map(|n| format!("{long}-{n:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let inventory = local_inventory(&p, &names);
    p.push(
        "once",
        "---\n- name: Once\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.debug:\n        msg: x\n      run_once: true\n",
    );
    ended(spawn(&p, &["run", "once", "-i", &inventory]), 60).exits(0);
    let hosts = p.json(&["runs", "show", "1"])["hosts"].clone();
    assert_eq!(hosts.as_array().unwrap().len(), 700);
}

/// Works on one host, and when told to go on adds the other one.
fn adds(first: &str, second: &str) -> String {
    format!(
        "---
- name: First
  hosts: {first}
  gather_facts: false
  tasks:
    - name: Wait for the word
      ansible.builtin.wait_for:
        path: \"{{{{ lookup('env', 'KLOIGOS_TEST_DIR') }}}}/go\"
        timeout: 30
    - name: Another host is added
      ansible.builtin.add_host:
        name: {second}
        groups: added
        ansible_connection: local
- name: Second
  hosts: added
  gather_facts: false
  tasks:
    - name: Take a while
      ansible.builtin.wait_for:
        timeout: 2
      delegate_to: localhost
"
    )
}

fn running(p: &Program, run: &str) {
    until(30, "the run is running", || {
        p.run(&["runs", "show", run, "--format", "json"])
            .stdout
            .contains("\"running\"")
    });
}

#[test]
fn a_run_that_adds_a_host_goes_before_one_that_waits_for_it_anyway() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["first", "second"]);
    p.push("adds", &adds("first", "second"));
    p.push(
        "both",
        "---\n- name: Both\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.debug:\n        msg: x\n",
    );
    let adds = spawn(&p, &["run", "adds", "-i", &inventory]);
    running(&p, "1");
    let both = spawn(&p, &["run", "both", "-i", &inventory]);
    until(30, "the second run waits", || {
        p.json(&["runs", "list"])[0]["id"] == 2
            && p.json(&["runs", "show", "2"])["waits_for"][0]["run"] == 1
    });
    p.file("go", "");
    ended(adds, 40).exits(0);
    ended(both, 40).exits(0);
}

#[test]
fn of_two_runs_that_want_each_others_host_the_younger_fails_and_says_so() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["first", "second"]);
    p.push("one", &adds("first", "second"));
    p.push("two", &adds("second", "first"));
    let one = spawn(&p, &["run", "one", "-i", &inventory]);
    running(&p, "1");
    let two = spawn(&p, &["run", "two", "-i", &inventory]);
    running(&p, "2");
    p.file("go", "");
    let two = ended(two, 60).exits(5);
    assert!(
        two.stderr.contains("run 1") && two.stderr.contains("waits for this run"),
        "{}",
        two.stderr
    );
    ended(one, 60).exits(0);
}

#[test]
fn a_host_that_tasks_are_delegated_to_is_claimed_and_has_no_results_of_its_own() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.push(
        "by",
        "---
- name: By another
  hosts: a
  gather_facts: false
  tasks:
    - name: Not this one
      ansible.builtin.debug:
        msg: x
      delegate_to: c
      when: false
    - name: Work on others
      ansible.builtin.wait_for:
        path: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}/go\"
        timeout: 30
      delegate_to: \"{{ item }}\"
      loop:
        - b
",
    );
    p.push(
        "say",
        "---\n- name: Say\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.debug:\n        msg: x\n",
    );
    let by = spawn(&p, &["run", "by", "-i", &inventory]);
    let lock = p.store().join("locks").join("host-name-b");
    until(30, "the other host is claimed", || lock.exists());
    let say = |host: &str| p.run(&["run", "say", "-i", &inventory, "--limit", host, "--no-wait"]);
    let refused = say("b").exits(5);
    assert!(refused.stderr.contains("run 1"), "{}", refused.stderr);
    say("c").exits(0);
    p.file("go", "");
    ended(by, 40).exits(0);
    say("b").exits(0);
    let hosts = p.json(&["runs", "show", "1"])["hosts"].clone();
    let names: Vec<_> = hosts
        .as_array()
        .unwrap()
        .iter()
        .map(|h| &h["host"])
        .collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn a_delegate_that_is_known_is_claimed_at_the_plays_start() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.push(
        "later",
        "---
- name: By another, later
  hosts: a
  gather_facts: false
  tasks:
    - name: Something else first
      ansible.builtin.wait_for:
        path: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}/go\"
        timeout: 30
    - name: In a block
      block:
        - name: Work on another
          ansible.builtin.debug:
            msg: x
          delegate_to: b
    - name: Only known when it runs
      ansible.builtin.set_fact:
        other: c
    - name: Work on one that was not known
      ansible.builtin.debug:
        msg: x
      delegate_to: \"{{ other }}\"
",
    );
    let later = spawn(&p, &["run", "later", "-i", &inventory]);
    running(&p, "1");
    let locks = p.store().join("locks");
    until(30, "the delegate is claimed", || {
        locks.join("host-name-b").exists()
    });
    assert!(!locks.join("host-name-c").exists());
    p.file("go", "");
    ended(later, 40).exits(0);
    assert!(locks.join("host-name-c").exists());
}
