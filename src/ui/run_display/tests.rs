//! The displays without a terminal: scripted events in, text out.

use jiff::tz::TimeZone;

use super::announce::Announcer;
use super::frame::{Scene, Size};
use super::model::Model;
use super::plain::Narrator;
use super::recap::recap;
use crate::domain::name::PlaybookName;
use crate::domain::run::{Requester, RunEnding, RunId};
use crate::domain::run_event::{
    HostCounts, InFlight, OutputStream, ResultStatus, RunEvent, RunHost, TaskNo, WaitsFor,
};
use crate::domain::time::Timestamp;
use crate::ui::text;
use crate::ui::tone::Palette;

/// 2026-12-01 00:00:00 UTC.
const START: i64 = 1_796_083_200_000;

/// Events with their milliseconds from the start.
#[derive(Default)]
struct Script(Vec<(i64, RunEvent)>);

impl Script {
    fn requested(playbook: &str, subject: Option<&str>, expected: Option<(u64, u32)>) -> Self {
        Script::default().at(
            0,
            RunEvent::Requested {
                run: RunId(12),
                playbook: PlaybookName::parse(playbook).unwrap(),
                version: 3,
                digest: String::new(),
                check: false,
                subject: subject.map(str::to_owned),
                expected_ms: expected.map(|e| e.0),
                expected_tasks: expected.map(|e| e.1),
            },
        )
    }

    fn at(mut self, ms: i64, event: RunEvent) -> Self {
        self.0.push((ms, event));
        self
    }

    fn begun(self, ms: i64, hosts: &[&str]) -> Self {
        let names = || hosts.iter().map(|h| (*h).to_owned());
        self.at(
            ms,
            RunEvent::Started {
                ansible_version: "2.19.0".into(),
            },
        )
        .at(
            ms,
            RunEvent::Claimed {
                hosts: names()
                    .map(|name| RunHost {
                        address: name.clone(),
                        name,
                        port: None,
                    })
                    .collect(),
            },
        )
        .at(
            ms,
            RunEvent::PlayStarted {
                name: "Give the tenant its place".into(),
                pattern: "kloigos_server".into(),
                hosts: names().collect(),
            },
        )
    }

    fn task(self, ms: i64, no: u32, name: &str, expected_ms: Option<u64>) -> Self {
        self.at(
            ms,
            RunEvent::TaskStarted {
                task: TaskNo(no),
                name: name.into(),
                action: "ansible.builtin.apt".into(),
                handler: false,
                expected_ms,
            },
        )
    }

    fn host(self, ms: i64, no: u32, host: &str) -> Self {
        self.at(
            ms,
            RunEvent::HostStarted {
                task: TaskNo(no),
                host: host.into(),
            },
        )
    }

    fn result(self, ms: i64, no: u32, host: &str, status: ResultStatus, why: &str) -> Self {
        self.at(
            ms,
            RunEvent::HostResult {
                task: TaskNo(no),
                host: host.into(),
                status,
                changed: status == ResultStatus::Changed,
                duration_ms: 1,
                delegate: None,
                message: (!why.is_empty()).then(|| why.to_owned()),
            },
        )
    }

    fn finished(self, ms: i64, ending: RunEnding, why: &str, hosts: Vec<HostCounts>) -> Self {
        self.at(
            ms,
            RunEvent::Finished {
                run: RunId(12),
                status: ending.status(),
                ending,
                exit_code: 0,
                elapsed_ms: u64::try_from(ms).unwrap(),
                reason: (!why.is_empty()).then(|| why.to_owned()),
                hint: None,
                in_flight: Vec::new(),
                hosts,
            },
        )
    }

    fn model(&self) -> Model {
        let mut model = Model::default();
        for (ms, event) in &self.0 {
            model.observe(Timestamp(START + ms), event);
        }
        model
    }

    /// The picture at that moment, at 80 and at 30 columns.
    fn picture(&self, ms: i64) -> String {
        let model = self.model();
        let mut out = String::new();
        for columns in [80, 30] {
            let scene = Scene {
                model: &model,
                now: Timestamp(START + ms),
                size: Size { columns, rows: 23 },
                palette: Palette::PLAIN,
                zone: &TimeZone::UTC,
            };
            out.push_str(&format!("{:-^columns$}\n", ""));
            for line in scene.lines() {
                let painted = line.paint(columns, Palette::PLAIN);
                assert!(text::width(&painted) <= columns, "{painted}");
                out.push_str(painted.trim_end());
                out.push('\n');
            }
        }
        out
    }

    fn recap(&self) -> String {
        let model = self.model();
        let mut announcer = Announcer::new(0);
        for (_, event) in &self.0 {
            announcer.observe(&model, event, Palette::PLAIN);
        }
        let end = model.end.clone().unwrap();
        let mut out = String::new();
        for columns in [80, 30] {
            out.push_str(&format!("{:-^columns$}\n", ""));
            out.push_str(&recap(
                &model,
                &end,
                &announcer,
                Some(columns),
                Palette::PLAIN,
            ));
        }
        out
    }

    fn plain(&self, ticks: &[i64]) -> String {
        let mut narrator = Narrator::new(0, Palette::PLAIN, TimeZone::UTC);
        let mut ticks = ticks.iter().copied().peekable();
        let mut out = String::new();
        for (ms, event) in &self.0 {
            while let Some(tick) = ticks.next_if(|t| t < ms) {
                out.push_str(&narrator.tick(Timestamp(START + tick)));
            }
            out.push_str(&narrator.observe(Timestamp(START + ms), event));
        }
        assert!(!out.chars().any(|c| c.is_control() && c != '\n'), "{out:?}");
        out
    }
}

fn counts(host: &str, ok: u32, changed: u32, failed: u32, unreachable: u32) -> HostCounts {
    HostCounts {
        ok,
        changed,
        failed,
        unreachable,
        ..HostCounts::named(host)
    }
}

/// One host, the third task slower than it ever was.
fn create() -> Script {
    Script::requested(
        "ALLOCATION_CREATE",
        Some("allocation web"),
        Some((45_000, 15)),
    )
    .begun(600, &["lab1"])
    .task(700, 1, "Check whose host this is", Some(2_000))
    .host(700, 1, "lab1")
    .result(2_600, 1, "lab1", ResultStatus::Ok, "")
    .task(2_700, 2, "Make the login user", Some(3_000))
    .host(2_700, 2, "lab1")
    .result(5_700, 2, "lab1", ResultStatus::Changed, "")
    .task(
        5_800,
        3,
        "Wait until the unit's volume is mounted at its place",
        Some(4_000),
    )
    .host(5_800, 3, "lab1")
}

#[test]
fn one_host_shows_task_state_counts_and_what_is_left() {
    insta::assert_snapshot!(create().picture(8_000));
}

#[test]
fn a_task_slower_than_its_history_is_called_out() {
    insta::assert_snapshot!(create().picture(42_300));
}

#[test]
fn a_queued_run_says_for_whom_it_waits() {
    let waits = (1..8)
        .map(|n| WaitsFor {
            host: (n > 1).then(|| format!("lab{n}")),
            run: Some(RunId(n)),
            requester: Some(Requester {
                user: "ana".into(),
                host: "ops1".into(),
                pid: 4242,
            }),
            since: Some(Timestamp(START - 300_000)),
        })
        .collect();
    let script =
        Script::requested("PATCH", None, None).at(10, RunEvent::Queued { waits_for: waits });
    insta::assert_snapshot!(script.picture(72_000));
}

/// 200 hosts, of which some have answered, one has failed, two are lost.
fn many() -> Script {
    let names: Vec<String> = (1..=200).map(|n| format!("web-{n:03}")).collect();
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut script = Script::requested("PATCH", None, None)
        .begun(500, &hosts)
        .task(600, 1, "Update the packages", None);
    for (i, host) in (0i64..).zip(&hosts[..150]) {
        script = script.host(1_000 + i * 10, 1, host);
    }
    for (i, host) in (0i64..).zip(&hosts[..130]) {
        script = match i {
            17 => script.result(4_000, 1, host, ResultStatus::Failed, "No package matches"),
            40 | 41 => script.result(4_000, 1, host, ResultStatus::Unreachable, "timed out"),
            n if n % 3 == 0 => script.result(5_000, 1, host, ResultStatus::Changed, ""),
            _ => script.result(5_000, 1, host, ResultStatus::Ok, ""),
        };
    }
    script
}

#[test]
fn many_hosts_are_summarised_problems_first() {
    insta::assert_snapshot!(many().picture(9_000));
}

#[test]
fn the_picture_never_outgrows_the_terminal() {
    for script in [create(), many()] {
        let model = script.model();
        for rows in 2..12 {
            for columns in [10, 20, 30, 200] {
                let scene = Scene {
                    model: &model,
                    now: Timestamp(START + 9_000),
                    size: Size { columns, rows },
                    palette: Palette::PLAIN,
                    zone: &TimeZone::UTC,
                };
                let lines = scene.lines();
                assert!(lines.len() <= rows, "{columns} × {rows}");
                for line in lines {
                    assert!(text::width(&line.paint(columns, Palette::PLAIN)) <= columns);
                }
            }
        }
    }
}

#[test]
fn a_failed_run_is_told_in_plain_lines() {
    let script = create()
        .result(
            95_000,
            3,
            "lab1",
            ResultStatus::Failed,
            "mount failed:\n\u{1b}[31mwrong fs type\u{1b}[0m",
        )
        .at(
            95_100,
            RunEvent::Warning {
                text: "a warning".into(),
            },
        )
        .at(
            95_100,
            RunEvent::Warning {
                text: "a warning".into(),
            },
        )
        .finished(
            95_500,
            RunEnding::TaskFailed,
            "task failed on lab1: Wait until the unit's volume is mounted",
            vec![counts("lab1", 2, 1, 1, 0)],
        );
    insta::assert_snapshot!(script.plain(&[30_000, 66_000, 70_000]));
}

#[test]
fn a_task_that_fails_everywhere_is_counted_after_a_few() {
    let names: Vec<String> = (1..=30).map(|n| format!("h{n}")).collect();
    let hosts: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut script = Script::requested("PATCH", None, None)
        .begun(0, &hosts)
        .task(0, 1, "Break", None);
    for host in &hosts {
        script = script.result(100, 1, host, ResultStatus::Failed, "no");
    }
    let all = hosts.iter().map(|h| counts(h, 0, 0, 1, 0)).collect();
    let text = script
        .finished(200, RunEnding::TaskFailed, "", all)
        .plain(&[]);
    assert_eq!(text.matches("failed: Break").count(), 9, "{text}");
    assert!(text.contains("22 more hosts failed: Break"), "{text}");
}

#[test]
fn what_many_hosts_say_is_said_once() {
    let mut script = Script::requested("PATCH", None, None)
        .begun(0, &["a", "b"])
        .task(0, 1, "Break", None);
    for host in ["a", "b"] {
        script = script
            .at(
                50,
                RunEvent::Warning {
                    text: format!("Host '{host}' is using an old Python"),
                },
            )
            .result(100, 1, host, ResultStatus::Failed, "no space left");
    }
    let text = script.plain(&[]);
    assert_eq!(text.matches("old Python").count(), 1, "{text}");
    assert_eq!(text.matches("no space left").count(), 1, "{text}");
    assert!(
        text.contains("b failed: Break\n    the same as a\n"),
        "{text}"
    );
}

#[test]
fn the_recap_names_hosts_slowest_tasks_and_the_next_command() {
    let good = create()
        .result(40_000, 3, "lab1", ResultStatus::Changed, "")
        .finished(
            42_000,
            RunEnding::Success,
            "",
            vec![counts("lab1", 14, 3, 0, 0)],
        );
    insta::assert_snapshot!(good.recap());
}

#[test]
fn the_recap_of_many_hosts_puts_problems_first_and_ends() {
    let mut hosts: Vec<HostCounts> = (1..=40)
        .map(|n| counts(&format!("web-{n:02}"), 10, n % 2, 0, 0))
        .collect();
    hosts.push(counts("zebra", 3, 1, 1, 0));
    hosts.push(counts("漢字-host", 0, 0, 0, 1));
    let script = Script::requested("PATCH", None, None).finished(
        61_000,
        RunEnding::TaskFailed,
        "task failed on zebra: Update",
        hosts,
    );
    insta::assert_snapshot!(script.recap());
}

#[test]
fn a_run_that_failed_without_a_task_shows_ansibles_last_words() {
    let script = Script::requested("PATCH", None, None)
        .at(
            300,
            RunEvent::Output {
                stream: OutputStream::Stdout,
                text: "PLAY [x] ***\n".into(),
            },
        )
        .at(
            300,
            RunEvent::Output {
                stream: OutputStream::Stderr,
                text: "ERROR! the role 'web' was not ".into(),
            },
        )
        .at(
            300,
            RunEvent::Output {
                stream: OutputStream::Stderr,
                text: "found\n".into(),
            },
        )
        .finished(400, RunEnding::AnsibleError, "Ansible stopped", Vec::new());
    let text = script.plain(&[]);
    assert!(
        text.contains("ERROR! the role 'web' was not found\n"),
        "{text}"
    );
    assert!(!text.contains("PLAY"), "{text}");
}

#[test]
fn a_cancelled_run_says_where_work_may_go_on() {
    let flying = vec![InFlight {
        host: "lab1".into(),
        task: "Wait".into(),
    }];
    let mut script = create().at(
        9_000,
        RunEvent::Cancelling {
            by: "INT".into(),
            in_flight: flying.clone(),
        },
    );
    assert!(script.picture(9_500).contains("cancelling (INT)"));
    script = script.finished(11_000, RunEnding::CancelledInt, "cancelled by INT", vec![]);
    if let Some((_, RunEvent::Finished { in_flight, .. })) = script.0.last_mut() {
        *in_flight = flying;
    }
    insta::assert_snapshot!(script.recap());
}
