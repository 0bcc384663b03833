use super::Tx;

pub struct Allocations<'t>(pub(in crate::store) &'t Tx<'t>);
