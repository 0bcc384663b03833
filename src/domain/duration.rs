//! Lengths of time as users write them.

use std::time::Duration;

use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{0}` is not a length of time: write for example 90s, 10m, 2h or 1h30m")]
pub struct DurationError(String);

/// Reads `90s`, `10m`, `2h`, `1d`, `1h30m`; a bare number is seconds.
pub fn parse(s: &str) -> Result<Duration, DurationError> {
    let wrong = || DurationError(s.escape_debug().to_string());
    if let Ok(seconds) = s.parse::<u32>() {
        return Ok(Duration::from_secs(u64::from(seconds)));
    }
    let mut total: u64 = 0;
    let mut digits = String::new();
    // Each unit may stand once, the largest first.
    let mut last = u64::MAX;
    for c in s.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        let unit = match c {
            's' => 1,
            'm' => 60,
            'h' => 3600,
            'd' => 86_400,
            _ => return Err(wrong()),
        };
        let n: u32 = digits.parse().map_err(|_| wrong())?;
        if unit >= last {
            return Err(wrong());
        }
        last = unit;
        total += u64::from(n) * unit;
        digits.clear();
    }
    if digits.is_empty() && last != u64::MAX {
        Ok(Duration::from_secs(total))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_spellings_are_read() {
        for (text, seconds) in [
            ("0", 0),
            ("45", 45),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("1d", 86_400),
            ("1h30m", 5400),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for bad in [
            "",
            "m",
            "10x",
            "-1",
            "1m1h",
            "1m1m",
            "1h30",
            "1.5h",
            "99999999999s",
            "+",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
