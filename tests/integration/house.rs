//! Holds the import rules that src/lib.rs states.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Which rooms a room may use. The doors (`error`, `env`, `clock`, `paths`,
/// `fs`, `yaml`) are open to every room but `domain`, which uses nothing.
const RULES: &[(&str, &[&str])] = &[
    ("domain", &["domain"]),
    ("ui", &["ui", "domain"]),
    ("store", &["store", "domain"]),
    ("ansible", &["ansible", "domain"]),
    ("runner", &["runner", "ansible", "store", "domain"]),
    ("ops", &["ops", "domain", "store", "runner"]),
    ("commands", &["commands", "ops", "ui", "domain", "context"]),
    // A door with a folder.
    ("fs", &["fs"]),
];

const DOORS: &[&str] = &["error", "env", "clock", "paths", "fs", "yaml"];

/// Where the program is put together: may see everything.
const ROOT: &[&str] = &["lib.rs", "main.rs", "app.rs", "cli.rs", "context.rs"];

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for item in std::fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

/// Every `crate::X` of the file, outside comments, with its line.
fn rooms_used(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        // pub(in crate::store) limits who sees an item, it imports nothing.
        let code = code.replace("in crate::", "");
        for (at, _) in code.match_indices("crate::") {
            if code[..at].ends_with('$') {
                continue;
            }
            let rest = &code[at + "crate::".len()..];
            let names: Vec<String> = match rest.strip_prefix('{') {
                Some(list) => list
                    .split(',')
                    .map(|n| n.trim().split("::").next().unwrap_or("").to_owned())
                    .collect(),
                None => vec![
                    rest.chars()
                        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                        .collect(),
                ],
            };
            found.extend(names.into_iter().map(|n| (number + 1, n)));
        }
    }
    found
}

fn violations(room: &str, text: &str) -> Vec<String> {
    let rules: BTreeMap<&str, &[&str]> = RULES.iter().copied().collect();
    let Some(allowed) = rules.get(room) else {
        return Vec::new();
    };
    rooms_used(text)
        .into_iter()
        .filter(|(_, used)| {
            let door = DOORS.contains(&used.as_str()) && room != "domain";
            !door && !allowed.contains(&used.as_str())
        })
        .map(|(line, used)| format!("line {line}: {room} uses {used}"))
        .collect()
}

#[test]
fn rooms_import_only_what_the_table_allows() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in rust_files(&src) {
        let below = file.strip_prefix(&src).unwrap();
        let room = below
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        seen += 1;
        for v in violations(room, &text) {
            wrong.push(format!("{}: {v}", below.display()));
        }
    }
    assert!(seen > 40, "only {seen} files found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_folder_of_src_is_a_room_of_the_table() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for item in std::fs::read_dir(&src).unwrap() {
        let item = item.unwrap();
        let name = item.file_name().into_string().unwrap();
        if item.path().is_dir() {
            assert!(
                RULES.iter().any(|(room, _)| *room == name),
                "{name} has no rule"
            );
        } else {
            let door = DOORS.iter().any(|d| format!("{d}.rs") == name);
            assert!(
                door || ROOT.contains(&name.as_str()),
                "{name} is neither door nor root"
            );
        }
    }
}

#[test]
fn a_forbidden_import_is_seen() {
    assert_eq!(violations("ui", "use crate::store::Store;").len(), 1);
    assert_eq!(
        violations("ops", "use crate::{ui::Ui, domain::run};").len(),
        1
    );
    assert_eq!(violations("domain", "use crate::clock::Clock;").len(), 1);
    assert!(violations("store", "pub(in crate::store) fn x() {} // crate::ui").is_empty());
}

/// Bundles are self-contained, so what two of them need stands in both.
#[test]
fn modules_that_several_packaged_playbooks_carry_are_the_same() {
    let playbooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("playbooks");
    let mut first: BTreeMap<String, (PathBuf, Vec<u8>)> = BTreeMap::new();
    let mut copies = 0;
    for bundle in std::fs::read_dir(&playbooks).unwrap() {
        for folder in ["library", "module_utils"] {
            let Ok(files) = std::fs::read_dir(bundle.as_ref().unwrap().path().join(folder)) else {
                continue;
            };
            for file in files {
                let path = file.unwrap().path();
                if path.extension().is_none_or(|e| e != "py") {
                    continue;
                }
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let bytes = std::fs::read(&path).unwrap();
                if let Some((other, theirs)) = first.get(&name) {
                    copies += 1;
                    let same = *theirs == bytes;
                    assert!(same, "{} and {} differ", other.display(), path.display());
                } else {
                    first.insert(name, (path, bytes));
                }
            }
        }
    }
    assert!(copies >= 3, "only {copies} copies found");
}
