//! Text as it may reach a terminal: no control characters, cut and wrapped by
//! display width, durations and sizes as people say them.

use std::borrow::Cow;
use std::time::Duration;

use console::{measure_text_width, truncate_str};

use crate::domain::text::plain;
use crate::domain::time::Timestamp;

/// Whether the character could move a cursor, colour a line or reorder text.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}')
}

/// One line: control sequences removed, line breaks and tabs become spaces,
/// characters that reorder text become `�`.
pub fn line(s: &str) -> Cow<'_, str> {
    if !s.chars().any(is_hostile) {
        return Cow::Borrowed(s);
    }
    Cow::Owned(
        plain(s)
            .trim_end_matches('\n')
            .chars()
            .map(|c| match c {
                '\n' | '\t' => ' ',
                c if is_hostile(c) => '\u{fffd}',
                c => c,
            })
            .collect(),
    )
}

/// Several lines: as [`line`], but line breaks stay and a tab becomes eight
/// columns at most.
pub fn lines(s: &str) -> Cow<'_, str> {
    if !s.chars().any(|c| c != '\n' && is_hostile(c)) {
        return Cow::Borrowed(s);
    }
    let plain = plain(s);
    let mut out = String::with_capacity(plain.len());
    let mut column = 0;
    for c in plain.chars() {
        match c {
            '\n' => {
                out.push('\n');
                column = 0;
            }
            '\t' => {
                let pad = 8 - column % 8;
                out.extend(std::iter::repeat_n(' ', pad));
                column += pad;
            }
            c => {
                out.push(if is_hostile(c) { '\u{fffd}' } else { c });
                column += 1;
            }
        }
    }
    Cow::Owned(out)
}

/// Columns that the text takes on a terminal.
pub fn width(s: &str) -> usize {
    measure_text_width(s)
}

/// At most `max` columns, with `…` where something was cut off.
pub fn fit(s: &str, max: usize) -> Cow<'_, str> {
    if width(s) <= max {
        return Cow::Borrowed(s);
    }
    truncate_str(s, max, if max == 0 { "" } else { "…" })
}

/// Padded with spaces to `to` columns.
pub fn pad(s: &str, to: usize) -> String {
    let mut out = s.to_owned();
    out.extend(std::iter::repeat_n(' ', to.saturating_sub(width(s))));
    out
}

/// Lines of at most `max` columns, broken at spaces where possible; every line
/// break of the text stays.
pub fn wrap(s: &str, max: usize) -> Vec<String> {
    let max = max.max(1);
    let mut out = Vec::new();
    for paragraph in s.split('\n') {
        let indent: String = paragraph.chars().take_while(|c| *c == ' ').collect();
        let indent = if indent.len() * 2 > max { "" } else { &indent };
        let mut current = indent.to_owned();
        let mut used = indent.len();
        let mut fresh = true;
        for word in paragraph.split(' ').filter(|w| !w.is_empty()) {
            let w = width(word);
            if !fresh && used + 1 + w <= max {
                current.push(' ');
                current.push_str(word);
                used += 1 + w;
                continue;
            }
            if !fresh {
                out.push(std::mem::replace(&mut current, indent.to_owned()));
                used = indent.len();
            }
            fresh = false;
            for c in word.chars() {
                let cw = width(c.encode_utf8(&mut [0; 4]));
                if used + cw > max && used > indent.len() {
                    out.push(std::mem::replace(&mut current, indent.to_owned()));
                    used = indent.len();
                }
                current.push(c);
                used += cw;
            }
        }
        out.push(current);
    }
    out
}

/// As [`wrap`], but the first line has `lead` columns less.
pub fn wrap_after(s: &str, lead: usize, max: usize) -> Vec<String> {
    // A word that cannot be broken stands for what comes before.
    let filler = "x".repeat(lead);
    let mut lines = wrap(&format!("{filler}{s}"), max);
    if let Some(first) = lines.first_mut() {
        first.drain(..lead.min(first.len()));
    }
    lines
}

/// A running clock: `0:07`, `12:40`, `1:02:03`.
pub fn clock(d: Duration) -> String {
    let s = d.as_secs();
    if s >= 3600 {
        format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
    } else {
        format!("{}:{:02}", s / 60, s % 60)
    }
}

/// A time that something took: `0.4 s`, `12 s`, `2 min 5 s`, `1 h 3 min`.
pub fn duration(d: Duration) -> String {
    let ms = d.as_millis();
    let s = d.as_secs();
    if ms < 9_950 {
        format!("{}.{} s", (ms + 50) / 1000, (ms + 50) / 100 % 10)
    } else if s < 60 {
        format!("{} s", s.max(10))
    } else if s < 3600 {
        match s % 60 {
            0 => format!("{} min", s / 60),
            rest => format!("{} min {rest} s", s / 60),
        }
    } else {
        match s / 60 % 60 {
            0 => format!("{} h", s / 3600),
            rest => format!("{} h {rest} min", s / 3600),
        }
    }
}

/// An estimate, in steps as coarse as it is vague: `4 s`, `35 s`, `3 min`.
pub fn estimate(d: Duration) -> String {
    let s = d.as_millis().div_ceil(1000);
    match s {
        0..=10 => format!("{} s", s.max(1)),
        11..=60 => format!("{} s", s.div_ceil(5) * 5),
        61..=5400 => format!("{} min", s.div_ceil(60)),
        _ => format!("{} h", s.div_ceil(3600)),
    }
}

/// How long ago: `now`, `42 s ago`, `5 min ago`, `3 h ago`, `12 d ago`.
pub fn ago(then: Timestamp, now: Timestamp) -> String {
    let s = now.since(then).as_secs();
    match s {
        0..=1 => "now".to_owned(),
        2..=89 => format!("{s} s ago"),
        90..=5399 => format!("{} min ago", (s + 30) / 60),
        5400..=129_599 => format!("{} h ago", (s + 1800) / 3600),
        _ => format!("{} d ago", (s + 43_200) / 86_400),
    }
}

/// `512 B`, `1.4 KiB`, `20 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut tenths = u128::from(n) * 10 / 1024;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = next;
    }
    if tenths < 100 {
        format!("{}.{} {unit}", tenths / 10, tenths % 10)
    } else {
        format!("{} {unit}", tenths / 10)
    }
}

/// `1 host`, `2 hosts`.
pub fn count(n: usize, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_never_come_through() {
        assert_eq!(line("plain é 漢"), "plain é 漢");
        assert_eq!(line("a\u{1b}[31mb\u{1b}[0m\tc\nd\n"), "ab c d");
        assert_eq!(line("x\u{7}\u{202e}y"), "x\u{fffd}y");
        assert_eq!(lines("a\tb\r\nc\u{1b}[2J"), "a       b\nc");
        for hostile in ["\u{1b}]0;title\u{7}x", "\u{1b}", "\u{1b}[", "\r", "\u{8}"] {
            let shown = lines(hostile);
            let left = |c: char| c.is_control() && c != '\n';
            assert!(!shown.chars().any(left), "{shown:?}");
        }
    }

    #[test]
    fn text_is_cut_by_columns_not_characters() {
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("abc", 3), "abc");
        assert_eq!(fit("abcd", 3), "ab…");
        assert_eq!(fit("abcd", 0), "");
    }

    #[test]
    fn wrapping_keeps_words_breaks_and_indents() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("  a b\n\nc", 4), ["  a", "  b", "", "c"]);
        assert_eq!(wrap("漢字漢", 4), ["漢字", "漢"]);
        assert_eq!(wrap_after("one two three", 4, 9), ["one", "two three"]);
    }

    #[test]
    fn durations_read_as_people_say_them() {
        let ms = Duration::from_millis;
        assert_eq!(duration(ms(40)), "0.0 s");
        assert_eq!(duration(ms(1_250)), "1.3 s");
        assert_eq!(duration(ms(9_949)), "9.9 s");
        assert_eq!(duration(ms(10_950)), "10 s");
        assert_eq!(duration(ms(59_999)), "59 s");
        assert_eq!(duration(ms(125_000)), "2 min 5 s");
        assert_eq!(duration(ms(3_780_000)), "1 h 3 min");
        assert_eq!(clock(ms(61_000)), "1:01");
        assert_eq!(clock(ms(3_723_000)), "1:02:03");
        assert_eq!(estimate(ms(3_200)), "4 s");
        assert_eq!(estimate(ms(31_000)), "35 s");
        assert_eq!(estimate(ms(61_000)), "2 min");
    }

    #[test]
    fn ages_and_sizes_are_short() {
        let now = Timestamp(1_000_000_000);
        let back = |s: i64| ago(Timestamp(now.0 - s * 1000), now);
        assert_eq!(
            [0, 42, 100, 7200, 200_000].map(back),
            ["now", "42 s ago", "2 min ago", "2 h ago", "2 d ago"]
        );
        assert_eq!(
            [9, 1024, 1_500, 1 << 20, 5 << 30].map(bytes),
            ["9 B", "1.0 KiB", "1.4 KiB", "1.0 MiB", "5.0 GiB"]
        );
    }
}
