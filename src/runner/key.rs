//! Whether ssh can use a private key without anybody there to ask.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::env::Env;
use crate::error::{Error, Kind};

/// # Errors
/// `Ansible`, with what to do, when ssh would pass the key over or ask for its
/// passphrase: during a run that would look like a refused key.
pub fn check_key(env: &Env, path: &Path) -> Result<(), Error> {
    let shown = path.display();
    let wrong = |why: String| {
        Error::new(
            Kind::Ansible,
            format!("cannot use the SSH key {shown}: {why}"),
        )
    };
    let text = std::fs::read(path).map_err(|e| wrong(e.to_string()))?;
    let meta = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?;
    if meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o077 != 0 {
        return Err(wrong(format!(
            "others may read it (mode {:o}), so ssh ignores it",
            meta.mode() & 0o777
        ))
        .hint(format!("`chmod 600 {shown}`")));
    }
    let text = String::from_utf8_lossy(&text);
    match passphrase(&text) {
        Passphrase::No => Ok(()),
        Passphrase::Yes(public) if agent_has(env, public.as_deref()) => Ok(()),
        Passphrase::Yes(_) => Err(
            wrong("it has a passphrase, and no agent has it ready".into())
                .hint(format!("`ssh-add {shown}` asks for the passphrase once")),
        ),
        Passphrase::NoKey => Err(wrong(
            "it is a public key; the private one is needed".into(),
        )),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Passphrase {
    No,
    /// The public key's base64, where the file tells it.
    Yes(Option<String>),
    NoKey,
}

/// Only what is certain: a form that is not known here is left to ssh.
fn passphrase(text: &str) -> Passphrase {
    if let Ok(key) = ssh_key::PrivateKey::from_openssh(text) {
        if !key.is_encrypted() {
            return Passphrase::No;
        }
        let public = key.public_key().to_openssh().ok();
        return Passphrase::Yes(public.and_then(|p| p.split(' ').nth(1).map(str::to_owned)));
    }
    if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----")
        || text.contains("Proc-Type: 4,ENCRYPTED")
    {
        return Passphrase::Yes(None);
    }
    if text.starts_with("ssh-") || text.starts_with("ecdsa-") || text.starts_with("sk-") {
        return Passphrase::NoKey;
    }
    Passphrase::No
}

/// Of a key whose public part is not known, an agent with any key may have it.
fn agent_has(env: &Env, public: Option<&str>) -> bool {
    if env.get("SSH_AUTH_SOCK").is_none() {
        return false;
    }
    let Some(program) = env.find_program("ssh-add") else {
        return false;
    };
    Command::new(program)
        .arg("-L")
        .env_clear()
        .envs(env.all())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .is_ok_and(|o| {
            let keys = String::from_utf8_lossy(&o.stdout);
            o.status.success() && public.is_none_or(|p| keys.contains(p))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keygen(arguments: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-f"])
            .arg(&path)
            .args(arguments)
            .status()
            .unwrap();
        assert!(made.success());
        (dir, path)
    }

    fn check(path: &Path) -> Result<(), String> {
        check_key(&Env::fixed(&[], "tester"), path).map_err(|e| e.to_string())
    }

    #[test]
    fn keys_that_ssh_would_pass_over_or_ask_about_are_said() {
        let (_dir, plain) = keygen(&["-t", "ed25519", "-N", ""]);
        assert_eq!(check(&plain), Ok(()));
        assert!(check(&plain.with_extension("pub")).is_err());
        let mode = |m| std::os::unix::fs::PermissionsExt::from_mode(m);
        std::fs::set_permissions(&plain, mode(0o640)).unwrap();
        assert!(check(&plain).unwrap_err().contains("mode 640"));

        let (_dir, asks) = keygen(&["-t", "ed25519", "-N", "secret"]);
        assert!(check(&asks).unwrap_err().contains("passphrase"));
        let (_dir, pem) = keygen(&["-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "secret"]);
        assert!(check(&pem).unwrap_err().contains("passphrase"));
        let (_dir, pem) = keygen(&["-t", "rsa", "-b", "2048", "-m", "PEM", "-N", ""]);
        assert_eq!(check(&pem), Ok(()));
        assert!(
            check(Path::new("/nowhere"))
                .unwrap_err()
                .contains("/nowhere")
        );
    }
}
