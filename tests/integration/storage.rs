//! What `server add` and `server init` do where SERVER_INIT found storage that
//! nobody named, and where a host was taken over from another store.

use serde_json::json;

use crate::program::{Program, Ran, adding};
use crate::secrets_typed::on_a_terminal;

/// As the packaged one: the only volume group is told, and left alone until its
/// name is given.
const ASKS: &str = "---
- name: The server is ready
  hosts: kloigos_server
  connection: local
  gather_facts: false
  tasks:
    - name: A volume group was found
      ansible.builtin.set_stats:
        data:
          kloigos:
            candidate_vg: {name: data, free_mb: 12288, volumes: 2, volume_mb: 6144}
        per_host: false
      when: kloigos_vg is none
    - name: Nobody named it
      ansible.builtin.fail:
        msg: no storage was named
      when: kloigos_vg is none
    - name: The group is used
      ansible.builtin.set_stats:
        data:
          kloigos:
            vg: \"{{ kloigos_vg }}\"
        per_host: false
";

fn with_one_group() -> Program {
    let p = Program::initialised();
    p.push("SERVER_INIT", ASKS);
    p
}

/// `server add` on a terminal, on which `typed` is answered.
fn add(p: &Program, typed: &str, more: &[&str]) -> Ran {
    let arguments = adding("alpha", "127.0.0.21", &["0", "1"], more);
    on_a_terminal(p, typed, &arguments)
}

fn runs(p: &Program) -> usize {
    p.json(&["runs", "list"]).as_array().unwrap().len()
}

#[test]
fn the_only_volume_group_is_shown_and_taken_when_its_name_is_typed() {
    let p = with_one_group();
    let ran = add(&p, "data\\n", &["--color", "never"]).exits(0);
    assert!(
        ran.stdout
            .contains("On alpha only the volume group data has free space (12 GiB); this makes 2 volumes of 6.0 GiB there."),
        "{}",
        ran.stdout
    );
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["status"], "READY");
    assert_eq!(server["storage"]["vg"], "data");
    assert_eq!(server["facts"]["vg"], "data");
    let told: Vec<_> = p
        .json(&["runs", "list"])
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["status"].clone())
        .collect();
    assert_eq!(told, [json!("success"), json!("failed")]);
    // It has a name now, so nothing is asked.
    p.run(&["server", "init", "alpha"]).exits(0);
}

#[test]
fn another_word_leaves_everything_as_it_is() {
    let p = with_one_group();
    let ran = add(&p, "yes\\n", &[]).exits(2);
    assert!(ran.stdout.contains("not confirmed"), "{}", ran.stdout);
    assert_eq!(runs(&p), 1);
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["status"], "INIT_FAIL");
    assert_eq!(server["storage"]["vg"], json!(null));
    // `server init` asks as `server add` does.
    on_a_terminal(&p, "data\\n", &["server", "init", "alpha"]).exits(0);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");
}

#[test]
fn yes_does_not_confirm_what_nobody_saw() {
    let p = with_one_group();
    let ran = add(&p, "data\\n", &["--yes"]).exits(1);
    assert!(!ran.stdout.contains("Type "), "{}", ran.stdout);
    for more in [&[][..], &["--yes"]] {
        let init = [&["server", "init", "alpha"], more].concat();
        p.run(&init).exits(1);
    }
    assert_eq!(runs(&p), 3, "no run went on with the group");
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["storage"]["vg"], json!(null));
    p.run(&["server", "init", "alpha", "--vg", "data"]).exits(0);
}

#[test]
fn a_host_is_taken_over_once_and_not_again_in_silence() {
    let p = Program::with_server();
    let given = || {
        p.json(&["runs", "list", "--limit", "1"])[0]["request"]["variables"]["kloigos_adopt"]
            .clone()
    };
    p.file(
        "SERVER_INIT.yml",
        "---\n- name: Fails\n  hosts: kloigos_server\n  connection: local\n  gather_facts: false\n  tasks:\n    - name: No\n      ansible.builtin.fail:\n        msg: no\n",
    );
    let broken = p.path().join("SERVER_INIT.yml");
    p.run(&[
        "playbook",
        "push",
        "SERVER_INIT",
        broken.to_str().unwrap(),
        "--default",
    ])
    .exits(0);
    p.run(&["server", "init", "alpha", "--adopt"]).exits(1);
    assert_eq!(given(), true);
    // The word holds until the host is taken over, and no longer.
    p.run(&["playbook", "rollback", "SERVER_INIT"]).exits(0);
    p.run(&["server", "init", "alpha"]).exits(0);
    assert_eq!(given(), true);
    p.run(&["server", "init", "alpha"]).exits(0);
    assert_eq!(given(), false);
}
