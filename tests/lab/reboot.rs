//! What a reboot of the host leaves of it: everything. And whose the host is.

use crate::host::{Host, Kloigos, Ran, Tenant};
use crate::owner;
use crate::tenant::{changed, confined, kernel_state, limits_are_the_kernels, own_address, step};

pub const WEB: &str = "10.0.2.50";

/// A store that can reach the host, with addresses.
pub fn prepare(k: &Kloigos, host: &Host) {
    k.json(&["init"]);
    k.run(&["setting", "set", "ssh.private_key_file", host.key()])
        .ok();
    // The last is the network's own gateway: somebody has it.
    k.json(&["ip", "add", WEB, "10.0.2.51", "10.0.2.2"]);
}

/// Adds the host with two units on its spare disk.
pub fn add(k: &Kloigos, host: &Host) -> Ran {
    k.add_server(host, "minimal", &["--disk", "/dev/vdb"])
}

/// A service that the tenant has at every boot.
const SERVICE: &str = "mkdir -p ~/.config/systemd/user && printf '[Service]\\nExecStart=/bin/sleep infinity\\n[Install]\\nWantedBy=default.target\\n' > ~/.config/systemd/user/nap.service && systemctl --user daemon-reload && systemctl --user enable -q --now nap";

fn in_force(k: &Kloigos, host: &Host, web: &Tenant) {
    limits_are_the_kernels(k, host, "web");
    assert_eq!(web.run("nproc").ok().text(), "1");
    confined(host, web, &[]);
    own_address(host, web, WEB);
    assert_eq!(
        web.run("cat /mnt/web/kept ~/kept /opt/web/kept")
            .ok()
            .text(),
        "kept\nkept\nkept"
    );
    assert_eq!(
        web.run("systemctl --user is-active nap").ok().text(),
        "active"
    );
    let label = web
        .run("cat /proc/$(systemctl --user show -P MainPID nap)/attr/current")
        .ok();
    assert_eq!(label.text(), "kloigos-web (enforce)");
}

fn with_tenant(host: &Host, k: &Kloigos) -> Tenant {
    step("a server and a tenant");
    prepare(k, host);
    add(k, host).ok();
    let web = Tenant::new("web", k.dir.path(), host.forward(&format!("{WEB}:22")));
    let key = web.public_key();
    let made = k.json(&[
        "alloc",
        "create",
        "web",
        "--key",
        key.to_str().unwrap(),
        "--ip",
        WEB,
        "--cu",
        &format!("{}-cu00", host.name()),
    ]);
    assert_eq!(made["status"], "ALLOCATED", "{made}");
    web.run("echo kept | tee ~/kept /opt/web/kept > /mnt/web/kept")
        .ok();
    web.run(SERVICE).ok();
    web
}

fn outlives_a_reboot(host: &Host, k: &Kloigos, web: &Tenant) {
    let uid = k.json(&["alloc", "show", "web"])["uid"].to_string();
    let state = || kernel_state(host, "web", &uid, WEB);
    let before = state();
    in_force(k, host, web);

    step("the host is rebooted, and nothing of Kloigos runs after it");
    host.reboot();
    assert_eq!(state(), before);
    in_force(k, host, web);

    step("SERVER_INIT and ALLOCATION_CREATE find nothing to do");
    let again = k.json(&["server", "init", host.name()]);
    assert_eq!(again["status"], "READY");
    assert_eq!(changed(&again["run"]), 0, "{again}");
    let check = [
        "run",
        "ALLOCATION_CREATE",
        "--check",
        "-e",
        "allocation_id=web",
    ];
    k.run(&check).ok();
    let run = &k.json(&["runs", "list", "--limit", "1"])[0];
    let shown = k.json(&["runs", "show", &run["id"].to_string()]);
    assert_eq!(changed(&shown), 0, "{shown}");
    assert_eq!(state(), before);
}

const OPTIONS: [&str; 4] = ["--disk", "2", "--mem", "1024"];

#[test]
#[ignore = "long: make lab-full"]
fn everything_outlives_a_reboot_and_the_host_stays_its_stores() {
    let host = Host::boot("again", &OPTIONS, &[&format!("{WEB}:22")]);
    let k = Kloigos::new();
    let web = with_tenant(&host, &k);
    outlives_a_reboot(&host, &k, &web);
    owner::others_things(&k, &host);
    owner::another_store(&k, &host);
}

#[test]
#[ignore = "long: make lab-full"]
fn everything_outlives_a_reboot_of_debian_13() {
    let options = [&OPTIONS[..], &["--suite", "trixie"]].concat();
    let host = Host::boot("again13", &options, &[&format!("{WEB}:22")]);
    let k = Kloigos::new();
    let web = with_tenant(&host, &k);
    outlives_a_reboot(&host, &k, &web);
}
