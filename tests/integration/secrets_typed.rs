//! Secrets that are typed on a terminal, with real Ansible.

use crate::engine_end::{ended, local_inventory};
use crate::program::{Program, Ran};
use crate::secrets::{nowhere, play};

/// Runs a command on a terminal of its own, answering what it asks.
const ON_A_TERMINAL: &str = r#"
import os, pty, re, sys, time
answers = sys.argv[1].split("|")
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
said, asked = b"", 0
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    said += data
    while asked < len(answers) and len(re.findall(rb"(?:password|value of)[^\n]*: |Type [^\n]* to go on: ", said)) > asked:
        time.sleep(0.2)
        os.write(fd, answers[asked].encode("utf-8").decode("unicode_escape").encode("latin-1"))
        asked += 1
sys.stdout.buffer.write(said)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
"#;

pub fn on_a_terminal(p: &Program, answers: &str, arguments: &[&str]) -> Ran {
    let inner = p.command(arguments);
    let mut command = std::process::Command::new("python3");
    command
        .args(["-c", ON_A_TERMINAL, answers])
        .arg(inner.get_program())
        .args(inner.get_args())
        .env_clear()
        .envs(inner.get_envs().filter_map(|(k, v)| Some((k, v?))))
        .current_dir(p.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    ended(command.spawn().unwrap(), 60)
}

#[test]
fn what_is_typed_is_not_shown_and_reaches_the_playbook() {
    let p = Program::initialised();
    p.push(
        "ask",
        &play(
            r#"    - name: Check
      ansible.builtin.assert:
        that:
          - pw == 'hunter22'
          - ansible_become_pass is not defined or true
    - name: Say
      ansible.builtin.debug:
        msg: "{{ pw }} {{ lookup('file', lookup('env', 'KLOIGOS_TEST_DIR') ~ '/sealed') | length }}"
    - name: The become password is known
      ansible.builtin.shell: cat {{ lookup('env', 'KLOIGOS_TEST_DIR') }}/store/runs/*/secrets/become
"#,
        ),
    );
    let vault = p.file("vault", "vault-hunter\n");
    let plain = p.file("plain", "sealed words\n");
    let sealed = p.path().join("sealed");
    let mut encrypt = p.command(&[]);
    let path = encrypt
        .get_envs()
        .find(|(k, _)| *k == "PATH")
        .unwrap()
        .1
        .unwrap()
        .to_owned();
    encrypt = std::process::Command::new("ansible-vault");
    let status = encrypt
        .env("PATH", path)
        .args(["encrypt", "--vault-id"])
        .arg(format!("default@{vault}"))
        .arg("--output")
        .arg(&sealed)
        .arg(&plain)
        .output()
        .unwrap();
    assert!(status.status.success());
    let inventory = local_inventory(&p, &["a"]);
    let ran = on_a_terminal(
        &p,
        "hunterX\\x7f22\n|become-hunter\n|vault-hunter\n",
        &["run", "ask", "-i", &inventory, "-s", "pw", "-K", "-J", "-v"],
    );
    let ran = ran.exits(0);
    for asked in [
        "value of `pw`: ",
        "become password: ",
        "vault password (default): ",
    ] {
        assert!(ran.stdout.contains(asked), "{}", ran.stdout);
    }
    nowhere(&p, &ran, &["hunter22", "become-hunter", "vault-hunter"]);
    let output = p.run(&["runs", "output", "1"]).stdout;
    assert!(output.contains("******** 12"), "{output}");
    let request = &p.json(&["runs", "show", "1"])["request"];
    assert_eq!(request["ask_become_pass"], true);
    assert_eq!(request["vault_ids"], serde_json::json!(["default@prompt"]));
}

#[test]
fn an_interrupt_at_a_question_ends_it_with_nothing_recorded() {
    let p = Program::initialised();
    p.push(
        "ask",
        &play("    - name: Say\n      ansible.builtin.debug:\n        msg: x\n"),
    );
    let ran = on_a_terminal(&p, "half\\x03", &["run", "ask", "-K"]);
    assert_eq!(ran.code, 254, "by signal 2: {}", ran.stdout);
    assert_eq!(p.json(&["runs", "list"]), serde_json::json!([]));
}
