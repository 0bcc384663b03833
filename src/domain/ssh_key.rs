//! OpenSSH public keys of tenants.

use ssh_key::public::KeyData;
use ssh_key::{Algorithm, Certificate, EcdsaCurve, HashAlg, PublicKey};
use thiserror::Error;

use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SshKeyError {
    #[error("no key found: expected one line such as `ssh-ed25519 AAAA… comment`")]
    Empty,
    #[error("{0} keys found; an allocation takes exactly one")]
    Several(usize),
    #[error("this is a private key; give the public one (the file that ends in .pub)")]
    Private,
    #[error("not an OpenSSH public key: {0}")]
    Malformed(String),
    #[error(
        "keys of type {0} are not accepted: use ed25519, rsa, ecdsa-nistp256/384/521 or their sk- forms"
    )]
    Type(String),
    #[error("the RSA key has {0} bits; at least 2048 are needed")]
    ShortRsa(usize),
}

/// When an OpenSSH certificate ends; None: never.
pub fn certificate_end(text: &str) -> Result<Option<Timestamp>, SshKeyError> {
    let certificate = Certificate::from_openssh(text.trim())
        .map_err(|e| SshKeyError::Malformed(e.to_string()))?;
    let seconds = i64::try_from(certificate.valid_before()).ok();
    Ok(seconds.and_then(|s| s.checked_mul(1000)).map(Timestamp))
}

/// A parsed key, in its one canonical line: type, material, comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKey {
    line: String,
    fingerprint: String,
}

impl TenantKey {
    /// Takes the text of a `.pub` file. Blank lines and `#` comments are
    /// passed over; options before the key type are refused, since they would
    /// reach `authorized_keys`.
    pub fn parse(text: &str) -> Result<Self, SshKeyError> {
        if text.contains("PRIVATE KEY-----") {
            return Err(SshKeyError::Private);
        }
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .collect();
        let line = match lines.as_slice() {
            [] => return Err(SshKeyError::Empty),
            [one] => *one,
            many => return Err(SshKeyError::Several(many.len())),
        };
        // ssh-key accepts any comment; a control character in it would travel
        // into authorized_keys and onto terminals.
        if line.chars().any(char::is_control) {
            return Err(SshKeyError::Malformed("it has control characters".into()));
        }
        let key =
            PublicKey::from_openssh(line).map_err(|e| SshKeyError::Malformed(e.to_string()))?;
        match key.algorithm() {
            Algorithm::Ed25519 | Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256 => {}
            Algorithm::Ecdsa {
                curve: EcdsaCurve::NistP256 | EcdsaCurve::NistP384 | EcdsaCurve::NistP521,
            } => {}
            Algorithm::Rsa { .. } => {
                if let KeyData::Rsa(rsa) = key.key_data() {
                    let bits = rsa.n.as_positive_bytes().map_or(0, |b| {
                        b.len() * 8 - b.first().map_or(0, |f| f.leading_zeros() as usize)
                    });
                    if bits < 2048 {
                        return Err(SshKeyError::ShortRsa(bits));
                    }
                }
            }
            other => return Err(SshKeyError::Type(other.to_string())),
        }
        Ok(TenantKey {
            line: line.to_owned(),
            fingerprint: key.fingerprint(HashAlg::Sha256).to_string(),
        })
    }

    /// The line for `authorized_keys`.
    pub fn as_str(&self) -> &str {
        &self.line
    }

    /// `SHA256:…`, as ssh-keygen shows it.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ED25519: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti user@example.com";

    #[test]
    fn an_ed25519_key_is_taken_with_its_comment() {
        let k = TenantKey::parse(&format!("# mine\n\n{ED25519}\n")).unwrap();
        assert_eq!(k.as_str(), ED25519);
        assert_eq!(
            k.fingerprint(),
            "SHA256:UCUiLr7Pjs9wFFJMDByLgc3NrtdU344OgUM45wZPcIQ"
        );
    }

    #[test]
    fn bad_keys_are_named_for_what_they_are() {
        let body = ED25519.split(' ').nth(1).unwrap();
        for (text, part) in [
            (String::new(), "no key found"),
            (format!("{ED25519}\n{ED25519}"), "2 keys"),
            (
                "-----BEGIN OPENSSH PRIVATE KEY-----\n".into(),
                "private key",
            ),
            (format!("ssh-rsa {body}"), "not an OpenSSH public key"),
            (
                format!("ssh-ed25519 {}", &body[..40]),
                "not an OpenSSH public key",
            ),
            (
                format!("command=\"x\" {ED25519}"),
                "not an OpenSSH public key",
            ),
            ("ssh-ed25519 AAAA".into(), "not an OpenSSH public key"),
            (format!("{ED25519}\u{1b}[2J"), "control characters"),
        ] {
            let e = TenantKey::parse(&text).unwrap_err().to_string();
            assert!(e.contains(part), "{text:?}: {e}");
        }
    }
}
