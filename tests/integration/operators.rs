//! Runs and the versions that they ran.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine_end::local_inventory;
use crate::program::Program;

fn until(what: &str, mut f: impl FnMut() -> bool) {
    let started = Instant::now();
    while !f() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "not in time: {what}"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn runs_in_progress_and_queued_keep_their_version_while_the_default_changes() {
    let p = Program::initialised();
    let text = |word: &str| {
        format!(
            "---
- name: A play
  hosts: all
  gather_facts: false
  tasks:
    - name: The word is awaited
      ansible.builtin.command: sh -c 'until [ -e {}/go ]; do sleep 0.1; done'
      changed_when: false
    - name: A word
      ansible.builtin.debug:
        msg: the word is {word}
",
            p.path().display()
        )
    };
    p.push("words", &text("first"));
    let inventory = local_inventory(&p, &["a"]);
    let start = || {
        p.command(&["run", "words", "-i", &inventory, "-v"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let status = |n: usize| p.json(&["runs", "list"])[n]["status"].clone();
    let mut running = start();
    until("running", || status(0) == "running");
    let mut queued = start();
    until("queued", || status(0) == "queued" && status(1) == "running");
    p.push("words", &text("second"));
    std::thread::sleep(Duration::from_millis(500));
    p.file("go", "");
    assert!(running.wait().unwrap().success());
    assert!(queued.wait().unwrap().success());
    p.run(&["run", "words", "-i", &inventory, "-v"]).exits(0);
    p.run(&["run", "words", "-i", &inventory, "-v", "--version", "1"])
        .exits(0);

    let versions = p.json(&["playbook", "versions", "words"]);
    for (run, version, word) in [
        ("1", 1, "first"),
        ("2", 1, "first"),
        ("3", 2, "second"),
        ("4", 1, "first"),
    ] {
        let shown = p.json(&["runs", "show", run]);
        assert_eq!(shown["playbook"], "words");
        assert_eq!(shown["version"], version);
        assert_eq!(shown["digest"], versions[2 - version]["digest"]);
        let output = p.run(&["runs", "output", run]).stdout;
        assert!(output.contains(&format!("the word is {word}")), "{output}");
        assert_eq!(
            p.run(&["runs", "show", run, "--playbook"]).stdout,
            text(word)
        );
    }
}

#[test]
fn a_run_shows_the_exact_content_that_it_ran() {
    let p = Program::initialised();
    let text = "\u{feff}---\r\n- name: A play\r\n  hosts: localhost\r\n  gather_facts: false\r\n  tasks:\r\n    - name: X\r\n      ansible.builtin.debug:\r\n        msg: \"a\tb\"";
    p.push("odd", text);
    p.run(&["run", "odd"]).exits(0);
    assert_eq!(p.run(&["runs", "show", "1", "--playbook"]).stdout, text);

    let root = p.path().join("bundle");
    std::fs::create_dir_all(root.join("files")).unwrap();
    std::fs::write(root.join("site.yml"), text).unwrap();
    std::fs::write(root.join("files/data"), b"\xff\x00\x01").unwrap();
    let bundle = root.to_str().unwrap();
    p.run(&["playbook", "push", "b", bundle, "--entry", "site.yml"])
        .exits(0);
    p.run(&["run", "b"]).exits(0);
    let output = p
        .command(&["runs", "show", "2", "--playbook"])
        .output()
        .unwrap();
    let mut expected = b"==> files/data <==\n\xff\x00\x01\n==> site.yml <==\n".to_vec();
    expected.extend(text.as_bytes());
    assert_eq!(output.stdout, expected);
    let shown = p.json(&["runs", "show", "2", "--playbook"]);
    assert_eq!(shown["version"], 1);
    assert_eq!(shown["entry"], "site.yml");
    assert_eq!(shown["kind"], "bundle");
    assert_eq!(
        shown["files"],
        json!([
            {"path": "files/data", "executable": false, "encoding": "base64", "content": "/wAB"},
            {"path": "site.yml", "executable": false, "encoding": "utf-8", "content": text},
        ])
    );
    p.run(&["runs", "show", "9", "--playbook"]).exits(3);
}
