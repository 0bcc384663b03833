//! The program in an environment of its own: a store in a temporary directory,
//! no user configuration, real Ansible from PATH.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub struct Program {
    dir: tempfile::TempDir,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub fn of(output: &Output) -> Self {
        Ran {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "exit code {} instead of {code}\n--- stdout\n{}\n--- stderr\n{}",
            self.code, self.stdout, self.stderr
        );
        self
    }

    /// The one line that says what is wrong.
    #[track_caller]
    pub fn error(&self) -> &str {
        let errors: Vec<&str> = self
            .stderr
            .lines()
            .filter(|l| l.starts_with("error:"))
            .collect();
        assert_eq!(errors.len(), 1, "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        errors[0]
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| {
            panic!(
                "{e}\n--- stdout\n{}\n--- stderr\n{}",
                self.stdout, self.stderr
            )
        })
    }
}

impl Program {
    /// Without a store.
    pub fn bare() -> Self {
        Program {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// After `kloigos init`.
    pub fn initialised() -> Self {
        let program = Program::bare();
        program.run(&["init"]).exits(0);
        program
    }

    /// With lifecycle playbooks that work on this machine alone, and a server
    /// `alpha` of 8 CPUs that they made READY.
    pub fn with_server() -> Self {
        let program = Program::initialised();
        program.push("SERVER_INIT", INIT);
        program.push("ALLOCATION_CREATE", &tenant_playbook("create"));
        program.push("ALLOCATION_DELETE", &tenant_playbook("delete"));
        program.add_server("alpha", &["0-1", "2-3", "4-7"]).exits(0);
        program.json(&["ip", "add", "192.0.2.10-192.0.2.13"]);
        program
    }

    /// Adds a server at which no ssh server listens, with these compute units.
    pub fn add_server(&self, name: &str, units: &[&str]) -> Ran {
        self.run(&adding(name, "127.0.0.21", units, &[]))
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn store(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    /// A file beside the store.
    pub fn file(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn key(&self) -> String {
        self.file("tenant.pub", TENANT_KEY)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kloigos"));
        command
            .args(arguments)
            .env_clear()
            .env("PATH", path_without_lint())
            .env("HOME", self.dir.path())
            .env("KLOIGOS_HOME", self.store())
            .env("USER", "tester")
            .env("LANG", "C.UTF-8")
            // What the playbooks of this file look for.
            .env("KLOIGOS_TEST_DIR", self.dir.path())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().unwrap())
    }

    /// The program started by a shell, which does `before` first.
    pub fn in_shell(&self, before: &str, redirections: &str, arguments: &[&str]) -> Command {
        let kloigos = self.command(arguments);
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("{before}; exec \"$0\" \"$@\" {redirections}"))
            .arg(kloigos.get_program())
            .args(kloigos.get_args())
            .env_clear()
            .envs(kloigos.get_envs().filter_map(|(k, v)| Some((k, v?))))
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// The JSON of a command that must succeed.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        self.run(&all).exits(0).json()
    }

    /// Pushes a single-file playbook and makes it the default.
    #[track_caller]
    pub fn push(&self, name: &str, text: &str) {
        let file = self.file(&format!("{name}.yml"), text);
        self.run(&["playbook", "push", name, &file, "--default"])
            .exits(0);
    }
}

/// One step on this machine.
pub const HERE: &str = "---
- name: Here
  hosts: localhost
  gather_facts: false
  tasks:
    - name: One step
      ansible.builtin.debug:
        msg: here
";

/// The arguments that add a server at which no ssh server listens.
pub fn adding<'a>(
    name: &'a str,
    address: &'a str,
    units: &[&'a str],
    more: &[&'a str],
) -> Vec<&'a str> {
    let mut add = vec!["server", "add", name, "--private-ip", address];
    add.extend(["--port", "1", "--admin-user", "admin"]);
    add.extend(["--region", "eu", "--zone", "a"]);
    add.extend(more);
    add.push("--cu");
    add.extend(units);
    add
}

pub const TENANT_KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti tenant\n";

/// Fails when a file `fail-init` stands in the test's directory.
pub const INIT: &str = "---
- name: The server is ready
  hosts: kloigos_server
  connection: local
  gather_facts: false
  vars:
    dir: \"{{ lookup('env', 'KLOIGOS_TEST_DIR') }}\"
  tasks:
    - name: The host is asked to fail
      ansible.builtin.fail:
        msg: the disk is too small
      when: (dir ~ '/fail-init') is exists
    - name: The facts go back to the store
      ansible.builtin.set_stats:
        data:
          kloigos:
            cpus: 8
            memory_mb: 16000
            numa: {'0': 0, '1': 0, '2': 0, '3': 0, '4': 1, '5': 1, '6': 1, '7': 1}
            vg: test
        aggregate: false
";

/// Writes a file for the tenant, or fails when a file `fail-create` (or
/// `fail-delete`) stands in the test's directory, or waits when one
/// `hang-create` does.
fn tenant_playbook(verb: &str) -> String {
    format!(
        "---
- name: The tenant is served
  hosts: kloigos_server
  connection: local
  gather_facts: false
  vars:
    ansible_python_interpreter: \"{{{{ ansible_playbook_python }}}}\"
    dir: \"{{{{ lookup('env', 'KLOIGOS_TEST_DIR') }}}}\"
  tasks:
    - name: A first step
      ansible.builtin.debug:
        msg: \"{{{{ allocation_id }}}} as {{{{ login_user }}}} ({{{{ kloigos_login_uid }}}}) at {{{{ allocation_ip_address }}}}\"
    - name: The host is asked to hang
      ansible.builtin.command: sleep 60
      changed_when: false
      when: (dir ~ '/hang-{verb}') is exists
    - name: The host is asked to fail
      ansible.builtin.fail:
        msg: the disk of the tenant is broken
      when: (dir ~ '/fail-{verb}') is exists
"
    )
}

/// As [`search_path`], but without ansible-lint, which would cost each push
/// some seconds.
pub fn path_without_lint() -> &'static std::ffi::OsStr {
    static PATH: std::sync::OnceLock<std::ffi::OsString> = std::sync::OnceLock::new();
    PATH.get_or_init(|| {
        let dirs: Vec<std::path::PathBuf> = std::env::split_paths(&search_path()).collect();
        let dirs = dirs.into_iter().enumerate().map(|(i, dir)| {
            if !dir.join("ansible-lint").exists() {
                return dir;
            }
            let links =
                std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("no-lint-{i}"));
            let _ = std::fs::remove_dir_all(&links);
            std::fs::create_dir_all(&links).unwrap();
            for entry in std::fs::read_dir(&dir).unwrap().flatten() {
                if entry.file_name() != "ansible-lint" {
                    std::os::unix::fs::symlink(entry.path(), links.join(entry.file_name()))
                        .unwrap();
                }
            }
            links
        });
        std::env::join_paths(dirs).unwrap()
    })
}

/// The tests' own PATH: it leads to the Ansible that they run.
pub fn search_path() -> std::ffi::OsString {
    kloigos::env::Env::snapshot()
        .get("PATH")
        .expect("the tests run with a PATH")
        .to_owned()
}
