use super::Tx;

pub struct ComputeUnits<'t>(pub(in crate::store) &'t Tx<'t>);
