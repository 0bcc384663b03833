//! Many processes at once, and children that do not end when asked. The
//! executor is a scripted one, since the real one will not do these on demand.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::program::{Program, Ran};

/// A store whose runs go to the scripted executor.
pub fn faked() -> Program {
    let p = Program::initialised();
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fakes/ansible-playbook");
    p.run(&["setting", "set", "ansible.playbook_path", fake])
        .exits(0);
    p.push("fake", "---\n- hosts: all\n");
    p
}

pub fn faked_server(units: usize) -> Program {
    let p = faked();
    let ranges: Vec<String> = (0..units).map(|n| n.to_string()).collect();
    let ranges: Vec<&str> = ranges.iter().map(String::as_str).collect();
    p.add_server("alpha", &ranges).exits(0);
    p
}

pub fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()
}

pub fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| {
        !s.rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with('Z'))
    })
}

/// Waits until the run says it is running, and gives the PIDs of its fake's
/// processes.
fn wait_running(p: &Program) {
    let started = Instant::now();
    while p.json(&["runs", "list"])[0]["status"] != "running" {
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "the run did not start"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn fifty_creates_at_once_never_share_a_unit_an_address_or_a_uid() {
    let p = faked_server(40);
    p.json(&["ip", "add", "192.0.2.1-192.0.2.45"]);
    p.run(&["setting", "set", "runs.max_concurrent", "50"])
        .exits(0);
    let key = p.key();
    let children: Vec<Child> = (0..50)
        .map(|_| {
            p.command(&["alloc", "create", "--key", &key, "--format", "json"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut codes = Vec::new();
    for child in children {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert!(!ran.stderr.contains("locked"), "{}", ran.stderr);
        codes.push(ran.code);
    }
    let with = |code| codes.iter().filter(|c| **c == code).count();
    assert_eq!((with(0), with(12)), (40, 10), "{codes:?}");
    let all = p.json(&["alloc", "list"]);
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), 40);
    for field in ["id", "compute_unit", "ip_address", "uid", "login_user"] {
        let mut values: Vec<String> = all.iter().map(|a| a[field].to_string()).collect();
        values.sort();
        values.dedup();
        assert_eq!(values.len(), 40, "two share a {field}");
    }
    assert!(all.iter().all(|a| a["status"] == "ALLOCATED"));
}

#[test]
fn thirty_runs_on_overlapping_hosts_never_share_one_and_keep_their_order() {
    let p = faked();
    p.run(&["setting", "set", "runs.max_concurrent", "6"])
        .exits(0);
    // Seven hosts; each run takes two or three, so that all depend on each
    // other somehow.
    let hosts_of = |n: usize| -> Vec<String> {
        let mut picked = vec![n % 7, (n * 3 + 1) % 7, (n * 5 + 2) % 7];
        picked.sort_unstable();
        picked.dedup();
        picked
            .iter()
            .map(|h| format!("127.0.0.{}", 40 + h))
            .collect()
    };
    let children: Vec<Child> = (0..30)
        .map(|n| {
            let hosts = hosts_of(n);
            let mut arguments = vec!["run", "fake", "--format", "json", "--wait", "300s"];
            for host in &hosts {
                arguments.extend(["--host", host]);
            }
            p.command(&arguments)
                .env("FAKE_HOSTS", hosts.join(" "))
                .env("FAKE_SECONDS", "0.3")
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .inspect(|_| std::thread::sleep(Duration::from_millis(100)))
                .unwrap()
        })
        .collect();
    let mut waited = 0;
    for child in children {
        let ran = Ran::of(&child.wait_with_output().unwrap()).exits(0);
        waited += usize::from(ran.stdout.contains("\"event\":\"queued\""));
    }
    assert!(waited > 10, "only {waited} had to wait");
    assert!(!p.path().join("shared").exists(), "two worked on one host");

    // The same from what is on record.
    let runs = p.json(&["runs", "list", "--status", "success"]);
    let time = |run: &serde_json::Value, field: &str| -> jiff::Timestamp {
        run[field].as_str().unwrap().parse().unwrap()
    };
    let mut spans = Vec::new();
    for run in runs.as_array().unwrap() {
        let hosts: Vec<String> = run["request"]["hosts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|h| h.as_str().unwrap().to_owned())
            .collect();
        let [asked, from, to] = ["queued_at", "started_at", "ended_at"].map(|f| time(run, f));
        spans.push((hosts, asked, from, to));
    }
    assert_eq!(spans.len(), 30);
    // Between the request and the place in the line a process may be slow.
    let slack = jiff::SignedDuration::from_secs(1);
    let mut in_order = 0;
    for (i, a) in spans.iter().enumerate() {
        for b in &spans[i + 1..] {
            if !a.0.iter().any(|h| b.0.contains(h)) {
                continue;
            }
            assert!(a.3 <= b.2 || b.3 <= a.2, "{a:?} and {b:?} overlap");
            let (first, second) = if a.1 < b.1 { (a, b) } else { (b, a) };
            if second.1.duration_since(first.1) > slack {
                assert!(first.2 < second.2, "{second:?} went before {first:?}");
                in_order += 1;
            }
        }
    }
    assert!(
        in_order > 100,
        "only {in_order} pairs say something of order"
    );
}

#[test]
fn any_bytes_are_taken_and_control_sequences_are_not_stored() {
    let p = faked();
    p.command(&["run", "fake"])
        .env("FAKE_SCENARIO", "bytes")
        .output()
        .unwrap();
    let text = p.run(&["runs", "output", "1"]).exits(0).stdout;
    assert!(
        text.contains("before\n\u{fffd}\u{fffd}red\nafter\n"),
        "{text:?}"
    );
}

#[test]
fn a_long_line_never_blocks_and_is_cut_on_a_character() {
    let p = faked();
    let output = p
        .command(&["run", "fake"])
        .env("FAKE_SCENARIO", "long-line")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = p.run(&["runs", "output", "1"]).exits(0).stdout;
    assert!(
        text.len() <= 1024 * 1024 + 64,
        "{} bytes are stored",
        text.len()
    );
    assert!(text.ends_with("[output truncated]\n"));
    assert!(!text.contains('\u{fffd}'), "a character was cut");
}

/// The most memory that the process had, in KiB; sampled until its end.
fn peak_memory(child: &mut Child) -> u64 {
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        if let Some(line) = text.lines().find_map(|l| l.strip_prefix("VmHWM:")) {
            peak = line.trim().trim_end_matches(" kB").parse().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    peak
}

#[test]
fn memory_does_not_grow_with_what_ansible_writes() {
    let p = faked();
    let peak = |scenario: &str| {
        let mut child = p
            .command(&["run", "fake"])
            .env("FAKE_SCENARIO", scenario)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let peak = peak_memory(&mut child);
        assert!(child.wait().unwrap().success());
        peak
    };
    // More than the cap of what is stored, so that both have filled it.
    let (some, much) = (peak("flood-2"), peak("flood-50"));
    assert!(
        much < some + 4096,
        "{some} KiB for 2 MB, {much} KiB for 50 MB"
    );
}

#[test]
fn a_background_process_that_holds_the_output_does_not_delay_the_end() {
    let p = faked();
    let started = Instant::now();
    let output = p
        .command(&["run", "fake"])
        .env("FAKE_SCENARIO", "sleeper")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
    let text = p.run(&["runs", "output", "1"]).exits(0).stdout;
    assert!(text.contains("last words"), "{text}");
}

#[test]
fn the_events_decide_and_unknown_exit_codes_are_failures() {
    let p = faked();
    for (scenario, code) in [
        ("exit-4", 1),
        ("exit-250", 1),
        ("exit-unreachable", 6),
        ("", 0),
    ] {
        let output = p
            .command(&["run", "fake"])
            .env("FAKE_SCENARIO", scenario)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{scenario}");
    }
}

/// The PIDs that the stubborn executor and its child have.
fn stubborn_pids(child: &Child) -> Vec<u32> {
    let mut found = Vec::new();
    let mut todo = vec![child.id()];
    while let Some(parent) = todo.pop() {
        let path = format!("/proc/{parent}/task/{parent}/children");
        for pid in std::fs::read_to_string(path)
            .unwrap_or_default()
            .split_whitespace()
        {
            let pid: u32 = pid.parse().unwrap();
            found.push(pid);
            todo.push(pid);
        }
    }
    found
}

pub fn start_stubborn(p: &Program) -> (Child, Vec<u32>) {
    let child = p
        .command(&["run", "fake"])
        .env("FAKE_SCENARIO", "stubborn")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_running(p);
    let started = Instant::now();
    let mut pids = Vec::new();
    while pids.len() < 3 {
        assert!(started.elapsed() < Duration::from_secs(10), "{pids:?}");
        std::thread::sleep(Duration::from_millis(100));
        pids = stubborn_pids(&child);
    }
    (child, pids)
}

#[test]
fn a_cancel_leaves_nothing_alive_and_names_what_was_in_flight() {
    let p = faked();
    for (signal, code, name) in [
        (Signal::INT, 130, "INT"),
        (Signal::TERM, 143, "TERM"),
        (Signal::HUP, 129, "HUP"),
    ] {
        let (child, pids) = start_stubborn(&p);
        let started = Instant::now();
        kill_process(pid(&child), signal).unwrap();
        let ran = Ran::of(&child.wait_with_output().unwrap()).exits(code);
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{:?}",
            started.elapsed()
        );
        assert!(pids.iter().all(|p| !alive(*p)), "something lives on");
        assert!(
            ran.stderr.contains("Do it"),
            "the task in flight is named: {}",
            ran.stderr
        );
        let run = &p.json(&["runs", "list"])[0];
        assert_eq!(run["status"], "cancelled");
        assert!(run["reason"].as_str().unwrap().contains(name), "{run}");
    }
}

#[test]
fn a_second_signal_kills_at_once_and_the_record_is_clean() {
    let p = faked();
    let (child, pids) = start_stubborn(&p);
    let started = Instant::now();
    kill_process(pid(&child), Signal::INT).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    kill_process(pid(&child), Signal::INT).unwrap();
    Ran::of(&child.wait_with_output().unwrap()).exits(130);
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    assert!(pids.iter().all(|p| !alive(*p)));
    assert_eq!(p.json(&["runs", "list"])[0]["status"], "cancelled");
    // Its claim is free.
    p.command(&["run", "fake", "--no-wait"])
        .output()
        .map(|o| assert_eq!(o.status.code(), Some(0)))
        .unwrap();
}

#[test]
fn a_host_is_not_given_on_before_the_killed_runs_ansible_is_gone() {
    let p = faked();
    let (mut child, pids) = start_stubborn(&p);
    child.kill().unwrap();
    child.wait().unwrap();
    let run = &p.json(&["runs", "list"])[0];
    assert_eq!(run["status"], "interrupted");
    // This executor does not listen to its socket's end, so it lives on and
    // keeps the host.
    assert!(alive(pids[0]));
    let ran = p.run(&["run", "fake", "--no-wait"]).exits(5);
    assert!(ran.stderr.contains("killed"), "{}", ran.stderr);
    for pid in &pids {
        let pid = Pid::from_raw(i32::try_from(*pid).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
    p.run(&["run", "fake"]).exits(0);
}

#[test]
fn a_waiting_run_says_for_whom_and_runs_follow_each_other() {
    let p = faked();
    let (child, _) = start_stubborn(&p);
    let ran = p.run(&["run", "fake", "--no-wait"]).exits(5);
    assert!(
        ran.stderr.contains("run 1") && ran.stderr.contains("tester@"),
        "{}",
        ran.stderr
    );
    let waiting = p
        .command(&["run", "fake"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while p.json(&["runs", "list"])[0]["id"] != json!(3) {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(50));
    }
    loop {
        let newest = p.json(&["runs", "list"])[0]["id"].to_string();
        let shown = p.json(&["runs", "show", &newest]);
        if newest == "3" && shown["status"] == "queued" && shown["waits_for"][0]["run"] == json!(1)
        {
            break;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{shown}");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(p.json(&["runs", "list"])[0]["waits_for"][0]["run"], 1);
    let list = p.run(&["runs", "list"]).exits(0).stdout;
    assert!(list.contains("waits for fake: run 1 of tester"), "{list}");
    kill_process(pid(&child), Signal::INT).unwrap();
    child.wait_with_output().unwrap();
    let ran = Ran::of(&waiting.wait_with_output().unwrap()).exits(0);
    assert!(ran.stderr.contains("run 1"), "{}", ran.stderr);
}

#[test]
fn slots_are_had_in_turn() {
    let p = faked();
    p.run(&["setting", "set", "runs.max_concurrent", "1"])
        .exits(0);
    let (first, _) = start_stubborn(&p);
    let mut waiting = Vec::new();
    for (id, host) in [("2", "x"), ("3", "y"), ("4", "z")] {
        let hostname = format!("hostname={host}");
        let child = p
            .command(&["run", "fake", "-e", &hostname])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        loop {
            let newest = p.json(&["runs", "list"])[0]["id"].to_string();
            if newest == id {
                let waits = p.json(&["runs", "show", id])["waits_for"].clone();
                if waits.as_array().is_some_and(|w| w.len() == 1) {
                    assert_eq!(waits[0]["host"], json!(null), "it waits for a slot");
                    break;
                }
            }
            assert!(started.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(50));
        }
        waiting.push(child);
    }
    kill_process(pid(&first), Signal::INT).unwrap();
    first.wait_with_output().unwrap();
    for child in &mut waiting {
        assert!(child.wait().unwrap().success());
    }
    let started: Vec<String> = ["2", "3", "4"]
        .iter()
        .map(|id| p.json(&["runs", "show", id])["started_at"].to_string())
        .collect();
    assert!(started.is_sorted(), "{started:?}");
}

#[test]
fn a_queued_run_can_be_cancelled() {
    let p = faked();
    let (first, _) = start_stubborn(&p);
    let second = p
        .command(&["run", "fake"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while p.json(&["runs", "list"])[0]["id"] != json!(2) {
        assert!(started.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_millis(500));
    kill_process(pid(&second), Signal::TERM).unwrap();
    Ran::of(&second.wait_with_output().unwrap()).exits(143);
    assert_eq!(p.json(&["runs", "show", "2"])["status"], "cancelled");
    kill_process(pid(&first), Signal::INT).unwrap();
    first.wait_with_output().unwrap();
}

#[test]
fn lists_into_head_are_silent() {
    let p = faked();
    let pool: Vec<String> = (0..4).map(|n| format!("10.8.{n}.0/24")).collect();
    let mut add = vec!["ip", "add"];
    add.extend(pool.iter().map(String::as_str));
    p.run(&add).exits(0);
    for command in [
        "ip list",
        "ip list --format json",
        "event list",
        "setting list",
    ] {
        let output = std::process::Command::new("sh")
            .args([
                "-c",
                &format!("\"$0\" {command} | head -n 1"),
                env!("CARGO_BIN_EXE_kloigos"),
            ])
            .env("KLOIGOS_HOME", p.store())
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command}");
        assert!(!output.stdout.is_empty(), "{command}");
    }
}

#[test]
fn twenty_short_runs_while_a_list_loops_lose_nothing() {
    let p = faked();
    p.run(&["setting", "set", "runs.max_concurrent", "20"])
        .exits(0);
    let children: Vec<Child> = (0..20)
        .map(|_| {
            p.command(&["run", "fake"])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let listed: usize = (0..20)
        .map(|_| p.json(&["runs", "list"]).as_array().unwrap().len())
        .max()
        .unwrap();
    assert!(listed > 0);
    for child in children {
        Ran::of(&child.wait_with_output().unwrap()).exits(0);
    }
    let runs = p.json(&["runs", "list"]);
    let runs = runs.as_array().unwrap();
    assert_eq!(runs.len(), 20);
    assert!(runs.iter().all(|r| r["status"] == "success"), "{runs:?}");
}
