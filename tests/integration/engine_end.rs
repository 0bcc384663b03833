//! How runs of real Ansible end: cancelled, killed, followed by the next one.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Program, Ran};
use crate::sshd::Sshd;

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

/// Live processes whose command line has `mark` in it.
fn processes_with(mark: &str) -> Vec<u32> {
    let me = std::process::id();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter(|p| *p != me)
        .filter(|p| {
            // A zombie has no command line.
            std::fs::read(format!("/proc/{p}/cmdline"))
                .is_ok_and(|c| String::from_utf8_lossy(&c).contains(mark))
        })
        .collect()
}

/// Waits for what must come to be.
#[track_caller]
pub fn until(limit: u64, what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(
            started.elapsed() < Duration::from_secs(limit),
            "not within {limit} s: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn spawn(p: &Program, arguments: &[&str]) -> Child {
    p.command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a run gives that must end by itself: one that hangs is cancelled, so
/// that a test fails instead of standing still.
#[track_caller]
pub fn ended(mut child: Child, limit: u64) -> Ran {
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > Duration::from_secs(limit) {
            kill_process(pid(&child), Signal::INT).unwrap();
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ran::of(&child.wait_with_output().unwrap())
}

/// An inventory of hosts with local connections.
pub fn local_inventory(p: &Program, hosts: &[&str]) -> String {
    let lines: Vec<String> = hosts
        .iter()
        .map(|h| format!("{h} ansible_connection=local ansible_python_interpreter=\"{{{{ ansible_playbook_python }}}}\"\n"))
        .collect();
    p.file("hosts", &lines.concat())
}

/// One for each SSH server.
fn ssh_inventory(p: &Program, hosts: &[(&str, &Sshd)]) -> String {
    let lines: Vec<String> = hosts
        .iter()
        .map(|(name, sshd)| {
            format!(
                "{name} ansible_host={} ansible_port={} ansible_ssh_private_key_file={} ansible_python_interpreter=/usr/bin/python3 ansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'\n",
                sshd.address,
                sshd.port,
                sshd.key().display()
            )
        })
        .collect();
    p.file("hosts", &lines.concat())
}

/// A duration of sleep that no other process of this machine has.
struct OwnSleep(String);

impl OwnSleep {
    fn new(salt: u32) -> Self {
        OwnSleep((1_000_000 + u64::from(std::process::id()) * 10 + u64::from(salt)).to_string())
    }

    fn sleepers(&self) -> Vec<u32> {
        processes_with(&format!("sleep\0{}", self.0))
    }
}

impl Drop for OwnSleep {
    /// What is left at the "hosts" (this machine), as after a real cancel.
    fn drop(&mut self) {
        for left in self.sleepers() {
            if let Some(pid) = i32::try_from(left).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

fn sleeper(module: &str, seconds: &str) -> String {
    format!(
        "---\n- name: Nap\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Sleep long\n      ansible.builtin.{module}: sleep {seconds}\n      changed_when: false\n"
    )
}

const SAY: &str = "---\n- name: Say\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.debug:\n        msg: x\n";

/// The control directory of a live run.
fn control_dir(p: &Program, run: &str) -> std::path::PathBuf {
    std::fs::read_to_string(p.store().join("runs").join(run).join("control"))
        .unwrap()
        .into()
}

#[test]
fn a_cancel_ends_three_local_hosts_and_leaves_no_descendant() {
    let p = Program::initialised();
    let nap = OwnSleep::new(1);
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.push("nap", &sleeper("command", &nap.0));
    let child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "three sleepers", || nap.sleepers().len() == 3);
    let control = control_dir(&p, "1");
    let started = Instant::now();
    kill_process(pid(&child), Signal::INT).unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap()).exits(130);
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(processes_with(&nap.0).is_empty());
    assert!(
        ran.stderr.contains("Sleep long"),
        "the task in flight is named: {}",
        ran.stderr
    );
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "cancelled");
    assert!(!control.exists(), "the control directory is gone");
}

#[test]
fn a_cancel_over_ssh_ends_the_connection_masters_too() {
    let (one, two) = (Sshd::start("127.0.0.41"), Sshd::start("127.0.0.42"));
    let p = Program::initialised();
    let inventory = ssh_inventory(&p, &[("one", &one), ("two", &two)]);
    let nap = OwnSleep::new(2);
    p.push("nap", &sleeper("raw", &nap.0));
    let child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "two sleepers", || nap.sleepers().len() == 2);
    let control = control_dir(&p, "1");
    let control = control.to_str().unwrap();
    assert!(!processes_with(control).is_empty());
    kill_process(pid(&child), Signal::TERM).unwrap();
    Ran::of(&child.wait_with_output().unwrap()).exits(143);
    assert_eq!(processes_with(control), Vec::<u32>::new());
}

#[test]
fn after_a_cancel_a_probe_says_what_is_still_at_work_on_the_host() {
    let (one, two) = (Sshd::start("127.0.0.45"), Sshd::start("127.0.0.46"));
    let p = Program::initialised();
    let inventory = ssh_inventory(&p, &[("one", &one), ("two", &two)]);
    let nap = OwnSleep::new(7);
    p.push("nap", &sleeper("command", &nap.0));
    let child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "two sleepers", || nap.sleepers().len() == 2);
    kill_process(pid(&child), Signal::INT).unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap()).exits(130);
    assert!(ran.stderr.contains("runs show 1 --probe"), "{}", ran.stderr);
    drop(two);

    let asked = p.run(&["runs", "show", "1", "--probe", "--format", "json"]);
    let looks = asked.exits(6).json()["at_work"].clone();
    assert_eq!(looks[0]["host"], "one");
    assert!(looks[0].to_string().contains(&nap.0), "{looks}");
    assert!(looks[1]["not_asked"].is_string(), "{looks}");
    let quick = SAY.replace("hosts: all", "hosts: one");
    p.push("say", &quick);
    let next = p.run(&["run", "say", "-i", &inventory]).exits(0);
    assert!(
        next.stderr.contains("run 1 was cut short on one"),
        "{}",
        next.stderr
    );
    for left in nap.sleepers() {
        let pid = Pid::from_raw(i32::try_from(left).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
    until(10, "the sleepers are gone", || nap.sleepers().is_empty());
    let shown = p.run(&["runs", "show", "1", "--probe"]).exits(6).stdout;
    assert!(shown.contains("nothing on one"), "{shown}");
    assert!(shown.contains("two could not be asked"), "{shown}");
}

#[test]
fn after_a_kill_of_kloigos_ansible_goes_soon_and_then_the_host_is_free() {
    let sshd = Sshd::start("127.0.0.43");
    let p = Program::initialised();
    let inventory = ssh_inventory(&p, &[("one", &sshd)]);
    let nap = OwnSleep::new(3);
    p.push("nap", &sleeper("raw", &nap.0));
    p.push("say", SAY);
    let mut child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "the sleeper", || !nap.sleepers().is_empty());
    let run_files = format!("{}/runs/1/", p.store().display());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "interrupted");
    until(10, "Ansible is gone", || {
        processes_with(&run_files).is_empty()
    });
    p.run(&["run", "say", "-i", &inventory, "--wait", "10s"])
        .exits(0);
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "interrupted");
}

#[test]
fn when_ansible_itself_is_killed_nothing_of_it_goes_on() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a", "b"]);
    let nap = OwnSleep::new(4);
    p.push("nap", &sleeper("command", &nap.0));
    let child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "two sleepers", || nap.sleepers().len() == 2);
    let run_files = format!("{}/runs/1/", p.store().display());
    // The oldest is the main process; the workers are its forks.
    let main = *processes_with(&run_files).iter().min().unwrap();
    kill_process(
        Pid::from_raw(i32::try_from(main).unwrap()).unwrap(),
        Signal::KILL,
    )
    .unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap()).exits(1);
    assert!(ran.stderr.contains("signal 9"), "{}", ran.stderr);
    assert_eq!(processes_with(&nap.0), Vec::<u32>::new());
    assert_eq!(p.json(&["runs", "show", "1"])["status"], "failed");
}

#[test]
fn a_bundles_ansible_cfg_is_in_force_and_its_callbacks_stay() {
    let p = Program::initialised();
    let bundle = p.path().join("bundle");
    std::fs::create_dir_all(bundle.join("mine")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(bundle.join(name), text).unwrap();
    write(
        "ansible.cfg",
        "[defaults]\nforks = 3\ncallback_plugins = mine\n",
    );
    write(
        "mine/seen.py",
        "from ansible.plugins.callback import CallbackBase\nclass CallbackModule(CallbackBase):\n    CALLBACK_VERSION = 2.0\n    CALLBACK_NAME = 'seen'\n    CALLBACK_TYPE = 'notification'\n    def v2_playbook_on_stats(self, stats):\n        self._display.display('the own callback was here')\n",
    );
    write(
        "playbook.yml",
        "---\n- name: Show\n  hosts: localhost\n  gather_facts: false\n  tasks:\n    - name: Show what is in force\n      ansible.builtin.debug:\n        msg: \"forks {{ lookup('config', 'DEFAULT_FORKS') }} retry {{ lookup('config', 'RETRY_FILES_ENABLED') }}\"\n",
    );
    p.run(&["playbook", "push", "show", bundle.to_str().unwrap()])
        .exits(0);
    p.run(&["run", "show"]).exits(0);
    let text = p.run(&["runs", "output", "1"]).exits(0).stdout;
    assert!(text.contains("forks 3 retry False"), "{text}");
    assert!(text.contains("the own callback was here"), "{text}");
}

#[test]
fn runs_on_one_host_follow_each_other() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a"]);
    p.push("nap", &sleeper("command", "1"));
    let children: Vec<Child> = (0..3)
        .map(|_| spawn(&p, &["run", "nap", "-i", &inventory]))
        .collect();
    for child in children {
        ended(child, 60).exits(0);
    }
    let mut spans: Vec<(String, String)> = (1..=3)
        .map(|n: u32| {
            let run = p.json(&["runs", "show", &n.to_string()]);
            let text = |key: &str| run[key].as_str().unwrap().to_owned();
            (text("started_at"), text("ended_at"))
        })
        .collect();
    spans.sort();
    assert!(
        spans.windows(2).all(|w| w[0].1 <= w[1].0),
        "two ran at once: {spans:?}"
    );
}

#[test]
fn a_background_child_of_a_task_neither_delays_the_end_nor_holds_the_claim() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a"]);
    let nap = OwnSleep::new(5);
    p.push(
        "leave",
        &format!("---\n- name: Leave\n  hosts: all\n  gather_facts: false\n  tasks:\n    - name: Leave one behind\n      ansible.builtin.shell: nohup setsid sleep {} >/dev/null 2>&1 &\n      changed_when: true\n", nap.0),
    );
    let started = Instant::now();
    p.run(&["run", "leave", "-i", &inventory]).exits(0);
    assert!(started.elapsed() < Duration::from_secs(15));
    assert_eq!(
        nap.sleepers().len(),
        1,
        "a task's own background process lives on"
    );
    p.run(&["run", "leave", "-i", &inventory, "--no-wait"])
        .exits(0);
}

#[test]
fn when_a_worker_is_killed_the_tasks_of_the_others_end_too() {
    let p = Program::initialised();
    let nap = OwnSleep::new(8);
    let inventory = local_inventory(&p, &["a", "b", "c"]);
    p.push(
        "nap",
        &sleeper("shell", &format!("{0} & exec sleep {0}", nap.0))
            .replace(": sleep", ": trap '' TERM; setsid sleep"),
    );
    let child = spawn(&p, &["run", "nap", "-i", &inventory]);
    until(30, "six sleepers", || nap.sleepers().len() == 6);
    let children = |of: u32| -> Vec<u32> {
        let path = format!("/proc/{of}/task/{of}/children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace()
            .map(|w| w.parse().unwrap())
            .collect()
    };
    let main = children(child.id())[0];
    let worker = Pid::from_raw(i32::try_from(children(main)[0]).unwrap()).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    ended(child, 60).exits(1);
    until(10, "nothing is left", || nap.sleepers().is_empty());
}

#[test]
fn many_hosts_do_not_run_out_of_descriptors() {
    let p = Program::initialised();
    let hosts: Vec<String> = (0..300).map(|n| format!("m{n}")).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let inventory = local_inventory(&p, &hosts);
    p.push(
        "say",
        &SAY.replace("msg: x", "msg: x\n      run_once: true"),
    );
    let mut command = p.in_shell("ulimit -Sn 200", "", &["run", "say", "-i", &inventory]);
    Ran::of(&command.output().unwrap()).exits(0);
}

#[test]
fn an_unreachable_delegate_is_named_and_not_its_host() {
    let p = Program::initialised();
    let inventory = local_inventory(&p, &["a"]);
    let more = "d1 ansible_host=127.0.0.48 ansible_port=1\n";
    let text = std::fs::read_to_string(&inventory).unwrap() + more;
    std::fs::write(&inventory, text).unwrap();
    p.push(
        "by",
        "---\n- name: By another\n  hosts: a\n  gather_facts: false\n  tasks:\n    - name: There\n      ansible.builtin.command: \"true\"\n      changed_when: false\n      delegate_to: d1\n",
    );
    let ran = p.run(&["run", "by", "-i", &inventory]).exits(6);
    assert!(
        ran.stderr.contains("d1, the delegate of a, is unreachable"),
        "{}",
        ran.stderr
    );
    // Ansible counts it for `a`, which is no further host.
    assert!(!ran.stderr.contains("also on"), "{}", ran.stderr);
}
