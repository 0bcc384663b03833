//! What a host has, taken as root over SSH by snapshot.py, and what differs
//! between two such takings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::host::Host;

/// Section, then key, then what stands there.
pub struct Snapshot(BTreeMap<String, BTreeMap<String, String>>);

/// One thing that may differ, and why: by its section, and its key or the
/// beginning of it (with `*`).
pub type Exception = (&'static str, &'static str, &'static str);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Gone,
    Changed,
}

struct Difference {
    kind: Kind,
    section: String,
    key: String,
    text: String,
}

impl Snapshot {
    pub fn of(host: &Host) -> Self {
        let ran = host
            .root(&format!(
                "python3 - <<'KLOIGOS-SNAPSHOT'\n{}\nKLOIGOS-SNAPSHOT",
                include_str!("snapshot.py")
            ))
            .ok();
        println!("  snapshot: {:.1} s", ran.seconds);
        let taken = Snapshot(serde_json::from_str(&ran.stdout).unwrap());
        // An empty section would make every comparison of it true.
        for section in ["user", "unit file", "mount", "file", "sysctl", "sshd"] {
            assert!(!taken.0[section].is_empty(), "no {section} was seen");
        }
        taken
    }

    fn differences(&self, later: &Snapshot) -> Vec<Difference> {
        let empty = BTreeMap::new();
        let mut found = Vec::new();
        let sections: BTreeSet<_> = self.0.keys().chain(later.0.keys()).collect();
        for section in sections {
            let before = self.0.get(section).unwrap_or(&empty);
            let after = later.0.get(section).unwrap_or(&empty);
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let (kind, text) = match (before.get(key), after.get(key)) {
                    (Some(a), Some(b)) if a == b => continue,
                    (Some(a), Some(b)) => (Kind::Changed, format!("{a} → {b}")),
                    (Some(a), None) => (Kind::Gone, a.clone()),
                    (None, Some(b)) => (Kind::Added, b.clone()),
                    (None, None) => continue,
                };
                found.push(Difference {
                    kind,
                    section: section.clone(),
                    key: key.clone(),
                    text,
                });
            }
        }
        found
    }

    /// The host is as it was, but for the exceptions.
    #[track_caller]
    pub fn same_as(&self, later: &Snapshot, exceptions: &[Exception]) {
        let found = self.differences(later);
        none(
            found.into_iter().filter(|d| !d.is_one_of(exceptions)),
            "the host is not as it was",
        );
    }

    /// Nothing that was there is gone or other, but for the exceptions; what
    /// came is not looked at.
    #[track_caller]
    pub fn still_in(&self, later: &Snapshot, exceptions: &[Exception]) {
        let found = self.differences(later);
        none(
            found
                .into_iter()
                .filter(|d| d.kind != Kind::Added && !d.is_one_of(exceptions)),
            "what others have on the host was touched",
        );
    }

    /// Whether there is something of Kloigos by this name to see at all.
    pub fn has(&self, section: &str, key: &str) -> bool {
        self.0
            .get(section)
            .is_some_and(|entries| entries.contains_key(key))
    }
}

impl Difference {
    fn is_one_of(&self, exceptions: &[Exception]) -> bool {
        exceptions.iter().any(|(section, key, _why)| {
            *section == self.section
                && match key.strip_suffix('*') {
                    Some(beginning) => self.key.starts_with(beginning),
                    None => *key == self.key,
                }
        })
    }
}

#[track_caller]
fn none(differences: impl Iterator<Item = Difference>, what: &str) {
    let mut text = String::new();
    for d in differences {
        let sign = match d.kind {
            Kind::Added => '+',
            Kind::Gone => '-',
            Kind::Changed => '~',
        };
        let _ = writeln!(text, "{sign} {} {}: {}", d.section, d.key, d.text);
    }
    assert!(text.is_empty(), "{what}:\n{text}");
}

#[test]
fn a_difference_is_seen_and_only_named_exceptions_are_let_pass() {
    let of = |text: &str| Snapshot(serde_json::from_str(text).unwrap());
    let before = of(r#"{"user": {"a": "1", "b": "2"}, "unit": {"x": "active"}}"#);
    let after = of(r#"{"user": {"a": "1", "b": "3", "c": "4"}, "unit": {}}"#);
    let seen: Vec<_> = before
        .differences(&after)
        .iter()
        .map(|d| format!("{} {} {}", d.section, d.key, d.text))
        .collect();
    assert_eq!(seen, ["unit x active", "user b 2 → 3", "user c 4"]);
    before.same_as(&before, &[]);
    before.still_in(&after, &[("unit", "x", ""), ("user", "b*", "")]);
    let fails = |exceptions: &[Exception]| {
        std::panic::catch_unwind(|| before.same_as(&after, exceptions)).is_err()
    };
    assert!(fails(&[]));
    assert!(fails(&[("unit", "x", ""), ("user", "b", "")]));
    assert!(!fails(&[("unit", "x", ""), ("user", "*", "")]));
}
