//! What a hostile tenant tries from the inside, and what an honest one must be
//! able to do, on one real host with two tenants.
//!
//! Each attempt is a small script that exits with 0 when it got through. It runs
//! over SSH as the tenant, in one session with many others. So that a refusal
//! proves something, the same script is run as a control by an ordinary user
//! without a profile, or by root, and must get through there.

mod exhaustion;
mod inside;
mod logins;
mod network;
mod record;
mod system;

use crate::host::{Host, Kloigos, Tenant};
use record::Record;

const WEB: &str = "10.0.2.50";
const DB: &str = "10.0.2.51";
const MAIN: &str = "10.0.2.15";
const GATEWAY: &str = "10.0.2.2";

pub struct Lab {
    host: Host,
    k: Kloigos,
    web: Tenant,
    db: Tenant,
    web_uid: String,
    db_uid: String,
}

fn lab(suite: &str) -> Lab {
    let host = Host::boot(
        "isolation",
        &["--suite", suite, "--disk", "4"],
        &[&format!("{WEB}:22"), &format!("{DB}:22")],
    );
    let k = Kloigos::new();
    k.json(&["init"]);
    k.run(&["setting", "set", "ssh.private_key_file", host.key()])
        .ok();
    k.json(&["ip", "add", "10.0.2.50-10.0.2.51"]);
    k.add_server(&host, "minimal", &["--disk", "/dev/vdb"]).ok();
    let mut uids = Vec::new();
    let tenants = [("web", WEB), ("db", DB)].map(|(user, address)| {
        let tenant = Tenant::new(user, k.dir.path(), host.forward(&format!("{address}:22")));
        let key = tenant.public_key();
        let key = key.to_str().unwrap();
        #[rustfmt::skip]
        k.json(&["alloc", "create", user, "--key", key, "--cpus", "1", "--ip", address]);
        uids.push(k.json(&["alloc", "show", user])["uid"].to_string());
        tenant
    });
    let [web, db] = tenants;
    Lab {
        host,
        k,
        web,
        db,
        web_uid: uids[0].clone(),
        db_uid: uids[1].clone(),
    }
}

#[test]
fn a_tenant_does_not_get_out_of_its_place() {
    isolation("bookworm");
}

#[test]
#[ignore = "long: make lab-full"]
fn a_tenant_does_not_get_out_of_its_place_on_trixie() {
    isolation("trixie");
}

fn isolation(suite: &str) {
    let lab = lab(suite);
    prepare(&lab);
    let mut record = Record::default();
    inside::files(&lab, &mut record);
    inside::links_in_tmp(&lab, &mut record);
    inside::processes(&lab, &mut record);
    inside::limits(&lab, &mut record);
    system::privileges(&lab, &mut record);
    system::kernel_and_system(&lab, &mut record);
    network::network(&lab, &mut record);
    network::answering_for_another(&lab, &mut record);
    logins::startup_files(&lab, &mut record);
    logins::ssh_features(&lab, &mut record);
    logins::honest_work(&lab, &mut record);
    exhaustion::exhaustion(&lab, &mut record);
    logins::a_pipe_for_its_keys(&lab, &mut record);
    assert!(
        record.wrong.is_empty(),
        "{} of {} did not go as they must:\n{}",
        record.wrong.len(),
        record.tried,
        record.wrong.join("\n")
    );
    println!("{} attempts, all as they must", record.tried);
}

/// A careless neighbour, an ordinary user, and setuid programs.
fn prepare(lab: &Lab) {
    lab.host
        .root(
            "set -e
            useradd --create-home mallory
            mkdir -p /srv/open && echo secret > /srv/open/file && chmod -R a+rX /srv/open
            DEBIAN_FRONTEND=noninteractive apt-get -qy install at cron >/dev/null 2>&1
            install -m 4755 /usr/bin/id /usr/local/bin/setuid-id
            install -m 755 $(readlink -f /usr/bin/python3) /usr/local/bin/cap-python
            setcap cap_net_raw+ep /usr/local/bin/cap-python",
        )
        .ok();
    lab.db
        .run(
            "set -e
            chmod 755 ~ /mnt/db
            for f in ~/note /mnt/db/note /tmp/of-db /var/tmp/of-db /dev/shm/of-db; do echo mine > $f; chmod 666 $f; done
            mkdir -m 777 /tmp/dir-of-db && touch /tmp/dir-of-db/name
            setsid sleep 86399 >/dev/null 2>&1 </dev/null &",
        )
        .ok();
}
