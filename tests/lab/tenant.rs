//! What is true of a tenant, asked of the kernel, and of one that is gone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::host::{Host, Kloigos, Tenant};

pub fn step(title: &str) {
    println!("== {title}");
}

pub fn changed(run: &Value) -> u64 {
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

/// No session and no service of the tenant reads what is not its own, however
/// open it is; `others` are files of other tenants.
pub fn confined(host: &Host, tenant: &Tenant, others: &[&str]) {
    host.root("mkdir -p /srv/open && echo secret > /srv/open/file && chmod -R a+rX /srv/open")
        .ok();
    let label = tenant.run("cat /proc/self/attr/current").ok();
    assert!(label.text().contains("enforce"), "{}", label.stdout);
    let ours = ["/root/.bashrc", "/srv/open/file", "/etc/kloigos/owner"];
    for path in ours.iter().chain(others) {
        tenant.refused(&format!("cat {path}"));
    }
    tenant.run("true").ok();
    tenant.refused("systemd-run --user --wait -q cat /srv/open/file");
    tenant.run("systemd-run --user --wait -q true").ok();
}

pub fn confinement(host: &Host, web: &Tenant, db: &Tenant) {
    db.run("for f in ~/note /mnt/db/x; do echo mine > $f && chmod 644 $f; done")
        .ok();
    confined(host, web, &["/home/db/note", "/mnt/db/x"]);
    step("the same with a hostile ~/.bashrc");
    web.run("echo 'echo ran >> ~/ran; cat /srv/open/file > ~/stolen 2>/dev/null' > ~/.bashrc")
        .ok();
    // The hostile file must have had its turn, or this would prove nothing.
    web.run("grep -q ran ~/ran").ok();
    web.run("test ! -s ~/stolen").ok();
    web.run("rm -f ~/.bashrc ~/stolen ~/ran").ok();
}

/// All that the kernel has of a tenant, to be compared with a later look.
pub fn kernel_state(host: &Host, user: &str, uid: &str, address: &str) -> String {
    host.root(&format!(
        "findmnt -rno TARGET,SOURCE,FSTYPE,OPTIONS | grep -E '^/mnt/(kloigos/|{user} )' | sort
         for file in memory.max memory.high cpuset.cpus cpuset.cpus.effective; do
             echo $file $(cat /sys/fs/cgroup/user.slice/user-{uid}.slice/$file)
         done
         ip -o addr show | grep -oF 'inet {address}/32'
         ip rule show | grep -w {uid}
         ip route show table {uid} | sort
         ip route get 198.51.100.1 uid {uid} | head -n 1
         nft -n list table inet kloigos
         grep -w kloigos-{user} /sys/kernel/security/apparmor/profiles
         systemctl is-active user@{uid}.service kloigos-nftables.service kloigos-addresses.timer kloigos-cap-audit.timer
         cat /proc/$(systemctl show -P MainPID user@{uid}.service)/attr/current
         cat /sys/fs/cgroup/user.slice/user-{uid}.slice/user@{uid}.service/cgroup.controllers
         sysctl -n fs.protected_symlinks fs.protected_hardlinks fs.protected_fifos fs.protected_regular net.ipv4.ping_group_range
         sshd -T -C user={user},host=localhost,addr=127.0.0.1 | grep -E '^(forcecommand|permituserrc|allowstreamlocalforwarding|subsystem)'
         ls -ld /home/{user} /opt/{user} /mnt/{user} | awk '{{print $1,$3,$4,$NF}}'"
    ))
    .ok()
    .stdout
}

/// A connection that the tenant opens without binding leaves from its own
/// address, and the answer comes back.
pub fn own_address(host: &Host, web: &Tenant, address: &str) {
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
        assert!(flow.contains(address), "{flow}");
        assert!(!flow.contains("10.0.2.15"), "{flow}");
    }
}

/// A user service outlives the logout.
pub fn services(web: &Tenant) {
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
pub fn traces(host: &Host, user: &str, uid: &str, address: &str) -> Vec<String> {
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
