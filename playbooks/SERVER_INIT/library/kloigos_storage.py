#!/usr/bin/python3
"""One logical volume for each compute unit, formatted and mounted.

The rule for where they come from is strict, because a wrong guess destroys
somebody's data: a named volume group; else kloigos-vg, on the disks named; else
the only volume group with free space, when the operator confirmed that one.
Everything is decided before anything is written.
"""

from __future__ import annotations

import errno
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
vg: {description: The volume group used., type: str, returned: success}
volumes: {description: Path, device and size of each volume., type: list, returned: success}
notes: {description: What the operator should know., type: list, returned: success}
"""

OWN_VG = "kloigos-vg"
MIB = 1024 * 1024
GIB = 1024 * MIB
# Below this ext4 has no room for its own structures worth speaking of.
SMALLEST = 64 * MIB


def size_text(size):
    return "%.1f GiB" % (size / GIB) if size >= GIB else "%d MiB" % (size // MIB)


class Lvm:
    """What LVM says; empty where it is not installed (check mode on a fresh host)."""

    def __init__(self, host):
        self.host = host
        self.refresh()

    def report(self, program, fields, what):
        if not self.host.has(program):
            return []
        found = self.host.read_json([program, "--reportformat", "json", "--units", "b", "--nosuffix",
                                     "-o", fields]) or {}
        return [row for part in found.get("report", []) for row in part.get(what, [])]

    def refresh(self):
        self.vgs = {row["vg_name"]: row for row in self.report(
            "vgs", "vg_name,vg_size,vg_free,vg_extent_size,vg_tags", "vg")}
        self.pvs = {os.path.realpath(row["pv_name"]): row["vg_name"]
                    for row in self.report("pvs", "pv_name,vg_name", "pv")}
        self.lvs = {(row["vg_name"], row["lv_name"]): row for row in self.report(
            "lvs", "vg_name,lv_name,lv_size,lv_tags", "lv")}

    def ours(self):
        return {key: row for key, row in self.lvs.items() if TAG in row["lv_tags"].split(",")}

    def free(self, vg):
        return int(self.vgs[vg]["vg_free"]) if vg in self.vgs else 0


def block_devices(host):
    listing = host.read_json(["lsblk", "-J", "-b", "-p", "-o",
                              "NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS,PTTYPE,RO"]) or {}
    return listing.get("blockdevices", [])


def mounts_of(device):
    return [point for point in device.get("mountpoints") or [] if point]


def describe(device, lvm):
    words = [size_text(int(device["size"] or 0))]
    parts = [part["name"] for part in device.get("children", []) if part["type"] == "part"]
    if device.get("fstype"):
        words.append("signature " + device["fstype"])
    if device.get("pttype"):
        words.append("partition table %s%s" % (device["pttype"], " with " + ", ".join(parts) if parts else ""))
    if device["name"] in lvm.pvs:
        words.append("volume group " + (lvm.pvs[device["name"]] or "none"))
    points = mounts_of(device) + [p for child in device.get("children", []) for p in mounts_of(child)]
    words.append("mounted at " + ", ".join(points) if points else "not mounted")
    return "%s (%s)" % (device["name"], ", ".join(words))


def what_was_found(host, lvm):
    disks = [describe(disk, lvm) for disk in block_devices(host)
             if disk["type"] in ("disk", "raid0", "raid1", "raid5", "raid6", "raid10", "mpath")
             and int(disk["size"] or 0) > 0]
    groups = ["%s (%s free)" % (name, size_text(int(row["vg_free"]))) for name, row in sorted(lvm.vgs.items())
              if int(row["vg_free"]) >= int(row["vg_extent_size"])]
    return "disks: %s; volume groups with free space: %s" % (
        "; ".join(disks) or "none", ", ".join(groups) or "none")


def inspect_disk(host, named, lvm, target):
    """Gives (device, leftover signature or ""), or fails; reads only."""
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
    if device in lvm.pvs:
        group = lvm.pvs[device]
        if group and group != target:
            refuse("belongs to the volume group %s" % group)
        return device, ""
    listing = (host.read_json(["lsblk", "-J", "-b", "-p", "-o",
                               "NAME,TYPE,SIZE,FSTYPE,MOUNTPOINTS,PTTYPE,RO", device]) or {}).get("blockdevices", [])
    found = listing[0] if listing else {}
    parts = [child["name"] for child in found.get("children", [])]
    if mounts_of(found):
        refuse("is mounted at " + ", ".join(mounts_of(found)))
    if parts:
        refuse("carries " + ", ".join(parts))
    if found.get("ro") in (True, "1", 1):
        refuse("is read-only")
    # Multi-device members of a kind that shows no holder while it is in use.
    if found.get("fstype") in ("zfs_member", "ceph_bluestore"):
        refuse("carries %s" % found["fstype"])
    try:
        # The kernel grants this only where no mount, swap, RAID, device mapper has the disk.
        os.close(os.open(device, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        refuse("is in use" if error.errno == errno.EBUSY else "cannot be opened (%s)" % error.strerror)
    signatures = host.read_json(["wipefs", "--json", "--no-act", device]) or {}
    return device, ", ".join(sorted({row["type"] for row in signatures.get("signatures", [])}))


def choose_group(host, lvm, params):
    """The volume group and the disks (with leftovers) that must still join it."""
    if params["vg"]:
        if params["vg"] not in lvm.vgs:
            host.fail("there is no volume group %s on this host; nothing was written. Found: %s. "
                      "Name an existing one with `--vg NAME`, or unused disks with `--disk DEV`."
                      % (params["vg"], what_was_found(host, lvm)))
        return params["vg"], []
    if params["disks"] or OWN_VG in lvm.vgs:
        joining = [inspect_disk(host, disk, lvm, OWN_VG) for disk in params["disks"]]
        return OWN_VG, [(device, old) for device, old in joining if lvm.pvs.get(device) != OWN_VG]
    # Our volumes from an earlier run say where they belong, even when the group is full by now.
    earlier = sorted({vg for vg, name in lvm.ours() if name in params["names"]})
    if len(earlier) == 1:
        return earlier[0], []
    roomy = [name for name, row in lvm.vgs.items() if int(row["vg_free"]) >= int(row["vg_extent_size"])]
    if len(roomy) == 1:
        hint = ("The volume group %s has free space but was not confirmed: "
                "name it with `--vg %s`, or name unused disks with `--disk DEV`." % (roomy[0], roomy[0]))
    else:
        hint = "Name unused disks with `--disk DEV`, or a volume group with `--vg NAME`."
    host.fail("no storage was named for the compute units, and disks are never taken unasked; "
              "nothing was written. Found: %s. %s" % (what_was_found(host, lvm), hint))
    return None


def make_physical(host, device):
    """With a UUID that is noted first: only what Kloigos made does SERVER_DECOMM undo."""
    letters = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(32))
    uuid = "-".join(letters[start:end] for start, end in
                    ((0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32)))
    remember(host, "physical_volumes", {uuid: device})
    host.change("made %s a physical volume" % device,
                ["pvcreate", "-q", "-y", "-ff", "--uuid", uuid, "--norestorefile", device])


def join_disks(host, lvm, vg, server, joining, notes):
    for device, leftover in joining:
        if leftover:
            notes.append("%s carried the old signature %s, which was wiped because you named the disk"
                         % (device, leftover))
            host.change("wiped %s from %s" % (leftover, device), ["wipefs", "--all", "--quiet", device])
        if device not in lvm.pvs:
            make_physical(host, device)
        if vg in lvm.vgs:
            host.change("vgextend %s with %s" % (vg, device), ["vgextend", "-q", "-y", vg, device])
        else:
            host.change("vgcreate %s with %s" % (vg, device),
                        ["vgcreate", "-q", "-y", "--addtag", TAG, "--addtag", server_tag(server), vg, device])
        if host.check:
            lvm.vgs.setdefault(vg, {"vg_free": "0", "vg_extent_size": str(4 * MIB), "vg_tags": ""})
        else:
            lvm.refresh()


def claim(host, what, verb, name, tags, server):
    """What was made for a server of another name, on the disks of this one, is this one's by now."""
    tags = tags.split(",")
    if TAG not in tags or server_tag(server) in tags:
        return
    old = [part for tag in tags if tag.startswith(server_tag("")) for part in ("--deltag", tag)]
    host.change("the %s %s is of %s" % (what, name, server),
                [verb, "-q"] + old + ["--addtag", server_tag(server), name])


def make_volumes(host, lvm, vg, server, units, size_gib, planned_space):
    """Creates and grows the volumes; gives their device by unit."""
    # A disk of another server may be here to be rescued, with volumes of the same names: this server's go before.
    mine_last = sorted(lvm.lvs.items(), key=lambda item: server_tag(server) in item[1]["lv_tags"].split(","))
    existing = {name: (group, row) for (group, name), row in mine_last if name in units}
    for name, (group, row) in existing.items():
        if TAG not in row["lv_tags"].split(","):
            host.fail("the volume %s/%s exists but was not made by Kloigos; nothing was written" % (group, name))
        claim(host, "volume", "lvchange", "%s/%s" % (group, name), row["lv_tags"], server)
    missing = [name for name in units if name not in existing]
    extent = int(lvm.vgs.get(vg, {}).get("vg_extent_size", 4 * MIB))
    if missing:
        space = planned_space if planned_space is not None else lvm.free(vg)
        already = sum(int(row["lv_size"]) for group, row in existing.values() if group == vg)
        share = size_gib * GIB if size_gib else min((space + already) // len(units), space // len(missing))
        share -= share % extent
        if share < SMALLEST or (share * len(missing) > space):
            host.fail("the volume group %s has %s free, but %d more volumes of %s each are needed; "
                      "name a further disk with `--disk DEV`, or a smaller `--disk-size`"
                      % (vg, size_text(space), len(missing), size_text(max(share, SMALLEST))))
        for name in missing:
            host.change("made the volume %s/%s of %s" % (vg, name, size_text(share)),
                        ["lvcreate", "-q", "-W", "y", "-y", "-n", name, "-L", "%db" % share,
                         "--addtag", TAG, "--addtag", server_tag(server), vg])
    if size_gib:
        for name, (group, row) in existing.items():
            if int(row["lv_size"]) < size_gib * GIB:
                host.change("grew the volume %s/%s to %d GiB" % (group, name, size_gib),
                            ["lvextend", "-q", "-y", "-r", "-L", "%dg" % size_gib, "%s/%s" % (group, name)])
    return {name: "/dev/%s/%s" % (existing[name][0] if name in existing else vg, name) for name in units}


def fs_type(host, device):
    if not os.path.exists(device):
        return ""
    return host.run(["blkid", "-p", "-s", "TYPE", "-o", "value", device], ok=None).strip()


def format_volume(host, device):
    found = fs_type(host, device)
    if found == "ext4":
        return
    if found:
        host.fail("%s carries %s, not the ext4 that Kloigos makes; it was left as it is" % (device, found))

    def make():
        wait_for(lambda: os.path.exists(device), 20)
        host.run(["mkfs.ext4", "-q", "-F", "-m", "0", device])
    host.change("made ext4 on " + device, make)


def mount_unit(device, path):
    return ("# Written by Kloigos: the volume of a compute unit.\n"
            "[Unit]\nDescription=Kloigos storage %s\n\n"
            "[Mount]\nWhat=%s\nWhere=%s\nType=ext4\n"
            # nofail: a lost disk must not keep the host from booting.
            "Options=defaults,noatime,nodev,nosuid,nofail\n\n"
            "[Install]\nWantedBy=local-fs.target\n" % (path, device, path))


def mount_volume(host, device, path):
    """True when a unit was written, so that systemd must read it."""
    unit = unit_name(path)
    text = mount_unit(device, path)
    if read("/etc/systemd/system/" + unit) + "\n" != text:
        host.change("wrote the mount unit of " + path,
                    lambda: write("/etc/systemd/system/" + unit, text),
                    lambda: os.makedirs(path, mode=0o755, exist_ok=True))
        return True
    return False


def mounted_source(path):
    for line in read("/proc/self/mountinfo").splitlines():
        fields = line.split(" - ")
        if fields[0].split()[4] == path.replace(" ", "\\040"):
            return fields[1].split()[1]
    return ""


def start_mount(host, device, path):
    unit = unit_name(path)
    if not os.path.lexists("/etc/systemd/system/local-fs.target.wants/" + unit):
        host.change("mounts %s at boot" % path, ["systemctl", "enable", "-q", unit])
    source = mounted_source(path)
    if not source:
        def mount():
            host.run(["systemctl", "start", unit])
            # A fresh volume must look empty to its tenant; fsck makes this anew when it needs it.
            if os.path.isdir(path + "/lost+found") and os.listdir(path) == ["lost+found"]:
                os.rmdir(path + "/lost+found")
        host.change("mounted " + path, mount)
    elif os.path.realpath(source) != os.path.realpath(device):
        host.fail("%s is mounted from %s, not from %s" % (path, source, device))


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
    notes = []
    vg, joining = choose_group(host, lvm, dict(module.params, names=list(paths)))
    server = module.params["server"]
    claim(host, "volume group", "vgchange", vg, lvm.vgs.get(vg, {}).get("vg_tags", ""), server)
    join_disks(host, lvm, vg, server, joining, notes)
    # In check mode the disks have not joined, so their space is reckoned.
    planned = None
    if host.check and joining:
        planned = lvm.free(vg) + sum(int(read("/sys/class/block/%s/size" % os.path.basename(device), "0")) * 512
                                     - 8 * MIB for device, _old in joining)
    devices = make_volumes(host, lvm, vg, server, list(paths), module.params["size_gib"], planned)
    for device in devices.values():
        format_volume(host, device)
    if any([mount_volume(host, devices[name], path) for name, path in paths.items()]) and not host.check:
        host.run(["systemctl", "daemon-reload"])
    for name, path in paths.items():
        start_mount(host, devices[name], path)
    lvm.refresh()
    volumes = [{"path": path, "device": devices[name],
                "size_mb": next((int(row["lv_size"]) // MIB for (_vg, lv), row in lvm.lvs.items() if lv == name), 0)}
               for name, path in paths.items()]
    host.done(vg=vg, volumes=volumes, notes=notes)


if __name__ == "__main__":
    main()
