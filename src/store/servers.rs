use super::Tx;

pub struct Servers<'t>(pub(in crate::store) &'t Tx<'t>);
