//! Text that came from elsewhere and goes to a terminal or into JSON.

/// The text without escape sequences and control characters; tabs and line
/// ends stay, a carriage return ends what stood before it on its line only
/// when a terminal would overwrite it, so it becomes a line end.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_csi(&mut chars),
            '\n' | '\t' => out.push(c),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_escape(chars: &mut Chars<'_>) {
    match chars.next() {
        Some('[') => skip_csi(chars),
        // A string command (title, link) ends with BEL or ESC \.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' {
                    return;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    return;
                }
            }
        }
        // Two-character set selections such as ESC ( B.
        Some('(' | ')' | '*' | '+' | '#' | '%') => {
            chars.next();
        }
        _ => {}
    }
}

/// Parameters, then one final byte from @ to ~.
fn skip_csi(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| (' '..='\u{7e}').contains(c)) {
        if ('@'..='~').contains(&c) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_moves_a_cursor_gets_through() {
        assert_eq!(plain("a\u{1b}[31mred\u{1b}[0m\tb\n"), "ared\tb\n");
        assert_eq!(
            plain("\u{1b}]0;title\u{7}x\u{1b}]8;;http://a\u{1b}\\y"),
            "xy"
        );
        assert_eq!(plain("50%\r100%\r\n"), "50%\n100%\n");
        assert_eq!(plain("a\u{8}\u{0}\u{9b}2Jb\u{1b}(Bc"), "abc");
        assert_eq!(plain("é\u{fffd}中"), "é\u{fffd}中");
    }
}
