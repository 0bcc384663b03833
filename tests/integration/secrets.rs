//! Secrets with real Ansible: they reach the playbook, and nothing else.

use std::path::Path;
use std::time::Duration;

use crate::engine_end::{local_inventory, spawn, until};
use crate::program::{Program, Ran};

const SECRET: &str = "it's \"hunter22\" é/$1";

pub fn play(tasks: &str) -> String {
    format!("---\n- name: One\n  hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
}

/// Every byte that the store keeps.
fn stored(dir: &Path) -> String {
    let mut all = String::new();
    for item in std::fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            all += &stored(&path);
        } else {
            all += &String::from_utf8_lossy(&std::fs::read(&path).unwrap());
        }
    }
    all
}

/// Nothing of what was shown or kept holds one of `secrets`.
#[track_caller]
pub fn nowhere(p: &Program, ran: &Ran, secrets: &[&str]) {
    let kept = stored(&p.store());
    let later = [
        p.run(&["runs", "show", "1"]).stdout,
        p.run(&["runs", "show", "1", "--format", "json"]).stdout,
        p.run(&["runs", "output", "1"]).stdout,
        p.run(&["event", "list", "--format", "json"]).stdout,
    ];
    for secret in secrets {
        assert!(!ran.stdout.contains(secret), "{secret}: {}", ran.stdout);
        assert!(!ran.stderr.contains(secret), "{secret}: {}", ran.stderr);
        assert!(!kept.contains(secret), "{secret} is in the store");
        for text in &later {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

const SAY_IT: &str = r#"    - name: The task of {{ pw }}
      ansible.builtin.debug:
        msg: "<{{ pw }}> {{ pw | to_json }} {{ pw | quote }} {{ pw | urlencode }} {{ pw | b64encode }} {{ ('user:' ~ pw) | b64encode }}"
    - name: It comes back as data
      ansible.builtin.set_stats:
        data:
          kloigos:
            token: "x{{ pw }}y"
    - name: A command prints it
      ansible.builtin.command:
        argv: [printf, '%s\n', "{{ pw }}"]
    - name: It fails
      ansible.builtin.fail:
        msg: "cannot log in with {{ pw }}"
"#;

#[test]
fn a_secret_reaches_the_playbook_and_no_other_place() {
    for more in [&["-v"][..], &["-vvvv"], &["-v", "--format", "json"]] {
        let p = Program::initialised();
        p.push("say", &play(SAY_IT));
        let inventory = local_inventory(&p, &["a"]);
        let secret = format!("pw={SECRET}");
        let mut arguments = vec!["run", "say", "-i", &inventory, "-s", &secret];
        arguments.extend(more);
        let ran = p.run(&arguments).exits(1);
        nowhere(
            &p,
            &ran,
            &["hunter22", "aHVudGVy", "h1bnRlcjIy", "odW50ZXIyM"],
        );
        let output = p.run(&["runs", "output", "1"]).stdout;
        assert!(output.contains("<********>"), "{output}");
        let detail = p.json(&["runs", "show", "1"]);
        assert_eq!(detail["request"]["secrets"], serde_json::json!(["pw"]));
        assert_eq!(detail["data"]["token"], "x********y");
        assert_eq!(
            detail["reason"],
            "a: task `It fails` failed: cannot log in with ********"
        );
    }
}

#[test]
fn a_secret_is_hidden_where_long_texts_are_cut() {
    let p = Program::initialised();
    p.push(
        "long",
        &play(
            r#"    - name: Lines that come in pieces
      ansible.builtin.debug:
        msg: "{{ 'x' * item }}{{ pw }}"
      loop: "{{ range(65500, 65540, 3) | list }}"
    - name: Messages that are shortened
      ansible.builtin.fail:
        msg: "{{ 'x' * (4096 - item) }}{{ pw }}"
      loop: "{{ range(1, 9) | list }}"
      ignore_errors: true
"#,
        ),
    );
    let inventory = local_inventory(&p, &["a"]);
    p.run(&["setting", "set", "runs.output_max_bytes", "8000000"])
        .exits(0);
    let ran = p.run(&[
        "run",
        "long",
        "-i",
        &inventory,
        "-s",
        "pw=hunter22",
        "--format",
        "json",
        "-v",
    ]);
    let ran = ran.exits(0);
    nowhere(&p, &ran, &["hunter22", "xhunt", "xhu", "unter22"]);
    assert!(ran.stdout.contains("[cut]"));
}

#[test]
fn secret_files_are_lines_or_mappings_and_keep_their_types() {
    let p = Program::initialised();
    p.push(
        "types",
        &play(
            r#"    - name: Types
      ansible.builtin.assert:
        that:
          - a == 'one=two ' and b is string and b == '{' ~ '{ x }}{' ~ '% y'
          - port == 8080 and nested.token == 'deep-secret' and yes_word is true
"#,
        ),
    );
    let inventory = local_inventory(&p, &["a"]);
    let lines = p.file("s.env", "# mine\na=one=two \nb={{ x }}{% y\n");
    let yaml = p.file(
        "s.yml",
        "---\nport: 8080\nnested:\n  token: deep-secret\nyes_word: yes\n",
    );
    let ran = p.run(&[
        "run",
        "types",
        "-i",
        &inventory,
        "--secret-file",
        &lines,
        "--secret-file",
        &yaml,
        "-vvv",
    ]);
    let ran = ran.exits(0);
    nowhere(&p, &ran, &["deep-secret", "one=two"]);
    let detail = p.json(&["runs", "show", "1"]);
    let names = serde_json::json!(["a", "b", "nested", "port", "yes_word"]);
    assert_eq!(detail["request"]["secrets"], names);
    let shown = p.run(&["runs", "show", "1"]).stdout;
    assert!(shown.contains("nested=(secret)"), "{shown}");
}

#[test]
fn secrets_come_from_standard_input() {
    use std::io::Write;
    let p = Program::initialised();
    p.push(
        "check",
        &play("    - name: Check\n      ansible.builtin.assert:\n        that: pw == 'hunter22'\n"),
    );
    let inventory = local_inventory(&p, &["a"]);
    let mut child = p
        .command(&["run", "check", "-i", &inventory, "--secret-file", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"pw=hunter22\n")
        .unwrap();
    let ran = Ran::of(&child.wait_with_output().unwrap()).exits(0);
    nowhere(&p, &ran, &["hunter22"]);
}

#[test]
fn wrong_secrets_are_refused_without_being_repeated() {
    let p = Program::initialised();
    p.push(
        "say",
        &play("    - name: Say\n      ansible.builtin.debug:\n        msg: x\n"),
    );
    let inventory = local_inventory(&p, &["a"]);
    let bad_lines = p.file("bad.env", "a=1\nhunter22 hunter22\n");
    let bad_yaml = p.file("bad.yml", "a: 'hunter22\n");
    let list = p.file("list.yml", "- hunter22\n");
    for (more, says) in [
        (&["-s", "my-pw=hunter22"][..], "variable name"),
        (&["-s", "=hunter22"], "needs a name"),
        (&["-s", "pw"], "--secret-file"),
        (&["-K"], "--become-password-file"),
        (&["-J"], "--vault-id"),
        (&["--vault-id", "dev@prompt"], "--vault-id"),
        (&["--secret-file", &bad_lines], "line 2 is not key=value"),
        (&["--secret-file", &bad_yaml], "cannot be read"),
        (&["--secret-file", &list], "no mapping"),
        (&["--secret-file", "/nowhere"], "/nowhere"),
        (&["-s", "pw=hunter22", "-e", "pw=x"], "both"),
        (&["--vault-id", "dev@/nowhere"], "/nowhere"),
        (&["--vault-id", "/tmp"], "/tmp is a directory"),
        (&["--become-password-file", "/tmp"], "/tmp is a directory"),
        (&["--become-password-file", "/dev/null"], "is empty"),
        (&["-e", "@/tmp"], "/tmp is a directory"),
    ] {
        let mut arguments = vec!["run", "say", "-i", &inventory];
        arguments.extend(more);
        let ran = p.run(&arguments).exits(2);
        assert!(ran.stderr.contains(says), "{more:?}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter22"), "{}", ran.stderr);
    }
    assert_eq!(p.json(&["runs", "list"]), serde_json::json!([]));
}

#[test]
fn a_plain_variable_that_holds_a_secret_becomes_one() {
    let p = Program::initialised();
    p.push("say", &play("    - name: Check\n      ansible.builtin.assert:\n        that: url == 'https://u:hunter22@x' and n == '1'\n"));
    let inventory = local_inventory(&p, &["a"]);
    let ran = p.run(&[
        "run",
        "say",
        "-i",
        &inventory,
        "-s",
        "pw=hunter22",
        "-e",
        "url=https://u:hunter22@x",
        "-e",
        "n=1",
        "-s",
        "pin=123",
    ]);
    let ran = ran.exits(0);
    nowhere(&p, &ran, &["hunter22"]);
    assert_eq!(
        ran.stderr.matches("not hidden in output").count(),
        1,
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("`pin`"), "{}", ran.stderr);
    let detail = p.json(&["runs", "show", "1"]);
    assert_eq!(
        detail["request"]["variables"],
        serde_json::json!({"n": "1"})
    );
    assert_eq!(
        detail["request"]["secrets"],
        serde_json::json!(["pin", "pw", "url"])
    );
    let shown = p.run(&["runs", "show", "1"]).stdout;
    assert!(
        shown.contains("n=1 pin=(secret) pw=(secret) url=(secret)"),
        "{shown}"
    );
}

#[test]
fn what_no_log_hides_is_never_told() {
    let p = Program::initialised();
    p.push(
        "quiet",
        &play(
            r#"    - name: Ignored
      ansible.builtin.fail:
        msg: quiet-message
      no_log: true
      ignore_errors: true
    - name: In a loop
      ansible.builtin.command: "sh -c 'echo quiet-message >&2; exit 3'"
      loop: [quiet-item]
      no_log: "{{ 1 == 1 }}"
      ignore_errors: true
    - name: Of a module
      ansible.builtin.command: /nonexistent/quiet-message
      no_log: true
"#,
        ),
    );
    let inventory = local_inventory(&p, &["a"]);
    let ran = p.run(&["run", "quiet", "-i", &inventory, "-v", "--format", "json"]);
    let ran = ran.exits(1);
    nowhere_but_playbook(&ran, &p, "quiet-message");
    nowhere_but_playbook(&ran, &p, "quiet-item");
    assert!(ran.stdout.contains("hidden by no_log"), "{}", ran.stdout);
}

/// The playbook itself stands in the store, compressed.
fn nowhere_but_playbook(ran: &Ran, p: &Program, text: &str) {
    let detail = p.run(&["runs", "show", "1", "--format", "json"]).stdout;
    let output = p.run(&["runs", "output", "1"]).stdout;
    for said in [&ran.stdout, &ran.stderr, &detail, &output] {
        assert!(!said.contains(text), "{said}");
    }
}

#[test]
fn private_keys_of_anybody_are_hidden() {
    let p = Program::initialised();
    let key = p.path().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "rsa", "-b", "2048", "-N", "", "-f"])
        .arg(&key)
        .status()
        .unwrap();
    assert!(made.success());
    let text = std::fs::read_to_string(&key).unwrap();
    p.push(
        "leak",
        &play(
            r#"    - name: Print it
      ansible.builtin.command: cat {{ key }}
    - name: Fail with it
      ansible.builtin.shell: cat {{ key }} >&2; exit 1
"#,
        ),
    );
    let inventory = local_inventory(&p, &["a"]);
    let variable = format!("key={}", key.display());
    let ran = p.run(&["run", "leak", "-i", &inventory, "-e", &variable, "-vv"]);
    let ran = ran.exits(1);
    let lines: Vec<&str> = text.lines().filter(|l| !l.starts_with('-')).collect();
    nowhere(&p, &ran, &lines);
}

#[test]
fn secrets_are_not_in_arguments_or_environments_and_gone_after_a_kill() {
    let p = Program::initialised();
    // Words that no other test of this machine has.
    let own = std::process::id();
    let secret_words = ["variable", "become", "vault"].map(|w| format!("{w}-hunter-{own}"));
    let sleep = format!("77.{own}");
    p.push(
        "wait",
        &play(&format!(
            "    - name: Wait\n      ansible.builtin.command: sleep {sleep}\n"
        )),
    );
    let inventory = local_inventory(&p, &["a"]);
    let lines = p.file("s.env", &format!("pw={}\n", secret_words[0]));
    let become_file = p.file("become", &secret_words[1]);
    let vault = p.file("vault", &secret_words[2]);
    let vault = format!("dev@{vault}");
    let arguments = [
        "run",
        "wait",
        "-i",
        &inventory,
        "--secret-file",
        &lines,
        "--become-password-file",
        &become_file,
        "--vault-id",
        &vault,
    ];
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let mut child = spawn(&p, &arguments);
        let secrets = |run: &str| p.store().join("runs").join(run);
        let run = if signal == rustix::process::Signal::INT {
            "1"
        } else {
            "2"
        };
        let sleeping = || {
            all_processes()
                .iter()
                .any(|(_, line, _)| line.contains(&format!("sleep\u{0}{sleep}")))
        };
        until(20, "the task runs", sleeping);
        assert!(secrets(run).join("secrets").is_dir());
        for (pid, line, environment) in all_processes() {
            for secret in &secret_words {
                assert!(!line.contains(secret.as_str()), "{pid}: {line}");
                assert!(
                    !environment.contains(secret.as_str()),
                    "{pid}: {environment}"
                );
            }
        }
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        child.wait().unwrap();
        until(20, "Ansible is gone", || !sleeping());
        std::thread::sleep(Duration::from_millis(300));
        // Any command that writes sweeps.
        p.run(&["setting", "set", "runs.max_concurrent", "4"])
            .exits(0);
        let left: Vec<_> = std::fs::read_dir(secrets(run))
            .unwrap()
            .map(|f| f.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(left, ["alive"]);
    }
}

/// PID, command line, environment; of this user's processes.
fn all_processes() -> Vec<(u32, String, String)> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != std::process::id())
        .map(|pid| {
            let read = |what: &str| {
                let bytes = std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            (pid, read("cmdline"), read("environ"))
        })
        .collect()
}
