//! "Since when", as users write it.

use std::str::FromStr;
use std::time::Duration;

use jiff::civil;
use jiff::tz::TimeZone;
use thiserror::Error;

use crate::domain::duration;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` is neither a length of time nor a date: write for example 2h, 7d, 2026-11-30 or '2026-11-30 18:00'"
)]
pub struct SinceError(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So long before now.
    Ago(Duration),
    /// In the user's own zone.
    Local(civil::DateTime),
    /// With a zone of its own.
    At(Timestamp),
}

impl FromStr for Since {
    type Err = SinceError;

    fn from_str(s: &str) -> Result<Self, SinceError> {
        if let Ok(ago) = duration::parse(s) {
            return Ok(Since::Ago(ago));
        }
        if let Ok(at) = s.parse::<jiff::Timestamp>() {
            return Ok(Since::At(Timestamp(at.as_millisecond())));
        }
        if let Ok(at) = s.parse::<civil::DateTime>() {
            return Ok(Since::Local(at));
        }
        Err(SinceError(s.escape_debug().to_string()))
    }
}

impl Since {
    pub fn resolve(self, now: Timestamp, zone: &TimeZone) -> Timestamp {
        match self {
            Since::Ago(d) => {
                let ms = i64::try_from(d.as_millis()).unwrap_or(i64::MAX);
                Timestamp(now.0.saturating_sub(ms))
            }
            // A time that the clocks skip is the one after the gap.
            Since::Local(at) => zone
                .to_ambiguous_zoned_datetime(at)
                .compatible()
                .map_or(Timestamp(i64::MIN), |z| {
                    Timestamp(z.timestamp().as_millisecond())
                }),
            Since::At(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_dates_and_times_are_read_in_the_users_zone() {
        let now = Timestamp(1_796_083_200_000); // 2026-12-01T00:00:00Z
        let cet = TimeZone::posix("CET-1").unwrap();
        for (text, shown) in [
            ("2h", "2026-11-30T22:00:00.000Z"),
            ("7d", "2026-11-24T00:00:00.000Z"),
            ("2026-11-30", "2026-11-29T23:00:00.000Z"),
            ("2026-11-30 18:00", "2026-11-30T17:00:00.000Z"),
            ("2026-11-30T18:00:00Z", "2026-11-30T18:00:00.000Z"),
        ] {
            let since: Since = text.parse().unwrap();
            assert_eq!(since.resolve(now, &cet).to_string(), shown, "{text}");
        }
        for bad in ["", "yesterday", "2026-13-01", "2026-11", "7 days"] {
            assert!(bad.parse::<Since>().is_err(), "{bad}");
        }
    }
}
