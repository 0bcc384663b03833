//! Tickets: who waits for which host, in which order.

use super::Tx;

pub struct Claims<'t>(pub(in crate::store) &'t Tx<'t>);
