//! Points in time as the user reads them: in the user's own zone.

use jiff::tz::TimeZone;

use crate::domain::time::Timestamp;
use crate::env::Env;

/// `TZ` where it names a zone, else the machine's.
pub(super) fn zone(env: &Env) -> TimeZone {
    match env.get("TZ").and_then(|tz| tz.to_str()) {
        Some(name) => TimeZone::get(name.trim_start_matches(':'))
            .or_else(|_| TimeZone::posix(name))
            .unwrap_or(TimeZone::UTC),
        None => TimeZone::system(),
    }
}

/// `2026-12-01 09:30:12 CET`.
pub(super) fn local(t: Timestamp, zone: &TimeZone) -> String {
    format(t, zone, "%Y-%m-%d %H:%M:%S %Z")
}

/// `09:30:12`, for today's doings.
pub(super) fn of_day(t: Timestamp, zone: &TimeZone) -> String {
    format(t, zone, "%H:%M:%S")
}

fn format(t: Timestamp, zone: &TimeZone, how: &str) -> String {
    match jiff::Timestamp::from_millisecond(t.0) {
        Ok(at) => at.to_zoned_datetime(zone.clone()).strftime(how).to_string(),
        Err(_) => t.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_users_own() {
        let t = Timestamp(1_796_083_200_123);
        let shown = |tz| local(t, &zone(&Env::fixed(&[("TZ", tz)], "u")));
        assert_eq!(shown("UTC"), "2026-12-01 00:00:00 UTC");
        assert_eq!(shown("CET-1"), "2026-12-01 01:00:00 CET");
        assert_eq!(shown("nonsense"), "2026-12-01 00:00:00 UTC");
        assert_eq!(of_day(t, &TimeZone::UTC), "00:00:00");
    }
}
