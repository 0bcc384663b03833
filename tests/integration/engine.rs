//! The run engine with real Ansible, below the command line.

use std::path::Path;

use kloigos::clock::Clock;
use kloigos::domain::name::PlaybookName;
use kloigos::domain::report::{Report, Reporter};
use kloigos::domain::run::{RunEnding, RunOutcome, RunStatus, Wait};
use kloigos::domain::run_event::{ResultStatus, RunEvent};
use kloigos::env::Env;
use kloigos::error::{Error, Kind};
use kloigos::ops::playbooks::{PushRequest, PushSource, push};
use kloigos::ops::runs::{RunAsk, output, run, show};
use kloigos::ops::{Services, open_writer};
use kloigos::paths::Paths;
use kloigos::store::migrate;

/// A store of its own, and the machine's Ansible.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub paths: Paths,
    clock: Clock,
    env: Env,
}

#[derive(Default)]
pub struct Events(pub Vec<RunEvent>);

impl Reporter for Events {
    fn report(&mut self, report: &Report) {
        if let Report::Run { event, .. } = report {
            self.0.push(event.clone());
        }
    }
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::at(dir.path());
        let path = crate::program::path_without_lint().to_str().unwrap();
        let home = dir.path().to_str().unwrap();
        let env = Env::fixed(
            &[("PATH", path), ("HOME", home), ("LANG", "C.UTF-8")],
            "tester",
        );
        migrate(&paths, Clock::System, &env).unwrap();
        for made in [paths.ansible(), paths.locks()] {
            std::fs::create_dir_all(made).unwrap();
        }
        Bench {
            dir,
            paths,
            clock: Clock::System,
            env,
        }
    }

    /// With a connection of its own: each belongs to one thread.
    pub fn with<T>(&self, f: impl FnOnce(&Services<'_>) -> T) -> T {
        let store = open_writer(&self.paths, &self.clock, &self.env).unwrap();
        f(&Services {
            store: &store,
            paths: &self.paths,
            clock: &self.clock,
            env: &self.env,
        })
    }

    pub fn push(&self, name: &str, text: &str) {
        let request = PushRequest {
            name: PlaybookName::parse(name).unwrap(),
            source: PushSource::Stdin(text.as_bytes().to_vec()),
            entry: None,
            message: None,
            make_default: true,
            check: kloigos::ops::playbooks::CheckOptions::default(),
            strict: false,
        };
        self.with(|s| push(s, request)).unwrap();
    }

    pub fn run(
        &self,
        name: &str,
        change: impl FnOnce(&mut RunAsk),
    ) -> (Result<RunOutcome, Error>, Events) {
        let mut ask = RunAsk {
            playbook: PlaybookName::parse(name).unwrap(),
            version: None,
            hosts: Vec::new(),
            inventory: None,
            limit: None,
            tags: None,
            skip_tags: None,
            start_at_task: None,
            variables: Vec::new(),
            check: false,
            diff: false,
            detailed_exitcode: false,
            become_password_file: None,
            vault_ids: Vec::new(),
            secrets: kloigos::ops::secrets::SecretAsk::default(),
            wait: Wait::Setting,
            verbosity: 0,
        };
        change(&mut ask);
        let mut events = Events::default();
        let result = self.with(|s| run(s, ask, &mut events));
        (result, events)
    }

    /// Pushes and runs on hosts a, b, c with local connections.
    pub fn local(&self, text: &str) -> (RunOutcome, Events) {
        self.push("play", text);
        let inventory = self.inventory(&["a", "b", "c"]);
        let (result, events) = self.run("play", |ask| ask.inventory = Some(inventory));
        (result.unwrap(), events)
    }

    pub fn inventory(&self, hosts: &[&str]) -> std::path::PathBuf {
        let lines: Vec<String> = hosts
            .iter()
            .map(|h| format!("{h} ansible_connection=local ansible_python_interpreter=\"{{{{ ansible_playbook_python }}}}\"\n"))
            .collect();
        let path = self.dir.path().join("hosts");
        std::fs::write(&path, lines.concat()).unwrap();
        path
    }

    pub fn output_of(&self, outcome: &RunOutcome) -> String {
        let mut text = String::new();
        let mut add = |piece: &str| {
            text.push_str(piece);
            std::ops::ControlFlow::Continue(())
        };
        self.with(|s| output(s, outcome.run, &mut add)).unwrap();
        text
    }
}

fn play(tasks: &str) -> String {
    format!("---\n- name: One\n  hosts: all\n  gather_facts: false\n  tasks:\n{tasks}")
}

#[test]
fn a_run_tells_its_hosts_tasks_and_results_and_keeps_them() {
    let bench = Bench::new();
    let (outcome, events) = bench.local(&play(
        "    - name: Say\n      ansible.builtin.debug:\n        msg: hello\n    - name: Change\n      ansible.builtin.command: 'true'\n",
    ));
    assert_eq!(outcome.ending, RunEnding::Success);
    let counts: Vec<_> = outcome
        .hosts
        .iter()
        .map(|h| (h.host.as_str(), h.ok, h.changed))
        .collect();
    assert_eq!(counts, [("a", 2, 1), ("b", 2, 1), ("c", 2, 1)]);
    let results = events
        .0
        .iter()
        .filter(|e| matches!(e, RunEvent::HostResult { .. }))
        .count();
    assert_eq!(results, 6);
    let first_result = events
        .0
        .iter()
        .position(|e| matches!(e, RunEvent::HostStarted { .. }))
        .unwrap();
    let claimed = events
        .0
        .iter()
        .position(|e| matches!(e, RunEvent::Claimed { .. }))
        .unwrap();
    assert!(claimed < first_result, "claims come before the first task");

    let detail = bench.with(|s| show(s, outcome.run)).unwrap();
    assert_eq!(detail.run.status, RunStatus::Success);
    let names: Vec<_> = detail
        .tasks
        .iter()
        .map(|t| (t.name.as_str(), t.ok, t.changed))
        .collect();
    assert_eq!(names, [("Say", 3, 0), ("Change", 3, 3)]);
    assert!(bench.output_of(&outcome).contains("PLAY RECAP"));
}

#[test]
fn nothing_of_a_run_is_left_but_its_liveness_lock() {
    let bench = Bench::new();
    let (outcome, _) = bench.local(&play(
        "    - name: Say\n      ansible.builtin.debug:\n        msg: x\n",
    ));
    let left: Vec<_> = std::fs::read_dir(bench.paths.run(outcome.run))
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["alive"]);
}

#[test]
fn a_failed_task_is_named_with_host_task_and_message() {
    let bench = Bench::new();
    let (outcome, _) = bench.local(&play(
        "    - name: Break\n      ansible.builtin.fail:\n        msg: the disk is broken\n      when: inventory_hostname == 'b'\n",
    ));
    assert_eq!(outcome.ending, RunEnding::TaskFailed);
    assert_eq!(
        outcome.reason.as_deref(),
        Some("b: task `Break` failed: the disk is broken")
    );
    let detail = bench.with(|s| show(s, outcome.run)).unwrap();
    assert_eq!(detail.failures.len(), 1);
}

#[test]
fn rescued_and_ignored_failures_are_counted_and_no_failure() {
    let bench = Bench::new();
    let (outcome, _) = bench.local(&play(
        "    - name: Ignored\n      ansible.builtin.command: 'false'\n      ignore_errors: true\n    - name: Rescued\n      block:\n        - name: Break\n          ansible.builtin.command: 'false'\n      rescue:\n        - name: Mend\n          ansible.builtin.debug:\n            msg: mended\n",
    ));
    assert_eq!(outcome.ending, RunEnding::Success, "{:?}", outcome.reason);
    assert_eq!((outcome.hosts[0].ignored, outcome.hosts[0].rescued), (1, 1));
}

#[test]
fn a_play_on_a_missing_group_is_not_a_success() {
    let bench = Bench::new();
    let (outcome, events) = bench.local("---\n- name: One\n  hosts: nobody\n  gather_facts: false\n  tasks:\n    - name: Say\n      ansible.builtin.debug:\n        msg: x\n");
    assert_eq!(outcome.ending, RunEnding::NoHosts);
    assert!(
        events
            .0
            .iter()
            .any(|e| matches!(e, RunEvent::PlayEmpty { .. }))
    );
}

#[test]
fn a_limit_that_matches_nothing_is_not_a_success() {
    let bench = Bench::new();
    bench.push(
        "play",
        &play("    - name: Say\n      ansible.builtin.debug:\n        msg: x\n"),
    );
    let inventory = bench.inventory(&["a"]);
    let (result, _) = bench.run("play", |ask| {
        ask.inventory = Some(inventory);
        ask.limit = Some("nobody".into());
    });
    assert_eq!(result.unwrap().ending, RunEnding::NoHosts);
}

#[test]
fn an_error_of_ansible_itself_is_told_in_its_own_words() {
    let bench = Bench::new();
    let (outcome, _) = bench.local(&play(
        "    - name: Say\n      ansible.builtin.include_role:\n        name: nowhere\n",
    ));
    assert_eq!(
        outcome.ending,
        RunEnding::TaskFailed,
        "{:?}",
        outcome.reason
    );
    let error = {
        bench.push(
            "fine",
            &play("    - name: Say\n      ansible.builtin.debug:\n        msg: x\n"),
        );
        let (result, _) = bench.run("fine", |ask| {
            ask.variables = vec![
                format!("@{}", Path::new("/dev/null/x").display())
                    .parse()
                    .unwrap(),
            ];
        });
        result.unwrap_err()
    };
    assert_eq!(error.kind, Kind::Usage, "{error}");
}

#[test]
fn variables_keep_their_types_and_their_file_is_gone() {
    let bench = Bench::new();
    bench.push(
        "play",
        &play("    - name: Types\n      ansible.builtin.debug:\n        msg: \"{{ flag | type_debug }} {{ n | type_debug }} {{ title }} {{ quoted }}\"\n"),
    );
    let inventory = bench.inventory(&["a"]);
    let (result, _) = bench.run("play", |ask| {
        ask.inventory = Some(inventory);
        ask.verbosity = 1;
        ask.variables = ["flag=false", "n:=3", "title=a b é", "quoted=it's \"$HOME\""]
            .iter()
            .map(|v| v.parse().unwrap())
            .collect();
    });
    let text = bench.output_of(&result.unwrap());
    assert!(text.contains("str int a b é it's \\\"$HOME\\\""), "{text}");
}

#[test]
fn a_difference_is_told_once_and_not_that_of_a_secret() {
    let b = Bench::new();
    let to = b.dir.path().join("made.txt");
    let text = play(&format!(
        "    - name: A file is written
      ansible.builtin.copy:
        content: \"hello there\\n\"
        dest: {to}
        mode: \"0600\"
    - name: A secret is written
      ansible.builtin.copy:
        content: \"geheim\\n\"
        dest: {to}.secret
        mode: \"0600\"
      no_log: true
",
        to = to.display()
    ));
    b.push("play", &text);
    let inventory = b.inventory(&["a"]);
    let (result, events) = b.run("play", |ask| {
        ask.inventory = Some(inventory);
        ask.check = true;
        ask.diff = true;
    });
    assert_eq!(result.unwrap().ending, RunEnding::Success);
    let diffs: Vec<&String> = events
        .0
        .iter()
        .filter_map(|e| match e {
            RunEvent::Diff { host, text, .. } if host == "a" => Some(text),
            _ => None,
        })
        .collect();
    assert_eq!(diffs.len(), 1, "{diffs:?}");
    assert!(diffs[0].contains("+hello there"), "{diffs:?}");
    assert!(!format!("{:?}", events.0).contains("geheim"));
    assert!(!to.exists(), "a check wrote the file");
}

#[test]
fn a_rescued_failure_is_told_as_one_and_is_not_the_reason() {
    let b = Bench::new();
    let (outcome, events) = b.local(&play(
        "    - name: A block with a way out
      block:
        - name: Rescued failure
          ansible.builtin.command: \"false\"
          changed_when: false
      rescue:
        - name: The way out
          ansible.builtin.debug:
            msg: all is well
    - name: Real failure
      ansible.builtin.command: \"false\"
      changed_when: false
      when: inventory_hostname == 'c'
",
    ));
    assert_eq!(outcome.ending, RunEnding::TaskFailed);
    let reason = outcome.reason.unwrap();
    assert!(reason.starts_with("c: task `Real failure`"), "{reason}");
    assert!(!reason.contains("also on"), "{reason}");
    let told = |wanted: ResultStatus| {
        let is =
            |e: &&RunEvent| matches!(e, RunEvent::HostResult { status, .. } if *status == wanted);
        events.0.iter().filter(is).count()
    };
    assert_eq!(told(ResultStatus::Rescued), 3);
    assert_eq!(told(ResultStatus::Failed), 1);
    let says = |e: &RunEvent| matches!(e, RunEvent::HostResult { message: Some(m), .. } if m == "all is well");
    assert!(events.0.iter().any(says), "a debug message is not told");
    let detail = b.with(|s| show(s, outcome.run)).unwrap();
    assert_eq!(detail.failures.len(), 1);
    let first = &detail.tasks[0];
    assert_eq!((first.rescued, first.failed, first.ok), (3, 0, 0));
}
