//! Variables as real Ansible receives them: awkward strings, types, files.

use serde_json::{Value, json};

use crate::engine_end::local_inventory;
use crate::program::{Program, Ran};
use crate::secrets::{nowhere, play};

/// Texts that YAML, a shell or a template would take for something else.
const AWKWARD: &[&str] = &[
    "yes",
    "no",
    "on",
    "true",
    "False",
    "null",
    "~",
    "",
    " ",
    " a b ",
    "007",
    "0x1F",
    "0o7",
    "1e3",
    "1_000",
    "3",
    "-3.0",
    ".inf",
    "nan",
    "2026-12-01",
    "12:30:45",
    "[1, 2]",
    "{\"a\": 1}",
    "{a: b}",
    "a: b",
    "a # b",
    "#a",
    "- a",
    "!vault x",
    "!unsafe x",
    "&a",
    "*a",
    "|",
    ">",
    "%x",
    "@x",
    "`x`",
    "it's",
    "\"q\"",
    "'",
    "\"",
    "\\",
    "\\n",
    "a\nb\n",
    "a\tb",
    "$HOME",
    "$(id)",
    "a=b",
    "a:=1",
    "é中🦀",
    "\u{7f}x",
    "--check",
    "; rm x",
    "{ { x",
    "}}",
];

/// What the playbook has under each name, with Ansible's word for its type.
fn received(p: &Program, names: &[String], more: &[&str]) -> Value {
    let pairs: Vec<String> = names
        .iter()
        .map(|n| format!("            {n}: ['{{{{ {n} | type_debug }}}}', '{{{{ {n} }}}}']\n"))
        .collect();
    p.push(
        "types",
        &play(&format!(
            "    - name: Types\n      ansible.builtin.set_stats:\n        data:\n          kloigos:\n{}",
            pairs.concat()
        )),
    );
    let inventory = local_inventory(p, &["a"]);
    let mut arguments = vec!["run", "types", "-i", &inventory];
    arguments.extend(more);
    p.run(&arguments).exits(0);
    p.json(&["runs", "list", "-n", "1"])[0]["data"].clone()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("v{n}")).collect()
}

#[test]
fn a_string_stays_that_string_whatever_it_looks_like() {
    let p = Program::initialised();
    let names = names(AWKWARD.len());
    let given: Vec<String> = names
        .iter()
        .zip(AWKWARD)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let more: Vec<&str> = given.iter().flat_map(|g| ["-e", g.as_str()]).collect();
    let received = received(&p, &names, &more);
    for (name, value) in names.iter().zip(AWKWARD) {
        assert_eq!(received[name], json!(["str", value]), "{value:?}");
    }
}

#[test]
fn typed_values_have_the_types_that_json_gives_them() {
    let p = Program::initialised();
    let values = [
        ("null", "NoneType"),
        ("true", "bool"),
        ("3", "int"),
        ("-9223372036854775808", "int"),
        ("18446744073709551615", "int"),
        ("1e3", "float"),
        ("1.0", "float"),
        ("\"007\"", "str"),
        ("\"yes\"", "str"),
        ("[1,\"2\",null]", "list"),
        ("{\"a\":{\"b\":\"no\"}}", "dict"),
    ];
    let names = names(values.len());
    let given: Vec<String> = names
        .iter()
        .zip(values)
        .map(|(name, (value, _))| format!("{name}:={value}"))
        .collect();
    let more: Vec<&str> = given.iter().flat_map(|g| ["-e", g.as_str()]).collect();
    let received = received(&p, &names, &more);
    for (name, (value, kind)) in names.iter().zip(values) {
        let value: Value = serde_json::from_str(value).unwrap();
        assert_eq!(received[name], json!([kind, value]), "{value}");
    }
}

#[test]
fn what_looks_like_a_template_is_a_text_in_variables_and_secrets() {
    let p = Program::initialised();
    let names = ["template", "number", "code", "literal"].map(String::from);
    let code = format!(
        "code={{{{ lookup('pipe', 'touch {}') }}}}",
        p.path().join("ran").display()
    );
    let received = received(
        &p,
        &names,
        &[
            "-e",
            "template={{ other }}!",
            "-e",
            "other=1",
            "-e",
            "number={{ 1+1 }}",
            "-e",
            &code,
            "-s",
            "literal={{ other }}{% {#",
        ],
    );
    assert_eq!(received["template"], json!(["str", "{{ other }}!"]));
    assert_eq!(received["number"], json!(["str", "{{ 1+1 }}"]));
    assert_eq!(received["code"][0], "str");
    assert!(!p.path().join("ran").exists(), "a variable was run");
    assert_eq!(received["literal"], json!(["str", "********"]));
}

#[test]
fn a_file_is_ansibles_to_read_and_the_users_directory_is_where_it_is() {
    let p = Program::initialised();
    p.file(
        "vars.yml",
        "---\nversion: 007\nflag: yes\nword: 'yes'\nraw: !unsafe '{{ x }}'\n",
    );
    let names = ["version", "flag", "word", "raw"].map(String::from);
    let received = received(&p, &names, &["-e", "@vars.yml"]);
    let wanted = json!({
        "version": ["int", 7], "flag": ["bool", true], "word": ["str", "yes"],
        "raw": ["str", "{{ x }}"],
    });
    assert_eq!(received, wanted);
}

#[test]
fn relative_password_files_are_the_users_and_their_words_are_hidden() {
    let p = Program::initialised();
    p.file("vault.txt", "vault-hunter\n");
    p.file("become.txt", "become-hunter\n");
    p.push(
        "tell",
        &play(
            "    - name: Tell
      ansible.builtin.command: grep -h hunter vault.txt become.txt
      args:
        chdir: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}\"
",
        ),
    );
    let inventory = local_inventory(&p, &["a"]);
    let ran = p.run(&[
        "run",
        "tell",
        "-i",
        &inventory,
        "-vv",
        "--vault-id",
        "dev@vault.txt",
        "--become-password-file",
        "become.txt",
    ]);
    let ran = ran.exits(0);
    nowhere(&p, &ran, &["vault-hunter", "become-hunter"]);
    let output = p.run(&["runs", "output", "1"]).stdout;
    assert!(output.contains("********\\n********"), "{output}");
}

#[test]
fn a_password_file_of_the_environment_is_hidden_too() {
    let p = Program::initialised();
    let vault = p.file("vault.txt", "vault-hunter\n");
    let tell = "    - name: Tell\n      ansible.builtin.debug:\n        msg: vault-hunter\n";
    p.push("tell", &play(tell));
    let inventory = local_inventory(&p, &["a"]);
    for (key, value) in [
        ("ANSIBLE_VAULT_PASSWORD_FILE", vault.clone()),
        ("ANSIBLE_VAULT_IDENTITY_LIST", format!("dev@{vault}")),
    ] {
        let mut command = p.command(&["run", "tell", "-i", &inventory, "-v"]);
        let ran = Ran::of(&command.env(key, value).output().unwrap()).exits(0);
        assert!(ran.stderr.contains("********"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("vault-hunter"), "{}", ran.stderr);
    }
}

#[test]
fn a_program_that_prints_a_password_is_left_to_ansible() {
    use std::os::unix::fs::PermissionsExt;
    let p = Program::initialised();
    let program = p.file("pass.sh", "#!/bin/sh\necho from-a-program\n");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    p.push(
        "say",
        &play("    - name: Say\n      ansible.builtin.debug:\n        msg: x\n"),
    );
    let inventory = local_inventory(&p, &["a"]);
    p.run(&[
        "run",
        "say",
        "-i",
        &inventory,
        "--vault-id",
        "dev@pass.sh",
        "--become-password-file",
        "pass.sh",
    ])
    .exits(0);
}
