//! From an empty store to a tenant logged in over SSH, and gone again without
//! a trace.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::host::{Host, Kloigos, Tenant};

const WEB: &str = "10.0.2.50";
const DB: &str = "10.0.2.51";

fn step(title: &str) {
    println!("== {title}");
}

fn changed(run: &Value) -> u64 {
    run["hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| h["changed"].as_u64().unwrap())
        .sum()
}

/// The unit's CPUs, its memory limit by the rule of design section 5, and
/// both as the kernel has them.
pub fn limits_are_the_kernels(k: &Kloigos, host: &Host, id: &str) {
    let shown = k.json(&["alloc", "show", id]);
    let slice = format!("/sys/fs/cgroup/user.slice/user-{}.slice", shown["uid"]);
    let files = "memory.max memory.high cpuset.cpus.effective";
    let ran = host.root(&format!("cd {slice} && cat {files}")).ok();
    let kernel: Vec<&str> = ran.text().lines().collect();
    let total_mb = k.json(&["server", "show", host.name()])["facts"]["memory_mb"]
        .as_u64()
        .unwrap();
    let max_mb = total_mb * 9 / 20;
    assert_eq!(shown["memory"]["max_mb"], json!(max_mb));
    assert_eq!(
        kernel,
        [
            (max_mb * 1024 * 1024).to_string(),
            ((max_mb * 9 / 10) * 1024 * 1024).to_string(),
            shown["unit"]["cpu_range"].as_str().unwrap().to_owned(),
        ]
    );
}

#[test]
fn a_tenant_comes_and_goes_without_a_trace() {
    main_path("bookworm");
}

#[test]
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
    let port = host.port.to_string();
    let refused = k.run(&[
        "server",
        "add",
        name,
        "--private-ip",
        "10.0.2.15",
        "--public-ip",
        "127.0.0.1",
        "--port",
        &port,
        "--admin-user",
        "admin",
        "--region",
        "lab",
        "--zone",
        "a",
        "--profile",
        "minimal",
        "--cu",
        "0",
        "1",
    ]);
    let refused = refused.exits(1);
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
    own_address(&host, &web);
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

fn confinement(host: &Host, web: &Tenant, db: &Tenant) {
    host.root("mkdir -p /srv/open && echo secret > /srv/open/file && chmod -R a+rX /srv/open")
        .ok();
    db.run("for f in ~/note /mnt/db/x; do echo mine > $f && chmod 644 $f; done")
        .ok();
    let label = web.run("cat /proc/self/attr/current").ok();
    assert!(label.text().contains("enforce"), "{}", label.stdout);
    for path in [
        "/home/db/note",
        "/root/.bashrc",
        "/srv/open/file",
        "/etc/kloigos/owner",
        "/mnt/db/x",
    ] {
        web.refused(&format!("cat {path}"));
    }
    web.run("true").ok();
    step("the same with a hostile ~/.bashrc and under systemd-run");
    web.run("echo 'echo ran >> ~/ran; cat /srv/open/file > ~/stolen 2>/dev/null' > ~/.bashrc")
        .ok();
    // The hostile file must have had its turn, or this would prove nothing.
    web.run("grep -q ran ~/ran").ok();
    web.run("test ! -s ~/stolen").ok();
    web.run("rm -f ~/.bashrc ~/stolen ~/ran").ok();
    web.refused("systemd-run --user --wait -q cat /srv/open/file");
    web.run("systemd-run --user --wait -q true").ok();
}

/// A connection that the tenant opens without binding leaves from its own
/// address, and the answer comes back.
fn own_address(host: &Host, web: &Tenant) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        use std::io::Write;
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"answer\n").unwrap();
    });
    let got = web
        .run(&format!("exec 3<>/dev/tcp/10.0.2.2/{port}; head -n 1 <&3"))
        .ok();
    assert_eq!(got.text(), "answer");
    server.join().unwrap();
    let flows = host.tcp_sources(port);
    assert!(
        !flows.is_empty(),
        "the capture has no connection to port {port}"
    );
    for flow in &flows {
        assert!(flow.contains(WEB), "{flow}");
        assert!(!flow.contains("10.0.2.15"), "{flow}");
    }
}

/// A user service outlives the logout.
fn services(web: &Tenant) {
    web.run(
        "mkdir -p ~/.config/systemd/user && printf '[Service]\\nExecStart=/bin/sleep 600\\n' > ~/.config/systemd/user/nap.service && systemctl --user daemon-reload && systemctl --user start nap",
    )
    .ok();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(
        web.run("systemctl --user is-active nap").ok().text(),
        "active"
    );
}

pub fn nothing_left(host: &Host, user: &str, uid: &str, address: &str) {
    let found = traces(host, user, uid, address);
    assert!(found.is_empty(), "left of {user}: {found:#?}");
}

/// What is there of a tenant, by kind. One round trip.
fn traces(host: &Host, user: &str, uid: &str, address: &str) -> Vec<String> {
    let dotted = address.replace('.', "\\.");
    let parts = [
        (
            "files",
            format!(
                "find / -xdev \\( -uid {uid} -o -gid {uid} \\) -print; find /tmp /var/tmp /dev/shm /run /mnt -uid {uid} -print 2>/dev/null"
            ),
        ),
        ("processes", format!("ps -o pid=,args= -u {uid}")),
        (
            "user",
            format!(
                "getent passwd {user}; getent group {user}; grep -E '[:,]{user}(,|$)' /etc/group"
            ),
        ),
        (
            "rules",
            format!("nft list ruleset | grep -wE '{uid}|{dotted}'"),
        ),
        ("routing rules", format!("ip rule show | grep -w {uid}")),
        ("routes", format!("ip route show table {uid} 2>/dev/null")),
        ("address", format!("ip -o addr show | grep -wF {address}")),
        (
            "profile",
            format!(
                "grep -w {user} /sys/kernel/security/apparmor/profiles; ls /etc/apparmor.d | grep -w {user}"
            ),
        ),
        (
            "drop-ins",
            format!(
                "ls -d /etc/systemd/system/*{uid}* /run/systemd/system/*{uid}* /etc/systemd/system.control/*{uid}* /run/systemd/system.control/*{uid}* 2>/dev/null"
            ),
        ),
        (
            "mounts",
            format!("findmnt -rno TARGET | grep -E '/(home|opt|mnt)/{user}$'"),
        ),
        (
            "home",
            format!(
                "ls -d /home/{user} /opt/{user} /mnt/{user} /var/mail/{user} /var/lib/systemd/linger/{user} 2>/dev/null"
            ),
        ),
        (
            "traces in /etc",
            format!(
                "grep -rlwE '{user}' /etc/kloigos /etc/ssh/sshd_config.d /etc/sudoers.d /etc/security 2>/dev/null"
            ),
        ),
    ];
    let mut script = String::new();
    for (what, part) in parts {
        script.push_str(&format!(
            "left=$({part}); [ -z \"$left\" ] || printf '%s: %s\\n' '{what}' \"${{left//$'\\n'/, }}\"\n"
        ));
    }
    // Its own last line says that every part had its turn.
    let ran = host.root(&format!("{script}echo looked")).ok();
    let mut found: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    assert_eq!(found.pop().as_deref(), Some("looked"), "{}", ran.stderr);
    found
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
