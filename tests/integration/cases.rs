//! What users of other tools met, where no other file has it.

use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::Duration;

use crate::program::{HERE, Program, Ran};
use crate::sshd::Sshd;
use crate::store::FIRST_BUILD;

#[test]
fn an_upgrade_that_is_killed_at_any_moment_is_done_by_the_next_init() {
    let p = Program::initialised();
    let db = p.store().join("kloigos.db");
    let old = p.path().join("old.db");
    {
        let db = rusqlite::Connection::open(&db).unwrap();
        db.execute_batch(FIRST_BUILD).unwrap();
        db.execute("VACUUM INTO ?1", [old.to_str().unwrap()])
            .unwrap();
    }
    let mut cut = 0;
    for moment in 0..25 {
        for file in ["kloigos.db", "kloigos.db-wal", "kloigos.db-shm"] {
            let _ = std::fs::remove_file(p.store().join(file));
        }
        std::fs::copy(&old, &db).unwrap();
        let mut child = p
            .command(&["init"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(500 * moment * moment.min(8)));
        cut += usize::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        p.run(&["init"]).exits(0);
        p.run(&["runs", "list"]).exits(0);
        p.run(&["playbook", "list"]).exits(0);
    }
    assert!(cut > 5, "only {cut} were cut short");
}

#[test]
fn a_standard_input_that_is_closed_or_does_not_block_does_not_matter() {
    let p = Program::initialised();
    p.push("HERE", HERE);
    let (reader, _writer) = std::io::pipe().unwrap();
    let reader = OwnedFd::from(reader);
    let flags = rustix::fs::fcntl_getfl(&reader).unwrap();
    rustix::fs::fcntl_setfl(&reader, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    let output = p
        .command(&["run", "HERE"])
        .stdin(Stdio::from(reader))
        .output()
        .unwrap();
    Ran::of(&output).exits(0);
    let mut closed = p.in_shell("true", "<&-", &["run", "HERE"]);
    Ran::of(&closed.output().unwrap()).exits(0);
}

#[test]
fn a_long_host_name_and_a_deep_home_leave_room_for_the_control_socket() {
    let sshd = Sshd::start("127.0.0.51");
    let p = Program::initialised();
    let name = format!("{}.{}.example", "a".repeat(50), "b".repeat(40));
    let inventory = p.file(
        "hosts",
        &format!(
            "{name} ansible_host={} ansible_port={} ansible_ssh_private_key_file={} ansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'\n",
            sshd.address,
            sshd.port,
            sshd.key().display()
        ),
    );
    p.push(
        "TRUE",
        "---\n- name: There\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Yes\n      ansible.builtin.raw: \"true\"\n      changed_when: false\n",
    );
    let home = p.path().join("deep/".repeat(12));
    std::fs::create_dir_all(&home).unwrap();
    let output = p
        .command(&["run", "TRUE", "-i", &inventory])
        .env("HOME", &home)
        .output()
        .unwrap();
    Ran::of(&output).exits(0);
}

#[test]
fn a_lock_file_with_the_pid_of_a_living_stranger_is_no_lock() {
    let p = Program::initialised();
    let inventory = crate::engine_end::local_inventory(&p, &["a"]);
    p.push("HERE", &HERE.replace("localhost", "all"));
    let locks = p.store().join("locks");
    std::fs::create_dir_all(&locks).unwrap();
    let stranger = std::process::id().to_string();
    for name in ["host-name-a", "slot-0"] {
        std::fs::write(locks.join(name), &stranger).unwrap();
    }
    p.run(&["run", "HERE", "-i", &inventory, "--no-wait"])
        .exits(0);
}
