//! The playbooks that come with this build.

use include_dir::{Dir, include_dir};

use crate::domain::playbook::{Content, ContentFile, ContentKind};
use crate::ops::content::SINGLE_ENTRY;

static PACKAGED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/playbooks");

/// Name and content of each, by name.
pub(super) fn all() -> Vec<(&'static str, Content)> {
    let mut list: Vec<(&'static str, Content)> = PACKAGED
        .dirs()
        .filter_map(|dir| Some((dir.path().to_str()?, content(dir))))
        .collect();
    list.sort_by_key(|(name, _)| *name);
    list
}

pub(super) fn is_packaged(name: &str) -> bool {
    PACKAGED.get_dir(name).is_some()
}

fn content(dir: &'static Dir<'static>) -> Content {
    let mut files = Vec::new();
    collect(dir, dir, &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Content {
        kind: ContentKind::Bundle,
        entry: SINGLE_ENTRY.to_owned(),
        files,
    }
}

fn collect(root: &Dir<'static>, dir: &'static Dir<'static>, files: &mut Vec<ContentFile>) {
    for file in dir.files() {
        let below = file.path().strip_prefix(root.path()).unwrap_or(file.path());
        files.push(ContentFile {
            path: below.to_string_lossy().into_owned(),
            executable: false,
            bytes: file.contents().to_vec(),
        });
    }
    for sub in dir.dirs() {
        if !sub.path().ends_with("__pycache__") {
            collect(root, sub, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packaged_playbook_has_its_entry() {
        let all = all();
        for name in [
            "ALLOCATION_CREATE",
            "ALLOCATION_DELETE",
            "SERVER_DECOMM",
            "SERVER_INIT",
        ] {
            let (_, content) = all.iter().find(|(n, _)| *n == name).unwrap();
            assert!(
                content.files.iter().any(|f| f.path == content.entry),
                "{name}"
            );
        }
    }
}
