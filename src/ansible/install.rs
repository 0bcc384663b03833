//! Which ansible-playbook is used, and the private environment where there is
//! none.
//!
//! The version of a program on PATH costs half a second of Python to ask, so
//! it is kept in `<data>/ansible/known` as one line: version, device, inode,
//! modification time, path. Another file at that path is asked anew.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::AnsibleError;
use crate::env::Env;
use crate::fs::{self, FsError};

/// The oldest that is taken: (major, minor).
const OLDEST: (u32, u32) = (2, 16);
/// What the private environment gets, by the Python that makes it.
const PINNED: &str = "ansible-core==2.19.14";
/// The last line of releases for controllers with Python 3.10.
const PINNED_OLD_PYTHON: &str = "ansible-core==2.17.14";

/// A suitable ansible-playbook.
#[derive(Debug, Clone)]
pub struct Install {
    path: PathBuf,
    version: String,
}

impl Install {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// Another program of the same installation, if it is there.
    pub fn sibling(&self, name: &str) -> Option<PathBuf> {
        let path = self.path.with_file_name(name);
        fs::is_executable(&path).then_some(path)
    }
}

fn private(dir: &Path) -> PathBuf {
    dir.join("venv/bin/ansible-playbook")
}

/// The environment is whole only when this stands: pip writes the program
/// before all that it needs.
fn stamp(dir: &Path) -> PathBuf {
    dir.join("venv/.complete")
}

/// The setting, else a suitable one on PATH, else the private one. `dir` is
/// the data directory's `ansible`.
pub fn locate(setting: &str, dir: &Path, env: &Env) -> Result<Install, AnsibleError> {
    if !setting.is_empty() {
        let path = PathBuf::from(setting);
        if !fs::is_executable(&path) {
            return Err(AnsibleError::SettingMissing {
                setting: crate::domain::settings::ANSIBLE_PLAYBOOK.name,
                path,
            });
        }
        return suitable(path, dir, env);
    }
    let mut unsuitable = AnsibleError::Missing;
    if let Some(path) = env.find_program("ansible-playbook") {
        match suitable(path, dir, env) {
            Ok(install) => return Ok(install),
            Err(e) => unsuitable = e,
        }
    }
    if stamp(dir).exists() && fs::is_executable(&private(dir)) {
        return suitable(private(dir), dir, env);
    }
    Err(unsuitable)
}

fn suitable(path: PathBuf, dir: &Path, env: &Env) -> Result<Install, AnsibleError> {
    let version = version(&path, dir, env)?;
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < OLDEST {
        return Err(AnsibleError::TooOld {
            path,
            found: version,
        });
    }
    Ok(Install { path, version })
}

fn version(path: &Path, dir: &Path, env: &Env) -> Result<String, AnsibleError> {
    let known = dir.join("known");
    let identity = std::fs::metadata(path)
        .map(|m| format!("{} {} {} {}", m.dev(), m.ino(), m.mtime(), path.display()))
        .map_err(FsError::of("read", path))?;
    let remembered = std::fs::read_to_string(&known).unwrap_or_default();
    for line in remembered.lines() {
        if let Some((version, of)) = line.split_once(' ')
            && of == identity
        {
            return Ok(version.to_owned());
        }
    }
    let version = ask_version(path, env)?;
    let kept = remembered
        .lines()
        .filter(|l| !l.ends_with(&format!(" {}", path.display())));
    let text: String = kept
        .chain([format!("{version} {identity}").as_str()])
        .map(|l| format!("{l}\n"))
        .collect();
    // A cache: a reader on a read-only store just asks again.
    let _ = fs::write_private(&known, text.as_bytes());
    Ok(version)
}

fn ask_version(path: &Path, env: &Env) -> Result<String, AnsibleError> {
    let broken = |why: String| AnsibleError::Broken {
        path: path.to_owned(),
        why,
    };
    let output = Command::new(path)
        .arg("--version")
        .env_clear()
        .envs(env.all())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| broken(e.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    // ansible-playbook [core 2.19.14]
    text.lines()
        .next()
        .and_then(|l| l.split_once("[core "))
        .and_then(|(_, rest)| rest.split_once(']'))
        .map(|(version, _)| version.trim().to_owned())
        .ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            broken(
                last_line(&said)
                    .unwrap_or("no version in its answer")
                    .to_owned(),
            )
        })
}

/// The last line that says something.
fn last_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).rfind(|l| !l.is_empty())
}

/// Makes the private environment anew. A half-made one is never taken for a
/// whole one: the stamp is written last.
pub fn make_private(
    dir: &Path,
    env: &Env,
    say: &mut dyn FnMut(String),
) -> Result<(), AnsibleError> {
    let python = env.find_program("python3").ok_or(AnsibleError::NoPython)?;
    let requirement = if python_at_least_3_11(&python, env) {
        PINNED
    } else {
        PINNED_OLD_PYTHON
    };
    let venv = dir.join("venv");
    say(format!(
        "making a private environment with {requirement} in {}",
        venv.display()
    ));
    fs::remove_tree(&venv)?;
    let run = |program: &Path, arguments: &[&str]| {
        Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(env.all())
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| AnsibleError::Spawn {
                path: program.to_owned(),
                source,
            })
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let made = run(&python, &["-m", "venv", &venv.to_string_lossy()])?;
    if !made.status.success() {
        let said = text(&made.stdout) + &text(&made.stderr);
        return Err(AnsibleError::NoVenv(
            said.lines()
                .next()
                .unwrap_or("no reason given")
                .trim()
                .to_owned(),
        ));
    }
    let pip = venv.join("bin/python");
    let installed = run(
        &pip,
        &[
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
            requirement,
        ],
    )?;
    if !installed.status.success() {
        let said = text(&installed.stderr);
        return Err(AnsibleError::InstallFailed {
            path: venv,
            why: last_line(&said).unwrap_or("no reason given").to_owned(),
        });
    }
    fs::write_private(&stamp(dir), requirement.as_bytes())?;
    Ok(())
}

fn python_at_least_3_11(python: &Path, env: &Env) -> bool {
    Command::new(python)
        .args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"])
        .env_clear()
        .envs(env.all())
        .stdin(Stdio::null())
        .status()
        .is_ok_and(|s| s.success())
}
