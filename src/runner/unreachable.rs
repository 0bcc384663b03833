//! What an unreachable host's message means, and what to do about it.

use std::path::Path;

use crate::domain::time::Timestamp;

/// The same where the run has credentials of its own; None where they are not
/// the reason.
pub(super) fn with_credentials(
    said: &str,
    until: Option<Timestamp>,
    at: Timestamp,
) -> Option<(String, Option<String>)> {
    if !said.contains("Permission denied") {
        return None;
    }
    Some(match until.filter(|until| *until <= at) {
        Some(until) => (
            format!("the SSH certificate of this run expired at {until}, before this login"),
            Some("let the prepare playbook sign it for longer, or split the run".into()),
        ),
        None => (
            "ssh was refused: it does not accept the credentials that the prepare playbook made"
                .into(),
            Some(
                "check the key and the principals that the prepare playbook has signed, and whom the host trusts (TrustedUserCAKeys)"
                    .into(),
            ),
        ),
    })
}

/// One line and its hint. `said` is what ssh wrote, as Ansible passes it on;
/// `host` is `[ADDRESS]:PORT` as ssh writes it, `server` the registered one.
pub(super) fn explain(
    said: &str,
    known_hosts: &Path,
    host: &str,
    server: Option<&str>,
) -> (String, Option<String>) {
    let has = |part: &str| said.contains(part);
    let file = known_hosts.display();
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") || has("Host key for") && has("has changed") {
        return (
            "its host key is another than the one accepted before".into(),
            Some(match server {
                Some(server) => format!(
                    "if the machine was reinstalled, forget the old key with `ssh-keygen -R '{host}' -f {file}`, then `kloigos server init {server}` accepts the new one"
                ),
                None => format!(
                    "if the machine was reinstalled, forget the old key with `ssh-keygen -R '{host}'` (and `-f {file}`, if it is there), then accept the new one with `ssh`"
                ),
            }),
        );
    }
    if has("Host key verification failed") || has("host key is known for") {
        return (
            "its host key is not known".into(),
            Some(match server {
                Some(server) => {
                    format!("`kloigos server init {server}` accepts the key and shows it")
                }
                None => {
                    "accept it with `ssh`, once, or register the machine with `kloigos server add`"
                        .into()
                }
            }),
        );
    }
    if has("Permission denied") {
        return (
            "ssh was refused: no key that it offered is accepted".into(),
            Some("check the admin user and its key: setting ssh.private_key_file, or the agent (`ssh-add -l`); a key with a passphrase needs the agent".into()),
        );
    }
    for (mark, text) in [
        ("Connection refused", "nothing listens on its ssh port"),
        ("timed out", "it does not answer"),
        ("No route to host", "there is no route to it"),
        (
            "Network is unreachable",
            "its network is unreachable from here",
        ),
        ("Could not resolve hostname", "its name does not resolve"),
        ("Connection reset", "it closed the connection"),
        ("Connection closed", "it closed the connection"),
    ] {
        if has(mark) {
            return (text.into(), None);
        }
    }
    let line = said
        .lines()
        .map(str::trim)
        .rfind(|l| !l.is_empty())
        .unwrap_or("no reason given");
    (line.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_is_over_is_told_from_one_that_is_not_taken() {
        let denied = "a@b: Permission denied (publickey).";
        let why =
            |said, until, at| with_credentials(said, until, Timestamp(at)).map(|(why, _)| why);
        let end = Some(Timestamp(1000));
        assert!(why(denied, end, 1000).unwrap().contains("expired at 1970"));
        for until in [end, None] {
            assert!(why(denied, until, 999).unwrap().contains("not accept"));
        }
        assert_eq!(why("Connection refused", end, 2000), None);
    }

    #[test]
    fn the_usual_reasons_are_told_apart() {
        let explain = |s| explain(s, Path::new("/k"), "10.0.0.1", None).0;
        assert!(explain("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.").contains("another than"));
        assert!(explain("Host key verification failed.").contains("not known"));
        assert!(explain("a@b: Permission denied (publickey).").contains("refused"));
        assert!(
            explain("ssh: connect to host x port 1: Connection refused")
                .contains("nothing listens")
        );
        assert_eq!(explain("odd\nthing\n"), "thing");
    }
}
