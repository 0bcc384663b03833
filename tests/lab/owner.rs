//! Whose a host is, and what on it belongs to others. The steps go on where a
//! host with the tenant `web` on its first unit stands.

use serde_json::{Value, json};

use crate::host::{Host, Kloigos, Ran};
use crate::modules::Modules;
use crate::reboot::{self, WEB};
use crate::tenant::{changed, kernel_state, step};

/// Everything of Kloigos on the host, by content.
fn traces(host: &Host) -> String {
    host.root("find /etc/kloigos /usr/local/lib/kloigos /etc/systemd /etc/apparmor.d /etc/ssh /etc/passwd /etc/group /home /opt -type f ! -name .bash_history -exec sha256sum {} + | sort -k 2; ip -o addr show | grep -o 'inet [^ ]*'")
        .ok()
        .stdout
}

#[track_caller]
fn foreign(ran: Ran) {
    let ran = ran.exits(1);
    for part in ["belongs to another Kloigos store", "--adopt"] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

/// An operator's own playbook, by which a store takes the host for READY.
const CREDULOUS: &str = "---
- name: All is well
  hosts: kloigos_server
  gather_facts: false
  tasks:
    - name: Facts
      ansible.builtin.set_stats:
        data: {kloigos: {cpus: 2, memory_mb: 900}}
        per_host: false
";

pub fn another_store(k: &Kloigos, host: &Host) {
    let name = host.name();
    let uid = k.json(&["alloc", "show", "web"])["uid"].to_string();
    let state = || (kernel_state(host, "web", &uid, WEB), traces(host));
    let before = state();

    step("another store is refused by every playbook");
    let thief = Kloigos::new();
    reboot::prepare(&thief, host);
    foreign(reboot::add(&thief, host));
    foreign(thief.run(&["server", "init", name, "--disk", "/dev/vdb"]));
    let playbook = thief.dir.path().join("credulous.yml");
    std::fs::write(&playbook, CREDULOUS).unwrap();
    let push = [
        "playbook",
        "push",
        "SERVER_INIT",
        playbook.to_str().unwrap(),
        "--default",
    ];
    thief.run(&push).ok();
    thief.run(&["server", "init", name]).ok();
    let unit = format!("{name}-cu00");
    // The same name, user, UID, address and unit as the tenant that lives there.
    let key = k.dir.path().join("web.pub");
    let key = key.to_str().unwrap();
    let create = [
        "alloc", "create", "web", "--key", key, "--ip", WEB, "--cu", &unit,
    ];
    foreign(thief.run(&create));
    assert_eq!(
        thief.json(&["alloc", "show", "web"])["uid"].to_string(),
        uid
    );
    foreign(thief.run(&["alloc", "retry", "web"]));
    foreign(thief.run(&["alloc", "delete", "web", "--yes"]));
    // Decommissioning too; as a check, since the host has to be READY for the
    // thief later.
    foreign(thief.run(&["run", "SERVER_DECOMM", "--check", "--host", name]));
    let shown = thief.json(&["alloc", "show", "web"]);
    assert_eq!(shown["status"], "DEALLOCATION_FAIL");
    assert_eq!(state(), before);

    step("it takes the host over when told to, and then the first is refused");
    thief.run(&["playbook", "rollback", "SERVER_INIT"]).ok();
    let owner = || host.root("cat /etc/kloigos/owner").ok().stdout;
    let first = owner();
    thief.run(&["server", "init", name, "--adopt"]).ok();
    assert_ne!(owner(), first);
    foreign(k.run(&["server", "init", name]));
    assert_eq!(kernel_state(host, "web", &uid, WEB), before.0);

    step("the first takes it back, and its tenant is as it was");
    let back = k.json(&["server", "init", name, "--adopt"]);
    assert_eq!(owner(), first);
    assert_eq!(changed(&back["run"]), 1, "the owner stamp: {back}");
    // What was said once is not said for ever.
    foreign(thief.run(&["server", "init", name]));
    let again = k.json(&["server", "init", name]);
    assert_eq!(changed(&again["run"]), 0, "{again}");
    assert_eq!(state(), before);
}

/// A name, what is there and how it goes again, what differs in what is asked
/// for, what is said.
type Case<'c> = (&'c str, String, String, Value, String);

fn cases(unit: &str, storage: &str, web: &str) -> Vec<Case<'static>> {
    let case = |name, given: &str, undo: &str, asked: Value, says: &str| -> Case<'static> {
        (
            name,
            given.to_owned(),
            undo.to_owned(),
            asked,
            says.to_owned(),
        )
    };
    let marker = |name: &str, text: &str| {
        format!("printf '%s' '{text}' > /etc/kloigos/allocations/{name}.json")
    };
    let unmark = |name: &str| format!("rm /etc/kloigos/allocations/{name}.json");
    let of_db = |phase: &str, uid: u32| {
        marker("db", &json!({"allocation_id": "db", "login_user": "db", "login_uid": uid, "address": "10.0.2.51", "compute_id": unit, "storage": storage, "phase": phase}).to_string())
    };
    vec![
        case("nothing is in the way", "true", "true", json!({}), ""),
        case(
            "a user of that name",
            "useradd -u 5000 db",
            "userdel db",
            json!({}),
            "the user db (UID 5000) already exists",
        ),
        case(
            "the UID",
            "useradd -u 20001 -g users other",
            "userdel other",
            json!({}),
            "UID 20001 already belongs to other",
        ),
        case(
            "the GID",
            "groupadd -g 20001 others",
            "groupdel others",
            json!({}),
            "GID 20001 already exists (group others",
        ),
        case(
            "a group of that name",
            "groupadd -g 5000 db",
            "groupdel db",
            json!({}),
            "the group db already exists",
        ),
        case(
            "the address, on the host",
            "ip addr add 10.0.2.51/32 dev lo",
            "ip addr del 10.0.2.51/32 dev lo",
            json!({}),
            "10.0.2.51 is already on lo",
        ),
        case(
            "the address, in the network",
            "true",
            "true",
            json!({"address": "10.0.2.2"}),
            "10.0.2.2 is in use: 52:55:0a:00:02:02 on the network of eth0",
        ),
        case(
            "the address, in the network, IPv6",
            "true",
            "true",
            json!({"address": "fe80::2"}),
            "fe80::2 is in use",
        ),
        case(
            "a home",
            "mkdir /home/db",
            "rmdir /home/db",
            json!({}),
            "/home/db already exists",
        ),
        case(
            "a home that is a link",
            "ln -s /nowhere /home/db",
            "rm /home/db",
            json!({}),
            "/home/db already exists",
        ),
        case(
            "a directory in /opt",
            "mkdir /opt/db",
            "rmdir /opt/db",
            json!({}),
            "/opt/db already exists",
        ),
        case(
            "a directory in /mnt",
            "mkdir /mnt/db",
            "rmdir /mnt/db",
            json!({}),
            "/mnt/db already exists",
        ),
        case(
            "files on the volume",
            &format!("touch {storage}/x"),
            &format!("rm {storage}/x"),
            json!({}),
            "is not empty",
        ),
        case(
            "the volume is not mounted",
            &format!("umount {storage}"),
            &format!(
                "mount {storage} || systemctl start $(systemd-escape -p --suffix=mount {storage})"
            ),
            json!({}),
            "is not mounted",
        ),
        case(
            "another tenant's user",
            "true",
            "true",
            json!({"login_user": "web", "login_uid": 30000}),
            "the allocation web already has login_user web",
        ),
        case(
            "another tenant's UID",
            "true",
            "true",
            json!({"login_uid": 20000}),
            "the allocation web already has login_uid 20000",
        ),
        case(
            "another tenant's address",
            "true",
            "true",
            json!({"address": WEB}),
            "the allocation web already has address 10.0.2.50",
        ),
        case(
            "another tenant's unit",
            "true",
            "true",
            json!({"compute_id": unit.replace("cu01", "cu00")}),
            "the allocation web already has compute_id",
        ),
        case(
            "another tenant's volume",
            "true",
            "true",
            json!({"storage": web}),
            "the allocation web already has storage",
        ),
        case(
            "another tenant's volume under another path",
            &format!("mkdir -p /mnt/other/cu00; mount --bind {web} /mnt/other/cu00"),
            "umount /mnt/other/cu00; rm -r /mnt/other",
            json!({"storage": "/mnt/other/cu00"}),
            "the allocation web already has the volume",
        ),
        case(
            "a marker that is cut off",
            &marker("x", "{\"allocation_id\": "),
            &unmark("x"),
            json!({}),
            "the marker x.json in /etc/kloigos/allocations cannot be read",
        ),
        case(
            "a marker that is empty",
            // The program that renders the rules says so too, and leaves them.
            &format!(
                "{}; said=$(/usr/local/lib/kloigos/kloigos-net rules 2>&1) && exit 1; [[ $said == *'marker x.json'* && $said != *Traceback* ]]",
                marker("x", "")
            ),
            &unmark("x"),
            json!({}),
            "the marker x.json",
        ),
        case(
            "a marker that is no mapping",
            &marker("x", "[1]"),
            &unmark("x"),
            json!({}),
            "the marker x.json",
        ),
        case(
            "its own marker, cut off",
            &marker("db", "{"),
            &unmark("db"),
            json!({}),
            "the marker db.json",
        ),
        case(
            "half deleted",
            &of_db("deleting", 20001),
            &unmark("db"),
            json!({}),
            "half deleted",
        ),
        case(
            "the same allocation with another UID",
            &of_db("present", 20002),
            &unmark("db"),
            json!({}),
            "with login_uid 20002, not 20001",
        ),
        case(
            "another store",
            "true",
            "true",
            json!({"owner_id": "thief"}),
            "belongs to another Kloigos store",
        ),
        case(
            "no store's",
            "mv /etc/kloigos/owner /root/owner",
            "mv /root/owner /etc/kloigos/owner",
            json!({}),
            "is not initialised",
        ),
        case("still nothing in the way", "true", "true", json!({}), ""),
    ]
}

/// ALLOCATION_CREATE refuses what others have.
pub fn others_things(k: &Kloigos, host: &Host) {
    step("what others have on the host is refused");
    let name = host.name();
    let before = traces(host);
    let unit = format!("{name}-cu01");
    let path = |n: &str| format!("/mnt/kloigos/{name}/{n}");
    let asked = json!({
        "owner_id": host.root("cat /etc/kloigos/owner").ok().text(),
        "allocation_id": "db", "login_user": "db", "login_uid": 20001, "address": "10.0.2.51",
        "private_address": "10.0.2.15", "compute_id": unit, "storage": path("cu01"),
        "cpu_set": "1", "cpu_count": 1
    });
    let cases = cases(&unit, &path("cu01"), &path("cu00"));
    let mut steps = Vec::new();
    for (_, given, undo, differs, _) in &cases {
        let mut arguments = asked.clone();
        for (key, value) in differs.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        steps.push(json!({ "sh": given }));
        steps.push(json!({ "module": "kloigos_tenant_preflight", "args": arguments }));
        steps.push(json!({ "sh": undo }));
    }
    let results = Modules::of(host, "ALLOCATION_CREATE").steps(&steps);
    for (results, (name, .., says)) in results.chunks(3).zip(&cases) {
        assert_eq!(
            (&results[0]["code"], &results[2]["code"]),
            (&json!(0), &json!(0)),
            "{name}: {results:?}"
        );
        let result = &results[1];
        assert_eq!(
            result["failed"] == true,
            !says.is_empty(),
            "{name}: {result}"
        );
        let said = result["msg"].as_str().unwrap_or_default();
        assert!(said.contains(says.as_str()), "{name}: {said}");
        assert!(said.lines().count() < 2, "{name}: {said}");
        println!(
            "  {}: {name}",
            if says.is_empty() { "let in" } else { "refused" }
        );
    }
    assert_eq!(traces(host), before);

    step("the same through the program, and taken back");
    let key = k.dir.path().join("web.pub");
    let create = [
        "alloc",
        "create",
        "db",
        "--key",
        key.to_str().unwrap(),
        "--ip",
        "10.0.2.2",
    ];
    let refused = k.run(&create).exits(1);
    assert!(
        refused.stderr.contains("10.0.2.2 is in use"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        k.json(&["alloc", "show", "db"])["status"],
        "ALLOCATION_FAIL"
    );
    let gone = k.json(&["alloc", "delete", "db", "--yes"]);
    assert_eq!(gone["status"], "DEALLOCATED");
    assert_eq!(traces(host), before);
}
