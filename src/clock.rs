//! The only door to the wall clock.

use crate::domain::time::Timestamp;

/// Where "now" comes from; tests fix it.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    System,
    Fixed(Timestamp),
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn now(&self) -> Timestamp {
        match self {
            Clock::System => Timestamp(jiff::Timestamp::now().as_millisecond()),
            Clock::Fixed(t) => *t,
        }
    }
}
