//! Modules of a packaged playbook, run on a host one by one and without
//! Ansible's round trips: tens of cases in the time of one playbook.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::host::Host;

const DIR: &str = "/root/steps";

pub struct Modules<'h>(&'h Host);

impl<'h> Modules<'h> {
    /// Puts the modules of a bundle there, with the part of Ansible that
    /// modules use and the program that does the steps.
    pub fn of(host: &'h Host, bundle: &str) -> Self {
        let repo = Path::new(env!("CARGO_MANIFEST_DIR"));
        let version = Command::new("ansible-playbook")
            .arg("--version")
            .output()
            .unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let ansible = version
            .lines()
            .find_map(|l| l.trim().strip_prefix("ansible python module location = "))
            .unwrap();
        let tar = Command::new("tar")
            .args(["-c", "--exclude=__pycache__", "--exclude=powershell"])
            .args(["--exclude=csharp", "--exclude=facts", "-C"])
            .arg(Path::new(ansible).parent().unwrap())
            .args(["ansible/module_utils", "-C"])
            .arg(repo.join("playbooks").join(bundle))
            .args(["--transform", "s,^module_utils/,ansible/module_utils/,"])
            .args(["module_utils", "library", "-C"])
            .arg(repo.join("tests/lab"))
            .arg("host-steps")
            .output()
            .unwrap();
        assert!(tar.status.success());
        host.root_with_input(
            &format!("rm -rf {DIR} && mkdir {DIR} && tar -C {DIR} -x"),
            &tar.stdout,
        )
        .ok();
        Modules(host)
    }

    /// Does steps as `tests/lab/host-steps` describes them; one result each.
    pub fn steps(&self, steps: &[Value]) -> Vec<Value> {
        let ran = self.0.root_with_input(
            &format!("python3 {DIR}/host-steps {DIR}"),
            Value::from(steps.to_vec()).to_string().as_bytes(),
        );
        let results: Vec<Value> = serde_json::from_str(&ran.ok().stdout).unwrap();
        assert_eq!(results.len(), steps.len());
        results
    }
}
