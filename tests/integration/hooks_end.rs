//! However a run with credentials of its own ends, they end with it.

use rustix::process::{Pid, Signal, kill_process};

use crate::engine_end::{ended, spawn, until};
use crate::hooks::{Broker, TOUCH, local, remote, set};
use crate::program::Program;

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// Waits at the host until it is ended.
const NAP: &str =
    "- name: Nap\n  ansible.builtin.raw: touch {{ mark }}; sleep 20\n  changed_when: false\n";

/// A run that naps at its host.
fn napping(b: &Broker) -> std::process::Child {
    b.p.push("WORK", &remote(NAP));
    let inventory = b.any_key();
    let child = spawn(&b.p, &b.work_arguments(&inventory));
    until(60, "the run is at work", || b.mark().exists());
    child
}

#[test]
fn cleanup_runs_after_a_failure_and_the_directory_stays_only_when_asked() {
    let b = Broker::new("127.0.0.1");
    let fail = "- name: Break\n  ansible.builtin.raw: exit 3\n  changed_when: false\n";
    b.work(fail, &b.any_key()).exits(1);
    assert!(b.revoked() && b.jobs().is_empty());

    set(&b.p, "retain_artifacts_on_failure", "true");
    let ran = b.work(fail, &b.any_key()).exits(1);
    let kept = b.p.path().join("jobs/2/ssh");
    assert!(kept.join("id_key").exists());
    assert!(
        ran.stderr.contains(kept.to_str().unwrap()),
        "{}",
        ran.stderr
    );
    b.work(TOUCH, &b.any_key()).exits(0);
    assert_eq!(b.jobs().len(), 1);

    // What a run recorded stays, its hooks too.
    let hook = "SSH_CREDENTIAL_PREPARE";
    b.p.run(&["playbook", "set-default", hook, "1"]).exits(0);
    let remove = ["playbook", "remove", hook, "--version", "2", "--yes"];
    let ran = b.p.run(&remove).exits(4);
    assert!(ran.stderr.contains("recorded"), "{}", ran.stderr);
}

#[test]
fn a_prepare_that_fails_ends_the_run_before_its_hosts_are_touched() {
    let b = Broker::new("127.0.0.1");
    b.prepare_also("- name: Break\n  ansible.builtin.fail:\n    msg: no authority today\n");
    let ran = b.work(TOUCH, &b.any_key()).exits(1);
    assert!(
        ran.stderr.contains("prepare SSH_CREDENTIAL_PREPARE@3: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("no authority today"), "{}", ran.stderr);
    assert!(!b.mark().exists() && b.revoked() && b.jobs().is_empty());
    let hosts = &b.p.json(&["runs", "show", "1"])["hosts"];
    assert_eq!(hosts[0]["host"], "web");
    assert_eq!(hosts.as_array().unwrap().len(), 1);
}

#[test]
fn a_cleanup_that_fails_is_a_warning_and_an_event() {
    let b = Broker::new("127.0.0.1");
    b.p.push(
        "SSH_CREDENTIAL_CLEANUP",
        &local("- name: Break\n  ansible.builtin.fail:\n    msg: nobody answers\n"),
    );
    let ran = b.work(TOUCH, &b.any_key()).exits(0);
    assert!(ran.stderr.contains("cleanup failed"), "{}", ran.stderr);
    assert!(b.jobs().is_empty());
    let events = b.p.json(&["event", "list"]).to_string();
    assert!(events.contains("run.cleanup_failed") && events.contains("nobody answers"));
}

#[test]
fn cleanup_runs_after_a_cancel_and_a_further_signal_cuts_it() {
    let b = Broker::new("127.0.0.1");
    let child = napping(&b);
    send(child.id(), Signal::INT);
    ended(child, 30).exits(130);
    assert!(b.revoked() && b.jobs().is_empty());

    std::fs::remove_file(b.mark()).unwrap();
    let begun = b.p.path().join("begun");
    b.p.push(
        "SSH_CREDENTIAL_CLEANUP",
        &local(&format!(
            "- name: Hang\n  ansible.builtin.shell: touch {}; sleep 60\n  changed_when: false\n",
            begun.display()
        )),
    );
    let child = napping(&b);
    send(child.id(), Signal::TERM);
    until(30, "cleanup has begun", || begun.exists());
    send(child.id(), Signal::INT);
    let ran = ended(child, 20).exits(143);
    assert!(ran.stderr.contains("it was cut by INT"), "{}", ran.stderr);
    assert!(b.jobs().is_empty());
}

#[test]
fn a_cancel_while_prepare_is_at_work_is_cleaned_up_too() {
    let b = Broker::new("127.0.0.1");
    b.prepare_also(&format!(
        "- name: Hang\n  ansible.builtin.shell: touch {}; sleep 60\n  changed_when: false\n",
        b.mark().display()
    ));
    b.p.push("WORK", &remote(TOUCH));
    let inventory = b.any_key();
    let child = spawn(&b.p, &b.work_arguments(&inventory));
    until(60, "prepare is at work", || b.mark().exists());
    send(child.id(), Signal::INT);
    ended(child, 30).exits(130);
    assert!(b.revoked() && b.jobs().is_empty());
}

#[test]
fn cleanup_runs_after_ansible_was_killed() {
    let b = Broker::new("127.0.0.1");
    let child = napping(&b);
    let ansible =
        std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
    for pid in ansible.split_whitespace() {
        send(pid.parse().unwrap(), Signal::KILL);
    }
    let ran = ended(child, 30).exits(1);
    assert!(ran.stderr.contains("signal 9"), "{}", ran.stderr);
    assert!(b.revoked() && b.jobs().is_empty());
}

#[test]
fn after_a_kill_of_kloigos_the_next_command_removes_the_credentials_and_says_so() {
    let b = Broker::new("127.0.0.1");
    let mut child = napping(&b);
    assert_eq!(b.jobs().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    set(&b.p, "enabled", "false");
    assert!(b.jobs().is_empty() && !b.revoked());
    let run = b.p.json(&["runs", "show", "1"]);
    assert_eq!(run["status"], "interrupted");
    assert!(
        run["reason"]
            .as_str()
            .unwrap()
            .contains("SSH_CREDENTIAL_CLEANUP@2 did not run"),
        "{run}"
    );
    let events = b.p.json(&["event", "list"]).to_string();
    assert!(events.contains("run.credentials_left"), "{events}");
}

#[test]
fn what_was_planted_where_the_credentials_go_is_refused() {
    let p = Program::initialised();
    p.push(
        "SSH_CREDENTIAL_PREPARE",
        &local("- name: Nothing\n  ansible.builtin.debug:\n"),
    );
    p.push(
        "WORK",
        &local("- name: Work\n  ansible.builtin.command: touch {{ mark }}\n"),
    );
    let jobs = p.path().join("jobs");
    set(&p, "dir_root", jobs.to_str().unwrap());
    set(&p, "enabled", "true");
    let mark = p.path().join("mark");
    let mark_variable = format!("mark={}", mark.display());
    let refused = || {
        let ran = p.run(&["run", "WORK", "-e", &mark_variable]).exits(7);
        assert!(!mark.exists());
        ran.stderr
    };
    std::fs::create_dir(p.path().join("mine")).unwrap();
    std::os::unix::fs::symlink(p.path().join("mine"), &jobs).unwrap();
    assert!(refused().contains("is a link"));
    std::fs::remove_file(&jobs).unwrap();
    std::fs::create_dir(&jobs).unwrap();
    std::os::unix::fs::symlink(p.path().join("mine"), jobs.join("2")).unwrap();
    assert!(refused().contains("is a link"));
    // As another store's run of this number has it.
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(jobs.join("3"))
        .unwrap();
    let ran = p.run(&["run", "WORK", "-e", &mark_variable]).exits(0);
    assert!(mark.exists() && jobs.join("3").exists());
    assert!(ran.stderr.contains("left no id_key"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(p.path().join("mine")).unwrap().count(), 0);
}

#[test]
fn a_task_that_would_go_around_the_credentials_is_refused() {
    let b = Broker::new("127.0.0.1");
    let around = "- name: Around\n  ansible.builtin.raw: echo in\n  vars:\n    ansible_connection: paramiko_ssh\n";
    let ran = b.work(around, &b.any_key()).exits(7);
    assert!(ran.stderr.contains("paramiko_ssh"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("never asks"), "{}", ran.stderr);
    assert!(!b.revoked() && b.jobs().is_empty(), "nothing was prepared");
    // One that only comes with an include.
    let file = b.p.file("around.yml", &format!("---\n{around}"));
    let include = format!("- name: More\n  ansible.builtin.include_tasks: {file}\n");
    let ran = b.work(&include, &b.any_key()).exits(7);
    assert!(ran.stderr.contains("paramiko_ssh"), "{}", ran.stderr);
    assert!(b.revoked() && b.jobs().is_empty());
    b.work(TOUCH, &b.any_key()).exits(0);
}
