//! The inventory that a run gets when the user brings none.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

/// A registered server as a host.
#[derive(Debug, Clone)]
pub struct InventoryHost {
    pub name: String,
    pub group: String,
    pub address: IpAddr,
    pub port: u16,
    pub user: String,
}

/// The hosts in their groups, `others` (as ssh takes them) ungrouped, and
/// nothing else; the implicit localhost stays. `key_file` and `ssh_args` are
/// for the registered servers alone.
pub fn generated(
    servers: &[InventoryHost],
    others: &[String],
    key_file: &str,
    ssh_args: &str,
) -> Result<String, serde_yaml::Error> {
    let mut groups: Map<String, Value> = Map::new();
    for host in servers {
        let mut vars = json!({
            "ansible_host": host.address,
            "ansible_port": host.port,
            "ansible_user": host.user,
            "ansible_ssh_common_args": ssh_args,
            // What the packaged playbooks' hosts have; asking costs a round trip.
            "ansible_python_interpreter": "auto_silent",
        });
        if !key_file.is_empty() {
            vars["ansible_ssh_private_key_file"] = json!(key_file);
        }
        let group = groups
            .entry(host.group.clone())
            .or_insert_with(|| json!({ "hosts": {} }));
        group["hosts"][&host.name] = vars;
    }
    let mut all = json!({ "children": groups });
    if !others.is_empty() {
        let list: Map<String, Value> = others.iter().map(|h| (h.clone(), host_vars(h))).collect();
        all["hosts"] = Value::Object(list);
    }
    crate::yaml::to_string(&json!({ "all": all }))
}

/// `NAME`, `NAME:PORT`, `[2001:db8::5]:PORT`.
fn host_vars(host: &str) -> Value {
    let Some((name, port)) = split_port(host) else {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        return json!({ "ansible_host": bare });
    };
    json!({ "ansible_host": name, "ansible_port": port })
}

/// An address of IPv6 has colons of its own: a port only follows brackets.
pub fn split_port(host: &str) -> Option<(&str, u16)> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => host
            .split_once(':')
            .filter(|(_, rest)| !rest.contains(':'))?,
    };
    Some((name, port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_told_from_addresses() {
        assert_eq!(split_port("web:2222"), Some(("web", 2222)));
        assert_eq!(
            split_port("[2001:db8::5]:2222"),
            Some(("2001:db8::5", 2222))
        );
        assert_eq!(split_port("2001:db8::5"), None);
        assert_eq!(split_port("web"), None);
        assert_eq!(split_port("[2001:db8::5]"), None);
    }

    #[test]
    fn servers_stand_in_their_group_with_their_connection() {
        let text = generated(
            &[InventoryHost {
                name: "lab1".into(),
                group: "kloigos_server".into(),
                address: "2001:db8::5".parse().unwrap(),
                port: 2222,
                user: "admin".into(),
            }],
            &["other:2022".into()],
            "/k",
            "-o X=y",
        )
        .unwrap();
        let value: Value = serde_yaml::from_str(&text).unwrap();
        let host = &value["all"]["children"]["kloigos_server"]["hosts"]["lab1"];
        assert_eq!(host["ansible_host"], "2001:db8::5");
        assert_eq!(host["ansible_port"], 2222);
        assert_eq!(host["ansible_ssh_private_key_file"], "/k");
        assert_eq!(value["all"]["hosts"]["other:2022"]["ansible_port"], 2022);
    }
}
