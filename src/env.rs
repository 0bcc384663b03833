//! The only door to the process environment: read once, passed as a value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A snapshot of the environment and of who runs the program.
#[derive(Debug, Clone)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    /// Login name of the caller, for audit records.
    pub user: String,
    pub host: String,
    pub pid: u32,
    pub cwd: PathBuf,
}

impl Env {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn snapshot() -> Self {
        let vars: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        let named = |key: &str| {
            vars.get(OsStr::new(key))
                .map(|v| v.to_string_lossy().into_owned())
                .filter(|v| !v.is_empty())
        };
        let user = named("SUDO_USER")
            .or_else(|| named("USER"))
            .or_else(|| named("LOGNAME"))
            .unwrap_or_else(|| {
                let uid = rustix::process::getuid().as_raw();
                local_account(uid).unwrap_or_else(|| format!("uid {uid}"))
            });
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        Env {
            user,
            host,
            pid: std::process::id(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            vars,
        }
    }

    /// For tests: nothing but what is given.
    pub fn fixed(vars: &[(&str, &str)], user: &str) -> Self {
        Env {
            vars: vars
                .iter()
                .map(|(k, v)| (OsString::from(k), OsString::from(v)))
                .collect(),
            user: user.to_owned(),
            host: "testhost".to_owned(),
            pid: std::process::id(),
            cwd: PathBuf::from("/"),
        }
    }

    /// The variable, unless it is unset or empty.
    pub fn get(&self, key: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(key))
            .map(OsString::as_os_str)
            .filter(|v| !v.is_empty())
    }

    /// Set at all, even to nothing.
    pub fn is_set(&self, key: &str) -> bool {
        self.vars.contains_key(OsStr::new(key))
    }

    /// Everything, for a child process.
    pub fn all(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars
            .iter()
            .map(|(k, v)| (k.as_os_str(), v.as_os_str()))
    }

    /// A file that the user names: relative to where they stand; `~/` is home,
    /// as Ansible takes it where the shell leaves it.
    pub fn file(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.get("HOME")) {
            (Ok(rest), Some(home)) => Path::new(home).join(rest),
            _ => self.cwd.join(path),
        }
    }

    /// The first executable file of that name on PATH.
    pub fn find_program(&self, name: &str) -> Option<PathBuf> {
        let path = self.get("PATH")?;
        std::env::split_paths(path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join(name))
            .find(|file| crate::fs::is_executable(file))
    }
}

/// The login name of a local account: cron and services set no USER.
fn local_account(uid: u32) -> Option<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    })
}
