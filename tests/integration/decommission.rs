//! Servers that leave, as far as no host is needed to see it. That the host is
//! as before, tests/lab/decommission.rs holds.

use std::path::Path;

use crate::program::{Program, adding};

fn packaged(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("playbooks")
        .join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A file that SERVER_INIT learns to write, SERVER_DECOMM must learn to remove.
#[test]
fn server_decomm_knows_every_path_that_server_init_writes() {
    let init = packaged("SERVER_INIT/playbook.yml");
    let known = packaged("SERVER_DECOMM/module_utils/kloigos_traces.py");
    let task = init
        .split("kloigos_files:")
        .nth(1)
        .and_then(|rest| rest.split("- name:").next())
        .unwrap();
    let mut seen = 0;
    for piece in task.split("path: ").skip(1) {
        let path: String = piece
            .trim_start_matches('"')
            .replace("{{ ", "{{")
            .replace(" }}", "}}")
            .chars()
            .take_while(|c| !matches!(c, '"' | ',' | '\n' | ' '))
            .collect();
        // The variables that stand for one whole path.
        let name = match path.as_str() {
            "{{etc}}" | "{{etc}}/owner" => continue,
            "{{lib}}" => "LIB".to_owned(),
            "{{lib}}/shells" => "SHELL_DIR".to_owned(),
            "{{etc}}/allocations" => "MARKER_DIR".to_owned(),
            "{{sshd_file}}" | "{{sysctl_file}}" | "{{abstraction}}" | "{{dbus_file}}" => {
                let variable = path.trim_matches(['{', '}']);
                let line = format!("    {variable}: ");
                let value = init.lines().find_map(|l| l.strip_prefix(&line)).unwrap();
                value.to_owned()
            }
            whole => whole.rsplit('/').next().unwrap().to_owned(),
        };
        assert!(known.contains(&name), "SERVER_DECOMM does not know {path}");
        seen += 1;
    }
    assert!(seen >= 15, "only {seen} paths found");
    let units = init.split("our_units: [").nth(1).unwrap();
    for unit in units.split(']').next().unwrap().split(", ") {
        assert!(known.contains(unit), "SERVER_DECOMM does not know {unit}");
    }
}

/// Nothing answers there: what the host still has, nobody knows.
#[test]
fn a_dead_host_is_not_decommissioned_but_can_be_given_up() {
    let p = Program::initialised();
    p.add_server("alpha", &["0"]).exits(6);
    let state = || p.json(&["server", "show", "alpha"])["status"].clone();
    assert_eq!(state(), "INIT_FAIL");
    p.run(&["server", "decommission", "alpha", "--yes"])
        .exits(6);
    assert_eq!(state(), "DECOMMISSION_FAIL");
    p.run(&["server", "decommission", "alpha", "--yes"])
        .exits(6);
    let refused = p.run(&["server", "remove", "alpha", "--yes"]).exits(4);
    assert!(refused.stderr.contains("--lost"), "{}", refused.stderr);
    p.run(&["server", "recommission", "alpha"]).exits(4);
    p.run(&["server", "init", "alpha"]).exits(6);
    assert_eq!(state(), "INIT_FAIL");
    p.run(&["server", "decommission", "alpha", "--yes"])
        .exits(6);
    p.run(&["server", "remove", "alpha", "--lost", "--yes"])
        .exits(0);
    assert_eq!(p.json(&["server", "list"]).as_array().unwrap().len(), 0);
}

const LOCAL: &str = "---
- name: The server
  hosts: kloigos_server
  connection: local
  gather_facts: false
  tasks:
    - name: It is as asked
      ansible.builtin.assert:
        that: ";

#[test]
fn a_server_never_touched_or_gone_is_not_decommissioned() {
    let p = Program::initialised();
    p.push("SERVER_INIT", &format!("{LOCAL}true\n"));
    p.push(
        "SERVER_DECOMM",
        &format!("{LOCAL}kloigos_purge_packages is true\n"),
    );
    let wish = ["--no-init", "--vg", "data", "--disk-size", "5"];
    p.run(&adding("alpha", "127.0.0.21", &["0-1", "2"], &wish))
        .exits(0);
    let decommission =
        |more: &[&str]| p.run(&[&["server", "decommission", "alpha", "--yes"], more].concat());
    // Before a question, for which there is no terminal here.
    p.run(&["server", "decommission", "alpha"]).exits(4);
    let refused = decommission(&[]).exits(4);
    assert!(
        refused.stderr.contains("server remove"),
        "{}",
        refused.stderr
    );
    p.run(&["server", "init", "alpha"]).exits(0);
    let units = || {
        let all = p.json(&["cu", "list"]);
        let all = all.as_array().unwrap().clone();
        all.into_iter()
            .map(|mut u| {
                u.as_object_mut().unwrap().remove("updated_at");
                u
            })
            .collect::<Vec<_>>()
    };
    let before = units();
    assert_eq!(before.len(), 2);

    // Without the option its variable is false.
    decommission(&[]).exits(1);
    decommission(&["--purge-packages"]).exits(0);
    decommission(&["--purge-packages"]).exits(4);
    p.run(&["server", "init", "alpha"]).exits(4);

    // Layout and storage come back without being told again.
    p.push(
        "SERVER_INIT",
        &format!(
            "{LOCAL}kloigos_vg == 'data' and disk_size_gb == 5 and compute_units | length == 2\n"
        ),
    );
    p.run(&["server", "recommission", "alpha"]).exits(0);
    assert_eq!(units(), before);
}

/// A host that was adopted once may be another store's by the next time.
#[test]
fn the_word_to_adopt_a_host_counts_until_it_has_worked() {
    let p = Program::initialised();
    p.push("SERVER_INIT", &format!("{LOCAL}kloigos_adopt is true\n"));
    p.push("SERVER_DECOMM", &format!("{LOCAL}true\n"));
    let adopt = || p.json(&["server", "show", "alpha"])["adopt"].clone();
    p.add_server("alpha", &["0"]).exits(1);
    assert_eq!(adopt(), false);
    p.run(&["server", "init", "alpha", "--adopt"]).exits(0);
    assert_eq!(adopt(), false);
    p.run(&["server", "init", "alpha"]).exits(1);

    // One that failed is repeated with it, and gone it is forgotten.
    p.push("SERVER_INIT", &format!("{LOCAL}kloigos_adopt is false\n"));
    p.run(&["server", "init", "alpha", "--adopt"]).exits(1);
    assert_eq!(adopt(), true);
    p.run(&["server", "decommission", "alpha", "--yes"])
        .exits(0);
    assert_eq!(adopt(), false);
    p.run(&["server", "recommission", "alpha"]).exits(0);
}
