//! Which settings the ansible.cfg in force has, so that Kloigos only sets what
//! nothing else does: a variable of the environment would win over the file.
//!
//! Only whether a key is there is read, and where callback plugins are; what
//! the values mean is Ansible's business.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::env::Env;

#[derive(Debug, Default)]
pub struct Config {
    /// Where it stands; relative paths in it start there.
    dir: PathBuf,
    values: BTreeMap<(String, String), String>,
}

impl Config {
    /// The first that Ansible would take: ANSIBLE_CONFIG, the working
    /// directory (unless everybody can write there), the home, /etc.
    pub fn in_force(workdir: &Path, env: &Env) -> Self {
        let mut candidates = Vec::new();
        if let Some(file) = named(env) {
            candidates.push(if file.is_dir() {
                file.join("ansible.cfg")
            } else {
                file
            });
        }
        if !writable_by_all(workdir) {
            candidates.push(workdir.join("ansible.cfg"));
        }
        if let Some(home) = env.get("HOME") {
            candidates.push(Path::new(home).join(".ansible.cfg"));
        }
        candidates.push("/etc/ansible/ansible.cfg".into());
        for file in candidates {
            if let Ok(text) = crate::fs::read(&file) {
                return Config {
                    dir: file.parent().map(Path::to_owned).unwrap_or_default(),
                    values: parse(&String::from_utf8_lossy(&text)),
                };
            }
        }
        Config::default()
    }

    /// Whether any of the places `section.key` is set.
    pub fn has(&self, places: &[&str]) -> bool {
        places.iter().any(|p| self.get(p).is_some())
    }

    fn get(&self, place: &str) -> Option<&str> {
        let (section, key) = place.split_once('.')?;
        self.values
            .get(&(section.to_owned(), key.to_owned()))
            .map(String::as_str)
    }

    /// A list of paths, each from the file's own directory.
    pub fn paths(&self, place: &str) -> Option<Vec<String>> {
        let list = self.get(place)?;
        Some(
            list.split(':')
                .map(str::trim)
                .filter(|p| !p.is_empty())
                .map(|p| {
                    if p.starts_with(['/', '~', '$', '{']) {
                        p.to_owned()
                    } else {
                        self.dir.join(p).to_string_lossy().into_owned()
                    }
                })
                .collect(),
        )
    }
}

/// The file that ANSIBLE_CONFIG names, from the caller's directory; Ansible
/// itself works in the playbook's.
pub fn named(env: &Env) -> Option<PathBuf> {
    env.get("ANSIBLE_CONFIG").map(|file| {
        if file.as_encoded_bytes().starts_with(b"~") {
            PathBuf::from(file)
        } else {
            env.cwd.join(file)
        }
    })
}

fn writable_by_all(dir: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(dir).is_ok_and(|m| m.permissions().mode() & 0o002 != 0)
}

/// As Python's configparser takes it, without continuation lines, which no
/// key that matters here has.
fn parse(text: &str) -> BTreeMap<(String, String), String> {
    let mut section = String::new();
    let mut values = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
            name.0.clone_into(&mut section);
        } else if let Some((key, value)) = line.split_once(['=', ':']) {
            let value = value.split(" ;").next().unwrap_or_default().trim();
            values.insert(
                (section.clone(), key.trim().to_ascii_lowercase()),
                value.to_owned(),
            );
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_working_directory_is_in_force() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("ansible.cfg"),
            "# forks = 1\n[defaults]\nForks = 50\ncallback_plugins = mine:/theirs ; both\n[ssh_connection]\npipelining: false\n",
        )
        .unwrap();
        let config = Config::in_force(dir.path(), &Env::fixed(&[], "tester"));
        assert!(config.has(&["defaults.forks"]));
        assert!(config.has(&["connection.pipelining", "ssh_connection.pipelining"]));
        assert!(!config.has(&["defaults.pipelining", "ssh_connection.forks"]));
        assert_eq!(
            config.paths("defaults.callback_plugins").unwrap(),
            [dir.path().join("mine").to_str().unwrap(), "/theirs"]
        );
    }

    #[test]
    fn a_named_file_goes_first_and_a_home_after_the_working_directory() {
        let (work, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home_text = home.path().to_str().unwrap();
        std::fs::write(home.path().join(".ansible.cfg"), "[defaults]\ntimeout=5\n").unwrap();
        let env = Env::fixed(&[("HOME", home_text)], "tester");
        assert!(Config::in_force(work.path(), &env).has(&["defaults.timeout"]));
        std::fs::write(work.path().join("ansible.cfg"), "[defaults]\nforks=5\n").unwrap();
        let config = Config::in_force(work.path(), &env);
        assert!(config.has(&["defaults.forks"]) && !config.has(&["defaults.timeout"]));
        let named = home.path().join(".ansible.cfg");
        let env = Env::fixed(&[("ANSIBLE_CONFIG", named.to_str().unwrap())], "tester");
        assert!(Config::in_force(work.path(), &env).has(&["defaults.timeout"]));
    }
}
