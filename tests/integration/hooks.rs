//! Runs that log in with credentials of their own, at a real SSH server that
//! trusts a certificate authority alone.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::program::{Program, Ran};
use crate::sshd::{Sshd, keygen};

/// A playbook from the README.
pub fn readme(name: &str) -> String {
    let text = include_str!("../../README.md");
    let mark = format!("<!-- tested: {name} -->\n```yaml\n");
    let (_, rest) = text.split_once(&mark).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

/// A play on this machine with these tasks.
pub fn local(tasks: &str) -> String {
    let tasks: String = tasks.lines().map(|l| format!("    {l}\n")).collect();
    format!(
        "---\n- name: A hook\n  hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n{tasks}"
    )
}

/// On all hosts, over ssh.
pub fn remote(tasks: &str) -> String {
    let tasks: String = tasks.lines().map(|l| format!("    {l}\n")).collect();
    format!("---\n- name: The work\n  hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
}

pub const TOUCH: &str = "- name: Be there\n  ansible.builtin.command: touch {{ mark }}\n";

/// The README's broker, and a server that trusts it.
pub struct Broker {
    pub p: Program,
    pub sshd: Sshd,
}

impl Broker {
    pub fn new(address: &'static str) -> Self {
        let p = Program::initialised();
        std::fs::create_dir(p.path().join(".ssh")).unwrap();
        let ca = p.path().join(".ssh/kloigos_ca");
        keygen(&ca);
        let sshd = Sshd::trusting(address, &ca.with_extension("pub"));
        p.push("SSH_CREDENTIAL_PREPARE", &readme("prepare.yml"));
        p.push("SSH_CREDENTIAL_CLEANUP", &readme("cleanup.yml"));
        set(&p, "dir_root", p.path().join("jobs").to_str().unwrap());
        set(&p, "enabled", "true");
        Broker { p, sshd }
    }

    /// One host, with further variables.
    pub fn inventory(&self, more: &str) -> String {
        self.p.file(
            "hosts",
            &format!(
                "web ansible_host={} ansible_port={} {PYTHON} {more}\n",
                self.sshd.address, self.sshd.port
            ),
        )
    }

    /// Whose host key is not looked at.
    pub fn any_key(&self) -> String {
        self.inventory(ANY_HOST_KEY)
    }

    /// Prepare makes the key as the README does, and does this too.
    pub fn prepare_also(&self, tasks: &str) {
        let more: String = tasks.lines().map(|l| format!("    {l}\n")).collect();
        let text = format!("{}\n{more}", readme("prepare.yml"));
        self.p.push("SSH_CREDENTIAL_PREPARE", &text);
    }

    pub fn jobs(&self) -> Vec<PathBuf> {
        let jobs = std::fs::read_dir(self.p.path().join("jobs"));
        jobs.into_iter()
            .flatten()
            .map(|e| e.unwrap().path())
            .collect()
    }

    pub fn revoked(&self) -> bool {
        self.p.path().join(".ssh/kloigos_revoked").exists()
    }

    pub fn mark(&self) -> PathBuf {
        self.p.path().join("mark")
    }

    pub fn work(&self, tasks: &str, inventory: &str) -> Ran {
        self.p.push("WORK", &remote(tasks));
        self.p.run(&self.work_arguments(inventory))
    }

    pub fn work_arguments<'a>(&self, inventory: &'a str) -> Vec<&'a str> {
        let mark: &'static str = format!("mark={}", self.mark().display()).leak();
        vec!["run", "WORK", "-i", inventory, "-e", mark]
    }
}

const PYTHON: &str = "ansible_python_interpreter='{{ ansible_playbook_python }}'";
const ANY_HOST_KEY: &str =
    "ansible_ssh_common_args='-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null'";

pub fn set(p: &Program, name: &str, value: &str) {
    let name = format!("playbooks.ssh_credential_hook.{name}");
    p.run(&["setting", "set", &name, value]).exits(0);
}

/// An agent with more keys than a server lets one try.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    fn full(dir: &Path) -> Self {
        let socket = dir.join("agent");
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        crate::engine_end::until(10, "the agent listens", || socket.exists());
        for number in 0..8 {
            let key = dir.join(format!("other-{number}"));
            keygen(&key);
            let added = Command::new("ssh-add")
                .arg("-q")
                .arg(&key)
                .env("SSH_AUTH_SOCK", &socket)
                .status()
                .unwrap();
            assert!(added.success());
        }
        Agent { child, socket }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Whether any file below has these bytes.
fn somewhere(dir: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(dir).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            return somewhere(&path, bytes);
        }
        std::fs::read(&path).is_ok_and(|text| text.windows(bytes.len()).any(|w| w == bytes))
    })
}

#[test]
fn a_run_logs_in_with_its_own_certificate_and_nothing_of_the_key_is_left() {
    let b = Broker::new("127.0.0.1");
    let agent = Agent::full(b.p.path());
    let copy = b.p.path().join("copy-of-key");
    b.prepare_also(&format!(
        "- name: Keep a copy where the test finds it\n  ansible.builtin.copy:\n    src: '{{{{ key }}}}'\n    dest: {}\n    mode: '0600'\n- name: Tell what nobody should tell\n  ansible.builtin.command: tail -n +2 {{{{ key }}}}\n  changed_when: false\n- name: And in another form\n  ansible.builtin.debug:\n    msg: \"{{{{ lookup('file', key) | b64encode }}}}\"\n",
        copy.display()
    ));
    b.p.push("WORK", &remote(&format!("{TOUCH}- name: Copy over sftp\n  ansible.builtin.copy:\n    content: x\n    dest: '{{{{ mark }}}}-2'\n    mode: '0600'\n- name: The processes\n  ansible.builtin.shell: cat /proc/[0-9]*/cmdline | tr '\\0' ' '\n  changed_when: false\n")));
    let inventory = b.inventory(&format!(
        "{ANY_HOST_KEY} ansible_ssh_private_key_file={} ansible_ssh_extra_args='-i {}'",
        b.p.path().join("other-0").display(),
        b.p.path().join("other-1").display()
    ));
    let out =
        b.p.command(&b.work_arguments(&inventory))
            .args(["-v"])
            .env("SSH_AUTH_SOCK", &agent.socket)
            .output()
            .unwrap();
    let ran = Ran::of(&out).exits(0);
    assert!(b.mark().exists() && b.p.path().join("mark-2").exists());
    assert!(b.revoked() && b.jobs().is_empty());

    let key = std::fs::read_to_string(&copy).unwrap();
    std::fs::remove_file(&copy).unwrap();
    let lines: Vec<&str> = key.lines().collect();
    let shown = [
        &ran.stdout,
        &ran.stderr,
        &b.p.run(&["runs", "output", "1"]).stdout,
    ]
    .map(String::as_str)
    .join("\n");
    assert!(
        shown.contains("prepare SSH_CREDENTIAL_PREPARE@3"),
        "{shown}"
    );
    // The last line is short, and the first ones are what all such keys begin with.
    for line in &lines[2..lines.len() - 2] {
        assert!(!shown.contains(line), "{line} in {shown}");
        assert!(!somewhere(&b.p.store(), line.as_bytes()));
    }
    // Without the hook nobody gets in, whatever the agent has.
    set(&b.p, "enabled", "false");
    b.p.run(&b.work_arguments(&inventory)).exits(6);

    let run = b.p.json(&["runs", "show", "1"]).to_string();
    assert!(run.contains("cleanup SSH_CREDENTIAL_CLEANUP@2"), "{run}");
    let events = b.p.json(&["event", "list"]).to_string();
    assert!(events.contains("run.credentials"), "{events}");
}

#[test]
fn artifacts_decide_which_host_keys_and_which_configuration_count() {
    let b = Broker::new("127.0.0.1");
    let artifact = |name: &str, text: &str| {
        b.prepare_also(&format!(
            "- name: Write it\n  ansible.builtin.copy:\n    content: |\n{}    dest: '{{{{ cpkit_credential_dir }}}}/{name}'\n    mode: '0600'\n",
            text.lines().map(|l| format!("      {l}\n")).collect::<String>()
        ));
    };
    let other = Sshd::start("127.0.0.1");
    let wrong = other
        .known_host()
        .replace(&other.port_text(), &b.sshd.port_text());
    artifact("known_hosts", &wrong);
    let ran = b.work(TOUCH, &b.any_key()).exits(6);
    assert!(ran.stderr.contains("host key"), "{}", ran.stderr);
    assert!(!b.mark().exists());

    artifact("known_hosts", &b.sshd.known_host());
    b.work(TOUCH, &b.any_key()).exits(0);
    std::fs::remove_file(b.mark()).unwrap();

    artifact(
        "ssh_config",
        &format!(
            "Host elsewhere\n  HostName {}\n  Port {}\n",
            b.sshd.address, b.sshd.port
        ),
    );
    let inventory =
        b.p.file("hosts", &format!("elsewhere {PYTHON} {ANY_HOST_KEY}\n"));
    b.work(TOUCH, &inventory).exits(0);
    assert!(b.mark().exists());
}

#[test]
fn a_certificate_that_ends_while_the_run_goes_on_is_named() {
    let b = Broker::new("127.0.0.1");
    let short = readme("prepare.yml").replace("-1m:+15m", "-1m:+12s");
    b.p.push("SSH_CREDENTIAL_PREPARE", &short);
    let ran = b
        .work(
            "- name: In time\n  ansible.builtin.raw: sleep 14\n  changed_when: false\n- name: Log in again\n  ansible.builtin.meta: reset_connection\n- name: Too late\n  ansible.builtin.raw: 'true'\n  changed_when: false\n",
            &b.any_key(),
        )
        .exits(6);
    assert!(
        ran.stderr
            .contains("the SSH certificate of this run expired at 20"),
        "{}",
        ran.stderr
    );
    assert!(b.revoked() && b.jobs().is_empty());
}

#[test]
fn hooks_are_told_the_run_its_hosts_and_its_variables() {
    let b = Broker::new("127.0.0.1");
    b.prepare_also("- name: All of it\n  ansible.builtin.debug:\n    msg: \"TOLD {{ cpkit_job_id }} {{ cpkit_target_playbook_name }} {{ cpkit_target_playbook_version }} {{ target_hostname }} {{ target_ansible_host }} {{ cpkit_target_hosts | length }} {{ cpkit_target_hosts[0].ansible_user is string }} {{ mark is defined }} {{ cpkit_credential_dir }}\"\n");
    b.work(TOUCH, &b.any_key()).exits(0);
    let output = b.p.run(&["runs", "output", "1"]).stdout;
    let told = format!(
        "TOLD 1 WORK 1 web 127.0.0.1 1 True True {}",
        b.p.path().join("jobs/1/ssh").display()
    );
    assert!(output.contains(&told), "{output}");
    // The hook's own machine is no host of the run.
    let run = b.p.json(&["runs", "show", "1"]);
    let hosts = run["hosts"].as_array().unwrap();
    assert_eq!((hosts.len(), &hosts[0]["host"]), (1, &"web".into()));
    let hook = &run["request"]["ssh_credential_hook"];
    assert_eq!(hook["prepare"]["version"], 3, "{run}");

    // The same again has credentials of its own.
    b.p.run(&["runs", "rerun", "1"]).exits(0);
    let output = b.p.run(&["runs", "output", "2"]).stdout;
    assert!(output.contains("TOLD 2 WORK 1 web"), "{output}");
}

#[test]
fn explaining_a_run_tells_its_hooks_and_what_would_refuse_it() {
    let b = Broker::new("127.0.0.1");
    b.p.push("WORK", &remote(TOUCH));
    let inventory = b.any_key();
    let explain = ["run", "WORK", "-i", &inventory, "--explain"];
    let told = b.p.json(&explain);
    let hook = &told["ssh_credential_hook"];
    assert_eq!(hook["prepare"], "SSH_CREDENTIAL_PREPARE@2");
    assert_eq!(hook["cleanup"], "SSH_CREDENTIAL_CLEANUP@2");
    assert!(b.jobs().is_empty() && !b.revoked());
    set(&b.p, "prepare_playbook", "NOSUCH");
    b.p.run(&explain).exits(3);
    b.p.run(&[
        "setting",
        "reset",
        "playbooks.ssh_credential_hook.prepare_playbook",
    ])
    .exits(0);
    let paramiko = b.inventory("ansible_connection=paramiko_ssh");
    let explain = ["run", "WORK", "-i", &paramiko, "--explain"];
    let ran = b.p.run(&explain).exits(7);
    assert!(
        ran.stdout.contains("only the ssh program"),
        "{}",
        ran.stdout
    );
    let ran = b.work(TOUCH, &paramiko).exits(7);
    assert!(
        ran.stderr.contains("only the ssh program"),
        "{}",
        ran.stderr
    );
    assert!(b.jobs().is_empty() && !b.revoked());
}

#[test]
fn lifecycle_runs_have_the_hook_and_do_not_look_at_the_long_lived_key() {
    let p = Program::with_server();
    let key = p.file("key", "x");
    p.run(&["setting", "set", "ssh.private_key_file", &key])
        .exits(0);
    set(&p, "dir_root", p.path().join("jobs").to_str().unwrap());
    set(&p, "enabled", "true");
    let refused = p.run(&["server", "init", "alpha"]).exits(7);
    assert!(refused.stderr.contains("placeholder"), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("kloigos playbook push SSH_CREDENTIAL_PREPARE")
    );
    p.run(&["run", "SSH_CREDENTIAL_CLEANUP"]).exits(0);

    p.push(
        "SSH_CREDENTIAL_PREPARE",
        &local("- name: Tell\n  ansible.builtin.debug:\n    msg: \"FOR {{ target_hostname }} {{ target_ansible_host }} {{ target_ansible_user }} {{ server_admin_user }}\"\n"),
    );
    p.run(&["server", "init", "alpha"]).exits(0);
    let list = p.json(&["runs", "list"]);
    let id = list[0]["id"].to_string();
    let output = p.run(&["runs", "output", &id]).stdout;
    assert!(
        output.contains("FOR alpha 127.0.0.21 admin admin"),
        "{output}"
    );
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "READY");

    p.push(
        "SSH_CREDENTIAL_PREPARE",
        &local("- name: Break\n  ansible.builtin.fail:\n    msg: no authority today\n"),
    );
    let ran = p.run(&["server", "init", "alpha"]).exits(1);
    assert!(ran.stderr.contains("no authority today"), "{}", ran.stderr);
    assert_eq!(p.json(&["server", "show", "alpha"])["status"], "INIT_FAIL");
}
