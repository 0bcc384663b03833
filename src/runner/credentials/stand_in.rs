//! Programs that stand in for ssh, scp and sftp: shell scripts that put options
//! in front of the arguments and take out what would undo them.

use std::path::Path;

/// scp or sftp, over our ssh.
pub(super) fn other(real: &Path, ssh: &Path) -> String {
    format!(
        "#!/bin/sh\nexec {} -S {} \"$@\"\n",
        word(&real.to_string_lossy()),
        word(&ssh.to_string_lossy())
    )
}

/// For a shell.
fn word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A shell pattern for an option of ssh, whose names have no case.
fn pattern(name: &str) -> String {
    let letters: String = name
        .chars()
        .map(|c| format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase()))
        .collect();
    format!("{letters}[=\\ \\\"]*")
}

/// Options of ssh that add to what logs in, whoever names them first.
const ADDS: [&str; 5] = [
    "identityfile",
    "certificatefile",
    "include",
    "pkcs11provider",
    "securitykeyprovider",
];

/// Keys add up, whoever names them, so other keys are taken out of the
/// arguments, which are read as ssh itself reads them: clustered flags and
/// attached values too. Another configuration may name keys as well: it is read
/// only if the inventory asks for it and the playbook brings none, and without
/// those lines. A connection that is shared with other runs would let in
/// without any key.
pub(super) fn ssh(ssh: &Path, options: &[String], control: &Path, config: Option<&Path>) -> String {
    let options: String = options.iter().map(|o| format!(" -o {}", word(o))).collect();
    let control = control.display().to_string();
    let (given_config, default_config) = match config {
        Some(path) => (String::new(), word(&path.to_string_lossy())),
        None => (
            format!(
                "config={control}/config.$$\n        sed -E '/^[[:space:]]*({}|controlpath|identityagent)([[:space:]=\"]|$)/Id' \"$OPTARG\" >\"$config\" || exit 255\n        add -F \"$config\"",
                ADDS.join("|")
            ),
            "none".to_owned(),
        ),
    };
    let script = include_str!("ssh.sh");
    [
        ("@GIVEN_CONFIG@", given_config),
        ("@KEYS@", ADDS.map(pattern).join("|")),
        ("@CONTROL_PATH@", pattern("controlpath")),
        (
            "@CONTROL_OPTION@",
            word(&format!("ControlPath=\"{control}/%C\"")),
        ),
        ("@CONTROL@", control),
        ("@DEFAULT_CONFIG@", default_config),
        ("@SSH@", word(&ssh.to_string_lossy())),
        ("@OPTIONS@", options),
    ]
    .iter()
    .fold(script.to_owned(), |script, (mark, text)| {
        script.replace(mark, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments that reach ssh, for which `printf` stands in.
    fn passed(config: Option<&str>, given: &[&str]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let script = ssh(
            Path::new("/usr/bin/env"),
            &["IdentityFile=\"/c d/id_key\"".into()],
            Path::new("/tmp/kl-x"),
            config.map(Path::new),
        )
        .replace("exec '/usr/bin/env'", "exec printf '%s\\n'");
        let path = dir.path().join("ssh");
        std::fs::write(&path, script).unwrap();
        let out = std::process::Command::new("/bin/sh")
            .arg(&path)
            .args(given)
            .output()
            .unwrap();
        assert!(
            out.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
        String::from_utf8_lossy(&out.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn other_keys_and_shared_connections_are_taken_out_and_the_rest_stays() {
        let own = ["-o", "IdentityFile=\"/c d/id_key\""];
        let rest = [
            "-o",
            "ControlPath=\"/tmp/kl-x/abc\"",
            "-t",
            "-t",
            "web",
            "/bin/sh -c 'echo -i $HOME'",
        ];
        let mut given = vec![
            "-C",
            "-o",
            "identityfile=/other",
            "-i",
            "/other",
            "-i/other",
            "-4i/other",
            "-vi",
            "/other",
            "-o",
            "CertificateFile /c",
            "-o",
            "  IdentityFile=/other",
            "-oIdentityFile=/other",
            "-o",
            "Include /theirs",
            "-o",
            "ControlPath=~/.ssh/shared",
            "-S",
            "/shared",
            "-S/shared",
            "-p",
            "22",
            "-o",
            "ProxyCommand=sh -c 'nc it\\'s %h'",
        ];
        let mut expected = vec![
            "-C",
            "-4",
            "-v",
            "-p",
            "22",
            "-o",
            "ProxyCommand=sh -c 'nc it\\'s %h'",
        ];
        given.extend(rest);
        expected.extend(rest);
        let with = |config: &'static str| {
            let mut all = vec![own[0], own[1], "-F", config];
            all.extend(&expected);
            all
        };
        assert_eq!(passed(None, &given), with("none"));
        let mut more = vec!["-F", "/theirs", "-F/theirs"];
        more.extend(&given);
        assert_eq!(passed(Some("/ours"), &more), with("/ours"));
        assert_eq!(
            passed(None, &["web"]),
            [
                own[0],
                own[1],
                "-F",
                "none",
                "-o",
                "ControlPath=\"/tmp/kl-x/%C\"",
                "web"
            ]
        );
    }

    #[test]
    fn a_configuration_that_is_given_is_read_without_its_keys() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("config");
        std::fs::write(
            &config,
            "Host *\n  IdentityFile /other\n\tidentityfile=/other\nInclude more\n  ProxyJump jump\n",
        )
        .unwrap();
        let script = ssh(Path::new("/bin/cat"), &[], dir.path(), None)
            .replace("exec '/bin/cat'", "cat \"$config\"; :");
        let path = dir.path().join("ssh");
        std::fs::write(&path, script).unwrap();
        let out = std::process::Command::new("/bin/sh")
            .arg(&path)
            .arg(format!("-F{}", config.display()))
            .arg("web")
            .output()
            .unwrap();
        let kept = String::from_utf8_lossy(&out.stdout);
        assert_eq!(kept, "Host *\n  ProxyJump jump\n", "{out:?}");
    }
}
