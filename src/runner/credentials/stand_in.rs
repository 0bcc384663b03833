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
    format!("{letters}[=\\ ]*")
}

/// Keys add up, whoever names them, so other keys are taken out of the
/// arguments. Another configuration may name keys too: it is read only if the
/// inventory asks for it and the playbook brings none. A connection that is
/// shared with other runs would let in without any key.
pub(super) fn ssh(ssh: &Path, options: &[String], control: &Path, config: Option<&Path>) -> String {
    let options: String = options.iter().map(|o| format!(" -o {}", word(o))).collect();
    let keys = format!("{}|{}", pattern("identityfile"), pattern("certificatefile"));
    let path = pattern("controlpath");
    let control = control.display().to_string();
    let control_option = word(&format!("ControlPath=\"{control}/%C\""));
    let (given_config, default_config) = match config {
        Some(path) => (
            "shift; n=$((n - 1)); continue",
            word(&path.to_string_lossy()),
        ),
        None => ("config=given", "none".to_owned()),
    };
    let ssh = word(&ssh.to_string_lossy());
    format!(
        "#!/bin/sh
# Of one run of kloigos: ssh with the credentials of this run and no others.
n=$#
config=
control=
while [ \"$n\" -gt 0 ]; do
    a=$1
    shift
    n=$((n - 1))
    if [ \"$n\" -gt 0 ]; then
        case $a in
        -i | -S) shift; n=$((n - 1)); continue ;;
        -F) {given_config} ;;
        -o)
            case $1 in
            {keys}) shift; n=$((n - 1)); continue ;;
            {path})
                case $1 in
                *{control}/*) control=given ;;
                *) shift; n=$((n - 1)); continue ;;
                esac ;;
            esac ;;
        -o*)
            case ${{a#-o}} in
            {keys}|{path}) continue ;;
            esac ;;
        esac
    fi
    set -- \"$@\" \"$a\"
done
[ -n \"$control\" ] || set -- -o {control_option} \"$@\"
[ -n \"$config\" ] || set -- -F {default_config} \"$@\"
exec {ssh}{options} \"$@\"
"
    )
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
            "-tt",
            "web",
            "/bin/sh -c 'echo -i $HOME'",
        ];
        let mut given = vec![
            "-C",
            "-o",
            "identityfile=/other",
            "-i",
            "/other",
            "-o",
            "CertificateFile /c",
            "-oIdentityFile=/other",
            "-o",
            "ControlPath=~/.ssh/shared",
            "-S",
            "/shared",
            "-F",
            "/theirs",
        ];
        given.extend(rest);
        let mut expected = vec![own[0], own[1], "-C", "-F", "/theirs"];
        expected.extend(rest);
        assert_eq!(passed(None, &given), expected);

        let mut expected = vec![own[0], own[1], "-F", "/ours", "-C"];
        expected.extend(rest);
        assert_eq!(passed(Some("/ours"), &given), expected);

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
}
