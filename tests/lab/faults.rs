//! Each lifecycle operation is cut at each of its tasks: kloigos killed,
//! cancelled, and in the middle of the tasks that matter most the host's
//! network, the host itself, its power. Afterwards the store must say the
//! truth, one command must finish the work, and the host must be as if nothing
//! had happened.
//!
//! Every case starts from a saved state of the host and of the store, so each
//! can be run alone: `KLOIGOS_FAULTS` has words OPERATION:TASK:CUT, where parts
//! may be `*` or left out at the end (`ALLOCATION_CREATE:5:kill
//! SERVER_INIT:*:power`). `KLOIGOS_FAULTS_SUITE` is another Debian than bookworm.
//! With `KLOIGOS_FAULTS_LAB=DIR` host, store and saved states stay when the test
//! ends, described in DIR, and the next one goes on with them: under emulation
//! they cost more than a case.
//!
//! What a power cut proves: that nothing relies on what the guest's kernel had
//! not written yet. The disk is QEMU's and has no cache of its own, so what a
//! real disk may lose or reorder after that is not seen here.

use std::io::{BufRead, BufReader};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::host::{Host, Kloigos, Tenant};
use crate::tenant::{limits_are_the_kernels, nothing_left};

const WEB: &str = "10.0.2.50";
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    Kill,
    Cancel,
    Link,
    Reboot,
    Power,
}

impl Cut {
    fn name(self) -> &'static str {
        match self {
            Cut::Kill => "kill",
            Cut::Cancel => "cancel",
            Cut::Link => "link",
            Cut::Reboot => "reboot",
            Cut::Power => "power",
        }
    }

    /// How the run is recorded, and the exit codes that kloigos may have.
    fn ends_as(self) -> (&'static str, &'static [Option<i32>]) {
        match self {
            Cut::Kill => ("interrupted", &[None]),
            Cut::Cancel => ("cancelled", &[Some(130)]),
            Cut::Link | Cut::Power => ("failed", &[Some(6)]),
            // A task may be told to end before its connection is.
            Cut::Reboot => ("failed", &[Some(6), Some(1)]),
        }
    }
}

/// What must hold at the host after a command that finishes.
#[derive(Clone, Copy)]
enum Goal {
    Ready,
    Allocated,
    Deleted,
    Decommissioned,
}

struct Operation {
    playbook: &'static str,
    /// The saved state that it starts from.
    from: &'static str,
    begin: &'static [&'static str],
    goal: Goal,
    /// Status of server or allocation, of the unit and of the address after a
    /// cut. Units of a server have no part in its operations.
    cut_state: [&'static str; 3],
    /// What finishes it, taken in turn.
    finish: &'static [(&'static [&'static str], Goal)],
    /// Tasks to be cut in the middle: the cut, and which part of its usual
    /// time a task has had by then.
    middle: &'static [(&'static str, Cut, f32)],
}

const OPERATIONS: &[Operation] = &[
    Operation {
        playbook: "SERVER_INIT",
        from: "fresh",
        begin: &["server", "init", "HOST"],
        goal: Goal::Ready,
        cut_state: ["INIT_FAIL", "FREE", "FREE"],
        finish: &[(&["server", "init", "HOST"], Goal::Ready)],
        middle: &[
            ("The packages of the profile are installed", Cut::Power, 0.6),
            ("The packages of the profile are installed", Cut::Link, 0.3),
            ("Every compute unit has its volume", Cut::Power, 0.7),
            ("Every compute unit has its volume", Cut::Reboot, 0.6),
            ("Kernel, systemd and sshd use them", Cut::Power, 0.5),
        ],
    },
    Operation {
        playbook: "ALLOCATION_CREATE",
        from: "ready",
        begin: CREATE,
        goal: Goal::Allocated,
        cut_state: ["ALLOCATION_FAIL", "ALLOCATION_FAIL", "RESERVED"],
        finish: &[
            (&["alloc", "retry", "web"], Goal::Allocated),
            (&["alloc", "delete", "web", "--yes"], Goal::Deleted),
        ],
        middle: &[
            (
                "Profile, volume, user manager and limits are in force",
                Cut::Link,
                0.5,
            ),
            ("Filter, address, rule and route are up", Cut::Reboot, 0.5),
            ("The user exists", Cut::Power, 0.7),
            (
                "Profile, volume, user manager and limits are in force",
                Cut::Power,
                0.7,
            ),
        ],
    },
    Operation {
        playbook: "ALLOCATION_DELETE",
        from: "allocated",
        begin: &["alloc", "delete", "web", "--yes"],
        goal: Goal::Deleted,
        cut_state: ["DEALLOCATION_FAIL", "DEALLOCATION_FAIL", "RELEASING"],
        finish: &[
            (&["alloc", "delete", "web", "--yes"], Goal::Deleted),
            (&["alloc", "retry", "web"], Goal::Deleted),
        ],
        middle: &[
            (
                "Nothing of the tenant runs, and nobody can log in",
                Cut::Link,
                0.5,
            ),
            ("The volume is empty for the next tenant", Cut::Reboot, 0.5),
            ("The volume is empty for the next tenant", Cut::Power, 0.7),
            (
                "Account, files, profile and settings are gone",
                Cut::Power,
                0.5,
            ),
        ],
    },
    Operation {
        playbook: "SERVER_DECOMM",
        from: "ready",
        begin: DECOMMISSION,
        goal: Goal::Decommissioned,
        cut_state: ["DECOMMISSION_FAIL", "FREE", "FREE"],
        finish: &[(DECOMMISSION, Goal::Decommissioned)],
        middle: &[
            ("The volumes are unmounted, wiped and gone", Cut::Power, 0.5),
            ("The volumes are unmounted, wiped and gone", Cut::Link, 0.3),
            (
                "Units, rules, settings, group and files are gone, and the daemons know it",
                Cut::Power,
                0.5,
            ),
            (
                "Units, rules, settings, group and files are gone, and the daemons know it",
                Cut::Reboot,
                0.3,
            ),
        ],
    },
];

const DECOMMISSION: &[&str] = &["server", "decommission", "HOST", "--yes"];

const CREATE: &[&str] = &[
    "alloc", "create", "web", "--key", "KEY", "--ip", WEB, "--cu", "UNIT",
];

/// A task as a run without a cut had it.
struct Task {
    name: String,
    took: Duration,
}

impl Task {
    fn to_line(&self) -> String {
        format!("{} {}", self.took.as_millis(), self.name)
    }

    fn from_line(line: &str) -> Task {
        let (took, name) = line.split_once(' ').unwrap();
        Task {
            name: name.to_owned(),
            took: Duration::from_millis(took.parse().unwrap()),
        }
    }
}

struct Case {
    task: u32,
    name: String,
    cut: Cut,
    /// After the task's start.
    after: Duration,
}

struct Lab {
    host: Host,
    k: Kloigos,
    web: Tenant,
    /// Where it is kept from test to test.
    kept: Option<PathBuf>,
}

fn copy(from: &str, to: &std::path::Path) {
    let copied = Command::new("cp")
        .args(["-a", from])
        .arg(to)
        .status()
        .unwrap();
    assert!(copied.success());
}

/// A command whose plain lines are read while it goes on.
struct Watched {
    child: std::process::Child,
    lines: Receiver<(Instant, String)>,
    said: Vec<String>,
}

impl Watched {
    fn next(&mut self) -> Option<(Instant, String)> {
        let (at, line) = self.lines.recv().ok()?;
        self.said.push(line.clone());
        Some((at, line))
    }

    /// Until task `number` begins: the line of a task comes when the next begins.
    #[track_caller]
    fn until_task(&mut self, number: u32) {
        while let Some((_, line)) = self.next() {
            let here = match number {
                1 => line.contains(" play: "),
                _ => task_line(&line).is_some_and(|(no, _)| no + 1 == number),
            };
            if here {
                return;
            }
        }
        panic!("it ended before task {number}:\n{}", self.said.join("\n"));
    }

    fn end(mut self) -> (Option<i32>, Vec<String>) {
        while self.next().is_some() {}
        (self.child.wait().unwrap().code(), self.said)
    }
}

/// "0:12 task 3 of about 10: The name: 1 ok (3.1 s)".
fn task_line(line: &str) -> Option<(u32, String)> {
    let (_, rest) = line.split_once(" task ")?;
    let (head, rest) = rest.split_once(": ")?;
    let number = head.split(' ').next()?.parse().ok()?;
    Some((number, rest.split(": ").next()?.to_owned()))
}

impl Lab {
    /// The one that an earlier test has kept, else a new one.
    fn get() -> Lab {
        let kept = asked("KLOIGOS_FAULTS_LAB").map(PathBuf::from);
        if let Some(dir) = &kept
            && let Ok(host) = std::fs::read_to_string(dir.join("host"))
        {
            let host = Host::at(host.as_ref());
            let k = Kloigos::new();
            copy(&format!("{}/.", dir.display()), k.dir.path());
            let web = Tenant::new("web", k.dir.path(), host.forward(&format!("{WEB}:22")));
            return Lab { host, k, web, kept };
        }
        Lab::boot(kept)
    }

    /// Keeps what the next test needs, or ends the host.
    fn end(self) {
        if let Some(dir) = &self.kept {
            let host = self.host.dir().to_str().unwrap();
            std::fs::write(self.k.dir.path().join("host"), host).unwrap();
            std::fs::create_dir_all(dir).unwrap();
            copy(&format!("{}/.", self.k.dir.path().display()), dir);
            std::mem::forget(self.host);
        }
    }

    fn boot(kept: Option<PathBuf>) -> Lab {
        let suite = asked("KLOIGOS_FAULTS_SUITE").unwrap_or("bookworm".to_owned());
        let host = Host::boot(
            "faults",
            &["--suite", &suite, "--disk", "4", "--mem", "1024"],
            &[&format!("{WEB}:22")],
        );
        let k = Kloigos::new();
        let web = Tenant::new("web", k.dir.path(), host.forward(&format!("{WEB}:22")));
        let lab = Lab { host, k, web, kept };
        lab.k.json(&["init"]);
        lab.k
            .run(&["setting", "set", "ssh.private_key_file", lab.host.key()])
            .ok();
        lab.k.json(&["ip", "add", WEB]);
        // Else a power cut in an installation leaves empty files, which no host
        // that is set up for its owner does.
        lab.host
            .root("sed -i /unsafe-io/d /etc/dpkg/dpkg.cfg.d/lab")
            .ok();
        lab.k
            .add_server(&lab.host, "minimal", &["--disk", "/dev/vdb", "--no-init"])
            .ok();
        lab.save("fresh");
        lab
    }

    fn unit(&self) -> String {
        format!("{}-cu00", self.host.name())
    }

    /// With the words in capitals replaced by what this lab has.
    fn arguments(&self, words: &[&str]) -> Vec<String> {
        words
            .iter()
            .map(|w| match *w {
                "HOST" => self.host.name().to_owned(),
                "UNIT" => self.unit(),
                "KEY" => self.web.public_key().to_str().unwrap().to_owned(),
                other => other.to_owned(),
            })
            .collect()
    }

    fn run(&self, words: &[&str]) -> crate::host::Ran {
        let arguments = self.arguments(words);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.k.run(&arguments)
    }

    fn store(&self, state: &str) -> PathBuf {
        self.k.dir.path().join(format!("store{state}"))
    }

    fn copy_store(&self, from: &str, to: &str) {
        let to = self.store(to);
        if to.exists() {
            std::fs::remove_dir_all(&to).unwrap();
        }
        copy(self.store(from).to_str().unwrap(), &to);
    }

    fn save(&self, state: &str) {
        // A power cut is to lose what the case has written, not what came before.
        self.host.root("sync").ok();
        self.host.lab("save", &[state]);
        self.copy_store("", &format!(".{state}"));
    }

    fn has(&self, state: &str) -> bool {
        self.store(&format!(".{state}")).exists()
    }

    fn restore(&self, state: &str) {
        self.host.lab("link", &["on"]);
        self.host.lab("restore", &[state]);
        self.copy_store(&format!(".{state}"), "");
    }

    fn watch(&self, words: &[&str]) -> Watched {
        let arguments = self.arguments(words);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut child = self
            .k
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines() {
                let Ok(line) = line else { return };
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Watched {
            child,
            lines,
            said: Vec::new(),
        }
    }

    /// Without a cut: which tasks it has and how long they take. It reaches
    /// its goal, or the cases would prove nothing.
    fn tasks_of(&self, operation: &Operation) -> Vec<Task> {
        let file = self.k.dir.path().join(operation.playbook);
        if let Ok(text) = std::fs::read_to_string(&file) {
            return text.lines().map(Task::from_line).collect();
        }
        let tasks = self.learn_tasks(operation);
        match operation.goal {
            Goal::Ready => self.save("ready"),
            Goal::Allocated => {
                self.tenant_leaves_things();
                self.save("allocated");
            }
            Goal::Deleted | Goal::Decommissioned => {}
        }
        let lines: Vec<String> = tasks.iter().map(Task::to_line).collect();
        std::fs::write(file, lines.join("\n")).unwrap();
        tasks
    }

    fn learn_tasks(&self, operation: &Operation) -> Vec<Task> {
        self.restore(operation.from);
        let mut watched = self.watch(operation.begin);
        let mut tasks = Vec::new();
        let mut since = Instant::now();
        while let Some((at, line)) = watched.next() {
            println!("    {line}");
            if let Some((number, name)) = task_line(&line) {
                assert_eq!(number as usize, tasks.len() + 1, "{line}");
                tasks.push(Task {
                    name,
                    took: at.duration_since(since),
                });
            }
            since = at;
        }
        let (code, said) = watched.end();
        assert_eq!(code, Some(0), "{}", said.join("\n"));
        self.holds(operation.goal);
        tasks
    }

    /// Cuts the operation; gives kloigos' exit code, and what it said.
    fn cut(&self, operation: &Operation, case: &Case) -> (Option<i32>, Vec<String>) {
        let mut watched = self.watch(operation.begin);
        watched.until_task(case.task);
        std::thread::sleep(case.after);
        match case.cut {
            Cut::Kill => {
                watched.child.kill().unwrap();
                watched.end()
            }
            Cut::Cancel => {
                let pid = watched.child.id().to_string();
                let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
                assert!(sent.success());
                watched.end()
            }
            Cut::Link => {
                self.host.lab("link", &["off"]);
                let ended = watched.end();
                self.host.lab("link", &["on"]);
                ended
            }
            Cut::Reboot | Cut::Power => {
                let command = match case.cut {
                    Cut::Reboot => "reboot",
                    _ => "reset",
                };
                let mut boots = self.host.start_lab(command, &[]);
                let ended = watched.end();
                assert!(
                    boots.wait().unwrap().success(),
                    "it did not boot after {command}"
                );
                ended
            }
        }
    }

    /// The subject's status, the unit's and the address'.
    fn state(&self) -> ([String; 3], Value) {
        let server = self.k.json(&["server", "show", self.host.name()]);
        let unit = self.k.json(&["cu", "show", &self.unit()]);
        let pool = self.k.json(&["ip", "list"]);
        let allocation = self.k.run(&["alloc", "show", "web", "--format", "json"]);
        let subject = match allocation.code {
            0 => allocation.json(),
            _ => server,
        };
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        let states = [&subject["status"], &unit["status"], &pool[0]["status"]].map(text);
        (states, subject)
    }

    fn holds(&self, goal: Goal) {
        match goal {
            Goal::Ready => {
                assert_eq!(self.state().0, ["READY", "FREE", "FREE"]);
                self.is_a_server();
            }
            Goal::Allocated => {
                assert_eq!(self.state().0, ["ALLOCATED", "ALLOCATED", "ALLOCATED"]);
                self.tenant_lives();
            }
            Goal::Deleted => {
                let (states, shown) = self.state();
                assert_eq!(states, ["DEALLOCATED", "FREE", "FREE"]);
                nothing_left(&self.host, "web", &shown["uid"].to_string(), WEB);
                self.is_a_server();
            }
            Goal::Decommissioned => {
                assert_eq!(self.state().0[0], "DECOMMISSIONED");
                self.is_no_server();
            }
        }
    }

    fn is_no_server(&self) {
        let script = "find / -xdev -iname '*kloigos*' -not -path '/home/*' -not -path '/tmp/*'
            find /run /sys/fs/cgroup /dev -iname '*kloigos*'
            nft list tables | grep kloigos
            getent group kloigos
            lvs --noheadings; vgs --noheadings
            grep kloigos /proc/mounts
            systemctl list-units --all --plain --no-legend '*kloigos*'
            wipefs --no-act --noheadings /dev/vdb
            dpkg --audit";
        let ran = self.host.root(script);
        assert_eq!(format!("{}{}", ran.stdout, ran.stderr), "");
    }

    /// What SERVER_INIT is for, seen from outside of its own read-back, and
    /// that no half-done work of a cut lies about.
    fn is_a_server(&self) {
        let name = self.host.name();
        let script = format!(
            "for unit in cu00 cu01; do
                path=/mnt/kloigos/{name}/$unit
                findmnt -no FSTYPE --mountpoint $path
                left=$(ls -A $path); [ -z \"$left\" ] || echo \"in $path: $left\"
                touch $path/x && rm $path/x
            done
            systemctl is-active kloigos-nftables.service kloigos-addresses.timer
            nft list table inet kloigos >/dev/null || echo no rules
            dpkg --audit
            find /etc /usr/local/lib/kloigos /var/lib/kloigos \
                \\( -name '.kloigos-*' -o -name '.nftables-*' \\) -print
            ls /etc/passwd.lock /etc/group.lock /etc/shadow.lock /etc/gshadow.lock 2>/dev/null"
        );
        let ran = self.host.root(&script);
        assert_eq!(
            format!("{}{}", ran.stdout, ran.stderr),
            "ext4\next4\nactive\nactive\n"
        );
    }

    fn tenant_lives(&self) {
        limits_are_the_kernels(&self.k, &self.host, "web");
        let script = "id -un; nproc; cat /proc/self/attr/current
            echo mine > /mnt/web/x && cat /mnt/web/x && rm /mnt/web/x
            systemctl --user is-active default.target
            ip route get 10.0.2.2 uid $(id -u) | grep -o 'src [0-9.]*'";
        assert_eq!(
            self.web.run(script).ok().text(),
            format!("web\n1\nkloigos-web (enforce)\nmine\nactive\nsrc {WEB}")
        );
        self.web.refused("cat /var/lib/kloigos/probe");
    }

    /// What a delete has to find.
    fn tenant_leaves_things(&self) {
        self.web
            .run(
                "touch ~/.hidden /tmp/of-web /var/tmp/of-web /dev/shm/of-web /mnt/web/.dot /opt/web/x
                dd if=/dev/urandom of=/mnt/web/data bs=1M count=8 status=none
                mkdir -p ~/.config/systemd/user
                printf '[Service]\\nExecStart=/bin/sleep 6000\\n' > ~/.config/systemd/user/nap.service
                systemctl --user daemon-reload && systemctl --user start nap",
            )
            .ok();
        // As a power cut leaves them.
        self.host
            .root("touch /etc/systemd/network/*.network.d/.kloigos-x /etc/apparmor.d/.kloigos-x")
            .ok();
    }

    /// One case from its saved state to its goal. Gives its line of the report.
    fn case(&self, operation: &Operation, case: &Case, last: u32) -> String {
        let started = Instant::now();
        self.restore(operation.from);
        let (code, said) = self.cut(operation, case);
        let cut_seconds = started.elapsed().as_secs_f32();
        let run = self.k.json(&["runs", "list"])[0].clone();
        assert_eq!(run["playbook"], operation.playbook);
        let (states, shown) = self.state();
        let said = said.join("\n");
        // With its last task done, a run may have succeeded before it was cut.
        let too_late = case.task == last && run["status"] == "success";
        // Each task meets each way to finish: its kill and its cancel take different ones.
        let turn = usize::try_from(case.task).unwrap() + usize::from(case.cut == Cut::Cancel);
        let (words, goal) = operation.finish[turn % operation.finish.len()];
        let done = if too_late {
            assert_eq!(code, Some(0), "{said}");
            self.holds(operation.goal);
            "too late, it had succeeded".to_owned()
        } else {
            let (status, codes) = case.cut.ends_as();
            assert_eq!(run["status"], status, "{run}\n{said}");
            assert!(codes.contains(&code), "exit {code:?}\n{said}");
            assert_eq!(states, operation.cut_state, "{shown}");
            assert!(
                shown["status_reason"]
                    .as_str()
                    .is_some_and(|r| !r.is_empty()),
                "{shown}"
            );
            self.run(words).ok();
            self.holds(goal);
            format!("{} finished it", words[..2].join(" "))
        };
        format!(
            "{} | task {} of {last}, {} | {} after {:.1} s | {}, run {} | {done} | {:.0} s, {cut_seconds:.0} s of them to the end of the cut run",
            operation.playbook,
            case.task,
            case.name,
            case.cut.name(),
            case.after.as_secs_f32(),
            states.join(" "),
            run["status"].as_str().unwrap(),
            started.elapsed().as_secs_f32(),
        )
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the wishes of who runs this test; it has no edge where they could be read"
)]
fn asked(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// All cases of an operation that are wanted.
fn cases(operation: &Operation, tasks: &[Task], chosen: &str) -> Vec<Case> {
    let mut all = Vec::new();
    for (number, task) in (1u32..).zip(tasks) {
        for cut in [Cut::Kill, Cut::Cancel] {
            all.push(Case {
                task: number,
                name: task.name.clone(),
                cut,
                after: Duration::ZERO,
            });
        }
    }
    for (name, cut, part) in operation.middle {
        let (number, task) = (1u32..)
            .zip(tasks)
            .find(|(_, t)| t.name == *name)
            .unwrap_or_else(|| panic!("{} has no task `{name}`", operation.playbook));
        all.push(Case {
            task: number,
            name: task.name.clone(),
            cut: *cut,
            after: task.took.mul_f32(*part),
        });
    }
    all.retain(|c| wanted(chosen, operation.playbook, Some((c.task, c.cut))));
    all
}

/// Whether `KLOIGOS_FAULTS` asks for it; with None, for anything of the operation.
fn wanted(chosen: &str, playbook: &str, case: Option<(u32, Cut)>) -> bool {
    let mut words = chosen.split_whitespace().peekable();
    words.peek().is_none()
        || words.any(|word| {
            let mut parts = word.split(':').chain(std::iter::repeat("*"));
            let mut is = |value: &str| parts.next().is_some_and(|p| p == "*" || p == value);
            is(playbook) && case.is_none_or(|(task, cut)| is(&task.to_string()) && is(cut.name()))
        })
}

#[test]
#[ignore = "long: make lab-full"]
fn every_operation_can_be_cut_at_every_task_and_finished() {
    let chosen = asked("KLOIGOS_FAULTS").unwrap_or_default();
    let lab = Lab::get();
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for operation in OPERATIONS {
        // The goals of the first two are where others start.
        let leads_on = match operation.goal {
            Goal::Ready => !lab.has("ready"),
            Goal::Allocated => !lab.has("allocated"),
            Goal::Deleted | Goal::Decommissioned => false,
        };
        if !leads_on && !wanted(&chosen, operation.playbook, None) {
            continue;
        }
        let tasks = lab.tasks_of(operation);
        for case in cases(operation, &tasks, &chosen) {
            let last = u32::try_from(tasks.len()).unwrap();
            let what = format!(
                "{} task {} {}",
                operation.playbook,
                case.task,
                case.cut.name()
            );
            println!("== {what}");
            match catch_unwind(AssertUnwindSafe(|| lab.case(operation, &case, last))) {
                Ok(line) => {
                    println!("CASE {line}");
                    lines.push(line);
                }
                Err(_) => {
                    println!("CASE {what}: FAILED");
                    if lab.kept.is_some() {
                        // To be looked at.
                        lab.save(&format!("failed-{}", failures.len()));
                    }
                    failures.push(what);
                }
            }
        }
    }
    lab.end();
    println!("{} cases held", lines.len());
    assert!(failures.is_empty(), "failed: {}", failures.join(", "));
}

#[test]
fn a_task_is_read_from_its_plain_line() {
    let read = |line| task_line(line).map(|(no, name)| format!("{no} {name}"));
    let line = "0:12 task 3 of about 10: The user exists: 1 changed (3.1 s)";
    assert_eq!(read(line).as_deref(), Some("3 The user exists"));
    let line = "0:12 task 12: The user exists: no result";
    assert_eq!(read(line).as_deref(), Some("12 The user exists"));
    assert_eq!(read("1:12 still at task 3, The user exists: 60 s"), None);
}

#[test]
fn cases_are_chosen_by_operation_task_and_cut() {
    let all = |chosen| {
        [
            ("A", 1, Cut::Kill),
            ("A", 2, Cut::Kill),
            ("B", 2, Cut::Power),
        ]
        .map(|(playbook, task, cut)| wanted(chosen, playbook, Some((task, cut))))
    };
    assert_eq!(all(""), [true, true, true]);
    assert_eq!(all("A"), [true, true, false]);
    assert_eq!(all("A:2 B"), [false, true, true]);
    assert_eq!(all("*:2:power"), [false, false, true]);
    assert!(wanted("B:7", "B", None) && !wanted("B:7", "A", None));
}
