use super::Tx;

pub struct Addresses<'t>(pub(in crate::store) &'t Tx<'t>);
