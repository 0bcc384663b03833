"""What Kloigos leaves on a server: the list that SERVER_DECOMM works off, and reads back."""

from __future__ import annotations

import glob
import grp
import os
import pwd

from ansible.module_utils.kloigos_before import BEFORE, PACKAGES, TAG, recall, server_tag
from ansible.module_utils.kloigos_host import (
    ETC, LIB, MARKER_DIR, OWNER_FILE, SHELL_DIR, STAMP_DIR, digest, read, write)

SYSTEMD = "/etc/systemd/system"
UNITS = ["kloigos-nftables.service", "kloigos-addresses.timer", "kloigos-addresses.service",
         "kloigos-cap-audit.timer", "kloigos-cap-audit.service"]
USER_MANAGER = SYSTEMD + "/user@.service.d/10-kloigos.conf"
UNIT_FILES = ["%s/%s" % (SYSTEMD, unit) for unit in UNITS] + [USER_MANAGER]
SSHD = "/etc/ssh/sshd_config.d/00-kloigos.conf"
SYSCTL = "/etc/sysctl.d/99-zz-kloigos.conf"
DBUS = "/etc/dbus-1/system.d/zz-kloigos.conf"
ABSTRACTION = "/etc/apparmor.d/abstractions/kloigos-tenant"
# A timer that catches up remembers its last time there.
TIMER_STAMP = "/var/lib/systemd/timers/stamp-kloigos-cap-audit.timer"
# Empty ones, where the administrator had none.
ACCESS = ["/etc/at.allow", "/etc/cron.allow"]
GROUP = "kloigos"
MOUNTS = "/mnt/kloigos"
MOUNT_HEAD = "# Written by Kloigos: the volume of a compute unit."
RULES = ETC + "/nftables.nft"
# What tells a second attempt what there was; it goes last.
RECORDS = [BEFORE, PACKAGES, OWNER_FILE]
# Directories of ours with what we put there, the inner ones first.
DIRECTORIES = {SHELL_DIR: [], LIB: ["kloigos-net", "cap-audit"], "/var/lib/kloigos": ["probe"], MARKER_DIR: []}


def files():
    """Files of Kloigos that are there, the records aside."""
    wanted = UNIT_FILES + [SSHD, SYSCTL, DBUS, ABSTRACTION, TIMER_STAMP, RULES]
    wanted += ["%s/%s" % (directory, name) for directory, names in DIRECTORIES.items() for name in names]
    found = [path for path in wanted if os.path.lexists(path)]
    found += glob.glob(SYSTEMD + "/*.wants/kloigos-*")
    # Those only where they are as we made them, and nobody had one before us.
    existed = recall("existed")
    found += [path for path in ACCESS if existed.get(path) is False and os.path.isfile(path) and not read(path)]
    # Where power was lost in the middle of a write.
    for directory in ["/etc", "/etc/apparmor.d", ETC, SYSTEMD] + [os.path.dirname(path) for path in wanted] + list(DIRECTORIES):
        found += glob.glob(glob.escape(directory) + "/.kloigos-*") + glob.glob(glob.escape(directory) + "/.nftables-*")
    return sorted(set(found))


def our_directories():
    """Directories that came with Kloigos, the inner ones first."""
    existed = recall("existed")
    shared = [os.path.dirname(USER_MANAGER), os.path.dirname(TIMER_STAMP)]
    return list(DIRECTORIES) + [path for path in shared if existed.get(path) is False]


def is_empty(path):
    return os.path.isdir(path) and not os.listdir(path)


def mount_units():
    """(unit, device, path) of each mount unit that SERVER_INIT wrote."""
    found = []
    for path in sorted(glob.glob(SYSTEMD + "/*.mount")):
        lines = read(path).splitlines()
        if lines[:1] == [MOUNT_HEAD]:
            words = dict(line.split("=", 1) for line in lines if "=" in line)
            found.append((os.path.basename(path), words.get("What", ""), words.get("Where", "")))
    return found


def mount_directories(server):
    """Where volumes were mounted: empty and no mount points any more, the inner ones first."""
    unit_directories = glob.glob("%s/%s/cu[0-9][0-9]*" % (MOUNTS, glob.escape(server)))
    outer = ["%s/%s" % (MOUNTS, server)] + ([MOUNTS] if recall("existed").get(MOUNTS) is False else [])
    return [path for path in unit_directories + outer if os.path.isdir(path) and not os.path.ismount(path)]


class Volumes:
    """What LVM has of ours; empty where it is not installed."""

    def __init__(self, host, server):
        self.host, self.server = host, server
        self.refresh()

    def report(self, program, fields, what):
        if not self.host.has(program):
            return []
        found = self.host.read_json([program, "--reportformat", "json", "-o", fields]) or {}
        return [row for part in found.get("report", []) for row in part.get(what, [])]

    def refresh(self):
        self.lvs = self.report("lvs", "vg_name,lv_name,lv_tags,origin,lv_active", "lv")
        self.vgs = self.report("vgs", "vg_name,vg_tags", "vg")
        self.pvs = self.report("pvs", "pv_name,pv_uuid,vg_name", "pv")

    def is_ours(self, tags):
        tags = tags.split(",")
        servers = [tag for tag in tags if tag.startswith(server_tag(""))]
        return TAG in tags and (not servers or server_tag(self.server) in servers)

    def ours(self):
        return [row for row in self.lvs if self.is_ours(row["lv_tags"])]

    def foreign_in(self, group):
        return [row["lv_name"] for row in self.lvs if row["vg_name"] == group and not self.is_ours(row["lv_tags"])]

    def groups(self):
        """Names of the volume groups that Kloigos made."""
        return [row["vg_name"] for row in self.vgs if self.is_ours(row["vg_tags"])]

    def made(self):
        """Physical volumes that Kloigos made and that are in no group."""
        uuids = recall("physical_volumes")
        return [row["pv_name"] for row in self.pvs if row["pv_uuid"] in uuids and not row["vg_name"]]


def profiles():
    return sorted({line.split(" (")[0] for line in read("/sys/kernel/security/apparmor/profiles").splitlines()
                   if line.startswith("kloigos-")})


def tenants():
    """What only a tenant has. Each has a marker; these show where somebody removed the marker alone."""
    found = ["the user " + user.pw_name for user in pwd.getpwall() if user.pw_shell.startswith(SHELL_DIR + "/")]
    found += ["the loaded profile " + name for name in profiles()]
    for pattern in (SHELL_DIR + "/*", "/etc/apparmor.d/kloigos-*", "/etc/systemd/network/*.d/kloigos-*.conf",
                    SYSTEMD + "/user-*.slice.d/50-kloigos.conf", SYSTEMD + "/user@*.service.d/50-kloigos.conf"):
        found += sorted(glob.glob(pattern))
    return found


def has_table(host):
    return host.succeeds(["nft", "list", "table", "inet", "kloigos"])


def group_is_ours():
    try:
        grp.getgrnam(GROUP)
    except KeyError:
        return False
    return recall("existed").get("group " + GROUP) is False


def known_units(host):
    """Units of ours that systemd still has in mind."""
    listed = host.run(["systemctl", "list-units", "--all", "--plain", "--no-legend", "kloigos-*"], ok=None)
    return [line.split()[0] for line in listed.splitlines() if line.split()]


def left(host, server):
    """Everything of Kloigos on this host but its records."""
    volumes = Volumes(host, server)
    found = tenants() + files()
    found += ["the directory " + path for path in our_directories() if is_empty(path)]
    found += ["the mount unit " + unit for unit, _device, _path in mount_units()]
    found += ["the directory " + path for path in mount_directories(server) if is_empty(path)]
    found += ["the volume %s/%s" % (row["vg_name"], row["lv_name"]) for row in volumes.ours()]
    found += ["the volume group " + name for name in volumes.groups()]
    found += ["the physical volume " + name for name in volumes.made()]
    found += ["the unit " + unit for unit in known_units(host)]
    if has_table(host):
        found.append("the nftables table inet kloigos")
    if group_is_ours():
        found.append("the group " + GROUP)
    shown = host.run(["systemctl", "show", "user@0.service", "-p", "DropInPaths"], ok=None)
    if USER_MANAGER in shown:
        found.append("the delegation to user managers")
    return found


def pending(name):
    """Whether a daemon may still have what was removed: the stamp goes when it has read the change."""
    return os.path.exists(os.path.join(STAMP_DIR, name))


def begin(name):
    if not pending(name):
        os.makedirs(STAMP_DIR, mode=0o700, exist_ok=True)
        write(os.path.join(STAMP_DIR, name), digest([]) + "\n", 0o600)


def finish(name):
    os.unlink(os.path.join(STAMP_DIR, name))
