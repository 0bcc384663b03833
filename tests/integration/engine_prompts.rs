//! Questions of a playbook: answered beforehand, or the run is refused.

use crate::engine_end::{ended, local_inventory, spawn};
use crate::program::{Program, Ran};

const PROMPT: &str = "---
- name: Ask
  hosts: all
  gather_facts: false
  vars_prompt:
    - name: release
      prompt: Which release
  tasks:
    - name: Say
      ansible.builtin.debug:
        msg: \"release {{ release }}\"
";

fn pause(options: &str) -> String {
    format!(
        "---
- name: Gate
  hosts: all
  gather_facts: false
  tasks:
    - name: A person decides
      ansible.builtin.pause:{options}
    - name: After the gate
      ansible.builtin.debug:
        msg: went through
"
    )
}

fn run(playbook: &str, more: &[&str]) -> (Ran, String) {
    let p = Program::initialised();
    p.push("ask", playbook);
    let inventory = local_inventory(&p, &["a", "b"]);
    let mut arguments = vec!["run", "ask", "-i", &inventory];
    arguments.extend(more);
    let ran = ended(spawn(&p, &arguments), 30);
    let output = p.run(&["runs", "output", "1"]).stdout;
    (ran, output)
}

#[test]
fn a_variable_prompt_is_refused_or_answered_beforehand() {
    let (ran, output) = run(PROMPT, &[]);
    let ran = ran.exits(7);
    assert!(ran.stderr.contains("asks for release"), "{}", ran.stderr);
    assert!(ran.stderr.contains("-e release="), "{}", ran.stderr);
    assert!(!output.contains("TASK"), "{output}");
    let (ran, output) = run(PROMPT, &["-e", "release=7"]);
    ran.exits(0);
    assert!(output.contains("release 7"), "{output}");
}

#[test]
fn a_gate_for_a_person_is_never_passed_in_silence() {
    let (ran, output) = run(&pause("\n        prompt: Is it good"), &[]);
    let ran = ran.exits(7);
    assert!(ran.stderr.contains("A person decides"), "{}", ran.stderr);
    assert!(!output.contains("went through"), "{output}");
}

#[test]
fn a_pause_with_a_time_or_that_does_not_apply_is_no_question() {
    let (ran, output) = run(&pause("\n        seconds: 1"), &[]);
    ran.exits(0);
    assert!(output.contains("went through"), "{output}");
    let (ran, output) = run(&pause("\n      when: inventory_hostname == 'nobody'"), &[]);
    ran.exits(0);
    assert!(output.contains("went through"), "{output}");
}
