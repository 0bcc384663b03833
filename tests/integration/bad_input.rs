//! Bad input: one clear line that says what and why, and nothing changed.

use crate::program::{HERE, Program};

/// Runs the command, which must exit with `code` and say `part` in one line.
#[track_caller]
fn refused(p: &Program, arguments: &[&str], code: i32, part: &str) {
    let before = p.json(&["event", "list"]);
    let ran = p.run(arguments).exits(code);
    assert_eq!(ran.stdout, "", "nothing on standard output");
    assert!(ran.error().contains(part), "{}", ran.stderr);
    assert_eq!(p.json(&["event", "list"]), before, "something was changed");
}

#[test]
fn servers_are_checked_before_anything_is_written() {
    let p = Program::with_server();
    let add = |extra: &[&'static str]| {
        let mut all = vec!["server", "add"];
        all.extend(extra);
        all.extend(["--admin-user", "admin", "--region", "eu", "--zone", "a"]);
        all
    };
    for (extra, code, part) in [
        (vec!["-x", "--private-ip", "10.0.0.1", "--cu", "0"], 2, "-x"),
        (
            vec!["a_b", "--private-ip", "10.0.0.1", "--cu", "0"],
            2,
            "hostname",
        ),
        (
            vec!["b", "--private-ip", "10.0.0", "--cu", "0"],
            2,
            "10.0.0",
        ),
        (
            vec!["b", "--private-ip", "10.0.0.1", "--cu", "3-1"],
            2,
            "ends before it begins",
        ),
        (
            vec!["b", "--private-ip", "10.0.0.1", "--cu", "0-1", "1"],
            2,
            "share CPU 1",
        ),
        (
            vec![
                "b",
                "--private-ip",
                "10.0.0.1",
                "--cu",
                "0",
                "--disk",
                "sdb",
            ],
            2,
            "/dev/",
        ),
        (
            vec![
                "b",
                "--private-ip",
                "10.0.0.1",
                "--cu",
                "0",
                "--profile",
                "big",
            ],
            2,
            "profile",
        ),
        (
            vec!["b", "--private-ip", "10.0.0.1", "--cu", "0", "--tag", "x"],
            2,
            "KEY=VALUE",
        ),
        (
            vec!["alpha", "--private-ip", "10.0.0.1", "--cu", "0"],
            11,
            "alpha",
        ),
        (
            vec!["b", "--private-ip", "127.0.0.21", "--cu", "0"],
            11,
            "127.0.0.21",
        ),
        // One machine by its other address.
        (
            vec![
                "b",
                "--private-ip",
                "10.0.0.1",
                "--public-ip",
                "127.0.0.21",
                "--cu",
                "0",
            ],
            11,
            "127.0.0.21",
        ),
        // A floating address is no server's own.
        (
            vec!["b", "--private-ip", "192.0.2.10", "--cu", "0"],
            11,
            "IP pool",
        ),
        (
            vec!["all", "--private-ip", "10.0.0.1", "--cu", "0"],
            2,
            "another name",
        ),
        (
            vec!["Localhost", "--private-ip", "10.0.0.1", "--cu", "0"],
            2,
            "another name",
        ),
        (
            vec!["--private-ip", "10.0.0.1", "--cu", "0", "b"],
            2,
            "goes before --cu",
        ),
    ] {
        refused(&p, &add(&extra), code, part);
    }
}

#[test]
fn allocations_are_checked_before_anything_is_written() {
    let p = Program::with_server();
    let key = p.key();
    let private = p.file("private", "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    let broken = p.file(
        "broken.pub",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98\n",
    );
    for (arguments, code, part) in [
        (vec!["Web", "--key", &key], 2, "allocation id"),
        (
            vec!["web", "--key", "/nonexistent.pub"],
            2,
            "/nonexistent.pub",
        ),
        (vec!["web", "--key", &private], 2, "private key"),
        (
            vec!["web", "--key", &broken],
            2,
            "not an OpenSSH public key",
        ),
        (vec!["web", "--key", &key, "--user", "root"], 2, "reserved"),
        (vec!["web", "--key", &key, "--user", "Bob"], 2, "login user"),
        (vec!["web", "--key", &key, "--cpus", "3"], 12, "3 CPU"),
        (
            vec!["web", "--key", &key, "--region", "us"],
            12,
            "region us",
        ),
        (
            vec!["web", "--key", &key, "--cu", "alpha-cu09"],
            3,
            "alpha-cu09",
        ),
        (
            vec!["web", "--key", &key, "--cu", "alpha"],
            2,
            "compute unit",
        ),
        (
            vec!["web", "--key", &key, "--ip", "192.0.2.99"],
            3,
            "192.0.2.99",
        ),
        (vec!["web", "--key", &key, "--ip", "x"], 2, "x"),
        (vec!["web", "--key", "/dev/zero"], 2, "more than"),
    ] {
        let mut all = vec!["alloc", "create"];
        all.extend(arguments);
        refused(&p, &all, code, part);
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let p = Program::initialised();
    for arguments in [
        &["server", "show", "x"][..],
        &["server", "init", "x"],
        &["server", "remove", "x", "--yes"],
        &["cu", "show", "x-cu00"],
        &["cu", "show", "x"],
        &["alloc", "show", "x"],
        &["alloc", "delete", "x", "--yes"],
        &["alloc", "retry", "x"],
        &["playbook", "show", "x"],
        &["playbook", "show", "SERVER_INIT", "--version", "99"],
        &["runs", "show", "99"],
        &["runs", "output", "99"],
        &["setting", "get", "x"],
        &["setting", "set", "x", "1"],
        &["run", "x"],
        &["ip", "remove", "10.0.0.1", "--yes"],
    ] {
        refused(&p, arguments, 3, "");
    }
}

#[test]
fn addresses_settings_and_runs_are_checked() {
    let p = Program::initialised();
    p.json(&["ip", "add", "10.9.0.1"]);
    refused(&p, &["ip", "add", "10.9.0.1"], 11, "10.9.0.1");
    refused(&p, &["ip", "add", "10.9.0.2", "10.9.0.x"], 2, "10.9.0.x");
    refused(&p, &["ip", "add", "10.0.0.0/8"], 2, "more than");
    refused(
        &p,
        &["setting", "set", "runs.max_concurrent", "many"],
        2,
        "many",
    );
    refused(
        &p,
        &["setting", "set", "ssh.private_key_file", "/nonexistent"],
        2,
        "/nonexistent",
    );
    refused(
        &p,
        &["setting", "set", "ssh.private_key_file", "/tmp"],
        2,
        "not a file",
    );
    refused(
        &p,
        &["setting", "set", "ansible.playbook_path", "/bin/false"],
        2,
        "gave no version",
    );
    refused(&p, &["ip", "add", "10.1.1.7/29"], 2, "10.1.1.0/29");
    refused(&p, &["runs", "list", "--subject", "web1"], 2, "server lab1");
    refused(&p, &["run", "list"], 3, "");
    p.push("HERE", HERE);
    refused(&p, &["run", "HERE", "--host", "all"], 2, "something else");
    for empty in ["--limit", "--tags", "--skip-tags", "--host"] {
        refused(&p, &["run", "HERE", empty, ""], 2, "");
    }
    refused(&p, &["run", "HERE", "--host", "a{{b}}"], 2, "an address");
    refused(&p, &["run", "HERE", "--limit", "@/nosuch"], 2, "/nosuch");
    let comma = p.file("a,b", "a\n");
    refused(&p, &["run", "HERE", "-i", &comma], 2, "comma");
    refused(
        &p,
        &["run", "HERE", "-e", "n:=12345678901234567890123"],
        2,
        "as it is",
    );
    refused(&p, &["run", "SERVER_INIT"], 4, "kloigos server init");
    refused(
        &p,
        &["run", "SERVER_INIT", "-e", "1x=2", "--check"],
        2,
        "variable",
    );
}

#[test]
fn a_destructive_command_without_a_terminal_needs_yes() {
    let p = Program::with_server();
    p.json(&["alloc", "create", "web", "--key", &p.key()]);
    refused(&p, &["alloc", "delete", "web"], 2, "");
    let ran = p.run(&["alloc", "delete", "web"]);
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    assert_eq!(p.json(&["alloc", "show", "web"])["status"], "ALLOCATED");
}

#[test]
fn a_playbook_that_does_not_parse_is_refused_with_line_and_column() {
    let p = Program::initialised();
    let bad = p.file(
        "bad.yml",
        "---\n- hosts: all\n  tasks:\n    - name: x\n     debug: {}\n",
    );
    let ran = p.run(&["playbook", "push", "bad", &bad]).exits(2);
    assert!(
        ran.stderr.contains(":5:") || ran.stderr.contains("line 5"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains(&bad), "{}", ran.stderr);
    p.run(&["playbook", "show", "bad"]).exits(3);
    let good = p.file("good.yml", HERE);
    p.run(&["playbook", "push", "good", &good]).exits(0);
    refused(&p, &["playbook", "push", "GOOD", &good], 11, "good");
    let newer = p.file("newer.yml", &format!("{HERE}# newer\n"));
    let ran = p.run(&["playbook", "push", "good", &newer]).exits(0);
    assert!(ran.stderr.contains("set-default good 2"), "{}", ran.stderr);
}

#[test]
fn without_a_store_every_command_says_init() {
    let p = Program::bare();
    for arguments in [
        &["server", "list"][..],
        &["alloc", "list"],
        &["runs", "list"],
        &["ip", "add", "10.0.0.1"],
    ] {
        let ran = p.run(arguments).exits(9);
        assert!(ran.stderr.contains("kloigos init"), "{}", ran.stderr);
    }
    assert!(!p.store().exists(), "a reader made the directory");
}

#[test]
fn a_key_file_that_is_gone_is_said_before_anything_changes() {
    let p = Program::with_server();
    let key = p.file("id", "x");
    p.run(&["setting", "set", "ssh.private_key_file", &key])
        .exits(0);
    std::fs::remove_file(&key).unwrap();
    refused(&p, &["server", "init", "alpha"], 10, &key);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");
}

#[test]
fn a_key_file_that_is_gone_does_not_stop_a_run_on_this_machine() {
    let p = Program::initialised();
    p.push("HERE", HERE);
    let key = p.file("id", "x");
    p.run(&["setting", "set", "ssh.private_key_file", &key])
        .exits(0);
    std::fs::remove_file(&key).unwrap();
    p.run(&["run", "HERE"]).exits(0);
}

#[test]
fn tags_that_no_task_has_are_named_and_hosts_are_not_blamed() {
    let p = Program::initialised();
    p.push("HERE", HERE);
    let ran = p.run(&["run", "HERE", "--tags", "nosuch"]).exits(8);
    assert!(
        ran.stderr.contains("no task has these tags"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("no host matched"), "{}", ran.stderr);
    let ran = p
        .run(&["run", "HERE", "--start-at-task", "nosuch"])
        .exits(8);
    assert!(ran.stderr.contains("name to start at"), "{}", ran.stderr);
    p.run(&["run", "HERE", "--start-at-task", "One step"])
        .exits(0);
}

#[test]
fn a_run_without_hosts_says_how_to_name_some() {
    let p = Program::initialised();
    p.push("REMOTE", &HERE.replace("localhost", "web"));
    let ran = p.run(&["run", "REMOTE"]).exits(8);
    assert!(ran.stderr.contains("--host"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("PLAY RECAP"), "{}", ran.stderr);
}

#[test]
fn a_full_standard_output_does_not_make_a_run_a_failure() {
    let p = Program::initialised();
    p.push("HERE", HERE);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = p
        .command(&["run", "HERE", "--format", "json"])
        .stdout(full)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("cannot write to standard output"), "{said}");
}

#[test]
fn units_of_a_server_that_is_not_ready_are_named_when_none_is_free() {
    let p = Program::initialised();
    p.add_server("alpha", &["0-1"]).exits(6);
    p.json(&["ip", "add", "192.0.2.10"]);
    let ran = p
        .run(&["alloc", "create", "web", "--key", &p.key()])
        .exits(12);
    assert!(ran.stderr.contains("alpha is INIT_FAIL"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("kloigos server init alpha"),
        "{}",
        ran.stderr
    );
}

#[test]
fn ansible_that_is_gone_is_said_before_anything_changes() {
    let p = Program::with_server();
    let gone = p.file(
        "ansible-playbook",
        "#!/bin/sh\necho 'ansible-playbook [core 2.19.0]'\n",
    );
    std::fs::set_permissions(&gone, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    p.run(&["setting", "set", "ansible.playbook_path", &gone])
        .exits(0);
    std::fs::remove_file(&gone).unwrap();
    refused(
        &p,
        &["alloc", "create", "web", "--key", &p.key()],
        10,
        &gone,
    );
}

#[test]
fn validate_and_push_pass_on_what_ansible_lint_finds() {
    let p = Program::initialised();
    let poor = p.file(
        "poor.yml",
        "---\n- hosts: all\n  tasks:\n    - ansible.builtin.shell: echo hi\n",
    );
    let with_lint = |arguments: &[&str]| {
        let output = p
            .command(arguments)
            .env("PATH", crate::program::search_path())
            .output()
            .unwrap();
        crate::program::Ran::of(&output)
    };
    let validation = with_lint(&["playbook", "validate", "--path", &poor, "--format", "json"])
        .exits(0)
        .json();
    let run: Vec<_> = validation["checks_run"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert!(run.iter().any(|c| *c == "ansible-lint"), "{validation}");
    let warnings = validation["warnings"].to_string();
    assert!(warnings.contains("no-changed-when"), "{validation}");
    assert!(warnings.contains("poor.yml:"), "{validation}");

    let strict = with_lint(&["playbook", "push", "POOR", &poor, "--strict"]).exits(7);
    assert!(
        strict.stderr.contains("no-changed-when"),
        "{}",
        strict.stderr
    );
    p.run(&["playbook", "show", "POOR"]).exits(3);
    let pushed = with_lint(&["playbook", "push", "POOR", &poor]).exits(0);
    assert!(
        pushed.stderr.contains("no-changed-when"),
        "{}",
        pushed.stderr
    );
}

#[test]
fn an_ansible_lint_that_fails_is_not_called_a_check() {
    let p = Program::initialised();
    let fine = p.file("fine.yml", "---\n- name: Fine\n  hosts: all\n  tasks: []\n");
    let bin = p.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let lint = bin.join("ansible-lint");
    std::fs::write(&lint, "#!/bin/sh\necho 'it is broken' >&2\nexit 2\n").unwrap();
    std::fs::set_permissions(&lint, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        bin.display(),
        crate::program::search_path().display()
    );
    let output = p
        .command(&["playbook", "validate", "--path", &fine, "--format", "json"])
        .env("PATH", path)
        .output()
        .unwrap();
    let validation: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(
        !validation["checks_run"]
            .to_string()
            .contains("ansible-lint"),
        "{validation}"
    );
    assert!(
        validation["not_run"].to_string().contains("it is broken"),
        "{validation}"
    );
}
