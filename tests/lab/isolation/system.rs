//! Privileges, the kernel's interfaces, and the services of the system.

use super::Lab;
use super::record::{Control, Record, attempt, python};

pub fn privileges(lab: &Lab, record: &mut Record) {
    use Control::{Plain, Root};
    let shell = "/usr/local/lib/kloigos/shells/web";
    let attempts = [
        attempt("sudo", Root, "sudo -n true"),
        attempt("su", Root, "su root -c true"),
        attempt("su to a neighbour", Root, "su db -c true"),
        attempt("newgrp", Root, "sg adm true"),
        attempt("chsh", Root, format!("chsh -s {shell} web")),
        attempt("chage", Root, "chage -l web"),
        attempt(
            "a setuid program",
            Plain,
            "test \"$(/usr/local/bin/setuid-id -u)\" = 0",
        ),
        attempt(
            "a setuid program in a user service",
            Control::None,
            "test \"$(systemd-run --user --wait --pipe -q /usr/local/bin/setuid-id -u)\" = 0",
        ),
        attempt(
            "a program with capabilities",
            Plain,
            format!(
                "/usr/local/bin/cap-{}",
                python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)")
                    .replacen("python3", "python", 1)
            ),
        ),
        attempt("a login without a password", Root, "runuser -u db true"),
        attempt(
            "unshare: root of a user namespace",
            Plain,
            "unshare -Ur true",
        ),
        attempt("unshare: mounts of its own", Plain, "unshare -Urm true"),
        attempt("unshare: a network of its own", Plain, "unshare -Urn true"),
        attempt("unshare: processes of its own", Plain, "unshare -Urpf true"),
        attempt("unshare without a user namespace", Root, "unshare -m true"),
        attempt("enter init's mounts", Root, "nsenter -t 1 -m true"),
        attempt(
            "mount a tmpfs",
            Root,
            "mount -t tmpfs none /media && umount /media",
        ),
        attempt(
            "mount a directory elsewhere",
            Root,
            "mount --bind /srv /media && umount /media",
        ),
        attempt("chroot", Root, "chroot / true"),
        attempt(
            "make a device",
            Root,
            "mknod /var/tmp/d.$$ b 254 0 && rm /var/tmp/d.$$",
        ),
        attempt(
            "give a file away",
            Root,
            "touch /var/tmp/g.$$ && chown db /var/tmp/g.$$ && rm /var/tmp/g.$$",
        ),
        attempt(
            "set a capability",
            Root,
            "cp /bin/true /var/tmp/c.$$ && setcap cap_net_raw+ep /var/tmp/c.$$ && rm /var/tmp/c.$$",
        ),
    ];
    record.refused(&lab.host, &lab.web, "privileges", &attempts);
}

pub fn syscall(prepare: &str, number_and_arguments: &str) -> String {
    python(&format!(
        "import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
{prepare}
got = libc.syscall({number_and_arguments})
sys.exit(os.strerror(ctypes.get_errno()) if got < 0 else 0)"
    ))
}

pub fn kernel_and_system(lab: &Lab, record: &mut Record) {
    use Control::{Plain, Root};
    let same = |path: &str| format!("v=$(cat {path}) && echo $v > {path}");
    let secret = lab.db.run(&python(
        "import ctypes
libc = ctypes.CDLL(None, use_errno=True)
key = libc.syscall(248, b'user', b'of-db', b'secret', 6, -4)
into = ctypes.create_string_buffer(9)
assert libc.syscall(250, 11, key, into, 9) == 6
print(key)",
    ));
    let key = secret.ok().text().to_owned();
    let attempts = [
        attempt("read the kernel's log", Root, "dmesg | grep -q ."),
        attempt("write to the kernel's log", Root, "echo lab > /dev/kmsg"),
        attempt("write /proc/sys", Root, same("/proc/sys/kernel/hostname")),
        attempt(
            "write /sys",
            Root,
            same("/sys/block/vda/queue/read_ahead_kb"),
        ),
        attempt("load a module", Root, "modprobe dummy"),
        attempt("read the host's disk", Root, "head -c 1 /dev/vda"),
        attempt("read the machine's memory", Root, "head -c 1 /dev/mem"),
        attempt(
            "bpf",
            Root,
            syscall(
                "attributes = (ctypes.c_uint32 * 18)(2, 4, 4, 1)",
                "321, 0, attributes, 72",
            ),
        ),
        attempt(
            "perf over all processes",
            Root,
            syscall(
                "attributes = (ctypes.c_uint32 * 28)(1, 112)",
                "298, attributes, -1, 0, -1, 0",
            ),
        ),
        attempt(
            "read a neighbour's key in the kernel",
            Control::None,
            syscall(
                "into = ctypes.create_string_buffer(9)",
                &format!("250, 11, {key}, into, 9"),
            ),
        ),
        attempt(
            "start a service of the system",
            Root,
            "systemctl start kloigos-addresses.service",
        ),
        attempt(
            "ask systemd over the system's bus",
            Plain,
            "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager GetUnit s ssh.service",
        ),
        attempt(
            "ask logind about a neighbour",
            Plain,
            "loginctl show-user db -p State",
        ),
        attempt(
            "signal a neighbour by logind",
            Root,
            "loginctl kill-user db -s CONT",
        ),
        attempt(
            "rename the host",
            Root,
            "hostnamectl set-hostname $(hostname)",
        ),
        attempt(
            "run as the system by systemd-run",
            Root,
            "systemd-run --wait -q true",
        ),
        attempt(
            "reach a neighbour's user manager",
            Root,
            python(&format!(
                "import socket; socket.socket(socket.AF_UNIX).connect('/run/user/{}/systemd/private')",
                lab.db_uid
            )),
        ),
        attempt(
            "read the host's journal",
            Root,
            "journalctl -q -n 1 _UID=0 | grep -q .",
        ),
        attempt("read its filter", Root, "nft list table inet kloigos"),
        attempt("power off", Control::None, "systemctl poweroff"),
    ];
    record.refused(&lab.host, &lab.web, "kernel and system", &attempts);
}
