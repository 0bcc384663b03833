//! Blocks of private key material, whoever they belong to.

const MASK: &str = super::MASK;
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const KIND: &str = "PRIVATE KEY";
const DASHES: &str = "-----";
/// A block without an end is over after so many lines: the longest RSA key
/// that OpenSSH makes has about 200.
const LONGEST: u32 = 400;
/// Where Ansible begins something new, no key goes on.
const NEW: [&str; 10] = [
    "TASK [",
    "PLAY [",
    "PLAY RECAP",
    "RUNNING HANDLER [",
    "ok: [",
    "changed: [",
    "fatal: [",
    "skipping: [",
    "failed: [",
    "included: ",
];

/// Hides blocks in a text that comes line by line.
#[derive(Debug, Default)]
pub(super) struct KeyBlocks {
    /// Lines of the block so far.
    inside: Option<u32>,
}

/// Where a marker of a private key begins, and where it ends.
fn marker(text: &str, kind: &str) -> Option<(usize, usize)> {
    text.match_indices(kind).find_map(|(at, _)| {
        let rest = &text[at + kind.len()..];
        let end = rest.find(DASHES)?;
        let label = &rest[..end];
        let ok = label.contains(KIND)
            && label.len() < 60
            && label
                .chars()
                .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ');
        ok.then_some((at, at + kind.len() + end + DASHES.len()))
    })
}

impl KeyBlocks {
    pub(super) fn open(&self) -> bool {
        self.inside.is_some()
    }

    /// One line with its end, or a whole text.
    pub(super) fn hide(&mut self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        loop {
            if let Some(lines) = self.inside {
                if let Some((_, end)) = marker(rest, END) {
                    self.inside = None;
                    rest = &rest[end..];
                    continue;
                }
                if lines < LONGEST && !NEW.iter().any(|n| rest.starts_with(n)) {
                    self.inside = Some(lines + 1);
                    if !out.is_empty() && rest.ends_with('\n') {
                        out.push('\n');
                    }
                    return out;
                }
                self.inside = None;
            }
            match marker(rest, BEGIN) {
                Some((begin, end)) => {
                    out.push_str(&rest[..begin]);
                    out.push_str(MASK);
                    rest = &rest[end..];
                    self.inside = Some(0);
                }
                None => {
                    out.push_str(rest);
                    return out;
                }
            }
        }
    }
}

/// A text that was cut before it came: an END without its BEGIN hides what
/// stands before it.
pub(super) fn hide_whole(text: &str) -> String {
    let hidden = KeyBlocks::default().hide(text);
    match marker(&hidden, END) {
        Some((_, end)) => format!("{MASK}{}", &hidden[end..]),
        None => hidden,
    }
}
