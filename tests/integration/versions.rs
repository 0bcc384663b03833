//! Versions of playbooks: compared, edited, made the default, rolled back,
//! removed.

use std::process::Command;

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
