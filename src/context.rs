//! What every command gets: the surface, and the way to the store.

use crate::clock::Clock;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::ops::{self, Services};
use crate::paths::Paths;
use crate::store::Store;
use crate::ui::Ui;

pub struct Context {
    pub ui: Ui,
    pub clock: Clock,
    pub env: Env,
    /// None when there is neither a home directory nor a choice.
    pub paths: Option<Paths>,
}

/// An open store; hands out what operations need.
pub struct Opened<'a> {
    store: Store,
    paths: &'a Paths,
    context: &'a Context,
}

impl Context {
    pub fn paths(&self) -> Result<&Paths, Error> {
        self.paths.as_ref().ok_or_else(|| {
            Error::new(
                Kind::Store,
                "cannot tell where the store is: there is no home directory",
            )
            .hint("name a directory with `--store DIR` or KLOIGOS_HOME")
        })
    }

    /// For commands that only read: takes no claim, waits on none, writes
    /// nothing.
    pub fn reader(&self) -> Result<Opened<'_>, Error> {
        let paths = self.paths()?;
        Ok(Opened {
            store: ops::open_reader(paths, &self.clock, &self.env)?,
            paths,
            context: self,
        })
    }

    /// For commands that change something. Also finds what a killed process
    /// has left behind.
    pub fn writer(&self) -> Result<Opened<'_>, Error> {
        let paths = self.paths()?;
        Ok(Opened {
            store: ops::open_writer(paths, &self.clock, &self.env)?,
            paths,
            context: self,
        })
    }
}

impl Opened<'_> {
    pub fn services(&self) -> Services<'_> {
        Services {
            store: &self.store,
            paths: self.paths,
            clock: &self.context.clock,
            env: &self.context.env,
        }
    }
}
