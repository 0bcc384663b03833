//! What Ansible accepts is accepted and kept, byte for byte; what it refuses is
//! shown with its place.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::program::{Program, path_without_lint};

pub fn says(word: &str) -> String {
    format!(
        "---
- name: A play
  hosts: localhost
  gather_facts: false
  tasks:
    - name: A word
      ansible.builtin.debug:
        msg: {word}
"
    )
}

pub fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn encrypt(p: &Program, file: &Path, password_file: &str) {
    let done = Command::new("ansible-vault")
        .env("PATH", path_without_lint())
        .args(["encrypt", "--vault-id"])
        .arg(format!("prod@{password_file}"))
        .arg(file)
        .current_dir(p.path())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn a_bundle_works_from_the_store_with_all_that_stands_beside_it() {
    let p = Program::initialised();
    let root = p.path().join("web");
    write(
        &root,
        &[
            (
                "site.yml",
                "---
- name: A play
  hosts: web
  gather_facts: false
  vars_files: [secrets.yml]
  roles: [greeter]
",
            ),
            (
                "roles/greeter/tasks/main.yml",
                "---
- name: All of it
  ansible.builtin.debug:
    msg: \"{{ lookup('template', 'hello.j2') }} {{ lookup('file', 'note.txt') }} {{ extra }}\"
- name: A module beside the playbook
  answer:
  register: answer
- name: It answered
  ansible.builtin.assert:
    that: answer.value == 42
",
            ),
            ("roles/greeter/templates/hello.j2", "hello {{ who }}"),
            ("files/note.txt", "noted"),
            (
                "library/answer.py",
                "#!/usr/bin/python3\nfrom ansible.module_utils.basic import AnsibleModule\nAnsibleModule({}).exit_json(value=42)\n",
            ),
            ("group_vars/web.yml", "---\nwho: group\n"),
            ("secrets.yml", "---\nextra: from the vault\n"),
        ],
    );
    let vault = p.file("vault.pass", "vault-hunter\n");
    encrypt(&p, &root.join("secrets.yml"), &vault);
    let bundle = root.to_str().unwrap();
    let push = ["playbook", "push", "web", bundle, "--entry", "site.yml"];
    let validate = [
        "playbook", "validate", "--path", bundle, "--entry", "site.yml",
    ];
    let id = format!("prod@{vault}");
    for command in [&push[..], &validate] {
        let locked = p.run(command).exits(2);
        assert!(
            locked.stderr.contains("--ask-vault-pass"),
            "{}",
            locked.stderr
        );
        p.run(&[command, &["--vault-id", &id]].concat()).exits(0);
        let nobody = p.run(&[command, &["--ask-vault-pass"]].concat()).exits(2);
        assert!(nobody.stderr.contains("no terminal"), "{}", nobody.stderr);
    }
    let inventory = p.file(
        "hosts",
        "[web]\na ansible_connection=local ansible_python_interpreter=\"{{ ansible_playbook_python }}\"\n",
    );
    let ran = p.run(&["run", "web", "-i", &inventory, "--vault-id", &id, "-v"]);
    ran.exits(0);
    let output = p.run(&["runs", "output", "1"]).stdout;
    assert!(
        output.contains("hello group noted from the vault"),
        "{output}"
    );
}

#[test]
fn what_ansible_accepts_is_accepted_and_kept_byte_for_byte() {
    let p = Program::initialised();
    let odd = "---
- name: Ünïcode ☃
  hosts: localhost
  gather_facts: false
  vars:
    base: &base {a: 1}
    merged:
      <<: *base
      b: 2
    twice: 1
    twice: 2
    sealed: !vault |
      $ANSIBLE_VAULT;1.1;AES256
      6162
    raw: !unsafe '{{ not a template }}'
    number: 0o17
  tasks:
    - name: Say
      ansible.builtin.debug:
        msg: \"tab\there\"
";
    for (name, bytes) in [
        ("plain", odd.as_bytes().to_vec()),
        ("crlf", odd.replace('\n', "\r\n").into_bytes()),
        ("bom", format!("\u{feff}{odd}").into_bytes()),
        ("no-end", odd.trim_end().as_bytes().to_vec()),
    ] {
        let file = p.path().join("odd.yml");
        std::fs::write(&file, &bytes).unwrap();
        let ran = p.run(&["playbook", "push", name, file.to_str().unwrap()]);
        let ran = ran.exits(0);
        assert!(
            ran.stderr.contains("duplicate") && ran.stderr.contains("odd.yml:1"),
            "told with its place: {}",
            ran.stderr
        );
        p.run(&["playbook", "export", name, name]).exits(0);
        let back = std::fs::read(p.path().join(name)).unwrap();
        assert_eq!(back, bytes, "{name}");
        // Nothing is replaced, and a directory is gone into.
        p.run(&["playbook", "export", name, name]).exits(11);
        let dir = format!("{name}-dir");
        std::fs::create_dir(p.path().join(&dir)).unwrap();
        p.run(&["playbook", "export", name, &dir]).exits(0);
        assert!(p.path().join(dir).join("playbook.yml").exists());
    }
}

#[test]
fn what_ansible_refuses_is_shown_with_line_and_column() {
    let p = Program::initialised();
    for (text, place) in [
        ("---\n- hosts: all\n\ttasks: []\n", "bad.yml:3:1"),
        (
            "---\n- hosts: all\n  tasks:\n    - nosuchmodule: {}\n",
            "bad.yml:4:7",
        ),
        ("---\n- hosts: all\n  taskz: []\n", "bad.yml:3:3"),
        ("---\n- hosts: \"{{ a\"\n  tasks: []\n", "bad.yml:2:10"),
    ] {
        let file = p.file("bad.yml", text);
        let ran = p.run(&["playbook", "push", "bad", &file]).exits(2);
        assert!(ran.stderr.contains(place), "{text}: {}", ran.stderr);
        p.run(&["playbook", "show", "bad"]).exits(3);
    }
}

#[test]
fn a_variable_in_hosts_that_only_the_run_has_is_a_warning() {
    let p = Program::initialised();
    let text = says("hi").replace("localhost", "\"{{ target }}:{{ more }}\"");
    let file = p.file("later.yml", &text);
    let pushed = p.json(&["playbook", "push", "later", &file]);
    let warnings: Vec<&str> = pushed["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w.as_str().unwrap())
        .collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("later.yml:3:10: ") && warnings[0].contains("target"),
        "{warnings:?}"
    );
    let given = p.json(&[
        "playbook",
        "validate",
        "later",
        "-e",
        "target=all",
        "-e",
        "more=web",
    ]);
    assert_eq!(given["warnings"], json!([]));
    // From the inventory, which a check does not have.
    let file = p.file(
        "g.yml",
        &says("x").replace("localhost", "\"{{ groups['web'] }}\""),
    );
    p.run(&["playbook", "push", "groups", &file]).exits(0);
    // What comes after it is still checked.
    let bad = p.file("bad.yml", &text.replace("ansible.builtin.debug", "nosuch"));
    let ran = p.run(&["playbook", "push", "bad", &bad]).exits(2);
    assert!(ran.stderr.contains("bad.yml:6:7"), "{}", ran.stderr);
}
