//! The only way in which a status changes.

use std::fmt;

use thiserror::Error;

/// One permitted step of a state machine. Only `domain` can make one, so a
/// store method that takes a `Change` cannot be handed a status of a caller's
/// own making. The store applies it as a compare-and-set on `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a change does nothing until the store applies it"]
pub struct Change<S> {
    from: S,
    to: S,
}

impl<S: Copy> Change<S> {
    pub(in crate::domain) fn new(from: S, to: S) -> Self {
        Change { from, to }
    }

    pub fn from(&self) -> S {
        self.from
    }

    pub fn to(&self) -> S {
        self.to
    }
}

/// An action that the present state does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot {action} {subject}: it is {state}")]
pub struct WrongState {
    /// A verb, as in "delete".
    pub action: &'static str,
    /// As in "allocation web".
    pub subject: String,
    pub state: String,
    /// What the operator can do instead, as whole hints.
    pub hints: Vec<String>,
}

impl WrongState {
    pub(in crate::domain) fn new(
        action: &'static str,
        subject: impl fmt::Display,
        state: impl fmt::Display,
    ) -> Self {
        WrongState {
            action,
            subject: subject.to_string(),
            state: state.to_string(),
            hints: Vec::new(),
        }
    }

    pub(in crate::domain) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

/// A status enum with its one spelling for the store, JSON and tables.
///
/// `status_enum!(Name { Variant = "TEXT", … })` derives parsing and display
/// from that one spelling.
macro_rules! status_enum {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::domain::transition::UnknownWord;

            fn from_str(s: &str) -> Result<Self, Self::Err> {
                match s {
                    $($text => Ok($name::$variant),)+
                    _ => Err($crate::domain::transition::UnknownWord {
                        word: s.to_owned(),
                        known: &[$($text),+],
                    }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.serialize_str(self.as_str())
            }
        }
    };
}
pub(crate) use status_enum;

/// A word outside a closed list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{word}` is none of {}", known.join(", "))]
pub struct UnknownWord {
    pub word: String,
    pub known: &'static [&'static str],
}
