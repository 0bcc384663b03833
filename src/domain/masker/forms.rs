//! The ways in which a secret is written elsewhere: escaped, quoted, encoded.

use std::collections::BTreeSet;

use base64ct::{Base64, Encoding};

use crate::domain::text::plain;

/// Where tools break base64: coreutils and MIME, PEM.
const BASE64_LINES: [usize; 2] = [76, 64];
/// A shorter piece of base64 would be found in other texts by chance.
const SHORTEST_BASE64: usize = 6;

/// All forms of one text, itself among them; some may be the same.
pub(super) fn of(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned(), plain(text)];
    let json = json(text);
    // Python's repr.
    forms.push(json.replace("\\\"", "\"").replace('\'', "\\'"));
    // shlex.quote, and sh by hand.
    for quote in ["'\"'\"'", "'\\''"] {
        forms.push(text.replace('\'', quote));
    }
    // printf %q and double quotes.
    forms.push(backslashed(text, |c| {
        !c.is_alphanumeric() && !"_-./:@%+=,\n".contains(c)
    }));
    forms.push(backslashed(text, |c| "\"\\$`".contains(c)));
    // Regular expressions, as Python escapes them.
    forms.push(backslashed(text, |c| {
        "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c)
    }));
    // XML and HTML, as Jinja and as others write them.
    let xml = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    forms.push(xml.replace('"', "&#34;").replace('\'', "&#39;"));
    forms.push(xml.replace('"', "&quot;").replace('\'', "&apos;"));
    forms.push(xml);
    // What PowerShell takes as an encoded command.
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    forms.extend(base64(&wide));
    // A single quoted string of YAML.
    forms.push(text.replace('\'', "''"));
    for keep in ["", "/", "/:@!$&'()*+,;=~"] {
        let encoded = percent(text, keep);
        forms.push(encoded.replace("%20", "+"));
        forms.push(lower_hex(&encoded));
        forms.push(encoded);
    }
    forms.push(json);
    for encoded in base64(text.as_bytes()) {
        forms.push(encoded.replace('+', "-").replace('/', "_"));
        forms.push(encoded);
    }
    // Each of them in a document, and that in another one.
    for _ in 0..2 {
        let inside: BTreeSet<String> = forms.iter().map(|f| self::json(f)).collect();
        forms.extend(inside.iter().map(|f| ascii(f)));
        forms.extend(inside);
    }
    forms
}

/// As it stands in a JSON string.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// JSON of writers that keep to ASCII.
fn ascii(json: &str) -> String {
    let mut out = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

fn backslashed(text: &str, needs: impl Fn(char) -> bool) -> String {
    text.chars()
        .flat_map(|c| needs(c).then_some('\\').into_iter().chain([c]))
        .collect()
}

fn percent(text: &str, keep: &str) -> String {
    let mut out = String::new();
    for b in text.bytes() {
        let c = char::from(b);
        if c.is_ascii_alphanumeric() || "-_.~".contains(c) || keep.contains(c) {
            out.push(c);
        } else {
            out.push_str(&format!("%{b:02X}"));
        }
    }
    out
}

fn lower_hex(encoded: &str) -> String {
    let mut digits = 0;
    encoded
        .chars()
        .map(|c| {
            if c == '%' {
                digits = 2;
                c
            } else if digits > 0 {
                digits -= 1;
                c.to_ascii_lowercase()
            } else {
                c
            }
        })
        .collect()
}

/// The text alone, also broken into lines; and what of its base64 does not
/// depend on what stands before and after it (as in `user:password`).
fn base64(bytes: &[u8]) -> Vec<String> {
    let whole = Base64::encode_string(bytes);
    let mut all = Vec::new();
    for length in BASE64_LINES {
        if whole.len() > length {
            let lines = whole.as_bytes().chunks(length);
            all.extend(lines.map(|l| String::from_utf8_lossy(l).into_owned()));
        }
    }
    for before in 0..3 {
        let mut shifted = vec![0; before];
        shifted.extend(bytes);
        let encoded = Base64::encode_string(&shifted);
        let first = (before * 8).div_ceil(6);
        let last = shifted.len() * 8 / 6;
        all.push(encoded.get(first..last).unwrap_or_default().to_owned());
    }
    all.retain(|piece| piece.len() >= SHORTEST_BASE64);
    all.push(whole.trim_end_matches('=').to_owned());
    all.push(whole);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_a_longer_text_is_found_by_what_its_neighbours_do_not_change() {
        let inside = Base64::encode_string(b"user:correct horse!");
        assert!(
            base64(b"correct horse")
                .iter()
                .any(|p| inside.contains(p.as_str()))
        );
    }

    #[test]
    fn each_form_is_the_one_that_its_tool_writes() {
        let forms = of("it's \"a\" é/$1");
        for wanted in [
            "it's \\\"a\\\" é/$1",
            "it's \\\\\\\"a\\\\\\\" é/$1",
            "it's \\\"a\\\" \\u00e9/$1",
            "it\\'s \"a\" é/$1",
            "it'\"'\"'s \"a\" é/$1",
            "it'\\''s \"a\" é/$1",
            "it\\'s\\ \\\"a\\\"\\ é/\\$1",
            "it's \\\"a\\\" é/\\$1",
            "it''s \"a\" é/$1",
            "it%27s%20%22a%22%20%C3%A9%2F%241",
            "it%27s+%22a%22+%C3%A9/%241",
            "it%27s%20%22a%22%20%c3%a9%2f%241",
            "aXQncyAiYSIgw6kvJDE=",
            "it&#39;s &#34;a&#34; é/$1",
            "it's\\ \"a\"\\ é/\\$1",
            "aQB0ACcAcwAgACIAYQAiACAA6QAvACQAMQA=",
        ] {
            assert!(forms.iter().any(|f| f == wanted), "{wanted}\n{forms:#?}");
        }
    }
}
