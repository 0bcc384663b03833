use super::Tx;

pub struct Settings<'t>(pub(in crate::store) &'t Tx<'t>);
