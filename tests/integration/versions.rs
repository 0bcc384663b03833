//! Versions of playbooks: compared, edited, made the default, rolled back,
//! removed.

use std::process::Command;

use serde_json::json;

use crate::accepted::{says, write};
use crate::program::Program;

/// A store with versions 1, 2 and 3 of `words`; the first is the default.
fn words() -> Program {
    let p = Program::initialised();
    for word in ["one", "two", "three"] {
        let file = p.file("words.yml", &says(word));
        p.run(&["playbook", "push", "words", &file]).exits(0);
    }
    p
}

fn default_of(p: &Program, name: &str) -> u64 {
    p.json(&["playbook", "show", name])["version"]
        .as_u64()
        .unwrap()
}

#[test]
fn two_versions_are_compared_as_a_unified_diff() {
    let p = words();
    let default_to_newest = p.run(&["playbook", "diff", "words"]).exits(0);
    assert!(
        default_to_newest
            .stdout
            .starts_with("--- words@1/playbook.yml\n+++ words@3/playbook.yml\n@@ -5,4 +5,4 @@\n"),
        "{}",
        default_to_newest.stdout
    );
    assert!(
        default_to_newest
            .stdout
            .ends_with("-        msg: one\n+        msg: three\n"),
        "{}",
        default_to_newest.stdout
    );
    let named = p.run(&["playbook", "diff", "words", "3", "2"]).exits(0);
    assert!(
        named
            .stdout
            .contains("-        msg: three\n+        msg: two\n")
    );
    let same = p.run(&["playbook", "diff", "words", "2", "2"]).exits(0);
    assert_eq!(same.stdout, "");
    assert!(same.stderr.contains("no differences"), "{}", same.stderr);
    p.run(&["playbook", "diff", "words", "1", "9"]).exits(3);
    p.run(&["playbook", "diff", "nothing"]).exits(3);

    let diff = p.json(&["playbook", "diff", "words", "1", "2"]);
    assert_eq!(diff["from"]["version"], 1);
    assert_eq!(diff["to"]["version"], 2);
    assert_eq!(diff["files"][0]["path"], "playbook.yml");
    assert_eq!(diff["files"][0]["change"], "modified");
    assert_eq!(diff["files"][0]["binary"], false);
}

#[test]
fn a_diff_of_bundles_has_every_file_and_patch_takes_it() {
    let p = Program::initialised();
    let root = p.path().join("bundle");
    write(
        &root,
        &[
            ("playbook.yml", &says("one")),
            ("files/gone", "a\n"),
            ("files/run.sh", "#!/bin/sh\n"),
            ("files/data", "x"),
        ],
    );
    let bundle = root.to_str().unwrap();
    p.run(&["playbook", "push", "b", bundle]).exits(0);
    p.run(&["playbook", "export", "b", "before"]).exits(0);
    std::fs::remove_file(root.join("files/gone")).unwrap();
    write(&root, &[("files/new", "b\r\n"), ("files/data", "\0\u{1}")]);
    std::fs::set_permissions(
        root.join("files/run.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    p.run(&["playbook", "push", "b", bundle]).exits(0);
    let ran = p.run(&["playbook", "diff", "b"]).exits(0);
    for part in [
        "Binary files b@1/files/data and b@2/files/data differ\n",
        "--- b@1/files/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
        "--- /dev/null\n+++ b@2/files/new\n@@ -0,0 +1 @@\n+b\r\n",
        "mode of files/run.sh: executable\n",
    ] {
        assert!(ran.stdout.contains(part), "{part:?} in {:?}", ran.stdout);
    }
    p.file("b.diff", &ran.stdout);
    let patch = Command::new("patch")
        .args(["-p1", "--binary", "-i", "../b.diff"])
        .current_dir(p.path().join("before"))
        .output();
    if let Ok(patch) = patch {
        assert!(patch.status.success(), "{patch:?}");
        let made = std::fs::read(p.path().join("before/files/new")).unwrap();
        assert_eq!(made, b"b\r\n");
        assert!(!p.path().join("before/files/gone").exists());
    }
}

#[test]
fn a_rollback_goes_back_through_the_defaults_and_never_forward() {
    let p = words();
    let none = p.run(&["playbook", "rollback", "words"]).exits(4);
    assert!(none.stderr.contains("no other version"), "{}", none.stderr);

    let set = p.json(&["playbook", "set-default", "words", "2"]);
    assert_eq!(
        set,
        json!({"name": "words", "version": 2, "previous": 1, "changed": true})
    );
    let again = p.json(&["playbook", "set-default", "words", "2"]);
    assert_eq!(again["changed"], false);
    p.json(&["playbook", "set-default", "words", "3"]);
    p.run(&["playbook", "set-default", "words", "9"]).exits(3);

    let back = p.json(&["playbook", "rollback", "words"]);
    assert_eq!(
        (&back["previous"], &back["version"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(p.json(&["playbook", "rollback", "words"])["version"], 1);
    p.run(&["playbook", "rollback", "words"]).exits(4);
    assert_eq!(default_of(&p, "words"), 1);

    p.json(&["playbook", "set-default", "words", "2"]);
    p.json(&["playbook", "set-default", "words", "3"]);
    let to = p.json(&["playbook", "rollback", "words", "--to", "1"]);
    assert_eq!(to["version"], 1);
    p.run(&["playbook", "rollback", "words"]).exits(4);
    let kinds: Vec<_> = p
        .json(&["event", "list", "--subject", "playbook words"])
        .as_array()
        .unwrap()
        .iter()
        .take(2)
        .map(|e| (e["kind"].clone(), e["detail"]["version"].clone()))
        .collect();
    assert_eq!(
        kinds,
        [
            (json!("playbook.rolled_back"), json!(1)),
            (json!("playbook.default"), json!(3))
        ]
    );
}

#[test]
fn what_is_in_use_is_not_removed_and_the_reason_is_told() {
    let p = words();
    p.run(&["run", "words", "--version", "2"]).exits(0);
    for (arguments, part) in [
        (&["words", "--version", "1"][..], "default version"),
        (&["words", "--version", "2"], "run 1 recorded it"),
        (&["words"], "run 1 recorded it"),
        (&["SERVER_INIT"], "packaged"),
        (&["SERVER_INIT", "--version", "1"], "packaged"),
        (&["SSH_CREDENTIAL_PREPARE"], "packaged"),
    ] {
        let ran = p.run(&[&["playbook", "remove"], arguments, &["--yes"]].concat());
        let ran = ran.exits(4);
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
    }
    p.run(&["playbook", "remove", "words", "--version", "9", "--yes"])
        .exits(3);
    p.run(&["playbook", "remove", "nothing", "--yes"]).exits(3);
    let asks = p.run(&["playbook", "remove", "words", "--version", "3"]);
    assert!(asks.exits(2).stderr.contains("--yes"));

    let removed = p.json(&["playbook", "remove", "words", "--version", "3", "--yes"]);
    assert_eq!(
        removed,
        json!({"name": "words", "versions": [3], "playbook_removed": false})
    );
    p.run(&["playbook", "show", "words", "--version", "3"])
        .exits(3);
    // The number is not given to another content.
    let file = p.file("words.yml", &says("other"));
    let pushed = p.json(&["playbook", "push", "words", &file]);
    assert_eq!(pushed["version"], 4);
}

#[test]
fn a_removed_version_is_no_place_to_roll_back_to() {
    let p = words();
    p.json(&["playbook", "set-default", "words", "2"]);
    p.json(&["playbook", "set-default", "words", "3"]);
    p.json(&["playbook", "remove", "words", "--version", "2", "--yes"]);
    assert_eq!(p.json(&["playbook", "rollback", "words"])["version"], 1);
    let all = p.json(&["playbook", "remove", "words", "--yes"]);
    assert_eq!(all["versions"], json!([3, 1]));
    assert_eq!(all["playbook_removed"], true);
    p.run(&["playbook", "show", "words"]).exits(3);
    // An operator's own version of a packaged playbook can go.
    let file = p.file("own.yml", &says("own"));
    p.run(&["playbook", "push", "SERVER_INIT", &file]).exits(0);
    p.json(&[
        "playbook",
        "remove",
        "SERVER_INIT",
        "--version",
        "2",
        "--yes",
    ]);
    assert_eq!(default_of(&p, "SERVER_INIT"), 1);
}
