//! Versions of playbooks: compared, edited, made the default, rolled back,
//! removed.

use std::process::Command;

use serde_json::json;

use crate::accepted::{says, write};
use crate::program::{Program, Ran};

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

/// With an editor that is this shell script; `$1` is the file.
fn edit(p: &Program, script: &str, arguments: &[&str]) -> Ran {
    let editor = p.file("editor", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = p
        .command(&[&["playbook", "edit"], arguments].concat())
        .env("EDITOR", editor)
        .env("TMPDIR", p.path())
        .output()
        .unwrap();
    Ran::of(&output)
}

/// Copies of `edit` that are left.
fn copies(p: &Program) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(p.path())
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|e| e.to_string_lossy().contains("kloigos-edit-"))
        .collect()
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
fn an_edit_makes_a_version_unless_the_text_comes_back_as_it_was() {
    let p = words();
    let unchanged = edit(&p, "true", &["words", "--format", "json"]).exits(0);
    assert_eq!(unchanged.json()["changed"], false);
    assert_eq!(p.json(&["playbook", "versions", "words"])[0]["version"], 3);

    let script = "echo talking to the terminal; sed -i 's/one/four/' \"$1\"; \
                  stat -c %a \"$(dirname \"$1\")\"/.. > mode; touch \"$1~\"";
    let edited = edit(&p, script, &["words", "-m", "four", "--format", "json"]).exits(0);
    assert!(
        edited.stderr.contains("another version is the default"),
        "{}",
        edited.stderr
    );
    let edited = edited.json();
    assert_eq!(edited["edited"], 1);
    assert_eq!(edited["pushed"]["version"], 4);
    assert_eq!(edited["pushed"]["message"], "four");
    assert_eq!(edited["pushed"]["is_default"], false);
    let mode = std::fs::read_to_string(p.path().join("mode")).unwrap();
    assert_eq!(mode, "700\n", "others can look into the copy");
    let text = p.json(&["playbook", "show", "words", "--version", "4"]);
    assert_eq!(text["entry_text"], says("four"));
    assert_eq!(copies(&p), [] as [std::path::PathBuf; 0]);
}

#[test]
fn an_edit_that_is_refused_keeps_the_text_and_says_where() {
    let p = words();
    for script in [
        "sed -i 's/tasks:/task:/' \"$1\"",
        "sed -i 's/one/five/' \"$1\"; exit 3",
    ] {
        let ran = edit(&p, script, &["words"]);
        assert_ne!(ran.code, 0);
        let copy = copies(&p).pop().expect("the text is kept");
        let kept = copy.join("words/playbook.yml");
        assert!(kept.exists());
        assert!(
            ran.stderr
                .contains(&format!("playbook push words {}", kept.display())),
            "{}",
            ran.stderr
        );
        assert_eq!(p.json(&["playbook", "versions", "words"])[0]["version"], 3);
        std::fs::remove_dir_all(copy).unwrap();
    }
    let failed = edit(&p, "exit 3", &["words"]).exits(1);
    assert!(failed.stderr.contains("failed"), "{}", failed.stderr);
    assert_eq!(copies(&p), [] as [std::path::PathBuf; 0]);
    p.run(&["playbook", "edit", "words", "--file", "x"])
        .exits(2);
}

#[test]
fn one_file_of_a_bundle_is_edited_and_the_others_stay() {
    let p = Program::initialised();
    let root = p.path().join("bundle");
    write(
        &root,
        &[("site.yml", &says("one")), ("files/motd", "hello\n")],
    );
    let push = ["playbook", "push", "b", root.to_str().unwrap()];
    p.run(&[&push[..], &["--entry", "site.yml"]].concat())
        .exits(0);
    let ran = edit(
        &p,
        "sed -i 's/hello/bye/' \"$1\"",
        &["b", "--file", "files/motd", "--default"],
    );
    ran.exits(0);
    assert_eq!(default_of(&p, "b"), 2);
    p.run(&["playbook", "export", "b", "out"]).exits(0);
    let out = |path: &str| std::fs::read_to_string(p.path().join("out").join(path)).unwrap();
    assert_eq!(out("files/motd"), "bye\n");
    assert_eq!(out("site.yml"), says("one"));
    edit(&p, "true", &["b", "--file", "files/none"]).exits(3);

    // Refused: the whole bundle is kept where push takes it.
    let ran = edit(&p, "sed -i 's/tasks:/task:/' \"$1\"", &["b"]).exits(2);
    let copy = copies(&p).pop().unwrap().join("b");
    assert!(
        ran.stderr
            .contains(&format!("push b {} --entry site.yml", copy.display())),
        "{}",
        ran.stderr
    );
    assert!(copy.join("files/motd").exists());
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
