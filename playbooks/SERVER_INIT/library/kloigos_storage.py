#!/usr/bin/python3
"""One logical volume for each compute unit, formatted and mounted.

The rule for where they come from is strict, because a wrong guess destroys
somebody's data: a named volume group; else kloigos-vg, on the disks named; else
the group that has our earlier volumes. The only group with free space is told to
the operator, who may name it. Everything is decided before anything is written.

A volume carries the tag kloigos from its making on, and kloigos-new until it has
its file system: one that a cut run left without is formatted whatever it holds,
any other never again.
"""

from __future__ import annotations

import collections
import errno
import glob
import json
import os
import secrets
import stat
import string

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.kloigos_before import TAG, remember, server_tag
from ansible.module_utils.kloigos_host import Host, read, unit_name, wait_for, write

DOCUMENTATION = r"""
module: kloigos_storage
short_description: Volumes of the compute units
options:
  server: {description: Name of the server in Kloigos., type: str, required: true}
  units: {description: List of compute_id and storage_mount_path., type: list, elements: dict, required: true}
  vg: {description: Volume group named by the operator., type: str, default: ""}
  disks: {description: Disks that the operator named., type: list, elements: str, default: []}
  size_gib: {description: Size of each volume in GiB; an even split without., type: int}
author: Kloigos
"""
EXAMPLES = r"""
- name: Every compute unit has its volume
  kloigos_storage:
    server: lab1
    units: [{compute_id: lab1-cu00, storage_mount_path: /mnt/kloigos/lab1/cu00}]
    disks: [/dev/vdb]
"""
RETURN = r"""
candidate_vg: {description: The only volume group with free space that nobody named; nothing was done., type: dict, returned: sometimes}
refusal: {description: Why nothing was done., type: str, returned: with candidate_vg}
vg: {description: The volume group used., type: str, returned: success}
volumes: {description: Path, device and size of each volume., type: list, returned: success}
notes: {description: What the operator should know., type: list, returned: success}
"""

OWN_VG = "kloigos-vg"
NEW = "kloigos-new"
MIB = 1024 * 1024
GIB = 1024 * MIB
# Below this ext4 has no room for its own structures worth speaking of.
SMALLEST = 64 * MIB
# What LVM keeps of a disk for itself, and what its alignment may cost: more than it is.
OVERHEAD = 8 * MIB
SYSTEMD = "/etc/systemd/system/"
MOUNT_HEAD = "# Written by Kloigos: the volume of a compute unit.\n"
# Others are not there after a reboot (loop), cannot be physical volumes (lvm), or cannot be written.
DISK_TYPES = ("disk", "part", "crypt", "mpath", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "linear", "md")
# Leftovers that end with this disk. Whatever else there is may be one part of something larger (RAID,
# a pool, another host's LVM) or a key to it (LUKS): its owner has to take it off.
PLAIN = frozenset(["ext2", "ext3", "ext4", "ext4dev", "jbd", "xfs", "xfs_external_log", "vfat", "exfat", "ntfs", "f2fs",
                   "iso9660", "udf", "swap", "swsuspend", "squashfs", "erofs", "cramfs", "jfs", "reiserfs", "nilfs2",
                   "hfs", "hfsplus", "ufs", "minix", "PMBR", "gpt", "dos", "mac", "sun", "sgi", "bsd", "atari"])

Plan = collections.namedtuple("Plan", "vg joining existing missing grow notes")


def round_up(size, unit):
    return -(-size // unit) * unit


def size_text(size):
    return "%.1f GiB" % (size / GIB) if size >= GIB else "%d MiB" % (size // MIB)


def tags(row):
    return row["lv_tags"].split(",")


class Lvm:
    """What LVM says; empty where it is not installed (check mode on a fresh host)."""

    def __init__(self, host):
        self.host = host
        self.refresh()

    def report(self, program, fields, what):
        if not self.host.has(program):
            return []
        found = self.host.read_json([program, "--reportformat", "json", "--units", "b", "--nosuffix",
                                     "-o", fields])
        if found is None:
            # Nothing known is not the same as nothing there.
            self.host.fail("`%s` gives no report on this host, so nothing was written" % program)
        return [row for part in found.get("report", []) for row in part.get(what, [])]

    def refresh(self):
        self.vgs = {row["vg_name"]: row for row in self.report(
            "vgs", "vg_name,vg_size,vg_free,vg_extent_size,vg_attr,vg_tags", "vg")}
        self.pvs = {os.path.realpath(row["pv_name"]): row
                    for row in self.report("pvs", "pv_name,vg_name,pv_in_use", "pv")}
        self.lvs = {(row["vg_name"], row["lv_name"]): row for row in self.report(
            "lvs", "vg_name,lv_name,lv_size,lv_tags,lv_active", "lv")}

    def ours(self):
        return {key: row for key, row in self.lvs.items() if TAG in tags(row)}

    def group_of(self, device):
        return self.pvs[device]["vg_name"] if device in self.pvs else ""

    def free(self, vg):
        return int(self.vgs[vg]["vg_free"]) if vg in self.vgs else 0

    def extent(self, vg):
        return int(self.vgs[vg]["vg_extent_size"]) if vg in self.vgs else 4 * MIB

    def unusable(self, vg):
        """Why LVM makes no volume in this group, or None."""
        attr = self.vgs[vg]["vg_attr"]
        if attr[0] == "r":
            return "is read-only"
        if attr[2] == "x":
            return "is exported"
        if attr[3] == "p":
            return "misses a disk"
        return None

    def roomy(self):
        return [name for name, row in sorted(self.vgs.items())
                if int(row["vg_free"]) >= int(row["vg_extent_size"]) and not self.unusable(name)]


def block_devices(host, *device):
    listing = host.read_json(["lsblk", "-J", "-b", "-p", "-o",
                              "NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS,PTTYPE,RO"] + list(device)) or {}
    return listing.get("blockdevices", [])


def mounts_of(device):
    """Also of what stands on it, however deep."""
    points = [point for point in device.get("mountpoints") or [] if point]
    return points + [point for child in device.get("children", []) for point in mounts_of(child)]


def describe(device, lvm):
    words = [size_text(int(device["size"] or 0))]
    parts = [part["name"] for part in device.get("children", []) if part["type"] == "part"]
    if device.get("fstype"):
        words.append("signature " + device["fstype"])
    if device.get("pttype"):
        words.append("partition table %s%s" % (device["pttype"], " with " + ", ".join(parts) if parts else ""))
    if device["name"] in lvm.pvs:
        words.append("volume group " + (lvm.group_of(device["name"]) or "none"))
    points = mounts_of(device)
    words.append("mounted at " + ", ".join(points) if points else "not mounted")
    return "%s (%s)" % (device["name"], ", ".join(words))


def what_was_found(host, lvm):
    disks = [describe(disk, lvm) for disk in block_devices(host)
             if disk["type"] in DISK_TYPES and int(disk["size"] or 0) > 0]
    groups = ["%s (%s free)" % (name, size_text(lvm.free(name))) for name in lvm.roomy()]
    return "disks: %s; volume groups with free space: %s" % (
        "; ".join(disks) or "none", ", ".join(groups) or "none")


def partitions_left(host, device):
    """Numbers of partitions that stand in a table on it, also where the kernel has not read it."""
    # The hyphen: also on a partition, look for a table inside of it.
    listed = host.run(["partx", "--raw", "--noheadings", "-o", "NR", "-", device], ok=None).split()
    if listed:
        return listed
    # A table of which only the copy at the end is left; tools that go by the head see an empty disk.
    sector = int(read("/sys/class/block/%s/queue/logical_block_size" % os.path.basename(device), "512") or 512)
    with open(device, "rb") as disk:
        end = disk.seek(0, os.SEEK_END)
        disk.seek(max(0, end - sector))
        header = disk.read(92)
        if header[:8] != b"EFI PART":
            return []
        start = int.from_bytes(header[72:80], "little") * sector
        count, length = (int.from_bytes(header[at:at + 4], "little") for at in (80, 84))
        if not (0 < count <= 1024 and 128 <= length <= 4096 and start + count * length <= end):
            return []
        disk.seek(start)
        entries = disk.read(count * length)
    return [str(index + 1) for index in range(count) if any(entries[index * length:index * length + 16])]


def signatures(host, device):
    """Types of all that stands on it. A disk that cannot be read fails, and is not taken for an empty one."""
    text = host.run(["wipefs", "--json", "--no-act", device])
    return {row["type"] for row in json.loads(text)["signatures"]} if text.strip() else set()


def inspect_disk(host, named, lvm, target):
    """Gives (device, size, leftover signatures or ""), or fails; reads only."""
    def refuse(why):
        host.fail("%s was named for storage but %s; nothing was written. Found: %s. "
                  "Name an unused disk with `--disk DEV` or a volume group with `--vg NAME`."
                  % (named, why, what_was_found(host, lvm)))
    device = os.path.realpath(named)
    try:
        if not stat.S_ISBLK(os.stat(device).st_mode):
            refuse("is not a block device")
    except OSError as error:
        refuse("cannot be used (%s)" % error.strerror)
    found = (block_devices(host, device) or [{}])[0]
    size = int(found.get("size") or 0)
    if device in lvm.pvs and (lvm.group_of(device) == "[unknown]"
                              or lvm.pvs[device]["pv_in_use"] and not lvm.group_of(device)):
        refuse("belongs to a volume group of which other disks are missing")
    if lvm.group_of(device):
        if lvm.group_of(device) != target:
            refuse("belongs to the volume group " + lvm.group_of(device))
        return device, size, ""
    if found.get("type") not in DISK_TYPES:
        refuse("is no disk (%s)" % (found.get("type") or "unknown"))
    if mounts_of(found):
        refuse("is mounted at " + ", ".join(mounts_of(found)))
    if found.get("children"):
        refuse("carries " + ", ".join(child["name"] for child in found["children"]))
    if found.get("ro") in (True, "1", 1):
        refuse("is read-only")
    if size < SMALLEST + OVERHEAD:
        refuse("is too small (%s)" % size_text(size))
    try:
        # The kernel grants this only where no mount, swap, RAID, device mapper has the disk.
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        refuse("is in use" if error.errno == errno.EBUSY else "cannot be opened (%s)" % error.strerror)
    if device in lvm.pvs:
        return device, size, ""
    cleared = " (if nothing on it is needed, `wipefs --all %s` on the host takes that off)" % device
    types = signatures(host, device)
    if types - PLAIN:
        refuse("carries %s, which Kloigos does not wipe%s" % (", ".join(sorted(types - PLAIN)), cleared))
    numbers = partitions_left(host, device)
    if numbers:
        refuse("has a table with partition %s, which the kernel does not use%s" % (", ".join(numbers), cleared))
    return device, size, ", ".join(sorted(types))


def choose_group(host, lvm, params, earlier):
    """The volume group by the rule, existing or not."""
    if params["vg"]:
        if params["vg"] not in lvm.vgs:
            host.fail("there is no volume group %s on this host; nothing was written. Found: %s. "
                      "Name an existing one with `--vg NAME`, or unused disks with `--disk DEV`."
                      % (params["vg"], what_was_found(host, lvm)))
        return params["vg"]
    if params["disks"]:
        return OWN_VG
    # Our volumes from an earlier run say where they belong, even when the group is full by now.
    if len(earlier) == 1:
        return earlier[0]
    if OWN_VG in lvm.vgs:
        return OWN_VG
    return None


def refuse_unnamed(host, lvm, missing):
    """Nobody named storage: says what there is. Exactly one group with room can be confirmed."""
    roomy = lvm.roomy()
    told = ("no storage was named for the compute units, and disks are never taken unasked; "
            "nothing was written. Found: %s. " % what_was_found(host, lvm))
    hint = "Name unused disks with `--disk DEV`, or a volume group with `--vg NAME`."
    if len(roomy) == 1:
        size_gib = host.module.params["size_gib"]
        share = size_gib * GIB if size_gib else lvm.free(roomy[0]) // len(missing)
        share -= share % lvm.extent(roomy[0])
        if SMALLEST <= share and share * len(missing) <= lvm.free(roomy[0]):
            hint = ("The volume group %s has free space but was not confirmed: "
                    "name it with `--vg %s`, or name unused disks with `--disk DEV`." % (roomy[0], roomy[0]))
            host.done(refusal=told + hint, candidate_vg={
                "name": roomy[0], "free_mb": lvm.free(roomy[0]) // MIB, "volumes": len(missing),
                "volume_mb": share // MIB})
    host.fail(told + hint)


def find_volumes(host, lvm, vg, names, server):
    """Our volumes of these units by name, as (group, row)."""
    # A disk of another server may be here to be rescued, with volumes of the same names: this server's go before.
    mine_last = sorted(lvm.ours().items(), key=lambda item: (server_tag(server) in tags(item[1]), item[0][0] == vg))
    existing = {name: (group, row) for (group, name), row in mine_last if name in names}
    for name in names:
        if name not in existing and (vg, name) in lvm.lvs:
            host.fail("the volume %s/%s exists but was not made by Kloigos; nothing was written" % (vg, name))
    return existing


def device_of(group, name):
    return "/dev/%s/%s" % (group, name)


def refuse_damaged(host, existing, paths):
    """A volume is formatted once. What it should hold and does not may be somebody's to mend."""
    for name, (group, row) in existing.items():
        device = device_of(group, name)
        for unit in glob.glob(SYSTEMD + "*.mount"):
            text = read(unit)
            lines = text.splitlines()
            if text.startswith(MOUNT_HEAD) and "What=" + device in lines and "Where=" + paths[name] not in lines:
                where = next((line[6:] for line in lines if line.startswith("Where=")), "?")
                host.fail("the volume %s/%s is mounted at %s, of a server with another name; nothing was written. "
                          "Add this host under the name that it had" % (group, name, where))
        if not os.path.exists(device):
            if row["lv_active"]:
                host.fail("the volume %s/%s has no device %s; nothing was written" % (group, name, device))
            host.change("activated the volume %s/%s" % (group, name),
                        ["lvchange", "-q", "-a", "y", "%s/%s" % (group, name)],
                        lambda path=device: wait_for(lambda: os.path.exists(path), 20))
            if host.check:
                continue
        if NEW in tags(row):
            try:
                os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
            except OSError as error:
                host.fail("the volume %s/%s is half made and yet in use (%s); nothing was written"
                          % (group, name, error.strerror))
            continue
        types = sorted(signatures(host, device))
        if "ext4" not in types:
            host.fail("the volume %s/%s carries %s, not the ext4 that Kloigos made; it was left as it is, and nothing "
                      "was written. A delete that was cut leaves it so: repeat that. If nothing on it is needed, "
                      "`lvremove %s/%s` on the host lets it be made anew"
                      % (group, name, ", ".join(types) or "no file system", group, name))


def refuse_taken_paths(host, existing, paths):
    for name, path in paths.items():
        source = mounted_source(path)
        device = device_of(existing[name][0], name) if name in existing else "a volume of its own"
        if source and os.path.realpath(source) != os.path.realpath(device):
            host.fail("%s is mounted from %s, not from %s; nothing was written" % (path, source, device))
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            host.fail("%s is not a directory, so no volume can be mounted there; nothing was written" % path)


def decide(host, lvm, params, paths):
    """What is to be done, as a Plan; fails where it cannot or must not be. Writes nothing to any disk."""
    names, size = list(paths), (params["size_gib"] or 0) * GIB
    earlier = sorted({group for group, name in lvm.ours() if name in paths})
    vg = choose_group(host, lvm, params, earlier)
    existing = find_volumes(host, lvm, vg, names, params["server"])
    missing = [name for name in names if name not in existing]
    if missing and vg is None:
        refuse_unnamed(host, lvm, missing)
    refuse_damaged(host, existing, paths)
    refuse_taken_paths(host, existing, paths)
    grow = {name: size - int(row["lv_size"]) for name, (_group, row) in existing.items() if int(row["lv_size"]) < size}
    notes = ["the volume %s/%s has %s, more than --disk-size asks for; it was left as it is"
             % (group, name, size_text(int(row["lv_size"]))) for name, (group, row) in existing.items()
             if size and int(row["lv_size"]) > size + lvm.extent(group)]
    if not missing and not grow:
        # Whatever the named disks are by now (letters change at a reboot), there is no need of them.
        return Plan(earlier[0] if vg not in earlier else vg, [], existing, missing, grow, notes)
    joining = {}
    for named in params["disks"]:
        device, space, leftover = inspect_disk(host, named, lvm, vg)
        if lvm.group_of(device) != vg:
            joining[device] = (space, leftover)
    for group in {vg} | {existing[name][0] for name in grow}:
        why = lvm.unusable(group) if group in lvm.vgs else None
        if why:
            host.fail("the volume group %s %s; nothing was written. Found: %s" % (group, why, what_was_found(host, lvm)))
        more = sum((space - OVERHEAD) // lvm.extent(group) * lvm.extent(group) for space, _old in joining.values())
        space = lvm.free(group) + (more if group == vg else 0)
        new = missing if group == vg else []
        each = round_up(size or SMALLEST, lvm.extent(group))
        grown = sum(round_up(by, lvm.extent(group)) for name, by in grow.items() if existing[name][0] == group)
        if each * len(new) + grown > space:
            needed = (["%d of %s%s" % (len(new), "" if size else "at least ", size_text(each))] if new else []) + (
                ["%s to grow" % size_text(grown)] if grown else [])
            host.fail("there is too little space for the volumes: the volume group %s has %s%s, needed are %s; nothing "
                      "was written. Name a further disk with `--disk DEV`, or a smaller `--disk-size`"
                      % (group, size_text(lvm.free(group)), " and would get %s from %s" % (size_text(more), ", ".join(joining))
                         if joining and group == vg else " free", " and ".join(needed)))
    return Plan(vg, [(device, leftover) for device, (_space, leftover) in joining.items()], existing, missing, grow, notes)


def make_physical(host, device):
    """With a UUID that is noted first: only what Kloigos made does SERVER_DECOMM undo."""
    letters = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(32))
    uuid = "-".join(letters[start:end] for start, end in
                    ((0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32)))
    remember(host, "physical_volumes", {uuid: device}, told=device)
    host.change("made %s a physical volume" % device,
                ["pvcreate", "-q", "-y", "--uuid", uuid, "--norestorefile", device])


def claim(host, what, verb, name, found, server):
    """What was made for a server of another name, on the disks of this one, is this one's by now."""
    if TAG not in found or server_tag(server) in found:
        return
    old = [part for tag in found if tag.startswith(server_tag("")) for part in ("--deltag", tag)]
    host.change("the %s %s is of %s" % (what, name, server),
                [verb, "-q"] + old + ["--addtag", server_tag(server), name])


def claim_all(host, lvm, plan, server):
    if plan.vg in lvm.vgs:
        claim(host, "volume group", "vgchange", plan.vg, lvm.vgs[plan.vg]["vg_tags"].split(","), server)
    for name, (group, row) in plan.existing.items():
        claim(host, "volume", "lvchange", "%s/%s" % (group, name), tags(row), server)


def join_disks(host, lvm, plan, server):
    known = plan.vg in lvm.vgs
    for device, leftover in plan.joining:
        if leftover:
            plan.notes.append("%s carried the old signature %s, which was wiped because you named the disk"
                              % (device, leftover))
            # udev looks at a disk that was written, and LVM wants it for itself.
            host.change("wiped %s from %s" % (leftover, device), ["wipefs", "--all", "--quiet", device],
                        ["udevadm", "settle", "--timeout=20"])
        if device not in lvm.pvs:
            make_physical(host, device)
        verb, mark = ("vgextend", []) if known else ("vgcreate", ["--addtag", TAG, "--addtag", server_tag(server)])
        host.change("%s %s with %s" % (verb, plan.vg, device), [verb, "-q", "-y"] + mark + [plan.vg, device])
        known = True
    if plan.joining and not host.check:
        lvm.refresh()


def make_volumes(host, lvm, plan, server, size_gib):
    """Grows volumes and makes those that are missing; gives the device of each unit by name."""
    for name in plan.grow:
        group, row = plan.existing[name]
        with_content = [] if NEW in tags(row) else ["-r"]
        host.change("grew the volume %s/%s to %d GiB" % (group, name, size_gib),
                    ["lvextend", "-q", "-y"] + with_content + ["-L", "%dg" % size_gib, "%s/%s" % (group, name)])
    if plan.missing:
        if plan.grow and not host.check:
            lvm.refresh()
        share = size_gib * GIB if size_gib else lvm.free(plan.vg) // len(plan.missing)
        share -= share % lvm.extent(plan.vg)
        for name in plan.missing:
            host.change("made the volume %s/%s%s" % (plan.vg, name, "" if host.check else " of " + size_text(share)),
                        ["lvcreate", "-q", "-W", "y", "-y", "-n", name, "-L", "%db" % share,
                         "--addtag", TAG, "--addtag", server_tag(server), "--addtag", NEW, plan.vg])
    return {name: device_of(plan.existing[name][0] if name in plan.existing else plan.vg, name)
            for name in list(plan.existing) + plan.missing}


def format_volumes(host, plan, devices):
    fresh = plan.missing + [name for name, (_group, row) in plan.existing.items() if NEW in tags(row)]
    for name in fresh:
        def make(device=devices[name]):
            wait_for(lambda: os.path.exists(device), 20)
            host.run(["wipefs", "--all", "--quiet", device])
            host.run(["mkfs.ext4", "-q", "-F", "-m", "0", device])
        host.change("made ext4 on " + devices[name], make)
    if fresh and not host.check:
        host.run(["lvchange", "-q", "--deltag", NEW] + [devices[name][len("/dev/"):] for name in fresh])


def mount_unit(device, path):
    return (MOUNT_HEAD +
            "[Unit]\nDescription=Kloigos storage %s\n\n"
            "[Mount]\nWhat=%s\nWhere=%s\nType=ext4\n"
            # nofail: a lost disk must not keep the host from booting.
            "Options=defaults,noatime,nodev,nosuid,nofail\n\n"
            "[Install]\nWantedBy=local-fs.target\n" % (path, device, path))


def mount_volume(host, device, path):
    """True when a unit was written, so that systemd must read it."""
    unit = unit_name(path)
    text = mount_unit(device, path)
    if read(SYSTEMD + unit) + "\n" != text:
        host.change("wrote the mount unit of " + path,
                    lambda: write(SYSTEMD + unit, text),
                    lambda: os.makedirs(path, mode=0o755, exist_ok=True))
        return True
    return False


def mounted_source(path):
    for line in read("/proc/self/mountinfo").splitlines():
        fields = line.split(" - ")
        if fields[0].split()[4] == path.replace(" ", "\\040"):
            return fields[1].split()[1]
    return ""


def start_mount(host, path):
    unit = unit_name(path)
    if not os.path.lexists(SYSTEMD + "local-fs.target.wants/" + unit):
        host.change("mounts %s at boot" % path, ["systemctl", "enable", "-q", unit])
    if not mounted_source(path):
        def mount():
            host.run(["systemctl", "start", unit])
            # A fresh volume must look empty to its tenant; fsck makes this anew when it needs it.
            if os.path.isdir(path + "/lost+found") and os.listdir(path) == ["lost+found"]:
                os.rmdir(path + "/lost+found")
        host.change("mounted " + path, mount)


def main():
    module = AnsibleModule(
        argument_spec={"server": {"type": "str", "required": True},
                       "units": {"type": "list", "elements": "dict", "required": True},
                       "vg": {"type": "str", "default": ""},
                       "disks": {"type": "list", "elements": "str", "default": []},
                       "size_gib": {"type": "int"}},
        supports_check_mode=True)
    host = Host(module)
    paths = {"kloigos_" + unit["storage_mount_path"].rstrip("/").rsplit("/", 1)[1]: unit["storage_mount_path"]
             for unit in module.params["units"]}
    lvm = Lvm(host)
    server = module.params["server"]
    plan = decide(host, lvm, module.params, paths)
    claim_all(host, lvm, plan, server)
    join_disks(host, lvm, plan, server)
    devices = make_volumes(host, lvm, plan, server, module.params["size_gib"])
    format_volumes(host, plan, devices)
    if any([mount_volume(host, devices[name], path) for name, path in paths.items()]) and not host.check:
        host.run(["systemctl", "daemon-reload"])
    for path in paths.values():
        start_mount(host, path)
    if host.changes and not host.check:
        lvm.refresh()
    volumes = [{"path": path, "device": devices[name],
                "size_mb": next((int(row["lv_size"]) // MIB for (vg, lv), row in lvm.lvs.items()
                                 if device_of(vg, lv) == devices[name]), 0)}
               for name, path in paths.items()]
    host.done(vg=plan.vg, volumes=volumes, notes=plan.notes)


if __name__ == "__main__":
    main()
