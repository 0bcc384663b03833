//! A server that leaves Kloigos is the host that it was, and can come back.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::host::{Host, Kloigos, Tenant};
use crate::snapshot::{Exception, Snapshot};
use crate::tenant::{changed, step};

const WEB: &str = "10.0.2.50";

/// What SERVER_INIT would install; brought by the administrator, so that the
/// package system has nothing to do between two snapshots.
const PACKAGES: &[&str] = &[
    "libpam-apparmor",
    "dbus-user-session",
    "apparmor-utils",
    "rsync",
    "nftables",
    "at",
    "cron",
];

/// What may differ after Kloigos has left. Nothing else may.
const AS_BEFORE: &[Exception] = &[
    (
        "file",
        "/etc/group-",
        "groupadd and groupdel keep the list as it was before their last change",
    ),
    ("file", "/etc/gshadow-", "the same"),
    ("file", "/etc/passwd-", "the same, by useradd and userdel"),
    ("file", "/etc/shadow-", "the same"),
    ("file", "/etc/subuid-", "the same"),
    ("file", "/etc/subgid-", "the same"),
    (
        "file",
        "/etc/.pwd.lock",
        "the lock of those programs, made by the first of them",
    ),
    (
        "unit",
        "network-online.target",
        "once reached, for whoever asked, it stays so until the next boot",
    ),
    (
        "unit",
        "systemd-networkd-wait-online.service",
        "what reaches it",
    ),
];

/// What may be other, beside that, while Kloigos is there; that more is there is its purpose.
const WHILE_THERE: &[Exception] = &[
    (
        "sysctl",
        "*",
        "links and pipes in /tmp, and ping, are set for all",
    ),
    ("delegation", "*", "more controllers, by one more drop-in"),
    ("cgroup", "*", "more controllers"),
    ("disk", "/dev/vdb", "the disk that was named"),
    ("file", "/etc/group", "the lines are compared by themselves"),
    ("file", "/etc/gshadow", "the same"),
    ("file", "/etc/passwd", "the same"),
    ("file", "/etc/shadow", "the same"),
    ("file", "/etc/subuid", "the same"),
    ("file", "/etc/subgid", "the same"),
];

/// A host with foreign things on it and a store that knows how to reach it.
struct Scene {
    host: Host,
    k: Kloigos,
}

impl Scene {
    fn new(name: &str, suite: &str, packages: &[&str]) -> Self {
        let host = Host::boot(
            name,
            &[
                "--suite", suite, "--mem", "1024", "--disk", "1", "--disk", "1",
            ],
            &[&format!("{WEB}:22")],
        );
        let k = Kloigos::new();
        k.json(&["init"]);
        k.run(&["setting", "set", "ssh.private_key_file", host.key()])
            .ok();
        step("somebody else's things on the host");
        host.root(&format!(
            "set -- {}\n{}",
            packages.join(" "),
            include_str!("foreign.sh")
        ))
        .ok();
        Scene { host, k }
    }

    #[track_caller]
    fn add(&self, storage: &[&str]) {
        let json = [storage, &["--format", "json"]].concat();
        let made = self.k.add_server(&self.host, "minimal", &json).ok().json();
        assert_eq!(made["status"], "READY", "{made}");
    }

    fn status(&self) -> Value {
        self.k.json(&["server", "show", self.host.name()])["status"].clone()
    }

    fn decommission<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let command = ["server", "decommission", self.host.name(), "--yes"];
        [&command[..], more].concat()
    }

    #[track_caller]
    fn is_decommissioned(&self, more: &[&str]) {
        let done = self.k.json(&self.decommission(more));
        assert_eq!(done["status"], "DECOMMISSIONED", "{done}");
        assert!(changed(&done["run"]) > 0, "{done}");
    }

    /// Refused by the playbook, for a reason that says this, nothing changed.
    #[track_caller]
    fn refused_on_the_host(&self, word: &str) {
        self.k.run(&self.decommission(&[])).exits(1);
        let shown = self.k.json(&["server", "show", self.host.name()]);
        assert_eq!(shown["status"], "DECOMMISSION_FAIL");
        let reason = shown["status_reason"].as_str().unwrap();
        assert!(
            reason.contains(word) && reason.contains("nothing was changed"),
            "{reason}"
        );
    }

    /// A run of the command, killed with -9 when this task has begun or ended.
    fn killed_at(&self, arguments: &[&str], task: &str) {
        let mut child = self
            .k
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let reached = lines.any(|line| {
            let line = line.unwrap();
            println!("    {line}");
            line.contains(task)
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(reached, "the run ended before {task}");
    }

    /// Those of the words that stand on the disk that Kloigos had, read as it
    /// is, not as it was cached.
    fn on_disk(&self, words: &[&str]) -> Vec<String> {
        // No grep: to it a disk of zeroes is one line of a gigabyte.
        let script = format!(
            "sync; blockdev --flushbufs /dev/vdb; python3 - {} <<'END'
import sys
tail, left = b'', [word.encode() for word in sys.argv[1:]]
with open('/dev/vdb', 'rb', buffering=0) as disk:
    while left and (chunk := disk.read(1 << 20)):
        for word in [word for word in left if word in tail + chunk]:
            left.remove(word)
            print(word.decode())
        tail = chunk[-64:]
END",
            words.join(" ")
        );
        let ran = self.host.root(&script).ok();
        ran.text().lines().map(str::to_owned).collect()
    }
}

/// The main way: a tenant lived here, the server leaves, the host is as before.
fn leaves_without_a_trace(suite: &str) {
    let s = Scene::new("leaves", suite, PACKAGES);
    let before = Snapshot::of(&s.host);
    s.k.json(&["ip", "add", WEB]);

    step("the server, and a tenant who writes something");
    s.add(&["--disk", "/dev/vdb"]);
    let web = Tenant::new("web", s.k.dir.path(), s.host.forward(&format!("{WEB}:22")));
    let key = web.public_key();
    s.k.json(&["alloc", "create", "web", "--key", key.to_str().unwrap()]);
    web.run("for i in 1 2 3; do echo the-tenants-secret-$i; done > /mnt/web/data; sync")
        .ok();
    let words = ["the-tenants-secret-2", "kloigos_cu00"];
    assert_eq!(s.on_disk(&words).len(), 2, "else nothing could be missed");

    step("nobody else's things were touched");
    let there = Snapshot::of(&s.host);
    before.still_in(&there, &[AS_BEFORE, WHILE_THERE].concat());
    assert!(there.has("nftables", "table inet kloigos"));
    assert!(there.has("file", "/etc/kloigos/owner") && there.has("volume group", "kloigos-vg"));

    step("while a tenant lives there it is refused");
    let refused = s.k.run(&s.decommission(&[])).exits(4);
    assert!(
        refused.stderr.contains("1 allocation"),
        "{}",
        refused.stderr
    );
    s.k.json(&["alloc", "delete", "web", "--yes"]);

    step("killed in the middle, the server can leave all the same");
    s.killed_at(&s.decommission(&[]), "wiped and gone");
    assert_eq!(s.status(), "DECOMMISSION_FAIL");
    s.is_decommissioned(&[]);
    before.same_as(&Snapshot::of(&s.host), AS_BEFORE);
    assert_eq!(s.on_disk(&words), [""; 0]);

    step("nothing is left to do");
    let check = ["run", "SERVER_DECOMM", "--host", s.host.name()];
    let check = [&check[..], &["--check", "--detailed-exitcode"]].concat();
    s.k.run(&check).ok();
    s.k.run(&["server", "remove", s.host.name(), "--yes"]).ok();
}

#[test]
#[ignore = "long: make lab-full"]
fn a_decommissioned_host_is_as_it_was() {
    leaves_without_a_trace("bookworm");
}

mod long {
    use super::*;

    /// What a second run of the playbook does is seen in a copy of it, since the
    /// command refuses a server that has left.
    fn again_changes_nothing(s: &Scene) {
        let bundle = s.k.dir.path().join("decomm");
        let bundle = bundle.to_str().unwrap();
        s.k.run(&["playbook", "export", "SERVER_DECOMM", bundle])
            .ok();
        s.k.run(&["playbook", "push", "AGAIN", bundle]).ok();
        let owner = s.host.root("cat /etc/kloigos/owner").ok();
        let variables = [
            format!("hostname={}", s.host.name()),
            "ansible_host=127.0.0.1".to_owned(),
            format!("ansible_port={}", s.host.port),
            "server_admin_user=admin".to_owned(),
            format!("kloigos_owner_id={}", owner.text()),
        ];
        let mut again = vec!["run", "AGAIN"];
        for v in &variables {
            again.extend(["-e", v.as_str()]);
        }
        s.is_decommissioned(&["--purge-packages"]);
        s.k.run(&again).ok();
        let run = &s.k.json(&["runs", "list", "--limit", "1"])[0];
        assert_eq!(changed(run), 0, "{run}");
    }

    /// After an init that was cut, after a tampered stamp; and back with the
    /// layout that it had.
    fn leaves_half_made_and_comes_back(suite: &str) {
        let s = Scene::new("returns", suite, PACKAGES);
        let before = Snapshot::of(&s.host);
        let name = s.host.name().to_owned();

        step("killed in the middle of SERVER_INIT");
        let add = s.host.adding("minimal", &["--disk", "/dev/vdb"]);
        let add: Vec<&str> = add.iter().map(String::as_str).collect();
        s.killed_at(&add, "has its volume");
        assert_eq!(s.status(), "INIT_FAIL");
        s.is_decommissioned(&[]);
        before.same_as(&Snapshot::of(&s.host), AS_BEFORE);

        step("back, with what it had");
        let units = |s: &Scene| {
            let all = s.k.json(&["cu", "list"]);
            let list = all.as_array().unwrap();
            list.iter()
                .map(|u| (u["id"].clone(), u["cpu_range"].clone(), u["status"].clone()))
                .collect::<Vec<_>>()
        };
        let had = units(&s);
        let back = s.k.json(&["server", "recommission", &name]);
        assert_eq!(back["status"], "READY", "{back}");
        assert_eq!(units(&s), had);
        assert_eq!(had.len(), 2);
        s.host
            .root(&format!(
                "findmnt /mnt/kloigos/{name}/cu00 && findmnt /mnt/kloigos/{name}/cu01"
            ))
            .ok();
        let again = s.k.json(&["server", "init", &name]);
        assert_eq!(changed(&again["run"]), 0, "{again}");

        step(
            "refused on the host: another store's stamp, a tenant of whom the store knows nothing, a volume in use",
        );
        s.host
            .root("cp -a /etc/kloigos/owner /etc/kloigos/owner.was; echo 11111111-2222-3333-4444-555555555555 > /etc/kloigos/owner")
            .ok();
        s.refused_on_the_host("another Kloigos store");
        s.host
            .root("mv /etc/kloigos/owner.was /etc/kloigos/owner; echo '{\"allocation_id\": \"stray\"}' > /etc/kloigos/allocations/stray.json")
            .ok();
        s.refused_on_the_host("stray");
        s.host
            .root(&format!("rm /etc/kloigos/allocations/stray.json; systemd-run -q --unit=stands -p WorkingDirectory=/mnt/kloigos/{name}/cu00 sleep infinity"))
            .ok();
        s.refused_on_the_host("in use");
        s.host.root("systemctl stop stands").ok();

        step("the disk's group has a volume of somebody else: the group stays");
        s.host
            .root("lvcreate -q -y -l 1 -n theirs kloigos-vg && echo keep | dd of=/dev/kloigos-vg/theirs conv=notrunc status=none")
            .ok();
        again_changes_nothing(&s);
        let kept = s
            .host
            .root("vgs --noheadings -o vg_tags kloigos-vg; lvs --noheadings -o lv_name kloigos-vg; head -c 4 /dev/kloigos-vg/theirs")
            .ok();
        assert_eq!(
            kept.text().split_whitespace().collect::<Vec<_>>(),
            ["theirs", "keep"]
        );
        s.host
            .root("lvremove -q -y kloigos-vg/theirs && vgremove -q kloigos-vg && pvremove -q /dev/vdb && rm -f /etc/lvm/archive/kloigos-vg* && udevadm settle")
            .ok();
        // --purge-packages was given, and none of them had come with SERVER_INIT.
        before.same_as(&Snapshot::of(&s.host), AS_BEFORE);
    }

    /// The volumes in a group of somebody else, and packages that go as they came.
    fn leaves_a_foreign_group_and_takes_its_packages(suite: &str) {
        let s = Scene::new("foreign", suite, &["nftables", "at", "cron"]);
        let before = Snapshot::of(&s.host);
        s.add(&["--vg", "data"]);
        let there = Snapshot::of(&s.host);
        let allowed = [AS_BEFORE, WHILE_THERE, IN_THEIR_GROUP, BY_PACKAGES].concat();
        before.still_in(&there, &allowed);
        assert!(there.has("logical volume", "data kloigos_cu00"));
        assert!(there.has("package", "apparmor-utils:all"));
        s.is_decommissioned(&["--purge-packages"]);
        let allowed = [AS_BEFORE, HISTORY, BY_PACKAGES].concat();
        before.same_as(&Snapshot::of(&s.host), &allowed);
        assert_eq!(s.host.root("cat /srv/archive/file").ok().text(), "precious");
    }

    const IN_THEIR_GROUP: &[Exception] = &[
        ("volume group", "data", "it has less free space"),
        ("file", "/etc/lvm/backup/data", "LVM's copy of that"),
    ];

    const HISTORY: &[Exception] = &[
        (
            "file",
            "/etc/lvm/archive/data_*",
            "LVM's history of a group that was changed",
        ),
        ("file", "/etc/lvm/backup/data", "the same"),
    ];

    const BY_PACKAGES: &[Exception] = &[(
        "file",
        "/etc/ld.so.cache",
        "made anew where a library comes or goes",
    )];

    #[test]
    #[ignore = "long: make lab-full"]
    fn a_decommissioned_host_is_as_it_was_on_trixie() {
        leaves_without_a_trace("trixie");
    }

    #[test]
    #[ignore = "long: make lab-full"]
    fn a_half_made_server_leaves_and_one_that_left_comes_back() {
        leaves_half_made_and_comes_back("bookworm");
    }

    #[test]
    #[ignore = "long: make lab-full"]
    fn a_half_made_server_leaves_and_one_that_left_comes_back_on_trixie() {
        leaves_half_made_and_comes_back("trixie");
    }

    #[test]
    #[ignore = "long: make lab-full"]
    fn a_foreign_volume_group_stays_and_packages_go_as_they_came() {
        leaves_a_foreign_group_and_takes_its_packages("bookworm");
    }

    #[test]
    #[ignore = "long: make lab-full"]
    fn a_foreign_volume_group_stays_and_packages_go_as_they_came_on_trixie() {
        leaves_a_foreign_group_and_takes_its_packages("trixie");
    }
}
