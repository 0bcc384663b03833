//! An operator's own playbooks in place of the packaged ones: written against
//! the documented variables alone, tried, made the default, rolled back.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engine_end::local_inventory;
use crate::program::{Program, Ran, path_without_lint};

/// A lifecycle playbook that builds its host itself from what it is given, and
/// works on the group `group`; `that` must hold.
fn own(group: &str, that: &[&str], tasks: &str) -> String {
    let that: String = that.iter().map(|t| format!("          - {t}\n")).collect();
    format!(
        "---
- name: The host is known
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: The host joins
      ansible.builtin.add_host:
        name: \"{{{{ hostname }}}}\"
        groups: target
        ansible_host: \"{{{{ ansible_host }}}}\"
        ansible_user: \"{{{{ server_admin_user }}}}\"
        ansible_connection: local
        ansible_python_interpreter: \"{{{{ ansible_playbook_python }}}}\"
      changed_when: false

- name: The work is done
  hosts: {group}
  gather_facts: false
  vars:
    dir: \"{{{{ lookup('env', 'KLOIGOS_TEST_DIR') }}}}\"
  tasks:
    - name: The variables are those of the documentation
      ansible.builtin.assert:
        that:
{that}{tasks}"
    )
}

const SERVER: &[&str] = &[
    "hostname == 'alpha' and ansible_host == '127.0.0.21'",
    "server_private_ip == '127.0.0.21' and server_public_ip is none",
    "server_admin_user == 'admin'",
];

fn init_in(group: &str) -> String {
    let that = [
        SERVER,
        &[
            "runtime_profile in ['standard', 'build'] and disk_size_gb is none",
            "compute_units | map(attribute='ordinal') | list == [0, 1]",
            "compute_units[1].cpu_range == '2-3' and compute_units[1].cpu_set == '2,3'",
            "compute_units[1].cpu_count == 2",
        ],
    ]
    .concat();
    own(
        group,
        &that,
        "    - name: The host has its mark
      ansible.builtin.copy:
        dest: \"{{ dir }}/mark\"
        content: \"{{ runtime_profile }} on {{ hostname }}\\n\"
        mode: '0644'
",
    )
}

fn tenant(group: &str, more: &str, state: &str) -> String {
    let that = [
        SERVER,
        &[
            "allocation_id == 'web' and compute_id == 'alpha-cu00'",
            "private_ip == '192.0.2.10' and allocation_ip_address == private_ip",
            "login_user == 'web' and cpu_range == '0-1' and cpu_set == '0,1' and cpu_count == 2",
            "compute_unit_storage_mount_path == '/mnt/kloigos/alpha/cu00'",
            more,
        ],
    ]
    .concat();
    let tasks = format!(
        "    - name: The tenant's directory
      ansible.builtin.file:
        path: \"{{{{ dir }}}}/tenant-{{{{ login_user }}}}\"
        state: {state}
        mode: '0755'
"
    );
    own(group, &that, &tasks)
}

fn create_in(group: &str) -> String {
    tenant(
        group,
        "ssh_public_key is match('ssh-ed25519 ')",
        "directory",
    )
}

fn delete_in(group: &str) -> String {
    tenant(group, "ssh_public_key is undefined", "absent")
}

/// `alpha` with two units, everything of its life by own playbooks.
fn with_own() -> Program {
    let p = Program::initialised();
    p.push("SERVER_INIT", &init_in("target"));
    p.push("ALLOCATION_CREATE", &create_in("target"));
    p.push("ALLOCATION_DELETE", &delete_in("target"));
    p.add_server("alpha", &["0-1", "2-3"]).exits(0);
    p.json(&["ip", "add", "192.0.2.10-192.0.2.11"]);
    p
}

#[test]
fn own_playbooks_do_the_whole_life_of_a_server_and_a_tenant() {
    let p = with_own();
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");
    assert!(p.path().join("mark").exists());
    let made = p.json(&["alloc", "create", "web", "--key", &p.key()]);
    assert_eq!(made["status"], "ALLOCATED");
    assert!(p.path().join("tenant-web").exists());
    let gone = p.json(&["alloc", "delete", "web", "--yes"]);
    assert_eq!(gone["status"], "DEALLOCATED");
    assert!(!p.path().join("tenant-web").exists());
    for run in p.json(&["runs", "list"]).as_array().unwrap() {
        assert_eq!(run["version"], 2, "{run}");
    }
}

#[test]
fn a_mistyped_group_in_an_own_playbook_is_a_failure() {
    let p = with_own();
    p.push("SERVER_INIT", &init_in("tragte"));
    let ran = p.run(&["server", "init", "alpha"]).exits(1);
    assert!(ran.stderr.contains("alpha"), "{}", ran.stderr);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
    p.run(&["playbook", "rollback", "SERVER_INIT"]).exits(0);
    p.run(&["server", "init", "alpha"]).exits(0);

    p.push("ALLOCATION_CREATE", &create_in("tragte"));
    let create = ["alloc", "create", "web", "--key", &p.key()];
    p.run(&create).exits(1);
    let state = |p: &Program| p.json(&["alloc", "show", "web"])["status"].clone();
    assert_eq!(state(&p), "ALLOCATION_FAIL");
    p.run(&["playbook", "rollback", "ALLOCATION_CREATE"])
        .exits(0);
    p.run(&["alloc", "retry", "web"]).exits(0);

    p.push("ALLOCATION_DELETE", &delete_in("tragte"));
    p.run(&["alloc", "delete", "web", "--yes"]).exits(1);
    assert_eq!(state(&p), "DEALLOCATION_FAIL");
    assert!(p.path().join("tenant-web").exists());
    p.run(&["playbook", "rollback", "ALLOCATION_DELETE"])
        .exits(0);
    p.run(&["alloc", "delete", "web", "--yes"]).exits(0);
    assert_eq!(state(&p), "DEALLOCATED");
}

fn decomm_in(group: &str) -> String {
    let that = [
        SERVER,
        &[
            "compute_units is undefined",
            "kloigos_purge_packages is false",
        ],
    ]
    .concat();
    own(
        group,
        &that,
        "    - name: The mark is gone
      ansible.builtin.file:
        path: \"{{ dir }}/mark\"
        state: absent
",
    )
}

#[test]
fn an_own_playbook_decommissions_a_server_that_comes_back_with_its_units() {
    let p = with_own();
    let decommission = ["server", "decommission", "alpha", "--yes"];
    p.push("SERVER_DECOMM", &decomm_in("target"));
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    let refused = p.run(&decommission).exits(4);
    assert!(
        refused.stderr.contains("1 allocation"),
        "{}",
        refused.stderr
    );
    p.json(&["alloc", "delete", "web", "--yes"]);

    p.push("SERVER_DECOMM", &decomm_in("tragte"));
    p.run(&decommission).exits(1);
    let state = || p.json(&["server", "show", "alpha"])["status"].clone();
    assert_eq!(state(), "DECOMMISSION_FAIL");
    assert!(p.path().join("mark").exists());
    p.run(&["playbook", "rollback", "SERVER_DECOMM"]).exits(0);
    p.run(&["server", "decommission", "alpha"]).exits(2);
    p.run(&decommission).exits(0);
    assert_eq!(state(), "DECOMMISSIONED");
    assert!(!p.path().join("mark").exists());
    p.run(&["alloc", "create", "web", "--key", &p.key()])
        .exits(12);

    p.run(&["server", "recommission", "alpha"]).exits(0);
    assert_eq!(state(), "READY");
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    p.json(&["alloc", "delete", "web", "--yes"]);
    p.run(&decommission).exits(0);
    p.run(&["server", "remove", "alpha", "--yes"]).exits(0);
}

/// The variables that the store gave to the latest run.
fn given(p: &Program) -> Value {
    p.json(&["runs", "list", "--limit", "1"])[0]["request"]["store_variables"].clone()
}

#[test]
fn a_check_of_a_server_playbook_has_the_servers_variables() {
    let p = with_own();
    std::fs::remove_file(p.path().join("mark")).unwrap();
    let check = ["run", "SERVER_INIT", "--host", "alpha", "--check", "--diff"];
    let with = |more: &[&str]| p.run(&[&check[..], more].concat());
    with(&[]).exits(0);
    assert_eq!(given(&p)["server_admin_user"], "admin");
    assert_eq!(given(&p)["compute_units"][1]["cpu_set"], "2,3");
    let latest = || {
        let id = p.json(&["runs", "list", "--limit", "1"])[0]["id"].to_string();
        p.run(&["runs", "output", &id]).stdout
    };
    assert!(latest().contains("+standard on alpha"), "{}", latest());
    assert!(!p.path().join("mark").exists(), "a check changes nothing");
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");

    // What is given by hand wins, in a file too.
    with(&["-e", "runtime_profile=build"]).exits(0);
    assert!(latest().contains("+build on alpha"), "{}", latest());
    let file = p.file("vars.yml", "runtime_profile: build\n");
    with(&["-e", &format!("@{file}")]).exits(0);
    assert!(latest().contains("+build on alpha"), "{}", latest());
    p.run(&["runs", "rerun", "2"]).exits(0);
    assert!(latest().contains("+standard on alpha"), "{}", latest());

    let diff = p.json(&["runs", "diff", "2", "3"]);
    let fields: Vec<_> = diff["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["field"].clone())
        .collect();
    assert_eq!(fields, ["variable runtime_profile"]);

    let explained = p.json(&[&check[..], &["--explain"]].concat());
    let from_store = explained["variables"]
        .as_array()
        .unwrap()
        .iter()
        .any(|v| v["name"] == "hostname" && v["value"] == "alpha" && v["from"] == "store");
    assert!(from_store, "{explained}");
}

#[test]
fn a_check_of_an_allocation_playbook_has_what_the_store_knows_of_it() {
    let p = with_own();
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    for playbook in ["ALLOCATION_CREATE", "ALLOCATION_DELETE"] {
        let check = ["run", playbook, "--check", "-e", "allocation_id=web"];
        p.run(&check).exits(0);
        assert_eq!(given(&p)["login_user"], "web");
        assert_eq!(given(&p)["hostname"], "alpha");
        p.run(&[&check[..], &["--host", "alpha"]].concat()).exits(0);
    }
    assert!(
        p.path().join("tenant-web").exists(),
        "a check changes nothing"
    );
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "ALLOCATED");
}

#[test]
fn where_the_variables_cannot_be_told_one_line_says_what_to_give() {
    let p = with_own();
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    let runs = p.json(&["runs", "list"]);
    for (arguments, code, part) in [
        (&["SERVER_INIT"][..], 2, "--host"),
        (
            &["SERVER_INIT", "--host", "127.0.0.9"],
            2,
            "127.0.0.9 is no registered server",
        ),
        (
            &["SERVER_INIT", "--host", "alpha", "beta"],
            2,
            "2 hosts are named",
        ),
        (&["ALLOCATION_CREATE"], 2, "-e allocation_id=ID"),
        (
            &["ALLOCATION_DELETE", "--host", "alpha"],
            2,
            "-e allocation_id=ID",
        ),
        (
            &["ALLOCATION_DELETE", "-e", "allocation_id=none"],
            3,
            "no allocation none",
        ),
        (
            &[
                "ALLOCATION_DELETE",
                "-e",
                "allocation_id=web",
                "--host",
                "beta",
            ],
            2,
            "allocation web is on alpha",
        ),
    ] {
        let ran = p
            .run(&[&["run"], arguments, &["--check"]].concat())
            .exits(code);
        assert!(ran.error().contains(part), "{}", ran.stderr);
    }
    assert_eq!(p.json(&["runs", "list"]), runs, "nothing was recorded");

    // Its unit may be another tenant's by now.
    p.json(&["alloc", "delete", "web", "--yes"]);
    let check = [
        "run",
        "ALLOCATION_DELETE",
        "--check",
        "-e",
        "allocation_id=web",
    ];
    let ran = p.run(&check).exits(4);
    assert!(ran.stderr.contains("it is DEALLOCATED"), "{}", ran.stderr);
}

/// The commands of the README's example, without its prompts and remarks.
fn example() -> String {
    let readme = std::fs::read_to_string("README.md").unwrap();
    let (_, after) = readme
        .split_once("### Replacing one of them\n")
        .expect("the README has the example");
    let section = after.split("\n#").next().unwrap();
    let lines: Vec<&str> = section
        .lines()
        .filter_map(|l| l.strip_prefix("    "))
        .collect();
    assert!(lines.len() >= 7, "{section}");
    lines.join("\n")
}

#[test]
fn the_example_of_the_readme_works_as_it_stands() {
    let p = Program::initialised();
    // In place of the packaged one, which needs a real host: as version 2, so
    // that the example's own is the next.
    p.push(
        "SERVER_INIT",
        &init_in("target").replace("'alpha'", "'lab1'"),
    );
    p.add_server("lab1", &["0-1", "2-3"]).exits(0);
    let bin = p.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kloigos"), bin.join("kloigos")).unwrap();
    // The stand-in is a single file; the packaged playbook makes the directory.
    std::fs::create_dir(p.path().join("server-init")).unwrap();
    let editor = bin.join("editor");
    let text = "#!/bin/sh\nsed -i 's/{{ runtime_profile }} on/ours on/' \"$1\"\n";
    std::fs::write(&editor, text).unwrap();
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let script = example()
        .replace("--version 2", "--version 3")
        .replace("set-default SERVER_INIT 2", "set-default SERVER_INIT 3");
    let inner = p.command(&[]);
    let path = format!(
        "{}:{}",
        bin.display(),
        path_without_lint().to_str().unwrap()
    );
    let ran = Command::new("sh")
        .args(["-exc", &script])
        .env_clear()
        .envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .env("PATH", path)
        .env("EDITOR", editor)
        .current_dir(p.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = Ran::of(&ran).exits(0);
    assert!(
        ran.stdout.contains("+        content: \"ours on"),
        "{}",
        ran.stdout
    );
    let runs = p.json(&["runs", "list"]);
    let told: Vec<_> = runs
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["version"].clone(), r["check"].clone()))
        .collect();
    assert_eq!(
        told,
        [
            (json!(3), json!(false)),
            (json!(3), json!(true)),
            (json!(2), json!(false))
        ]
    );
    assert_eq!(p.json(&["playbook", "show", "SERVER_INIT"])["version"], 2);
    let mark = std::fs::read_to_string(p.path().join("mark")).unwrap();
    assert_eq!(mark, "ours on lab1\n");
}

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

#[test]
fn settings_tell_value_default_type_and_meaning() {
    let p = Program::initialised();
    let list = p.json(&["setting", "list"]);
    for setting in list.as_array().unwrap() {
        for field in [
            "name",
            "value",
            "default",
            "is_default",
            "type",
            "description",
            "secret",
        ] {
            assert!(setting.get(field).is_some(), "{field}: {setting}");
        }
    }
    let table = p.run(&["setting", "list"]).exits(0).stdout;
    let row = table
        .lines()
        .find(|l| l.starts_with("runs.max_concurrent"))
        .unwrap();
    for part in ["4", "count", "runs that may execute at once"] {
        assert!(row.contains(part), "{row}");
    }
    for (name, value) in [
        ("runs.max_concurrent", "many"),
        ("runs.max_concurrent", "0"),
        ("runs.host_wait_seconds", "-1"),
        ("alloc.uid_range", "5"),
        ("ssh.private_key_file", "relative"),
    ] {
        let ran = p.run(&["setting", "set", name, value]).exits(2);
        assert!(ran.stderr.contains(name), "{}", ran.stderr);
    }
    assert_eq!(p.json(&["setting", "list"]), list);
}
