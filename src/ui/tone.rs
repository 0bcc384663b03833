//! What a colour means. Colour is never the only sign: every state is also a
//! word, in the live display with a mark of its own.

use console::Style;

use crate::domain::allocation::AllocationStatus;
use crate::domain::compute_unit::CuStatus;
use crate::domain::ip::IpStatus;
use crate::domain::run::RunStatus;
use crate::domain::run_event::ResultStatus;
use crate::domain::server::{Health, ServerStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    #[default]
    Plain,
    /// As it should be.
    Good,
    /// Changed something, as asked.
    Changed,
    /// On its way.
    Busy,
    /// To be minded.
    Warn,
    /// Failed.
    Bad,
    /// Of less interest.
    Muted,
    /// A name or heading.
    Strong,
}

/// How this terminal shows tones and marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    pub colour: bool,
    /// Whether the locale can show more than ASCII.
    pub unicode: bool,
}

impl Palette {
    pub const PLAIN: Palette = Palette {
        colour: false,
        unicode: true,
    };

    pub fn paint(self, tone: Tone, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let style = Style::new().force_styling(true);
        let style = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => style.green(),
            Tone::Changed => style.yellow(),
            Tone::Busy => style.cyan(),
            Tone::Warn => style.yellow().bold(),
            Tone::Bad => style.red().bold(),
            Tone::Muted => style.dim(),
            Tone::Strong => style.bold(),
        };
        style.apply_to(text).to_string()
    }

    /// The mark that stands before a state's word.
    pub fn mark(self, tone: Tone) -> &'static str {
        match (tone, self.unicode) {
            (Tone::Good, true) => "✔",
            (Tone::Good, false) => "+",
            (Tone::Changed, true) => "✎",
            (Tone::Changed, false) => "~",
            (Tone::Busy, true) => "▶",
            (Tone::Busy, false) => ">",
            (Tone::Warn, _) => "!",
            (Tone::Bad, true) => "✘",
            (Tone::Bad, false) => "x",
            (Tone::Muted, true) => "·",
            (Tone::Muted, false) => "-",
            (Tone::Plain | Tone::Strong, _) => " ",
        }
    }

    /// Between the parts of one line.
    pub fn dot(self) -> &'static str {
        if self.unicode { " · " } else { " - " }
    }
}

/// Gives each value of a status enum its tone, exhaustively.
macro_rules! tones {
    ($($status:ty { $($tone:ident: $($variant:ident)|+;)+ })+) => {
        $(impl From<$status> for Tone {
            fn from(status: $status) -> Tone {
                match status { $($(<$status>::$variant)|+ => Tone::$tone,)+ }
            }
        })+
    };
}

tones! {
    ServerStatus {
        Good: Ready;
        Busy: Initializing | Decommissioning;
        Bad: InitFail | DecommissionFail;
        Muted: Decommissioned;
        Plain: Registered;
    }
    Health {
        Good: Healthy;
        Warn: Degraded;
        Bad: Unreachable;
        Muted: Unknown;
    }
    CuStatus {
        Plain: Free;
        Good: Allocated;
        Busy: Allocating | Deallocating;
        Bad: AllocationFail | DeallocationFail;
        Muted: Unavailable;
    }
    AllocationStatus {
        Good: Allocated;
        Busy: Requested | Allocating | Scaling | Deallocating;
        Bad: AllocationFail | ScaleFail | DeallocationFail;
        Muted: Deallocated;
    }
    IpStatus {
        Plain: Free;
        Good: Allocated;
        Busy: Reserved | Releasing;
        Muted: Unavailable;
    }
    RunStatus {
        Good: Success;
        Busy: Queued | Running;
        Bad: Failed | Interrupted;
        Warn: Cancelled;
    }
    ResultStatus {
        Good: Ok;
        Changed: Changed;
        Bad: Failed | Unreachable;
        Warn: Ignored | Rescued;
        Muted: Skipped;
    }
}
