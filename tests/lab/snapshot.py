"""What a host has, as one JSON object of sections: {section: {key: value}}. Run as root on the host.

Only what a change would show in: no times, no counters, no processes.
"""

import glob
import grp
import hashlib
import json
import os
import re
import stat
import subprocess


def lines(*argv):
    try:
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace",
                              env=dict(os.environ, LC_ALL="C", PATH="/usr/sbin:/usr/bin:/sbin:/bin"), check=False)
    except FileNotFoundError:
        return []
    return [line.rstrip() for line in done.stdout.splitlines() if line.strip()]


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def describe(path):
    found = os.lstat(path)
    words = [stat.filemode(found.st_mode), str(found.st_uid), str(found.st_gid)]
    if stat.S_ISLNK(found.st_mode):
        words.append("-> " + os.readlink(path))
    elif stat.S_ISREG(found.st_mode):
        with open(path, "rb") as handle:
            words.append(hashlib.sha256(handle.read()).hexdigest()[:16])
    return " ".join(words)


def tree(top, depth=99):
    """Every file below, on this file system."""
    found = {}
    if not os.path.lexists(top):
        return found
    found[top] = describe(top)
    device = os.lstat(top).st_dev
    for directory, names, files in os.walk(top):
        for name in names + files:
            path = os.path.join(directory, name)
            found[path] = describe(path)
        level = directory[len(top):].count("/")
        names[:] = [name for name in names if level + 1 < depth
                    and os.lstat(os.path.join(directory, name)).st_dev == device]
    return found


def by_first_field(path, separator=":"):
    return {line.split(separator)[0]: line for line in read(path).splitlines() if line}


def report(program, fields, key):
    found = {}
    for line in lines(program, "--noheadings", "--separator", "|", "-o", fields):
        words = line.strip().split("|")
        found[" ".join(words[:key])] = "|".join(words[key:])
    return found


def as_set(items):
    return {item: "" for item in items}


def sshd(*more):
    found = {}
    for line in lines("sshd", "-T", *more):
        word, _space, value = line.partition(" ")
        found[word] = found[word] + " / " + value if word in found else value
    return found


def nft():
    """Each table whole; counters are no state."""
    found, table = {}, None
    for line in lines("nft", "list", "ruleset"):
        if line.startswith("table "):
            table = line.rstrip(" {")
            found[table] = ""
        else:
            found[table] += re.sub(r"packets \d+ bytes \d+", "packets", line) + "\n"
    return found


def mounts():
    found = {}
    for line in read("/proc/self/mountinfo").splitlines():
        before, after = line.split(" - ")
        fields = before.split()
        # Sessions come and go, and so does what systemd mounts on demand.
        if not fields[4].startswith(("/run/user/", "/run/credentials/", "/proc/sys/fs/binfmt_misc")):
            found[fields[4]] = " ".join([fields[3], fields[5]] + after.split()[:2])
    return found


def units():
    found = {}
    for line in lines("systemctl", "list-units", "--all", "--plain", "--no-legend"):
        name, load, active, _sub = line.split()[:4]
        # Of sessions, of disks, and what runs now and then by itself.
        if (not re.search(r"^(session-|user@|user-|user-runtime-dir@|run-|sys-|systemd-fsck@|lvm-activate-|systemd-tmpfiles-)"
                          r"|\.(device|scope)$", name) and load != "not-found"):
            found[name] = active
    return found


def disks():
    found = {}
    for line in lines("lsblk", "-rpno", "NAME,TYPE,SIZE,FSTYPE,UUID"):
        name, _space, rest = line.partition(" ")
        found[name] = rest
    return found


KEYS = ["fs.protected_symlinks", "fs.protected_hardlinks", "fs.protected_fifos", "fs.protected_regular",
        "net.ipv4.ping_group_range"]

snapshot = {
    "user": by_first_field("/etc/passwd"),
    "shadow": by_first_field("/etc/shadow"),
    "group": by_first_field("/etc/group"),
    "gshadow": by_first_field("/etc/gshadow"),
    "subuid": by_first_field("/etc/subuid"),
    "subgid": by_first_field("/etc/subgid"),
    "members": {group.gr_name: ",".join(group.gr_mem) for group in grp.getgrall()},
    "volume group": report("vgs", "vg_name,vg_uuid,vg_size,vg_free,vg_tags,pv_count", 1),
    "logical volume": report("lvs", "vg_name,lv_name,lv_uuid,lv_size,lv_tags,lv_active", 2),
    "physical volume": report("pvs", "pv_name,pv_uuid,vg_name,pv_tags", 1),
    "disk": disks(),
    "nftables": nft(),
    "unit file": {line.split()[0]: line.split()[1] for line in lines(
        "systemctl", "list-unit-files", "--plain", "--no-legend") if ".scope" not in line},
    "unit": units(),
    "delegation": dict(line.split("=", 1) for line in lines(
        "systemctl", "show", "user@0.service", "-p", "DelegateControllers", "-p", "DropInPaths", "-p", "NeedDaemonReload")),
    "cgroup": {path: read(path).strip() for path in
               ["/sys/fs/cgroup/cgroup.subtree_control", "/sys/fs/cgroup/user.slice/cgroup.subtree_control"]},
    "mount": mounts(),
    "file": {**tree("/etc"), **tree("/usr/local"), **tree("/mnt"), **tree("/opt"), **tree("/srv"), **tree("/root"),
             **tree("/var/lib/systemd/timers"), **tree("/var/lib/systemd/linger"), **tree("/var/spool"),
             **tree("/var/cache/apparmor"), **tree("/var/lib", 1), **tree("/home", 1), **tree("/tmp", 1), **tree("/var/tmp", 1)},
    "run": as_set(glob.glob("/run/*kloigos*") + glob.glob("/run/lvm/*/*") + glob.glob("/run/systemd/system*/*")
                  + glob.glob("/run/systemd/users/[2-9]*") + glob.glob("/run/udev/data/+dmi*")),
    "sysctl": {key: " ".join(read("/proc/sys/" + key.replace(".", "/")).split()) for key in KEYS},
    "sshd": sshd(),
    "sshd for nobody": sshd("-C", "user=nobody,host=x,addr=192.0.2.1"),
    "AppArmor profile": as_set(read("/sys/kernel/security/apparmor/profiles").splitlines()),
    "address": as_set(re.sub(r"^\d+: | valid_lft .*|\\ +", "", line) for line in lines("ip", "-o", "addr", "show")),
    "rule": as_set(lines("ip", "rule", "show") + lines("ip", "-6", "rule", "show")),
    "route": as_set(lines("ip", "route", "show", "table", "all") + lines("ip", "-6", "route", "show", "table", "all")),
    "package": {line.split()[0]: " ".join(line.split()[1:]) for line in lines(
        "dpkg-query", "-W", "-f", "${Package}:${Architecture} ${Version} ${db:Status-Abbrev}\n")},
}
print(json.dumps(snapshot))
