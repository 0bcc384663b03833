//! Names that users choose, each with its one rule.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

/// A name that breaks its rule. `what` names the kind, `rule` says what is
/// allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{given}` is not a valid {what}: {rule}")]
pub struct InvalidName {
    pub what: &'static str,
    pub given: String,
    pub rule: String,
}

fn invalid(what: &'static str, given: &str, rule: impl Into<String>) -> InvalidName {
    // A hostile argument must not carry control sequences into a message.
    let given = given.escape_debug().to_string();
    InvalidName {
        what,
        given,
        rule: rule.into(),
    }
}

macro_rules! name_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            fn from_str(s: &str) -> Result<Self, InvalidName> {
                $name::parse(s)
            }
        }
    };
}

name_type! {
    /// A server's name: RFC 1123, kept in lower case (names are compared
    /// without case there, and two spellings must not be two servers).
    Hostname
}

impl Hostname {
    /// Labels of 1–63 letters, digits and inner hyphens; 253 octets at most.
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        const RULE: &str = "labels of letters, digits and inner hyphens, 63 characters each, \
                            253 in all, separated by dots (RFC 1123)";
        let label_ok = |l: &str| {
            (1..=63).contains(&l.len())
                && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
                && !l.starts_with('-')
                && !l.ends_with('-')
        };
        if s.len() > 253 || !s.split('.').all(label_ok) {
            return Err(invalid("hostname", s, RULE));
        }
        if is_ansibles_own(&s.to_ascii_lowercase()) {
            return Err(invalid(
                "hostname",
                s,
                "Ansible means something else by it; choose another name",
            ));
        }
        if s.parse::<std::net::IpAddr>().is_ok() {
            return Err(invalid(
                "hostname",
                s,
                "it is an address; give the server a name, and the address with --private-ip",
            ));
        }
        Ok(Hostname(s.to_ascii_lowercase()))
    }
}

/// Words of Ansible's inventory: a host of such a name is taken for the group,
/// or for this machine, and is then missing from a run in silence.
pub fn is_ansibles_own(name: &str) -> bool {
    matches!(name, "all" | "ungrouped" | "localhost")
        || matches!(name, "kloigos_server" | "kloigos_source" | "kloigos_target")
}

name_type! {
    /// `<hostname>-cuNN`.
    ComputeUnitId
}

impl ComputeUnitId {
    pub fn of(server: &Hostname, ordinal: u32) -> Self {
        ComputeUnitId(format!("{server}-cu{ordinal:02}"))
    }

    /// A name as typed or stored; only its form is checked.
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        let rule = "it reads `<hostname>-cuNN`, as `kloigos cu list` shows it";
        let (host, number) = s
            .rsplit_once("-cu")
            .ok_or_else(|| invalid("compute unit", s, rule))?;
        if number.len() < 2 || !number.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid("compute unit", s, rule));
        }
        let host = Hostname::parse(host).map_err(|_| invalid("compute unit", s, rule))?;
        Ok(ComputeUnitId(format!("{host}-cu{number}")))
    }
}

name_type! {
    /// The id of an allocation; it becomes part of paths and unit names.
    AllocationId
}

impl AllocationId {
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        let ok = (1..=64).contains(&s.len())
            && s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if !ok {
            return Err(invalid(
                "allocation id",
                s,
                "a lower-case letter, then up to 63 lower-case letters, digits, hyphens or underscores",
            ));
        }
        Ok(AllocationId(s.to_owned()))
    }

    /// The id given when the user names none.
    pub fn numbered(n: u64) -> Self {
        AllocationId(format!("alloc-{n}"))
    }
}

name_type! {
    /// A Linux login name.
    LoginUser
}

/// Accounts that distributions create or that mean something to programs.
const RESERVED_USERS: &[&str] = &[
    "root",
    "daemon",
    "bin",
    "sys",
    "sync",
    "games",
    "man",
    "lp",
    "mail",
    "news",
    "uucp",
    "proxy",
    "www-data",
    "backup",
    "list",
    "irc",
    "gnats",
    "nobody",
    "nogroup",
    "_apt",
    "messagebus",
    "sshd",
    "polkitd",
    "ntp",
    "chrony",
    "tss",
    "uuidd",
    "dnsmasq",
    "avahi",
    "syslog",
    "adm",
    "operator",
    "halt",
    "shutdown",
    "ftp",
    "dbus",
    "rpc",
    "mysql",
    "postgres",
    "redis",
    "nginx",
    "ubuntu",
    "debian",
    "admin",
    "sudo",
    "wheel",
    "shadow",
    "utmp",
    "disk",
    "tty",
    "kmem",
    "dialout",
    "fax",
    "voice",
    "cdrom",
    "floppy",
    "tape",
    "audio",
    "video",
    "dip",
    "plugdev",
    "staff",
    "users",
    "input",
    "kvm",
    "render",
    "crontab",
    "netdev",
    "docker",
    "lxd",
    "libvirt",
    "kloigos",
    "lost+found",
];

impl LoginUser {
    /// `^[a-z][a-z0-9_-]{0,31}$`, not a reserved account.
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        let user = Self::admin(s)?;
        if RESERVED_USERS.contains(&s) || s.starts_with("systemd-") {
            return Err(invalid(
                "login user",
                s,
                "the name is reserved for a system account or group",
            ));
        }
        Ok(user)
    }

    /// The form alone: an administrator's account may carry any such name.
    pub fn admin(s: &str) -> Result<Self, InvalidName> {
        let ok = (1..=32).contains(&s.len())
            && s.starts_with(|c: char| c.is_ascii_lowercase())
            && s.bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        if !ok {
            return Err(invalid(
                "login user",
                s,
                "a lower-case letter, then up to 31 lower-case letters, digits, hyphens or underscores",
            ));
        }
        Ok(LoginUser(s.to_owned()))
    }
}

name_type! {
    /// `[A-Za-z][A-Za-z0-9_-]*`, 64 characters at most.
    PlaybookName
}

impl PlaybookName {
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        let ok = (1..=64).contains(&s.len())
            && s.starts_with(|c: char| c.is_ascii_alphabetic())
            && s.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !ok {
            return Err(invalid(
                "playbook name",
                s,
                "a letter, then up to 63 letters, digits, hyphens or underscores",
            ));
        }
        Ok(PlaybookName(s.to_owned()))
    }
}

name_type! {
    /// A region or zone, as the operator names them.
    Place
}

impl Place {
    pub fn parse(s: &str) -> Result<Self, InvalidName> {
        let ok = (1..=64).contains(&s.len())
            && s.starts_with(|c: char| c.is_ascii_alphanumeric())
            && s.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        if !ok {
            return Err(invalid(
                "region or zone",
                s,
                "up to 64 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
            ));
        }
        Ok(Place(s.to_owned()))
    }
}

/// A tag `KEY=VALUE` on a server or an allocation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tag {
    pub key: String,
    pub value: String,
}

impl std::str::FromStr for Tag {
    type Err = InvalidName;

    fn from_str(s: &str) -> Result<Self, InvalidName> {
        let rule = "it reads KEY=VALUE; the key has letters, digits, dots, slashes, hyphens or \
                    underscores, the value no control characters (256 at most)";
        let (key, value) = s.split_once('=').ok_or_else(|| invalid("tag", s, rule))?;
        let key_ok = (1..=64).contains(&key.len())
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'));
        if !key_ok || value.chars().count() > 256 || value.chars().any(char::is_control) {
            return Err(invalid("tag", s, rule));
        }
        Ok(Tag {
            key: key.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostnames_follow_rfc_1123_and_lose_their_case() {
        for good in ["a", "web-1", "Web.Example.com", &"x".repeat(63), "1host"] {
            assert!(Hostname::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            "a-",
            "a..b",
            "a_b",
            &"x".repeat(64),
            "a b",
            "é",
            "a.",
            "10.0.0.1",
        ] {
            assert!(Hostname::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Hostname::parse("WEB").unwrap().as_str(), "web");
    }

    #[test]
    fn login_users_have_the_documented_form_and_are_not_reserved() {
        for good in ["a", "web_1", "x-y", &format!("a{}", "b".repeat(31))] {
            assert!(LoginUser::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Web",
            "1a",
            "_a",
            "a.b",
            "root",
            "systemd-network",
            "daemon",
            &"a".repeat(33),
            "a\n",
            "../a",
        ] {
            assert!(LoginUser::parse(bad).is_err(), "{bad}");
        }
        assert!(LoginUser::admin("admin").is_ok());
    }

    #[test]
    fn compute_unit_ids_are_read_back() {
        let id = ComputeUnitId::of(&Hostname::parse("lab-cu1").unwrap(), 3);
        assert_eq!(id.as_str(), "lab-cu1-cu03");
        assert_eq!(ComputeUnitId::parse("lab-cu1-cu03").unwrap(), id);
        assert!(ComputeUnitId::parse("lab").is_err());
        assert!(ComputeUnitId::parse("lab-cu1").is_err());
    }

    #[test]
    fn messages_never_carry_control_sequences() {
        let e = Hostname::parse("a\u{1b}[2Jb").unwrap_err();
        assert!(!e.to_string().contains('\u{1b}'));
    }

    #[test]
    fn tags_are_key_equals_value() {
        let t: Tag = "team=a=b".parse().unwrap();
        assert_eq!((t.key.as_str(), t.value.as_str()), ("team", "a=b"));
        assert!("team".parse::<Tag>().is_err());
        assert!("=x".parse::<Tag>().is_err());
        assert!("a=\u{1b}".parse::<Tag>().is_err());
    }
}
