//! What an operator changes of a server's record.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::{Profile, Server, ServerStatus};
use crate::domain::cpu::CpuRange;
use crate::domain::name::{LoginUser, Place};

/// What `server edit` was asked to change; None leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct ServerEdit {
    pub private_ip: Option<IpAddr>,
    /// `Some(None)` takes it away.
    pub public_ip: Option<Option<IpAddr>>,
    pub port: Option<u16>,
    pub admin_user: Option<LoginUser>,
    pub region: Option<Place>,
    pub zone: Option<Place>,
    pub profile: Option<Profile>,
    /// Set or replaced.
    pub tags: BTreeMap<String, String>,
    /// Keys of those that go.
    pub untag: Vec<String>,
    /// Of further compute units.
    pub compute_units: Vec<CpuRange>,
}

impl ServerEdit {
    /// The server as it is asked to be.
    pub fn of(&self, server: &Server) -> Server {
        let mut tags = server.tags.clone();
        tags.retain(|key, _| !self.untag.contains(key));
        tags.extend(self.tags.clone());
        Server {
            private_ip: self.private_ip.unwrap_or(server.private_ip),
            public_ip: self.public_ip.unwrap_or(server.public_ip),
            port: self.port.unwrap_or(server.port),
            admin_user: self
                .admin_user
                .as_ref()
                .unwrap_or(&server.admin_user)
                .clone(),
            region: self.region.as_ref().unwrap_or(&server.region).clone(),
            zone: self.zone.as_ref().unwrap_or(&server.zone).clone(),
            profile: self.profile.unwrap_or(server.profile),
            tags,
            ..server.clone()
        }
    }

    /// Whether the host has to follow: a server that was never initialised
    /// gets it all with its first init.
    pub fn needs_init(&self, server: &Server) -> bool {
        let asked = !self.compute_units.is_empty() || self.of(server).profile != server.profile;
        asked && matches!(server.status, ServerStatus::Ready | ServerStatus::InitFail)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;
    use super::*;
    use ServerStatus as S;

    #[test]
    fn an_edit_changes_what_it_names_and_needs_an_init_for_what_is_on_the_host() {
        let mut before = server(S::Ready);
        before.public_ip = Some("10.0.0.9".parse().unwrap());
        before.tags = BTreeMap::from([("a".into(), "1".into()), ("b".into(), "2".into())]);
        let edit = ServerEdit {
            public_ip: Some(None),
            port: Some(2222),
            tags: BTreeMap::from([("c".into(), "3".into())]),
            untag: vec!["a".into()],
            ..ServerEdit::default()
        };
        let after = edit.of(&before);
        assert_eq!((after.public_ip, after.port), (None, 2222));
        assert_eq!(after.private_ip, before.private_ip);
        assert_eq!(after.tags.keys().collect::<Vec<_>>(), ["b", "c"]);
        assert!(!edit.needs_init(&before));

        let profile = |profile| ServerEdit {
            profile: Some(profile),
            ..ServerEdit::default()
        };
        assert!(!profile(Profile::Minimal).needs_init(&before));
        let needs: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| profile(Profile::Build).needs_init(&server(*s)))
            .collect();
        assert_eq!(needs, [S::Ready, S::InitFail]);
        let may: Vec<S> = S::ALL
            .iter()
            .copied()
            .filter(|s| server(*s).may_edit().is_err())
            .collect();
        assert_eq!(may, [S::Initializing, S::Decommissioning]);
    }
}
