//! The command line itself: what needs no store.

use std::process::{Command, Stdio};

use crate::program::Ran;

fn kloigos(arguments: &[&str]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_kloigos"))
        .args(arguments)
        .env_clear()
        .env("HOME", "/nonexistent")
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran::of(&output)
}

#[test]
fn help_goes_to_stdout_and_begins_with_an_example() {
    for arguments in [
        &["--help"][..],
        &["-h"],
        &["server", "--help"],
        &["alloc", "create", "--help"],
    ] {
        let ran = kloigos(arguments).exits(0);
        assert!(
            ran.stdout.starts_with("Example:\n  kloigos "),
            "{}",
            ran.stdout
        );
        assert_eq!(ran.stderr, "");
        assert!(!ran.stdout.contains('\u{1b}'), "colour without a terminal");
    }
    assert!(
        kloigos(&["--version"])
            .exits(0)
            .stdout
            .starts_with("kloigos ")
    );
}

#[test]
fn a_command_that_is_not_whole_shows_how_it_goes() {
    for arguments in [&[][..], &["server"], &["playbook"]] {
        let ran = kloigos(arguments).exits(2);
        assert!(ran.stderr.starts_with("Example:"), "{}", ran.stderr);
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn a_mistyped_command_suggests_the_near_one() {
    let ran = kloigos(&["alloc", "crate"]).exits(2);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("'create'"), "{}", ran.stderr);
    let ran = kloigos(&["alloc", "list", "--serve", "x"]).exits(2);
    assert!(ran.stderr.contains("--server"), "{}", ran.stderr);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    for arguments in [
        &["run", "X", "--host", "a", "-i", "b"][..],
        &["run", "X", "--wait", "5m", "--no-wait"],
        &["run", "X", "--detailed-exitcode"],
        &["run", "X", "--wait", "soon"],
        &["run", "X", "-e", "no-value"],
        &["run", "X", "-e", "n:={"],
        &["playbook", "validate"],
        &["playbook", "validate", "X", "--path", "y"],
        &["cu", "list", "--status", "nice"],
        &["runs", "show", "zero"],
        &["runs", "list", "--limit", "0"],
        &["ip", "add", "10.0.0.0/8"],
        &["ip", "add"],
        &["server", "list", "--format", "xml"],
    ] {
        let ran = kloigos(arguments).exits(2);
        let errors = ran.stderr.lines().filter(|l| l.starts_with("error:"));
        assert_eq!(errors.count(), 1, "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{arguments:?}");
    }
}

#[test]
fn what_was_typed_never_comes_back_as_control_characters() {
    for arguments in [
        &["server", "show", "a\u{1b}[2Jb"][..],
        &["\u{1b}]0;title\u{7}"],
        &["playbook", "show", "x\u{9b}31m"],
        &["runs", "show", "1\r2"],
    ] {
        let ran = kloigos(arguments).exits(2);
        let hostile = |c: char| c.is_control() && c != '\n';
        assert!(!ran.stderr.contains(hostile), "{:?}", ran.stderr);
    }
}

#[test]
fn without_a_home_directory_the_store_has_to_be_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_kloigos"))
        .args(["server", "list"])
        .env_clear()
        .env("HOME", "")
        .output()
        .unwrap();
    let ran = Ran::of(&output);
    // Where the user database names a home the store is merely missing there.
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: "), "{}", ran.stderr);
}
