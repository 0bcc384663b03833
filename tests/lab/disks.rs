//! Where the volumes of compute units may come from, and what is never
//! written: the module of SERVER_INIT in tens of situations within one boot,
//! and the same through `kloigos server add`.

use serde_json::{Value, json};

use crate::host::{Host, Kloigos};
use crate::modules::Modules;
use crate::tenant::{changed, step};

/// The kernel and udev have seen the partition on /dev/vdb.
const KNOWN: &str =
    "udevadm settle; test -e /dev/vdb1 || partx -u /dev/vdb; udevadm settle; test -e /dev/vdb1";

const DISKS: [&str; 4] = ["vdb", "vdc", "vdd", "vde"];

fn reset() -> Value {
    json!({ "reset": DISKS })
}

const UNITS: [&str; 2] = ["/mnt/kloigos/lab/cu00", "/mnt/kloigos/lab/cu01"];

fn sh(script: &str) -> Value {
    json!({ "sh": script })
}

fn sign(kind: &str) -> Value {
    json!({ "sign": kind, "device": "/dev/vdb" })
}

/// The module with these arguments; two units unless they say otherwise.
fn storage(arguments: &Value) -> Value {
    let mut arguments = arguments.clone();
    if arguments.get("units").is_none() {
        arguments["units"] = units(&UNITS);
    }
    if arguments.get("server").is_none() {
        arguments["server"] = json!("lab");
    }
    json!({ "module": "kloigos_storage", "args": arguments })
}

fn units(paths: &[&str]) -> Value {
    paths
        .iter()
        .map(|p| json!({ "storage_mount_path": p }))
        .collect()
}

fn checked(mut step: Value) -> Value {
    step["check"] = json!(true);
    step
}

/// Disks that were written while the module ran; the root disk always is.
fn written(result: &Value) -> Vec<&str> {
    result["written"]
        .as_object()
        .unwrap_or_else(|| panic!("{result}"))
        .keys()
        .map(String::as_str)
        .filter(|d| d.starts_with("vd") && *d != "vda")
        .collect()
}

fn list<'v>(result: &'v Value, key: &str) -> Vec<&'v str> {
    result[key]
        .as_array()
        .unwrap_or_else(|| panic!("{result}"))
        .iter()
        .map(|v| v.as_str().unwrap())
        .collect()
}

/// What is refused: a name, what was there, what was asked for, what is said.
fn refusals() -> Vec<(&'static str, Vec<Value>, Value, Vec<&'static str>)> {
    let vdb = || json!({ "disks": ["/dev/vdb"] });
    let nothing = || json!({});
    let group = "pvcreate -q /dev/vdb && vgcreate -q data /dev/vdb";
    vec![
        (
            "nothing is named",
            vec![],
            nothing(),
            vec!["no storage was named", "/dev/vdb (1.0 GiB", "`--disk DEV`"],
        ),
        (
            "the root disk",
            vec![],
            json!({"disks": ["/dev/vda"]}),
            vec!["/dev/vda was named", "is mounted at /"],
        ),
        (
            "one good disk and the root disk",
            vec![],
            json!({"disks": ["/dev/vdb", "/dev/vda"]}),
            vec!["/dev/vda was named", "is mounted at /"],
        ),
        (
            "no such disk",
            vec![],
            json!({"disks": ["/dev/vdz"]}),
            vec!["/dev/vdz was named", "No such file"],
        ),
        (
            "no block device",
            vec![],
            json!({"disks": ["/dev/null"]}),
            vec!["is not a block device"],
        ),
        (
            "mounted",
            vec![sh("mkfs.ext4 -q /dev/vdb && mount -o ro /dev/vdb /mnt")],
            vdb(),
            vec!["is mounted at /mnt"],
        ),
        (
            "swap in use",
            vec![sh("mkswap -q /dev/vdb && swapon /dev/vdb")],
            vdb(),
            vec!["is mounted at [SWAP]"],
        ),
        (
            "partitions",
            vec![sign("dos"), sh(KNOWN)],
            vdb(),
            vec!["carries /dev/vdb1"],
        ),
        (
            "GPT partitions",
            vec![sign("gpt"), sh(KNOWN)],
            vdb(),
            vec!["carries /dev/vdb1"],
        ),
        (
            "partitions that the kernel does not know",
            vec![
                sign("gpt"),
                sh("udevadm settle; partx -d /dev/vdb; test ! -e /sys/block/vdb/vdb1"),
            ],
            vdb(),
            vec!["has a table with partition 1", "`wipefs --all /dev/vdb`"],
        ),
        (
            "partitions in the backup table only",
            vec![sign("gpt-tail"), sh("udevadm settle")],
            vdb(),
            vec!["has a table with partition 1"],
        ),
        (
            "a mounted partition",
            vec![
                sign("dos"),
                sh(&format!(
                    "{KNOWN}; mkfs.ext4 -q /dev/vdb1; mount -o ro /dev/vdb1 /mnt"
                )),
            ],
            json!({"disks": ["/dev/vdb1"]}),
            vec!["/dev/vdb1 was named", "is mounted at /mnt"],
        ),
        (
            "too small",
            vec![sign("dos-small"), sh(KNOWN)],
            json!({"disks": ["/dev/vdb1"]}),
            vec!["is too small (16 MiB)"],
        ),
        (
            "a member of a RAID that does not run",
            vec![sign("md")],
            vdb(),
            vec!["carries linux_raid_member", "`wipefs --all /dev/vdb`"],
        ),
        (
            "LUKS",
            vec![sign("luks")],
            vdb(),
            vec!["carries crypto_LUKS"],
        ),
        ("ZFS", vec![sign("zfs")], vdb(), vec!["carries zfs_member"]),
        ("btrfs", vec![sign("btrfs")], vdb(), vec!["carries btrfs"]),
        (
            "held by the device mapper",
            vec![sh("echo 0 1000 linear /dev/vdb 0 | dmsetup create held")],
            vdb(),
            vec!["carries /dev/mapper/held"],
        ),
        (
            "read-only",
            vec![sh("blockdev --setro /dev/vdb")],
            vdb(),
            vec!["is read-only"],
        ),
        (
            "a loop device",
            vec![sh(
                "truncate -s 1G /var/tmp/loop.img; losetup /dev/loop0 /var/tmp/loop.img",
            )],
            json!({"disks": ["/dev/loop0"]}),
            vec!["/dev/loop0 was named", "is no disk (loop)"],
        ),
        (
            "another volume group's disk",
            vec![sh(group)],
            vdb(),
            vec!["belongs to the volume group data"],
        ),
        (
            "a disk of a group of which others are missing",
            vec![sh(
                "pvcreate -q --metadatacopies 0 /dev/vdb && pvcreate -q /dev/vdc && vgcreate -q data /dev/vdc /dev/vdb && wipefs -qaf /dev/vdc && udevadm settle",
            )],
            vdb(),
            vec!["belongs to a volume group of which other disks are missing"],
        ),
        (
            "a logical volume",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n theirs -L 200m data"
            ))],
            json!({"disks": ["/dev/data/theirs"]}),
            vec!["is no disk (lvm)"],
        ),
        (
            "several volume groups with free space",
            vec![sh(&format!("{group} && vgcreate -q more /dev/vdc"))],
            nothing(),
            vec!["data (1020 MiB free), more (1020 MiB free)", "`--vg NAME`"],
        ),
        (
            "the only volume group has too little",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n theirs -L 960m data"
            ))],
            nothing(),
            vec!["data (60 MiB free)", "Name unused disks"],
        ),
        (
            "no such volume group",
            vec![sh(group)],
            json!({"vg": "nope"}),
            vec!["no volume group nope", "data (1020 MiB free)"],
        ),
        (
            "too little in a volume group",
            vec![sh(group)],
            json!({"vg": "data", "size_gib": 1}),
            vec![
                "too little space",
                "data has 1020 MiB free, needed are 2 of 1.0 GiB",
                "--disk-size",
            ],
        ),
        (
            "too little on the disks",
            vec![],
            json!({"disks": ["/dev/vdb", "/dev/vdc"], "size_gib": 1}),
            vec!["too little space", "from /dev/vdb, /dev/vdc"],
        ),
        (
            "an exported volume group",
            vec![sh(&format!("{group} && vgexport -q data"))],
            json!({"vg": "data"}),
            vec!["data is exported"],
        ),
        (
            "a volume group that misses a disk",
            vec![sh(
                "vgcreate -q data /dev/vdb /dev/vdc && wipefs -qaf /dev/vdc && udevadm settle",
            )],
            json!({"vg": "data"}),
            vec!["data misses a disk"],
        ),
        (
            "a volume of that name that is not ours",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n kloigos_cu00 -L 100m data"
            ))],
            json!({"vg": "data"}),
            vec!["data/kloigos_cu00 exists but was not made by Kloigos"],
        ),
        (
            "a volume that lost its file system",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n kloigos_cu00 -L 100m --addtag kloigos data"
            ))],
            json!({"vg": "data"}),
            vec!["data/kloigos_cu00 carries no file system, not the ext4"],
        ),
        (
            "a volume with another file system",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n kloigos_cu00 -L 100m --addtag kloigos data && mkswap -q /dev/data/kloigos_cu00"
            ))],
            json!({"vg": "data"}),
            vec!["data/kloigos_cu00 carries swap, not the ext4"],
        ),
        (
            "a half-made volume that somebody uses",
            vec![sh(&format!(
                "{group} && lvcreate -q -y -n kloigos_cu00 -L 100m --addtag kloigos --addtag kloigos-new data && mkfs.ext4 -q /dev/data/kloigos_cu00 && mount -o ro /dev/data/kloigos_cu00 /mnt"
            ))],
            json!({"vg": "data"}),
            vec!["data/kloigos_cu00 is half made and yet in use"],
        ),
        (
            "a volume that a server of another name has",
            vec![
                sh(&format!(
                    "{group} && lvcreate -q -y -n kloigos_cu00 -L 100m --addtag kloigos data && mkfs.ext4 -q /dev/data/kloigos_cu00"
                )),
                sh(
                    "printf '# Written by Kloigos: the volume of a compute unit.\n[Mount]\nWhat=/dev/data/kloigos_cu00\nWhere=/mnt/kloigos/old/cu00\n' > /etc/systemd/system/mnt-kloigos-old-cu00.mount",
                ),
            ],
            json!({"vg": "data"}),
            vec!["mounted at /mnt/kloigos/old/cu00", "another name"],
        ),
        (
            "something else is mounted where the volume goes",
            vec![sh(
                "mkdir -p /mnt/kloigos/lab/cu01 && mount -t tmpfs none /mnt/kloigos/lab/cu01",
            )],
            vdb(),
            vec!["/mnt/kloigos/lab/cu01 is mounted from none"],
        ),
        (
            "a file is where the volume goes",
            vec![sh(
                "mkdir -p /mnt/kloigos/lab && touch /mnt/kloigos/lab/cu01",
            )],
            vdb(),
            vec!["/mnt/kloigos/lab/cu01 is not a directory"],
        ),
    ]
}

fn all_refusals(modules: &Modules) {
    let cases = refusals();
    let mut steps = Vec::new();
    let mut asked = Vec::new();
    let mut wrong = Vec::new();
    for (_, given, arguments, _) in &cases {
        steps.push(reset());
        steps.extend(given.iter().cloned());
        asked.push(steps.len());
        steps.push(storage(arguments));
    }
    steps.push(reset());
    let results = modules.steps(&steps);
    for (at, (name, given, _, says)) in asked.iter().zip(&cases) {
        for (i, prepared) in results[at - given.len()..*at].iter().enumerate() {
            if prepared["code"] != 0 {
                wrong.push(format!("{name}, step {i}: {prepared}"));
            }
        }
        let result = &results[*at];
        let said = result["msg"].as_str().unwrap_or_default();
        let right = result["failed"] == true
            && result["changed"] == false
            && written(result).is_empty()
            && says.iter().all(|part| said.contains(part))
            && said.contains("nothing was written")
            && said.lines().count() == 1;
        println!(
            "  {}: {name}",
            if right {
                "refused"
            } else {
                "NOT REFUSED AS IT SHOULD BE"
            }
        );
        if !right {
            wrong.push(format!("{name}: {says:?}: {result}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two volumes, formatted and mounted as asked. Gives their sizes in MiB.
fn mounted(results: &[Value]) -> Vec<u64> {
    let result = results
        .iter()
        .rev()
        .find(|r| r.get("volumes").is_some())
        .unwrap_or_else(|| panic!("{results:?}"));
    let found = results.last().unwrap()["stdout"].as_str().unwrap();
    let sizes = result["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| {
            let path = volume["path"].as_str().unwrap();
            let line = found
                .lines()
                .find(|l| l.starts_with(&format!("{path} ")))
                .unwrap_or_else(|| panic!("{path} is not mounted: {found}"));
            assert!(line.contains(" ext4 ") && line.contains("nosuid"), "{line}");
            volume["size_mb"].as_u64().unwrap()
        })
        .collect();
    assert!(!found.contains("kloigos-new"), "half made: {found}");
    sizes
}

/// What there is after a case: mounts, files, volumes with their tags.
fn look() -> Value {
    sh(
        "findmnt -rno TARGET,SOURCE,FSTYPE,OPTIONS | grep ^/mnt/kloigos/ || true; find /mnt/kloigos -mindepth 3 -printf 'file %f\n'; lvs --noheadings -o vg_name,lv_name,lv_uuid,lv_tags,lv_size; ls /etc/systemd/system/local-fs.target.wants",
    )
}

struct Made<'m, 'h>(&'m Modules<'h>);

impl Made<'_, '_> {
    /// Resets, does the steps, looks, and does the last module step once more,
    /// which must change nothing.
    #[track_caller]
    fn case(&self, name: &str, steps: Vec<Value>) -> (Vec<Value>, Vec<u64>) {
        let last = steps
            .iter()
            .rev()
            .find(|s| s.get("module").is_some())
            .unwrap()
            .clone();
        let mut all = vec![reset()];
        all.extend(steps);
        all.push(last);
        all.push(look());
        let results = self.0.steps(&all);
        for (step, result) in all.iter().zip(&results) {
            assert_ne!(result["failed"], true, "{name}: {step}: {result}");
            if step.get("sh").is_some() {
                assert_eq!(result["code"], 0, "{name}: {step}: {result}");
            }
        }
        let again = &results[results.len() - 2];
        assert_eq!(again["changed"], false, "{name}, again: {again}");
        let sizes = mounted(&results);
        println!("  made: {name} ({sizes:?} MiB)");
        (results, sizes)
    }
}

fn made(modules: &Modules) {
    let m = Made(modules);
    let vdb = json!({ "disks": ["/dev/vdb"] });
    let look_back = |results: &[Value]| {
        results.last().unwrap()["stdout"]
            .as_str()
            .unwrap()
            .to_owned()
    };

    let name = "a named disk with an old file system, and a check before";
    let (r, sizes) = m.case(
        name,
        vec![
            sh("mkfs.ext4 -q /dev/vdb && mkfs.ext4 -q /dev/vdc"),
            checked(storage(&vdb)),
            storage(&vdb),
        ],
    );
    assert_eq!(written(&r[2]), [""; 0], "check mode: {}", r[2]);
    assert_eq!(r[2]["changed"], true);
    assert_eq!(written(&r[3]), ["vdb"], "{name}");
    assert!(
        list(&r[3], "notes")[0].contains("old signature ext4"),
        "{}",
        r[3]
    );
    assert_eq!(sizes, [508, 508]);
    assert!(!look_back(&r).contains("file "), "a fresh volume is empty");
    let plan = |result: &Value| -> Vec<String> {
        list(result, "changes")
            .iter()
            .map(|c| c.split(" of ").next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(plan(&r[2]), plan(&r[3]), "a check tells what is then done");

    let (r, sizes) = m.case(
        "one disk named thrice, by its path and by a link",
        vec![storage(&json!({"disks": ["/dev/vdb", "/dev/vdb", "/dev/disk/by-path/virtio-pci-0000:00:05.0"]}))],
    );
    assert!(written(&r[1]).len() <= 2, "{}", r[1]);
    assert!(!sizes.is_empty());

    let (r, sizes) = m.case(
        "two disks, one with swap that is off, one with an empty table",
        vec![
            sh("mkswap -q /dev/vdc"),
            sign("dos-empty"),
            storage(&json!({"disks": ["/dev/vdb", "/dev/vdc"]})),
        ],
    );
    assert_eq!(written(&r[3]), ["vdb", "vdc"]);
    assert_eq!(sizes, [1020, 1020]);

    let (r, _) = m.case(
        "an unused partition",
        vec![
            sign("dos"),
            sh(&format!(
                "{KNOWN}; dd if=/dev/vdb bs=512 count=1 status=none | sha256sum"
            )),
            storage(&json!({"disks": ["/dev/vdb1"]})),
            sh("dd if=/dev/vdb bs=512 count=1 status=none | sha256sum"),
        ],
    );
    assert_eq!(r[2]["stdout"], r[4]["stdout"], "the table is as it was");

    let (r, _) = m.case(
        "volumes over what was there before: no question, nothing of it left",
        vec![
            sh(
                "vgcreate -q old /dev/vdb; for n in 0 1; do lvcreate -q -y -n $n -L 508m old; mkfs.ext4 -q /dev/old/$n; mount /dev/old/$n /mnt; echo secret > /mnt/secret; umount /mnt; done; vgremove -q -y old; pvremove -q /dev/vdb; udevadm settle",
            ),
            storage(&vdb),
        ],
    );
    assert!(!look_back(&r).contains("file "), "{}", look_back(&r));

    m.case(
        "a physical volume without a group",
        vec![sh("pvcreate -q /dev/vdb"), storage(&vdb)],
    );
    let (r, _) = m.case(
        "a group without volumes",
        vec![sh("vgcreate -q kloigos-vg /dev/vdb"), storage(&json!({}))],
    );
    assert_eq!(written(&r[2]), ["vdb"]);
    let half =
        "lvcreate -q -y -n kloigos_cu00 -L 300m --addtag kloigos --addtag kloigos-new kloigos-vg";
    let (r, sizes) = m.case(
        "a volume that was not formatted, over an old file system",
        vec![
            sh(&format!(
                "vgcreate -q kloigos-vg /dev/vdb; {half}; mkfs.ext4 -q /dev/kloigos-vg/kloigos_cu00; mount /dev/kloigos-vg/kloigos_cu00 /mnt; echo secret > /mnt/secret; umount /mnt"
            )),
            storage(&json!({})),
        ],
    );
    assert!(!look_back(&r).contains("file "), "{}", look_back(&r));
    assert_eq!(sizes, [300, 720]);

    let (r, _) = m.case(
        "volumes that no unit mounts: what is on them stays",
        vec![
            storage(&vdb),
            sh(
                "echo kept > /mnt/kloigos/lab/cu00/kept; umount /mnt/kloigos/lab/cu0?; rm /etc/systemd/system/mnt-* /etc/systemd/system/local-fs.target.wants/mnt-*; systemctl daemon-reload",
            ),
            storage(&json!({})),
        ],
    );
    assert!(look_back(&r).contains("file kept"), "{}", look_back(&r));

    let (r, _) = m.case(
        "volumes that are not active",
        vec![
            storage(&vdb),
            sh("echo kept > /mnt/kloigos/lab/cu00/kept; umount /mnt/kloigos/lab/cu0?; vgchange -q -an kloigos-vg"),
            storage(&vdb),
        ],
    );
    assert!(look_back(&r).contains("file kept"), "{}", look_back(&r));

    let (r, _) = m.case(
        "other disks under the names that were given: nobody needs them",
        vec![
            storage(&vdb),
            sh("mkfs.ext4 -q /dev/vdc; udevadm settle"),
            storage(&json!({"disks": ["/dev/vdc", "/dev/gone"]})),
        ],
    );
    assert!(!written(&r[3]).contains(&"vdc"), "{}", r[3]);
    assert_eq!(r[3]["changed"], false);

    let (r, sizes) = m.case(
        "a named group with somebody's volume",
        vec![
            sh("vgcreate -q data /dev/vdb; lvcreate -q -y -n theirs -L 400m data; yes theirs | dd of=/dev/data/theirs bs=1M count=400 iflag=fullblock status=none; sha256sum /dev/data/theirs"),
            storage(&json!({"vg": "data"})),
            sh("sha256sum /dev/data/theirs"),
            // Named once, it is known from then on.
            storage(&json!({})),
        ],
    );
    assert_eq!(
        r[1]["stdout"].as_str().unwrap().lines().last(),
        r[3]["stdout"].as_str().unwrap().lines().last()
    );
    assert_eq!(sizes, [308, 308]);

    grown(&m);
}

/// Units and sizes that come later.
fn grown(m: &Made<'_, '_>) {
    let three = json!(["/dev/vdb", "/dev/vdc", "/dev/vdd", "/dev/vde"]);
    let with = |paths: &[&str], size: Option<u32>| {
        storage(&json!({"disks": three, "units": units(paths), "size_gib": size}))
    };
    let (first, second, third) = (UNITS[0], UNITS[1], "/mnt/kloigos/lab/cu02");
    let (r, sizes) = m.case(
        "units and sizes that come later",
        vec![
            with(&[first], Some(1)),
            sh("echo kept > /mnt/kloigos/lab/cu00/kept; lvs --noheadings -o lv_uuid kloigos-vg/kloigos_cu00"),
            with(&[first, second], Some(1)),
            // What is left goes to the new one; the others stay as they are.
            with(&[first, second, third], None),
            look(),
            // Smaller than it is: said, and left.
            with(&[first], Some(1)),
        ],
    );
    assert_eq!(sizes, [1024]);
    let sizes: Vec<_> = r[4]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["size_mb"].as_u64().unwrap())
        .collect();
    assert_eq!(sizes, [1024, 1024, 2032]);
    let seen = r[5]["stdout"].as_str().unwrap();
    assert!(
        seen.contains("file kept") && seen.contains(r[2]["stdout"].as_str().unwrap().trim()),
        "{seen}"
    );

    let (r, sizes) = m.case(
        "a larger size grows what is there",
        vec![
            with(&[first], Some(1)),
            sh("echo kept > /mnt/kloigos/lab/cu00/kept"),
            with(&[first], Some(2)),
            sh("df -BM --output=size /mnt/kloigos/lab/cu00 | tail -n 1; cat /mnt/kloigos/lab/cu00/kept"),
        ],
    );
    assert_eq!(sizes, [2048]);
    let seen = r[4]["stdout"].as_str().unwrap();
    assert!(seen.contains("kept"), "{seen}");
    let mib: u64 = seen
        .trim()
        .split('M')
        .next()
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(mib > 1900, "{seen}");
}

/// The module is killed after each of its changes in turn; the next one
/// finishes the work.
fn killed_at_every_step(modules: &Modules) {
    let m = Made(modules);
    let vdb = storage(&json!({ "disks": ["/dev/vdb"] }));
    let whole = modules.steps(&[reset(), sh("mkfs.ext4 -q /dev/vdb"), vdb.clone()]);
    let changes = list(&whole[2], "changes").len();
    assert!(changes >= 13, "{}", whole[2]);
    for n in 1..changes {
        let mut cut = vdb.clone();
        cut["die_after"] = json!(n);
        let (r, sizes) = m.case(
            &format!("killed after change {n} of {changes}"),
            vec![sh("mkfs.ext4 -q /dev/vdb"), cut, vdb.clone()],
        );
        assert_eq!(r[2]["died"], whole[2]["changes"][n - 1]);
        // One that is made later gets what is left, which is an extent more.
        assert!(sizes == [508, 508] || sizes == [508, 512], "{sizes:?}");
    }
}

#[test]
#[ignore = "long: make lab-full"]
fn storage_comes_only_from_what_was_named() {
    let host = Host::boot(
        "disks",
        &[
            "--mem", "1024", "--disk", "1", "--disk", "1", "--disk", "1", "--disk", "1",
        ],
        &[],
    );
    let modules = Modules::of(&host, "SERVER_INIT");
    // Made by the preflight: there the module notes what it makes.
    host.root("mkdir -m 0700 /etc/kloigos").ok();
    step("refused, and nothing written");
    all_refusals(&modules);
    step("made, continued, grown");
    made(&modules);
    step("cut at every step");
    killed_at_every_step(&modules);
    step("through `kloigos server add`");
    through_the_program(&host);
}

/// One volume group that nobody named: shown, refused to a script, and taken
/// by its name; nothing else is touched.
fn through_the_program(host: &Host) {
    Modules::of(host, "SERVER_INIT").steps(&[reset()]);
    host.root("vgcreate -q data /dev/vdc && mkfs.ext4 -q /dev/vdb && sync")
        .ok();
    let k = Kloigos::new();
    k.json(&["init"]);
    k.run(&["setting", "set", "ssh.private_key_file", host.key()])
        .ok();
    let writes = || {
        host.root("for d in b c d e; do awk '{print $7}' /sys/block/vd$d/stat; done")
            .ok()
            .stdout
    };
    let before = writes();
    // Nobody saw the group, so --yes is no word for it.
    let refused = k.add_server(host, "minimal", &["--yes"]).exits(1);
    assert!(
        refused.stderr.contains("--vg data") && refused.stderr.contains("/dev/vdb"),
        "{}",
        refused.stderr
    );
    assert_eq!(writes(), before);
    let run = &k.json(&["runs", "list"])[0];
    assert_eq!(
        run["data"]["candidate_vg"],
        json!({"name": "data", "free_mb": 1020, "volumes": 2, "volume_mb": 508})
    );
    let before: Vec<String> = before.lines().map(str::to_owned).collect();
    let made = k.json(&["server", "init", host.name(), "--vg", "data"]);
    assert_eq!(made["status"], "READY", "{made}");
    assert_eq!(made["facts"]["vg"], "data");
    let after: Vec<String> = writes().lines().map(str::to_owned).collect();
    assert_ne!(after[1], before[1], "vdc carries the group");
    for other in [0, 2, 3] {
        assert_eq!(after[other], before[other], "disk {other} was not named");
    }
    let again = k.json(&["server", "init", host.name()]);
    assert_eq!(changed(&again["run"]), 0, "{again}");
}
