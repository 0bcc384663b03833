//! Runs, their hosts, tasks, results and output.

use super::Tx;

pub struct Runs<'t>(pub(in crate::store) &'t Tx<'t>);
