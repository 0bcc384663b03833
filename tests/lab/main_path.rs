//! From an empty store to a tenant logged in over SSH, and gone again without
//! a trace.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::host::{Host, Kloigos, Tenant};
use crate::tenant::{
    changed, confinement, limits_are_the_kernels, nothing_left, own_address, services, step, traces,
};

const WEB: &str = "10.0.2.50";
const DB: &str = "10.0.2.51";

#[test]
fn a_tenant_comes_and_goes_without_a_trace() {
    main_path("bookworm");
}

#[test]
#[ignore = "long: make lab-full"]
fn a_tenant_comes_and_goes_without_a_trace_on_debian_13() {
    main_path("trixie");
}

fn main_path(suite: &str) {
    let host = Host::boot(
        "lab",
        &["--suite", suite, "--disk", "8"],
        &[&format!("{WEB}:22"), &format!("{DB}:22")],
    );
    let k = Kloigos::new();
    let name = host.name();

    step("the store");
    k.json(&["init"]);
    k.run(&["setting", "set", "ssh.private_key_file", host.key()])
        .ok();
    let pool = k.json(&["ip", "add", "10.0.2.50-10.0.2.52"]);
    assert_eq!(pool["added"].as_array().unwrap().len(), 3);

    step("a spare disk with somebody's data and no --disk: refused, nothing written");
    host.root("mkfs.ext4 -q /dev/vdb && mount /dev/vdb /mnt && echo precious > /mnt/data && umount /mnt && sync").ok();
    let sectors_written = || {
        host.root("awk '{print $7}' /sys/block/vdb/stat")
            .ok()
            .text()
            .to_owned()
    };
    let before = sectors_written();
    let refused = k.add_server(&host, "minimal", &[]).exits(1);
    assert!(
        refused.stderr.contains("/dev/vdb") && refused.stderr.contains("--disk"),
        "{}",
        refused.stderr
    );
    let shown = k.json(&["server", "show", name]);
    assert_eq!(shown["status"], "INIT_FAIL");
    assert!(
        shown["status_reason"].as_str().unwrap().contains("--disk"),
        "{shown}"
    );
    assert_eq!(sectors_written(), before);

    step("SERVER_INIT, twice: the second changes nothing");
    let made = k.json(&["server", "init", name, "--disk", "/dev/vdb"]);
    assert_eq!(made["status"], "READY", "{made}");
    assert!(changed(&made["run"]) > 0);
    let again = k.json(&["server", "init", name]);
    assert_eq!(again["status"], "READY");
    assert_eq!(changed(&again["run"]), 0, "{again}");
    let facts = &k.json(&["server", "show", name])["facts"];
    assert_eq!(facts["cpus"], 2);

    step("two compute units with their volumes mounted");
    for unit in ["cu00", "cu01"] {
        let found = host
            .root(&format!(
                "findmnt -no FSTYPE,SOURCE /mnt/kloigos/{name}/{unit}"
            ))
            .ok();
        assert!(found.text().starts_with("ext4"), "{}", found.stdout);
    }

    step("two tenants");
    let web = Tenant::new("web", k.dir.path(), host.forward(&format!("{WEB}:22")));
    let db = Tenant::new("db", k.dir.path(), host.forward(&format!("{DB}:22")));
    for t in [&web, &db] {
        let key = t.public_key();
        let made = k.json(&[
            "alloc",
            "create",
            &t.user,
            "--key",
            key.to_str().unwrap(),
            "--cpus",
            "1",
        ]);
        assert_eq!(made["status"], "ALLOCATED", "{made}");
    }
    limits_are_the_kernels(&k, &host, "web");
    limits_are_the_kernels(&k, &host, "db");

    step("over SSH as the tenant: CPUs, confinement, address, services");
    assert_eq!(web.run("nproc").ok().text(), "1");
    confinement(&host, &web, &db);
    own_address(&host, &web, WEB);
    services(&web);

    step("the way in that `alloc ssh` gives");
    let ssh = k.run(&[
        "alloc",
        "ssh",
        "web",
        "--identity",
        web.public_key().with_extension("").to_str().unwrap(),
        "--",
        "id -un",
    ]);
    assert_eq!(ssh.ok().text(), "web");

    step("delete: nothing of the tenant is left");
    web.run("touch ~/.hidden /tmp/of-web /var/tmp/of-web /dev/shm/of-web /mnt/web/.dot /mnt/web/data /opt/web/x").ok();
    let uid = k.json(&["alloc", "show", "web"])["uid"].to_string();
    // The search for traces finds each kind while there is one.
    let found = traces(&host, "web", &uid, WEB);
    assert_eq!(found.len(), 12, "{found:#?}");
    let gone = k.json(&["alloc", "delete", "web", "--yes"]);
    assert_eq!(gone["status"], "DEALLOCATED", "{gone}");
    nothing_left(&host, "web", &uid, WEB);
    let unit = k.json(&["cu", "show", &format!("{name}-cu00")]);
    assert_eq!(unit["status"], "FREE");
    assert_eq!(
        db.run("id -un").ok().text(),
        "db",
        "the other tenant goes on"
    );

    step("the next tenant on that unit finds an empty volume");
    let next = Tenant::new("next", k.dir.path(), host.forward(&format!("{WEB}:22")));
    killed_in_create(&k, &host, &next);
    assert_eq!(next.run("ls -A /mnt/next | grep -vx lost+found").text(), "");
    assert_eq!(next.run("id -un").ok().text(), "next");

    step("killed in mid-delete, then delete finishes");
    killed_in_delete(&k, &host, "next");
}

/// Starts a command, kills the process with -9 once the run is at work on the
/// host, and waits until the host's claim is free again.
fn kill_in_the_middle(k: &Kloigos, arguments: &[&str]) {
    let mut child = k
        .command(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut tasks = 0;
    for line in lines {
        let line = line.unwrap();
        println!("    {line}");
        if line.contains("TASK") || line.contains("task") {
            tasks += 1;
        }
        if tasks == 6 {
            break;
        }
    }
    assert_eq!(tasks, 6, "the run ended before it could be killed");
    child.kill().unwrap();
    child.wait().unwrap();
}

fn killed_in_create(k: &Kloigos, host: &Host, next: &Tenant) {
    let key = next.public_key();
    kill_in_the_middle(
        k,
        &[
            "alloc",
            "create",
            "next",
            "--key",
            key.to_str().unwrap(),
            "--ip",
            WEB,
            "--cu",
            &format!("{}-cu00", host.name()),
        ],
    );
    let shown = k.json(&["alloc", "show", "next"]);
    assert_eq!(shown["status"], "ALLOCATION_FAIL");
    let run = &k.json(&["runs", "list"])[0];
    assert_eq!(run["status"], "interrupted");
    let done = k.json(&["alloc", "retry", "next"]);
    assert_eq!(done["status"], "ALLOCATED", "{done}");
}

fn killed_in_delete(k: &Kloigos, host: &Host, id: &str) {
    let uid = k.json(&["alloc", "show", id])["uid"].to_string();
    kill_in_the_middle(k, &["alloc", "delete", id, "--yes"]);
    assert_eq!(
        k.json(&["alloc", "show", id])["status"],
        "DEALLOCATION_FAIL"
    );
    let unit = k.json(&["cu", "show", &format!("{}-cu00", host.name())]);
    assert_eq!(
        unit["status"], "DEALLOCATION_FAIL",
        "not free before the host is clean"
    );
    let done = k.json(&["alloc", "delete", id, "--yes"]);
    assert_eq!(done["status"], "DEALLOCATED");
    nothing_left(host, id, &uid, WEB);
}
