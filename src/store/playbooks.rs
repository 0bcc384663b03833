use super::Tx;

pub struct Playbooks<'t>(pub(in crate::store) &'t Tx<'t>);
