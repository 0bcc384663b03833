//! Real SSH: first contact, changed host keys, refused keys, dead hosts.

use crate::program::Program;
use crate::sshd::Sshd;

const INIT: &str = "---
- name: The server is ready
  hosts: kloigos_server
  gather_facts: false
  tasks:
    - name: The server answers
      ansible.builtin.raw: echo \"$SSH_CONNECTION\"
      changed_when: false
";

fn user() -> String {
    let output = std::process::Command::new("id")
        .arg("-un")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn add(p: &Program, name: &str, address: &str, port: &str) -> crate::program::Ran {
    p.run(&[
        "server",
        "add",
        name,
        "--private-ip",
        address,
        "--port",
        port,
        "--admin-user",
        &user(),
        "--region",
        "eu",
        "--zone",
        "a",
        "--cu",
        "0",
    ])
}

fn program(sshd: &Sshd) -> Program {
    let p = Program::initialised();
    p.push("SERVER_INIT", INIT);
    p.run(&[
        "setting",
        "set",
        "ssh.private_key_file",
        sshd.key().to_str().unwrap(),
    ])
    .exits(0);
    p
}

#[test]
fn first_contact_shows_the_fingerprint_and_keeps_the_key() {
    let sshd = Sshd::start("127.0.0.11");
    let p = program(&sshd);
    let ran = add(&p, "alpha", sshd.address, &sshd.port_text()).exits(0);
    assert!(ran.stderr.contains("SHA256:"), "{}", ran.stderr);
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["status"], "READY");
    let shown = server["host_keys"][0].as_str().unwrap();
    assert!(
        ran.stderr.contains(shown.split(' ').nth(1).unwrap()),
        "{shown}"
    );
}

#[test]
fn a_changed_host_key_is_refused_and_said() {
    let mut sshd = Sshd::start("127.0.0.12");
    let p = program(&sshd);
    add(&p, "alpha", sshd.address, &sshd.port_text()).exits(0);
    sshd.reinstall();
    let ran = p.run(&["server", "init", "alpha"]).exits(6);
    assert!(ran.stderr.contains("host key is another"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ssh-keygen -R"), "{}", ran.stderr);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
}

#[test]
fn a_refused_key_is_said_with_what_to_check() {
    let sshd = Sshd::start("127.0.0.13");
    let p = program(&sshd);
    sshd.forget_keys();
    let ran = add(&p, "alpha", sshd.address, &sshd.port_text()).exits(6);
    assert!(
        ran.stderr.contains("no key that it offered"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("ssh.private_key_file"),
        "{}",
        ran.stderr
    );
    let server = p.json(&["server", "show", "alpha"]);
    assert_eq!(server["status"], "INIT_FAIL");
    assert!(
        server["status_reason"]
            .as_str()
            .unwrap()
            .contains("unreachable"),
        "{server}"
    );
}

#[test]
fn a_key_that_asks_for_a_passphrase_is_said_before_anything_is_changed() {
    let sshd = Sshd::start("127.0.0.18");
    let p = program(&sshd);
    add(&p, "alpha", sshd.address, &sshd.port_text()).exits(0);
    let locked = p.path().join("locked");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "secret", "-f"])
        .arg(&locked)
        .status()
        .unwrap();
    assert!(made.success());
    p.run(&[
        "setting",
        "set",
        "ssh.private_key_file",
        locked.to_str().unwrap(),
    ])
    .exits(0);
    let ran = p.run(&["server", "init", "alpha"]).exits(10);
    assert!(ran.stderr.contains("passphrase"), "{}", ran.stderr);
    assert!(ran.stderr.contains("ssh-add"), "{}", ran.stderr);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");
}

#[test]
fn two_unknown_hosts_neither_hang_nor_hide_each_other() {
    let (one, two) = (Sshd::start("127.0.0.19"), Sshd::start("127.0.0.20"));
    let p = program(&one);
    p.push("ping", PING);
    let hosts = [&one, &two].map(|s| format!("{}:{}", s.address, s.port));
    let ran = p
        .run(&["run", "ping", "--host", &hosts[0], &hosts[1]])
        .exits(6);
    assert!(
        ran.stderr.contains("host key is not known"),
        "{}",
        ran.stderr
    );
    let reason = p.json(&["runs", "show", "1"])["reason"].clone();
    let reason = reason.as_str().unwrap();
    assert!(
        reason.contains("127.0.0.19") && reason.contains("127.0.0.20"),
        "{reason}"
    );
}

#[test]
fn a_server_on_ipv6_with_a_port_of_its_own_is_reached_and_claimed_once() {
    let sshd = Sshd::start("::1");
    let p = program(&sshd);
    add(&p, "six", "::1", &sshd.port_text()).exits(0);
    p.push("ping", PING);
    p.run(&["run", "ping", "--host", "six"]).exits(0);
    let by_address = format!("[::1]:{}", sshd.port);
    let ran = p.run(&["run", "ping", "--host", &by_address]);
    let shown = p.json(&["runs", "show", "3"]);
    assert_eq!(
        shown["hosts"].as_array().unwrap().len(),
        1,
        "{}",
        ran.stderr
    );
    // Reached, though not let in: no key is given for an address.
    assert!(!ran.stderr.contains("resolve"), "{}", ran.stderr);
}

const PING: &str = "---
- name: Ping
  hosts: all
  gather_facts: false
  tasks:
    - name: Say
      ansible.builtin.raw: 'true'
      changed_when: false
";

#[test]
fn a_dead_host_is_unreachable_with_the_reason() {
    let mut sshd = Sshd::start("127.0.0.14");
    let p = program(&sshd);
    sshd.stop();
    let ran = add(&p, "alpha", sshd.address, &sshd.port_text()).exits(6);
    assert!(ran.stderr.contains("unreachable"), "{}", ran.stderr);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
    assert_eq!(p.json(&["runs", "show", "1"])["hosts"][0]["unreachable"], 1);
}

#[test]
fn one_good_host_and_one_dead_is_a_failure_that_names_the_dead_one() {
    let sshd = Sshd::start("127.0.0.15");
    let p = program(&sshd);
    add(&p, "alpha", sshd.address, &sshd.port_text()).exits(0);
    p.push(
        "ping",
        "---\n- name: Ping\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.raw: 'true'\n      changed_when: false\n",
    );
    let ran = p
        .run(&["run", "ping", "--host", "alpha", "127.0.0.16:1"])
        .exits(6);
    assert!(ran.stderr.contains("127.0.0.16"), "{}", ran.stderr);
    let hosts = p.json(&["runs", "show", "2"])["hosts"].clone();
    let verdicts: Vec<_> = hosts
        .as_array()
        .unwrap()
        .iter()
        .map(|h| {
            (
                h["host"].as_str().unwrap(),
                h["ok"].as_u64().unwrap(),
                h["unreachable"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(verdicts, [("127.0.0.16", 0, 1), ("alpha", 1, 0)]);
}

#[test]
fn aliases_of_one_machine_are_one_claim() {
    let sshd = Sshd::start("127.0.0.17");
    let p = program(&sshd);
    add(&p, "alpha", sshd.address, &sshd.port_text()).exits(0);
    p.push(
        "nap",
        "---\n- name: Nap\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Sleep\n      ansible.builtin.raw: sleep 8\n      changed_when: false\n",
    );
    let mut first = p
        .command(&["run", "nap", "--host", "alpha"])
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while p.json(&["runs", "list"])[0]["status"] != "running" {
        assert!(started.elapsed().as_secs() < 20);
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let by_address = format!("{}:{}", sshd.address, sshd.port);
    let ran = p
        .run(&["run", "nap", "--host", &by_address, "--no-wait"])
        .exits(5);
    assert!(ran.stderr.contains("alpha"), "{}", ran.stderr);
    assert!(first.wait().unwrap().success());
}

#[test]
fn a_server_that_moves_is_met_again_and_another_machine_is_told() {
    let (mut old, new) = (Sshd::start("127.0.0.57"), Sshd::start("127.0.0.58"));
    let p = program(&old);
    add(&p, "alpha", old.address, &old.port_text()).exits(0);
    let edit = |to: &Sshd| {
        let port = to.port_text();
        p.run(&[
            "server",
            "edit",
            "alpha",
            "--private-ip",
            to.address,
            "--port",
            &port,
        ])
        .exits(0)
    };
    let moved = edit(&new);
    assert!(
        moved.stderr.contains("accepted the host key of alpha") && moved.stderr.contains("SHA256:"),
        "{}",
        moved.stderr
    );
    assert!(
        moved.stderr.contains("is it the same one?"),
        "{}",
        moved.stderr
    );
    // Back where its key is known.
    let back = edit(&old);
    assert!(!back.stderr.contains("accepted"), "{}", back.stderr);
    old.stop();
    p.run(&["server", "init", "alpha"]).exits(6);
}
